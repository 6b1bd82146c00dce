//! `[edit] replies` of the manifest: the default level of detail of answers.

use super::response::Level;
use toml::Table;

/// Reads the level from a manifest. An unreadable manifest gives the default, so that edits can repair it.
pub fn level_of_manifest(manifest: &[u8]) -> Level {
    let text = String::from_utf8_lossy(manifest);
    let table = text.parse::<Table>().unwrap_or_default();
    let replies = table.get("edit").and_then(|edit| edit.get("replies"));
    match replies.and_then(|replies| replies.as_str()) {
        Some("full") => Level::Full,
        _ => Level::default(),
    }
}
