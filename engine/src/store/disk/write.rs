//! Writing: work that needs no database (hashing, encoding, compressing) first and on all cores, then one transaction.

use super::block::{self, BlobTables, DataRow};
use super::schema::{self, ACTIONS, HISTORY, LAST_USE, PINS};
use super::{compression, frame};
use crate::store::codec::BlobRecord;
use crate::store::records::{HistoryRecord, NewResult};
use crate::store::{Commit, KEEP_VERSIONS, Part, ViewId, digest_mismatch, pins};
use crate::values::cbor;
use crate::values::digest::Digest;
use redb::{Database, ReadableTable, StorageError, WriteTransaction};
use std::collections::BTreeMap;

/// Maximum bytes of a blob in one row: with key, frame and page overhead this fits 64 KiB; one byte more would take 128.
pub(super) const CHUNK: usize = 65_480;

/// The key of a row and its framed body; `None` removes the row.
type FramedRow = (Vec<u8>, Option<Vec<u8>>);

/// A commit, ready to write: everything that does not depend on sequence or version numbers is framed and in key order.
pub(super) struct Prepared<'a> {
    blobs: Vec<DataRow<'a>>,
    actions: Vec<(&'a [u8], Vec<u8>)>,
    rows: BTreeMap<Part, Vec<FramedRow>>,
    history: &'a [(String, HistoryRecord)],
    source: &'a Commit,
    used: BTreeMap<&'a [u8], u64>,
    /// Sentences about outputs that were refused.
    pub(super) refused: Vec<String>,
}

impl Prepared<'_> {
    /// Whether there is nothing to write.
    pub(super) fn is_empty(&self) -> bool {
        self.blobs.is_empty() && self.actions.is_empty() && self.rows.is_empty() && self.history.is_empty() && self.used.is_empty()
    }
}

/// A blob to write: its claimed digest, its bytes, and the result that it belongs to, if any.
pub(super) type Coming<'a> = (Digest, &'a [u8], Option<&'a NewResult>);

/// Returns the blobs of a commit, each digest once, in order.
pub(super) fn blobs_of_commit(commit: &Commit) -> Vec<Coming<'_>> {
    let of = |result| NewResult::blobs(result).map(move |(digest, blob)| (digest, &**blob, Some(result)));
    let alone = commit.blobs.iter().map(|(digest, blob)| (*digest, &**blob, None));
    let mut outputs: Vec<Coming<'_>> = commit.results.iter().flat_map(of).chain(alone).collect();
    outputs.sort_by_key(|(digest, ..)| *digest);
    outputs.dedup_by_key(|(digest, ..)| *digest);
    outputs
}

