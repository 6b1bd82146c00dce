//! Corrections: outputs that a person wrote in place of a producer's.
//!
//! A correction is stored under the key of the node's last result. So it is valid exactly as long as that result, in every checkout of the
//! store. Its later replacement learns from [`Notes`] that a person wrote it. The words are also stored by label ([`corrections`]), so that
//! they are found after other results.

use super::earlier_answer;
use super::engine::EngineError;
use super::run::Leftover;
use super::session::Session;
use crate::graph::NodeResult;
use crate::seams::paid::Notes;
use crate::store::RowChange;
use crate::store::corrections::{self, CorrectionRecord, Words};
use crate::store::records::{ActionRecord, HistoryRecord, NewResult};
use crate::store::superseded;
use crate::values::digest::Digest;
use std::sync::Arc;

/// A node's last result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Last {
    /// Its key and output.
    pub result: NodeResult,
    pub record: ActionRecord,
    /// Whether no input is known to have changed.
    pub current: bool,
}

impl Session {
    /// Returns the last result of a node; `None` if it never had one, or the store no longer has it.
    pub fn last(&self, label: &str) -> Result<Option<Last>, EngineError> {
        let id = self.graph.find(label);
        let result = match id {
            Some(id) => self.graph.node(id).result,
            // Removed nodes, and results that belong to no node.
            None => {
                let last = self.engine.store.history(self.engine.view, label)?.pop();
                last.map(|last| NodeResult {
                    key: last.key,
                    output: last.output,
                })
            }
        };
        let Some(result) = result else { return Ok(None) };
        let Some(record) = self.engine.store.action(&result.key)? else {
            return Ok(None);
        };
        let current = id.is_some_and(|id| {
            let maybe_stale = crate::graph::stale::spread_stale_marks(&self.graph, &self.links);
            !maybe_stale.contains(id) && !self.graph.is_stale(id)
        });
        Ok(Some(Last { result, record, current }))
    }

    /// Replaces a node's last output by `bytes`, with these `words` of a person; without words, withdraws an earlier correction. Returns the digest
    /// of the present output, or `None` if there is nothing to correct.
    pub fn correct(&mut self, label: &str, bytes: Vec<u8>, notes: Notes, words: Words) -> Result<Option<Digest>, EngineError> {
        let (Some(last), Some(id)) = (self.last(label)?, self.graph.find(label)) else {
            return Ok(None);
        };
        let (key, output) = (last.result.key, Digest::of(&bytes));
        let blob: Arc<[u8]> = bytes.into();
        let before = superseded::result_to_keep(&key, last.record.clone(), &output);
        let record = ActionRecord {
            output,
            len: blob.len() as u64,
            made_at: self.engine.world.now_secs(),
            notes,
            parts: Vec::new(),
            // A person's words cost nothing; the ledger has the cost of the answer before.
            spent: None,
            took_us: 0,
            ..last.record
        };
        let correction = CorrectionRecord {
            at: record.made_at,
            view: self.engine.view,
            key,
            output,
            words,
        };
        let rows = match correction.words.is_empty() {
            true => self.rows_to_release(label, &record)?,
            false => vec![correction.to_row(label)],
        };
        let version = HistoryRecord {
            version: 0,
            key,
            output,
            at: record.made_at,
            build: None,
        };
        let result = NewResult {
            key,
            record,
            blob: Some(blob),
            parts: Vec::new(),
        };
        if last.result.output != output {
            for reader in self.links.readers(id).collect::<Vec<_>>() {
                self.graph.set_stale(reader, true);
            }
        }
        let stale = self.graph.is_stale(id);
        self.graph.settle(id, NodeResult { key, output });
        // A stale node stays stale: its inputs changed, even if a person wrote the output.
        self.graph.set_stale(id, stale);
        let leftover = Leftover {
            results: before.into_iter().chain([result]).collect(),
            history: vec![(label.to_owned(), version)],
            ..Leftover::default()
        };
        self.commit(leftover, rows, false, None, None)?;
        Ok(Some(output))
    }

    /// Returns the rows that remove the corrections of a label written in this checkout, or applicable from another.
    fn rows_to_release(&self, label: &str, record: &ActionRecord) -> Result<Vec<RowChange>, EngineError> {
        let (store, now) = (&*self.engine.store, earlier_answer::inputs_of(record));
        let mut rows = Vec::new();
        for row in corrections::list_corrections(store, label)? {
            let then = superseded::record_of(store, &row.key, &row.output)?;
            if row.view == self.engine.view || then.is_some_and(|then| earlier_answer::shares_most_inputs(&then, &now)) {
                rows.push(corrections::release(label, row.view));
            }
        }
        Ok(rows)
    }
}
