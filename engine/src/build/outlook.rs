//! Outlooks: what a build would run, told without running anything.
//!
//! A dry run knows which producers certainly run: all their inputs are known and no result is filed. What reads these may run, and so on
//! upward. But a node runs only if one of its inputs moves, so where all ways up from the certain ones lead through one node, nothing
//! behind it runs unless that node comes to another output: it is a *gate*. Nodes of one rule that are equally far from what is certain
//! are tried together, so that edits of several files have gates too. Not told: targets that come to exist with a set, and nodes whose output
//! is not kept and is made again only because a reader needs its bytes.

use super::engine::EngineError;
use super::run::Run;
use crate::graph::{Graph, NodeId};
use crate::store::{Store, ViewId};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// What would run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outlook {
    /// The targets whose producers run for certain, by label.
    pub will_run: Vec<Arc<str>>,
    /// How many more may run, depending on what those come to.
    pub may_run: usize,
    /// Gates that most of these are behind, each behind the one before it.
    pub gates: Vec<Gate>,
}

/// Nodes that others wait behind: none of the others runs unless one of these comes to another output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gate {
    /// The nodes, by label.
    pub labels: Vec<Arc<str>>,
    /// How many targets are behind them.
    pub behind: usize,
    /// How often these nodes were made again from other inputs, as far as History goes.
    pub remade: usize,
    /// How often the output was the same as before.
    pub same: usize,
}

/// So many sets of nodes are tried as gates.
const TRIED: usize = 48;
/// History is read for at most so many nodes of a gate.
const HISTORIES: usize = 32;

/// Nodes that need no input to move in order to run: those marked before a dry run began.
pub(super) fn marked(graph: &Graph) -> FxHashSet<NodeId> {
    graph.stale().collect()
}

/// The nodes that may run after a dry run, and how they hang together.
pub(super) struct Prospect {
    /// Those that run for certain and those that may, in the order of their numbers.
    nodes: Vec<NodeId>,
    /// By node: steps from the nearest one that needs no other to move.
    far: Vec<u32>,
    /// By node: the nodes that read it, as indexes.
    readers: Vec<Vec<u32>>,
    certain: FxHashSet<NodeId>,
    /// Nodes of one rule and distance: candidates for gates, the nearest first.
    candidates: Vec<Vec<u32>>,
}

