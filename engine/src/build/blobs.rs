//! Blobs during a build: what was just made, what is waiting to be committed, and what the store has.
//!
//! Memory is bounded: outputs that are already durable (or cheap to make again) leave when the budget is spent, least recently used first.

use crate::graph::lookups::{Lookup, LookupSet};
use crate::planning::expand;
use crate::store::records::ActionRecord;
use crate::store::{Flight, Store, StoreError};
use crate::values::digest::{ActionKey, Digest};
use crate::values::pages::PageError;
use crate::values::pieces;
use crate::values::tree::{self, File, TreeError};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};

/// Bytes of blobs held in memory beyond what must be.
pub const BUDGET: usize = 96 << 20;

/// No larger blob is held beyond what must be: it would drive out all others.
pub const LARGEST: usize = BUDGET / 4;

/// Finds blobs by digest. Shared by all workers.
pub struct Blobs {
    store: Arc<dyn Store>,
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    pinned: FxHashMap<Digest, Arc<[u8]>>,
    recent: FxHashMap<Digest, Recent>,
    order: VecDeque<Digest>,
    bytes: usize,
}

struct Recent {
    blob: Arc<[u8]>,
    used: bool,
}

/// Why the pieces of an output are not at hand.
pub enum Lack {
    /// One is nowhere, or what is there is none.
    Piece,
    /// The store broke.
    Broken(StoreError),
}

impl From<TreeError> for Lack {
    fn from(_: TreeError) -> Self {
        Self::Piece
    }
}

impl From<PageError> for Lack {
    fn from(_: PageError) -> Self {
        Self::Piece
    }
}

impl Blobs {
    /// Nothing held yet.
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self {
            store,
            held: Mutex::default(),
        }
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// The store behind them.
    pub fn store(&self) -> &dyn Store {
        &*self.store
    }

    /// The blob, from memory or the store.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn get(&self, digest: &Digest) -> Result<Option<Arc<[u8]>>, StoreError> {
        if let Some(blob) = self.held().find(digest) {
            return Ok(Some(blob));
        }
        let found = self.store.blob(digest)?;
        if let Some(blob) = &found {
            self.held().remember(*digest, blob);
        }
        Ok(found)
    }

    /// Whether the blob is at hand, and of an output in pieces every piece.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn has_whole(&self, digest: &Digest) -> Result<bool, StoreError> {
        let Some(blob) = self.get(digest)? else { return Ok(false) };
        match pieces::each_piece(&blob, |digest| self.get(digest).map_err(Lack::Broken), |_| {}) {
            Ok(()) => Ok(true),
            Err(Lack::Piece) => Ok(false),
            Err(Lack::Broken(error)) => Err(error),
        }
    }

    /// An output as its readers see it: a table in one page.
    ///
    /// # Errors
    /// When a page is nowhere, or the store cannot be read.
    pub fn readable(&self, blob: &Arc<[u8]>) -> Result<Arc<[u8]>, Lack> {
        pieces::readable(blob, |digest| self.get(digest).map_err(Lack::Broken))
    }

    /// The files of the tree whose outermost folder a blob is.
    ///
    /// # Errors
    /// When a part is nowhere, or the store cannot be read.
    pub fn tree(&self, blob: &[u8]) -> Result<BTreeMap<String, File>, Lack> {
        tree::files(blob, |digest| self.get(digest).map_err(Lack::Broken))
    }

    /// The result that the store has filed under a key.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn action(&self, key: &ActionKey) -> Result<Option<ActionRecord>, StoreError> {
        self.store.action(key)
    }

    /// See [`Store::flight`].
    ///
    /// # Errors
    /// When it cannot be told whether somebody else asks.
    pub fn flight(&self, key: &ActionKey, is_cancelled: &dyn Fn() -> bool) -> Result<Option<Flight>, StoreError> {
        self.store.flight(key, is_cancelled)
    }

    /// The blob, if it is in memory.
    pub fn held_blob(&self, digest: &Digest) -> Option<Arc<[u8]>> {
        self.held().find(digest)
    }

    /// Holds a blob that may be dropped when memory runs short.
    pub fn remember(&self, digest: Digest, blob: &Arc<[u8]>) {
        self.held().remember(digest, blob);
    }

    /// Holds a blob until [`Blobs::release`]: it is nowhere else yet.
    pub fn pin(&self, digest: Digest, blob: Arc<[u8]>) {
        self.held().pinned.insert(digest, blob);
    }

    /// The blobs are durable now.
    pub fn release<'a>(&self, digests: impl Iterator<Item = &'a Digest>) {
        let mut held = self.held();
        for digest in digests {
            if let Some(blob) = held.pinned.remove(digest) {
                held.remember(*digest, &blob);
            }
        }
    }
}

impl Held {
    fn find(&mut self, digest: &Digest) -> Option<Arc<[u8]>> {
        if let Some(recent) = self.recent.get_mut(digest) {
            recent.used = true;
            return Some(recent.blob.clone());
        }
        self.pinned.get(digest).cloned()
    }

    fn remember(&mut self, digest: Digest, blob: &Arc<[u8]>) {
        if self.recent.contains_key(&digest) || blob.len() > LARGEST {
            return;
        }
        self.bytes += blob.len();
        self.recent.insert(
            digest,
            Recent {
                blob: blob.clone(),
                used: false,
            },
        );
        self.order.push_back(digest);
        while self.bytes > BUDGET {
            let Some(oldest) = self.order.pop_front() else { break };
            let Some(recent) = self.recent.get_mut(&oldest) else { continue };
            if std::mem::take(&mut recent.used) {
                self.order.push_back(oldest);
            } else {
                self.bytes -= recent.blob.len();
                self.recent.remove(&oldest);
            }
        }
    }
}

/// The blobs of the nodes that decide an expansion, and the pages of those that are tables.
pub struct Paged<'a> {
    blobs: &'a Blobs,
    roots: &'a BTreeMap<String, Arc<[u8]>>,
    trouble: RefCell<Option<StoreError>>,
    lookups: RefCell<LookupSet>,
}

impl<'a> Paged<'a> {
    /// Those of these roots, by label.
    pub fn new(blobs: &'a Blobs, roots: &'a BTreeMap<String, Arc<[u8]>>) -> Self {
        Self {
            blobs,
            roots,
            trouble: RefCell::default(),
            lookups: RefCell::default(),
        }
    }

    /// Why the store could not be read, if it could not.
    pub fn trouble(self) -> Option<StoreError> {
        self.trouble.into_inner()
    }

    /// What was looked up so far, and from here on nothing.
    pub fn take_lookups(&self) -> LookupSet {
        self.lookups.take()
    }
}

impl expand::Blobs for Paged<'_> {
    fn get(&self, label: &str) -> Option<Arc<[u8]>> {
        self.roots.get(label).cloned()
    }

    fn page(&self, digest: &Digest) -> Option<Arc<[u8]>> {
        self.blobs.get(digest).unwrap_or_else(|error| {
            self.trouble.replace(Some(error));
            None
        })
    }

    fn looked_up(&self, label: &str, lookup: Lookup<'_>) {
        self.lookups.borrow_mut().add(label, lookup);
    }
}
