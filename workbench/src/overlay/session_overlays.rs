//! Edit sessions as overlays: the unsaved documents of a session replace files, so that its edits can be built, queried and compared before they are
//! saved. Only `edit` changes and saves them.

use super::OverlayError;
use super::put::rules;
use crate::edit::contents::Content;
use crate::edit::files::Files;
use crate::edit::foreign_writes::notice;
use crate::edit::overlay_record::{Overlay, OverlayDocument};
use crate::edit::session::{EditSession, LIFETIME, NoSession};
use crate::edit::state::WorkflowState;
use crate::editable_paths::Refused;
use engine::values::codes::ErrorCode;
use engine::values::digest::Digest;
use std::collections::BTreeSet;

/// Returns the overlay of a session's edits; `None` when there is no session of that handle. Fails when the session cannot be read, or has
/// expired.
pub(super) fn overlay<F: Files>(files: &F, handle: &str, now: u64) -> Result<Option<Overlay>, OverlayError> {
    let session = match EditSession::load(files, handle, now) {
        Ok(session) => session,
        Err(NoSession::Unknown(_)) => return Ok(None),
        Err(NoSession::Io(error)) => return Err(error.into()),
        Err(why) => {
            let hint = "`cortex edit open FILE` opens a new one, `cortex edit list` lists them";
            return Err(OverlayError::refused(ErrorCode::E_NO_OVERLAY, why.to_string(), "", hint));
        }
    };
    let digest = |content: &Content| content.as_deref().and_then(Digest::parse);
    let edited = session.documents.iter().filter(|(_, document)| document.is_edited());
    let documents = edited.map(|(path, document)| {
        let document = OverlayDocument {
            base: digest(&document.now.base),
            now: digest(&document.now.text),
            mode: None,
        };
        (path.clone(), document)
    });
    Ok(Some(Overlay {
        opened_at: session.used,
        opened_on: None,
        used_at: session.used,
        lifetime: LIFETIME,
        documents: documents.collect(),
    }))
}

/// Whether a file is the manifest, which needs explicit permission to edit.
fn is_manifest<F: Files>(files: &F, path: &str) -> bool {
    matches!(files.resolve(path), Err(Refused::Manifest(_)))
}

/// Takes over the writes of other processes into a session, as its next operation would, so that it shows the result of saving. Call without the
/// editing lock.
pub(super) fn read_foreign_writes<F: Files>(files: &F, handle: &str, now: u64) {
    if let Ok(session) = EditSession::load(files, handle, now) {
        let paths = session.documents.keys().filter(|path| !is_manifest(files, path));
        let paths: BTreeSet<String> = paths.cloned().collect();
        // If nothing can be written, the session shows its last known state.
        let _ = notice(files, Some(&paths), now);
    }
}

/// Checks that the unsaved documents of a session can replace files: they can be saved, and define neither the sources nor the targets.
/// Fails when they cannot, with the file.
pub(super) fn check_replaceable_documents<F: Files>(files: &F, handle: &str, now: u64) -> Result<(), OverlayError> {
    let Ok(session) = EditSession::load(files, handle, now) else {
        return Ok(());
    };
    for (path, document) in session.documents.iter().filter(|(_, document)| document.is_edited()) {
        if is_manifest(files, path) || rules(path) {
            let why = format!("{path}, which the session {handle} edits, defines the build, and no overlay can replace it");
            let hint = format!("save it first: `cortex edit commit {path} --session {handle}`, or discard it");
            return Err(OverlayError::refused(ErrorCode::E_PATH, why, "", hint));
        }
        if document.state.workflow_state() == WorkflowState::OutOfSync {
            let why = format!("{path} is OutOfSync in the session {handle}: saving it would come to a conflict, or to nothing");
            let hint =
                format!("`cortex edit diff {path} --session {handle}` shows both sides; `refresh`, `discard` or `persist_as` end it");
            return Err(OverlayError::refused(ErrorCode::E_OVERLAY, why, "", hint));
        }
    }
    Ok(())
}

/// Creates the error for a request of an overlay by the name of a session.
pub(super) fn no_overlay(handle: &str) -> OverlayError {
    let why = format!("{handle} is an edit session, which is changed and saved by `cortex edit`");
    let hint = format!(
        "`overlay build` and `overlay diff` look at it; `cortex edit commit --session {handle}` saves it, `discard` drops its edits"
    );
    OverlayError::refused(ErrorCode::E_NO_OVERLAY, why, "", hint)
}
