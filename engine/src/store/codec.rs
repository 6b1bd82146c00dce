//! Encoding of the typed records: CBOR maps with small integer keys. Knows no table and no disk.
//!
//! New versions only add fields: unknown keys are skipped, missing optional fields read as their empty value, a missing required field
//! makes the record unreadable. A length is never trusted: memory grows only with items that exist.

use super::records::{ActionRecord, HistoryRecord};
use minicbor::decode::Error;
use minicbor::{Decode, Encode};

/// Location of a blob's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub(super) struct BlobRecord {
    /// Length of the blob, in bytes.
    #[n(0)]
    pub(super) raw_len: u64,
    /// Length as stored, in bytes.
    #[n(1)]
    pub(super) stored_len: u64,
    /// Codec of the stored form (`disk::compression`).
    #[n(2)]
    pub(super) codec: u8,
    /// Its sequence number in the data table.
    #[n(3)]
    pub(super) seq: u64,
    /// Its place in a shared frame, if any; its stored length is then its share of the frame.
    #[n(4)]
    pub(super) shared: Option<Shared>,
}

/// A frame shared by blobs, and one blob's place in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct Shared {
    /// Offset of the frame in its row.
    #[n(0)]
    pub(super) frame_at: u64,
    /// Length of the frame, in bytes.
    #[n(1)]
    pub(super) frame_stored: u64,
    /// Length of the expanded frame, in bytes.
    #[n(2)]
    pub(super) frame_len: u64,
    /// Offset of the blob in the expanded frame.
    #[n(3)]
    pub(super) at: u64,
}

pub(super) fn decode_action(bytes: &[u8]) -> Result<ActionRecord, Error> {
    minicbor::decode(bytes)
}

/// Decodes a version; its number is that of its row.
pub(super) fn decode_history(version: u32, bytes: &[u8]) -> Result<HistoryRecord, Error> {
    let record = minicbor::decode(bytes)?;
    Ok(HistoryRecord { version, ..record })
}

pub(super) fn decode_blob(bytes: &[u8]) -> Result<BlobRecord, Error> {
    minicbor::decode(bytes)
}

/// Texts that records share.
pub(super) mod shared_text {
    use minicbor::encode::Write;
    use minicbor::{Decoder, Encoder};
    use std::sync::Arc;

    pub(in crate::store) fn encode<C, W: Write>(
        text: &Arc<str>,
        to: &mut Encoder<W>,
        _: &mut C,
    ) -> Result<(), minicbor::encode::Error<W::Error>> {
        to.str(text)?.ok()
    }

    pub(in crate::store) fn decode<C>(from: &mut Decoder<'_>, _: &mut C) -> Result<Arc<str>, minicbor::decode::Error> {
        from.str().map(Arc::from)
    }
}

/// Bytes that records share.
pub(super) mod shared_bytes {
    use minicbor::encode::Write;
    use minicbor::{Decoder, Encoder};
    use std::sync::Arc;

    pub(in crate::store) fn encode<C, W: Write>(
        bytes: &Arc<[u8]>,
        to: &mut Encoder<W>,
        _: &mut C,
    ) -> Result<(), minicbor::encode::Error<W::Error>> {
        to.bytes(bytes)?.ok()
    }

    pub(in crate::store) fn decode<C>(from: &mut Decoder<'_>, _: &mut C) -> Result<Arc<[u8]>, minicbor::decode::Error> {
        from.bytes().map(Arc::from)
    }

