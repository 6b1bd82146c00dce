//! Saves files: all that an operation saves, or none. The save is recorded first, so that the next process after a crash finishes it or rolls it
//! back. Operations of sessions and merges of overlays save their files in this way.

use super::contents::Content;
use super::draft_log::Step;
use super::files::{Files, Save, SaveError, is_torn};
use super::run::{EditRun, Trouble, unread};
use super::session::{Document, EditSession, FileEdit, Saving, Version};
use super::state::{DocumentState, Event, FileRelation, Mode, Reread, Status};
use crate::code_text::encoding::{PLAIN, decode};
use serde_json::json;
use std::io;

/// Attempts of a save that foreign writes interrupt.
const TRIES: usize = 3;

/// Recovers half-finished saves of killed processes, in all sessions. Returns sentences about the recovery.
pub(crate) fn finish<F: Files>(files: &F, now: u64) -> io::Result<Vec<String>> {
    finish_those(files, now, |_| true)
}

/// Recovers half-finished merges of overlays. The caller has acquired the editing lock.
pub(crate) fn finish_merges<F: Files>(files: &F, now: u64) -> io::Result<()> {
    finish_those(files, now, |session| session.overlay.is_some()).map(drop)
}

fn finish_those<F: Files>(files: &F, now: u64, is_meant: impl Fn(&EditSession) -> bool) -> io::Result<Vec<String>> {
    let mut notes = Vec::new();
    for session in EditSession::interrupted(files)?.into_iter().filter(is_meant) {
        let mut run = EditRun::start_run(files, session.clone(), now);
        run.allow_manifest();
        run.recover();
        let id = run.id();
        let edit = run.session.done.last().filter(|edit| edit.id == id);
        let operation = edit.map_or("commit".to_owned(), |edit| edit.operation.clone());
        // Once the session is stored, no process looks for the staged files again.
        let meant = session.saving.iter().filter(|saving| !run.is_barred(&saving.path));
        // In reverse order: a missing staged file before an existing one marks a saved file.
        meant.rev().for_each(|saving| files.unstage(&saving.path));
        // A merge that saved nothing waits in its overlay.
        if run.session.overlay.take().is_none() || run.session.is_saved() {
            run.store_session(&operation)?;
        }
        notes.append(&mut run.notes);
        session.end_saving(files)?;
    }
    Ok(notes)
}

/// Saves files for the merge of an overlay, as an edit of a new session; returns its handle. The contents are stored. The caller has acquired the
/// editing lock. Fails when the save cannot be recorded. The inner error: when a file cannot be saved; those already saved are restored,
/// now or by the next process.
pub(crate) fn save_merge<F: Files>(
    files: &F,
    overlay: &str,
    saves: &[Save],
    saving: &[Saving],
    now: u64,
) -> io::Result<Result<String, SaveError>> {
    let id = format!("{:08x}", files.unique_number() as u32);
    let session = EditSession {
        overlay: Some(overlay.to_owned()),
        operations: 1,
        ..EditSession::new(id, Mode::Immediate, now)
    };
    let mut run = EditRun::start_run(files, session, now);
    let operation = format!("overlay merge {overlay}");
    run.begin_merge(&operation, saving);
    if let Err(error) = run.save_recorded(saves, saving)? {
        if run.roll_back(&error, saving).1 {
            run.session.end_saving(files)?;
        }
        return Ok(Err(error));
    }
    saving.iter().for_each(|saving| run.settle(saving));
    run.session.overlay = None;
    run.store_session(&operation)?;
    run.session.end_saving(files)?;
    Ok(Ok(run.session.id))
}

/// State of a file after its save was interrupted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum InterruptedSave {
    /// The file has the new content.
    Saved,
    /// The file has the old content.
    Waits,
    /// The file has parts of both, after a write in place.
    Torn,
    /// The file was saved, and another program wrote it since.
    Since,
    /// Another program wrote the file before, or it cannot be read.
    Lost,
}

