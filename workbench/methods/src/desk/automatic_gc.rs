//! Automatic gc after a command or a request: keeps the stores into which it stored results within the limits of their manifest.

use super::clock::current_seconds;
use super::request_context::RequestContext;
use crate::render::store_maintenance;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::{Diagnostic, Severity};
use std::sync::Arc;
use workbench::garbage;
use workbench::locks::Hold;

/// Returns whether [`keep_within`] has something to do, because results were stored.
pub fn is_due(hold: &Hold) -> bool {
    let filed = hold.filed().map(|(root, disk)| (workbench::workspace::store_limits(root), disk));
    matches!(filed, Some((Ok(limits), disk)) if garbage::is_due(disk, &limits, current_seconds()).is_some())
}

/// Runs automatic gc after a command: keeps the stores into which it stored results within the manifest's size, and reports that in one line.
/// Does nothing if the command stored no result.
pub fn keep_within(context: &RequestContext, guards: &[Arc<Hold>]) {
    for hold in guards {
        let Some((root, disk)) = hold.filed() else { continue };
        // The command that needed the manifest has reported its errors.
        let Ok(limits) = workbench::workspace::store_limits(root) else {
            continue;
        };
        let diagnostic = match garbage::keep_within(disk, &limits, current_seconds()) {
            Ok(None) => continue,
            Ok(Some((options, report))) if report.reached => {
                let words = store_maintenance::summarize_limits(&report, &options);
                match context.prints_json() {
                    true => context.say(&[Diagnostic::new(Severity::Note, ErrorCode::N_COLLECTED, words)]),
                    false => context.print_status(&words),
                }
                continue;
            }
            Ok(Some((options, report))) => Diagnostic::warning(ErrorCode::W_STORE_SIZE, store_maintenance::not_reached(&report, &options))
                .hint("`cortex gc` reports the reason"),
            // The results stay; the next command tries again.
            Err(error) => Diagnostic::warning(ErrorCode::W_STORE_SIZE, format!("the store could not be collected: {error}")),
        };
        context.say(&[diagnostic]);
    }
}
