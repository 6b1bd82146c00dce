//! `[edit]`: the form of answers to edits. Checked here like every table; only the edit commands read it.

use super::fields::Fields;
use super::report::Report;
use crate::values::codes::ErrorCode;
use crate::values::diagnostic::Diagnostic;

/// The forms of answers.
const REPLIES: [&str; 2] = ["brief", "full"];

/// Reports errors in the table.
pub(super) fn check(report: &mut Report<'_>, fields: Fields<'_, '_>) {
    fields.only(report, &["replies"]);
    let Some(replies) = fields.text(report, "replies") else { return };
    if !REPLIES.contains(&replies.text) {
        let why = Diagnostic::error(ErrorCode::E_VALUE, "'replies' is none of the forms of answers");
        report.error(replies.span, why.hint("write \"brief\" or \"full\""));
    }
}
