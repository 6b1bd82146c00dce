//! Explanations: is a node current, which input moved, and who moved that, down to a file. Runs no producer and writes nothing.

use super::chain::Step;
use super::engine::EngineError;
use super::moves::{Move, between};
use super::outlook::{Gate, Prospect, gate, marked};
use super::query::{NodeState, Reach, node_status};
use super::redefinition::{Redefinition, redefinitions};
use super::remarks::{FailedTry, Remark, Wait};
use super::run::dry_run::Certainty;
use super::run::{How, Run};
use super::session::Session;
use super::shared_records;
use crate::graph::NodeId;
use crate::graph::stale::{self, StaleSet};
use crate::manifest::compiled;
use crate::planning::key::KeyField;
use crate::planning::rules::RuleIndex;
use crate::seams::producer::Registry;
use crate::store::records::ActionRecord;
use crate::store::{Part, Store, StoreError, ViewId};
use crate::values::codes::ErrorCode;
use crate::values::diagnostic::Diagnostic;
use crate::values::digest::{ActionKey, Digest};
use crate::values::event::Reason;
use crate::values::pattern::PatternSet;
use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// An input as it stands.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Input {
    /// Role in the rule.
    pub role: Arc<str>,
    /// The node.
    pub label: Arc<str>,
    /// Its digest, when it is known without building.
    pub digest: Option<Digest>,
    /// Whether it is a source that is not there.
    pub missing: bool,
}

/// Everything known about one node.
#[derive(Debug)]
pub struct Explanation {
    /// Its label.
    pub label: Arc<str>,
    /// How it stands.
    pub standing: NodeState,
    /// Whether its present key is filed, although the node itself was last made under another.
    pub filed: bool,
    /// Whether it is a source file or set: a fact, not made by a producer.
    pub leaf: bool,
    /// The last output, or the present one.
    pub output: Option<Digest>,
    /// The key that output is filed under.
    pub key: Option<ActionKey>,
    /// Its record: producer, when, how long, of what.
    pub record: Option<ActionRecord>,
    /// The fields of the present key, when every input is known.
    pub fields: Vec<KeyField>,
    /// Its inputs as they stand.
    pub inputs: Vec<Input>,
    /// Whether the list of inputs is of now; else it is that of the last build, or only what decides it.
    pub inputs_known: bool,
    /// What moved since it was last made.
    pub moves: Vec<Move>,
    /// The way from the node to what started it, for stale nodes.
    pub chain: Vec<Step>,
    /// Nodes of which one of each entry must come to another output before this one runs, when that is not certain. The first are
    /// nearest to what moved.
    pub gates: Vec<Gate>,
    /// Versions in History.
    pub versions: usize,
    /// Why it last ran: what had moved between the version before and the present one.
    pub last_moves: Vec<Move>,
    /// Whether the result before was collected, so that nothing is known of what had moved.
    pub before_collected: bool,
    /// Who moved the first of `last_moves`: the input of it that had moved, the input of that one, and so on, down to a source file.
    pub last_chain: Vec<Move>,
    /// What had changed about its definition when it last ran with the same inputs, as far as that is known.
    pub last_redefined: Vec<Redefinition>,
    /// Producer of the version before, when it is not that of the present one.
    pub producer_before: Option<String>,
    /// Why it has no output at its present inputs, or why the last try at others failed.
    pub failure: Option<Diagnostic>,
    /// What it waits for, when it is pending and was not tried itself.
    pub waits_for: Option<Wait>,
}

