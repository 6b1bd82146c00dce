//! The store on disk: one redb file in a folder. `store-layout.md` describes every byte of it. Knows no graph and no terminal.
//!
//! Invariants: a read returns the bytes that were written, or nothing and a note ([`Store::damage`]). An acknowledged commit survives
//! a kill. Panics of redb do not leave this module. One process at a time holds the folder.

mod action_locks;
mod block;
mod census;
mod checkout_lock;
pub mod compact;
mod compression;
mod folder;
mod frame;
mod lock;
mod open_database;
mod read;
mod reserve;
mod salvage;
mod schema;
pub mod sweep;
mod sweep_blocks;
mod sweep_fence;
mod sweep_versions;
pub mod verify;
mod verify_blobs;
mod write;

#[cfg(test)]
mod tests;

pub use checkout_lock::CheckoutLock;
pub use folder::DATABASE;
pub use open_database::is_panic_expected;

use super::records::{ActionRecord, HistoryRecord};
use super::views::ViewRecord;
use super::{ActionLock, BlobBytes, Commit, Inventory, Part, Row, Store, StoreError, Usage, ViewId};
use crate::values::diagnostic::Diagnostic;
use crate::values::digest::{ActionKey, Digest};
use hashbrown::HashSet;
use open_database::{Handle, Medium};
use read::Value;
use redb::ReadableDatabase;
use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
pub use sweep_fence::Collecting;

/// Called with the lock's holder, once per holder that keeps this process waiting for longer than a moment.
pub type OnWait = Arc<dyn Fn(&str) + Send + Sync>;

/// Options for opening a store.
#[derive(Clone)]
pub struct DiskOptions {
    /// The command, as waiting processes report it: `cortex build`.
    pub purpose: String,
    /// Maximum time to wait for the lock.
    pub lock_timeout: Duration,
    /// Called when this process waits for the lock.
    pub on_wait: Option<OnWait>,
    /// Called when this process waits for a checkout that another process builds.
    pub on_wait_view: Option<OnWait>,
    /// Called when this process waits for a paid result that another process has requested.
    pub on_wait_result: Option<OnWait>,
    /// Maximum memory for pages of the file, in bytes.
    pub cache_bytes: usize,
    /// Whether to release the lock to waiting processes between two steps. Not for a reader, which must see one state.
    pub yields_lock: bool,
    /// Whether to set aside a file that is damaged beyond opening and start a new store. A read-only command reports the damage instead.
    pub sets_aside: bool,
}

impl Default for DiskOptions {
    fn default() -> Self {
        Self {
            purpose: "cortex".to_owned(),
            lock_timeout: Duration::from_secs(60),
            on_wait: None,
            on_wait_view: None,
            on_wait_result: None,
            cache_bytes: 16 << 20,
            yields_lock: false,
            sets_aside: true,
        }
    }
}

impl fmt::Debug for DiskOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DiskOptions")
            .field("purpose", &self.purpose)
            .field("lock_timeout", &self.lock_timeout)
            .finish_non_exhaustive()
    }
}

/// Damage found so far.
#[derive(Debug, Default)]
struct Notes {
    reported: HashSet<String>,
    untold: Vec<String>,
    /// Blobs whose bytes do not match their digest: the next commit that contains them overwrites them.
    bad_blobs: HashSet<Digest>,
}

impl Notes {
    fn add_sentence(&mut self, sentence: String) {
        if !self.reported.contains(&sentence) {
            self.reported.insert(sentence.clone());
            self.untold.push(sentence);
        }
    }
}

/// The store in a folder. The folder is locked while the database is open.
#[derive(Debug)]
pub struct DiskStore {
    handle: Handle,
    notes: Mutex<Notes>,
    /// Whether results were stored since the opening.
    has_stored: AtomicBool,
    /// Number of results stored since the last check of the file's growth.
    fresh: AtomicU64,
    /// Decompressed neighbours of blobs read recently.
    frames: block::Frames,
}

