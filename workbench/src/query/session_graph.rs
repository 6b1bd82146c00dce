//! Answers queries from a session: patterns by a survey of the engine, sets and walks over its graph.

use super::eval::Evaluation;
use super::{Attribute, Expr, Query, QueryGraph};
use crate::paid::is_paid;
use engine::build::engine::EngineError;
use engine::build::file_path;
use engine::build::query::{Reach, Survey};
use engine::build::redefinition::template_text;
use engine::build::session::Session;
use engine::graph::NodeId;
use engine::graph::walk::Links;
use engine::values::diagnostic::Diagnostic;
use serde_json::Value;
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A node of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryNode {
    /// Number of the node in the session's graph.
    pub id: NodeId,
    pub label: Arc<str>,
    /// Name of the implementation that builds the node; `source` for files and sets.
    pub kind: String,
}

#[derive(Debug, Default)]
pub struct QueryResult {
    /// The nodes, by label; those of a path in the order of the path.
    pub nodes: Vec<QueryNode>,
    /// Edges among the nodes, from reader to input: indices of `nodes`.
    pub edges: Vec<(usize, usize)>,
    /// Patterns that match nothing or too much; then there are no nodes.
    pub refused: Vec<Diagnostic>,
    /// Sets that have to be built before the targets over them are known.
    pub unknown: Vec<Diagnostic>,
    /// Number of nodes of the answer whose inputs are not certain.
    pub unsure: usize,
}

pub fn answer(session: &mut Session, query: &Query, edges: bool) -> Result<QueryResult, EngineError> {
    let reach = reach(&query.expr).max(if edges { Reach::Below } else { Reach::Named });
    let survey = session.survey(&query.patterns, reach)?;
    let mut answer = QueryResult {
        refused: survey.refused.clone(),
        unknown: survey.unknown.clone(),
        ..QueryResult::default()
    };
    if !answer.refused.is_empty() {
        return Ok(answer);
    }
    let mut graph = SessionGraph {
        session,
        survey: &survey,
        links: OnceCell::new(),
    };
    let ids = Evaluation::new(&mut graph, query.variables).ordered_nodes(&query.expr)?;
    let number: BTreeMap<NodeId, usize> = ids.iter().copied().zip(0..).collect();
    answer.unsure = survey.unsure.iter().filter(|id| number.contains_key(id)).count();
    if edges {
        for (at, &id) in ids.iter().enumerate() {
            let reads = graph.reads(id);
            let reads: BTreeSet<usize> = reads.iter().filter_map(|read| number.get(read).copied()).collect();
            answer.edges.extend(reads.into_iter().map(|read| (at, read)));
        }
    }
    let node = |&id: &NodeId| QueryNode {
        id,
        label: graph.session.graph.node(id).label.clone(),
        kind: graph.kind(id),
    };
    answer.nodes = ids.iter().map(node).collect();
    Ok(answer)
}

/// Returns how far a survey must reach for an expression. The parser bounds the nesting of expressions.
fn reach(expr: &Expr) -> Reach {
    match expr {
        Expr::Pattern(_) | Expr::Variable(_) => Reach::Named,
        Expr::Chain(first, others) => others.iter().map(|(_, other)| reach(other)).fold(reach(first), Reach::max),
        Expr::Kind(_, inner) | Expr::Attr(_, _, inner) | Expr::Filter(_, inner) | Expr::Stale(inner) => reach(inner),
        Expr::Let(_, value, body) => reach(value).max(reach(body)),
        Expr::Deps(inner, _) => reach(inner).max(Reach::Below),
        Expr::SomePath(from, to) | Expr::AllPaths(from, to) => reach(from).max(reach(to)).max(Reach::Below),
        Expr::Rdeps { universe: None, .. } => Reach::Everything,
        Expr::Rdeps {
            universe: Some(universe),
            of,
            ..
        } => reach(universe).max(reach(of)).max(Reach::Below),
    }
}

struct SessionGraph<'a> {
    session: &'a mut Session,
    survey: &'a Survey,
    links: OnceCell<Links>,
}

impl QueryGraph for SessionGraph<'_> {
    fn matched_nodes(&self, pattern: usize) -> &[NodeId] {
        &self.survey.targets[pattern]
    }

    fn reads(&self, id: NodeId) -> Vec<NodeId> {
        self.session.graph.reads(id)
    }

    fn readers(&self, id: NodeId) -> Vec<NodeId> {
        self.links
            .get_or_init(|| Links::from_graph(&self.session.graph))
            .readers(id)
            .collect()
    }

    fn label(&self, id: NodeId) -> String {
        self.session.graph.node(id).label.to_string()
    }

    fn kind(&self, id: NodeId) -> String {
        let uses = self.attribute(id, &Attribute::Uses);
        uses.expect("invariant: every node has this attribute")
    }

    fn attribute(&self, id: NodeId, attribute: &Attribute) -> Option<String> {
        let label = &*self.session.graph.node(id).label;
        let (package, target) = label.rsplit_once(':').unwrap_or((label, ""));
        match attribute {
            Attribute::Package => return Some(package.to_owned()),
            Attribute::Target => return Some(target.to_owned()),
            _ => {}
        }
        let rules = &self.session.rules;
        let Some(found) = rules.find(label).filter(|_| file_path(label).is_none()) else {
            return (*attribute == Attribute::Uses).then(|| "source".to_owned());
        };
        let rule = rules.rule(found.rule);
        let producer = &rules.manifest().producers[rule.producer as usize];
        Some(match attribute {
            Attribute::Package | Attribute::Target => return None,
            Attribute::Uses => producer.uses.clone(),
            Attribute::Producer => producer.name.clone(),
            Attribute::Version => self.session.engine.registry.get(&producer.uses)?.id().to_string(),
            Attribute::Rule => template_text(&rule.target),
            Attribute::Out => template_text(&rule.out.as_ref()?.path),
            Attribute::Paid => is_paid(self.session, label).to_string(),
            Attribute::Param(name) => match producer.params.get(name)? {
                Value::String(text) => text.clone(),
                value => value.to_string(),
            },
            Attribute::Var(name) => rules.vars(found.rule, found.value).get(name.as_str())?.to_string(),
        })
    }

    fn stale(&mut self, nodes: &[NodeId]) -> Result<Vec<NodeId>, EngineError> {
        self.session.outdated(nodes)
    }
}
