//! The world as the build loop sees it: a clock, source files, and a place for readable outputs.
//!
//! `files::disk` implements it for real, `files::memory` is its twin for tests. The world knows paths, bytes and digests; it knows no
//! labels, no rules and no store. What it wants to remember between runs it hands out as opaque rows and takes back when it is opened.

use crate::values::diagnostic::Diagnostic;
use crate::values::digest::Digest;

/// Rows as they were saved: key, body.
pub type Rows = Vec<(Vec<u8>, Vec<u8>)>;

/// Rows to write: key, new body (`None` removes the row).
pub type RowEdits = Vec<(Vec<u8>, Option<Vec<u8>>)>;

/// How many source sets one workspace may have: membership is kept in the bits of one word.
pub const MAX_SETS: usize = 64;

/// A set of source files by globs.
///
/// Globs are relative to the workspace and `*` stops at `/`. A directory whose name begins with `.` is entered only for an include
/// glob that writes the leading dot at that place (`.github/**/*.yml`). An exclude glob that matches a directory takes away
/// everything below it. `.git` and `.cortex` are never entered.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SetDef {
    /// Name, for messages.
    pub name: String,
    /// Which files.
    pub include: Vec<String>,
    /// Which of them not.
    pub exclude: Vec<String>,
    /// Whether `.gitignore`, `.ignore` and `.git/info/exclude` are honoured. Files above the workspace and a user's global
    /// excludes never are: two checkouts of the same tree must give the same set.
    pub gitignore: bool,
}

/// A source whose content is not what it was. Both sides `None` never occurs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Change {
    /// Path relative to the workspace, with `/`.
    pub path: String,
    /// Digest at the last refresh; `None`: it was not a source, or not readable.
    pub from: Option<Digest>,
    /// Digest now; `None`: it is not a source any more, or not readable.
    pub to: Option<Digest>,
}

/// What a look at the sources found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refresh {
    /// Sorted by path.
    pub changes: Vec<Change>,
    /// Indexes of the sets that gained or lost a path, sorted. All of them when the definitions are not those of the last refresh.
    pub sets_changed: Vec<usize>,
    /// How many files were read and hashed.
    pub hashed: usize,
    /// How many files and directories were asked for their stamp.
    pub stated: usize,
    /// What was skipped and why; said anew at every refresh for as long as it is true.
    pub diagnostics: Vec<Diagnostic>,
}

/// What somebody who watches the workspace says of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watched {
    /// This moment: to be kept with what is found by looking after it, and given back when asked again.
    pub token: Vec<u8>,
    /// The paths that may have moved since the moment that was asked about, files or directories; `None`: all may have.
    pub moved: Option<Vec<String>>,
    /// Whether something below the output folder may have.
    pub outputs_moved: bool,
}

/// Who watches a workspace folder.
pub trait Watcher: Send + Sync + std::fmt::Debug {
    /// What moved since a moment; `None` when nobody watches the source sets of this fingerprint, or it cannot be told. An answer names at
    /// least what moved up to now.
    fn since(&self, sets: u64, since: Option<&[u8]>) -> Option<Watched>;
}

/// What is known of the sources as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// How many directories hold them.
    pub directories: u64,
    /// Whether some must be looked at every time, whoever watches: links, files that cannot be read.
    pub odd: bool,
}

/// What writing an output file did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportOutcome {
    /// The file has been replaced or made.
    Written,
    /// The file had these bytes already.
    AlreadyPresent,
}

/// What can go wrong with the world as a whole or with one path of it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WorldError {
    /// The workspace cannot be looked at.
    #[error("the workspace folder cannot be opened: {reason}")]
    Root {
        /// The system's words.
        reason: String,
    },
    /// A glob that cannot be used.
    #[error("source set '{set}' has a bad glob '{glob}': {reason}")]
    BadGlob {
        /// The set's name.
        set: String,
        /// The glob, cut to a sensible length.
        glob: String,
        /// What is wrong with it.
        reason: String,
    },
    /// More than [`MAX_SETS`] sets.
    #[error("the manifest has {count} different source sets and globs, at most {MAX_SETS} are supported")]
    TooManySets {
        /// How many there are.
        count: usize,
    },
    /// A path that is not below the workspace (or below the output folder), as written or through a symbolic link.
    #[error("'{path}' leads out of {out_of}")]
    Leaves {
        /// The path as it was given.
        path: String,
        /// What it must stay in.
        out_of: &'static str,
    },
    /// Reading or writing one path failed.
    #[error("'{path}' cannot be {what}: {reason}")]
    Io {
        /// The path relative to the workspace.
        path: String,
        /// `read`, `written`, `removed`.
        what: &'static str,
        /// The system's words.
        reason: String,
        /// Whether the disk is full.
        no_space: bool,
    },
    /// There is no such file where it is looked at, whatever is on the disk.
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
        /// The node that has it.
        first: u32,
        /// The node that wants it too.
        second: u32,
    },
}

