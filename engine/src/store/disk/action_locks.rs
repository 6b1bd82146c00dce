//! Action locks: one process at a time builds an action that runs a program or asks a model; the others wait for its result.
//!
//! A process has one locked file for all its action locks: each is a hard link to that file, named by the action's key. With a locked file per
//! action, every program that the process starts would spend time closing these files. The kernel releases the lock when a process dies: an
//! unlocked file reserves nothing.

use super::DiskOptions;
use super::checkout_lock::create_folder;
use super::lock::{self, Refusal};
use crate::values::digest::ActionKey;
use os::errors::SystemError;
use os::info::FileInfo;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

const FLIGHTS: &str = "flights";
/// Prefix of the names of the files that processes lock.
const PROCESS: &str = "pid-";

/// The action locks of this process in one store.
#[derive(Debug, Default)]
pub(super) struct ActionLocks {
    locked: Mutex<Weak<Locked>>,
    /// Whether the files of killed processes were removed.
    is_swept: AtomicBool,
}

/// The locked file of this process. Removed with its last action lock.
#[derive(Debug)]
struct Locked {
    path: PathBuf,
    _file: File,
}

/// An action that this process builds. Dropping it removes its link.
#[derive(Debug)]
pub(super) struct ActionLock {
    path: PathBuf,
    _locked: Arc<Locked>,
}

impl Drop for Locked {
    fn drop(&mut self) {
        // A leftover file costs a few bytes; the next process that acquires an action lock removes it.
        let _ = fs::remove_file(&self.path);
    }
}

impl Drop for ActionLock {
    fn drop(&mut self) {
        // If this fails, the link leads to an unlocked file; the next process that reserves an action removes it.
        let _ = fs::remove_file(&self.path);
    }
}

impl ActionLocks {
    /// Waits until no other process builds an action, up to the time-out of the options; `None` when cancelled. After a moment, reports the process
    /// that builds it to `on_wait_result`.
    pub(super) fn reserve(
        &self,
        store: &Path,
        key: &ActionKey,
        options: &DiskOptions,
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<Option<ActionLock>, Refusal> {
        let folder = store.join(FLIGHTS);
        let path = folder.join(key.0.to_string());
        let locked = self.locked(&folder, &options.purpose)?;
        let (start, mut reported) = (Instant::now(), None);
        let mut pause = Duration::from_millis(2);
        loop {
            match fs::hard_link(&locked.path, &path) {
                Ok(()) => return Ok(Some(ActionLock { path, _locked: locked })),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                // On a file system without hard links, the action lock is a file of its own.
                Err(_) if !path.try_exists()? => match create_locked(&path, &options.purpose)? {
                    Some(file) => {
                        let locked = Arc::new(Locked {
                            path: path.clone(),
                            _file: file,
                        });
                        return Ok(Some(ActionLock { path, _locked: locked }));
                    }
                    None => continue,
                },
                Err(_) => {}
            }
            let mut file = match lock::open_there(&path) {
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                file => file?,
            };
            if lock::try_take(&file)? {
                remove_if_same(&file, &path)?;
                continue;
            }
            if is_cancelled() {
                return Ok(None);
            }
            if start.elapsed() >= options.lock_timeout && is_still_there(&file, &path)? {
                return Err(Refusal::Busy(lock::holder(&mut file)?.to_string()));
            }
            if let Some(on_wait) = options.on_wait_result.as_ref().filter(|_| start.elapsed() >= lock::TELL_AFTER) {
                let holder = lock::holder(&mut file)?;
                if reported.as_ref() != Some(&holder) {
                    on_wait(&holder.to_string());
                    reported = Some(holder);
                }
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(50));
        }
    }

    /// Returns the locked file of this process, creating it if necessary.
    fn locked(&self, folder: &Path, purpose: &str) -> io::Result<Arc<Locked>> {
        let mut current = self.locked.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(locked) = current.upgrade() {
            return Ok(locked);
        }
        create_folder(folder)?;
        if !self.is_swept.swap(true, Relaxed) {
            remove_unlocked(folder)?;
        }
        let mut number = 0_u64;
        let locked = loop {
            let path = folder.join(format!("{PROCESS}{}-{number}", std::process::id()));
            if let Some(file) = create_locked(&path, purpose)? {
                break Arc::new(Locked { path, _file: file });
            }
            number += 1;
        };
        *current = Arc::downgrade(&locked);
        Ok(locked)
    }
}

/// Creates and locks a new file; `None` if it exists, or another process removed it as unlocked.
fn create_locked(path: &Path, purpose: &str) -> io::Result<Option<File>> {
    let mut options = OpenOptions::new();
    let mut file = match lock::open_as(path, options.create_new(true)) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => return Ok(None),
        file => file?,
    };
    if !lock::try_take(&file)? || !is_still_there(&file, path)? {
        return Ok(None);
    }
    // Only waiting processes read the text. On a full disk it cannot be written; the lock is valid without it.
    let _ = lock::write_lock_holder(&mut file, purpose);
    Ok(Some(file))
}

