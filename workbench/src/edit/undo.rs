//! Undo and redo. An edit leads from one version of a document to another, and a version is restored as a whole: text, base, encoding and mode. Past
//! a later foreign write the edit's inverse is carried over, as by a refresh. If both touch one place, the version is restored over its own base, out
//! of sync, and never overwrites the foreign write.

use super::allowed_tools::Tool;
use super::contents::Content;
use super::files::Files;
use super::run::{EditRun, Trouble};
use super::session::{Edit, FileEdit, Version};
use super::state::{Event, Reread, Status};

/// Result of an undo or redo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct UndoResult {
    /// The operation of the undone edit.
    pub(super) operation: String,
    /// Files of the undone edit.
    pub(super) paths: Vec<String>,
    pub(super) status: Status,
}

/// The version that an undo restores.
enum Restored {
    /// A version based on the file as it is now.
    On(Version),
    /// A version in conflict, because another program changed the same place.
    Conflict(Version),
}

/// Returns the common ancestor for the inverse of a change: its result or, if the change adopted another file content as base, its start.
fn ancestor(change: &FileEdit) -> &Content {
    match change.from.base == change.to.base {
        true => &change.to.text,
        false => &change.from.base,
    }
}

/// Returns the change that redoes `own` after the undo `change`; if a foreign write had already reverted it, with the result of `own`.
fn inverse(change: &FileEdit, own: &FileEdit) -> FileEdit {
    let mut inverse = change.clone();
    if change.from.text == change.to.text {
        inverse.from.text.clone_from(&own.to.text);
    }
    inverse
}

/// Formats `a.cs was`, `a.cs, b.cs were`.
fn paths_with_verb(paths: &[String]) -> String {
    format!("{} {}", paths.join(", "), if paths.len() == 1 { "was" } else { "were" })
}

