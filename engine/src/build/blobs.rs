//! Blobs during a build: new ones, those waiting for a commit, and those in the store.
//!
//! Memory is bounded: when the budget is spent, durable (or cheaply rebuilt) outputs are evicted, least recently used first.

use super::early_outputs::PlannedRows;
use crate::graph::lookups::{Lookup, LookupSet};
use crate::planning::expand;
use crate::store::records::ActionRecord;
use crate::store::{ActionLock, Store, StoreError};
use crate::values::digest::{ActionKey, Digest};
use crate::values::pages::PageError;
use crate::values::pieces;
use crate::values::tree::{self, File, TreeError};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};

/// Maximum bytes of evictable blobs in memory.
pub const BUDGET: usize = 64 << 20;

/// Maximum length in bytes of an evictable blob: a larger one would evict many others.
pub const LARGEST: usize = 24 << 20;

/// Finds blobs by digest. Shared by all workers.
pub struct Blobs {
    store: Arc<dyn Store>,
    held: Mutex<Held>,
    /// Long texts that producers of this build returned, by the digests of their roots.
    texts: Mutex<FxHashMap<Digest, Arc<Vec<u8>>>>,
    pages: Option<PageMemory>,
}

/// Cache of the pages of outputs that the builds of one process read, by digest: the next build does not read them again. It contains only copies
/// and never decides whether a store has a blob.
#[derive(Clone, Default)]
pub struct PageMemory(Arc<Mutex<Held>>);

impl PageMemory {
    fn lock_pages(&self) -> MutexGuard<'_, Held> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
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

/// An output as its readers see it.
pub enum WholeOutput {
    /// A long text that this build's producer returned.
    Text(Arc<Vec<u8>>),
    /// Read from the store.
    Stored(Arc<[u8]>),
}

impl std::ops::Deref for WholeOutput {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Text(text) => text,
            Self::Stored(blob) => blob,
        }
    }
}

/// Reason why an output's pieces are not available.
pub enum Unavailable {
    /// A piece is missing or invalid.
    Piece,
    Broken(StoreError),
}

impl From<TreeError> for Unavailable {
    fn from(_: TreeError) -> Self {
        Self::Piece
    }
}

impl From<PageError> for Unavailable {
    fn from(_: PageError) -> Self {
        Self::Piece
    }
}

