//! Walks over the graph, on petgraph: readers, closures, paths, cycles.
//!
//! Only algorithms that keep their stack on the heap are used: chains of 100,000 nodes are ordinary (shared facts: `tarjan_scc`,
//! `is_cyclic_directed` and the recursive depth-first search overflow there).

use super::{Graph, NodeId};
use petgraph::Direction;
use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::visit::{Bfs, EdgeRef, Reversed};
use std::collections::VecDeque;

/// The edges of a [`Graph`] at one moment, as a petgraph: an edge runs from the reader to what it reads. Indices are node numbers.
pub struct Links {
    graph: DiGraph<(), (), u32>,
}

impl Links {
    /// The edges as they stand.
    pub fn of(graph: &Graph) -> Self {
        let mut edges = 0;
        graph.each_read(|_, _| edges += 1);
        let mut links = DiGraph::with_capacity(graph.bound(), edges);
        for _ in 0..graph.bound() {
            links.add_node(());
        }
        graph.each_read(|reader, read| {
            links.add_edge(NodeIndex::from(reader.0), NodeIndex::from(read.0), ());
        });
        Self { graph: links }
    }

    /// One more than the highest node number known here.
    pub fn bound(&self) -> usize {
        self.graph.node_count()
    }

    /// The nodes that read `id`, repeats possible; none for nodes newer than these links.
    pub fn readers(&self, id: NodeId) -> impl Iterator<Item = NodeId> {
        self.neighbours(id, Direction::Incoming)
    }

    /// The nodes that `id` reads, repeats possible.
    pub fn reads(&self, id: NodeId) -> impl Iterator<Item = NodeId> {
        self.neighbours(id, Direction::Outgoing)
    }

    fn neighbours(&self, id: NodeId, direction: Direction) -> impl Iterator<Item = NodeId> {
        let index = NodeIndex::from(id.0);
        self.graph.neighbors_directed(index, direction).map(number)
    }

    /// `from` and everything it reads, however far, in breadth-first order.
    pub fn dependencies(&self, from: NodeId) -> Vec<NodeId> {
        let mut walk = Bfs::new(&self.graph, NodeIndex::from(from.0));
        std::iter::from_fn(|| walk.next(&self.graph)).map(number).collect()
    }

    /// `from` and everything that reads it, however far, in breadth-first order.
    pub fn dependents(&self, from: NodeId) -> Vec<NodeId> {
        let reversed = Reversed(&self.graph);
        let mut walk = Bfs::new(reversed, NodeIndex::from(from.0));
        std::iter::from_fn(|| walk.next(reversed)).map(number).collect()
    }

    /// A shortest path from `from` to `to` along what is read, ends included.
    pub fn path(&self, from: NodeId, to: NodeId) -> Option<Vec<NodeId>> {
        let mut came_from: Vec<Option<u32>> = vec![None; self.graph.node_count()];
        let mut queue = VecDeque::from([from]);
        came_from[from.index()] = Some(from.0);
        while let Some(at) = queue.pop_front() {
            if at == to {
                let mut path = vec![to];
                let mut step = to;
                while step != from {
                    step = NodeId(came_from[step.index()].expect("invariant: visited nodes know whence"));
                    path.push(step);
                }
                path.reverse();
                return Some(path);
            }
            for edge in self.graph.edges(NodeIndex::from(at.0)) {
                let next = number(edge.target());
                if came_from[next.index()].is_none() {
                    came_from[next.index()] = Some(at.0);
                    queue.push_back(next);
                }
            }
        }
        None
    }

    /// How many nodes read `id` directly.
    pub fn reader_count(&self, id: NodeId) -> usize {
        self.readers(id).count()
    }
}

fn number(index: NodeIndex<u32>) -> NodeId {
    NodeId(u32::try_from(index.index()).expect("invariant: indices are 32 bits"))
}

/// One cycle of every group of `waiting` nodes that wait for each other, where `waits_for` gives the nodes that one waits for: each node once, the
/// first waits for the second and so on, the last for the first. Linear in nodes and edges.
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
        // Any walk inside a strongly connected component comes back to itself; follow smallest neighbours for a stable answer.
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
