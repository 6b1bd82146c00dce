//! Reading: one read transaction per call, every value checked. Does not decide how callers treat damage.

use super::block::Frames;
use super::schema::{self, ACTIONS, BLOB_DATA, BLOBS, HISTORY, LAST_USE, ReadTable, Table};
use super::{compression, frame};
use crate::store::codec::{self, BlobRecord};
use crate::store::records::{ActionRecord, HistoryRecord};
use crate::store::views::ViewRecord;
use crate::store::{Part, ViewId};
use crate::values::digest::{ActionKey, Digest};
use redb::ReadableDatabase;
use std::fmt::Write as _;
use std::sync::Arc;

#[derive(Debug)]
pub(super) enum Value<T> {
    Absent,
    Sound(T),
    /// It exists but differs from what was written; one sentence.
    Damaged(String),
}

impl<T> Value<T> {
    /// Decodes a sound value further; `None` becomes damage.
    fn and_then<U>(self, table: Table, key: &[u8], open: impl FnOnce(T) -> Option<U>) -> Value<U> {
        match self {
            Self::Absent => Value::Absent,
            Self::Sound(value) => open(value).map_or_else(|| Value::Damaged(damaged(table, key, "its body does not decode")), Value::Sound),
            Self::Damaged(sentence) => Value::Damaged(sentence),
        }
    }
}

/// Returns the sentence that names table and key of a damaged value.
pub(super) fn damaged(table: Table, key: &[u8], why: impl std::fmt::Display) -> String {
    let mut sentence = format!("the {} in {} under {} ", table.value, table.name, table.key);
    for byte in key.iter().take(40) {
        let _ = write!(sentence, "{byte:02x}");
    }
    let _ = write!(sentence, " is damaged ({why}); it is treated as absent");
    sentence
}

/// Opens the framed value of a key and maps its body.
pub(super) fn read_value<T>(
    from: &ReadTable,
    table: Table,
    key: &[u8],
    map: impl FnOnce(&[u8]) -> Option<T>,
) -> Result<Value<T>, redb::Error> {
    let Some(guard) = from.get(key)? else { return Ok(Value::Absent) };
    Ok(match frame::verified_body(table.name, key, guard.value()) {
        Ok(body) => Value::Sound(body).and_then(table, key, map),
        Err(error) => Value::Damaged(damaged(table, key, error)),
    })
}

/// Reads one value of one table in its own transaction.
fn single<T>(
    database: &dyn ReadableDatabase,
    table: Table,
    key: &[u8],
    map: impl FnOnce(&[u8]) -> Option<T>,
) -> Result<Value<T>, redb::Error> {
    let txn = database.begin_read()?;
    match schema::open_table_to_read(&txn, table)? {
        Some(open) => read_value(&open, table, key, map),
        None => Ok(Value::Absent),
    }
}

/// Reads and hashes the blob of a digest.
pub(super) fn read_and_hash(database: &dyn ReadableDatabase, digest: &Digest, frames: &Frames) -> Result<Value<Arc<[u8]>>, redb::Error> {
    let txn = database.begin_read()?;
    let (Some(blobs), Some(data)) = (
        schema::open_table_to_read(&txn, BLOBS)?,
        schema::open_table_to_read(&txn, BLOB_DATA)?,
    ) else {
        return Ok(Value::Absent);
    };
    blob_of(&blobs, &data, digest, frames)
}

pub(super) fn blob_record(blobs: &ReadTable, digest: &Digest) -> Result<Value<BlobRecord>, redb::Error> {
    read_value(blobs, BLOBS, &digest.0, |body| codec::decode_blob(body).ok())
}

/// Reads and hashes the blob of a digest from open tables.
pub(super) fn blob_of(blobs: &ReadTable, data: &ReadTable, digest: &Digest, frames: &Frames) -> Result<Value<Arc<[u8]>>, redb::Error> {
    let record = match blob_record(blobs, digest)? {
        Value::Sound(record) => record,
        Value::Absent => return Ok(Value::Absent),
        Value::Damaged(sentence) => return Ok(Value::Damaged(sentence)),
    };
    Ok(match read_blob(data, &record, frames)? {
        Value::Sound(bytes) if Digest::of(&bytes) == *digest => Value::Sound(bytes),
        Value::Sound(_) => Value::Damaged(damaged(BLOBS, &digest.0, "its bytes have another digest")),
        Value::Absent => Value::Damaged(damaged(BLOBS, &digest.0, "its bytes are missing")),
        Value::Damaged(sentence) => Value::Damaged(sentence),
    })
}

