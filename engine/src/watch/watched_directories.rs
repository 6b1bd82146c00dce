//! Watched directories, by path, and their events. [`os::listening`] knows them by number.

use os::errors::SystemError;
use os::handles::{AsFd, BorrowedFd};
use os::listening::{Notice, Queue};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

#[derive(Debug)]
pub(crate) enum WatchEvent {
    /// The queue overflowed: anything may have happened.
    Lost,
    /// An event of a name in a directory.
    Name {
        /// The directory, as it was added.
        directory: Arc<str>,
        /// The name; lossy if it is not UTF-8.
        name: String,
        /// Whether the name is a directory's.
        is_dir: bool,
        /// Whether only the contents were written.
        written: bool,
    },
    /// A directory, or the mount that contains it, was removed.
    Gone(Arc<str>),
}

#[derive(Debug)]
pub(crate) struct WatchedDirectories {
    queue: Queue,
    /// By watch number: the paths of the directory. More than one if it is mounted twice.
    paths: FxHashMap<i32, Vec<Arc<str>>>,
    watches: BTreeMap<Arc<str>, i32>,
}

impl WatchedDirectories {
    pub(crate) fn new() -> Result<Self, SystemError> {
        Ok(Self {
            queue: Queue::new()?,
            paths: FxHashMap::default(),
            watches: BTreeMap::new(),
        })
    }

    /// Returns a descriptor that becomes readable on an event.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.queue.as_fd()
    }

    pub(crate) fn watched_count(&self) -> usize {
        self.watches.len()
    }

    /// Watches the directory `directory` below `root`.
    pub(crate) fn watch_directory(&mut self, root: &Path, directory: &str) -> Result<(), SystemError> {
        let path = if directory.is_empty() {
            root.to_owned()
        } else {
            root.join(directory)
        };
        let watch = self.queue.add_folder(&path)?;
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
                self.queue.remove(watch);
            }
        }
    }

    /// Stops watching a directory and everything below it.
    pub(crate) fn unwatch_directory(&mut self, directory: &str) {
        let below: Vec<Arc<str>> = super::at_and_below(&self.watches, directory)
            .map(|(path, _)| path.clone())
            .collect();
        for path in below {
            if let Some(watch) = self.watches.remove(&path) {
                self.drop_path(watch, &path);
            }
        }
    }

    /// Passes all queued events to `on_event`; returns whether the queue is empty.
    pub(crate) fn pass_events(&mut self, mut on_event: impl FnMut(WatchEvent)) -> Result<bool, SystemError> {
        let mut gone = Vec::new();
        // Ignore events of removed watches: the watcher scans their directories again anyway.
        let paths = |watch: i32| self.paths.get(&watch).into_iter().flatten();
        let all = self.queue.drain(|notice| match notice {
            Notice::Lost => on_event(WatchEvent::Lost),
            Notice::Name {
                folder,
                name,
                is_dir,
                written,
            } => {
                for directory in paths(folder) {
                    on_event(WatchEvent::Name {
                        directory: directory.clone(),
                        name: name.clone().into_owned(),
                        is_dir,
                        written,
                    });
                }
            }
            Notice::Gone { folder, is_over } => {
                paths(folder).for_each(|directory| on_event(WatchEvent::Gone(directory.clone())));
                if is_over {
                    gone.push(folder);
                }
            }
        })?;
        for watch in gone {
            for path in self.paths.remove(&watch).into_iter().flatten() {
                self.watches.remove(&path);
            }
        }
        Ok(all)
    }
}
