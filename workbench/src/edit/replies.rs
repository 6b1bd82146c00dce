//! `[edit] replies` of the manifest: in which form edits answer unless they are told.

use super::response::Level;
use toml::Table;

/// The level that a manifest wants. One that cannot be read wants none: edits mend it.
pub fn level_of_manifest(manifest: &[u8]) -> Level {
    let text = String::from_utf8_lossy(manifest);
    let table = text.parse::<Table>().unwrap_or_default();
    let replies = table.get("edit").and_then(|edit| edit.get("replies"));
    match replies.and_then(|replies| replies.as_str()) {
        Some("full") => Level::Full,
        _ => Level::default(),
    }
}
