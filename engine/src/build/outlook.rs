//! Outlooks: which producers a build would run, without running any.
//!
//! A dry run knows which producers certainly run: all their inputs are known and no result is stored. Their readers may run, and so on upward. But
//! a node runs only if an input changes: if all paths from the certain ones lead through one node, nothing behind it runs unless that node's output
//! changes. It is a *gate*. Nodes of one rule and distance are tried together, so that edits of several files have gates too. Not included: targets
//! that appear with a set, and nodes whose unstored output is rebuilt only for a reader.

use super::engine::EngineError;
use super::run::Run;
use crate::graph::{Graph, NodeId};
use crate::store::{Store, ViewId};
use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// Producers that a build would run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunForecast {
    /// Labels of the targets whose producers certainly run.
    pub will_run: Vec<Arc<str>>,
    /// Number of further targets that may run, depending on those.
    pub may_run: usize,
    /// Gates before most of these nodes, each behind the previous gate.
    pub gates: Vec<Gate>,
}

/// A gate: nodes behind it run only if the output of one of its nodes changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gate {
    pub labels: Vec<Arc<str>>,
    /// Number of targets behind them.
    pub behind: usize,
    /// Number of times that these nodes were rebuilt from other inputs, as far as History reaches.
    pub remade: usize,
    /// Number of these times at which the output was the same as before.
    pub same: usize,
}

/// Maximum number of sets of nodes tried as gates.
const TRIED: usize = 48;
/// Maximum number of a gate's nodes whose History is read.
const HISTORIES: usize = 32;

/// Place of a node that is not in a list.
const NOWHERE: u32 = u32::MAX;

/// The readers of nodes, which are numbered from 0, in one list.
struct Readers {
    /// By node: end of its readers, which begin where those of the node before it end.
    ends: Vec<u32>,
    readers: Vec<u32>,
}

impl Readers {
    /// Sorts pairs of a node and a reader by node.
    fn from_pairs(nodes: usize, pairs: &[(u32, u32)]) -> Self {
        let mut ends = vec![0_u32; nodes + 1];
        for (read, _) in pairs {
            ends[*read as usize + 1] += 1;
        }
        for at in 1..ends.len() {
            ends[at] += ends[at - 1];
        }
        // Position of the next reader of each node; finally their ends.
        ends.pop();
        let mut readers = vec![0; pairs.len()];
        for (read, reader) in pairs {
            let next = &mut ends[*read as usize];
            readers[*next as usize] = *reader;
            *next += 1;
        }
        Self { ends, readers }
    }

    fn readers_of(&self, node: u32) -> &[u32] {
        let at = node as usize;
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.readers[start as usize..self.ends[at] as usize]
    }
}

/// Groups nodes of one rule and distance, the nearest first, up to the maximum number of groups.
fn find_candidates(run: &Run<'_>, nodes: &[NodeId], distances: &[u32]) -> Vec<Vec<u32>> {
    let farthest = distances.iter().max().map_or(0, |distance| *distance as usize + 1);
    let mut at_distance: Vec<Vec<u32>> = vec![Vec::new(); farthest];
    for (at, distance) in (0..).zip(distances) {
        at_distance[*distance as usize].push(at);
    }
    let mut candidates: Vec<Vec<u32>> = Vec::new();
    for together in at_distance {
        if candidates.len() >= TRIED {
            break;
        }
        let mut groups: BTreeMap<Option<u32>, Vec<u32>> = BTreeMap::new();
        for at in together {
            groups.entry(run.rule_of(nodes[at as usize])).or_default().push(at);
        }
        candidates.extend(groups.into_values());
    }
    candidates.truncate(TRIED);
    candidates
}

/// Returns the nodes that run without a changed input: those marked before a dry run started.
pub(super) fn marked_nodes(graph: &Graph) -> FxHashSet<NodeId> {
    graph.stale().collect()
}

/// The nodes that may run after a dry run, with their dependencies.
pub(super) struct ForecastGraph {
    /// Nodes that certainly run or may run, sorted.
    nodes: Vec<NodeId>,
    /// By node: distance from the nearest one that runs without a changed input.
    distances: Vec<u32>,
    /// By node: its readers, as indexes.
    readers: Readers,
    certain: FxHashSet<NodeId>,
    /// Nodes of one rule and distance: candidates for gates, the nearest first.
    candidates: Vec<Vec<u32>>,
}

