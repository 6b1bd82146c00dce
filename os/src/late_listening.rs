//! Listening to folders on systems that report changes late (macOS, through `notify`). A notice means that something changed; its absence does
//! not mean that nothing did, so a caller that must be sure scans everything.
//!
//! The system reports changes in all folders below a watched one, so only the outermost folders are watched.

use crate::errors::SystemError;
use crate::handles::{AsFd, BorrowedFd};
pub use crate::notices::Notice;
use crate::sockets::Stream;
use notify::event::{CreateKind, DataChange, ModifyKind, RemoveKind};
use notify::{Config, Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Whether a notice is queued before the call that caused it returns.
pub const IS_PROMPT: bool = false;

/// Queue of notices about watched folders.
#[derive(Debug)]
pub struct Queue {
    watcher: Mutex<RecommendedWatcher>,
    state: Arc<Mutex<QueueState>>,
    heard: Stream,
}

#[derive(Debug, Default)]
struct QueueState {
    numbers: BTreeMap<PathBuf, i32>,
    /// Folders that the system watches.
    outermost: BTreeSet<PathBuf>,
    last: i32,
    events: Vec<Event>,
    is_lost: bool,
}

impl QueueState {
    /// Passes on a notice for each path of an event.
    fn report(&self, event: &Event, hear: &mut impl FnMut(Notice<'_>)) {
        let written = matches!(event.kind, EventKind::Modify(ModifyKind::Data(DataChange::Content)));
        let is_dir = matches!(
            event.kind,
            EventKind::Create(CreateKind::Folder) | EventKind::Remove(RemoveKind::Folder)
        );
        for path in &event.paths {
            let number = |path: &Path| self.numbers.get(path).copied();
            if let Some(folder) =
                number(path).filter(|_| matches!(event.kind, EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_))))
            {
                hear(Notice::Gone { folder, is_over: false });
            }
            if let (Some(folder), Some(name)) = (path.parent().and_then(number), path.file_name()) {
                let name = name.to_string_lossy();
                hear(Notice::Name {
                    folder,
                    name,
                    is_dir,
                    written,
                });
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Queue {
    /// Creates a queue without folders. Fails when the system has no more watchers.
    pub fn new() -> Result<Self, SystemError> {
        let (heard, tell) = Stream::pair().map_err(of_io)?;
        heard.set_nonblocking(true).map_err(of_io)?;
        tell.set_nonblocking(true).map_err(of_io)?;
        let state = Arc::new(Mutex::new(QueueState::default()));
        let shared = state.clone();
        let hear = move |event: notify::Result<Event>| {
            let mut state = lock(&shared);
            match event {
                Ok(event) if matches!(event.kind, EventKind::Access(_)) => return,
                Ok(event) => {
                    state.is_lost |= event.need_rescan();
                    state.events.push(event);
                }
                Err(_) => state.is_lost = true,
            }
            // A full pipe is readable nevertheless.
            let _ = (&tell).write(&[0]);
        };
        let watcher = RecommendedWatcher::new(hear, Config::default().with_follow_symlinks(false)).map_err(of_notify)?;
        Ok(Self {
            watcher: Mutex::new(watcher),
            state,
            heard,
        })
    }

    /// Watches a folder. Returns its number, which stays the same if it is watched already. Errors: [`SystemError::NO_SPACE`] when this
    /// user may watch no more; [`SystemError::LINK`] or [`SystemError::NO_FOLDER`] for a link.
    pub fn add_folder(&self, folder: &Path) -> Result<i32, SystemError> {
        let found = std::fs::symlink_metadata(folder).map_err(of_io)?;
        if found.is_symlink() {
            return Err(SystemError::LINK);
        }
        if !found.is_dir() {
            return Err(SystemError::NO_FOLDER);
        }
        // The system reports paths without links.
        let folder = folder.canonicalize().map_err(of_io)?;
        let is_covered = {
            let state = lock(&self.state);
            folder.ancestors().any(|above| state.outermost.contains(above))
        };
        if !is_covered {
            // Not under the lock of the state, because the system may report events meanwhile.
            lock(&self.watcher).watch(&folder, RecursiveMode::Recursive).map_err(of_notify)?;
        }
        let mut state = lock(&self.state);
        if !is_covered {
            state.outermost.insert(folder.clone());
        }
        let next = state.last + 1;
        let number = *state.numbers.entry(folder).or_insert(next);
        state.last = state.last.max(number);
        Ok(number)
    }

    /// Stops watching a folder.
    pub fn remove(&self, folder: i32) {
        let outermost = {
            let mut state = lock(&self.state);
            let path = state
                .numbers
                .iter()
                .find(|(_, number)| **number == folder)
                .map(|(path, _)| path.clone());
            let Some(path) = path else { return };
            state.numbers.remove(&path);
            let has_none = !state.numbers.keys().any(|other| other.starts_with(&path));
            Some(path).filter(|path| has_none && state.outermost.remove(path))
        };
        if let Some(path) = outermost {
            // The folder may be gone already.
            let _ = lock(&self.watcher).unwatch(&path);
        }
    }

    /// Takes all queued notices. Returns whether the queue is empty.
    pub fn drain(&self, mut hear: impl FnMut(Notice<'_>)) -> Result<bool, SystemError> {
        let mut bytes = [0; 1024];
        loop {
            match (&self.heard).read(&mut bytes) {
                Ok(1..) => {}
                Ok(0) => return Err(SystemError::DEVICE),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(of_io(error)),
            }
        }
        let mut state = lock(&self.state);
        let events = std::mem::take(&mut state.events);
        if std::mem::take(&mut state.is_lost) {
            hear(Notice::Lost);
        }
        events.iter().for_each(|event| state.report(event, &mut hear));
        Ok(true)
    }
}

impl AsFd for Queue {
    /// Returns the handle that becomes readable when a notice arrives.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.heard.as_fd()
    }
}

fn of_io(error: io::Error) -> SystemError {
    SystemError::from_io_error(&error).unwrap_or(SystemError::DEVICE)
}

fn of_notify(error: notify::Error) -> SystemError {
    match error.kind {
        notify::ErrorKind::Io(error) => of_io(error),
        notify::ErrorKind::PathNotFound => SystemError::NOT_FOUND,
        notify::ErrorKind::MaxFilesWatch => SystemError::NO_SPACE,
        _ => SystemError::DEVICE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wait::wait_to_read;
    use std::time::Duration;

    /// Longer than any wait takes.
    const LONG: Duration = Duration::from_secs(60);

    /// Waits for notices of all these names, each with the number of its folder.
    fn wait_for(queue: &Queue, names: &[(i32, &str)]) {
        let mut missing: BTreeSet<(i32, String)> = names.iter().map(|(folder, name)| (*folder, (*name).to_owned())).collect();
        while !missing.is_empty() {
            let [is_heard] = wait_to_read([queue.as_fd()], Some(LONG)).expect("a wait");
            assert!(is_heard, "never heard: {missing:?}");
            let all = queue.drain(|notice| {
                if let Notice::Name { folder, name, .. } = notice {
                    missing.remove(&(folder, name.into_owned()));
                }
            });
            assert!(all.expect("a queue"));
        }
    }

    #[test]
    fn changes_in_folders_are_reported_with_the_folders_numbers() {
        let temp = tempfile::tempdir().expect("a folder");
        let root = temp.path();
        std::fs::create_dir(root.join("below")).expect("a folder");
        std::os::unix::fs::symlink(root.join("below"), root.join("link")).expect("a link");
        std::fs::write(root.join("file"), "").expect("a file");
        let queue = Queue::new().expect("a queue");
        let outer = queue.add_folder(root).expect("listened to");
        let inner = queue.add_folder(&root.join("below")).expect("listened to");
        assert_ne!(outer, inner);
        assert_eq!(queue.add_folder(root), Ok(outer));
        assert_eq!(queue.add_folder(&root.join("link")), Err(SystemError::LINK));
        assert_eq!(queue.add_folder(&root.join("file")), Err(SystemError::NO_FOLDER));
        assert_eq!(queue.add_folder(&root.join("none")), Err(SystemError::NOT_FOUND));
        std::fs::write(root.join("one"), "1").expect("a file");
        std::fs::write(root.join("below/two"), "2").expect("a file");
        wait_for(&queue, &[(outer, "one"), (inner, "two")]);
        // A folder that is no longer watched is not reported; the one above it is.
        queue.remove(inner);
        std::fs::write(root.join("below/three"), "3").expect("a file");
        std::fs::remove_file(root.join("one")).expect("removed");
        let [is_heard] = wait_to_read([queue.as_fd()], Some(LONG)).expect("a wait");
        assert!(is_heard);
        let mut folders = BTreeSet::new();
        let mut is_removed = false;
        while !is_removed {
            let _ = wait_to_read([queue.as_fd()], Some(LONG)).expect("a wait");
            queue
                .drain(|notice| {
                    if let Notice::Name { folder, name, .. } = notice {
                        folders.insert(folder);
                        is_removed |= name == "one";
                    }
                })
                .expect("a queue");
        }
        assert_eq!(folders, BTreeSet::from([outer]));
    }

    #[test]
    fn a_folder_that_goes_is_told() {
        let temp = tempfile::tempdir().expect("a folder");
        let folder = temp.path().join("below");
        std::fs::create_dir(&folder).expect("a folder");
        let queue = Queue::new().expect("a queue");
        queue.add_folder(temp.path()).expect("listened to");
        let number = queue.add_folder(&folder).expect("listened to");
        std::fs::remove_dir(&folder).expect("removed");
        let mut is_gone = false;
        while !is_gone {
            let [is_heard] = wait_to_read([queue.as_fd()], Some(LONG)).expect("a wait");
            assert!(is_heard, "never heard");
            queue
                .drain(|notice| is_gone |= matches!(notice, Notice::Gone { folder, .. } if folder == number))
                .expect("a queue");
        }
    }
}
