//! `context live`: a document in its present state with its recent history, for a model that edits it.

use super::context_live_arguments::Show;
use super::context_live_document::{LiveFile, ReadDocument};
use super::{AsTool, Effect, Method};
use crate::code::Code;
use crate::desk::Desk;
use crate::failed::Failed;
use crate::render::{moment, printable};
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use workbench::budget::{Budget, Room};
use workbench::edit::difference::Difference;
use workbench::edit::editor::{self, Editor};
use workbench::edit::journal::{self, Anchor, Journal, Version};
use workbench::live::edits::Buffer;
use workbench::live::render::{Live, RECENT, RenderedDocument, Section};

/// Most bytes of a text argument: authors, reasons, plans.
const LONGEST_WORDS: usize = 4 << 10;

/// A live context.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LiveContext {
    /// The sections as one text.
    context_text: String,
    /// The text as a message to a model; not by MCP, which sends one form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    message: Option<Message>,
    /// Recent changes, newest first, with failed attempts; not by MCP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    recent_diffs: Option<Vec<DiffSummary>>,
    /// Changes since the anchor; not by MCP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    anchor_diff: Option<DiffSummary>,
    /// The shown version, for `since` of the next call.
    version: u64,
    /// The form in which the document is shown.
    shown: RenderedDocument,
    /// First and last shown line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lines: Option<(usize, usize)>,
    /// Parts cut for the budget, in this order.
    cut: Vec<String>,
    /// Approximate number of tokens.
    tokens: usize,
    /// Notes, one sentence each.
    notes: Vec<String>,
}

/// A change of a document (seed 002, `DiffSummary`).
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct DiffSummary {
    /// The version that it led to, or tried to; of an anchor the version that is compared.
    version_id: u64,
    /// Seconds since 1970; absent of an anchor in a session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    timestamp: Option<u64>,
    /// The hunks of a unified diff; empty of a try that failed.
    patch_snippet: String,
    /// First line of the later text that it touches, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    affected_line_start: Option<usize>,
    /// Last line of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    affected_line_end: Option<usize>,
    /// Whether the change failed, and the document is as it was.
    is_error: bool,
    /// The reason of the failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

impl DiffSummary {
    fn from_change(version_id: u64, timestamp: Option<u64>, change: &Difference, error: Option<&String>) -> Self {
        Self {
            version_id,
            timestamp,
            patch_snippet: change.patch.clone(),
            affected_line_start: change.lines.map(|(first, _)| first),
            affected_line_end: change.lines.map(|(_, last)| last),
            is_error: error.is_some(),
            error: error.cloned(),
        }
    }
}

/// A message to a model.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Message {
    /// Always `user`.
    role: String,
    /// Its sections, in an order that never changes.
    content: Vec<Section>,
}

impl Method for Show {
    const NAME: &'static str = "context live";
    const EFFECT: Effect = Effect::Acts;
    const TOOL: AsTool = AsTool::Operation;
    type Answer = LiveContext;

    fn answer(&self, desk: &mut Desk<'_>) -> Result<LiveContext, Failed> {
        let editor_state = self.validated_editor()?;
        let place = LiveFile::from_path(desk, &self.file, self.session.as_deref())?;
        let buffer = self.session.as_deref().map(|session| place.in_session(session)).transpose()?;
        if let Some(number) = self.version {
            let budget = Budget::of_tokens(self.budget, desk.context.room());
            return self.earlier(&place, number, buffer.as_ref(), (editor_state.unwrap_or_default(), &budget));
        }
        let ReadDocument { text, journal, mut notes } = place.read_document(self, buffer.as_ref(), editor_state)?;
        let current = journal.current().map_or(journal.given, |version| version.number);
        let known = |digest: &str| place.version_text(digest);
        let since = self.since.and_then(|number| {
            let before = journal.version(number, self.session.as_deref()).and_then(known);
            if before.is_none() {
                notes.push(format!("version {number} is not remembered: the document itself is shown"));
            }
            Some((number, Difference::between(&before?, &text)))
        });
        let anchor = match &self.anchor {
            Some(name) => {
                let named = self.resolve_anchor(name, &journal, known);
                named.map_err(|why| notes.push(why)).ok()
            }
            // A client that follows the document has its earlier states.
            None if since.is_some() => None,
            None => self.usual_anchor(&place, &journal),
        };
        let (editor, corrected) = journal.editor.clamp_to_text(&text);
        notes.extend(corrected);
        let live = Live {
            path: &place.path,
            text: &text,
            version: current,
            made: version_of_text(&journal),
            changed: last_change(&journal),
            recent: journal
                .versions
                .iter()
                .rev()
                .take(RECENT)
                .filter(|one| self.since.is_none_or(|since| one.number > since || since > current))
                .collect(),
            since,
            anchor: anchor.map(|(name, number, before)| (name, number, Difference::between(&before, &text))),
            editor: &editor,
            plans: journal.plans.iter().rev().filter(|plan| plan.session == self.session).collect(),
            moment,
        };
        Ok(self.render_context(&live, &journal, desk.context.room(), notes))
    }

