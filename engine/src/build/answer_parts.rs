//! Parts of a paid answer, stored one by one as results of their own, so that the failure of a later part loses none.

use super::job::{JobContext, ReportedCost};
use crate::seams::paid::{Notes, Parts, Spent};
use crate::seams::producer::{Failure, Output, ProducerId};
use crate::store::Commit;
use crate::store::ledger::{LedgerEntry, Outcome};
use crate::store::records::{Class, NewResult, Origin};
use crate::values::codes::ErrorCode;
use crate::values::diagnostic::Diagnostic;
use crate::values::digest::{ActionKey, Digest};
use std::sync::{Arc, Mutex, PoisonError};

/// The parts of one action.
pub(super) struct StoredParts<'a> {
    shared: &'a JobContext,
    label: &'a str,
    producer: ProducerId,
    key: &'a ActionKey,
    fresh: bool,
    cost: Mutex<ReportedCost>,
}

impl<'a> StoredParts<'a> {
    /// Creates the parts of the action with this key; with `fresh`, those of earlier tries are ignored.
    pub(super) fn new(shared: &'a JobContext, label: &'a str, producer: ProducerId, key: &'a ActionKey, fresh: bool) -> Self {
        Self {
            shared,
            label,
            producer,
            key,
            fresh,
            cost: Mutex::default(),
        }
    }

    /// Returns the cost reported so far.
    pub(super) fn snapshot(&self) -> ReportedCost {
        self.cost.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn part(&self, name: &Digest) -> ActionKey {
        let mut bytes = b"part\0".to_vec();
        bytes.extend_from_slice(&self.key.0.0);
        bytes.extend_from_slice(&name.0);
        ActionKey(Digest::of(&bytes))
    }

    fn count_cost(&self, add: impl FnOnce(&mut ReportedCost)) {
        add(&mut self.cost.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl Parts for StoredParts<'_> {
    fn find(&self, name: &Digest) -> Option<(Arc<[u8]>, Spent)> {
        if self.fresh {
            return None;
        }
        // A store that cannot be read is reported when the output is stored.
        let record = self.shared.blobs.action(&self.part(name)).ok().flatten()?;
        let answer = self.shared.blobs.get(&record.output).ok().flatten()?;
        let spent = record.spent.unwrap_or_default();
        self.count_cost(|cost| cost.before.add(&spent));
        Some((answer, spent))
    }

    fn store_part(&self, name: &Digest, answer: &[u8], spent: &Spent) -> Result<(), Failure> {
        let output = Output {
            spent: Some(spent.clone()),
            notes: Notes::from([("part_of".to_owned(), self.key.0.to_string())]),
            ..Output::new(answer)
        };
        let origin = Origin {
            label: self.label.to_owned(),
            producer: self.producer.to_string(),
            made_at: self.shared.world.now_secs(),
            took_us: 0,
            inputs: Vec::new(),
            class: Class::Paid,
        };
        let line = LedgerEntry {
            at: origin.made_at,
            label: origin.label.clone(),
            outcome: Outcome::from_mode(None),
            spent: spent.clone(),
            took_us: 0,
        };
        let commit = Commit {
            results: vec![NewResult::from_output(self.part(name), output, Digest::of(answer), origin)],
            rows: vec![line.to_row()],
            ..Commit::default()
        };
        let stored = self.shared.blobs.store().commit(self.shared.view, commit);
        stored.map_err(|error| Failure::Permanent(Box::new(Diagnostic::error(ErrorCode::E_STORE_IO, error.to_string()))))?;
        self.count_cost(|cost| cost.now.add(spent));
        Ok(())
    }
}
