//! The nodes of a graph by the rules that produce them, for answers that count all of them. The rule of a node follows from its label, which is read
//! from a page of records; a service caches the result as long as the graph has the same nodes.

use super::session::Session;
use crate::graph::NodeId;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// The nodes that are targets of rules, sorted by number.
#[derive(Debug, Default)]
pub struct RuledNodes {
    /// The nodes.
    pub ids: Vec<NodeId>,
    /// By node: the number of its rule.
    pub rules: Vec<u32>,
    /// By node: the value in its label of the first variable of its rule, as an index into `values`.
    pub value_of: Vec<u32>,
    /// All values of first variables, each once.
    pub values: Vec<Box<str>>,
}

impl Session {
    /// Returns the nodes that are targets of rules.
    pub fn ruled_nodes(&self) -> Arc<RuledNodes> {
        let memory = self.engine.graphs.as_ref().filter(|_| !self.graph.has_changed_links());
        if let Some(known) = memory.and_then(|memory| memory.ruled_nodes(&self.links, self.definition())) {
            return known;
        }
        let found = Arc::new(self.find_ruled_nodes());
        if let Some(memory) = memory.filter(|_| !self.graph.is_damaged()) {
            memory.remember_ruled_nodes(&self.links, *self.definition(), found.clone());
        }
        found
    }

    fn find_ruled_nodes(&self) -> RuledNodes {
        let mut found = RuledNodes::default();
        let mut places: FxHashMap<Box<str>, u32> = FxHashMap::default();
        self.graph.each_label(|id, label| {
            let Some(of) = self.rules.find(label) else { return };
            found.ids.push(id);
            found.rules.push(of.rule);
            let place = places.get(of.value).copied().unwrap_or_else(|| {
                let next = u32::try_from(found.values.len()).expect("invariant: fewer than 2^32 nodes");
                found.values.push(of.value.into());
                places.insert(of.value.into(), next);
                next
            });
            found.value_of.push(place);
        });
        found
    }
}
