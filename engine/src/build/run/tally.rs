//! What a run did, in numbers.

use crate::seams::paid::Spent;
use crate::store::builds::Answers;

/// What happened, in numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Tally {
    /// Producers that ran.
    pub ran: usize,
    /// Results found under their keys.
    pub cached: usize,
    /// Nodes that were marked but whose key did not move.
    pub verified: usize,
    /// Nodes without output because their producer failed.
    pub failed: usize,
    /// Nodes not tried because an input has no output.
    pub skipped: usize,
    /// Dry run: producers that certainly would run.
    pub would_run: usize,
    /// Dry run: producers that may run, depending on what others give.
    pub may_run: usize,
    /// Microseconds that the cached results took to make.
    pub saved_us: u64,
    /// Paid targets that were asked for and whose answers a later build picks up.
    pub deferred: usize,
    /// Paid targets whose questions wait until somebody answers them.
    pub awaited: usize,
    /// Paid targets not asked for because of what stands in the way of others as well, such as a limit that would have been passed.
    pub limited: usize,
    /// What this build spent, failed tries included.
    pub spent: Spent,
    /// What the results found under their keys had cost.
    pub saved: Spent,
    /// What became of the answers that this build was given.
    pub answers: Answers,
    /// Targets made again to see whether the same comes out.
    pub rebuilt: usize,
    /// Answers that gave way to those that other machines filed.
    pub adopted: usize,
    /// Programs that ran, by how they were confined.
    pub confined: std::collections::BTreeMap<String, usize>,
}
