//! The fence: what others file or find while a collection runs, so that the sweep leaves it alone. It knows nothing of marks.
//!
//! A collection holds `store.collector` for its whole life. Whoever commits while it is held writes the keys and digests that its commit
//! relies on to `touched.1`, in the same transaction; the sweep looks there in each of its own. Rows left over from a collection that
//! was killed are removed when the next one begins.
//!
//! Nobody waits for `store.collector`: the second collection ends at once. So it may be taken with the store open or closed, and the store
//! waited for while it is held, without a ring of processes that wait for each other.

use super::DiskStore;
use super::lock::Lock;
use super::schema::{ACTIONS, TOUCHED};
use super::sweep::FEW;
use super::{folder, frame, pack};
use crate::store::{Commit, StoreError, codec};
use crate::values::digest::Digest;
use redb::{ReadableTable, WriteTransaction};
use std::path::Path;

/// A collection that is under way: no other begins while it lives.
#[derive(Debug)]
pub struct Collecting {
    _lock: Option<Lock>,
}

impl DiskStore {
    /// Whether a collection is under way, here or elsewhere.
    pub fn is_collecting(&self) -> bool {
        self.handle.medium().collecting()
    }

    /// When a collection last began, seconds since 1970.
    pub fn collected_at(&self) -> Option<u64> {
        self.handle.medium().collected_at()
    }

    /// Length of the file.
    pub fn file_bytes(&self) -> u64 {
        self.handle.medium().file_bytes()
    }

    /// Fails if another process collects what the store in a folder holds. Nothing is waited for, not even the store.
    ///
    /// # Errors
    /// [`StoreError::Collecting`].
    pub fn refuse_second_collection(folder: &Path) -> Result<(), StoreError> {
        match folder::collector(folder) {
            Some(holder) => Err(StoreError::Collecting { holder }),
            None => Ok(()),
        }
    }

    /// Begins a collection: from now on, what others rely on is left alone. Marking comes after this.
    ///
    /// # Errors
    /// When another collection runs, or the store cannot be written.
    pub fn begin_collection(&self) -> Result<Collecting, StoreError> {
        let lock = self.handle.medium().collector()?;
        let mut most = FEW;
        self.take(&mut most, |database, _| {
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

/// What a commit relies on, whether it brings it or counts on its being there.
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
                let body = frame::open(ACTIONS.name, &key.0.0, value.value()).ok()?;
                codec::decode_action(&pack::open_body(body)?).ok()
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

/// What the sweep looks at.
pub(super) struct Fence<'t> {
    touched: redb::Table<'t, &'static [u8], &'static [u8]>,
}

impl<'t> Fence<'t> {
    /// As it stands in a transaction.
    pub(super) fn open(txn: &'t WriteTransaction) -> Result<Self, redb::Error> {
        Ok(Self {
            touched: txn.open_table(TOUCHED.definition())?,
        })
    }

    /// Whether somebody relies on a key or digest. A damaged row is one too.
    pub(super) fn guards(&self, digest: &Digest) -> Result<bool, redb::Error> {
        Ok(self.touched.get(&digest.0[..])?.is_some())
    }
}
