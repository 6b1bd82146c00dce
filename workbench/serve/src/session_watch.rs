//! Watch on the files of edit sessions in a service: it notices writes of other programs as they happen.

use engine::watch::FolderWatch;
use methods::desk::clock::current_seconds;
use methods::desk::request_context::RequestContext;
use std::collections::BTreeSet;
use workbench::edit::disk::Disk;
use workbench::edit::foreign_writes::notice;
use workbench::editable_paths::Guard;

/// Starts the watch; `None` if the system reports no changes. Then each operation checks the files itself, as without a service.
pub fn listen_for_sessions(context: &RequestContext) -> Option<FolderWatch> {
    let root = context.root_around()?.canonicalize().ok()?;
    // The watch edits nothing, so the manifest needs no protection.
    let guard = Guard {
        store: context.store_folder(),
        manifest: true,
    };
    let disk = Disk::new(&root).with_guard(guard).logging(context.settings().logs.clone());
    let mut folders = BTreeSet::new();
    let on_move = move |changed: &engine::watch::ChangedPaths| {
        // An error of this read is reported to the next edit.
        if let Ok(found) = notice(&disk, changed.as_ref(), current_seconds()) {
            folders = found;
        }
        folders.clone()
    };
    FolderWatch::start(&root, on_move).ok()
}
