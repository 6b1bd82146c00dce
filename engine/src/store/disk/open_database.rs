//! The open database and its handling of failures. Knows no table.
//!
//! Invariants: a panic of redb does not leave this module. After an I/O error the database is closed and the next call reopens it,
//! because redb's handle is dead then. After damage it stays closed, because a damaged tree must not be written to.

use super::action_locks::ActionLock;
use super::compact::Whole;
use super::lock::{Lock, Refusal};
use crate::store::StoreError;
use crate::values::diagnostic::Diagnostic;
use crate::values::digest::ActionKey;
use redb::{Database, ReadOnlyDatabase, ReadableDatabase};
use std::any::Any;
use std::cell::Cell;
use std::io::{self, ErrorKind};
use std::ops::{Deref, DerefMut};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{PoisonError, RwLock, RwLockReadGuard};
use std::time::{Duration, Instant};

/// Location of a database: a folder, or a test's memory.
pub(super) trait Medium: Send + Sync {
    /// Opens the database, creating it if absent, with the given lock or else a newly acquired one. Adds warnings for the user to
    /// `notices`. A database requested for reading may be opened for writing.
    fn open(&self, access: Access, lock: Option<Lock>, notices: &mut Vec<Diagnostic>) -> Result<OpenDatabase, StoreError>;
    /// Marks the file as damaged, so that the next opening sets it aside.
    fn mark_damaged(&self, reason: &str);
    /// Acquires the lock that only one gc at a time holds; `None` where only one process can exist.
    fn collector(&self) -> Result<Option<Lock>, StoreError> {
        Ok(None)
    }
    /// Whether gc runs, in this process or another. Call while the database is open, so that gc cannot start unseen.
    fn collecting(&self) -> bool {
        false
    }
    /// Start time of the longest-running build of any checkout; `None` if none runs. The graph's rows may lack what such a build found.
    fn building_since(&self) -> Option<u64> {
        None
    }
    /// Time at which gc last started, in seconds since 1970.
    fn collected_at(&self) -> Option<u64> {
        None
    }
    /// Copies the rows of an open database into a new file, synced and ready to replace it; `false` where there are no files, or
    /// another process waits for the store.
    fn copy(&self, _from: &dyn ReadableDatabase, _whole: Whole) -> Result<bool, Fault> {
        Ok(false)
    }
    /// Replaces the closed database by the copy.
    fn move_copy(&self) -> Result<(), Fault> {
        Ok(())
    }
    /// Frees the space reserved for a full disk; returns whether there was any.
    fn give_up_reserve(&self) -> bool {
        false
    }
    /// Waits until no other process requests an action; `None` where only one process can exist, and when cancelled.
    fn lock_action(&self, _key: &ActionKey, _is_cancelled: &dyn Fn() -> bool) -> Result<Option<ActionLock>, Refusal> {
        Ok(None)
    }
    /// The folder, for messages.
    fn path(&self) -> &Path;
    /// Space that the file takes on the disk, in bytes.
    fn file_bytes(&self) -> u64;
    /// Length of the file in bytes, including parts that were never written and take no space.
    fn file_length(&self) -> u64 {
        self.file_bytes()
    }
    /// Number of damaged files that were set aside, and their total length in bytes.
    fn set_aside(&self) -> (u64, u64) {
        (0, 0)
    }
    /// Whether another process waits for the database and this one releases it to others.
    fn is_waited_for(&self) -> bool {
        false
    }
    /// The name of the store that was last opened.
    fn id(&self) -> Option<String> {
        None
    }
    /// Records that the lock was released because others waited: the next acquisition leaves them their turn.
    fn record_release(&self) {}
}

/// Mode in which a database is opened. Opening for writing marks the file as in use, and closing it then commits and syncs: 5 to 20 ms
/// that a read-only command saves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
}

/// A database, closed on drop. Closing a damaged one may panic; nothing is left to save then, so the panic is swallowed.
pub(super) struct Closing<T>(Option<T>);

impl<T> Closing<T> {
    pub(super) fn new(database: T) -> Self {
        Self(Some(database))
    }
}

impl<T> Deref for Closing<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.as_ref().expect("invariant: it is there until it is dropped")
    }
}

