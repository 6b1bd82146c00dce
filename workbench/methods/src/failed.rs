//! Failure of a command or a request: maps the errors of the crates below to codes and hints.

use crate::code::Code;
use engine::build::engine::EngineError;
use engine::seams::world::WorldError;
use engine::store::StoreError;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::{Diagnostic, Severity};
use engine::watch::WatchError;
use workbench::checkout::UnexpectedEntry;
use workbench::edit::files::SaveError;
use workbench::error::WorkbenchError;
use workbench::garbage::GarbageError;
use workbench::overlay::OverlayError;

/// Failure of a command or a request: its code and diagnostics.
#[derive(Debug)]
pub struct Failed {
    /// Outcome of the command or request.
    pub code: Code,
    pub diagnostics: Vec<Diagnostic>,
}

/// Result of a command.
pub type Outcome = Result<Code, Failed>;

/// Converts the result of a write to standard output. A closed pipe is not an error.
pub fn outcome_of_write(result: std::io::Result<()>) -> Outcome {
    match result {
        Ok(()) => Ok(Code::Ok),
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(Code::Ok),
        Err(error) => Err(Failed::new(
            Code::Io,
            Diagnostic::error(ErrorCode::E_WRITE, format!("standard output cannot be written: {error}"))
                .hint("free space, or redirect it elsewhere"),
        )),
    }
}

impl Failed {
    /// Creates a failure of one diagnostic.
    pub fn new(code: Code, diagnostic: Diagnostic) -> Self {
        Self {
            code,
            diagnostics: vec![diagnostic],
        }
    }

    /// Creates the failure of a broken invariant.
    pub fn bug(what: &dyn std::fmt::Display) -> Self {
        let why = Diagnostic::error(ErrorCode::InternalError, format!("a bug of cortex: {what}"));
        Self::new(Code::Internal, why.hint("please report it with the command and what it printed"))
    }
}

impl From<WorkbenchError> for Failed {
    fn from(error: WorkbenchError) -> Self {
        match error {
            WorkbenchError::NoManifest(_) => {
                let hint = "go to a workspace, name one with -C DIR, or make one with `cortex init`";
                Self::new(
                    Code::Usage,
                    Diagnostic::error(ErrorCode::E_NO_WORKSPACE, error.to_string()).hint(hint),
                )
            }
            WorkbenchError::Path { .. } => Self::new(
                Code::Io,
                Diagnostic::error(ErrorCode::E_READ, error.to_string()).hint("check the path and its permissions"),
            ),
            WorkbenchError::Checkout(why) => Self::new(Code::Io, *why),
            WorkbenchError::Manifest(diagnostics) => Self {
                code: Code::Usage,
                diagnostics,
            },
            WorkbenchError::Engine(error) => error.into(),
            WorkbenchError::Overlay(error) => error.into(),
        }
    }
}

impl From<EngineError> for Failed {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Store(error) => error.into(),
            EngineError::World(error) => error.into(),
        }
    }
}

impl From<StoreError> for Failed {
    fn from(error: StoreError) -> Self {
        let (code, name, hint) = match &error {
            StoreError::Busy { .. } | StoreError::ViewBusy { .. } | StoreError::ActionBusy { .. } => (
                Code::Busy,
                ErrorCode::E_BUSY,
                "wait for it to end, or give more time with --lock-timeout",
            ),
            StoreError::Collecting { .. } => (
                Code::Busy,
                ErrorCode::E_BUSY,
                "one collection is enough for all checkouts that share the store",
            ),
            StoreError::NoSpace { .. } => (
                Code::Io,
                ErrorCode::E_NO_SPACE,
                "free space on the disk, or in the store with `cortex gc`, and run the same command again; earlier contents of the store are intact",
            ),
            StoreError::Io { .. } => (
                Code::Io,
                ErrorCode::E_STORE_IO,
                "check the folder's permissions, move the store with --store DIR, or use --no-store; `cortex show --allow-stale` only reads",
            ),
            StoreError::TooNew { .. } => (
                Code::StoreDamaged,
                ErrorCode::E_STORE_NEWER,
                "update cortex, or use another store with --store DIR, or --no-store; nothing in this one was changed",
            ),
            StoreError::Damaged { .. } => (
                Code::StoreDamaged,
                ErrorCode::E_STORE_DAMAGED,
                "nothing was changed; the next build, or `cortex store verify --repair`, copies the sound contents into a new store and sets the file aside",
            ),
            StoreError::Foreign { .. } => (Code::Io, ErrorCode::E_STORE_FOREIGN, "give a folder of your own with --store DIR"),
        };
        Self::new(code, Diagnostic::error(name, error.to_string()).hint(hint))
    }
}

