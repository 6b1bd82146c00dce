//! Directories that are listened to, by path, and what was heard. [`os::listening`] knows them by number.

use os::errors::SystemError;
use os::handles::{AsFd, BorrowedFd};
use os::listening::{Notice, Queue};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// Something that was heard.
#[derive(Debug)]
pub(crate) enum Heard {
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
    queue: Queue,
    /// By number of the watch: the paths that lead to the directory. More than one when it is mounted twice.
    paths: FxHashMap<i32, Vec<Arc<str>>>,
    watches: BTreeMap<Arc<str>, i32>,
}

impl Ears {
    /// Ears that listen to nothing yet.
    pub(crate) fn new() -> Result<Self, SystemError> {
        Ok(Self {
            queue: Queue::new()?,
            paths: FxHashMap::default(),
            watches: BTreeMap::new(),
        })
    }

    /// What becomes readable when there is something to hear.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.queue.as_fd()
    }

    /// How many directories are listened to.
    pub(crate) fn count(&self) -> usize {
        self.watches.len()
    }

    /// Listens to the directory `directory` below `root`.
    pub(crate) fn add(&mut self, root: &Path, directory: &str) -> Result<(), SystemError> {
        let path = if directory.is_empty() {
            root.to_owned()
        } else {
            root.join(directory)
        };
        let watch = self.queue.add(&path)?;
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
    pub(crate) fn drain(&mut self, mut hear: impl FnMut(Heard)) -> Result<bool, SystemError> {
        let mut gone = Vec::new();
        // Of watches that were given up meanwhile nothing is known; what they listened to is looked at anew by then.
        let paths = |watch: i32| self.paths.get(&watch).into_iter().flatten();
        let all = self.queue.drain(|notice| match notice {
            Notice::Lost => hear(Heard::Lost),
            Notice::Name {
                folder,
                name,
                is_dir,
                written,
            } => {
                for directory in paths(folder) {
                    hear(Heard::Name {
                        directory: directory.clone(),
                        name: name.clone().into_owned(),
                        is_dir,
                        written,
                    });
                }
            }
            Notice::Gone { folder, is_over } => {
                paths(folder).for_each(|directory| hear(Heard::Gone(directory.clone())));
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
