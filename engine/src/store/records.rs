//! The typed records of the store. Encoded with minicbor maps; new versions only add fields.

use super::codec::{shared_bytes, shared_text};
use crate::seams::paid::{Notes, Spent};
use crate::seams::producer::{Output, Pool};
use crate::values::diagnostic::Diagnostic;
use crate::values::digest::{ActionKey, Digest};
use minicbor::{Decode, Encode};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Cost class of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub enum Class {
    /// Only computing time.
    #[n(0)]
    Cheap,
    /// Paid for: gc removes it last.
    #[n(1)]
    Paid,
}

impl Class {
    /// Returns the class of results that a pool produces.
    pub fn of_pool(pool: Pool) -> Self {
        match pool {
            Pool::Paid => Self::Paid,
            _ => Self::Cheap,
        }
    }
}

/// One input of an action, as provenance for `explain`.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct InputRecord {
    #[cbor(n(0), with = "shared_text")]
    pub role: Arc<str>,
    /// Label of the node that it comes from.
    #[cbor(n(1), with = "shared_text")]
    pub label: Arc<str>,
    #[n(2)]
    pub digest: Digest,
}

/// A result stored under its action key.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct ActionRecord {
    /// Digest of the output blob. The blob itself may be absent (outputs of `keep = false` producers).
    #[n(0)]
    pub output: Digest,
    /// Length of the output in bytes.
    #[n(1)]
    pub len: u64,
    /// Label of the node that it was first built for.
    #[n(2)]
    pub label: String,
    /// Producer name and version, as displayed.
    #[n(3)]
    pub producer: String,
    /// Time at which it was built, in seconds since 1970.
    #[n(4)]
    pub made_at: u64,
    /// Duration of the producer's run, in microseconds.
    #[n(5)]
    pub took_us: u64,
    #[n(6)]
    pub inputs: Vec<InputRecord>,
    #[n(7)]
    pub diagnostics: Vec<Diagnostic>,
    #[n(8)]
    pub class: Class,
    /// Its cost, if known.
    #[n(9)]
    pub spent: Option<Spent>,
    /// Provenance, as the producer noted it.
    #[cbor(n(10), skip_if = "BTreeMap::is_empty")]
    pub notes: Notes,
    /// For a tree ([`crate::values::tree`]), whose root folder is the output: digests of all its other blobs, sorted, without duplicates.
    #[cbor(n(11), skip_if = "Vec::is_empty")]
    pub parts: Vec<Digest>,
    /// Data that its producer passes to its next run; see [`crate::seams::producer::Output::memo`].
    #[cbor(n(12), with = "shared_bytes", skip_if = "shared_bytes::has_no_bytes")]
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
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct HistoryRecord {
    /// From 1, never reused. Ignored when pushing: the store assigns it.
    #[cbor(skip)]
    pub version: u32,
    #[n(0)]
    pub key: ActionKey,
    #[n(1)]
    pub output: Digest,
    /// Time at which it became the node's output, in seconds since 1970.
    #[n(2)]
    pub at: u64,
    /// Number of the build that pushed it, in the view's log of builds; `None` without a build (a correction, an answer).
    #[n(3)]
    pub build: Option<u64>,
}

/// A result to store.
#[derive(Clone, Debug)]
pub struct NewResult {
    pub key: ActionKey,
    pub record: ActionRecord,
    /// The output, unless it must not be stored.
    pub blob: Option<Arc<[u8]>>,
    /// The record's parts that are available.
    pub parts: Vec<(Digest, Arc<[u8]>)>,
}

/// Where, when and by what a result was produced: the fields of its record that its producer does not know.
#[derive(Clone, Debug)]
pub struct Origin {
    /// See [`ActionRecord::label`].
    pub label: String,
    /// See [`ActionRecord::producer`].
    pub producer: String,
    /// See [`ActionRecord::made_at`].
    pub made_at: u64,
    /// See [`ActionRecord::took_us`].
    pub took_us: u64,
    /// See [`ActionRecord::inputs`].
    pub inputs: Vec<InputRecord>,
    /// See [`ActionRecord::class`].
    pub class: Class,
}

impl NewResult {
    /// Returns a producer's output, whose bytes have this digest, as a result to store with all its blobs.
    pub fn from_output(key: ActionKey, output: Output, digest: Digest, origin: Origin) -> Self {
        let parts: Vec<(Digest, Arc<[u8]>)> = output.parts.into_iter().collect();
        let mut pieces: Vec<Digest> = parts.iter().map(|(digest, _)| *digest).chain(output.kept).collect();
        pieces.sort_unstable();
        let record = ActionRecord {
            output: digest,
            len: output.bytes.len() as u64,
            label: origin.label,
            producer: origin.producer,
            made_at: origin.made_at,
            took_us: origin.took_us,
            inputs: origin.inputs,
            diagnostics: output.diagnostics,
            class: origin.class,
            spent: output.spent,
            notes: output.notes,
            parts: pieces,
            memo: output.memo,
        };
        Self {
            key,
            record,
            blob: Some(output.bytes.into()),
            parts,
        }
    }

    /// Returns the blobs to store with it, by digest.
    pub fn blobs(&self) -> impl Iterator<Item = (Digest, &Arc<[u8]>)> {
        let own = self.blob.iter().map(|blob| (self.record.output, blob));
        own.chain(self.parts.iter().map(|(digest, blob)| (*digest, blob)))
    }
}
