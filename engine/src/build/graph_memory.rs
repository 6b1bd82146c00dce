//! Cache of the last graph that this process's sessions loaded, and of pages of outputs that they read. A service opens a session per request; while
//! the stored graph stays the same, its link rows are decoded only once.
//!
//! Invariant: the cached graph is identified by a digest that determines its rows, so it fits any store with these rows. The digest is that of
//! all rows, or of an earlier digest and the rows changed since. The state of the checkout stores it, so that unchanged rows need not be read. A
//! row has only 32 bits of the digest of each label: labels kept for a graph serve counts, never keys.

use super::blobs::PageMemory;
use super::ruled_nodes::RuledNodes;
use super::state::State;
use crate::graph::Skeleton;
use crate::graph::lookups::SharedLookups;
use crate::graph::walk::Links;
use crate::seams::world::RowEdits;
use crate::store::{Row, Store, ViewId};
use crate::values::digest::Digest;
use std::sync::{Arc, Mutex, PoisonError};

/// Nodes by rule, with the links of their graph and the digest of the manifest and ruleset texts.
type KnownRules = (Links, Digest, Arc<RuledNodes>);

/// The last graph, shared by the engines of one process.
#[derive(Clone, Default)]
pub struct GraphMemory {
    last: Arc<Mutex<Option<(Digest, Skeleton, Links)>>>,
    ruled: Arc<Mutex<Option<KnownRules>>>,
    /// The rows of lookups of one stored graph, which a digest identifies.
    lookups: Arc<Mutex<(Option<Digest>, SharedLookups)>>,
    pages: PageMemory,
}

impl GraphMemory {
    /// Returns the pages of outputs that were read.
    pub(super) fn pages(&self) -> PageMemory {
        self.pages.clone()
    }

    /// Returns the rows of lookups that were read of a stored graph, with its digest of [`stored_graph_digest`]. Forgets those of another one.
    pub(super) fn lookups(&self, graph: Digest) -> SharedLookups {
        let mut lookups = self.lookups.lock().unwrap_or_else(PoisonError::into_inner);
        if lookups.0 != Some(graph) {
            *lookups = (Some(graph), SharedLookups::default());
        }
        lookups.1.clone()
    }

    /// Returns the graph that a digest of rows identifies, if it is the last one.
    pub(super) fn find(&self, rows: &Digest) -> Option<(Skeleton, Links)> {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let (_, skeleton, links) = last.as_ref().filter(|(known, ..)| known == rows)?;
        Some((skeleton.clone(), links.clone()))
    }

    /// Returns the nodes by rule that were found last, if for these texts, with the links of their graph.
    pub(super) fn ruled_nodes(&self, definition: &Digest) -> Option<(Links, Arc<RuledNodes>)> {
        let ruled = self.ruled.lock().unwrap_or_else(PoisonError::into_inner);
        let known = ruled.as_ref().filter(|(_, of, _)| of == definition);
        known.map(|(links, _, nodes)| (links.clone(), nodes.clone()))
    }

    /// Stores the nodes by rule of a graph with these links.
    pub(super) fn remember_ruled_nodes(&self, links: &Links, definition: Digest, nodes: Arc<RuledNodes>) {
        *self.ruled.lock().unwrap_or_else(PoisonError::into_inner) = Some((links.clone(), definition, nodes));
    }

    /// Stores a graph in place of the last one.
    pub(super) fn remember(&self, rows: Digest, skeleton: Skeleton, links: Links) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some((rows, skeleton, links));
    }
}

/// Computes the digest that identifies all rows of a stored graph: every commit that changes one increments the generation. `state` is as stored.
/// `None` if the digest of the link rows is unknown, or the store is in memory.
pub(super) fn stored_graph_digest(store: &dyn Store, view: ViewId, state: &State) -> Option<Digest> {
    let mut hasher = blake3::Hasher::new_derive_key("cortex 2026-11 stored graph 1");
    hasher.update(&state.links_digest()?.0);
    hasher.update(&state.generation.to_le_bytes()).update(&view.0.to_le_bytes());
    hasher.update(store.id()?.as_bytes());
    Some(Digest(*hasher.finalize().as_bytes()))
}

/// Computes the digest of all link rows: keys and bodies with their lengths.
pub(super) fn digest(rows: &[Row]) -> Digest {
    let mut hasher = blake3::Hasher::new_derive_key("cortex 2026-11 link rows 1");
    for part in rows.iter().flat_map(|(key, body)| [key, body]) {
        hasher.update(&(part.len() as u64).to_le_bytes()).update(part);
    }
    Digest(*hasher.finalize().as_bytes())
}

/// Computes the digest that identifies link rows after a change. `before` identifies the rows before it.
pub(super) fn digest_after(before: &Digest, changes: &RowEdits) -> Digest {
    let mut hasher = blake3::Hasher::new_derive_key("cortex 2026-11 changed link rows 1");
    hasher.update(&before.0);
    for (key, body) in changes {
        let length = body.as_ref().map_or(u64::MAX, |body| body.len() as u64);
        hasher.update(&(key.len() as u64).to_le_bytes()).update(key);
        hasher.update(&length.to_le_bytes()).update(body.as_deref().unwrap_or_default());
    }
    Digest(*hasher.finalize().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_of_changed_rows_depends_on_all_that_determines_them() {
        let row = |key: u8, body: Option<&[u8]>| (vec![key], body.map(<[u8]>::to_vec));
        let empty = digest(&[]);
        let first = digest_after(&empty, &vec![row(1, Some(b"a"))]);
        let digests = [
            empty,
            first,
            digest(&[(vec![1], b"a".to_vec())]),
            digest_after(&empty, &vec![row(1, Some(b"b"))]),
            digest_after(&empty, &vec![row(2, Some(b"a"))]),
            digest_after(&empty, &vec![row(1, Some(b""))]),
            digest_after(&empty, &vec![row(1, None)]),
            digest_after(&first, &vec![row(1, Some(b"a"))]),
            digest_after(&first, &vec![row(1, None)]),
        ];
        for (at, one) in digests.iter().enumerate() {
            assert!(digests[at + 1..].iter().all(|other| other != one), "{at}");
        }
        assert_eq!(digest_after(&empty, &vec![row(1, Some(b"a"))]), first);
    }
}
