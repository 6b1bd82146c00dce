//! `[edit]`: the form of answers to edits, and the effect of edits that lose names. The reader checks this table like every other; only the
//! edit commands use it.

use super::fields::Fields;
use super::prompt_window::whole_number;
use super::report::Report;
use crate::values::codes::ErrorCode;
use crate::values::diagnostic::Diagnostic;
use std::ops::RangeInclusive;

/// Range of the seconds that a check may take.
const CHECK_SECONDS: RangeInclusive<i64> = 1..=3600;

/// The forms of answers.
const REPLIES: [&str; 2] = ["brief", "full"];

/// Effect of an edit that leaves names without a meaning.
const ON_LOST: [&str; 2] = ["warn", "refuse"];

pub(super) fn check_edit_table(report: &mut Report<'_>, fields: Fields<'_, '_>) {
    fields.report_unknown_keys(report, &["check", "check_seconds", "on_lost", "replies"]);
    if let Some(check) = fields.text(report, "check").filter(|check| check.text.trim().is_empty()) {
        let why = Diagnostic::error(ErrorCode::E_VALUE, "'check' is empty");
        report.error(
            check.span,
            why.hint("write a line for sh, such as \"dotnet build {projects} --no-restore\", or omit it"),
        );
    }
    if let Some(seconds) = fields.get("check_seconds") {
        whole_number(report, seconds, "check_seconds", &CHECK_SECONDS);
    }
    if let Some(replies) = fields.text(report, "replies").filter(|replies| !REPLIES.contains(&replies.text)) {
        let why = Diagnostic::error(ErrorCode::E_VALUE, "'replies' is neither brief nor full");
        report.error(replies.span, why.hint("write \"brief\" or \"full\""));
    }
    if let Some(on_lost) = fields.text(report, "on_lost").filter(|on_lost| !ON_LOST.contains(&on_lost.text)) {
        let why = Diagnostic::error(ErrorCode::E_VALUE, "'on_lost' is neither warn nor refuse");
        report.error(on_lost.span, why.hint("write \"warn\" or \"refuse\""));
    }
}
