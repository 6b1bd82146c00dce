//! A conversation from one question to the next: the round, the context, the turns of the model with what it looks at, the money. It knows no
//! terminal; whoever runs it hears [`Event`]s as they come.

use super::ask::{END_ROUND, Fault, TURN, Turned, TypeKeys, WITHHELD_TYPES, fault};
use super::secrets::ChatSecrets;
use super::tools::{self, Tools};
use crate::cli::AskingArgs;
use crate::context::Failed;
use crate::exit::Code;
use crate::methods;
use crate::render::{Style, count, money};
use crate::service::Host;
use crate::service::host::{Asker, Outcome, Patience};
use engine::seams::paid::Spent;
use engine::seams::producer::Cancel;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use producers::converse::TurnData;
use producers::llm::Used;
use producers::llm::tokens::o200k;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use workbench::chat::transcript::{Exchange, State, Step, Transcript};
use workbench::chat::{calls, prompt, quote, references};
use workbench::checkout::{self, Held};
use workbench::context::secret::WithheldFiles;

/// Turns in which a model may look further, for one question.
const LOOKS: usize = 8;
/// What a person hears when a model would look further still.
const NO_MORE_LOOKS: &str = "the model called tools in its last turn, too: these calls are not made, and the answer may lack something";
/// Tokens that earlier questions and answers may take of a prompt.
const HISTORY: usize = 6_000;

/// What happens while a question is answered.
#[derive(Debug)]
pub enum Event {
    /// What was found for it, in one line.
    Context(String),
    /// The answer so far: all text of this turn of the model.
    Growing(String),
    /// A turn is whole: its text for the person.
    Said(String),
    /// What the model looks at.
    Looks(String),
    /// What an answer cost, and other remarks.
    Note(String),
    /// What is proposed now, as a difference.
    Proposal(String),
    /// What a call that changes nothing would change, as a difference.
    Preview(String),
    /// Why there is no answer, or not all of it.
    Failed(Fault),
}

/// Hears what happens.
pub type Tell = Arc<dyn Fn(Event) + Send + Sync>;

/// A conversation.
pub struct Talk {
    /// Who answers methods.
    pub host: Arc<Host>,
    /// The workspace.
    pub root: PathBuf,
    /// What was said; its handle is empty before the first question.
    pub transcript: Transcript,
    /// Keeps other processes from going on with it.
    pub held: Option<Held>,
    /// Which model answers, if one does.
    pub model: Option<String>,
    /// Models that may.
    pub models: Vec<String>,
    /// Tokens of a context.
    pub budget: usize,
    /// Globs of files that no model sees, beside those that hold keys by their name.
    pub never_send: Vec<String>,
    /// The limits of this run.
    pub limits: AskingArgs,
    /// What this run spent.
    pub used: Spent,
}

impl Talk {
    /// Answers a question. Whether there is a whole answer.
    pub fn ask(&mut self, question: &str, cancel: &Cancel, tell: &Tell) -> Code {
        self.answer(question, cancel, tell)
            .unwrap_or_else(|failed| tell_failure(&failed, cancel, tell))
    }

    /// Answers the last question from where its answer broke off: what was found and looked at stands, so that a turn that was paid for is found as
    /// it was filed.
    pub fn again(&mut self, cancel: &Cancel, tell: &Tell) -> Code {
        let Some(last) = self.transcript.last_mut() else {
            tell(Event::Note("nothing was asked yet".to_owned()));
            return Code::Ok;
        };
        let turns = last.steps.iter().map(|step| calls::read(&step.said).text);
        last.answer = turns.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n\n");
        last.state = State::Open;
        let question = last.question.clone();
        self.go_on(&question, cancel, tell)
            .unwrap_or_else(|failed| tell_failure(&failed, cancel, tell))
    }

    fn answer(&mut self, question: &str, cancel: &Cancel, tell: &Tell) -> Result<Code, Failed> {
        let context = self.find_context(question, cancel)?;
        let exchange = self.exchange(question, &context)?;
        self.transcript.start_exchange(exchange);
        self.save_transcript()?;
        tell(Event::Context(context_line(&context)));
        self.go_on(question, cancel, tell)
    }

