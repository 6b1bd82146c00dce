//! Checking: a node that a change may reach is neither planned nor keyed until an input of it really changed.
//!
//! First settles the recorded edges that decide its inputs; if none changed, also its inputs and the tables that it reads rows of. So no node is
//! settled that this one no longer reads, and where outputs are unchanged the change stops (early cutoff).

use super::{NodeProgress, Run, Step};
use crate::graph::NodeId;

impl Run<'_> {
    /// Idle → Checking.
    pub(super) fn begin_check(&mut self, id: NodeId) {
        let edges = self.graph.node(id).edges.clone();
        let first: Vec<NodeId> = edges.map_or_else(Vec::new, |edges| {
            let deciding = edges.discovery.iter().copied();
            deciding.filter(|node| !edges.tables().any(|table| table == *node)).collect()
        });
        if !self.nodes.check_after(id, false, first.into_iter()) {
            self.nodes.add_step(Step::Check(id));
        }
    }

    /// Checking → Settled (nothing changed), Discovering (an input changed), or on to the inputs.
    pub(super) fn check(&mut self, id: NodeId) {
        let NodeProgress::Checking { inputs, .. } = *self.nodes.state_of(id) else {
            return;
        };
        if self.graph.is_stale(id) {
            self.nodes.change_state(id, NodeProgress::Idle);
            return self.start_node(id, false);
        }
        if !inputs {
            let edges = self.graph.node(id).edges.clone();
            // The nodes that decide its existence did not change, or this node would be stale.
            let inputs: Vec<NodeId> = edges.iter().flat_map(|edges| edges.tables().chain(edges.input_nodes())).collect();
            for &input in &inputs {
                if self.is_out_of_reach(input) {
                    self.mark_out_of_reach(input);
                }
            }
            if self.nodes.check_after(id, true, inputs.into_iter()) {
                return;
            }
        }
        if self.graph.has_result(id) {
            self.nodes.end(id, NodeProgress::OutOfReach);
        } else {
            self.nodes.change_state(id, NodeProgress::Idle);
            self.start_node(id, false);
        }
    }

    /// A node's output changed or disappeared: marks its direct readers stale.
    pub(super) fn mark_direct_readers(&mut self, id: NodeId) {
        if id.index() >= self.context.links.bound() {
            return;
        }
        let (links, label) = (self.context.links, self.graph.node(id).label.clone());
        for reader in links.readers(id) {
            self.mark_stale(reader, &label);
        }
    }
}
