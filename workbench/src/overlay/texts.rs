//! Texts of documents by digest, as edit sessions store theirs, and results of overlays by name.

use super::OverlayError;
use crate::edit::contents::{read_kept_content, write_content};
use crate::edit::files::Files;
use crate::edit::overlay_record::OverlayDocument;
use engine::files::overlaid::Documents;
use engine::values::codes::ErrorCode;
use engine::values::digest::{ActionKey, Digest};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Folder with the lists of results.
pub(super) const RESULTS: &str = "results";
/// The list of results of merged overlays and closed sessions, after the time of their expiry.
const MERGED: &str = "merged/results";

pub(super) fn results(name: &str) -> String {
    format!("{RESULTS}/{name}")
}

/// Stores a text; must precede the record that refers to it.
pub(super) fn write_text<F: Files>(files: &F, bytes: Option<&[u8]>) -> Result<Option<Digest>, OverlayError> {
    let Some(bytes) = bytes else { return Ok(None) };
    let digest = Digest::of(bytes);
    write_content(files, &Some(digest.to_string()), bytes)?;
    Ok(Some(digest))
}

/// Reads a text of an overlay; `None` stays `None`. Fails when it is missing, or its bytes do not match the digest.
pub fn read_overlay_text<F: Files>(files: &F, digest: Option<&Digest>) -> Result<Option<Vec<u8>>, OverlayError> {
    let Some(digest) = digest else { return Ok(None) };
    read_kept_content(files, &digest.to_string())?.map(Some).ok_or_else(|| {
        let hint = "put the document again, or discard the overlay or the edits of the session";
        OverlayError::refused(
            ErrorCode::E_OVERLAY,
            "a stored text of a document is damaged or missing",
            &digest.to_string(),
            hint,
        )
    })
}

pub(super) fn documents<F: Files>(files: &F, documents: &BTreeMap<String, OverlayDocument>) -> Result<Documents, OverlayError> {
    let texts = documents.iter().map(|(path, document)| {
        let bytes = read_overlay_text(files, document.now.as_ref())?;
        Ok((path.clone(), bytes.map(Arc::from)))
    });
    texts.collect()
}

/// Returns the results that were built or found in an overlay.
pub(super) fn results_of<F: Files>(files: &F, name: &str) -> Result<BTreeSet<ActionKey>, OverlayError> {
    Ok(keys(&files.read_note(&results(name))?.unwrap_or_default()))
}

fn keys(bytes: &[u8]) -> BTreeSet<ActionKey> {
    let (keys, _) = bytes.as_chunks::<32>();
    keys.iter().map(|key| ActionKey(Digest(*key))).collect()
}

fn encode_keys(keys: &BTreeSet<ActionKey>) -> Vec<u8> {
    keys.iter().flat_map(|key| key.0.0).collect()
}

pub(super) fn add_results<F: Files>(files: &F, name: &str, keys: &[ActionKey]) -> Result<(), OverlayError> {
    let mut all = results_of(files, name)?;
    let before = all.len();
    all.extend(keys);
    if all.len() > before {
        files.write_note(&results(name), &encode_keys(&all))?;
    }
    Ok(())
}

/// Results that builds in merged overlays and closed sessions used since the last build of the workspace.
pub(super) struct Merged {
    /// Expiry of the results, in seconds since 1970.
    pub(super) until: u64,
    pub(super) keys: BTreeSet<ActionKey>,
}

/// Returns the results that merged overlays and closed sessions have left.
pub(super) fn merged_results<F: Files>(files: &F) -> Result<Option<Merged>, OverlayError> {
    let note = files.read_note(MERGED)?;
    let parts = note.as_deref().and_then(<[u8]>::split_first_chunk);
    Ok(parts.map(|(until, rest)| Merged {
        until: u64::from_le_bytes(*until),
        keys: keys(rest),
    }))
}

/// Leaves the results of an overlay being merged, or of a session being closed, to the workspace until a time.
pub(super) fn leave_merged<F: Files>(files: &F, name: &str, until: u64) -> Result<(), OverlayError> {
    let mut left = results_of(files, name)?;
    if left.is_empty() {
        return Ok(());
    }
    left.extend(merged_results(files)?.map(|merged| merged.keys).unwrap_or_default());
    Ok(files.write_note(MERGED, &[&until.to_le_bytes()[..], &encode_keys(&left)].concat())?)
}

/// Drops these results: the workspace does not need them, or its graph refers to them.
pub(super) fn forget_merged<F: Files>(files: &F) -> Result<(), OverlayError> {
    Ok(files.drop_note(MERGED)?)
}
