//! The typed records of the store. Encoded with minicbor maps; new versions only add fields.

use crate::seams::paid::{Notes, Spent};
use crate::values::diagnostic::Diagnostic;
use crate::values::digest::{ActionKey, Digest};
use std::sync::Arc;

/// Cost class of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Only computing time.
    Cheap,
    /// Paid for: gc removes it last.
    Paid,
}

/// One input of an action, as provenance for `explain`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputRecord {
    /// Role in the rule.
    pub role: Arc<str>,
    /// Label of the node that it comes from.
    pub label: Arc<str>,
    /// Its digest.
    pub digest: Digest,
}

/// A result stored under its action key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActionRecord {
    /// Digest of the output blob. The blob itself may be absent (outputs of `keep = false` producers).
    pub output: Digest,
    /// Length of the output in bytes.
    pub len: u64,
    /// Label of the node that it was first built for.
    pub label: String,
    /// Producer name and version, as displayed.
    pub producer: String,
    /// Time at which it was built, in seconds since 1970.
    pub made_at: u64,
    /// Duration of the producer's run, in microseconds.
    pub took_us: u64,
    /// Its inputs.
    pub inputs: Vec<InputRecord>,
    /// The producer's diagnostics.
    pub diagnostics: Vec<Diagnostic>,
    /// Its cost class.
    pub class: Class,
    /// Its cost, if known.
    pub spent: Option<Spent>,
    /// Provenance, as the producer noted it.
    pub notes: Notes,
    /// For a tree ([`crate::values::tree`]), whose root folder is the output: digests of all its other blobs, sorted, without duplicates.
    pub parts: Vec<Digest>,
    /// Data that its producer passes to its next run; see [`crate::seams::producer::Output::memo`].
    pub memo: Arc<[u8]>,
}

impl ActionRecord {
    /// Returns the blobs that live as long as the record: the output and its parts. For a paid result also the inputs, because the next question
    /// may be asked as a change of this one.
    pub fn blobs_to_keep(&self) -> impl Iterator<Item = Digest> {
        let prompt_inputs = self.inputs.iter().filter(|_| self.class == Class::Paid);
        let own = std::iter::once(self.output).chain(self.parts.iter().copied());
        own.chain(prompt_inputs.map(|input| input.digest))
    }
}

/// One version of a node's output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryRecord {
    /// From 1, never reused. Ignored when pushing: the store assigns it.
    pub version: u32,
    /// Its action key.
    pub key: ActionKey,
    /// Its digest.
    pub output: Digest,
    /// Time at which it became the node's output, in seconds since 1970.
    pub at: u64,
    /// Number of the build that pushed it, in the view's log of builds; `None` without a build (a correction, an answer).
    pub build: Option<u64>,
}

/// A result to store.
#[derive(Clone, Debug)]
pub struct NewResult {
    /// Its key.
    pub key: ActionKey,
    /// The record.
    pub record: ActionRecord,
    /// The output, unless it must not be stored.
    pub blob: Option<Arc<[u8]>>,
    /// The record's parts that are available.
    pub parts: Vec<(Digest, Arc<[u8]>)>,
}

impl NewResult {
    /// Returns the blobs to store with it, by digest.
    pub fn blobs(&self) -> impl Iterator<Item = (Digest, &Arc<[u8]>)> {
        let own = self.blob.iter().map(|blob| (self.record.output, blob));
        own.chain(self.parts.iter().map(|(digest, blob)| (*digest, blob)))
    }
}
