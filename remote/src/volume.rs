//! Volumes: some results of a bundle in three pieces: the records, with a list of the outputs; the outputs, which are fetched when one of them is
//! read; and an index, which says what the others contain. All are blobs of the server. If a server has a damaged copy of a piece, the piece is
//! written again with another number, and so under another name.

use crate::names::BlobName;
use crate::piece::{self, BundlePiece};
use crate::record;
use engine::seams::remote::{SharedResult, Volume, VolumeIndex, VolumeKind, VolumeRef};
use engine::values::digest::Digest;
use minicbor::bytes::ByteVec;
use minicbor::{Decode, Encode};
use std::sync::Arc;

/// Address of a volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub(crate) struct Address {
    /// Hash function of the names.
    #[n(0)]
    pub function: i32,
    #[n(1)]
    pub records: BundlePiece,
    /// Piece with the outputs, if there are any.
    #[n(2)]
    pub outputs: Option<BundlePiece>,
    /// Number of the volume's [kind](VolumeKind).
    #[n(3)]
    pub kind: u8,
    #[n(4)]
    pub index: Option<BundlePiece>,
    /// Duration of building the results that the outputs belong to, in microseconds.
    #[n(5)]
    pub took_us: u64,
}

/// Kinds by their numbers.
const KINDS: [VolumeKind; 3] = [VolumeKind::Dear, VolumeKind::Deciding, VolumeKind::Plain];

pub(crate) fn number_of(kind: VolumeKind) -> u8 {
    let at = KINDS.iter().position(|known| *known == kind);
    u8::try_from(at.unwrap_or_default()).unwrap_or_default()
}

impl Address {
    /// Returns the names of the volume's pieces.
    pub(crate) fn pieces(&self) -> impl Iterator<Item = BlobName> + use<> {
        [Some(self.records), self.outputs, self.index]
            .into_iter()
            .flatten()
            .map(|piece| piece.piece_name())
    }

    /// Returns the reference to the volume that the cache with the number `cache` hands out.
    pub(crate) fn volume(&self, cache: u64) -> VolumeRef {
        VolumeRef {
            id: Digest(self.records.piece_name().hash),
            address: handed_out_by(cache, self),
            kind: KINDS.get(usize::from(self.kind)).copied().unwrap_or_default(),
            len: self.outputs.map_or(0, |outputs| outputs.piece_name().len),
            took_us: self.took_us,
        }
    }

    /// Decodes an address that the cache of this number handed out; `None` if another cache did.
    pub(crate) fn from_bytes(bytes: &[u8], cache: u64) -> Option<Self> {
        read_address(bytes, cache)
    }
}

/// Encodes an address as the cache of this number hands it out.
pub(crate) fn handed_out_by<T: Encode<()>>(cache: u64, address: &T) -> Vec<u8> {
    let address = minicbor::to_vec(address).expect("invariant: memory takes every byte");
    [&cache.to_be_bytes()[..], &address].concat()
}

/// Decodes an address that the cache of this number handed out; `None` if another cache did.
pub(crate) fn read_address<T: for<'b> Decode<'b, ()>>(bytes: &[u8], cache: u64) -> Option<T> {
    let (of, address) = bytes.split_first_chunk()?;
    let address = minicbor::decode(address).ok()?;
    (u64::from_be_bytes(*of) == cache).then_some(address)
}

#[derive(Encode, Decode)]
#[cbor(map)]
struct Records {
    #[n(0)]
    records: Vec<ByteVec>,
    /// Digests of the outputs in the other piece.
    #[n(1)]
    outputs: Vec<ByteVec>,
}

pub(crate) fn encode_records(volume: &Volume, number: u32) -> Vec<u8> {
    let records = Records {
        records: volume.results.iter().map(|result| record::encode_result(result).into()).collect(),
        outputs: volume.outputs.iter().map(|digest| digest.0.to_vec().into()).collect(),
    };
    piece::encode_piece(&records, number)
}

