//! The locks of an open workspace: on its store, and on its checkout if the command builds. Also a note in the checkout that names the store
//! from which the laid-out files come.

use crate::checkout;
use engine::build::checkout_turn::CheckoutTurn;
use engine::store::disk::{CheckoutLock, DiskOptions, DiskStore};
use engine::store::{Store, StoreError, ViewId};
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use engine::values::digest::Digest;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// Path, below the workspace's root, of the note that names the store whose files are in the output folder.
const NOTE: &str = ".cortex/store";
/// Limit of bytes of the note.
const MOST_BYTES: usize = 4096;

/// The folder that the note is about.
const OUT: &str = ".cortex/out";

/// The access with which a workspace is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Read only: nothing is built or written.
    Look,
    /// Read while another process builds the checkout: results are stored, rows of the checkout are not written.
    Beside,
    /// As [`Self::Build`] if the checkout is free, else as [`Self::Beside`]; never waits for another build.
    Read,
    /// Build: no other process may write rows of the checkout at the same time. In an overlay the same as [`Self::Beside`].
    Build,
}

/// The locks of a command on its store and checkout.
pub struct Hold {
    root: PathBuf,
    /// Digest of the path of the store's folder; it does not identify the store.
    place: Digest,
    disk: Arc<DiskStore>,
    checkout_lock: Mutex<Option<CheckoutLock>>,
    /// Terms for locking the checkout again, if this command may build it.
    terms: Option<LockTerms>,
    /// While the checkout is released: the time of its lock, and the lock of a place next to it, so that a collection knows which results
    /// are in use.
    left: Mutex<Option<(Option<SystemTime>, Option<CheckoutLock>)>>,
    /// Whether the note in the checkout names this store.
    noted: Mutex<bool>,
}

/// The terms on which a checkout is locked.
pub(crate) struct LockTerms {
    pub folder: PathBuf,
    pub view: ViewId,
    /// Options for waiting for other processes, with callbacks that report the wait.
    pub options: DiskOptions,
}

/// Interval at which a wait for the checkout checks for cancellation.
const LOOK_EVERY: Duration = Duration::from_millis(500);

impl Hold {
    /// Wraps an open store in a folder; `checkout_lock` if the command may build, with its terms if it builds the checkout itself. Warns if
    /// a store in another folder laid out files here.
    pub(crate) fn new(
        root: &Path,
        folder: &Path,
        disk: Arc<DiskStore>,
        (checkout_lock, terms): (Option<CheckoutLock>, Option<LockTerms>),
    ) -> (Self, Option<Diagnostic>) {
        let builds = checkout_lock.is_some();
        let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        let mut hold = Self {
            root: root.to_owned(),
            place: Digest::of(folder.as_os_str().as_encoded_bytes()),
            disk,
            checkout_lock: Mutex::new(checkout_lock),
            terms,
            left: Mutex::default(),
            noted: Mutex::new(false),
        };
        let notice = if builds { hold.compare() } else { None };
        (hold, notice)
    }

    fn compare(&mut self) -> Option<Diagnostic> {
        let noted = checkout::read_file(&self.root, NOTE, MOST_BYTES).ok().flatten()?;
        let noted = String::from_utf8_lossy(&noted);
        *self.noted.get_mut().unwrap_or_else(PoisonError::into_inner) = self.note_text().is_some_and(|note| note == noted);
        let (id, place) = noted.split_once('\n').unwrap_or((&noted, ""));
        // A store that was removed, or set aside, and created again counts as the same store.
        let same = self.disk.id().is_some_and(|own| own == id) || place.trim_end() == self.place.to_string();
        (!same).then(|| {
            let message = format!("the files in {OUT} were laid out from another store, {}", printable_note(&noted));
            Diagnostic::warning(ErrorCode::W_OTHER_STORE, message)
                .hint("use one store for one checkout (--store, CORTEX_STORE); files that differ are rewritten, others are not touched")
        })
    }

    /// Returns the text of the note: the store's name, and the digest of its path.
    fn note_text(&self) -> Option<String> {
        self.disk.id().map(|id| format!("{id}\n{}\n", self.place))
    }

    /// Notes which store the laid-out files come from; call after a build. A note that cannot be written does not fail the build.
    pub fn built(&self) {
        let mut noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        // Follow no link: it could lead anywhere.
        let is_folder = |path: &str| std::fs::symlink_metadata(self.root.join(path)).is_ok_and(|found| found.is_dir());
        if *noted || !is_folder(OUT) || !is_folder(".cortex") {
            return;
        }
        if let Some(note) = self.note_text() {
            *noted = checkout::write_file(&self.root, NOTE, note.as_bytes()).is_ok();
        }
    }

