//! Builds as text: the log, and the difference of two builds.

use super::line_diff::{colour_diff, unified_diff};
use super::money::spent;
use super::{Style, duration, format_count, moment, printable};
use crate::render::plural;
use engine::seams::annotate::Revision;
use engine::store::builds::{Answers, BuildRecord, Outcome};
use workbench::builds::{Cause, DiffReason, Difference, FileChange};

/// Limit of causes shown, and of nodes for each.
const SHOWN: usize = 12;
/// Limit of lines shown of a file's diff.
const FILE_LINES: usize = 24;

/// Formats a commit: its first characters, and whether files differed.
pub fn revision(revision: &Revision) -> String {
    let short: String = revision.commit.chars().take(10).collect();
    match revision.dirty {
        Some(true) => format!("{short} with changes"),
        Some(false) => short,
        None => format!("{short}, changes unknown"),
    }
}

/// Formats the builds, the newest first.
pub fn log(builds: &[BuildRecord], style: Style) -> String {
    let mut text = String::new();
    for build in builds.iter().rev() {
        let outcome = match build.outcome {
            Outcome::Ok => style.green("ok"),
            Outcome::Failed => style.red("failed"),
            Outcome::Cancelled => style.yellow("stopped"),
        };
        let number = style.bold(&format!("{:>5}", build.number));
        text.push_str(&format!(
            "{number}  {}  {outcome}  {}\n",
            moment(build.at),
            printable(&build.command)
        ));
        text.push_str(&format!("       {}\n", style.dim(&printable(&build_line(build)))));
    }
    text
}

fn build_line(build: &BuildRecord) -> String {
    let counts = &build.counts;
    let mut parts = Vec::new();
    for (number, word) in [
        (counts.ran, "ran"),
        (counts.cached, "cached"),
        (counts.verified, "unchanged"),
        (counts.failed, "failed"),
        (counts.skipped, "skipped"),
        (build.gone.count, "gone"),
    ] {
        if number > 0 {
            parts.push(format!("{} {word}", format_count(number)));
        }
    }
    // Targets that were only invalidated are listed without counts.
    let colon = if parts.is_empty() { "" } else { ": " };
    let mut text = format!(
        "{}{colon}{} ({})",
        plural(counts.targets, "target"),
        parts.join(", "),
        duration(build.took_us)
    );
    if let Some(cost) = &build.spent {
        text.push_str(&format!("; {}", spent(cost)));
    }
    text.push_str(&answers(&build.answers));
    if let Some(commit) = &build.commit {
        let found = Revision {
            commit: commit.clone(),
            dirty: build.dirty,
        };
        text.push_str(&format!("; at {}", revision(&found)));
    }
    text
}

/// Summarizes the answers of models, as in `; 2 new answers, 1 patch`.
fn answers(answers: &Answers) -> String {
    let kinds = [
        (answers.full, "new answer", "new answers"),
        (answers.patches, "patch", "patches"),
        (answers.unchanged, "answer confirmed", "answers confirmed"),
        (answers.rejected, "unusable answer", "unusable answers"),
    ];
    let kinds = kinds.iter().filter(|(number, ..)| *number > 0);
    let kinds: Vec<String> = kinds
        .map(|(number, one, many)| format!("{} {}", format_count(*number), if *number == 1 { one } else { many }))
        .collect();
    if kinds.is_empty() {
        String::new()
    } else {
        format!("; {}", kinds.join(", "))
    }
}

/// Formats the difference of two builds, with the changed lines of the files that caused it.
pub fn difference(difference: &Difference, style: Style) -> String {
    let Difference {
        from,
        to,
        changed,
        new,
        gone,
        collected,
        causes,
        forgotten,
        unnamed,
        unnamed_since,
    } = difference;
    let mut text = String::new();
    for build in [from, to] {
        let number = style.bold(&format!("build {}", build.number));
        text.push_str(&format!("{number}  {}  {}\n", moment(build.at), printable(&build.command)));
        text.push_str(&describe_ending(build, style));
    }
    let plural = if *changed == 1 { " differs" } else { "s differ" };
    let among = [(*new, "new"), (*gone, "gone"), (*collected, "collected")];
    let among = among.iter().filter(|(number, _)| *number > 0);
    let among: String = among
        .map(|(number, word)| format!(", {} {word}", format_count(*number as u64)))
        .collect();
    let least = if *forgotten > 0 || *unnamed + *unnamed_since > 0 {
        "at least "
    } else {
        ""
    };
    text.push_str(&format!("{least}{} output{plural}{among}\n", format_count(*changed as u64)));
    for cause in causes.iter().take(SHOWN) {
        text.push_str(&describe_cause(cause, style));
    }
    if causes.len() > SHOWN {
        text.push_str(&style.dim(&format!(
            "\n… {} causes in all, --json lists them\n",
            format_count(causes.len() as u64)
        )));
    }
    text + &describe_missing(difference, style)
}

