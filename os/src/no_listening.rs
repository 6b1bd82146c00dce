//! In place of inotify on systems whose own way to listen to folders is not known here: nothing can be listened to, so that everything is looked at.

use crate::errors::SystemError;
use crate::handles::{AsFd, BorrowedFd, OwnedFd};
pub use crate::notices::Notice;
use std::path::Path;

/// Whether a notice is there before the call that caused it returns.
pub const IS_PROMPT: bool = false;

/// No queue: there is none of this type.
#[derive(Debug)]
pub struct Queue(OwnedFd);

impl Queue {
    /// Listens to nothing.
    ///
    /// # Errors
    /// Always.
    pub fn new() -> Result<Self, SystemError> {
        Err(SystemError::NO_SUCH_CALL)
    }

    /// Listens to nothing.
    ///
    /// # Errors
    /// Always.
    pub fn add(&self, _: &Path) -> Result<i32, SystemError> {
        Err(SystemError::NO_SUCH_CALL)
    }

    /// Does nothing.
    pub fn remove(&self, _: i32) {}

    /// Hears nothing.
    ///
    /// # Errors
    /// Always.
    pub fn drain(&self, _: impl FnMut(Notice<'_>)) -> Result<bool, SystemError> {
        Err(SystemError::NO_SUCH_CALL)
    }
}

impl AsFd for Queue {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
