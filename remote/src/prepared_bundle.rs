//! The earlier bundle that a new one continues, and what of its volumes the new one keeps.

use crate::bundle::GraphAddress;
use crate::volume::Address;
use engine::seams::remote::{BundleOffer, PREFIX, VolumeIndex, prefix};
use engine::values::digest::{ActionKey, Digest};
use std::collections::HashSet;
use std::sync::Arc;

/// Number of results and outputs below which a volume is small.
const FEW: usize = 512;
/// Number of small volumes above which they are merged.
const SMALL: usize = 16;

/// Contents of an offer that earlier volumes already have.
#[derive(Default)]
pub(crate) struct EarlierVolumes {
    /// Whether these volumes are of the same tree.
    pub is_own: bool,
    /// Prefixes of the keys in all of them.
    keys: HashSet<[u8; PREFIX]>,
    /// Addresses of the volumes to keep.
    pub addresses: Vec<Address>,
    /// Prefixes of the keys in the earlier volumes.
    pub kept_keys: HashSet<[u8; PREFIX]>,
    /// Prefixes of the digests of outputs in the earlier volumes.
    pub kept_outputs: HashSet<[u8; PREFIX]>,
}

/// An earlier bundle that a new one continues.
#[derive(Default)]
pub(crate) struct PreparedBundle {
    /// Names of the new bundle.
    pub names: Vec<Digest>,
    pub earlier: EarlierVolumes,
    pub graph: Option<GraphAddress>,
}

impl EarlierVolumes {
    /// Keeps the volumes most of whose results have one of these keys. One without results has the last outputs of the volume before it. If too many
    /// are small, drops the small ones, to merge them.
    pub(crate) fn retain_volumes(&mut self, volumes: Vec<(Address, Arc<VolumeIndex>)>, keys: &[ActionKey]) {
        let keys: HashSet<[u8; PREFIX]> = keys.iter().map(|key| prefix(&key.0)).collect();
        let len = |index: &VolumeIndex| index.keys.len() + index.outputs.len();
        let live = |index: &VolumeIndex| index.keys.iter().filter(|key| keys.contains(*key)).count();
        self.keys = volumes.iter().flat_map(|(_, index)| index.keys.iter().copied()).collect();
        let mut kept = volumes;
        let mut is_live = false;
        kept.retain(|(_, index)| {
            if !index.keys.is_empty() {
                // A job with other patterns may have built the rest of the same tree.
                is_live = self.is_own || live(index) * 4 >= index.keys.len() * 3;
            }
            is_live
        });
        if kept.iter().filter(|(_, index)| len(index) < FEW).count() > SMALL {
            kept.retain(|(_, index)| len(index) >= FEW);
        }
        for (address, index) in kept {
            self.addresses.push(address);
            self.kept_keys.extend(&index.keys);
            self.kept_outputs.extend(&index.outputs);
        }
    }

    /// Returns whether the bundle of the same tree lists the whole offer.
    pub(crate) fn lists(&self, offer: &BundleOffer<'_>) -> bool {
        self.is_own
            && offer
                .results
                .iter()
                .all(|bundled| self.keys.contains(&prefix(&bundled.result.key.0)))
    }
}
