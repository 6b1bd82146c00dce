//! Opening the store of a workspace with the locks that a command needs.

use crate::location::watch_socket;
use crate::locks::{Access, Hold, LockTerms, lock_checkout};
use engine::store::disk::{CheckoutLock, DiskOptions, DiskStore};
use engine::store::memory::MemoryStore;
use engine::store::{Store, StoreError, ViewId};
use engine::values::diagnostic::Diagnostic;
use engine::watch::ask::WatcherAnswer;
use std::path::Path;
use std::sync::Arc;

/// The use that a command makes of the store.
#[derive(Clone, Copy)]
pub(crate) struct StoreUse {
    pub(crate) access: Access,
    pub(crate) in_overlay: bool,
    /// Whether a watch's build ahead stops for this command.
    pub(crate) interrupts: bool,
}

impl StoreUse {
    pub(crate) fn builds(self) -> bool {
        self.access != Access::Look
    }

    /// Whether the command only reads the rows of the checkout, also while another process builds it.
    fn is_beside(self) -> bool {
        self.in_overlay || self.access == Access::Beside
    }
}

/// A store with its locks.
pub(crate) struct OpenStore {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) disk: Option<Arc<DiskStore>>,
    pub(crate) hold: Option<Arc<Hold>>,
    pub(crate) notices: Vec<Diagnostic>,
    /// Whether the command writes no rows of the checkout.
    pub(crate) is_beside: bool,
}

pub(crate) fn open_memory(used: StoreUse) -> OpenStore {
    OpenStore {
        store: Arc::new(MemoryStore::default()),
        disk: None,
        hold: None,
        notices: Vec::new(),
        is_beside: used.is_beside(),
    }
}

/// Locks the checkout as far as the command needs it, then opens the store.
pub(crate) fn open_disk(root: &Path, folder: &Path, view: ViewId, used: StoreUse, options: DiskOptions) -> Result<OpenStore, StoreError> {
    let builds = used.builds();
    let mut options = DiskOptions {
        yields_lock: builds,
        ..options
    };
    if builds && used.interrupts {
        stop_builds_ahead(folder, view, &mut options);
    }
    let mut is_beside = used.is_beside();
    let mut checkout_lock = None;
    if builds && !is_beside {
        checkout_lock = lock_checkout(folder, view, &options, used.access)?;
        is_beside = checkout_lock.is_none();
    }
    if builds && is_beside {
        // This command writes no rows of the checkout, so another process may build it at the same time.
        checkout_lock = Some(CheckoutLock::lock_place_beside(folder, view, &options)?);
    }
    let terms = (builds && !is_beside).then(|| LockTerms {
        folder: folder.to_owned(),
        view,
        options: options.clone(),
    });
    let (disk, mut notices) = DiskStore::open(folder, options)?;
    let disk = Arc::new(disk);
    let (hold, notice) = Hold::new(root, folder, disk.clone(), (checkout_lock, terms));
    notices.extend(notice);
    Ok(OpenStore {
        store: disk.clone(),
        disk: Some(disk),
        hold: Some(Arc::new(hold)),
        notices,
        is_beside,
    })
}

/// Stops a watch's build ahead, and again when the command starts to wait: one may have started just after the first call.
fn stop_builds_ahead(folder: &Path, view: ViewId, options: &mut DiskOptions) {
    let watch = WatcherAnswer::new(watch_socket(folder, view));
    watch.stop_builds_ahead();
    let announce = options.on_wait_view.take();
    options.on_wait_view = Some(Arc::new(move |holder: &str| {
        watch.stop_builds_ahead();
        announce.iter().for_each(|announce| announce(holder));
    }));
}
