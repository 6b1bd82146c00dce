//! Changes below the output folder. Reports only whether there were any: the client then checks the files that it needs.
//!
//! Events here wake no thread, because builds write much there; they are read when a client asks.

use super::watched_directories::{WatchEvent, WatchedDirectories};
use crate::files::exports::OUT_DIR;
use crate::files::scan::join;
use os::errors::SystemError;
use std::io::ErrorKind;
use std::path::Path;

/// The parent of the output folder.
pub(super) const HOME: &str = ".cortex";

pub(super) struct Outputs {
    /// None if the system has no watches left.
    directories: Option<WatchedDirectories>,
    /// Directories appeared, disappeared or moved: they must be listed again.
    stale: bool,
}

impl Outputs {
    pub(super) fn new() -> Self {
        Self {
            directories: WatchedDirectories::new().ok(),
            stale: true,
        }
    }

    /// Marks the folder as appeared or removed.
    pub(super) fn mark_stale(&mut self) {
        self.stale = true;
    }

    /// Whether anything may have changed since the last call. Afterwards, all existing directories are watched.
    pub(super) fn take_changed(&mut self, root: &Path) -> bool {
        let mut changed = self.drain_outputs();
        while self.stale {
            self.stale = false;
            changed = true;
            if self.watch_outputs(root).is_err() {
                self.directories = None;
            }
            // Drain after the watches are added: earlier events are covered by `changed`.
            self.drain_outputs();
        }
        changed || self.directories.is_none()
    }

    fn drain_outputs(&mut self) -> bool {
        let Some(directories) = &mut self.directories else { return true };
        let (mut changed, mut stale) = (false, false);
        let all = directories.pass_events(|event| match event {
            WatchEvent::Lost | WatchEvent::Gone(_) => stale = true,
            WatchEvent::Name {
                directory, name, is_dir, ..
            } => {
                let matters = &*directory != HOME || join(&directory, &name) == OUT_DIR;
                changed |= matters;
                stale |= matters && is_dir;
            }
        });
        if all != Ok(true) {
            self.directories = None;
        }
        self.stale |= stale;
        changed || stale || self.directories.is_none()
    }

    fn watch_outputs(&mut self, root: &Path) -> Result<(), SystemError> {
        let Some(directories) = &mut self.directories else { return Ok(()) };
        directories.unwatch_directory("");
        let mut todo = Vec::new();
        for directory in [HOME, OUT_DIR] {
            match directories.watch_directory(root, directory) {
                Ok(()) => {}
                Err(SystemError::NOT_FOUND | SystemError::NO_FOLDER) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        todo.push(OUT_DIR.to_owned());
        while let Some(directory) = todo.pop() {
            let entries = match std::fs::read_dir(root.join(&directory)) {
                Ok(entries) => entries,
                Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => continue,
                Err(_) => return Err(SystemError::DENIED),
            };
            for entry in entries.flatten() {
                // No laid-out file has a name that is not UTF-8.
                let Ok(name) = entry.file_name().into_string() else { continue };
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    let path = join(&directory, &name);
                    match directories.watch_directory(root, &path) {
                        Ok(()) => todo.push(path),
                        Err(SystemError::NOT_FOUND | SystemError::NO_FOLDER | SystemError::LINK) => {}
                        Err(error) => return Err(error),
                    }
                }
            }
        }
        Ok(())
    }
}
