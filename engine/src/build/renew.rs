//! Renewal: updates files that show the states of nodes after a build.
//!
//! It follows the commit, because states are computed as for `status` and queries: from the stored results. Discards everything else that this
//! computation finds.

use super::blobs::Blobs;
use super::engine::EngineError;
use super::finish::{LastFile, OutputToFinish};
use super::layout::unwritten_file_error;
use super::query::{NodeState, NodeStatus};
use super::session::{Session, stored_graph_and_links};
use super::unfinished::Unfinished;
use crate::graph::NodeId;
use crate::graph::stale::{NodeSet, spread_stale_marks};
use crate::graph::walk::Links;
use crate::seams::producer::Cancel;
use crate::seams::world::{ExportOutcome, Exports};
use crate::store::{Commit, Part};
use crate::values::diagnostic::Diagnostic;
use crate::values::digest::Digest;
use crate::values::event::{Event, Observer};

/// Files that show states.
pub(super) struct FilesToRenew<'a> {
    pub(super) exports: &'a dyn Exports,
    /// The nodes whose files were just laid out without states.
    pub(super) placed: &'a [u32],
    /// The outputs of the build.
    pub(super) blobs: &'a Blobs,
    /// Whether the files may show other states than those at the beginning of this build.
    pub(super) are_outdated: bool,
}

impl Session {
    /// Records that files derived from names are updated, if they were due.
    pub fn finish_names(&mut self) -> Result<(), EngineError> {
        let left = Unfinished::from_store(&*self.engine.store, self.engine.view)?;
        if left.names {
            let rows = vec![Unfinished { names: false, ..left }.row()];
            self.engine.store.commit(self.engine.view, Commit { rows, ..Commit::default() })?;
        }
        Ok(())
    }

    /// Rewrites files that show states if these changed. Returns the number of written files, and why others could not be written; then the request is
    /// no longer known to be current.
    pub(super) fn renew(
        &mut self,
        request: &Digest,
        files: &FilesToRenew<'_>,
        (observer, cancel): (&dyn Observer, &Cancel),
    ) -> Result<(usize, Vec<Diagnostic>), EngineError> {
        let (finish, exports) = (self.engine.finish.clone(), files.exports);
        let changed = self.labels_with_new_state().filter(|_| !files.are_outdated);
        let (mut written, mut failures, mut is_cut) = (0, Vec::new(), false);
        // Usually nothing is stale. The build may have changed the inputs of nodes since the graph was loaded.
        let is_any_stale = !self.graph.stale_set().is_empty() && self.renews(exports);
        let maybe_stale = is_any_stale.then(|| spread_stale_marks(&self.graph, &Links::from_graph(&self.graph)));
        for &label in finish.labels() {
            let Some(id) = self.graph.find(label) else { continue };
            let (Some(path), Some(result)) = (exports.path(id.0), self.graph.node(id).result) else {
                continue;
            };
            // A file shows one moment: do not combine present states with an old output.
            if maybe_stale.as_ref().is_some_and(|maybe_stale| maybe_stale.contains(id)) {
                continue;
            }
            let Some(blob) = files.blobs.whole_output(&result.output)? else {
                // The file may show former states: the next build tries again.
                is_cut = true;
                continue;
            };
            let last = changed.as_ref().filter(|_| !finish.shows_times() && !files.placed.contains(&id.0));
            let last = last.and_then(|changed| Some((exports.read(id.0)?, changed)));
            let made_at = match finish.shows_times() {
                true => self.engine.store.action(&result.key)?.map(|record| record.made_at),
                false => None,
            };
            let mut trouble = None;
            let mut states = |labels: &[String]| {
                self.states(labels, cancel).unwrap_or_else(|error| {
                    trouble = Some(error);
                    vec![NodeStatus::NONE; labels.len()]
                })
            };
            let output = OutputToFinish {
                label,
                blob: &blob,
                made_at,
                last: last.as_ref().map(|(bytes, changed)| LastFile { bytes, changed }),
            };
            let shown = finish.finish(&output, &mut states);
            if let Some(trouble) = trouble {
                return Err(trouble);
            }
            if cancel.is_cancelled() {
                // The states are incomplete; the commit noted this work, and the next build does it.
                is_cut = true;
                break;
            }
            let bytes = shown.as_deref().unwrap_or(&blob);
            match exports.write(id.0, &path, Digest::of(bytes), bytes) {
                Ok(outcome) if outcome == ExportOutcome::Written || files.placed.contains(&id.0) => {
                    written += 1;
                    observer.event(&Event::Exported { path: &path });
                }
                Ok(_) => {}
                Err(error) => failures.push(unwritten_file_error(&error, label)),
            }
        }
        let rows = exports.take_dirty_rows().into_iter();
        let mut commit = Commit::default();
        commit.rows.extend(rows.map(|(key, body)| (Part::Exports, key, body)));
        let left = Unfinished::from_store(&*self.engine.store, self.engine.view)?;
        if left.files && failures.is_empty() && !is_cut {
            commit.rows.push(Unfinished { files: false, ..left }.row());
        }
        if !failures.is_empty() {
            commit.rows.push((Part::Requests, request.0.to_vec(), None));
        }
        if !commit.rows.is_empty() {
            self.engine.store.commit(self.engine.view, commit)?;
        }
        Ok((written, failures))
    }

    /// Returns the states of nodes by label, as stored. This settles nodes, whose versions a later build of this session would then not push: so it
    /// uses a graph of its own.
    fn states(&mut self, labels: &[String], cancel: &Cancel) -> Result<Vec<NodeStatus>, EngineError> {
        if let Some(states) = self.settled_states(labels) {
            return Ok(states);
        }
        let Some((graph, links)) = stored_graph_and_links(&self.engine, &self.state)? else {
            return Ok(vec![NodeStatus::NONE; labels.len()]);
        };
        let links = std::mem::replace(&mut self.links, links);
        let graph = std::mem::replace(&mut self.graph, graph);
        let redefined = std::mem::replace(&mut self.redefined, false);
        let nodes: Vec<Option<NodeId>> = labels.iter().map(|label| self.graph.find(label)).collect();
        let known: Vec<NodeId> = nodes.iter().flatten().copied().collect();
        let standings = self.statuses(&known, cancel);
        (self.links, self.graph, self.redefined) = (links, graph, redefined);
        let mut states = standings?.into_iter();
        let status = |node: Option<NodeId>| node.and_then(|_| states.next()).unwrap_or(NodeStatus::NONE);
        Ok(nodes.into_iter().map(status).collect())
    }

    /// Returns the states of nodes if no change can reach any of them: then nothing must be checked.
    fn settled_states(&self, labels: &[String]) -> Option<Vec<NodeStatus>> {
        // Usually nothing is stale: then the edges are not needed.
        let is_any_stale = !self.graph.stale_set().is_empty();
        let maybe_stale = if is_any_stale {
            spread_stale_marks(&self.graph, &Links::from_graph(&self.graph))
        } else {
            NodeSet::default()
        };
        let state = |label: &String| match self.graph.find(label) {
            Some(id) if maybe_stale.contains(id) || !self.graph.has_result(id) => None,
            Some(_) => Some(NodeState::Current.into()),
            None => Some(NodeStatus::NONE),
        };
        labels.iter().map(state).collect()
    }
}
