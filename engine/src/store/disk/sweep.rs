//! Mark and sweep: finds results and blobs without references, and removes them. Knows tables and ages; callers pass the nodes.
//!
//! A gc runs while others use the store: it reads a chunk at a time, removes at most [`STEP`] results in a transaction, and releases the
//! store in between. The sweep keeps results that others store or find while it runs (`sweep_fence`), and those that a running build has
//! stored or found since its start. Results are removed before blobs: a kill in between leaves blobs without a result, which the next gc
//! removes, never the reverse.

use super::block::BlobTables;
use super::schema::{self, ACTIONS, BLOBS, HISTORY, LAST_USE, Table};
use super::sweep_versions::{self, Versions};
use super::{DiskStore, compression, frame, read, sweep_fence};
use crate::store::codec;
use crate::store::records::Class;
use crate::store::shared::is_corrected;
use crate::store::{Part, StoreError, ViewId};
use crate::values::digest::{ActionKey, Digest};
use redb::ReadTransaction;
use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::ops::Bound;

/// Maximum number of results, or blobs, that one transaction removes.
pub(super) const STEP: usize = 8_000;

/// As [`STEP`], on a full disk: a transaction needs space for the pages that it rewrites.
pub(super) const FEW: usize = 64;

/// Number of rows read between two checks for waiting processes.
const CHUNK: usize = 4_096;

/// Policy by which gc keeps and removes results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Present time, in seconds since 1970; later times count as this one.
    pub now: u64,
    /// Age in seconds: results used more recently are kept.
    pub older_than: u64,
    /// Number of versions of each node to keep.
    pub keep_versions: usize,
    /// Whether paid results may be removed.
    pub paid: bool,
    /// Bytes to free: gc removes only as much as frees them, versions of free results included. `None` removes all garbage and no version.
    pub free: Option<u64>,
}

/// Counts of results, blobs and versions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    pub actions: u64,
    /// The number of those that were paid for.
    pub paid: u64,
    /// Their cost in millionths of the currency, as far as known.
    #[serde(rename = "paid_micros")]
    pub micros: u64,
    pub blobs: u64,
    /// Stored bytes of results and blobs.
    pub bytes: u64,
    /// Versions of nodes that disappeared long ago.
    pub versions: u64,
}

/// Bytes removed with each result besides its own row: its last use.
const WITH_ACTION: u64 = 56;
/// Bytes removed with each blob besides its data: its row, and the frames of its pieces.
const WITH_BLOB: u64 = 110;
/// Approximate bytes of a version's row.
const VERSION: u64 = 110;

impl Tally {
    /// Estimates the bytes of all rows: results and blobs with their other rows, and versions.
    pub fn row_bytes(&self) -> u64 {
        self.bytes + self.actions * WITH_ACTION + self.blobs * WITH_BLOB + self.versions * VERSION
    }

    /// Adds other counts.
    pub fn add_tally(&mut self, more: &Self) {
        self.actions += more.actions;
        self.paid += more.paid;
        self.micros += more.micros;
        self.blobs += more.blobs;
        self.bytes += more.bytes;
        self.versions += more.versions;
    }
}

/// Results, blobs and versions to remove.
#[derive(Debug, Default)]
pub struct Plan {
    actions: Vec<ActionKey>,
    blobs: Vec<Digest>,
    versions: Vec<sweep_versions::VersionKey>,
    /// Counts of the items to remove.
    pub to_remove: Tally,
    /// Garbage that is kept because it was paid for; blobs are not counted.
    pub paid: Tally,
    /// Results that are kept only because of their age; blobs are not counted.
    pub young: Tally,
    /// Blobs to remove that no result owns.
    pub orphans: u64,
}

impl Plan {
    /// Whether there is nothing to remove.
    pub fn is_empty(&self) -> bool {
        self.actions.is_empty() && self.blobs.is_empty() && self.versions.is_empty()
    }

    /// Returns the results to remove.
    pub fn actions(&self) -> &[ActionKey] {
        &self.actions
    }
}

/// Results and blobs that are in use, by the first half of their digests: a rare collision keeps one too long.
#[derive(Debug, Default)]
pub struct Marks {
    actions: FxHashSet<u128>,
    blobs: FxHashSet<u128>,
    pub(super) forgotten: BTreeSet<ViewId>,
    /// Hashes of the labels that are in any graph.
    pub(super) labels_in_graphs: FxHashSet<[u8; 16]>,
    /// Views with a graph: a node of theirs that is in no graph has disappeared.
    pub(super) planned: BTreeSet<ViewId>,
}

