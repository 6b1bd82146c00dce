//! Confirmation: before a build, asks the remote cache for answers for which another machine may have stored a different one at the same moment. An
//! answer found there replaces this checkout's; a missing one is offered again.

use super::contention::{OwnAnswer, lookup_of};
use super::engine::EngineError;
use super::session::Session;
use super::sharing::{RemoteResult, Sharing, is_same};
use crate::graph::{Node, NodeId, NodeResult};
use crate::seams::remote::{SharedResult, Wanted};
use crate::store::records::{ActionRecord, HistoryRecord, NewResult};
use crate::store::unconfirmed::{self, Unconfirmed, confirmed};
use crate::store::{Commit, RowChange, Store, StoreError, shared, superseded};
use crate::values::digest::{ActionKey, Digest};
use rustc_hash::FxHashMap;

/// An answer to confirm, as in this store.
struct AnswerToConfirm {
    key: ActionKey,
    row: Unconfirmed,
    own: ActionRecord,
}

/// The cache's answer about one.
enum CacheReply {
    Same,
    Other(Box<RemoteResult>),
    /// It has no usable answer.
    Nothing,
}

impl Session {
    /// Asks for all unconfirmed answers and takes over those of other machines. Returns how many were replaced. Fails when the store
    /// breaks; the cache cannot.
    pub(super) fn confirm(&mut self, sharing: Option<&Sharing>) -> Result<usize, EngineError> {
        let (store, now) = (self.engine.store.clone(), self.engine.world.now_secs());
        let rows = unconfirmed::list_unconfirmed(&*store, self.engine.view)?;
        if rows.is_empty() {
            return Ok(0);
        }
        let mut changes: Vec<RowChange> = Vec::new();
        let mut due: Vec<AnswerToConfirm> = Vec::new();
        let is_unshared = sharing.is_none() && self.rules.manifest().remote.is_none();
        for (key, row) in rows {
            // A person's words belong to their checkout.
            let own = store.action(&key)?.filter(|own| !is_unshared && !shared::is_local_only(own));
            match own {
                None => changes.push(confirmed(&key)),
                Some(own) if row.is_due(now) => due.push(AnswerToConfirm { key, row, own }),
                Some(_) => {}
            }
        }
        let readable = sharing.filter(|sharing| sharing.cache.reads());
        let replies = match readable {
            Some(sharing) if !due.is_empty() => sharing.ask_about(&due, &*store)?,
            _ => due.iter().map(|_| CacheReply::Nothing).collect(),
        };
        let mut results: Vec<NewResult> = Vec::new();
        let mut replaced: FxHashMap<ActionKey, Digest> = FxHashMap::default();
        for (AnswerToConfirm { key, row, own }, reply) in due.into_iter().zip(replies) {
            let output = match &reply {
                CacheReply::Other(found) => found.record.output,
                CacheReply::Same | CacheReply::Nothing => own.output,
            };
            let result = self.graph.find(&row.label).and_then(|id| self.graph.node(id).result);
            if output != own.output || result.is_some_and(|result| result.key == key && result.output != output) {
                // Ask again when the graph has it.
                replaced.insert(key, output);
            } else {
                let row = match &reply {
                    CacheReply::Nothing => row.missed_at(now),
                    CacheReply::Same | CacheReply::Other(_) => row.read_at(now),
                };
                changes.push(row.map_or_else(|| confirmed(&key), |row| row.to_row(&key)));
            }
            if let CacheReply::Other(found) = reply {
                results.extend(superseded::result_to_keep(&key, own, &output));
                results.push(NewResult {
                    key,
                    record: found.record,
                    blob: Some(found.blob),
                    parts: found.parts,
                });
            }
        }
        let nodes = self.with_other_output(&replaced);
        let commit = Commit {
            results,
            rows: changes,
            history: self.versions(&nodes, now)?,
            ..Commit::default()
        };
        if let Err(error) = store.commit(self.engine.view, commit) {
            // The next build asks again.
            super::unwritable_store::note_read_only_store(error)?;
            return Ok(0);
        }
        if !nodes.is_empty() {
            // Requests known to be current may no longer be so.
            self.state.generation += 1;
        }
        for (id, _, result) in &nodes {
            for reader in self.links.readers(*id).collect::<Vec<_>>() {
                self.graph.set_stale(reader, true);
            }
            let stale = self.graph.is_stale(*id);
            self.graph.settle(*id, *result);
            self.graph.set_stale(*id, stale);
        }
        Ok(replaced.len())
    }

    /// Returns the nodes with another output recorded under one of these keys, with their new record.
    fn with_other_output(&self, replaced: &FxHashMap<ActionKey, Digest>) -> Vec<(NodeId, String, NodeResult)> {
        if replaced.is_empty() {
            return Vec::new();
        }
        let other = |(id, node): (NodeId, &Node)| {
            let result = node.result?;
            let output = *replaced.get(&result.key)?;
            (result.output != output).then(|| (id, node.label.to_string(), NodeResult { output, ..result }))
        };
        self.graph.iter().filter_map(other).collect()
    }

    /// Returns the new versions of these nodes, unless they have them already.
    fn versions(&self, nodes: &[(NodeId, String, NodeResult)], now: u64) -> Result<Vec<(String, HistoryRecord)>, EngineError> {
        let mut versions = Vec::new();
        for (_, label, result) in nodes {
            let newest = self.engine.store.history(self.engine.view, label)?.pop();
            if newest.is_none_or(|newest| (newest.key, newest.output) != (result.key, result.output)) {
                let version = HistoryRecord {
                    version: 0,
                    key: result.key,
                    output: result.output,
                    at: now,
                    build: None,
                };
                versions.push((label.clone(), version));
            }
        }
        Ok(versions)
    }
}

impl Sharing {
    /// Asks the cache for each; offers missing ones, if it accepts offers.
    fn ask_about(&self, answers: &[AnswerToConfirm], store: &dyn Store) -> Result<Vec<CacheReply>, StoreError> {
        let wanted: Vec<Wanted> = answers.iter().map(|answer| lookup_of(&answer.key, &answer.own)).collect();
        store.release_lock();
        let found = self.cache.find_results_uncounted(&wanted);
        let mut replies: Vec<CacheReply> = answers
            .iter()
            .zip(&found)
            .map(|(answer, found)| self.classify_reply(answer, found.as_ref()))
            .collect();
        let mut lacking = Vec::new();
        for (at, answer) in answers
            .iter()
            .enumerate()
            .filter(|(at, _)| matches!(replies[*at], CacheReply::Nothing))
        {
            // An answer that this store has lost cannot be offered.
            lacking.extend(OwnAnswer::from_store(&answer.key, &answer.own, store)?.map(|body| (at, body)));
        }
        store.release_lock();
        let (at, answers): (Vec<usize>, Vec<OwnAnswer<'_>>) = lacking.into_iter().unzip();
        for (at, found) in at.into_iter().zip(self.store_answers_if_absent(&answers)) {
            replies[at] = found.map_or(CacheReply::Nothing, |found| CacheReply::Other(Box::new(found)));
        }
        Ok(replies)
    }

    fn classify_reply(&self, answer: &AnswerToConfirm, found: Option<&SharedResult>) -> CacheReply {
        match found {
            None => CacheReply::Nothing,
            Some(found) if is_same(&answer.own, found) => CacheReply::Same,
            Some(found) => self
                .complete_result(&lookup_of(&answer.key, &answer.own), found)
                .map_or(CacheReply::Nothing, |found| CacheReply::Other(Box::new(found))),
        }
    }
}