impl<T> DerefMut for Closing<T> {
    fn deref_mut(&mut self) -> &mut T {
        self.0.as_mut().expect("invariant: it is there until it is dropped")
    }
}

impl<T> Drop for Closing<T> {
    fn drop(&mut self) {
        let database = self.0.take();
        let _ = catch_unwind(AssertUnwindSafe(move || expecting_panics(|| drop(database))));
    }
}

pub(super) enum Base {
    Read(Closing<ReadOnlyDatabase>),
    Write(Closing<Database>),
}

impl Base {
    /// The database as a reader sees it.
    pub(super) fn readable(&self) -> &dyn ReadableDatabase {
        match self {
            Self::Read(database) => &**database,
            Self::Write(database) => &**database,
        }
    }
}

/// An open database and the lock held for it.
pub(super) struct OpenDatabase {
    base: Option<Base>,
    lock: Option<Lock>,
}

impl OpenDatabase {
    /// Joins the two; the lock outlives the database.
    pub(super) fn new(base: Base, lock: Option<Lock>) -> Self {
        Self { base: Some(base), lock }
    }

    /// Closes the database and returns the lock.
    fn into_lock(mut self) -> Option<Lock> {
        drop(self.base.take());
        self.lock.take()
    }
}

impl Drop for OpenDatabase {
    fn drop(&mut self) {
        // Close the database before the lock is released, whatever the order of the fields.
        drop(self.base.take());
    }
}

/// A failure inside redb, by how it is handled.
#[derive(Debug)]
pub(super) enum Fault {
    NoSpace,
    /// The file's contents are not as redb wrote them.
    Damaged(String),
    /// Another process has the file open.
    Busy,
    Io(String),
}

impl From<redb::Error> for Fault {
    fn from(error: redb::Error) -> Self {
        use redb::Error;
        match error {
            Error::Io(error) => Self::from(error),
            Error::DatabaseAlreadyOpen => Self::Busy,
            Error::Corrupted(_) | Error::UpgradeRequired(_) | Error::TableTypeMismatch { .. } | Error::TypeDefinitionChanged { .. } => {
                Self::Damaged(error.to_string())
            }
            Error::TableIsMultimap(_) | Error::TableDoesNotExist(_) | Error::ValueTooLarge(_) => Self::Damaged(error.to_string()),
            _ => Self::Io(error.to_string()),
        }
    }
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => Self::NoSpace,
            // redb read a page beyond the end of the file.
            ErrorKind::UnexpectedEof | ErrorKind::InvalidData | ErrorKind::InvalidInput => Self::Damaged(error.to_string()),
            _ => Self::Io(error.to_string()),
        }
    }
}

impl Fault {
    /// Converts to the error that the store returns; `what` is `opened`, `read`, `written`, `compacted` or `locked`.
    pub(super) fn into_store_error(self, path: &Path, what: &'static str) -> StoreError {
        let path = path.to_owned();
        match self {
            Self::NoSpace => StoreError::NoSpace { path },
            Self::Damaged(reason) => StoreError::Damaged { path, reason },
            Self::Busy => StoreError::Busy {
                holder: "another process".to_owned(),
            },
            Self::Io(reason) => StoreError::Io { path, what, reason },
        }
    }
}

/// Returns a panic's message on one line, cut to 120 characters.
fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied());
    let line: String = text
        .unwrap_or("no reason given")
        .chars()
        .filter(|c| !c.is_control())
        .take(120)
        .collect();
    format!("its pages contradict each other: {line}")
}

thread_local! {
    static EXPECTED: Cell<u32> = const { Cell::new(0) };
}

/// Whether a panic of this thread is caught and reported as damage, so that the panic hook should stay silent.
pub fn is_panic_expected() -> bool {
    EXPECTED.get() > 0
}

/// Runs code whose panics are caught by this thread or by the one that it works for.
pub(super) fn expecting_panics<T>(run: impl FnOnce() -> T) -> T {
    struct Leave;
    impl Drop for Leave {
        fn drop(&mut self) {
            EXPECTED.set(EXPECTED.get() - 1);
        }
    }
    EXPECTED.set(EXPECTED.get() + 1);
    let _leave = Leave;
    run()
}

