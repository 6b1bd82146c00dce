//! The targets that builds of a checkout are asking models for now, noted in the checkout for other commands and requests.

use crate::checkout;
use engine::values::event::{Event, Observer};
use os::processes::is_alive;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The note: a line for each label with the number of the building process, the number of its build, and the label.
pub const NOTE: &str = ".cortex/generating";
/// Limit of bytes of the note; a longer one counts as empty.
const MOST_BYTES: usize = 16 << 20;
/// Least time between two writes of the note, unless a target has finished.
const PAUSE: Duration = Duration::from_millis(50);

/// Keeps the note during a build, and removes its lines at the end.
pub struct Generating {
    root: PathBuf,
    /// Number of the build in this process.
    number: u32,
    noted: Mutex<Noted>,
}

/// Number of builds of this process so far.
static BUILDS: AtomicU32 = AtomicU32::new(0);

#[derive(Default)]
struct Noted {
    labels: BTreeSet<String>,
    at: Option<Instant>,
}

impl Generating {
    /// Creates the note of a build of the checkout at `root`.
    pub fn new(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
            number: BUILDS.fetch_add(1, Ordering::Relaxed),
            noted: Mutex::default(),
        }
    }

    fn write_progress(&self, noted: &mut Noted) {
        let process = std::process::id();
        let own = noted.labels.iter().map(|label| (process, self.number, label.clone()));
        // Builds that wait for a model run at the same time. A concurrent write may lose a line; that only affects displays.
        let others = lines_of_running_builds(&self.root)
            .into_iter()
            .filter(|line| (line.0, line.1) != (process, self.number));
        let lines: Vec<String> = others
            .chain(own)
            .map(|(process, number, label)| format!("{process} {number} {label}"))
            .collect();
        let _ = match lines.is_empty() {
            true => checkout::remove(&self.root, NOTE).map(drop),
            false => checkout::write_file(&self.root, NOTE, lines.join("\n").as_bytes()),
        };
        noted.at = Some(Instant::now());
    }
}

impl Observer for Generating {
    fn event(&self, event: &Event<'_>) {
        let (label, starts) = match event {
            Event::Started { label, paid: true } => (label, true),
            Event::Ran { label, .. } | Event::Hit { label, .. } | Event::Failed { label, .. } | Event::Skipped { label, .. } => {
                (label, false)
            }
            _ => return,
        };
        let mut noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        let is_changed = match starts {
            true => noted.labels.insert((*label).to_owned()),
            false => noted.labels.remove(*label),
        };
        let is_due = !starts || noted.at.is_none_or(|at| at.elapsed() >= PAUSE);
        if is_changed && is_due {
            self.write_progress(&mut noted);
        }
    }
}

impl Drop for Generating {
    fn drop(&mut self) {
        let mut noted = std::mem::take(self.noted.get_mut().unwrap_or_else(PoisonError::into_inner));
        if noted.at.is_some() {
            noted.labels.clear();
            self.write_progress(&mut noted);
        }
    }
}

/// Returns the lines of builds that still run, without those of killed builds.
fn lines_of_running_builds(root: &Path) -> Vec<(u32, u32, String)> {
    let note = checkout::read_file(root, NOTE, MOST_BYTES).ok().flatten().unwrap_or_default();
    let line = |line: &str| {
        let (process, rest) = line.split_once(' ')?;
        let (number, label) = rest.split_once(' ')?;
        Some((process.parse().ok()?, number.parse().ok()?, label.to_owned()))
    };
    let lines = String::from_utf8_lossy(&note);
    lines.lines().filter_map(line).filter(|(process, ..)| is_alive(*process)).collect()
}

/// Returns the labels that running builds of this checkout ask models for.
pub fn labels(root: &Path) -> BTreeSet<String> {
    lines_of_running_builds(root).into_iter().map(|(.., label)| label).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::values::digest::Digest;

    #[test]
    fn paid_targets_are_noted_until_their_answer_arrives() {
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
        let other = Generating::new(folder.path());
        other.event(&Event::Started {
            label: "//d:x",
            paid: true,
        });
        assert_eq!(labels(folder.path()), of(&["//c:x", "//d:x"]));
        drop(build);
        assert_eq!(labels(folder.path()), of(&["//d:x"]));
        drop(other);
        assert_eq!(labels(folder.path()), of(&[]));
        assert!(!folder.path().join(NOTE).exists());
    }

    #[test]
    fn the_note_of_a_killed_build_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let mut ended = std::process::Command::new("true").spawn().unwrap();
        ended.wait().unwrap();
        checkout::write_file(folder.path(), NOTE, format!("{} 0 //a:x", ended.id()).as_bytes()).unwrap();
        assert_eq!(labels(folder.path()), BTreeSet::new());
        checkout::write_file(folder.path(), NOTE, b"no number //a:x\n//a:x").unwrap();
        assert_eq!(labels(folder.path()), BTreeSet::new());
    }
}
