//! Edits taken back and made again. An edit goes from one version of a document to another, and a version is put back as a whole: text, base,
//! encoding and mode. Where others wrote since, what the edit did is carried past it as a refresh does; where both touch one place the version
//! comes back over the base that it had, out of sync, and is not saved over what others wrote.

use super::encoding::encode;
use super::files::Files;
use super::merge::carry;
use super::run::{Run, Trouble};
use super::session::{Change, Content, Edit, Version};
use super::state::{Event, Found, Status};
use std::rc::Rc;

/// What became of an edit that was taken back or made again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Again {
    /// The operation that had made it.
    pub(super) operation: String,
    /// Its files.
    pub(super) paths: Vec<String>,
    /// What it came to.
    pub(super) status: Status,
}

/// The version that a change is taken back to.
enum Back {
    /// It stands on the file as it is.
    On(Version),
    /// Others changed the same place.
    Conflict(Version),
}

/// What the inverse of a change has to be told from: what it led to, or, where it took another file's content for its base, what it began with.
fn ancestor(change: &Change) -> &Content {
    match change.from.base == change.to.base {
        true => &change.to.text,
        false => &change.from.base,
    }
}

impl<F: Files> Run<'_, F> {
    /// Takes the last edit back, or makes it again.
    ///
    /// # Errors
    /// When there is none, or others changed its place and there is more that would be lost.
    pub(super) fn take_back(&mut self, again: bool) -> Result<Again, Trouble> {
        let stack = if again { &self.session.undone } else { &self.session.done };
        let Some(edit) = stack.last().cloned() else {
            let what = if again {
                "nothing was taken back that could be made again"
            } else {
                "this session has edited nothing that could be taken back"
            };
            return Err(Trouble {
                status: Status::NoOp,
                ..Trouble::new(what, "")
            });
        };
        let (mut versions, mut conflicts) = (Vec::new(), false);
        for change in &edit.changes {
            let path = change.path.clone();
            match self.back(change)? {
                Back::On(version) => versions.push((path, version)),
                Back::Conflict(_) if edit.changes.len() > 1 || self.document(&path)?.is_edited() => {
                    let why = format!("{path} was changed since at the place of the edit, which cannot be taken back by itself");
                    return Err(Trouble::new(why, "`commit` what is edited since, or edit the place by hand").at(&path));
                }
                Back::Conflict(version) => {
                    conflicts = true;
                    versions.push((path, version));
                }
            }
        }
        let changes = self.become_all(versions)?;
        let paths = changes.iter().map(|change| change.path.clone()).collect();
        let done = |status| Again {
            operation: edit.operation.clone(),
            paths,
            status,
        };
        let _ = if again {
            self.session.undone.pop()
        } else {
            self.session.done.pop()
        };
        if conflicts {
            // It lies in the buffer, and what is done about it is remembered.
            self.session.undone.clear();
            let mut status = Status::ExternalConflict;
            for change in &changes {
                status = self.happen(&change.path, Event::Outside(Found::Conflict)).0;
            }
            return Ok(done(status));
        }
        for (change, wanted) in changes.iter().zip(&edit.changes) {
            if change.to.text != wanted.from.text {
                self.notes
                    .push(format!("{} was changed by somebody else since, which stays", change.path));
            }
        }
        let inverse = Edit {
            changes: changes.clone(),
            ..edit.clone()
        };
        if again {
            self.session.done.push(inverse);
        } else {
            self.session.undone.push(inverse);
        }
        Ok(done(self.settle_all(&changes)?))
    }

    fn back(&mut self, change: &Change) -> Result<Back, Trouble> {
        let (path, from, ancestor) = (&change.path, &change.from, ancestor(change));
        let now = self.document(path)?.now.clone();
        let mode = now.mode.or(from.mode);
        if now.text == *ancestor {
            return Ok(Back::On(Version {
                base: now.base,
                mode,
                ..from.clone()
            }));
        }
        let texts = (
            self.text_of(path, ancestor)?,
            self.text_of(path, &from.text)?,
            self.text_of(path, &now.text)?,
        );
        let carried = match texts {
            (Some((ancestor, _)), Some((from, _)), Some((now, _))) => carry(&ancestor, &from, &now),
            _ => None,
        };
        let Some(bytes) = carried.and_then(|text| encode(&text, now.encoding).ok()) else {
            return Ok(Back::Conflict(Version {
                base: ancestor.clone(),
                mode,
                ..from.clone()
            }));
        };
        let text = self.at_hand(Some(&Rc::new(bytes)));
        Ok(Back::On(Version { text, ..now }))
    }
}
