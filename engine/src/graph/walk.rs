//! Walks over the graph: readers, spreading of marks, and cycles, which petgraph finds.
//!
//! Only algorithms of petgraph that keep their stack on the heap are used: chains of 100,000 nodes are ordinary, and `tarjan_scc`,
//! `is_cyclic_directed` and the recursive depth-first search overflow there.

use super::stale::NodeSet;
use super::{Graph, NodeId, Skeleton, StoredReads};
use petgraph::graph::{DiGraph, NodeIndex};
use std::iter::{Copied, Rev};
use std::slice;
use std::sync::{Arc, Mutex, PoisonError};

/// The readers of each node of a [`Graph`] at one moment, in one array. Every build that does anything creates it, so it is as small as
/// possible.
#[derive(Clone)]
pub struct Links {
    /// By node: start of its readers; at the end, the end of the last ones.
    starts: Arc<Vec<u32>>,
    readers: Arc<Vec<NodeId>>,
    /// The last question of [`Links::spread`] with its answer: builds of one session ask it again and again.
    last_spread: Arc<Mutex<Option<(NodeSet, NodeSet)>>>,
}

type Readers<'a> = Copied<Rev<slice::Iter<'a, NodeId>>>;

impl Links {
    /// Reads the present edges.
    pub fn from_graph(graph: &Graph) -> Self {
        let mut present = StoredReads::default();
        for reader in (0u32..).map(NodeId).take(graph.bound()) {
            graph.each_read(reader, |read| present.reads.push(read));
            present.ends.push(present.reads.len() as u32);
        }
        Self::from_reads(&present, graph.bound())
    }

    /// Reads the edges of a graph as loaded.
    pub fn from_skeleton(skeleton: &Skeleton) -> Self {
        Self::from_reads(&skeleton.stored, skeleton.briefs.len())
    }

    fn from_reads(stored: &StoredReads, bound: usize) -> Self {
        // Count one place further on, then sum up: a node's entry is then the start of its readers.
        let mut starts = vec![0_u32; bound + 2];
        for read in &stored.reads {
            starts[read.index() + 2] += 1;
        }
        for at in 2..starts.len() {
            starts[at] += starts[at - 1];
        }
        let mut readers = vec![NodeId(0); stored.reads.len()];
        for reader in (0u32..).map(NodeId).take(bound) {
            for read in stored.reads(reader) {
                // Position of its next reader; finally the start of the next node's readers.
                let next = &mut starts[read.index() + 1];
                readers[*next as usize] = reader;
                *next += 1;
            }
        }
        starts.pop();
        Self {
            starts: starts.into(),
            readers: readers.into(),
            last_spread: Arc::default(),
        }
    }

    /// Returns the highest known node number plus one.
    pub fn bound(&self) -> usize {
        self.starts.len() - 1
    }

    /// Returns the readers of `id`, the last one first, repeats possible; none for nodes newer than these links.
    pub fn readers(&self, id: NodeId) -> Readers<'_> {
        let range = match self.starts.get(id.index()..id.index() + 2) {
            Some(&[start, end]) => start as usize..end as usize,
            _ => 0..0,
        };
        self.readers[range].iter().rev().copied()
    }

    /// Returns the nodes of `from` and their direct and indirect readers.
    pub(super) fn spread(&self, from: &NodeSet) -> NodeSet {
        let mut last = self.last_spread.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, reached)) = last.as_ref().filter(|(asked, _)| asked == from) {
            return reached.clone();
        }
        let reached = self.spread_past(from, |_| false);
        *last = Some((from.clone(), reached.clone()));
        reached
    }

    /// As [`Links::spread`], but follows only edges between nodes for which `ends` is false.
    pub(super) fn spread_past(&self, from: &NodeSet, ends: impl Fn(NodeId) -> bool) -> NodeSet {
        let mut reached = from.clone();
        // A build that changes anything reaches most nodes, so this walk is as simple as possible.
        let mut open: Vec<NodeId> = from.iter().filter(|&id| !ends(id)).collect();
        while let Some(id) = open.pop() {
            for reader in self.readers(id) {
                if !ends(reader) && reached.set(reader, true) {
                    open.push(reader);
                }
            }
        }
        reached
    }

    /// Whether these are the same links in memory, not only equal ones.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.starts, &other.starts)
    }

    /// Returns the number of direct readers of `id`.
    pub fn reader_count(&self, id: NodeId) -> usize {
        self.readers(id).len()
    }
}

