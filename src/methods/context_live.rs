//! `context live`: a document as it stands now and how it came to be so, for a model that edits it.

use super::window::root;
use super::{AsTool, Effect, Method};
use crate::context::Failed;
use crate::desk::Desk;
use crate::exit::Code;
use crate::render::{moment, printable};
use engine::values::diagnostic::Diagnostic;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};
use workbench::checkout;
use workbench::edit::disk::Disk;
use workbench::edit::encoding::{Form, Unreadable, decode};
use workbench::edit::files::Files;
use workbench::edit::place::{self, Guard};
use workbench::live::difference::Difference;
use workbench::live::edits::{self, Buffer};
use workbench::live::journal::{self, Editor, Journal, Said};
use workbench::live::kept::{self, LONGEST};
use workbench::live::render::{Live, RECENT, Section, Shown};
use workbench::symbols::file::no_text;

/// Show one document as it stands now: its text, recent differences with who made them, the difference to an anchor, cursor and plans.
///
/// What edit sessions saved is a version each, made by agent; with --session the document is shown as it is there, its versions the session's
/// operations. Each call looks at the file; when it moved since the call before, that is a new version, made by --author. The first call shows the
/// document whole, later ones with --since what changed since the version that the reader has; --version shows an earlier one. The last
/// 64 versions are kept below .cortex, an anchor every 30 minutes, and anchors with names. What is over the budget is cut in this
/// order: differences but the last, the oldest first; the anchor's; plans but the last; then the document is shown as a window
/// around the cursor or the last change, with an outline.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Show {
    /// The document: a text file of the workspace, by its path from the root.
    pub file: String,
    /// The edit session in which it is to be shown, by its handle: with what is not saved.
    #[arg(long, value_name = "HANDLE")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The version that the reader has: only what was changed since is shown.
    #[arg(long, value_name = "VERSION")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<u64>,
    /// An earlier version, whose text is shown and nothing else.
    #[arg(long, value_name = "VERSION", conflicts_with = "since")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u64>,
    /// Tokens at most, about.
    #[arg(long, value_name = "TOKENS", default_value_t = USUAL)]
    #[serde(default = "usual")]
    pub budget: usize,
    /// Who changed the document since the last call: agent, person, tool, or a name.
    #[arg(long, value_name = "NAME", default_value = PERSON)]
    #[serde(default = "person")]
    pub author: String,
    /// What it was changed for.
    #[arg(long, value_name = "TEXT")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub what: Option<String>,
    /// Why a change failed, if it did.
    #[arg(long, value_name = "TEXT")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
    /// What is meant to be done next.
    #[arg(long, value_name = "TEXT")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
    /// What came of what was meant last.
    #[arg(long, value_name = "TEXT")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// Call this version an anchor of that name.
    #[arg(long, value_name = "NAME")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub set_anchor: Option<String>,
    /// Compare with the anchor of that name.
    #[arg(long, value_name = "NAME")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anchor: Option<String>,
    /// Where the cursor stands: LINE or LINE:COLUMN.
    #[arg(long, value_name = "LINE:COLUMN")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// What is selected: LINE:COLUMN-LINE:COLUMN.
    #[arg(long, value_name = "RANGE")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selection: Option<String>,
}

/// Tokens unless told.
const USUAL: usize = 16_000;
/// Who changed a document unless told.
const PERSON: &str = "person";
/// Bytes of what is told: authors, reasons, plans.
const LONGEST_WORDS: usize = 4 << 10;

fn usual() -> usize {
    USUAL
}

fn person() -> String {
    PERSON.to_owned()
}

