//! Compaction: copies all rows into a new file that replaces the old one. Knows tables only as bytes to bytes.
//!
//! Invariant: the old file stays until the new one is complete and synced; a kill in between leaves `store.redb.new`, which the next opening for
//! writing removes.

use super::{DiskStore, frame, schema};
use crate::store::{Store, StoreError};
use redb::{Database, ReadableDatabase, ReadableTable, ReadableTableMetadata, TableDefinition, TableHandle};
use std::sync::atomic::Ordering::Relaxed;

/// Whether a copy must contain all rows that the tables count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whole {
    /// It must contain all rows.
    Must,
    /// It may omit unreachable and damaged rows.
    AsFarAsReachable,
}

/// Sizes of a database's file and its contents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fill {
    /// Length of the file, in bytes.
    pub file_bytes: u64,
    /// Bytes of pages in use.
    pub used_bytes: u64,
    /// Bytes of keys and values.
    pub row_bytes: u64,
}

impl Fill {
    /// Whether a copy would shorten the file by more than a quarter.
    pub fn is_wasteful(&self) -> bool {
        self.file_bytes > SMALL && self.copied_bytes() < self.file_bytes / 4 * 3
    }

    /// Estimates the length of a copy: at most the pages in use; rows written in order fill at least four fifths of their pages.
    pub fn copied_bytes(&self) -> u64 {
        self.used_bytes.min(self.row_bytes / 4 * 5) + HEAD
    }

    /// Returns the minimum length of a copy: large rows fill nine tenths of their pages.
    pub fn least_bytes(&self) -> u64 {
        self.used_bytes.min(self.row_bytes / 9 * 10)
    }
}

/// Minimum number of results that a command, such as a first build, stores before it checks the file's growth.
const MANY: u64 = 10_000;

/// Bytes of a file besides pages of rows.
const HEAD: u64 = 64 << 10;

/// Maximum length in bytes of a file not worth copying; an empty store is about as long.
const SMALL: u64 = 2 << 20;

impl DiskStore {
    /// Measures how full the file is.
    pub fn fill(&self) -> Result<Fill, StoreError> {
        // A file open for writing is longer than after it is closed.
        self.release();
        let (used_bytes, row_bytes) = self.run_reading(|database| {
            let txn = database.begin_read()?;
            let (mut used, mut rows) = (0, 0);
            for table in txn.list_tables()? {
                let definition: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new(table.name());
                let stats = txn.open_table(definition)?.stats()?;
                rows += stats.stored_bytes();
                used += stats.stored_bytes() + stats.metadata_bytes() + stats.fragmented_bytes();
            }
            Ok((used, rows))
        })?;
        Ok(Fill {
            file_bytes: self.handle.medium().file_length(),
            used_bytes,
            row_bytes,
        })
    }

    /// Compacts a file into which this handle stored many results since the last check, if a copy is noticeably shorter, no process waits for the
    /// store and no gc runs. Returns whether it did. Fails as [`Self::compact`] does.
    pub fn compact_if_grown(&self) -> Result<bool, StoreError> {
        let has_grown = self.fresh.swap(0, Relaxed) >= MANY;
        if !has_grown || self.is_wanted() || self.is_collecting() || !self.fill()?.is_wasteful() {
            return Ok(false);
        }
        self.compact()
    }

    /// Copies all rows into a new file that replaces the old one. Without space for a copy, compacts the file in place as far as possible. Returns
    /// false if it stopped because another process waits for the store. Fails when the new file cannot be written, or damage hides rows;
    /// the old file then stays.
    pub fn compact(&self) -> Result<bool, StoreError> {
        self.replace_database(Whole::Must)
    }

    /// As [`Self::compact`], without damaged and unreachable rows, which cannot be read anyway. Does not stop for other processes. Fails
    /// when the new file cannot be written; the old file then stays.
    pub fn compact_reachable(&self) -> Result<(), StoreError> {
        self.replace_database(Whole::AsFarAsReachable).map(drop)
    }

    fn replace_database(&self, whole: Whole) -> Result<bool, StoreError> {
        let mut notices = Vec::new();
        let mut done = self.handle.replace_by_copy(whole, &mut notices);
        if matches!(done, Err(StoreError::NoSpace { .. })) && self.handle.medium().give_up_reserve() {
            done = self.handle.replace_by_copy(whole, &mut notices);
        }
        self.add_notices(notices);
        done
    }
}

/// Number of rows copied between two checks for waiting processes.
const STEP: usize = 64;

/// Copies the rows of all tables into an empty database; returns false if it stopped for a waiting process. Fails on a table of an unknown form,
/// which a later cortex wrote.
pub(super) fn copy(
    from: &dyn ReadableDatabase,
    target: &Database,
    whole: Whole,
    is_wanted: &dyn Fn() -> bool,
) -> Result<bool, redb::Error> {
    let stops = || whole == Whole::Must && is_wanted();
    let source = from.begin_read()?;
    let mut txn = target.begin_write()?;
    txn.set_quick_repair(true);
    for table in source.list_tables()? {
        let definition: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new(table.name());
        let rows = source.open_table(definition)?;
        let mut copies = txn.open_table(definition)?;
        let ours = schema::SCHEMA.iter().any(|ours| ours.name == table.name());
        for (at, row) in rows.iter()?.enumerate() {
            if at % STEP == 0 && stops() {
                return Ok(false);
            }
            let (key, value) = row?;
            // A row with a damaged key may be where no search finds it, so that it cannot be removed by key.
            if whole == Whole::Must || !ours || frame::verified_body(table.name(), key.value(), value.value()).is_ok() {
                copies.insert(key.value(), value.value())?;
            }
        }
    }
    txn.commit()?;
    if whole == Whole::Must {
        check_row_counts(from, target)?;
    }
    Ok(true)
}

/// Checks that the copy has as many rows of each table: damage may hide rows from a walk, and then the old file still has them.
fn check_row_counts(from: &dyn ReadableDatabase, copy: &Database) -> Result<(), redb::Error> {
    let (old, new) = (from.begin_read()?, copy.begin_read()?);
    for table in old.list_tables()? {
        let definition: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new(table.name());
        if old.open_table(definition)?.len()? != new.open_table(definition)?.len()? {
            return Err(redb::Error::Io(std::io::Error::other(format!(
                "rows of {} cannot be reached; see `cortex store verify`",
                table.name()
            ))));
        }
    }
    match schema::kind_of_store(copy)? {
        schema::StoreKind::Ours(_) => Ok(()),
        _ => Err(redb::Error::Io(std::io::Error::other("the copy is not a store"))),
    }
}
