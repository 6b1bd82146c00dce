//! Pins: versions that a person wants to keep. History does not trim them and gc keeps their results.
//!
//! Encoded with minicbor in `Part::Pins`. Row key: the label, NUL, the version (u32, big-endian). The key alone suffices: a pin with a damaged
//! body still protects its version from trimming.

use super::{Part, Row, RowChange};
use crate::values::digest::{ActionKey, Digest};
use minicbor::{Decode, Encode};

/// A pinned version.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Pin {
    /// Label of the node.
    #[n(0)]
    pub label: String,
    /// The version number.
    #[n(1)]
    pub version: u32,
    #[cbor(n(2), with = "minicbor::bytes")]
    key: Vec<u8>,
    #[cbor(n(3), with = "minicbor::bytes")]
    output: Vec<u8>,
    /// Time at which it was pinned, in seconds since 1970.
    #[n(4)]
    pub at: u64,
    /// Reason, if the person gave one.
    #[n(5)]
    pub note: Option<String>,
}

impl Pin {
    /// Creates a pin of a version with the action key `key`.
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

    /// Returns the version's action key and output digest; `None` if they are malformed.
    pub fn result(&self) -> Option<(ActionKey, Digest)> {
        let digest = |bytes: &[u8]| bytes.try_into().ok().map(Digest);
        Some((ActionKey(digest(&self.key)?), digest(&self.output)?))
    }

    /// Returns the row to write.
    pub fn to_row(&self) -> RowChange {
        let body = minicbor::to_vec(self).expect("invariant: encoding into memory does not fail");
        (Part::Pins, row_key(&self.label, self.version), Some(body))
    }

    /// Decodes the pin in a row; `None` if it is malformed.
    pub fn from_row((_, body): &Row) -> Option<Self> {
        minicbor::decode(body).ok()
    }
}

/// Returns the row key of a version's pin.
pub fn row_key(label: &str, version: u32) -> Vec<u8> {
    [label.as_bytes(), &[0], &version.to_be_bytes()].concat()
}

/// Returns label and version in a row's key.
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
