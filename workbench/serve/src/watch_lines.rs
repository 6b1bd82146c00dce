//! Lines of `cortex watch`: one line per batch for people, JSON lines for machines.

use crate::build_ahead::Ahead;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::{Diagnostic, Severity};
use engine::watch::WatchProblem;
use methods::desk::request_context::RequestContext;
use methods::render::{duration, format_count, plural, printable};
use serde_json::{Value, json};
use workbench::watch::{ChangedFile, Edited, FileChangeKind, Reached};

/// Limit of files or members listed; more are only counted.
const SHOWN: usize = 8;

/// Formats one JSON line.
pub fn json_line(value: &Value, event: &str) -> String {
    let mut line = json!({"event": event});
    if let (Some(line), Some(value)) = (line.as_object_mut(), value.as_object()) {
        line.extend(value.clone());
    }
    format!("{line}\n")
}

/// Formats the start of the watch.
pub fn start_line(context: &RequestContext, directories: usize) -> String {
    if context.prints_json() {
        return json_line(&json!({"directories": directories}), "watching");
    }
    let text = format!("watching {}; Ctrl-C ends it", plural(directories as u64, "folder"));
    context.answer_style().dim(&text) + "\n"
}

/// Effects of a batch's edits.
#[derive(Debug, Default)]
pub struct Edits {
    /// Changed members: `Type#Member`.
    pub members: Vec<String>,
    /// Kinds of changes by type.
    pub types: Vec<Edited>,
    /// Summaries that are stale now.
    pub summaries: Reached,
}

pub fn describe_batch(context: &RequestContext, files: &[ChangedFile], edits: &Edits, stale: usize, head: bool) -> String {
    let Edits { members, types, summaries } = edits;
    if context.prints_json() {
        return json_line(
            &json!({"files": files, "members": members, "types": types, "stale": stale, "summaries": summaries, "checkout": head}),
            "moved",
        );
    }
    let mut text = String::new();
    if files.is_empty() {
        return text;
    }
    let word = |change: FileChangeKind| match change {
        FileChangeKind::Added => "added",
        FileChangeKind::Edited => "edited",
        FileChangeKind::Removed => "removed",
        FileChangeKind::Back => "as it was built",
        FileChangeKind::Built => "built already",
    };
    if files.len() > SHOWN {
        let number = |change: FileChangeKind| files.iter().filter(|file| file.change == change).count() as u64;
        let parts = [
            FileChangeKind::Edited,
            FileChangeKind::Added,
            FileChangeKind::Removed,
            FileChangeKind::Back,
            FileChangeKind::Built,
        ]
        .into_iter()
        .filter(|change| number(*change) > 0)
        .map(|change| format!("{} {}", format_count(number(change)), word(change)));
        let what = if head { "checked out" } else { "changed" };
        let head = context
            .answer_style()
            .bold(&format!("{} files {what}:", format_count(files.len() as u64)));
        text += &format!("{head} {}\n", parts.collect::<Vec<_>>().join(", "));
    } else {
        for file in files {
            text += &format!("{} {}\n", context.answer_style().bold(&printable(&file.path)), word(file.change));
        }
    }
    if !members.is_empty() {
        let mut shown: Vec<String> = members.iter().take(SHOWN).map(|member| printable(member).to_string()).collect();
        if members.len() > SHOWN {
            shown.push(format!("{} more", format_count((members.len() - SHOWN) as u64)));
        }
        text += &format!("  {}\n", shown.join(", "));
    }
    let kinds = |one: &Edited| one.kinds.iter().map(|kind| kind.as_str()).collect::<Vec<_>>().join(" and ");
    for one in types.iter().take(SHOWN) {
        text += &format!("  {}: {}\n", printable(&one.name), kinds(one));
    }
    if types.len() > SHOWN {
        text += &format!("  … {} types in all\n", format_count(types.len() as u64));
    }
    let mut stale = format!("{} may be out of date", plural(stale as u64, "target"));
    if summaries.stale + summaries.maybe_stale > 0 {
        let (certain, maybe) = (format_count(summaries.stale as u64), format_count(summaries.maybe_stale as u64));
        stale += &format!("; summaries: {certain} stale, {maybe} maybe stale");
    }
    text + &format!("  {}\n", context.answer_style().dim(&stale))
}

/// Reports that another process has the checkout.
pub fn busy(context: &RequestContext) {
    let why = Diagnostic::new(
        Severity::Note,
        ErrorCode::N_BUSY,
        "another build of this checkout runs; nothing was built after this batch",
    );
    context.say(&[why]);
}

/// Formats the result of building ahead.
pub fn ahead_line(context: &RequestContext, ahead: &Ahead) -> String {
    let Ahead { ran, requests, took } = *ahead;
    let took = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
    if context.prints_json() {
        return json_line(&json!({"ran": ran, "requests": requests, "took": took}), "ahead");
    }
    let text = format!("built ahead: {} ran ({})", format_count(ran as u64), duration(took));
    context.answer_style().dim(&text) + "\n"
}

/// Reports the trouble of the watch, or its end.
pub fn trouble(context: &RequestContext, trouble: Option<&WatchProblem>) {
    let lost = |message: String, hint: &str| {
        Diagnostic::warning(ErrorCode::W_WATCH, format!("{message}; all files are checked every 10 s instead")).hint(hint)
    };
    let why = match trouble {
        None => Diagnostic::new(Severity::Note, ErrorCode::N_WATCH, "changes are heard again"),
        Some(WatchProblem::Gone) => return,
        Some(WatchProblem::Limit { watched }) => lost(
            format!("the system lets this user watch no more folders (after {watched} of this workspace)"),
            "raise the limit: sudo sysctl fs.inotify.max_user_watches=524288",
        ),
        Some(WatchProblem::Elsewhere { kind }) => lost(
            format!("changes on a file system of the kind {kind} cannot be heard"),
            "watch on the machine that has the files",
        ),
        Some(WatchProblem::Directory { path, reason }) => lost(
            format!("the folder {path} cannot be watched: {reason}"),
            "make it readable, or exclude it from the source sets",
        ),
    };
    context.say(&[why]);
}
