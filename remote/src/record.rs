//! The record of each result: its key, its producer, the BLAKE3 digests of its outputs, and optionally a signature. Results without a record,
//! or with one of another key, are ignored. A record gives the keys of readers before any output is fetched.

use crate::signature::{Signer, is_trusted};
use engine::seams::remote::{BlobRef, SharedOutput, SharedResult, Wanted, WrongRemoteAnswer};
use engine::values::digest::{ActionKey, Digest};
use minicbor::bytes::ByteVec;
use minicbor::{Decode, Encode};

/// Format of records. Records of another format are not read.
const SCHEMA: u32 = 1;
/// Limit of a record, in bytes.
pub(crate) const LONGEST: u64 = 64 << 20;

#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
struct Written {
    #[n(0)]
    schema: u32,
    #[n(1)]
    #[cbor(with = "minicbor::bytes")]
    key: [u8; 32],
    #[n(2)]
    producer: String,
    #[n(3)]
    outputs: Vec<WrittenOutput>,
    #[n(4)]
    #[cbor(with = "minicbor::bytes")]
    provenance: Vec<u8>,
    /// A public key, and its signature of the record without this field.
    #[n(5)]
    signature: Option<ByteVec>,
}

#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
struct WrittenOutput {
    #[n(0)]
    name: String,
    #[n(1)]
    #[cbor(with = "minicbor::bytes")]
    digest: [u8; 32],
    #[n(2)]
    len: u64,
}

pub(crate) fn encode_result(result: &SharedResult) -> Vec<u8> {
    encode_record(&to_wire(result))
}

/// Encodes the record of a result, signed if there is a signer.
pub(crate) fn encode_signed(result: &SharedResult, signer: Option<&Signer>) -> Vec<u8> {
    let mut written = to_wire(result);
    written.signature = signer.map(|signer| signer.sign(&encode_record(&written)).into());
    encode_record(&written)
}

fn encode_record(written: &Written) -> Vec<u8> {
    minicbor::to_vec(written).expect("invariant: memory takes every byte")
}

fn to_wire(result: &SharedResult) -> Written {
    let output = |output: &SharedOutput| WrittenOutput {
        name: output.name.clone(),
        digest: output.blob.digest.0,
        len: output.blob.len,
    };
    Written {
        schema: SCHEMA,
        key: result.key.0.0,
        producer: result.producer.clone(),
        outputs: result.outputs.iter().map(output).collect(),
        provenance: result.provenance.clone(),
        signature: None,
    }
}

/// Decodes the result of a record. Fails when the record cannot be decoded to its last byte.
pub(crate) fn decode_result(bytes: &[u8]) -> Result<SharedResult, WrongRemoteAnswer> {
    decode_record(bytes).map(shared_result)
}

fn decode_record(bytes: &[u8]) -> Result<Written, WrongRemoteAnswer> {
    let mut decoder = minicbor::Decoder::new(bytes);
    let written: Written = decoder.decode().map_err(|_| WrongRemoteAnswer::Undecodable)?;
    let is_whole = decoder.position() == bytes.len() && written.schema == SCHEMA;
    let is_ordered = written.outputs.is_sorted_by(|a, b| a.name < b.name);
    if !is_whole || !is_ordered || written.outputs.is_empty() {
        return Err(WrongRemoteAnswer::Undecodable);
    }
    Ok(written)
}

fn shared_result(written: Written) -> SharedResult {
    let output = |output: WrittenOutput| SharedOutput {
        name: output.name,
        blob: BlobRef {
            digest: Digest(output.digest),
            len: output.len,
        },
    };
    SharedResult {
        key: ActionKey(Digest(written.key)),
        producer: written.producer,
        outputs: written.outputs.into_iter().map(output).collect(),
        provenance: written.provenance,
    }
}

/// Decodes a record if it is of the requested result and, if keys are trusted, one of them signed it. Errors: the flaw of the record.
pub(crate) fn decode_wanted(bytes: &[u8], wanted: &Wanted, trusted: &[[u8; 32]]) -> Result<SharedResult, WrongRemoteAnswer> {
    let mut written = decode_record(bytes)?;
    let signature = written.signature.take();
    if !is_trusted(
        &self::encode_record(&written),
        signature.as_ref().map(|signature| &signature[..]),
        trusted,
    ) {
        return Err(WrongRemoteAnswer::Untrusted);
    }
    let result = shared_result(written);
    if result.key == wanted.key && result.producer == wanted.producer {
        Ok(result)
    } else {
        Err(WrongRemoteAnswer::OtherKey)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::collection::{btree_map, vec};
    use proptest::prelude::*;

    pub(crate) fn any_result() -> impl Strategy<Value = SharedResult> {
        let outputs = btree_map("[a-z]{1,4}", vec(any::<u8>(), 0..40), 1..4);
        (any::<[u8; 32]>(), "[a-z]{1,6}@[0-9]", outputs, vec(any::<u8>(), 0..40)).prop_map(|(key, producer, outputs, provenance)| {
            let output = |(name, bytes): (String, Vec<u8>)| SharedOutput {
                name,
                blob: BlobRef::of(&bytes),
            };
            SharedResult {
                key: ActionKey(Digest(key)),
                producer,
                outputs: outputs.into_iter().map(output).collect(),
                provenance,
            }
        })
    }

    proptest! {
        #[test]
        fn records_round_trip(result in any_result()) {
            let bytes = encode_result(&result);
            let wanted = Wanted { key: result.key, producer: result.producer.clone() };
            prop_assert_eq!(decode_wanted(&bytes, &wanted, &[]), Ok(result.clone()));
            let other = Wanted { key: ActionKey(Digest::of(b"other")), ..wanted.clone() };
            prop_assert_eq!(decode_wanted(&bytes, &other, &[]), Err(WrongRemoteAnswer::OtherKey));
            let other = Wanted { producer: "other".to_owned(), ..wanted };
            prop_assert_eq!(decode_wanted(&bytes, &other, &[]), Err(WrongRemoteAnswer::OtherKey));
            prop_assert_eq!(decode_result(&bytes[..bytes.len() - 1]), Err(WrongRemoteAnswer::Undecodable));
            prop_assert_eq!(decode_result(&[&bytes[..], &[0]].concat()), Err(WrongRemoteAnswer::Undecodable));
        }

        #[test]
        fn any_bytes_decode_without_a_panic(bytes in vec(any::<u8>(), 0..300)) {
            let _ = decode_result(&bytes);
        }
    }
}
