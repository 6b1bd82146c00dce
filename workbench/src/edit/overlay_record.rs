//! Records of overlays as stored: `overlays/NAME.json` lists the documents, by the digests of their contents.

use super::files::Files;
use engine::values::digest::Digest;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;

/// Folder of the records.
const FOLDER: &str = "overlays";
/// Longest name, in characters.
const LONGEST_NAME: usize = 64;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Overlay {
    /// When it was opened, in seconds since 1970.
    pub opened_at: u64,
    /// The files at that time, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opened_on: Option<OpenedOn>,
    /// When it was last opened, changed or built in, in seconds since 1970, give or take a minute.
    pub used_at: u64,
    /// Seconds from the overlay's last use to its end.
    pub lifetime: u64,
    /// Documents of the overlay, by path of the real file below the workspace.
    pub documents: BTreeMap<String, OverlayDocument>,
}

/// The files at the opening of an overlay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OpenedOn {
    /// The list, stored as a text: lines of a digest and a path.
    pub tree: Digest,
    /// Files that differ from the list; `None`: there was no file.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub but: BTreeMap<String, Option<Digest>>,
}

/// A document of an overlay. Texts are named by their digests; `None`: no such file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OverlayDocument {
    /// The file when the document was first put, or when a merge began.
    pub base: Option<Digest>,
    pub now: Option<Digest>,
    /// Permissions of a file that the workspace does not have, where a patch renamed it; else the usual ones apply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<u32>,
}

/// An overlay in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    pub name: String,
    /// Record of the overlay; `None` if it is damaged.
    pub overlay: Option<Overlay>,
}

impl Overlay {
    /// Returns when the overlay ends without further use, in seconds since 1970.
    pub fn expires_at(&self) -> u64 {
        self.used_at.saturating_add(self.lifetime)
    }

    pub fn is_over(&self, now: u64) -> bool {
        self.expires_at() <= now
    }

    /// Returns the digests of the contents that the overlay refers to.
    pub(super) fn contents(&self) -> impl Iterator<Item = Digest> {
        let documents = self.documents.values().flat_map(|document| [document.base, document.now]);
        documents.flatten().chain(self.opened_on.as_ref().map(|opened| opened.tree))
    }

    /// Whether all paths are valid for documents: the checkout's author may have written the record, too.
    fn is_sound(&self) -> bool {
        let plain = |path: &String| path.split('/').all(|part| !matches!(part, "" | "." | "..")) && !path.contains(char::is_control);
        self.documents.keys().all(plain)
    }
}

pub(crate) fn overlay_note_name(name: &str) -> String {
    format!("{FOLDER}/{name}.json")
}

/// Whether a text can name an overlay.
pub(crate) fn is_overlay_name(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    !name.is_empty() && name.len() <= LONGEST_NAME && !name.starts_with(['.', '-']) && name.chars().all(is_plain)
}

/// Reads the record of an overlay: `None` if there is none, `Some(None)` if it is damaged.
pub(crate) fn read_overlay_record<F: Files>(files: &F, name: &str) -> io::Result<Option<Option<Overlay>>> {
    let bytes = files.read_note(&overlay_note_name(name))?;
    let sound = |bytes: Vec<u8>| serde_json::from_slice(&bytes).ok().filter(Overlay::is_sound);
    Ok(bytes.map(sound))
}

/// Returns all overlays by name, also expired and damaged ones.
pub fn list_overlays<F: Files>(files: &F) -> io::Result<Vec<Listed>> {
    let mut listed = Vec::new();
    for (file, _) in files.notes(FOLDER)? {
        let Some(name) = file.strip_suffix(".json").filter(|name| is_overlay_name(name)) else {
            continue;
        };
        // Skip an overlay that was removed since the listing.
        if let Some(overlay) = read_overlay_record(files, name)? {
            let name = name.to_owned();
            listed.push(Listed { name, overlay });
        }
    }
    Ok(listed)
}
