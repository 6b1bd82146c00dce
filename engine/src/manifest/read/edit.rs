//! `[edit]`: how edits answer. It is checked here like every table; what edits is the only reader.

use super::fields::Fields;
use super::report::Report;
use crate::values::codes::ErrorCode;
use crate::values::diagnostic::Diagnostic;

/// The forms of answers.
const REPLIES: [&str; 2] = ["brief", "full"];

/// Reports what is wrong.
pub(super) fn check(report: &mut Report<'_>, fields: Fields<'_, '_>) {
    fields.only(report, &["replies"]);
    let Some(replies) = fields.text(report, "replies") else { return };
    if !REPLIES.contains(&replies.text) {
        let why = Diagnostic::error(ErrorCode::E_VALUE, "'replies' is none of the forms of answers");
        report.error(replies.span, why.hint("write \"brief\" or \"full\""));
    }
}
