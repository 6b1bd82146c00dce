//! Blocks: small blobs share rows of the data table, so that they compress together and fill pages.
//!
//! A row of the data table contains either a chunk of one blob or a block. A block is a sequence of frames; a frame expands to the bytes of
//! consecutive blobs. `blocks.1` counts the blobs of each block; removing the last one removes the block. [`Frames`] caches expanded frames, because a reader
//! of a blob reads its neighbours next.

use super::compression;
use super::frame::HEAD;
use super::schema::{self, BLOB_DATA, BLOBS, BLOCKS};
use super::write::CHUNK;
use super::{frame, sweep};
use crate::store::codec::{self, BlobRecord, Shared};
use crate::values::cbor;
use crate::values::digest::Digest;
use rayon::prelude::*;
use redb::{ReadableTable, StorageError, WriteTransaction};
use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// Maximum length in bytes of an expanded frame; uncompressed it still fits a row.
pub(super) const FRAME: usize = 60 << 10;

/// Maximum length of a blob that shares a frame: a longer one compresses well alone.
const LARGEST_SHARED: usize = FRAME / 2;

/// A row of the data table, or the chunks of one blob, with its blobs.
pub(super) struct DataRow<'a> {
    stored: Cow<'a, [u8]>,
    /// Their sequence number is assigned on writing.
    blobs: Vec<(Digest, BlobRecord)>,
}

/// Distributes blobs over rows. Consecutive blobs become neighbours, so they should be similar.
///
/// Must not be called while a lock or a transaction is held, as [`compression::map_all`].
pub(super) fn distribute_blobs<'a>(blobs: &[(Digest, &'a [u8])]) -> Vec<DataRow<'a>> {
    let is_small = |raw: &[u8]| !raw.is_empty() && raw.len() <= LARGEST_SHARED;
    let (mut small, mut large): (Vec<_>, Vec<_>) = blobs.iter().copied().partition(|(_, raw)| is_small(raw));
    if small.len() == 1 {
        large.append(&mut small);
    }
    let mut rows = compression::map_all(&large, |&(digest, raw)| row_of_one_blob(digest, raw));
    let mut bytes = 0;
    let frames: Vec<&[(Digest, &[u8])]> = small
        .chunk_by(|(_, before), (_, raw)| {
            bytes += before.len();
            let fits = bytes + raw.len() <= FRAME;
            if !fits {
                bytes = 0;
            }
            fits
        })
        .collect();
    let frames: Vec<Frame> = frames.into_par_iter().map(Frame::from_blobs).collect();
    let mut row = DataRow::empty();
    for frame in frames {
        if row.stored.len() + frame.stored.len() > CHUNK {
            rows.push(std::mem::replace(&mut row, DataRow::empty()));
        }
        row.add_frame(frame);
    }
    rows.push(row);
    rows
}

fn row_of_one_blob(digest: Digest, raw: &[u8]) -> DataRow<'_> {
    let (codec, stored) = compression::pack(raw);
    let record = BlobRecord {
        raw_len: raw.len() as u64,
        stored_len: stored.len() as u64,
        codec,
        seq: 0,
        shared: None,
    };
    DataRow {
        stored,
        blobs: vec![(digest, record)],
    }
}

/// Blobs that are compressed together.
struct Frame {
    codec: u8,
    stored: Vec<u8>,
    len: usize,
    /// Each blob with its length.
    blobs: Vec<(Digest, usize)>,
}

impl Frame {
    fn from_blobs(blobs: &[(Digest, &[u8])]) -> Self {
        let raw: Vec<u8> = blobs.iter().flat_map(|(_, raw)| raw.iter().copied()).collect();
        let (codec, stored) = compression::pack(&raw);
        Self {
            codec,
            stored: stored.into_owned(),
            len: raw.len(),
            blobs: blobs.iter().map(|(digest, raw)| (*digest, raw.len())).collect(),
        }
    }
}

