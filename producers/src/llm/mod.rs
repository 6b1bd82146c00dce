//! How to ask a language model: providers, retries, limits, tokens and prices. It knows no C# and no summaries: what to ask, and what to
//! make of the answer, is the business of the producers that [`Ask`].

mod agent;
mod agent_note;
mod anthropic;
mod batch;
mod batch_wire;
mod calls;
mod exchange;
mod http;
mod keys;
mod meter;
pub mod model;
mod openai;
mod patience;
mod price;
mod program;
mod proxy;
mod rate;
mod replay;
mod reply;
mod runtime;
mod secret;
mod settings;
mod shelf;
mod sse;
#[cfg(test)]
mod tests;
pub mod together;
pub mod tokens;
mod trouble;
mod world;

pub use agent::{Agents, Waiting};
pub use agent_note::{Given, Lease, Note, Notes, Refused, is_id};
pub use meter::{Limits, Used};
pub use runtime::{Hear, Runtime};

use engine::seams::paid::Spent;
use engine::seams::producer::{Cancel, Failure, Params};
use engine::values::diagnostic::Diagnostic;
use engine::values::digest::ActionKey;

/// Who answers questions.
pub trait Ask: Send + Sync {
    /// Asks, with retries, within the limits.
    ///
    /// # Errors
    /// When there is no answer; see [`Failure`].
    fn ask(&self, question: &Question<'_>, cancel: &Cancel) -> Result<Answer, Failure>;

    /// How many tokens a text is to a model (bound parameters, see [`model`]).
    fn count(&self, model: &Params, text: &str) -> Count;

    /// What so many tokens cost in millionths of the currency, when the settings have a price; `input` includes `cached`.
    fn price(&self, settings: &Params, input: u64, cached: u64, output: u64) -> Option<u64>;

    /// Whether an earlier run handed this very question over in a batch, so that it is paid for.
    fn is_handed_over(&self, _: &ActionKey, _: u32, _: &[Turn]) -> bool {
        false
    }

    /// Whether several questions to this model may be asked as one. What is kept of an answer is kept of each alone, so not where it is recorded,
    /// replayed, sent in a batch, left to agents or heard as it grows.
    fn joins(&self, _model: &Params, _settings: &Params) -> bool {
        false
    }

    /// Called when no part of a joint answer could be used: from now on this model is asked one question at a time.
    fn give_up_joining(&self, _model: &Params) {}

    /// Sends everything that was deferred.
    ///
    /// # Errors
    /// When it could not be sent.
    fn flush(&self) -> Result<(), Failure>;
}

/// Asks nobody: for programs that only look, and until a build says how to reach models.
#[derive(Clone, Copy, Debug, Default)]
pub struct Refusing;

impl Ask for Refusing {
    fn ask(&self, _: &Question<'_>, _: &Cancel) -> Result<Answer, Failure> {
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

/// What is asked.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// The model as bound: what may influence the answer.
    pub model: &'a Params,
    /// What reaches it: address, name of the key's variable, limits, prices.
    pub settings: &'a Params,
    /// The action key of the node that asks.
    pub key: &'a ActionKey,
    /// 0 for the first question of a node, 1 for its repair turn.
    pub attempt: u32,
    /// The conversation so far; the last turn is the user's.
    pub turns: &'a [Turn],
    /// Most tokens that the answer may have; of a vector 0.
    pub max_tokens: u64,
    /// The kind of answer.
    pub wants: Wants,
    /// What it is about, for those who look at it before it is answered.
    pub about: About<'a>,
}

/// The kind of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wants {
    /// A text.
    #[default]
    Text,
    /// The embedding of the last turn: the answer is a list of numbers as JSON.
    Vector,
}

/// What a question is about.
#[derive(Clone, Copy, Debug, Default)]
pub struct About<'a> {
    /// The target that is made; empty for what is no target of the graph.
    pub label: &'a str,
    /// Whether only what changes is asked for.
    pub patch: bool,
    /// Why it is asked, one sentence.
    pub why: &'a str,
    /// What is wrong with the answer in the last turn but one; nothing for a first question.
    pub faults: &'a [String],
}

/// One turn of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Who speaks.
    pub role: Role,
    /// What is said, in order. What never changes stands first.
    pub parts: Vec<Part>,
}

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The rules.
    System,
    /// The one who asks.
    User,
    /// The model.
    Assistant,
}

/// A piece of a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The text.
    pub text: String,
    /// Whether it is the same in many questions, so that a provider's prompt cache may keep everything up to its end.
    pub stable: bool,
}

/// What came back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// The text.
    pub text: String,
    /// Whether it stopped because it grew too long.
    pub cut: bool,
    /// What it cost.
    pub spent: Spent,
    /// What a reader of the answer should know, such as that bytes that are no text were replaced.
    pub remarks: Vec<Diagnostic>,
}

/// A number of tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// How many.
    pub tokens: u64,
    /// Whether a tokenizer counted; else it is estimated.
    pub exact: bool,
}
