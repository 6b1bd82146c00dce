//! The world as the build loop sees it: a clock, source files, and an output folder.
//!
//! `files::disk` implements it for real, `files::memory` is its twin for tests. The world knows paths, bytes and digests; it knows no
//! labels, no rules and no store. It returns its state between runs as opaque rows and receives them again when it is opened.

use crate::values::diagnostic::Diagnostic;
use crate::values::digest::Digest;

/// Saved rows: key, body.
pub type Rows = Vec<(Vec<u8>, Vec<u8>)>;

/// Rows to write: key, new body (`None` removes the row).
pub type RowEdits = Vec<(Vec<u8>, Option<Vec<u8>>)>;

/// Maximum number of source sets of a workspace: membership is stored in the bits of one word.
pub const MAX_SETS: usize = 64;

/// A set of source files by globs.
///
/// Globs are relative to the workspace and `*` stops at `/`. A directory whose name begins with `.` is entered only for an include
/// glob that writes the leading dot at that place (`.github/**/*.yml`). An exclude glob that matches a directory excludes
/// everything below it. `.git` and `.cortex` are never entered.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SetDef {
    pub name: String,
    /// Globs of the files in the set.
    pub include: Vec<String>,
    /// Globs of files and directories to exclude.
    pub exclude: Vec<String>,
    /// Whether to honour `.gitignore`, `.ignore` and `.git/info/exclude`. Files above the workspace and a user's global excludes are never
    /// honoured: two checkouts of the same tree must give the same set.
    pub gitignore: bool,
}

/// A source whose content changed. At least one side is `Some`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Change {
    /// Path relative to the workspace, with `/`.
    pub path: String,
    /// Digest at the last refresh; `None`: it was not a source, or not readable.
    pub from: Option<Digest>,
    /// Digest now; `None`: it is not a source any more, or not readable.
    pub to: Option<Digest>,
}

/// Result of refreshing the sources.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refresh {
    /// Changed sources, sorted by path.
    pub changes: Vec<Change>,
    /// Indexes of the sets that gained or lost a path, sorted. All of them if the definitions changed since the last refresh.
    pub sets_changed: Vec<usize>,
    /// Number of files read and hashed.
    pub hashed: usize,
    /// Number of files and directories whose stamp was read.
    pub stated: usize,
    /// Skipped files and why; repeated at every refresh while it is true.
    pub diagnostics: Vec<Diagnostic>,
}

/// A watcher's answer about a workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watched {
    /// Token of this moment: store it with the state of the sources found after it, and pass it to the next call.
    pub token: Vec<u8>,
    /// Files or directories that may have changed since the moment of the request; `None`: all may have.
    pub changed: Option<Vec<String>>,
    /// Whether anything below the output folder may have changed.
    pub outputs_changed: bool,
}

/// Watches a workspace folder for changes.
pub trait Watcher: Send + Sync + std::fmt::Debug {
    /// Returns the changes since a moment; `None` if the source sets of this fingerprint are not watched, or the changes are unknown. An
    /// answer names at least every change up to now.
    fn since(&self, sets: u64, since: Option<&[u8]>) -> Option<Watched>;
}

/// Facts about the sources as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeFacts {
    /// Number of directories with sources.
    pub directories: u64,
    /// Whether some must be checked every time even with a watcher: links, unreadable files.
    pub odd: bool,
}

/// Outcome of writing an output file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportOutcome {
    /// The file was replaced or created.
    Written,
    /// The file had these bytes already.
    AlreadyPresent,
}

/// Errors of the world as a whole or of one path of it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WorldError {
    /// The workspace cannot be read.
    #[error("the workspace folder cannot be opened: {reason}")]
    Root {
        /// The operating system's error message.
        reason: String,
    },
    #[error("source set '{set}' has a bad glob '{glob}': {reason}")]
    BadGlob {
        set: String,
        /// The glob, cut to a limited length.
        glob: String,
        reason: String,
    },
    /// More than [`MAX_SETS`] sets.
    #[error("the manifest has {count} different source sets and globs, at most {MAX_SETS} are supported")]
    TooManySets {
        /// The number of sets.
        count: usize,
    },
    /// A path that is not below the workspace (or below the output folder), as written or through a symbolic link.
    #[error("'{path}' leads out of {out_of}")]
    Leaves {
        path: String,
        /// The folder that it must stay in.
        out_of: &'static str,
    },
    /// Reading or writing one path failed.
    #[error("'{path}' cannot be {what}: {reason}")]
    Io {
        /// The path relative to the workspace.
        path: String,
        /// `read`, `written`, `removed`.
        what: &'static str,
        /// The operating system's error message.
        reason: String,
        /// Whether the disk is full.
        no_space: bool,
        /// Whether no file has this path.
        missing: bool,
    },
    /// The overlay removes this file, whatever is on the disk.
    #[error("'{path}' is removed by the overlay")]
    Removed {
        /// The path relative to the workspace.
        path: String,
    },
    /// Two nodes want the same output file.
    #[error("two targets are laid out as '{path}'")]
    Claimed {
        /// Path under the output folder.
        path: String,
        /// The node that has this path.
        first: u32,
        /// The node that requests it too.
        second: u32,
    },
}

