//! Surveys: matches of patterns and edges between nodes, found without running a producer or writing anything.
//!
//! A survey is a dry run: it trusts current and stored results, and reports as unknown what only a producer could determine. It plans stale nodes
//! again if their deciding nodes are known; otherwise it uses the edges of the last build and reports that.

use super::blobs::Blobs;
use super::engine::EngineError;
use super::job::JobContext;
pub use super::node_status::{NodeState, NodeStatus};
use super::outlook::{ForecastGraph, RunForecast, marked_nodes};
use super::prune::{Vanished, vanished};
use super::remarks::{FailedTry, Remark, Wait, end_of_wait};
use super::run::dry_run::Certainty;
use super::run::{BuildMode, Options, Roots, Run, Setup, UNSET};
use super::session::{Session, SessionLeaves};
use crate::graph::NodeId;
use crate::seams::producer::Cancel;
use crate::values::codes::ErrorCode;
use crate::values::diagnostic::Diagnostic;
use crate::values::event::Silent;
use crate::values::label::Label;
use crate::values::pattern::{Pattern, PatternSet};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Extent of a survey.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reach {
    /// Only the matched nodes.
    Named,
    /// Everything that those nodes depend on.
    Below,
    /// Every node, so that readers are known.
    Everything,
}

/// Result of a survey. The session's graph contains the nodes and edges.
#[derive(Debug, Default)]
pub struct Survey {
    /// The nodes of each pattern, in order of the patterns.
    pub targets: Vec<Vec<NodeId>>,
    /// Errors of patterns that match nothing or too much.
    pub refused: Vec<Diagnostic>,
    /// Sets that must be built before their targets are known: one sentence each.
    pub unknown: Vec<Diagnostic>,
    /// Nodes whose inputs are those of the last build, or only partly known.
    pub unsure: Vec<NodeId>,
}

