//! Compaction: all rows copied into a new file that takes the place of the old one. It knows tables only as bytes to bytes.
//!
//! Invariant: until the new file is whole and synced the old one stands; a kill in between leaves `store.redb.new`, which is removed by
//! whoever opens the store for writing next.

use super::{DiskStore, frame, schema};
use crate::store::{Store, StoreError};
use redb::{Database, ReadableDatabase, ReadableTable, ReadableTableMetadata, TableDefinition, TableHandle};
use std::sync::atomic::Ordering::Relaxed;

/// Whether a copy must have all rows that the tables say they have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whole {
    /// It must.
    Must,
    /// Those that can be reached and are sound are enough.
    AsFarAsReachable,
}

/// How a database's file is filled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fill {
    /// Length of the file.
    pub file_bytes: u64,
    /// Of that, pages in use.
    pub used_bytes: u64,
    /// Keys and values.
    pub row_bytes: u64,
}

impl Fill {
    /// Whether copying would make the file noticeably shorter: by more than a quarter.
    pub fn is_wasteful(&self) -> bool {
        self.file_bytes > SMALL && self.copied_bytes() < self.file_bytes / 4 * 3
    }

    /// About how long a copy would be: no longer than the pages in use, and rows fill four fifths of pages that are written in order, or more.
    pub fn copied_bytes(&self) -> u64 {
        self.used_bytes.min(self.row_bytes / 4 * 5) + HEAD
    }

    /// How long a copy would be at least: large rows fill nine tenths of their pages.
    pub fn least_bytes(&self) -> u64 {
        self.used_bytes.min(self.row_bytes / 9 * 10)
    }
}

/// A command that filed so many results, as a first build does, leaves a file that is worth a look.
const MANY: u64 = 10_000;

/// What a file has beside pages of rows.
const HEAD: u64 = 64 << 10;

/// Files up to this length are not worth copying; an empty store has about as much.
const SMALL: u64 = 2 << 20;

impl DiskStore {
    /// How the file is filled.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn fill(&self) -> Result<Fill, StoreError> {
        // A file that is open for writing is longer than it is once it is closed.
        self.release();
        let (used_bytes, row_bytes) = self.read(|database| {
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
            file_bytes: self.handle.medium().file_bytes(),
            used_bytes,
            row_bytes,
        })
    }

    /// Copies a file into which this handle filed many results since that was looked at last, if a copy is noticeably shorter, nobody waits for the
    /// store and nobody collects. Whether it did.
    ///
    /// # Errors
    /// As [`Self::compact`].
    pub fn compact_if_grown(&self) -> Result<bool, StoreError> {
        let has_grown = self.fresh.swap(0, Relaxed) >= MANY;
        if !has_grown || self.is_wanted() || self.is_collecting() || !self.fill()?.is_wasteful() {
            return Ok(false);
        }
        self.compact()
    }

    /// Copies all rows into a new file, which takes the place of the old one. Where there is no room for a copy the file is made shorter
    /// in its place, as far as that goes. Returns false where it stopped because another process waits for the store.
    ///
    /// # Errors
    /// When the new file cannot be written, or damage hides rows; the old one stands then.
    pub fn compact(&self) -> Result<bool, StoreError> {
        self.replace(Whole::Must)
    }

    /// As [`Self::compact`], leaving behind rows that are damaged or hidden by damage: nothing can read them anyway. It does not stop for other processes.
    ///
    /// # Errors
    /// When the new file cannot be written; the old one stands then.
    pub fn compact_reachable(&self) -> Result<(), StoreError> {
        self.replace(Whole::AsFarAsReachable).map(drop)
    }

    fn replace(&self, whole: Whole) -> Result<bool, StoreError> {
        let mut notices = Vec::new();
        let mut done = self.handle.replace(whole, &mut notices);
        if matches!(done, Err(StoreError::NoSpace { .. })) && self.handle.medium().give_up_reserve() {
            done = self.handle.replace(whole, &mut notices);
        }
        self.note(notices);
        done
    }
}

/// Rows copied between two looks at whether another process waits for the store.
const STEP: usize = 64;

/// Fills an empty database with the rows of all tables; whether it came to the end before somebody waited for it. A table of another form
/// than ours is of a later cortex: then nothing is copied.
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
            // A row whose key is damaged may be where no search finds it, so that it cannot be removed by its key.
            if whole == Whole::Must || !ours || frame::open(table.name(), key.value(), value.value()).is_ok() {
                copies.insert(key.value(), value.value())?;
            }
        }
    }
    txn.commit()?;
    if whole == Whole::Must {
        check(from, target)?;
    }
    Ok(true)
}

/// Whether the copy has as many rows of each table: damage may hide rows from a walk, and the old file then still has them.
fn check(from: &dyn ReadableDatabase, copy: &Database) -> Result<(), redb::Error> {
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
    match schema::kind(copy)? {
        schema::Kind::Ours(_) => Ok(()),
        _ => Err(redb::Error::Io(std::io::Error::other("the copy is no store"))),
    }
}
