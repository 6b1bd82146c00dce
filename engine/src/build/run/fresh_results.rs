//! Results that people request although others are stored: fresh ones, invalidated ones, and those rebuilt for comparison.

use super::Run;
use crate::build::invalidated::InvalidatedResult;
use crate::graph::NodeId;
use crate::store::StoreError;
use crate::values::digest::ActionKey;

impl Run<'_> {
    /// Whether a person requested a new result although one is cached.
    pub(super) fn is_fresh(&self, id: NodeId) -> bool {
        let has_any = !self.context.options.fresh.is_empty() || !self.context.options.invalidated.is_empty();
        has_any && (self.context.options.fresh.contains(&*self.graph.node(id).label) || self.invalidated(id).is_some())
    }

    /// Marks the nodes for which a new answer is requested as stale, because it may change the outputs of their readers.
    pub(super) fn mark_requested(&mut self, wanted: &[NodeId]) {
        if self.context.options.fresh.is_empty() && self.context.options.invalidated.is_empty() {
            return;
        }
        for &id in wanted {
            if self.is_fresh(id) && self.nodes.is_idle(id) {
                self.graph.set_stale(id, true);
            }
        }
    }

    /// Returns the mark with which a person invalidated a node's result.
    pub(super) fn invalidated(&self, id: NodeId) -> Option<InvalidatedResult> {
        self.context.options.invalidated.get(&*self.graph.node(id).label).copied()
    }

    /// Whether the result stored under a key does not serve a node: a person requested another one, and no process has built it yet.
    pub(super) fn is_unwanted(&self, id: NodeId, key: &ActionKey) -> Result<bool, StoreError> {
        if !self.is_fresh(id) || self.context.options.fresh.contains(&*self.graph.node(id).label) {
            return Ok(self.is_fresh(id));
        }
        let result = self
            .context
            .store
            .action(key)?
            .map(|record| InvalidatedResult::from_result(key, &record));
        Ok(result.is_some() && result == self.invalidated(id))
    }

    /// Whether a node is rebuilt to compare the outputs.
    pub(super) fn is_rebuilt(&self, id: NodeId) -> bool {
        !self.context.options.rebuilt.is_empty() && self.context.options.rebuilt.contains(&*self.graph.node(id).label)
    }
}
