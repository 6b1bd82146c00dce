//! What somebody else wrote: a file is looked at before anything is done with its document, and what is not what it was is met. The file is
//! told by its content, so that own writes are recognised and a new date means nothing.

use super::encoding::{Encoding, Unreadable, decode, encode};
use super::files::Files;
use super::merge::carry;
use super::run::{Looked, Run, Trouble, no_text, unread};
use super::session::{Change, Document, Version, keep};
use super::state::{Event, Found, Ground, State, Status};
use serde_json::json;
use std::io;
use std::rc::Rc;

impl<F: Files> Run<'_, F> {
    /// Looks at the file of a document before anything is done with it. What somebody else wrote is taken where nothing was edited; where the
    /// edits' own places are untouched they are carried over. The event is told; `Conflict` each time anew.
    ///
    /// # Errors
    /// When the file cannot be read as text any more.
    pub fn look(&mut self, path: &str) -> Result<Found, Trouble> {
        // What this operation has seen already is not read again.
        let looked = self.looked.get(path).map(|looked| looked.version.clone());
        let seen = match looked.map_or_else(|| self.see(path), Ok) {
            Ok(seen) => seen,
            Err(error) => {
                self.happen(path, Event::Unread);
                return Err(unread(path, &error));
            }
        };
        let document = self.document(path)?.clone();
        let was_out = matches!(document.state.ground(), Ground::OutOfSync { .. });
        if seen == document.base && !was_out {
            self.document_mut(path).seen = seen;
            return Ok(Found::Same {
                differs: document.is_edited(),
            });
        }
        if was_out && seen == document.seen && seen != document.base {
            return Ok(Found::Same { differs: true });
        }
        let found = self.meet(path, &document, &seen)?;
        self.happen(path, Event::Outside(found));
        self.outside
            .push(json!({"from": document.seen, "to": seen, "found": format!("{found:?}"), "source": "look"}));
        match found {
            Found::Taken => self
                .notes
                .push(format!("{path} was changed by somebody else: the content is updated")),
            Found::Carried => self.notes.push(format!(
                "{path} was changed by somebody else at other places: the edits are carried over to the new content"
            )),
            Found::Same { .. } | Found::Conflict => {}
        }
        Ok(found)
    }

    /// What a file that has other bytes now means for a document.
    pub(super) fn meet(&mut self, path: &str, document: &Document, seen: &Version) -> Result<Found, Trouble> {
        let text = match self.looked_text(path).transpose() {
            Ok(text) => text,
            Err(why) => {
                self.document_mut(path).seen.clone_from(seen);
                self.happen(path, Event::Unread);
                return Err(no_text(path, &why));
            }
        };
        if !document.is_edited() || document.now == *seen {
            let own = self.document_mut(path);
            *own = Document {
                state: own.state,
                selection: own.selection.clone(),
                ..Document::of(seen.clone(), text.map_or(own.encoding, |(_, encoding)| encoding))
            };
            return Ok(Found::Taken);
        }
        if *seen == document.base {
            // It is again what the buffer was made of.
            let own = self.document_mut(path);
            own.seen.clone_from(seen);
            return Ok(Found::Carried);
        }
        let texts = (self.text_of(path, &document.base)?, self.text_of(path, &document.now)?, text);
        if let (Some((base, _)), Some((ours, _)), Some((theirs, encoding))) = texts
            && let Some(carried) = carry(&base, &ours, &theirs)
            && let Ok(bytes) = encode(&carried, encoding)
        {
            self.keep_looked(path)?;
            let bytes = Rc::new(bytes);
            let now = self.at_hand(Some(&bytes));
            keep(self.files, &now, &bytes)?;
            let own = self.document_mut(path);
            own.base.clone_from(seen);
            own.seen.clone_from(seen);
            own.encoding = encoding;
            own.now = now;
            return Ok(if own.is_edited() { Found::Carried } else { Found::Taken });
        }
        self.document_mut(path).seen.clone_from(seen);
        Ok(Found::Conflict)
    }

    /// Reads a file anew because somebody asks for it. Edits that conflict go, and can be had back by `undo`, when the conflict was told before.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn refresh(&mut self, path: &str) -> Result<Found, Trouble> {
        let before = self.document(path)?.clone();
        let found = self.look(path)?;
        if let Some(why) = self.looked_text(path).and_then(Result::err) {
            return Err(no_text(path, &why));
        }
        let mut found = match found {
            Found::Same { differs } if !matches!(before.state.ground(), Ground::OutOfSync { .. }) => Found::Same { differs },
            // It was told before.
            Found::Same { .. } => Found::Conflict,
            found => found,
        };
        let told = matches!(before.state.ground(), Ground::OutOfSync { conflict: true });
        let is_new = self.document(path)?.seen != before.seen;
        if found == Found::Conflict && told && !is_new {
            let ours = before.now.clone();
            let theirs = self.document(path)?.seen.clone();
            self.keep_looked(path)?;
            let encoding = self
                .looked_text(path)
                .and_then(Result::ok)
                .map_or(before.encoding, |(_, encoding)| encoding);
            let state = self.document(path)?.state;
            *self.document_mut(path) = Document {
                state,
                ..Document::of(theirs.clone(), encoding)
            };
            let change = Change {
                path: path.to_owned(),
                from: ours,
                to: theirs,
            };
            self.remember("refresh", vec![change]);
            found = Found::Taken;
        }
        self.happen(path, Event::RefreshBegun);
        self.happen(path, Event::Refreshed(found));
        Ok(found)
    }

    /// The text that was seen in a file; `None` where there was none.
    pub(super) fn looked_text(&self, path: &str) -> Option<Result<(String, Encoding), Unreadable>> {
        Some(decode(self.looked.get(path)?.bytes.as_ref()?))
    }

    pub(super) fn keep_looked(&self, path: &str) -> io::Result<()> {
        match self.looked.get(path) {
            Some(Looked {
                bytes: Some(bytes),
                version,
                ..
            }) => keep(self.files, version, bytes),
            _ => Ok(()),
        }
    }

    /// Drops what is not saved: the buffer is the file. It can be had back by `undo`.
    ///
    /// # Errors
    /// When the file is no text.
    pub fn discard(&mut self, path: &str) -> Result<Status, Trouble> {
        let before = self.document(path)?.clone();
        if matches!(before.state, State::SelectionPending(_))
            || !before.is_edited() && !matches!(before.state.ground(), Ground::OutOfSync { .. })
        {
            return Ok(self.happen(path, Event::Discarded).0);
        }
        let seen = self.see(path).map_err(|error| unread(path, &error))?;
        let encoding = match self.looked_text(path).transpose() {
            Ok(text) => text.map_or(before.encoding, |(_, encoding)| encoding),
            Err(why) => return Err(no_text(path, &why)),
        };
        self.keep_looked(path)?;
        let status = self.happen(path, Event::Discarded).0;
        let state = self.document(path)?.state;
        *self.document_mut(path) = Document {
            state,
            ..Document::of(seen.clone(), encoding)
        };
        let change = Change {
            path: path.to_owned(),
            from: before.now,
            to: seen,
        };
        self.remember("discard", vec![change]);
        Ok(status)
    }
}
