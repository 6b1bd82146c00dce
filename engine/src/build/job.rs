//! The types of jobs: what a worker is given, and what it reports back.

use super::blobs::Blobs;
use super::early_outputs::EarlyOutputs;
use super::invalidated::InvalidatedResult;
use super::sharing::{RemoteResult, Sharing};
use crate::graph::NodeId;
use crate::graph::lookups::LookupSet;
use crate::manifest::model::Manifest;
use crate::manifest::template::Vars;
use crate::planning::expand::{ExpandError, PlannedInput};
use crate::seams::paid::{FormerNames, Plan, Spent};
use crate::seams::producer::{Cancel, Failure, Output, Producer, ProducerId};
use crate::seams::world::World;
use crate::store::records::ActionRecord;
use crate::store::{ActionLock, StoreError, ViewId};
use crate::values::codes::ErrorCode;
use crate::values::diagnostic::Diagnostic;
use crate::values::digest::{ActionKey, Digest};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// Location of an input's blob.
#[derive(Clone, Debug)]
pub enum Fetch {
    /// A node's output, in memory or the store.
    Stored,
    /// A source file: its path.
    File(Arc<str>),
    /// A source set or glob: its paths, which no store has.
    Paths(Arc<[u8]>),
}

/// A settled node that a job reads.
#[derive(Clone, Debug)]
pub struct Settled {
    pub id: NodeId,
    pub label: Arc<str>,
    pub digest: Digest,
    /// Location of its blob.
    pub fetch: Fetch,
}

/// One input of a produce job, in the order of the key.
#[derive(Clone, Debug)]
pub struct JobInput {
    pub role: Arc<str>,
    /// Item of a list, else empty.
    pub item: Arc<str>,
    /// Digest as in the key.
    pub digest: Digest,
    /// Label of the node that it comes from.
    pub label: Arc<str>,
    pub load: Load,
}

/// Data to load for an input.
#[derive(Clone, Debug)]
pub enum Load {
    /// Nothing: the producer sees only the digest.
    Nothing,
    Node(Settled),
    /// Rows of a table: index of the rule's input.
    Rows(u16),
}

/// State shared by all jobs.
pub struct JobContext {
    pub blobs: Blobs,
    /// Access to source files.
    pub world: Arc<dyn World>,
    pub manifest: Arc<Manifest>,
    pub view: ViewId,
    /// Flag that stops the build.
    pub cancel: Cancel,
    /// Outputs that producers returned while they requested rows.
    pub early_outputs: EarlyOutputs,
    /// The remote cache, if there is one.
    pub sharing: Option<Sharing>,
    /// Former names of items, known before the first paid job.
    pub former: OnceLock<FormerNames>,
}

/// A job for a worker.
pub struct Job {
    pub id: NodeId,
    pub label: Arc<str>,
    pub rule: u32,
    /// The rule's variables, once they are needed: many jobs wait.
    pub vars: OnceLock<Vars>,
    /// The settled nodes that decide its inputs.
    pub discovery: Vec<Settled>,
    pub task: Task,
    /// Expected duration here, as far as known, if another machine may do it.
    pub duration_if_sent: Option<Duration>,
    /// Whether some inputs are not settled, and have the last outputs of their nodes.
    pub is_assumed: bool,
}

/// Task of a job.
pub enum Task {
    Expand {
        /// The producer, if it requests rows.
        asks: Option<Arc<dyn Producer>>,
    },
    Produce {
        producer: Arc<dyn Producer>,
        inputs: Vec<JobInput>,
        /// The action key of the output.
        key: ActionKey,
        /// Whether to produce the output or only to price it.
        how: JobMode,
        /// The previous result, as a hint to paid producers.
        past: Option<Past>,
        /// Key of the last result, if a fold may start from it.
        before: Option<ActionKey>,
        /// Whether to ask the remote cache first.
        ask: bool,
    },
}

impl Task {
    pub fn name(&self) -> &'static str {
        match self {
            Self::Expand { .. } => "expand",
            Self::Produce { .. } => "produce",
        }
    }
}

/// Request to a producer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobMode {
    /// Produce the output; `fresh` if a person requested a new answer.
    Output {
        /// See [`crate::seams::producer::Inputs::fresh`].
        fresh: bool,
        /// Whether it costs money.
        paid: bool,
        /// Whether no other process may build the same at the same time.
        reserved: bool,
        /// The unwanted result under its key, if that is why it is rebuilt.
        mark: Option<InvalidatedResult>,
    },
    /// Plan the question; some inputs may be unknown.
    Plan {
        /// See [`crate::seams::producer::Inputs::fresh`].
        fresh: bool,
        /// Number of unknown inputs.
        unknown: usize,
    },
}

impl JobMode {
    /// Returns whether a person requested a new answer, and the number of unknown inputs.
    pub(super) fn fresh_and_unknown(self) -> (bool, usize) {
        match self {
            Self::Output { fresh, .. } => (fresh, 0),
            Self::Plan { fresh, unknown } => (fresh, unknown),
        }
    }
}

/// Outcome of a job.
pub enum Done {
    /// The inputs were found.
    Expanded(Result<Vec<PlannedInput>, ExpandError>, LookupSet),
    Produced {
        output: Box<Output>,
        digest: Digest,
        took: Duration,
        /// Keeps other processes from requesting it until it is committed.
        action_lock: Option<ActionLock>,
        /// Whether it was stored by another machine while this one asked for the same.
        is_adopted: bool,
        /// The part of its cost that is already reported.
        cost: Box<ReportedCost>,
    },
    /// Another process requested it and stored the answer.
    Found(Box<ActionRecord>),
    /// Another machine built it.
    BuiltElsewhere(Box<RemoteResult>),
    Planned(Box<Plan>),
    /// There is no output.
    Failed {
        failure: Failure,
        /// Cost of the answers to parts of the question, which are stored.
        parts_cost: Box<Spent>,
        took: Duration,
    },
    /// Blobs of these nodes are missing: their producers must run again first.
    Missing(Vec<NodeId>),
    /// The outcome of a job with assumed inputs, which settles no node.
    Assumed(Box<Done>),
    /// A farm failed to build it; it must be built here.
    NotBuilt(Box<Job>),
    Broken(StoreError),
}

impl Done {
    /// A failure without any cost.
    pub(super) fn of_failure(failure: Failure) -> Self {
        Self::Failed {
            failure,
            parts_cost: Box::default(),
            took: Duration::ZERO,
        }
    }
}

/// The part of an output's cost that was reported before the output.
#[derive(Clone, Debug, Default)]
pub struct ReportedCost {
    /// Cost of parts that earlier tries stored.
    pub before: Spent,
    /// Cost of parts that this try stored; the ledger has them.
    pub now: Spent,
}

/// Start of the search for an earlier answer.
#[derive(Clone, Copy, Debug)]
pub struct Past {
    /// Key of the node's last result.
    pub previous: Option<ActionKey>,
}

pub(super) fn panicked(producer: ProducerId, panic: &(dyn std::any::Any + Send)) -> Diagnostic {
    let words = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message");
    Diagnostic::error(ErrorCode::E_INTERNAL, format!("the producer {producer} stopped at a bug"))
        .found(words.chars().take(120).collect::<String>())
        .hint("report it with the input that leads there; other targets are not affected")
}
