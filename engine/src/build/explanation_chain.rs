//! Explanation chains: from a stale target to the cause. Each step compares the inputs of the version that was read with the present ones, so that
//! undoing the last step undoes all; versions pushed in between by other builds do not count.

use super::cause_finder::Finder;
use super::cause_path::version_read;
use super::engine::EngineError;
use super::input_changes::{InputChange, InputChangeKind, changes_since_record};
use super::redefinition::{Redefinition, redefinitions};
use super::run::dry_run::{Certainty, Planned};
use super::run::{OutputOrigin, file_path};
use super::shared_records;
use crate::graph::NodeId;
use crate::store::records::{ActionRecord, InputRecord};
use crate::values::digest::{ActionKey, Digest};
use crate::values::event::Reason;
use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// One step from a stale node down to the cause.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Step {
    pub label: Arc<str>,
    pub input: Option<InputChange>,
    /// The change of the node itself, at the end of the chain.
    pub reason: Option<Reason>,
    /// Changes of its definition, as far as the former one is known. The chain ends if there are any.
    pub redefined: Vec<Redefinition>,
}

/// Maximum number of versions with one output that are compared with the present inputs.
const SAME_OUTPUT: usize = 8;

/// A version of a node: the last one, or the one that a reader read.
#[derive(Clone, Copy)]
pub(super) struct Version {
    node: NodeId,
    /// Its action key; `None` if the node was never built or the version is unknown.
    key: Option<ActionKey>,
    /// The build that pushed it, as far as known.
    build: Option<u64>,
}

/// Returns the change of a source file that its reader saw; `None` if the input is no file.
fn file_change(input: &InputChange) -> Option<Reason> {
    let path = file_path(&input.label)?;
    Some(match input.how {
        InputChangeKind::Changed { from, to } => Reason::FileChanged { path, from, to },
        InputChangeKind::Added { .. } => Reason::FileAdded { path },
        InputChangeKind::Open { .. } | InputChangeKind::Missing { .. } | InputChangeKind::Dropped { .. } => Reason::FileRemoved { path },
    })
}

impl Finder<'_, '_> {
    pub(super) fn last_version(&self, node: NodeId) -> Result<Version, EngineError> {
        let history = self.store.history(self.view, &self.run.graph().node(node).label)?;
        Ok(Version {
            node,
            key: self.key_before(node),
            build: history.last().and_then(|version| version.build),
        })
    }

    /// Whether a version was known to be current when the last build ended: then it had read the last version of each input, even if it was built
    /// long before these.
    fn was_current(&self, version: &Version) -> bool {
        version.key.is_some() && self.key_before(version.node) == version.key && !self.before.unsettled.contains(version.node)
    }

    /// Returns the version of an input that `reader` read. Of several with the same output, prefers one whose inputs the readers on the path
    /// `read`, then the one with the fewest changes since, then the one present when the reader was built.
    fn version_read_by(
        &mut self,
        reader: &Version,
        input: &InputChange,
        node: NodeId,
        read: &FxHashMap<Arc<str>, Digest>,
    ) -> Result<Version, EngineError> {
        let (InputChangeKind::Changed { from, .. }
        | InputChangeKind::Open { from }
        | InputChangeKind::Missing { from }
        | InputChangeKind::Dropped { from }) = input.how
        else {
            return self.last_version(node);
        };
        // A reader of rows records their digest, which does not identify the table's version.
        if self.was_current(reader) {
            return self.last_version(node);
        }
        let history = self.store.history(self.view, &input.label)?;
        let Some(last) = version_read(&history, from, reader.build) else {
            return self.last_version(node);
        };
        let same = history[..=last]
            .iter()
            .rev()
            .filter(|version| version.output == history[last].output);
        let mut best = None;
        for made in same.take(SAME_OUTPUT) {
            let version = Version {
                node,
                key: Some(made.key),
                build: made.build,
            };
            let inputs = self.record(&version)?.map(|record| record.inputs).unwrap_or_default();
            let differs = |input: &InputRecord| read.get(&input.label).is_some_and(|digest| *digest != input.digest);
            let is_later = made.build > reader.build;
            let rank = (inputs.iter().any(differs), self.input_changes(&version)?.len(), is_later);
            if best.as_ref().is_none_or(|(least, _)| rank < *least) {
                best = Some((rank, version));
            }
        }
        Ok(match best {
            Some((_, version)) => version,
            None => self.last_version(node)?,
        })
    }

