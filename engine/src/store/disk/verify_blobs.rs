//! Verification of blobs: finds every row by its digest and hashes all bytes in storage order. Knows nothing about results.
//!
//! A blob whose bytes are where its row says is hashed in one pass, without a copy. Any other is read again like a normal read, which distinguishes
//! damage from a concurrent move or gc. So a blob counts as sound only if a reader gets it.

use super::block::Frames;
use super::open_database::expecting_panics;
use super::schema::{self, BLOB_DATA, BLOBS, ReadTable};
use super::verify::{self, DamagedItem, Repair, Verified};
use super::{DiskStore, frame, read};
use crate::store::StoreError;
use crate::store::codec::{self, BlobRecord};
use crate::values::digest::Digest;
use rayon::prelude::*;
use redb::{ReadableDatabase, ReadableTable, ReadableTableMetadata};
use rustc_hash::{FxHashMap, FxHashSet};
use std::ops::RangeInclusive;

/// Stored bytes hashed between two checks for waiting processes: takes some milliseconds.
const BATCH: u64 = 32 << 20;

/// Bytes added to each blob's size for the time to find it.
const SEARCH: u64 = 1 << 10;

/// Number of adjacent blobs that one core hashes in sequence.
const NEIGHBOURS: usize = 128;

/// A blob with the location in its row.
struct BlobPlace {
    digest: Digest,
    record: BlobRecord,
}

/// State of a blob that is not sound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BlobFault {
    Damaged,
    /// Removed by gc since its row was read.
    Gone,
}

/// The blobs of a store, as verified.
#[derive(Default)]
pub(super) struct VerifiedBlobs {
    /// Sorted by digest, once all are hashed.
    places: Vec<BlobPlace>,
    odd: FxHashMap<Digest, BlobFault>,
    rows: u64,
    /// Number of chunks of sound blobs.
    chunks: u64,
    blocks: FxHashSet<u64>,
}

impl VerifiedBlobs {
    /// Whether a blob is sound; `None` if it is missing, or was when its row would have been read.
    pub(super) fn is_sound(&self, digest: &Digest) -> Option<bool> {
        match self.odd.get(digest) {
            Some(BlobFault::Damaged) => Some(false),
            Some(BlobFault::Gone) => None,
            None => self.places.binary_search_by_key(digest, |place| place.digest).ok().map(|_| true),
        }
    }
}

impl DiskStore {
    /// Hashes all blobs; calls `between` after each step to release the store.
    pub(super) fn verify_blobs(&self, between: impl Fn(), verified: &mut Verified) -> Result<VerifiedBlobs, StoreError> {
        let mut blobs = VerifiedBlobs::default();
        for firsts in verify::first_bytes() {
            self.run_reading(|database| verify_blob_rows(database, firsts, &mut blobs, verified))?;
            between();
        }
        let mut places = std::mem::take(&mut blobs.places);
        places.sort_unstable_by_key(|place| (place.record.seq, place.record.shared.map(|shared| (shared.frame_at, shared.at))));
        let mut rest = &places[..];
        while !rest.is_empty() {
            let mut bytes = 0_u64;
            let fits = |place: &&BlobPlace| {
                let fits = bytes < BATCH;
                bytes = bytes.saturating_add(place.record.stored_len).saturating_add(SEARCH);
                fits
            };
            let (batch, later) = rest.split_at(rest.iter().take_while(fits).count());
            self.run_reading(|database| hash(database, batch, &mut blobs, verified))?;
            between();
            rest = later;
        }
        places.sort_unstable_by_key(|place| place.digest);
        blobs.places = places;
        Ok(blobs)
    }
}

/// Verification of some rows, or of their blobs.
#[derive(Default)]
struct VerifiedPart {
    places: Vec<BlobPlace>,
    odd: Vec<(Digest, BlobFault)>,
    damage: Vec<DamagedItem>,
    rows: u64,
    chunks: u64,
    blocks: FxHashSet<u64>,
    sound: u64,
    bytes: u64,
}

impl VerifiedPart {
    fn damaged(&mut self, digest: Digest, sentence: String) {
        self.odd.push((digest, BlobFault::Damaged));
        self.damage.push(verify::damaged_item(sentence, Repair::Blob(digest)));
    }
}

fn join(parts: Vec<VerifiedPart>, blobs: &mut VerifiedBlobs, verified: &mut Verified) {
    for part in parts {
        let damaged = part.odd.iter().filter(|(_, odd)| *odd == BlobFault::Damaged).count();
        verified.blobs += part.sound + damaged as u64;
        verified.blob_bytes += part.bytes;
        verified.damage.extend(part.damage);
        blobs.rows += part.rows;
        blobs.chunks += part.chunks;
        blobs.blocks.extend(part.blocks);
        blobs.places.extend(part.places);
        blobs.odd.extend(part.odd);
    }
}

