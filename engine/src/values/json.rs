//! JSON in memory, for rows and outputs.

use serde::Serialize;

/// Encodes a value that has text keys and finite numbers.
pub fn encode(value: &(impl Serialize + ?Sized)) -> Vec<u8> {
    serde_json::to_vec(value).expect("invariant: our values have text keys and finite numbers")
}
