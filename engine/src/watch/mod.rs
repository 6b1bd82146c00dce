//! Watching a workspace: changes since a moment, so that a build need not scan for them.
//!
//! A [`Watcher`] watches every directory that may contain sources, entered as in a scan, and keeps a journal of changes. [`Watch`] runs it in a
//! thread that gathers events into batches and answers other processes through a socket ([`ask`]). The client checks and hashes the named files: an
//! answer may name too much, never too little. Knows no labels and no store.

pub mod ask;
mod folder_watch;
mod journal;
mod mounts;
mod outputs;
mod running_watch;
mod socket;
mod watched_directories;
mod watcher;

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests;

pub use ask::connect;
pub use folder_watch::{ChangedPaths, FolderWatch};
pub use running_watch::{Batch, Watch, WatchError};
pub use socket::{Socket, SocketError, holder};
pub use watcher::{WatchProblem, Watcher};

/// The file in the root that defines the sources; its changes are reported although it is no source.
const MANIFEST: &str = "cortex.toml";

/// Rows of data tables, a file next to the manifest and part of its definitions. Its folder is not watched, so the watcher checks the file
/// itself.
const ROWS: &str = ".cortex/packs.toml";

use std::borrow::Borrow;
use std::collections::BTreeMap;

/// Returns the entries of a directory and everything below it.
fn at_and_below<'a, K: Ord + Borrow<str>, V>(map: &'a BTreeMap<K, V>, directory: &'a str) -> impl Iterator<Item = (&'a K, &'a V)> {
    let prefix = if directory.is_empty() {
        String::new()
    } else {
        format!("{directory}/")
    };
    let bounds = (std::ops::Bound::Included(prefix.clone()), std::ops::Bound::Unbounded);
    let at = map.get_key_value(directory).filter(|_| !directory.is_empty());
    let below = map.range::<str, _>((bounds.0.as_ref().map(String::as_str), bounds.1.as_ref().map(String::as_str)));
    // Collected because the prefix does not outlive this call; removed directories are few.
    let below: Vec<(&K, &V)> = below.take_while(|(path, _)| (*path).borrow().starts_with(&prefix)).collect();
    at.into_iter().chain(below)
}