    /// Returns the record of a version, if still stored.
    fn record(&self, version: &Version) -> Result<Option<ActionRecord>, EngineError> {
        let Some(key) = &version.key else { return Ok(None) };
        let label = &self.run.graph().node(version.node).label;
        let record = self.store.action(key)?;
        Ok(record.map(|record| shared_records::record_for(self.run.context.rules, label, record)))
    }

    /// Returns the inputs that changed since a version was built; empty if its record is gone.
    pub(super) fn input_changes(&mut self, version: &Version) -> Result<Vec<InputChange>, EngineError> {
        let (Some(record), Some(planned)) = (self.record(version)?, self.run.plan_of(version.node)?) else {
            return Ok(Vec::new());
        };
        let now = self.run.inputs_now(&planned)?;
        let mut changes = changes_since_record(&record.inputs, &now);
        // The inputs are unknown until their deciding nodes are built.
        if planned.known != Certainty::Present {
            changes.retain(|one| !matches!(one.how, InputChangeKind::Added { .. } | InputChangeKind::Dropped { .. }));
            // Rows are unknown then. Only a table that may run can have changed; otherwise its deciding node would have.
            if self.first_unknown_discovery(&planned).is_some() {
                changes.retain(|one| !matches!(one.how, InputChangeKind::Open { .. }) || self.distance(one) < u32::MAX);
            }
        }
        Ok(changes)
    }

    /// Returns the first node that must be built before the inputs are known.
    fn first_unknown_discovery(&self, planned: &Planned) -> Option<NodeId> {
        planned
            .edges
            .discovery
            .iter()
            .copied()
            .find(|&node| self.run.origin_of(node).is_none())
    }

    /// Returns the changes of a node's definition since a version of it was built, as far as known.
    fn redefined(&mut self, version: &Version) -> Result<Vec<Redefinition>, EngineError> {
        if version.key.is_none() {
            return Ok(Vec::new());
        }
        let label = self.run.graph().node(version.node).label.clone();
        let now = self.run.context.rules;
        let mut found = self
            .before
            .rules
            .as_ref()
            .map_or_else(Vec::new, |rules| redefinitions(rules, now, &label));
        let uses = now.find(&label).map(|found| {
            let producer = now.rule(found.rule).producer;
            &now.manifest().producers[producer as usize].uses
        });
        // The record names its producer even if the former manifest is gone.
        if let (Some(record), Some(producer)) = (self.record(version)?, uses.and_then(|uses| self.registry.get(uses)))
            && !found.iter().any(|one| matches!(one, Redefinition::Uses { .. }))
        {
            let (from, to) = (record.producer, producer.id().to_string());
            if from != to {
                found.insert(0, Redefinition::Version { from, to });
            }
        }
        Ok(found)
    }

    /// Returns the changed parameters of a node whose last try failed under the present key with the inputs of its last output. Names parameters
    /// only if the former ones give the key of that output. Empty without such a try.
    fn redefined_before_failure(&mut self, id: NodeId) -> Result<Vec<Redefinition>, EngineError> {
        let label = self.run.graph().node(id).label.clone();
        let failed = self.remarks.get(&*label).and_then(|remark| remark.failure.as_ref());
        let (Some(failed), Some(planned)) = (failed.and_then(|failed| failed.key), self.run.plan_of(id)?) else {
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
            if then == self.key_before(id) {
                let parameters = redefinitions(before, self.run.context.rules, &label).into_iter();
                found.extend(parameters.filter(|one| matches!(one, Redefinition::Parameter { .. })));
            }
        }
        found.push(Redefinition::Failed);
        Ok(found)
    }

