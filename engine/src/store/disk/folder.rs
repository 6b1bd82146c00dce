//! A store's folder: making it, opening it, setting a bad file aside. It knows nothing of what the tables hold.
//!
//! Invariant: `store.redb` is always a complete database or absent. It is made under another name, synced, renamed, and the folder
//! synced; a kill in between leaves a file that the next opening removes.

use super::DiskOptions;
use super::claim::Claim;
use super::compact::Whole;
use super::flights::{Flight, Flights};
use super::lock::{self, Lock, Refusal, Terms};
use super::reserve;
use super::salvage;
use super::schema::{self, Kind};
use super::session::{Access, Base, Closing, Fault, Medium, Session, guarded};
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
/// Locked shared by whoever waits for the lock.
const WAITING: &str = "store.waiting";
const ID: &str = "store-id";
/// Cache of a database that is only read: most of it is read once, and memory that is used again costs less than fresh memory.
const READ_CACHE: usize = 1 << 20;
/// Between the database's name and a number: one that was set aside.
const DAMAGED: &str = ".damaged-";
/// Written when damage was met; the next opening sets the database aside and removes it.
pub(super) const CONDEMNED: &str = "store.condemned";

/// The folder of one store.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    options: DiskOptions,
    sharing: Mutex<Sharing>,
    flights: Flights,
}

/// What is known of others that use the store.
#[derive(Debug, Default)]
struct Sharing {
    /// The file of those who wait, once it was looked at.
    waiting: Option<File>,
    /// When the lock was given back because others waited.
    gave_way: Option<Instant>,
    /// Whether it was held before.
    held: bool,
    /// The store's name, once it was opened.
    id: Option<String>,
}

/// So long a command waits at least for a lock that it gave back itself: what it has done so far is worth more than at its beginning.
const AGAIN: Duration = Duration::from_secs(600);

/// The same for a command that is to wait for nobody: as long as others take for their turns.
const TURNS: Duration = Duration::from_secs(5);

/// No name of a store is longer.
const MOST_ID: u64 = 64;

/// No reason why a store was condemned is longer.
const MOST_REASON: u64 = 64 << 10;

/// Bytes of a page of the file.
const PAGE: u64 = 4096;

