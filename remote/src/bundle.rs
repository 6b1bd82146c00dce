//! A bundle: the addresses of the volumes of a tree's results, in one small blob. It is stored under several names: that of its tree, and
//! names by which similar trees find it.

use crate::graph_pieces::GraphAddress;
use crate::volume::{self, Address, SCHEMA};
use engine::seams::remote::Wanted;
use engine::values::digest::{ActionKey, Digest};
use minicbor::{Decode, Encode};

/// Name of a bundle's only output.
pub(crate) const OUTPUT: &str = "bundle";
/// Producer name of bundles.
const PRODUCER: &str = "cortex/bundle@2";

#[derive(Encode, Decode)]
#[cbor(map)]
struct Written {
    #[n(0)]
    schema: u32,
    #[n(1)]
    number: u32,
    #[n(2)]
    volumes: Vec<Address>,
    /// The graph of the tree.
    #[n(3)]
    graph: Option<GraphAddress>,
}

/// Contents of a bundle.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct BundleContent {
    /// Addresses of its volumes.
    pub volumes: Vec<Address>,
    /// Address of the graph of its tree.
    pub graph: Option<GraphAddress>,
}

/// Returns the lookup of a bundle by its name.
pub(crate) fn lookup_of_bundle(name: &Digest) -> Wanted {
    Wanted {
        key: ActionKey(*name),
        producer: PRODUCER.to_owned(),
    }
}

/// Encodes a bundle.
pub(crate) fn encode(content: &BundleContent, number: u32) -> Vec<u8> {
    let written = Written {
        schema: SCHEMA,
        number,
        volumes: content.volumes.clone(),
        graph: content.graph.clone(),
    };
    volume::compress(&minicbor::to_vec(&written).expect("invariant: memory takes every byte"))
}

/// Decodes a bundle; `None` if it cannot be decoded to its last byte, or has another format.
pub(crate) fn decode(bytes: &[u8]) -> Option<BundleContent> {
    let written: Written = volume::decode(bytes)?;
    (written.schema == SCHEMA).then_some(BundleContent {
        volumes: written.volumes,
        graph: written.graph,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::Function;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn address(number: u8) -> Address {
        let piece = |bytes: &[u8]| Function::Sha256.name(bytes).into();
        Address {
            function: Function::Sha256.number(),
            records: piece(&[number]),
            outputs: number.is_multiple_of(2).then(|| piece(&[number, number])),
            kind: number % 3,
            index: None,
        }
    }

    proptest! {
        #[test]
        fn bundles_round_trip(volumes in vec(any::<u8>(), 0..8), number: u32, at: usize) {
            let volumes: Vec<Address> = volumes.into_iter().map(address).collect();
            let content = BundleContent { volumes: volumes.clone(), graph: None };
            let bytes = encode(&content, number);
            prop_assert_eq!(decode(&bytes), Some(content));
            prop_assert_eq!(decode(&bytes[..at % bytes.len()]), None);
            for volume in volumes {
                prop_assert_eq!(Address::read(&volume.volume(7).address, 7), Some(volume));
                prop_assert_eq!(Address::read(&volume.volume(7).address, 8), None);
            }
        }

        #[test]
        fn any_bytes_decode_without_a_panic(bytes in vec(any::<u8>(), 0..300)) {
            let _ = (decode(&bytes), decode(&volume::compress(&bytes)));
        }
    }

    #[test]
    fn another_form_is_not_read() {
        let newer = Written {
            schema: SCHEMA + 1,
            number: 0,
            volumes: Vec::new(),
            graph: None,
        };
        assert_eq!(decode(&volume::compress(&minicbor::to_vec(&newer).unwrap())), None);
    }
}
