//! What an open workspace keeps from others: its store, and its checkout if it builds. And a note in the checkout that tells whose the
//! files laid out there are.

use crate::checkout;
use crate::workspace::Access;
use engine::build::checkout_turn::CheckoutTurn;
use engine::store::disk::{Claim, DiskOptions, DiskStore};
use engine::store::{Store, StoreError, ViewId};
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use engine::values::digest::Digest;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// Where the name of the store is noted whose files lie in the output folder, below the workspace's root.
const NOTE: &str = ".cortex/store";
/// No note of ours is longer.
const MOST_BYTES: usize = 4096;

/// The files that the note speaks of.
const OUT: &str = ".cortex/out";

/// What is kept from others while a command needs it.
pub struct Hold {
    root: PathBuf,
    /// The digest of the store's folder: where it is, not which one it is.
    place: Digest,
    disk: Arc<DiskStore>,
    claim: Mutex<Option<Claim>>,
    /// How the checkout is claimed again, if this command may build it.
    terms: Option<ClaimTerms>,
    /// While the checkout is given back: when it was claimed, and a claim beside it, so that a collection knows of what is being made.
    left: Mutex<Option<(Option<SystemTime>, Option<Claim>)>>,
    /// Whether the note in the checkout names this store.
    noted: Mutex<bool>,
}

/// How a checkout is claimed.
pub(crate) struct ClaimTerms {
    /// The store's folder.
    pub folder: PathBuf,
    /// Which checkout.
    pub view: ViewId,
    /// How long others are waited for, and who hears of them.
    pub options: DiskOptions,
}

/// How often one who waits for the checkout looks whether he is still wanted.
const LOOK_EVERY: Duration = Duration::from_millis(500);

impl Hold {
    /// Over an open store in a folder; `claim` if the command may build, with its terms if that is the checkout itself. Tells if a store of
    /// another folder laid files out here.
    pub(crate) fn new(
        root: &Path,
        folder: &Path,
        disk: Arc<DiskStore>,
        (claim, terms): (Option<Claim>, Option<ClaimTerms>),
    ) -> (Self, Option<Diagnostic>) {
        let builds = claim.is_some();
        let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        let mut hold = Self {
            root: root.to_owned(),
            place: Digest::of(folder.as_os_str().as_encoded_bytes()),
            disk,
            claim: Mutex::new(claim),
            terms,
            left: Mutex::default(),
            noted: Mutex::new(false),
        };
        let notice = if builds { hold.compare() } else { None };
        (hold, notice)
    }

    fn compare(&mut self) -> Option<Diagnostic> {
        let noted = checkout::read(&self.root, NOTE, MOST_BYTES).ok().flatten()?;
        let noted = String::from_utf8_lossy(&noted);
        *self.noted.get_mut().unwrap_or_else(PoisonError::into_inner) = self.note().is_some_and(|note| note == noted);
        let (id, place) = noted.split_once('\n').unwrap_or((&noted, ""));
        // A store that was removed, or set aside, and begun anew is no other store.
        let same = self.disk.id().is_some_and(|own| own == id) || place.trim_end() == self.place.to_string();
        (!same).then(|| {
            let message = format!("the files in {OUT} were laid out from another store, {}", printable_note(&noted));
            Diagnostic::warning(ErrorCode::W_OTHER_STORE, message)
                .hint("use one store for one checkout (--store, CORTEX_STORE); files that differ are written anew, no other is touched")
        })
    }

    /// What the note says: the store's name, and where it is.
    fn note(&self) -> Option<String> {
        self.disk.id().map(|id| format!("{id}\n{}\n", self.place))
    }

    /// Files may have been laid out, or were found to be in place: notes from which store. That it cannot be written is no reason not to build.
    pub fn built(&self) {
        let mut noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        // A link could lead anywhere.
        let is_folder = |path: &str| std::fs::symlink_metadata(self.root.join(path)).is_ok_and(|found| found.is_dir());
        if *noted || !is_folder(OUT) || !is_folder(".cortex") {
            return;
        }
        if let Some(note) = self.note() {
            *noted = checkout::write(&self.root, NOTE, note.as_bytes()).is_ok();
        }
    }

    /// The workspace's root and its store, if this command filed results there.
    pub fn filed(&self) -> Option<(&Path, &DiskStore)> {
        self.disk.has_filed().then_some((&*self.root, &*self.disk))
    }

    /// Lets others have the checkout and the store: all that is left to do is to print, and who reads that may take his time.
    pub fn let_go(&self) {
        self.disk.let_go();
        drop(self.lock_claim().take());
        drop(self.left.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    fn lock_claim(&self) -> MutexGuard<'_, Option<Claim>> {
        self.claim.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CheckoutTurn for Hold {
    fn give_back(&self) {
        let Some(terms) = &self.terms else { return };
        if let Some(claim) = self.lock_claim().take() {
            // Where that cannot be noted, a collection takes what was made for what nobody needs, and it is made again.
            let at_once = DiskOptions {
                lock_timeout: Duration::ZERO,
                ..terms.options.clone()
            };
            let beside = Claim::beside(&terms.folder, terms.view, &at_once).ok();
            *self.left.lock().unwrap_or_else(PoisonError::into_inner) = Some((claim.time(), beside));
        }
    }

    fn take_again(&self, is_cancelled: &dyn Fn() -> bool) -> Result<bool, StoreError> {
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
            match Claim::take(&terms.folder, terms.view, &options) {
                Ok(claim) => {
                    let is_as_left = claim.follows(since);
                    *self.lock_claim() = Some(claim);
                    return Ok(is_as_left);
                }
                Err(StoreError::ViewBusy { .. }) if Instant::now() < until && !is_cancelled() => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// Several rights that are given back together. Those that come first are taken first, and given back last.
struct Together(Vec<Arc<dyn CheckoutTurn>>);

impl CheckoutTurn for Together {
    fn give_back(&self) {
        self.0.iter().rev().for_each(|turn| turn.give_back());
    }

    fn take_again(&self, is_cancelled: &dyn Fn() -> bool) -> Result<bool, StoreError> {
        let mut is_as_left = true;
        for turn in &self.0 {
            is_as_left &= turn.take_again(is_cancelled)?;
        }
        Ok(is_as_left)
    }
}

/// What a note may say on a terminal.
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

/// Claims the checkout of a store in a folder; `None` when it is only to be read and others have it.
pub(crate) fn claim_checkout(folder: &Path, view: ViewId, options: &DiskOptions, access: Access) -> Result<Option<Claim>, StoreError> {
    if access != Access::Read {
        return Ok(Some(Claim::take(folder, view, options)?));
    }
    let at_once = DiskOptions {
        lock_timeout: Duration::ZERO,
        on_wait_view: None,
        ..options.clone()
    };
    match Claim::take(folder, view, &at_once) {
        Err(StoreError::ViewBusy { .. }) => Ok(None),
        taken => Ok(Some(taken?)),
    }
}

/// What a build gives back while it waits for a model. One that has no checkout has its turn among the requests of a service alone.
pub(crate) fn turn_of(hold: Option<&Arc<Hold>>, among_requests: Option<Arc<dyn CheckoutTurn>>) -> Option<Arc<dyn CheckoutTurn>> {
    let Some(hold) = hold else { return among_requests };
    let hold: Arc<dyn CheckoutTurn> = hold.clone();
    Some(match among_requests {
        Some(turn) => Arc::new(Together(vec![turn, hold])),
        None => hold,
    })
}
