//! Edit sessions seen as overlays: what a session has not saved stands in place of files. So its edits can be built, asked about and compared before
//! they are saved. They are changed and saved by `edit` alone.

use super::OverlayError;
use super::record::{Document, Overlay};
use crate::edit::files::Files;
use crate::edit::session::{self, Content, LIFETIME, NoSession, Session};
use engine::values::digest::Digest;
use std::collections::BTreeMap;

/// The overlay that the edits of a session are; `None` when there is no session of that handle.
///
/// # Errors
/// When the session cannot be read, or its time is over.
pub(super) fn overlay<F: Files>(files: &F, handle: &str, now: u64) -> Result<Option<Overlay>, OverlayError> {
    let session = match Session::load(files, handle, now) {
        Ok(session) => session,
        Err(NoSession::Unknown(_)) => return Ok(None),
        Err(NoSession::Io(error)) => return Err(error.into()),
        Err(why) => {
            let hint = "`cortex edit open FILE` begins a new one, `cortex edit list` tells which there are";
            return Err(OverlayError::asked("E_NO_OVERLAY", why.to_string(), "", hint));
        }
    };
    let digest = |content: &Content| content.as_deref().and_then(Digest::parse);
    let edited = session.documents.iter().filter(|(_, document)| document.is_edited());
    let documents = edited.map(|(path, document)| {
        let document = Document {
            base: digest(&document.now.base),
            now: digest(&document.now.text),
            mode: None,
        };
        (path.clone(), document)
    });
    Ok(Some(Overlay {
        opened_at: session.used,
        used_at: session.used,
        lifetime: LIFETIME,
        documents: documents.collect(),
        merging: BTreeMap::new(),
    }))
}

/// A text that a session keeps.
///
/// # Errors
/// When it cannot be read.
pub(super) fn text<F: Files>(files: &F, digest: &Digest) -> Result<Option<Vec<u8>>, OverlayError> {
    Ok(session::kept(files, &digest.to_string())?)
}

/// That a name is that of a session, where an overlay of its own was asked for.
pub(super) fn no_overlay(handle: &str) -> OverlayError {
    let why = format!("{handle} is an edit session, which is changed and saved by `cortex edit`");
    let hint = format!("`overlay build` and `overlay diff` look at it; `cortex edit commit --session {handle}` saves it");
    OverlayError::asked("E_NO_OVERLAY", why, "", hint)
}
