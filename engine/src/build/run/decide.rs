//! Decision: the key says whether a result is current, filed, or to be made.

use super::{How, Run, RunError, Slot, Step, Work};
use crate::build::jobs::{JobInput, Load, Task};
use crate::graph::{EdgeFrom, Filed, NodeId};
use crate::manifest::model::InputFrom;
use crate::manifest::template::Vars;
use crate::planning::expand::ItemFrame;
use crate::planning::key::{KeyDescription, KeyInput, action_key};
use crate::seams::producer::Pool;
use crate::store::records::{ActionRecord, HistoryRecord};
use crate::values::digest::{ActionKey, Digest};
use crate::values::event::Event;
use std::sync::Arc;
use std::time::Duration;

impl Run<'_> {
    /// Collecting → Settled (the key did not move, or its result is filed), Running, or Failed.
    pub(super) fn decide(&mut self, id: NodeId) -> Result<(), RunError> {
        let Slot::Collecting { mut work, .. } = std::mem::replace(self.slot(id), Slot::Idle) else { return Ok(()) };
        let edges = work.edges.clone().expect("invariant: collection follows expansion");
        let mut unknown = false;
        for edge in &edges.inputs {
            if let EdgeFrom::Node(node) = edge.from {
                match &self.slots[node.index()] {
                    Slot::Failed => {
                        self.skip(id, node);
                        return Ok(());
                    }
                    Slot::Unknown => unknown = true,
                    _ => {}
                }
            }
        }
        if unknown {
            self.unknown(id, false);
            return Ok(());
        }
        if !self.inputs_settled(&work) {
            self.back_to_collecting(id, work);
            return Ok(());
        }
        let inputs = self.inputs(&work);
        let Some(key) = self.key(id, &work, &inputs) else { return Ok(()) };
        work.key = key;
        self.depths[id.index()] = self.depth(&work);
        if !work.force {
            let filed = self.graph.node(id).result;
            if let Some(filed) = filed.filter(|filed| filed.key == key) {
                self.tally.verified += 1;
                self.emit(&Event::Verified { label: &self.graph.node(id).label });
                self.settle(id, &work, filed.output, How::Verified);
                return Ok(());
            }
            if let Some(record) = self.store.action(&key)? {
                self.hit(id, &work, &record);
                return Ok(());
            }
        }
        if self.options.dry_run {
            self.unknown(id, true);
            return Ok(());
        }
        if let Some(others) = self.same_key.get_mut(&key) {
            others.push(id);
            *self.slot(id) = Slot::Running { work };
            return Ok(());
        }
        self.same_key.insert(key, Vec::new());
        *self.slot(id) = Slot::Running { work };
        self.steps.push(Step::Dispatch(id));
        Ok(())
    }

    pub(super) fn hit(&mut self, id: NodeId, work: &Work, record: &ActionRecord) {
        let label = self.graph.node(id).label.clone();
        self.tally.cached += 1;
        self.tally.saved_us += record.took_us;
        self.emit(&Event::Hit { label: &label, output: record.output, saved: Duration::from_micros(record.took_us) });
        self.say(&label, &record.diagnostics);
        self.settle(id, work, record.output, How::Cached);
    }

    fn inputs_settled(&self, work: &Work) -> bool {
        let edges = work.edges.as_ref().expect("invariant: collection follows expansion");
        let settled = |node: &NodeId| self.output(*node).is_some();
        let inputs = edges.inputs.iter().all(|edge| match &edge.from {
            EdgeFrom::Node(node) => settled(node),
            EdgeFrom::Rows(_) => true,
        });
        inputs && work.discovery.iter().all(settled)
    }

    fn back_to_collecting(&mut self, id: NodeId, work: Box<Work>) {
        for twin in self.same_key.remove(&work.key).unwrap_or_default() {
            if let Slot::Running { work } = std::mem::replace(self.slot(twin), Slot::Idle) {
                self.back_to_collecting(twin, work);
            }
        }
        *self.slot(id) = Slot::Discovering { work, missing: 0 };
        self.again(id);
    }

    /// The inputs of a node in the order of its key.
    pub(super) fn inputs(&self, work: &Work) -> Vec<JobInput> {
        let rule = self.rules.rule(work.rule);
        let edges = work.edges.as_ref().expect("invariant: collection follows expansion");
        let mut frame: Option<(u16, Option<ItemFrame>)> = None;
        let mut inputs = Vec::with_capacity(edges.inputs.len());
        for edge in &edges.inputs {
            let spec = &rule.inputs[usize::from(edge.spec)];
            let (item, digest, load): (Arc<str>, _, _) = match edge.from {
                EdgeFrom::Rows(digest) => ("".into(), digest, Load::Rows(edge.spec)),
                EdgeFrom::Node(node) => {
                    let Some(settled) = self.settled(node) else { continue };
                    if frame.as_ref().is_none_or(|(of, _)| *of != edge.spec) {
                        let of = match &spec.from {
                            InputFrom::Many { target, .. } => ItemFrame::of(target, &work.vars),
                            _ => None,
                        };
                        frame = Some((edge.spec, of));
                    }
                    let item = frame.as_ref().and_then(|(_, frame)| frame.as_ref()?.item(&settled.label)).unwrap_or_default();
                    let digest = settled.digest;
                    (item.into(), digest, if spec.digest_only { Load::Nothing } else { Load::Node(settled) })
                }
            };
            inputs.push(JobInput { role: spec.role.clone(), item, digest, load });
        }
        inputs
    }

    fn key(&self, id: NodeId, work: &Work, inputs: &[JobInput]) -> Option<ActionKey> {
        self.described(id, work, inputs, action_key)
    }

    /// Hands the one description of a node's key to `write`: the hasher's way and the explainer's.
    pub(super) fn described<T>(&self, id: NodeId, work: &Work, inputs: &[JobInput], write: impl FnOnce(&KeyDescription<'_>) -> T) -> Option<T> {
        let manifest = self.rules.manifest();
        let definition = &manifest.producers[self.rules.rule(work.rule).producer as usize];
        let producer = self.registry.get(&definition.uses)?;
        let sees = producer.sees(&definition.params);
        let label = self.graph.node(id).label.clone();
        let nothing = Vars::new();
        let key_inputs: Vec<KeyInput<'_>> =
            inputs.iter().map(|input| KeyInput { role: &input.role, item: &input.item, digest: input.digest }).collect();
        Some(write(&KeyDescription {
            producer: self.ids[self.rules.rule(work.rule).producer as usize].as_ref()?,
            params: &definition.params,
            vars: if sees.vars { &work.vars } else { &nothing },
            label: sees.label.then_some(&*label),
            inputs: &key_inputs,
        }))
    }

    /// The shortest way to a leaf (seed 000 §7).
    fn depth(&self, work: &Work) -> u32 {
        let edges = work.edges.as_ref().expect("invariant: collection follows expansion");
        let depth = |edge: &crate::graph::Edge| match edge.from {
            EdgeFrom::Node(node) => self.depths.get(node.index()).copied(),
            EdgeFrom::Rows(_) => None,
        };
        edges.inputs.iter().filter_map(depth).min().map_or(0, |depth| depth + 1)
    }

    /// Hands a node to its pool.
    pub(super) fn dispatch(&mut self, id: NodeId) {
        let Slot::Running { work } = std::mem::replace(self.slot(id), Slot::Idle) else { return };
        if !self.inputs_settled(&work) {
            // An input's blob is being made again meanwhile: wait for it and decide anew.
            return self.back_to_collecting(id, work);
        }
        let inputs = self.inputs(&work);
        let uses = &self.rules.manifest().producers[self.rules.rule(work.rule).producer as usize].uses;
        let Some(producer) = self.registry.get(uses).cloned() else { return };
        let previous = self.graph.node(id).result.map(|filed| filed.output);
        let pool = producer.pool();
        // A previous output is a hint for producers that cost something; the others would only read it in vain.
        let previous = previous.filter(|_| pool == Pool::Slow);
        let job = self.job(id, &work, Task::Produce { producer, inputs, previous });
        self.emit(&Event::Started { label: &job.label });
        match pool {
            Pool::Cpu => self.pools.cpu(job),
            Pool::Slow => {
                let references = self.waiters[id.index()].len().max(self.links.reader_count(id));
                self.pools.slow(job, references as f64 / f64::from(1 + self.depths[id.index()]));
            }
        }
        *self.slot(id) = Slot::Running { work };
    }

    /// Files the node's output in the graph, remembers the version it replaces, wakes its readers.
    pub(super) fn settle(&mut self, id: NodeId, work: &Work, output: Digest, how: How) {
        if let Some(edges) = &work.edges {
            self.graph.rewire(id, (**edges).clone());
        }
        let filed = Filed { key: work.key, output };
        let before = self.graph.node(id).result;
        self.graph.settle(id, filed);
        if before.is_none_or(|before| before.output != output) {
            self.moved_on(id);
        }
        if before != Some(filed) {
            let label = self.graph.node(id).label.to_string();
            self.history.push((label, HistoryRecord { version: 0, key: work.key, output, at: self.now }));
        }
        *self.slot(id) = Slot::Settled { output, how };
        self.wake(id);
    }
}
