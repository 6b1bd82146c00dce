//! Cache of the last graph that this process's sessions loaded, and of pages of outputs that they read. A service opens a session per request; while
//! the stored graph stays the same, its link rows are decoded only once.
//!
//! Invariant: the cached graph is identified by the digest of its rows, so it fits any store with these rows. A row has only 32 bits
//! of the digest of each label: labels kept for a graph serve counts, never keys.

use super::blobs::PageMemory;
use super::ruled_nodes::RuledNodes;
use crate::graph::Skeleton;
use crate::graph::walk::Links;
use crate::values::digest::Digest;
use std::sync::{Arc, Mutex, PoisonError};

/// Nodes by rule, with the links of their graph and the digest of the manifest and ruleset texts.
type KnownRules = (Links, Digest, Arc<RuledNodes>);

/// The last graph, shared by the engines of one process.
#[derive(Clone, Default)]
pub struct GraphMemory {
    last: Arc<Mutex<Option<(Digest, Skeleton, Links)>>>,
    ruled: Arc<Mutex<Option<KnownRules>>>,
    pages: PageMemory,
}

impl GraphMemory {
    /// Returns the pages of outputs that were read.
    pub(super) fn pages(&self) -> PageMemory {
        self.pages.clone()
    }

    /// Returns the graph of these rows, if it is the last one.
    pub(super) fn find(&self, rows: &Digest) -> Option<(Skeleton, Links)> {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let (_, skeleton, links) = last.as_ref().filter(|(known, ..)| known == rows)?;
        Some((skeleton.clone(), links.clone()))
    }

    /// Returns the nodes by rule, if they were found for this cached graph and these texts.
    pub(super) fn ruled_nodes(&self, links: &Links, definition: &Digest) -> Option<Arc<RuledNodes>> {
        let ruled = self.ruled.lock().unwrap_or_else(PoisonError::into_inner);
        let is_same = |(known, of, _): &&KnownRules| known.is_same(links) && of == definition;
        ruled.as_ref().filter(is_same).map(|(.., nodes)| nodes.clone())
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

/// Computes the digest of link rows: keys and bodies with their lengths.
pub(super) fn digest(rows: &[(Vec<u8>, Vec<u8>)]) -> Digest {
    let mut hasher = blake3::Hasher::new_derive_key("cortex 2026-11 link rows 1");
    for part in rows.iter().flat_map(|(key, body)| [key, body]) {
        hasher.update(&(part.len() as u64).to_le_bytes()).update(part);
    }
    Digest(*hasher.finalize().as_bytes())
}
