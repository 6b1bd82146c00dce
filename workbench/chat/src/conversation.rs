//! A conversation from one question to the next: its rounds and contexts, the model's turns and tool calls, and the cost. It does not depend on
//! a terminal; the caller receives [`Event`]s as they happen.

use crate::chat_methods::{END_ROUND, Fault, TURN, Turned, TypeKeys, WITHHELD_TYPES, fault_of_request};
use crate::secrets::ChatSecrets;
use crate::tools::{self, Tools};
use engine::seams::paid::Spent;
use engine::seams::producer::Cancel;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use methods::catalog;
use methods::code::Code;
use methods::desk::model_limits::AskingArgs;
use methods::failed::Failed;
use methods::render::{Style, format_count, money, plural};
use producers::converse::TurnData;
use producers::llm::Used;
use producers::llm::tokens::o200k;
use serde_json::{Value, json};
use serve::Host;
use serve::host::{Asker, Outcome, Patience};
use std::path::PathBuf;
use std::sync::Arc;
use workbench::chat::transcript::{Exchange, ExchangeState, LookupTurn, Transcript};
use workbench::chat::{calls, prompt, quote, references};
use workbench::checkout::{self, FolderLock};
use workbench::context::withheld_files::WithheldFiles;

/// Limit of turns with tool calls per question.
const LOOKS: usize = 8;
/// Note to the person when a model still calls tools in its last turn.
const NO_MORE_LOOKS: &str = "the model called tools in its last turn, too: these calls are not made, and the answer may lack something";
/// Limit of earlier questions and answers in a prompt, in tokens.
const HISTORY: usize = 6_000;

/// Event while a question is answered.
#[derive(Debug)]
pub enum Event {
    /// Summary of the context found, in one line.
    Context(String),
    /// The answer so far: all text of the model's current turn.
    Growing(String),
    /// A complete turn: its text for the person.
    Said(String),
    /// A tool call of the model.
    Looks(String),
    /// Cost of an answer, and other remarks.
    Note(String),
    /// The currently proposed change, as a diff.
    Proposal(String),
    /// The change that a dry run would make, as a diff.
    Preview(String),
    /// Reason why the answer is missing or incomplete.
    Failed(Fault),
}

/// Callback that receives events.
pub type Tell = Arc<dyn Fn(Event) + Send + Sync>;

pub struct ChatConversation {
    pub host: Arc<Host>,
    pub root: PathBuf,
    /// All questions and answers; its id is empty before the first question.
    pub transcript: Transcript,
    /// Lock that keeps other processes from continuing the conversation.
    pub transcript_lock: Option<FolderLock>,
    /// Selected model, if any.
    pub model: Option<String>,
    /// Models that can be selected.
    pub models: Vec<String>,
    /// Limit of a context, in tokens.
    pub budget: usize,
    /// Globs of files that no model may see, besides those whose names suggest keys.
    pub never_send: Vec<String>,
    pub limits: AskingArgs,
    /// Cost of this run so far.
    pub used: Spent,
}

impl ChatConversation {
    /// Answers a question. Returns whether the answer is complete, as a code.
    pub fn ask_and_report(&mut self, question: &str, cancel: &Cancel, tell: &Tell) -> Code {
        self.answer_question(question, cancel, tell)
            .unwrap_or_else(|failed| tell_failure(&failed, cancel, tell))
    }

    /// Continues the last answer where it broke off. The context and the tool results stay the same, so that paid turns are found
    /// in the store.
    pub fn resume_answer(&mut self, cancel: &Cancel, tell: &Tell) -> Code {
        let Some(last) = self.transcript.last_mut() else {
            tell(Event::Note("nothing was asked yet".to_owned()));
            return Code::Ok;
        };
        let turns = last.steps.iter().map(|step| calls::parse_tool_calls(&step.said).text);
        last.answer = turns.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n\n");
        last.state = ExchangeState::Open;
        let question = last.question.clone();
        self.answer_last_exchange(&question, cancel, tell)
            .unwrap_or_else(|failed| tell_failure(&failed, cancel, tell))
    }

    fn answer_question(&mut self, question: &str, cancel: &Cancel, tell: &Tell) -> Result<Code, Failed> {
        let context = self.find_context(question, cancel)?;
        let exchange = self.exchange(question, &context)?;
        self.transcript.start_exchange(exchange);
        self.save_transcript()?;
        tell(Event::Context(context_line(&context)));
        self.answer_last_exchange(question, cancel, tell)
    }