impl<F: Files> EditRun<'_, F> {
    /// Makes the files of a merge documents with an unsaved edit.
    fn begin_merge(&mut self, operation: &str, saving: &[Saving]) {
        let mut changes = Vec::new();
        for Saving { path, from, to, mode } in saving {
            let encoding_of = |content: &Content| Some(decode(&self.bytes(path, content).ok()??).ok()?.1);
            let (old, new) = (encoding_of(from), encoding_of(to));
            let before = Version::of(from.clone(), old.or(new).unwrap_or(PLAIN), *mode);
            let after = Version {
                text: to.clone(),
                encoding: new.unwrap_or(before.encoding),
                ..before.clone()
            };
            let document = Document {
                state: DocumentState::On(FileRelation::PersistPending),
                seen: from.clone(),
                ..Document::of(after.clone())
            };
            self.session.documents.insert(path.clone(), document);
            self.add_step(Step::from_change(path, from, to));
            changes.push(FileEdit {
                path: path.clone(),
                from: before,
                to: after,
            });
        }
        self.session.turn = self.turn;
        self.remember(operation, changes);
    }

    /// Recovers an interrupted save. A file with its new content is saved; of several files, the others are saved, too, and torn ones completed. If
    /// another program wrote one before it was saved, all are restored; a later foreign write stays. If nothing was saved yet, the edits wait in the
    /// buffer. An interrupted rollback is completed.
    fn recover(&mut self) {
        let all = std::mem::take(&mut self.session.saving);
        if std::mem::take(&mut self.session.taking_back) {
            return self.recover_taking_back(&all);
        }
        let states = self.states_of_saves(&all);
        if !states
            .iter()
            .any(|state| matches!(state, InterruptedSave::Saved | InterruptedSave::Torn | InterruptedSave::Since))
        {
            return;
        }
        let rest = all
            .iter()
            .zip(&states)
            .filter(|(_, state)| !matches!(state, InterruptedSave::Saved | InterruptedSave::Since));
        let rest: Vec<Saving> = rest.map(|(saving, _)| saving.clone()).collect();
        if !rest.is_empty() {
            let what = self.cut_short(&all);
            if !states.contains(&InterruptedSave::Lost) && self.write_files(&rest, |saving| &saving.to) {
                self.notes.push(format!("{what} has been completed"));
            } else {
                if !states.contains(&InterruptedSave::Since) {
                    self.note_taking_back(&all);
                    if self.put_back(&all) {
                        self.note_reverted(&what);
                        return;
                    }
                }
                self.notes
                    .push(format!("{what} can neither be completed nor reverted: check its files"));
            }
        }
        for (saving, state) in all.iter().zip(&states) {
            if *state == InterruptedSave::Since || self.state_of_save(saving) == InterruptedSave::Saved {
                self.settle(saving);
            }
        }
    }

    /// Completes an interrupted rollback.
    fn recover_taking_back(&mut self, all: &[Saving]) {
        let what = self.cut_short(all);
        if self.put_back(all) {
            self.note_reverted(&what);
            return;
        }
        self.notes.push(format!("{what} cannot be reverted: check its files"));
        for saving in all {
            if self.state_of_save(saving) == InterruptedSave::Saved {
                self.settle(saving);
            }
        }
    }

    fn cut_short(&self, all: &[Saving]) -> String {
        let paths: Vec<&str> = all.iter().map(|saving| saving.path.as_str()).collect();
        let draft = match &self.session.overlay {
            Some(name) => format!("overlay {name}"),
            None => format!("session {}", self.session.id),
        };
        format!("an operation that was cut short ({draft}: {})", paths.join(", "))
    }

    fn note_reverted(&mut self, what: &str) {
        let place = if self.session.overlay.is_some() { "overlay" } else { "buffer" };
        self.notes.push(format!("{what} was reverted, its edits wait in the {place}"));
    }

    /// Restores the old content of the saved files; returns whether that succeeded.
    fn put_back(&mut self, all: &[Saving]) -> bool {
        let is_written =
            |run: &mut Self, saving: &Saving| matches!(run.state_of_save(saving), InterruptedSave::Saved | InterruptedSave::Torn);
        let written: Vec<Saving> = all.iter().filter(|saving| is_written(self, saving)).cloned().collect();
        written.is_empty() || self.write_files(&written, |saving| &saving.from)
    }

    /// Records the rollback, so that after a crash restored files differ from foreign reverts. If the record cannot be written, the rollback
    /// continues all the same.
    fn note_taking_back(&mut self, all: &[Saving]) {
        self.session.saving = all.to_vec();
        self.session.taking_back = true;
        let _ = self.session.begin_saving(self.files);
        self.session.saving.clear();
        self.session.taking_back = false;
    }

    /// Returns the states of files saved together. They are staged and saved in order: a file without a staged file is saved if a later file is still
    /// staged or any file was saved, and so is every file before a saved one. If such a file has its old content, another program reverted it. A
    /// single file's content may be a coincidence, so that needs a later staged file, or all others saved.
    fn states_of_saves(&mut self, all: &[Saving]) -> Vec<InterruptedSave> {
        let mut states: Vec<InterruptedSave> = all.iter().map(|saving| self.state_of_save(saving)).collect();
        let waits: Vec<bool> = all.iter().map(|saving| self.files.is_staged(&saving.path)).collect();
        let is_written = |state: &InterruptedSave| matches!(state, InterruptedSave::Saved | InterruptedSave::Torn);
        let written = states.iter().filter(|state| is_written(state)).count();
        let last = states.iter().rposition(is_written);
        let last_waits = waits.iter().rposition(|waits| *waits);
        for (at, state) in states.iter_mut().enumerate() {
            let later_waits = !waits[at] && last_waits > Some(at);
            let was_saved = match state {
                InterruptedSave::Lost => later_waits || last > Some(at) || !waits[at] && last.is_some(),
                InterruptedSave::Waits => later_waits || !waits[at] && written > 0 && written + 1 == all.len(),
                InterruptedSave::Saved | InterruptedSave::Torn | InterruptedSave::Since => false,
            };
            if was_saved {
                *state = InterruptedSave::Since;
            }
        }
        states
    }

    /// Returns the state of a file in an interrupted save, read again.
    fn state_of_save(&mut self, saving: &Saving) -> InterruptedSave {
        let in_place = self.files.is_in_place(&saving.path);
        self.state_of_save_in(saving, in_place)
    }

    fn state_of_save_in(&mut self, saving: &Saving, in_place: bool) -> InterruptedSave {
        let Saving { path, from, to, .. } = saving;
        match self.see(path) {
            Ok(found) if found == *to => InterruptedSave::Saved,
            Ok(found) if found == *from => InterruptedSave::Waits,
            Ok(_) if !in_place => InterruptedSave::Lost,
            Ok(found) => match [&found, from, to].map(|content| self.bytes(path, content)) {
                [Ok(Some(found)), Ok(Some(from)), Ok(Some(to))] if is_torn(&found, &from, &to) => InterruptedSave::Torn,
                _ => InterruptedSave::Lost,
            },
            Err(_) => InterruptedSave::Lost,
        }
    }

    /// Writes files that were just checked; returns whether all succeeded.
    fn write_files(&mut self, files: &[Saving], which: impl Fn(&Saving) -> &Content) -> bool {
        let mut saves = Vec::new();
        for saving in files {
            let Ok(bytes) = self.bytes(&saving.path, which(saving)) else {
                return false;
            };
            saves.push(Save {
                path: saving.path.clone(),
                seen: self.looked.get(&saving.path).and_then(|looked| looked.stamp),
                bytes,
                mode: saving.mode,
            });
            self.looked.remove(&saving.path);
        }
        self.files.save(&saves).is_ok()
    }

    /// Records that the file now equals the buffer.
    fn settle(&mut self, saving: &Saving) {
        let Saving { path, from, to, .. } = saving;
        if let Some(document) = self.session.documents.get_mut(path) {
            document.now.base.clone_from(to);
            document.seen.clone_from(to);
            if document.now.text == *to {
                document.state = DocumentState::On(FileRelation::Idle);
            }
        }
        self.add_step(Step {
            saved: true,
            over: from.clone(),
            ..Step::from_change(path, to, to)
        });
        self.looked.remove(path);
    }

    /// Saves documents, all or none. Records the save first, so that a crash during it is detected. Fails when the stored bytes of a buffer
    /// were lost.
    pub fn save(&mut self, paths: &[String]) -> Result<Status, Trouble> {
        self.try_save(paths, TRIES)
    }

    fn try_save(&mut self, paths: &[String], tries: usize) -> Result<Status, Trouble> {
        let mut saves = Vec::new();
        let mut saving = Vec::new();
        for path in paths {
            let now = self.document(path)?.now.clone();
            let looked = match self.looked.get(path) {
                Some(looked) => looked.content.clone(),
                None => self.see(path).map_err(|error| self.of_document(unread(path, &error)))?,
            };
            if looked != now.base {
                return Ok(self.record_for_all(paths, Event::Moved));
            }
            saves.push(Save {
                path: path.clone(),
                seen: self.looked.get(path).and_then(|looked| looked.stamp),
                bytes: self.bytes(path, &now.text)?,
                mode: now.mode,
            });
            saving.push(Saving {
                path: path.clone(),
                from: now.base,
                to: now.text,
                mode: now.mode,
            });
        }
        match self.save_recorded(&saves, &saving) {
            Err(error) => {
                self.notes.push(format!("it could not be saved: {error}"));
                Ok(self.record_for_all(paths, Event::Unsaved))
            }
            Ok(Ok(())) => {
                let status = self.record_for_all(paths, Event::Saved);
                saving.iter().for_each(|saving| self.settle(saving));
                Ok(status)
            }
            Ok(Err(SaveError::Moved { path })) if tries > 0 => {
                // Another program wrote it between check and save; handle it like an earlier write.
                self.looked.remove(&path);
                match self.read_document_file(&path)? {
                    Reread::Conflict => Ok(Status::ExternalConflict),
                    _ => self.try_save(paths, tries - 1),
                }
            }
            Ok(Err(error)) => self.handle_failed_save(&error, &saving),
        }
    }

    fn save_recorded(&mut self, saves: &[Save], saving: &[Saving]) -> io::Result<Result<(), SaveError>> {
        self.session.saving = saving.to_vec();
        self.is_saving = true;
        let begun = self.session.begin_saving(self.files);
        let result = begun.map(|()| self.files.save(saves));
        self.session.saving.clear();
        let error = match &result {
            Err(error) => Some(error.to_string()),
            Ok(Err(error)) => Some(error.to_string()),
            Ok(Ok(())) => None,
        };
        self.met.saves.push(json!({"saves": saving, "error": error}));
        result
    }

    /// Handles a failed save: rolls back the saved files; those that cannot be restored count as saved.
    fn handle_failed_save(&mut self, error: &SaveError, saving: &[Saving]) -> Result<Status, Trouble> {
        let paths: Vec<String> = saving.iter().map(|saving| saving.path.clone()).collect();
        self.notes.push(error.to_string());
        let status = self.record_for_all(&paths, Event::Unsaved);
        let (written, is_back) = self.roll_back(error, saving);
        if !is_back {
            self.settle_some(&written, saving.len());
        }
        self.looked.clear();
        Ok(status)
    }

    /// Restores the files that a failed save has written. Returns these, and whether all are restored.
    fn roll_back(&mut self, error: &SaveError, saving: &[Saving]) -> (Vec<Saving>, bool) {
        // The failed file may be written fully or in part, and not be durable.
        let tried = match error {
            SaveError::Io { saved, .. } => saving.len().min(saved + 1),
            _ => 0,
        };
        let written =
            |run: &mut Self, one: &Saving| matches!(run.state_of_save_in(one, true), InterruptedSave::Saved | InterruptedSave::Torn);
        let written: Vec<Saving> = saving[..tried].iter().filter(|one| written(self, one)).cloned().collect();
        if !written.is_empty() {
            self.note_taking_back(saving);
        }
        let is_back = written.is_empty() || self.write_files(&written, |saving| &saving.from);
        saving.iter().rev().for_each(|saving| self.files.unstage(&saving.path));
        (written, is_back)
    }

    /// Settles a failed rollback: complete files count as saved, and the next save rewrites a torn one.
    fn settle_some(&mut self, written: &[Saving], all: usize) {
        let mut whole = 0;
        for one in written {
            match self.state_of_save_in(one, true) {
                InterruptedSave::Saved => {
                    self.settle(one);
                    whole += 1;
                }
                InterruptedSave::Torn => {
                    let found = self.looked.get(&one.path).and_then(|looked| looked.content.clone());
                    if let Some(document) = self.session.documents.get_mut(&one.path) {
                        document.now.base.clone_from(&found);
                        document.seen = found;
                    }
                    self.notes.push(format!("{} is half written, its text is in the buffer", one.path));
                }
                InterruptedSave::Lost | InterruptedSave::Since => self.notes.push(format!("{} is something else: check it", one.path)),
                InterruptedSave::Waits => {}
            }
        }
        if whole > 0 {
            self.notes.push(format!("{whole} of {all} files are saved all the same"));
        }
    }

    fn record_for_all(&mut self, paths: &[String], event: Event) -> Status {
        let mut last = Status::NoOp;
        for path in paths {
            last = self.apply_event(path, event).0;
        }
        last
    }
}
