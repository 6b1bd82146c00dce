//! `cortex pin-version` and `cortex unpin-version`: versions that neither History's limit nor gc deletes.

use super::show;
use crate::cli::{PinVersionArgs, UnpinVersionArgs};
use crate::command_context::CommandContext;
use engine::store::pins::Pin;
use engine::store::records::HistoryRecord;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use methods::catalog::history::why_no_versions;
use methods::code::Code;
use methods::desk::clock::current_seconds;
use methods::desk::names::one_label;
use methods::failed::{Failed, Outcome};
use serde_json::json;
use std::io::Write;
use workbench::store_maintenance;

/// Pins a version.
pub fn pin(context: &CommandContext, args: &PinVersionArgs) -> Outcome {
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
    let text = match context.prints_json() {
        true => format!("{:#}\n", json!({"label": label, "version": version.version, "note": args.note})),
        false => format!("pinned version {} of {label}\n", version.version),
    };
    show::outcome_of_write(write!(context.stdout(), "{text}"))
}

/// Returns the version with a number, or the newest.
fn find_version(versions: &[HistoryRecord], number: Option<u32>) -> Option<&HistoryRecord> {
    match number {
        Some(number) => versions.iter().find(|version| version.version == number),
        None => versions.last(),
    }
}

/// Removes pins.
pub fn unpin(context: &CommandContext, args: &UnpinVersionArgs) -> Outcome {
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
    let text = match context.prints_json() {
        true => format!("{:#}\n", json!({"label": label, "versions": numbers})),
        false => {
            let numbers: Vec<String> = numbers.iter().map(u32::to_string).collect();
            format!("unpinned version {} of {label}\n", numbers.join(", "))
        }
    };
    show::outcome_of_write(write!(context.stdout(), "{text}"))
}