impl Session {
    /// Applies `read` to a dry run of this session. May add nodes and edges to the graph in memory; writes nothing.
    pub(super) fn run_dry<T>(&mut self, read: impl FnOnce(&mut Run<'_>) -> Result<T, EngineError>) -> Result<T, EngineError> {
        self.run_dry_until(&Cancel::default(), read)
    }

    /// As [`Self::run_dry`]; once `cancel` is set, stops, and the result is invalid.
    fn run_dry_until<T>(&mut self, cancel: &Cancel, read: impl FnOnce(&mut Run<'_>) -> Result<T, EngineError>) -> Result<T, EngineError> {
        let shared = Arc::new(JobContext {
            blobs: Blobs::new(self.engine.store.clone()),
            world: self.engine.world.clone(),
            manifest: self.rules.manifest().clone(),
            view: self.engine.view,
            early_outputs: Default::default(),
            sharing: None,
            former: Default::default(),
            cancel: cancel.clone(),
        });
        let leaves = SessionLeaves::new(&*self.sources, &self.state, &self.refresh.changes);
        let setup = Setup {
            rules: &self.rules,
            registry: &self.engine.registry,
            priority: &*self.engine.priority,
            lineage: &*self.engine.lineage,
            graph: &mut self.graph,
            links: &self.links,
            redefined: self.redefined,
            leaves: &leaves,
            store: self.engine.store.clone(),
            shared,
            predecessors: &self.predecessors,
            turn: None,
            observer: &Silent,
            options: Options {
                jobs: 1,
                keep_going: true,
                mode: BuildMode::DryRun,
                invalidated: self.invalidated.clone(),
                ..Options::default()
            },
        };
        let mut run = Run::new(setup, self.engine.view, 0);
        let found = read(&mut run);
        run.finish_run()?;
        found
    }

    /// Resolves `patterns`, and finds the edges between nodes.
    pub fn survey(&mut self, patterns: &[Pattern], reach: Reach) -> Result<Survey, EngineError> {
        let leaves: Vec<Vec<String>> = patterns.iter().map(|pattern| self.leaves(pattern)).collect();
        self.run_dry(|run| {
            let mut survey = Survey::default();
            for (pattern, leaves) in patterns.iter().zip(leaves) {
                let Roots {
                    mut nodes, errors, open, ..
                } = run.roots(&PatternSet::from(pattern.clone()))?;
                let found = !leaves.is_empty();
                nodes.extend(leaves.iter().map(|label| run.intern(label)));
                nodes.sort_unstable();
                nodes.dedup();
                survey.targets.push(nodes);
                survey.sort(errors.into_iter().chain(open), found);
            }
            let mut wanted: Vec<NodeId> = survey.targets.concat();
            if reach == Reach::Everything {
                let all = Pattern::parse("//...").map(PatternSet::from).unwrap_or_default();
                let roots = run.roots(&all)?;
                survey.sort(roots.errors.into_iter().chain(roots.open), true);
                wanted.extend(roots.nodes);
                wanted.extend(run.graph().iter().map(|(id, _)| id));
            }
            if reach > Reach::Named {
                survey.unsure = plan_below(run, wanted)?;
            }
            survey.unknown.sort();
            survey.unknown.dedup();
            Ok(survey)
        })
    }

    /// Returns the label of the one node that patterns match, or why they do not match exactly one. `what` is the verb for messages (`shown`). A
    /// label without a node but with versions refers to those.
    pub fn resolve_single_target(&mut self, patterns: &PatternSet, what: &str) -> Result<Result<String, Vec<Diagnostic>>, EngineError> {
        let survey = self.survey(patterns.patterns(), Reach::Named)?;
        if let [id] = survey.targets.concat()[..] {
            return Ok(Ok(self.graph.node(id).label.to_string()));
        }
        if let [pattern] = patterns.patterns()
            && let Some(label) = pattern.literal()
            && !self.engine.store.history(self.engine.view, label.as_str())?.is_empty()
        {
            return Ok(Ok(label.as_str().to_owned()));
        }
        if !survey.refused.is_empty() || !survey.unknown.is_empty() {
            let unknown = survey
                .unknown
                .into_iter()
                .map(|set| set.hint("build the set, or everything with `cortex build //...`"));
            return Ok(Err(survey.refused.into_iter().chain(unknown).collect()));
        }
        let count = survey.targets.iter().map(Vec::len).sum::<usize>();
        let why = Diagnostic::error(ErrorCode::E_SEVERAL, format!("{count} targets match; only one can be {what}"));
        Ok(Err(vec![why.hint("name one label, with its ':target'")]))
    }

    /// Returns the status of one node; `NONE` if the graph does not know it.
    pub fn status_of(&mut self, label: &str) -> Result<NodeStatus, EngineError> {
        let Some(id) = self.graph.find(label) else {
            return Ok(NodeStatus::NONE);
        };
        Ok(self.statuses_and_outlook(&[id])?.0.pop().unwrap_or(NodeStatus::NONE))
    }

    /// Returns the status of nodes, by a dry run over all, and the outlook of building them.
    pub fn statuses_and_outlook(&mut self, nodes: &[NodeId]) -> Result<(Vec<NodeStatus>, RunForecast), EngineError> {
        let made = self.have_results(nodes);
        let remarks = self.remarks()?;
        let (marked, store, view) = (marked_nodes(&self.graph), self.engine.store.clone(), self.engine.view);
        let (mut statuses, outlook) = self.run_dry(|run| {
            let statuses = statuses_in_run(run, nodes, &made, &remarks)?;
            Ok((
                statuses,
                ForecastGraph::from_run(run, &marked)?.outlook(run.graph(), &*store, view)?,
            ))
        })?;
        self.correct_removed(nodes, &made, &mut statuses);
        Ok((statuses, outlook))
    }

    /// Returns the nodes that are not current: not built, stale, maybe stale, or failed.
    pub fn outdated(&mut self, nodes: &[NodeId]) -> Result<Vec<NodeId>, EngineError> {
        let statuses = self.statuses(nodes, &Cancel::default())?;
        let outdated = nodes.iter().zip(statuses).filter(|(_, status)| status.state != NodeState::Current);
        Ok(outdated.map(|(&id, _)| id).collect())
    }

    /// Returns the status of nodes, by a dry run over all.
    pub(super) fn statuses(&mut self, nodes: &[NodeId], cancel: &Cancel) -> Result<Vec<NodeStatus>, EngineError> {
        let made = self.have_results(nodes);
        let remarks = self.remarks()?;
        let mut statuses = self.run_dry_until(cancel, |run| statuses_in_run(run, nodes, &made, &remarks))?;
        if cancel.is_cancelled() {
            return Ok(statuses);
        }
        self.correct_removed(nodes, &made, &mut statuses);
        Ok(statuses)
    }

    /// Corrects the status of removed nodes, which have not failed: the next build removes them.
    fn correct_removed(&self, nodes: &[NodeId], made: &[bool], statuses: &mut [NodeStatus]) {
        let is_pending = |status: &NodeStatus| status.state == NodeState::Pending;
        if !statuses.iter().any(is_pending) {
            return;
        }
        let blobs = Blobs::new(self.engine.store.clone());
        let Vanished { gone, still_read, .. } = vanished(&self.graph, &self.rules, &*self.sources, &self.state, &blobs);
        let gone: BTreeSet<NodeId> = gone.into_iter().chain(still_read).collect();
        for ((id, made), status) in nodes.iter().zip(made).zip(statuses) {
            if is_pending(status) && gone.contains(id) {
                *status = match made {
                    true => NodeState::Stale.into(),
                    false => NodeStatus::NONE,
                };
            }
        }
    }

    fn have_results(&self, nodes: &[NodeId]) -> Vec<bool> {
        nodes.iter().map(|&id| self.graph.has_result(id)).collect()
    }

    /// Returns the labels of source files and sets that a pattern names. Patterns with an open target match only outputs of rules.
    fn leaves(&self, pattern: &Pattern) -> Vec<String> {
        if pattern.literal().is_some() || pattern.may_match_target("\u{0}") {
            return Vec::new();
        }
        let files = self.sources.files().into_iter().map(|(path, _)| super::file_label(&path));
        let sets = self.state.sets.iter().map(|set| set.label.clone());
        let matches = |label: &String| Label::parse(label).is_ok_and(|label| pattern.matches(label.package(), label.target()));
        files.chain(sets).filter(matches).collect()
    }
}

/// Computes the status of nodes. `made`: whether each had an output before.
fn statuses_in_run(
    run: &mut Run<'_>,
    nodes: &[NodeId],
    made: &[bool],
    remarks: &BTreeMap<String, Remark>,
) -> Result<Vec<NodeStatus>, EngineError> {
    run.settle_all(nodes)?;
    let mut statuses = Vec::with_capacity(nodes.len());
    for (&id, &made) in nodes.iter().zip(made) {
        if run.is_stopped() {
            statuses.push(NodeStatus::NONE);
            continue;
        }
        statuses.push(node_status(run, id, made, remarks)?);
    }
    Ok(statuses)
}

/// Returns why a node visited by a dry run has no output at its present inputs, if known.
fn failure_now(run: &mut Run<'_>, id: NodeId, remarks: &BTreeMap<String, Remark>) -> Result<Option<FailedTry>, EngineError> {
    let label = run.graph().node(id).label.clone();
    if let Some(why) = run.reported_failures().iter().find(|why| why.label.as_deref() == Some(&*label)) {
        return Ok(Some(FailedTry::once(why.clone())));
    }
    let Some(failed) = remarks.get(&*label).and_then(|remark| remark.failure.as_ref()) else {
        return Ok(None);
    };
    let Some(planned) = run.plan_of(id)? else { return Ok(None) };
    run.inputs_now(&planned)?;
    let key = run.key_now(id, &planned).map(|(key, _)| key);
    Ok((key.is_some() && key == failed.key).then(|| failed.clone()))
}

/// Computes the status of a node visited by a dry run. `made`: whether it had an output before.
pub(super) fn node_status(
    run: &mut Run<'_>,
    id: NodeId,
    made: bool,
    remarks: &BTreeMap<String, Remark>,
) -> Result<NodeStatus, EngineError> {
    if run.origin_of(id).is_some() {
        return Ok(NodeState::Current.into());
    }
    let pending = |last_error, waits_for| NodeStatus {
        state: NodeState::Pending,
        last_error,
        waits_for,
    };
    if !remarks.is_empty() || !run.reported_failures().is_empty() {
        if let Some(failure) = failure_now(run, id, remarks)? {
            return Ok(pending(Some(Box::new(failure)), None));
        }
        let label = &*run.graph().node(id).label;
        // If it failed with other inputs, the outcome of the next try is unknown.
        if let Some(remark) = remarks.get(label).filter(|remark| remark.waits && remark.failure.is_none()) {
            return Ok(match end_of_wait(remarks, label) {
                Some((last, why)) => pending(why.failure.clone().map(Box::new), Some(Wait::Target(last.to_owned()))),
                None => pending(None, remark.waits_for.clone()),
            });
        }
    }
    Ok(match made {
        false => NodeStatus::NONE,
        true if run.is_certain(id) => NodeState::Stale.into(),
        true => NodeState::MaybeStale.into(),
    })
}

impl Survey {
    fn sort(&mut self, errors: impl Iterator<Item = Diagnostic>, found: bool) {
        for error in errors {
            match ErrorCode::parse(&error.code) {
                Some(UNSET) => self.unknown.push(error),
                Some(ErrorCode::E_NO_TARGET) if found => {}
                _ => self.refused.push(error),
            }
        }
    }
}

/// Plans everything below `wanted`; returns the nodes whose plan is outdated.
fn plan_below(run: &mut Run<'_>, mut wanted: Vec<NodeId>) -> Result<Vec<NodeId>, EngineError> {
    let mut seen: BTreeSet<NodeId> = wanted.iter().copied().collect();
    let mut unsure = Vec::new();
    while let Some(id) = wanted.pop() {
        let Some(planned) = run.plan_of(id)? else { continue };
        if planned.known != Certainty::Present {
            unsure.push(id);
        }
        run.rewire(id, &planned);
        let reads: Vec<NodeId> = run.graph().node(id).reads().collect();
        wanted.extend(reads.into_iter().filter(|read| seen.insert(*read)));
    }
    unsure.sort_unstable();
    Ok(unsure)
}
