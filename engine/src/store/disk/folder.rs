//! A store's folder: creates it, opens it, sets a bad file aside. Knows nothing about the contents of tables.
//!
//! Invariant: `store.redb` is always a complete database or absent. It is created under another name, synced, renamed, and the folder
//! synced; a kill in between leaves a file that the next opening for writing removes.

use super::DiskOptions;
use super::action_locks::{ActionLock, ActionLocks};
use super::checkout_lock::CheckoutLock;
use super::compact::Whole;
use super::lock::{self, Lock, Refusal, Terms};
use super::open_database::{Access, Base, Closing, Fault, Medium, OpenDatabase, guarded};
use super::reserve;
use super::salvage;
use super::schema::{self, StoreKind};
use crate::store::StoreError;
use crate::values::codes::ErrorCode;
use crate::values::diagnostic::Diagnostic;
use crate::values::digest::ActionKey;
use os::info::FileInfo;
use os::plain_files::{self, MoreOptions};
use os::{modes, processes};
use redb::{Builder, DatabaseError, ReadableDatabase};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The name of the database in the folder of a store.
pub const DATABASE: &str = "store.redb";
const NEW_DATABASE: &str = "store.redb.new";
const LOCK: &str = "store.lock";
const COLLECTOR: &str = "store.collector";
/// Locked shared by every process that waits for the lock.
const WAITING: &str = "store.waiting";
const ID: &str = "store-id";
/// Cache size in bytes for a read-only database: most pages are read once, and reused memory costs less than fresh memory.
const READ_CACHE: usize = 1 << 20;
/// Infix between the database's name and a number in the name of a file that was set aside.
const DAMAGED: &str = ".damaged-";
/// Marker written when damage is found; the next opening sets the database aside and removes the marker.
pub(super) const CONDEMNED: &str = "store.condemned";

#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    options: DiskOptions,
    sharing: Mutex<LockSharing>,
    action_locks: ActionLocks,
}

/// State of the lock's sharing with other processes.
#[derive(Debug, Default)]
struct LockSharing {
    /// The file that waiting processes lock, once opened.
    waiting: Option<File>,
    /// Time at which this process last released the lock because others waited.
    released_at: Option<Instant>,
    /// Whether this process held the lock before.
    was_locked: bool,
    /// The store's name, once opened.
    id: Option<String>,
}

/// Minimum time that a command waits for a lock that it released itself: a time-out would lose the work done so far.
const AGAIN: Duration = Duration::from_secs(600);

/// As [`AGAIN`], for a command with a time-out of zero: as long as the turns of other processes take.
const TURNS: Duration = Duration::from_secs(5);

/// Maximum length in bytes of a store's name.
const MOST_ID: u64 = 64;

/// Maximum length in bytes of the reason why a store was condemned.
const MOST_REASON: u64 = 64 << 10;

/// Size in bytes of a page of the file.
const PAGE: u64 = 4096;

/// Outcome of opening the existing file: a store with its name, or the reason why the file is not a store.
enum Opening {
    Store(Base, String),
    Unfit(String),
}

impl Folder {
    pub(super) fn new(path: &Path, options: DiskOptions) -> Self {
        Self {
            path: path.to_owned(),
            options,
            sharing: Mutex::default(),
            action_locks: ActionLocks::default(),
        }
    }

    fn sharing(&self) -> MutexGuard<'_, LockSharing> {
        self.sharing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn path_of_file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    pub(super) fn unopened(&self, error: io::Error) -> StoreError {
        Fault::from(error).into_store_error(&self.path, "opened")
    }

    /// Creates the folder if absent, and refuses one of another user: its contents would be trusted.
    pub(super) fn create_or_check(&self) -> Result<(), StoreError> {
        modes::create_folders(&self.path, 0o700).map_err(|error| self.unopened(error))?;
        let folder = FileInfo::of_target(&self.path).map_err(|error| self.unopened(error.into()))?;
        let mut owners = vec![folder.owner];
        owners.extend(FileInfo::of_target(&self.path_of_file(DATABASE)).ok().map(|file| file.owner));
        if owners.iter().any(|owner| *owner != processes::own_user()) {
            return Err(StoreError::Foreign { path: self.path.clone() });
        }
        // Restrict permissions only of an existing store: the user may have named a folder with other contents.
        if folder.mode & 0o077 != 0 && self.path_of_file(ID).exists() {
            match modes::set_mode(&self.path, 0o700) {
                // On read-only media the mode stays as it is.
                Err(error) if !lock::is_unwritable(&error) => return Err(self.unopened(error)),
                _ => {}
            }
        }
        Ok(())
    }

