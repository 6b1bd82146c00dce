//! Listening to folders: inotify, which queues a notice before the call that caused it returns. Whoever has read its queue empty knows of all that
//! happened before.
//!
//! Not heard: changes through memory maps that outlive their file's being closed, changes on other machines (network file systems), and
//! changes to a file under another name of its (hard links). Those who use this deal with them.

use crate::errors::SystemError;
use crate::handles::{AsFd, BorrowedFd, OwnedFd};
pub use crate::notices::Notice;
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::io::Errno;
use std::mem::MaybeUninit;
use std::path::Path;

/// Whether a notice is there before the call that caused it returns.
pub const IS_PROMPT: bool = true;

/// Notices are read in pieces of this size.
const PIECE: usize = 64 << 10;

/// So many notices are taken at once; who is faster for so long is not waited for.
const AT_ONCE: usize = 1 << 20;

/// What was heard of folders that are listened to.
#[derive(Debug)]
pub struct Queue(OwnedFd);

impl Queue {
    /// Listens to nothing yet.
    ///
    /// # Errors
    /// When the system has none to give.
    pub fn new() -> Result<Self, SystemError> {
        Ok(Self(inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?))
    }

    /// Listens to a folder; its number, which is the one it has if it is listened to already.
    ///
    /// # Errors
    /// [`SystemError::NO_SPACE`] when the system listens to no more for this user; [`SystemError::LINK`] or [`SystemError::NO_FOLDER`] for a link.
    pub fn add(&self, folder: &Path) -> Result<i32, SystemError> {
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

    /// Listens no more to a folder.
    pub fn remove(&self, folder: i32) {
        // The kernel may have removed it already.
        let _ = inotify::remove_watch(&self.0, folder);
    }

    /// Takes everything that was heard up to now; whether that was all.
    ///
    /// # Errors
    /// The system's.
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
    /// What becomes readable when there is something to hear.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
