//! Documents put into overlays and taken out again. What a document was made of is kept with it: that is what a merge starts from. It is what the file
//! was when the overlay was opened, unless who puts it says that he knows the file as it is now.

use super::OverlayError;
use super::record::{Document, Overlay, collect, find, store};
use super::texts;
use crate::edit::encoding::{self, Encoding, PLAIN, decode};
use crate::edit::files::Files;
use crate::edit::run::no_text;
use engine::values::codes::ErrorCode;
use engine::values::digest::Digest;

/// A document, or a file under it, of more bytes is refused.
pub const MOST_BYTES: usize = 64 << 20;

/// Files that say which files are sources: over them an overlay would not show what the workspace would be.
const RULE_FILES: [&str; 2] = [".gitignore", ".ignore"];

/// What a path is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Put {
    /// A file of these bytes.
    Bytes(Vec<u8>),
    /// A file of this text, written as the file is now or as told; its line ends are as they stand.
    Text(String, Option<Encoding>),
    /// No file.
    Delete,
    /// What it is in the workspace: the document goes.
    Drop,
}

/// What became of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Became {
    /// It is another text.
    Changed,
    /// It is a file that the workspace had not.
    Added,
    /// It is no file any more.
    Removed,
    /// It is that of the workspace again.
    Dropped,
    /// It was so before.
    Same,
}

/// Puts a document: the path of the real file that was meant, and what became of it.
///
/// # Errors
/// When there is no such overlay, the path cannot be, the file was changed since the overlay was opened, the text is none, or it cannot be kept.
pub fn put_document<F: Files>(files: &F, name: &str, path: &str, what: &Put, now: u64) -> Result<(String, Became, Overlay), OverlayError> {
    put_over(files, name, path, what, false, now)
}

/// Puts a document that was made of the file as it is now, if `onto_now`: that is what a merge starts from then, whatever it was before. Else it was
/// made of what the overlay was opened on.
///
/// # Errors
/// As of [`put_document`].
pub fn put_over<F: Files>(
    files: &F,
    name: &str,
    path: &str,
    what: &Put,
    onto_now: bool,
    now: u64,
) -> Result<(String, Became, Overlay), OverlayError> {
    find(files, name, now)?;
    let _alone = files.lock_for_editing()?;
    let overlay = find(files, name, now)?;
    // What lies in its place by now may keep a document from being merged, and must not keep it from being dropped.
    let recorded = recorded(path);
    if *what == Put::Drop && overlay.documents.contains_key(&recorded) {
        let became = drop_one(files, name, overlay, &recorded, now)?;
        return Ok((recorded, became, find(files, name, now)?));
    }
    let real = files.resolve(path).map_err(|why| OverlayError::path(path, &why))?;
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
            let became = drop_one(files, name, overlay, &real, now)?;
            return Ok((real, became, find(files, name, now)?));
        }
    };
    let one = Putting {
        path: real.clone(),
        bytes,
        mode: None,
        of: if onto_now { MadeOf::Now } else { MadeOf::Opening },
    };
    let became = put_all(files, name, &[one], now)?;
    Ok((real, became[0], find(files, name, now)?))
}

/// A path as records have it, wherever it leads.
fn recorded(path: &str) -> String {
    let parts: Vec<&str> = path.split('/').filter(|part| *part != ".").collect();
    parts.join("/")
}

/// The bytes of a text in the encoding that the path has.
fn encode_text<F: Files>(files: &F, overlay: &Overlay, path: &str, text: &str, told: Option<Encoding>) -> Result<Vec<u8>, OverlayError> {
    let encoding = match told {
        Some(encoding) => encoding,
        None => {
            let bytes = match overlay.documents.get(path) {
                Some(document) => texts::read_overlay_text(files, document.now.as_ref())?,
                None => file(files, path)?,
            };
            bytes.and_then(|bytes| decode(&bytes).ok()).map_or(PLAIN, |(_, encoding)| encoding)
        }
    };
    encoding::encode(text.to_owned(), encoding).map_err(|why| {
        let hint = "give the text in another encoding, or leave out what it lacks";
        OverlayError::refused(ErrorCode::E_ENCODING, format!("{path}: {why}"), "", hint)
    })
}

