//! Beside a service the files of edit sessions are listened to: what others write is met when it happens.

use crate::commands::gc::now;
use crate::context::Context;
use engine::watch::Lookout;
use std::collections::BTreeSet;
use workbench::edit::disk::Disk;
use workbench::edit::foreign_writes::notice;
use workbench::edit::place::Guard;

/// Begins to listen; `None` where nothing can be heard. Then each operation looks for itself, as it does without a service.
pub fn listen_for_sessions(context: &Context) -> Option<Lookout> {
    let root = context.root()?.canonicalize().ok()?;
    // Nothing is edited here, whatever is open.
    let guard = Guard {
        store: context.store_folder(),
        manifest: true,
    };
    let disk = Disk::new(&root).guarded(guard).logging(context.logs());
    let mut folders = BTreeSet::new();
    let told = move |moved: &engine::watch::Moved| {
        // What cannot be read now is told to whoever edits next.
        if let Ok(found) = notice(&disk, moved.as_ref(), now()) {
            folders = found;
        }
        folders.clone()
    };
    Lookout::start(&root, told).ok()
}
