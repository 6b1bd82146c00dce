//! The states of a run's nodes, the nodes that wait for others, and the steps that are due.
//!
//! [`NodeStates::change_state`] makes all transitions. The functions of this folder request them: `demand` Idle → Settled/Checking/Discovering, `check`
//! Checking → Settled/Discovering, `plan` Discovering → Expanding/Collecting, `decide` Collecting → Settled/Running, `finish` Running →
//! Settled/Failed.

use crate::graph::stale::NodeSet;
use crate::graph::{Edges, NodeId, PlanDigest};
use crate::manifest::template::Vars;
use crate::planning::rules::{RuleIndex, vars_of_label};
use crate::values::digest::ActionKey;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// A node's state in this run.
pub(super) enum NodeProgress {
    /// Not visited, or taken by a step that is about to move it on. The graph's record is current, unless the node is stale.
    Idle,
    /// A direct or indirect input may have changed: its recorded edges are being settled, deciding ones first.
    Checking { inputs: bool, missing: u32 },
    /// The nodes that decide its inputs (and its existence) are being settled.
    Discovering { work: Box<Work>, missing: u32 },
    /// A worker is finding its inputs.
    Expanding { work: Box<Work> },
    /// Its inputs are being settled.
    Collecting { work: Box<Work>, missing: u32 },
    /// Blobs of its inputs are being rebuilt.
    Restoring { work: Box<Work>, missing: u32 },
    /// Its producer waits for a worker or runs.
    Running { work: Box<Work> },
    /// The graph's record is current, and is not even read.
    OutOfReach,
    /// It has an output, recorded in the graph.
    Settled { how: OutputOrigin },
    /// It has no output.
    Failed,
    /// Dry run: its output is unknown. `certain` if its producer would run whatever its inputs become: all of them are known.
    Unknown { certain: bool },
}

/// Origin of a node's output in this run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputOrigin {
    /// It was not stale.
    Current,
    /// Its key did not change.
    Verified,
    /// Its result was found under its key.
    Cached,
    Ran,
}

/// A state in which a node has [`Work`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Discovering,
    Expanding,
    Collecting,
    Restoring,
    Running,
}

/// Working state of a node on its way to an output.
pub(super) struct Work {
    pub rule: u32,
    /// The node's label. The rule's variables follow from it; all nodes of a build may be in work, so they are not kept.
    pub label: Arc<str>,
    pub discovery: Vec<NodeId>,
    /// Number of these that the rule itself names; the others are tables that those name.
    pub first: usize,
    /// The node of the set that decides whether this node exists.
    pub member_of: Option<NodeId>,
    pub plan: PlanDigest,
    pub edges: Option<Arc<Edges>>,
    pub key: ActionKey,
    /// Run the producer even if the key is known: the blob is missing.
    pub force: bool,
}

impl Work {
    /// Returns the variables of the rule.
    pub(super) fn vars(&self, rules: &RuleIndex) -> Vars {
        vars_of_label(rules.rule(self.rule), &self.label)
    }
}

/// A transition that is due.
#[derive(Clone, Copy)]
pub(super) enum Step {
    Demand(NodeId),
    Check(NodeId),
    Plan(NodeId),
    Decide(NodeId),
}

/// The states of all nodes of a run.
#[derive(Default)]
pub(super) struct NodeStates {
    /// By number; later nodes are idle. A node out of reach is idle here.
    states: Vec<NodeProgress>,
    /// Nearly all nodes of a small build: one bit for each.
    out_of_reach: NodeSet,
    /// Waiting nodes, by the node that they wait for.
    waiters: FxHashMap<NodeId, Vec<NodeId>>,
    /// Due steps; the last is taken first.
    steps: Vec<Step>,
}

impl NodeProgress {
    /// Whether the node has an output in this run.
    pub(super) fn has_output(&self) -> bool {
        matches!(self, Self::Settled { .. } | Self::OutOfReach)
    }

    /// Whether the node has ended in this run, with an output or without one.
    pub(super) fn is_final(&self) -> bool {
        self.has_output() || matches!(self, Self::Failed | Self::Unknown { .. })
    }

    fn stage(&self) -> Option<Stage> {
        match self {
            Self::Discovering { .. } => Some(Stage::Discovering),
            Self::Expanding { .. } => Some(Stage::Expanding),
            Self::Collecting { .. } => Some(Stage::Collecting),
            Self::Restoring { .. } => Some(Stage::Restoring),
            Self::Running { .. } => Some(Stage::Running),
            Self::Idle | Self::Checking { .. } | Self::OutOfReach | Self::Settled { .. } | Self::Failed | Self::Unknown { .. } => None,
        }
    }
}