    /// Answers the last exchange of the transcript.
    fn answer_last_exchange(&mut self, question: &str, cancel: &Cancel, tell: &Tell) -> Result<Code, Failed> {
        let code = match self.model.clone() {
            None => self.quote(question, tell),
            Some(model) => self.converse(&model, cancel, tell)?,
        };
        self.save_transcript()?;
        // A cancelled answer also names types and files.
        let after = Cancel::default();
        self.end_round(&after);
        if self.has_edited()
            && let Some(diff) = self.proposal(&after)
        {
            tell(Event::Proposal(diff));
        }
        Ok(code)
    }

    /// Builds the context of a question, as a round of the conversation.
    fn find_context(&mut self, question: &str, cancel: &Cancel) -> Result<Value, Failed> {
        let mut query = references::as_query(question);
        for pin in &self.transcript.pins {
            query.push_str(&format!("\n`{pin}`"));
        }
        let conversation = match self.transcript.id.as_str() {
            "" => "new",
            id => id,
        };
        let arguments = json!({"query": query, "conversation": conversation, "budget": self.budget, "why": true});
        let context = self.call_method("context build", arguments, cancel)?;
        if self.transcript.id.is_empty() {
            let id = context["conversation"]["id"].as_str().unwrap_or_default();
            id.clone_into(&mut self.transcript.id);
            self.transcript_lock = Transcript::lock_conversation(&self.root, id).map_err(|error| not_stored(&error))?;
        }
        Ok(context)
    }

    /// Builds the transcript's entry of a question, its context and the reasons for it.
    fn exchange(&self, question: &str, context: &Value) -> Result<Exchange, Failed> {
        let entry = catalog::find_method("context build").expect("invariant: the table has it");
        let text = (entry.text)(context, Style::plain()).map_err(|error| Failed::bug(&error))?;
        let reasons = text.split_once("── why ──\n").map_or("", |(_, reasons)| reasons);
        Ok(Exchange {
            question: question.to_owned(),
            context: context["contextText"].as_str().unwrap_or_default().to_owned(),
            reasons: reasons.trim_end().to_owned(),
            round: context["conversation"]["round"].as_u64().unwrap_or_default(),
            ..Exchange::default()
        })
    }

    /// Answers without a model, by quoting the context.
    fn quote(&mut self, question: &str, tell: &Tell) -> Code {
        let context = self.transcript.exchanges.last().map_or("", |last| last.context.as_str());
        let quoted = quote::quote(question, context);
        let text = quoted.unwrap_or_else(|| "Nothing in the context contains a word of the question.".to_owned());
        if let Some(last) = self.transcript.last_mut() {
            last.answer.clone_from(&text);
            last.state = ExchangeState::Answered;
        }
        tell(Event::Said(text));
        tell(Event::Note(self.no_model()));
        Code::Ok
    }

    /// Returns a message on how to select a model.
    pub fn no_model(&self) -> String {
        match self.models.as_slice() {
            [] => {
                "quoted from the context: no model is named. Describe one in cortex.toml as [model.NAME]; `cortex help summaries` shows how"
                    .to_owned()
            }
            models => format!(
                "quoted from the context: choose a model with /model or --model: {}",
                models.join(", ")
            ),
        }
    }

