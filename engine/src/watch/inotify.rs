//! The kernel's ears: directories that are listened to, and what was heard. inotify, which queues an event before the call that caused it
//! returns: whoever has read its queue empty knows of all that happened before.
//!
//! Not heard: changes through memory maps that outlive their file's being closed, changes on other machines (network file systems), and
//! changes to a file under another name of its (hard links). Those who use this deal with them.

use rustc_hash::FxHashMap;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::mem::MaybeUninit;
use std::path::Path;
use std::sync::Arc;

/// Events are read in pieces of this size.
const PIECE: usize = 64 << 10;

/// So many events are taken at once; who is faster for so long is not waited for.
const AT_ONCE: usize = 1 << 20;

/// Something that was heard.
#[derive(Debug)]
pub(crate) enum InotifyEvent {
    /// The queue was full: anything may have happened.
    Lost,
    /// Something happened to a name in a directory.
    Name {
        /// The directory, as it was added.
        directory: Arc<str>,
        /// The name; a lossy one if it is no text.
        name: String,
        /// Whether it is a directory's.
        is_dir: bool,
        /// Whether only bytes were written.
        written: bool,
    },
    /// A directory went away, or what it is mounted from did.
    Gone(Arc<str>),
}

/// Directories that are listened to.
#[derive(Debug)]
pub(crate) struct Ears {
    fd: OwnedFd,
    /// By number of the watch: the paths that lead to the directory. More than one when it is mounted twice.
    paths: FxHashMap<i32, Vec<Arc<str>>>,
    watches: BTreeMap<Arc<str>, i32>,
}

impl Ears {
    /// Ears that listen to nothing yet.
    pub(crate) fn new() -> Result<Self, Errno> {
        Ok(Self {
            fd: inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?,
            paths: FxHashMap::default(),
            watches: BTreeMap::new(),
        })
    }

    /// What becomes readable when there is something to hear.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// How many directories are listened to.
    pub(crate) fn count(&self) -> usize {
        self.watches.len()
    }

    /// Listens to the directory `directory` below `root`.
    pub(crate) fn add(&mut self, root: &Path, directory: &str) -> Result<(), Errno> {
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
        let path = if directory.is_empty() {
            root.to_owned()
        } else {
            root.join(directory)
        };
        let watch = inotify::add_watch(&self.fd, path, flags)?;
        let directory: Arc<str> = directory.into();
        if let Some(before) = self.watches.insert(directory.clone(), watch).filter(|before| *before != watch) {
            self.drop_path(before, &directory);
        }
        let paths = self.paths.entry(watch).or_default();
        if !paths.contains(&directory) {
            paths.push(directory);
        }
        Ok(())
    }

    fn drop_path(&mut self, watch: i32, directory: &str) {
        if let Some(paths) = self.paths.get_mut(&watch) {
            paths.retain(|path| **path != *directory);
            if paths.is_empty() {
                self.paths.remove(&watch);
                // The kernel may have removed it already.
                let _ = inotify::remove_watch(&self.fd, watch);
            }
        }
    }

    /// Listens no more to a directory and what is below it.
    pub(crate) fn remove(&mut self, directory: &str) {
        let below: Vec<Arc<str>> = super::at_and_below(&self.watches, directory)
            .map(|(path, _)| path.clone())
            .collect();
        for path in below {
            if let Some(watch) = self.watches.remove(&path) {
                self.drop_path(watch, &path);
            }
        }
    }

    /// Takes everything that was heard up to now; whether that was all.
    pub(crate) fn drain(&mut self, mut hear: impl FnMut(InotifyEvent)) -> Result<bool, Errno> {
        let mut buffer = vec![MaybeUninit::uninit(); PIECE];
        let mut gone = Vec::new();
        let mut all = false;
        let mut reader = Reader::new(&self.fd, &mut buffer);
        for _ in 0..AT_ONCE {
            let event = match reader.next() {
                Ok(event) => event,
                Err(Errno::INTR) => continue,
                Err(Errno::WOULDBLOCK) => {
                    all = true;
                    break;
                }
                Err(errno) => return Err(errno),
            };
            let kind = event.events();
            if kind.contains(ReadFlags::QUEUE_OVERFLOW) {
                hear(InotifyEvent::Lost);
                continue;
            }
            // Of watches that were given up meanwhile nothing is known; what they listened to is looked at anew by then.
            let Some(paths) = self.paths.get(&event.wd()) else { continue };
            if kind.contains(ReadFlags::IGNORED) {
                gone.push(event.wd());
            }
            for directory in paths {
                let Some(name) = event.file_name() else {
                    if kind.intersects(ReadFlags::DELETE_SELF | ReadFlags::MOVE_SELF | ReadFlags::IGNORED | ReadFlags::UNMOUNT) {
                        hear(InotifyEvent::Gone(directory.clone()));
                    }
                    continue;
                };
                hear(InotifyEvent::Name {
                    directory: directory.clone(),
                    name: name.to_string_lossy().into_owned(),
                    is_dir: kind.contains(ReadFlags::ISDIR),
                    written: !kind.intersects(!(ReadFlags::MODIFY | ReadFlags::CLOSE_WRITE)),
                });
            }
        }
        for watch in gone {
            for path in self.paths.remove(&watch).into_iter().flatten() {
                self.watches.remove(&path);
            }
        }
        Ok(all)
    }
}
