//! The graph near one node, few enough nodes to be drawn, without a look at all others: what a page asks for while a person waits.

use super::near::neighbourhood;
use super::{State, distinct, state};
use crate::workspace::WorkbenchError;
use engine::build::session::Session;
use engine::graph::NodeId;
use engine::graph::walk::Links;
use std::collections::HashMap;
use std::sync::Arc;

/// A node to draw.
#[derive(Clone, Debug)]
pub struct NearNode {
    /// Its label.
    pub label: Arc<str>,
    /// How it stands.
    pub state: State,
    /// Nodes it reads that are not drawn.
    pub more_inputs: usize,
    /// Nodes that read it and are not drawn.
    pub more_readers: usize,
}

/// The nodes near one, and what reads what among them.
#[derive(Clone, Debug)]
pub struct NearGraph {
    /// The nodes; the first is the one that is looked at.
    pub nodes: Vec<NearNode>,
    /// From what is read to what reads it, as places in `nodes`.
    pub edges: Vec<(usize, usize)>,
    /// The way from the node to what marked it stale, as places in `nodes`; only itself when nothing did.
    pub way: Vec<usize>,
}

/// Chooses the nodes near a label; `None` when the graph does not have it. What is marked stale comes before what is not.
///
/// # Errors
/// When the store cannot be read.
pub fn draw_near(session: &mut Session, label: &str) -> Result<Option<NearGraph>, WorkbenchError> {
    let Some(focus) = session.graph.find(label) else {
        return Ok(None);
    };
    // A dry run settles what it looks at, so that the marks that tell why are read before.
    let marked: HashMap<NodeId, Option<NodeId>> = session.marked().into_iter().map(|mark| (mark.node, mark.via)).collect();
    let mut way = vec![focus.index()];
    let mut at = focus;
    while let Some(Some(via)) = marked.get(&at).copied() {
        way.push(via.index());
        at = via;
    }
    let links = Links::of(&session.graph);
    let id = |index: usize| NodeId(u32::try_from(index).unwrap_or(u32::MAX));
    let indexes = |nodes: Vec<NodeId>| -> Vec<usize> { distinct(nodes).into_iter().map(NodeId::index).collect() };
    let found = neighbourhood(
        focus.index(),
        &way,
        &|node| indexes(session.graph.reads(id(node))),
        &|node| indexes(links.readers(id(node)).collect()),
        &|node| marked.contains_key(&id(node)),
    );
    let place = |index: &usize| found.nodes.iter().position(|node| node == index);
    let way = way.iter().filter_map(place).collect();
    let ids: Vec<NodeId> = found.nodes.iter().copied().map(id).collect();
    let states = states(session, &ids)?;
    let nodes = ids.iter().zip(states).zip(&found.more);
    Ok(Some(NearGraph {
        nodes: nodes
            .map(|((&id, state), &(more_inputs, more_readers))| NearNode {
                label: session.graph.node(id).label.clone(),
                state,
                more_inputs,
                more_readers,
            })
            .collect(),
        edges: found.edges,
        way,
    }))
}

/// How nodes stand; sources are told from what is made.
fn states(session: &mut Session, ids: &[NodeId]) -> Result<Vec<State>, WorkbenchError> {
    let is_made = |id: &NodeId| session.rules.find(&session.graph.node(*id).label).is_some();
    let made: Vec<NodeId> = ids.iter().copied().filter(is_made).collect();
    let standings = session.standings(&made)?.0;
    let by_id: HashMap<NodeId, State> = made
        .into_iter()
        .zip(standings.into_iter().map(|standing| state(standing.state)))
        .collect();
    let of = |id: &NodeId| match by_id.get(id) {
        Some(state) => *state,
        None if session.origins.contains(id) => State::Moved,
        None => State::Source,
    };
    Ok(ids.iter().map(of).collect())
}