    /// Acquires the store's lock; `None` if the lock file cannot be created in an existing store: then no process writes to it.
    fn lock_store(&self, access: Access) -> Result<Option<Lock>, StoreError> {
        let (released_at, held) = {
            let mut sharing = self.sharing();
            (sharing.released_at.take(), sharing.was_locked)
        };
        let waiting = self.path_of_file(WAITING);
        if let Some(released_at) = released_at {
            match lock::leave_turn(&waiting, released_at) {
                Err(error) if !lock::is_unwritable(&error) => return Err(self.unopened(error)),
                _ => {}
            }
        }
        let DiskOptions {
            purpose,
            lock_timeout,
            on_wait,
            ..
        } = &self.options;
        let terms = Terms {
            purpose,
            timeout: match (held, lock_timeout.is_zero()) {
                (false, _) => *lock_timeout,
                (true, true) => TURNS,
                (true, false) => (*lock_timeout).max(AGAIN),
            },
            waiting: Some(&waiting),
            on_wait: on_wait.as_ref().map(|on_wait| &**on_wait as &dyn Fn(&str)),
            is_read_only: access == Access::Read,
        };
        let lock = match lock::acquire_lock(&self.path_of_file(LOCK), &terms) {
            Ok(lock) => Some(lock),
            Err(Refusal::Busy(holder)) => return Err(StoreError::Busy { holder }),
            Err(Refusal::Io(error)) if error.kind() == ErrorKind::NotFound && self.path_of_file(DATABASE).exists() => None,
            Err(Refusal::Io(error)) => return Err(self.unopened(error)),
        };
        self.sharing().was_locked = true;
        Ok(lock)
    }

    /// Creates an empty database under another name and moves it into place.
    fn create(&self) -> Result<(), StoreError> {
        let made = self.create_database().and_then(|()| self.move_into_place());
        made.map_err(|fault| fault.into_store_error(&self.path, "opened"))
    }

    /// Creates an empty database under another name.
    fn create_database(&self) -> Result<(), Fault> {
        let file = self.create_new_file()?;
        let id = new_id();
        guarded(|| {
            let database = Builder::new().create_file(file)?;
            schema::create(&database, &id)
        })
    }

    /// Creates an empty file under the name of a new database.
    fn create_new_file(&self) -> Result<File, Fault> {
        let new = self.path_of_file(NEW_DATABASE);
        remove_if_there(&new)?;
        let mut options = OpenOptions::new();
        Ok(options.read(true).write(true).create_new(true).with_mode(0o600).open(&new)?)
    }

    fn move_into_place(&self) -> Result<(), Fault> {
        let new = self.path_of_file(NEW_DATABASE);
        File::open(&new)?.sync_all()?;
        fs::rename(&new, self.path_of_file(DATABASE))?;
        File::open(&self.path)?.sync_all()?;
        Ok(())
    }

