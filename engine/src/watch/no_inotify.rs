//! In place of the kernel's ears on systems whose ones are not known here: nothing can be listened to, so that everything is looked at.

use rustix::fd::{BorrowedFd, OwnedFd};
use rustix::io::Errno;
use std::path::Path;
use std::sync::Arc;

/// What cannot be heard.
#[derive(Debug)]
#[allow(dead_code)]
pub(crate) enum InotifyEvent {
    /// Anything may have happened.
    Lost,
    /// Something happened to a name in a directory.
    Name {
        /// The directory.
        directory: Arc<str>,
        /// The name.
        name: String,
        /// Whether it is a directory's.
        is_dir: bool,
        /// Whether only bytes were written.
        written: bool,
    },
    /// A directory went away.
    Gone(Arc<str>),
}

/// No ears.
#[derive(Debug)]
pub(crate) struct Ears(OwnedFd);

impl Ears {
    pub(crate) fn new() -> Result<Self, Errno> {
        Err(Errno::NOSYS)
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        rustix::fd::AsFd::as_fd(&self.0)
    }

    pub(crate) fn count(&self) -> usize {
        0
    }

    pub(crate) fn add(&mut self, _: &Path, _: &str) -> Result<(), Errno> {
        Err(Errno::NOSYS)
    }

    pub(crate) fn remove(&mut self, _: &str) {}

    pub(crate) fn drain(&mut self, _: impl FnMut(InotifyEvent)) -> Result<bool, Errno> {
        Err(Errno::NOSYS)
    }
}