    pub(in crate::store) fn has_no_bytes(bytes: &Arc<[u8]>) -> bool {
        bytes.is_empty()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::seams::paid::Spent;
    use crate::store::records::{Class, InputRecord};
    use crate::values::cbor::encode;
    use crate::values::diagnostic::{Diagnostic, Excerpt, Severity, SourceLocation};
    use crate::values::digest::{ActionKey, Digest};
    use minicbor::Encoder;
    use proptest::collection::btree_map;
    use proptest::collection::vec;
    use proptest::option;
    use proptest::prelude::*;

    fn any_digest() -> impl Strategy<Value = Digest> {
        any::<[u8; 32]>().prop_map(Digest)
    }

    fn any_diagnostic() -> impl Strategy<Value = Diagnostic> {
        let severity = prop_oneof![Just(Severity::Note), Just(Severity::Warning), Just(Severity::Error)];
        let place = (".{0,9}", any::<u32>(), any::<u32>()).prop_map(|(file, line, column)| SourceLocation { file, line, column });
        let excerpt = (".{0,9}", any::<u32>(), any::<u32>()).prop_map(|(text, start, len)| Excerpt { text, start, len });
        let texts = (
            ".{0,9}",
            ".{0,20}",
            option::of(".{0,9}"),
            option::of(".{0,9}"),
            option::of(".{0,9}"),
            vec(".{0,9}", 0..3),
        );
        (severity, texts, option::of(place), option::of(excerpt)).prop_map(|(severity, texts, place, excerpt)| {
            let (code, message, label, found, hint, candidates) = texts;
            Diagnostic {
                severity,
                code,
                message,
                label,
                place,
                excerpt,
                found,
                hint,
                candidates,
            }
        })
    }

    fn any_input() -> impl Strategy<Value = InputRecord> {
        (".{0,9}", ".{0,20}", any_digest()).prop_map(|(role, label, digest)| InputRecord {
            role: role.into(),
            label: label.into(),
            digest,
        })
    }

    pub(in crate::store) fn any_action() -> impl Strategy<Value = ActionRecord> {
        let numbers = (any::<u64>(), any::<u64>(), any::<u64>());
        let class = prop_oneof![Just(Class::Cheap), Just(Class::Paid)];
        let lists = (vec(any_input(), 0..12), vec(any_diagnostic(), 0..3));
        let paid = (
            proptest::option::of(any_spent()),
            btree_map(".{0,5}", ".{0,9}", 0..3),
            vec(any_digest(), 0..3),
            vec(any::<u8>(), 0..20),
        );
        (any_digest(), ".{0,30}", ".{0,20}", numbers, lists, class, paid).prop_map(
            |(output, label, producer, (len, made_at, took_us), (inputs, diagnostics), class, (spent, notes, parts, memo))| ActionRecord {
                output,
                len,
                label,
                producer,
                made_at,
                took_us,
                inputs,
                diagnostics,
                class,
                spent,
                notes,
                parts,
                memo: memo.into(),
            },
        )
    }

    fn any_spent() -> impl Strategy<Value = Spent> {
        let agent = prop::option::of(".{1,9}");
        (
            ".{0,9}",
            any::<u32>(),
            any::<[u64; 4]>(),
            any::<Option<u64>>(),
            any::<bool>(),
            agent,
            ".{0,3}",
        )
            .prop_map(
                |(model, calls, [input_tokens, cached_tokens, output_tokens, whole_tokens], micros, estimated, agent, currency)| Spent {
                    currency,
                    whole_tokens,
                    model,
                    calls,
                    input_tokens,
                    cached_tokens,
                    output_tokens,
                    micros,
                    estimated,
                    agent,
                },
            )
    }

    proptest! {
        #[test]
        fn actions_round_trip(record in any_action()) {
            prop_assert_eq!(decode_action(&encode(&record)).unwrap(), record);
        }

        #[test]
        fn versions_and_blob_records_round_trip(version: u32, key in any_digest(), output in any_digest(), n: [u64; 3], build: Option<u64>, codec: u8, place: Option<[u64; 4]>) {
            let shared = place.map(|[frame_at, frame_stored, frame_len, at]| Shared { frame_at, frame_stored, frame_len, at });
            let record = HistoryRecord { version, key: ActionKey(key), output, at: n[0], build };
            prop_assert_eq!(decode_history(version, &encode(&record)).unwrap(), record);
            let blob = BlobRecord { raw_len: n[0], stored_len: n[1], codec, seq: n[2], shared };
            prop_assert_eq!(decode_blob(&encode(&blob)).unwrap(), blob);
        }

        #[test]
        fn any_bytes_decode_without_a_panic(bytes in vec(any::<u8>(), 0..300)) {
            let _ = (decode_action(&bytes), decode_history(1, &bytes), decode_blob(&bytes));
        }

        #[test]
        fn a_cut_or_flipped_record_decodes_without_a_panic(record in any_action(), at in any::<prop::sample::Index>(), bits in 1_u8..) {
            let mut bytes = encode(&record);
            let at = at.index(bytes.len());
            prop_assert!(decode_action(&bytes[..at]).is_err());
            bytes[at] ^= bits;
            let _ = decode_action(&bytes);
        }
    }

    #[test]
    fn fields_of_the_future_are_skipped() {
        let record = BlobRecord {
            raw_len: 1,
            stored_len: 2,
            codec: 0,
            seq: 3,
            shared: None,
        };
        let mut bytes = encode(&record);
        bytes[0] = 0xa5; // a map of five entries
        Encoder::new(&mut bytes)
            .u8(77)
            .unwrap()
            .array(2)
            .unwrap()
            .str("new")
            .unwrap()
            .bool(true)
            .unwrap();
        assert_eq!(decode_blob(&bytes).unwrap(), record);
    }

    #[test]
    fn a_list_that_claims_to_be_endless_is_refused() {
        let mut bytes = Vec::new();
        Encoder::new(&mut bytes).map(1).unwrap().u8(6).unwrap().array(u64::MAX).unwrap();
        assert!(decode_action(&bytes).is_err());
    }
}