    /// Opens the existing file and checks whether it is a cortex store.
    fn open_existing(&self, access: Access) -> Result<Opening, StoreError> {
        let path = self.path_of_file(DATABASE);
        plain_files::require(&path).map_err(|error| self.unopened(error))?;
        if self.path_of_file(CONDEMNED).exists() {
            let reason = plain_files::read_text(&self.path_of_file(CONDEMNED), MOST_REASON);
            return Ok(Opening::Unfit(reason.unwrap_or_else(|| "damage was met".to_owned())));
        }
        if fs::metadata(&path).map_err(|error| self.unopened(error))?.len() == 0 {
            return Ok(Opening::Unfit("it is empty".to_owned()));
        }
        // Open the file here to distinguish one that may not be opened from a damaged one. A read-only command does not need write access.
        let file = match OpenOptions::new().read(true).write(true).open(&path) {
            Err(error) if access == Access::Read && lock::is_unwritable(&error) => None,
            opened => Some(opened.map_err(|error| self.unopened(error))?),
        };
        let opened = guarded(|| {
            let mut builder = Builder::new();
            builder.set_cache_size(match access {
                Access::Read => self.options.cache_bytes.min(READ_CACHE),
                Access::Write => self.options.cache_bytes,
            });
            let read_only = match access {
                Access::Read => match builder.open_read_only(&path) {
                    // The last process using it was killed: redb must repair it, which needs an opening for writing.
                    Err(DatabaseError::RepairAborted) if file.is_some() => None,
                    Err(DatabaseError::RepairAborted) => {
                        let why = "its last user was killed, so that it must be opened once where it can be written";
                        return Err(redb::Error::Io(io::Error::other(why)));
                    }
                    opened => Some(opened?),
                },
                Access::Write => None,
            };
            let base = match (read_only, file) {
                (None, Some(file)) => Base::Write(Closing::new(builder.create_file(file)?)),
                (Some(database), _) => Base::Read(Closing::new(database)),
                (None, None) => return Err(redb::Error::DatabaseClosed),
            };
            let kind = schema::kind_of_store(base.readable())?;
            if let (Base::Write(database), StoreKind::Ours(_)) = (&base, &kind) {
                schema::upgrade_format(database)?;
            }
            Ok((base, kind))
        });
        match opened {
            Ok((base, StoreKind::Ours(id))) => Ok(Opening::Store(base, id)),
            Ok((_, StoreKind::Newer(found))) => Err(StoreError::TooNew {
                path: self.path.clone(),
                found,
                known: schema::FORMAT,
            }),
            Ok((_, StoreKind::Alien)) => Ok(Opening::Unfit("it is not a store of cortex".to_owned())),
            Err(Fault::Damaged(reason)) => Ok(Opening::Unfit(reason)),
            Err(fault) => Err(fault.into_store_error(&self.path, "opened")),
        }
    }

    /// Pads a file that ends within a page with zeros: its end was lost, but often nothing there was in use. Returns the opened store, or
    /// `None` (and restores the length) if the file is still not a store.
    fn pad(&self, access: Access) -> Result<Option<Opening>, StoreError> {
        let length = fs::metadata(self.path_of_file(DATABASE))
            .map_err(|error| self.unopened(error))?
            .len();
        if length == 0 || length.is_multiple_of(PAGE) || self.path_of_file(CONDEMNED).exists() {
            return Ok(None);
        }
        self.resize(length.next_multiple_of(PAGE))?;
        let found = self.open_existing(access)?;
        if matches!(found, Opening::Store(..)) {
            return Ok(Some(found));
        }
        self.resize(length)?;
        Ok(None)
    }

    fn resize(&self, length: u64) -> Result<(), StoreError> {
        let file = OpenOptions::new().write(true).open(self.path_of_file(DATABASE));
        file.and_then(|file| file.set_len(length)).map_err(|error| self.unopened(error))
    }

    /// Replaces the damaged database by a new one with every readable row, and reports it. The damaged file stays in place until the new one
    /// is complete: a kill or a full disk in between loses nothing.
    fn set_aside(&self, reason: &str) -> Result<Diagnostic, StoreError> {
        let (new, damaged) = (self.path_of_file(NEW_DATABASE), self.path_of_file(DATABASE));
        let taken = self
            .create_database()
            .and_then(|()| salvage::take_over(&damaged, &new, self.options.cache_bytes));
        let aside = taken.and_then(|taken| {
            let name = self.link_damaged_file(&damaged)?;
            remove_if_there(&self.path_of_file(CONDEMNED))?;
            self.move_into_place()?;
            Ok((taken, name))
        });
        let (taken, name) = aside.map_err(|fault| {
            // Free the space at once: the disk may be full.
            let _ = remove_if_there(&new);
            fault.into_store_error(&self.path, "written")
        })?;
        let message = format!("the store's file {} is damaged: {reason}", self.path_of_file(DATABASE).display());
        let became = match taken {
            0 => "a new, empty store was created. History, the log of builds, pins, paid results and corrections by hand are lost; builds fill the store \
                  again"
                .to_owned(),
            taken => format!(
                "a new store has its {taken} sound rows of results, History, the log, pins and corrections. Builds rebuild what is missing, and \
                 `cortex store verify --repair` removes rows whose counterparts are lost"
            ),
        };
        let hint = format!("it was set aside as {name} in that folder, and {became}. Remove that file yourself when you no longer need it");
        Ok(Diagnostic::warning(ErrorCode::E_STORE_DAMAGED, message).hint(hint))
    }

