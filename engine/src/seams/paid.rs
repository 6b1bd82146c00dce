//! Producers whose outputs cost money: their costs, their planned questions, and the parts of an earlier answer that they may read.
//!
//! The engine knows no language model. It only knows that some outputs are paid for. Their jobs run in a pool of their own. The engine
//! commits them at once, records them in a ledger, and can price them in advance.

use super::joint::JointPlan;
use super::producer::Failure;
use crate::values::codes::ErrorCode;
use crate::values::diagnostic::Diagnostic;
use crate::values::digest::Digest;
use minicbor::{Decode, Encode};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Provenance of an output, not part of its key: for example `mode` = `patch`, `base` = the digest of the patched answer, `chain` = `2`.
pub type Notes = BTreeMap<String, String>;

/// Cost of an output, or of a failed try to produce one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Encode, Decode)]
#[cbor(map)]
pub struct Spent {
    /// The model as its provider names it.
    #[n(0)]
    pub model: String,
    /// Calls that were answered.
    #[n(1)]
    pub calls: u32,
    /// Tokens sent, cached ones included.
    #[n(2)]
    pub input_tokens: u64,
    /// The part of those that the provider had cached.
    #[n(3)]
    pub cached_tokens: u64,
    /// Tokens received.
    #[n(4)]
    pub output_tokens: u64,
    /// Price in millionths of `currency`; `None` if the model has no price.
    #[n(5)]
    pub micros: Option<u64>,
    /// Whether the tokens are an estimate, because the provider did not count them.
    #[n(6)]
    pub estimated: bool,
    /// The agent that answered; cortex pays nothing for it.
    #[n(7)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The currency of `micros`; empty when there is no price.
    #[n(8)]
    #[cbor(default)]
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub currency: String,
    /// Estimated tokens, sent and received, of a full answer instead of this one; 0 if unknown.
    #[n(9)]
    #[cbor(default)]
    #[serde(default)]
    pub whole_tokens: u64,
}

impl Spent {
    /// Returns the cost without that of a part.
    #[must_use]
    pub fn less(&self, part: &Self) -> Self {
        Self {
            calls: self.calls.saturating_sub(part.calls),
            input_tokens: self.input_tokens.saturating_sub(part.input_tokens),
            cached_tokens: self.cached_tokens.saturating_sub(part.cached_tokens),
            output_tokens: self.output_tokens.saturating_sub(part.output_tokens),
            micros: self.micros.map(|all| all.saturating_sub(part.micros.unwrap_or(0))),
            whole_tokens: self.whole_tokens.saturating_sub(part.whole_tokens),
            ..self.clone()
        }
    }

    /// Whether no call was made and no token sent or received.
    pub fn is_free(&self) -> bool {
        self.calls == 0 && self.input_tokens == 0 && self.output_tokens == 0
    }

    /// Adds the cost of another call. Money of two currencies is not added: the sum has none.
    pub fn add(&mut self, other: &Self) {
        if *other == Self::default() {
            return;
        }
        if self.model.is_empty() {
            self.model.clone_from(&other.model);
        }
        self.whole_tokens = self.whole_tokens.saturating_add(other.whole_tokens);
        if other.is_free() {
            return;
        }
        // A sum over different agents names no agent.
        let is_first = self.is_free();
        self.agent = if is_first || self.agent == other.agent {
            other.agent.clone()
        } else {
            None
        };
        let is_one_currency = is_first || self.currency == other.currency;
        self.micros = if is_first {
            other.micros
        } else {
            let both = self.micros.zip(other.micros).filter(|_| is_one_currency);
            both.map(|(mine, theirs)| mine.saturating_add(theirs))
        };
        self.currency = if is_one_currency { other.currency.clone() } else { String::new() };
        self.calls = self.calls.saturating_add(other.calls);
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.cached_tokens = self.cached_tokens.saturating_add(other.cached_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        self.estimated |= other.estimated;
    }
}

/// Storage of answers to the parts of a question that is too large for one call. Each is stored on arrival, so that paid answers survive
/// the failure of a later part; the next try under the same key finds them.
pub trait Parts: Sync {
    /// Returns the answer that an earlier try stored under this name, with its cost; `None` if a person requested a new answer.
    fn find(&self, name: &Digest) -> Option<(Arc<[u8]>, Spent)>;

    /// Stores the answer to a part durably, with its cost. The producer includes this cost again in the cost of the whole output. Fails
    /// when it could not be stored durably.
    fn store_part(&self, name: &Digest, answer: &[u8], spent: &Spent) -> Result<(), Failure>;
}

/// Finds nothing and stores nothing.
pub struct NoParts;

impl Parts for NoParts {
    fn find(&self, _: &Digest) -> Option<(Arc<[u8]>, Spent)> {
        None
    }

