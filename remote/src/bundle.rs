//! A bundle: the addresses of the volumes of a tree's results, in one small blob. It is stored under several names: that of its tree, and
//! names by which similar trees find it.

use crate::names::BlobName;
use crate::piece::BundlePiece;
use crate::volume::{self, Address};
use engine::seams::remote::Wanted;
use engine::values::digest::{ActionKey, Digest};
use minicbor::{Decode, Encode};

/// Name of a bundle's only output.
pub(crate) const OUTPUT: &str = "bundle";
/// Producer name of bundles.
const PRODUCER: &str = "cortex/bundle@3";

/// Contents of a bundle.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub(crate) struct BundleContent {
    /// Addresses of the bundle's volumes.
    #[n(0)]
    pub volumes: Vec<Address>,
    /// Address of the graph of its tree.
    #[n(1)]
    pub graph: Option<GraphAddress>,
}

/// Address of a graph.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub(crate) struct GraphAddress {
    /// Hash function of the names.
    #[n(0)]
    pub function: i32,
    /// Pieces of the graph, in the order in which they apply.
    #[n(1)]
    pub pieces: Vec<RowPieces>,
}

/// Rows in one piece, and their digests in another, by which a later job finds the rows that changed since.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) struct RowPieces {
    #[n(0)]
    pub rows: BundlePiece,
    #[n(1)]
    pub digests: BundlePiece,
}

impl GraphAddress {
    /// Returns the address as the cache of this number hands it out.
    pub(crate) fn handed_out_by(&self, cache: u64) -> Vec<u8> {
        volume::handed_out_by(cache, self)
    }

    /// Decodes an address that the cache of this number handed out; `None` if another cache did.
    pub(crate) fn from_bytes(bytes: &[u8], cache: u64) -> Option<Self> {
        volume::read_address(bytes, cache)
    }

    /// Returns the names of all pieces.
    pub(crate) fn piece_names(&self) -> impl Iterator<Item = BlobName> {
        self.pieces
            .iter()
            .flat_map(|piece| [piece.rows.piece_name(), piece.digests.piece_name()])
    }
}

/// Returns the lookup of a bundle by its name.
pub(crate) fn lookup_of_bundle(name: &Digest) -> Wanted {
    Wanted {
        key: ActionKey(*name),
        producer: PRODUCER.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::Function;
    use crate::piece;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn address(number: u8) -> Address {
        let piece = |bytes: &[u8]| Function::Sha256.name_of_bytes(bytes).into();
        Address {
            function: Function::Sha256.protocol_number(),
            records: piece(&[number]),
            outputs: number.is_multiple_of(2).then(|| piece(&[number, number])),
            kind: number % 3,
            index: None,
            took_us: u64::from(number),
        }
    }

    proptest! {
        #[test]
        fn bundles_round_trip(volumes in vec(any::<u8>(), 0..8), number: u32, at: usize) {
            let volumes: Vec<Address> = volumes.into_iter().map(address).collect();
            let content = BundleContent { volumes: volumes.clone(), graph: None };
            let bytes = piece::encode_piece(&content, number);
            prop_assert_eq!(piece::decode_piece(&bytes), Some(content));
            prop_assert_eq!(piece::decode_piece::<BundleContent>(&bytes[..at % bytes.len()]), None);
            for volume in volumes {
                prop_assert_eq!(Address::from_bytes(&volume.volume(7).address, 7), Some(volume));
                prop_assert_eq!(Address::from_bytes(&volume.volume(7).address, 8), None);
            }
        }

        #[test]
        fn any_bytes_decode_without_a_panic(bytes in vec(any::<u8>(), 0..300)) {
            let _ = (piece::decode_piece::<BundleContent>(&bytes), piece::decode_piece::<BundleContent>(&piece::compress(&bytes)));
        }
    }
}
