//! The stored window of a checkout: `.cortex/window.json`. It belongs to a person, not to the store, so that deleting the store loses nothing of it.
//! Its moments are counters, not clock times.

use crate::checkout;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::io;
use std::path::Path;

/// Path of the file, below the workspace's root.
pub const FILE: &str = ".cortex/window.json";
/// Limit of viewed types (seed 000 §4.3).
const RECENT: usize = 512;
/// Limit of bytes of the file: enough for 512 long names and as many pins.
const MOST_BYTES: usize = 16 << 20;
/// Default limit of characters of the text.
pub const USUAL_CHARS: usize = 40_000;

/// A pinned type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pin {
    /// Symbol path of the type.
    pub path: String,
}

/// A type that was viewed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recent {
    /// Symbol path of the type.
    pub path: String,
    /// Moment of the first view since it was last dismissed.
    pub entered: u64,
    /// Moment of the last view.
    pub used: u64,
}

/// The window of a checkout.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Window {
    /// The last moment.
    pub now: u64,
    /// Pinned types, in the order in which they were pinned.
    pub pinned: Vec<Pin>,
    /// Viewed types, the last one first.
    pub recent: Vec<Recent>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pack: Option<String>,
    /// Limit of characters of the text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_chars: Option<usize>,
}

impl Window {
    /// Reads the window of a workspace; empty if nothing is stored. Fails when the file is invalid: it may contain a person's pins, so it
    /// is not replaced.
    pub fn read_window(root: &Path) -> io::Result<Self> {
        decode_window(checkout::read_file(root, FILE, MOST_BYTES)?)
    }

    /// Changes the window of a workspace; concurrent changes run one after the other.
    pub fn change_window<T>(root: &Path, change: impl FnOnce(&mut Self) -> T) -> io::Result<T> {
        let mut changed = None;
        checkout::change(root, FILE, MOST_BYTES, |bytes| {
            let before = decode_window(bytes)?;
            let mut window = before.clone();
            changed = Some(change(&mut window));
            if window == before {
                return Ok::<_, io::Error>(None);
            }
            let mut bytes = serde_json::to_vec_pretty(&window)?;
            bytes.push(b'\n');
            Ok(Some(bytes))
        })?;
        Ok(changed.expect("invariant: what is changed without an error was given to the change"))
    }

    /// Pins a type. Returns whether it was not pinned before.
    pub fn pin(&mut self, path: &str) -> bool {
        let new = !self.pinned.iter().any(|pin| pin.path == path);
        if new {
            self.pinned.push(Pin { path: path.to_owned() });
        }
        new
    }

    /// Unpins a type. Returns whether it was pinned.
    pub fn unpin(&mut self, path: &str) -> bool {
        let before = self.pinned.len();
        self.pinned.retain(|pin| pin.path != path);
        self.pinned.len() < before
    }

    /// Removes a type until it is viewed again. Returns whether it was there.
    pub fn dismiss(&mut self, path: &str) -> bool {
        let before = self.recent.len();
        self.recent.retain(|recent| recent.path != path);
        self.recent.len() < before
    }

    /// Renames a type. If both names are there, the type stays at its first position.
    pub fn rename(&mut self, from: &str, to: &str) {
        for pin in self.pinned.iter_mut().filter(|pin| pin.path == from) {
            to.clone_into(&mut pin.path);
        }
        for recent in self.recent.iter_mut().filter(|recent| recent.path == from) {
            to.clone_into(&mut recent.path);
        }
        let (mut pinned, mut recent) = (BTreeSet::new(), BTreeSet::new());
        self.pinned.retain(|pin| pinned.insert(pin.path.clone()));
        self.recent.retain(|one| recent.insert(one.path.clone()));
    }

    /// Records a view of a type.
    pub fn touch(&mut self, path: &str) {
        if self.recent.first().is_some_and(|last| last.path == path) {
            return;
        }
        self.now += 1;
        let known = self.recent.iter().position(|recent| recent.path == path);
        let entered = known.map_or(self.now, |at| self.recent.remove(at).entered);
        let recent = Recent {
            path: path.to_owned(),
            entered,
            used: self.now,
        };
        self.recent.insert(0, recent);
        self.recent.truncate(RECENT);
    }
}

fn decode_window(bytes: Option<Vec<u8>>) -> io::Result<Window> {
    let Some(bytes) = bytes else { return Ok(Window::default()) };
    serde_json::from_slice(&bytes).map_err(|error| io::Error::other(format!("{FILE} cannot be read: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(window: &Window) -> Vec<&str> {
        window.recent.iter().map(|recent| recent.path.as_str()).collect()
    }

    #[test]
    fn recently_viewed_types_come_first() {
        let mut window = Window::default();
        for path in ["A", "B", "A", "A", "C"] {
            window.touch(path);
        }
        assert_eq!(paths(&window), ["C", "A", "B"]);
        assert_eq!(window.recent[1].entered, 1);
        assert!(window.dismiss("A") && !window.dismiss("A"));
        window.touch("A");
        assert_eq!(window.recent[0].entered, 5, "it entered anew");
        for number in 0..RECENT * 2 {
            window.touch(&number.to_string());
        }
        assert_eq!(window.recent.len(), RECENT);
    }

    #[test]
    fn a_renamed_type_stays_where_it_was() {
        let mut window = Window::default();
        for path in ["A", "B", "C"] {
            window.pin(path);
            window.touch(path);
        }
        window.rename("B", "X");
        window.rename("C", "A");
        assert_eq!(window.pinned.iter().map(|pin| pin.path.as_str()).collect::<Vec<_>>(), ["A", "X"]);
        assert_eq!(paths(&window), ["A", "X"]);
    }

    #[test]
    fn changes_at_once_are_all_made() {
        let folder = tempfile::tempdir().expect("folder");
        std::thread::scope(|scope| {
            for number in 0..8 {
                let root = folder.path();
                scope.spawn(move || Window::change_window(root, |window| window.pin(&number.to_string())).expect("written"));
            }
        });
        assert_eq!(Window::read_window(folder.path()).expect("readable").pinned.len(), 8);
        std::fs::write(folder.path().join(FILE), "[").expect("file");
        assert!(Window::read_window(folder.path()).is_err());
        assert!(Window::change_window(folder.path(), |window| window.pin("A")).is_err());
        assert_eq!(std::fs::read(folder.path().join(FILE)).expect("file"), b"[", "it stays");
    }
}
