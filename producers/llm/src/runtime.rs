//! Asks models for a whole run; all questions share its limits, rates, breakers, keys and batches.

use super::agent::Agents;
use super::batch::Batches;
use super::call_environment::{CallEnvironment, Real};
use super::call_failures::Trouble;
use super::calls::Calls;
use super::model::model_name;
use super::prepared_question::{FailedTryUsage, PreparedQuestion};
use super::price::Price;
use super::program::{self, Program};
use super::rate_limits::Rates;
use super::replay::Recordings;
use super::reply::{Reply, Usage};
use super::secret::Secrets;
use super::settings::{Api, Model, Reach};
use super::spending_limits::{Amount, Hold, Limits};
use super::tokens;
use super::{Ask, Count, ModelReply, Question, Role, Turn, Wants};
use command::{self, Trust};
use engine::seams::paid::Rejected;
use engine::seams::producer::{Cancel, Failure, Params};
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use engine::values::digest::ActionKey;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Exit code by which a program reports that another try may help (`EX_TEMPFAIL`).
const TRY_AGAIN: i32 = 75;

/// Least bytes of a growing answer that are counted at once: rounding may add a token per piece.
const COUNTED_AT_ONCE: usize = 64;

/// Asks models.
pub struct Runtime {
    calls: Calls,
    recordings: Recordings,
    batches: Batches,
    agents: Agents,
    /// Names of models that gave a joint answer without a usable part.
    no_joining: Mutex<BTreeSet<String>>,
    hear: Option<Hear>,
    trust: Arc<dyn Trust>,
}

/// Gets a streamed answer as it grows: all of its text so far, up to the end of a word. A retry begins again with an empty text.
pub type Hear = Arc<dyn Fn(&str) + Send + Sync>;

/// Compares a growing answer with the tokens reserved for it: a server may write more than was asked for.
struct Budget<'a> {
    model: &'a str,
    price: Option<&'a Price>,
    counted: usize,
    tokens: u64,
    held: u64,
    is_used_up: bool,
}

impl<'a> Budget<'a> {
    fn from_question(prepared: &'a PreparedQuestion<'_>) -> Self {
        Self {
            model: prepared.model.name,
            price: prepared.price.as_ref(),
            counted: 0,
            tokens: 0,
            held: prepared.question.max_tokens,
            is_used_up: false,
        }
    }

    /// Whether the limits of the run cover the text so far. Beyond the requested tokens it reserves more, while the limits allow it.
    fn covers(&mut self, text: &str, hold: &mut Hold<'_>) -> bool {
        if text.len() < self.counted + COUNTED_AT_ONCE {
            return !self.is_used_up;
        }
        self.tokens += tokens::count_for_model(self.model, &text[self.counted..]).tokens;
        self.counted = text.len();
        if self.tokens > self.held {
            let tokens = self.tokens - self.held;
            let usage = Usage {
                output: tokens,
                ..Usage::default()
            };
            let micros = self.price.map_or(0, |price| price.micros(usage, false));
            self.is_used_up = !hold.grow(Amount { calls: 0, tokens, micros });
            self.held = self.tokens;
        }
        !self.is_used_up
    }
}

fn budget_used_up() -> Diagnostic {
    let message = "the answer is longer than requested, and has used up the limits of this build";
    Diagnostic::error(ErrorCode::E_LIMIT, message).hint("raise the limit, or check that the server respects max_tokens")
}

impl Runtime {
    /// Creates the runtime for one run over the workspace in `root`, the place of recordings and pending batches.
    pub fn new(limits: Limits, root: impl Into<PathBuf>) -> Self {
        Self::in_world(limits, root.into(), Arc::new(Real))
    }

    pub(super) fn in_world(limits: Limits, root: PathBuf, world: Arc<dyn CallEnvironment>) -> Self {
        Self {
            batches: Batches::new(&root),
            agents: Agents::new(&root),
            no_joining: Mutex::default(),
            calls: Calls::new(limits, root, world),
            recordings: Recordings::default(),
            hear: None,
            trust: Arc::new(command::All),
        }
    }

    /// Sets `trust`, which decides which programs may run: models that are programs, and programs that print keys.
    #[must_use]
    pub fn trusting(self, trust: Arc<dyn Trust>) -> Self {
        Self { trust, ..self }
    }

    /// Sets `tell`, which gets one sentence about the event that all questions wait for.
    #[must_use]
    pub fn telling(mut self, tell: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.calls.tell = Box::new(tell);
        self
    }

