//! Tools for the model of a conversation: the read-only ones of MCP, and `edit`, whose edits stay in a session until the person accepts them.
//! The results of a call return to the model as data.

use crate::secrets::ChatSecrets;
use engine::seams::producer::Cancel;
use methods::catalog::{self, Answered, MethodEntry};
use methods::failed::Failed;
use methods::render::{Style, diagnostic};
use producers::converse::TurnData;
use serde_json::{Map, Value, json};
use serve::Host;
use serve::host::{Asker, Outcome, Patience};
use serve::tools::answer_form::Form;
use serve::tools::definitions::{self, ToolAvailability, ToolMethods};
use serve::tools::group;
use std::sync::Arc;
use workbench::budget::Room;
use workbench::chat::calls::Call;

/// Limit of one call's result, in tokens.
const ROOM: usize = 3_500;
/// Limit of one call's result as sent, in bytes.
const MOST_BYTES: usize = 14_000;

/// MCP tools that a conversation leaves out: they ask models, take work for agents, or write.
const WITHOUT: [&str; 5] = ["investigate", "pack_build", "overlay", "work_next", "work_submit"];

/// Operations of `edit` that change a session and save nothing.
const EDITS: [&str; 10] = [
    "replace", "replace_selection", "candidates", "append", "replace_symbol", "insert_before", "insert_after", "patch", "create", "write",
];

/// Operations that continue an earlier edit of the proposal.
const OF_PROPOSAL: [&str; 2] = ["candidates", "replace_selection"];

/// Descriptions of tools that do less in a conversation than elsewhere.
const PURPOSES: [(&str, &str); 3] = [
    (
        "edit",
        "Propose edits of files, all or nothing, symbols by name: nothing is saved, the person sees the difference and accepts or drops it",
    ),
    ("context", "Types and members that belong to a task"),
    ("node", "Any target of the build graph: why stale, versions, cost"),
];

/// Returns whether the model may call a method. Methods that change something work differently in a conversation.
fn is_offered(entry: &MethodEntry) -> bool {
    matches!(entry.name, "edit" | "rename" | "context build" | "semantic") || entry.is_read_only()
}

/// Returns the definitions of the tools for a model, one per line.
pub fn definitions() -> String {
    let can = ToolAvailability {
        work: false,
        investigate: false,
    };
    let all = definitions::definitions(Form::Text, can).into_iter();
    let definitions = all.filter(|tool| !WITHOUT.contains(&tool.name.as_str())).map(|tool| {
        let tool = match definitions::find_tool(&tool.name) {
            Some(ToolMethods::Group(name)) => group::definition_with(name, is_offered),
            _ => tool,
        };
        let mut arguments = Value::Object(tool.input_schema);
        let fields = arguments["properties"]
            .as_object_mut()
            .expect("invariant: a tool has an object of arguments");
        let here: &[&str] = match tool.name.as_str() {
            "edit" => {
                fields.insert("op".to_owned(), json!({"type": "string", "enum": EDITS}));
                &["session"]
            }
            "rename" => &["dryRun"],
            "context" => &["conversation"],
            "semantic" => &["refresh"],
            _ => &[],
        };
        fields.retain(|name, _| !here.contains(&name.as_str()));
        let about = PURPOSES.iter().find(|(name, _)| *name == tool.name).map(|(_, about)| *about);
        json!({"tool": tool.name, "about": about.unwrap_or(&tool.description), "arguments": arguments}).to_string()
    });
    definitions.collect::<Vec<_>>().join("\n")
}

/// Result of a tool call.
pub struct ToolResult {
    pub shown: TurnData,
    /// Line for the person: the subject of the call, and the reason if it failed.
    pub line: String,
    /// Change that the call would make, as a diff for the person.
    pub diff: Option<String>,
}

/// Result of a successful call.
struct CallResult {
    text: String,
    diff: Option<String>,
}

/// Runs the tool calls of one question.
pub struct Tools<'t> {
    /// Answers the method calls.
    pub host: &'t Arc<Host>,
    pub cancel: &'t Cancel,
    /// Files and types that no model may see.
    pub secrets: &'t ChatSecrets,
    /// Edit session of the proposal, once a call proposed an edit.
    pub proposal: &'t mut Option<String>,
}