impl DiskStore {
    /// Opens the store in a folder, creating both if absent. Sets a damaged file aside if [`DiskOptions::sets_aside`], and starts a new
    /// store with its readable rows; the returned notices report it. Fails when the folder cannot be used, another process holds it for too
    /// long, it belongs to another user, or its format is too new.
    pub fn open(dir: &Path, options: DiskOptions) -> Result<(Self, Vec<Diagnostic>), StoreError> {
        Self::from_medium(Box::new(folder::Folder::new(dir, options)))
    }

    fn from_medium(medium: Box<dyn Medium>) -> Result<(Self, Vec<Diagnostic>), StoreError> {
        let (handle, notices) = Handle::open_medium(medium)?;
        Ok((
            Self {
                handle,
                notes: Mutex::default(),
                has_stored: AtomicBool::new(false),
                fresh: AtomicU64::new(0),
                frames: block::Frames::default(),
            },
            notices,
        ))
    }

    pub fn folder(&self) -> &Path {
        self.handle.medium().path()
    }

    /// Whether a folder contains a store or remains of one.
    pub fn is_at(dir: &Path) -> bool {
        folder::is_store(dir)
    }

    /// Whether this handle has stored results: then the file may have grown.
    pub fn has_stored_results(&self) -> bool {
        self.has_stored.load(Relaxed)
    }

    /// Closes the file and releases the lock; the next call of any method reopens it. Call before slow work, so that other processes
    /// need not wait.
    pub fn release(&self) {
        self.handle.release();
    }

    fn locked_notes(&self) -> MutexGuard<'_, Notes> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run_reading<T>(&self, run: impl FnOnce(&dyn ReadableDatabase) -> Result<T, redb::Error>) -> Result<T, StoreError> {
        let mut notices = Vec::new();
        let result = self.handle.read_database(&mut notices, run);
        self.add_notices(notices);
        result
    }

    /// As [`Self::run_reading`], for writing.
    fn run_writing<T>(&self, run: impl FnOnce(&redb::Database) -> Result<T, redb::Error>) -> Result<T, StoreError> {
        let mut notices = Vec::new();
        let result = self.handle.write_database(&mut notices, run);
        self.add_notices(notices);
        result
    }

    /// Releases the lock if another process waits for the store.
    fn release_to_others(&self) {
        self.release_if_wanted();
    }

    fn add_notices(&self, notices: Vec<Diagnostic>) {
        if !notices.is_empty() {
            let mut notes = self.locked_notes();
            for notice in notices {
                let hint = notice.hint.map_or_else(String::new, |hint| format!("; {hint}"));
                notes.add_sentence(notice.message + &hint);
            }
        }
    }

    /// Returns a sound value; notes damage.
    fn sound<T>(&self, value: Value<T>) -> Option<T> {
        match value {
            Value::Absent => None,
            Value::Sound(value) => Some(value),
            Value::Damaged(sentence) => {
                self.locked_notes().add_sentence(sentence);
                None
            }
        }
    }

    fn sound_rows<K, T>(&self, (rows, sentences): read::SoundRows<K, T>) -> Vec<(K, T)> {
        if !sentences.is_empty() {
            let mut notes = self.locked_notes();
            sentences.into_iter().for_each(|sentence| notes.add_sentence(sentence));
        }
        rows
    }
}

impl Store for DiskStore {
    fn id(&self) -> Option<String> {
        self.handle.medium().id()
    }

    fn blob(&self, digest: &Digest) -> Result<Option<Arc<[u8]>>, StoreError> {
        let value = self.run_reading(|database| read::read_and_hash(database, digest, &self.frames))?;
        if matches!(value, Value::Damaged(_)) {
            self.locked_notes().bad_blobs.insert(*digest);
        }
        Ok(self.sound(value))
    }

    fn has_blob(&self, digest: &Digest) -> Result<bool, StoreError> {
        if self.locked_notes().bad_blobs.contains(digest) {
            return Ok(false);
        }
        let missing = self.run_reading(|database| read::blobs_missing(database, &[*digest]))?;
        Ok(missing == [false])
    }

    fn action(&self, key: &ActionKey) -> Result<Option<ActionRecord>, StoreError> {
        let value = self.run_reading(|database| read::action(database, key))?;
        Ok(self.sound(value))
    }