    /// Returns the workspace's root and its store, if this command stored results there.
    pub fn filed(&self) -> Option<(&Path, &DiskStore)> {
        self.disk.has_stored_results().then_some((&*self.root, &*self.disk))
    }

    /// Releases the store and checkout locks; call once only printing is left, because a reader of the output may be slow.
    pub fn release_locks(&self) {
        self.disk.release_lock();
        drop(self.guarded_lock().take());
        drop(self.left.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    fn guarded_lock(&self) -> MutexGuard<'_, Option<CheckoutLock>> {
        self.checkout_lock.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CheckoutTurn for Hold {
    fn release_checkout(&self) {
        let Some(terms) = &self.terms else { return };
        if let Some(checkout_lock) = self.guarded_lock().take() {
            // Without a lock, a collection may evict the results of this build that nothing else refers to; they are then built again.
            let at_once = DiskOptions {
                lock_timeout: Duration::ZERO,
                ..terms.options.clone()
            };
            let beside = CheckoutLock::lock_place_beside(&terms.folder, terms.view, &at_once).ok();
            *self.left.lock().unwrap_or_else(PoisonError::into_inner) = Some((checkout_lock.time(), beside));
        }
    }

    fn reacquire_checkout(&self, is_cancelled: &dyn Fn() -> bool) -> Result<bool, StoreError> {
        let left = self.left.lock().unwrap_or_else(PoisonError::into_inner).take();
        let (Some(terms), Some((since, _beside))) = (&self.terms, left) else {
            return Ok(true);
        };
        let until = Instant::now() + terms.options.lock_timeout;
        loop {
            let options = DiskOptions {
                lock_timeout: until.saturating_duration_since(Instant::now()).min(LOOK_EVERY),
                ..terms.options.clone()
            };
            match CheckoutLock::acquire_checkout(&terms.folder, terms.view, &options) {
                Ok(checkout_lock) => {
                    let is_as_left = checkout_lock.follows(since);
                    *self.guarded_lock() = Some(checkout_lock);
                    return Ok(is_as_left);
                }
                Err(StoreError::ViewBusy { .. }) if Instant::now() < until && !is_cancelled() => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// Several rights that are given back together: acquired in order, released in reverse order.
struct Together(Vec<Arc<dyn CheckoutTurn>>);

impl CheckoutTurn for Together {
    fn release_checkout(&self) {
        self.0.iter().rev().for_each(|turn| turn.release_checkout());
    }

    fn reacquire_checkout(&self, is_cancelled: &dyn Fn() -> bool) -> Result<bool, StoreError> {
        let mut is_as_left = true;
        for turn in &self.0 {
            is_as_left &= turn.reacquire_checkout(is_cancelled)?;
        }
        Ok(is_as_left)
    }
}

/// Returns the part of a note that is safe to print on a terminal.
fn printable_note(noted: &str) -> String {
    let name: String = noted
        .lines()
        .next()
        .unwrap_or_default()
        .chars()
        .filter(char::is_ascii_hexdigit)
        .take(12)
        .collect();
    if name.is_empty() { "which is not named".to_owned() } else { name }
}

/// Locks the checkout of a store in a folder; `None` when the access is [`Access::Read`] and another process has locked it.
pub(crate) fn lock_checkout(
    folder: &Path,
    view: ViewId,
    options: &DiskOptions,
    access: Access,
) -> Result<Option<CheckoutLock>, StoreError> {
    if access != Access::Read {
        return Ok(Some(CheckoutLock::acquire_checkout(folder, view, options)?));
    }
    let at_once = DiskOptions {
        lock_timeout: Duration::ZERO,
        on_wait_view: None,
        ..options.clone()
    };
    match CheckoutLock::acquire_checkout(folder, view, &at_once) {
        Err(StoreError::ViewBusy { .. }) => Ok(None),
        taken => Ok(Some(taken?)),
    }
}

/// Returns the rights that a build releases while it waits for a model. Without a lock on the checkout, only the turn among a service's requests.
pub(crate) fn turn_of(hold: Option<&Arc<Hold>>, among_requests: Option<Arc<dyn CheckoutTurn>>) -> Option<Arc<dyn CheckoutTurn>> {
    let Some(hold) = hold else { return among_requests };
    let hold: Arc<dyn CheckoutTurn> = hold.clone();
    Some(match among_requests {
        Some(turn) => Arc::new(Together(vec![turn, hold])),
        None => hold,
    })
}