impl DataRow<'_> {
    fn empty() -> Self {
        Self {
            stored: Cow::Owned(Vec::new()),
            blobs: Vec::new(),
        }
    }

    fn add_frame(&mut self, frame: Frame) {
        let (frame_at, mut at) = (self.stored.len() as u64, 0);
        for (digest, len) in frame.blobs {
            let record = BlobRecord {
                raw_len: len as u64,
                stored_len: (frame.stored.len() * len / frame.len) as u64,
                codec: frame.codec,
                seq: 0,
                shared: Some(Shared {
                    frame_at,
                    frame_stored: frame.stored.len() as u64,
                    frame_len: frame.len as u64,
                    at,
                }),
            };
            at += len as u64;
            self.blobs.push((digest, record));
        }
        self.stored.to_mut().extend_from_slice(&frame.stored);
    }

    fn is_block(&self) -> bool {
        self.blobs.iter().any(|(_, record)| record.shared.is_some())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BlockUse {
    blobs: u32,
    /// Their shares of its bytes.
    live: u32,
    /// Its length in bytes.
    stored: u32,
}

impl BlockUse {
    pub(super) fn from_row(body: &[u8]) -> Option<Self> {
        let (words, []) = body.as_chunks::<4>() else { return None };
        let &[blobs, live, stored] = words else { return None };
        Some(Self {
            blobs: u32::from_be_bytes(blobs),
            live: u32::from_be_bytes(live),
            stored: u32::from_be_bytes(stored),
        })
    }

    fn to_row(self) -> Vec<u8> {
        [self.blobs, self.live, self.stored]
            .iter()
            .flat_map(|word| word.to_be_bytes())
            .collect()
    }

    /// Whether its blobs should be rewritten: less than half of it is in use.
    pub(super) fn is_thin(self) -> bool {
        self.live < self.stored / 2
    }
}

type OpenTable<'t> = redb::Table<'t, &'static [u8], &'static [u8]>;

/// The tables of blobs, open for writing.
pub(super) struct BlobTables<'t> {
    blobs: OpenTable<'t>,
    data: OpenTable<'t>,
    blocks: OpenTable<'t>,
}

impl<'t> BlobTables<'t> {
    pub(super) fn open_tables(txn: &'t WriteTransaction) -> Result<Self, redb::Error> {
        Ok(Self {
            blobs: txn.open_table(BLOBS.definition())?,
            data: txn.open_table(BLOB_DATA.definition())?,
            blocks: txn.open_table(BLOCKS.definition())?,
        })
    }

