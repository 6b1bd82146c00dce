//! Counts of the tables' contents: one pass each, nothing kept in memory. Damaged records are not counted.

use super::schema::{self, ACTIONS, BLOBS, HISTORY, Table};
use super::{DiskStore, compression, frame};
use crate::store::codec::{self, BlobRecord};
use crate::store::records::{ActionRecord, HistoryRecord};
use crate::store::{BlobBytes, Part, StoreError, Usage, ViewId};
use crate::values::digest::{ActionKey, Digest};
use redb::{ReadTransaction, ReadableDatabase, ReadableTable, ReadableTableMetadata, TableHandle};
use std::collections::{BTreeMap, BTreeSet};

/// Calls `visit` with key, length of the whole row and body of every sound row.
fn each(txn: &ReadTransaction, table: Table, mut visit: impl FnMut(&[u8], u64, &[u8])) -> Result<(), redb::Error> {
    let Some(open) = schema::open_table_to_read(txn, table)? else {
        return Ok(());
    };
    for entry in open.iter()? {
        let (key, value) = entry?;
        if let Ok(body) = frame::verified_body(table.name, key.value(), value.value()) {
            visit(key.value(), (key.value().len() + value.value().len()) as u64, body);
        }
    }
    Ok(())
}

fn each_blob(txn: &ReadTransaction, mut visit: impl FnMut(Digest, BlobRecord)) -> Result<(), redb::Error> {
    each(txn, BLOBS, |key, _, body| {
        if let (Ok(digest), Ok(record)) = (key.try_into(), codec::decode_blob(body)) {
            visit(Digest(digest), record);
        }
    })
}

/// Counts the rows of the store's tables and adds them to the figures of its folder.
pub(super) fn usage(database: &dyn ReadableDatabase, folder: Usage) -> Result<Usage, redb::Error> {
    let txn = database.begin_read()?;
    let rows = |table| schema::open_table_to_read(&txn, table)?.map_or(Ok(0), |open| open.len().map_err(redb::Error::from));
    Ok(Usage {
        blobs: rows(BLOBS)?,
        actions: rows(ACTIONS)?,
        history_versions: rows(HISTORY)?,
        ..folder
    })
}

/// Sums up the lengths of all sound blobs.
pub(super) fn blob_bytes(database: &dyn ReadableDatabase) -> Result<BlobBytes, redb::Error> {
    let mut bytes = BlobBytes::default();
    each_blob(&database.begin_read()?, |_, record| {
        bytes.raw = bytes.raw.saturating_add(record.raw_len);
        bytes.stored = bytes.stored.saturating_add(record.stored_len);
    })?;
    Ok(bytes)
}

/// Returns the views with versions or rows other than those of their ledger, sorted.
pub(super) fn views(database: &dyn ReadableDatabase) -> Result<Vec<ViewId>, redb::Error> {
    let txn = database.begin_read()?;
    let mut views = BTreeSet::new();
    // Corrections belong to no view.
    let own = |part: &Part| !matches!(part, Part::Ledger | Part::Corrections);
    let parts = Part::ALL.into_iter().filter(own).map(schema::table_of);
    for table in parts.chain([HISTORY]) {
        let Some(open) = schema::open_table_to_read(&txn, table)? else {
            continue;
        };
        let mut from = Some([0; 8]);
        while let Some(start) = from {
            let Some(entry) = open.range::<&[u8]>(&start[..]..)?.next() else {
                break;
            };
            let (key, _) = entry?;
            let Some(view) = key.value().first_chunk::<8>().map(|view| u64::from_be_bytes(*view)) else {
                break;
            };
            views.insert(ViewId(view));
            from = view.checked_add(1).map(u64::to_be_bytes);
        }
    }
    Ok(views.into_iter().collect())
}

impl DiskStore {
    /// Returns the bytes of the rows that [`DiskStore::forget_view`] would remove.
    pub fn bytes_of(&self, view: ViewId) -> Result<u64, StoreError> {
        let own = |part: &Part| *part != Part::Ledger && part.owner(view) == view;
        let tables = Part::ALL.into_iter().filter(own).map(schema::table_of).chain([HISTORY]);
        let mut bytes = 0;
        for table in tables {
            self.run_reading(|database| {
                let txn = database.begin_read()?;
                let Some(open) = schema::open_table_to_read(&txn, table)? else {
                    return Ok(());
                };
                let (from, behind) = (view.0.to_be_bytes(), view.0.checked_add(1).map(u64::to_be_bytes));
                for entry in open.range::<&[u8]>(&from[..]..)? {
                    let (key, value) = entry?;
                    if behind.is_some_and(|behind| key.value() >= &behind[..]) {
                        break;
                    }
                    bytes += (key.value().len() + value.value().len()) as u64;
                }
                Ok(())
            })?;
        }
        Ok(bytes)
    }

    /// Calls `visit` with every sound result.
    pub fn each_action(&self, mut visit: impl FnMut(&ActionKey, &ActionRecord)) -> Result<(), StoreError> {
        self.walk(ACTIONS, |_, key, _, body| {
            if let Ok(key) = <[u8; 32]>::try_from(key)
                && let Some(record) = compression::open_body(body).and_then(|body| codec::decode_action(&body).ok())
            {
                visit(&ActionKey(Digest(key)), &record);
            }
            Ok(())
        })
    }

    /// Calls `visit` with every sound version, of any checkout, and the hash of its node's label.
    pub fn each_version(&self, mut visit: impl FnMut([u8; 16], &HistoryRecord)) -> Result<(), StoreError> {
        self.walk(HISTORY, |_, key, _, body| {
            let hash = key.get(8..24).and_then(|hash| hash.try_into().ok());
            let record = schema::version_of(key).and_then(|version| codec::decode_history(version, body).ok());
            if let (Some(hash), Some(record)) = (hash, record) {
                visit(hash, &record);
            }
            Ok(())
        })
    }

    /// Returns the number of nodes by number of versions, over all views.
    pub fn depths(&self) -> Result<BTreeMap<u64, u64>, StoreError> {
        let (mut depths, mut node, mut depth) = (BTreeMap::new(), Vec::new(), 0);
        self.walk(HISTORY, |_, key, _, _| {
            if !node.is_empty() && key.starts_with(&node) {
                depth += 1;
                return Ok(());
            }
            if depth > 0 {
                *depths.entry(depth).or_default() += 1;
            }
            (node, depth) = (key.get(..24).unwrap_or(key).to_vec(), 1);
            Ok(())
        })?;
        if depth > 0 {
            *depths.entry(depth).or_default() += 1;
        }
        Ok(depths)
    }

    /// Brings the store to the newest format, the only one, by creating missing tables. Returns the format and their names.
    pub fn migrate(&self) -> Result<(u32, Vec<String>), StoreError> {
        let made = self.run_writing(|database| {
            let mut txn = database.begin_write()?;
            txn.set_quick_repair(true);
            let there: BTreeSet<String> = txn.list_tables()?.map(|table| table.name().to_owned()).collect();
            let missing = schema::SCHEMA.iter().filter(|table| !there.contains(table.name));
            let mut made = Vec::new();
            for table in missing {
                txn.open_table(table.definition())?;
                made.push(table.name.to_owned());
            }
            txn.commit()?;
            Ok(made)
        })?;
        Ok((schema::FORMAT, made))
    }
}
