//! `pin-version` and `unpin-version`: versions that neither History's limit nor gc deletes.

use super::history::why_no_versions;
use super::{Effect, Method};
use crate::code::Code;
use crate::desk::Desk;
use crate::desk::clock::current_seconds;
use crate::desk::names::one_label;
use crate::failed::Failed;
use engine::store::records::HistoryRecord;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use workbench::store_maintenance;

/// Keep a version of a target: neither History nor gc removes it.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Pin {
    /// The target.
    label: String,
    /// Number of the version in `cortex history` [default: the newest].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    version: Option<u32>,
    /// A note for `cortex history`.
    #[arg(long, value_name = "TEXT")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

/// The pinned version.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct PinnedVersion {
    /// Label of the target.
    label: String,
    /// Its number.
    version: u32,
    /// The note.
    note: Option<String>,
}

/// Remove the pin of a version.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Unpin {
    /// The target.
    label: String,
    /// Number of the version in `cortex history` [default: all pinned ones].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    version: Option<u32>,
}

/// The versions that are no longer pinned.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct UnpinnedVersions {
    /// Label of the target.
    label: String,
    /// Their numbers.
    versions: Vec<u32>,
}

impl Method for Pin {
    const NAME: &'static str = "pin-version";
    const EFFECT: Effect = Effect::Sets;
    type Answer = PinnedVersion;

    fn answer(&self, desk: &mut Desk<'_>) -> Result<PinnedVersion, Failed> {
        let (_, session) = desk.open_to_read()?;
        let label = one_label(session, &self.label, "pinned")?;
        let (store, view) = (&*session.engine.store, session.engine.view);
        let versions = store.history(view, &label)?;
        let version = find_version(&versions, self.version).ok_or_else(|| no_such_version(&versions, &label))?;
        if store.action(&version.key)?.is_none() && !store.has_blob(&version.output)? {
            let why = format!("version {} was evicted: nothing is left to keep", version.version);
            let why = Diagnostic::error(ErrorCode::E_COLLECTED, why).label(&label);
            return Err(Failed::new(
                Code::Usage,
                why.hint("pin a version that `cortex diff` can still show"),
            ));
        }
        store_maintenance::pin(store, view, &label, version, current_seconds(), self.note.clone())?;
        Ok(PinnedVersion {
            version: version.version,
            note: self.note.clone(),
            label,
        })
    }

    fn text(answer: &PinnedVersion) -> String {
        format!("pinned version {} of {}\n", answer.version, answer.label)
    }
}

/// Returns the version with a number, or the newest.
fn find_version(versions: &[HistoryRecord], number: Option<u32>) -> Option<&HistoryRecord> {
    match number {
        Some(number) => versions.iter().find(|version| version.version == number),
        None => versions.last(),
    }
}

/// Builds the failure of a target without the version.
fn no_such_version(versions: &[HistoryRecord], label: &str) -> Failed {
    let (what, hint) = if versions.is_empty() {
        let never = || ("it was never built in this checkout", format!("cortex build '{label}'"));
        why_no_versions(label).unwrap_or_else(never)
    } else {
        let there: Vec<String> = versions.iter().map(|version| version.version.to_string()).collect();
        let hint = format!("it has {}; see `cortex history '{label}'`", there.join(", "));
        ("it has no such version", hint)
    };
    let why = Diagnostic::error(ErrorCode::E_NO_VERSION, what).label(label);
    Failed::new(Code::Usage, why.hint(hint))
}

impl Method for Unpin {
    const NAME: &'static str = "unpin-version";
    const EFFECT: Effect = Effect::Sets;
    type Answer = UnpinnedVersions;

    fn answer(&self, desk: &mut Desk<'_>) -> Result<UnpinnedVersions, Failed> {
        let (_, session) = desk.open_to_read()?;
        // The label may no longer name a target; then use it as written.
        let label = one_label(session, &self.label, "unpinned").unwrap_or_else(|_| self.label.clone());
        let (store, view) = (&*session.engine.store, session.engine.view);
        let mut pins = store_maintenance::pins(store, view)?;
        pins.retain(|pin| pin.label == label && self.version.is_none_or(|version| version == pin.version));
        if pins.is_empty() {
            let why = Diagnostic::error(ErrorCode::E_NO_VERSION, "no such version is pinned").label(&label);
            let hint = format!("`cortex history '{label}'` marks those that are");
            return Err(Failed::new(Code::Usage, why.hint(hint)));
        }
        store_maintenance::unpin(store, view, &pins)?;
        let versions = pins.iter().map(|pin| pin.version).collect();
        Ok(UnpinnedVersions { label, versions })
    }

    fn text(answer: &UnpinnedVersions) -> String {
        let numbers: Vec<String> = answer.versions.iter().map(u32::to_string).collect();
        format!("unpinned version {} of {}\n", numbers.join(", "), answer.label)
    }
}
