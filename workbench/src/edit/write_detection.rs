//! Detection of writes by other programs: every operation checks a document's file first and reacts to changes. The check compares content, so that
//! own writes are recognised and a new time stamp alone does not matter.

use super::contents::{Content, write_content};
use super::draft_log::Step;
use super::files::Files;
use super::run::{EditRun, Looked, Trouble, unread};
use super::session::{Document, FileEdit, Version};
use super::state::{DocumentState, Event, FileRelation, Reread, Status};
use crate::code_text::encoding::{Encoding, Unreadable, decode, encode};
use crate::code_text::merge::carry;
use serde_json::json;
use std::io;
use std::rc::Rc;

impl<F: Files> EditRun<'_, F> {
    /// Checks the file of a document before an operation. A foreign write is taken over if the buffer has no edits; edits whose own lines are
    /// untouched are carried over. The event is reported; `Conflict` at every check. Fails when the file can no longer be read as text.
    pub fn read_document_file(&mut self, path: &str) -> Result<Reread, Trouble> {
        if let Some(trouble) = self.not_allowed(path) {
            return Err(trouble);
        }
        // Each file is read once per operation.
        let looked = self.looked.get(path).map(|looked| looked.content.clone());
        let seen = match looked.map_or_else(|| self.see(path), Ok) {
            Ok(seen) => seen,
            Err(error) => {
                self.apply_event(path, Event::Unread);
                return Err(self.of_document(unread(path, &error)));
            }
        };
        let document = self.document(path)?.clone();
        let was_out = matches!(document.state.file_relation(), FileRelation::OutOfSync { .. });
        if seen == document.now.base && !was_out {
            let mode = self.looked.get(path).and_then(|looked| looked.mode);
            let own = self.document_mut(path);
            own.seen = seen;
            // A file still to be created gets the permissions that it will have.
            own.now.mode = mode.or(own.now.mode);
            return Ok(Reread::Same {
                differs: document.is_edited(),
            });
        }
        if was_out && seen == document.seen && seen != document.now.base {
            return Ok(Reread::Same { differs: true });
        }
        let found = self.meet(path, &document, &seen)?;
        self.apply_event(path, Event::Outside(found));
        self.met
            .outside
            .push(json!({"path": path, "from": document.seen, "to": seen, "found": format!("{found:?}"), "source": "look"}));
        match found {
            Reread::Taken if !self.tells_taken => {}
            Reread::Taken | Reread::Carried => {
                let note = self.describe_foreign_write(path, &document, found == Reread::Carried);
                self.notes.push(note);
            }
            Reread::Same { .. } | Reread::Conflict => {}
        }
        Ok(found)
    }

    /// Describes in a sentence a foreign write and its effect on the document as it was `before`.
    fn describe_foreign_write(&self, path: &str, before: &Document, carried: bool) -> String {
        let seen = self.session.documents.get(path).and_then(|document| document.seen.clone());
        let is = self.text_of(path, &seen).ok().flatten().map(|(_, encoding)| encoding);
        match (&before.now.base, is) {
            (base, _) if *base == seen => format!("{path} is again equal to the base of its buffer"),
            (_, None) => format!("another program removed {path}: its buffer is empty"),
            (None, _) => format!("another program created {path}: the content is updated"),
            (_, Some(is)) if is != before.now.encoding => {
                let mark = if is.mark { " with a byte order mark" } else { "" };
                let so = if carried {
                    "the edits are carried over"
                } else {
                    "the content is updated"
                };
                format!("{path} was written in {}{mark} by another program: {so}", is.form)
            }
            _ if carried => {
                format!("{path} was changed by another program at other places: the edits are carried over to the new content")
            }
            _ => format!("{path} was changed by another program: the content is updated"),
        }
    }

    /// Applies a foreign change of the file's bytes to a document.
    pub(super) fn meet(&mut self, path: &str, document: &Document, seen: &Content) -> Result<Reread, Trouble> {
        let now = &document.now;
        let theirs = self.version_on_disk(path, now.encoding);
        self.document_mut(path).seen.clone_from(seen);
        let theirs = match theirs {
            Ok(theirs) => theirs,
            Err(trouble) => {
                self.apply_event(path, Event::Unread);
                return Err(self.of_document(trouble));
            }
        };
        if !now.is_edited() || now.text == *seen {
            if now.is_edited() {
                self.rebase_onto_foreign_write(path, &now.base, &theirs, true)?;
            }
            self.foreign(path, &now.text, &theirs.text);
            self.document_mut(path).now = theirs;
            return Ok(Reread::Taken);
        }
        if *seen == now.base {
            // The file again equals the base of the buffer.
            return Ok(Reread::Carried);
        }
        if let Some((text, alike)) = self.carry_over(path, [&now.base, &now.text, seen], theirs.encoding)? {
            self.keep_looked(path)?;
            self.keep_text(path, &text)?;
            if alike {
                self.rebase_onto_foreign_write(path, &now.base, &theirs, false)?;
            }
            self.foreign(path, &now.text, &text);
            let own = self.document_mut(path);
            own.now = Version { text, ..theirs };
            return Ok(if own.is_edited() { Reread::Carried } else { Reread::Taken });
        }
        Ok(Reread::Conflict)
    }

    /// Carries the edits from `base` to `ours` over to `theirs`, and reports whether some were there already; `None` when both change one place, or a
    /// text is missing. The result is in memory, not stored yet. Fails when one of the texts was lost.
    pub(super) fn carry_over(
        &mut self,
        path: &str,
        [base, ours, theirs]: [&Content; 3],
        encoding: Encoding,
    ) -> Result<Option<(Content, bool)>, Trouble> {
        let texts = (self.text_of(path, base)?, self.text_of(path, ours)?, self.text_of(path, theirs)?);
        let (Some((base, _)), Some((ours, _)), Some((theirs, _))) = texts else {
            return Ok(None);
        };
        let Some(carried) = carry(&base, &ours, &theirs) else {
            return Ok(None);
        };
        let bytes = encode(carried.text, encoding).ok().map(Rc::new);
        Ok(bytes.map(|bytes| (self.at_hand(Some(&bytes)), carried.alike)))
    }

    /// Rereads a file by request. Conflicting edits are dropped, as the second result reports, if the conflict was reported before; `undo` restores
    /// them.
    pub fn refresh(&mut self, path: &str) -> Result<(Reread, bool), Trouble> {
        let before = self.document(path)?.clone();
        let found = self.read_document_file(path)?;
        let theirs = self
            .version_on_disk(path, before.now.encoding)
            .map_err(|trouble| self.of_document(trouble))?;
        let mut found = match found {
            Reread::Same { differs } if !matches!(before.state.file_relation(), FileRelation::OutOfSync { .. }) => Reread::Same { differs },
            // The conflict was reported before.
            Reread::Same { .. } => Reread::Conflict,
            found => found,
        };
        let is_known = matches!(before.state.file_relation(), FileRelation::OutOfSync { conflict: true });
        let is_new = self.document(path)?.seen != before.seen;
        let drops = found == Reread::Conflict && is_known && !is_new;
        if drops {
            self.keep_looked(path)?;
            self.document_mut(path).now.clone_from(&theirs);
            self.record_dropped_edits(path, &before.now, &theirs.text);
            let change = FileEdit {
                path: path.to_owned(),
                from: before.now,
                to: theirs,
            };
            self.remember("refresh", vec![change]);
            found = Reread::Taken;
        }
        self.apply_event(path, Event::RefreshBegun);
        self.apply_event(path, Event::Refreshed(found));
        Ok((found, drops))
    }

    /// Records that the buffer took over a foreign write.
    fn foreign(&mut self, path: &str, from: &Content, to: &Content) {
        self.add_step(Step {
            foreign: true,
            ..Step::from_change(path, from, to)
        });
    }

    /// Records that the buffer's edits are dropped in favour of the file.
    fn record_dropped_edits(&mut self, path: &str, before: &Version, to: &Content) {
        self.add_step(Step::from_change(path, &before.text, &before.base));
        self.foreign(path, &before.base, to);
    }

    /// Returns the text found in a file; `None` if the file did not exist.
    pub(super) fn looked_text(&self, path: &str) -> Option<Result<(String, Encoding), Unreadable>> {
        Some(decode(self.looked.get(path)?.bytes.as_ref()?))
    }

    pub(super) fn keep_text(&self, path: &str, text: &Content) -> Result<(), Trouble> {
        match self.bytes(path, text)? {
            Some(bytes) => Ok(write_content(self.files, text, &bytes)?),
            None => Ok(()),
        }
    }

    pub(super) fn keep_looked(&self, path: &str) -> io::Result<()> {
        match self.looked.get(path) {
            Some(Looked {
                bytes: Some(bytes),
                content,
                ..
            }) => write_content(self.files, content, bytes),
            _ => Ok(()),
        }
    }

    /// Drops unsaved edits: the buffer becomes the file or, if that cannot be read, the buffer's base. A returned change can be undone once it is
    /// remembered. Fails when there is no room to keep the text.
    pub(super) fn discard(&mut self, path: &str) -> Result<(Status, Option<FileEdit>), Trouble> {
        if let Some(trouble) = self.not_allowed(path) {
            return Err(trouble);
        }
        let before = self.document(path)?.clone();
        if matches!(before.state, DocumentState::SelectionPending(_))
            || !before.is_edited() && !matches!(before.state.file_relation(), FileRelation::OutOfSync { .. })
        {
            return Ok((self.apply_event(path, Event::Discarded).0, None));
        }
        let read = self.see(path).map_err(|error| unread(path, &error));
        let found = read.and_then(|seen| Ok((seen, self.version_on_disk(path, before.now.encoding)?)));
        self.keep_looked(path)?;
        let status = self.apply_event(path, Event::Discarded).0;
        let to = match found {
            Ok((seen, theirs)) => {
                self.document_mut(path).seen.clone_from(&seen);
                if seen != before.now.base {
                    let note = self.describe_foreign_write(path, &before, false);
                    self.notes.push(note);
                }
                theirs
            }
            Err(trouble) => {
                self.apply_event(path, Event::Unread);
                self.notes.push(trouble.summary);
                Version {
                    text: before.now.base.clone(),
                    ..before.now.clone()
                }
            }
        };
        if to == before.now {
            return Ok((Status::NoOp, None));
        }
        self.document_mut(path).now.clone_from(&to);
        self.record_dropped_edits(path, &before.now, &to.text);
        let change = FileEdit {
            path: path.to_owned(),
            from: before.now,
            to,
        };
        Ok((status, Some(change)))
    }
}