impl NodeStates {
    /// Moves a node to a state and returns the state that it leaves. All transitions are made here.
    pub(super) fn change_state(&mut self, id: NodeId, state: NodeProgress) -> NodeProgress {
        let is_out_of_reach = matches!(state, NodeProgress::OutOfReach);
        let was_out_of_reach = self.out_of_reach.set(id, is_out_of_reach) != is_out_of_reach;
        let mut former = if is_out_of_reach { NodeProgress::Idle } else { state };
        if id.index() < self.states.len() || !is_out_of_reach {
            if id.index() >= self.states.len() {
                self.states.resize_with(id.index() + 1, || NodeProgress::Idle);
            }
            std::mem::swap(&mut self.states[id.index()], &mut former);
        }
        if was_out_of_reach {
            former = NodeProgress::OutOfReach;
        }
        debug_assert!(
            !former.is_final() || self.is_idle(id),
            "invariant: a node that has ended changes its state only to be built again"
        );
        former
    }

    /// Moves a node to its last state and wakes the nodes that wait for it.
    pub(super) fn end(&mut self, id: NodeId, state: NodeProgress) {
        self.change_state(id, state);
        self.wake_waiters(id);
    }

    /// Takes the work of a node in `stage`, which leaves it idle until the caller moves it on. A node in another state keeps it.
    pub(super) fn take_work(&mut self, id: NodeId, stage: Stage) -> Option<Box<Work>> {
        if self.stage_of(id) != Some(stage) {
            return None;
        }
        match self.change_state(id, NodeProgress::Idle) {
            NodeProgress::Discovering { work, .. }
            | NodeProgress::Expanding { work }
            | NodeProgress::Collecting { work, .. }
            | NodeProgress::Restoring { work, .. }
            | NodeProgress::Running { work } => Some(work),
            _ => None,
        }
    }

    /// Takes the work of a node for which a worker runs a job.
    pub(super) fn take_work_of_job(&mut self, id: NodeId) -> Option<(Stage, Box<Work>)> {
        let stage = self
            .stage_of(id)
            .filter(|stage| matches!(stage, Stage::Running | Stage::Expanding))?;
        Some((stage, self.take_work(id, stage)?))
    }

    pub(super) fn state_of(&self, id: NodeId) -> &NodeProgress {
        if self.out_of_reach.contains(id) {
            return &NodeProgress::OutOfReach;
        }
        self.states.get(id.index()).unwrap_or(&NodeProgress::Idle)
    }

    fn stage_of(&self, id: NodeId) -> Option<Stage> {
        self.state_of(id).stage()
    }

    pub(super) fn is_idle(&self, id: NodeId) -> bool {
        matches!(self.state_of(id), NodeProgress::Idle)
    }

    /// Whether a node has an output in this run.
    pub(super) fn has_output(&self, id: NodeId) -> bool {
        self.state_of(id).has_output()
    }

    /// Whether a node has ended in this run.
    pub(super) fn has_ended(&self, id: NodeId) -> bool {
        self.state_of(id).is_final()
    }

    pub(super) fn has_failed(&self, id: NodeId) -> bool {
        matches!(self.state_of(id), NodeProgress::Failed)
    }

    pub(super) fn is_unknown(&self, id: NodeId) -> bool {
        matches!(self.state_of(id), NodeProgress::Unknown { .. })
    }

    /// Returns how a node got its output; `None` if it has none in this run.
    pub(super) fn origin_of(&self, id: NodeId) -> Option<OutputOrigin> {
        match self.state_of(id) {
            NodeProgress::Settled { how } => Some(*how),
            NodeProgress::OutOfReach => Some(OutputOrigin::Current),
            _ => None,
        }
    }

    /// Whether no node has been visited.
    pub(super) fn are_untouched(&self) -> bool {
        self.states.is_empty() && self.out_of_reach.is_empty()
    }

    /// Returns the nodes whose output a dry run does not know, and whether each would certainly run.
    pub(super) fn unknown_nodes(&self) -> impl Iterator<Item = (NodeId, bool)> {
        (0..).zip(&self.states).filter_map(|(at, state)| match state {
            NodeProgress::Unknown { certain } => Some((NodeId(at), *certain)),
            _ => None,
        })
    }

    /// Adds a step, to be taken next.
    pub(super) fn add_step(&mut self, step: Step) {
        self.steps.push(step);
    }

    /// Returns the step to be taken next.
    pub(super) fn take_step(&mut self) -> Option<Step> {
        self.steps.pop()
    }

    pub(super) fn drop_steps(&mut self) {
        self.steps.clear();
    }

    /// Returns how often nodes wait for a node.
    pub(super) fn waiter_count(&self, id: NodeId) -> usize {
        self.waiters.get(&id).map_or(0, Vec::len)
    }

