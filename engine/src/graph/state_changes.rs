//! Changes that may affect the states of nodes. Without such a change, files that show states need no check.

use super::NodeId;
use rustc_hash::FxHashSet;

/// Changes since the graph was loaded, or since they were last forgotten.
#[derive(Clone, Debug, Default)]
pub struct StateChanges {
    /// Nodes whose output was replaced, added or removed.
    pub results: FxHashSet<NodeId>,
    /// Nodes that got their first output, or lost it.
    pub appeared: FxHashSet<NodeId>,
    /// Whether a node was removed.
    pub has_removed: bool,
    /// Whether a node was stale at the beginning: then its readers may have been, too. Marks of later changes are in no file until a commit.
    pub had_stale: bool,
}
