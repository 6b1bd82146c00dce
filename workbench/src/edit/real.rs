//! The disk itself for tests: a folder of its own, in which operations are killed between their steps and leave behind what a kill leaves.

use super::disk::Disk;
use super::files::Files;
use crate::kill;
use std::fs;
use std::path::PathBuf;

/// A folder with files.
pub struct Real {
    folder: tempfile::TempDir,
    /// It, as operations see it.
    pub disk: Disk,
}

impl Real {
    /// Without files.
    pub fn new() -> Self {
        // Who was killed before is another process.
        kill::kill_after(None);
        let folder = tempfile::tempdir().expect("folder");
        let disk = Disk::new(&folder.path().canonicalize().expect("canonical"));
        Self { folder, disk }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    /// Somebody else writes a file.
    pub fn write(&self, path: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        fs::write(path, bytes).expect("written");
    }

    /// Somebody else takes a file away, if it is there.
    pub fn remove(&self, path: &str) {
        let _ = fs::remove_file(self.path(path));
    }

    /// Somebody else gives a file another name.
    pub fn link(&self, path: &str, other: &str) {
        fs::hard_link(self.path(path), self.path(other)).expect("linked");
    }

    /// What a file holds.
    pub fn file(&self, path: &str) -> Option<Vec<u8>> {
        fs::read(self.path(path)).ok()
    }

    /// What a file holds, as text.
    pub fn text(&self, path: &str) -> String {
        self.file(path)
            .map_or_else(String::new, |bytes| String::from_utf8(bytes).expect("UTF-8"))
    }

    /// How many notes a folder of them has.
    pub fn count_notes(&self, folder: &str) -> usize {
        self.disk.notes(folder).expect("notes").len()
    }

    /// Names in a folder that are none of a file or a note: what kills left behind.
    pub fn leftovers(&self, folder: &str) -> usize {
        let Ok(entries) = fs::read_dir(self.path(folder)) else { return 0 };
        let names = entries.map(|entry| entry.expect("entry").file_name().to_string_lossy().into_owned());
        names.filter(|name| name.ends_with(".new") || name.ends_with(".cortex-new")).count()
    }
}
