//! The world of edits in memory, for tests: it can be stopped before every step that changes something, as a process is that is killed, and lose
//! room on its disk.

use super::diagnostics::Category;
use super::files::{FileWithBytes, Files, Save, SaveError, Stamp};
use super::place::Refused;
use super::tree::Tree;
use engine::values::digest::Digest;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::io;

/// Bytes, when they were written, and permissions.
type Entry = (Vec<u8>, u64, u32);

/// Permissions of a new file.
const USUAL: u32 = 0o644;

/// Files and notes.
#[derive(Default)]
pub struct Memory {
    files: RefCell<BTreeMap<String, Entry>>,
    notes: RefCell<BTreeMap<String, Vec<u8>>>,
    log: RefCell<Vec<(Category, String)>>,
    clock: Cell<u64>,
    turns: Cell<u64>,
    /// Steps that are still done; afterwards everything fails, as nothing is done any more.
    left: Cell<Option<usize>>,
    /// A file that there is no room for.
    full: RefCell<Option<String>>,
    /// Files of a save that are yet to be written.
    staged: RefCell<BTreeSet<String>>,
    /// Files that are links now, which lead out of the workspace.
    away: RefCell<BTreeSet<String>>,
    /// Written by somebody else just before the next save.
    sneak: RefCell<Option<(String, Vec<u8>)>>,
}

impl Memory {
    /// Somebody else writes a file.
    pub fn write(&self, path: &str, bytes: impl Into<Vec<u8>>) {
        let mode = self.mode(path).unwrap_or(USUAL);
        self.clock.set(self.clock.get() + 1);
        self.files
            .borrow_mut()
            .insert(path.to_owned(), (bytes.into(), self.clock.get(), mode));
    }

    /// Permissions of a file.
    pub fn mode(&self, path: &str) -> Option<u32> {
        self.files.borrow().get(path).map(|(_, _, mode)| *mode)
    }

    /// Somebody else gives a file other permissions.
    pub fn allow(&self, path: &str, mode: u32) {
        self.files.borrow_mut().get_mut(path).expect("a file").2 = mode;
    }

    /// Somebody else takes a file away.
    pub fn remove(&self, path: &str) {
        self.files.borrow_mut().remove(path);
    }

    /// Somebody else writes a file between the next look at it and the save.
    pub fn sneak(&self, path: &str, bytes: &[u8]) {
        *self.sneak.borrow_mut() = Some((path.to_owned(), bytes.to_vec()));
    }

    /// Somebody else puts a link that leads out of the workspace in a file's place.
    pub fn lead_away(&self, path: &str) {
        self.write(path, "elsewhere\n");
        self.away.borrow_mut().insert(path.to_owned());
    }

    /// What a file holds.
    pub fn file(&self, path: &str) -> Option<Vec<u8>> {
        self.files.borrow().get(path).map(|(bytes, _, _)| bytes.clone())
    }

    /// What a file holds, as text.
    pub fn text(&self, path: &str) -> String {
        self.file(path)
            .map_or_else(String::new, |bytes| String::from_utf8(bytes).expect("UTF-8"))
    }

    /// Is killed after so many more steps; `None` lives on.
    pub fn die_after(&self, steps: Option<usize>) {
        self.left.set(steps);
    }

    /// There is no room for a file, or a folder of notes; or for all again.
    pub fn fill(&self, path: Option<&str>) {
        *self.full.borrow_mut() = path.map(str::to_owned);
    }

    /// Names of notes.
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

    /// Lines of a log.
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
    type Alone = ();

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

    fn fresh(&self) -> u64 {
        self.clock.set(self.clock.get() + 1);
        self.clock.get()
    }

    fn turn(&self) -> u64 {
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

    fn tells(&self) -> bool {
        true
    }

    fn read(&self, path: &str) -> io::Result<Option<FileWithBytes>> {
        let bytes = self.file(path);
        if bytes.as_deref() == Some(b"<folder>") {
            return Err(io::Error::other("it is no regular file"));
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

    fn note(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
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
