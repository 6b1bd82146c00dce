//! What a run leaves over.

use super::{Priced, Tally};
use crate::build::prune::SetChanges;
use crate::build::remarks::RunRemarks;
use crate::store::ledger::LedgerEntry;
use crate::store::records::{HistoryRecord, NewResult};
use crate::store::{Flight, RowChange};
use crate::values::diagnostic::Diagnostic;
use crate::values::digest::ActionKey;

/// What a run leaves to its session to commit.
#[derive(Default)]
pub struct Leftover {
    /// Results not yet durable.
    pub results: Vec<NewResult>,
    /// Versions to push.
    pub history: Vec<(String, HistoryRecord)>,
    /// Results of before that were found again, and when.
    pub used: Vec<(ActionKey, u64)>,
    /// Keep other processes from making the same until it is durable.
    pub flights: Vec<Flight>,
    /// Rows about answers that came.
    pub unconfirmed: Vec<RowChange>,
    /// What happened.
    pub tally: Tally,
    /// What failed.
    pub failures: Vec<Diagnostic>,
    /// What producers said.
    pub diagnostics: Vec<Diagnostic>,
    /// The same and the failures, by node.
    pub heard: RunRemarks,
    /// What was spent and saved.
    pub ledger: Vec<LedgerEntry>,
    /// What sets gained and lost.
    pub set_changes: SetChanges,
    /// What paid producers would ask for, when they were only priced.
    pub plans: Vec<Priced>,
    /// The build's line in the log of builds, its number still to be given.
    pub listed: Option<crate::store::builds::BuildRecord>,
    /// The number of the build that these belong to, where that is listed already.
    pub build: Option<u64>,
    /// What is to be done after the commit.
    pub left: crate::build::unfinished::Unfinished,
}
