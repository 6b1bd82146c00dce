//! Edits in memory, for tests: can stop before every step that changes something, as if the process were killed, and run out of disk space.

use super::edit_log::Category;
use super::files::{FileWithBytes, Files, Save, SaveError, Stamp};
use super::tree::Tree;
use crate::editable_paths::Refused;
use engine::values::digest::Digest;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::io;

/// Content, time of the write, and permissions.
type StoredFile = (Vec<u8>, u64, u32);

/// Permissions of a new file.
const USUAL: u32 = 0o644;

/// Files and notes.
#[derive(Default)]
pub struct Memory {
    files: RefCell<BTreeMap<String, StoredFile>>,
    notes: RefCell<BTreeMap<String, Vec<u8>>>,
    log: RefCell<Vec<(Category, String)>>,
    clock: Cell<u64>,
    turns: Cell<u64>,
    /// Number of steps still allowed; afterwards every step fails, as in a killed process.
    left: Cell<Option<usize>>,
    /// A file for which the disk has no room.
    full: RefCell<Option<String>>,
    /// Files of a save not written yet.
    staged: RefCell<BTreeSet<String>>,
    /// Files replaced by links out of the workspace.
    away: RefCell<BTreeSet<String>>,
    /// Foreign write just before the next save.
    sneak: RefCell<Option<(String, Vec<u8>)>>,
}

impl Memory {
    /// Writes a file as another program.
    pub fn write(&self, path: &str, bytes: impl Into<Vec<u8>>) {
        let mode = self.mode(path).unwrap_or(USUAL);
        self.clock.set(self.clock.get() + 1);
        self.files
            .borrow_mut()
            .insert(path.to_owned(), (bytes.into(), self.clock.get(), mode));
    }

    /// Returns the permissions of a file.
    pub fn mode(&self, path: &str) -> Option<u32> {
        self.files.borrow().get(path).map(|(_, _, mode)| *mode)
    }

    /// Changes the permissions of a file as another program.
    pub fn allow(&self, path: &str, mode: u32) {
        self.files.borrow_mut().get_mut(path).expect("a file").2 = mode;
    }

    /// Deletes a file as another program.
    pub fn remove(&self, path: &str) {
        self.files.borrow_mut().remove(path);
    }

    /// Schedules a foreign write between the next check of a file and its save.
    pub fn sneak(&self, path: &str, bytes: &[u8]) {
        *self.sneak.borrow_mut() = Some((path.to_owned(), bytes.to_vec()));
    }

    /// Replaces a file with a link out of the workspace, as another program.
    pub fn lead_away(&self, path: &str) {
        self.write(path, "elsewhere\n");
        self.away.borrow_mut().insert(path.to_owned());
    }

    /// Returns the content of a file.
    pub fn file(&self, path: &str) -> Option<Vec<u8>> {
        self.files.borrow().get(path).map(|(bytes, _, _)| bytes.clone())
    }

    /// Returns the content of a file as text.
    pub fn text(&self, path: &str) -> String {
        self.file(path)
            .map_or_else(String::new, |bytes| String::from_utf8(bytes).expect("UTF-8"))
    }

    /// Kills the process after this number of further steps; `None` revives it.
    pub fn die_after(&self, steps: Option<usize>) {
        self.left.set(steps);
    }

    /// Simulates a full disk for a file or a folder of notes; `None` ends that.
    pub fn fill(&self, path: Option<&str>) {
        *self.full.borrow_mut() = path.map(str::to_owned);
    }

    /// Counts the notes of a folder.
    pub fn count_notes(&self, folder: &str) -> usize {
        self.notes(folder).expect("notes").len()
    }

    /// Damages all notes of a folder.
    pub fn damage(&self, folder: &str) {
        for (name, bytes) in self.notes.borrow_mut().iter_mut() {
            if name.starts_with(folder) {
                *bytes = b"damaged".to_vec();
            }
        }
    }

    /// Returns the lines of a log.
    pub fn logged(&self, category: Category) -> Vec<serde_json::Value> {
        let log = self.log.borrow();
        let lines = log.iter().filter(|(other, _)| *other == category);
        lines.map(|(_, line)| serde_json::from_str(line).expect("a line of JSON")).collect()
    }

