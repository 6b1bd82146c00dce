//! Build events: what ran and why, as values. The library never prints; the rim formats these.

use super::diagnostic::Diagnostic;
use super::digest::Digest;
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

/// An event of a build.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event<'a> {
    /// The sources were refreshed.
    Scanned {
        /// Number of known source files.
        files: usize,
        /// Number of files hashed.
        hashed: usize,
        /// Number of files and directories whose stamp was read.
        stated: usize,
        /// Number of files added, removed or changed.
        changed: usize,
    },
    /// A pattern was resolved to additional nodes.
    Requested {
        targets: usize,
    },
    /// A node may be stale.
    Marked {
        label: &'a str,
        reason: &'a Reason,
    },
    Started {
        label: &'a str,
        paid: bool,
    },
    Ran {
        label: &'a str,
        output: Digest,
        #[serde(serialize_with = "micros")]
        took: Duration,
        /// Whether the output differs from the previous one.
        changed: bool,
    },
    /// The result was found under its key.
    Hit {
        label: &'a str,
        output: Digest,
        /// Original duration of the run.
        #[serde(serialize_with = "micros")]
        saved: Duration,
    },
    /// The node was marked, but its key did not change.
    Verified {
        label: &'a str,
    },
    /// A node has no output.
    Failed {
        label: &'a str,
        why: &'a Diagnostic,
    },
    /// A node was not tried, since an input has no output.
    Skipped {
        label: &'a str,
        /// Label of the input.
        because: &'a str,
    },
    /// In a dry run: a producer would run.
    WouldRun {
        label: &'a str,
        /// Whether that is certain; otherwise it depends on its inputs.
        certain: bool,
    },
    Committed {
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

/// Maximum number of a set's files that are named.
const NAMED: usize = 3;

/// Reason why a node may be stale.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum Reason {
    /// It was never built here.
    New,
    /// The bytes of a source file changed.
    FileChanged {
        path: String,
        /// Former digest.
        from: Digest,
        to: Digest,
    },
    /// A source file appeared.
    FileAdded {
        path: String,
    },
    /// A source file was removed.
    FileRemoved {
        path: String,
    },
    /// The files of a source set changed.
    SetChanged {
        label: String,
        /// Files that were added to it.
        added: Vec<String>,
        /// Files that were removed from it.
        removed: Vec<String>,
    },
    /// An input may be stale.
    InputMoved {
        label: String,
    },
    /// The manifest, a ruleset or a producer's version changed.
    DefinitionChanged,
    /// An earlier build left it stale.
    LeftStale,
    Invalidated,
    /// An earlier build rebuilt it, and its former inputs are no longer in the store.
    BuiltSince,
}

impl std::fmt::Display for Reason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::New => write!(f, "it was never built in this workspace"),
            Self::FileChanged { path, from, to } => write!(f, "{path} changed ({} → {})", from.short(), to.short()),
            Self::FileAdded { path } => write!(f, "{path} was added"),
            Self::FileRemoved { path } => write!(f, "{path} was removed"),
            Self::SetChanged { added, removed, .. } => {
                let added = added.iter().map(|path| format!("{path} was added"));
                let mut changes: Vec<String> = added.chain(removed.iter().map(|path| format!("{path} was removed"))).collect();
                let more = changes.len().saturating_sub(NAMED);
                changes.truncate(NAMED);
                match (changes.is_empty(), more) {
                    (true, _) => write!(f, "other files are in it"),
                    (false, 0) => write!(f, "{}", changes.join(", ")),
                    (false, more) => write!(f, "{} and {more} more", changes.join(", ")),
                }
            }
            Self::InputMoved { label } => write!(f, "its input {label} may have changed"),
            Self::DefinitionChanged => write!(f, "the manifest, a ruleset or a producer's version changed"),
            Self::LeftStale => write!(f, "an earlier build did not request it"),
            Self::Invalidated => write!(f, "it was invalidated by hand"),
            Self::BuiltSince => write!(f, "it was built since, and the store no longer has its former inputs"),
        }
    }
}

/// A finished job of a worker.
#[derive(Clone, Copy, Debug)]
pub struct FinishedJob<'a> {
    pub label: &'a str,
    /// The task: `expand` (finding its inputs) or `produce`.
    pub task: &'static str,
    /// The worker's pool: `cpu`, `slow` (programs) or `paid`.
    pub pool: &'static str,
    /// The worker's number in the pool.
    pub worker: usize,
    pub began: Instant,
    pub took: Duration,
}

/// A finished phase of a build.
#[derive(Clone, Copy, Debug)]
pub struct Phase {
    /// Its name: `look`, `load`, `plan`, `make`, `lay out`, `commit`.
    pub name: &'static str,
    pub began: Instant,
    pub took: Duration,
}

impl Phase {
    pub fn ended_now(name: &'static str, began: Instant) -> Self {
        Self {
            name,
            began,
            took: began.elapsed(),
        }
    }
}

/// Receives the events of a build. Called from the thread that runs the build.
pub trait Observer: Sync {
    /// Receives an event.
    fn event(&self, event: &Event<'_>);

    /// Receives a finished job. For profiles: when and where jobs ran is no part of the events.
    fn job_finished(&self, _: &FinishedJob<'_>) {}

    /// Receives a finished phase.
    fn phase(&self, _: &Phase) {}

    /// Reports progress before the next of `files` output files is written; `done` of them are. Events report the files written.
    fn laying_out(&self, _done: usize, _files: usize) {}
}

/// Ignores everything.
pub struct Silent;

impl Observer for Silent {
    fn event(&self, _: &Event<'_>) {}
}
