//! A store with results in a remote cache: a read of a missing output or record fetches and stores the whole volume that contains it.

use super::records::{ActionRecord, HistoryRecord};
use super::volumes::{self, KnownVolume, VolumeResults};
use super::{ActionLock, Commit, DigestedBlob, Part, Row, Store, StoreError, ViewId};
use crate::seams::remote::{PREFIX, Prefer, RemoteCache, prefix};
use crate::values::digest::{ActionKey, Digest};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Maximum number of volumes that one request for many outputs fetches at once.
const AT_ONCE: usize = 8;

/// A store with the volumes recorded in its view.
pub struct Fetching {
    store: Arc<dyn Store>,
    cache: Arc<dyn RemoteCache>,
    view: ViewId,
    prefer: Prefer,
    /// Time spent on fetching volumes of new trees, in microseconds.
    spent_us: AtomicU64,
    /// Locked during a fetch, so that nothing is fetched twice.
    remote_index: Mutex<Option<RemoteIndex>>,
}

type Guard<'a> = MutexGuard<'a, Option<RemoteIndex>>;

/// State of a volume in this run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum VolumeState {
    /// Not read yet.
    Unread,
    /// Fetched, with or without success.
    Fetched,
    /// Skipped: its outputs are faster to build.
    Skipped,
}

/// Index of results in volumes.
struct RemoteIndex {
    volumes: Vec<(Digest, KnownVolume)>,
    /// State of the outputs of each volume.
    state: Vec<VolumeState>,
    /// Volumes by prefixes of the digests of their outputs.
    by_output: FxHashMap<[u8; PREFIX], usize>,
    /// Volumes by prefixes of their keys, if their records were not read.
    by_key: FxHashMap<[u8; PREFIX], usize>,
    /// Outputs that were fetched and are being committed.
    arriving_outputs: FxHashMap<Digest, Arc<[u8]>>,
    /// Records that were fetched and are being committed.
    arriving_records: FxHashMap<ActionKey, ActionRecord>,
}

impl RemoteIndex {
    fn from_store(store: &dyn Store, view: ViewId) -> Result<Self, StoreError> {
        let volumes = volumes::list_volumes(store, view)?;
        let index = |prefixes: fn(&KnownVolume) -> &[[u8; PREFIX]]| {
            let volumes = volumes.iter().enumerate();
            volumes
                .flat_map(|(at, (_, volume))| prefixes(volume).iter().map(move |prefix| (*prefix, at)))
                .collect()
        };
        Ok(Self {
            by_output: index(KnownVolume::prefixes),
            by_key: index(KnownVolume::unread_keys),
            state: vec![VolumeState::Unread; volumes.len()],
            volumes,
            arriving_outputs: FxHashMap::default(),
            arriving_records: FxHashMap::default(),
        })
    }
}

impl Fetching {
    /// Wraps a store that reads missing outputs from a cache.
    pub fn from_cache(store: Arc<dyn Store>, cache: Arc<dyn RemoteCache>, view: ViewId, prefer: Prefer) -> Self {
        Self {
            store,
            cache,
            view,
            prefer,
            spent_us: AtomicU64::new(0),
            remote_index: Mutex::default(),
        }
    }

    fn remote_index(&self) -> Guard<'_> {
        self.remote_index.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a volume should be fetched: by preference, or because fetching is not slower than building its outputs. If no result of its tree is
    /// here, the whole tree counts, and so do all volumes fetched so far.
    fn is_worth_fetching(&self, volume: &KnownVolume) -> bool {
        let mut cost = volume.cost(self.cache.round_trip(), self.cache.speed());
        if volume.is_of_new_tree {
            cost.fetch_us = cost.fetch_us.saturating_add(self.spent_us.load(Ordering::Relaxed));
        }
        cost.is_fetched(self.prefer)
    }