    /// Returns the node that decides a node's inputs and whose output differs from that at this version.
    fn deciding_change(&mut self, version: &Version) -> Result<Option<InputChange>, EngineError> {
        let (Some(planned), Some(build)) = (self.run.plan_of(version.node)?, version.build) else {
            return Ok(None);
        };
        self.run.settle_new(&planned.edges.discovery)?;
        for &node in &planned.edges.discovery {
            let label = &self.run.graph().node(node).label;
            let versions = self.store.history(self.view, label)?;
            let read = versions.iter().rfind(|version| version.build.is_some_and(|of| of <= build));
            let outputs = read.map(|version| version.output).zip(self.run.output(node));
            if let Some((from, to)) = outputs.filter(|(from, to)| from != to) {
                return Ok(Some(InputChange {
                    role: "decided by".into(),
                    label: label.clone(),
                    how: InputChangeKind::Changed { from, to },
                }));
            }
        }
        Ok(None)
    }

    /// Whether an input that must be rebuilt gives its former output: its inputs are unchanged, but its output is not stored.
    fn gives_former_output(&mut self, input: &InputChange) -> Result<bool, EngineError> {
        let InputChangeKind::Open { from } = input.how else {
            return Ok(false);
        };
        let Some(node) = self.run.graph().find(&input.label) else {
            return Ok(false);
        };
        if self.before.reasons.get(&node) == Some(&Reason::Invalidated) {
            return Ok(false);
        }
        let Some(key) = self.present_key(node)? else { return Ok(false) };
        Ok(self.store.action(&key)?.is_some_and(|record| record.output == from))
    }

    /// Returns the present key of a node; `None` if an input must be built first.
    fn present_key(&mut self, node: NodeId) -> Result<Option<ActionKey>, EngineError> {
        let Some(planned) = self.run.plan_of(node)?.filter(|planned| planned.known == Certainty::Present) else {
            return Ok(None);
        };
        self.run.inputs_now(&planned)?;
        Ok(self.run.key_now(node, &planned).map(|(key, _)| key))
    }

    /// Returns the distance of an input from the changed nodes.
    fn distance(&self, input: &InputChange) -> u32 {
        let InputChangeKind::Open { .. } = input.how else { return 0 };
        let node = self.run.graph().find(&input.label);
        node.and_then(|id| self.forecast_graph.distance(id)).map_or(u32::MAX, |far| far + 1)
    }

    /// Returns the next input of the chain: a certain change, otherwise the shortest path to one.
    fn next_input(&mut self, version: &Version) -> Result<Option<InputChange>, EngineError> {
        let changes = self.input_changes(version)?;
        let mut changed = Vec::new();
        for one in &changes {
            if !self.gives_former_output(one)? {
                changed.push(one);
            }
        }
        let Some(next) = changed.into_iter().min_by_key(|one| self.distance(one)) else {
            return Ok(None);
        };
        Ok(match next.how {
            InputChangeKind::Added { .. } | InputChangeKind::Dropped { .. } => {
                self.deciding_change(version)?.or_else(|| Some(next.clone()))
            }
            _ => Some(next.clone()),
        })
    }

