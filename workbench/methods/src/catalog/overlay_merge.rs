//! `overlay merge`: writes the documents of an overlay to the workspace.

use super::overlay::replaceable_files;
use super::{AsTool, Effect, Method};
use crate::code::Code;
use crate::desk::Desk;
use crate::desk::clock::current_seconds;
use crate::failed::Failed;
use crate::render::{plural, printable};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use workbench::overlay::merge::{self, How};

/// Merge an overlay into the workspace, and end it.
///
/// Each merge is three-way: the base of the document, the document, the present file. Lines that one side changed are taken; lines that both changed
/// are a conflict, and then nothing is written (exit code 1). Modes, encodings and line ends are preserved.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Merge {
    /// The overlay.
    pub name: String,
}

/// Result of a merge.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Merged {
    name: String,
    /// Whether it was merged; then the overlay has ended.
    merged: bool,
    /// The files with their outcomes: `written`, `joined` with changes of the workspace, `removed`, or `same`.
    files: Vec<File>,
    /// Places that both sides changed. If there are any, nothing was written.
    conflicts: Vec<Conflict>,
    /// The edit session with which `edit undo` reverts the merge, if it wrote files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    /// Results of saves that were cut short before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

/// A file.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct File {
    path: String,
    how: String,
}

/// A place that both sides changed.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Conflict {
    path: String,
    /// The reason for the conflict.
    why: String,
    /// The lines in the base of the document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    base: Option<Span>,
    /// The lines in the overlay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    overlay: Option<Span>,
    /// The lines in the workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    workspace: Option<Span>,
}

/// A range of lines.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Span {
    /// Number of the first line, from 1.
    line: usize,
    /// Number of lines.
    lines: usize,
    /// Text of the first twelve of them.
    text: String,
}

fn span(span: Option<merge::Span>) -> Option<Span> {
    span.map(|merge::Span { line, lines, text }| Span { line, lines, text })
}

impl Method for Merge {
    const NAME: &'static str = "overlay merge";
    const EFFECT: Effect = Effect::Writes;
    const TOOL: AsTool = AsTool::Operation;
    type Answer = Merged;

    fn answer(&self, desk: &mut Desk<'_>) -> Result<Merged, Failed> {
        let (files, now) = (replaceable_files(desk)?, current_seconds());
        let done = merge::merge(&files, &self.name, now)?;
        if !done.conflicts.is_empty() {
            desk.worsen(Code::TargetFailed);
        }
        let file = |(path, how)| File {
            path,
            how: match how {
                How::Written => "written",
                How::Joined => "joined",
                How::Removed => "removed",
                How::Same => "same",
            }
            .to_owned(),
        };
        let conflict = |one: merge::Conflict| Conflict {
            path: one.path,
            why: one.why,
            base: span(one.base),
            overlay: span(one.ours),
            workspace: span(one.theirs),
        };
        Ok(Merged {
            name: self.name.clone(),
            merged: done.conflicts.is_empty(),
            files: done.files.into_iter().map(file).collect(),
            conflicts: done.conflicts.into_iter().map(conflict).collect(),
            session: done.session,
            notes: done.notes,
        })
    }

    fn text(answer: &Merged) -> String {
        let notes: String = answer.notes.iter().map(|note| format!("{note}\n")).collect();
        if answer.merged {
            let lines: String = answer.files.iter().map(|file| format!("{:<8}{}\n", file.how, file.path)).collect();
            return printable(&format!("{notes}{lines}overlay {} is merged and has ended\n", answer.name));
        }
        let mut text = notes;
        for one in &answer.conflicts {
            // Places in the notation of compilers and editors; the lines of the workspace are those that people see.
            let place = one.workspace.as_ref().map_or(String::new(), |span| format!(":{}", range(span)));
            text.push_str(&format!("{}{place}: {}\n", one.path, one.why));
            for (side, span) in [("base", &one.base), ("overlay", &one.overlay), ("workspace", &one.workspace)] {
                let Some(span) = span else { continue };
                let shown = span.text.lines().count();
                text.push_str(&format!("  {side} {}\n", range(span)));
                text.extend(span.text.lines().map(|line| format!("    {line}\n")));
                if shown < span.lines {
                    text.push_str(&format!("    … {} more\n", span.lines - shown));
                }
            }
        }
        let count = answer.conflicts.len();
        let has_lines = |one: &Conflict| one.base.is_some() || one.overlay.is_some() || one.workspace.is_some();
        let way = match answer.conflicts.iter().any(has_lines) {
            true => "put documents that have both sides with --onto-now (ontoNow)",
            false => "remove the obstacle",
        };
        let hint = format!(
            "nothing was written: {}; {way}, or remove them with --drop (drop), and merge again\n",
            plural(count as u64, "conflict")
        );
        printable(&format!("{text}{hint}"))
    }
}

/// Formats `12-14`; `before 12` for an empty range.
fn range(span: &Span) -> String {
    match span.lines {
        0 => format!("before {}", span.line),
        1 => span.line.to_string(),
        lines => format!("{}-{}", span.line, span.line + lines - 1),
    }
}