    fn count_write(&self) -> io::Result<()> {
        match self.left.get() {
            Some(0) => Err(io::Error::other("killed")),
            Some(left) => {
                self.left.set(Some(left - 1));
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn stamp(&self, path: &str) -> Option<Stamp> {
        let files = self.files.borrow();
        files.get(path).map(|(bytes, at, _)| Stamp {
            of: (0, *at, bytes.len() as u64, 0, i128::from(*at)),
        })
    }
}

impl Files for Memory {
    type EditLock = ();

    fn lock_for_editing(&self) -> io::Result<()> {
        Ok(())
    }

    fn resolve(&self, given: &str) -> Result<String, Refused> {
        match given.starts_with("..") || self.away.borrow().contains(given) {
            true => Err(Refused::Outside(given.to_owned())),
            false => Ok(given.to_owned()),
        }
    }

    fn is_link(&self, _: &str) -> bool {
        false
    }

    fn unique_number(&self) -> u64 {
        self.clock.set(self.clock.get() + 1);
        self.clock.get()
    }

    fn increasing_number(&self) -> u64 {
        self.turns.set(self.turns.get() + 1);
        self.turns.get()
    }

    fn tree(&self) -> io::Result<Tree> {
        let files = self.files.borrow();
        let held = files.iter().map(|(path, (bytes, ..))| (path.clone(), Digest::of(bytes)));
        Ok(held.collect())
    }

    fn is_in_tree(&self, _: &str) -> io::Result<bool> {
        Ok(true)
    }

    fn log_line(&self, category: Category, line: &str) {
        self.log.borrow_mut().push((category, line.to_owned()));
    }

    fn is_logging(&self) -> bool {
        true
    }

    fn read(&self, path: &str) -> io::Result<Option<FileWithBytes>> {
        let bytes = self.file(path);
        if bytes.as_deref() == Some(b"<folder>") {
            return Err(io::Error::other("it is not a regular file"));
        }
        let stamped = bytes.zip(self.stamp(path)).zip(self.mode(path));
        Ok(stamped.map(|((bytes, stamp), mode)| FileWithBytes { bytes, stamp, mode }))
    }

    fn save(&self, files: &[Save]) -> Result<(), SaveError> {
        if let Some((path, bytes)) = self.sneak.borrow_mut().take() {
            self.write(&path, bytes);
        }
        for save in files {
            let path = save.path.clone();
            if self.stamp(&save.path) != save.seen {
                return Err(SaveError::Moved { path });
            }
        }
        self.staged.borrow_mut().extend(files.iter().map(|save| save.path.clone()));
        for (saved, save) in files.iter().enumerate() {
            let path = save.path.clone();
            let failed = |error| SaveError::Io { path, saved, error };
            if self.full.borrow().as_ref() == Some(&save.path) {
                return Err(failed(io::Error::from(io::ErrorKind::StorageFull)));
            }
            self.count_write().map_err(failed)?;
            match &save.bytes {
                Some(bytes) => {
                    let is_new = self.mode(&save.path).is_none();
                    self.write(&save.path, bytes.to_vec());
                    if let Some(mode) = save.mode.filter(|_| is_new) {
                        self.allow(&save.path, mode);
                    }
                }
                None => self.remove(&save.path),
            }
            self.staged.borrow_mut().remove(&save.path);
        }
        Ok(())
    }

    fn is_staged(&self, path: &str) -> bool {
        self.staged.borrow().contains(path)
    }

    fn unstage(&self, path: &str) {
        if self.count_write().is_ok() {
            self.staged.borrow_mut().remove(path);
        }
    }

    fn is_in_place(&self, _: &str) -> bool {
        false
    }

    fn is_one(&self, path: &str, other: &str) -> bool {
        path == other
    }

    fn read_note(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        Ok(self.notes.borrow().get(name).cloned())
    }

    fn write_note(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.count_write()?;
        if self.full.borrow().as_ref().is_some_and(|full| name.starts_with(full.as_str())) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.notes.borrow_mut().insert(name.to_owned(), bytes.to_vec());
        Ok(())
    }

    fn append_note(&self, name: &str, bytes: &str) -> io::Result<u64> {
        let before = self.read_note(name)?.unwrap_or_default();
        let all = [before.as_slice(), bytes.as_bytes()].concat();
        self.write_note(name, &all)?;
        Ok(all.len() as u64)
    }

    fn drop_note(&self, name: &str) -> io::Result<()> {
        self.count_write()?;
        self.notes.borrow_mut().remove(name);
        Ok(())
    }

    fn notes(&self, folder: &str) -> io::Result<Vec<(String, u64)>> {
        let notes = self.notes.borrow();
        let prefix = format!("{folder}/");
        let below = notes
            .iter()
            .filter_map(|(name, bytes)| Some((name.strip_prefix(&prefix)?, bytes.len())));
        Ok(below.map(|(name, length)| (name.to_owned(), length as u64)).collect())
    }
}
