//! Overlays: named views over a workspace in which some documents stand in place of files. Several live side by side; files that an overlay
//! does not hold are those of the workspace. An overlay is kept in `.cortex/overlays/NAME/`: `overlay.json` says which documents there are, and
//! each text that a document had, or that its file had when it was first put, is a file named by its digest.
//!
//! What is built in one shares every result with the workspace: [`over`] gives the engine of it.

pub mod merge;

use crate::checkout;
use crate::location::MANIFEST;
use engine::build::engine::Engine;
use engine::files::overlaid::{Documents, Overlaid};
use engine::seams::annotate::Unannotated;
use engine::store::ViewId;
use engine::store::aside::Aside;
use engine::values::diagnostic::Diagnostic;
use engine::values::digest::Digest;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;

const FOLDER: &str = ".cortex/overlays";
const RECORD: &str = "overlay.json";
/// A record, and a document, of more bytes is refused.
const MOST_BYTES: usize = 64 << 20;
/// Longest name, in characters.
const LONGEST_NAME: usize = 64;
/// Seconds that an overlay lives after its last use unless another time is asked for: a week.
pub const LIFETIME: u64 = 7 * 24 * 3600;

/// An overlay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Overlay {
    /// When it was opened, in seconds since 1970.
    pub opened_at: u64,
    /// When it was last opened, changed or built in.
    pub used_at: u64,
    /// Seconds that it lives after its last use.
    pub lifetime: u64,
    /// Its documents, by path below the workspace.
    pub documents: BTreeMap<String, Document>,
}

/// A document of an overlay. Texts are told by their digests; `None`: there is no such file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Document {
    /// What the file was when the document was first put.
    pub base: Option<Digest>,
    /// What it has been since then; the last is what it is.
    pub versions: Vec<Option<Digest>>,
}

impl Document {
    /// What it is.
    pub fn now(&self) -> Option<Digest> {
        self.versions.last().copied().flatten()
    }
}

impl Overlay {
    /// When it ends if it is not used before.
    pub fn expires_at(&self) -> u64 {
        self.used_at.saturating_add(self.lifetime)
    }
}

/// Why an overlay cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum OverlayError {
    /// What was asked for cannot be.
    #[error("{}", .0.message)]
    Asked(Box<Diagnostic>),
    /// Its files cannot be read or written.
    #[error("the overlay cannot be kept: {0}")]
    Io(#[from] io::Error),
}

fn asked(diagnostic: Diagnostic) -> OverlayError {
    OverlayError::Asked(Box::new(diagnostic))
}

fn record(name: &str) -> String {
    format!("{FOLDER}/{name}/{RECORD}")
}

fn text(name: &str, digest: &Digest) -> String {
    format!("{FOLDER}/{name}/{digest}")
}

/// Whether a text can name an overlay.
fn named(name: &str) -> Result<(), OverlayError> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if name.is_empty() || name.len() > LONGEST_NAME || name.starts_with('.') || !name.chars().all(is_plain) {
        let why = Diagnostic::error("E_OVERLAY", "this cannot name an overlay").found(name.chars().take(120).collect::<String>());
        return Err(asked(why.hint("use up to 64 letters, digits, '-', '_' and '.', and no '.' at its beginning")));
    }
    Ok(())
}

/// A path below the workspace that a document may have: no other name for another place, and nothing of git, of cortex or the manifest.
pub fn placed(path: &str) -> Result<(), OverlayError> {
    let refused = |what: &str, hint: &str| {
        let why = Diagnostic::error("E_PATH", what).found(path.chars().take(120).collect::<String>());
        Err(asked(why.hint(hint)))
    };
    let is_plain = |part: &str| !part.is_empty() && part != "." && part != ".." && !part.contains(['\\', '\0']);
    if path.len() > 4096 || !path.split('/').all(is_plain) {
        return refused(
            "this is no path below the workspace",
            "write it relative to the workspace, with '/' and without '.' and '..'",
        );
    }
    if path == MANIFEST || path.split('/').any(|part| part.eq_ignore_ascii_case(".git")) || path.starts_with(".cortex/") {
        return refused(
            "this belongs to git or to cortex, and no overlay stands over it",
            "change it in the workspace itself",
        );
    }
    Ok(())
}