fn drop_one<F: Files>(files: &F, name: &str, mut overlay: Overlay, path: &str, now: u64) -> Result<Became, OverlayError> {
    unmerged(name, &overlay)?;
    if overlay.documents.remove(path).is_none() {
        return Ok(Became::Same);
    }
    overlay.used_at = overlay.used_at.max(now);
    store(files, name, &overlay)?;
    collect(files, now)?;
    Ok(Became::Dropped)
}

/// A file of the workspace.
fn file<F: Files>(files: &F, path: &str) -> Result<Option<Vec<u8>>, OverlayError> {
    let found = files.read(path).map_err(|error| {
        let hint = "an overlay stands over text files; check what lies there";
        OverlayError::refused(ErrorCode::E_READ, format!("{path} cannot be read: {error}"), "", hint)
    })?;
    Ok(found.map(|found| found.bytes))
}

/// Whether a file, that is to go if `goes`, is what the overlay was opened on: a document that was made of that would take back what others did
/// since.
fn unmoved<F: Files>(files: &F, name: &str, overlay: &Overlay, path: &str, is: Option<Digest>, goes: bool) -> Result<(), OverlayError> {
    let Some(opened) = &overlay.opened_on else { return Ok(()) };
    let made_of_now = match goes {
        true => "look at what is there now, and say with --onto-now (ontoNow) that it is to go all the same",
        false => "make the document of what is there now and put it with --onto-now (ontoNow), or change it by `overlay apply`",
    };
    let (done, harm, hint) = match (opened.file(files, path)?, is) {
        (was, is) if was == is => return Ok(()),
        // Of files that are not noted it is not known what they were.
        (None, Some(_)) if !files.is_in_tree(path)? => return Ok(()),
        (None, _) => (
            "added",
            "a document that was not made of it would take away what it holds",
            made_of_now,
        ),
        (_, None) => {
            let hint = "put it with --onto-now (ontoNow) if the file is to be there again";
            ("removed", "merging a document of it would bring it back", hint)
        }
        _ => (
            "changed",
            "a document made of what it was then would take that change back",
            made_of_now,
        ),
    };
    let why = format!("{path} was {done} since the overlay {name} was opened: {harm}");
    Err(OverlayError::refused(ErrorCode::E_OVERLAY, why, "", hint))
}

/// A file that edits would refuse is not written over.
fn editable(path: &str, base: Option<&[u8]>) -> Result<(), OverlayError> {
    base.map_or(Ok(()), |base| decode(base).map(|_| ())).map_err(|why| {
        let told = no_text(path, &why);
        OverlayError::refused(ErrorCode::E_ENCODING, told.summary, "", told.guidance.unwrap_or_default())
    })
}

/// A merge that was cut short is ended before anything else is changed.
fn unmerged(name: &str, overlay: &Overlay) -> Result<(), OverlayError> {
    if overlay.merging.is_empty() {
        return Ok(());
    }
    let why = format!("a merge of the overlay {name} was cut short, and some of its files are in the workspace");
    let hint = format!("`cortex overlay merge {name}` brings it to its end");
    Err(OverlayError::refused(ErrorCode::E_OVERLAY, why, "", hint))
}

/// What a real file is to be: its bytes, and permissions where it is a new one.
pub(super) struct Putting {
    pub(super) path: String,
    pub(super) bytes: Option<Vec<u8>>,
    pub(super) mode: Option<u32>,
    pub(super) of: MadeOf,
}

/// What a document was made of.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum MadeOf {
    /// What the overlay was opened on, or its document of before.
    Opening,
    /// What the overlay shows: its document of before, or the file as it is now.
    Shown,
    /// The file as it is now.
    Now,
}

