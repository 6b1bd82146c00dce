//! New volumes: the part of an offer that earlier volumes lack, split into pieces of some MiB. Adjacent results stay together.

use crate::blobs::NotTaken;
use crate::piece::LONGEST;
use crate::prepared_bundle::EarlierVolumes;
use engine::seams::remote::{BundleOffer, Volume, VolumeIndex, VolumeKind, prefix};
use engine::values::digest::Digest;
use std::collections::HashSet;
use std::sync::Arc;

/// Limit of results per volume.
const RESULTS: usize = 2_048;
/// Limit of outputs per volume in bytes, unless there is only one.
const BYTES: usize = 4 << 20;
/// Limit of bytes of one output.
const LARGEST: u64 = LONGEST / 2;
/// Number of results below which a volume continues with the next producer.
const FEW: usize = 256;

/// A volume to send.
pub(crate) struct NewVolume {
    pub contents: Volume,
    /// Outputs, in their order.
    pub blobs: Vec<Arc<[u8]>>,
    pub kind: VolumeKind,
    /// Duration of building the results that the outputs belong to, in microseconds.
    pub took_us: u64,
    bytes: usize,
}

impl NewVolume {
    fn empty(kind: VolumeKind) -> Self {
        Self {
            contents: Volume {
                results: Vec::new(),
                outputs: Vec::new(),
            },
            blobs: Vec::new(),
            kind,
            took_us: 0,
            bytes: 0,
        }
    }

    fn is_empty(&self) -> bool {
        self.contents.results.is_empty() && self.blobs.is_empty()
    }

    fn is_full(&self) -> bool {
        self.contents.results.len() >= RESULTS || self.bytes >= BYTES
    }

    /// Returns whether the next results begin another volume.
    fn ends_before(&self, kind: VolumeKind, producer: &str) -> bool {
        let last = self.contents.results.last();
        let is_other = last.is_some_and(|last| last.producer != producer);
        self.kind != kind || self.is_full() || is_other && self.contents.results.len() >= FEW
    }

    /// Returns the index of the volume.
    pub(crate) fn index(&self) -> VolumeIndex {
        VolumeIndex {
            keys: self.contents.results.iter().map(|result| prefix(&result.key.0)).collect(),
            outputs: self.contents.outputs.iter().map(prefix).collect(),
        }
    }

    fn add_blob(&mut self, digest: Digest, blob: Arc<[u8]>) {
        self.bytes += blob.len();
        self.contents.outputs.push(digest);
        self.blobs.push(blob);
    }
}

/// Passes one volume after the other to `take`. Leaves out outputs that `load` does not have, and those that are too large, whose number is returned;
/// their readers build them.
pub(crate) fn each_new_volume(
    offer: &BundleOffer<'_>,
    earlier: &EarlierVolumes,
    mut take: impl FnMut(NewVolume) -> Result<(), NotTaken>,
) -> Result<u64, NotTaken> {
    let mut too_large = 0;
    let mut volume = NewVolume::empty(VolumeKind::Dear);
    let mut seen: HashSet<Digest> = HashSet::new();
    for bundled in offer.results {
        if volume.ends_before(bundled.kind, &bundled.result.producer) {
            let full = std::mem::replace(&mut volume, NewVolume::empty(bundled.kind));
            if !full.is_empty() {
                take(full)?;
            }
        }
        if !earlier.kept_keys.contains(&prefix(&bundled.result.key.0)) {
            volume.contents.results.push(bundled.result.clone());
        }
        let mut is_counted = false;
        for digest in &bundled.outputs {
            if earlier.kept_outputs.contains(&prefix(digest)) || !seen.insert(*digest) {
                continue;
            }
            let Some(blob) = (offer.load)(digest) else { continue };
            if blob.len() as u64 >= LARGEST {
                too_large += 1;
                continue;
            }
            if volume.bytes > 0 && volume.bytes + blob.len() > 2 * BYTES {
                take(std::mem::replace(&mut volume, NewVolume::empty(bundled.kind)))?;
                is_counted = false;
            }
            volume.add_blob(*digest, blob);
            if !std::mem::replace(&mut is_counted, true) {
                // Without one of its outputs, the whole result is built again.
                volume.took_us = volume.took_us.saturating_add(bundled.took_us);
            }
        }
    }
    if !volume.is_empty() {
        take(volume)?;
    }
    Ok(too_large)
}
