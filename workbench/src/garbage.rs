//! Garbage: what a store holds that this checkout does not reach. A first cut that only counts.

use crate::workspace::{WorkbenchError, Workspace};
use engine::build::session::Session;
use engine::store::{Garbage, Inventory, Usage, superseded};
use engine::values::digest::{ActionKey, Digest};
use std::collections::HashSet;

/// What there is and what nothing of this checkout holds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sweep {
    /// What the store holds.
    pub usage: Usage,
    /// What neither a node of this checkout nor a version in its History reaches. Other checkouts that share the store are not asked.
    pub unreached: Garbage,
}

/// Counts; `None` when there is no store on disk.
///
/// # Errors
/// When the store cannot be read.
pub fn count(workspace: &Workspace, session: &Session) -> Result<Option<Sweep>, WorkbenchError> {
    let Some(disk) = &workspace.disk else { return Ok(None) };
    let mut actions: HashSet<ActionKey> = HashSet::new();
    let mut blobs: HashSet<Digest> = HashSet::new();
    for (_, node) in session.graph.iter() {
        if let Some(filed) = node.result {
            actions.insert(filed.key);
            blobs.insert(filed.output);
        }
        for version in session.engine.store.history(session.engine.view, &node.label)? {
            actions.insert(version.key);
            actions.insert(superseded::key_of(&version.key, &version.output));
            blobs.insert(version.output);
        }
    }
    let unreached = disk.garbage(&|key| actions.contains(key), &|digest| blobs.contains(digest))?;
    Ok(Some(Sweep {
        usage: disk.usage()?,
        unreached,
    }))
}
