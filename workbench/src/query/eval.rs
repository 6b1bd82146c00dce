//! Evaluates expressions over a graph. The parser bounds the depth of expressions; walks keep their front on the heap.

use super::{Expr, Operator, QueryGraph};
use engine::build::engine::EngineError;
use engine::graph::NodeId;
use engine::graph::stale::NodeSet;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;

/// An evaluation in progress.
pub(super) struct Evaluation<'a, G> {
    pub(super) graph: &'a mut G,
    /// The values of bound names, by number.
    names: Vec<Rc<NodeSet>>,
}

impl<'a, G: QueryGraph> Evaluation<'a, G> {
    /// Creates the evaluation of a query with this number of `let` variables.
    pub(super) fn new(graph: &'a mut G, variables: usize) -> Self {
        Self {
            graph,
            names: vec![Rc::default(); variables],
        }
    }

    /// Returns the nodes in the order of the answer: that of a path, or else of the labels.
    pub(super) fn ordered_nodes(&mut self, expr: &Expr) -> Result<Vec<NodeId>, EngineError> {
        match expr {
            Expr::SomePath(from, to) => self.path(from, to),
            Expr::Let(name, value, body) => {
                self.names[*name] = Rc::new(self.set(value)?);
                self.ordered_nodes(body)
            }
            expr => {
                let set = self.set(expr)?;
                let mut labelled: Vec<(String, NodeId)> = set.iter().map(|id| (self.graph.label(id), id)).collect();
                labelled.sort_unstable();
                Ok(labelled.into_iter().map(|(_, id)| id).collect())
            }
        }
    }

    pub(super) fn set(&mut self, expr: &Expr) -> Result<NodeSet, EngineError> {
        Ok(match expr {
            Expr::Pattern(number) => self.graph.matched_nodes(*number).iter().copied().collect(),
            Expr::Variable(name) => (*self.names[*name]).clone(),
            Expr::Let(name, value, body) => {
                self.names[*name] = Rc::new(self.set(value)?);
                self.set(body)?
            }
            Expr::Chain(first, others) => {
                let mut set = self.set(first)?;
                for (operator, other) in others {
                    let other = self.set(other)?;
                    match operator {
                        Operator::Union => set.unite(&other),
                        Operator::Except => set.subtract(&other),
                        Operator::Intersect => set.intersect(&other),
                    }
                }
                set
            }
            Expr::Deps(inner, depth) => {
                let start = self.set(inner)?;
                walk(start, *depth, |id| self.graph.reads(id))
            }
            Expr::Rdeps { universe, of, depth } => {
                let within = match universe {
                    Some(universe) => Some(walk(self.set(universe)?, None, |id| self.graph.reads(id))),
                    None => None,
                };
                let start = self.set(of)?;
                self.readers(start, *depth, within.as_ref())
            }
            Expr::SomePath(from, to) => self.path(from, to)?.into_iter().collect(),
            Expr::AllPaths(from, to) => {
                let below = walk(self.set(from)?, None, |id| self.graph.reads(id));
                let goal = self.set(to)?;
                self.readers(goal, None, Some(&below))
            }
            Expr::Kind(test, inner) => {
                let set = self.set(inner)?;
                let target = |label: &str| label.rsplit_once(':').is_some_and(|(_, target)| test.passes(target));
                set.iter()
                    .filter(|&id| test.passes(&self.graph.kind(id)) || target(&self.graph.label(id)))
                    .collect()
            }
            Expr::Attr(attribute, test, inner) => {
                let set = self.set(inner)?;
                let fits = |id: &NodeId| self.graph.attribute(*id, attribute).is_some_and(|value| test.passes(&value));
                set.iter().filter(fits).collect()
            }
            Expr::Filter(test, inner) => {
                let set = self.set(inner)?;
                set.iter().filter(|&id| test.passes(&self.graph.label(id))).collect()
            }
            Expr::Stale(inner) => {
                let nodes: Vec<NodeId> = self.set(inner)?.iter().collect();
                self.graph.stale(&nodes)?.into_iter().collect()
            }
        })
    }

    /// Returns the transitive readers of the nodes, up to a depth, without leaving `within`.
    fn readers(&self, mut start: NodeSet, depth: Option<u32>, within: Option<&NodeSet>) -> NodeSet {
        if let Some(within) = within {
            start.intersect(within);
        }
        walk(start, depth, |id| {
            let mut readers = self.graph.readers(id);
            if let Some(within) = within {
                readers.retain(|&reader| within.contains(reader));
            }
            readers
        })
    }

    /// Returns a shortest path, ends included; empty if there is none. Among equally short paths, prefers lower node numbers.
    fn path(&mut self, from: &Expr, to: &Expr) -> Result<Vec<NodeId>, EngineError> {
        let (from, goal) = (self.set(from)?, self.set(to)?);
        let mut queue: VecDeque<NodeId> = from.iter().collect();
        let mut came_from: BTreeMap<NodeId, NodeId> = queue.iter().map(|&id| (id, id)).collect();
        while let Some(at) = queue.pop_front() {
            if goal.contains(at) {
                let mut path = vec![at];
                let mut step = at;
                while came_from[&step] != step {
                    step = came_from[&step];
                    path.push(step);
                }
                path.reverse();
                return Ok(path);
            }
            let reads: BTreeSet<NodeId> = self.graph.reads(at).into_iter().collect();
            for read in reads {
                came_from.entry(read).or_insert_with(|| {
                    queue.push_back(read);
                    at
                });
            }
        }
        Ok(Vec::new())
    }
}

/// Returns `start` and the nodes at most `depth` steps away.
fn walk(start: NodeSet, depth: Option<u32>, next: impl Fn(NodeId) -> Vec<NodeId>) -> NodeSet {
    let mut front: Vec<NodeId> = start.iter().collect();
    let mut seen = start;
    let mut steps = 0;
    while !front.is_empty() && depth.is_none_or(|depth| steps < depth) {
        front = front.into_iter().flat_map(&next).filter(|id| seen.set(*id, true)).collect();
        steps += 1;
    }
    seen
}
