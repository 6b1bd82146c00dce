//! Verification: opens every row, hashes every blob, follows every reference; drops what is damaged. Knows tables, not graphs.
//!
//! Reading runs on all cores, a range of keys each; blobs are read separately (`verify_blobs`). Repair removes only rows that are unusable as they
//! are; the next build rebuilds what it misses. A placeholder without content replaces a lost version, so that version numbers stay contiguous.

use super::block::BlobTables;
use super::open_database::expecting_panics;
use super::schema::{self, ACTIONS, BLOB_DATA, BLOBS, HISTORY, META, ReadTable, SCHEMA, Table};
use super::verify_blobs::{self, VerifiedBlobs};
use super::{DiskStore, compression, frame, read};
use crate::store::records::{Class, HistoryRecord};
use crate::store::{Part, StoreError, ViewId, codec, shared};
use crate::values::cbor;
use crate::values::digest::{ActionKey, Digest};
use rayon::prelude::*;
use redb::{ReadableDatabase, ReadableTable, ReadableTableMetadata};
use rustc_hash::{FxHashMap, FxHashSet};
use std::ops::{Bound, RangeInclusive};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DamagedItem {
    /// Labels of the nodes that it belongs to, as far as known.
    pub labels: Vec<String>,
    pub what: String,
    /// Whether a paid result is lost.
    pub paid: bool,
    repair: Repair,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Repair {
    Row(&'static str, Vec<u8>),
    /// Remove a blob's row and its bytes.
    Blob(Digest),
    /// Replace a version by a placeholder without content; key and time.
    Version(Vec<u8>, u64),
    /// Remove the chunks of a sequence number.
    Chunks(u64),
    /// No removal of a row repairs it.
    None,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DamageLocation<'h> {
    Result(ActionKey),
    Output(Digest),
    /// A version of the node whose label has this hash.
    Version([u8; 16]),
    /// A row of a checkout, by its key.
    Row(ViewId, Part, &'h [u8]),
    /// An item of no node.
    Other,
}

/// Result of a verification.
#[derive(Debug, Default)]
pub struct Verified {
    pub rows: u64,
    pub blobs: u64,
    /// Their total length, in bytes.
    pub blob_bytes: u64,
    pub actions: u64,
    /// Results whose output is not stored: their producer keeps none, or gc removed it. It is rebuilt on demand.
    pub without_output: u64,
    pub versions: u64,
    /// Versions whose result gc removed.
    pub collected: u64,
    pub damage: Vec<DamagedItem>,
}

impl Verified {
    /// Whether nothing is damaged.
    pub fn is_sound(&self) -> bool {
        self.damage.is_empty()
    }
}

impl DiskStore {
    /// Opens every row, hashes every blob, follows every reference. Sees one state of the store: does not release it before the end.
    pub fn verify_everything(&self) -> Result<Verified, StoreError> {
        self.verify_with(|| {})
    }

    /// As [`Self::verify_everything`], but releases the store while hashing blobs, the slow part. Items that other processes store or remove
    /// meanwhile do not count as damaged; the next verification may check them.
    pub fn verify_among_others(&self) -> Result<Verified, StoreError> {
        self.verify_with(|| self.release_to_others())
    }

    pub(super) fn verify_with(&self, between: impl Fn()) -> Result<Verified, StoreError> {
        let mut verified = Verified::default();
        let blobs = self.verify_blobs(&between, &mut verified)?;
        let mut results = Results::default();
        for firsts in first_bytes() {
            self.run_reading(|database| verify_actions(database, firsts, &blobs, &mut results, &mut verified))?;
            between();
        }
        add_labels(&mut verified.damage, &results.damaged);
        verified.actions = results.keys.len() as u64;
        self.run_reading(|database| {
            verify_blobs::count_blob_rows(database, &blobs, &mut verified)?;
            count_actions(database, results.rows, &mut verified)?;
            verify_versions(database, &results, &mut verified)?;
            for table in SCHEMA {
                if ![BLOBS.name, BLOB_DATA.name, ACTIONS.name, HISTORY.name].contains(&table.name) {
                    verify_rows(database, table, &mut verified)?;
                }
            }
            Ok(())
        })?;
        Ok(verified)
    }

    /// Applies the repairs; returns their number.
    pub fn repair(&self, damage: &[DamagedItem]) -> Result<usize, StoreError> {
        let mut repairs: Vec<&Repair> = damage
            .iter()
            .map(|item| &item.repair)
            .filter(|repair| **repair != Repair::None)
            .collect();
        repairs.sort_unstable();
        repairs.dedup();
        for some in repairs.chunks(super::sweep::STEP) {
            self.run_writing(|database| apply(database, some))?;
            self.release_to_others();
        }
        Ok(repairs.len())
    }
}

fn apply(database: &redb::Database, repairs: &[&Repair]) -> Result<(), redb::Error> {
    let mut txn = database.begin_write()?;
    txn.set_quick_repair(true);
    for repair in repairs {
        match repair {
            Repair::Row(name, key) => {
                let table = SCHEMA.iter().find(|table| table.name == *name);
                let table = table.expect("invariant: only tables of the schema are verified");
                txn.open_table(table.definition())?.remove(&key[..])?;
            }
            Repair::Blob(digest) => {
                let mut tables = BlobTables::open_tables(&txn)?;
                if let Some(record) = tables.remove_blob(digest)? {
                    tables.release(&record)?;
                }
            }
            Repair::Version(key, at) => {
                let nothing = HistoryRecord {
                    version: 0,
                    key: ActionKey(Digest([0; 32])),
                    output: Digest([0; 32]),
                    at: *at,
                    build: None,
                };
                let framed = frame::framed(HISTORY.name, key, &cbor::encode(&nothing));
                txn.open_table(HISTORY.definition())?.insert(&key[..], &framed[..])?;
            }
            Repair::Chunks(seq) => BlobTables::open_tables(&txn)?.remove_numbered(*seq)?,
            Repair::None => {}
        }
    }
    txn.commit()?;
    Ok(())
}

/// Number of key ranges, of one first byte each, to read before releasing the store.
const RANGES: u8 = 16;

/// Returns the possible first bytes of a key, in groups between which the store is released.
pub(super) fn first_bytes() -> impl Iterator<Item = RangeInclusive<u8>> {
    (0..=u8::MAX).step_by(usize::from(RANGES)).map(|first| first..=first + (RANGES - 1))
}

/// Returns the rows of a table whose keys begin with a byte; the empty key, which only damage creates, counts as beginning with zero.
pub(super) fn rows_with_first_byte(table: &ReadTable, first: u8) -> Result<redb::Range<'_, &'static [u8], &'static [u8]>, redb::Error> {
    let (from, to) = ([first], first.checked_add(1).map(|next| [next]));
    let from = if first == 0 { Bound::Unbounded } else { Bound::Included(&from[..]) };
    let to = to.as_ref().map_or(Bound::Unbounded, |to| Bound::Excluded(&to[..]));
    Ok(table.range::<&[u8]>((from, to))?)
}

pub(super) fn damaged_item(what: String, repair: Repair) -> DamagedItem {
    DamagedItem {
        labels: Vec::new(),
        what,
        paid: false,
        repair,
    }
}

/// Returns the damage of a row that a walk finds but a search does not, because the path to it is damaged: readers do not see it.
pub(super) fn find_unreachable(table: Table, open: &ReadTable, key: &[u8]) -> Result<Option<DamagedItem>, redb::Error> {
    let is_found = open.get(key)?.is_some();
    Ok((!is_found).then(|| damaged_item(read::damaged(table, key, "no search finds it"), Repair::None)))
}

/// Counts the rows of a table; an earlier walk found `met` of them. A table that claims more rows than a walk finds has lost some to damage.
/// Other processes may have changed rows since that walk, so only a walk in one transaction proves the loss.
pub(super) fn count_rows(table: Table, open: &ReadTable, met: u64, verified: &mut Verified) -> Result<(), redb::Error> {
    let claimed = open.len()?;
    let mut walked = met;
    if claimed != met {
        walked = 0;
        for entry in open.iter()? {
            entry?;
            walked += 1;
        }
    }
    verified.rows += walked;
    if claimed != walked {
        let what = format!(
            "{} says it has {claimed} rows and {walked} can be reached; the next build rebuilds the others",
            table.name
        );
        verified.damage.push(damaged_item(what, Repair::None));
    }
    Ok(())
}

/// Results of a store, as verified.
#[derive(Default)]
struct Results {
    keys: FxHashSet<ActionKey>,
    /// Existing results that cannot be read.
    unreadable: FxHashSet<ActionKey>,
    /// Rows whose check does not match the key, with their values: the key may be damaged.
    astray: Vec<(Vec<u8>, Vec<u8>)>,
    rows: u64,
    /// Label and cost class of results whose output is damaged.
    damaged: FxHashMap<Digest, (String, bool)>,
}

/// Maximum number of rows with a possibly damaged key to compare with the keys that versions miss.
const ASTRAY: usize = 64;

impl Results {
    /// Whether a missing result exists under a damaged key: the row's check matches the missing key. If so, completes the item of that row with its
    /// label.
    fn is_astray(&self, missing: &ActionKey, damage: &mut [DamagedItem]) -> bool {
        let body = |value: &[u8]| {
            let body = frame::verified_body(ACTIONS.name, &missing.0.0, value).ok()?;
            compression::open_body(body).map(std::borrow::Cow::into_owned)
        };
        let found = self.astray.iter().find_map(|(key, value)| Some((key, body(value)?)));
        let Some((key, body)) = found else { return false };
        let of_row = |item: &&mut DamagedItem| matches!(&item.repair, Repair::Row(name, row) if *name == ACTIONS.name && row == key);
        if let (Some(item), Ok(record)) = (damage.iter_mut().find(of_row), codec::decode_action(&body)) {
            (item.labels, item.paid) = (vec![record.label], record.class == Class::Paid);
        }
        true
    }
}

/// Verification of a range of results.
#[derive(Default)]
struct Opened {
    keys: Vec<ActionKey>,
    unreadable: Vec<ActionKey>,
    astray: Vec<(Vec<u8>, Vec<u8>)>,
    rows: u64,
    damaged: Vec<(Digest, (String, bool))>,
    without_output: u64,
    damage: Vec<DamagedItem>,
}

/// Opens the results whose keys begin with certain bytes.
fn verify_actions(
    database: &dyn ReadableDatabase,
    firsts: RangeInclusive<u8>,
    blobs: &VerifiedBlobs,
    results: &mut Results,
    verified: &mut Verified,
) -> Result<(), redb::Error> {
    let txn = database.begin_read()?;
    let Some(actions) = schema::open_table_to_read(&txn, ACTIONS)? else {
        return Ok(());
    };
    let stored = schema::open_table_to_read(&txn, BLOBS)?;
    let open = |first| expecting_panics(|| open_range(&actions, stored.as_ref(), first, blobs));
    let parts: Vec<Opened> = firsts.into_par_iter().map(open).collect::<Result<_, _>>()?;
    for part in parts {
        results.keys.extend(part.keys);
        results.unreadable.extend(part.unreadable);
        let room = ASTRAY.saturating_sub(results.astray.len());
        results.astray.extend(part.astray.into_iter().take(room));
        results.rows += part.rows;
        results.damaged.extend(part.damaged);
        verified.without_output += part.without_output;
        verified.damage.extend(part.damage);
    }
    Ok(())
}

fn open_range(actions: &ReadTable, stored: Option<&ReadTable>, first: u8, blobs: &VerifiedBlobs) -> Result<Opened, redb::Error> {
    let mut opened = Opened::default();
    // Outputs may have been stored since the blobs were hashed.
    let is_stored = |output: &Digest| match stored {
        Some(stored) => Ok::<bool, redb::Error>(stored.get(&output.0[..])?.is_some()),
        None => Ok(false),
    };
    for entry in rows_with_first_byte(actions, first)? {
        let (key, value) = entry?;
        opened.rows += 1;
        opened.damage.extend(find_unreachable(ACTIONS, actions, key.value())?);
        let body = frame::verified_body(ACTIONS.name, key.value(), value.value());
        if body.is_err() && opened.astray.len() < ASTRAY {
            opened.astray.push((key.value().to_vec(), value.value().to_vec()));
        }
        let record = body.map_err(|error| error.to_string()).and_then(|body| {
            compression::open_body(body)
                .and_then(|body| codec::decode_action(&body).ok())
                .ok_or_else(|| "its body does not decode".to_owned())
        });
        let digest = <[u8; 32]>::try_from(key.value());
        let (Ok(record), Ok(digest)) = (&record, digest) else {
            opened.unreadable.extend(digest.ok().map(|digest| ActionKey(Digest(digest))));
            let why = record.err().unwrap_or_else(|| "its key is not a digest".to_owned());
            let why = read::damaged(ACTIONS, key.value(), why);
            opened
                .damage
                .push(damaged_item(why, Repair::Row(ACTIONS.name, key.value().to_vec())));
            continue;
        };
        opened.keys.push(ActionKey(Digest(digest)));
        let paid = record.class == Class::Paid;
        let lost = |what: &str| DamagedItem {
            labels: vec![record.label.clone()],
            what: what.to_owned(),
            paid,
            repair: Repair::Row(ACTIONS.name, key.value().to_vec()),
        };
        match blobs.is_sound(&record.output) {
            Some(true) => {}
            Some(false) => {
                opened.damaged.push((record.output, (record.label.clone(), paid)));
                if paid {
                    opened.damage.push(lost("its output, which was paid for, is damaged"));
                }
            }
            None if is_stored(&record.output)? => {}
            // A paid result is useless without its output, and would hide that it has to be requested again.
            None if paid => opened.damage.push(lost("its output is not there, although it was paid for")),
            None => opened.without_output += 1,
        }
        for part in &record.parts {
            match blobs.is_sound(part) {
                Some(true) => {}
                Some(false) => opened.damaged.push((*part, (record.label.clone(), paid))),
                None if is_stored(part)? => {}
                // The parts of another machine's result are fetched when they are read.
                None if record.notes.contains_key(shared::FOUND) => {}
                // If a tree's folder is stored, all its parts must be.
                None => opened.damage.push(lost("a part of its tree is not there")),
            }
        }
    }
    Ok(opened)
}

/// Adds labels of results to the items of their damaged outputs.
fn add_labels(damage: &mut [DamagedItem], labels: &FxHashMap<Digest, (String, bool)>) {
    for item in damage {
        if let Repair::Blob(digest) = &item.repair
            && let Some((label, paid)) = labels.get(digest)
        {
            (item.labels, item.paid) = (vec![label.clone()], *paid);
        }
    }
}

fn count_actions(database: &dyn ReadableDatabase, met: u64, verified: &mut Verified) -> Result<(), redb::Error> {
    let txn = database.begin_read()?;
    match schema::open_table_to_read(&txn, ACTIONS)? {
        Some(open) => count_rows(ACTIONS, &open, met, verified),
        None => Ok(()),
    }
}

/// Opens all versions. Numbers of a node increase by one, except after pinned versions.
fn verify_versions(database: &dyn ReadableDatabase, results: &Results, verified: &mut Verified) -> Result<(), redb::Error> {
    let txn = database.begin_read()?;
    let Some(open) = schema::open_table_to_read(&txn, HISTORY)? else {
        return Ok(());
    };
    let pinned = super::write::pinned_keys(&txn)?;
    let mut before: Option<(Vec<u8>, u64)> = None;
    let mut met = 0;
    for entry in open.iter()? {
        let (key, value) = entry?;
        let key = key.value();
        met += 1;
        verified.damage.extend(find_unreachable(HISTORY, &open, key)?);
        let Some(version) = schema::version_of(key) else {
            let why = read::damaged(HISTORY, key, "its key is none of a version");
            verified.damage.push(damaged_item(why, Repair::Row(HISTORY.name, key.to_vec())));
            continue;
        };
        let last = before.as_ref().filter(|(last, _)| last[..24] == key[..24]);
        let (number, at) = last.map_or((version - version.min(1), 0), |(last, at)| {
            (schema::version_of(last).unwrap_or(0), *at)
        });
        let whole = number + 1 == version || last.is_none() || last.is_some_and(|(last, _)| pinned.contains(last));
        if !whole {
            let missing = u64::from(version - number) - 1;
            let what = format!("{missing} of its versions, before version {version}, are not there");
            for lost in number + 1..version {
                let mut place = key.to_vec();
                place[24..].copy_from_slice(&lost.to_be_bytes());
                verified.damage.push(damaged_item(what.clone(), Repair::Version(place, at)));
            }
        }
        let record = frame::verified_body(HISTORY.name, key, value.value())
            .map_err(|error| error.to_string())
            .and_then(|body| codec::decode_history(version, body).map_err(|_| "its body does not decode".to_owned()));
        let mut at = at;
        match record {
            Ok(record) => {
                // The damage of an unreadable result is reported with its row.
                let is_there = results.keys.contains(&record.key)
                    || results.unreadable.contains(&record.key)
                    || results.is_astray(&record.key, &mut verified.damage);
                verified.collected += u64::from(!is_there);
                at = record.at;
            }
            Err(why) => verified
                .damage
                .push(damaged_item(read::damaged(HISTORY, key, why), Repair::Version(key.to_vec(), at))),
        }
        before = Some((key.to_vec(), at));
    }
    verified.versions = met;
    count_rows(HISTORY, &open, met, verified)
}

fn verify_rows(database: &dyn ReadableDatabase, table: Table, verified: &mut Verified) -> Result<(), redb::Error> {
    let txn = database.begin_read()?;
    let Some(open) = schema::open_table_to_read(&txn, table)? else {
        return Ok(());
    };
    let mut met = 0;
    for entry in open.iter()? {
        let (key, value) = entry?;
        met += 1;
        verified.damage.extend(find_unreachable(table, &open, key.value())?);
        let opened = frame::verified_body(table.name, key.value(), value.value());
        let packed = table.value.starts_with("packed");
        let why = match opened {
            Err(error) => error.to_string(),
            Ok(body) if packed && compression::open_body(body).is_none() => "its body does not decode".to_owned(),
            Ok(_) => continue,
        };
        let repair = match table.name == META.name {
            true => Repair::None,
            false => Repair::Row(table.name, key.value().to_vec()),
        };
        verified.damage.push(damaged_item(read::damaged(table, key.value(), why), repair));
    }
    count_rows(table, &open, met, verified)
}

/// Returns the hash of a label as in the keys of its versions.
pub fn label_hash(label: &str) -> [u8; 16] {
    let mut half = [0; 16];
    half.copy_from_slice(&blake3::hash(label.as_bytes()).as_bytes()[..16]);
    half
}

impl DamagedItem {
    /// Returns the item for a damaged graph, which the next build plans again.
    pub fn of_graph(what: String) -> Self {
        damaged_item(what, Repair::None)
    }

    pub fn location(&self) -> DamageLocation<'_> {
        let version = |key: &[u8]| {
            key.get(8..24)
                .and_then(|hash| hash.try_into().ok())
                .map_or(DamageLocation::Other, DamageLocation::Version)
        };
        match &self.repair {
            Repair::Blob(digest) => DamageLocation::Output(*digest),
            Repair::Version(key, _) => version(key),
            Repair::Row(name, key) if *name == HISTORY.name => version(key),
            Repair::Row(name, key) if *name == ACTIONS.name => {
                let digest = <[u8; 32]>::try_from(&key[..]);
                digest.map_or(DamageLocation::Other, |digest| DamageLocation::Result(ActionKey(Digest(digest))))
            }
            Repair::Row(name, key) => {
                let part = Part::ALL.into_iter().find(|part| schema::table_of(*part).name == *name);
                match (part, key.split_first_chunk::<8>()) {
                    (Some(part), Some((view, rest))) => DamageLocation::Row(ViewId(u64::from_be_bytes(*view)), part, rest),
                    _ => DamageLocation::Other,
                }
            }
            Repair::Chunks(_) | Repair::None => DamageLocation::Other,
        }
    }
}
