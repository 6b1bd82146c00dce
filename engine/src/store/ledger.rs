//! The ledger: what was spent on results and what filed results saved. Rows are only ever added; gc does not take them.
//!
//! Encoded with minicbor in `Part::Ledger`. Row key: seconds since 1970 (u64, big-endian), then 64 random bits, so that rows
//! of one second stand side by side.

use super::{Part, Row, RowChange};
use crate::seams::paid::Spent;
use minicbor::{Decode, Encode};
use serde::{Deserialize, Serialize};
use std::hash::{BuildHasher, Hasher, RandomState};

/// What became of the money.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Encode, Decode)]
#[cbor(index_only)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// A whole answer was made.
    #[n(0)]
    Full,
    /// An earlier answer was patched.
    #[n(1)]
    Patch,
    /// An earlier answer was found to hold.
    #[n(2)]
    Unchanged,
    /// An answer came that could not be an output.
    #[n(3)]
    Rejected,
    /// Nothing was spent: the result was filed under its key. The figures say what it had cost.
    #[n(4)]
    Saved,
}

/// One line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Encode, Decode)]
#[cbor(map)]
pub struct LedgerEntry {
    /// Seconds since 1970.
    #[n(0)]
    pub at: u64,
    /// The node.
    #[n(1)]
    pub label: String,
    /// What became of it.
    #[n(2)]
    pub outcome: Outcome,
    /// What it cost, or saved.
    #[n(3)]
    pub spent: Spent,
    /// Microseconds that it took.
    #[n(4)]
    pub took_us: u64,
}

impl LedgerEntry {
    /// The row to write.
    pub fn to_row(&self) -> RowChange {
        let body = minicbor::to_vec(self).expect("invariant: encoding into memory does not fail");
        let mut key = self.at.to_be_bytes().to_vec();
        key.extend_from_slice(&RandomState::new().build_hasher().finish().to_be_bytes());
        (Part::Ledger, key, Some(body))
    }

    /// The entry in a row; `None` when it cannot be decoded.
    pub fn from_row((_, body): &Row) -> Option<Self> {
        minicbor::decode(body).ok()
    }
}
