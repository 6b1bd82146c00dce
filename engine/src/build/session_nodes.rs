//! What a session tells about its nodes and its refresh as a whole.

use super::ruled_nodes::RuledNodes;
use super::session::Session;
use super::watch_state::Moment;
use std::sync::Arc;

impl Session {
    /// Returns the nodes that are targets of rules.
    pub fn ruled_nodes(&self) -> Arc<RuledNodes> {
        let memory = self.engine.graphs.as_ref();
        let has_changed = self.graph.has_changed_links();
        let former = memory.and_then(|memory| memory.ruled_nodes(self.definition()));
        if let Some((links, known)) = &former
            && !has_changed
            && links.is_same(&self.links)
        {
            return known.clone();
        }
        let found = Arc::new(RuledNodes::from_graph(
            &self.graph,
            &self.rules,
            former.as_ref().map(|(_, known)| &**known),
        ));
        if let Some(memory) = memory.filter(|_| !has_changed && !self.graph.is_damaged()) {
            memory.remember_ruled_nodes(&self.links, *self.definition(), found.clone());
        }
        found
    }

    /// Returns the moment of this session's refresh; `None` without a watcher, or if it does not cover all sources.
    pub fn moment(&self) -> Option<Moment> {
        let token = self.watch_update.token.clone()?;
        let is_covered = !self.sources.tree_facts().odd;
        is_covered.then(|| Moment::new(self.engine.world.clone(), self.state.set_defs().into(), token.into()))
    }
}
