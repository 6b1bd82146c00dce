//! Stopped builds: if committing everything settled would take too long, commits only the results.

use super::engine::EngineError;
use super::run::Leftover;
use super::session::Session;
use super::state::{STATE_KEY, State};
use crate::store::ledger::LedgerEntry;
use crate::store::{Commit, Part};
use crate::values::cbor::{decode, encode};

impl Session {
    /// Whether committing a stopped build's settled nodes takes too long: too many nodes changed, or all must be checked for vanished ones.
    pub(super) fn is_much_to_settle(&self, leftover: &Leftover, most: usize) -> bool {
        let looks_through = || !self.changed_sets(&leftover.history).is_empty() || self.is_redefined();
        self.graph.dirty_nodes() > most || self.graph.len() > most && looks_through()
    }

    /// Commits the results of a stopped build and their cost, but not the graph: the stored graph stays as before, and the next build finds the
    /// results under their keys.
    pub(super) fn commit_results(&mut self, mut leftover: Leftover) -> Result<(), EngineError> {
        let listed = leftover.listed.take().map(|listed| self.numbered(listed)).transpose()?;
        let mut commit = Commit {
            results: leftover.results,
            used: leftover.used,
            ..Commit::default()
        };
        commit.rows.extend(leftover.ledger.iter().map(LedgerEntry::to_row));
        commit.rows.extend(leftover.unconfirmed);
        if let Some(listed) = listed {
            let row = self.engine.store.row(self.engine.view, Part::State, STATE_KEY)?;
            if let Some(state) = row.and_then(|row| decode::<State>(&row)) {
                let state = State {
                    builds: Some(listed.number),
                    ..state
                };
                commit.rows.push((Part::State, STATE_KEY.to_vec(), Some(encode(&state))));
            }
            self.state.builds = Some(listed.number);
            commit.rows.extend(listed.to_rows());
        }
        self.is_unsaved = true;
        if !commit.rows.is_empty() || !commit.results.is_empty() || !commit.used.is_empty() {
            if let Some(error) = &self.write_error {
                return Err(error.clone().into());
            }
            self.engine.store.commit(self.engine.view, commit)?;
        }
        drop(leftover.action_locks);
        Ok(())
    }
}