impl Blobs {
    /// Creates an empty cache over a store.
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self {
            store,
            held: Mutex::default(),
            texts: Mutex::default(),
            pages: None,
        }
    }

    /// Reads pages through a cache that several builds share, if there is one.
    #[must_use]
    pub fn with_pages(self, pages: Option<PageMemory>) -> Self {
        Self { pages, ..self }
    }

    /// Returns a page of an output to read, from memory or the store.
    fn page(&self, digest: &Digest) -> Result<Option<Arc<[u8]>>, Unavailable> {
        if let Some(page) = self.pages.as_ref().and_then(|pages| pages.lock_pages().find(digest)) {
            return Ok(Some(page));
        }
        let found = self.get(digest).map_err(Unavailable::Broken)?;
        if let (Some(pages), Some(page)) = (&self.pages, &found) {
            pages.lock_pages().remember(*digest, page);
        }
        Ok(found)
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    pub fn store(&self) -> &dyn Store {
        &*self.store
    }

    /// Returns the blob, from memory or the store.
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

    /// Receives outputs that are about to be read from a cache, where there is one.
    pub fn fetch_all(&self, digests: &[Digest]) -> Result<(), StoreError> {
        for (digest, blob) in self.store.fetch_all(digests)? {
            self.remember(digest, &blob);
        }
        Ok(())
    }

    /// Whether the blob is available, and for an output in pieces every piece.
    pub fn has_whole(&self, digest: &Digest) -> Result<bool, StoreError> {
        let Some(blob) = self.get(digest)? else { return Ok(false) };
        match pieces::each_piece(&blob, |digest| self.get(digest).map_err(Unavailable::Broken), |_| {}) {
            Ok(()) => Ok(true),
            Err(Unavailable::Piece) => Ok(false),
            Err(Unavailable::Broken(error)) => Err(error),
        }
    }

    /// Returns an output as its readers see it: a table in one page. Fails when a page is missing, or the store cannot be read.
    pub fn readable(&self, blob: &Arc<[u8]>) -> Result<Arc<[u8]>, Unavailable> {
        pieces::readable(blob, |digest| self.page(digest))
    }

    /// Returns an output as its readers see it; `None` if a blob of it is missing.
    pub fn readable_output(&self, digest: &Digest) -> Result<Option<Arc<[u8]>>, StoreError> {
        match self.get(digest)?.map(|blob| self.readable(&blob)).transpose() {
            Ok(blob) => Ok(blob),
            Err(Unavailable::Piece) => Ok(None),
            Err(Unavailable::Broken(error)) => Err(error),
        }
    }

    /// Keeps a long text whole until the end of the build, unless there are many: it is laid out next.
    pub fn remember_text(&self, root: Digest, text: Vec<u8>) {
        let mut texts = self.texts();
        if texts.values().map(|text| text.len()).sum::<usize>() + text.len() <= LARGEST {
            texts.insert(root, text.into());
        }
    }

    /// Returns an output to lay out; `None` if a blob of it is missing.
    pub fn whole_output(&self, digest: &Digest) -> Result<Option<WholeOutput>, StoreError> {
        match self.held_text(digest) {
            Some(text) => Ok(Some(WholeOutput::Text(text))),
            None => Ok(self.readable_output(digest)?.map(WholeOutput::Stored)),
        }
    }

    /// Returns a long text that this build kept whole.
    pub fn held_text(&self, root: &Digest) -> Option<Arc<Vec<u8>>> {
        self.texts().get(root).cloned()
    }

    fn texts(&self) -> MutexGuard<'_, FxHashMap<Digest, Arc<Vec<u8>>>> {
        self.texts.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Returns the files of the tree whose root folder a blob is. Fails when a part is missing, or the store cannot be read.
    pub fn tree(&self, blob: &[u8]) -> Result<BTreeMap<String, File>, Unavailable> {
        tree::files(blob, |digest| self.get(digest).map_err(Unavailable::Broken))
    }

    /// Returns the result stored under a key.
    pub fn action(&self, key: &ActionKey) -> Result<Option<ActionRecord>, StoreError> {
        self.store.action(key)
    }

    /// See [`Store::lock_action`]. Fails when another process requests it until the time-out, or the lock cannot be tried.
    pub fn lock_action(&self, key: &ActionKey, is_cancelled: &dyn Fn() -> bool) -> Result<Option<ActionLock>, StoreError> {
        self.store.lock_action(key, is_cancelled)
    }

    /// Returns the blob, if it is in memory.
    pub fn held_blob(&self, digest: &Digest) -> Option<Arc<[u8]>> {
        self.held().find(digest)
    }

    /// Caches a blob that may be evicted.
    pub fn remember(&self, digest: Digest, blob: &Arc<[u8]>) {
        self.held().remember(digest, blob);
    }

    /// Pins a blob in memory until [`Blobs::release`], because it is not stored yet.
    pub fn pin(&self, digest: Digest, blob: Arc<[u8]>) {
        self.held().pinned.insert(digest, blob);
    }

    /// Evicts all evictable blobs if they are many: the last commit of a large build needs the memory.
    pub fn make_room(&self) {
        let mut held = self.held();
        if held.bytes > BUDGET / 2 {
            let pinned = std::mem::take(&mut held.pinned);
            *held = Held { pinned, ..Held::default() };
        }
    }

    /// Releases blobs that are now durable, so that they can be evicted.
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

/// The blobs of the nodes that decide an expansion, with the pages of tables among them.
pub struct PagedBlobs<'a> {
    blobs: &'a Blobs,
    roots: &'a BTreeMap<String, Arc<[u8]>>,
    trouble: RefCell<Option<StoreError>>,
    lookups: RefCell<LookupSet>,
    rows: RefCell<PlannedRows>,
}

impl<'a> PagedBlobs<'a> {
    /// Wraps these roots, by label.
    pub fn new(blobs: &'a Blobs, roots: &'a BTreeMap<String, Arc<[u8]>>) -> Self {
        Self {
            blobs,
            roots,
            trouble: RefCell::default(),
            lookups: RefCell::default(),
            rows: RefCell::default(),
        }
    }

    /// Returns why the store could not be read, if so.
    pub fn into_store_error(self) -> Option<StoreError> {
        self.trouble.into_inner()
    }

    /// Takes the lookups so far.
    pub fn take_lookups(&self) -> LookupSet {
        self.lookups.take()
    }

    /// Takes the rows of inputs planned so far.
    pub fn take_planned_rows(&self) -> PlannedRows {
        self.rows.take()
    }
}

impl expand::Blobs for PagedBlobs<'_> {
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

    fn planned_rows(&self, digest: Digest, rows: Vec<u8>) {
        self.rows.borrow_mut().push((digest, rows.into()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::memory::MemoryStore;

    #[test]
    fn room_is_made_only_if_much_is_held_and_never_of_pinned_blobs() {
        let blobs = Blobs::new(Arc::new(MemoryStore::default()));
        let blob = |byte: u8| -> Arc<[u8]> { vec![byte; LARGEST].into() };
        let digest = |byte: u8| Digest::of(&[byte]);
        blobs.pin(digest(0), blob(0));
        blobs.remember(digest(1), &blob(1));
        blobs.make_room();
        assert!(blobs.held_blob(&digest(1)).is_some());
        blobs.remember(digest(2), &blob(2));
        blobs.make_room();
        assert!((1..3).all(|byte| blobs.held_blob(&digest(byte)).is_none()));
        assert!(blobs.held_blob(&digest(0)).is_some());
    }
}