/// Decodes a piece with records; `None` if it cannot be decoded to its last byte. Skips undecodable records.
pub(crate) fn decode_records(bytes: &[u8]) -> Option<Volume> {
    let written: Records = piece::decode_piece(bytes)?;
    let results: Vec<SharedResult> = written
        .records
        .iter()
        .filter_map(|bytes| record::decode_result(bytes).ok())
        .collect();
    let digest = |bytes: &ByteVec| <[u8; 32]>::try_from(bytes.as_slice()).ok().map(Digest);
    let outputs = written.outputs.iter().map(digest).collect::<Option<_>>()?;
    Some(Volume { results, outputs })
}

#[derive(Encode, Decode)]
#[cbor(map)]
struct Index {
    /// Prefixes of keys, end to end.
    #[n(0)]
    keys: ByteVec,
    /// Prefixes of digests of outputs, end to end.
    #[n(1)]
    outputs: ByteVec,
}

pub(crate) fn encode_index(index: &VolumeIndex, number: u32) -> Vec<u8> {
    let index = Index {
        keys: index.keys.concat().into(),
        outputs: index.outputs.concat().into(),
    };
    piece::encode_piece(&index, number)
}

/// Decodes a piece with an index; `None` if it cannot be decoded to its last byte.
pub(crate) fn decode_index(bytes: &[u8]) -> Option<VolumeIndex> {
    let written: Index = piece::decode_piece(bytes)?;
    let prefixes = |bytes: &[u8]| {
        let (prefixes, rest) = bytes.as_chunks();
        rest.is_empty().then(|| prefixes.to_vec())
    };
    Some(VolumeIndex {
        keys: prefixes(&written.keys)?,
        outputs: prefixes(&written.outputs)?,
    })
}

pub(crate) fn encode_outputs(outputs: &[Arc<[u8]>], number: u32) -> Vec<u8> {
    let outputs: Vec<ByteVec> = outputs.iter().map(|output| output.to_vec().into()).collect();
    piece::encode_piece(&outputs, number)
}

/// Decodes a piece with outputs, each with its own digest; `None` if it cannot be decoded to its last byte.
pub(crate) fn decode_outputs(bytes: &[u8]) -> Option<Vec<(Digest, Arc<[u8]>)>> {
    let outputs: Vec<ByteVec> = piece::decode_piece(bytes)?;
    let outputs = outputs.into_iter().map(|bytes| {
        let bytes: Arc<[u8]> = Vec::from(bytes).into();
        (Digest::of(&bytes), bytes)
    });
    Some(outputs.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::any_result;
    use proptest::collection::vec;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn volumes_round_trip(results in vec(any_result(), 0..6), outputs in vec(vec(any::<u8>(), 0..40), 0..6), number: u32, at: usize) {
            let outputs: Vec<Arc<[u8]>> = outputs.into_iter().map(Arc::from).collect();
            let listed: Vec<(Digest, Arc<[u8]>)> = outputs.iter().map(|output| (Digest::of(output), output.clone())).collect();
            let volume = Volume { results, outputs: listed.iter().map(|(digest, _)| *digest).collect() };
            let (records, piece) = (encode_records(&volume, number), encode_outputs(&outputs, number));
            prop_assert_eq!(decode_records(&records), Some(volume.clone()));
            prop_assert_eq!(decode_outputs(&piece), Some(listed));
            prop_assert_ne!(encode_records(&volume, number.wrapping_add(1)), records.clone());
            prop_assert_ne!(encode_outputs(&outputs, number.wrapping_add(1)), piece.clone());
            prop_assert_eq!(decode_records(&records[..at % records.len()]), None);
            prop_assert!(decode_outputs(&piece[..at % piece.len()]).is_none());
        }

        #[test]
        fn any_bytes_decode_without_a_panic(bytes in vec(any::<u8>(), 0..300)) {
            let bytes = piece::compress(&bytes);
            let _ = (decode_records(&bytes), decode_outputs(&bytes), Address::from_bytes(&bytes, 0));
        }
    }
}
