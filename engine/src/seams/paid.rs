//! Producers whose outputs cost money: what they spent, what they would ask, and what they may look at of an earlier answer.
//!
//! The engine knows no language model. It only knows that some outputs are paid for: they run in a pool of their own, are made durable at
//! once, are told in a ledger, and can be priced before they are made.

use super::producer::Failure;
use crate::values::codes::ErrorCode;
use crate::values::diagnostic::Diagnostic;
use crate::values::digest::Digest;
use minicbor::{Decode, Encode};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Provenance of an output that is no part of its key, such as `mode` = `patch`, `base` = the digest it was made from, `chain` = `2`.
pub type Notes = BTreeMap<String, String>;

/// What an output, or a try to make one, cost.
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
    /// Of those, tokens that the provider had cached.
    #[n(3)]
    pub cached_tokens: u64,
    /// Tokens answered.
    #[n(4)]
    pub output_tokens: u64,
    /// Millionths of the currency of the model's price; `None` when it has no price.
    #[n(5)]
    pub micros: Option<u64>,
    /// Whether the tokens are an estimate because the provider did not count them.
    #[n(6)]
    pub estimated: bool,
    /// The agent that answered, for whom no money is paid here.
    #[n(7)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
}

impl Spent {
    /// What is left of it without a part of it.
    #[must_use]
    pub fn less(&self, part: &Self) -> Self {
        Self {
            model: self.model.clone(),
            calls: self.calls.saturating_sub(part.calls),
            input_tokens: self.input_tokens.saturating_sub(part.input_tokens),
            cached_tokens: self.cached_tokens.saturating_sub(part.cached_tokens),
            output_tokens: self.output_tokens.saturating_sub(part.output_tokens),
            micros: self.micros.map(|all| all.saturating_sub(part.micros.unwrap_or(0))),
            estimated: self.estimated,
            agent: self.agent.clone(),
        }
    }

    /// Adds what another call cost.
    pub fn add(&mut self, other: &Self) {
        if *other == Self::default() {
            return;
        }
        if self.model.is_empty() {
            self.model.clone_from(&other.model);
        }
        // A sum of several has no one who answered.
        let is_first = self.calls == 0 && self.input_tokens == 0 && self.output_tokens == 0;
        self.agent = if is_first || self.agent == other.agent {
            other.agent.clone()
        } else {
            None
        };
        self.micros = if is_first {
            other.micros
        } else {
            self.micros.zip(other.micros).map(|(mine, theirs)| mine.saturating_add(theirs))
        };
        self.calls += other.calls;
        self.input_tokens += other.input_tokens;
        self.cached_tokens += other.cached_tokens;
        self.output_tokens += other.output_tokens;
        self.estimated |= other.estimated;
    }
}

/// Answers to the parts of a question that is too large to be asked at once. Each is filed as it comes, so that what was paid for is there
/// when a later part fails; the next try under the same key finds it.
pub trait Parts: Sync {
    /// What an earlier try filed under this name, and what it had cost; nothing when a person asked for a new answer.
    fn find(&self, name: &Digest) -> Option<(Arc<[u8]>, Spent)>;

    /// Files the answer to a part, durably, with what it cost. What an output cost tells the same cost once more, as part of the whole.
    ///
    /// # Errors
    /// When it could not be made durable.
    fn file(&self, name: &Digest, answer: &[u8], spent: &Spent) -> Result<(), Failure>;
}

/// Finds nothing and files nothing.
pub struct NoParts;

impl Parts for NoParts {
    fn find(&self, _: &Digest) -> Option<(Arc<[u8]>, Spent)> {
        None
    }

    fn file(&self, _: &Digest, _: &[u8], _: &Spent) -> Result<(), Failure> {
        Ok(())
    }
}

/// What a paid producer would ask, without asking.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// `full`, `patch`, or `unchanged` when the earlier answer will do without a call.
    pub mode: String,
    /// Why this mode, one sentence.
    pub why: String,
    /// The prompt as it would be sent.
    pub prompt: String,
    /// What it would cost: calls, tokens, money. Output tokens are a guess.
    pub cost: Spent,
}

/// An answer that came, and may have been paid for, but cannot be an output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejected {
    /// Why not.
    pub why: Diagnostic,
    /// The answer as it came, for people to look at.
    pub raw: Vec<u8>,
    /// What was spent on it.
    pub spent: Option<Spent>,
}

impl Failure {
    /// A failure that comes after answers which cost something: what they cost, and the last of them, go with it. A question that was put off
    /// is answered later, from where it stands; what is known of it by then is told then.
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
                    "it was stopped after an answer that cannot be used, before another came",
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

/// What the last result of the same node was and was made of. A hint: no output may be wrong without it.
#[derive(Clone, Debug)]
pub struct Previous {
    /// The output then.
    pub output: Arc<[u8]>,
    /// Its digest.
    pub digest: Digest,
    /// What was noted with it.
    pub notes: Notes,
    /// What it was made of, in the order of its key.
    pub inputs: Vec<PreviousInput>,
    /// What its producer filed with it for this moment, empty if nothing. It may come from another machine.
    pub memo: Arc<[u8]>,
}

/// What items of rules (types, say) were called before, by what they are called now. No output may be wrong without it.
pub type FormerNames = BTreeMap<String, Vec<FormerName>>;

/// A name that an item had before.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FormerName {
    /// The item, as labels name it.
    pub item: String,
    /// The identifier that went with the name.
    pub id: String,
}

/// What a person wrote in the place of parts of the node's output, wherever that was: the last result need not be the corrected one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Correction {
    /// The words, by the name of the part: written in this checkout, or in another in which most of what the node is made of was the same.
    pub words: BTreeMap<String, String>,
    /// Parts that were written where the node is made of other things.
    pub elsewhere: BTreeSet<String>,
}

/// One input of an earlier result.
#[derive(Clone, Debug)]
pub struct PreviousInput {
    /// Role in the rule.
    pub role: Arc<str>,
    /// The node that gave it.
    pub label: Arc<str>,
    /// What it gave.
    pub digest: Digest,
    /// The blob, if the store still has it. Rows of tables are never kept.
    pub bytes: Option<Arc<[u8]>>,
}
