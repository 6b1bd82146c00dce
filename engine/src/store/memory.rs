//! A store that remembers nothing once dropped: for `--no-store` and for tests. It knows no disk and never fails.
//!
//! Blobs are hashed once, when they come in; memory that nobody else can write is not hashed again on reading.

use super::records::{ActionRecord, HistoryRecord};
use super::{Commit, Garbage, Inventory, KEEP_VERSIONS, Part, Row, Store, StoreError, Usage, ViewId};
use crate::values::digest::{ActionKey, Digest};
use hashbrown::HashMap;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

#[derive(Debug, Default)]
struct Tables {
    blobs: HashMap<Digest, Arc<[u8]>>,
    actions: HashMap<ActionKey, ActionRecord>,
    rows: HashMap<(ViewId, Part), BTreeMap<Vec<u8>, Vec<u8>>>,
    history: HashMap<(ViewId, String), Vec<HistoryRecord>>,
    damage: Vec<String>,
}

/// The store in memory.
#[derive(Debug, Default)]
pub struct MemoryStore {
    tables: Mutex<Tables>,
}

impl MemoryStore {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    fn tables(&self) -> MutexGuard<'_, Tables> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store for MemoryStore {
    fn blob(&self, digest: &Digest) -> Result<Option<Arc<[u8]>>, StoreError> {
        Ok(self.tables().blobs.get(digest).cloned())
    }

    fn has_blob(&self, digest: &Digest) -> Result<bool, StoreError> {
        Ok(self.tables().blobs.contains_key(digest))
    }

    fn action(&self, key: &ActionKey) -> Result<Option<ActionRecord>, StoreError> {
        Ok(self.tables().actions.get(key).cloned())
    }

    fn row(&self, view: ViewId, part: Part, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self
            .tables()
            .rows
            .get(&(part.owner(view), part))
            .and_then(|rows| rows.get(key))
            .cloned())
    }

    fn rows(&self, view: ViewId, part: Part) -> Result<Vec<Row>, StoreError> {
        let tables = self.tables();
        let rows = tables.rows.get(&(part.owner(view), part)).into_iter().flatten();
        Ok(rows.map(|(key, body)| (key.clone(), body.clone())).collect())
    }

    fn history(&self, view: ViewId, label: &str) -> Result<Vec<HistoryRecord>, StoreError> {
        Ok(self.tables().history.get(&(view, label.to_owned())).cloned().unwrap_or_default())
    }

    fn commit(&self, view: ViewId, commit: Commit) -> Result<(), StoreError> {
        let mut guard = self.tables();
        let tables = &mut *guard;
        for result in commit.results {
            let output = result.record.output;
            if let Some(blob) = result.blob.filter(|_| !tables.blobs.contains_key(&output)) {
                if Digest::of(&blob) == output {
                    tables.blobs.insert(output, blob);
                } else {
                    tables.damage.push(super::not_its_digest(&result.record));
                }
            }
            tables.actions.insert(result.key, result.record);
        }
        for (part, key, body) in commit.rows {
            let rows = tables.rows.entry((part.owner(view), part)).or_default();
            match body {
                Some(body) => rows.insert(key, body),
                None => rows.remove(&key),
            };
        }
        for (label, record) in commit.history {
            let versions = tables.history.entry((view, label)).or_default();
            let version = versions.last().map_or(1, |newest| newest.version.saturating_add(1));
            versions.push(HistoryRecord { version, ..record });
            let surplus = versions.len().saturating_sub(KEEP_VERSIONS);
            versions.drain(..surplus);
        }
        Ok(())
    }

    fn damage(&self) -> Vec<String> {
        std::mem::take(&mut self.tables().damage)
    }
}

impl Inventory for MemoryStore {
    fn usage(&self) -> Result<Usage, StoreError> {
        let tables = self.tables();
        let bytes = tables.blobs.values().map(|blob| blob.len() as u64).sum();
        Ok(Usage {
            file_bytes: 0,
            blobs: tables.blobs.len() as u64,
            blob_raw_bytes: bytes,
            blob_stored_bytes: bytes,
            actions: tables.actions.len() as u64,
            history_versions: tables.history.values().map(|versions| versions.len() as u64).sum(),
        })
    }

    fn garbage(&self, live_actions: &dyn Fn(&ActionKey) -> bool, live_blobs: &dyn Fn(&Digest) -> bool) -> Result<Garbage, StoreError> {
        let tables = self.tables();
        let dead = tables.blobs.iter().filter(|(digest, _)| !live_blobs(digest));
        let (blobs, bytes) = dead.fold((0, 0), |(blobs, bytes), (_, blob)| (blobs + 1, bytes + blob.len() as u64));
        Ok(Garbage {
            actions: tables.actions.keys().filter(|key| !live_actions(key)).count() as u64,
            blobs,
            bytes,
        })
    }
}