    /// Sets the listener of streamed answers.
    #[must_use]
    pub fn heard_by(self, hear: Option<Hear>) -> Self {
        Self { hear, ..self }
    }

    fn no_joining(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.no_joining.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn agents(&self) -> &Agents {
        &self.agents
    }

    fn check_limits(&self, prepared: &PreparedQuestion<'_>) -> Result<(), Failure> {
        let label = prepared.reach.label;
        if prepared.question.wants == Wants::Vector && matches!(prepared.model.api, Api::Anthropic | Api::Agent) {
            let why = Diagnostic::error(ErrorCode::E_MODEL, format!("model '{label}' makes no embeddings"));
            let hint = "name a model with api = \"openai\", whose server has /embeddings, or with api = \"command\"";
            return Err(Failure::Permanent(Box::new(why.hint(hint))));
        }
        let runs = (!prepared.model.command.is_empty()).then(|| command::program_params(&prepared.model.command));
        let mut waits = runs.iter().chain(&prepared.reach.sent);
        if let Some(waiting) = waits.find(|command| !self.trust.trusts(&command::digest_of_program(command, &Params::new()))) {
            return Err(command::untrusted_failure(waiting));
        }
        let sends = !matches!(prepared.model.api, Api::Replay | Api::Agent);
        if self.calls.limits.offline && sends {
            let why = Diagnostic::error(
                ErrorCode::E_OFFLINE,
                format!("model '{label}' is not asked, because --offline sends nothing anywhere"),
            );
            let hint = "leave out --offline, or let params.model be \"extractive\" or a model with api = \"replay\"";
            return Err(Failure::Limit(Box::new(why.hint(hint))));
        }
        if self.calls.limits.max_cost_micros.is_some() && prepared.price.is_none() && sends {
            let why = Diagnostic::error(
                ErrorCode::E_PRICE,
                format!("--max-cost cannot be kept, because model '{label}' has no price"),
            );
            let hint = format!("write price = {{ input = …, output = … }} (for a million tokens) in [model.{label}], or use --max-tokens");
            return Err(Failure::Limit(Box::new(why.hint(hint))));
        }
        if let Some(fits) = prepared.model.context_tokens.filter(|fits| prepared.most_tokens() > *fits) {
            let secrets = Secrets::default();
            let found = format!(
                "{} asked, {} kept for the answer",
                prepared.input.tokens, prepared.question.max_tokens
            );
            let why = prepared.called(&secrets).context(prepared.most_tokens(), fits, &found);
            return Err(Failure::Permanent(why));
        }
        Ok(())
    }

    fn ask_server(&self, prepared: &PreparedQuestion<'_>, cancel: &Cancel) -> Result<ModelReply, Failure> {
        let access = self
            .calls
            .keys
            .access(&prepared.reach, prepared.model.api, &self.calls.root, &*self.calls.world, cancel)?;
        let line = prepared.line_to_provider(&access, &*self.calls.world);
        let window = self.calls.rate_window(&prepared.reach, &prepared.model);
        let rates = Rates {
            requests: prepared.reach.requests_per_minute,
            tokens: prepared.reach.tokens_per_minute,
        };
        if let Some(tokens) = window.too_narrow(rates, prepared.most_tokens()) {
            self.calls.report_status(&format!(
                "{}: tokens_per_minute = {tokens} is less than the {} that one question may take; each waits for a minute of its own",
                line.called.describe_model(),
                prepared.most_tokens()
            ));
        }
        let mut vain = FailedTryUsage::default();
        let mut broken_off = String::new();
        let answered = self.calls.call_with_retries(&line.called, &window, cancel, || {
            let (mut hold, _) = self.calls.reserve_call(prepared, false, cancel).map_err(Trouble::Settled)?;
            let number = window
                .wait_for_room(rates, prepared.most_tokens(), &*self.calls.world, cancel)
                .ok_or(Trouble::Cancelled)?;
            let mut budget = Budget::from_question(prepared);
            let (reply, done) = line.ask_provider(&prepared.model, prepared.question, cancel, &mut |reply| {
                if let Some(hear) = &self.hear {
                    // A key that a server sends back is one word: only whole words are passed on, so that the scrub sees all of it.
                    let words = reply.text.rfind(char::is_whitespace).unwrap_or(0);
                    hear(&access.secrets.scrub(&reply.text[..words]));
                }
                budget.covers(&reply.text, &mut hold)
            });
            // A refused call costs nothing; one that broke off half-way is charged.
            let begun = done.is_ok() || !reply.text.is_empty() || reply.usage.is_some();
            let (usage, estimated) = if begun { prepared.usage(&reply) } else { (Usage::default(), false) };
            window.correct(number, usage.input.saturating_add(usage.output));
            hold.record_usage(Amount {
                calls: u64::from(begun || matches!(done, Err(Trouble::Refused(_)))),
                tokens: usage.input.saturating_add(usage.output),
                micros: prepared.price.as_ref().map_or(0, |price| price.micros(usage, false)),
            });
            let why = match done {
                Ok(()) if budget.is_used_up => budget_used_up(),
                Ok(()) => return Ok((reply, usage, estimated)),
                Err(Trouble::Refused(why)) => *why,
                Err(trouble) => {
                    vain.usage = vain.usage.plus(usage);
                    vain.calls += u32::from(begun);
                    broken_off = reply.text;
                    return Err(trouble);
                }
            };
            let answer = prepared.answer_from_reply(reply, (usage, estimated), vain, false);
            Err(Trouble::Settled(Failure::Rejected(Box::new(Rejected {
                why,
                raw: answer.text.into_bytes(),
                spent: Some(answer.spent),
            }))))
        });
        let (reply, usage, estimated) = match answered {
            Ok(answered) => answered,
            // If a listener cancels an answer, its beginning was received and is charged.
            Err(Failure::Cancelled) if self.hear.is_some() => {
                let spent = (vain.calls > 0).then(|| prepared.spent(vain.usage, vain.calls, true, false));
                return Err(Failure::Cancelled.after_spending(spent.as_ref(), &broken_off));
            }
            // A rejection or a cancellation is final: do not retry.
            Err(failure @ (Failure::Rejected(_) | Failure::Cancelled)) => return Err(failure),
            Err(failure) => {
                let spent = (vain.calls > 0).then(|| prepared.spent(vain.usage, vain.calls, true, false));
                return Err(failure.after_spending(spent.as_ref(), ""));
            }
        };
        let remark = self.record_reply(prepared, &reply);
        let mut answer = prepared.answer_from_reply(reply, (usage, estimated), vain, false);
        answer.remarks.extend(remark);
        Ok(answer)
    }

    fn record_reply(&self, prepared: &PreparedQuestion<'_>, reply: &Reply) -> Option<Diagnostic> {
        let record = prepared.reach.record?;
        self.recordings
            .append_recording(&self.calls.root, record, &prepared.model, prepared.question, reply)
    }

    fn ask_recording(&self, prepared: &PreparedQuestion<'_>, cancel: &Cancel) -> Result<ModelReply, Failure> {
        let recording = prepared.reach.recording.unwrap_or_default();
        let (reply, remark) = self
            .recordings
            .recorded_answer(&self.calls.root, recording, &prepared.model, prepared.question)?;
        let (hold, _) = self.calls.reserve_call(prepared, false, cancel)?;
        let mut answer = prepared.settle_usage(hold, reply);
        answer.remarks.extend(remark);
        Ok(answer)
    }

    fn ask_program(&self, prepared: &PreparedQuestion<'_>, cancel: &Cancel) -> Result<ModelReply, Failure> {
        let (hold, _) = self.calls.reserve_call(prepared, false, cancel)?;
        let question = as_text(prepared.question);
        let program = Program {
            argv: &prepared.model.command,
            root: &self.calls.root,
            input: question.as_bytes(),
            timeout: prepared.reach.timeout,
            longest: Reply::to(prepared.question).limit(),
        };
        let printed = program::run_program(&program, cancel).map_err(|stop| program_failure(prepared, &stop))?;
        let text = String::from_utf8_lossy(&printed.bytes);
        let mut reply = Reply::to(prepared.question);
        reply.mended = matches!(text, std::borrow::Cow::Owned(_));
        reply.append_text(&text);
        reply.cut |= printed.cut;
        reply.whole = true;
        let remark = self.record_reply(prepared, &reply);
        let mut answer = prepared.settle_usage(hold, reply);
        answer.remarks.extend(remark);
        Ok(answer)
    }
}

impl Ask for Runtime {
    fn ask(&self, question: &Question<'_>, cancel: &Cancel) -> Result<ModelReply, Failure> {
        if cancel.is_cancelled() {
            return Err(Failure::Cancelled);
        }
        let Some(model) = Model::from_params(question.model) else {
            let why = Diagnostic::error(ErrorCode::E_MODEL, "this model answers no questions");
            return Err(Failure::Permanent(Box::new(
                why.hint("set params.model to a [model.NAME] of the manifest"),
            )));
        };
        let prepared = PreparedQuestion {
            reach: Reach::from_settings(question.settings, model.api),
            price: Price::from_settings(question.settings),
            input: tokens::count_question(model.name, question),
            model,
            question,
        };
        self.check_limits(&prepared)?;
        match prepared.model.api {
            Api::Agent => self.agents.answer_or_wait(&prepared),
            Api::Replay => self.ask_recording(&prepared, cancel),
            Api::Command => self.ask_program(&prepared, cancel),
            Api::OpenAi | Api::Anthropic if question.wants == Wants::Vector => self.ask_server(&prepared, cancel),
            Api::OpenAi | Api::Anthropic if self.calls.limits.batch => self.batches.answer_in_batch(&self.calls, &prepared, cancel),
            Api::OpenAi | Api::Anthropic => match self.batches.sent_before(&self.calls, &prepared, cancel) {
                Some(found) => found,
                None => self.ask_server(&prepared, cancel),
            },
        }
    }