impl ForecastGraph {
    /// Derives the graph from a dry run that has settled its request.
    pub(super) fn from_run(run: &mut Run<'_>, marked: &FxHashSet<NodeId>) -> Result<Self, EngineError> {
        // Nodes found only below ones with undecided inputs may never be requested.
        let certain: FxHashSet<NodeId> = run
            .unknown_nodes()
            .into_iter()
            .filter(|(_, certain)| *certain)
            .map(|(id, _)| id)
            .collect();
        run.settle_unknown_inputs()?;
        let unknown_nodes = run.unknown_nodes();
        // By number of a node: its place among the unknown ones.
        let mut places: Vec<u32> = vec![NOWHERE; run.graph().bound()];
        for (place, (id, _)) in (0..).zip(&unknown_nodes) {
            places[id.index()] = place;
        }
        let mut reads: Vec<(u32, u32)> = Vec::new();
        let mut distances: Vec<u32> = vec![NOWHERE; unknown_nodes.len()];
        let mut queue: VecDeque<u32> = VecDeque::new();
        for (place, &(id, certain)) in (0..).zip(&unknown_nodes) {
            let graph = run.graph();
            let mut begins = certain || marked.contains(&id) || !graph.has_result(id) || !graph.is_planned(id);
            graph.each_read(id, |read| match places[read.index()] {
                // An earlier refresh of the same session may have settled a changed file.
                NOWHERE => begins |= !run.is_unchanged(read) || (marked.contains(&read) && run.rule_of(read).is_none()),
                read => reads.push((read, place)),
            });
            if begins {
                distances[place as usize] = 0;
                queue.push_back(place);
            }
        }
        let readers = Readers::from_pairs(unknown_nodes.len(), &reads);
        while let Some(at) = queue.pop_front() {
            let next = distances[at as usize] + 1;
            for &reader in readers.readers_of(at) {
                if distances[reader as usize] == NOWHERE {
                    distances[reader as usize] = next;
                    queue.push_back(reader);
                }
            }
        }
        // An unknown node that is not reached cannot run: at most it disappears with its set.
        let reached: Vec<u32> = (0..)
            .zip(&distances)
            .filter(|(_, distance)| **distance != NOWHERE)
            .map(|(at, _)| at)
            .collect();
        let mut index = vec![NOWHERE; unknown_nodes.len()];
        for (at, place) in (0..).zip(&reached) {
            index[*place as usize] = at;
        }
        let between: Vec<(u32, u32)> = reads
            .iter()
            .map(|(read, reader)| (index[*read as usize], index[*reader as usize]))
            .filter(|(read, reader)| *read != NOWHERE && *reader != NOWHERE)
            .collect();
        let nodes: Vec<NodeId> = reached.iter().map(|place| unknown_nodes[*place as usize].0).collect();
        let distances: Vec<u32> = reached.iter().map(|place| distances[*place as usize]).collect();
        Ok(Self {
            readers: Readers::from_pairs(nodes.len(), &between),
            candidates: find_candidates(run, &nodes, &distances),
            certain,
            distances,
            nodes,
        })
    }

    /// Returns the distance from a node that runs without a changed input.
    pub(super) fn distance(&self, id: NodeId) -> Option<u32> {
        Some(self.distances[self.nodes.binary_search(&id).ok()?])
    }

    /// Returns by index which nodes are still reached if the outputs of `gate` do not change.
    fn reached_without(&self, gate: &[u32]) -> Vec<bool> {
        let mut reached = vec![false; self.nodes.len()];
        let shut = |at: u32| gate.binary_search(&at).is_ok();
        let mut todo: Vec<u32> = (0..)
            .zip(&self.distances)
            .filter(|(at, distance)| **distance == 0 && !shut(*at))
            .map(|(at, _)| at)
            .collect();
        for &at in &todo {
            reached[at as usize] = true;
        }
        while let Some(at) = todo.pop() {
            for &reader in self.readers.readers_of(at) {
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

    /// Returns the gates on the path to a node, the first one first.
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

    /// Returns the nodes that may but need not run, nearest first, then by label.
    pub(super) fn may_run(&self, graph: &Graph) -> Vec<Arc<str>> {
        let uncertain = self.distances.iter().zip(&self.nodes).filter(|(_, id)| !self.certain.contains(id));
        let mut nodes: Vec<(u32, Arc<str>)> = uncertain.map(|(distance, id)| (*distance, graph.node(*id).label.clone())).collect();
        nodes.sort();
        nodes.into_iter().map(|(_, label)| label).collect()
    }

    /// Returns the outlook, with the gates that protect at least two thirds of the nodes that may run.
    pub(super) fn outlook(&self, graph: &Graph, store: &dyn Store, view: ViewId) -> Result<RunForecast, EngineError> {
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
            .map(|(behind, nodes)| describe_gate(&self.ids(nodes), behind, graph, store, view));
        let mut will_run: Vec<Arc<str>> = self.certain.iter().map(|&id| graph.node(id).label.clone()).collect();
        will_run.sort();
        Ok(RunForecast {
            will_run,
            may_run,
            gates: gates.collect::<Result<_, _>>()?,
        })
    }
}

/// Describes a gate, with the history of its nodes' outputs.
pub(super) fn describe_gate(nodes: &[NodeId], behind: usize, graph: &Graph, store: &dyn Store, view: ViewId) -> Result<Gate, EngineError> {
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

#[cfg(test)]
mod tests {
    use super::Readers;

    #[test]
    fn readers_are_listed_by_node() {
        let readers = Readers::from_pairs(4, &[(2, 0), (0, 1), (2, 3), (0, 3)]);
        assert_eq!([0, 1, 2, 3].map(|node| readers.readers_of(node)), [&[1, 3][..], &[], &[0, 3], &[]]);
        assert!(Readers::from_pairs(0, &[]).ends.is_empty());
    }
}
