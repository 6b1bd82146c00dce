//! A conversation from one question to the next: the round, the context, the turns of the model with what it looks at, the money. It knows no
//! terminal; whoever runs it hears [`Event`]s as they come.

use super::ask::{END_ROUND, Fault, TURN, Turned, fault};
use super::tools::{self, Tools};
use crate::cli::AskingArgs;
use crate::context::Failed;
use crate::exit::Code;
use crate::methods;
use crate::render::{count, money};
use crate::service::Host;
use crate::service::host::{Asker, Outcome, Patience};
use engine::seams::paid::Spent;
use engine::seams::producer::Cancel;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use producers::llm::tokens::o200k;
use producers::semantic::Withheld;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use workbench::chat::transcript::{State, Step, Transcript};
use workbench::chat::{calls, prompt, quote, references};
use workbench::checkout;

/// Turns in which a model may look further, for one question.
const LOOKS: usize = 8;
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
    /// The context of the last question, as `context build` answered.
    pub context: Value,
}

impl Talk {
    /// Answers a question. Whether there is a whole answer.
    pub fn ask(&mut self, question: &str, cancel: &Cancel, tell: &Tell) -> Code {
        match self.answer(question, cancel, tell) {
            Ok(code) => code,
            Err(failed) => {
                tell(Event::Failed(fault(&failed)));
                failed.code
            }
        }
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
        self.go_on(&question, cancel, tell).unwrap_or_else(|failed| {
            tell(Event::Failed(fault(&failed)));
            failed.code
        })
    }

    fn answer(&mut self, question: &str, cancel: &Cancel, tell: &Tell) -> Result<Code, Failed> {
        let context = self.find_context(question, cancel)?;
        self.transcript.start_exchange(question, context);
        self.save_transcript()?;
        tell(Event::Context(self.context_line()));
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
    fn find_context(&mut self, question: &str, cancel: &Cancel) -> Result<String, Failed> {
        let mut query = references::as_query(question);
        for pin in &self.transcript.pins {
            query.push_str(&format!("\n`{pin}`"));
        }
        let conversation = match self.transcript.id.as_str() {
            "" => "new",
            id => id,
        };
        let asked = json!({"query": query, "conversation": conversation, "budget": self.budget, "why": true});
        self.context = self.call("context build", asked, cancel)?;
        if self.transcript.id.is_empty() {
            self.context["conversation"]["id"]
                .as_str()
                .unwrap_or_default()
                .clone_into(&mut self.transcript.id);
        }
        Ok(self.context["contextText"].as_str().unwrap_or_default().to_owned())
    }

    /// The context in one line: `12 types, 3 of them from earlier, 3,900 tokens; /why`.
    fn context_line(&self) -> String {
        let items: &[Value] = self.context["items"].as_array().map_or(&[], Vec::as_slice);
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
        let tokens = self.context["tokens"].as_u64().unwrap_or_default();
        format!("{line}, {} tokens; /why", count(tokens))
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
        let asked = json!({"conversation": self.transcript.id, "model": model, "turns": turns, "asking": self.left()});
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

    /// What is left of the limits.
    fn left(&self) -> AskingArgs {
        let less = |most: Option<u64>, used: u64| most.map(|most| most.saturating_sub(used));
        AskingArgs {
            max_cost: less(self.limits.max_cost, self.used.micros.unwrap_or(0)),
            max_calls: less(self.limits.max_calls, u64::from(self.used.calls)),
            max_tokens: less(self.limits.max_tokens, self.used.input_tokens + self.used.output_tokens),
            ..AskingArgs::default()
        }
    }

    /// Runs the calls of a turn.
    fn call_tools(&mut self, calls: &[Result<calls::Call, String>], cancel: &Cancel, tell: &Tell) -> Vec<producers::converse::TurnData> {
        let mut tools = Tools {
            host: &self.host,
            cancel,
            withheld: Withheld::new(&self.never_send),
            proposal: &mut self.transcript.proposal,
        };
        let run = |call| {
            let found = tools.run(call);
            tell(Event::Looks(found.line));
            found.shown
        };
        calls.iter().map(run).collect()
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
            "round": self.context["conversation"]["round"],
            "answer": last.answer,
        });
        let _ = self.host.call_with(&END_ROUND, asked, cancel, Asker::of(Patience::Long));
    }

    /// Writes down what was said.
    pub fn save_transcript(&self) -> Result<(), Failed> {
        let damaged = "check .cortex/chat; a damaged transcript can be moved away";
        self.transcript
            .write(&self.root)
            .map_err(|error| Failed::new(Code::Io, checkout::trouble("the conversation", &error, damaged)))
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