    fn store_part(&self, _: &Digest, _: &[u8], _: &Spent) -> Result<(), Failure> {
        Ok(())
    }
}

/// Keeps machines that share a cache from paying for one answer at the same moment.
pub trait QuestionLock: Sync {
    /// Acquires the lock on the question of this job for this machine. Call it before sending the question to a model that answers at once.
    /// Blocks while another machine asks. Fails when another machine has answered (its answer is the job's output), or when the build was
    /// stopped. The caller passes the failure on.
    fn acquire(&self) -> Result<(), Failure>;
}

/// Locks nothing: no other machine can ask.
pub struct NoQuestionLock;

impl QuestionLock for NoQuestionLock {
    fn acquire(&self) -> Result<(), Failure> {
        Ok(())
    }
}

/// The question that a paid producer would ask.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// `full`, `patch`, or `unchanged` if the earlier answer serves without a call.
    pub mode: String,
    /// Reason for this mode, one sentence.
    pub why: String,
    /// The prompt as it would be sent.
    pub prompt: String,
    /// Expected cost if it is asked alone: calls, tokens, money. Output tokens are estimated.
    pub cost: Spent,
    /// How it can be asked with others, if it can.
    pub joint: Option<JointPlan>,
}

/// A received, possibly paid, answer that cannot be an output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejected {
    /// Reason for the rejection.
    pub why: Diagnostic,
    /// The answer as received, for people to inspect.
    pub raw: Vec<u8>,
    pub spent: Option<Spent>,
}

impl Failure {
    /// Attaches the cost of earlier answers, and the last of them as `raw`, to a failure. A deferred or awaited question stays as it is: it
    /// continues later and reports its cost then.
    #[must_use]
    pub fn after_spending(self, spent: Option<&Spent>, raw: &str) -> Self {
        let Some(spent) = spent else { return self };
        let rejected = |why: Diagnostic| {
            Self::Rejected(Box::new(Rejected {
                why,
                raw: raw.as_bytes().to_vec(),
                spent: Some(spent.clone()),
            }))
        };
        match self {
            Self::Permanent(why) | Self::Transient(why) | Self::Limit(why) => rejected(*why),
            Self::Cancelled => rejected(
                Diagnostic::error(
                    ErrorCode::E_CANCELLED,
                    "it was stopped after an unusable answer, before another arrived",
                )
                .hint("build again; 'cortex show --rejected LABEL' shows the answer"),
            ),
            Self::Rejected(mut rejected) => {
                let mut all = spent.clone();
                rejected.spent.iter().for_each(|more| all.add(more));
                rejected.spent = Some(all);
                Self::Rejected(rejected)
            }
            Self::Deferred | Self::Awaited => self,
        }
    }
}

/// The last result of the same node, with its inputs. A hint: outputs must be correct without it.
#[derive(Clone, Debug)]
pub struct Previous {
    pub output: Arc<[u8]>,
    pub digest: Digest,
    /// The notes stored with it.
    pub notes: Notes,
    /// Its inputs, in the order of its key.
    pub inputs: Vec<PreviousInput>,
    /// The [memo](super::producer::Output::memo) that its producer stored with it, empty if none. It may come from another machine.
    pub memo: Arc<[u8]>,
}

/// Former names of items of rules (types, say), by present name. A hint: outputs must be correct without it.
pub type FormerNames = BTreeMap<String, Vec<FormerName>>;

/// A former name of an item.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FormerName {
    /// The item, as labels named it.
    pub item: String,
    /// The identifier that belonged to the name.
    pub id: String,
    /// Whether this is no former name, but the item from which the present one was split off.
    pub is_origin: bool,
}

/// Finds the newest result under a label for which the function returns true.
pub type FindResult<'a> = dyn Fn(&str, &dyn Fn(&Previous) -> bool) -> Option<Previous> + 'a;

/// A person's words that replace parts of the node's output. The person may have corrected an earlier result than the last one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Correction {
    /// The words, by name of the part: written in this checkout, or in another in which most of the node's inputs were the same.
    pub words: BTreeMap<String, String>,
    /// Parts that were written in a checkout in which the node has other inputs.
    pub elsewhere: BTreeSet<String>,
}

/// One input of an earlier result.
#[derive(Clone, Debug)]
pub struct PreviousInput {
    pub role: Arc<str>,
    /// Label of the node that it comes from.
    pub label: Arc<str>,
    pub digest: Digest,
    /// The blob, if the store still has it. Rows of tables are never stored.
    pub bytes: Option<Arc<[u8]>>,
}