    /// Answers the question that was begun last.
    fn go_on(&mut self, question: &str, cancel: &Cancel, tell: &Tell) -> Result<Code, Failed> {
        let code = match self.model.clone() {
            None => self.quote(question, tell),
            Some(model) => self.converse(&model, cancel, tell)?,
        };
        self.save_transcript()?;
        // An answer that was ended has named something, too.
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
        let asked = json!({"query": query, "conversation": conversation, "budget": self.budget, "why": true});
        let context = self.call("context build", asked, cancel)?;
        if self.transcript.id.is_empty() {
            let id = context["conversation"]["id"].as_str().unwrap_or_default();
            id.clone_into(&mut self.transcript.id);
            self.held = Transcript::lock_conversation(&self.root, id).map_err(|error| unwritten(&error))?;
        }
        Ok(context)
    }

    /// What is written down of a question, its context and why that is as it is.
    fn exchange(&self, question: &str, context: &Value) -> Result<Exchange, Failed> {
        let entry = methods::find("context build").expect("invariant: the table has it");
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

    /// An answer without a model.
    fn quote(&mut self, question: &str, tell: &Tell) -> Code {
        let context = self.transcript.exchanges.last().map_or("", |last| last.context.as_str());
        let quoted = quote::quote(question, context);
        let text = quoted.unwrap_or_else(|| "Nothing in the context says a word of the question.".to_owned());
        if let Some(last) = self.transcript.last_mut() {
            last.answer.clone_from(&text);
            last.state = State::Answered;
        }
        tell(Event::Said(text));
        tell(Event::Note(self.no_model()));
        Code::Ok
    }

    /// How to have a model answer.
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

    /// Has the model answer, and look further while it wants to.
    fn converse(&mut self, model: &str, cancel: &Cancel, tell: &Tell) -> Result<Code, Failed> {
        let tools = tools::definitions();
        let mut spent = Spent::default();
        let mut code = Code::Ok;
        for turn in 0..=LOOKS {
            let turned = self.turn(model, &tools, turn < LOOKS, cancel, tell)?;
            if let Some(cost) = &turned.spent {
                spent.add(cost);
                self.used.add(cost);
                self.transcript.spent.add(cost);
            }
            let read = calls::read(&turned.text);
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
                last.state = if is_ended { State::Stopped } else { State::Failed };
                code = code_of(&why, cancel);
                tell(Event::Failed(if is_ended { interrupted() } else { why }));
                break;
            }
            if read.calls.is_empty() || turn == LOOKS {
                last.state = State::Answered;
                if !read.calls.is_empty() {
                    tell(Event::Note(NO_MORE_LOOKS.to_owned()));
                }
                break;
            }
            let found = self.call_tools(&read.calls, cancel, tell);
            let last = self.transcript.last_mut().expect("invariant: a question was begun");
            last.steps.push(Step { said: turned.text, found });
            self.save_transcript()?;
        }
        if spent.calls > 0 {
            tell(Event::Note(money::spent(&spent)));
        } else if code == Code::Ok {
            tell(Event::Note("was asked before about the same code: free".to_owned()));
        }
        Ok(code)
    }

    fn turn(&self, model: &str, tools: &str, more: bool, cancel: &Cancel, tell: &Tell) -> Result<Turned, Failed> {
        let room = prompt::Room {
            history: HISTORY,
            count: &o200k,
        };
        let turns = prompt::turns(&self.transcript, tools, more, room);
        let asked = json!({"conversation": self.transcript.id, "model": model, "turns": turns, "asking": self.asking()});
        let hear = tell.clone();
        let asker = Asker {
            hear: Some(Arc::new(move |text: &str| {
                hear(Event::Growing(calls::shown_so_far(text).to_owned()))
            })),
            ..Asker::of(Patience::Long)
        };
        let Outcome { result, .. } = self.host.call_with(&TURN, asked, cancel, asker);
        serde_json::from_value(result?.answer).map_err(|error| Failed::bug(&error))
    }

    /// The limits of this run, and what it spent of them.
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

    /// Runs the calls of a turn.
    fn call_tools(&mut self, calls: &[Result<calls::Call, String>], cancel: &Cancel, tell: &Tell) -> Vec<TurnData> {
        let secrets = match self.secrets(cancel) {
            Ok(secrets) => secrets,
            Err(failed) => return vec![unmade(&tools::describe_failure(&failed), tell)],
        };
        let mut tools = Tools {
            host: &self.host,
            cancel,
            secrets: &secrets,
            proposal: &mut self.transcript.proposal,
        };
        let run = |call| {
            let found = tools.run(call);
            tell(Event::Looks(found.line));
            found.diff.into_iter().for_each(|diff| tell(Event::Preview(diff)));
            found.shown
        };
        calls.iter().map(run).collect()
    }

