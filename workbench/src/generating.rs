//! What a build of a checkout is asking models for at this moment, noted in the checkout so that other commands and requests can say so.

use crate::checkout;
use engine::values::event::{Event, Observer};
use os::processes::is_alive;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The number of the process that builds, then a label a line.
pub const NOTE: &str = ".cortex/generating";
/// A longer note is read as none.
const MOST_BYTES: usize = 16 << 20;
/// The note is not written anew more often, unless a target has finished.
const PAUSE: Duration = Duration::from_millis(50);

/// Keeps the note while a build goes on, and removes it.
pub struct Generating {
    root: PathBuf,
    noted: Mutex<Noted>,
}

#[derive(Default)]
struct Noted {
    labels: BTreeSet<String>,
    at: Option<Instant>,
}

impl Generating {
    /// Of a build of the checkout at `root`.
    pub fn new(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
            noted: Mutex::default(),
        }
    }

    fn write(&self, noted: &mut Noted) {
        let head = std::process::id().to_string();
        let lines: Vec<&str> = std::iter::once(&*head).chain(noted.labels.iter().map(String::as_str)).collect();
        // A note that cannot be written is missed by nothing but what shows it.
        let _ = checkout::write(&self.root, NOTE, lines.join("\n").as_bytes());
        noted.at = Some(Instant::now());
    }
}

impl Observer for Generating {
    fn event(&self, event: &Event<'_>) {
        let (label, starts) = match event {
            Event::Started { label, paid: true } => (label, true),
            Event::Ran { label, .. } | Event::Failed { label, .. } | Event::Skipped { label, .. } => (label, false),
            _ => return,
        };
        let mut noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        let is_changed = match starts {
            true => noted.labels.insert((*label).to_owned()),
            false => noted.labels.remove(*label),
        };
        let is_due = !starts || noted.at.is_none_or(|at| at.elapsed() >= PAUSE);
        if is_changed && is_due {
            self.write(&mut noted);
        }
    }
}

impl Drop for Generating {
    fn drop(&mut self) {
        let noted = self.noted.get_mut().unwrap_or_else(PoisonError::into_inner);
        if noted.at.is_some() {
            let _ = checkout::remove(&self.root, NOTE);
        }
    }
}

/// The labels that a running build of this checkout asks models for.
pub fn labels(root: &Path) -> BTreeSet<String> {
    let note = checkout::read(root, NOTE, MOST_BYTES).ok().flatten().unwrap_or_default();
    let note = String::from_utf8_lossy(&note);
    let mut lines = note.lines();
    let process = lines.next().and_then(|number| number.parse().ok());
    // The note of a build that was killed says nothing of now.
    match process {
        Some(process) if is_alive(process) => lines.map(str::to_owned).collect(),
        _ => BTreeSet::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::values::digest::Digest;

    #[test]
    fn what_is_asked_for_is_noted_until_it_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let of = |names: &[&str]| names.iter().map(ToString::to_string).collect::<BTreeSet<String>>();
        let build = Generating::new(folder.path());
        assert_eq!(labels(folder.path()), of(&[]));
        build.event(&Event::Started {
            label: "//a:x",
            paid: true,
        });
        build.event(&Event::Started {
            label: "//b:x",
            paid: false,
        });
        assert_eq!(labels(folder.path()), of(&["//a:x"]));
        build.event(&Event::Started {
            label: "//c:x",
            paid: true,
        });
        build.event(&Event::Ran {
            label: "//a:x",
            output: Digest::of(b""),
            took: Duration::ZERO,
            changed: true,
        });
        assert_eq!(labels(folder.path()), of(&["//c:x"]));
        drop(build);
        assert_eq!(labels(folder.path()), of(&[]));
        assert!(!folder.path().join(NOTE).exists());
    }

    #[test]
    fn the_note_of_a_killed_build_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let mut ended = std::process::Command::new("true").spawn().unwrap();
        ended.wait().unwrap();
        checkout::write(folder.path(), NOTE, format!("{}\n//a:x", ended.id()).as_bytes()).unwrap();
        assert_eq!(labels(folder.path()), BTreeSet::new());
        checkout::write(folder.path(), NOTE, b"no number\n//a:x").unwrap();
        assert_eq!(labels(folder.path()), BTreeSet::new());
    }
}