/// Returns one cycle of every group of `waiting` nodes that wait for each other. `waits_for` returns the nodes that one waits for; a cycle lists
/// each node once, the first waits for the second and so on, the last for the first. Linear in nodes and edges.
pub fn cycles(waiting: &[NodeId], waits_for: &dyn Fn(NodeId) -> Vec<NodeId>) -> Vec<Vec<NodeId>> {
    let number: rustc_hash::FxHashMap<NodeId, usize> = waiting.iter().copied().zip(0..).collect();
    let mut graph: DiGraph<(), (), u32> = DiGraph::with_capacity(waiting.len(), waiting.len());
    for _ in waiting {
        graph.add_node(());
    }
    for &node in waiting {
        for target in waits_for(node) {
            if let Some(&target) = number.get(&target) {
                graph.add_edge(NodeIndex::new(number[&node]), NodeIndex::new(target), ());
            }
        }
    }
    let components = petgraph::algo::kosaraju_scc(&graph);
    let mut component_of = vec![0; waiting.len()];
    for (at, component) in components.iter().enumerate() {
        component.iter().for_each(|node| component_of[node.index()] = at);
    }
    let mut cycles: Vec<Vec<NodeIndex<u32>>> = Vec::new();
    let mut place: Vec<Option<usize>> = vec![None; waiting.len()];
    for component in &components {
        let first = *component.iter().min().expect("invariant: a component has a node");
        // Any walk inside a strongly connected component returns to a node of it; follow smallest neighbours for a stable answer.
        let mut path = vec![first];
        place[first.index()] = Some(0);
        while let Some(next) = path.last().and_then(|&at| {
            graph
                .neighbors(at)
                .filter(|next| component_of[next.index()] == component_of[at.index()])
                .min()
        }) {
            if let Some(start) = place[next.index()] {
                cycles.push(path.split_off(start));
                break;
            }
            place[next.index()] = Some(path.len());
            path.push(next);
        }
    }
    cycles.sort_unstable_by_key(|cycle| cycle.iter().min().copied());
    cycles
        .into_iter()
        .map(|cycle| cycle.into_iter().map(|node| waiting[node.index()]).collect())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Edges, PlanDigest};
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn marks_reach_all_readers(
            edges in proptest::collection::vec((0u32..40, 0u32..40), 0..80),
            marked in proptest::collection::vec(0u32..60, 0..4),
            ended in proptest::collection::btree_set(0u32..40, 0..20),
        ) {
            let mut graph = Graph::default();
            for n in 0..40 {
                graph.intern(&format!("//n/{n}:x"));
            }
            for reader in 0..40 {
                let discovery = edges.iter().filter(|(from, _)| *from == reader).map(|(_, to)| NodeId(*to)).collect();
                graph.rewire(NodeId(reader), Edges { plan: PlanDigest::default(), discovery, inputs: [].into() });
            }
            let links = Links::from_graph(&graph);
            let mut all: Vec<(u32, u32)> = (0..60).flat_map(|id| links.readers(NodeId(id)).map(move |reader| (reader.0, id))).collect();
            all.sort_unstable();
            let mut wanted = edges.clone();
            wanted.sort_unstable();
            prop_assert_eq!(all, wanted);
            let mut set = NodeSet::default();
            for &id in &marked {
                set.set(NodeId(id), true);
            }
            let mut reached: BTreeSet<u32> = marked.iter().copied().collect();
            for _ in 0..40 {
                reached.extend(edges.iter().filter(|(_, to)| reached.contains(to)).map(|(from, _)| *from).collect::<Vec<_>>());
            }
            prop_assert_eq!(links.spread(&set).iter().map(|id| id.0).collect::<Vec<_>>(), reached.into_iter().collect::<Vec<_>>());
            let mut reached: BTreeSet<u32> = marked.iter().copied().collect();
            for _ in 0..40 {
                let open = edges.iter().filter(|(from, to)| reached.contains(to) && !ended.contains(from) && !ended.contains(to));
                reached.extend(open.map(|(from, _)| *from).collect::<Vec<_>>());
            }
            let past = links.spread_past(&set, |id| ended.contains(&id.0));
            prop_assert_eq!(past.iter().map(|id| id.0).collect::<Vec<_>>(), reached.into_iter().collect::<Vec<_>>());
        }
    }

    #[test]
    fn cycles_are_found_on_long_chains() {
        let nodes: Vec<NodeId> = (0..100_000).map(NodeId).collect();
        let chain = |node: NodeId| vec![NodeId(node.0 + 1)];
        assert_eq!(cycles(&nodes, &chain), Vec::<Vec<NodeId>>::new());
        let lasso = |node: NodeId| vec![NodeId(if node.0 == 99_999 { 99_997 } else { node.0 + 1 })];
        assert_eq!(cycles(&nodes, &lasso), vec![vec![NodeId(99_997), NodeId(99_998), NodeId(99_999)]]);
        let ring = |node: NodeId| vec![NodeId((node.0 + 1) % 100_000)];
        assert_eq!(cycles(&nodes, &ring), vec![nodes.clone()]);
        let pairs = |node: NodeId| vec![NodeId(node.0 ^ 1)];
        assert_eq!(cycles(&nodes, &pairs).len(), 50_000);
    }
}