    fn text(answer: &LiveContext) -> String {
        let cut = answer.cut.iter().map(|what| format!("cut: {what}\n"));
        let notes = answer.notes.iter().map(|note| format!("note: {note}\n"));
        let below: String = cut.chain(notes).collect();
        printable(&format!("{}{below}", answer.context_text))
    }
}

fn user(content: Vec<Section>) -> Option<Message> {
    Some(Message {
        role: "user".to_owned(),
        content,
    })
}

impl Show {
    /// Validates the arguments; returns the given editor state.
    fn validated_editor(&self) -> Result<Option<Editor>, Failed> {
        let words_given = [
            Some(&self.author),
            self.what.as_ref(),
            self.failed.as_ref(),
            self.plan.as_ref(),
            self.result.as_ref(),
        ];
        let named = [self.set_anchor.as_ref(), self.anchor.as_ref(), self.selection.as_ref()];
        if named[..2].iter().flatten().any(|name| name.trim().is_empty()) {
            return Err(invalid_argument("an anchor's name is empty").with_hint("give it a name, such as green"));
        }
        if named[..2].iter().flatten().any(|name| name.chars().any(char::is_control)) {
            return Err(
                invalid_argument("an anchor's name has a control character, such as a line end").with_hint("give it a name of one line")
            );
        }
        if words_given
            .into_iter()
            .chain(named)
            .flatten()
            .any(|words| words.len() > LONGEST_WORDS)
        {
            return Err(invalid_argument("the description of a change is longer than 4 KiB").with_hint("shorten it"));
        }
        if self.author.trim().is_empty() {
            return Err(invalid_argument("the author's name is empty").with_hint("it is agent, person, tool or another name"));
        }
        if self.since.is_some() && self.version.is_some() {
            return Err(invalid_argument("since and version cannot go together").with_hint("leave one out"));
        }
        if self.session.is_some() && self.failed.is_some() {
            let why = invalid_argument("session and failed cannot go together: a session notes itself which of its operations failed");
            return Err(why.with_hint("leave session out to record a failed attempt with the file"));
        }
        let beside = [
            (self.set_anchor.is_some(), "setAnchor"),
            (self.anchor.is_some(), "anchor"),
            (self.plan.is_some(), "plan"),
            (self.result.is_some(), "result"),
            (self.what.is_some(), "what"),
            (self.failed.is_some(), "failed"),
            (self.selection.is_some(), "selection"),
        ];
        if let Some((_, name)) = beside.iter().find(|(given, _)| *given && self.version.is_some()) {
            let why = format!("version shows an earlier text and records nothing: do not combine it with {name}");
            return Err(invalid_argument(&why).with_hint("leave one out; two calls do both"));
        }
        let cursor = self.cursor.as_ref().map(|text| {
            editor::parse_place(text).ok_or_else(|| invalid_argument("the cursor is no LINE or LINE:COLUMN, from 1").into_failed(text))
        });
        let cursor = cursor.transpose()?;
        if let Some(text) = self.selection.as_ref().filter(|text| editor::range(text).is_none()) {
            return Err(invalid_argument("the selection is no LINE:COLUMN-LINE:COLUMN, from 1").into_failed(text));
        }
        if cursor.is_none() && self.selection.is_none() {
            return Ok(None);
        }
        Ok(Some(Editor {
            line: cursor.map(|(line, _)| line),
            column: cursor.and_then(|(_, column)| column),
            selection: self.selection.clone(),
        }))
    }

    /// Returns the state to compare with if the request names none: an earlier one of the session, or a timed anchor.
    fn usual_anchor(&self, place: &LiveFile, journal: &Journal) -> Option<(String, u64, String)> {
        let (name, number) = match journal.early_version(place.now) {
            Some(number) => ("an earlier state of the session".to_owned(), number),
            None => {
                let anchor = journal.timed(place.now)?;
                (format!("the anchor of {}", moment(anchor.at)), anchor.version)
            }
        };
        let digest = journal.version(number, None).filter(|_| number != journal.given)?;
        Some((name, number, place.version_text(digest)?))
    }

    /// Renders the document within the budget.
    fn render_context(&self, live: &Live<'_>, journal: &Journal, room: Option<Room>, mut notes: Vec<String>) -> LiveContext {
        let room = room.map(|room| Room {
            most: room.most.saturating_sub((room.taken)(&notes.join("\n"))),
            ..room
        });
        let is_full = room.is_none();
        let summary = |version: &&Version| {
            DiffSummary::from_change(version.number, Some(version.at), &version.change, version.report.failed.as_ref())
        };
        let recent_diffs = is_full.then(|| live.recent.iter().map(summary).collect());
        let at = |number| {
            journal
                .versions
                .iter()
                .find(|version| version.number == number)
                .map(|version| version.at)
        };
        let anchor_diff = live.anchor.as_ref().filter(|_| is_full);
        let anchor_diff = anchor_diff.map(|(_, number, change)| {
            DiffSummary::from_change(*number, at(*number), &change.clone().with_line_limit(journal::PATCH), None)
        });
        let made = live.render(&Budget::of_tokens(self.budget, room));
        if made.tokens > self.budget {
            notes.push(format!(
                "not less than {} tokens say anything; the budget is {}",
                made.tokens, self.budget
            ));
        }
        LiveContext {
            context_text: made.sections.iter().map(|section| section.text.as_str()).collect(),
            message: user(made.sections).filter(|_| is_full),
            recent_diffs,
            anchor_diff,
            version: live.version,
            shown: made.shown,
            lines: made.lines,
            cut: made.cut,
            tokens: made.tokens,
            notes,
        }
    }