fn short_id(digest: &Digest) -> u128 {
    let (half, _) = digest.0.split_first_chunk().expect("invariant: a digest has 32 bytes");
    u128::from_be_bytes(*half)
}

impl Marks {
    pub fn mark_result(&mut self, key: &ActionKey, output: &Digest) {
        self.actions.insert(short_id(&key.0));
        self.blobs.insert(short_id(output));
    }

    /// Marks a result, whatever its output.
    pub fn hold_result(&mut self, key: &ActionKey) {
        self.actions.insert(short_id(&key.0));
    }

    /// Records a node in the graph of a view.
    pub fn record_node(&mut self, view: ViewId, label: &str) {
        self.planned.insert(view);
        self.labels_in_graphs.insert(super::verify::label_hash(label));
    }

    /// Removes the protection that the versions of a view give.
    pub fn unprotect_view(&mut self, view: ViewId) {
        self.forgotten.insert(view);
    }
}

/// A result without references, except perhaps from a version.
struct Candidate {
    key: ActionKey,
    output: u128,
    rank: Rank,
    used: u64,
    bytes: u64,
    micros: u64,
}

/// Results that may be removed.
#[derive(Default)]
struct Candidates {
    list: Vec<Candidate>,
    /// Parts of the outputs that are trees.
    parts: FxHashMap<ActionKey, Vec<u128>>,
}

impl Candidates {
    /// Returns the blobs that a candidate refers to.
    fn blobs_of_candidate<'c>(&'c self, candidate: &Candidate) -> impl Iterator<Item = u128> + use<'c> {
        let parts = self.parts.get(&candidate.key).into_iter().flatten().copied();
        std::iter::once(candidate.output).chain(parts)
    }
}

/// Order of removal to free space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Cheap,
    Version,
    Paid,
}

/// A blob without references, except perhaps from a candidate or a version.
struct UnownedBlob {
    digest: Digest,
    bytes: u64,
}

impl DiskStore {
    /// Finds garbage: results and blobs protected neither by `marks`, nor by a kept version, nor by age.
    pub fn find_garbage(&self, mut marks: Marks, policy: &Policy) -> Result<Plan, StoreError> {
        let Versions { protected: kept, gone } = self.versions(&marks, policy)?;
        let mut plan = Plan::default();
        plan.to_remove.versions = gone.len() as u64;
        plan.versions = gone;
        let candidates = self.candidates(&mut marks, &kept.actions, policy, &mut plan)?;
        let mut loose = Vec::new();
        self.walk(BLOBS, |_, key, _, body| {
            if let (Ok(digest), Ok(record)) = (key.try_into(), codec::decode_blob(body))
                && !marks.blobs.contains(&short_id(&Digest(digest)))
            {
                loose.push(UnownedBlob {
                    digest: Digest(digest),
                    bytes: record.stored_len,
                });
            }
            Ok(())
        })?;
        choose_garbage(&mut plan, candidates, loose, &kept.blobs, policy);
        Ok(plan)
    }

    /// Removes the planned results, except those used since. Returns counts of the removed ones. Fails when the store cannot be written.
    /// Results removed before stay removed.
    pub fn sweep(&self, plan: &Plan) -> Result<Tally, StoreError> {
        let mut removed = Tally::default();
        let mut most = STEP;
        let mut versions = &plan.versions[..];
        while !versions.is_empty() {
            let done = self.remove_some(&mut most, |database, most| {
                let now = &versions[..most.min(versions.len())];
                removed.versions += sweep_versions::remove_versions(database, now)?;
                Ok(now.len())
            })?;
            versions = &versions[done..];
        }
        let mut keys = &plan.actions[..];
        while !keys.is_empty() {
            let done = self.remove_some(&mut most, |database, most| {
                let now = &keys[..most.min(keys.len())];
                remove_actions(database, now, &mut removed).map(|()| now.len())
            })?;
            keys = &keys[done..];
        }
        let mut digests = &plan.blobs[..];
        while !digests.is_empty() {
            let done = self.remove_some(&mut most, |database, most| {
                let now = &digests[..most.min(digests.len())];
                remove_blobs(database, now, &mut removed).map(|()| now.len())
            })?;
            digests = &digests[done..];
        }
        match self.fill_blocks() {
            // Refilling blocks needs space before it frees any.
            Err(StoreError::NoSpace { .. }) => Ok(removed),
            done => done.map(|()| removed),
        }
    }

