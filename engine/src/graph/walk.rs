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
        let edges = graph.iter().map(|(_, node)| node.reads().count()).sum();
        let mut links = DiGraph::with_capacity(graph.bound(), edges);
        for _ in 0..graph.bound() {
            links.add_node(());
        }
        for (id, node) in graph.iter() {
            for read in node.reads() {
                links.add_edge(NodeIndex::from(id.0), NodeIndex::from(read.0), ());
            }
        }
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

/// A cycle among `waiting`, where `waits_for` gives the nodes that one waits for: each node once, the first waits for the second and so on, the last
/// for the first. `None` when there is none.
pub fn cycle(waiting: &[NodeId], waits_for: &dyn Fn(NodeId) -> Vec<NodeId>) -> Option<Vec<NodeId>> {
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
    let component = petgraph::algo::kosaraju_scc(&graph)
        .into_iter()
        .filter(|component| component.len() > 1 || graph.contains_edge(component[0], component[0]))
        .min_by_key(|component| component.iter().map(|node| node.index()).min())?;
    // Any walk inside a strongly connected component comes back to itself; follow smallest neighbours for a stable answer.
    let mut path: Vec<NodeIndex<u32>> = vec![*component.iter().min()?];
    loop {
        let at = *path.last()?;
        let next = graph.neighbors(at).filter(|next| component.contains(next)).min()?;
        if let Some(start) = path.iter().position(|seen| *seen == next) {
            return Some(path[start..].iter().map(|node| waiting[node.index()]).collect());
        }
        path.push(next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cycles_are_found_on_long_chains() {
        let nodes: Vec<NodeId> = (0..100_000).map(NodeId).collect();
        let chain = |node: NodeId| vec![NodeId(node.0 + 1)];
        assert_eq!(cycle(&nodes, &chain), None);
        let lasso = |node: NodeId| vec![NodeId(if node.0 == 99_999 { 99_997 } else { node.0 + 1 })];
        assert_eq!(cycle(&nodes, &lasso), Some(vec![NodeId(99_997), NodeId(99_998), NodeId(99_999)]));
    }
}
