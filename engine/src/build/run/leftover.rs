//! The rest of a run, for its session to commit.

use super::{Priced, Tally};
use crate::build::remarks::RunRemarks;
use crate::build::remote_costs::ProducerCost;
use crate::store::ledger::LedgerEntry;
use crate::store::records::{HistoryRecord, NewResult};
use crate::store::{ActionLock, RowChange};
use crate::values::diagnostic::Diagnostic;
use crate::values::digest::ActionKey;
use crate::values::pages::Change;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Items that sets lost and gained since nodes were last removed, by label of the set.
pub type SetChanges = FxHashMap<Arc<str>, Vec<(String, Change)>>;

/// Results and reports that a run leaves to its session.
#[derive(Default)]
pub struct Leftover {
    /// Results not yet committed.
    pub results: Vec<NewResult>,
    pub history: Vec<(String, HistoryRecord)>,
    /// Earlier results that were found again, and when.
    pub used: Vec<(ActionKey, u64)>,
    /// Locks that keep other processes from building the same results until they are durable.
    pub action_locks: Vec<ActionLock>,
    /// Rows about received answers.
    pub unconfirmed: Vec<RowChange>,
    /// Counts of the run.
    pub tally: Tally,
    pub failures: Vec<Diagnostic>,
    pub diagnostics: Vec<Diagnostic>,
    /// Diagnostics and failures, by node.
    pub remarks: RunRemarks,
    pub ledger: Vec<LedgerEntry>,
    /// Items that sets gained and lost.
    pub set_changes: SetChanges,
    /// Questions of paid producers, if only priced.
    pub plans: Vec<Priced>,
    /// The build's entry in the log of builds, not yet numbered.
    pub listed: Option<crate::store::builds::BuildRecord>,
    /// Number of the build that these belong to, if it is logged already.
    pub build: Option<u64>,
    /// Average durations of producers, in a build with a remote cache.
    pub costs: Vec<ProducerCost>,
    /// Work left for after the commit.
    pub left: crate::build::unfinished::Unfinished,
}