/// Whether an opening may go on with the file it found.
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
            flights: Flights::default(),
        }
    }

    fn sharing(&self) -> MutexGuard<'_, Sharing> {
        self.sharing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    pub(super) fn unopened(&self, error: io::Error) -> StoreError {
        Fault::from(error).at(&self.path, "opened")
    }

    /// Makes the folder if need be, and refuses one that belongs to someone else: what it says would be believed.
    pub(super) fn create_or_check(&self) -> Result<(), StoreError> {
        modes::create_folders(&self.path, 0o700).map_err(|error| self.unopened(error))?;
        let folder = FileInfo::of_target(&self.path).map_err(|error| self.unopened(error.into()))?;
        let mut owners = vec![folder.owner];
        owners.extend(FileInfo::of_target(&self.file(DATABASE)).ok().map(|file| file.owner));
        if owners.iter().any(|owner| *owner != processes::own_user()) {
            return Err(StoreError::Foreign { path: self.path.clone() });
        }
        // Only a folder that is a store already is narrowed: the user may have named one that holds other things.
        if folder.mode & 0o077 != 0 && self.file(ID).exists() {
            match modes::set_mode(&self.path, 0o700) {
                // On media that cannot be written it stays as it is.
                Err(error) if !lock::is_unwritable(&error) => return Err(self.unopened(error)),
                _ => {}
            }
        }
        Ok(())
    }

    /// Takes the store's lock; `None` for a reader of a folder in which none can be made: nobody writes to it then.
    fn lock(&self, access: Access) -> Result<Option<Lock>, StoreError> {
        let (gave_way, held) = {
            let mut sharing = self.sharing();
            (sharing.gave_way.take(), sharing.held)
        };
        let waiting = self.file(WAITING);
        if let Some(gave_way) = gave_way {
            match lock::leave_turn(&waiting, gave_way) {
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
            looks: access == Access::Read,
        };
        let lock = match lock::take(&self.file(LOCK), &terms) {
            Ok(lock) => Some(lock),
            Err(Refusal::Busy(holder)) => return Err(StoreError::Busy { holder }),
            Err(Refusal::Io(error)) if error.kind() == ErrorKind::NotFound && self.file(DATABASE).exists() => None,
            Err(Refusal::Io(error)) => return Err(self.unopened(error)),
        };
        self.sharing().held = true;
        Ok(lock)
    }

    /// Makes an empty database under another name and moves it into place.
    fn create(&self) -> Result<(), StoreError> {
        let made = self.make().and_then(|()| self.move_into_place());
        made.map_err(|fault| fault.at(&self.path, "opened"))
    }

    /// Makes an empty database under another name.
    fn make(&self) -> Result<(), Fault> {
        let new = self.file(NEW_DATABASE);
        remove_if_there(&new)?;
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .with_mode(0o600)
            .open(&new)?;
        let id = new_id();
        guarded(|| {
            let database = Builder::new().create_file(file)?;
            schema::create(&database, &id)
        })
    }

    fn move_into_place(&self) -> Result<(), Fault> {
        let new = self.file(NEW_DATABASE);
        File::open(&new)?.sync_all()?;
        fs::rename(&new, self.file(DATABASE))?;
        File::open(&self.path)?.sync_all()?;
        Ok(())
    }

    /// Opens the file that is there and looks whether it is a store of ours.
    fn find(&self, access: Access) -> Result<Opening, StoreError> {
        let path = self.file(DATABASE);
        plain_files::require(&path).map_err(|error| self.unopened(error))?;
        if self.file(CONDEMNED).exists() {
            let reason = plain_files::read_text(&self.file(CONDEMNED), MOST_REASON);
            return Ok(Opening::Unfit(reason.unwrap_or_else(|| "damage was met".to_owned())));
        }
        if fs::metadata(&path).map_err(|error| self.unopened(error))?.len() == 0 {
            return Ok(Opening::Unfit("it is empty".to_owned()));
        }
        // The file is opened here, so that a file that may not be opened is told from one that is damaged. Who only looks can do with one that
        // may not be written.
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
                    // Its last user was killed: it has to be opened for writing once.
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
            let kind = schema::kind(base.readable())?;
            if let (Base::Write(database), Kind::Ours(_)) = (&base, &kind) {
                schema::raise(database)?;
            }
            Ok((base, kind))
        });
        match opened {
            Ok((base, Kind::Ours(id))) => Ok(Opening::Store(base, id)),
            Ok((_, Kind::Newer(found))) => Err(StoreError::TooNew {
                path: self.path.clone(),
                found,
                known: schema::FORMAT,
            }),
            Ok((_, Kind::Alien)) => Ok(Opening::Unfit("it is not a store of cortex".to_owned())),
            Err(Fault::Damaged(reason)) => Ok(Opening::Unfit(reason)),
            Err(fault) => Err(fault.at(&self.path, "opened")),
        }
    }

    /// A file that ends in the middle of a page lost its end, of which often nothing was in use: it gets zeros in its place. What it is then,
    /// if that makes it a store.
    fn pad(&self, access: Access) -> Result<Option<Opening>, StoreError> {
        let length = fs::metadata(self.file(DATABASE)).map_err(|error| self.unopened(error))?.len();
        if length == 0 || length.is_multiple_of(PAGE) || self.file(CONDEMNED).exists() {
            return Ok(None);
        }
        self.resize(length.next_multiple_of(PAGE))?;
        let found = self.find(access)?;
        if matches!(found, Opening::Store(..)) {
            return Ok(Some(found));
        }
        self.resize(length)?;
        Ok(None)
    }

    fn resize(&self, length: u64) -> Result<(), StoreError> {
        let file = OpenOptions::new().write(true).open(self.file(DATABASE));
        file.and_then(|file| file.set_len(length)).map_err(|error| self.unopened(error))
    }

    /// Puts a new database in the place of the damaged one, with what can be read of that, and says so. Until it is whole the damaged one stands
    /// where it is: whoever is killed meanwhile, or has no room, loses nothing.
    fn set_aside(&self, reason: &str) -> Result<Diagnostic, StoreError> {
        let (new, damaged) = (self.file(NEW_DATABASE), self.file(DATABASE));
        let taken = self
            .make()
            .and_then(|()| salvage::take_over(&damaged, &new, self.options.cache_bytes));
        let aside = taken.and_then(|taken| {
            let name = self.second_name(&damaged)?;
            remove_if_there(&self.file(CONDEMNED))?;
            self.move_into_place()?;
            Ok((taken, name))
        });
        let (taken, name) = aside.map_err(|fault| {
            // What takes room on a full disk is given back at once.
            let _ = remove_if_there(&new);
            fault.at(&self.path, "written")
        })?;
        let message = format!("the store's file {} is damaged: {reason}", self.file(DATABASE).display());
        let became = match taken {
            0 => "with it went History, the log of builds, pins and what was paid for or corrected by hand; an empty store was begun, which fills \
                  again as things are needed"
                .to_owned(),
            taken => format!(
                "{taken} sound rows of results, History, the log, pins and corrections were taken over into a new one; what is missing is made \
                 again as it is needed, and `cortex store verify --repair` drops what lost its counterpart"
            ),
        };
        let hint = format!("it was set aside as {name} in that folder, and {became}. Nothing removes that file but you");
        Ok(Diagnostic::warning(ErrorCode::E_STORE_DAMAGED, message).hint(hint))
    }

    /// Gives the damaged database the first free name `store.redb.damaged-N`, unless someone who was killed then has given it one.
    fn second_name(&self, damaged: &Path) -> Result<String, Fault> {
        let is = FileInfo::of_target(damaged).map_err(io::Error::from)?.number;
        for number in 1_u32.. {
            let name = format!("{DATABASE}{DAMAGED}{number}");
            match FileInfo::of_path(&self.file(&name)) {
                Ok(there) if there.number == is => return Ok(name),
                Ok(_) => {}
                Err(_) => {
                    // Where files have one name only there is a moment without a database.
                    fs::hard_link(damaged, self.file(&name)).or_else(|_| fs::rename(damaged, self.file(&name)))?;
                    return Ok(name);
                }
            }
        }
        unreachable!("a folder holds fewer than four billion files")
    }

    /// Keeps the readable copy of the store's name true.
    fn note_id(&self, id: &str) -> io::Result<()> {
        if plain_files::read_text(&self.file(ID), MOST_ID).is_some_and(|noted| noted.trim_end() == id) {
            return Ok(());
        }
        let mut file = tempfile::Builder::new().prefix(ID).tempfile_in(&self.path)?;
        writeln!(file, "{id}")?;
        file.persist(self.file(ID))?;
        Ok(())
    }
}

