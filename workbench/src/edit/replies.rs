//! `[edit]` of the manifest: the default level of detail of answers, whether edits that lose names are refused, and the compiler that looks at edits.

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

/// A compiler that is run on the texts after an edit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckSetting {
    /// A line for `sh`.
    pub command: String,
    /// Seconds that it may take.
    pub seconds: u64,
}

/// Seconds that a check may take unless the manifest says otherwise.
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
