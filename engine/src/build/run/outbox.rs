//! The outbox: results and rows that wait for their commit, with the locks that other processes wait for.

use super::held_action_locks::HeldActionLocks;
use super::leftover::Leftover;
use crate::build::writer::{Batch, Writer};
use crate::store::records::{HistoryRecord, NewResult};
use crate::store::{ActionLock, RowChange, StoreError};
use crate::values::digest::ActionKey;

/// Limits of a batch.
const BATCH_RESULTS: usize = 1_000;
const BATCH_BYTES: usize = 24 << 20;

/// Results and rows to commit, in batches during the run and the rest after it.
pub(super) struct Outbox {
    writer: Writer,
    results: Vec<NewResult>,
    /// Size of these results.
    bytes: usize,
    /// Keys of results found in the store and not yet recorded there as used.
    used: Vec<(ActionKey, u64)>,
    /// Versions to push after the run.
    history: Vec<(String, HistoryRecord)>,
    action_locks: HeldActionLocks,
}

impl Outbox {
    pub(super) fn new(writer: Writer) -> Self {
        Self {
            writer,
            results: Vec::new(),
            bytes: 0,
            used: Vec::new(),
            history: Vec::new(),
            action_locks: HeldActionLocks::default(),
        }
    }

    pub(super) fn add_result(&mut self, result: NewResult) {
        self.bytes += result.blobs().map(|(_, blob)| blob.len()).sum::<usize>();
        self.results.push(result);
    }

    /// Adds the record of an answer that a new one replaces.
    pub(super) fn add_superseded(&mut self, result: Option<NewResult>) {
        self.results.extend(result);
    }

    /// Adds the use of a stored result.
    pub(super) fn add_use(&mut self, key: ActionKey, at: u64) {
        self.used.push((key, at));
    }

    pub(super) fn add_version(&mut self, label: String, version: HistoryRecord) {
        self.history.push((label, version));
    }

    /// Keeps a lock until the next batch is committed.
    pub(super) fn keep_lock(&mut self, action_lock: Option<ActionLock>) {
        self.action_locks.extend(action_lock);
    }

    /// Whether other processes have waited long enough for the results.
    pub(super) fn has_old_locks(&self) -> bool {
        self.action_locks.are_old()
    }

    /// Whether the results are enough for a batch.
    pub(super) fn is_full(&self) -> bool {
        self.results.len() >= BATCH_RESULTS || self.bytes >= BATCH_BYTES
    }

    /// Whether nothing waits for a batch.
    pub(super) fn is_drained(&self) -> bool {
        self.results.is_empty() && self.used.is_empty() && self.action_locks.is_empty()
    }

    pub(super) fn result_count(&self) -> usize {
        self.results.len()
    }

    /// Sends everything that waits, with other rows, to be committed.
    pub(super) fn send_batch(&mut self, rows: Vec<RowChange>) -> Result<(), StoreError> {
        self.bytes = 0;
        self.writer.send(Batch {
            results: std::mem::take(&mut self.results),
            rows,
            used: std::mem::take(&mut self.used),
            action_locks: self.action_locks.take(),
        })
    }

    /// Waits until all batches are committed.
    pub(super) fn finish_batches(&mut self) -> Result<(), StoreError> {
        self.writer.finish()
    }

    /// Leaves the rest to the session.
    pub(super) fn move_to(mut self, leftover: &mut Leftover) {
        leftover.results = self.results;
        leftover.history = self.history;
        leftover.used = self.used;
        leftover.action_locks = self.action_locks.take();
    }
}
