//! Saving buffers: all that an operation saves, or nothing. That it is being done is written down first, so that a crash in the midst of it is
//! seen by the next operation and put right.

use super::files::{Files, Save, SaveError};
use super::run::{Run, Trouble, unread};
use super::session::{Change, Version, version};
use super::state::{Event, Found, Ground, State, Status};

/// So often a save is tried again that somebody else's write came between.
const TRIES: usize = 3;

impl<F: Files> Run<'_, F> {
    /// What was being saved when a process was killed: what has its bytes is saved. Of several files the others follow, so that all of them are;
    /// where nothing was saved yet the edits wait in the buffer.
    pub(super) fn recover(&mut self) -> Result<(), Trouble> {
        let saving = std::mem::take(&mut self.session.saving);
        let mut rest = Vec::new();
        let mut begun = false;
        for change in &saving {
            match self.read(&change.path) {
                Ok(found) if version(found.as_ref().map(|found| found.bytes.as_slice())) == change.to => {
                    begun = true;
                    self.settle(&change.path, &change.to);
                }
                _ => rest.push(change.clone()),
            }
        }
        if !begun || rest.is_empty() {
            return Ok(());
        }
        self.notes.push("an operation that was cut short has been completed".to_owned());
        let mut saves = Vec::new();
        for change in &rest {
            // Where somebody else wrote meanwhile it is told as any such write.
            let Ok(found) = self.read(&change.path) else { return Ok(()) };
            if version(found.as_ref().map(|found| found.bytes.as_slice())) != change.from {
                return Ok(());
            }
            saves.push(Save {
                path: change.path.clone(),
                seen: found.map(|found| found.stamp),
                bytes: self.bytes(&change.path, &change.to)?,
            });
        }
        if self.files.save(&saves).is_ok() {
            rest.iter().for_each(|change| self.settle(&change.path, &change.to));
        }
        Ok(())
    }

    /// The file holds what the buffer held.
    pub(super) fn settle(&mut self, path: &str, version: &Version) {
        if let Some(document) = self.session.documents.get_mut(path) {
            document.base.clone_from(version);
            document.seen.clone_from(version);
            if document.now == *version {
                document.state = State::On(Ground::Idle);
            }
        }
        self.looked.remove(path);
    }

    /// Saves documents, all or none. That it is being done is written down first, so that a crash in the midst of it is seen afterwards.
    ///
    /// # Errors
    /// When what the buffers hold was lost.
    pub fn save(&mut self, paths: &[String]) -> Result<Status, Trouble> {
        self.try_save(paths, TRIES)
    }

    pub(super) fn try_save(&mut self, paths: &[String], tries: usize) -> Result<Status, Trouble> {
        let mut saves = Vec::new();
        let mut changes = Vec::new();
        for path in paths {
            let document = self.document(path)?.clone();
            let looked = match self.looked.get(path) {
                Some(looked) => looked.version.clone(),
                None => self.see(path).map_err(|error| unread(path, &error))?,
            };
            if looked != document.base {
                return Ok(self.all(paths, Event::Moved));
            }
            changes.push(Change {
                path: path.clone(),
                from: document.base.clone(),
                to: document.now.clone(),
            });
            saves.push(Save {
                path: path.clone(),
                seen: self.looked.get(path).and_then(|looked| looked.stamp),
                bytes: self.bytes(path, &document.now)?,
            });
        }
        self.session.saving.clone_from(&changes);
        if let Err(error) = self.session.store(self.files) {
            self.session.saving.clear();
            self.notes.push(format!("it could not be saved: {error}"));
            return Ok(self.all(paths, Event::Unsaved));
        }
        let result = self.files.save(&saves);
        self.session.saving.clear();
        match result {
            Ok(()) => {
                let status = self.all(paths, Event::Saved);
                changes.iter().for_each(|change| self.settle(&change.path, &change.to));
                Ok(status)
            }
            Err(SaveError::Moved { path }) if tries > 0 => {
                // Somebody wrote it between looking and saving: as if he had written before.
                self.looked.remove(&path);
                match self.look(&path)? {
                    Found::Conflict => Ok(Status::ExternalConflict),
                    _ => self.try_save(paths, tries - 1),
                }
            }
            Err(error) => self.unsaved(&error, &changes),
        }
    }

    /// Something could not be saved. What was is taken back; where that fails, too, it is saved.
    pub(super) fn unsaved(&mut self, error: &SaveError, changes: &[Change]) -> Result<Status, Trouble> {
        let paths: Vec<String> = changes.iter().map(|change| change.path.clone()).collect();
        self.notes.push(error.to_string());
        let saved = match error {
            SaveError::Io { saved, .. } => *saved,
            _ => 0,
        };
        let mut back = Vec::new();
        for change in &changes[..saved] {
            back.push(Save {
                path: change.path.clone(),
                seen: self.read(&change.path).ok().flatten().map(|found| found.stamp),
                bytes: self.bytes(&change.path, &change.from)?,
            });
        }
        let status = self.all(&paths, Event::Unsaved);
        if !back.is_empty() && self.files.save(&back).is_err() {
            for change in &changes[..saved] {
                self.settle(&change.path, &change.to);
            }
            self.notes
                .push(format!("{saved} of {} files are saved all the same", changes.len()));
        }
        self.looked.clear();
        Ok(status)
    }

    pub(super) fn all(&mut self, paths: &[String], event: Event) -> Status {
        let mut last = Status::NoOp;
        for path in paths {
            last = self.happen(path, event).0;
        }
        last
    }
}