fn missing(root: &Path, name: &str) -> OverlayError {
    let known = checkout::list(root, FOLDER).unwrap_or_default();
    let near = engine::values::suggest::nearest(name, known.iter().map(String::as_str), 5);
    let why = Diagnostic::error("E_NO_OVERLAY", "there is no overlay of this name").found(name.chars().take(120).collect::<String>());
    let hint = match near.first() {
        Some(first) => format!("did you mean {first}?"),
        None => "`cortex overlay open NAME` opens one, `cortex overlay list` lists those that there are".to_owned(),
    };
    asked(why.hint(hint).candidates(near))
}

/// Opens an overlay, or goes on with the one of that name. Whether it is new.
///
/// # Errors
/// When the name cannot be one, or the overlay cannot be kept.
pub fn open(root: &Path, name: &str, lifetime: Option<u64>, now: u64) -> Result<(Overlay, bool), OverlayError> {
    named(name)?;
    expire(root, now)?;
    let mut opened = None;
    checkout::change(root, &record(name), MOST_BYTES, |bytes| -> Result<_, OverlayError> {
        let known: Option<Overlay> = bytes.and_then(|bytes| serde_json::from_slice(bytes).ok());
        let is_new = known.is_none();
        let mut overlay = known.unwrap_or(Overlay {
            opened_at: now,
            used_at: now,
            lifetime: LIFETIME,
            documents: BTreeMap::new(),
        });
        overlay.used_at = now;
        overlay.lifetime = lifetime.unwrap_or(overlay.lifetime);
        let bytes = serde_json::to_vec_pretty(&overlay).map_err(io::Error::from)?;
        opened = Some((overlay, is_new));
        Ok(Some(bytes))
    })?;
    Ok(opened.expect("invariant: the change was asked for its bytes"))
}

/// An overlay as it is.
///
/// # Errors
/// When there is none of that name, or it cannot be read.
pub fn read(root: &Path, name: &str) -> Result<Overlay, OverlayError> {
    named(name)?;
    let bytes = checkout::read(root, &record(name), MOST_BYTES)?.ok_or_else(|| missing(root, name))?;
    serde_json::from_slice(&bytes).map_err(|error| {
        let why = Diagnostic::error("E_OVERLAY", format!("the record of overlay {name} is damaged: {error}"));
        asked(why.hint(format!("`cortex overlay discard {name}` removes it")))
    })
}

/// All overlays by name; a record that is damaged is left out.
///
/// # Errors
/// When they cannot be read.
pub fn list(root: &Path) -> Result<Vec<(String, Overlay)>, OverlayError> {
    let names = checkout::list(root, FOLDER)?;
    Ok(names
        .into_iter()
        .filter_map(|name| Some((name.clone(), read(root, &name).ok()?)))
        .collect())
}

/// A document to put: its path, what its file is now, and what it is to be.
pub struct Putting<'b> {
    /// Below the workspace.
    pub path: &'b str,
    /// The file as it is; `None` where there is none.
    pub file: Option<&'b [u8]>,
    /// The document; `None`: there is no such file.
    pub document: Option<&'b [u8]>,
}

