//! `[edit]` of the manifest: the default level of detail of answers, whether edits that lose names are refused, and the compiler check.

use super::response::Level;
use toml::Table;

/// Reads the level from a manifest. An unreadable manifest gives the default, so that edits can repair it.
pub fn level_of_manifest(manifest: &[u8]) -> Level {
    match setting(manifest, "replies").as_deref() {
        Some("full") => Level::Full,
        _ => Level::default(),
    }
}

/// Whether a manifest refuses edits that leave names without a meaning.
pub fn refuses_lost_names(manifest: &[u8]) -> bool {
    setting(manifest, "on_lost").as_deref() == Some("refuse")
}

/// A command that compiles the texts after an edit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckSetting {
    /// A shell line.
    pub command: String,
    /// Time limit in seconds.
    pub seconds: u64,
}

/// Time limit in seconds, unless the manifest sets one.
const CHECK_SECONDS: u64 = 120;

/// Reads `[edit] check` from a manifest.
pub fn check_of_manifest(manifest: &[u8]) -> Option<CheckSetting> {
    let command = setting(manifest, "check").filter(|command| !command.trim().is_empty())?;
    let table = String::from_utf8_lossy(manifest).parse::<Table>().ok()?;
    let seconds = table.get("edit")?.get("check_seconds").and_then(toml::Value::as_integer);
    Some(CheckSetting {
        command,
        seconds: seconds.and_then(|seconds| u64::try_from(seconds).ok()).unwrap_or(CHECK_SECONDS),
    })
}

fn setting(manifest: &[u8], name: &str) -> Option<String> {
    let table = String::from_utf8_lossy(manifest).parse::<Table>().ok()?;
    Some(table.get("edit")?.get(name)?.as_str()?.to_owned())
}
