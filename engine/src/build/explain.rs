//! Explanations: whether a node is current, which input changed, and why, down to a file. Runs no producer and writes nothing.

use super::cause_finder::{Before, Finder};
use super::engine::EngineError;
use super::explanation_chain::Step;
use super::input_changes::{InputChange, changes_between_records};
use super::outlook::{ForecastGraph, Gate, describe_gate};
use super::query::{NodeState, Reach, node_status};
use super::redefinition::Redefinition;
use super::remarks::{FailedTry, Wait};
use super::run::OutputOrigin;
use super::run::dry_run::Certainty;
use super::session::Session;
use super::shared_records;
use crate::graph::NodeId;
use crate::planning::key::KeyField;
use crate::store::records::ActionRecord;
use crate::values::codes::ErrorCode;
use crate::values::diagnostic::Diagnostic;
use crate::values::digest::{ActionKey, Digest};
use crate::values::pattern::PatternSet;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// An input in its present state.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Input {
    pub role: Arc<str>,
    pub label: Arc<str>,
    /// Its digest, if known without building.
    pub digest: Option<Digest>,
    /// Whether it is a missing source.
    pub missing: bool,
}

/// Explanation of one node.
#[derive(Debug)]
pub struct Explanation {
    pub label: Arc<str>,
    pub state: NodeState,
    /// Whether a result of its present key is stored, although the node was last built under another.
    pub is_cached: bool,
    /// Whether it is a source file or set, which has no producer.
    pub leaf: bool,
    /// The last output, or the present one.
    pub output: Option<Digest>,
    /// The action key of that output.
    pub key: Option<ActionKey>,
    /// Its record: producer, time, duration, inputs.
    pub record: Option<ActionRecord>,
    /// The fields of the present key, if every input is known.
    pub fields: Vec<KeyField>,
    pub inputs: Vec<Input>,
    /// Whether these inputs are up to date; otherwise they are those of the last build, or only the nodes that decide them.
    pub inputs_known: bool,
    /// Inputs that changed since it was last built.
    pub changes: Vec<InputChange>,
    /// The chain from a stale node to the cause.
    pub chain: Vec<Step>,
    /// Groups of nodes, nearest to the cause first. The node runs only if one node of a group gets another output. Empty if it is certain to run.
    pub gates: Vec<Gate>,
    /// Number of versions in History.
    pub versions: usize,
    /// Reason why it last ran: inputs that had changed between the version before and the present one.
    pub last_changes: Vec<InputChange>,
    /// Whether gc removed the result before, so that the changed inputs are unknown.
    pub before_collected: bool,
    /// Cause of the first of `last_changes`: its changed input, that input's, and so on, down to a source file.
    pub last_chain: Vec<InputChange>,
    /// Changes of its definition when it last ran with the same inputs, as far as known.
    pub last_redefined: Vec<Redefinition>,
    /// Producer of the version before, if it differs from the present one.
    pub producer_before: Option<String>,
    /// Reason why it has no output at its present inputs, or why the last try with other inputs failed.
    pub failure: Option<Diagnostic>,
    /// The target or answer that it waits for, if it is pending and was not tried.
    pub waits_for: Option<Wait>,
}