    /// Links the damaged database to the first free name `store.redb.damaged-N`, unless a killed process has already linked it.
    fn link_damaged_file(&self, damaged: &Path) -> Result<String, Fault> {
        let is = FileInfo::of_target(damaged).map_err(io::Error::from)?.number;
        for number in 1_u32.. {
            let name = format!("{DATABASE}{DAMAGED}{number}");
            match FileInfo::of_path(&self.path_of_file(&name)) {
                Ok(there) if there.number == is => return Ok(name),
                Ok(_) => {}
                Err(_) => {
                    // A file system without hard links needs a rename, which leaves a moment without a database.
                    fs::hard_link(damaged, self.path_of_file(&name)).or_else(|_| fs::rename(damaged, self.path_of_file(&name)))?;
                    return Ok(name);
                }
            }
        }
        unreachable!("a folder holds fewer than four billion files")
    }

    /// Updates the readable copy of the store's name.
    fn note_id(&self, id: &str) -> io::Result<()> {
        if plain_files::read_text(&self.path_of_file(ID), MOST_ID).is_some_and(|noted| noted.trim_end() == id) {
            return Ok(());
        }
        let mut file = tempfile::Builder::new().prefix(ID).tempfile_in(&self.path)?;
        writeln!(file, "{id}")?;
        file.persist(self.path_of_file(ID))?;
        Ok(())
    }
}

impl Medium for Folder {
    fn open(&self, access: Access, lock: Option<Lock>, notices: &mut Vec<Diagnostic>) -> Result<OpenDatabase, StoreError> {
        self.create_or_check()?;
        let lock = match lock {
            Some(lock) => Some(lock),
            None => self.lock_store(access)?,
        };
        if fs::symlink_metadata(self.path_of_file(DATABASE)).is_err_and(|error| error.kind() == ErrorKind::NotFound) {
            remove_if_there(&self.path_of_file(CONDEMNED)).map_err(|error| self.unopened(error))?;
            self.create()?;
        }
        if access == Access::Write {
            // A killed compaction may leave a file as large as the store. If it cannot be removed, later writes fail and report it.
            let _ = remove_if_there(&self.path_of_file(NEW_DATABASE));
        }
        let mut found = self.open_existing(access)?;
        if matches!(found, Opening::Unfit(_))
            && self.options.sets_aside
            && let Some(padded) = self.pad(access)?
        {
            let message = "the store's file was truncated; its end was filled with zeros";
            notices.push(
                Diagnostic::warning(ErrorCode::W_STORE_DAMAGED, message).hint("`cortex store verify --repair` reports what was lost"),
            );
            found = padded;
        }
        if let Opening::Unfit(reason) = &found {
            if !self.options.sets_aside {
                return Err(Fault::Damaged(reason.clone()).into_store_error(&self.path, "opened"));
            }
            notices.push(self.set_aside(reason)?);
            found = self.open_existing(access)?;
        }
        match found {
            Opening::Store(base, id) => {
                let session = OpenDatabase::new(base, lock);
                match self.note_id(&id) {
                    Err(error) if access == Access::Write || !lock::is_unwritable(&error) => return Err(self.unopened(error)),
                    _ => {}
                }
                self.sharing().id = Some(id);
                if access == Access::Write {
                    reserve::create_reserve(&self.path, self.file_bytes());
                }
                Ok(session)
            }
            Opening::Unfit(reason) => {
                Err(Fault::Io(format!("a store just made is unfit: {reason}")).into_store_error(&self.path, "opened"))
            }
        }
    }

    fn mark_damaged(&self, reason: &str) {
        // If even this cannot be written, the next opening detects the damage itself or works around it.
        let _ = fs::write(self.path_of_file(CONDEMNED), reason);
    }

    fn collector(&self) -> Result<Option<Lock>, StoreError> {
        let terms = Terms {
            purpose: &self.options.purpose,
            // Do not wait: then holding other locks cannot cause a deadlock.
            timeout: Duration::ZERO,
            waiting: None,
            on_wait: None,
            is_read_only: false,
        };
        let lock = lock::acquire_lock(&self.path_of_file(COLLECTOR), &terms).map_err(|refusal| match refusal {
            Refusal::Busy(holder) => StoreError::Collecting { holder },
            Refusal::Io(error) => self.unopened(error),
        })?;
        Ok(Some(lock))
    }

    fn collecting(&self) -> bool {
        // A file that cannot be opened was never locked. One whose lock cannot be tried counts as held, which costs a few rows.
        plain_files::open_to_read(&self.path_of_file(COLLECTOR)).is_ok_and(|file| file.try_lock_shared().is_err())
    }

