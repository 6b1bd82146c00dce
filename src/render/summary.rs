//! The last line of a build, and its JSON form.

use super::{Style, count, diagnostic, duration};
use engine::build::request::Report;
use std::time::Duration;

/// `12 targets: 3 ran, 9 up to date, 2 files written (0.1 s)`.
pub fn text(report: &Report, targets: u64, dry_run: bool, took: Duration, style: Style) -> String {
    let tally = &report.tally;
    let mut parts = Vec::new();
    let mut part = |number: usize, what: &str| {
        if number > 0 {
            parts.push(format!("{} {what}", count(number as u64)));
        }
    };
    if dry_run {
        part(tally.would_run, "would run");
        part(tally.may_run, "may run");
    } else {
        part(tally.ran, "ran");
    }
    part(tally.cached, "cached");
    part(tally.failed, "failed");
    part(tally.skipped, "skipped");
    part(report.not_laid_out, "not laid out");
    part(report.written, if report.written == 1 { "file written" } else { "files written" });
    if parts.is_empty() {
        parts.push("all up to date".to_owned());
    }
    let noun = if targets == 1 { "target" } else { "targets" };
    let head = format!("{} {noun}:", count(targets));
    let head = if !report.failures.is_empty() || report.cancelled {
        style.red(&head)
    } else {
        style.green(&head)
    };
    let saved = if tally.saved_us > 0 {
        format!(", {} saved", duration(tally.saved_us))
    } else {
        String::new()
    };
    let took = duration(u64::try_from(took.as_micros()).unwrap_or(u64::MAX));
    let interrupted = if report.cancelled {
        format!("{} ", style.red("interrupted;"))
    } else {
        String::new()
    };
    format!(
        "{interrupted}{head} {} {}",
        parts.join(", "),
        style.dim(&format!("({took}{saved})"))
    )
}

/// The line that says how many warnings stand that this build did not tell; `None` when there is none.
pub fn standing(report: &Report, style: Style) -> Option<String> {
    let number = report.standing;
    let (text, them) = match number {
        0 => return None,
        1 => ("1 warning stands from earlier builds".to_owned(), "it"),
        _ => (format!("{} warnings stand from earlier builds", count(number)), "them"),
    };
    Some(format!("{}; `cortex status` lists {them}", style.yellow(&text)))
}

/// The report as one JSON document.
pub fn json(report: &Report, targets: u64, took: Duration) -> serde_json::Value {
    let roots: Vec<serde_json::Value> = report
        .roots
        .iter()
        .map(|root| serde_json::json!({"label": &*root.label, "output": root.output.map(|digest| digest.to_string()), "how": root.how}))
        .collect();
    let list = |diagnostics: &[engine::values::diagnostic::Diagnostic]| -> Vec<serde_json::Value> {
        diagnostics.iter().map(diagnostic::json).collect()
    };
    serde_json::json!({
        "targets": targets,
        "tally": report.tally,
        "written": report.written,
        "not_laid_out": report.not_laid_out,
        "standing_warnings": report.standing,
        "cancelled": report.cancelled,
        "took_us": u64::try_from(took.as_micros()).unwrap_or(u64::MAX),
        "roots": roots,
        "failures": list(&report.failures),
        "refused": list(&report.refused),
        "diagnostics": list(&report.diagnostics),
    })
}
