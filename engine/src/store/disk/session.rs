//! The open database and what becomes of it when something fails. It knows no table.
//!
//! Invariants: a panic of redb does not leave this module; after an I/O error the database is closed and opened anew by the next call,
//! because redb's handle is dead then; after damage it stays closed, because a damaged tree must not be written to.

use super::lock::Lock;
use crate::store::StoreError;
use crate::values::diagnostic::Diagnostic;
use redb::Database;
use std::any::Any;
use std::io::{self, ErrorKind};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{PoisonError, RwLock};

/// Where a database lives: a folder, or a test's memory.
pub(super) trait Medium: Send + Sync {
    /// Opens it, making it when there is none. What a person should know about that goes to `notices`.
    fn open(&self, notices: &mut Vec<Diagnostic>) -> Result<Session, StoreError>;
    /// Remembers that the file is damaged, so that the next opening sets it aside.
    fn condemn(&self, reason: &str);
    /// The folder, for messages.
    fn path(&self) -> &Path;
    /// Length of the file.
    fn file_bytes(&self) -> u64;
}

/// An open database and the lock that makes it ours.
#[derive(Debug)]
pub(super) struct Session {
    database: Option<Database>,
    _lock: Option<Lock>,
}

impl Session {
    /// Joins the two: the lock outlives the database.
    pub(super) fn new(database: Database, lock: Option<Lock>) -> Self {
        Self {
            database: Some(database),
            _lock: lock,
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let database = self.database.take();
        // Closing a damaged database may panic; there is nothing left to save then.
        let _ = catch_unwind(AssertUnwindSafe(move || drop(database)));
    }
}

/// What went wrong inside redb, as far as it matters.
#[derive(Debug)]
pub(super) enum Fault {
    /// The disk is full.
    NoSpace,
    /// The file is not what redb wrote.
    Damaged(String),
    /// Someone else has the file open.
    Busy,
    /// Everything else.
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
            // redb read a page that the file does not have.
            ErrorKind::UnexpectedEof | ErrorKind::InvalidData | ErrorKind::InvalidInput => Self::Damaged(error.to_string()),
            _ => Self::Io(error.to_string()),
        }
    }
}

impl Fault {
    /// The same for the callers of the store; `what` is `opened`, `read` or `written`.
    pub(super) fn at(self, path: &Path, what: &'static str) -> StoreError {
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

/// The words of a panic, on one line and of sensible length.
fn words(panic: &(dyn Any + Send)) -> String {
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

/// Runs redb code; a panic comes out as damage.
pub(super) fn guarded<T>(run: impl FnOnce() -> Result<T, redb::Error>) -> Result<T, Fault> {
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(result) => result.map_err(Fault::from),
        Err(panic) => Err(Fault::Damaged(words(&*panic))),
    }
}

enum State {
    Open(Session),
    Closed,
    Condemned(String),
}

/// The database as its owner sees it: opened when needed.
pub(super) struct Handle {
    medium: Box<dyn Medium>,
    state: RwLock<State>,
}

impl std::fmt::Debug for Handle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Handle").field("path", &self.medium.path()).finish_non_exhaustive()
    }
}

impl Handle {
    /// Opens the database of a medium.
    pub(super) fn open(medium: Box<dyn Medium>) -> Result<(Self, Vec<Diagnostic>), StoreError> {
        let mut notices = Vec::new();
        let session = medium.open(&mut notices)?;
        Ok((
            Self {
                medium,
                state: RwLock::new(State::Open(session)),
            },
            notices,
        ))
    }

    /// The medium.
    pub(super) fn medium(&self) -> &dyn Medium {
        &*self.medium
    }

    /// Runs `run` on the open database, opening it first if it was closed. `what` is `read` or `written`; what a person should know
    /// about the opening goes to `notices`.
    pub(super) fn with<T>(
        &self,
        what: &'static str,
        notices: &mut Vec<Diagnostic>,
        run: impl FnOnce(&Database) -> Result<T, redb::Error>,
    ) -> Result<T, StoreError> {
        let fault = loop {
            {
                let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
                match &*state {
                    State::Open(Session {
                        database: Some(database), ..
                    }) => match guarded(|| run(database)) {
                        Ok(value) => return Ok(value),
                        Err(fault) => break fault,
                    },
                    State::Condemned(reason) => return Err(Fault::Damaged(reason.clone()).at(self.medium.path(), what)),
                    State::Open(_) | State::Closed => {}
                }
            }
            let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
            if matches!(*state, State::Closed) {
                *state = State::Open(self.medium.open(notices)?);
            }
        };
        self.leave(&fault);
        Err(fault.at(self.medium.path(), what))
    }

    /// Closes the database after a fault; for good if it is damaged.
    fn leave(&self, fault: &Fault) {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        if let Fault::Damaged(reason) = fault {
            self.medium.condemn(reason);
            *state = State::Condemned(reason.clone());
        } else {
            *state = State::Closed;
        }
    }

    /// Closes the database and gives the lock back until the next call.
    pub(super) fn release(&self) {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        if matches!(*state, State::Open(_)) {
            *state = State::Closed;
        }
    }
}