/// Runs redb code and converts a panic to damage.
pub(super) fn guarded<T>(run: impl FnOnce() -> Result<T, redb::Error>) -> Result<T, Fault> {
    match catch_unwind(AssertUnwindSafe(|| expecting_panics(run))) {
        Ok(result) => result.map_err(Fault::from),
        Err(panic) => Err(Fault::Damaged(panic_message(&*panic))),
    }
}

enum DatabaseState {
    Open(OpenDatabase),
    Closed,
    Condemned(String),
}

/// A database that is opened on demand.
pub(super) struct Handle {
    medium: Box<dyn Medium>,
    state: RwLock<DatabaseState>,
    /// Held shared by operations during which the lock must not be released.
    whole: RwLock<()>,
    born: Instant,
    /// Microseconds after `born` of the next check for waiting processes.
    next_check: AtomicU64,
}

/// Interval of checks for waiting processes.
const CHECK_INTERVAL: Duration = Duration::from_millis(10);

/// Minimum time that a process keeps the database open: opening costs time, and two processes that alternate must make progress.
const KEEP: Duration = Duration::from_millis(25);

impl std::fmt::Debug for Handle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Handle").field("path", &self.medium.path()).finish_non_exhaustive()
    }
}

impl Handle {
    pub(super) fn open_medium(medium: Box<dyn Medium>) -> Result<(Self, Vec<Diagnostic>), StoreError> {
        let mut notices = Vec::new();
        let session = medium.open(Access::Read, None, &mut notices)?;
        Ok((
            Self {
                medium,
                state: RwLock::new(DatabaseState::Open(session)),
                whole: RwLock::default(),
                born: Instant::now(),
                next_check: AtomicU64::new(micros(KEEP)),
            },
            notices,
        ))
    }

    /// Prevents the release of the lock while the returned guard lives.
    pub(super) fn lock_shared(&self) -> RwLockReadGuard<'_, ()> {
        self.whole.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether another process waits for the database open here. Cheap enough to call at every step: mostly it reads only the clock.
    pub(super) fn is_wanted(&self) -> bool {
        let now = self.born.elapsed();
        if micros(now) < self.next_check.load(Relaxed) {
            return false;
        }
        self.next_check.store(micros(now + CHECK_INTERVAL), Relaxed);
        let open = matches!(self.state.try_read().as_deref(), Ok(DatabaseState::Open(_)));
        open && self.medium.is_waited_for()
    }

    /// Closes the database and leaves the lock to waiting processes.
    pub(super) fn release_to_waiting(&self) {
        self.release();
        self.medium.record_release();
    }

    pub(super) fn medium(&self) -> &dyn Medium {
        &*self.medium
    }

    /// Reads from the database, opening it first if closed; adds warnings about the opening to `notices`.
    pub(super) fn read_database<T>(
        &self,
        notices: &mut Vec<Diagnostic>,
        run: impl FnOnce(&dyn ReadableDatabase) -> Result<T, redb::Error>,
    ) -> Result<T, StoreError> {
        self.with_database(Access::Read, notices, |base| run(base.readable()))
    }

    /// Writes to the database, opening it for writing first if necessary.
    pub(super) fn write_database<T>(
        &self,
        notices: &mut Vec<Diagnostic>,
        run: impl FnOnce(&Database) -> Result<T, redb::Error>,
    ) -> Result<T, StoreError> {
        self.with_database(Access::Write, notices, |base| match base {
            Base::Write(database) => run(database),
            Base::Read(_) => Err(redb::Error::DatabaseClosed),
        })
    }