    fn row(&self, view: ViewId, part: Part, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        let value = self.run_reading(|database| read::read_row(database, view, part, key))?;
        Ok(self.sound(value))
    }

    fn rows(&self, view: ViewId, part: Part) -> Result<Vec<Row>, StoreError> {
        let rows = self.run_reading(|database| read::read_rows_of_part(database, view, part))?;
        Ok(self.sound_rows(rows))
    }

    fn history(&self, view: ViewId, label: &str) -> Result<Vec<HistoryRecord>, StoreError> {
        let rows = self.run_reading(|database| read::history(database, view, label))?;
        Ok(self.sound_rows(rows).into_iter().map(|(_, record)| record).collect())
    }

    fn commit(&self, view: ViewId, commit: Commit) -> Result<(), StoreError> {
        // Blobs found present must still be there when the rest is written.
        let _whole = self.handle.lock_shared();
        let mut outputs = write::blobs_of_commit(&commit);
        let bad_blobs = self.locked_notes().bad_blobs.clone();
        if !outputs.is_empty() {
            let digests: Vec<Digest> = outputs.iter().map(|(digest, ..)| *digest).collect();
            let missing = self.run_reading(|database| read::blobs_missing(database, &digests))?;
            let mut missing = missing.into_iter();
            outputs.retain(|(digest, ..)| missing.next().unwrap_or(true) || bad_blobs.contains(digest));
        }
        let mut prepared = write::prepare(view, &commit, &outputs);
        let refused = std::mem::take(&mut prepared.refused);
        refused.into_iter().for_each(|sentence| self.locked_notes().add_sentence(sentence));
        if prepared.is_empty() {
            return Ok(());
        }
        self.run_writing(|database| {
            let collecting = self.handle.medium().collecting();
            write::commit(database, view, &prepared, collecting, |digest| bad_blobs.contains(digest))
        })?;
        if !commit.results.is_empty() {
            self.has_stored.store(true, Relaxed);
            self.fresh.fetch_add(commit.results.len() as u64, Relaxed);
        }
        if !bad_blobs.is_empty() {
            let mut notes = self.locked_notes();
            outputs.iter().for_each(|(digest, ..)| {
                notes.bad_blobs.remove(digest);
            });
        }
        Ok(())
    }

    fn damage(&self) -> Vec<String> {
        std::mem::take(&mut self.locked_notes().untold)
    }

    fn is_wanted(&self) -> bool {
        self.handle.is_wanted()
    }

    fn release_lock(&self) {
        self.handle.release_to_waiting();
    }

    fn lock_action(&self, key: &ActionKey, is_cancelled: &dyn Fn() -> bool) -> Result<Option<ActionLock>, StoreError> {
        let medium = self.handle.medium();
        let taken = medium.lock_action(key, is_cancelled);
        let taken = taken.map_err(|refusal| match refusal {
            lock::Refusal::Busy(holder) => StoreError::ActionBusy { holder },
            lock::Refusal::Io(error) => open_database::Fault::from(error).into_store_error(medium.path(), "locked"),
        })?;
        Ok(taken.map(|action_lock| Box::new(action_lock) as ActionLock))
    }
}

impl Inventory for DiskStore {
    fn usage(&self) -> Result<Usage, StoreError> {
        let (set_aside_files, set_aside_bytes) = self.handle.medium().set_aside();
        let usage = Usage {
            file_bytes: self.handle.medium().file_bytes(),
            set_aside_files,
            set_aside_bytes,
            ..Usage::default()
        };
        self.run_reading(|database| census::usage(database, usage))
    }

    fn blob_bytes(&self) -> Result<BlobBytes, StoreError> {
        self.run_reading(census::blob_bytes)
    }

    fn last_use(&self, key: &ActionKey) -> Result<Option<u64>, StoreError> {
        let value = self.run_reading(|database| read::last_use(database, key))?;
        Ok(self.sound(value))
    }

    fn views(&self) -> Result<Vec<(ViewId, ViewRecord)>, StoreError> {
        let rows = self.run_reading(read::views)?;
        Ok(self.sound_rows(rows))
    }
}
