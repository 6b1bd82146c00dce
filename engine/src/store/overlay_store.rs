//! A store as a what-if build sees it: what it holds is there, and results are filed under their keys as ever, because they are right wherever
//! they are asked for. What a build says of its checkout (its graph, History, log, remarks) is not kept. As no graph holds what it filed or
//! found, somebody else is told of it.

use super::records::{ActionRecord, HistoryRecord};
use super::{Commit, Flight, Part, Row, RowChange, Store, StoreError, ViewId};
use crate::values::digest::{ActionKey, Digest};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Told of the results that were filed or found, once they are durable.
pub type OnResults = Box<dyn Fn(&[ActionKey]) + Send + Sync>;

/// What was spent is spent, and a collection has to know of every checkout that it may have to keep something for.
const KEPT: [Part; 2] = [Part::Ledger, Part::View];

/// A store that keeps results alone, what was spent on them, and that the checkout is in use.
pub struct OverlayStore {
    store: Arc<dyn Store>,
    told: OnResults,
    /// Whether a build took away what is known of requests: it names nodes by numbers, which others may have since.
    forgotten: AtomicBool,
}

impl OverlayStore {
    /// Of a store.
    pub fn of(store: Arc<dyn Store>, told: OnResults) -> Self {
        Self {
            store,
            told,
            forgotten: AtomicBool::new(false),
        }
    }

    fn is_forgotten(&self, part: Part) -> bool {
        part == Part::Requests && self.forgotten.load(Relaxed)
    }
}

impl Store for OverlayStore {
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
        let kept = Commit {
            results: commit.results,
            blobs: commit.blobs,
            used: commit.used,
            rows: commit.rows.into_iter().filter(|(part, ..)| KEPT.contains(part)).collect(),
            ..Commit::default()
        };
        if kept.results.is_empty() && kept.blobs.is_empty() && kept.used.is_empty() && kept.rows.is_empty() {
            return Ok(());
        }
        let filed = kept.results.iter().map(|result| result.key);
        let keys: Vec<ActionKey> = filed.chain(kept.used.iter().map(|(key, _)| *key)).collect();
        self.store.commit(view, kept)?;
        (self.told)(&keys);
        Ok(())
    }

    fn damage(&self) -> Vec<String> {
        self.store.damage()
    }

    fn is_wanted(&self) -> bool {
        self.store.is_wanted()
    }

    fn let_go(&self) {
        self.store.let_go();
    }

    fn flight(&self, key: &ActionKey, is_cancelled: &dyn Fn() -> bool) -> Result<Option<Flight>, StoreError> {
        self.store.flight(key, is_cancelled)
    }
}