    /// Returns the nodes that wait for a node; repeats are possible.
    pub(super) fn waiters_of(&self, id: NodeId) -> &[NodeId] {
        self.waiters.get(&id).map_or(&[], Vec::as_slice)
    }

    /// Returns the nodes that wait for others, sorted.
    pub(super) fn waiting_nodes(&self) -> Vec<NodeId> {
        let mut waiting: Vec<NodeId> = self.waiters.values().flatten().copied().collect();
        waiting.sort_unstable();
        waiting.dedup();
        waiting
    }

    /// Demands nodes for `reader`; returns how many are pending (repeats count as often as they will wake it).
    fn await_all(&mut self, reader: NodeId, needed: impl DoubleEndedIterator<Item = NodeId>) -> u32 {
        let mut missing = 0;
        for node in needed.rev() {
            let state = self.state_of(node);
            if state.is_final() {
                continue;
            }
            if matches!(state, NodeProgress::Idle) {
                self.steps.push(Step::Demand(node));
            }
            missing += 1;
            self.waiters.entry(node).or_default().push(reader);
        }
        missing
    }

    /// Moves a node to Checking until `needed` have ended; returns whether one of them is pending.
    pub(super) fn check_after(&mut self, id: NodeId, inputs: bool, needed: impl DoubleEndedIterator<Item = NodeId>) -> bool {
        let missing = self.await_all(id, needed);
        self.change_state(id, NodeProgress::Checking { inputs, missing });
        missing > 0
    }

    /// Moves a node to Discovering until `needed` have ended, then plans it.
    pub(super) fn plan_after(&mut self, id: NodeId, work: Box<Work>, needed: impl DoubleEndedIterator<Item = NodeId>) {
        let missing = self.await_all(id, needed);
        self.change_state(id, NodeProgress::Discovering { work, missing });
        if missing == 0 {
            self.steps.push(Step::Plan(id));
        }
    }

    /// Moves a node to Discovering: all nodes that decide its inputs are awaited again, then it is planned.
    pub(super) fn plan_again(&mut self, id: NodeId, work: Box<Work>) {
        let needed = work.deciding_nodes();
        self.plan_after(id, work, needed.into_iter());
    }

    /// Moves a node to Collecting until its inputs have ended, then decides it.
    pub(super) fn decide_after(&mut self, id: NodeId, work: Box<Work>, needed: impl DoubleEndedIterator<Item = NodeId>) {
        let missing = self.await_all(id, needed);
        self.change_state(id, NodeProgress::Collecting { work, missing });
        if missing == 0 {
            self.steps.push(Step::Decide(id));
        }
    }

    /// Moves a node to Restoring until the blobs of `lost` are rebuilt. Then all its inputs are awaited again, since a rebuilt blob may differ.
    pub(super) fn restore_after(&mut self, id: NodeId, work: Box<Work>, lost: &[NodeId]) {
        let missing = u32::try_from(lost.len()).expect("invariant: fewer than 2^32 nodes");
        self.change_state(id, NodeProgress::Restoring { work, missing });
        for &node in lost {
            self.waiters.entry(node).or_default().push(id);
        }
    }

    /// Restoring → Discovering.
    pub(super) fn finish_restoring(&mut self, id: NodeId) {
        if let Some(work) = self.take_work(id, Stage::Restoring) {
            self.plan_again(id, work);
        }
    }

    /// Wakes the nodes that wait for a node that has ended.
    pub(super) fn wake_waiters(&mut self, id: NodeId) {
        if self.waiters.is_empty() {
            return;
        }
        // Steps are taken from the end: the first waiter goes first.
        for reader in self.waiters.remove(&id).unwrap_or_default().into_iter().rev() {
            let (missing, due) = match &mut self.states[reader.index()] {
                NodeProgress::Checking { missing, .. } => (missing, Some(Step::Check(reader))),
                NodeProgress::Discovering { missing, .. } => (missing, Some(Step::Plan(reader))),
                NodeProgress::Collecting { missing, .. } => (missing, Some(Step::Decide(reader))),
                NodeProgress::Restoring { missing, .. } => (missing, None),
                _ => continue,
            };
            *missing -= 1;
            if *missing > 0 {
                continue;
            }
            match due {
                Some(step) => self.steps.push(step),
                None => self.finish_restoring(reader),
            }
        }
    }

