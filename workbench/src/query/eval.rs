//! Answering queries: patterns by a survey of the engine, sets and walks over its graph.

use super::{Expr, Operator, Query};
use engine::build::engine::EngineError;
use engine::build::file_path;
use engine::build::query::{Reach, Survey};
use engine::build::session::Session;
use engine::graph::NodeId;
use engine::graph::walk::Links;
use engine::values::diagnostic::Diagnostic;
use std::collections::BTreeSet;
use std::sync::Arc;

/// One node of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its number in the session's graph.
    pub id: NodeId,
    /// Its label.
    pub label: Arc<str>,
    /// Name of the implementation that makes it; `source` for files and sets.
    pub kind: String,
}

/// What a query came to.
#[derive(Debug, Default)]
pub struct Answer {
    /// The nodes, by label; those of a path in the order of the path.
    pub nodes: Vec<Node>,
    /// What reads what among them: indexes into `nodes`.
    pub edges: Vec<(usize, usize)>,
    /// Patterns that mean nothing or too much; then there are no nodes.
    pub refused: Vec<Diagnostic>,
    /// Sets that have to be built before the targets over them are known.
    pub unknown: Vec<Diagnostic>,
    /// How many nodes of the answer have inputs that are not known for certain.
    pub unsure: usize,
}

/// Answers a query.
///
/// # Errors
/// When the store cannot be read.
pub fn answer(session: &mut Session, query: &Query, edges: bool) -> Result<Answer, EngineError> {
    let reach = reach(&query.expr).max(if edges { Reach::Below } else { Reach::Named });
    let survey = session.survey(&query.patterns, reach)?;
    let mut answer = Answer {
        refused: survey.refused.clone(),
        unknown: survey.unknown.clone(),
        ..Answer::default()
    };
    if !answer.refused.is_empty() {
        return Ok(answer);
    }
    let links = Links::of(&session.graph);
    let evaluator = Evaluator {
        session,
        survey: &survey,
        links: &links,
    };
    let ids: Vec<NodeId> = match &query.expr {
        Expr::SomePath(from, to) => evaluator.path(from, to),
        expr => {
            let mut ids: Vec<NodeId> = evaluator.set(expr).into_iter().collect();
            ids.sort_by(|a, b| session.graph.node(*a).label.cmp(&session.graph.node(*b).label));
            ids
        }
    };
    let number: std::collections::BTreeMap<NodeId, usize> = ids.iter().copied().zip(0..).collect();
    answer.unsure = survey.unsure.iter().filter(|id| number.contains_key(id)).count();
    if edges {
        for (at, &id) in ids.iter().enumerate() {
            let reads: BTreeSet<usize> = session
                .graph
                .reads(id)
                .iter()
                .filter_map(|read| number.get(read).copied())
                .collect();
            answer.edges.extend(reads.into_iter().map(|read| (at, read)));
        }
    }
    answer.nodes = ids
        .iter()
        .map(|&id| Node {
            id,
            label: session.graph.node(id).label.clone(),
            kind: evaluator.kind(id),
        })
        .collect();
    Ok(answer)
}

fn reach(expr: &Expr) -> Reach {
    match expr {
        Expr::Pattern(_) => Reach::Named,
        Expr::Chain(first, others) => others.iter().map(|(_, other)| reach(other)).fold(reach(first), Reach::max),
        Expr::Kind(_, inner) => reach(inner),
        Expr::Deps(inner, _) => reach(inner).max(Reach::Below),
        Expr::SomePath(from, to) => reach(from).max(reach(to)).max(Reach::Below),
        Expr::Rdeps(..) => Reach::Everything,
    }
}

struct Evaluator<'a> {
    session: &'a Session,
    survey: &'a Survey,
    links: &'a Links,
}