    /// Returns the index, read if necessary.
    fn index<'e>(&self, remote_index: &'e mut Option<RemoteIndex>) -> Result<&'e mut RemoteIndex, StoreError> {
        Ok(match remote_index {
            Some(remote_index) => remote_index,
            none => none.insert(RemoteIndex::from_store(&*self.store, self.view)?),
        })
    }

    /// Fetches a record with all records of its volume and stores them.
    fn fetch_record(&self, key: &ActionKey) -> Result<Option<ActionRecord>, StoreError> {
        if !self.cache.reads() {
            return Ok(None);
        }
        let mut guard = self.remote_index();
        let remote_index = self.index(&mut guard)?;
        if let Some(record) = remote_index.arriving_records.get(key) {
            return Ok(Some(record.clone()));
        }
        let Some(at) = remote_index.by_key.get(&prefix(&key.0)).copied() else {
            // Another thread may have committed it since.
            drop(guard);
            return self.store.action(key);
        };
        let (id, known) = &mut remote_index.volumes[at];
        for key in known.unread_keys() {
            remote_index.by_key.remove(key);
        }
        let mut commit = Commit::default();
        if let Some(volume) = self.cache.read_volumes(&[&known.address]).into_iter().flatten().next() {
            let results = VolumeResults::from_volume(&volume, known.is_signed, &*self.store, |_, _| {})?;
            known.set_read(&results.keys);
            commit.rows.push(known.to_row(id));
            commit.results.extend(results.new);
        }
        let arriving: Vec<ActionKey> = commit.results.iter().map(|result| result.key).collect();
        let records = commit.results.iter().map(|result| (result.key, result.record.clone()));
        remote_index.arriving_records.extend(records);
        // A commit uses the threads whose jobs may wait for this lock.
        drop(guard);
        self.store.commit(self.view, commit)?;
        if let Some(remote_index) = &mut *self.remote_index() {
            arriving.iter().for_each(|key| drop(remote_index.arriving_records.remove(key)));
        }
        self.store.action(key)
    }

    /// Fetches an output with its whole volume and stores that.
    fn fetch(&self, digest: &Digest) -> Result<Option<Arc<[u8]>>, StoreError> {
        if self.prefer == Prefer::Make || !self.cache.reads() {
            return Ok(None);
        }
        let mut guard = self.remote_index();
        let remote_index = self.index(&mut guard)?;
        let Some(at) = remote_index.by_output.get(&prefix(digest)).copied() else {
            return Ok(None);
        };
        match remote_index.state[at] {
            // Another thread has fetched the volume since; if the output is still missing, the volume was wrong.
            VolumeState::Fetched => {
                if let Some(blob) = remote_index.arriving_outputs.get(digest) {
                    return Ok(Some(blob.clone()));
                }
                drop(guard);
                return self.store.blob(digest);
            }
            VolumeState::Skipped => return Ok(None),
            VolumeState::Unread => {}
        }
        if !self.is_worth_fetching(&remote_index.volumes[at].1) {
            remote_index.state[at] = VolumeState::Skipped;
            self.cache.leave_volume();
            return Ok(None);
        }
        let blobs = self.fetch_volumes(guard, &[at])?;
        Ok(blobs.into_iter().find(|(came, _)| came == digest).map(|(_, blob)| blob))
    }

    /// Fetches the outputs of volumes that were not read yet, and stores and returns them.
    fn fetch_volumes(&self, mut guard: Guard<'_>, wanted: &[usize]) -> Result<Vec<DigestedBlob>, StoreError> {
        let remote_index = self.index(&mut guard)?;
        let volumes = || wanted.iter().map(|at| &remote_index.volumes[*at].1);
        let addresses: Vec<&[u8]> = volumes().map(|volume| &volume.address[..]).collect();
        let bytes: u64 = volumes().filter(|volume| volume.is_of_new_tree).map(|volume| volume.len).sum();
        let takes = volumes::estimate_fetch_us(bytes, self.cache.round_trip(), self.cache.speed());
        self.spent_us.fetch_add(takes, Ordering::Relaxed);
        let blobs: Vec<DigestedBlob> = self.cache.read_outputs(&addresses).into_iter().flatten().collect();
        if !blobs.is_empty() || self.cache.reads() {
            // Otherwise, the cache does not answer at the moment; the volumes may still be fetched later.
            wanted.iter().for_each(|at| remote_index.state[*at] = VolumeState::Fetched);
        }
        remote_index.arriving_outputs.extend(blobs.iter().cloned());
        // A commit uses the threads whose jobs may wait for this lock.
        drop(guard);
        let commit = Commit {
            blobs: blobs.clone(),
            ..Commit::default()
        };
        self.store.commit(self.view, commit)?;
        if let Some(remote_index) = &mut *self.remote_index() {
            blobs
                .iter()
                .for_each(|(digest, _)| drop(remote_index.arriving_outputs.remove(digest)));
        }
        Ok(blobs)
    }

    /// Returns the volumes worth fetching that have any of these outputs.
    fn volumes_of(&self, digests: &[&Digest]) -> Result<Vec<usize>, StoreError> {
        let mut guard = self.remote_index();
        let remote_index = self.index(&mut guard)?;
        let mut wanted: BTreeSet<usize> = BTreeSet::new();
        for digest in digests {
            let Some(&at) = remote_index.by_output.get(&prefix(digest)) else {
                continue;
            };
            let is_worth_it = remote_index.state[at] == VolumeState::Unread && self.is_worth_fetching(&remote_index.volumes[at].1);
            if is_worth_it {
                wanted.insert(at);
            }
        }
        Ok(wanted.into_iter().collect())
    }
}

