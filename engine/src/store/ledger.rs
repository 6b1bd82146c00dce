//! The ledger: money spent on results and saved by cached results. No row is ever changed, and gc never removes one.
//!
//! Encoded with minicbor in `Part::Ledger`. Row key: seconds since 1970 (u64, big-endian), then 64 random bits, so that rows
//! of one second do not collide.

use super::{Part, Row, RowChange};
use crate::seams::paid::Spent;
use crate::values::cbor;
use minicbor::{Decode, Encode};
use serde::{Deserialize, Serialize};
use std::hash::{BuildHasher, Hasher, RandomState};

/// Outcome of a paid job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Encode, Decode)]
#[cbor(index_only)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// A complete new answer.
    #[n(0)]
    Full,
    /// A patch of an earlier answer.
    #[n(1)]
    Patch,
    /// An earlier answer, confirmed.
    #[n(2)]
    Unchanged,
    /// An answer that could not be an output.
    #[n(3)]
    Rejected,
    /// Nothing was spent: the result was found under its key. The entry contains its original cost.
    #[n(4)]
    Saved,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Encode, Decode)]
#[cbor(map)]
pub struct LedgerEntry {
    /// Time at which it was recorded, in seconds since 1970.
    #[n(0)]
    pub at: u64,
    #[n(1)]
    pub label: String,
    #[n(2)]
    pub outcome: Outcome,
    /// Its cost, or the cost saved.
    #[n(3)]
    pub spent: Spent,
    /// Its duration, in microseconds.
    #[n(4)]
    pub took_us: u64,
}

impl Outcome {
    /// Returns the outcome for the mode that a producer noted.
    pub fn from_mode(mode: Option<&str>) -> Self {
        match mode {
            Some("patch") => Self::Patch,
            Some("unchanged" | "carried") => Self::Unchanged,
            _ => Self::Full,
        }
    }
}

impl LedgerEntry {
    pub fn to_row(&self) -> RowChange {
        let body = cbor::encode(self);
        let mut key = self.at.to_be_bytes().to_vec();
        key.extend_from_slice(&RandomState::new().build_hasher().finish().to_be_bytes());
        (Part::Ledger, key, Some(body))
    }

    /// Decodes the entry in a row; `None` if it is malformed.
    pub fn from_row((_, body): &Row) -> Option<Self> {
        minicbor::decode(body).ok()
    }
}