impl Session {
    /// Explains the one node that `patterns` match, or returns why they do not match exactly one.
    pub fn explain(&mut self, patterns: &PatternSet) -> Result<Result<Explanation, Vec<Diagnostic>>, EngineError> {
        let before = Before::from_session(self)?;
        let survey = self.survey(patterns.patterns(), Reach::Named)?;
        if !survey.refused.is_empty() || !survey.unknown.is_empty() {
            let unknown = survey
                .unknown
                .into_iter()
                .map(|set| set.hint("build the set, or everything with `cortex build //...`"));
            return Ok(Err(survey.refused.into_iter().chain(unknown).collect()));
        }
        let [id] = survey.targets.concat()[..] else {
            let count = survey.targets.iter().map(Vec::len).sum::<usize>();
            let why = Diagnostic::error(ErrorCode::E_SEVERAL, format!("{count} targets match; only one can be explained"));
            return Ok(Err(vec![why.hint("name one label, with its ':target'")]));
        };
        let store = self.engine.store.clone();
        let remarks = self.remarks()?;
        let history = store.history(self.engine.view, &self.graph.node(id).label)?;
        let view = self.engine.view;
        let registry = self.engine.registry.clone();
        let mut explanation = self.run_dry(|run| {
            run.settle_all(&[id])?;
            let forecast_graph = ForecastGraph::from_run(run, &before.marked)?;
            let mut gates = Vec::new();
            for nodes in forecast_graph.gates_before(id) {
                gates.push(describe_gate(&nodes, 0, run.graph(), &*store, view)?);
            }
            let mut finder = Finder {
                run,
                forecast_graph: &forecast_graph,
                store: &*store,
                view,
                before: &before,
                registry: &registry,
                remarks: &remarks,
            };
            Ok(Explanation {
                gates,
                ..finder.explanation(id)?
            })
        })?;
        explanation.versions = history.chunk_by(|one, next| one.key == next.key).count();
        // The same key may occur twice in a row, if a graph had to be planned again.
        if let Some(latest) = history.last().filter(|latest| before.key(&self.graph, id) == Some(latest.key))
            && let Some(earlier) = history.iter().rev().find(|version| version.key != latest.key)
        {
            let span = (earlier.build, latest.build);
            let (Some(earlier), Some(latest)) = (store.action(&earlier.key)?, store.action(&latest.key)?) else {
                explanation.before_collected = true;
                return Ok(Ok(explanation));
            };
            let own = |record| shared_records::record_for(&self.rules, &explanation.label, record);
            let (earlier, latest) = (own(earlier), own(latest));
            explanation.last_changes = changes_between_records(&earlier.inputs, &latest.inputs);
            explanation.last_chain = super::cause_path::find_cause_path(self, &mut explanation.last_changes, span)?;
            explanation.producer_before = (earlier.producer != latest.producer).then_some(earlier.producer);
            // If an input changed too, the definition may have changed before.
            if explanation.last_changes.is_empty() && explanation.state == NodeState::Current && !before.redefined {
                explanation.last_redefined = self.last_redefined(&explanation.label)?;
            }
        }
        Ok(Ok(explanation))
    }
}

impl Finder<'_, '_> {
    fn explanation(&mut self, id: NodeId) -> Result<Explanation, EngineError> {
        let label = self.run.graph().node(id).label.clone();
        let made = self.key_before(id);
        self.run.settle_all(&[id])?;
        let how = self.run.origin_of(id);
        let planned = self.run.plan_of(id)?;
        let leaf = planned.is_none();
        let result = self.run.graph().node(id).result;
        let key = if leaf { None } else { result.map(|result| result.key) };
        let record = match key {
            Some(key) => self.store.action(&key)?,
            None => None,
        };
        let (mut inputs, mut fields, mut known) = (Vec::new(), Vec::new(), true);
        if let Some(planned) = &planned {
            let now = self.run.inputs_now(planned)?;
            fields = self.run.key_now(id, planned).map(|(_, fields)| fields).unwrap_or_default();
            known = planned.known == Certainty::Present;
            inputs = now
                .into_iter()
                .map(|input| Input {
                    role: input.role,
                    label: input.label,
                    digest: input.digest,
                    missing: input.missing,
                })
                .collect();
        }
        let status = node_status(self.run, id, made.is_some(), self.remarks)?;
        let state = status.state;
        let mut failure = status.last_error.as_deref().map(FailedTry::diagnostic);
        if !matches!(state, NodeState::Current | NodeState::Pending) {
            let failed = self.remarks.get(&*label).and_then(|remark| remark.failure.as_ref());
            failure = failed.map(|failed| failed.why.clone());
        }
        let last = self.last_version(id)?;
        let mut changes = self.input_changes(&last)?;
        // A result stored under the present key was found: report changes relative to the former key.
        if how != Some(OutputOrigin::Cached) && state == NodeState::Current {
            changes.clear();
        }
        let is_out_of_date = matches!(state, NodeState::Stale | NodeState::MaybeStale | NodeState::Pending)
            || (leaf && self.before.reasons.contains_key(&id));
        let chain = if is_out_of_date { self.chain(last)? } else { Vec::new() };
        Ok(Explanation {
            failure,
            waits_for: status.waits_for,
            is_cached: how == Some(OutputOrigin::Cached),
            output: result.map(|result| result.output),
            inputs_known: known,
            versions: 0,
            last_changes: Vec::new(),
            before_collected: false,
            last_chain: Vec::new(),
            last_redefined: Vec::new(),
            producer_before: None,
            label,
            state,
            leaf,
            key,
            record,
            fields,
            inputs,
            changes,
            chain,
            gates: Vec::new(),
        })
    }
}
