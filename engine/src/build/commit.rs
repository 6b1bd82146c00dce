//! The commit of a build: one transaction with its results, History, graph pages, known sources and files.

use super::engine::EngineError;
use super::graph_memory;
use super::run::Leftover;
use super::session::Session;
use super::state::{CurrentRequest, STATE_KEY};
use super::unfinished::Unfinished;
use crate::graph::NodeId;
use crate::manifest::compiled;
use crate::seams::world::{Exports, RowEdits};
use crate::store::builds::BuildRecord;
use crate::store::records::HistoryRecord;
use crate::store::{Commit, Part, RowChange};
use crate::values::cbor::{decode, encode};
use crate::values::digest::Digest;
use std::sync::Arc;

/// Returns the changes to rows of one part of the store.
fn rows_of(part: Part, rows: RowEdits) -> impl Iterator<Item = RowChange> {
    rows.into_iter().map(move |(key, body)| (part, key, body))
}

impl Session {
    /// Commits in one transaction the remaining results, History, graph pages, known sources and files, and the request as current. Returns false,
    /// without a commit, if the graph turns out to be damaged.
    pub(super) fn commit(
        &mut self,
        mut leftover: Leftover,
        remarks: Vec<RowChange>,
        pruned: bool,
        exports: Option<&dyn Exports>,
        known: Option<(Digest, CurrentRequest)>,
    ) -> Result<bool, EngineError> {
        let (nodes, links) = (self.graph.take_dirty_pages(), self.graph.take_dirty_links());
        let lookups = self.graph.take_changed_lookups();
        if self.graph.is_damaged() {
            return Ok(false);
        }
        let listed = leftover.listed.take().map(|listed| self.numbered(listed)).transpose()?;
        for (_, version) in &mut leftover.history {
            version.build = listed.as_ref().map(|listed| listed.number).or(leftover.build);
        }
        if let Some(lost) = self.state.lost {
            leftover.history = self.versions_to_push(leftover.history, lost)?;
        }
        let mut commit = Commit {
            results: leftover.results,
            history: leftover.history,
            used: leftover.used,
            ..Commit::default()
        };
        commit.rows.extend(rows_of(Part::Nodes, nodes));
        if !links.is_empty() {
            let digest = self.state.links_digest();
            self.state
                .set_links_digest(digest.map(|before| graph_memory::digest_after(&before, &links)));
        }
        commit.rows.extend(rows_of(Part::Links, links));
        commit.rows.extend(rows_of(Part::Lookups, lookups));
        let stale = self.graph.take_dirty_stale();
        let has_changes = stale.is_some()
            || !commit.rows.is_empty()
            || !self.refresh.changes.is_empty()
            || !self.refresh.sets_changed.is_empty()
            || self.is_redefined();
        commit.rows.extend(rows_of(Part::Directories, self.sources.take_dirty_rows()));
        commit.rows.extend(self.watch_update.row());
        if let Some(exports) = exports {
            commit.rows.extend(rows_of(Part::Exports, exports.take_dirty_rows()));
        }
        let former_manifest = if has_changes { self.advance_state(stale)? } else { None };
        if let Some(listed) = &listed {
            self.state.builds = Some(listed.number);
            commit.rows.extend(listed.to_rows());
        }
        // A build that only adds to the log (its one producer failed again) keeps the generation.
        if has_changes || listed.is_some() && !self.state.manifest.is_empty() {
            commit.rows.push((Part::State, STATE_KEY.to_vec(), Some(encode(&self.state))));
        }
        // Node numbers in recorded requests stay valid until a node is removed.
        if pruned || self.is_redefined() {
            let outdated = self.engine.store.rows(self.engine.view, Part::Requests)?;
            commit.rows.extend(outdated.into_iter().map(|(key, _)| (Part::Requests, key, None)));
        }
        commit
            .rows
            .extend(leftover.ledger.iter().map(crate::store::ledger::LedgerEntry::to_row));
        let may_show_others = has_changes && self.may_show_other_states();
        let shows_states = leftover.left.files || may_show_others && exports.is_none_or(|exports| self.renews(exports));
        let unfinished = self.unfinished_row(shows_states, &commit.history)?;
        commit.rows.extend(unfinished);
        commit.rows.extend(self.unmark_rebuilt());
        commit.rows.append(&mut self.compiled);
        commit.rows.extend(former_manifest);
        commit.rows.extend(remarks);
        commit.rows.extend(leftover.unconfirmed);
        if let Some((digest, known)) = known {
            commit.rows.extend(self.request_row(&digest, known)?);
        }
        self.write_commit(commit)?;
        drop(leftover.action_locks);
        Ok(true)
    }

    /// Returns the versions without those that the store already has as the newest ones up to build `lost`, after which the graph was lost.
    fn versions_to_push(&self, history: Vec<(String, HistoryRecord)>, lost: u64) -> Result<Vec<(String, HistoryRecord)>, EngineError> {
        let mut versions = Vec::with_capacity(history.len());
        for (label, version) in history {
            let newest = self.engine.store.history(self.engine.view, &label)?.pop();
            let is_known = |newest: &HistoryRecord| {
                newest.build.is_none_or(|build| build <= lost) && (newest.key, newest.output) == (version.key, version.output)
            };
            if !newest.as_ref().is_some_and(is_known) {
                versions.push((label, version));
            }
        }
        Ok(versions)
    }