impl Medium for Folder {
    fn open(&self, access: Access, lock: Option<Lock>, notices: &mut Vec<Diagnostic>) -> Result<Session, StoreError> {
        self.create_or_check()?;
        let lock = match lock {
            Some(lock) => Some(lock),
            None => self.lock(access)?,
        };
        if fs::symlink_metadata(self.file(DATABASE)).is_err_and(|error| error.kind() == ErrorKind::NotFound) {
            remove_if_there(&self.file(CONDEMNED)).map_err(|error| self.unopened(error))?;
            self.create()?;
        }
        if access == Access::Write {
            // What a killed compaction left behind may be as large as the store. Who cannot remove it can write nothing else either.
            let _ = remove_if_there(&self.file(NEW_DATABASE));
        }
        let mut found = self.find(access)?;
        if matches!(found, Opening::Unfit(_))
            && self.options.sets_aside
            && let Some(padded) = self.pad(access)?
        {
            let message = "the store's file had lost its end; it was made whole with zeros";
            notices
                .push(Diagnostic::warning(ErrorCode::W_STORE_DAMAGED, message).hint("`cortex store verify --repair` looks what was lost"));
            found = padded;
        }
        if let Opening::Unfit(reason) = &found {
            if !self.options.sets_aside {
                return Err(Fault::Damaged(reason.clone()).at(&self.path, "opened"));
            }
            notices.push(self.set_aside(reason)?);
            found = self.find(access)?;
        }
        match found {
            Opening::Store(base, id) => {
                let session = Session::new(base, lock);
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
            Opening::Unfit(reason) => Err(Fault::Io(format!("a store just made is unfit: {reason}")).at(&self.path, "opened")),
        }
    }

    fn condemn(&self, reason: &str) {
        // When even this cannot be written, the next opening finds the damage by itself or works around it.
        let _ = fs::write(self.file(CONDEMNED), reason);
    }

    fn collector(&self) -> Result<Option<Lock>, StoreError> {
        let terms = Terms {
            purpose: &self.options.purpose,
            // Never waited for: that is what lets it be taken whatever else is held.
            timeout: Duration::ZERO,
            waiting: None,
            on_wait: None,
            looks: false,
        };
        let lock = lock::take(&self.file(COLLECTOR), &terms).map_err(|refusal| match refusal {
            Refusal::Busy(holder) => StoreError::Collecting { holder },
            Refusal::Io(error) => self.unopened(error),
        })?;
        Ok(Some(lock))
    }

    fn collecting(&self) -> bool {
        // A file that cannot be opened was never locked; one that cannot be tried counts as held, which costs a few rows.
        plain_files::open_to_read(&self.file(COLLECTOR)).is_ok_and(|file| file.try_lock_shared().is_err())
    }

    fn building_since(&self) -> Option<u64> {
        match Claim::held(&self.path) {
            // What this process has found and made is in rows by now.
            Ok(held) => held.into_iter().filter(|held| !held.is_own).map(|held| held.since).min(),
            // What cannot be told is taken for the worst.
            Err(_) => Some(0),
        }
    }

    fn collected_at(&self) -> Option<u64> {
        let written = fs::metadata(self.file(COLLECTOR)).ok()?.modified().ok()?;
        Some(written.duration_since(std::time::UNIX_EPOCH).ok()?.as_secs())
    }

    fn copy(&self, from: &dyn ReadableDatabase, whole: Whole) -> Result<bool, Fault> {
        let new = self.file(NEW_DATABASE);
        remove_if_there(&new)?;
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .with_mode(0o600)
            .open(&new)?;
        let synced = file.try_clone()?;
        let copied = guarded(|| {
            let mut target = Builder::new().set_cache_size(self.options.cache_bytes).create_file(file)?;
            let is_whole = super::compact::copy(from, &target, whole, &|| self.is_waited_for())?;
            if is_whole {
                // What the copy itself took and gave back lies between its pages.
                target.compact()?;
            }
            Ok(is_whole)
        });
        let copied = copied.and_then(|is_whole| synced.sync_all().map(|()| is_whole).map_err(Fault::from));
        if !matches!(copied, Ok(true)) {
            // What takes room on a full disk is given back at once; otherwise whoever opens the store for writing next removes it.
            let _ = remove_if_there(&new);
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

    fn flight(&self, key: &ActionKey, is_cancelled: &dyn Fn() -> bool) -> Result<Option<Flight>, Refusal> {
        self.flights.reserve(&self.path, key, &self.options, is_cancelled)
    }

    fn file_bytes(&self) -> u64 {
        fs::metadata(self.file(DATABASE)).map_or(0, |file| file.len())
    }

    fn set_aside(&self) -> (u64, u64) {
        let aside = format!("{DATABASE}{DAMAGED}");
        let entries = fs::read_dir(&self.path).into_iter().flatten().flatten();
        let entries = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(&aside));
        let lengths = entries.map(|entry| entry.metadata().map_or(0, |file| file.len()));
        lengths.fold((0, 0), |(files, bytes), length| (files + 1, bytes + length))
    }

    fn is_waited_for(&self) -> bool {
        if !self.options.gives_way {
            return false;
        }
        let mut sharing = self.sharing();
        if sharing.waiting.is_none() {
            sharing.waiting = lock::open(&self.file(WAITING)).ok();
        }
        // Where it cannot be told, nobody is waited for: the others come in when this process ends.
        sharing
            .waiting
            .as_ref()
            .is_some_and(|file| lock::is_waited_for(file).unwrap_or(false))
    }

    fn id(&self) -> Option<String> {
        self.sharing().id.clone()
    }

    fn gave_way(&self) {
        self.sharing().gave_way = Some(Instant::now());
    }
}

/// The process that collects what the store in a folder holds, as it wrote itself down; `None` where none does, or it cannot be told.
pub(super) fn collector(path: &Path) -> Option<String> {
    let mut file = plain_files::open_to_read(&path.join(COLLECTOR)).ok()?;
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => Some(lock::holder(&mut file).ok()?.to_string()),
        _ => None,
    }
}

/// Whether a folder holds a store, or what is left of one.
pub(super) fn is_store(path: &Path) -> bool {
    [DATABASE, ID].iter().any(|name| path.join(name).is_file())
}

fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// A name that no other store has: 128 bits of the system's randomness, which seeds every `RandomState`.
fn new_id() -> String {
    let half = || RandomState::new().hash_one(std::process::id());
    format!("{:016x}{:016x}", half(), half())
}
