//! The graph near one node, with few nodes, computed without reading all others: for a page for which a person waits.

use super::drawn_nodes::neighbourhood;
use super::{DrawnState, distinct, reported_state};
use crate::error::WorkbenchError;
use engine::build::session::Session;
use engine::graph::NodeId;
use engine::graph::walk::Links;
use std::collections::HashMap;
use std::sync::Arc;

/// A node to draw.
#[derive(Clone, Debug)]
pub struct NearNode {
    pub label: Arc<str>,
    pub state: DrawnState,
    /// Number of inputs of the node that are not drawn.
    pub more_inputs: usize,
    /// Number of readers of the node that are not drawn.
    pub more_readers: usize,
}

/// The nodes near one, with the edges among them.
#[derive(Clone, Debug)]
pub struct NearGraph {
    /// The nodes; the first is the focus.
    pub nodes: Vec<NearNode>,
    /// Edges from an input to its reader, as indices of `nodes`.
    pub edges: Vec<(usize, usize)>,
    /// The path from the node to the node that marked it stale, as indices of `nodes`; only itself when it is not marked.
    pub way: Vec<usize>,
}

/// Chooses the nodes near a label; `None` when the graph does not have it. Marked nodes come first.
pub fn draw_near(session: &mut Session, label: &str) -> Result<Option<NearGraph>, WorkbenchError> {
    let Some(focus) = session.graph.find(label) else {
        return Ok(None);
    };
    // A dry run settles the nodes that it visits, so read the marks with their causes first.
    let marked: HashMap<NodeId, Option<NodeId>> = session.marked().into_iter().map(|mark| (mark.node, mark.via)).collect();
    let mut way = vec![focus.index()];
    let mut at = focus;
    while let Some(Some(via)) = marked.get(&at).copied() {
        way.push(via.index());
        at = via;
    }
    let links = Links::from_graph(&session.graph);
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

/// Returns the states of nodes; sources have states of their own.
fn states(session: &mut Session, ids: &[NodeId]) -> Result<Vec<DrawnState>, WorkbenchError> {
    let is_made = |id: &NodeId| session.rules.find(&session.graph.node(*id).label).is_some();
    let made: Vec<NodeId> = ids.iter().copied().filter(is_made).collect();
    let statuses = session.statuses_and_outlook(&made)?.0;
    let by_id: HashMap<NodeId, DrawnState> = made
        .into_iter()
        .zip(statuses.into_iter().map(|status| reported_state(status.state)))
        .collect();
    let of = |id: &NodeId| match by_id.get(id) {
        Some(state) => *state,
        None if session.origins.contains(id) => DrawnState::Moved,
        None => DrawnState::Source,
    };
    Ok(ids.iter().map(of).collect())
}