/// Returns the number of a blob's own chunks (0 in a block) if all bytes exist and have this digest, else `None` without the reason. Agrees with
/// [`blob_of`] on which blobs are sound, but mostly avoids a copy and hashes only once.
pub(super) fn sound_chunks(data: &ReadTable, record: &BlobRecord, digest: &Digest, frames: &Frames) -> Result<Option<u64>, redb::Error> {
    if record.shared.is_some() {
        let is_its = matches!(read_blob(data, record, frames)?, Value::Sound(bytes) if Digest::of(&bytes) == *digest);
        return Ok(is_its.then_some(0));
    }
    if record.codec != compression::RAW || record.stored_len == 0 || record.stored_len > super::write::CHUNK as u64 {
        let is_its = matches!(read_blob(data, record, frames)?, Value::Sound(bytes) if Digest::of(&bytes) == *digest);
        return Ok(is_its.then(|| record.stored_len.div_ceil(super::write::CHUNK as u64)));
    }
    let key = schema::chunk_key(record.seq, 0);
    let Some(guard) = data.get(&key[..])? else { return Ok(None) };
    let opened = frame::open_hashed(BLOB_DATA.name, &key, guard.value()).ok();
    Ok(opened
        .filter(|(body, hashed)| body.len() as u64 == record.stored_len && record.stored_len == record.raw_len && hashed == digest)
        .map(|_| 1))
}

/// Reads the bytes of a blob record. Memory grows only with chunks that exist, and with a length that matches them.
fn read_blob(data: &ReadTable, record: &BlobRecord, frames: &Frames) -> Result<Value<Arc<[u8]>>, redb::Error> {
    if let Some(shared) = &record.shared {
        let key = schema::chunk_key(record.seq, 0);
        let Some(row) = data.get(&key[..])? else { return Ok(Value::Absent) };
        let found = frames.bytes_of(record, shared, &key, row.value());
        return Ok(found.map_or_else(|why| Value::Damaged(damaged(BLOB_DATA, &key, why)), Value::Sound));
    }
    let unpack = |stored: &[u8]| compression::unpack(record.codec, stored, record.raw_len);
    if record.stored_len == 0 {
        return Ok(Value::Sound(Vec::new()).and_then(BLOB_DATA, &[], |empty: Vec<u8>| unpack(&empty)));
    }
    let first = schema::chunk_key(record.seq, 0);
    if record.stored_len <= super::write::CHUNK as u64 {
        return read_value(data, BLOB_DATA, &first, |chunk| {
            (chunk.len() as u64 == record.stored_len).then(|| unpack(chunk))?
        });
    }
    let mut stored = Vec::new();
    for chunk in 0_u32.. {
        let key = schema::chunk_key(record.seq, chunk);
        match read_value(data, BLOB_DATA, &key, |chunk| {
            (!chunk.is_empty()).then(|| stored.extend_from_slice(chunk))
        })? {
            Value::Sound(()) => {}
            Value::Absent => return Ok(Value::Absent),
            Value::Damaged(sentence) => return Ok(Value::Damaged(sentence)),
        }
        if stored.len() as u64 >= record.stored_len {
            break;
        }
    }
    let whole = stored.len() as u64 == record.stored_len;
    Ok(Value::Sound(stored).and_then(BLOB_DATA, &first, |stored| whole.then(|| unpack(&stored))?))
}

/// Returns for each blob whether its record is missing or unreadable.
pub(super) fn blobs_missing(database: &dyn ReadableDatabase, digests: &[Digest]) -> Result<Vec<bool>, redb::Error> {
    let txn = database.begin_read()?;
    let Some(blobs) = schema::open_table_to_read(&txn, BLOBS)? else {
        return Ok(vec![true; digests.len()]);
    };
    let missing = |digest: &Digest| Ok(!matches!(blob_record(&blobs, digest)?, Value::Sound(_)));
    digests.iter().map(missing).collect()
}

