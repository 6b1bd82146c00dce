//! A bundle: the records of many results in one blob, with the server's names of their outputs. One question and one blob then answer for a
//! whole tree, where a question for each result would cost as many round trips.

use crate::names::Name;
use crate::record;
use engine::seams::remote::{SharedResult, Wanted};
use engine::values::digest::{ActionKey, Digest};
use minicbor::{Decode, Encode};
use std::io::Read;

/// The one output of a bundle.
pub(crate) const OUTPUT: &str = "bundle";
/// Who makes bundles.
const PRODUCER: &str = "cortex/bundle@1";
/// Longer bundles are not ours.
const LONGEST: u64 = 1 << 30;
const LEVEL: i32 = 3;

#[derive(Encode, Decode)]
#[cbor(map)]
struct Entry {
    #[n(0)]
    #[cbor(with = "minicbor::bytes")]
    record: Vec<u8>,
    /// What the server calls the outputs, in their order; empty for one whose blob is not there.
    #[n(1)]
    names: Vec<minicbor::bytes::ByteVec>,
}

/// A result of a bundle, and what the server calls its outputs.
pub(crate) type Bundled = (SharedResult, Vec<Option<[u8; 32]>>);

/// What a bundle of this name is filed under.
pub(crate) fn wanted(name: &Digest) -> Wanted {
    Wanted {
        key: ActionKey(*name),
        producer: PRODUCER.to_owned(),
    }
}

/// The bytes of a bundle.
pub(crate) fn encode(results: &[Bundled]) -> Vec<u8> {
    let entry = |(result, names): &Bundled| Entry {
        record: record::encode(result),
        names: names
            .iter()
            .map(|name| name.map(|name| name.to_vec()).unwrap_or_default().into())
            .collect(),
    };
    let entries: Vec<Entry> = results.iter().map(entry).collect();
    let bytes = minicbor::to_vec(&entries).expect("invariant: memory takes every byte");
    zstd::bulk::compress(&bytes, LEVEL).expect("invariant: memory takes every byte")
}

/// The results of a bundle; `None` when it cannot be read to its last byte. One whose record cannot be read is left out.
pub(crate) fn decode(bytes: &[u8]) -> Option<Vec<Bundled>> {
    let mut whole = Vec::new();
    let mut reader = zstd::Decoder::with_buffer(bytes).ok()?.take(LONGEST + 1);
    reader.read_to_end(&mut whole).ok().filter(|len| *len as u64 <= LONGEST)?;
    let mut decoder = minicbor::Decoder::new(&whole);
    let entries: Vec<Entry> = decoder.decode().ok()?;
    if decoder.position() != whole.len() {
        return None;
    }
    let bundled = |entry: Entry| {
        let result = record::decode(&entry.record).ok()?;
        let names: Vec<_> = entry.names.iter().map(|name| <[u8; 32]>::try_from(name.as_slice()).ok()).collect();
        (names.len() == result.outputs.len()).then_some((result, names))
    };
    Some(entries.into_iter().filter_map(bundled).collect())
}

/// What the server calls the outputs; nothing for those whose blobs are not there.
pub(crate) fn names((result, names): &Bundled) -> impl Iterator<Item = (Digest, Option<Name>)> {
    let named = result.outputs.iter().zip(names);
    named.map(|(output, name)| {
        let len = output.blob.len;
        (output.blob.digest, name.map(|hash| Name { hash, len }))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::any_result;
    use proptest::collection::vec;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn bundles_round_trip_and_damage_is_refused(results in vec((any_result(), any::<Option<[u8; 32]>>()), 0..5), at in any::<prop::sample::Index>()) {
            let bundled: Vec<Bundled> = results
                .into_iter()
                .map(|(result, name)| { let names = vec![name; result.outputs.len()]; (result, names) })
                .collect();
            let bytes = encode(&bundled);
            prop_assert_eq!(decode(&bytes), Some(bundled));
            prop_assert_eq!(decode(&bytes[..at.index(bytes.len())]), None);
        }

        #[test]
        fn any_bytes_decode_without_a_panic(bytes in vec(any::<u8>(), 0..300)) {
            let _ = decode(&bytes);
            let _ = decode(&zstd::bulk::compress(&bytes, 1).unwrap());
        }
    }
}