    /// What no model may see.
    fn secrets(&self, cancel: &Cancel) -> Result<ChatSecrets, Failed> {
        let Outcome { result, .. } = self.host.call_with(&WITHHELD_TYPES, json!({}), cancel, Asker::of(Patience::Long));
        let keys: TypeKeys = serde_json::from_value(result?.answer).map_err(|error| Failed::bug(&error))?;
        Ok(ChatSecrets {
            files: WithheldFiles::new(&self.root, &self.never_send),
            types: keys.types.into_iter().collect(),
        })
    }

    /// The difference that is proposed, if one is.
    pub fn proposal(&self, cancel: &Cancel) -> Option<String> {
        let session = self.transcript.proposal.clone()?;
        let told = self.call("edit", json!({"op": "diff", "session": session}), cancel);
        Some(match told {
            Ok(answer) => match answer["detail"].as_str() {
                Some(diff) => diff.trim_end().to_owned(),
                None => answer["summary"].as_str().unwrap_or_default().to_owned(),
            },
            Err(failed) => tools::describe_failure(&failed),
        })
    }

    /// Whether the model called for an edit in its last answer.
    fn has_edited(&self) -> bool {
        let steps = self.transcript.exchanges.last().map_or(&[][..], |last| &last.steps);
        steps
            .iter()
            .flat_map(|step| &step.found)
            .any(|found| found.label.starts_with("edit"))
    }

    /// Notes in the round what its answer names. What cannot be noted only makes the next context a little worse.
    fn end_round(&self, cancel: &Cancel) {
        let Some(last) = self.transcript.exchanges.last() else { return };
        let asked = json!({
            "conversation": self.transcript.id,
            "round": last.round,
            "answer": last.answer,
        });
        let _ = self.host.call_with(&END_ROUND, asked, cancel, Asker::of(Patience::Long));
    }

    /// Writes down what was said.
    pub fn save_transcript(&self) -> Result<(), Failed> {
        self.transcript.write(&self.root).map_err(|error| unwritten(&error))
    }

    /// The answer of a method.
    pub fn call(&self, name: &str, arguments: Value, cancel: &Cancel) -> Result<Value, Failed> {
        let entry = methods::find(name).expect("invariant: the table has the methods that conversations use");
        let Outcome { result, .. } = self.host.call_with(entry, arguments, cancel, Asker::of(Patience::Long));
        Ok(result?.answer)
    }

    /// Takes another model.
    ///
    /// # Errors
    /// When there is none of this name that may answer.
    pub fn choose(&mut self, name: &str) -> Result<(), Failed> {
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

/// Why an answer is not whole that a person ended.
fn interrupted() -> Fault {
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

/// Calls that could not be made at all, as the model hears it.
fn unmade(why: &str, tell: &Tell) -> TurnData {
    tell(Event::Looks(format!("nothing: {}", why.lines().next().unwrap_or_default())));
    TurnData {
        label: "the calls".to_owned(),
        text: format!("error: {why}"),
    }
}

/// A context in one line: `12 types, 3 of them from earlier, 3,900 tokens; /why`.
fn context_line(context: &Value) -> String {
    let items: &[Value] = context["items"].as_array().map_or(&[], Vec::as_slice);
    let files = items.iter().filter(|item| item["form"] == "file").count();
    let inherited = items.iter().filter(|item| item["inherited"].is_object()).count();
    let types = items.len() - files;
    let mut line = format!("{types} type{}", if types == 1 { "" } else { "s" });
    if inherited > 0 {
        line.push_str(&format!(", {inherited} of them from earlier"));
    }
    if files > 0 {
        line.push_str(&format!(", {files} file{}", if files == 1 { "" } else { "s" }));
    }
    let tokens = context["tokens"].as_u64().unwrap_or_default();
    format!("{line}, {} tokens; /why", count(tokens))
}

/// Tells why there is no answer: that a person ended it, or what went wrong.
fn tell_failure(failed: &Failed, cancel: &Cancel, tell: &Tell) -> Code {
    let is_ended = cancel.is_cancelled();
    tell(Event::Failed(if is_ended { interrupted() } else { fault(failed) }));
    if is_ended { Code::Interrupted } else { failed.code }
}

fn unwritten(error: &std::io::Error) -> Failed {
    let damaged = "check .cortex/chat; a damaged transcript can be moved away";
    Failed::new(Code::Io, checkout::trouble("the conversation", error, damaged))
}