/// Removes the files of killed processes, with all their links.
fn remove_unlocked(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        match lock::open_there(&path) {
            Ok(file) if lock::try_take(&file)? => remove_if_same(&file, &path)?,
            _ => {}
        }
    }
    Ok(())
}

/// Removes a path of a file that this process has locked, if it still leads there.
fn remove_if_same(file: &File, path: &Path) -> io::Result<()> {
    match is_still_there(file, path)? {
        true => fs::remove_file(path),
        false => Ok(()),
    }
}

/// Whether a path still leads to the file opened there.
fn is_still_there(file: &File, path: &Path) -> io::Result<bool> {
    let ours = FileInfo::from_handle(file)?;
    match FileInfo::of_target(path) {
        Ok(found) => Ok(found.identity() == ours.identity()),
        Err(SystemError::NOT_FOUND) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::digest::Digest;
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

    fn key(text: &[u8]) -> ActionKey {
        ActionKey(Digest::of(text))
    }

    #[test]
    fn one_process_at_a_time_holds_an_action_lock() {
        let temp = tempfile::tempdir().unwrap();
        let at_once = DiskOptions {
            purpose: "cortex build".to_owned(),
            lock_timeout: Duration::ZERO,
            ..DiskOptions::default()
        };
        let (never, options) = (|| false, DiskOptions::default());
        let (inside, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    // Each thread acts as a process of its own.
                    let action_locks = ActionLocks::default();
                    for _ in 0..50 {
                        let action_lock = action_locks.reserve(temp.path(), &key(b"a"), &options, &never).unwrap().unwrap();
                        most.fetch_max(inside.fetch_add(1, SeqCst) + 1, SeqCst);
                        std::thread::yield_now();
                        inside.fetch_sub(1, SeqCst);
                        drop(action_lock);
                    }
                });
            }
        });
        assert_eq!(most.load(SeqCst), 1);
        let (action_locks, others) = (ActionLocks::default(), ActionLocks::default());
        let held = action_locks.reserve(temp.path(), &key(b"a"), &at_once, &never).unwrap().unwrap();
        let second = action_locks.reserve(temp.path(), &key(b"c"), &at_once, &never).unwrap().unwrap();
        for action_locks in [&action_locks, &others] {
            let refused = action_locks.reserve(temp.path(), &key(b"a"), &at_once, &never).unwrap_err();
            let own = format!("pid {} (cortex build, ", std::process::id());
            assert!(matches!(&refused, Refusal::Busy(holder) if holder.starts_with(&own)), "{refused:?}");
            let stopped = action_locks.reserve(temp.path(), &key(b"a"), &options, &|| true).unwrap();
            assert!(stopped.is_none(), "it waits only until it is told to stop");
        }
        assert!(others.reserve(temp.path(), &key(b"b"), &options, &never).unwrap().is_some());
        drop((held, second));
        assert_eq!(fs::read_dir(temp.path().join(FLIGHTS)).unwrap().count(), 0);
    }

    #[test]
    fn action_locks_of_a_killed_process_are_released() {
        let temp = tempfile::tempdir().unwrap();
        let options = DiskOptions::default();
        let killed = ActionLocks::default();
        let action_locks = [b"a", b"b"].map(|name| killed.reserve(temp.path(), &key(name), &options, &|| false).unwrap().unwrap());
        let own = killed.locked(&temp.path().join(FLIGHTS), "cortex build").unwrap();
        // Its links stay, its lock is released.
        own._file.unlock().unwrap();
        std::mem::forget((action_locks, own));
        let next = ActionLocks::default();
        assert!(next.reserve(temp.path(), &key(b"a"), &options, &|| false).unwrap().is_some());
        // The link of the other one was removed as well.
        assert_eq!(fs::read_dir(temp.path().join(FLIGHTS)).unwrap().count(), 0);
    }
}