    /// Requests answers of the model, with turns of tool calls while it calls tools.
    fn converse(&mut self, model: &str, cancel: &Cancel, tell: &Tell) -> Result<Code, Failed> {
        let tools = tools::definitions();
        let mut spent = Spent::default();
        let mut code = Code::Ok;
        for turn in 0..=LOOKS {
            let turned = self.ask_model(model, &tools, turn < LOOKS, cancel, tell)?;
            if let Some(cost) = &turned.spent {
                spent.add(cost);
                self.used.add(cost);
                self.transcript.spent.add(cost);
            }
            let read = calls::parse_tool_calls(&turned.text);
            if !read.text.is_empty() {
                tell(Event::Said(read.text.clone()));
            }
            let last = self.transcript.last_mut().expect("invariant: a question was begun");
            if !last.answer.is_empty() && !read.text.is_empty() {
                last.answer.push_str("\n\n");
            }
            last.answer.push_str(&read.text);
            if let Some(why) = turned.failed {
                let is_ended = cancel.is_cancelled();
                last.state = if is_ended { ExchangeState::Stopped } else { ExchangeState::Failed };
                code = code_of(&why, cancel);
                tell(Event::Failed(if is_ended { cancelled_fault() } else { why }));
                break;
            }
            if read.calls.is_empty() || turn == LOOKS {
                last.state = ExchangeState::Answered;
                if !read.calls.is_empty() {
                    tell(Event::Note(NO_MORE_LOOKS.to_owned()));
                }
                break;
            }
            let found = self.call_tools(&read.calls, cancel, tell);
            let last = self.transcript.last_mut().expect("invariant: a question was begun");
            last.steps.push(LookupTurn { said: turned.text, found });
            self.save_transcript()?;
        }
        if spent.calls > 0 {
            tell(Event::Note(money::spent(&spent)));
        } else if code == Code::Ok {
            tell(Event::Note("was asked before about the same code: free".to_owned()));
        }
        Ok(code)
    }

    fn ask_model(&self, model: &str, tools: &str, more: bool, cancel: &Cancel, tell: &Tell) -> Result<Turned, Failed> {
        let room = prompt::Room {
            history: HISTORY,
            count: &o200k,
        };
        let turns = prompt::turns(&self.transcript, tools, more, room);
        let arguments = json!({"conversation": self.transcript.id, "model": model, "turns": turns, "asking": self.asking()});
        let hear = tell.clone();
        let asker = Asker {
            hear: Some(Arc::new(move |text: &str| {
                hear(Event::Growing(calls::shown_so_far(text).to_owned()))
            })),
            ..Asker::with_patience(Patience::Long)
        };
        let Outcome { result, .. } = self.host.call_with(&TURN, arguments, cancel, asker);
        serde_json::from_value(result?.answer).map_err(|error| Failed::bug(&error))
    }

    /// Returns the limits of this run, and its cost so far.
    fn asking(&self) -> AskingArgs {
        AskingArgs {
            used: Used {
                calls: self.used.calls.into(),
                tokens: self.used.input_tokens + self.used.output_tokens,
                micros: self.used.micros.unwrap_or(0),
            },
            ..self.limits.clone()
        }
    }

    /// Runs the tool calls of a turn.
    fn call_tools(&mut self, calls: &[Result<calls::Call, String>], cancel: &Cancel, tell: &Tell) -> Vec<TurnData> {
        let secrets = match self.secrets(cancel) {
            Ok(secrets) => secrets,
            Err(failed) => return vec![failed_calls(&tools::describe_failure(&failed), tell)],
        };
        let mut tools = Tools {
            host: &self.host,
            cancel,
            secrets: &secrets,
            proposal: &mut self.transcript.proposal,
        };
        let run = |call| {
            let found = tools.run_tool_call(call);
            tell(Event::Looks(found.line));
            found.diff.into_iter().for_each(|diff| tell(Event::Preview(diff)));
            found.shown
        };
        calls.iter().map(run).collect()
    }

    /// Returns the files and types that no model may see.
    fn secrets(&self, cancel: &Cancel) -> Result<ChatSecrets, Failed> {
        let Outcome { result, .. } = self
            .host
            .call_with(&WITHHELD_TYPES, json!({}), cancel, Asker::with_patience(Patience::Long));
        let keys: TypeKeys = serde_json::from_value(result?.answer).map_err(|error| Failed::bug(&error))?;
        Ok(ChatSecrets {
            files: WithheldFiles::new(&self.root, &self.never_send),
            types: keys.types.into_iter().collect(),
        })
    }

    /// Returns the proposed change as a diff, if there is one.
    pub fn proposal(&self, cancel: &Cancel) -> Option<String> {
        let session = self.transcript.proposal.clone()?;
        let reply = self.call_method("edit", json!({"op": "diff", "session": session}), cancel);
        Some(match reply {
            Ok(answer) => match answer["detail"].as_str() {
                Some(diff) => diff.trim_end().to_owned(),
                None => answer["summary"].as_str().unwrap_or_default().to_owned(),
            },
            Err(failed) => tools::describe_failure(&failed),
        })
    }