    /// Follows a stale node to the cause. Ends at a leaf, at a node never built, or where the record is gone.
    pub(super) fn chain(&mut self, from: Version) -> Result<Vec<Step>, EngineError> {
        let mut chain: Vec<Step> = Vec::new();
        let mut seen = FxHashSet::default();
        let mut read: FxHashMap<Arc<str>, Digest> = FxHashMap::default();
        let mut at = Some(from);
        while let Some(version) = at.take().filter(|version| seen.insert(version.node)) {
            let came_by = chain.last().and_then(|step| step.input.clone());
            let step = match came_by.as_ref().and_then(file_change) {
                Some(reason) => Step {
                    label: self.run.graph().node(version.node).label.clone(),
                    input: None,
                    reason: Some(reason),
                    redefined: Vec::new(),
                },
                None => self.find_changed_input(&version)?,
            };
            if let Some(input) = &step.input {
                let inputs = self.record(&version)?.map(|record| record.inputs).unwrap_or_default();
                read.extend(inputs.into_iter().map(|input| (input.label, input.digest)));
                let node = self.run.graph().find(&input.label);
                at = match (node, &input.how) {
                    (None, _) => None,
                    // Usually the input itself did not change, but became or ceased to be an input. It was removed with its file, or is unchanged.
                    (Some(node), InputChangeKind::Dropped { .. }) => {
                        let read = self.version_read_by(&version, input, node, &read)?;
                        self.next_input(&read)?.map(|_| read)
                    }
                    (Some(node), InputChangeKind::Added { .. }) if self.key_before(node).is_some() => None,
                    (Some(node), _) => Some(self.version_read_by(&version, input, node, &read)?),
                };
            }
            chain.push(step);
        }
        Ok(chain)
    }

    /// Returns one step: the input that changed since a version was built, or the reason why there is none.
    fn find_changed_input(&mut self, version: &Version) -> Result<Step, EngineError> {
        let id = version.node;
        let step = |finder: &Self, input, reason, redefined| Step {
            label: finder.run.graph().node(id).label.clone(),
            input,
            reason,
            redefined,
        };
        let redefined = self.redefined(version)?;
        if !redefined.is_empty() {
            return Ok(step(self, None, Some(Reason::DefinitionChanged), redefined));
        }
        if let Some(next) = self.next_input(version)? {
            return Ok(step(self, Some(next), None, Vec::new()));
        }
        let Some(planned) = self.run.plan_of(id)? else {
            let reason = self.before.reasons.get(&id).cloned();
            return Ok(step(self, None, reason, Vec::new()));
        };
        // The inputs are unchanged, or decided by a node that must be built: continue through that node.
        if let Some(open) = self.first_unknown_discovery(&planned) {
            let node = self.run.graph().node(open);
            let input = InputChange {
                role: "decided by".into(),
                label: node.label.clone(),
                how: match node.result {
                    Some(result) => InputChangeKind::Open { from: result.output },
                    None => InputChangeKind::Added { to: None },
                },
            };
            return Ok(step(self, Some(input), None, Vec::new()));
        }
        let is_recorded = self.record(version)?.is_some();
        let reason = match self.before.reasons.get(&id) {
            Some(reason) => reason.clone(),
            None if self.key_before(id).is_none() => Reason::New,
            None if !is_recorded && self.is_settled(id) => Reason::BuiltSince,
            None if self.before.redefined => Reason::DefinitionChanged,
            None => Reason::LeftStale,
        };
        // It is unchanged, and only an earlier build's output of it differs.
        if reason == Reason::LeftStale && self.present_key(id)? == version.key {
            return Ok(step(self, None, Some(reason), Vec::new()));
        }
        // Every input is known to be unchanged, and the key still changed.
        let is_redefined = match reason {
            Reason::LeftStale => true,
            Reason::DefinitionChanged => self.before.rules.is_some(),
            _ => false,
        };
        if !is_redefined || !is_recorded {
            return Ok(step(self, None, Some(reason), Vec::new()));
        }
        let redefined = self.redefined_before_failure(id)?;
        Ok(match redefined.is_empty() {
            true => step(self, None, Some(reason), vec![Redefinition::Forgotten]),
            false => step(self, None, Some(Reason::DefinitionChanged), redefined),
        })
    }

    fn is_settled(&self, id: NodeId) -> bool {
        matches!(self.run.origin_of(id), Some(OutputOrigin::Current | OutputOrigin::Verified))
    }
}