impl<F: Files> EditRun<'_, F> {
    /// Undoes the last edit, or redoes it; with `only`, the part of one file in its last edit. Fails when there is no edit to undo, or
    /// foreign writes changed its place and more edits would be lost.
    pub(super) fn undo_or_redo(&mut self, again: bool, only: Option<&str>) -> Result<UndoResult, Trouble> {
        let stack = if again { &self.session.undone } else { &self.session.done };
        let meant = |change: &FileEdit| only.is_none_or(|only| change.path == only);
        let Some(at) = stack.iter().rposition(|edit| edit.changes.iter().any(meant)) else {
            let what = match (again, self.session.undone.is_empty()) {
                (true, _) => "there is no reverted edit to apply again",
                (false, true) => "this session has no edit to revert",
                (false, false) => "all remembered edits are reverted",
            };
            return Err(Trouble {
                status: Status::NoMatch,
                ..Trouble::new(what, "")
            });
        };
        let mut edit = stack[at].clone();
        edit.changes.retain(meant);
        let (mut versions, mut conflicts, mut barred) = (Vec::new(), false, Vec::new());
        for change in &edit.changes {
            let path = change.path.clone();
            match self.version_to_restore(change)? {
                Restored::On(version) => versions.push((path, version)),
                Restored::Conflict(_) if edit.changes.len() > 1 || self.document(&path)?.is_edited() => barred.push(path),
                Restored::Conflict(version) => {
                    conflicts = true;
                    versions.push((path, version));
                }
            }
        }
        if !barred.is_empty() {
            let free: Vec<String> = versions.into_iter().map(|(path, _)| path).collect();
            return Err(self.explain_barred(&barred, &free, again));
        }
        let changes = self.become_all(versions)?;
        let paths = changes.iter().map(|change| change.path.clone()).collect();
        let done = |status| UndoResult {
            operation: edit.operation.clone(),
            paths,
            status,
        };
        let stack = if again { &mut self.session.undone } else { &mut self.session.done };
        let of_it = |change: &FileEdit| edit.changes.iter().any(|own| own.path == change.path);
        stack[at].changes.retain(|change| !of_it(change));
        if stack[at].changes.is_empty() {
            stack.remove(at);
        }
        if conflicts {
            // The result is in the buffer, and later operations on it are remembered.
            self.session.undone.retain(|edit| !edit.changes.iter().any(of_it));
            let mut status = Status::ExternalConflict;
            for change in &changes {
                status = self.apply_event(&change.path, Event::Outside(Reread::Conflict)).0;
            }
            return Ok(done(status));
        }
        for (change, wanted) in changes.iter().zip(&edit.changes) {
            if change.to.text == change.from.text {
                self.notes
                    .push(format!("{}: another program did that already, and the text stays", change.path));
            } else if change.to.text != wanted.from.text {
                self.notes
                    .push(format!("{} was changed by another program since, which stays", change.path));
            }
        }
        let inverse = Edit {
            changes: changes
                .iter()
                .zip(&edit.changes)
                .map(|(change, own)| inverse(change, own))
                .collect(),
            ..edit.clone()
        };
        if again {
            self.session.done.push(inverse);
        } else {
            self.session.undone.push(inverse);
        }
        Ok(done(self.settle_all(&changes)?))
    }

    /// Explains why an edit cannot be undone (`again`: redone) as a whole, and lists the files for which it can.
    fn explain_barred(&self, barred: &[String], free: &[String], again: bool) -> Trouble {
        let (first, own) = (&barred[0], if again { "redo" } else { "undo" });
        let why = format!(
            "{} changed since at the place of the edit, which `{own}` cannot go past",
            paths_with_verb(barred)
        );
        let guidance = match (free, barred) {
            ([], [_]) if self.allows(first, Tool::Commit) => "`commit` the edits made since, or edit the place by hand".to_owned(),
            ([], [_]) => "edit the place by hand".to_owned(),
            ([], _) => format!("name one of the files with path: `{own}` is about it alone then, and shows both sides"),
            (free, _) => format!(
                "name one file with path: `{own}` is about it alone then; it goes well with {}",
                free.join(", ")
            ),
        };
        Trouble::new(why, guidance).at(first)
    }

    fn version_to_restore(&mut self, change: &FileEdit) -> Result<Restored, Trouble> {
        let (path, from, ancestor) = (&change.path, &change.from, ancestor(change));
        let now = self.document(path)?.now.clone();
        let mode = now.mode.or(from.mode);
        if now.text == *ancestor {
            return Ok(Restored::On(Version {
                base: now.base,
                mode,
                ..from.clone()
            }));
        }
        let Some((text, _)) = self.carry_over(path, [ancestor, &from.text, &now.text], now.encoding)? else {
            return Ok(Restored::Conflict(Version {
                base: ancestor.clone(),
                mode,
                ..from.clone()
            }));
        };
        Ok(Restored::On(Version { text, ..now }))
    }

    /// Treats a foreign write equal to unsaved edits as foreign: undo does not revert it. The edits of the file are rebased onto the foreign text, as
    /// git rebases commits; with `all`, they are dropped. Fails when one of the texts was lost, or there is no room.
    pub(super) fn rebase_onto_foreign_write(&mut self, path: &str, base: &Content, theirs: &Version, all: bool) -> Result<(), Trouble> {
        let mut done = self.session.done.clone();
        let made_of_it = |change: &&mut FileEdit| change.path == path && change.from.base == *base && change.to.base == *base;
        for change in done.iter_mut().flat_map(|edit| &mut edit.changes).filter(made_of_it) {
            let mut sides = Vec::new();
            for side in [&change.from.text, &change.to.text] {
                let text = match all {
                    true => Some((theirs.text.clone(), true)),
                    false => self.carry_over(path, [base, side, &theirs.text], theirs.encoding)?,
                };
                sides.extend(text.map(|(text, _)| Version { text, ..theirs.clone() }));
            }
            // An edit that conflicts elsewhere stays, and the conflict is reported at its undo.
            if let [from, to] = &sides[..] {
                self.keep_text(path, &from.text)?;
                self.keep_text(path, &to.text)?;
                (change.from, change.to) = (from.clone(), to.clone());
            }
        }
        let is_empty = |change: &FileEdit| change.path == path && change.from == change.to;
        done.iter_mut().for_each(|edit| edit.changes.retain(|change| !is_empty(change)));
        done.retain(|edit| !edit.changes.is_empty());
        if done != self.session.done {
            self.notes.push(format!(
                "another program made the same edit of {path}: it is theirs, and `undo` leaves it"
            ));
            self.session.done = done;
        }
        Ok(())
    }
}
