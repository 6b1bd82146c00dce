//! A temporary folder on the real disk for tests: operations can be killed between steps and leave what a killed process leaves.

use super::disk::Disk;
use super::files::Files;
use crate::kill_points;
use std::fs;
use std::path::PathBuf;

/// A folder with files.
pub struct Real {
    folder: tempfile::TempDir,
    /// The folder, as operations access it.
    pub disk: Disk,
}

impl Real {
    /// Returns an empty folder.
    pub fn new() -> Self {
        // A killed process is another one than the next.
        kill_points::kill_after(None);
        let folder = tempfile::tempdir().expect("folder");
        let disk = Disk::new(&folder.path().canonicalize().expect("canonical"));
        Self { folder, disk }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    /// Writes a file as another program.
    pub fn write(&self, path: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        fs::write(path, bytes).expect("written");
    }

    /// Deletes a file, if it exists, as another program.
    pub fn remove(&self, path: &str) {
        let _ = fs::remove_file(self.path(path));
    }

    /// Adds a hard link to a file, as another program.
    pub fn link(&self, path: &str, other: &str) {
        fs::hard_link(self.path(path), self.path(other)).expect("linked");
    }

    /// Returns the content of a file.
    pub fn file(&self, path: &str) -> Option<Vec<u8>> {
        fs::read(self.path(path)).ok()
    }

    /// Returns the content of a file as text.
    pub fn text(&self, path: &str) -> String {
        self.file(path)
            .map_or_else(String::new, |bytes| String::from_utf8(bytes).expect("UTF-8"))
    }

    /// Returns the number of notes in a folder.
    pub fn count_notes(&self, folder: &str) -> usize {
        self.disk.notes(folder).expect("notes").len()
    }

    /// Counts staged files in a folder, left by killed processes.
    pub fn leftovers(&self, folder: &str) -> usize {
        let Ok(entries) = fs::read_dir(self.path(folder)) else { return 0 };
        let names = entries.map(|entry| entry.expect("entry").file_name().to_string_lossy().into_owned());
        names.filter(|name| name.ends_with(".new") || name.ends_with(".cortex-new")).count()
    }
}