/// What a build touches of the world.
pub trait World: Send + Sync {
    /// Nanoseconds since 1970.
    fn now_nanos(&self) -> i64;

    /// Seconds since 1970.
    fn now_secs(&self) -> u64 {
        u64::try_from(self.now_nanos() / 1_000_000_000).unwrap_or_default()
    }

    /// The canonical path of the folder that it is about, if it is one on disk.
    fn root(&self) -> Option<&std::path::Path> {
        None
    }

    /// Asks who watches these sets what moved since a moment; `None` when nobody does or can tell. An answer names at least what moved
    /// up to now.
    fn watched(&self, _sets: &[SetDef], _since: Option<&[u8]>) -> Option<Watched> {
        None
    }

    /// The sources as they were known when `rows` were saved; rows that cannot be read are left out and looked at again.
    fn sources(&self, rows: Rows) -> Box<dyn Sources>;

    /// The output files as they were known when `rows` were saved.
    fn exports(&self, rows: Rows) -> Box<dyn Exports>;

    /// The bytes of a source.
    ///
    /// # Errors
    /// When the path leads out of the workspace or cannot be read.
    fn read(&self, path: &str) -> Result<Vec<u8>, WorldError>;

    /// The first `most` bytes of a source, all of one that is no longer.
    ///
    /// # Errors
    /// As for [`Self::read`].
    fn read_at_most(&self, path: &str, most: usize) -> Result<Vec<u8>, WorldError> {
        let mut bytes = self.read(path)?;
        bytes.truncate(most);
        Ok(bytes)
    }
}

/// The known state of the source files.
pub trait Sources: Send + Sync {
    /// Brings the known state up to date with the world.
    ///
    /// # Errors
    /// When the workspace cannot be looked at or a set is not well formed; the known state is then what it was.
    fn refresh(&mut self, sets: &[SetDef]) -> Result<Refresh, WorldError>;

    /// The same when only `moved` may have moved since the rows were saved, which were of so many directories. Looks at everything when in
    /// doubt.
    ///
    /// # Errors
    /// As [`Sources::refresh`].
    fn refresh_named(&mut self, sets: &[SetDef], _moved: &[String], _directories: u64) -> Result<Refresh, WorldError> {
        self.refresh(sets)
    }

    /// What is known of them as a whole.
    fn standing(&self) -> Standing {
        Standing { directories: 0, odd: true }
    }

    /// The paths of a set of the last refresh, sorted; files that cannot be read are left out.
    fn set(&self, index: usize) -> Vec<String>;

    /// Whether a path is in a set of the last refresh.
    fn contains(&self, index: usize, path: &str) -> bool;

    /// The sets, by bit, in which regular files of these paths would be, whatever lies there now.
    ///
    /// # Errors
    /// As [`Sources::refresh`].
    fn would_hold(&self, sets: &[SetDef], paths: &[&str]) -> Result<Vec<u64>, WorldError>;

    /// Whether something lies at a path, in a set or not. Asked only to say why a path is no source.
    fn lies_at(&self, _path: &str) -> bool {
        true
    }

    /// The symbolic links of the last refresh among the files of sets: path, the sets by bit, and the file below the workspace that each leads to,
    /// or would if it were there.
    fn links(&self) -> Vec<(String, u64, String)> {
        Vec::new()
    }

    /// How many sources there are.
    fn count(&self) -> usize;

    /// The digest of a source; `None` when it is not one or not readable.
    fn digest(&self, path: &str) -> Option<Digest>;

    /// All sources, sorted by path.
    fn files(&self) -> Vec<(String, Option<Digest>)>;

    /// The rows that are not what was loaded or last taken; none after a refresh that found nothing.
    fn take_dirty_rows(&mut self) -> RowEdits;
}

/// The output files laid out for readers. Nodes are numbers given by the caller; paths are relative to the output folder.
pub trait Exports: Send + Sync {
    /// Those of `nodes` whose file is missing or does not hold what was written, in ascending order.
    fn verify(&self, nodes: &[u32]) -> Vec<u32>;

    /// Lays out an output. `digest` is that of `bytes`. A node that had another path gives it up, and its old file goes.
    ///
    /// # Errors
    /// When the path is another node's (remove that first), leads out of the output folder, or cannot be written.
    fn write(&self, node: u32, path: &str, digest: Digest, bytes: &[u8]) -> Result<ExportOutcome, WorldError>;

    /// Removes a node's file and forgets it. Nothing happens when there is none.
    ///
    /// # Errors
    /// When the file is there and cannot be removed; it is then still known.
    fn remove(&self, node: u32) -> Result<(), WorldError>;

    /// The path of a node's file.
    fn path(&self, node: u32) -> Option<String>;

    /// The digest of what was last written for a node.
    fn digest(&self, node: u32) -> Option<Digest>;

    /// The rows that are not what was loaded or last taken.
    fn take_dirty_rows(&self) -> RowEdits;
}