pub(super) fn action(database: &dyn ReadableDatabase, key: &ActionKey) -> Result<Value<ActionRecord>, redb::Error> {
    single(database, ACTIONS, &key.0.0, |body| {
        codec::decode_action(&compression::open_body(body)?).ok()
    })
}

pub(super) fn read_row(database: &dyn ReadableDatabase, view: ViewId, part: Part, key: &[u8]) -> Result<Value<Vec<u8>>, redb::Error> {
    single(database, schema::table_of(part), &schema::row_key(part.owner(view), key), |body| {
        compression::open_body(body).map(std::borrow::Cow::into_owned)
    })
}

/// Sound rows in key order, and a sentence for each damaged one.
pub(super) type SoundRows<K, T> = (Vec<(K, T)>, Vec<String>);

/// Reads all rows of a part of a view. Cannot detect rows that damage hides from the walk: a caller that needs completeness must count.
pub(super) fn read_rows_of_part(
    database: &dyn ReadableDatabase,
    view: ViewId,
    part: Part,
) -> Result<SoundRows<Vec<u8>, Vec<u8>>, redb::Error> {
    let (table, view) = (schema::table_of(part), part.owner(view));
    let from = view.0.to_be_bytes();
    let to = view.0.checked_add(1).map(u64::to_be_bytes);
    range(database, table, &from, to.as_ref().map(|to| &to[..]), |key, body| {
        Some((key.strip_prefix(&from)?.to_vec(), compression::open_body(body)?.into_owned()))
    })
}

/// Reads the versions of a node, oldest first.
pub(super) fn history(database: &dyn ReadableDatabase, view: ViewId, label: &str) -> Result<SoundRows<u32, HistoryRecord>, redb::Error> {
    let from = schema::history_key(view, label, 0);
    let to = schema::history_key(view, label, u32::MAX);
    range(database, HISTORY, &from, Some(&to), |key, body| {
        let version = schema::version_of(key)?;
        Some((version, codec::decode_history(version, body).ok()?))
    })
}

/// Reads when a result was last found again.
pub(super) fn last_use(database: &dyn ReadableDatabase, key: &ActionKey) -> Result<Value<u64>, redb::Error> {
    single(database, LAST_USE, &key.0.0, seconds)
}

/// Decodes the body of a row of [`LAST_USE`].
pub(super) fn seconds(body: &[u8]) -> Option<u64> {
    body.try_into().ok().map(u64::from_be_bytes)
}

/// Reads the checkouts recorded in the store.
pub(super) fn views(database: &dyn ReadableDatabase) -> Result<SoundRows<ViewId, ViewRecord>, redb::Error> {
    let (rows, sentences) = range(database, schema::table_of(Part::View), &[], None, |key, body| {
        // Rows under other keys than the empty one belong to no checkout.
        let view = key.try_into().ok().map(|view| ViewId(u64::from_be_bytes(view)));
        let record = view.and_then(|view| Some((view, ViewRecord::from_row(&compression::open_body(body)?)?)));
        Some(((), record))
    })?;
    Ok((rows.into_iter().filter_map(|((), record)| record).collect(), sentences))
}

/// Walks the keys `from..to`, or to the end of the table.
fn range<K, T>(
    database: &dyn ReadableDatabase,
    table: Table,
    from: &[u8],
    to: Option<&[u8]>,
    map: impl Fn(&[u8], &[u8]) -> Option<(K, T)>,
) -> Result<SoundRows<K, T>, redb::Error> {
    let (mut sound, mut sentences) = (Vec::new(), Vec::new());
    let txn = database.begin_read()?;
    let Some(open) = schema::open_table_to_read(&txn, table)? else {
        return Ok((sound, sentences));
    };
    let entries = match to {
        Some(to) => open.range::<&[u8]>(from..to)?,
        None => open.range::<&[u8]>(from..)?,
    };
    for entry in entries {
        let (key, value) = entry?;
        match frame::verified_body(table.name, key.value(), value.value()) {
            Ok(body) => match map(key.value(), body) {
                Some(item) => sound.push(item),
                None => sentences.push(damaged(table, key.value(), "its body does not decode")),
            },
            Err(error) => sentences.push(damaged(table, key.value(), error)),
        }
    }
    Ok((sound, sentences))
}
