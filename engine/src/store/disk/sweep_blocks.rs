//! Thin blocks after gc: rewrites their remaining blobs side by side and removes the blocks.

use super::block::{self, BlobTables, BlockUse};
use super::schema::{self, BLOB_DATA, BLOBS, BLOCKS};
use super::sweep::STEP;
use super::{DiskStore, read};
use crate::store::{StoreError, codec};
use crate::values::digest::Digest;
use redb::ReadableDatabase;
use rustc_hash::FxHashSet;
use std::sync::Arc;

/// Maximum number of blobs to rewrite at once.
const REFILL: usize = 2_000;

impl DiskStore {
    /// Rewrites the blobs of blocks that are less than half in use.
    pub(super) fn fill_blocks(&self) -> Result<(), StoreError> {
        let mut thin: FxHashSet<u64> = FxHashSet::default();
        self.walk(BLOCKS, |_, key, _, body| {
            if let (Ok(seq), Some(block)) = (key.try_into(), BlockUse::from_row(body))
                && block.is_thin()
            {
                thin.insert(u64::from_be_bytes(seq));
            }
            Ok(())
        })?;
        if thin.is_empty() {
            return Ok(());
        }
        let mut places = Vec::new();
        self.walk(BLOBS, |_, key, _, body| {
            if let (Ok(digest), Ok(record)) = (key.try_into(), codec::decode_blob(body))
                && thin.contains(&record.seq)
            {
                places.push((record.seq, record.shared.map(|shared| (shared.frame_at, shared.at)), Digest(digest)));
            }
            Ok(())
        })?;
        places.sort_unstable();
        for some in places.chunks(REFILL) {
            let blobs = self.run_reading(|database| read_blobs(database, some.iter().map(|(.., digest)| digest)))?;
            let blobs: Vec<(Digest, &[u8])> = blobs.iter().map(|(digest, blob)| (*digest, &**blob)).collect();
            let rows = block::distribute_blobs(&blobs);
            self.remove_some(&mut STEP.clone(), |database, _| {
                let mut txn = database.begin_write()?;
                txn.set_quick_repair(true);
                // Skip blobs that were removed since.
                let is_thin = |_: &Digest, record: Option<&codec::BlobRecord>| record.is_some_and(|record| thin.contains(&record.seq));
                BlobTables::open_tables(&txn)?.write_rows(&rows, is_thin)?;
                txn.commit()?;
                Ok(())
            })?;
        }
        Ok(())
    }
}

type LiveBlob = (Digest, Arc<[u8]>);

/// Reads the sound blobs of these digests.
fn read_blobs<'d>(database: &dyn ReadableDatabase, digests: impl Iterator<Item = &'d Digest>) -> Result<Vec<LiveBlob>, redb::Error> {
    let txn = database.begin_read()?;
    let (Some(blobs), Some(data)) = (
        schema::open_table_to_read(&txn, BLOBS)?,
        schema::open_table_to_read(&txn, BLOB_DATA)?,
    ) else {
        return Ok(Vec::new());
    };
    let frames = block::Frames::default();
    let mut found = Vec::new();
    for digest in digests {
        if let read::Value::Sound(blob) = read::blob_of(&blobs, &data, digest, &frames)? {
            found.push((*digest, blob));
        }
    }
    Ok(found)
}