impl From<WorldError> for Failed {
    fn from(error: WorldError) -> Self {
        let (code, name, hint) = match &error {
            WorldError::Root { .. } => (Code::Io, ErrorCode::E_READ, "check the folder's permissions"),
            WorldError::BadGlob { .. } | WorldError::TooManySets { .. } => {
                (Code::Usage, ErrorCode::E_GLOB, "fix the source sets in cortex.toml")
            }
            WorldError::Leaves { .. } => (Code::Usage, ErrorCode::E_PATH, "paths stay inside the workspace"),
            WorldError::Claimed { .. } => (Code::Usage, ErrorCode::E_LAYOUT, "give one of the rules another `out`"),
            WorldError::Removed { .. } => (
                Code::Usage,
                ErrorCode::E_NO_FILE,
                "ask without the overlay for the file on the disk",
            ),
            WorldError::Io { .. } => (Code::Io, ErrorCode::E_IO, "check the disk and the permissions"),
        };
        Self::new(
            code,
            Diagnostic {
                severity: Severity::Error,
                ..Diagnostic::error(name, error.to_string())
            }
            .hint(hint),
        )
    }
}

impl From<OverlayError> for Failed {
    fn from(error: OverlayError) -> Self {
        let words = error.to_string();
        match error {
            OverlayError::Asked(why) => {
                // Only a well-formed patch that does not apply is a failed target; all other errors are wrong usage.
                let code = if why.code == ErrorCode::E_PATCH {
                    Code::TargetFailed
                } else {
                    Code::Usage
                };
                Self::new(code, *why)
            }
            OverlayError::Io(error) => {
                let hint = match UnexpectedEntry::wrapped_in(&error) {
                    Some(way) => way.hint(),
                    None => "make room on the disk and look at the permissions of .cortex, then run the same command again".to_owned(),
                };
                Self::new(Code::Io, Diagnostic::error(ErrorCode::E_WRITE, words).hint(hint))
            }
            OverlayError::Save(SaveError::ReadOnly { .. }) => {
                let hint = "make the file writable and merge again; nothing was changed";
                Self::new(Code::Io, Diagnostic::error(ErrorCode::E_WRITE, words).hint(hint))
            }
            OverlayError::Save(SaveError::OneFile { .. }) => {
                let hint = "take one of the two out (`cortex overlay put NAME PATH --drop`) and merge again; nothing was changed";
                Self::new(Code::Io, Diagnostic::error(ErrorCode::E_WRITE, words).hint(hint))
            }
            OverlayError::Save(_) => {
                let hint = "remove the obstacle, then merge again: a started merge is completed";
                Self::new(Code::Io, Diagnostic::error(ErrorCode::E_WRITE, words).hint(hint))
            }
        }
    }
}

impl From<GarbageError> for Failed {
    fn from(error: GarbageError) -> Self {
        match error {
            GarbageError::Store(error) => {
                let is_full = matches!(error, StoreError::NoSpace { .. });
                let mut failed = Self::from(error);
                for why in failed.diagnostics.iter_mut().filter(|_| is_full) {
                    why.hint = Some("free some space on the disk first: a collection writes a little before it frees anything".to_owned());
                }
                failed
            }
            GarbageError::Damaged(_) => Self::new(
                Code::StoreDamaged,
                Diagnostic::error(ErrorCode::E_STORE_DAMAGED, error.to_string())
                    .hint("nothing was evicted; repair it with `cortex store verify --repair`, then collect again"),
            ),
        }
    }
}

impl From<WatchError> for Failed {
    fn from(error: WatchError) -> Self {
        let (code, hint) = match &error {
            WatchError::Watched { .. } => (Code::Busy, "one watch serves every command; end that one to start another"),
            WatchError::Socket { .. } => (Code::Io, "check the permissions of the store's folder, or watch with --no-store"),
            WatchError::World(_) => (Code::Io, "check the folder, and /proc/sys/fs/inotify/max_user_instances"),
        };
        let name = if code == Code::Busy {
            ErrorCode::E_BUSY
        } else {
            ErrorCode::E_WATCH
        };
        Self::new(code, Diagnostic::error(name, error.to_string()).hint(hint))
    }
}
