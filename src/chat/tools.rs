//! The tools that a model of a conversation has: those of MCP that only look, and `edit`, whose edits stay in a session until the person accepts
//! them. What a call found goes back to the model as data.

use crate::context::Failed;
use crate::mcp::form::Form;
use crate::mcp::tools::{self, Can};
use crate::methods::{self, Answered, Entry};
use crate::render::{Style, diagnostic};
use crate::service::Host;
use crate::service::host::{Asker, Outcome, Patience};
use engine::seams::producer::Cancel;
use producers::converse::TurnData;
use producers::semantic::Withheld;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use workbench::chat::calls::Call;
use workbench::live::budget::Room;

/// Tokens that one call may find.
const ROOM: usize = 3_500;
/// Bytes of what one call found that are sent.
const MOST_BYTES: usize = 14_000;

/// Tools of MCP that a conversation has no use for: they ask models, take work for agents, or write.
const WITHOUT: [&str; 5] = ["investigate", "pack_build", "overlay", "work_next", "work_submit"];

/// Operations of `edit` that change a session and save nothing.
const EDITS: [&str; 10] = [
    "replace",
    "replace_selection",
    "candidates",
    "append",
    "replace_symbol",
    "insert_before",
    "insert_after",
    "patch",
    "create",
    "write",
];

/// The tools as a model is told of them: one a line.
pub fn definitions() -> String {
    let can = Can {
        work: false,
        investigate: false,
    };
    let all = tools::definitions(Form::Text, can).into_iter();
    let told = all.filter(|tool| !WITHOUT.contains(&&*tool.name)).map(|tool| {
        let mut arguments = Value::Object((*tool.input_schema).clone());
        if tool.name == "edit" {
            let fields = arguments["properties"]
                .as_object_mut()
                .expect("invariant: a tool has an object of arguments");
            fields.remove("session");
            fields.insert("op".to_owned(), json!({"type": "string", "enum": EDITS}));
        }
        json!({"tool": tool.name, "about": tool.description, "arguments": arguments}).to_string()
    });
    told.collect::<Vec<_>>().join("\n")
}

/// What a call found, and a line about it for the person.
pub struct ToolResult {
    /// For the model.
    pub shown: TurnData,
    /// For the person.
    pub line: String,
}

/// Fields that hold texts of files or of people, and name no place.
const TEXTS: [&str; 8] = ["text", "contextText", "oldText", "newText", "detail", "line", "query", "pattern"];
/// Words of a field that may be the name of a file.
const LONGEST_PLACE: usize = 4;

/// Runs calls for one question.
pub struct Tools<'t> {
    /// Who answers.
    pub host: &'t Arc<Host>,
    /// Ends what runs.
    pub cancel: &'t Cancel,
    /// Files that no model sees.
    pub withheld: Withheld,
    /// The edit session of what is proposed, once something is.
    pub proposal: &'t mut Option<String>,
}

