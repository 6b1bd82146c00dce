//! A store as a what-if build sees it: what it holds is there, and results are filed under their keys as ever, because they are right wherever
//! they are asked for. What a build says of its checkout (its graph, History, log, remarks) is not kept.

use super::records::{ActionRecord, HistoryRecord};
use super::{Commit, Flight, Part, Row, Store, StoreError, ViewId};
use crate::values::digest::{ActionKey, Digest};
use std::sync::Arc;

/// A store that keeps results alone, and what was spent on them.
pub struct Aside(Arc<dyn Store>);

impl Aside {
    /// Of a store.
    pub fn of(store: Arc<dyn Store>) -> Self {
        Self(store)
    }
}

impl Store for Aside {
    fn blob(&self, digest: &Digest) -> Result<Option<Arc<[u8]>>, StoreError> {
        self.0.blob(digest)
    }

    fn has_blob(&self, digest: &Digest) -> Result<bool, StoreError> {
        self.0.has_blob(digest)
    }

    fn action(&self, key: &ActionKey) -> Result<Option<ActionRecord>, StoreError> {
        self.0.action(key)
    }

    fn row(&self, view: ViewId, part: Part, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        // A request is known to be current of the checkout, which this is not.
        match part {
            Part::Requests => Ok(None),
            part => self.0.row(view, part, key),
        }
    }

    fn rows(&self, view: ViewId, part: Part) -> Result<Vec<Row>, StoreError> {
        match part {
            Part::Requests => Ok(Vec::new()),
            part => self.0.rows(view, part),
        }
    }

    fn history(&self, view: ViewId, label: &str) -> Result<Vec<HistoryRecord>, StoreError> {
        self.0.history(view, label)
    }

    fn commit(&self, view: ViewId, commit: Commit) -> Result<(), StoreError> {
        let kept = Commit {
            results: commit.results,
            used: commit.used,
            rows: commit.rows.into_iter().filter(|(part, ..)| *part == Part::Ledger).collect(),
            ..Commit::default()
        };
        match kept.results.is_empty() && kept.used.is_empty() && kept.rows.is_empty() {
            true => Ok(()),
            false => self.0.commit(view, kept),
        }
    }

    fn damage(&self) -> Vec<String> {
        self.0.damage()
    }

    fn is_wanted(&self) -> bool {
        self.0.is_wanted()
    }

    fn let_go(&self) {
        self.0.let_go();
    }

    fn flight(&self, key: &ActionKey, is_cancelled: &dyn Fn() -> bool) -> Result<Option<Flight>, StoreError> {
        self.0.flight(key, is_cancelled)
    }
}
