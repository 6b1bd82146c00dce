//! What changed since the run started, and which nodes a change may reach.

use crate::graph::NodeId;
use crate::graph::stale::NodeSet;
use crate::values::pages::Change;
use rustc_hash::FxHashMap;

/// Changed outputs and rows of a run, and the reach of changes.
pub(super) struct OutputChanges {
    /// Nodes that a change may reach; computed when nodes are first requested.
    maybe_stale: NodeSet,
    /// Nodes that were stale when the run started.
    left_stale: NodeSet,
    /// Nodes whose output changed since the run started.
    changed_outputs: NodeSet,
    /// Changed tables with all affected readers marked.
    marked_by_row: NodeSet,
    /// Changed rows of the workspace's tables and sets.
    changed_rows: FxHashMap<NodeId, Vec<(String, Change)>>,
}

impl OutputChanges {
    /// `left_stale`: the nodes that are stale when the run starts.
    pub(super) fn new(left_stale: NodeSet) -> Self {
        Self {
            maybe_stale: NodeSet::default(),
            left_stale,
            changed_outputs: NodeSet::default(),
            marked_by_row: NodeSet::default(),
            changed_rows: FxHashMap::default(),
        }
    }

    /// Sets the nodes that a change may reach.
    pub(super) fn set_reach(&mut self, maybe_stale: NodeSet) {
        self.maybe_stale = maybe_stale;
    }

    pub(super) fn may_reach(&self, id: NodeId) -> bool {
        self.maybe_stale.contains(id)
    }

    /// Whether a node was stale when the run started.
    pub(super) fn was_left_stale(&self, id: NodeId) -> bool {
        self.left_stale.contains(id)
    }

    pub(super) fn add_changed_output(&mut self, id: NodeId) {
        self.changed_outputs.set(id, true);
    }

    /// Whether the output of a settled node changed.
    pub(super) fn has_output_changed(&self, id: NodeId) -> bool {
        self.changed_outputs.contains(id)
    }

    /// Notes whether all affected readers of a changed table are marked.
    pub(super) fn set_marked_by_row(&mut self, id: NodeId, is_marked: bool) {
        self.marked_by_row.set(id, is_marked);
    }

    pub(super) fn is_marked_by_row(&self, id: NodeId) -> bool {
        self.marked_by_row.contains(id)
    }

    /// Sets the changed rows of a table or set; `None` if they are not known.
    pub(super) fn set_rows(&mut self, id: NodeId, rows: Option<Vec<(String, Change)>>) {
        match rows {
            Some(rows) => drop(self.changed_rows.insert(id, rows)),
            None => drop(self.changed_rows.remove(&id)),
        }
    }

    /// Returns the changed rows of a table or set, if known.
    pub(super) fn rows_of(&self, id: NodeId) -> Option<&[(String, Change)]> {
        self.changed_rows.get(&id).map(Vec::as_slice)
    }

    /// Takes the changed rows of all tables and sets whose affected readers are marked.
    pub(super) fn take_marked_rows(&mut self) -> impl Iterator<Item = (NodeId, Vec<(String, Change)>)> {
        let changed = std::mem::take(&mut self.changed_rows).into_iter();
        changed.filter(|(id, _)| self.marked_by_row.contains(*id))
    }
}
