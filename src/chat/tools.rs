//! The tools that a model of a conversation has: those of MCP that only look, and `edit`, whose edits stay in a session until the person accepts
//! them. What a call found goes back to the model as data.

use super::secrets::ChatSecrets;
use crate::context::Failed;
use crate::mcp::form::Form;
use crate::mcp::group;
use crate::mcp::tools::{self, Can, Stands};
use crate::methods::{self, Answered, Entry};
use crate::render::{Style, diagnostic};
use crate::service::Host;
use crate::service::host::{Asker, Outcome, Patience};
use engine::seams::producer::Cancel;
use producers::converse::TurnData;
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

/// Those that go on with what an edit before them offered.
const OF_PROPOSAL: [&str; 2] = ["candidates", "replace_selection"];

/// What tools are for that do less here than elsewhere.
const PURPOSES: [(&str, &str); 3] = [
    (
        "edit",
        "Propose edits of files, all or nothing, symbols by name: nothing is saved, the person sees the difference and accepts or drops it",
    ),
    ("context", "Types and members that belong to a task"),
    ("node", "Any target of the build graph: why stale, versions, cost"),
];

/// Whether a method can be asked in a conversation. Those that change something have their own ways here.
fn is_offered(entry: &Entry) -> bool {
    matches!(entry.name, "edit" | "rename" | "context build" | "semantic") || entry.is_read_only()
}

/// The tools as a model is told of them: one a line.
pub fn definitions() -> String {
    let can = Can {
        work: false,
        investigate: false,
    };
    let all = tools::definitions(Form::Text, can).into_iter();
    let told = all.filter(|tool| !WITHOUT.contains(&&*tool.name)).map(|tool| {
        let tool = match tools::find(&tool.name) {
            Some(Stands::Group(name)) => group::definition_with(name, is_offered),
            _ => tool,
        };
        let mut arguments = Value::Object((*tool.input_schema).clone());
        let fields = arguments["properties"]
            .as_object_mut()
            .expect("invariant: a tool has an object of arguments");
        let here: &[&str] = match &*tool.name {
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
        json!({"tool": tool.name, "about": about.or(tool.description.as_deref()), "arguments": arguments}).to_string()
    });
    told.collect::<Vec<_>>().join("\n")
}

/// What a call found, and a line about it for the person.
pub struct ToolResult {
    /// For the model.
    pub shown: TurnData,
    /// For the person: what the call is about, and why it failed.
    pub line: String,
    /// A difference that it would make, for the person.
    pub diff: Option<String>,
}

/// What a call comes to.
struct Found {
    text: String,
    diff: Option<String>,
}

/// Runs calls for one question.
pub struct Tools<'t> {
    /// Who answers.
    pub host: &'t Arc<Host>,
    /// Ends what runs.
    pub cancel: &'t Cancel,
    /// What no model sees.
    pub secrets: &'t ChatSecrets,
    /// The edit session of what is proposed, once something is.
    pub proposal: &'t mut Option<String>,
}

impl Tools<'_> {
    /// Runs a call.
    pub fn run(&mut self, call: &Result<Call, String>) -> ToolResult {
        let (label, found) = match call {
            Err(why) => ("a call that cannot be read".to_owned(), Err(why.clone())),
            Ok(call) => (line(call), self.answer(call)),
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

    fn answer(&mut self, call: &Call) -> Result<Found, String> {
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
            _ if is_offered(entry) => {}
            _ => return Err(format!("'{}' changes something, which is the person's to do", entry.name)),
        }
        let (answer, text) = self.ask(entry, arguments)?;
        let diff = answer["diff"].as_str().filter(|_| entry.name == "rename").map(str::to_owned);
        Ok(Found { text, diff })
    }

    /// Makes an edit in the session of the proposal.
    fn propose(&mut self, entry: &'static Entry, fields: &mut Map<String, Value>) -> Result<Found, String> {
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
            None if OF_PROPOSAL.contains(&op.as_str()) => return Err(format!("nothing is proposed yet that '{op}' could go on with")),
            None => {
                fields.remove("session");
                fields.insert("mode".to_owned(), "manual".into());
            }
        }
        let (answer, text) = self.ask(entry, fields.clone().into())?;
        if self.proposal.is_none()
            && let Some(session) = answer["session"].as_str()
        {
            *self.proposal = Some(session.to_owned());
        }
        Ok(Found { text, diff: None })
    }

    /// A symbol says in which file it stands; with a session the file has to be named.
    fn name_file(&self, fields: &mut Map<String, Value>) {
        let Some(symbol) = fields.get("symbol").cloned().filter(|_| !fields.contains_key("path")) else {
            return;
        };
        let resolve = methods::find("resolve").expect("invariant: the table has it");
        let found = self.ask(resolve, json!({ "symbol": symbol }));
        if let Ok((answer, _)) = found
            && let Some(file) = answer["candidates"][0]["files"][0].as_str()
        {
            fields.insert("path".to_owned(), file.into());
        }
    }

    /// The answer of a method and its text, without entries about what no model sees.
    fn ask(&self, entry: &'static Entry, arguments: Value) -> Result<(Value, String), String> {
        self.secrets.refuse_arguments(&arguments)?;
        let asker = Asker {
            room: Some(Room {
                most: ROOM,
                ..Form::Text.room()
            }),
            ..Asker::of(Patience::Long)
        };
        let Outcome { result, .. } = self.host.call_with(entry, arguments, self.cancel, asker);
        let Answered { mut answer, .. } = result.map_err(|failed| describe_failure(&failed))?;
        let left_out = self.secrets.leave_out(&mut answer);
        self.secrets.refuse_answer(&answer)?;
        let mut text = (entry.text)(&answer, Style::plain()).map_err(|error| error.to_string())?;
        if left_out > 0 {
            let entries = if left_out == 1 { "entry is" } else { "entries are" };
            text.push_str(&format!("\n[{left_out} {entries} left out: in files that no model may see]\n"));
        }
        Ok((answer, text))
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
        for refused in ["saved at once", "\"live\"", "\"invalidate\"", "\"dryRun\""] {
            assert!(!told.contains(refused), "{refused}: {told}");
        }
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
