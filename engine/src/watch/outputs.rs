//! Whether something moved below the output folder. What it was is not told: whoever asks then looks at the files that matter to it.
//!
//! Nobody is woken by what is heard here, because builds write much there; it is taken in when somebody asks.

use super::ears::{Ears, Heard};
use crate::files::exports::OUT_DIR;
use crate::files::scan::join;
use os::errors::SystemError;
use std::io::ErrorKind;
use std::path::Path;

/// The folder of the output folder.
pub(super) const HOME: &str = ".cortex";

/// Ears for the output folder.
pub(super) struct Outputs {
    /// None when the system has none to give.
    ears: Option<Ears>,
    /// Directories came, went or moved: they are to be gone through again.
    stale: bool,
}

impl Outputs {
    pub(super) fn new() -> Self {
        Self {
            ears: Ears::new().ok(),
            stale: true,
        }
    }

    /// The folder came or went.
    pub(super) fn unsettle(&mut self) {
        self.stale = true;
    }

    /// Whether something may have happened since the last call. After it everything there is listened to.
    pub(super) fn take_changed(&mut self, root: &Path) -> bool {
        let mut moved = self.drain();
        while self.stale {
            self.stale = false;
            moved = true;
            if self.listen(root).is_err() {
                self.ears = None;
            }
            // Told after they are listened to: what happened before is part of "moved".
            self.drain();
        }
        moved || self.ears.is_none()
    }

    fn drain(&mut self) -> bool {
        let Some(ears) = &mut self.ears else { return true };
        let (mut moved, mut stale) = (false, false);
        let all = ears.drain(|heard| match heard {
            Heard::Lost | Heard::Gone(_) => stale = true,
            Heard::Name {
                directory, name, is_dir, ..
            } => {
                let matters = &*directory != HOME || join(&directory, &name) == OUT_DIR;
                moved |= matters;
                stale |= matters && is_dir;
            }
        });
        if all != Ok(true) {
            self.ears = None;
        }
        self.stale |= stale;
        moved || stale || self.ears.is_none()
    }

    fn listen(&mut self, root: &Path) -> Result<(), SystemError> {
        let Some(ears) = &mut self.ears else { return Ok(()) };
        ears.remove("");
        let mut todo = Vec::new();
        for directory in [HOME, OUT_DIR] {
            match ears.add(root, directory) {
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
                // A name that is no text is none that is laid out.
                let Ok(name) = entry.file_name().into_string() else { continue };
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    let path = join(&directory, &name);
                    match ears.add(root, &path) {
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
