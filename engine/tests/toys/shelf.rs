//! A store that loses blobs and rows on request, over any other.

use engine::store::memory::MemoryStore;
use engine::store::records::{ActionRecord, HistoryRecord};
use engine::store::{ActionLock, Commit, Part, Row, Store, StoreError, ViewId};
use engine::values::digest::{ActionKey, Digest};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard};

/// A store that can lose data.
pub struct Shelf {
    inner: Box<dyn Store>,
    lost: Mutex<Lost>,
}

#[derive(Default)]
struct Lost {
    blobs: BTreeSet<Digest>,
    filed: BTreeSet<ActionKey>,
    rows: BTreeSet<(Part, Vec<u8>)>,
    commits: usize,
    reads: usize,
}

impl Shelf {
    /// Returns a shelf over a store in memory.
    pub fn new() -> Self {
        Self::over(Box::new(MemoryStore::new()))
    }

    /// Returns a shelf over another store.
    pub fn over(inner: Box<dyn Store>) -> Self {
        Self {
            inner,
            lost: Mutex::default(),
        }
    }

    fn lost(&self) -> MutexGuard<'_, Lost> {
        self.lost.lock().expect("no panic while it is held")
    }

    /// Loses a blob until it is written again.
    pub fn lose(&self, digest: Digest) {
        self.lost().blobs.insert(digest);
    }

    /// Loses a row until it is written again.
    pub fn lose_row(&self, part: Part, key: &[u8]) {
        self.lost().rows.insert((part, key.to_vec()));
    }

    /// Returns every key ever stored, in order.
    pub fn keys(&self) -> Vec<ActionKey> {
        self.lost().filed.iter().copied().collect()
    }

    /// Returns the number of blobs, records and rows read.
    pub fn reads(&self) -> usize {
        self.lost().reads
    }

    /// Returns the number of transactions.
    pub fn commits(&self) -> usize {
        self.lost().commits
    }
}

impl Store for Shelf {
    fn id(&self) -> Option<String> {
        Some(format!("{:p}", &raw const self.lost))
    }

    fn blob(&self, digest: &Digest) -> Result<Option<Arc<[u8]>>, StoreError> {
        self.lost().reads += 1;
        if self.lost().blobs.contains(digest) {
            Ok(None)
        } else {
            self.inner.blob(digest)
        }
    }

    fn has_blob(&self, digest: &Digest) -> Result<bool, StoreError> {
        if self.lost().blobs.contains(digest) {
            Ok(false)
        } else {
            self.inner.has_blob(digest)
        }
    }

    fn action(&self, key: &ActionKey) -> Result<Option<ActionRecord>, StoreError> {
        self.lost().reads += 1;
        self.inner.action(key)
    }

    fn row(&self, view: ViewId, part: Part, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        self.lost().reads += 1;
        if self.lost().rows.contains(&(part, key.to_vec())) {
            Ok(None)
        } else {
            self.inner.row(view, part, key)
        }
    }

    fn rows(&self, view: ViewId, part: Part) -> Result<Vec<Row>, StoreError> {
        let mut rows = self.inner.rows(view, part)?;
        self.lost().reads += rows.len();
        rows.retain(|(key, _)| !self.lost().rows.contains(&(part, key.clone())));
        Ok(rows)
    }

    fn history(&self, view: ViewId, label: &str) -> Result<Vec<HistoryRecord>, StoreError> {
        self.inner.history(view, label)
    }

    fn commit(&self, view: ViewId, commit: Commit) -> Result<(), StoreError> {
        let mut lost = self.lost();
        lost.commits += 1;
        for result in &commit.results {
            lost.filed.insert(result.key);
            if result.blob.is_some() {
                lost.blobs.remove(&result.record.output);
            }
        }
        for (part, key, _) in &commit.rows {
            lost.rows.remove(&(*part, key.clone()));
        }
        drop(lost);
        self.inner.commit(view, commit)
    }

    fn lock_action(&self, key: &ActionKey, is_cancelled: &dyn Fn() -> bool) -> Result<Option<ActionLock>, StoreError> {
        self.inner.lock_action(key, is_cancelled)
    }

    fn damage(&self) -> Vec<String> {
        self.inner.damage()
    }
}
