//! Questions to language models: providers, retries, limits, tokens and prices. This module knows no C# and no summaries: the producers that call
//! [`Ask`] write the questions and interpret the answers.

mod agent;
mod agent_note;
mod anthropic;
mod batch;
mod batch_wire;
mod call_environment;
mod call_failures;
mod calls;
mod exchange;
mod http;
pub mod joint_questions;
mod keys;
pub mod model;
mod openai;
mod pending_batches;
mod prepared_question;
mod price;
mod program;
mod proxy;
mod rate_limits;
mod replay;
mod reply;
mod retries;
mod runtime;
mod secret;
mod settings;
pub mod shared_types;
mod spending_limits;
mod sse;
#[cfg(test)]
mod tests;
pub mod tokens;

pub use agent::{Agents, Waiting};
pub use agent_note::{Lease, Note, Notes, Refused, SubmittedAnswer, is_id};
pub use runtime::{Hear, Runtime};
pub use spending_limits::{Limits, Used};

use engine::seams::paid::Spent;
use engine::seams::producer::{Cancel, Failure, Params};
use engine::values::diagnostic::Diagnostic;
use engine::values::digest::ActionKey;

/// A service that answers questions.
pub trait Ask: Send + Sync {
    /// Asks, with retries, within the limits. Fails when there is no answer; see [`Failure`].
    fn ask(&self, question: &Question<'_>, cancel: &Cancel) -> Result<ModelReply, Failure>;

    /// Counts the tokens of a text for a model (bound parameters, see [`model`]).
    fn count(&self, model: &Params, text: &str) -> Count;

    /// Returns the cost of so many tokens in millionths of the currency, if the settings have a price; `input` includes `cached`.
    fn price(&self, settings: &Params, input: u64, cached: u64, output: u64) -> Option<u64>;

    /// Whether an earlier run already sent this question in a batch, so that it is paid for.
    fn is_handed_over(&self, _: &ActionKey, _: u32, _: &[Turn]) -> bool {
        false
    }

    /// Whether questions to this model are sent at once and answered while the caller waits.
    fn answers_at_once(&self, _model: &Params) -> bool {
        false
    }

    /// Whether several questions to this model may be asked as one. Answers are kept one by one, so not where they are recorded, replayed, sent
    /// in a batch, left to agents or streamed to a listener.
    fn joins(&self, _model: &Params, _settings: &Params) -> bool {
        false
    }

    /// Called when no part of a joint answer could be used: from now on this model is asked one question at a time.
    fn give_up_joining(&self, _model: &Params) {}

    /// Sends all deferred questions. Fails when they cannot be sent.
    fn flush(&self) -> Result<(), Failure>;
}

/// Refuses every question: for programs that only read, and until a build configures the access to models.
#[derive(Clone, Copy, Debug, Default)]
pub struct Refusing;

impl Ask for Refusing {
    fn ask(&self, _: &Question<'_>, _: &Cancel) -> Result<ModelReply, Failure> {
        Err(Failure::permanent("no model can be asked here"))
    }

    fn count(&self, _: &Params, text: &str) -> Count {
        Count {
            tokens: text.len().div_ceil(4) as u64,
            exact: false,
        }
    }

    fn price(&self, _: &Params, _: u64, _: u64, _: u64) -> Option<u64> {
        None
    }

    fn flush(&self) -> Result<(), Failure> {
        Ok(())
    }
}

/// A question to a model.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// The model as bound: everything that may influence the answer.
    pub model: &'a Params,
    /// Access to the model: address, name of the key's variable, limits, prices.
    pub settings: &'a Params,
    /// The action key of the node that asks.
    pub key: &'a ActionKey,
    /// 0 for the first question of a node, 1 for its repair turn.
    pub attempt: u32,
    /// The conversation so far; the last turn is the user's.
    pub turns: &'a [Turn],
    /// Limit of tokens of the answer; 0 for a vector.
    pub max_tokens: u64,
    /// The kind of answer.
    pub wants: Wants,
    /// Description of the question for people that read it before the answer.
    pub about: About<'a>,
}

/// The kind of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wants {
    #[default]
    Text,
    /// The embedding of the last turn: the answer is a list of numbers as JSON.
    Vector,
}

/// Description of a question.
#[derive(Clone, Copy, Debug, Default)]
pub struct About<'a> {
    /// The target that asks; empty outside the graph.
    pub label: &'a str,
    /// Whether the question asks for a patch only.
    pub patch: bool,
    /// The reason for the question, in one sentence.
    pub why: &'a str,
    /// Faults of the answer in the last turn but one; empty for a first question.
    pub faults: &'a [String],
}

/// One turn of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    pub role: Role,
    /// The text, in order. Parts that never change come first.
    pub parts: Vec<TurnPart>,
}

impl Turn {
    /// Returns the whole text: its parts are paragraphs.
    pub fn text(&self) -> String {
        let parts = self.parts.iter().map(|part| part.text.as_str()).filter(|text| !text.is_empty());
        parts.collect::<Vec<_>>().join("\n\n")
    }
}

/// Speaker of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    System,
    User,
    Assistant,
}

/// A piece of a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnPart {
    pub text: String,
    /// Whether many questions share it, so that a provider's prompt cache may keep everything up to its end.
    pub stable: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelReply {
    pub text: String,
    /// Whether it was cut off because it grew too long.
    pub cut: bool,
    pub spent: Spent,
    /// Diagnostics about the answer, for instance that bytes that are not text were replaced.
    pub remarks: Vec<Diagnostic>,
}

/// A count of tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Number of tokens.
    pub tokens: u64,
    /// Whether a tokenizer counted; otherwise the count is an estimate.
    pub exact: bool,
}
