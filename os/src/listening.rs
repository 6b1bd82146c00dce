//! Listening to folders by inotify, which queues a notice before the call that caused it returns. A reader that has emptied the queue knows of
//! all earlier changes.
//!
//! Not reported: changes through memory maps after their file was closed, changes on other machines (network file systems), and changes to a
//! file under another of its names (hard links). Callers must handle these.

use crate::errors::SystemError;
use crate::handles::{AsFd, BorrowedFd, OwnedFd};
pub use crate::notices::Notice;
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::io::Errno;
use std::mem::MaybeUninit;
use std::path::Path;

/// Whether a notice is queued before the call that caused it returns.
pub const IS_PROMPT: bool = true;

/// Size of a read, in bytes.
const PIECE: usize = 64 << 10;

/// Limit of notices per call, so that a fast writer does not keep the reader busy for ever.
const AT_ONCE: usize = 1 << 20;

/// Queue of notices about watched folders.
#[derive(Debug)]
pub struct Queue(OwnedFd);

impl Queue {
    /// Creates a queue without folders. Fails when the system has no more queues.
    pub fn new() -> Result<Self, SystemError> {
        Ok(Self(inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?))
    }

    /// Watches a folder. Returns its number, which stays the same if it is watched already. Errors: [`SystemError::NO_SPACE`] when this
    /// user may watch no more; [`SystemError::LINK`] or [`SystemError::NO_FOLDER`] for a link.
    pub fn add_folder(&self, folder: &Path) -> Result<i32, SystemError> {
        let flags = WatchFlags::MODIFY
            | WatchFlags::CLOSE_WRITE
            | WatchFlags::ATTRIB
            | WatchFlags::CREATE
            | WatchFlags::DELETE
            | WatchFlags::MOVED_FROM
            | WatchFlags::MOVED_TO
            | WatchFlags::DELETE_SELF
            | WatchFlags::MOVE_SELF
            | WatchFlags::EXCL_UNLINK
            | WatchFlags::DONT_FOLLOW
            | WatchFlags::ONLYDIR;
        Ok(inotify::add_watch(&self.0, folder, flags)?)
    }

    /// Stops watching a folder.
    pub fn remove(&self, folder: i32) {
        // The kernel may have removed the watch already.
        let _ = inotify::remove_watch(&self.0, folder);
    }

    /// Takes all queued notices. Returns whether the queue is empty.
    pub fn drain(&self, mut hear: impl FnMut(Notice<'_>)) -> Result<bool, SystemError> {
        let mut buffer = vec![MaybeUninit::uninit(); PIECE];
        let mut reader = Reader::new(&self.0, &mut buffer);
        for _ in 0..AT_ONCE {
            let event = match reader.next() {
                Ok(event) => event,
                Err(Errno::INTR) => continue,
                Err(Errno::WOULDBLOCK) => return Ok(true),
                Err(errno) => return Err(errno.into()),
            };
            let (kind, folder) = (event.events(), event.wd());
            if kind.contains(ReadFlags::QUEUE_OVERFLOW) {
                hear(Notice::Lost);
            } else if let Some(name) = event.file_name() {
                hear(Notice::Name {
                    folder,
                    name: name.to_string_lossy(),
                    is_dir: kind.contains(ReadFlags::ISDIR),
                    written: !kind.intersects(!(ReadFlags::MODIFY | ReadFlags::CLOSE_WRITE)),
                });
            } else if kind.intersects(ReadFlags::DELETE_SELF | ReadFlags::MOVE_SELF | ReadFlags::IGNORED | ReadFlags::UNMOUNT) {
                let is_over = kind.contains(ReadFlags::IGNORED);
                hear(Notice::Gone { folder, is_over });
            }
        }
        Ok(false)
    }
}

impl AsFd for Queue {
    /// Returns the handle that becomes readable when a notice arrives.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
