//! CBOR in memory, for rows and outputs.

use minicbor::{Decode, Encode};

pub fn encode<T: Encode<()> + ?Sized>(value: &T) -> Vec<u8> {
    minicbor::to_vec(value).expect("invariant: encoding into memory does not fail")
}

/// Decodes a value; `None` if malformed.
pub fn decode<T: for<'b> Decode<'b, ()>>(bytes: &[u8]) -> Option<T> {
    minicbor::decode(bytes).ok()
}