    fn building_since(&self) -> Option<u64> {
        match CheckoutLock::locked_checkouts(&self.path) {
            // Skip this process's own locks: its results are committed as rows by now.
            Ok(held) => held.into_iter().filter(|held| !held.is_own).map(|held| held.since).min(),
            // If the locks cannot be read, assume the worst.
            Err(_) => Some(0),
        }
    }

    fn collected_at(&self) -> Option<u64> {
        let written = fs::metadata(self.path_of_file(COLLECTOR)).ok()?.modified().ok()?;
        Some(written.duration_since(std::time::UNIX_EPOCH).ok()?.as_secs())
    }

    fn copy(&self, from: &dyn ReadableDatabase, whole: Whole) -> Result<bool, Fault> {
        let file = self.create_new_file()?;
        let synced = file.try_clone()?;
        let copied = guarded(|| {
            let mut target = Builder::new().set_cache_size(self.options.cache_bytes).create_file(file)?;
            let is_whole = super::compact::copy(from, &target, whole, &|| self.is_waited_for())?;
            if is_whole {
                // The copying itself left free pages between the used ones.
                target.compact()?;
            }
            Ok(is_whole)
        });
        let copied = copied.and_then(|is_whole| synced.sync_all().map(|()| is_whole).map_err(Fault::from));
        if !matches!(copied, Ok(true)) {
            // Free the space at once: the disk may be full. If this fails, the next opening for writing removes the file.
            let _ = remove_if_there(&self.path_of_file(NEW_DATABASE));
        }
        copied
    }

    fn move_copy(&self) -> Result<(), Fault> {
        self.move_into_place()
    }

    fn give_up_reserve(&self) -> bool {
        reserve::give_up(&self.path)
    }

    fn path(&self) -> &Path {
        &self.path
    }

    fn lock_action(&self, key: &ActionKey, is_cancelled: &dyn Fn() -> bool) -> Result<Option<ActionLock>, Refusal> {
        self.action_locks.reserve(&self.path, key, &self.options, is_cancelled)
    }

    fn file_bytes(&self) -> u64 {
        // Redb grows a file by doubling it; pages that were never written take no space. Some network file systems do not report that.
        FileInfo::of_target(&self.path_of_file(DATABASE)).map_or(0, |file| match file.allocated {
            0 => file.size,
            allocated => allocated.min(file.size),
        })
    }

    fn file_length(&self) -> u64 {
        fs::metadata(self.path_of_file(DATABASE)).map_or(0, |file| file.len())
    }

    fn set_aside(&self) -> (u64, u64) {
        let aside = format!("{DATABASE}{DAMAGED}");
        let entries = fs::read_dir(&self.path).into_iter().flatten().flatten();
        let entries = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(&aside));
        let lengths = entries.map(|entry| entry.metadata().map_or(0, |file| file.len()));
        lengths.fold((0, 0), |(files, bytes), length| (files + 1, bytes + length))
    }

    fn is_waited_for(&self) -> bool {
        if !self.options.yields_lock {
            return false;
        }
        let mut sharing = self.sharing();
        if sharing.waiting.is_none() {
            sharing.waiting = lock::open_lock_file(&self.path_of_file(WAITING)).ok();
        }
        // If the file cannot be read, assume that no process waits: others acquire the lock when this process ends.
        sharing
            .waiting
            .as_ref()
            .is_some_and(|file| lock::is_waited_for(file).unwrap_or(false))
    }

    fn id(&self) -> Option<String> {
        self.sharing().id.clone()
    }

    fn record_release(&self) {
        self.sharing().released_at = Some(Instant::now());
    }
}

/// Returns the description of the process that runs gc on the store in a folder; `None` if gc does not run or its process is unknown.
pub(super) fn collector(path: &Path) -> Option<String> {
    let mut file = plain_files::open_to_read(&path.join(COLLECTOR)).ok()?;
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => Some(lock::holder(&mut file).ok()?.to_string()),
        _ => None,
    }
}

/// Whether a folder contains a store or remains of one.
pub(super) fn is_store(path: &Path) -> bool {
    [DATABASE, ID].iter().any(|name| path.join(name).is_file())
}

fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Returns a unique name for a store: 128 bits of the system's randomness, which seeds every `RandomState`.
fn new_id() -> String {
    let half = || RandomState::new().hash_one(std::process::id());
    format!("{:016x}{:016x}", half(), half())
}
