//! Pins: versions that a person wants kept. History does not trim them and gc does not take what they name.
//!
//! Encoded with minicbor in `Part::Pins`. Row key: the label, NUL, the version (u32, big-endian). The key alone makes a pin: one whose
//! body is damaged still keeps its version from being trimmed.

use super::{Part, Row, RowChange};
use crate::values::digest::{ActionKey, Digest};
use minicbor::{Decode, Encode};

/// A pinned version.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Pin {
    /// The node.
    #[n(0)]
    pub label: String,
    /// The version.
    #[n(1)]
    pub version: u32,
    #[cbor(n(2), with = "minicbor::bytes")]
    key: Vec<u8>,
    #[cbor(n(3), with = "minicbor::bytes")]
    output: Vec<u8>,
    /// Seconds since 1970 when it was pinned.
    #[n(4)]
    pub at: u64,
    /// Why.
    #[n(5)]
    pub note: Option<String>,
}

impl Pin {
    /// A pin of a version that is filed under `key`.
    pub fn new(label: &str, version: u32, key: &ActionKey, output: &Digest, at: u64, note: Option<String>) -> Self {
        Self {
            label: label.to_owned(),
            version,
            key: key.0.0.to_vec(),
            output: output.0.to_vec(),
            at,
            note,
        }
    }

    /// The key that the version is filed under, and its output; `None` when these are not digests.
    pub fn result(&self) -> Option<(ActionKey, Digest)> {
        let digest = |bytes: &[u8]| bytes.try_into().ok().map(Digest);
        Some((ActionKey(digest(&self.key)?), digest(&self.output)?))
    }

    /// The row to write.
    pub fn to_row(&self) -> RowChange {
        let body = minicbor::to_vec(self).expect("invariant: encoding into memory does not fail");
        (Part::Pins, row_key(&self.label, self.version), Some(body))
    }

    /// The pin in a row; `None` when it cannot be decoded.
    pub fn from_row((_, body): &Row) -> Option<Self> {
        minicbor::decode(body).ok()
    }
}

/// The key of the pin of a version.
pub fn row_key(label: &str, version: u32) -> Vec<u8> {
    [label.as_bytes(), &[0], &version.to_be_bytes()].concat()
}

/// Label and version in a row's key.
pub fn of_key(key: &[u8]) -> Option<(&str, u32)> {
    let (rest, version) = key.split_last_chunk::<4>()?;
    let label = std::str::from_utf8(rest.strip_suffix(&[0])?).ok()?;
    Some((label, u32::from_be_bytes(*version)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn pins_round_trip(label in "[^\0]{0,20}", version: u32, key: [u8; 32], output: [u8; 32], at: u64, note in proptest::option::of(".{0,9}")) {
            let (key, output) = (ActionKey(Digest(key)), Digest(output));
            let pin = Pin::new(&label, version, &key, &output, at, note);
            let (_, row, body) = pin.to_row();
            prop_assert_eq!(of_key(&row), Some((&*label, version)));
            let read = Pin::from_row(&(row, body.unwrap())).unwrap();
            prop_assert_eq!(read.result(), Some((key, output)));
            prop_assert_eq!(read, pin);
        }

        #[test]
        fn any_key_is_read_or_refused(key in proptest::collection::vec(any::<u8>(), 0..12)) {
            if let Some((label, version)) = of_key(&key) {
                prop_assert_eq!(row_key(label, version), key);
            }
        }
    }
}