/// Finds the blobs whose digests begin with certain bytes.
fn verify_blob_rows(
    database: &dyn ReadableDatabase,
    firsts: RangeInclusive<u8>,
    blobs: &mut VerifiedBlobs,
    verified: &mut Verified,
) -> Result<(), redb::Error> {
    let txn = database.begin_read()?;
    let Some(rows) = schema::open_table_to_read(&txn, BLOBS)? else {
        return Ok(());
    };
    let find = |first| expecting_panics(|| find_range(&rows, first));
    let parts = firsts.into_par_iter().map(find).collect::<Result<_, _>>()?;
    join(parts, blobs, verified);
    Ok(())
}

fn find_range(rows: &ReadTable, first: u8) -> Result<VerifiedPart, redb::Error> {
    let mut part = VerifiedPart::default();
    for entry in verify::rows_with_first_byte(rows, first)? {
        let (key, _) = entry?;
        part.rows += 1;
        let Ok(digest) = <[u8; 32]>::try_from(key.value()).map(Digest) else {
            let why = read::damaged(BLOBS, key.value(), "its key is not a digest");
            part.damage
                .push(verify::damaged_item(why, Repair::Row(BLOBS.name, key.value().to_vec())));
            continue;
        };
        // Search like a reader: damage may leave a row where no search finds it.
        match read::blob_record(rows, &digest)? {
            read::Value::Sound(record) => part.places.push(BlobPlace { digest, record }),
            read::Value::Damaged(sentence) => part.damaged(digest, sentence),
            read::Value::Absent => part.damage.extend(verify::find_unreachable(BLOBS, rows, &digest.0)?),
        }
    }
    Ok(part)
}

fn hash(
    database: &dyn ReadableDatabase,
    batch: &[BlobPlace],
    blobs: &mut VerifiedBlobs,
    verified: &mut Verified,
) -> Result<(), redb::Error> {
    let txn = database.begin_read()?;
    let (Some(rows), Some(data)) = (
        schema::open_table_to_read(&txn, BLOBS)?,
        schema::open_table_to_read(&txn, BLOB_DATA)?,
    ) else {
        return Ok(());
    };
    let hash = |places: &[BlobPlace]| expecting_panics(|| hash_some(&rows, &data, places));
    let parts = batch.par_chunks(NEIGHBOURS).map(hash).collect::<Result<_, _>>()?;
    join(parts, blobs, verified);
    Ok(())
}

fn hash_some(rows: &ReadTable, data: &ReadTable, places: &[BlobPlace]) -> Result<VerifiedPart, redb::Error> {
    let mut part = VerifiedPart::default();
    let frames = Frames::default();
    for BlobPlace { digest, record } in places {
        let len = match read::sound_chunks(data, record, digest, &frames)? {
            Some(chunks) => {
                part.chunks += chunks;
                part.blocks.extend(record.shared.map(|_| record.seq));
                record.raw_len
            }
            None => match read::blob_of(rows, data, digest, &frames)? {
                read::Value::Sound(blob) => blob.len() as u64,
                read::Value::Damaged(sentence) => {
                    part.damaged(*digest, sentence);
                    continue;
                }
                read::Value::Absent => {
                    part.odd.push((*digest, BlobFault::Gone));
                    continue;
                }
            },
        };
        part.sound += 1;
        part.bytes += len;
    }
    Ok(part)
}

/// Counts the rows of blobs and their chunks, and finds chunks without a blob: these only waste space.
pub(super) fn count_blob_rows(database: &dyn ReadableDatabase, blobs: &VerifiedBlobs, verified: &mut Verified) -> Result<(), redb::Error> {
    let txn = database.begin_read()?;
    let (Some(rows), Some(data)) = (
        schema::open_table_to_read(&txn, BLOBS)?,
        schema::open_table_to_read(&txn, BLOB_DATA)?,
    ) else {
        return Ok(());
    };
    verify::count_rows(BLOBS, &rows, blobs.rows, verified)?;
    // Every chunk and block of a sound blob was found: if there are no others, none is stray.
    let chunks = blobs.chunks + blobs.blocks.len() as u64;
    if data.len()? != chunks {
        find_unused_chunks(&rows, &data, verified)?;
    }
    verify::count_rows(BLOB_DATA, &data, chunks, verified)
}

fn find_unused_chunks(rows: &ReadTable, data: &ReadTable, verified: &mut Verified) -> Result<(), redb::Error> {
    let mut numbers: FxHashSet<u64> = FxHashSet::default();
    for entry in rows.iter()? {
        let (key, value) = entry?;
        let record = frame::verified_body(BLOBS.name, key.value(), value.value()).ok();
        numbers.extend(record.and_then(|body| codec::decode_blob(body).ok()).map(|record| record.seq));
    }
    let mut stray: Option<u64> = None;
    for entry in data.iter()? {
        let (key, _) = entry?;
        let Some(seq) = key.value().first_chunk::<8>().map(|seq| u64::from_be_bytes(*seq)) else {
            continue;
        };
        if !numbers.contains(&seq) && stray != Some(seq) {
            stray = Some(seq);
            let what = format!("the bytes numbered {seq} belong to no output; they only take space");
            verified.damage.push(verify::damaged_item(what, Repair::Chunks(seq)));
        }
    }
    Ok(())
}