    /// Returns the nodes that a waiting node waits for. `reads`: the nodes that a node read when it was last planned.
    pub(super) fn awaited_nodes(&self, id: NodeId, reads: impl Fn(NodeId) -> Vec<NodeId>) -> Vec<NodeId> {
        let mut needed: Vec<NodeId> = match self.state_of(id) {
            NodeProgress::Discovering { work, missing } if *missing > 0 => work.deciding_nodes(),
            NodeProgress::Collecting { work, missing } if *missing > 0 => work.edges.iter().flat_map(|edges| edges.input_nodes()).collect(),
            NodeProgress::Checking { missing, .. } if *missing > 0 => reads(id),
            _ => Vec::new(),
        };
        needed.retain(|&node| !self.has_ended(node));
        needed
    }
}

impl Work {
    /// Returns the nodes that decide the inputs and the existence of the node.
    pub(super) fn deciding_nodes(&self) -> Vec<NodeId> {
        self.discovery.iter().copied().chain(self.member_of).collect()
    }

    /// Replaces the tables that the settled discovery names; returns whether they changed.
    pub(super) fn add_tables(&mut self, mut tables: Vec<NodeId>) -> bool {
        tables.retain(|table| !self.discovery[..self.first].contains(table));
        let has_changed = self.discovery[self.first..] != tables[..];
        self.discovery.truncate(self.first);
        self.discovery.extend(tables);
        has_changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::digest::Digest;

    const NODES: [NodeId; 3] = [NodeId(0), NodeId(1), NodeId(2)];

    fn work(discovery: &[NodeId], member_of: Option<NodeId>) -> Box<Work> {
        Box::new(Work {
            rule: 0,
            label: "".into(),
            first: discovery.len(),
            discovery: discovery.to_vec(),
            member_of,
            plan: PlanDigest::default(),
            edges: None,
            key: ActionKey(Digest([0; 32])),
            force: false,
        })
    }

    fn due(nodes: &mut NodeStates) -> Vec<String> {
        std::iter::from_fn(|| nodes.take_step())
            .map(|step| match step {
                Step::Demand(id) => format!("demand {}", id.0),
                Step::Check(id) => format!("check {}", id.0),
                Step::Plan(id) => format!("plan {}", id.0),
                Step::Decide(id) => format!("decide {}", id.0),
            })
            .collect()
    }

    #[test]
    fn a_node_is_planned_once_all_that_decides_it_has_ended() {
        let [reader, one, other] = NODES;
        let mut nodes = NodeStates::default();
        nodes.plan_after(reader, work(&[one, other], None), [one, other].into_iter());
        assert_eq!(due(&mut nodes), ["demand 1", "demand 2"]);
        assert_eq!(nodes.waiting_nodes(), [reader]);
        nodes.end(one, NodeProgress::OutOfReach);
        assert_eq!(nodes.awaited_nodes(reader, |_| Vec::new()), [other]);
        assert!(due(&mut nodes).is_empty());
        nodes.end(other, NodeProgress::Failed);
        assert_eq!(due(&mut nodes), ["plan 0"]);
        assert!(nodes.waiting_nodes().is_empty());
    }

    #[test]
    fn a_node_without_pending_inputs_is_decided_at_once() {
        let [reader, input, _] = NODES;
        let mut nodes = NodeStates::default();
        nodes.end(input, NodeProgress::Unknown { certain: true });
        nodes.decide_after(reader, work(&[], None), [input].into_iter());
        assert_eq!(due(&mut nodes), ["decide 0"]);
        assert_eq!(nodes.unknown_nodes().collect::<Vec<_>>(), [(input, true)]);
    }

    #[test]
    fn work_is_taken_only_in_its_stage() {
        let [id, ..] = NODES;
        let mut nodes = NodeStates::default();
        nodes.change_state(id, NodeProgress::Running { work: work(&[], None) });
        assert!(nodes.take_work(id, Stage::Expanding).is_none());
        assert!(matches!(nodes.state_of(id), NodeProgress::Running { .. }));
        let (stage, _) = nodes.take_work_of_job(id).expect("a running job");
        assert_eq!(stage, Stage::Running);
        assert!(nodes.is_idle(id));
        assert!(nodes.take_work(id, Stage::Running).is_none());
    }

    #[test]
    fn after_a_lost_blob_is_rebuilt_its_reader_awaits_all_that_decides_it() {
        let [reader, lost, set] = NODES;
        let mut nodes = NodeStates::default();
        nodes.end(lost, NodeProgress::Settled { how: OutputOrigin::Cached });
        nodes.restore_after(reader, work(&[lost], Some(set)), &[lost]);
        nodes.change_state(lost, NodeProgress::Idle);
        nodes.end(lost, NodeProgress::Settled { how: OutputOrigin::Ran });
        assert_eq!(nodes.origin_of(lost), Some(OutputOrigin::Ran));
        assert_eq!(due(&mut nodes), ["demand 2"]);
        nodes.end(set, NodeProgress::OutOfReach);
        assert_eq!(due(&mut nodes), ["plan 0"]);
    }
}
