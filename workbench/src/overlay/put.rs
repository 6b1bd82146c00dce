//! Puts documents into overlays and takes them out. Each document keeps its base, from which a merge starts: the file as it was when the overlay was
//! opened, unless the caller declares that the document is based on the present file.

use super::OverlayError;
use super::record::{remove_expired, store, unexpired_overlay};
use super::texts;
use crate::code_text::encoding::{self, Encoding, PLAIN, decode};
use crate::edit::files::Files;
use crate::edit::overlay_record::{Overlay, OverlayDocument};
use crate::edit::run::no_text;
use crate::edit::saving::finish_merges;
use engine::values::codes::ErrorCode;
use engine::values::digest::Digest;

/// Limit of bytes of a document and of the file under it.
pub const MOST_BYTES: usize = 64 << 20;

/// Files that define which files are sources; an overlay over them would not show the workspace that results.
const RULE_FILES: [&str; 2] = [".gitignore", ".ignore"];

/// The content that a path gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Put {
    /// A file of these bytes.
    Bytes(Vec<u8>),
    /// A file of this text, in the file's present encoding or the given one; line ends are written as given.
    Text(String, Option<Encoding>),
    /// No file.
    Delete,
    /// The workspace's content: the document is removed.
    Drop,
}

/// The result of putting a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PutEffect {
    /// The document's text changed.
    Changed,
    /// A file that the workspace does not have was added.
    Added,
    Removed,
    /// The document was dropped: the workspace's file shows again.
    Dropped,
    Same,
}

/// Puts a document. Returns the path of the real file, the result and the overlay. Fails when there is no such overlay, the path is not
/// allowed, the file changed since the overlay was opened, or the text is invalid or cannot be stored.
pub fn write_document<F: Files>(
    files: &F,
    name: &str,
    path: &str,
    what: &Put,
    now: u64,
) -> Result<(String, PutEffect, Overlay), OverlayError> {
    write_over(files, name, path, what, false, now)
}

/// Puts a document. With `onto_now` its base is the present file, whatever its state at the opening of the overlay; otherwise that state.
/// Fails as [`write_document`] does.
pub fn write_over<F: Files>(
    files: &F,
    name: &str,
    path: &str,
    what: &Put,
    onto_now: bool,
    now: u64,
) -> Result<(String, PutEffect, Overlay), OverlayError> {
    unexpired_overlay(files, name, now)?;
    let _alone = files.lock_for_editing()?;
    finish_merges(files, now)?;
    let overlay = unexpired_overlay(files, name, now)?;
    // An entry that replaced the file may prevent a merge, but must not prevent dropping the document.
    let recorded = recorded_path(path);
    if *what == Put::Drop && overlay.documents.contains_key(&recorded) {
        let effect = drop_one(files, name, overlay, &recorded, now)?;
        return Ok((recorded, effect, unexpired_overlay(files, name, now)?));
    }
    let real = files.resolve(path).map_err(|why| OverlayError::refused_path(path, &why))?;
    if *what == Put::Delete && files.is_link(path) {
        let why = format!("{path} is a link to {real}, and would lead nowhere without it");
        return Err(OverlayError::refused(
            ErrorCode::E_PATH,
            why,
            "",
            format!("nothing was changed: name {real} itself"),
        ));
    }
    let bytes = match what {
        Put::Bytes(bytes) => Some(bytes.clone()),
        Put::Text(text, encoding) => Some(encode_text(files, &overlay, &real, text, *encoding)?),
        Put::Delete => None,
        Put::Drop => {
            let effect = drop_one(files, name, overlay, &real, now)?;
            return Ok((real, effect, unexpired_overlay(files, name, now)?));
        }
    };
    let one = Putting {
        path: real.clone(),
        bytes,
        mode: None,
        of: if onto_now { MadeOf::Now } else { MadeOf::Opening },
    };
    let effects = write_all_documents(files, name, &[one], now)?;
    Ok((real, effects[0], unexpired_overlay(files, name, now)?))
}

/// Returns a path in the form of the records, without following links.
fn recorded_path(path: &str) -> String {
    let parts: Vec<&str> = path.split('/').filter(|part| *part != ".").collect();
    parts.join("/")
}

