//! The store of a what-if build: it reads the underlying store and commits results, which are valid in any checkout. It drops the build's
//! changes to its checkout (graph, History, log, remarks). No graph protects its results from gc, so it reports them to the owner of the
//! overlay.

use super::records::{ActionRecord, HistoryRecord};
use super::{ActionLock, Commit, Part, Row, RowChange, Store, StoreError, ViewId};
use crate::values::digest::{ActionKey, Digest};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

/// Called with the keys of results that were stored or found, once they are durable.
pub type OnResults = Box<dyn Fn(&[ActionKey]) + Send + Sync>;

/// Parts that this store writes: an overlay spends money, too, and gc must know every checkout in use.
const KEPT: [Part; 2] = [Part::Ledger, Part::View];

/// A store that writes only results, their cost, and the checkout's last use.
pub struct OverlayStore {
    store: Arc<dyn Store>,
    on_results: OnResults,
    /// Whether a build removed recorded requests: they refer to nodes by number, and numbers may have been reassigned.
    forgotten: AtomicBool,
    /// Uses of stored results that no commit has recorded.
    uses: Mutex<Vec<(ActionKey, u64)>>,
}

impl OverlayStore {
    pub fn new(store: Arc<dyn Store>, on_results: OnResults) -> Self {
        Self {
            store,
            on_results,
            forgotten: AtomicBool::new(false),
            uses: Mutex::default(),
        }
    }

    fn is_forgotten(&self, part: Part) -> bool {
        part == Part::Requests && self.forgotten.load(Relaxed)
    }
}

impl Store for OverlayStore {
    fn id(&self) -> Option<String> {
        self.store.id()
    }

    fn blob(&self, digest: &Digest) -> Result<Option<Arc<[u8]>>, StoreError> {
        self.store.blob(digest)
    }

    fn has_blob(&self, digest: &Digest) -> Result<bool, StoreError> {
        self.store.has_blob(digest)
    }

    fn action(&self, key: &ActionKey) -> Result<Option<ActionRecord>, StoreError> {
        self.store.action(key)
    }

    fn row(&self, view: ViewId, part: Part, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        match self.is_forgotten(part) {
            true => Ok(None),
            false => self.store.row(view, part, key),
        }
    }

    fn rows(&self, view: ViewId, part: Part) -> Result<Vec<Row>, StoreError> {
        match self.is_forgotten(part) {
            true => Ok(Vec::new()),
            false => self.store.rows(view, part),
        }
    }

    fn history(&self, view: ViewId, label: &str) -> Result<Vec<HistoryRecord>, StoreError> {
        self.store.history(view, label)
    }

    fn commit(&self, view: ViewId, commit: Commit) -> Result<(), StoreError> {
        let takes = |(part, _, body): &RowChange| *part == Part::Requests && body.is_none();
        if commit.rows.iter().any(takes) {
            self.forgotten.store(true, Relaxed);
        }
        let mut own = Commit {
            results: commit.results,
            blobs: commit.blobs,
            used: commit.used,
            rows: commit.rows.into_iter().filter(|(part, ..)| KEPT.contains(part)).collect(),
            ..Commit::default()
        };
        let filed = own.results.iter().map(|result| result.key);
        let keys: Vec<ActionKey> = filed.chain(own.used.iter().map(|(key, _)| *key)).collect();
        let uses = || self.uses.lock().unwrap_or_else(PoisonError::into_inner);
        if own.results.is_empty() && own.blobs.is_empty() && own.rows.is_empty() {
            // The owner protects these results, so a transaction of their own is not worth its syncs.
            uses().append(&mut own.used);
        } else {
            own.used.append(&mut uses());
            self.store.commit(view, own)?;
        }
        if !keys.is_empty() {
            (self.on_results)(&keys);
        }
        Ok(())
    }

    fn damage(&self) -> Vec<String> {
        self.store.damage()
    }

    fn is_wanted(&self) -> bool {
        self.store.is_wanted()
    }

    fn release_lock(&self) {
        self.store.release_lock();
    }

    fn lock_action(&self, key: &ActionKey, is_cancelled: &dyn Fn() -> bool) -> Result<Option<ActionLock>, StoreError> {
        self.store.lock_action(key, is_cancelled)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Inventory;
    use super::super::memory::MemoryStore;
    use super::*;

    const VIEW: ViewId = ViewId(7);

    #[test]
    fn uses_are_written_with_the_next_commit_that_needs_a_transaction() {
        let (store, told) = (Arc::new(MemoryStore::default()), Arc::new(Mutex::new(Vec::new())));
        let keys = told.clone();
        let overlay = OverlayStore::new(
            store.clone(),
            Box::new(move |found: &[ActionKey]| keys.lock().expect("a list").extend_from_slice(found)),
        );
        let key = ActionKey(Digest::of(b"k"));
        let used = vec![(key, 5)];
        overlay.commit(VIEW, Commit { used, ..Commit::default() }).expect("committed");
        assert_eq!(store.last_use(&key).expect("a store"), None);
        assert_eq!(*told.lock().expect("a list"), [key]);
        let rows = vec![(Part::Ledger, b"k".to_vec(), Some(b"x".to_vec()))];
        overlay.commit(VIEW, Commit { rows, ..Commit::default() }).expect("committed");
        assert_eq!(store.last_use(&key).expect("a store"), Some(5));
    }
}
