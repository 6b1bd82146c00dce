//! Replacement for inotify on systems whose own interface is not supported: no folder can be watched, so callers scan everything.

use crate::errors::SystemError;
use crate::handles::{AsFd, BorrowedFd, OwnedFd};
pub use crate::notices::Notice;
use std::path::Path;

/// Whether a notice is queued before the call that caused it returns.
pub const IS_PROMPT: bool = false;

/// Queue that cannot be created.
#[derive(Debug)]
pub struct Queue(OwnedFd);

impl Queue {
    /// Fails to create a queue. Errors: always.
    pub fn new() -> Result<Self, SystemError> {
        Err(SystemError::NO_SUCH_CALL)
    }

    /// Fails to watch a folder. Errors: always.
    pub fn add_folder(&self, _: &Path) -> Result<i32, SystemError> {
        Err(SystemError::NO_SUCH_CALL)
    }

    pub fn remove(&self, _: i32) {}

    /// Fails to take notices. Errors: always.
    pub fn drain(&self, _: impl FnMut(Notice<'_>)) -> Result<bool, SystemError> {
        Err(SystemError::NO_SUCH_CALL)
    }
}

impl AsFd for Queue {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