    /// Advances the state to the next generation. Returns the row that keeps a replaced manifest.
    fn advance_state(&mut self, stale: Option<Vec<u8>>) -> Result<Option<RowChange>, EngineError> {
        self.state.generation += 1;
        if let Some(stale) = stale {
            self.state.stale = stale;
        }
        let mut former = None;
        if self.is_redefined()
            && let Some(row) = self.manifest_before()?
            // Equivalent texts (a comment, another registry) replace nothing.
            && !self.compiled.iter().any(|(_, _, now)| now.as_ref() == Some(&row))
        {
            former = Some((Part::Manifests, compiled::BEFORE.to_vec(), Some(row)));
        }
        self.state.manifest = self.definition().0.to_vec();
        self.state.registry = self.engine.registry.digest().0.to_vec();
        self.state.nodes = self.graph.len() as u64;
        Ok(former)
    }

    /// Returns the row that records the work left after this commit, if it changes.
    fn unfinished_row(&self, shows_states: bool, history: &[(String, HistoryRecord)]) -> Result<Option<RowChange>, EngineError> {
        let followed = self.engine.finish.name_sources();
        let before = Unfinished::from_store(&*self.engine.store, self.engine.view)?;
        let left = Unfinished {
            files: before.files || shows_states,
            names: before.names || history.iter().any(|(label, _)| followed.contains(&&**label)),
        };
        Ok((left != before).then(|| left.row()))
    }

    /// Returns the row that records a request as current, unless the stored one says the same.
    fn request_row(&self, digest: &Digest, mut known: CurrentRequest) -> Result<Option<RowChange>, EngineError> {
        known.generation = self.state.generation;
        let stored = self.engine.store.row(self.engine.view, Part::Requests, &digest.0)?;
        let stored = stored.and_then(|row| decode::<CurrentRequest>(&row));
        let is_stored = stored.is_some_and(|stored| stored.says_the_same(&known));
        Ok((!is_stored).then(|| (Part::Requests, digest.0.to_vec(), Some(encode(&known)))))
    }

    /// Writes a commit, unless it is empty.
    fn write_commit(&mut self, mut commit: Commit) -> Result<(), EngineError> {
        if commit.rows.is_empty() && commit.results.is_empty() && commit.history.is_empty() {
            return Ok(());
        }
        commit.rows.extend(self.engine.view_row()?);
        if let Some(error) = &self.write_error {
            return Err(error.clone().into());
        }
        self.engine
            .store
            .commit(self.engine.view, commit)
            .inspect_err(|error| self.write_error = Some(error.clone()))?;
        self.watch_update.due = None;
        Ok(())
    }

    /// Whether a file that shows states may be outdated.
    pub(super) fn may_show_other_states(&self) -> bool {
        let finish = &self.engine.finish;
        let changes = self.graph.state_changes();
        let node = |&id: &NodeId| self.graph.get(id);
        self.may_all_states_differ()
            || changes.appeared.iter().filter_map(node).any(|node| finish.shows(&node.label))
            || changes
                .results
                .iter()
                .filter_map(node)
                .any(|node| finish.labels().contains(&&*node.label))
    }

    /// Returns the labels whose state may differ from the one that files show; `None` if these may be all.
    pub(super) fn labels_with_new_state(&self) -> Option<Vec<Arc<str>>> {
        let appeared = self.graph.state_changes().appeared.iter().filter_map(|&id| self.graph.get(id));
        let labels = appeared.map(|node| node.label.clone());
        (!self.may_all_states_differ()).then(|| labels.filter(|label| self.engine.finish.shows(label)).collect())
    }

    /// Whether any state may differ. If no node is or was stale, the state of a node depends only on whether it has a result.
    fn may_all_states_differ(&self) -> bool {
        let changes = self.graph.state_changes();
        changes.had_stale || changes.has_removed || !self.graph.stale_set().is_empty() || self.is_redefined()
    }

    /// Whether any laid-out file shows the states of nodes.
    pub(super) fn renews(&self, exports: &dyn Exports) -> bool {
        let mut shown = self.engine.finish.labels().iter().filter_map(|label| self.graph.find(label));
        shown.any(|id| exports.path(id.0).is_some())
    }

    /// Numbers a build: one more than the last, or the number of the build that it continues.
    pub(super) fn numbered(&mut self, listed: BuildRecord) -> Result<BuildRecord, EngineError> {
        let listed = match self.listed.take() {
            Some(before) => super::build_log::merge_records(before, listed),
            None => self.with_next_number(listed)?,
        };
        self.listed = Some(listed.clone());
        Ok(listed)
    }

    fn with_next_number(&self, listed: BuildRecord) -> Result<BuildRecord, EngineError> {
        let last = super::session::last_build(&self.engine, &self.state)?.unwrap_or(0);
        Ok(BuildRecord {
            number: last.saturating_add(1),
            ..listed
        })
    }

    /// Returns the changed sets on which nodes depend for their existence.
    pub(super) fn changed_sets(&self, history: &[(String, HistoryRecord)]) -> Vec<String> {
        let joined = |id: NodeId| {
            let found = self.rules.find(&self.graph.node(id).label);
            found.is_some_and(|found| self.rules.rule(found.rule).inner.is_some())
        };
        let parted = |label: &str| self.graph.find(label).is_some_and(|id| self.links.readers(id).any(joined));
        super::prune::changed_sets(&self.rules, history, &self.refresh, &self.state, &parted)
    }
}
