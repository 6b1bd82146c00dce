//! Locks in addition to the store's own, one for each checkout that a process builds.
//!
//! Order: a checkout's lock, then an [action's](super::action_locks), then the store's: a process that holds one waits only for later ones
//! (`store-layout.md`, Invariants 9). The holder of a checkout's lock may write rows of that view; a reader needs none. The kernel releases all of
//! them when a process dies.

use super::folder::Folder;
use super::lock::{self, Lock, Refusal, Terms};
use super::{DiskOptions, DiskStore};
use crate::store::{StoreError, ViewId};
use os::plain_files;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const VIEWS: &str = "views";
/// Maximum number of concurrent builds that only read a checkout's rows.
const PLACES: u64 = 64;

/// The right of this process to write rows of a checkout. Dropping it lets the next process build.
#[derive(Debug)]
pub struct CheckoutLock {
    lock: Lock,
}

impl CheckoutLock {
    /// Locks a checkout of the store in `dir` until the returned value is dropped. Call before the store is opened. Fails when another
    /// process holds it until the time-out, or the folder cannot be used.
    pub fn acquire_checkout(dir: &Path, view: ViewId, options: &DiskOptions) -> Result<Self, StoreError> {
        let path = dir.join(VIEWS).join(format!("{:016x}.lock", view.0));
        let terms = Terms {
            purpose: &options.purpose,
            timeout: options.lock_timeout,
            waiting: None,
            on_wait: options.on_wait_view.as_ref().map(|on_wait| &**on_wait as &dyn Fn(&str)),
            // In a read-only folder, a build that has nothing to do can still run.
            is_read_only: true,
        };
        let mut lock_result = lock::acquire_lock(&path, &terms);
        if matches!(&lock_result, Err(Refusal::Io(error)) if error.kind() == ErrorKind::NotFound) {
            let folder = Folder::new(dir, options.clone());
            folder.create_or_check()?;
            create_folder(&dir.join(VIEWS)).map_err(|error| folder.unopened(error))?;
            lock_result = lock::acquire_lock(&path, &terms);
        }
        match lock_result {
            Ok(lock) => Ok(Self { lock }),
            Err(Refusal::Busy(holder)) => Err(StoreError::ViewBusy { holder }),
            Err(Refusal::Io(error)) => Err(Folder::new(dir, options.clone()).unopened(error)),
        }
    }

    /// Returns the time of this lock, to compare with a later one.
    pub fn time(&self) -> Option<SystemTime> {
        self.lock.times[1]
    }

    /// Whether no process locked the checkout between an earlier lock, of that time, and this one.
    pub fn follows(&self, earlier: Option<SystemTime>) -> bool {
        earlier.is_some() && self.lock.times[0] == earlier
    }

    /// Locks a place next to a checkout, for a build that reads its rows and writes none: it excludes no other process, but tells gc that a
    /// build runs. Call before the store is opened. Fails when the folder cannot be used, or all places are taken until the time-out.
    pub fn lock_place_beside(dir: &Path, view: ViewId, options: &DiskOptions) -> Result<Self, StoreError> {
        let at_once = DiskOptions {
            lock_timeout: Duration::ZERO,
            on_wait_view: None,
            ..options.clone()
        };
        // No checkout has these numbers: a checkout's number is the digest of its path.
        let place = |number: u64| ViewId(view.0.wrapping_add(number));
        for number in 1..PLACES {
            match Self::acquire_checkout(dir, place(number), &at_once) {
                Err(StoreError::ViewBusy { .. }) => {}
                taken => return taken,
            }
        }
        Self::acquire_checkout(dir, place(PLACES), options)
    }

    /// Returns the checkouts of the store in `dir` that any process has locked. Results that such a process found or built since then may
    /// be in no row yet.
    pub fn locked_checkouts(dir: &Path) -> io::Result<Vec<LockedCheckout>> {
        let entries = match fs::read_dir(dir.join(VIEWS)) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut locked = Vec::new();
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name();
            let number = name.to_str().and_then(|name| name.strip_suffix(".lock"));
            let Some(view) = number.and_then(|number| u64::from_str_radix(number, 16).ok()) else {
                continue;
            };
            let mut file = match lock::open_lock_file(&entry.path()) {
                Err(error) if lock::is_unwritable(&error) => plain_files::open_to_read(&entry.path())?,
                file => file?,
            };
            if !lock::try_take(&file)? {
                let holder = lock::holder(&mut file)?;
                locked.push(LockedCheckout {
                    view: ViewId(view),
                    since: holder.since.unwrap_or(0),
                    is_own: holder.is_this_process(),
                });
            }
        }
        locked.sort_unstable_by_key(|locked| locked.view);
        Ok(locked)
    }
}