    /// Returns whether the model called an edit in its last answer.
    fn has_edited(&self) -> bool {
        let steps = self.transcript.exchanges.last().map_or(&[][..], |last| &last.steps);
        steps
            .iter()
            .flat_map(|step| &step.found)
            .any(|found| found.label.starts_with("edit"))
    }

    /// Stores the names in the answer with the round. A failure only makes the next context slightly worse.
    fn end_round(&self, cancel: &Cancel) {
        let Some(last) = self.transcript.exchanges.last() else { return };
        let arguments = json!({
            "conversation": self.transcript.id,
            "round": last.round,
            "answer": last.answer,
        });
        let _ = self
            .host
            .call_with(&END_ROUND, arguments, cancel, Asker::with_patience(Patience::Long));
    }

    /// Writes the transcript to its file.
    pub fn save_transcript(&self) -> Result<(), Failed> {
        self.transcript.write_transcript(&self.root).map_err(|error| not_stored(&error))
    }

    /// Calls a method and returns its answer.
    pub fn call_method(&self, name: &str, arguments: Value, cancel: &Cancel) -> Result<Value, Failed> {
        let entry = catalog::find_method(name).expect("invariant: the table has the methods that conversations use");
        let Outcome { result, .. } = self.host.call_with(entry, arguments, cancel, Asker::with_patience(Patience::Long));
        Ok(result?.answer)
    }

    /// Selects a model. Fails when no model of this name can answer.
    pub fn choose_model(&mut self, name: &str) -> Result<(), Failed> {
        if self.models.iter().any(|model| model == name) {
            self.model = Some(name.to_owned());
            return Ok(());
        }
        let why = Diagnostic::error(
            ErrorCode::E_UNKNOWN_MODEL,
            format!("no model '{name}' of the manifest answers in a conversation"),
        );
        let hint = match self.models.as_slice() {
            [] => "describe one in cortex.toml: [model.NAME]; `cortex help summaries` shows how".to_owned(),
            models => format!("there are {}", models.join(", ")),
        };
        Err(Failed::new(Code::Usage, why.hint(hint)))
    }
}

/// Returns the fault of an answer that the person cancelled.
fn cancelled_fault() -> Fault {
    Fault {
        code: ErrorCode::E_CANCELLED.as_str().to_owned(),
        message: "the answer was ended here".to_owned(),
        hint: None,
    }
}

fn code_of(why: &Fault, cancel: &Cancel) -> Code {
    match ErrorCode::parse(&why.code) {
        _ if cancel.is_cancelled() => Code::Interrupted,
        Some(ErrorCode::E_LIMIT) => Code::Limit,
        _ => Code::TargetFailed,
    }
}

/// Builds the tool result for a turn whose calls could not run at all.
fn failed_calls(why: &str, tell: &Tell) -> TurnData {
    tell(Event::Looks(format!("nothing: {}", why.lines().next().unwrap_or_default())));
    TurnData {
        label: "the calls".to_owned(),
        text: format!("error: {why}"),
    }
}

/// Summarizes a context in one line: `12 types, 3 of them from earlier, 3,900 tokens; /why`.
fn context_line(context: &Value) -> String {
    let items: &[Value] = context["items"].as_array().map_or(&[], Vec::as_slice);
    let files = items.iter().filter(|item| item["form"] == "file").count();
    let inherited = items.iter().filter(|item| item["inherited"].is_object()).count();
    let types = items.len() - files;
    let mut line = plural(types as u64, "type");
    if inherited > 0 {
        line.push_str(&format!(", {inherited} of them from earlier"));
    }
    if files > 0 {
        line.push_str(&format!(", {}", plural(files as u64, "file")));
    }
    let tokens = context["tokens"].as_u64().unwrap_or_default();
    format!("{line}, {} tokens; /why", format_count(tokens))
}

/// Reports why there is no answer: the person cancelled it, or an error.
fn tell_failure(failed: &Failed, cancel: &Cancel, tell: &Tell) -> Code {
    let is_ended = cancel.is_cancelled();
    tell(Event::Failed(if is_ended { cancelled_fault() } else { fault_of_request(failed) }));
    if is_ended { Code::Interrupted } else { failed.code }
}

fn not_stored(error: &std::io::Error) -> Failed {
    let damaged = "check .cortex/chat; a damaged transcript can be moved away";
    Failed::new(Code::Io, checkout::trouble("the conversation", error, damaged))
}