impl WorldError {
    /// Whether no file has the path.
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Removed { .. } | Self::Io { missing: true, .. })
    }
}

/// Everything that a build reads and writes outside the store.
pub trait World: Send + Sync {
    /// Returns the time in nanoseconds since 1970.
    fn now_nanos(&self) -> i64;

    /// Returns the time in seconds since 1970.
    fn now_secs(&self) -> u64 {
        u64::try_from(self.now_nanos() / 1_000_000_000).unwrap_or_default()
    }

    /// Returns the canonical path of the workspace folder, if it is on disk.
    fn root(&self) -> Option<&std::path::Path> {
        None
    }

    /// Asks the watcher of these sets for the changes since a moment; `None` without a watcher or if they are unknown. An answer names at
    /// least every change up to now.
    fn watched(&self, _sets: &[SetDef], _since: Option<&[u8]>) -> Option<Watched> {
        None
    }

    /// Returns the sources as known when `rows` were saved; skips unreadable rows, so that their files are read again.
    fn sources(&self, rows: Rows) -> Box<dyn Sources>;

    /// Returns the output files as known when `rows` were saved.
    fn exports(&self, rows: Rows) -> Box<dyn Exports>;

    /// Reads the bytes of a source. Fails when the path leads out of the workspace or cannot be read.
    fn read(&self, path: &str) -> Result<Vec<u8>, WorldError>;

    /// Reads at most the first `most` bytes of a source. Errors: as for [`Self::read`].
    fn read_at_most(&self, path: &str, most: usize) -> Result<Vec<u8>, WorldError> {
        let mut bytes = self.read(path)?;
        bytes.truncate(most);
        Ok(bytes)
    }
}

/// The known state of the source files.
pub trait Sources: Send + Sync {
    /// Updates the known state from the world. Fails when the workspace cannot be read or a set is malformed; the known state is then
    /// unchanged.
    fn refresh(&mut self, sets: &[SetDef]) -> Result<Refresh, WorldError>;

    /// Like [`Sources::refresh`], when only `changed` may have changed since the rows were saved. `directories` is the number of directories
    /// saved then. Checks everything when in doubt. Fails as [`Sources::refresh`] does.
    fn refresh_named(&mut self, sets: &[SetDef], _changed: &[String], _directories: u64) -> Result<Refresh, WorldError> {
        self.refresh(sets)
    }

    /// Returns facts about the sources as a whole.
    fn tree_facts(&self) -> TreeFacts {
        TreeFacts { directories: 0, odd: true }
    }

    /// Returns the paths of a set of the last refresh, sorted, without unreadable files.
    fn set(&self, index: usize) -> Vec<String>;

    /// Whether a path is in a set of the last refresh.
    fn contains(&self, index: usize, path: &str) -> bool;

    /// Returns for each path the sets, as bits, that a regular file of this path would be in, whatever exists there now. Fails as
    /// [`Sources::refresh`] does.
    fn sets_of_paths(&self, sets: &[SetDef], paths: &[&str]) -> Result<Vec<u64>, WorldError>;

    /// Whether a file exists at a path, in a set or not. Called only to report why a path is no source.
    fn lies_at(&self, _path: &str) -> bool {
        true
    }

    /// Returns the symbolic links among the files of sets at the last refresh. Each has its path, its sets as bits, and its target below
    /// the workspace, existing or not.
    fn links(&self) -> Vec<(String, u64, String)> {
        Vec::new()
    }

    fn count(&self) -> usize;

    /// Returns the digest of a source; `None` if the path is no source or unreadable.
    fn digest(&self, path: &str) -> Option<Digest>;

    /// Returns all sources, sorted by path.
    fn files(&self) -> Vec<(String, Option<Digest>)>;

    /// Returns the rows changed since they were loaded or last taken; none after a refresh that found no change.
    fn take_dirty_rows(&mut self) -> RowEdits;
}

/// The output files laid out for people and programs to read. The caller numbers the nodes; paths are relative to the output folder.
pub trait Exports: Send + Sync {
    /// Returns those of `nodes` whose file is missing or differs from the bytes written, in ascending order.
    fn verify(&self, nodes: &[u32]) -> Vec<u32>;

    /// Lays out an output. `digest` is that of `bytes`. If the node had another path, removes the old file. Fails when another node has the
    /// path (remove that first), it leads out of the output folder, or it cannot be written.
    fn write(&self, node: u32, path: &str, digest: Digest, bytes: &[u8]) -> Result<ExportOutcome, WorldError>;

    /// Removes a node's file and forgets it. Does nothing if there is none. Fails when the file exists and cannot be removed; it is then
    /// still known.
    fn remove(&self, node: u32) -> Result<(), WorldError>;

    /// Returns the path of a node's file.
    fn path(&self, node: u32) -> Option<String>;

    /// Returns the digest of the bytes last written for a node.
    fn digest(&self, node: u32) -> Option<Digest>;

    /// Returns the bytes of a node's file if they are those last written. `None` is always right: files are read only to save time.
    fn read(&self, _node: u32) -> Option<Vec<u8>> {
        None
    }

    /// Returns the rows changed since they were loaded or last taken.
    fn take_dirty_rows(&self) -> RowEdits;
}