    fn count(&self, model: &Params, text: &str) -> Count {
        tokens::count_for_model(model.get("name").and_then(Value::as_str).unwrap_or_default(), text)
    }

    fn price(&self, settings: &Params, input: u64, cached: u64, output: u64) -> Option<u64> {
        let usage = Usage {
            input,
            cached,
            written: 0,
            output,
        };
        Some(Price::from_settings(settings)?.micros(usage, self.calls.limits.batch))
    }

    fn is_handed_over(&self, key: &ActionKey, attempt: u32, turns: &[Turn]) -> bool {
        self.batches.is_handed_over(&self.calls, key, attempt, turns)
    }

    fn answers_at_once(&self, model: &Params) -> bool {
        let api = Model::from_params(model).map(|model| model.api);
        matches!(api, Some(Api::Anthropic | Api::OpenAi | Api::Command)) && !self.calls.limits.batch
    }

    fn joins(&self, model: &Params, settings: &Params) -> bool {
        let api = Model::from_params(model).map(|model| model.api);
        let is_kept = api.is_none_or(|api| Reach::from_settings(settings, api).record.is_some());
        self.answers_at_once(model) && !is_kept && self.hear.is_none() && !self.no_joining().contains(model_name(model))
    }

    fn give_up_joining(&self, model: &Params) {
        self.no_joining().insert(model_name(model).to_owned());
    }

