//! The files of the workspace when an overlay was opened. They show whether other writers changed, added or removed a file since.
//!
//! Overlays opened on nearly the same files share one list, and each stores its differences.

use super::OverlayError;
use super::texts;
use crate::edit::files::Files;
use crate::edit::overlay_record::{OpenedOn, list_overlays};
use crate::edit::tree::Tree;
use engine::values::codes::ErrorCode;
use engine::values::digest::Digest;
use std::collections::BTreeMap;

/// Overlays share a list if at most one file in this many differs.
const SHARED: usize = 16;

impl OpenedOn {
    /// Records the present files. The caller has acquired the editing lock.
    pub(super) fn from_present_files<F: Files>(files: &F) -> Result<Self, OverlayError> {
        let now = files.tree()?;
        let opened = list_overlays(files)?.into_iter().filter_map(|listed| listed.overlay);
        let last = opened.max_by_key(|overlay| overlay.opened_at).and_then(|overlay| overlay.opened_on);
        if let Some(Self { tree, .. }) = last
            && let Ok(Some(text)) = texts::read_overlay_text(files, Some(&tree))
        {
            let but = differences(&text, &now);
            if but.len() * SHARED <= now.len() {
                return Ok(Self { tree, but });
            }
        }
        let text: String = now.iter().map(|(path, digest)| format!("{digest} {path}\n")).collect();
        let tree = Digest::of(text.as_bytes());
        texts::write_text(files, Some(text.as_bytes()))?;
        Ok(Self {
            tree,
            but: BTreeMap::new(),
        })
    }

    /// Returns the digest of a file at the opening; `None`: there was none, or it is not recorded.
    pub(super) fn digest_at_opening<F: Files>(&self, files: &F, path: &str) -> Result<Option<Digest>, OverlayError> {
        if let Some(other) = self.but.get(path) {
            return Ok(*other);
        }
        let text = texts::read_overlay_text(files, Some(&self.tree)).map_err(|error| match error {
            OverlayError::Asked(_) => {
                let hint = "put documents that are based on the present files with --onto-now (ontoNow), or discard the overlay";
                OverlayError::refused(
                    ErrorCode::E_OVERLAY,
                    "the record of the files from when the overlay was opened is damaged or missing",
                    "",
                    hint,
                )
            }
            other => other,
        });
        let text = text?.unwrap_or_default();
        Ok(digest_lines(&text).find(|(listed, _)| *listed == path).map(|(_, digest)| digest))
    }
}

fn digest_lines(text: &[u8]) -> impl Iterator<Item = (&str, Digest)> {
    let lines = str::from_utf8(text).unwrap_or_default().lines();
    lines
        .filter_map(|line| line.split_once(' '))
        .filter_map(|(digest, path)| Some((path, Digest::parse(digest)?)))
}

fn differences(text: &[u8], now: &Tree) -> BTreeMap<String, Option<Digest>> {
    let then: BTreeMap<&str, Digest> = digest_lines(text).collect();
    let mut but: BTreeMap<String, Option<Digest>> = BTreeMap::new();
    for (path, digest) in now {
        if then.get(path.as_str()) != Some(digest) {
            but.insert(path.clone(), Some(*digest));
        }
    }
    let gone = then.keys().filter(|path| !now.contains_key(**path));
    but.extend(gone.map(|path| ((*path).to_owned(), None)));
    but
}