    fn with_database<T>(
        &self,
        access: Access,
        notices: &mut Vec<Diagnostic>,
        run: impl FnOnce(&Base) -> Result<T, redb::Error>,
    ) -> Result<T, StoreError> {
        let what = if access == Access::Read { "read" } else { "written" };
        let fault = loop {
            {
                let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
                match &*state {
                    DatabaseState::Open(OpenDatabase { base: Some(base), .. })
                        if access == Access::Read || matches!(base, Base::Write(_)) =>
                    {
                        match guarded(|| run(base)) {
                            Ok(value) => return Ok(value),
                            Err(fault) => break fault,
                        }
                    }
                    DatabaseState::Condemned(reason) => {
                        return Err(Fault::Damaged(reason.clone()).into_store_error(self.medium.path(), what));
                    }
                    DatabaseState::Open(_) | DatabaseState::Closed => {}
                }
            }
            let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
            match &*state {
                DatabaseState::Closed
                | DatabaseState::Open(OpenDatabase {
                    base: None | Some(Base::Read(_)),
                    ..
                }) => {
                    // Keep the lock while reopening: no other process may write between our read and our write.
                    let lock = match std::mem::replace(&mut *state, DatabaseState::Closed) {
                        DatabaseState::Open(session) => session.into_lock(),
                        DatabaseState::Closed | DatabaseState::Condemned(_) => None,
                    };
                    let fresh = lock.is_none();
                    *state = DatabaseState::Open(self.medium.open(access, lock, notices)?);
                    if fresh {
                        self.next_check.store(micros(self.born.elapsed() + KEEP), Relaxed);
                    }
                }
                // Another thread was faster.
                DatabaseState::Open(_) | DatabaseState::Condemned(_) => {}
            }
        };
        self.close_after_fault(&fault);
        Err(fault.into_store_error(self.medium.path(), what))
    }

    /// Replaces the database by a compact copy; returns whether it did. Holds the lock throughout: no other process reads or writes.
    pub(super) fn replace_by_copy(&self, whole: Whole, notices: &mut Vec<Diagnostic>) -> Result<bool, StoreError> {
        self.read_database(notices, |_| Ok(()))?;
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        let copied = match &*state {
            DatabaseState::Open(OpenDatabase { base: Some(base), .. }) => self.medium.copy(base.readable(), whole),
            // Another thread has closed it since; do nothing.
            _ => Ok(false),
        };
        match copied {
            Ok(true) => {}
            Ok(false) => return Ok(false),
            // No space for a copy next to the file.
            Err(Fault::NoSpace) => return self.compact_in_place(&mut state, notices).map(|()| true),
            Err(fault) => {
                drop(state);
                if matches!(fault, Fault::Damaged(_)) {
                    self.close_after_fault(&fault);
                }
                return Err(fault.into_store_error(self.medium.path(), "compacted"));
            }
        }
        let DatabaseState::Open(session) = std::mem::replace(&mut *state, DatabaseState::Closed) else {
            return Ok(false);
        };
        let lock = session.into_lock();
        self.medium
            .move_copy()
            .map_err(|fault| fault.into_store_error(self.medium.path(), "compacted"))?;
        *state = DatabaseState::Open(self.medium.open(Access::Read, lock, notices)?);
        Ok(true)
    }

    /// Compacts the file in place: frees less space than a copy does, but needs almost none.
    fn compact_in_place(&self, state: &mut DatabaseState, notices: &mut Vec<Diagnostic>) -> Result<(), StoreError> {
        let DatabaseState::Open(session) = std::mem::replace(state, DatabaseState::Closed) else {
            return Ok(());
        };
        let lock = session.into_lock();
        let mut session = self.medium.open(Access::Write, lock, notices)?;
        let squeezed = match &mut session.base {
            Some(Base::Write(database)) => guarded(|| Ok(database.compact()?)),
            _ => Ok(false),
        };
        // After a fault the handle is dead; the next call reopens the file.
        squeezed.map_err(|fault| fault.into_store_error(self.medium.path(), "compacted"))?;
        *state = DatabaseState::Open(session);
        Ok(())
    }

    /// Closes the database after a fault; permanently if it is damaged.
    fn close_after_fault(&self, fault: &Fault) {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        if let Fault::Damaged(reason) = fault {
            self.medium.mark_damaged(reason);
            *state = DatabaseState::Condemned(reason.clone());
        } else {
            *state = DatabaseState::Closed;
        }
    }

    /// Closes the database and releases the lock until the next call.
    pub(super) fn release(&self) {
        let _whole = self.whole.write().unwrap_or_else(PoisonError::into_inner);
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        if matches!(*state, DatabaseState::Open(_)) {
            *state = DatabaseState::Closed;
        }
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