/// A live context.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Answer {
    /// The sections as one text.
    context_text: String,
    /// The same as a message to a model.
    message: Message,
    /// The version that is shown: what to ask the next call with, as `since`.
    version: u64,
    /// How the document is shown.
    shown: Shown,
    /// First and last line of it that are shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lines: Option<(usize, usize)>,
    /// What was cut for the budget, in that order.
    cut: Vec<String>,
    /// About how many tokens it is.
    tokens: usize,
    /// What is to be known of it, each one sentence.
    notes: Vec<String>,
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
    const TOOL: AsTool = AsTool::None;
    type Answer = Answer;

    fn answer(&self, desk: &mut Desk<'_>) -> Result<Answer, Failed> {
        let editor = self.checked()?;
        let root = root(desk)?;
        let guard = Guard {
            store: desk.context.store_folder(),
            manifest: true,
        };
        let path = place::resolve(&root, &self.file, &guard).map_err(|why| not_shown(&why))?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let files = Disk::new(&root);
        let buffer = self
            .session
            .as_deref()
            .map(|session| in_session(&files, session, &path, now))
            .transpose()?;
        if let Some(number) = self.version {
            return earlier(&root, &path, number, buffer.as_ref());
        }
        let unsaved = edits::take_over(&files, &root, &path).map_err(|error| unkept(&path, &error))?;
        let (file, mut notes) = match (document(&files, &path), &buffer) {
            (Ok((text, notes)), _) => (Some(text), notes),
            (Err(_), Some(_)) => (None, Vec::new()),
            (Err(why), None) => return Err(remembered(&root, &path, why)),
        };
        notes.extend(self.beside(&unsaved, buffer.as_ref(), file.as_deref()));
        let mut journal = self.noted(&root, &path, file.as_deref(), &editor, now)?;
        let text = match &buffer {
            Some(buffer) => {
                journal.versions.clone_from(&buffer.versions);
                buffer.text.clone()
            }
            None => file.unwrap_or_default(),
        };
        let current = journal.current().map_or(0, |version| version.number);
        let known = |digest: &str| kept::text(&root, &path, digest);
        let since = self.since.and_then(|number| {
            let before = match &buffer {
                Some(buffer) => buffer.text_of(number).map(str::to_owned),
                None => journal.version(number).and_then(|version| known(&version.digest)),
            };
            if before.is_none() {
                notes.push(format!("version {number} is not remembered; the document is shown whole"));
            }
            Some((number, Difference::of(&before?, &text)))
        });
        let anchor = journal.anchor(self.anchor.as_deref(), now);
        if let Some(name) = self.anchor.as_ref().filter(|_| anchor.is_none()) {
            notes.push(format!("there is no anchor of the name {name}"));
        }
        let anchor = anchor
            .filter(|anchor| buffer.is_some() || anchor.version != current)
            .and_then(|anchor| {
                let name = match &anchor.name {
                    Some(name) => format!("anchor '{name}'"),
                    None => format!("the anchor of {}", moment(anchor.at)),
                };
                Some((name, anchor.version, Difference::of(&known(&anchor.digest)?, &text)))
            });
        let live = Live {
            path: &path,
            text: &text,
            version: current,
            recent: journal
                .versions
                .iter()
                .rev()
                .take(RECENT)
                .filter(|one| self.since.is_none_or(|since| one.number > since || since > current))
                .collect(),
            since,
            anchor,
            editor: &journal.editor,
            plans: journal.plans.iter().rev().collect(),
            moment,
        };
        let made = live.render(self.budget);
        if made.tokens > self.budget {
            notes.push(format!(
                "not less than {} tokens say anything; the budget is {}",
                made.tokens, self.budget
            ));
        }
        Ok(Answer {
            context_text: made.sections.iter().map(|section| section.text.as_str()).collect(),
            message: user(made.sections),
            version: current,
            shown: made.shown,
            lines: made.lines,
            cut: made.cut,
            tokens: made.tokens,
            notes,
        })
    }

    fn text(answer: &Answer) -> String {
        let cut = answer.cut.iter().map(|what| format!("cut: {what}\n"));
        let notes = answer.notes.iter().map(|note| format!("note: {note}\n"));
        let below: String = cut.chain(notes).collect();
        printable(&format!("{}{below}", answer.context_text))
    }
}

fn user(content: Vec<Section>) -> Message {
    Message {
        role: "user".to_owned(),
        content,
    }
}

