//! Explanations: is a node current, which input moved, and who moved that, down to a file. Runs no producer and writes nothing.

use super::engine::EngineError;
use super::outlook::{Gate, Prospect, gate, marked};
use super::query::{Reach, Standing, failure_now, standing};
use super::redefinition::{Redefinition, redefinitions};
use super::remarks::Remark;
use super::run::look::{InputNow, Known};
use super::run::{How, Run};
use super::session::Session;
use crate::graph::NodeId;
use crate::manifest::compiled;
use crate::planning::key::KeyField;
use crate::planning::rules::RuleIndex;
use crate::seams::producer::Registry;
use crate::store::records::{ActionRecord, InputRecord};
use crate::store::{Part, Store, StoreError};
use crate::values::diagnostic::Diagnostic;
use crate::values::digest::{ActionKey, Digest};
use crate::values::event::Reason;
use crate::values::pattern::PatternSet;
use rustc_hash::{FxHashMap, FxHashSet};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What became of one input between two looks at a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Move {
    /// Role in the rule.
    pub role: Arc<str>,
    /// The input.
    pub label: Arc<str>,
    /// What became of it.
    #[serde(flatten)]
    pub how: Moved,
}

/// How an input moved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "moved", rename_all = "snake_case")]
pub enum Moved {
    /// It gives something else.
    Changed {
        /// What it gave.
        from: Digest,
        /// What it gives.
        to: Digest,
    },
    /// It has to be built before one can tell.
    Open {
        /// What it gave.
        from: Digest,
    },
    /// It is a source that is not there any more.
    Missing {
        /// What it gave.
        from: Digest,
    },
    /// It was no input before.
    Added {
        /// What it gives, if that is known.
        to: Option<Digest>,
    },
    /// It is no input any more.
    Dropped {
        /// What it gave.
        from: Digest,
    },
}

/// One step of the way from a stale node down to what started it.
#[derive(Clone, Debug, Serialize)]
pub struct Step {
    /// The node.
    pub label: Arc<str>,
    /// The input of it that moved, if one did.
    pub input: Option<Move>,
    /// What happened to it, where the way ends.
    pub reason: Option<Reason>,
    /// What is different about its definition, as far as the one of before is known. The way ends where there is something.
    pub redefined: Vec<Redefinition>,
}

/// An input as it stands.
#[derive(Clone, Debug, Serialize)]
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
    pub standing: Standing,
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
            let why = Diagnostic::error("E_SEVERAL", format!("this means {count} targets, one can be explained"));
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
            explanation.last_moves = between(&earlier.inputs, &latest.inputs);
            explanation.last_chain = super::way::back(self, &mut explanation.last_moves, span)?;
            explanation.producer_before = (earlier.producer != latest.producer).then_some(earlier.producer);
            // Where an input moved too, the definition may have changed before that.
            if explanation.last_moves.is_empty() && explanation.standing == Standing::Current && !before.redefined {
                explanation.last_redefined = self.last_redefined(&explanation.label)?;
            }
        }
        Ok(Ok(explanation))
    }
}