    /// Runs one removal of at most `most` items and releases the store to waiting processes. On a full disk, frees the reserve and reduces `most`
    /// to [`FEW`]; each success doubles it again, because removals free space.
    pub(super) fn remove_some<T>(
        &self,
        most: &mut usize,
        mut run: impl FnMut(&redb::Database, usize) -> Result<T, redb::Error>,
    ) -> Result<T, StoreError> {
        loop {
            match self.run_writing(|database| run(database, *most)) {
                Err(StoreError::NoSpace { .. }) if self.handle.medium().give_up_reserve() || *most > FEW => *most = FEW,
                Err(error) => return Err(error),
                Ok(done) => {
                    *most = (*most * 2).min(STEP);
                    self.release_to_others();
                    return Ok(done);
                }
            }
        }
    }

    pub fn views_with_rows(&self) -> Result<Vec<ViewId>, StoreError> {
        self.run_reading(super::census::views)
    }

    /// Removes all rows of a view and its versions; its ledger stays.
    pub fn forget_view(&self, view: ViewId) -> Result<(), StoreError> {
        let parts: Vec<Part> = Part::ALL.into_iter().filter(|part| *part != Part::Ledger).collect();
        self.clear(view, &parts)?;
        self.clear_table(view, HISTORY)
    }

    /// Removes the rows of some parts of a view.
    pub fn clear(&self, view: ViewId, parts: &[Part]) -> Result<(), StoreError> {
        parts.iter().try_for_each(|part| self.clear_table(view, schema::table_of(*part)))
    }

    fn clear_table(&self, view: ViewId, table: Table) -> Result<(), StoreError> {
        let mut most = STEP;
        while self.remove_some(&mut most, |database, most| Ok(forget_rows(database, table, view, most)? == most))? {}
        Ok(())
    }

    /// Finds results that may be removed. Marks the blobs of results that stay (because of their age or a person's words).
    fn candidates(
        &self,
        marks: &mut Marks,
        versions: &FxHashSet<u128>,
        policy: &Policy,
        plan: &mut Plan,
    ) -> Result<Candidates, StoreError> {
        let mut candidates = Candidates::default();
        // A running build has recorded the results that it found or built, and relies on them although no graph has them yet.
        let since = self.handle.medium().building_since().unwrap_or(u64::MAX);
        self.walk(ACTIONS, |txn, key, len, body| {
            let Ok(digest) = <[u8; 32]>::try_from(key) else { return Ok(()) };
            let key = ActionKey(Digest(digest));
            let Some(record) = compression::open_body(body).and_then(|body| codec::decode_action(&body).ok()) else {
                return Ok(());
            };
            let paid = record.class == Class::Paid;
            let micros = record.spent.as_ref().and_then(|spent| spent.micros).unwrap_or(0);
            let at = short_id(&key.0);
            let version = versions.contains(&at);
            let used = if marks.actions.contains(&at) || is_corrected(&record) {
                None
            } else {
                Some(record.made_at.max(last_use(txn, &key)?.unwrap_or(0)).min(policy.now))
            };
            let young = used.is_some_and(|used| policy.now - used < policy.older_than || used >= since);
            if young && !version {
                plan.young.actions += 1;
                plan.young.paid += u64::from(paid);
                plan.young.micros += micros;
                plan.young.bytes += len + record.len;
            }
            let used = used.filter(|_| !young && (!version || policy.free.is_some() && !paid));
            if used.is_none() || paid && !policy.paid {
                marks.blobs.extend(record.blobs_to_keep().map(|digest| short_id(&digest)));
            }
            let Some(used) = used else { return Ok(()) };
            let rank = match (paid, version) {
                (true, _) => Rank::Paid,
                (false, true) => Rank::Version,
                (false, false) => Rank::Cheap,
            };
            if !record.parts.is_empty() {
                candidates.parts.insert(key, record.parts.iter().map(short_id).collect());
            }
            candidates.list.push(Candidate {
                key,
                output: short_id(&record.output),
                rank,
                used,
                bytes: len,
                micros,
            });
            Ok(())
        })?;
        Ok(candidates)
    }