/// Formats a cause with the outputs that it changed, and the changed lines of its file.
fn describe_cause(cause: &Cause, style: Style) -> String {
    let mut text = format!("\n{}\n", cause_text(cause, style));
    for node in cause.moved.iter().take(SHOWN) {
        let short = |digest: Option<engine::values::digest::Digest>| digest.map_or_else(|| "nothing".to_owned(), |digest| digest.short());
        let label = style.cyan(&printable(&node.label));
        text.push_str(&format!(
            "  {label} {}\n",
            style.dim(&format!("{} → {}", short(node.from), short(node.to)))
        ));
    }
    if cause.moved.len() > SHOWN {
        text.push_str(&style.dim(&format!(
            "  … {} in all, --json lists them\n",
            format_count(cause.moved.len() as u64)
        )));
    }
    if let Some(diff) = &cause.diff {
        text.push_str(&colour_diff(diff, FILE_LINES, style));
    }
    text
}

/// Formats how many targets the comparison does not cover, and why.
fn describe_missing(difference: &Difference, style: Style) -> String {
    let mut text = String::new();
    if difference.forgotten > 0 {
        let of = format_count(difference.forgotten as u64);
        text.push_str(&style.dim(&format!(
            "\nnot counted: {of} more, because History no longer has their results of that time\n"
        )));
    }
    if difference.unnamed > 0 {
        text.push_str(&style.dim(&format!(
            "\nnot counted: {} targets removed between these builds, because the log does not name them\n",
            format_count(difference.unnamed)
        )));
    }
    if difference.unnamed_since > 0 {
        text.push_str(&style.dim(&format!(
            "\nnot compared: {} targets removed by later builds, because the log does not name them\n",
            format_count(difference.unnamed_since)
        )));
    }
    text
}

fn describe_ending(build: &BuildRecord, style: Style) -> String {
    let (failed, skipped) = (build.counts.failed, build.counts.skipped);
    let mut text = String::new();
    for one in build.failures.iter().take(SHOWN) {
        let why = printable(&format!("{}: {}", one.code, one.message));
        text.push_str(&format!("  {} {} {why}\n", style.red("failed"), style.cyan(&printable(&one.label))));
    }
    if failed > build.failures.len().min(SHOWN) as u64 {
        text.push_str(&style.dim(&format!("  … {} failed in all, --json lists the first\n", format_count(failed))));
    }
    if skipped > 0 {
        text.push_str(&style.dim(&format!(
            "  {} skipped, because their inputs have no output\n",
            format_count(skipped)
        )));
    }
    match build.outcome {
        Outcome::Cancelled => text.push_str(&format!("  {}\n", style.yellow("stopped before its end"))),
        Outcome::Failed if failed == 0 => text.push_str(&format!("  {}\n", style.red("failed, although none of its targets did"))),
        Outcome::Failed | Outcome::Ok => {}
    }
    text
}

fn cause_text(cause: &Cause, style: Style) -> String {
    let what = match &cause.why {
        DiffReason::File {
            path,
            from: Some(from),
            to: Some(to),
        } => format!("{} changed ({} → {})", printable(path), from.short(), to.short()),
        DiffReason::File { path, from: None, .. } => format!("{} was not read before", printable(path)),
        DiffReason::File { path, .. } => format!("{} is no longer read", printable(path)),
        DiffReason::Set { label } => format!("other files are in {}", printable(label)),
        DiffReason::Producer { from, to } => format!("{} became {}", printable(from), printable(to)),
        DiffReason::SameInputs => "the same inputs: a parameter, the rule or an answer changed".to_owned(),
        DiffReason::OtherInputs => {
            "the rule, or a node that decides the inputs, changed: the target has other inputs now, and none of them changed".to_owned()
        }
        DiffReason::New => "not built before".to_owned(),
        DiffReason::Gone => "no longer built".to_owned(),
        DiffReason::Collected => "the results were evicted: their inputs are no longer known".to_owned(),
        DiffReason::Input { label } => format!("{} changed; its inputs are no longer known", printable(label)),
        DiffReason::Many => "many causes".to_owned(),
    };
    style.bold(&what)
}

/// Returns the diff of a file, without the file names.
pub fn diff_lines(change: &FileChange) -> Vec<String> {
    let lines = unified_diff(Some(&change.from), Some(&change.to), "before", "after").unwrap_or_default();
    lines.into_iter().skip(2).collect()
}
