//! Pins: versions that a person wants to keep. History does not trim them and gc keeps their results.
//!
//! Encoded with minicbor in `Part::Pins`. Row key: the label, NUL, the version (u32, big-endian). The key alone suffices: a pin with a damaged
//! body still protects its version from trimming.

use super::{Part, Row, RowChange};
use crate::values::cbor;
use crate::values::digest::{ActionKey, Digest};
use minicbor::{Decode, Encode};

/// A pinned version.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Pin {
    #[n(0)]
    pub label: String,
    #[n(1)]
    pub version: u32,
    /// The action key of the version.
    #[n(2)]
    pub key: ActionKey,
    #[n(3)]
    pub output: Digest,
    /// Time at which it was pinned, in seconds since 1970.
    #[n(4)]
    pub at: u64,
    /// Reason, if the person gave one.
    #[n(5)]
    pub note: Option<String>,
}

impl Pin {
    pub fn to_row(&self) -> RowChange {
        let body = cbor::encode(self);
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
            let pin = Pin { label: label.clone(), version, key, output, at, note };
            let (_, row, body) = pin.to_row();
            prop_assert_eq!(of_key(&row), Some((&*label, version)));
            let read = Pin::from_row(&(row, body.unwrap())).unwrap();
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
