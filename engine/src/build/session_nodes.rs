//! What a session tells about its nodes and its refresh as a whole.

use super::ruled_nodes::RuledNodes;
use super::session::Session;
use super::watch_state::Moment;
use rustc_hash::FxHashMap;
use std::sync::Arc;

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

    /// Returns the moment of this session's refresh; `None` without a watcher, or if it does not cover all sources.
    pub fn moment(&self) -> Option<Moment> {
        let token = self.watch_update.token.clone()?;
        let is_covered = !self.sources.tree_facts().odd;
        is_covered.then(|| Moment::new(self.engine.world.clone(), self.state.set_defs().into(), token.into()))
    }
}