    /// Writes rows with those of their blobs that `wants` selects, given the present record of each.
    pub(super) fn write_rows(
        &mut self,
        rows: &[DataRow<'_>],
        wants: impl Fn(&Digest, Option<&BlobRecord>) -> bool,
    ) -> Result<(), redb::Error> {
        let last = self
            .data
            .last()?
            .and_then(|(key, _)| key.value().first_chunk::<8>().map(|seq| u64::from_be_bytes(*seq)));
        let mut next = last.map_or(Some(0), |last| last.checked_add(1));
        let mut value = Vec::new();
        for row in rows {
            let mut wanted = Vec::with_capacity(row.blobs.len());
            for (digest, record) in &row.blobs {
                let old = self.blob_record(digest)?;
                if wants(digest, old.as_ref()) {
                    old.iter().try_for_each(|old| self.release(old))?;
                    wanted.push((digest, record));
                }
            }
            if wanted.is_empty() {
                continue;
            }
            let seq = next.ok_or_else(|| StorageError::Corrupted("a sequence number at the end of all numbers".to_owned()))?;
            next = seq.checked_add(1);
            for (chunk, bytes) in (0_u32..).zip(row.stored.chunks(CHUNK)) {
                let key = schema::chunk_key(seq, chunk);
                frame::write_frame(&mut value, BLOB_DATA.name, &key, bytes);
                self.data.insert(&key[..], &value[..])?;
            }
            if row.is_block() {
                let block = BlockUse {
                    blobs: wanted.len() as u32,
                    live: wanted.iter().map(|(_, record)| record.stored_len as u32).sum(),
                    stored: row.stored.len() as u32,
                };
                self.write_block_use(seq, block)?;
            }
            for (digest, record) in wanted {
                let record = BlobRecord { seq, ..*record };
                frame::write_frame(&mut value, BLOBS.name, &digest.0, &cbor::encode(&record));
                self.blobs.insert(&digest.0[..], &value[..])?;
            }
        }
        Ok(())
    }

    fn write_block_use(&mut self, seq: u64, block: BlockUse) -> Result<(), redb::Error> {
        let key = seq.to_be_bytes();
        self.blocks
            .insert(&key[..], &frame::framed(BLOCKS.name, &key, &block.to_row())[..])?;
        Ok(())
    }

    /// Reads the record of a blob, if it is sound.
    fn blob_record(&self, digest: &Digest) -> Result<Option<BlobRecord>, redb::Error> {
        let value = self.blobs.get(&digest.0[..])?;
        Ok(value.and_then(|value| codec::decode_blob(frame::verified_body(BLOBS.name, &digest.0, value.value()).ok()?).ok()))
    }

    /// Removes the row of a blob and returns its record, if sound; the bytes must then be [released](Self::release).
    pub(super) fn remove_blob(&mut self, digest: &Digest) -> Result<Option<BlobRecord>, redb::Error> {
        let value = self.blobs.remove(&digest.0[..])?;
        Ok(value.and_then(|value| codec::decode_blob(frame::verified_body(BLOBS.name, &digest.0, value.value()).ok()?).ok()))
    }

    /// Removes the bytes of a removed blob: its chunks, or its block if it was the last blob in there.
    pub(super) fn release(&mut self, record: &BlobRecord) -> Result<(), redb::Error> {
        if record.shared.is_none() {
            return sweep::remove_chunks(&mut self.data, record);
        }
        let key = record.seq.to_be_bytes();
        let block = self
            .blocks
            .get(&key[..])?
            .and_then(|value| BlockUse::from_row(frame::verified_body(BLOCKS.name, &key, value.value()).ok()?));
        // If a block's row is damaged, `store verify` detects it when the block is empty.
        let Some(block) = block else { return Ok(()) };
        if block.blobs <= 1 {
            return self.remove_numbered(record.seq);
        }
        let left = BlockUse {
            blobs: block.blobs - 1,
            live: block.live.saturating_sub(record.stored_len as u32),
            ..block
        };
        self.write_block_use(record.seq, left)
    }

    /// Removes all bytes of a sequence number.
    pub(super) fn remove_numbered(&mut self, seq: u64) -> Result<(), redb::Error> {
        let (from, to) = (schema::chunk_key(seq, 0), schema::chunk_key(seq, u32::MAX));
        self.data.retain_in::<&[u8], _>(&from[..]..=&to[..], |_, _| false)?;
        self.blocks.remove(&seq.to_be_bytes()[..])?;
        Ok(())
    }
}

/// Maximum number of expanded frames in the cache.
const KEPT: usize = 16;

/// Identity of a frame: sequence number of its row, offset in it, and the head of the row, which is unique to its content.
type FrameName = (u64, u64, [u8; HEAD]);

/// Cache of recently expanded frames.
#[derive(Debug, Default)]
pub(super) struct Frames(Mutex<VecDeque<(FrameName, Arc<[u8]>)>>);

impl Frames {
    /// Returns the bytes of a blob in the block whose row has this key and value, or the reason why they are missing.
    pub(super) fn bytes_of(&self, record: &BlobRecord, shared: &Shared, key: &[u8], row: &[u8]) -> Result<Arc<[u8]>, String> {
        let undecodable = || "its body does not decode".to_owned();
        let head = row.first_chunk::<HEAD>().ok_or_else(undecodable)?;
        let name = (record.seq, shared.frame_at, *head);
        let expanded = match self.cached_frame(&name) {
            Some(expanded) => expanded,
            None => {
                let body = frame::verified_body(BLOB_DATA.name, key, row).map_err(|error| error.to_string())?;
                let expanded = part(body, shared.frame_at, shared.frame_stored)
                    .filter(|_| shared.frame_len <= FRAME as u64)
                    .and_then(|stored| compression::unpack(record.codec, stored, shared.frame_len))
                    .ok_or_else(undecodable)?;
                self.remember_frame(name, expanded.clone());
                expanded
            }
        };
        part(&expanded, shared.at, record.raw_len).map(Arc::from).ok_or_else(undecodable)
    }

    fn lock_frames(&self) -> std::sync::MutexGuard<'_, VecDeque<(FrameName, Arc<[u8]>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn cached_frame(&self, name: &FrameName) -> Option<Arc<[u8]>> {
        let cached = self.lock_frames();
        cached.iter().find(|(known, _)| known == name).map(|(_, bytes)| bytes.clone())
    }

    fn remember_frame(&self, name: FrameName, bytes: Arc<[u8]>) {
        let mut cached = self.lock_frames();
        cached.push_front((name, bytes));
        cached.truncate(KEPT);
    }
}

/// Returns `len` bytes at an offset, if they exist.
fn part(bytes: &[u8], at: u64, len: u64) -> Option<&[u8]> {
    let at = usize::try_from(at).ok()?;
    bytes.get(at..at.checked_add(usize::try_from(len).ok()?)?)
}
