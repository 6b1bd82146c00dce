//! Watching a workspace: what moved since when, so that a build need not look for it.
//!
//! A [`Watcher`] listens to every directory that may hold sources, as the look at the sources would enter them, and keeps a journal of
//! what moved. It is run by [`Watch`], a thread that gathers what it hears into batches and answers others through a socket ([`ask`]).
//! What it names is looked at and hashed by whoever asked: it may name too much, never too little. It knows no labels and no store.

pub mod ask;
mod ears;
mod folder_watch;
mod journal;
mod mounts;
mod outputs;
mod serve;
mod socket;
mod watcher;

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests;

pub use ask::connect;
pub use folder_watch::{Lookout, Moved};
pub use serve::{Batch, Watch, WatchError};
pub use socket::{Socket, SocketError, holder};
pub use watcher::{Trouble, Watcher};

/// The file in the root that says what the sources are; its moves are told although it is none.
const MANIFEST: &str = "cortex.toml";

/// Rows of data tables beside the manifest, part of the definition like it. It lies where nobody listens, and is looked at instead.
const ROWS: &str = ".cortex/packs.toml";

use std::borrow::Borrow;
use std::collections::BTreeMap;

/// The entries of a directory and of all below it.
fn at_and_below<'a, K: Ord + Borrow<str>, V>(map: &'a BTreeMap<K, V>, directory: &'a str) -> impl Iterator<Item = (&'a K, &'a V)> {
    let prefix = if directory.is_empty() {
        String::new()
    } else {
        format!("{directory}/")
    };
    let bounds = (std::ops::Bound::Included(prefix.clone()), std::ops::Bound::Unbounded);
    let at = map.get_key_value(directory).filter(|_| !directory.is_empty());
    let below = map.range::<str, _>((bounds.0.as_ref().map(String::as_str), bounds.1.as_ref().map(String::as_str)));
    // Collected because the prefix does not outlive this call; directories that go are few.
    let below: Vec<(&K, &V)> = below.take_while(|(path, _)| (*path).borrow().starts_with(&prefix)).collect();
    at.into_iter().chain(below)
}