    fn flush(&self) -> Result<(), Failure> {
        self.batches.flush(&self.calls)
    }
}

/// Writes a conversation as text for a program: texts separated by an empty line, headed by the speaker once the model has spoken.
fn as_text(question: &Question<'_>) -> String {
    let is_talk = question.turns.iter().any(|turn| turn.role == Role::Assistant);
    let turns = question.turns.iter().map(|turn| {
        let text = turn.text();
        match turn.role {
            _ if !is_talk => text,
            Role::System => format!("[system]\n{text}"),
            Role::User => format!("[user]\n{text}"),
            Role::Assistant => format!("[assistant]\n{text}"),
        }
    });
    turns.collect::<Vec<_>>().join("\n\n")
}

fn program_failure(prepared: &PreparedQuestion<'_>, stop: &program::Stop) -> Failure {
    let program = prepared.model.command.first().copied().unwrap_or_default();
    let message = format!(
        "'{program}' of model '{}' gave no answer: {}",
        prepared.reach.label,
        stop.describe_stop()
    );
    let why = |hint: &str| Box::new(Diagnostic::error(ErrorCode::E_COMMAND, &message).hint(hint));
    match stop {
        program::Stop::Cancelled => Failure::Cancelled,
        program::Stop::TimedOut => Failure::Transient(why("raise timeout_seconds of the model, or look at why it waits")),
        program::Stop::NotStarted(_) => Failure::Permanent(why("install it, or write its full path in 'command' of the model")),
        program::Stop::Failed(status, printed) => {
            let why = why("run it by hand with a question on its standard input");
            let printed = Secrets::default().redacted_line(printed);
            let why = if printed.is_empty() { why } else { Box::new(why.found(printed)) };
            if status.code() == Some(TRY_AGAIN) {
                Failure::Transient(why)
            } else {
                Failure::Permanent(why)
            }
        }
    }
}
