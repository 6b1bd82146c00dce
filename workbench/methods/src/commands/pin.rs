//! `cortex pin-version` and `cortex unpin-version`: versions that neither History's limit nor gc deletes.

use super::CommandAnswer;
use crate::catalog::history::why_no_versions;
use crate::code::Code;
use crate::desk::clock::current_seconds;
use crate::desk::names::one_label;
use crate::desk::request_context::RequestContext;
use crate::failed::Failed;
use clap::Args;
use engine::store::pins::Pin;
use engine::store::records::HistoryRecord;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use serde_json::json;
use workbench::store_maintenance;

/// Keep a version of a target: neither History nor gc removes it.
#[derive(Debug, Args)]
pub struct PinVersionArgs {
    /// The target.
    pub label: String,
    /// Number of the version in `cortex history` [default: the newest].
    pub version: Option<u32>,
    /// A note for `cortex history`.
    #[arg(long, value_name = "TEXT")]
    pub note: Option<String>,
}

/// Remove the pin of a version.
#[derive(Debug, Args)]
pub struct UnpinVersionArgs {
    /// The target.
    pub label: String,
    /// Number of the version in `cortex history` [default: all pinned ones].
    pub version: Option<u32>,
}

/// Pins a version.
///
/// # Errors
/// When there is no such version, or nothing is left of it.
pub fn pin(context: &RequestContext, args: &PinVersionArgs) -> Result<CommandAnswer, Failed> {
    let workspace = context.workspace("pin-version")?;
    let mut session = workspace.session()?;
    let label = one_label(&mut session, &args.label, "pinned")?;
    let (store, view) = (&*session.engine.store, session.engine.view);
    let versions = store.history(view, &label)?;
    let Some(version) = find_version(&versions, args.version) else {
        let there: Vec<String> = versions.iter().map(|version| version.version.to_string()).collect();
        let (what, hint) = if versions.is_empty() {
            let never = || ("it was never built in this checkout", format!("cortex build '{label}'"));
            why_no_versions(&label).unwrap_or_else(never)
        } else {
            (
                "it has no such version",
                format!("it has {}; see `cortex history '{label}'`", there.join(", ")),
            )
        };
        return Err(Failed::new(
            Code::Usage,
            Diagnostic::error(ErrorCode::E_NO_VERSION, what).label(&label).hint(hint),
        ));
    };
    if store.action(&version.key)?.is_none() && !store.has_blob(&version.output)? {
        let why = Diagnostic::error(
            ErrorCode::E_COLLECTED,
            format!("version {} was evicted: nothing is left to keep", version.version),
        );
        return Err(Failed::new(
            Code::Usage,
            why.label(&label).hint("pin a version that `cortex diff` can still show"),
        ));
    }
    store_maintenance::pin(store, view, &label, version, current_seconds(), args.note.clone())?;
    let text = format!("pinned version {} of {label}\n", version.version);
    let document = json!({"label": label, "version": version.version, "note": args.note});
    Ok(CommandAnswer::new(text, &document))
}

/// Returns the version with a number, or the newest.
fn find_version(versions: &[HistoryRecord], number: Option<u32>) -> Option<&HistoryRecord> {
    match number {
        Some(number) => versions.iter().find(|version| version.version == number),
        None => versions.last(),
    }
}

/// Removes pins.
///
/// # Errors
/// When no such version is pinned.
pub fn unpin(context: &RequestContext, args: &UnpinVersionArgs) -> Result<CommandAnswer, Failed> {
    let workspace = context.workspace("unpin-version")?;
    let (store, view) = (&*workspace.engine.store, workspace.engine.view);
    let all = store_maintenance::pins(store, view)?;
    let mut session = workspace.session()?;
    // The label may no longer name a target; then use it as written.
    let label = one_label(&mut session, &args.label, "unpinned").unwrap_or_else(|_| args.label.clone());
    let pins: Vec<Pin> = all
        .into_iter()
        .filter(|pin| pin.label == label && args.version.is_none_or(|version| version == pin.version))
        .collect();
    if pins.is_empty() {
        let why = Diagnostic::error(ErrorCode::E_NO_VERSION, "no such version is pinned").label(&label);
        return Err(Failed::new(
            Code::Usage,
            why.hint(format!("`cortex history '{label}'` marks those that are")),
        ));
    }
    store_maintenance::unpin(store, view, &pins)?;
    let numbers: Vec<u32> = pins.iter().map(|pin| pin.version).collect();
    let document = json!({"label": label, "versions": numbers});
    let numbers: Vec<String> = numbers.iter().map(u32::to_string).collect();
    let text = format!("unpinned version {} of {label}\n", numbers.join(", "));
    Ok(CommandAnswer::new(text, &document))
}
