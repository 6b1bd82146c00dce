//! Watches named folders without their subfolders, and reports changed names in batches. The callback checks the changes itself and returns
//! the folders to watch next. A batch may name too much, never too little.

use super::watched_directories::{WatchEvent, WatchedDirectories};
use crate::files::scan::join;
use os::errors::SystemError;
use os::handles::AsFd;
use os::sockets::Stream;
use os::wait::wait_to_read;
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Changes within this time after the first form one batch.
const BATCH: Duration = Duration::from_millis(200);

/// Changed files and folders below the root; `None` if anything may have changed.
pub type ChangedPaths = Option<BTreeSet<String>>;

/// A running folder watch. Dropping it ends it.
pub struct FolderWatch {
    end: Option<Stream>,
    thread: Option<JoinHandle<()>>,
}

impl FolderWatch {
    /// Starts watching. Calls `on_move` at the start and after each batch; it returns the folders below `root` to watch. For a missing
    /// folder, watches the nearest existing one above it. Fails when the system does not allow watching.
    pub fn start(root: &Path, on_move: impl FnMut(&ChangedPaths) -> BTreeSet<String> + Send + 'static) -> io::Result<Self> {
        let (end, ended) = Stream::pair()?;
        let mut watch = WatchState {
            root: root.to_owned(),
            directories: WatchedDirectories::new()?,
            folders: BTreeSet::new(),
            ended,
        };
        let thread = std::thread::Builder::new()
            .name("folder watch".to_owned())
            .spawn(move || watch.watch_folder(on_move))?;
        Ok(Self {
            end: Some(end),
            thread: Some(thread),
        })
    }
}

impl Drop for FolderWatch {
    fn drop(&mut self) {
        self.end = None;
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has already reported it.
            let _ = thread.join();
        }
    }
}

struct WatchState {
    root: PathBuf,
    directories: WatchedDirectories,
    folders: BTreeSet<String>,
    ended: Stream,
}

impl WatchState {
    fn watch_folder(&mut self, mut on_move: impl FnMut(&ChangedPaths) -> BTreeSet<String>) {
        let mut changed = None;
        loop {
            // Repeat, because files may have changed before their folder was watched.
            while self.watch_exactly(on_move(&changed)) {
                changed = None;
            }
            match self.batch() {
                Ok(Some(batch)) => changed = batch,
                Ok(None) | Err(_) => return,
            }
        }
    }

    /// Watches exactly these folders; returns whether they changed.
    fn watch_exactly(&mut self, wanted: BTreeSet<String>) -> bool {
        let wanted: BTreeSet<String> = wanted.iter().map(|folder| self.nearest_existing(folder)).collect();
        for folder in self.folders.difference(&wanted) {
            self.directories.unwatch_directory(folder);
        }
        // The system removes a folder's watch with the folder above it; add such watches again.
        let watched: BTreeSet<String> = wanted
            .into_iter()
            .filter(|folder| self.directories.watch_directory(&self.root, folder).is_ok())
            .collect();
        std::mem::replace(&mut self.folders, watched.clone()) != watched
    }

    fn nearest_existing(&self, folder: &str) -> String {
        let above = std::iter::successors(Some(folder), |folder| {
            let above = folder.rsplit_once('/').map_or("", |(above, _)| above);
            (!folder.is_empty()).then_some(above)
        });
        let mut there = above.filter(|folder| self.root.join(folder).is_dir());
        there.next().unwrap_or_default().to_owned()
    }

    /// Returns the next batch; `None` at the end.
    fn batch(&mut self) -> Result<Option<ChangedPaths>, SystemError> {
        let mut changed = Some(BTreeSet::new());
        let mut ends = None;
        loop {
            let now = Instant::now();
            match ends {
                Some(end) if now >= end => return Ok(Some(changed)),
                end => {
                    if !self.wait(end.map(|end: Instant| end - now))? {
                        return Ok(None);
                    }
                }
            }
            let mut has_event = false;
            self.directories.pass_events(|event| {
                has_event = true;
                match event {
                    WatchEvent::Name { directory, name, .. } => {
                        if let Some(changed) = &mut changed {
                            changed.insert(join(&directory, &name));
                        }
                    }
                    WatchEvent::Lost | WatchEvent::Gone(_) => changed = None,
                }
            })?;
            if has_event && ends.is_none() {
                ends = Some(Instant::now() + BATCH);
            }
        }
    }

    /// Waits for an event or the end of the time; returns false when the watch ends.
    fn wait(&self, time: Option<Duration>) -> Result<bool, SystemError> {
        let [_, is_over] = wait_to_read([self.directories.fd(), self.ended.as_fd()], time)?;
        Ok(!is_over)
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;
    use std::sync::mpsc;

    /// Longer than any step of a test takes.
    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn only_changes_in_watched_folders_are_reported() {
        let temp = tempfile::tempdir().expect("folder");
        let root = temp.path().to_owned();
        std::fs::create_dir(root.join("b")).expect("folder");
        let (send, batches) = mpsc::channel();
        let folders = BTreeSet::from(["a/deep".to_owned(), "b".to_owned()]);
        let on_move = move |changed: &ChangedPaths| {
            send.send(changed.clone()).expect("invariant: the test holds the receiver");
            folders.clone()
        };
        let watch = FolderWatch::start(&root, on_move).expect("it begins");
        let next = || batches.recv_timeout(LONG).expect("a batch");
        // The second call covers changes from before the watch.
        assert_eq!((next(), next()), (None, None));
        std::fs::write(root.join("b/one"), "1").expect("file");
        std::fs::rename(root.join("b/one"), root.join("b/two")).expect("renamed");
        let named = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>());
        assert_eq!(next(), named(&["b/one", "b/two"]));
        // New folders are watched from then on, one by one.
        std::fs::create_dir_all(root.join("a/deep")).expect("folders");
        // Until they are watched, their changes are reported as those of the folder above, or without a name.
        let is_named = |changed: &BTreeSet<String>| changed.iter().all(|path| path.starts_with("a/deep/"));
        let first = (0..).find_map(|number| {
            std::fs::write(root.join(format!("a/deep/{number}")), "1").expect("file");
            next().filter(is_named)
        });
        assert!(first.is_some());
        std::fs::write(root.join("unheard"), "1").expect("file");
        std::fs::write(root.join("a/deep/three"), "1").expect("file");
        let mut reported = BTreeSet::new();
        while !reported.contains("a/deep/three") {
            reported.extend(next().expect("names"));
        }
        assert!(is_named(&reported), "{reported:?}");
        // Any watched folder may have been below the removed one.
        std::fs::remove_dir_all(root.join("b")).expect("removed");
        while next().is_some() {}
        drop(watch);
        while batches.recv_timeout(LONG).is_ok() {}
        assert_eq!(batches.try_recv(), Err(mpsc::TryRecvError::Disconnected), "it has ended");
    }
}