fn encode_text<F: Files>(files: &F, overlay: &Overlay, path: &str, text: &str, wanted: Option<Encoding>) -> Result<Vec<u8>, OverlayError> {
    let encoding = match wanted {
        Some(encoding) => encoding,
        None => {
            let bytes = match overlay.documents.get(path) {
                Some(document) => texts::read_overlay_text(files, document.now.as_ref())?,
                None => read_workspace_file(files, path)?,
            };
            bytes.and_then(|bytes| decode(&bytes).ok()).map_or(PLAIN, |(_, encoding)| encoding)
        }
    };
    encoding::encode(text.to_owned(), encoding).map_err(|why| {
        let hint = "give the text in another encoding, or omit these characters";
        OverlayError::refused(ErrorCode::E_ENCODING, format!("{path}: {why}"), "", hint)
    })
}

fn drop_one<F: Files>(files: &F, name: &str, mut overlay: Overlay, path: &str, now: u64) -> Result<PutEffect, OverlayError> {
    if overlay.documents.remove(path).is_none() {
        return Ok(PutEffect::Same);
    }
    overlay.used_at = overlay.used_at.max(now);
    store(files, name, &overlay)?;
    remove_expired(files, now)?;
    Ok(PutEffect::Dropped)
}

fn read_workspace_file<F: Files>(files: &F, path: &str) -> Result<Option<Vec<u8>>, OverlayError> {
    let found = files.read(path).map_err(|error| {
        let hint = "an overlay replaces text files; check the path";
        OverlayError::refused(ErrorCode::E_READ, format!("{path} cannot be read: {error}"), "", hint)
    })?;
    Ok(found.map(|found| found.bytes))
}

/// Checks that a file, to be removed if `is_removal`, is unchanged since the opening: a document with an older base would revert the
/// changes of others.
fn check_unmoved<F: Files>(
    files: &F,
    name: &str,
    overlay: &Overlay,
    path: &str,
    is: Option<Digest>,
    is_removal: bool,
) -> Result<(), OverlayError> {
    let Some(opened) = &overlay.opened_on else { return Ok(()) };
    let made_of_now = match is_removal {
        true => "read the present file, and confirm its deletion with --onto-now (ontoNow)",
        false => "base the document on the present text and put it with --onto-now (ontoNow), or change it by `overlay apply`",
    };
    let (done, harm, hint) = match (opened.digest_at_opening(files, path)?, is) {
        (was, is) if was == is => return Ok(()),
        // The state at the opening is unknown for files outside the recorded tree.
        (None, Some(_)) if !files.is_in_tree(path)? => return Ok(()),
        (None, _) => ("added", "a document that is not based on it would lose its content", made_of_now),
        (_, None) => {
            let hint = "put it with --onto-now (ontoNow) to create the file again";
            ("removed", "merging a document of it would bring it back", hint)
        }
        _ => (
            "changed",
            "a document based on its former content would revert that change",
            made_of_now,
        ),
    };
    let why = format!("{path} was {done} since the overlay {name} was opened: {harm}");
    Err(OverlayError::refused(ErrorCode::E_OVERLAY, why, "", hint))
}

/// Refuses to overwrite a file that edits would refuse.
fn editable(path: &str, base: Option<&[u8]>) -> Result<(), OverlayError> {
    base.map_or(Ok(()), |base| decode(base).map(|_| ())).map_err(|why| {
        let refusal = no_text(path, &why);
        OverlayError::refused(ErrorCode::E_ENCODING, refusal.summary, "", refusal.guidance.unwrap_or_default())
    })
}

/// The new content of a real file: its bytes, and permissions of a new file.
pub(super) struct Putting {
    pub(super) path: String,
    pub(super) bytes: Option<Vec<u8>>,
    pub(super) mode: Option<u32>,
    pub(super) of: MadeOf,
}

/// The base of a document.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum MadeOf {
    /// The state that the overlay was opened on, or the base of its earlier document.
    Opening,
    /// The content that the overlay shows: its earlier document, or the present file.
    Shown,
    Now,
}