/// Puts documents of real files, all of them or none. The lock is held.
pub(super) fn put_all<F: Files>(files: &F, name: &str, puts: &[Putting], now: u64) -> Result<Vec<Became>, OverlayError> {
    let mut overlay = find(files, name, now)?;
    unmerged(name, &overlay)?;
    let mut became = Vec::with_capacity(puts.len());
    let mut kept: Vec<Vec<u8>> = Vec::new();
    for Putting { path, bytes, mode, of } in puts {
        allowed(path, bytes.as_deref())?;
        let is = bytes.as_deref().map(Digest::of);
        let known = overlay.documents.get(path).cloned();
        let base = match &known {
            Some(document) if *of != MadeOf::Now => {
                // It was to go, and is to be written after all.
                if document.now.is_none() && is.is_some() {
                    editable(path, texts::read_overlay_text(files, document.base.as_ref())?.as_deref())?;
                }
                document.base
            }
            _ => {
                let base = file(files, path)?;
                if base.as_ref().is_some_and(|base| base.len() > MOST_BYTES) {
                    return Err(huge(path));
                }
                if is.is_some() {
                    editable(path, base.as_deref())?;
                }
                let digest = base.as_deref().map(Digest::of);
                if *of == MadeOf::Opening && (digest, is) != (None, None) {
                    unmoved(files, name, &overlay, path, digest, is.is_none())?;
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
        became.push(match (base, is) {
            (base, is) if known.as_ref().is_some_and(|known| (known.base, known.now) == (base, is)) => Became::Same,
            (None, None) => Became::Dropped,
            (_, None) => Became::Removed,
            (None, Some(_)) => Became::Added,
            (Some(_), Some(_)) => Became::Changed,
        });
        kept.extend(bytes.clone());
        match (base, is) {
            (None, None) => drop(overlay.documents.remove(path)),
            (base, now) => {
                let mode = mode.or(known.and_then(|known| known.mode)).filter(|_| base.is_none());
                overlay.documents.insert(path.clone(), Document { base, now, mode });
            }
        }
    }
    apart(&overlay)?;
    // A kill before the record is written leaves texts that nothing names.
    for bytes in &kept {
        texts::write_text(files, Some(bytes))?;
    }
    overlay.used_at = overlay.used_at.max(now);
    store(files, name, &overlay)?;
    collect(files, now)?;
    Ok(became)
}

/// Whether a file says which files are sources.
pub(super) fn rules(path: &str) -> bool {
    RULE_FILES.contains(&path.rsplit('/').next().unwrap_or(path))
}

/// Whether a path may have such a document.
fn allowed(path: &str, bytes: Option<&[u8]>) -> Result<(), OverlayError> {
    if rules(path) {
        let why = format!("{path} says which files are sources, and no overlay stands over it");
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
        let hint = "an overlay holds text: change such a file in the workspace itself";
        OverlayError::refused(ErrorCode::E_ENCODING, format!("{path} cannot be put: {why}"), "", hint)
    })
}

fn huge(path: &str) -> OverlayError {
    let why = format!("{path} is larger than {} MiB", MOST_BYTES >> 20);
    OverlayError::refused(ErrorCode::E_TOO_LARGE, why, "", "an overlay holds source files")
}

/// No document lies below another.
fn apart(overlay: &Overlay) -> Result<(), OverlayError> {
    let there = |path: &str| overlay.documents.get(path).is_some_and(|document| document.now.is_some());
    for path in overlay.documents.keys().filter(|path| there(path)) {
        let mut above = path.as_str();
        while let Some((folder, _)) = above.rsplit_once('/') {
            if there(folder) {
                let why = format!("{path} lies below {folder}, which is a file in this overlay");
                return Err(OverlayError::refused(ErrorCode::E_PATH, why, "", "take one of the two away first"));
            }
            above = folder;
        }
    }
    Ok(())
}
