//! The farm: machines that run producers for others.
//!
//! The engine knows no protocol. It hands over a shard, the bytes of several targets' inputs, and is given the bytes that the same program
//! wrote elsewhere about it, or nothing: then it does the work itself. What comes back is read and doubted on this side
//! ([`crate::build::shard`]); a farm costs time, never truth.

use super::producer::Cancel;
use std::time::Duration;

/// What is sent, and how long it is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// A target that takes less is sooner made than sent.
    pub worth: Duration,
    /// Work that waits here takes so long before any of it is sent.
    pub backlog: Duration,
    /// What a shard takes, about.
    pub shard: Duration,
    /// Bytes of inputs that a shard holds, about.
    pub bytes: usize,
    /// How long a shard is waited for while there is nothing else to do.
    pub patience: Duration,
}

/// What came of a shard.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Harvest {
    /// Targets that were made elsewhere.
    pub made: u64,
    /// Targets that came back unmade.
    pub unmade: u64,
    /// What was wrong with what came back, one sentence.
    pub wrong: Option<String>,
}

/// Machines that run producers. Every method may be called by several threads; none of them fails.
pub trait Farm: Send + Sync {
    /// What is sent.
    fn terms(&self) -> Terms;

    /// Whether anything is worth sending at this moment.
    fn is_open(&self) -> bool;

    /// Has a shard made. `None`, at once when it is given up, when that is to be done here.
    fn work(&self, shard: Vec<u8>, given_up: &Cancel) -> Option<Vec<u8>>;

    /// Hears what came of a shard.
    fn note(&self, harvest: &Harvest);
}