/// Puts documents, all of them or none. What they were stays known until the overlay ends.
///
/// # Errors
/// When there is no such overlay, a path cannot be, a document is too large, or they cannot be kept.
pub fn put(root: &Path, name: &str, puttings: &[Putting<'_>], now: u64) -> Result<Overlay, OverlayError> {
    read(root, name)?;
    for putting in puttings {
        placed(putting.path)?;
        for bytes in [putting.file, putting.document].into_iter().flatten() {
            if bytes.len() > MOST_BYTES {
                let why = Diagnostic::error("E_TOO_LARGE", format!("{} is larger than {} MiB", putting.path, MOST_BYTES >> 20));
                return Err(asked(why.hint("an overlay holds source files")));
            }
            // Before the record names it: a kill in between leaves a text that nothing names.
            checkout::write(root, &text(name, &Digest::of(bytes)), bytes)?;
        }
    }
    change(root, name, |overlay| {
        overlay.used_at = now;
        for putting in puttings {
            let document = overlay.documents.entry(putting.path.to_owned()).or_insert_with(|| Document {
                base: putting.file.map(Digest::of),
                versions: Vec::new(),
            });
            let becomes = putting.document.map(Digest::of);
            if document.versions.last() != Some(&becomes) {
                document.versions.push(becomes);
            }
        }
    })
}

/// Takes documents out again: their files are seen as they are.
///
/// # Errors
/// When there is no such overlay, or it cannot be kept.
pub fn drop_documents(root: &Path, name: &str, paths: &[&str], now: u64) -> Result<Overlay, OverlayError> {
    change(root, name, |overlay| {
        overlay.used_at = now;
        overlay.documents.retain(|path, _| !paths.contains(&path.as_str()));
    })
}

/// Notes that it was used.
///
/// # Errors
/// When it cannot be kept.
pub fn used(root: &Path, name: &str, now: u64) -> Result<Overlay, OverlayError> {
    change(root, name, |overlay| overlay.used_at = now)
}

fn change(root: &Path, name: &str, change: impl FnOnce(&mut Overlay)) -> Result<Overlay, OverlayError> {
    named(name)?;
    let mut changed = None;
    checkout::change(root, &record(name), MOST_BYTES, |bytes| -> Result<_, OverlayError> {
        let mut overlay: Overlay = bytes
            .and_then(|bytes| serde_json::from_slice(bytes).ok())
            .ok_or_else(|| missing(root, name))?;
        change(&mut overlay);
        let bytes = serde_json::to_vec_pretty(&overlay).map_err(io::Error::from)?;
        changed = Some(overlay);
        Ok(Some(bytes))
    })?;
    Ok(changed.expect("invariant: the change was asked for its bytes"))
}

/// A text that an overlay keeps.
///
/// # Errors
/// When it is not there, or is another.
pub fn kept(root: &Path, name: &str, digest: &Digest) -> Result<Vec<u8>, OverlayError> {
    let bytes = checkout::read(root, &text(name, digest), MOST_BYTES)?;
    bytes.filter(|bytes| Digest::of(bytes) == *digest).ok_or_else(|| {
        let why = Diagnostic::error("E_OVERLAY", format!("a text of overlay {name} is damaged or gone")).found(digest.to_string());
        asked(why.hint("put the document again, or discard the overlay"))
    })
}

/// What stands in place of files.
///
/// # Errors
/// When a text is not there.
pub fn documents(root: &Path, name: &str, overlay: &Overlay) -> Result<Documents, OverlayError> {
    let texts = overlay.documents.iter().map(|(path, document)| {
        let bytes = document.now().map(|digest| kept(root, name, &digest)).transpose()?;
        Ok((path.clone(), bytes.map(Arc::from)))
    });
    texts.collect()
}

/// Removes an overlay with all its texts. Whether there was one.
///
/// # Errors
/// When it cannot be removed.
pub fn discard(root: &Path, name: &str) -> Result<bool, OverlayError> {
    named(name)?;
    let folder = format!("{FOLDER}/{name}");
    // Without its record it is none any more, whatever else is still there.
    let was = checkout::remove(root, &record(name))?;
    for text in checkout::list(root, &folder)? {
        checkout::remove(root, &format!("{folder}/{text}"))?;
    }
    checkout::remove_folder(root, &folder)?;
    Ok(was)
}

/// Removes overlays whose time is over; their names.
///
/// # Errors
/// When they cannot be read or removed.
pub fn expire(root: &Path, now: u64) -> Result<Vec<String>, OverlayError> {
    let over: Vec<String> = list(root)?
        .into_iter()
        .filter(|(_, overlay)| overlay.expires_at() < now)
        .map(|(name, _)| name)
        .collect();
    for name in &over {
        discard(root, name)?;
    }
    Ok(over)
}

/// The engine of an overlay: documents in place of files, and of what it builds only results are kept. Nothing of it is sent to other machines.
pub fn over(engine: Engine, documents: Documents) -> Engine {
    Engine {
        world: Arc::new(Overlaid::new(engine.world, documents)),
        store: Arc::new(Aside::of(engine.store)),
        annotate: Arc::new(Unannotated),
        sharing: None,
        ..engine
    }
}

/// What builds in an overlay claim, so that a collection knows of them: no checkout's view.
pub fn claimed(view: ViewId, name: &str) -> ViewId {
    let Digest([a, b, c, d, e, f, g, h, ..]) = Digest::of(format!("overlay\0{}\0{name}", view.0).as_bytes());
    ViewId(u64::from_be_bytes([a, b, c, d, e, f, g, h]))
}