    /// Calls `visit` with every sound row of a table: the transaction, key, length of the row, body. Releases the store now and then, so that rows
    /// may be of different states.
    pub(super) fn walk(
        &self,
        table: Table,
        mut visit: impl FnMut(&ReadTransaction, &[u8], u64, &[u8]) -> Result<(), redb::Error>,
    ) -> Result<(), StoreError> {
        let mut after: Option<Vec<u8>> = None;
        loop {
            let from = after.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
            let last = self.run_reading(|database| {
                let txn = database.begin_read()?;
                let Some(open) = schema::open_table_to_read(&txn, table)? else {
                    return Ok(None);
                };
                for (count, entry) in (1..).zip(open.range::<&[u8]>((from, Bound::Unbounded))?) {
                    let (key, value) = entry?;
                    let (key, value) = (key.value(), value.value());
                    if let Ok(body) = frame::verified_body(table.name, key, value) {
                        visit(&txn, key, (key.len() + value.len()) as u64, body)?;
                    }
                    if count == CHUNK {
                        return Ok(Some(key.to_vec()));
                    }
                }
                Ok(None)
            })?;
            if last.is_none() {
                return Ok(());
            }
            after = last;
            self.release_to_others();
        }
    }
}

/// Reads when a result was last found again.
fn last_use(txn: &ReadTransaction, key: &ActionKey) -> Result<Option<u64>, redb::Error> {
    let Some(table) = schema::open_table_to_read(txn, LAST_USE)? else {
        return Ok(None);
    };
    let value = read::read_value(&table, LAST_USE, &key.0.0, read::seconds)?;
    Ok(match value {
        read::Value::Sound(at) => Some(at),
        _ => None,
    })
}

/// Chooses the garbage to remove: all, or as much as frees the requested space.
fn choose_garbage(plan: &mut Plan, mut candidates: Candidates, loose: Vec<UnownedBlob>, versions: &FxHashSet<u128>, policy: &Policy) {
    let mut owners: FxHashMap<u128, u32> = FxHashMap::default();
    for at in candidates
        .list
        .iter()
        .flat_map(|candidate| candidates.blobs_of_candidate(candidate))
    {
        *owners.entry(at).or_default() += 1;
    }
    let sizes: FxHashMap<u128, u64> = match policy.free {
        Some(_) => loose.iter().map(|blob| (short_id(&blob.digest), blob.bytes + WITH_BLOB)).collect(),
        None => FxHashMap::default(),
    };
    let is_orphan = |at: &u128| !owners.contains_key(at) && !versions.contains(at);
    let mut freed: u64 = sizes.iter().filter(|(at, _)| is_orphan(at)).map(|(_, bytes)| bytes).sum();
    freed += plan.to_remove.row_bytes();
    plan.orphans = loose.iter().filter(|blob| is_orphan(&short_id(&blob.digest))).count() as u64;
    candidates
        .list
        .sort_unstable_by_key(|candidate| (candidate.rank, candidate.used, candidate.key));
    // Outputs of removed versions, which these no longer protect.
    let mut released: FxHashSet<u128> = FxHashSet::default();
    for candidate in &candidates.list {
        let enough = policy.free.is_some_and(|wanted| freed >= wanted);
        if enough || candidate.rank == Rank::Paid && !policy.paid {
            if candidate.rank == Rank::Paid {
                plan.paid.actions += 1;
                plan.paid.paid += 1;
                plan.paid.micros = plan.paid.micros.saturating_add(candidate.micros);
                plan.paid.bytes += candidate.bytes;
            }
            continue;
        }
        plan.to_remove.actions += 1;
        plan.to_remove.paid += u64::from(candidate.rank == Rank::Paid);
        plan.to_remove.micros = plan.to_remove.micros.saturating_add(candidate.micros);
        plan.to_remove.bytes += candidate.bytes;
        freed += candidate.bytes + WITH_ACTION;
        if candidate.rank == Rank::Version {
            released.insert(candidate.output);
        }
        for at in candidates.blobs_of_candidate(candidate) {
            let Some(left) = owners.get_mut(&at) else { continue };
            *left -= 1;
            if *left == 0 && (!versions.contains(&at) || released.contains(&at)) {
                freed += sizes.get(&at).copied().unwrap_or(0);
            }
        }
        plan.actions.push(candidate.key);
    }
    for blob in loose {
        let at = short_id(&blob.digest);
        let owned = owners.get(&at).is_some_and(|left| *left > 0);
        if !owned && (!versions.contains(&at) || released.contains(&at)) {
            plan.to_remove.blobs += 1;
            plan.to_remove.bytes += blob.bytes;
            plan.blobs.push(blob.digest);
        }
    }
    // Sort in row order, so that a transaction touches few pages.
    plan.actions.sort_unstable();
}