impl Evaluator<'_> {
    fn set(&self, expr: &Expr) -> BTreeSet<NodeId> {
        match expr {
            Expr::Pattern(number) => self.survey.meant[*number].iter().copied().collect(),
            Expr::Chain(first, others) => others.iter().fold(self.set(first), |set, (operator, other)| {
                let other = self.set(other);
                match operator {
                    Operator::Union => &set | &other,
                    Operator::Except => &set - &other,
                    Operator::Intersect => &set & &other,
                }
            }),
            Expr::Deps(inner, depth) => walk(self.set(inner), *depth, |id| self.session.graph.reads(id)),
            Expr::Rdeps(inner, depth) => walk(self.set(inner), *depth, |id| self.links.readers(id).collect()),
            Expr::SomePath(from, to) => self.path(from, to).into_iter().collect(),
            Expr::Kind(wanted, inner) => self.set(inner).into_iter().filter(|&id| self.is_kind(id, wanted)).collect(),
        }
    }

    /// A shortest way, ends included; none when there is no way. Among equally short ones that over smaller numbers.
    fn path(&self, from: &Expr, to: &Expr) -> Vec<NodeId> {
        let goal = self.set(to);
        let mut came_from: std::collections::BTreeMap<NodeId, NodeId> = std::collections::BTreeMap::new();
        let mut queue: std::collections::VecDeque<NodeId> = self.set(from).into_iter().collect();
        came_from.extend(queue.iter().map(|&id| (id, id)));
        while let Some(at) = queue.pop_front() {
            if goal.contains(&at) {
                let mut path = vec![at];
                let mut step = at;
                while came_from[&step] != step {
                    step = came_from[&step];
                    path.push(step);
                }
                path.reverse();
                return path;
            }
            let reads: BTreeSet<NodeId> = self.session.graph.reads(at).into_iter().collect();
            for read in reads {
                came_from.entry(read).or_insert_with(|| {
                    queue.push_back(read);
                    at
                });
            }
        }
        Vec::new()
    }

    /// Whether the producer's implementation or the target's own name fits.
    fn is_kind(&self, id: NodeId, wanted: &str) -> bool {
        let label = &*self.session.graph.node(id).label;
        glob(wanted, &self.kind(id)) || label.rsplit_once(':').is_some_and(|(_, target)| glob(wanted, target))
    }

    fn kind(&self, id: NodeId) -> String {
        let label = &*self.session.graph.node(id).label;
        let rules = &self.session.rules;
        match rules.find(label).filter(|_| file_path(label).is_none()) {
            Some(found) => rules.manifest().producers[rules.rule(found.rule).producer as usize].uses.clone(),
            None => "source".to_owned(),
        }
    }
}

/// `start` and what is at most `depth` steps away.
fn walk(start: BTreeSet<NodeId>, depth: Option<u32>, next: impl Fn(NodeId) -> Vec<NodeId>) -> BTreeSet<NodeId> {
    let mut seen = start.clone();
    let mut front: Vec<NodeId> = start.into_iter().collect();
    let mut steps = 0;
    while !front.is_empty() && depth.is_none_or(|depth| steps < depth) {
        front = front.into_iter().flat_map(&next).filter(|id| seen.insert(*id)).collect();
        steps += 1;
    }
    seen
}

/// Whether `text` fits `pattern`, where `*` is any run of characters: on a mismatch the last star takes one character more.
fn glob(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
    let (mut p, mut t) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        match pattern.get(p) {
            Some(b'*') => {
                star = Some((p, t));
                p += 1;
            }
            Some(byte) if *byte == text[t] => {
                p += 1;
                t += 1;
            }
            _ => match star.as_mut() {
                Some((at, taken)) => {
                    *taken += 1;
                    (p, t) = (*at + 1, *taken);
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs() {
        for (pattern, text, fits) in [
            ("csharp/*", "csharp/outline", true),
            ("csharp/*", "command", false),
            ("*sem*", "semantic/role", true),
            ("command", "command", true),
            ("a*b*c", "a-b-b-d", false),
            ("**", "", true),
        ] {
            assert_eq!(glob(pattern, text), fits, "{pattern} {text}");
        }
    }

    #[test]
    fn walks_stop_at_their_depth() {
        let next = |id: NodeId| vec![NodeId(id.0 + 1)];
        let count = |depth| walk([NodeId(0)].into(), Some(depth), next).len();
        assert_eq!([count(0), count(1), count(5)], [1, 2, 6]);
    }
}