/// Does all work that needs no database. `blobs` are the outputs that the store lacks.
pub(super) fn prepare<'a>(view: ViewId, commit: &'a Commit, blobs: &[Coming<'a>]) -> Prepared<'a> {
    let sound = compression::map_all(blobs, |&(digest, raw, _)| Digest::of(raw) == digest);
    let (mut accepted, mut refused) = (Vec::with_capacity(blobs.len()), Vec::new());
    for (&(digest, raw, result), sound) in blobs.iter().zip(sound) {
        match sound {
            true => accepted.push((digest, raw, result)),
            false => refused.push(digest_mismatch(&digest, result)),
        }
    }
    // Outputs of one producer are similar, those of neighbours even more.
    let kind = |result: &Option<&'a NewResult>| result.map(|result| (&result.record.producer, &result.record.label));
    accepted.sort_by(|(.., a), (.., b)| kind(a).cmp(&kind(b)));
    let accepted: Vec<(Digest, &[u8])> = accepted.into_iter().map(|(digest, raw, _)| (digest, raw)).collect();
    let blobs = block::distribute_blobs(&accepted);
    let mut actions = compression::map_all(&commit.results, |result| {
        let key = &result.key.0.0[..];
        (
            key,
            frame::framed(ACTIONS.name, key, &compression::record_body(&cbor::encode(&result.record))),
        )
    });
    // The sort is stable, and the last record of a key wins.
    actions.sort_by(|a, b| a.0.cmp(b.0));
    keep_last(&mut actions, |(key, _)| *key);
    let framed = compression::map_all(&commit.rows, |(part, key, body)| {
        let key = schema::row_key(part.owner(view), key);
        let framed = body.as_ref().map(|body| {
            frame::framed(
                schema::table_of(*part).name,
                &key,
                &compression::pack_body(body, schema::compresses(*part)),
            )
        });
        (*part, key, framed)
    });
    let mut rows: BTreeMap<Part, Vec<FramedRow>> = BTreeMap::new();
    for (part, key, body) in framed {
        rows.entry(part).or_default().push((key, body));
    }
    for rows in rows.values_mut() {
        rows.sort_by(|a, b| a.0.cmp(&b.0));
        keep_last(rows, |(key, _)| key.clone());
    }
    Prepared {
        blobs,
        actions,
        rows,
        history: &commit.history,
        source: commit,
        used: commit.used.iter().map(|(key, at)| (&key.0.0[..], *at)).collect(),
        refused,
    }
}

/// Keeps the last of adjacent items with equal keys.
fn keep_last<T, K: PartialEq>(items: &mut Vec<T>, key: impl Fn(&T) -> K) {
    items.dedup_by(|later, kept| {
        let same = key(later) == key(kept);
        if same {
            std::mem::swap(later, kept);
        }
        same
    });
}

/// Writes everything durably, or nothing. Blobs for which `replace` returns true are written even if recorded. While gc runs, records for it
/// everything that the commit relies on.
pub(super) fn commit(
    database: &Database,
    view: ViewId,
    prepared: &Prepared<'_>,
    collecting: bool,
    replace: impl Fn(&Digest) -> bool,
) -> Result<(), redb::Error> {
    let mut txn = database.begin_write()?;
    // Save the allocator state: after a kill the next opening takes milliseconds instead of a walk over the whole file.
    txn.set_quick_repair(true);
    if !prepared.blobs.is_empty() {
        // Check again inside the transaction: another thread may have written a blob since.
        let wants = |digest: &Digest, known: Option<&BlobRecord>| known.is_none() || replace(digest);
        BlobTables::open_tables(&txn)?.write_rows(&prepared.blobs, wants)?;
    }
    if !prepared.actions.is_empty() {
        let mut table = txn.open_table(ACTIONS.definition())?;
        for (key, value) in &prepared.actions {
            table.insert(*key, &value[..])?;
        }
    }
    for (part, rows) in &prepared.rows {
        let mut table = txn.open_table(schema::table_of(*part).definition())?;
        for (key, value) in rows {
            match value {
                Some(value) => table.insert(&key[..], &value[..])?,
                None => table.remove(&key[..])?,
            };
        }
    }
    if let Some(rows) = prepared.rows.get(&Part::Pins) {
        trim_unpinned(&txn, view, rows)?;
    }
    if !prepared.history.is_empty() {
        push_versions(&txn, view, prepared.history)?;
    }
    if !prepared.used.is_empty() {
        let mut table = txn.open_table(LAST_USE.definition())?;
        for (key, at) in &prepared.used {
            table.insert(*key, &frame::framed(LAST_USE.name, key, &at.to_be_bytes())[..])?;
        }
    }
    if collecting {
        super::sweep_fence::touch(&txn, prepared.source)?;
    }
    txn.commit()?;
    Ok(())
}

/// Numbers each version after the newest of its node, then trims those beyond the newest [`KEEP_VERSIONS`].
fn push_versions(txn: &WriteTransaction, view: ViewId, history: &[(String, HistoryRecord)]) -> Result<(), redb::Error> {
    let mut table = txn.open_table(HISTORY.definition())?;
    for (label, record) in history {
        let old = versions(&table, view, label)?;
        let version = old.last().map_or(1, |newest| newest.saturating_add(1));
        let key = schema::history_key(view, label, version);
        table.insert(&key[..], &frame::framed(HISTORY.name, &key, &cbor::encode(record))[..])?;
        trim(txn, &mut table, view, label, &old[..(old.len() + 1).saturating_sub(KEEP_VERSIONS)])?;
    }
    Ok(())
}

/// Returns the version numbers of a node. They come from the keys, so that a damaged body never leads to a reused number.
fn versions(table: &redb::Table<'_, &'static [u8], &'static [u8]>, view: ViewId, label: &str) -> Result<Vec<u32>, redb::Error> {
    let (from, to) = (schema::history_key(view, label, 0), schema::history_key(view, label, u32::MAX));
    let keys = table.range::<&[u8]>(&from[..]..=&to[..])?;
    let versions: Result<_, StorageError> = keys
        .filter_map(|entry| entry.map(|(key, _)| schema::version_of(key.value())).transpose())
        .collect();
    Ok(versions?)
}

/// Removes versions that are not pinned.
fn trim(
    txn: &WriteTransaction,
    table: &mut redb::Table<'_, &'static [u8], &'static [u8]>,
    view: ViewId,
    label: &str,
    surplus: &[u32],
) -> Result<(), redb::Error> {
    if surplus.is_empty() {
        return Ok(());
    }
    let pins = txn.open_table(PINS.definition())?;
    for version in surplus {
        if pins.get(&schema::row_key(view, &pins::row_key(label, *version))[..])?.is_none() {
            table.remove(&schema::history_key(view, label, *version)[..])?;
        }
    }
    Ok(())
}

/// Removes versions that only a removed pin protected.
fn trim_unpinned(txn: &WriteTransaction, view: ViewId, rows: &[FramedRow]) -> Result<(), redb::Error> {
    let mut table = txn.open_table(HISTORY.definition())?;
    for (key, _) in rows.iter().filter(|(_, value)| value.is_none()) {
        let Some((label, _)) = key.get(8..).and_then(pins::of_key) else {
            continue;
        };
        let old = versions(&table, view, label)?;
        trim(txn, &mut table, view, label, &old[..old.len().saturating_sub(KEEP_VERSIONS)])?;
    }
    Ok(())
}

/// Returns the keys of all pinned versions.
pub(super) fn pinned_keys(txn: &redb::ReadTransaction) -> Result<rustc_hash::FxHashSet<Vec<u8>>, redb::Error> {
    let mut keys = rustc_hash::FxHashSet::default();
    if let Some(pins) = schema::open_table_to_read(txn, PINS)? {
        for row in pins.iter()? {
            let (key, _) = row?;
            if let Some((view, rest)) = key.value().split_first_chunk()
                && let Some((label, version)) = pins::of_key(rest)
            {
                keys.insert(schema::history_key(ViewId(u64::from_be_bytes(*view)), label, version).to_vec());
            }
        }
    }
    Ok(keys)
}
