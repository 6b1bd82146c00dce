//! A store in memory, for `--no-store` and for tests. Knows no disk and never fails.
//!
//! Blobs are hashed once, when committed. Reads do not hash them again: no other process can write this memory.

use super::records::{ActionRecord, HistoryRecord};
use super::views::{VIEW_KEY, ViewRecord};
use super::{BlobBytes, Commit, Inventory, KEEP_VERSIONS, Part, Row, Store, StoreError, Usage, ViewId, pins};
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
    last_use: HashMap<ActionKey, u64>,
    damage: Vec<String>,
}

impl Tables {
    /// Removes unpinned versions beyond the newest [`KEEP_VERSIONS`].
    fn trim(&mut self, view: ViewId, label: &str) {
        let Some(versions) = self.history.get_mut(&(view, label.to_owned())) else {
            return;
        };
        let pins = self.rows.get(&(view, Part::Pins));
        let surplus = versions.len().saturating_sub(KEEP_VERSIONS);
        let mut at = 0;
        versions.retain(|version| {
            at += 1;
            at > surplus || pins.is_some_and(|pins| pins.contains_key(&pins::row_key(label, version.version)))
        });
    }
}

#[derive(Debug, Default)]
pub struct MemoryStore {
    tables: Mutex<Tables>,
}

impl MemoryStore {
    /// Creates an empty store.
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
        let with_results = commit.results.iter().flat_map(|result| {
            let blobs = result.blobs();
            blobs.map(move |(digest, blob)| (digest, blob, Some(result)))
        });
        let alone = commit.blobs.iter().map(|(digest, blob)| (*digest, blob, None));
        for (digest, blob, result) in with_results.chain(alone) {
            if tables.blobs.contains_key(&digest) {
                continue;
            }
            if Digest::of(blob) == digest {
                tables.blobs.insert(digest, blob.clone());
            } else {
                tables.damage.push(super::digest_mismatch(&digest, result));
            }
        }
        for result in commit.results {
            tables.actions.insert(result.key, result.record);
        }
        let mut unpinned = Vec::new();
        for (part, key, body) in commit.rows {
            if let (Part::Pins, None, Some((label, _))) = (part, &body, pins::of_key(&key)) {
                unpinned.push(label.to_owned());
            }
            let rows = tables.rows.entry((part.owner(view), part)).or_default();
            match body {
                Some(body) => rows.insert(key, body),
                None => rows.remove(&key),
            };
        }
        for label in unpinned {
            tables.trim(view, &label);
        }
        for (label, record) in commit.history {
            let versions = tables.history.entry((view, label.clone())).or_default();
            let version = versions.last().map_or(1, |newest| newest.version.saturating_add(1));
            versions.push(HistoryRecord { version, ..record });
            tables.trim(view, &label);
        }
        tables.last_use.extend(commit.used);
        Ok(())
    }

    fn damage(&self) -> Vec<String> {
        std::mem::take(&mut self.tables().damage)
    }
}

impl Inventory for MemoryStore {
    fn usage(&self) -> Result<Usage, StoreError> {
        let tables = self.tables();
        Ok(Usage {
            blobs: tables.blobs.len() as u64,
            actions: tables.actions.len() as u64,
            history_versions: tables.history.values().map(|versions| versions.len() as u64).sum(),
            ..Usage::default()
        })
    }

    fn blob_bytes(&self) -> Result<BlobBytes, StoreError> {
        let bytes = self.tables().blobs.values().map(|blob| blob.len() as u64).sum();
        Ok(BlobBytes { raw: bytes, stored: bytes })
    }

    fn last_use(&self, key: &ActionKey) -> Result<Option<u64>, StoreError> {
        Ok(self.tables().last_use.get(key).copied())
    }

    fn views(&self) -> Result<Vec<(ViewId, ViewRecord)>, StoreError> {
        let tables = self.tables();
        let rows = tables.rows.iter().filter(|((_, part), _)| *part == Part::View);
        let of = |view: ViewId, row: &[u8]| Some((view, ViewRecord::from_row(row)?));
        let mut views: Vec<_> = rows.filter_map(|((view, _), rows)| of(*view, rows.get(VIEW_KEY)?)).collect();
        views.sort_unstable_by_key(|(view, _)| *view);
        Ok(views)
    }
}