/// What the session knew before the dry run.
struct Before {
    /// Why the marks began, by where they did.
    reasons: FxHashMap<NodeId, Reason>,
    /// What each node's last output was filed under.
    keys: FxHashMap<NodeId, ActionKey>,
    /// What was marked, readers not counted.
    marked: FxHashSet<NodeId>,
    redefined: bool,
    /// The rules that the stored graph belongs to, when they are others than now and still kept.
    rules: Option<RuleIndex>,
    /// The rules that those of the last build replaced, as far as they are kept.
    replaced: Option<RuleIndex>,
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

struct Finder<'a, 'r> {
    run: &'a mut Run<'r>,
    prospect: &'a Prospect,
    store: &'a dyn Store,
    before: &'a Before,
    registry: &'a Registry,
    remarks: &'a BTreeMap<String, Remark>,
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
            known = planned.known == Known::Present;
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
        let mut standing = standing(self.run, id, made.is_some());
        let mut failure = failure_now(self.run, id, standing, self.remarks)?;
        if failure.is_some() {
            standing = Standing::Failed;
        } else if standing != Standing::Current {
            let failed = self.remarks.get(&*label).and_then(|remark| remark.failure.as_ref());
            failure = failed.map(|failed| failed.why.clone());
        }
        let mut moves = self.moves(id)?;
        // A result that is filed under the present key was found there: what moved is said against the key of before.
        if how != Some(How::Cached) && standing == Standing::Current {
            moves.clear();
        }
        let moved =
            matches!(standing, Standing::Stale | Standing::Open | Standing::Failed) || (leaf && self.before.reasons.contains_key(&id));
        let chain = if moved { self.chain(id)? } else { Vec::new() };
        Ok(Explanation {
            failure,
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

    /// What a node's last output was made of, if that is still known.
    fn record(&self, id: NodeId) -> Result<Option<ActionRecord>, EngineError> {
        match self.before.keys.get(&id) {
            Some(key) => Ok(self.store.action(key)?),
            None => Ok(None),
        }
    }

    /// What moved since a node's last output was made; empty when its record is gone.
    fn moves(&mut self, id: NodeId) -> Result<Vec<Move>, EngineError> {
        let (Some(record), Some(planned)) = (self.record(id)?, self.run.planned(id)?) else {
            return Ok(Vec::new());
        };
        let now = self.run.inputs_now(&planned)?;
        Ok(since(&record.inputs, &now))
    }

    /// What is different about a node's definition since it was last made, as far as that is known.
    fn redefined(&mut self, id: NodeId) -> Result<Vec<Redefinition>, EngineError> {
        if !self.before.keys.contains_key(&id) {
            return Ok(Vec::new());
        }
        let label = self.run.graph().node(id).label.clone();
        let now = self.run.rules;
        let mut found = self
            .before
            .rules
            .as_ref()
            .map_or_else(Vec::new, |rules| redefinitions(rules, now, &label));
        let uses = now.find(&label).map(|found| {
            let producer = now.rule(found.rule).producer;
            &now.manifest().producers[producer as usize].uses
        });
        // The record names what made the result, also where the manifest of then is gone.
        if let (Some(record), Some(producer)) = (self.record(id)?, uses.and_then(|uses| self.registry.get(uses)))
            && !found.iter().any(|one| matches!(one, Redefinition::Uses { .. }))
        {
            let (from, to) = (record.producer, producer.id().to_string());
            if from != to {
                found.insert(0, Redefinition::Version { from, to });
            }
        }
        Ok(found)
    }

    /// What is different about the definition of a node of which the last try failed with the present key, while its inputs are those of its
    /// last output: the parameters, where those of before give the key of that output. Empty when there was no such try.
    fn redefined_in_vain(&mut self, id: NodeId) -> Result<Vec<Redefinition>, EngineError> {
        let label = self.run.graph().node(id).label.clone();
        let failed = self.remarks.get(&*label).and_then(|remark| remark.failure.as_ref());
        let (Some(failed), Some(planned)) = (failed.and_then(|failed| failed.key), self.run.planned(id)?) else {
            return Ok(Vec::new());
        };
        if self.run.key_now(id, &planned).is_none_or(|(now, _)| now != failed) {
            return Ok(Vec::new());
        }
        let mut found = Vec::new();
        if let Some(before) = &self.before.replaced
            && let Some(rule) = before.find(&label)
        {
            let params = &before.manifest().producers[before.rule(rule.rule).producer as usize].params;
            let then = self.run.key_with(params, id, &planned).map(|(key, _)| key);
            if then.as_ref() == self.before.keys.get(&id) {
                let parameters = redefinitions(before, self.run.rules, &label).into_iter();
                found.extend(parameters.filter(|one| matches!(one, Redefinition::Parameter { .. })));
            }
        }
        found.push(Redefinition::Failed);
        Ok(found)
    }

    /// From a stale node to what started it, each step along an input that moved. Ends at a leaf, at a node never made, or where the record is gone.
    fn chain(&mut self, from: NodeId) -> Result<Vec<Step>, EngineError> {
        let mut chain: Vec<Step> = Vec::new();
        let mut seen = FxHashSet::default();
        let mut at = Some(from);
        while let Some(id) = at.take().filter(|id| seen.insert(*id)) {
            let label = self.run.graph().node(id).label.clone();
            let moves = self.moves(id)?;
            // What moved for certain, else the shortest way to it.
            let far = |one: &&Move| match one.how {
                Moved::Open { .. } => self
                    .run
                    .graph()
                    .find(&one.label)
                    .and_then(|id| self.prospect.distance(id))
                    .map_or(u32::MAX, |far| far + 1),
                _ => 0,
            };
            let moved = moves.iter().min_by_key(far).cloned();
            let redefined = self.redefined(id)?;
            if !redefined.is_empty() {
                chain.push(Step {
                    label,
                    input: None,
                    reason: Some(Reason::DefinitionChanged),
                    redefined,
                });
                break;
            }
            if let Some(moved) = moved {
                at = self.run.graph().find(&moved.label);
                chain.push(Step {
                    label,
                    input: Some(moved),
                    reason: None,
                    redefined: Vec::new(),
                });
                continue;
            }
            // Inputs are as they were, or are decided by a node that has to be built: the way leads on through that node.
            let open = self
                .run
                .planned(id)?
                .and_then(|planned| planned.edges.discovery.iter().copied().find(|&node| self.run.how(node).is_none()));
            let reason = match (open, self.before.reasons.get(&id)) {
                (Some(_), _) => None,
                (None, Some(reason)) => Some(reason.clone()),
                (None, None) if self.run.planned(id)?.is_none() => None,
                (None, None) if !self.before.keys.contains_key(&id) => Some(Reason::New),
                (None, None) if self.before.redefined => Some(Reason::DefinitionChanged),
                (None, None) => Some(Reason::LeftStale),
            };
            let input = open.map(|node| Move {
                role: "decided by".into(),
                label: self.run.graph().node(node).label.clone(),
                how: match self.run.graph().node(node).result {
                    Some(filed) => Moved::Open { from: filed.output },
                    None => Moved::Added { to: None },
                },
            });
            // Every input is known to be what it was, and the key still moved.
            let other = match reason {
                Some(Reason::LeftStale) => true,
                Some(Reason::DefinitionChanged) => self.before.rules.is_some(),
                _ => false,
            };
            let forgotten = other && self.record(id)?.is_some() && self.run.planned(id)?.is_some();
            let mut redefined = if forgotten { self.redefined_in_vain(id)? } else { Vec::new() };
            let reason = match redefined.is_empty() {
                true => reason,
                false => Some(Reason::DefinitionChanged),
            };
            if forgotten && redefined.is_empty() {
                redefined.push(Redefinition::Forgotten);
            }
            at = open;
            chain.push(Step {
                label,
                input,
                reason,
                redefined,
            });
        }
        Ok(chain)
    }
}

fn since(then: &[InputRecord], now: &[InputNow]) -> Vec<Move> {
    let inputs: Vec<(Arc<str>, Arc<str>, Option<Digest>)> = now
        .iter()
        .map(|input| (input.role.clone(), input.label.clone(), input.digest))
        .collect();
    let missing: FxHashSet<&str> = now.iter().filter(|input| input.missing).map(|input| &*input.label).collect();
    let mut moves = moves(then, &inputs);
    for one in &mut moves {
        if let Moved::Open { from } = one.how
            && missing.contains(&*one.label)
        {
            one.how = Moved::Missing { from };
        }
    }
    // What is certain comes first.
    moves.sort_by_key(|one| matches!(one.how, Moved::Open { .. }));
    moves
}

/// What moved between the inputs of two records.
pub(super) fn between(then: &[InputRecord], now: &[InputRecord]) -> Vec<Move> {
    let now: Vec<(Arc<str>, Arc<str>, Option<Digest>)> = now
        .iter()
        .map(|input| (input.role.clone(), input.label.clone(), Some(input.digest)))
        .collect();
    moves(then, &now)
}

/// What moved between two lists of inputs, by role and label; certain moves first.
fn moves(then: &[InputRecord], now: &[(Arc<str>, Arc<str>, Option<Digest>)]) -> Vec<Move> {
    let mut old: BTreeMap<(Arc<str>, Arc<str>), Digest> = then
        .iter()
        .map(|input| ((input.role.clone(), input.label.clone()), input.digest))
        .collect();
    let mut found = Vec::new();
    for (role, label, to) in now {
        let how = match (old.remove(&(role.clone(), label.clone())), *to) {
            (Some(from), Some(to)) if from == to => continue,
            (Some(from), Some(to)) => Moved::Changed { from, to },
            (Some(from), None) => Moved::Open { from },
            (None, to) => Moved::Added { to },
        };
        found.push(Move {
            role: role.clone(),
            label: label.clone(),
            how,
        });
    }
    found.extend(old.into_iter().map(|((role, label), from)| Move {
        role,
        label,
        how: Moved::Dropped { from },
    }));
    found.sort_by_key(|one| matches!(one.how, Moved::Open { .. }));
    found
}
