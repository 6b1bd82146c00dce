//! `[edit] replies` of the manifest: in which form edits answer unless they are told.

use super::response::Level;
use std::path::Path;
use toml::Table;

/// The level that the manifest of a workspace wants. A manifest that cannot be read wants none: edits mend it.
pub fn usual(root: &Path) -> Level {
    let text = std::fs::read_to_string(root.join("cortex.toml")).unwrap_or_default();
    let table = text.parse::<Table>().unwrap_or_default();
    let replies = table.get("edit").and_then(|edit| edit.get("replies"));
    match replies.and_then(|replies| replies.as_str()) {
        Some("full") => Level::Full,
        _ => Level::default(),
    }
}
