//! Builds in overlays: the engine reads documents instead of files. Such a build shares every result with the workspace and with other overlays; it
//! changes nothing of the checkout itself (graph, History, laid-out files).

use super::OverlayError;
use super::record::{is_session, lives, note_use, overlay_or_session};
use super::{session_overlays, texts};
use crate::edit::disk::Disk;
use crate::edit::files::Files;
use crate::edit::session::{EditSession, LIFETIME};
use engine::build::engine::Engine;
use engine::files::overlaid::{Documents, Overlaid};
use engine::seams::annotate::Unannotated;
use engine::store::overlay_store::{OnResults, OverlayStore};
use engine::store::snapshot_store::SnapshotStore;
use engine::store::{Store, ViewId};
use engine::values::digest::ActionKey;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

/// Returns the documents that an overlay puts in place of files, and counts the overlay as used. Fails when there is no such overlay, or
/// its texts are missing.
pub fn documents<F: Files>(files: &F, name: &str, now: u64) -> Result<Documents, OverlayError> {
    note_use(files, name, now)?;
    let _alone = files.lock_for_editing()?;
    if is_session(files, name)? {
        session_overlays::check_replaceable_documents(files, name, now)?;
    }
    texts::documents(files, &overlay_or_session(files, name, now)?.documents)
}

/// Returns a store for a build outside of its checkout: another process may build the checkout at the same time.
pub fn store_beside(store: Arc<dyn Store>, view: ViewId) -> Arc<dyn Store> {
    Arc::new(SnapshotStore::new(store, view))
}

/// Returns the engine of an overlay over that of its workspace at a root. The overlay records the results that it needs; nothing is sent to other
/// machines.
pub fn engine_over_documents(engine: Engine, documents: Documents, root: &Path, name: &str) -> Engine {
    let (files, name) = (Disk::new(root), name.to_owned());
    let on_results = move |keys: &[ActionKey]| {
        // Results that are not recorded may be evicted, and are then built again.
        let _ = note_needed_results(&files, &name, keys);
    };
    engine_on_documents(engine, documents, Box::new(on_results))
}

/// Returns the engine of a reader while a build of the workspace runs: an overlay without documents, which records no results.
pub fn reading(engine: Engine) -> Engine {
    engine_on_documents(engine, Documents::new(), Box::new(|_: &[ActionKey]| {}))
}

fn engine_on_documents(engine: Engine, documents: Documents, on_results: OnResults) -> Engine {
    Engine {
        world: Arc::new(Overlaid::new(engine.world, documents)),
        store: Arc::new(OverlayStore::new(engine.store, on_results)),
        annotate: Arc::new(Unannotated),
        sharing: None,
        ..engine
    }
}

fn note_needed_results<F: Files>(files: &F, name: &str, keys: &[ActionKey]) -> Result<(), OverlayError> {
    let _alone = files.lock_for_editing()?;
    texts::add_results(files, name, keys)
}

/// Returns the results that living overlays and sessions of the workspace at a root need, and those of merged and closed ones since its last build.
pub fn needed_results(root: &Path, now: u64) -> Result<BTreeSet<ActionKey>, OverlayError> {
    let files = Disk::new(root);
    let mut needed = BTreeSet::new();
    for (name, _) in files.notes(texts::RESULTS)? {
        if lives(&files, &name, now)? {
            needed.extend(texts::results_of(&files, &name)?);
        }
    }
    needed.extend(
        texts::merged_results(&files)?
            .filter(|merged| now < merged.until)
            .map(|merged| merged.keys)
            .unwrap_or_default(),
    );
    Ok(needed)
}

/// Leaves the results of an ending session to the workspace, as a merged overlay does. Fails when that cannot be recorded.
pub fn leave_results(root: &Path, handle: &str, now: u64) -> Result<(), OverlayError> {
    let files = Disk::new(root);
    if EditSession::load(&files, handle, now).is_err() || texts::results_of(&files, handle)?.is_empty() {
        return Ok(());
    }
    let _alone = files.lock_for_editing()?;
    texts::leave_merged(&files, handle, now.saturating_add(LIFETIME))
}

/// Releases the results of merged overlays and closed sessions if the graph of the workspace at a root, just built, is current: the graph then refers
/// to those that it needs.
pub fn release_merged_results(root: &Path, is_current: impl FnOnce() -> bool) -> Result<(), OverlayError> {
    let files = Disk::new(root);
    if texts::merged_results(&files)?.is_none() || !is_current() {
        return Ok(());
    }
    let _alone = files.lock_for_editing()?;
    texts::forget_merged(&files)
}