impl Show {
    /// The editor's state, if it is told; arguments that cannot be answered are refused.
    fn checked(&self) -> Result<Option<Editor>, Failed> {
        let told = [
            Some(&self.author),
            self.what.as_ref(),
            self.failed.as_ref(),
            self.plan.as_ref(),
            self.result.as_ref(),
        ];
        let named = [self.set_anchor.as_ref(), self.anchor.as_ref(), self.selection.as_ref()];
        if named[..2].iter().flatten().any(|name| name.trim().is_empty()) {
            return Err(wrong("an anchor's name is empty").hinted("give it a name, such as green"));
        }
        if told.into_iter().chain(named).flatten().any(|words| words.len() > LONGEST_WORDS) {
            return Err(wrong("what is told of a change is longer than 4 KiB").hinted("tell it in fewer words"));
        }
        if self.since.is_some() && self.version.is_some() {
            return Err(wrong("since and version cannot go together").hinted("leave one out"));
        }
        let beside = [
            (self.set_anchor.is_some(), "setAnchor"),
            (self.anchor.is_some(), "anchor"),
            (self.plan.is_some(), "plan"),
            (self.result.is_some(), "result"),
            (self.what.is_some(), "what"),
            (self.failed.is_some(), "failed"),
            (self.cursor.is_some(), "cursor"),
            (self.selection.is_some(), "selection"),
        ];
        if let Some((_, name)) = beside.iter().find(|(given, _)| *given && self.version.is_some()) {
            let why = format!("version shows an earlier text and notes nothing: {name} cannot go with it");
            return Err(wrong(&why).hinted("leave one out; two calls do both"));
        }
        let cursor = self
            .cursor
            .as_ref()
            .map(|text| place(text).ok_or_else(|| wrong("the cursor is no LINE or LINE:COLUMN, from 1").at(text)));
        let cursor = cursor.transpose()?;
        if let Some(text) = self.selection.as_ref().filter(|text| !is_range(text)) {
            return Err(wrong("the selection is no LINE:COLUMN-LINE:COLUMN, from 1").at(text));
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

    /// What is to be known of sessions that hold edits of the document, and of the file beside the one that is shown.
    fn beside(&self, unsaved: &[String], buffer: Option<&Buffer>, file: Option<&str>) -> Vec<String> {
        let others = unsaved.iter().filter(|session| Some(*session) != self.session.as_ref());
        let mut notes: Vec<String> = others
            .map(|session| {
                format!("edit session {session} has edits of it that are not saved: --session {session} shows it as it is there")
            })
            .collect();
        if let (Some(buffer), Some(session)) = (buffer, &self.session) {
            match file {
                None if buffer.base.is_some() => {
                    notes.push("the file itself is gone, or no text any more; shown is what the session has".to_owned())
                }
                Some(file) if buffer.base.as_deref() != Some(&journal::digest(file)) => {
                    notes.push(format!(
                        "somebody else changed the file since session {session} looked at it: refresh the session"
                    ));
                }
                _ => {}
            }
        }
        notes
    }

    /// What is remembered of the document, with what this call tells.
    fn noted(&self, root: &Path, path: &str, text: Option<&str>, editor: &Option<Editor>, now: u64) -> Result<Journal, Failed> {
        let said = Said {
            author: self.author.clone(),
            what: self.what.clone(),
            failed: self.failed.clone(),
            edit: None,
        };
        let changed = kept::change(root, path, text, |journal| {
            let before = journal.current().and_then(|current| kept::text(root, path, &current.digest));
            if let Some(text) = text {
                journal.found(text, before.as_deref(), now, &said);
            }
            journal.plan(self.plan.as_deref(), self.result.as_deref());
            if let Some(name) = &self.set_anchor {
                journal.set_anchor(Some(name), now);
            }
            if let Some(editor) = editor {
                journal.editor = editor.clone();
            }
        });
        changed.map_err(|error| unkept(path, &error))
    }
}

fn unkept(path: &str, error: &io::Error) -> Failed {
    let damaged = "check .cortex/live and .cortex/edit; a damaged journal can be moved away";
    Failed::new(Code::Io, checkout::trouble(&format!("the versions of {path}"), error, damaged))
}

/// A place in a text.
fn place(text: &str) -> Option<(usize, Option<usize>)> {
    let number = |text: &str| text.parse::<usize>().ok().filter(|number| *number > 0);
    match text.split_once(':') {
        None => Some((number(text)?, None)),
        Some((line, column)) => Some((number(line)?, Some(number(column)?))),
    }
}

/// Whether a text is two places, the first no later than the second.
fn is_range(text: &str) -> bool {
    let ends = text.split_once('-').and_then(|(from, to)| Some((place(from)?, place(to)?)));
    ends.is_some_and(|((line, column), (last, end))| (line, column.unwrap_or(1)) <= (last, end.unwrap_or(usize::MAX)))
}

/// An argument that cannot be answered.
struct Wrong(Diagnostic);

fn wrong(message: &str) -> Wrong {
    Wrong(Diagnostic::error("E_PARAM", message))
}

impl Wrong {
    fn hinted(self, hint: &str) -> Failed {
        Failed::new(Code::Usage, self.0.hint(hint))
    }

    fn at(self, found: &str) -> Failed {
        Failed::new(
            Code::Usage,
            self.0
                .found(found.chars().take(120).collect::<String>())
                .hint("write 12 or 12:5, and 12:5-14:1 for a selection"),
        )
    }
}

fn not_shown(why: &place::Refused) -> Failed {
    let why = Diagnostic::error("AccessDenied", format!("this is not shown: {why}"));
    Failed::new(Code::Usage, why.hint("name a file of the workspace by its path from the root"))
}

/// The document as it is in a session.
fn in_session(files: &Disk, session: &str, path: &str, now: u64) -> Result<Buffer, Failed> {
    let buffer = edits::buffer(files, session, path, now).map_err(|why| {
        let told = Diagnostic::error("E_SESSION", why.to_string());
        Failed::new(Code::Usage, told.hint("`cortex edit list` tells which sessions there are"))
    })?;
    buffer.ok_or_else(|| {
        let told = Diagnostic::error("E_SESSION", format!("{path} has no text in session {session}"));
        Failed::new(Code::Usage, told.hint("leave the session out to see the file"))
    })
}

/// The text of a file, and what is to be known of how it is written.
fn document(files: &Disk, path: &str) -> Result<(String, Vec<String>), Failed> {
    let unread = |message: String, hint: &str| Failed::new(Code::Io, Diagnostic::error("E_READ", message).hint(hint));
    let found = files.read(path).map_err(|error| {
        let hint = "name a text file of the workspace that can be read, of up to 32 MiB";
        unread(format!("{path} cannot be read: {error}"), hint)
    })?;
    let Some(found) = found else {
        let hint = "name a file by its path from the workspace's root";
        return Err(unread(format!("there is no file {path}"), hint));
    };
    let why = match decode(&found.bytes) {
        Ok(_) if found.bytes.len() > LONGEST => Unreadable::Large {
            bytes: found.bytes.len() as u64,
        },
        Ok((text, encoding)) => {
            let note = (encoding.form != Form::Utf8).then(|| {
                let form = encoding.form.to_string().to_lowercase();
                format!("{path} is written in {form}; what is shown is what its bytes stand for")
            });
            return Ok((text, note.into_iter().collect()));
        }
        Err(why) => why,
    };
    Err(Failed::new(Code::Usage, no_text(path, &why)))
}

/// Of a file that is gone what is remembered can still be shown.
fn remembered(root: &Path, path: &str, why: Failed) -> Failed {
    let last = kept::read(root, path)
        .ok()
        .and_then(|journal| journal.current().map(|version| version.number));
    match (last, why.diagnostics.first()) {
        (Some(last), Some(told)) => {
            let hint = format!("version {last} is the last that is remembered: --version {last} shows it");
            Failed::new(why.code, told.clone().hint(hint))
        }
        _ => why,
    }
}

/// The text of an earlier version.
fn earlier(root: &Path, path: &str, number: u64, buffer: Option<&Buffer>) -> Result<Answer, Failed> {
    let mut journal = kept::read(root, path)
        .map_err(|error| Failed::new(Code::Io, Diagnostic::error("E_READ", error.to_string()).hint("check .cortex/live")))?;
    let text = match buffer {
        Some(buffer) => {
            (journal.given, journal.versions) = (buffer.version(), buffer.versions.clone());
            buffer.text_of(number).map(str::to_owned)
        }
        None => journal.version(number).and_then(|version| kept::text(root, path, &version.digest)),
    };
    let Some(text) = text else {
        let first = journal.versions.first().map_or(0, |version| version.number);
        let why = Diagnostic::error("E_VERSION", format!("there is no version {number} of {path}"));
        let hint = match journal.given {
            0 if buffer.is_some() => "the session has done nothing to it yet".to_owned(),
            0 => "nobody asked for this document yet".to_owned(),
            last => format!("versions {first} to {last} are remembered"),
        };
        return Err(Failed::new(Code::Usage, why.hint(hint)));
    };
    let editor = Editor::default();
    let live = Live {
        path,
        text: &text,
        version: number,
        since: None,
        recent: Vec::new(),
        anchor: None,
        editor: &editor,
        plans: Vec::new(),
        moment,
    };
    let made = live.render(usize::MAX);
    let section = made.sections.into_iter().nth(1);
    Ok(Answer {
        context_text: section.iter().map(|section| section.text.as_str()).collect(),
        message: user(section.into_iter().collect()),
        version: number,
        shown: made.shown,
        lines: made.lines,
        cut: Vec::new(),
        tokens: made.tokens,
        notes: Vec::new(),
    })
}
