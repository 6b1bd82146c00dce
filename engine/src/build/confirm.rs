//! Confirming: before a build, the remote cache is asked about answers of which another machine may have filed another at the same moment.
//! What it holds takes the place of what this checkout has; what it lacks is offered once more.

use super::contending::{Answer, lookup_of};
use super::engine::EngineError;
use super::session::Session;
use super::sharing::{RemoteResult, Sharing, is_same};
use crate::graph::{Filed, Node, NodeId};
use crate::seams::remote::{SharedResult, Wanted};
use crate::store::records::{ActionRecord, HistoryRecord, NewResult};
use crate::store::unconfirmed::{self, Unconfirmed, confirmed};
use crate::store::{Commit, RowChange, Store, StoreError, shared, superseded};
use crate::values::digest::{ActionKey, Digest};
use rustc_hash::FxHashMap;

/// An answer that is asked about, as this store has it.
struct AnswerToConfirm {
    key: ActionKey,
    row: Unconfirmed,
    own: ActionRecord,
}

/// What the cache has to say of one.
enum Says {
    /// It holds the same.
    Same,
    /// It holds another.
    Other(Box<RemoteResult>),
    /// It holds none that is of any use.
    Nothing,
}

impl Session {
    /// Asks about all answers of which it is not certain that every machine has the same, and takes over what others filed. How many gave way.
    ///
    /// # Errors
    /// When the store breaks; the cache cannot.
    pub(super) fn confirm(&mut self, sharing: Option<&Sharing>) -> Result<usize, EngineError> {
        let (store, now) = (self.engine.store.clone(), self.engine.world.now_secs());
        let rows = unconfirmed::all(&*store, self.engine.view)?;
        if rows.is_empty() {
            return Ok(0);
        }
        let mut changes: Vec<RowChange> = Vec::new();
        let mut asked: Vec<AnswerToConfirm> = Vec::new();
        let nobody = sharing.is_none() && self.rules.manifest().remote.is_none();
        for (key, row) in rows {
            // Words of a person are their checkout's own.
            let own = store.action(&key)?.filter(|own| !nobody && !shared::stays_here(own));
            match own {
                None => changes.push(confirmed(&key)),
                Some(own) if row.is_due(now) => asked.push(AnswerToConfirm { key, row, own }),
                Some(_) => {}
            }
        }
        let readable = sharing.filter(|sharing| sharing.cache.reads());
        let said = match readable {
            Some(sharing) if !asked.is_empty() => sharing.ask_about(&asked, &*store)?,
            _ => asked.iter().map(|_| Says::Nothing).collect(),
        };
        let mut results: Vec<NewResult> = Vec::new();
        let mut moved: FxHashMap<ActionKey, Digest> = FxHashMap::default();
        for (AnswerToConfirm { key, row, own }, says) in asked.into_iter().zip(said) {
            let standing = match &says {
                Says::Other(found) => found.record.output,
                Says::Same | Says::Nothing => own.output,
            };
            let filed = self.graph.find(&row.label).and_then(|id| self.graph.node(id).result);
            if standing != own.output || filed.is_some_and(|filed| filed.key == key && filed.output != standing) {
                // Asked about once more, when the graph has it.
                moved.insert(key, standing);
            } else {
                let row = match &says {
                    Says::Nothing => row.missed_at(now),
                    Says::Same | Says::Other(_) => row.read_at(now),
                };
                changes.push(row.map_or_else(|| confirmed(&key), |row| row.to_row(&key)));
            }
            if let Says::Other(found) = says {
                results.extend(superseded::result_to_keep(&key, own, &standing));
                results.push(NewResult {
                    key,
                    record: found.record,
                    blob: Some(found.blob),
                    parts: found.parts,
                });
            }
        }
        let nodes = self.with_other_output(&moved);
        let commit = Commit {
            results,
            rows: changes,
            history: self.versions(&nodes, now)?,
            ..Commit::default()
        };
        if let Err(error) = store.commit(self.engine.view, commit) {
            // What cannot be filed is asked about by the next build.
            super::unwritable_store::excused(error)?;
            return Ok(0);
        }
        if !nodes.is_empty() {
            // Nothing that is known to be current need be so.
            self.state.generation += 1;
        }
        for (id, _, filed) in &nodes {
            for reader in self.links.readers(*id).collect::<Vec<_>>() {
                self.graph.set_stale(reader, true);
            }
            let stale = self.graph.is_stale(*id);
            self.graph.settle(*id, *filed);
            self.graph.set_stale(*id, stale);
        }
        Ok(moved.len())
    }

    /// The nodes whose result is filed under one of these keys with another output, and what is to be filed for them.
    fn with_other_output(&self, moved: &FxHashMap<ActionKey, Digest>) -> Vec<(NodeId, String, Filed)> {
        if moved.is_empty() {
            return Vec::new();
        }
        let other = |(id, node): (NodeId, &Node)| {
            let filed = node.result?;
            let output = *moved.get(&filed.key)?;
            (filed.output != output).then(|| (id, node.label.to_string(), Filed { output, ..filed }))
        };
        self.graph.iter().filter_map(other).collect()
    }

    /// The versions that these nodes have from now on, unless they have them already.
    fn versions(&self, nodes: &[(NodeId, String, Filed)], now: u64) -> Result<Vec<(String, HistoryRecord)>, EngineError> {
        let mut versions = Vec::new();
        for (_, label, filed) in nodes {
            let newest = self.engine.store.history(self.engine.view, label)?.pop();
            if newest.is_none_or(|newest| (newest.key, newest.output) != (filed.key, filed.output)) {
                let version = HistoryRecord {
                    version: 0,
                    key: filed.key,
                    output: filed.output,
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
    /// What the cache holds of each; what it lacks is offered, if it takes anything.
    fn ask_about(&self, asked: &[AnswerToConfirm], store: &dyn Store) -> Result<Vec<Says>, StoreError> {
        let wanted: Vec<Wanted> = asked.iter().map(|asked| lookup_of(&asked.key, &asked.own)).collect();
        store.let_go();
        let found = self.cache.find_results_uncounted(&wanted);
        let mut said: Vec<Says> = asked
            .iter()
            .zip(&found)
            .map(|(asked, found)| self.hears(asked, found.as_ref()))
            .collect();
        let mut lacking = Vec::new();
        for (at, asked) in asked.iter().enumerate().filter(|(at, _)| matches!(said[*at], Says::Nothing)) {
            // What this store lost itself cannot be offered.
            lacking.extend(Answer::of(&asked.key, &asked.own, store)?.map(|answer| (at, answer)));
        }
        store.let_go();
        let (at, answers): (Vec<usize>, Vec<Answer<'_>>) = lacking.into_iter().unzip();
        for (at, found) in at.into_iter().zip(self.contend_all(&answers)) {
            said[at] = found.map_or(Says::Nothing, |found| Says::Other(Box::new(found)));
        }
        Ok(said)
    }

    fn hears(&self, asked: &AnswerToConfirm, found: Option<&SharedResult>) -> Says {
        match found {
            None => Says::Nothing,
            Some(found) if is_same(&asked.own, found) => Says::Same,
            Some(found) => self
                .complete_result(&lookup_of(&asked.key, &asked.own), found)
                .map_or(Says::Nothing, |found| Says::Other(Box::new(found))),
        }
    }
}