impl Store for Fetching {
    fn id(&self) -> Option<String> {
        self.store.id()
    }

    fn blob(&self, digest: &Digest) -> Result<Option<Arc<[u8]>>, StoreError> {
        match self.store.blob(digest)? {
            Some(blob) => Ok(Some(blob)),
            None => self.fetch(digest),
        }
    }

    fn fetch_all(&self, digests: &[Digest]) -> Result<Vec<DigestedBlob>, StoreError> {
        if self.prefer == Prefer::Make || !self.cache.reads() {
            return Ok(Vec::new());
        }
        let mut lacking: Vec<&Digest> = Vec::new();
        for digest in digests {
            if !self.store.has_blob(digest)? {
                lacking.push(digest);
            }
        }
        let mut fetched = Vec::new();
        if lacking.is_empty() {
            return Ok(fetched);
        }
        let requested: FxHashSet<&Digest> = lacking.iter().copied().collect();
        for volumes in self.volumes_of(&lacking)?.chunks(AT_ONCE) {
            let mut guard = self.remote_index();
            let remote_index = self.index(&mut guard)?;
            // Another thread may have fetched some in between.
            let wanted: Vec<usize> = volumes
                .iter()
                .copied()
                .filter(|at| remote_index.state[*at] == VolumeState::Unread)
                .collect();
            let blobs = self.fetch_volumes(guard, &wanted)?;
            fetched.extend(blobs.into_iter().filter(|(digest, _)| requested.contains(digest)));
        }
        Ok(fetched)
    }

    fn has_blob(&self, digest: &Digest) -> Result<bool, StoreError> {
        self.store.has_blob(digest)
    }

    fn action(&self, key: &ActionKey) -> Result<Option<ActionRecord>, StoreError> {
        match self.store.action(key)? {
            Some(record) => Ok(Some(record)),
            None => self.fetch_record(key),
        }
    }

    fn row(&self, view: ViewId, part: Part, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        self.store.row(view, part, key)
    }

    fn rows(&self, view: ViewId, part: Part) -> Result<Vec<Row>, StoreError> {
        self.store.rows(view, part)
    }

    fn history(&self, view: ViewId, label: &str) -> Result<Vec<HistoryRecord>, StoreError> {
        self.store.history(view, label)
    }

    fn commit(&self, view: ViewId, commit: Commit) -> Result<(), StoreError> {
        let has_volumes = commit.rows.iter().any(|(part, ..)| *part == Part::Volumes);
        self.store.commit(view, commit)?;
        if has_volumes {
            *self.remote_index() = None;
        }
        Ok(())
    }

    fn damage(&self) -> Vec<String> {
        self.store.damage()
    }

    fn is_wanted(&self) -> bool {
        self.store.is_wanted()
    }

    fn release_lock(&self) {
        self.store.release_lock();
    }

    fn lock_action(&self, key: &ActionKey, is_cancelled: &dyn Fn() -> bool) -> Result<Option<ActionLock>, StoreError> {
        self.store.lock_action(key, is_cancelled)
    }
}
