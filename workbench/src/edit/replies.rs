//! `[edit]` of the manifest: the default level of detail of answers, and whether edits that lose names are refused.

use super::response::Level;
use toml::Table;

/// Reads the level from a manifest. An unreadable manifest gives the default, so that edits can repair it.
pub fn level_of_manifest(manifest: &[u8]) -> Level {
    match setting(manifest, "replies").as_deref() {
        Some("full") => Level::Full,
        _ => Level::default(),
    }
}

/// Whether a manifest says that edits which leave names without a meaning are refused.
pub fn refuses_lost_names(manifest: &[u8]) -> bool {
    setting(manifest, "on_lost").as_deref() == Some("refuse")
}

fn setting(manifest: &[u8], name: &str) -> Option<String> {
    let table = String::from_utf8_lossy(manifest).parse::<Table>().ok()?;
    Some(table.get("edit")?.get(name)?.as_str()?.to_owned())
}
