//! A store in which the rows of one checkout stand still. Who reads them piece by piece, while another process builds the checkout between two
//! pieces, sees one state of it all the same: before the store is given to others, what was not read yet is read.
//!
//! Invariant: all rows of the parts in [`TOGETHER`] that are given are those that one commit left.

use super::records::{ActionRecord, HistoryRecord};
use super::{Commit, Flight, Part, Row, Store, StoreError, ViewId};
use crate::values::digest::{ActionKey, Digest};
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

/// What a graph is made of, and what is known to be current of it: it is written together.
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
type Kept = Vec<BTreeMap<Vec<u8>, Vec<u8>>>;

/// A store with the rows of a view as they were when it was opened.
pub struct SnapshotStore {
    store: Arc<dyn Store>,
    view: ViewId,
    /// What was read before others had the store; as long as nobody had it, what it holds is what it held.
    kept: RwLock<Option<Kept>>,
}

impl SnapshotStore {
    /// Over a store that nobody else has from here on, until it is let go.
    pub fn of(store: Arc<dyn Store>, view: ViewId) -> Self {
        Self {
            store,
            view,
            kept: RwLock::new(None),
        }
    }

    /// What `found` finds among the rows of a part, if they were kept.
    fn read_rows<T>(&self, view: ViewId, part: Part, found: impl FnOnce(&BTreeMap<Vec<u8>, Vec<u8>>) -> T) -> Option<T> {
        let at = TOGETHER.iter().position(|one| *one == part).filter(|_| view == self.view)?;
        let kept = self.kept.read().unwrap_or_else(PoisonError::into_inner);
        kept.as_ref().map(|kept| found(&kept[at]))
    }

    /// Keeps all rows, unless that was done.
    fn copy_all_rows(&self) -> Result<(), StoreError> {
        let mut kept = self.kept.write().unwrap_or_else(PoisonError::into_inner);
        if kept.is_none() {
            let rows = TOGETHER
                .iter()
                .map(|part| Ok(self.store.rows(self.view, *part)?.into_iter().collect()));
            *kept = Some(rows.collect::<Result<_, StoreError>>()?);
        }
        Ok(())
    }
}

impl Store for SnapshotStore {
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

    fn let_go(&self) {
        // What cannot be read now would be read torn: others wait until this is done.
        if self.copy_all_rows().is_ok() {
            self.store.let_go();
        }
    }

    fn flight(&self, key: &ActionKey, is_cancelled: &dyn Fn() -> bool) -> Result<Option<Flight>, StoreError> {
        self.store.flight(key, is_cancelled)
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
    fn what_others_write_is_not_seen_once_they_could() {
        let store = Arc::new(MemoryStore::default());
        for part in TOGETHER.into_iter().chain([Part::Builds]) {
            write(&*store, VIEW, part, b"one");
        }
        let still = SnapshotStore::of(store.clone(), VIEW);
        let body = |view: ViewId, part: Part| still.row(view, part, b"k").expect("a store");
        assert_eq!(body(VIEW, Part::State).as_deref(), Some(&b"one"[..]));
        still.let_go();
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
        still.let_go();
        assert_eq!(body(VIEW, Part::Nodes).as_deref(), Some(&b"one"[..]));
    }
}
