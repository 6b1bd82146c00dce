//! Build events: what ran and why, as values. The library never prints; the rim renders these.

use super::diagnostic::Diagnostic;
use super::digest::Digest;
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

/// Something that happened during a build.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event<'a> {
    /// The sources were looked at.
    Scanned {
        /// Source files known.
        files: usize,
        /// Files whose bytes were hashed.
        hashed: usize,
        /// Files and directories that were asked for their stamp.
        stated: usize,
        /// Files that came, went or changed.
        changed: usize,
    },
    /// A pattern came to mean so many nodes more.
    Requested {
        /// How many.
        targets: usize,
    },
    /// A node may be out of date.
    Marked {
        /// The node.
        label: &'a str,
        /// Why.
        reason: &'a Reason,
    },
    /// A producer starts.
    Started {
        /// The node.
        label: &'a str,
        /// Whether it costs money.
        paid: bool,
    },
    /// A producer ran.
    Ran {
        /// The node.
        label: &'a str,
        /// Its output.
        output: Digest,
        /// How long it took.
        #[serde(serialize_with = "micros")]
        took: Duration,
        /// Whether the output differs from the previous one.
        changed: bool,
    },
    /// The result was found under its key.
    Hit {
        /// The node.
        label: &'a str,
        /// Its output.
        output: Digest,
        /// What it took to make.
        #[serde(serialize_with = "micros")]
        saved: Duration,
    },
    /// The node was marked, but its key did not move.
    Verified {
        /// The node.
        label: &'a str,
    },
    /// No output.
    Failed {
        /// The node.
        label: &'a str,
        /// Why.
        why: &'a Diagnostic,
    },
    /// Not tried, since an input has no output.
    Skipped {
        /// The node.
        label: &'a str,
        /// The input.
        because: &'a str,
    },
    /// In a dry run: the producer would run.
    WouldRun {
        /// The node.
        label: &'a str,
        /// Whether that is certain; else it depends on what its inputs turn out to be.
        certain: bool,
    },
    /// Results were made durable.
    Committed {
        /// How many.
        results: usize,
    },
    /// A file under `.cortex/out/` was written.
    Exported {
        /// Its path under `.cortex/out/`.
        path: &'a str,
    },
}

fn micros<S: serde::Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(u64::try_from(duration.as_micros()).unwrap_or(u64::MAX))
}

/// So many files of a set are named.
const NAMED: usize = 3;

/// Why a node may be out of date.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum Reason {
    /// It was never made here.
    New,
    /// The bytes of a source file changed.
    FileChanged {
        /// The file.
        path: String,
        /// Digest before.
        from: Digest,
        /// Digest now.
        to: Digest,
    },
    /// A source file appeared.
    FileAdded {
        /// The file.
        path: String,
    },
    /// A source file is gone.
    FileRemoved {
        /// The file.
        path: String,
    },
    /// Other files belong to a source set.
    SetChanged {
        /// The set's label.
        label: String,
        /// Files that were added to it.
        added: Vec<String>,
        /// Files that were removed from it.
        removed: Vec<String>,
    },
    /// Something that it reads may be out of date.
    InputMoved {
        /// The input.
        label: String,
    },
    /// The manifest, a ruleset or a producer's version changed.
    DefinitionChanged,
    /// An earlier build left it as it was.
    LeftStale,
    /// A person wants it made again.
    Invalidated,
    /// An earlier build made it again, and its inputs of before are no longer in the store.
    BuiltSince,
}

impl std::fmt::Display for Reason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::New => write!(f, "it was never made in this workspace"),
            Self::FileChanged { path, from, to } => write!(f, "{path} changed ({} → {})", from.short(), to.short()),
            Self::FileAdded { path } => write!(f, "{path} was added"),
            Self::FileRemoved { path } => write!(f, "{path} was removed"),
            Self::SetChanged { added, removed, .. } => {
                let added = added.iter().map(|path| format!("{path} was added"));
                let mut told: Vec<String> = added.chain(removed.iter().map(|path| format!("{path} was removed"))).collect();
                let more = told.len().saturating_sub(NAMED);
                told.truncate(NAMED);
                match (told.is_empty(), more) {
                    (true, _) => write!(f, "other files belong to it"),
                    (false, 0) => write!(f, "{}", told.join(", ")),
                    (false, more) => write!(f, "{} and {more} more", told.join(", ")),
                }
            }
            Self::InputMoved { label } => write!(f, "its input {label} may have moved"),
            Self::DefinitionChanged => write!(f, "the manifest, a ruleset or a producer's version changed"),
            Self::LeftStale => write!(f, "an earlier build did not ask for it"),
            Self::Invalidated => write!(f, "it was invalidated by hand"),
            Self::BuiltSince => write!(f, "it was built since, and the store no longer has what it was made of before"),
        }
    }
}

/// A job that a worker came to the end of.
#[derive(Clone, Copy, Debug)]
pub struct Worked<'a> {
    /// The node.
    pub label: &'a str,
    /// What was done: `expand` (finding its inputs) or `produce`.
    pub task: &'static str,
    /// The pool that the worker belongs to: `cpu`, `slow` (programs) or `paid`.
    pub pool: &'static str,
    /// The worker's number in it.
    pub worker: usize,
    /// When it began.
    pub began: Instant,
    /// How long it took.
    pub took: Duration,
}

/// A part of a build that came to its end.
#[derive(Clone, Copy, Debug)]
pub struct Phase {
    /// Which: `look`, `load`, `plan`, `make`, `lay out`, `commit`.
    pub name: &'static str,
    /// When it began.
    pub began: Instant,
    /// How long it took.
    pub took: Duration,
}

impl Phase {
    /// One that ends now.
    pub fn ended_now(name: &'static str, began: Instant) -> Self {
        Self {
            name,
            began,
            took: began.elapsed(),
        }
    }
}

/// Hears what happens. Called from the thread that runs the build.
pub trait Observer: Sync {
    /// Something happened.
    fn event(&self, event: &Event<'_>);

    /// A worker came to the end of a job. For profiles: when and where things ran is no part of what happened.
    fn worked(&self, _: &Worked<'_>) {}

    /// A part of the build came to its end.
    fn phase(&self, _: &Phase) {}

    /// The next of so many output files is written; `done` of them are. For progress: what was written is told by events.
    fn laying_out(&self, _done: usize, _files: usize) {}
}

/// Hears nothing.
pub struct Silent;

impl Observer for Silent {
    fn event(&self, _: &Event<'_>) {}
}