impl Session {
    /// Explains the one node that `patterns` mean, or says why they mean none.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn explain(&mut self, patterns: &PatternSet) -> Result<Result<Explanation, Vec<Diagnostic>>, EngineError> {
        let before = Before::of(self)?;
        let survey = self.survey(patterns.patterns(), Reach::Named)?;
        if !survey.refused.is_empty() || !survey.unknown.is_empty() {
            let unknown = survey
                .unknown
                .into_iter()
                .map(|set| set.hint("build the set, or everything with `cortex build //...`"));
            return Ok(Err(survey.refused.into_iter().chain(unknown).collect()));
        }
        let [id] = survey.meant.concat()[..] else {
            let count = survey.meant.iter().map(Vec::len).sum::<usize>();
            let why = Diagnostic::error(ErrorCode::E_SEVERAL, format!("this means {count} targets, one can be explained"));
            return Ok(Err(vec![why.hint("name one label, with its ':target'")]));
        };
        let store = self.engine.store.clone();
        let remarks = self.remarks()?;
        let history = store.history(self.engine.view, &self.graph.node(id).label)?;
        let view = self.engine.view;
        let registry = self.engine.registry.clone();
        let mut explanation = self.dry(|run| {
            run.settle_all(&[id])?;
            let prospect = Prospect::of(run, &before.marked)?;
            let mut gates = Vec::new();
            for nodes in prospect.gates_before(id) {
                gates.push(gate(&nodes, 0, run.graph(), &*store, view)?);
            }
            let mut finder = Finder {
                run,
                prospect: &prospect,
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
        // The same key may come twice in a row, when a graph had to be planned anew.
        if let Some(latest) = history.last().filter(|latest| before.keys.get(&id) == Some(&latest.key))
            && let Some(earlier) = history.iter().rev().find(|version| version.key != latest.key)
        {
            let span = (earlier.build, latest.build);
            let (Some(earlier), Some(latest)) = (store.action(&earlier.key)?, store.action(&latest.key)?) else {
                explanation.before_collected = true;
                return Ok(Ok(explanation));
            };
            let own = |record| shared_records::record_for(&self.rules, &explanation.label, record);
            let (earlier, latest) = (own(earlier), own(latest));
            explanation.last_moves = between(&earlier.inputs, &latest.inputs);
            explanation.last_chain = super::cause_path::back(self, &mut explanation.last_moves, span)?;
            explanation.producer_before = (earlier.producer != latest.producer).then_some(earlier.producer);
            // Where an input moved too, the definition may have changed before that.
            if explanation.last_moves.is_empty() && explanation.standing == NodeState::Current && !before.redefined {
                explanation.last_redefined = self.last_redefined(&explanation.label)?;
            }
        }
        Ok(Ok(explanation))
    }
}

/// What the session knew before the dry run.
pub(super) struct Before {
    /// Why the marks began, by where they did.
    pub(super) reasons: FxHashMap<NodeId, Reason>,
    /// What each node's last output was filed under.
    pub(super) keys: FxHashMap<NodeId, ActionKey>,
    /// What was marked, readers not counted.
    marked: FxHashSet<NodeId>,
    /// What was not known to be current when the last build ended. All else had read the last version of each of its inputs.
    pub(super) unsettled: StaleSet,
    pub(super) redefined: bool,
    /// The rules that the stored graph belongs to, when they are others than now and still kept.
    pub(super) rules: Option<RuleIndex>,
    /// The rules that those of the last build replaced, as far as they are kept.
    pub(super) replaced: Option<RuleIndex>,
}

impl Before {
    fn of(session: &Session) -> Result<Self, EngineError> {
        let origins = session.marked().into_iter().filter(|marked| marked.via.is_none());
        let rules = if session.is_redefined() { rules_before(session)? } else { None };
        Ok(Self {
            rules,
            reasons: origins.map(|marked| (marked.node, session.reason(&marked))).collect(),
            keys: session.graph.iter().filter_map(|(id, node)| Some((id, node.result?.key))).collect(),
            marked: marked(&session.graph),
            unsettled: stale::spread(&StaleSet::from_bytes(&session.state.stale).unwrap_or_default(), &session.links),
            redefined: session.is_redefined(),
            replaced: session.replaced_rules()?,
        })
    }
}

/// The rules that the stored graph belongs to. A look keeps the manifest of the last build until the next one files its own.
fn rules_before(session: &Session) -> Result<Option<RuleIndex>, EngineError> {
    Ok(session.manifest_before()?.and_then(|row| rules(&row)))
}

fn rules(row: &[u8]) -> Option<RuleIndex> {
    compiled::decode(row).map(|loaded| RuleIndex::new(Arc::new(loaded.manifest)))
}

impl Session {
    /// The manifest that the stored state belongs to, as it is stored; `None` when it is not kept.
    pub(super) fn manifest_before(&self) -> Result<Option<Vec<u8>>, StoreError> {
        let digest = |bytes: &[u8]| Some(Digest(bytes.try_into().ok()?));
        let (Some(manifest), Some(registry)) = (digest(&self.state.manifest), digest(&self.state.registry)) else {
            return Ok(None);
        };
        let key = compiled::key(&manifest, &registry);
        self.engine.store.row(self.engine.view, Part::Manifests, &key)
    }

    /// What the last change of the manifest changed about a target that was made since.
    fn last_redefined(&self, label: &str) -> Result<Vec<Redefinition>, StoreError> {
        let before = self.replaced_rules()?;
        Ok(before.map_or_else(Vec::new, |before| redefinitions(&before, &self.rules, label)))
    }

    /// The rules before the last change of the manifest that a build has seen.
    fn replaced_rules(&self) -> Result<Option<RuleIndex>, StoreError> {
        let row = self.engine.store.row(self.engine.view, Part::Manifests, compiled::BEFORE)?;
        Ok(row.and_then(|row| rules(&row)))
    }
}

pub(super) struct Finder<'a, 'r> {
    pub(super) run: &'a mut Run<'r>,
    pub(super) prospect: &'a Prospect,
    pub(super) store: &'a dyn Store,
    pub(super) view: ViewId,
    pub(super) before: &'a Before,
    pub(super) registry: &'a Registry,
    pub(super) remarks: &'a BTreeMap<String, Remark>,
}

impl Finder<'_, '_> {
    fn explanation(&mut self, id: NodeId) -> Result<Explanation, EngineError> {
        let label = self.run.graph().node(id).label.clone();
        let made = self.before.keys.get(&id).copied();
        self.run.settle_all(&[id])?;
        let how = self.run.how(id);
        let planned = self.run.planned(id)?;
        let leaf = planned.is_none();
        let filed = self.run.graph().node(id).result;
        let key = if leaf { None } else { filed.map(|filed| filed.key) };
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
        let standing = status.state;
        let mut failure = status.last_error.as_ref().map(FailedTry::diagnostic);
        if !matches!(standing, NodeState::Current | NodeState::Pending) {
            let failed = self.remarks.get(&*label).and_then(|remark| remark.failure.as_ref());
            failure = failed.map(|failed| failed.why.clone());
        }
        let last = self.last(id)?;
        let mut moves = self.moves(&last)?;
        // A result that is filed under the present key was found there: what moved is said against the key of before.
        if how != Some(How::Cached) && standing == NodeState::Current {
            moves.clear();
        }
        let moved = matches!(standing, NodeState::Stale | NodeState::MaybeStale | NodeState::Pending)
            || (leaf && self.before.reasons.contains_key(&id));
        let chain = if moved { self.chain(last)? } else { Vec::new() };
        Ok(Explanation {
            failure,
            waits_for: status.waits_for,
            filed: how == Some(How::Cached),
            output: filed.map(|filed| filed.output),
            inputs_known: known,
            versions: 0,
            last_moves: Vec::new(),
            before_collected: false,
            last_chain: Vec::new(),
            last_redefined: Vec::new(),
            producer_before: None,
            label,
            standing,
            leaf,
            key,
            record,
            fields,
            inputs,
            moves,
            chain,
            gates: Vec::new(),
        })
    }
}
