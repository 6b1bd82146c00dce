//! The real world: this machine's clock and the files of one workspace folder.

use super::exports::Exports;
use super::globs::fingerprint;
use super::hypothetical::sets_of_files;
use super::read::read_source;
use super::stamp::Stamp;
use super::tree::SourceTree;
use crate::seams::world::{self, ExportOutcome, Refresh, RowEdits, Rows, SetDef, TreeFacts, Watched, Watcher, World, WorldError};
use crate::values::digest::Digest;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// A workspace folder.
#[derive(Clone, Debug)]
pub struct Disk {
    root: PathBuf,
    watcher: Option<Arc<dyn Watcher>>,
}

impl Disk {
    /// Creates the world of the folder `root`.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self {
            root: root.into(),
            watcher: None,
        }
    }

    pub fn watched_by(self, watcher: Arc<dyn Watcher>) -> Self {
        Self {
            watcher: Some(watcher),
            ..self
        }
    }

    /// Returns the folder's path.
    pub fn root(&self) -> &Path {
        &self.root
    }
}

/// Returns nanoseconds since 1970; 0 if the clock is set to an earlier time, which settles no stamp.
fn nanoseconds_since_1970() -> i64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .ok()
        .and_then(|time| i64::try_from(time.as_nanos()).ok())
        .unwrap_or_default()
}

/// Returns the present stamp of a file, the default one if it does not exist; `None` if a later write might leave it unchanged.
pub fn settled_stamp(path: &Path) -> Option<Stamp> {
    let stamp = os::info::FileInfo::of_path(path).map_or_else(|_| Stamp::default(), |info| Stamp::from_info(&info));
    stamp.settled(nanoseconds_since_1970()).then_some(stamp)
}

impl World for Disk {
    fn now_nanos(&self) -> i64 {
        nanoseconds_since_1970()
    }

    fn root(&self) -> Option<&std::path::Path> {
        Some(&self.root)
    }

    fn watched(&self, sets: &[SetDef], since: Option<&[u8]>) -> Option<Watched> {
        self.watcher.as_ref()?.since(fingerprint(sets), since)
    }

    fn sources(&self, rows: Rows) -> Box<dyn world::Sources> {
        Box::new(DiskSources {
            root: self.root.clone(),
            tree: SourceTree::from_rows(rows),
        })
    }

    fn exports(&self, rows: Rows) -> Box<dyn world::Exports> {
        Box::new(DiskExports {
            root: self.root.clone(),
            exports: Exports::from_rows(rows),
        })
    }

    fn read(&self, path: &str) -> Result<Vec<u8>, WorldError> {
        self.read_at_most(path, usize::MAX - 1)
    }

    fn read_at_most(&self, path: &str, most: usize) -> Result<Vec<u8>, WorldError> {
        read_source(&self.root, path, most)
    }
}

struct DiskSources {
    root: PathBuf,
    tree: SourceTree,
}

impl world::Sources for DiskSources {
    fn refresh(&mut self, sets: &[SetDef]) -> Result<Refresh, WorldError> {
        self.tree.refresh(&self.root, sets, nanoseconds_since_1970())
    }

    fn refresh_named(&mut self, sets: &[SetDef], changed: &[String], directories: u64) -> Result<Refresh, WorldError> {
        self.tree
            .refresh_named(&self.root, sets, nanoseconds_since_1970(), changed, directories)
    }

    fn tree_facts(&self) -> TreeFacts {
        self.tree.tree_facts()
    }

    fn set(&self, index: usize) -> Vec<String> {
        self.tree.set_paths(index)
    }

    fn contains(&self, index: usize, path: &str) -> bool {
        self.tree.contains(index, path)
    }

    fn sets_of_paths(&self, sets: &[SetDef], paths: &[&str]) -> Result<Vec<u64>, WorldError> {
        sets_of_files(&self.root, sets, paths)
    }

    fn lies_at(&self, path: &str) -> bool {
        self.root.join(path).symlink_metadata().is_ok()
    }

    fn links(&self) -> Vec<(String, u64, String)> {
        self.tree.links(&self.root)
    }

    fn count(&self) -> usize {
        self.tree.count()
    }

    fn digest(&self, path: &str) -> Option<Digest> {
        self.tree.digest(path)
    }

    fn files(&self) -> Vec<(String, Option<Digest>)> {
        self.tree.files()
    }

    fn take_dirty_rows(&mut self) -> RowEdits {
        self.tree.take_dirty_rows()
    }
}

struct DiskExports {
    root: PathBuf,
    exports: Exports,
}

impl world::Exports for DiskExports {
    fn verify(&self, nodes: &[u32]) -> Vec<u32> {
        self.exports.damaged_exports(&self.root, nodes, nanoseconds_since_1970())
    }

    fn write(&self, node: u32, path: &str, digest: Digest, bytes: &[u8]) -> Result<ExportOutcome, WorldError> {
        self.exports.write(&self.root, node, path, digest, bytes, nanoseconds_since_1970())
    }

    fn remove(&self, node: u32) -> Result<(), WorldError> {
        self.exports.remove_export(&self.root, node)
    }

    fn path(&self, node: u32) -> Option<String> {
        self.exports.path_of_node(node)
    }

    fn digest(&self, node: u32) -> Option<Digest> {
        self.exports.digest_of_node(node)
    }

    fn read(&self, node: u32) -> Option<Vec<u8>> {
        self.exports.read_export(&self.root, node)
    }

    fn take_dirty_rows(&self) -> RowEdits {
        self.exports.take_dirty_rows()
    }
}