impl Tools<'_> {
    /// Runs a call.
    pub fn run(&mut self, call: &Result<Call, String>) -> ToolResult {
        let (line, text) = match call {
            Err(why) => ("a call that cannot be read".to_owned(), format!("error: {why}")),
            Ok(call) => (line(call), self.answer(call).unwrap_or_else(|why| format!("error: {why}"))),
        };
        ToolResult {
            shown: TurnData {
                label: line.clone(),
                text: cut_to_limit(&text),
            },
            line,
        }
    }

    fn answer(&mut self, call: &Call) -> Result<String, String> {
        if WITHOUT.contains(&call.tool.as_str()) {
            return Err(format!("there is no tool '{}' in a conversation", call.tool));
        }
        let tool = tools::find(&call.tool).ok_or_else(|| tools::no_tool(&call.tool))?;
        let (entry, mut arguments) = tool.method_of(call.arguments.clone()).map_err(|failed| describe_failure(&failed))?;
        let fields = arguments.as_object_mut().ok_or("the arguments are no object")?;
        match entry.name {
            "edit" => return self.propose(entry, fields),
            // What it would do is shown; the model may propose it as a patch.
            "rename" => drop(fields.insert("dryRun".to_owned(), true.into())),
            "context build" => drop(fields.remove("conversation")),
            "semantic" => drop(fields.remove("refresh")),
            _ if entry.is_read_only() => {}
            _ => return Err(format!("'{}' changes something, which is the person's to do", entry.name)),
        }
        self.text(entry, arguments)
    }

    /// Makes an edit in the session of the proposal.
    fn propose(&mut self, entry: &'static Entry, fields: &mut Map<String, Value>) -> Result<String, String> {
        let op = fields.get("op").and_then(Value::as_str).unwrap_or_default();
        if !EDITS.contains(&op) {
            return Err(format!("'{op}' is the person's to do; possible are {}", EDITS.join(", ")));
        }
        fields.remove("mode");
        match &self.proposal {
            Some(session) => {
                fields.insert("session".to_owned(), session.as_str().into());
                self.name_file(fields);
            }
            None => {
                fields.remove("session");
                fields.insert("mode".to_owned(), "manual".into());
            }
        }
        let Answered { answer, .. } = self.ask(entry, fields.clone().into())?;
        if self.proposal.is_none()
            && let Some(session) = answer["session"].as_str()
        {
            *self.proposal = Some(session.to_owned());
        }
        (entry.text)(&answer, Style::plain()).map_err(|error| error.to_string())
    }

    /// A symbol says in which file it stands; with a session the file has to be named.
    fn name_file(&self, fields: &mut Map<String, Value>) {
        let Some(symbol) = fields.get("symbol").cloned().filter(|_| !fields.contains_key("path")) else {
            return;
        };
        let resolve = methods::find("resolve").expect("invariant: the table has it");
        let found = self.ask(resolve, json!({ "symbol": symbol }));
        if let Ok(Answered { answer, .. }) = found
            && let Some(file) = answer["candidates"][0]["files"][0].as_str()
        {
            fields.insert("path".to_owned(), file.into());
        }
    }

    fn text(&self, entry: &'static Entry, arguments: Value) -> Result<String, String> {
        let answered = self.ask(entry, arguments)?;
        (entry.text)(&answered.answer, Style::plain()).map_err(|error| error.to_string())
    }

    /// The answer of a method, unless it is about a file that no model sees.
    fn ask(&self, entry: &'static Entry, arguments: Value) -> Result<Answered, String> {
        self.refuse_secrets(&arguments)?;
        let asker = Asker {
            room: Some(Room {
                most: ROOM,
                ..Form::Text.room()
            }),
            ..Asker::of(Patience::Long)
        };
        let Outcome { result, .. } = self.host.call_with(entry, arguments, self.cancel, asker);
        let answered = result.map_err(|failed| describe_failure(&failed))?;
        self.refuse_secrets(&answered.answer)?;
        Ok(answered)
    }

    /// Refuses what names a file that no model sees, wherever it does.
    fn refuse_secrets(&self, value: &Value) -> Result<(), String> {
        match value {
            Value::String(text) => {
                // Places are written behind a colon, changed files with their status in front.
                let words = text.split([':', ' ', '\n']).filter(|word| word.len() <= 300);
                match words.take(LONGEST_PLACE).find(|word| self.withheld.by(word).is_some()) {
                    Some(file) => Err(format!("'{file}' is a file that no model may see")),
                    None => Ok(()),
                }
            }
            Value::Array(values) => values.iter().try_for_each(|value| self.refuse_secrets(value)),
            Value::Object(fields) => {
                let mut named = fields.iter().filter(|(name, _)| !TEXTS.contains(&name.as_str()));
                named.try_for_each(|(_, value)| self.refuse_secrets(value))
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
        }
    }
}

/// Why a request failed, as text.
pub fn describe_failure(failed: &Failed) -> String {
    let texts = failed.diagnostics.iter().take(5).map(|one| diagnostic::text(one, Style::plain()));
    texts.collect::<Vec<_>>().join("\n")
}

/// Arguments that say what a call is about.
const ABOUT: [&str; 9] = ["op", "symbol", "symbols", "path", "file", "query", "pattern", "name", "label"];

/// A call in one line: the tool, and what it is about.
fn line(call: &Call) -> String {
    let about = ABOUT.iter().filter_map(|name| match call.arguments.get(*name)? {
        Value::String(text) => Some(text.chars().take(60).collect()),
        Value::Array(values) => values.first().and_then(Value::as_str).map(str::to_owned),
        _ => None,
    });
    let words: Vec<String> = std::iter::once(call.tool.clone()).chain(about).collect();
    words.join(" ")
}

/// As much of a text as is sent, whole lines.
fn cut_to_limit(text: &str) -> String {
    if text.len() <= MOST_BYTES {
        return text.to_owned();
    }
    let end = text[..text.floor_char_boundary(MOST_BYTES)].rfind('\n').unwrap_or(0);
    let left = text[end..].lines().count();
    format!("{}\n[{left} more lines are left out: ask for less at once]", &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_told_of_tools_that_save_nothing() {
        let told = definitions();
        for without in WITHOUT {
            assert!(!told.contains(&format!("\"tool\":\"{without}\"")), "{without}");
        }
        for with in ["outline", "source", "usages", "edit"] {
            assert!(told.contains(&format!("\"tool\":\"{with}\"")), "{with}");
        }
        let edit = told.lines().find(|line| line.contains("\"tool\":\"edit\"")).expect("listed");
        let edit: Value = serde_json::from_str(edit).expect("JSON");
        let fields = &edit["arguments"]["properties"];
        assert!(fields["op"]["enum"] == json!(EDITS) && fields["session"].is_null(), "{fields}");
        assert!(producers::llm::tokens::o200k(&told) <= 1_500);
    }

    #[test]
    fn what_is_long_is_cut_to_whole_lines() {
        let text = "line of text\n".repeat(2_000);
        let cut = cut_to_limit(&text);
        assert!(cut.len() < MOST_BYTES + 100);
        let (kept, mark) = cut.rsplit_once('\n').expect("lines");
        assert!(kept.lines().all(|line| line == "line of text") && mark.contains("are left out"));
    }
}