    /// Resolves an anchor to its name, number and text, or returns why it cannot be shown.
    fn resolve_anchor(
        &self,
        name: &str,
        journal: &Journal,
        known: impl Fn(&str) -> Option<String>,
    ) -> Result<(String, u64, String), String> {
        let Some(anchor) = journal.anchor(name, self.session.as_deref()) else {
            let seen = |anchor: &&Anchor| anchor.session.is_none() || anchor.session == self.session;
            let names = journal.anchors.iter().filter(seen).filter_map(|anchor| anchor.name.as_deref());
            let names: BTreeSet<String> = names.map(|name| format!("'{name}'")).collect();
            let there = match names.is_empty() {
                true => "none has a name".to_owned(),
                false => format!("names are {}", names.into_iter().collect::<Vec<_>>().join(", ")),
            };
            return Err(format!("there is no anchor '{name}': {there}"));
        };
        let of_file = if anchor.session == self.session { "" } else { " of the file" };
        let text = known(&anchor.digest).ok_or_else(|| format!("the text of the anchor '{name}' is no longer stored"))?;
        Ok((format!("anchor '{name}'{of_file}"), anchor.version, text))
    }

    /// Returns the answer with an earlier version.
    fn earlier(
        &self,
        place: &LiveFile,
        number: u64,
        buffer: Option<&Buffer>,
        (editor, budget): (Editor, &Budget),
    ) -> Result<LiveContext, Failed> {
        let path = &place.path;
        let journal = place.journal(buffer)?;
        let digest = journal.version(number, self.session.as_deref());
        let Some(text) = digest.and_then(|digest| place.version_text(digest)) else {
            let why = Diagnostic::error(ErrorCode::E_VERSION, format!("there is no version {number} of {path}"));
            return Err(Failed::new(Code::Usage, why.hint(self.describe_versions(&journal))));
        };
        let (editor, notes) = editor.clamp_to_text(&text);
        let live = Live {
            path,
            text: &text,
            version: number,
            made: number,
            since: None,
            changed: None,
            recent: Vec::new(),
            anchor: None,
            editor: &editor,
            plans: Vec::new(),
            moment,
        };
        let made = live.render_only(budget);
        Ok(LiveContext {
            context_text: made.sections.iter().map(|section| section.text.as_str()).collect(),
            message: user(made.sections),
            recent_diffs: None,
            anchor_diff: None,
            version: number,
            shown: made.shown,
            lines: made.lines,
            cut: made.cut,
            tokens: made.tokens,
            notes,
        })
    }

    fn describe_versions(&self, journal: &Journal) -> String {
        let begin = journal.begin.as_ref().map(|(begin, _)| *begin);
        let Some(first) = begin.or_else(|| Some(journal.versions.first()?.number)) else {
            return "this document was not requested yet".to_owned();
        };
        let (last, of) = (journal.given, if begin.is_some() { " of the session" } else { "" });
        let earlier = journal.anchored_before(first, self.session.as_deref());
        let earlier: Vec<String> = earlier.iter().map(u64::to_string).collect();
        let kept = format!("versions {first} to {last}{of} are remembered");
        match earlier.is_empty() {
            true => kept,
            false => format!("{kept}, and {} as anchors", earlier.join(", ")),
        }
    }
}

/// Returns the version in which the document's text was written.
fn version_of_text(journal: &Journal) -> u64 {
    let made = journal.versions.iter().rev().find(|version| version.report.failed.is_none());
    made.map_or(journal.given, |version| version.number)
}

/// Returns the last change with changed lines.
fn last_change(journal: &Journal) -> Option<&Difference> {
    let mut changes = journal.versions.iter().rev().map(|version| &version.change);
    changes.find(|change| change.lines.is_some())
}

/// An invalid argument.
struct Wrong(Diagnostic);

fn invalid_argument(message: &str) -> Wrong {
    Wrong(Diagnostic::error(ErrorCode::E_PARAM, message))
}

impl Wrong {
    fn with_hint(self, hint: &str) -> Failed {
        Failed::new(Code::Usage, self.0.hint(hint))
    }

    fn into_failed(self, found: &str) -> Failed {
        Failed::new(
            Code::Usage,
            self.0
                .found(found.chars().take(120).collect::<String>())
                .hint("write 12 or 12:5, and 12:5-14:1 for a selection"),
        )
    }
}
