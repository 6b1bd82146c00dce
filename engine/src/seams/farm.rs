//! The farm: machines that run producers for others.
//!
//! The engine knows no protocol. It sends a shard: the bytes of several targets' inputs. It receives the bytes that the same program wrote
//! on another machine; if it receives nothing, it does the work itself. It checks everything that it receives ([`crate::build::shard`]); a
//! farm costs time, never correctness.

use super::producer::Cancel;
use std::time::Duration;

/// Thresholds for sending work, and the time-out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SendThresholds {
    /// Minimum duration of a target to send: this machine builds a shorter one faster itself.
    pub worth: Duration,
    /// Minimum duration of the work waiting here before any is sent.
    pub backlog: Duration,
    /// Approximate duration of the work in a shard.
    pub shard: Duration,
    /// Approximate size in bytes of a shard's inputs.
    pub bytes: usize,
    /// Time for which an idle machine waits for the sent shards before it gives them up.
    pub patience: Duration,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShardOutcome {
    /// Targets that the worker built.
    pub made: u64,
    /// Targets that the worker returned without an output.
    pub unmade: u64,
    /// Time that the worker spent on them.
    pub took: Duration,
    /// The error in the worker's answer, one sentence.
    pub wrong: Option<String>,
}

/// Machines that run producers. Several threads may call every method; none fails.
pub trait Farm: Send + Sync {
    fn terms(&self) -> SendThresholds;

    /// Whether the farm accepts shards at this moment.
    fn is_open(&self) -> bool;

    /// Sends a shard and waits for its answer. `None` if this process must do the work; returns at once when `given_up` is set.
    fn work(&self, shard: Vec<u8>, given_up: &Cancel) -> Option<Vec<u8>>;

    fn note(&self, outcome: &ShardOutcome);
}