/// Puts documents of real files, all or none. The caller has acquired the editing lock.
pub(super) fn write_all_documents<F: Files>(files: &F, name: &str, puts: &[Putting], now: u64) -> Result<Vec<PutEffect>, OverlayError> {
    let mut overlay = unexpired_overlay(files, name, now)?;
    let mut effects = Vec::with_capacity(puts.len());
    let mut kept: Vec<Vec<u8>> = Vec::new();
    for Putting { path, bytes, mode, of } in puts {
        check_allowed(path, bytes.as_deref())?;
        let is = bytes.as_deref().map(Digest::of);
        let known = overlay.documents.get(path).cloned();
        let base = match &known {
            Some(document) if *of != MadeOf::Now => {
                // A removed document is written again.
                if document.now.is_none() && is.is_some() {
                    editable(path, texts::read_overlay_text(files, document.base.as_ref())?.as_deref())?;
                }
                document.base
            }
            _ => {
                let base = read_workspace_file(files, path)?;
                if base.as_ref().is_some_and(|base| base.len() > MOST_BYTES) {
                    return Err(huge(path));
                }
                if is.is_some() {
                    editable(path, base.as_deref())?;
                }
                let digest = base.as_deref().map(Digest::of);
                if *of == MadeOf::Opening && (digest, is) != (None, None) {
                    check_unmoved(files, name, &overlay, path, digest, is.is_none())?;
                }
                kept.extend(base);
                digest
            }
        };
        if is.is_none() && base.is_none() && known.as_ref().is_none_or(|known| known.now.is_none()) {
            let hint = "check the path; it is named from the workspace's root";
            return Err(OverlayError::refused(
                ErrorCode::E_READ,
                format!("there is no file {path} to take away"),
                "",
                hint,
            ));
        }
        effects.push(match (base, is) {
            (base, is) if known.as_ref().is_some_and(|known| (known.base, known.now) == (base, is)) => PutEffect::Same,
            (None, None) => PutEffect::Dropped,
            (_, None) => PutEffect::Removed,
            (None, Some(_)) => PutEffect::Added,
            (Some(_), Some(_)) => PutEffect::Changed,
        });
        kept.extend(bytes.clone());
        match (base, is) {
            (None, None) => drop(overlay.documents.remove(path)),
            (base, now) => {
                let mode = mode.or(known.and_then(|known| known.mode)).filter(|_| base.is_none());
                overlay.documents.insert(path.clone(), OverlayDocument { base, now, mode });
            }
        }
    }
    check_disjoint(&overlay)?;
    // A kill before the record is written leaves unreferenced texts.
    for bytes in &kept {
        texts::write_text(files, Some(bytes))?;
    }
    overlay.used_at = overlay.used_at.max(now);
    store(files, name, &overlay)?;
    remove_expired(files, now)?;
    Ok(effects)
}

/// Whether a file defines which files are sources.
pub(super) fn rules(path: &str) -> bool {
    RULE_FILES.contains(&path.rsplit('/').next().unwrap_or(path))
}

/// Checks whether a path may have such a document.
fn check_allowed(path: &str, bytes: Option<&[u8]>) -> Result<(), OverlayError> {
    if rules(path) {
        let why = format!("{path} decides which files are sources, and no overlay can replace it");
        return Err(OverlayError::refused(
            ErrorCode::E_PATH,
            why,
            "",
            "change it in the workspace itself",
        ));
    }
    let Some(bytes) = bytes else { return Ok(()) };
    if bytes.len() > MOST_BYTES {
        return Err(huge(path));
    }
    decode(bytes).map(|_| ()).map_err(|why| {
        let hint = "an overlay contains text: change such a file in the workspace itself";
        OverlayError::refused(ErrorCode::E_ENCODING, format!("{path} cannot be put: {why}"), "", hint)
    })
}

fn huge(path: &str) -> OverlayError {
    let why = format!("{path} is larger than {} MiB", MOST_BYTES >> 20);
    OverlayError::refused(ErrorCode::E_TOO_LARGE, why, "", "an overlay contains source files")
}

/// Checks that no document is below another.
fn check_disjoint(overlay: &Overlay) -> Result<(), OverlayError> {
    let there = |path: &str| overlay.documents.get(path).is_some_and(|document| document.now.is_some());
    for path in overlay.documents.keys().filter(|path| there(path)) {
        let mut above = path.as_str();
        while let Some((folder, _)) = above.rsplit_once('/') {
            if there(folder) {
                let why = format!("{path} is below {folder}, which is a file in this overlay");
                return Err(OverlayError::refused(ErrorCode::E_PATH, why, "", "remove one of the two first"));
            }
            above = folder;
        }
    }
    Ok(())
}
