//! The typed records of the store. Encoded with minicbor maps: fields are only ever added.

use crate::seams::paid::{Notes, Spent};
use crate::values::diagnostic::Diagnostic;
use crate::values::digest::{ActionKey, Digest};
use std::sync::Arc;

/// Whether a result cost money.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Only computing time.
    Cheap,
    /// Paid for: the last thing that gc takes.
    Paid,
}

/// One input of an action, as provenance for `explain`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputRecord {
    /// Role in the rule.
    pub role: Arc<str>,
    /// The node that gave it.
    pub label: Arc<str>,
    /// What it gave.
    pub digest: Digest,
}

/// A result filed under its action key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActionRecord {
    /// Digest of the output blob. The blob itself may be absent (outputs of `keep = false` producers).
    pub output: Digest,
    /// Length of the output in bytes.
    pub len: u64,
    /// The node it was first made for.
    pub label: String,
    /// Producer name and version, as displayed.
    pub producer: String,
    /// Seconds since 1970 when it was made.
    pub made_at: u64,
    /// Microseconds that the producer took.
    pub took_us: u64,
    /// What it was made of.
    pub inputs: Vec<InputRecord>,
    /// What the producer said.
    pub diagnostics: Vec<Diagnostic>,
    /// Whether it cost money.
    pub class: Class,
    /// What it cost, if that is known.
    pub spent: Option<Spent>,
    /// How it came about, as the producer noted it.
    pub notes: Notes,
    /// Of a tree ([`crate::values::tree`]), whose outermost folder the output is: the digests of all other blobs of it, in order, each once.
    pub parts: Vec<Digest>,
    /// What its producer wants to know of it when it makes the next one; see [`crate::seams::producer::Output::memo`].
    pub memo: Arc<[u8]>,
}

impl ActionRecord {
    /// The blobs that stay as long as it is needed: its output and the parts of that; of what was paid for its inputs, too, because the next
    /// question may be asked as a change of this one.
    pub fn blobs_to_keep(&self) -> impl Iterator<Item = Digest> {
        let asked = self.inputs.iter().filter(|_| self.class == Class::Paid);
        let own = std::iter::once(self.output).chain(self.parts.iter().copied());
        own.chain(asked.map(|input| input.digest))
    }
}

/// One version of a node's output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryRecord {
    /// From 1, never reused. Ignored when pushing: the store counts.
    pub version: u32,
    /// The key it is filed under.
    pub key: ActionKey,
    /// Its digest.
    pub output: Digest,
    /// Seconds since 1970 when it became the node's output.
    pub at: u64,
    /// The number of the build that brought it, in the view's log of builds; `None` for what is not a build (a correction, an answer).
    pub build: Option<u64>,
}

/// A result to file.
#[derive(Clone, Debug)]
pub struct NewResult {
    /// Its key.
    pub key: ActionKey,
    /// The record.
    pub record: ActionRecord,
    /// The output, unless it is not to be kept.
    pub blob: Option<Arc<[u8]>>,
    /// The record's parts, as far as they are at hand.
    pub parts: Vec<(Digest, Arc<[u8]>)>,
}

impl NewResult {
    /// The blobs that come with it, by their digests.
    pub fn blobs(&self) -> impl Iterator<Item = (Digest, &Arc<[u8]>)> {
        let own = self.blob.iter().map(|blob| (self.record.output, blob));
        own.chain(self.parts.iter().map(|(digest, blob)| (*digest, blob)))
    }
}