impl Prospect {
    /// Of a dry run that has settled what it was asked for.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub(super) fn of(run: &mut Run<'_>, marked: &FxHashSet<NodeId>) -> Result<Self, EngineError> {
        // What is only found below nodes whose inputs are undecided may turn out not to be asked for.
        let certain: FxHashSet<NodeId> = run
            .unknowns()
            .into_iter()
            .filter(|(_, certain)| *certain)
            .map(|(id, _)| id)
            .collect();
        run.look_below()?;
        let unknowns = run.unknowns();
        let unknown: FxHashSet<NodeId> = unknowns.iter().map(|(id, _)| *id).collect();
        let mut readers: FxHashMap<NodeId, Vec<NodeId>> = FxHashMap::default();
        let mut far: FxHashMap<NodeId, u32> = FxHashMap::default();
        let mut queue: VecDeque<NodeId> = VecDeque::new();
        for &(id, certain) in &unknowns {
            let node = run.graph().node(id);
            let mut begins = certain || marked.contains(&id) || node.result.is_none() || node.edges.is_none();
            for read in node.reads() {
                if unknown.contains(&read) {
                    readers.entry(read).or_default().push(id);
                } else {
                    // A changed file may have been settled by an earlier look of the same session.
                    begins |= !run.is_unmoved(read) || (marked.contains(&read) && run.rule_of(read).is_none());
                }
            }
            if begins {
                far.insert(id, 0);
                queue.push_back(id);
            }
        }
        while let Some(at) = queue.pop_front() {
            let next = far[&at] + 1;
            for &reader in readers.get(&at).into_iter().flatten() {
                far.entry(reader).or_insert_with(|| {
                    queue.push_back(reader);
                    next
                });
            }
        }
        // What is unknown but not reached cannot run: at most it goes away with a set that it was in.
        let mut nodes: Vec<NodeId> = far.keys().copied().collect();
        nodes.sort_unstable();
        let index: FxHashMap<NodeId, u32> = nodes.iter().copied().zip(0..).collect();
        let mut groups: BTreeMap<(u32, Option<u32>), Vec<u32>> = BTreeMap::new();
        for (at, id) in (0..).zip(&nodes) {
            groups.entry((far[id], run.rule_of(*id))).or_default().push(at);
        }
        let by_index = |id: &NodeId| {
            readers
                .get(id)
                .into_iter()
                .flatten()
                .filter_map(|reader| index.get(reader).copied())
                .collect()
        };
        Ok(Self {
            far: nodes.iter().map(|id| far[id]).collect(),
            readers: nodes.iter().map(by_index).collect(),
            candidates: groups.into_values().take(TRIED).collect(),
            certain,
            nodes,
        })
    }

    /// Steps from what needs no other to move.
    pub(super) fn distance(&self, id: NodeId) -> Option<u32> {
        Some(self.far[self.nodes.binary_search(&id).ok()?])
    }

    /// What is still reached when `gate` comes to the outputs it had, by index.
    fn reached_without(&self, gate: &[u32]) -> Vec<bool> {
        let mut reached = vec![false; self.nodes.len()];
        let shut = |at: u32| gate.binary_search(&at).is_ok();
        let mut todo: Vec<u32> = (0..)
            .zip(&self.far)
            .filter(|(at, far)| **far == 0 && !shut(*at))
            .map(|(at, _)| at)
            .collect();
        for &at in &todo {
            reached[at as usize] = true;
        }
        while let Some(at) = todo.pop() {
            for &reader in &self.readers[at as usize] {
                if !reached[reader as usize] && !shut(reader) {
                    reached[reader as usize] = true;
                    todo.push(reader);
                }
            }
        }
        for &at in gate {
            reached[at as usize] = true;
        }
        reached
    }

    /// The gates on the way to a node, the first first.
    pub(super) fn gates_before(&self, id: NodeId) -> Vec<Vec<NodeId>> {
        let Ok(index) = self.nodes.binary_search(&id) else {
            return Vec::new();
        };
        let shuts = |gate: &&Vec<u32>| !self.reached_without(gate)[index];
        self.candidates.iter().filter(shuts).map(|gate| self.ids(gate)).collect()
    }

    fn ids(&self, gate: &[u32]) -> Vec<NodeId> {
        gate.iter().map(|&at| self.nodes[at as usize]).collect()
    }

    /// What may run beyond what runs for certain, nearest first, then by label.
    pub(super) fn may_run(&self, graph: &Graph) -> Vec<Arc<str>> {
        let uncertain = self.far.iter().zip(&self.nodes).filter(|(_, id)| !self.certain.contains(id));
        let mut nodes: Vec<(u32, Arc<str>)> = uncertain.map(|(far, id)| (*far, graph.node(*id).label.clone())).collect();
        nodes.sort();
        nodes.into_iter().map(|(_, label)| label).collect()
    }

    /// The outlook, with the gates that at least two thirds of all that may run are behind.
    pub(super) fn outlook(&self, graph: &Graph, store: &dyn Store, view: ViewId) -> Result<Outlook, EngineError> {
        let may_run = self.nodes.len() - self.certain.len();
        let mut found: Vec<(usize, &Vec<u32>)> = Vec::new();
        for candidate in &self.candidates {
            let behind = self.reached_without(candidate).iter().filter(|reached| !**reached).count();
            if behind > 0 && behind * 3 >= may_run * 2 {
                found.push((behind, candidate));
            }
        }
        found.sort_by_key(|(behind, _)| std::cmp::Reverse(*behind));
        let gates = found
            .into_iter()
            .map(|(behind, nodes)| gate(&self.ids(nodes), behind, graph, store, view));
        let mut will_run: Vec<Arc<str>> = self.certain.iter().map(|&id| graph.node(id).label.clone()).collect();
        will_run.sort();
        Ok(Outlook {
            will_run,
            may_run,
            gates: gates.collect::<Result<_, _>>()?,
        })
    }
}

/// A gate with what its nodes came to before.
pub(super) fn gate(nodes: &[NodeId], behind: usize, graph: &Graph, store: &dyn Store, view: ViewId) -> Result<Gate, EngineError> {
    let mut labels: Vec<Arc<str>> = nodes.iter().map(|&id| graph.node(id).label.clone()).collect();
    labels.sort();
    let (mut remade, mut same) = (0, 0);
    for label in labels.iter().take(HISTORIES) {
        let history = store.history(view, label)?;
        for pair in history.windows(2).filter(|pair| pair[0].key != pair[1].key) {
            remade += 1;
            same += usize::from(pair[0].output == pair[1].output);
        }
    }
    Ok(Gate {
        labels,
        behind,
        remade,
        same,
    })
}
