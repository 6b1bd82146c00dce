//! The fence: records results that other processes store or find while gc runs, so that the sweep keeps them. Knows nothing about marks.
//!
//! A gc holds `store.collector` for its whole life. Every commit in the meantime writes the keys and digests that it relies on to `touched.1`, in
//! the same transaction; the sweep checks them in each of its own. The next gc removes rows left by a killed one.
//!
//! No process waits for `store.collector`: a second gc fails at once. So it may be acquired with the store open or closed, and its holder may wait
//! for the store, without a cycle of waiting processes.

use super::DiskStore;
use super::lock::Lock;
use super::schema::{ACTIONS, TOUCHED};
use super::sweep::FEW;
use super::{compression, folder, frame};
use crate::store::{Commit, StoreError, codec};
use crate::values::digest::Digest;
use redb::{ReadableTable, WriteTransaction};
use std::path::Path;

/// A running gc: no other starts while it lives.
#[derive(Debug)]
pub struct Collecting {
    _lock: Option<Lock>,
}

impl DiskStore {
    /// Whether gc runs, in this process or another.
    pub fn is_collecting(&self) -> bool {
        self.handle.medium().collecting()
    }

    /// Time at which gc last started, in seconds since 1970.
    pub fn collected_at(&self) -> Option<u64> {
        self.handle.medium().collected_at()
    }

    /// Space that the file takes on the disk, in bytes.
    pub fn file_bytes(&self) -> u64 {
        self.handle.medium().file_bytes()
    }

    /// Fails if another process runs gc on the store in a folder. Does not wait, not even for the store. Errors:
    /// [`StoreError::Collecting`].
    pub fn refuse_second_collection(folder: &Path) -> Result<(), StoreError> {
        match folder::collector(folder) {
            Some(holder) => Err(StoreError::Collecting { holder }),
            None => Ok(()),
        }
    }

    /// Starts gc: from now on the sweep keeps results that others rely on. Mark only after this. Fails when another gc runs, or the store
    /// cannot be written.
    pub fn begin_collection(&self) -> Result<Collecting, StoreError> {
        let lock = self.handle.medium().collector()?;
        let mut most = FEW;
        self.remove_some(&mut most, |database, _| {
            let mut txn = database.begin_write()?;
            txn.set_quick_repair(true);
            txn.delete_table(TOUCHED.definition())?;
            txn.open_table(TOUCHED.definition())?;
            txn.commit()?;
            Ok(())
        })?;
        Ok(Collecting { _lock: lock })
    }
}

/// Records everything that a commit relies on, whether it writes it or expects it to exist.
pub(super) fn touch(txn: &WriteTransaction, commit: &Commit) -> Result<(), redb::Error> {
    let mut touched: Vec<Digest> = Vec::new();
    for result in &commit.results {
        touched.push(result.key.0);
        touched.extend(result.record.blobs_to_keep());
    }
    touched.extend(commit.blobs.iter().map(|(digest, _)| *digest));
    for (_, version) in &commit.history {
        touched.extend([version.key.0, version.output]);
    }
    let found = commit
        .history
        .iter()
        .map(|(_, version)| &version.key)
        .chain(commit.used.iter().map(|(key, _)| key));
    {
        let actions = txn.open_table(ACTIONS.definition())?;
        for key in found {
            touched.push(key.0);
            let value = actions.get(&key.0.0[..])?;
            let record = value.and_then(|value| {
                let body = frame::verified_body(ACTIONS.name, &key.0.0, value.value()).ok()?;
                codec::decode_action(&compression::open_body(body)?).ok()
            });
            let Some(record) = record else { continue };
            touched.extend(record.blobs_to_keep());
        }
    }
    touched.sort_unstable();
    touched.dedup();
    let mut table = txn.open_table(TOUCHED.definition())?;
    for digest in touched {
        table.insert(&digest.0[..], &frame::framed(TOUCHED.name, &digest.0, &[])[..])?;
    }
    Ok(())
}

/// The fence as the sweep reads it.
pub(super) struct Fence<'t> {
    touched: redb::Table<'t, &'static [u8], &'static [u8]>,
}

impl<'t> Fence<'t> {
    pub(super) fn open_fence(txn: &'t WriteTransaction) -> Result<Self, redb::Error> {
        Ok(Self {
            touched: txn.open_table(TOUCHED.definition())?,
        })
    }

    /// Whether a commit relies on a key or digest. A damaged row counts, too.
    pub(super) fn guards(&self, digest: &Digest) -> Result<bool, redb::Error> {
        Ok(self.touched.get(&digest.0[..])?.is_some())
    }
}
