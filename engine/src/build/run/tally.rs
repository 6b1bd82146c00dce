//! Counts of a run.

use crate::seams::paid::Spent;
use crate::store::builds::Answers;

/// Counts of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Tally {
    pub ran: usize,
    /// Results found under their keys.
    pub cached: usize,
    /// Nodes that were marked but whose key did not change.
    pub verified: usize,
    /// Nodes without output because their producer failed.
    pub failed: usize,
    /// Nodes not tried because an input has no output.
    pub skipped: usize,
    /// Dry run: producers that certainly would run.
    pub would_run: usize,
    /// Dry run: producers that may run, depending on the outputs of others.
    pub may_run: usize,
    /// Original duration of the cached results, in microseconds.
    pub saved_us: u64,
    /// Paid targets whose questions were sent and whose answers a later build fetches.
    pub deferred: usize,
    /// Paid targets whose questions wait for an agent or a person.
    pub awaited: usize,
    /// Paid targets not tried for a reason that others share, such as a limit that would be exceeded.
    pub limited: usize,
    /// Cost of this build, failed tries included.
    pub spent: Spent,
    /// Original cost of the results found under their keys.
    pub saved: Spent,
    /// Answers received by this build, by outcome.
    pub answers: Answers,
    /// Targets rebuilt for comparison.
    pub rebuilt: usize,
    /// Answers replaced by those that other machines stored.
    pub adopted: usize,
    /// Programs that ran, by confinement.
    pub confined: std::collections::BTreeMap<String, usize>,
}