impl Tools<'_> {
    pub fn run_tool_call(&mut self, call: &Result<Call, String>) -> ToolResult {
        let (label, found) = match call {
            Err(why) => ("a call that cannot be read".to_owned(), Err(why.clone())),
            Ok(call) => (call_line(call), self.answer_call(call)),
        };
        let (line, text, diff) = match found {
            Ok(found) => (label.clone(), found.text, found.diff),
            Err(why) => {
                let line = format!("{label}: {}", why.lines().next().unwrap_or_default());
                (line, format!("error: {why}"), None)
            }
        };
        ToolResult {
            shown: TurnData {
                label,
                text: cut_to_limit(&text),
            },
            line,
            diff,
        }
    }

    fn answer_call(&mut self, call: &Call) -> Result<CallResult, String> {
        if WITHOUT.contains(&call.tool.as_str()) {
            return Err(format!("there is no tool '{}' in a conversation", call.tool));
        }
        let tool = definitions::find_tool(&call.tool).ok_or_else(|| definitions::no_tool(&call.tool))?;
        let (entry, mut arguments) = tool.method_of(call.arguments.clone()).map_err(|failed| describe_failure(&failed))?;
        let fields = arguments.as_object_mut().ok_or("the arguments are not an object")?;
        match entry.name {
            "edit" => return self.propose(entry, fields),
            // Only a dry run; the model can propose the change as a patch.
            "rename" => drop(fields.insert("dryRun".to_owned(), true.into())),
            "context build" => drop(fields.remove("conversation")),
            "semantic" => drop(fields.remove("refresh")),
            _ if is_offered(entry) => {}
            _ => return Err(format!("'{}' changes something, which is the person's to do", entry.name)),
        }
        let (answer, text) = self.call_shown_method(entry, arguments)?;
        let diff = answer["diff"].as_str().filter(|_| entry.name == "rename").map(str::to_owned);
        Ok(CallResult { text, diff })
    }

    /// Runs an edit in the session of the proposal.
    fn propose(&mut self, entry: &'static MethodEntry, fields: &mut Map<String, Value>) -> Result<CallResult, String> {
        let op = fields.get("op").and_then(Value::as_str).unwrap_or_default().to_owned();
        if !EDITS.contains(&op.as_str()) {
            return Err(format!("'{op}' is the person's to do; possible are {}", EDITS.join(", ")));
        }
        fields.remove("mode");
        match &self.proposal {
            Some(session) => {
                fields.insert("session".to_owned(), session.as_str().into());
                self.name_file(fields);
            }
            None if OF_PROPOSAL.contains(&op.as_str()) => return Err(format!("nothing is proposed yet for '{op}'")),
            None => {
                fields.remove("session");
                fields.insert("mode".to_owned(), "manual".into());
            }
        }
        let (answer, text) = self.call_shown_method(entry, fields.clone().into())?;
        if self.proposal.is_none()
            && let Some(session) = answer["session"].as_str()
        {
            *self.proposal = Some(session.to_owned());
        }
        Ok(CallResult { text, diff: None })
    }

    /// Adds the file of the symbol: an edit of a symbol in a session needs its path.
    fn name_file(&self, fields: &mut Map<String, Value>) {
        let Some(symbol) = fields.get("symbol").cloned().filter(|_| !fields.contains_key("path")) else {
            return;
        };
        let resolve = catalog::find_method("resolve").expect("invariant: the table has it");
        let found = self.call_shown_method(resolve, json!({ "symbol": symbol }));
        if let Ok((answer, _)) = found
            && let Some(file) = answer["candidates"][0]["files"][0].as_str()
        {
            fields.insert("path".to_owned(), file.into());
        }
    }

    /// Returns the answer of a method and its text, without entries that no model may see.
    fn call_shown_method(&self, entry: &'static MethodEntry, arguments: Value) -> Result<(Value, String), String> {
        self.secrets.refuse_arguments(&arguments)?;
        let asker = Asker {
            room: Some(Room {
                most: ROOM,
                ..Form::Text.room()
            }),
            ..Asker::with_patience(Patience::Long)
        };
        let Outcome { result, .. } = self.host.call_with(entry, arguments, self.cancel, asker);
        let Answered { mut answer, .. } = result.map_err(|failed| describe_failure(&failed))?;
        let left_out = self.secrets.remove_withheld(&mut answer);
        self.secrets.refuse_answer(&answer)?;
        let mut text = (entry.text)(&answer, Style::plain()).map_err(|error| error.to_string())?;
        if left_out > 0 {
            let entries = if left_out == 1 { "entry is" } else { "entries are" };
            text.push_str(&format!("\n[{left_out} {entries} left out: in files that no model may see]\n"));
        }
        Ok((answer, text))
    }
}

/// Formats a failure as text.
pub fn describe_failure(failed: &Failed) -> String {
    let texts = failed
        .diagnostics
        .iter()
        .take(5)
        .map(|one| diagnostic::format_diagnostic(one, Style::plain()));
    texts.collect::<Vec<_>>().join("\n")
}

/// Arguments that identify the subject of a call.
const ABOUT: [&str; 9] = ["op", "symbol", "symbols", "path", "file", "query", "pattern", "name", "label"];

/// Summarizes a call in one line: the tool and its subject.
fn call_line(call: &Call) -> String {
    let about = ABOUT.iter().filter_map(|name| match call.arguments.get(*name)? {
        Value::String(text) => Some(text.chars().take(60).collect()),
        Value::Array(values) => values.first().and_then(Value::as_str).map(str::to_owned),
        _ => None,
    });
    let words: Vec<String> = std::iter::once(call.tool.clone()).chain(about).collect();
    words.join(" ")
}

/// Cuts a text to the limit, at a line end.
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
        let text = definitions();
        for without in WITHOUT {
            assert!(!text.contains(&format!("\"tool\":\"{without}\"")), "{without}");
        }
        for with in ["outline", "source", "usages", "edit"] {
            assert!(text.contains(&format!("\"tool\":\"{with}\"")), "{with}");
        }
        let edit = text.lines().find(|line| line.contains("\"tool\":\"edit\"")).expect("listed");
        let edit: Value = serde_json::from_str(edit).expect("JSON");
        let fields = &edit["arguments"]["properties"];
        assert!(fields["op"]["enum"] == json!(EDITS) && fields["session"].is_null(), "{fields}");
        for refused in ["saved at once", "\"live\"", "\"invalidate\"", "\"dryRun\""] {
            assert!(!text.contains(refused), "{refused}: {text}");
        }
        assert!(producers::llm::tokens::o200k(&text) <= 1_500);
    }

    #[test]
    fn a_long_answer_is_cut_to_whole_lines() {
        let text = "line of text\n".repeat(2_000);
        let cut = cut_to_limit(&text);
        assert!(cut.len() < MOST_BYTES + 100);
        let (kept, mark) = cut.rsplit_once('\n').expect("lines");
        assert!(kept.lines().all(|line| line == "line of text") && mark.contains("are left out"));
    }
}