fn remove_actions(database: &redb::Database, keys: &[ActionKey], removed: &mut Tally) -> Result<(), redb::Error> {
    let mut tally = Tally::default();
    let mut txn = database.begin_write()?;
    txn.set_quick_repair(true);
    {
        let fence = sweep_fence::Fence::open_fence(&txn)?;
        let mut actions = txn.open_table(ACTIONS.definition())?;
        let mut uses = txn.open_table(LAST_USE.definition())?;
        for key in keys {
            if fence.guards(&key.0)? {
                continue;
            }
            uses.remove(&key.0.0[..])?;
            if let Some(value) = actions.remove(&key.0.0[..])? {
                tally.actions += 1;
                tally.bytes += (key.0.0.len() + value.value().len()) as u64;
                let record = frame::verified_body(ACTIONS.name, &key.0.0, value.value()).ok();
                let record = record.and_then(|body| codec::decode_action(&compression::open_body(body)?).ok());
                if let Some(record) = record.filter(|record| record.class == Class::Paid) {
                    tally.paid += 1;
                    tally.micros += record.spent.and_then(|spent| spent.micros).unwrap_or(0);
                }
            }
        }
    }
    txn.commit()?;
    removed.add_tally(&tally);
    Ok(())
}

fn remove_blobs(database: &redb::Database, digests: &[Digest], counts: &mut Tally) -> Result<(), redb::Error> {
    let mut tally = Tally::default();
    let mut txn = database.begin_write()?;
    txn.set_quick_repair(true);
    {
        let fence = sweep_fence::Fence::open_fence(&txn)?;
        let mut tables = BlobTables::open_tables(&txn)?;
        let mut removed = Vec::new();
        for digest in digests {
            if fence.guards(digest)? {
                continue;
            }
            if let Some(record) = tables.remove_blob(digest)? {
                tally.blobs += 1;
                tally.bytes += record.stored_len;
                removed.push(record);
            }
        }
        // Sort in row order, so that each page is loaded once.
        removed.sort_unstable_by_key(|record| record.seq);
        removed.iter().try_for_each(|record| tables.release(record))?;
    }
    txn.commit()?;
    counts.add_tally(&tally);
    Ok(())
}

/// Removes at most `most` rows of a view; returns how many.
fn forget_rows(database: &redb::Database, table: Table, view: ViewId, most: usize) -> Result<usize, redb::Error> {
    let mut removed = 0;
    let mut txn = database.begin_write()?;
    txn.set_quick_repair(true);
    {
        let mut open = txn.open_table(table.definition())?;
        let from = view.0.to_be_bytes();
        let to = view.0.checked_add(1).map(u64::to_be_bytes);
        let to = to.as_ref().map_or(Bound::Unbounded, |to| Bound::Excluded(&to[..]));
        for row in open
            .extract_from_if::<&[u8], _>((Bound::Included(&from[..]), to), |_, _| true)?
            .take(most)
        {
            row?;
            removed += 1;
        }
    }
    txn.commit()?;
    Ok(removed)
}

pub(super) fn remove_chunks(
    data: &mut redb::Table<'_, &'static [u8], &'static [u8]>,
    record: &codec::BlobRecord,
) -> Result<(), redb::Error> {
    let chunks = record.stored_len.div_ceil(super::write::CHUNK as u64);
    if chunks <= 1 {
        data.remove(&schema::chunk_key(record.seq, 0)[..])?;
    } else {
        let (from, to) = (schema::chunk_key(record.seq, 0), schema::chunk_key(record.seq, u32::MAX));
        data.retain_in::<&[u8], _>(&from[..]..=&to[..], |_, _| false)?;
    }
    Ok(())
}