impl DiskStore {
    /// Locks a checkout of this store if no process has it, including this one; does not wait. `purpose` is shown to processes that wait
    /// for the lock. Fails when the folder cannot be used.
    pub fn try_lock_checkout(&self, view: ViewId, purpose: &str) -> Result<Option<CheckoutLock>, StoreError> {
        let options = DiskOptions {
            purpose: purpose.to_owned(),
            lock_timeout: Duration::ZERO,
            ..DiskOptions::default()
        };
        let folder = self.handle.medium().path();
        match CheckoutLock::acquire_checkout(folder, view, &options) {
            // A build that released the lock while it waits is still running.
            Ok(lock) => {
                let is_alone = CheckoutLock::locked_checkouts(folder)
                    .is_ok_and(|locked| !locked.iter().any(|locked| locked.view != view && locked.is_of(view)));
                Ok(is_alone.then_some(lock))
            }
            Err(StoreError::ViewBusy { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Whether any process has locked a checkout of this store. Writes nothing; an unreadable folder counts as locked.
    pub fn is_checkout_locked(&self, view: ViewId) -> bool {
        CheckoutLock::locked_checkouts(self.handle.medium().path()).map_or(true, |locked| locked.iter().any(|locked| locked.is_of(view)))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockedCheckout {
    /// Number of the checkout, or of a place next to it.
    pub view: ViewId,
    /// Time at which it was locked, in seconds since 1970; 0 if unknown.
    pub since: u64,
    /// Whether this process holds it.
    pub is_own: bool,
}

impl LockedCheckout {
    /// Whether it is the lock of a checkout or of a place next to it (a waiting build, or one in an overlay).
    pub fn is_of(&self, view: ViewId) -> bool {
        self.view.0.wrapping_sub(view.0) <= PLACES
    }

    /// Returns the age of the lock; `None` if unknown.
    pub fn age(&self) -> Option<Duration> {
        let since = UNIX_EPOCH + Duration::from_secs(Some(self.since).filter(|since| *since > 0)?);
        // After a change of the clock the age would be wrong.
        SystemTime::now().duration_since(since).ok()
    }
}

pub(super) fn create_folder(path: &Path) -> io::Result<()> {
    match os::modes::create_folder(path, 0o700) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(purpose: &str) -> DiskOptions {
        DiskOptions {
            purpose: purpose.to_owned(),
            lock_timeout: Duration::ZERO,
            ..DiskOptions::default()
        }
    }

    #[test]
    fn one_process_locks_a_checkout_and_others_stay_free() {
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path().join("store");
        assert_eq!(CheckoutLock::locked_checkouts(&dir).unwrap(), []);
        let first = CheckoutLock::acquire_checkout(&dir, ViewId(7), &options("cortex build")).unwrap();
        let second = CheckoutLock::acquire_checkout(&dir, ViewId(8), &options("cortex show")).unwrap();
        let refused = CheckoutLock::acquire_checkout(&dir, ViewId(7), &options("cortex show")).unwrap_err();
        let who = format!("pid {} (cortex build, ", std::process::id());
        assert!(
            matches!(&refused, StoreError::ViewBusy { holder } if holder.starts_with(&who)),
            "{refused}"
        );
        let locked = CheckoutLock::locked_checkouts(&dir).unwrap();
        assert_eq!(locked.iter().map(|locked| locked.view.0).collect::<Vec<_>>(), [7, 8]);
        assert!(
            locked.iter().all(|locked| locked.since > 1_700_000_000 && locked.is_own),
            "{locked:?}"
        );
        drop(first);
        assert_eq!(CheckoutLock::locked_checkouts(&dir).unwrap().len(), 1);
        drop(CheckoutLock::acquire_checkout(&dir, ViewId(7), &options("cortex show")).unwrap());
        drop(second);
        assert_eq!(CheckoutLock::locked_checkouts(&dir).unwrap(), []);
    }

    #[test]
    fn locked_places_next_to_a_checkout_exclude_no_process() {
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path().join("store");
        let own = CheckoutLock::acquire_checkout(&dir, ViewId(u64::MAX), &options("cortex build")).unwrap();
        let beside = |_: u8| CheckoutLock::lock_place_beside(&dir, ViewId(u64::MAX), &options("cortex overlay build")).unwrap();
        let some: Vec<CheckoutLock> = (0..3_u8).map(beside).collect();
        drop(own);
        drop(CheckoutLock::acquire_checkout(&dir, ViewId(u64::MAX), &options("cortex build")).unwrap());
        assert_eq!(CheckoutLock::locked_checkouts(&dir).unwrap().len(), 3, "a collection knows of them");
        drop(some);
        assert_eq!(CheckoutLock::locked_checkouts(&dir).unwrap(), []);
        drop(beside(0));
        assert_eq!(fs::read_dir(dir.join(VIEWS)).unwrap().count(), 4, "places are used again");
    }
}
