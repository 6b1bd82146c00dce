//! A store with a stable snapshot of one checkout's rows. A command reads them piece by piece and sees one state, even if another process builds
//! the checkout in between: before it releases the store, it reads all remaining rows.
//!
//! Invariant: all rows returned for the parts in [`TOGETHER`] are those of one commit.

use super::records::{ActionRecord, HistoryRecord};
use super::{ActionLock, Commit, Part, Row, Store, StoreError, ViewId};
use crate::values::digest::{ActionKey, Digest};
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

/// Parts of a graph and its freshness: one commit writes them together.
const TOGETHER: [Part; 7] = [
    Part::State,
    Part::Watch,
    Part::Directories,
    Part::Links,
    Part::Lookups,
    Part::Nodes,
    Part::Requests,
];

/// Rows of those parts, in their order.
type SnapshotRows = Vec<BTreeMap<Vec<u8>, Vec<u8>>>;

/// A store with the rows of a view as of its opening.
pub struct SnapshotStore {
    store: Arc<dyn Store>,
    view: ViewId,
    /// The rows, copied before the store is first released; until then the store itself is unchanged.
    snapshot: RwLock<Option<SnapshotRows>>,
}

impl SnapshotStore {
    /// Wraps a store that no other process can write until it is released.
    pub fn new(store: Arc<dyn Store>, view: ViewId) -> Self {
        Self {
            store,
            view,
            snapshot: RwLock::new(None),
        }
    }

    /// Applies `found` to the rows of a part, if they were copied.
    fn read_rows<T>(&self, view: ViewId, part: Part, found: impl FnOnce(&BTreeMap<Vec<u8>, Vec<u8>>) -> T) -> Option<T> {
        let at = TOGETHER.iter().position(|one| *one == part).filter(|_| view == self.view)?;
        let copied = self.snapshot.read().unwrap_or_else(PoisonError::into_inner);
        copied.as_ref().map(|copied| found(&copied[at]))
    }

    /// Copies all rows, unless already done.
    fn copy_all_rows(&self) -> Result<(), StoreError> {
        let mut copied = self.snapshot.write().unwrap_or_else(PoisonError::into_inner);
        if copied.is_none() {
            let rows = TOGETHER
                .iter()
                .map(|part| Ok(self.store.rows(self.view, *part)?.into_iter().collect()));
            *copied = Some(rows.collect::<Result<_, StoreError>>()?);
        }
        Ok(())
    }
}

impl Store for SnapshotStore {
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
        match self.read_rows(view, part, |rows| rows.get(key).cloned()) {
            Some(row) => Ok(row),
            None => self.store.row(view, part, key),
        }
    }

    fn rows(&self, view: ViewId, part: Part) -> Result<Vec<Row>, StoreError> {
        let all = |rows: &BTreeMap<Vec<u8>, Vec<u8>>| rows.iter().map(|(key, body)| (key.clone(), body.clone())).collect();
        match self.read_rows(view, part, all) {
            Some(rows) => Ok(rows),
            None => self.store.rows(view, part),
        }
    }

    fn history(&self, view: ViewId, label: &str) -> Result<Vec<HistoryRecord>, StoreError> {
        self.store.history(view, label)
    }

    fn commit(&self, view: ViewId, commit: Commit) -> Result<(), StoreError> {
        self.store.commit(view, commit)
    }

    fn damage(&self) -> Vec<String> {
        self.store.damage()
    }

    fn is_wanted(&self) -> bool {
        self.store.is_wanted()
    }

    fn release_lock(&self) {
        // Rows read later would be of another state. If they cannot be copied, keep the store: other processes wait.
        if self.copy_all_rows().is_ok() {
            self.store.release_lock();
        }
    }

    fn lock_action(&self, key: &ActionKey, is_cancelled: &dyn Fn() -> bool) -> Result<Option<ActionLock>, StoreError> {
        self.store.lock_action(key, is_cancelled)
    }
}

#[cfg(test)]
mod tests {
    use super::super::memory::MemoryStore;
    use super::*;

    const VIEW: ViewId = ViewId(7);

    fn write(store: &dyn Store, view: ViewId, part: Part, body: &[u8]) {
        let rows = vec![(part, b"k".to_vec(), Some(body.to_vec())), (part, body.to_vec(), Some(Vec::new()))];
        store.commit(view, Commit { rows, ..Commit::default() }).expect("committed");
    }

    #[test]
    fn a_snapshot_hides_later_writes() {
        let store = Arc::new(MemoryStore::default());
        for part in TOGETHER.into_iter().chain([Part::Builds]) {
            write(&*store, VIEW, part, b"one");
        }
        let still = SnapshotStore::new(store.clone(), VIEW);
        let body = |view: ViewId, part: Part| still.row(view, part, b"k").expect("a store");
        assert_eq!(body(VIEW, Part::State).as_deref(), Some(&b"one"[..]));
        still.release_lock();
        for part in TOGETHER.into_iter().chain([Part::Builds]) {
            write(&*store, VIEW, part, b"two");
            write(&*store, ViewId(8), part, b"two");
        }
        for part in TOGETHER {
            assert_eq!(body(VIEW, part).as_deref(), Some(&b"one"[..]), "{part:?}");
            assert_eq!(still.rows(VIEW, part).expect("a store").len(), 2, "{part:?}");
            assert_eq!(still.row(VIEW, part, b"two").expect("a store"), None, "{part:?}");
            assert_eq!(body(ViewId(8), part).as_deref(), Some(&b"two"[..]), "{part:?}");
        }
        assert_eq!(body(VIEW, Part::Builds).as_deref(), Some(&b"two"[..]));
        still.release_lock();
        assert_eq!(body(VIEW, Part::Nodes).as_deref(), Some(&b"one"[..]));
    }
}
