//! Volumes of a remote cache whose results are stored here: a read of an output fetches them.
//!
//! Encoded with minicbor in `Part::Volumes`. Row key: the volume's digest.

use super::records::{ActionRecord, NewResult};
use super::{Part, RowChange, Store, StoreError, ViewId, shared};
use crate::seams::remote::{PREFIX, Prefer, Volume, VolumeIndex, VolumeRef, prefix};
use crate::values::cbor;
use crate::values::digest::{ActionKey, Digest};
use minicbor::{Decode, Encode};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Number of keys stored, to check whether the results are still here.
const SAMPLES: usize = 8;
/// Assumed speed of a cache until it is measured, in bytes per second.
const ASSUMED_SPEED: u64 = 4 << 20;

/// A volume as recorded in a row.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct KnownVolume {
    /// Its address, in the cache's own encoding.
    #[n(0)]
    #[cbor(with = "minicbor::bytes")]
    pub address: Vec<u8>,
    /// Prefixes of the digests of its outputs.
    #[n(1)]
    #[cbor(with = "minicbor::bytes")]
    outputs: Vec<u8>,
    /// A sample of its keys, if its results are stored.
    #[n(2)]
    #[cbor(with = "minicbor::bytes")]
    keys: Vec<u8>,
    /// Length in bytes of the piece with its outputs.
    #[n(3)]
    pub len: u64,
    /// Duration of building its outputs, in microseconds; of building its whole tree, if nothing of that was here.
    #[n(4)]
    pub took_us: u64,
    /// Prefixes of its keys, if only its index was read.
    #[n(5)]
    #[cbor(with = "minicbor::bytes", default)]
    unread: Vec<u8>,
    /// Whether nothing of its tree was here when it was recorded.
    #[n(6)]
    #[cbor(default)]
    pub is_of_new_tree: bool,
    /// Whether a trusted key signed the bundle that listed it.
    #[n(7)]
    #[cbor(default)]
    pub is_signed: bool,
}

/// Cost of a volume of outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VolumeCost {
    /// Length in bytes.
    pub bytes: u64,
    /// Expected duration of fetching it, in microseconds.
    pub fetch_us: u64,
    /// Duration of building its outputs, in microseconds; where nothing of its tree was here, of building that.
    pub build_us: u64,
    /// Whether nothing of its tree was here.
    pub is_of_new_tree: bool,
}

impl VolumeCost {
    /// Whether to fetch it: by preference, or because that is not slower than building its outputs.
    pub fn is_fetched(&self, prefer: Prefer) -> bool {
        match prefer {
            Prefer::Fetch => true,
            Prefer::Make => false,
            Prefer::Auto => self.fetch_us <= self.build_us,
        }
    }
}

/// Estimates how long fetching this many bytes takes, in microseconds, from a cache at this distance and this speed in bytes per second.
pub fn estimate_fetch_us(bytes: u64, round_trip: Option<Duration>, speed: Option<u64>) -> u64 {
    let speed = speed.unwrap_or(ASSUMED_SPEED).max(1);
    let way = round_trip.map_or(0, |way| u64::try_from(way.as_micros()).unwrap_or(u64::MAX));
    way.saturating_add(bytes.saturating_mul(1_000_000) / speed)
}

/// Estimates how long building the tree of all these volumes takes on this machine, in microseconds.
pub fn estimate_tree_us(volumes: &[VolumeRef]) -> u64 {
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u64);
    volumes.iter().fold(0, |sum: u64, volume| sum.saturating_add(volume.took_us)) / cores
}

impl KnownVolume {
    /// Estimates what its outputs cost, with a cache at this distance and this speed in bytes per second.
    pub fn cost(&self, round_trip: Option<Duration>, speed: Option<u64>) -> VolumeCost {
        VolumeCost {
            bytes: self.len,
            fetch_us: estimate_fetch_us(self.len, round_trip, speed),
            build_us: self.took_us,
            is_of_new_tree: self.is_of_new_tree,
        }
    }

    /// Records a volume with these results and outputs.
    pub fn new(volume: &VolumeRef, keys: &[ActionKey], outputs: &[Digest], is_signed: bool) -> Self {
        Self {
            address: volume.address.clone(),
            outputs: outputs.iter().flat_map(prefix).collect(),
            keys: sample(keys),
            len: volume.len,
            took_us: volume.took_us,
            unread: Vec::new(),
            is_of_new_tree: false,
            is_signed,
        }
    }

    /// Records a volume by its index alone, with the [duration](estimate_tree_us) of building its tree: nothing is here that its results could be built from.
    pub fn unread(volume: &VolumeRef, index: &VolumeIndex, tree_us: u64, is_signed: bool) -> Self {
        Self {
            address: volume.address.clone(),
            outputs: index.outputs.concat(),
            keys: Vec::new(),
            len: volume.len,
            took_us: tree_us,
            unread: index.keys.concat(),
            is_of_new_tree: true,
            is_signed,
        }
    }

    /// Returns the prefixes of its keys, if only its index was read.
    pub fn unread_keys(&self) -> &[[u8; PREFIX]] {
        self.unread.as_chunks().0
    }

    /// Records that its results are stored now.
    pub fn set_read(&mut self, keys: &[ActionKey]) {
        self.keys = sample(keys);
        self.unread.clear();
    }

    /// Returns the prefixes of the digests of its outputs.
    pub fn prefixes(&self) -> &[[u8; PREFIX]] {
        self.outputs.as_chunks().0
    }

    /// Whether its results are still stored, judged by a sample, or are fetched when one of them is looked up.
    pub fn is_stored(&self, store: &dyn Store) -> Result<bool, StoreError> {
        for key in self.keys.as_chunks().0 {
            if store.action(&ActionKey(Digest(*key)))?.is_none() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    pub fn to_row(&self, id: &Digest) -> RowChange {
        let body = cbor::encode(self);
        (Part::Volumes, id.0.to_vec(), Some(body))
    }
}

/// The results of a volume, to store.
pub struct VolumeResults {
    pub keys: Vec<ActionKey>,
    /// The results that the store lacks.
    pub new: Vec<NewResult>,
}

impl VolumeResults {
    /// Reads the records of a volume and passes each to `note`. Skips malformed records.
    pub fn from_volume(
        volume: &Volume,
        is_signed: bool,
        store: &dyn Store,
        mut note: impl FnMut(&ActionKey, &ActionRecord),
    ) -> Result<Self, StoreError> {
        let mut results = Self {
            keys: Vec::with_capacity(volume.results.len()),
            new: Vec::new(),
        };
        for result in &volume.results {
            let Some(mut record) = shared::record(result) else { continue };
            if is_signed {
                shared::set_signed(&mut record);
            }
            note(&result.key, &record);
            results.keys.push(result.key);
            if store.action(&result.key)?.is_none() {
                results.new.push(NewResult {
                    key: result.key,
                    record,
                    blob: None,
                    parts: Vec::new(),
                });
            }
        }
        Ok(results)
    }
}

/// Returns a sample of keys, end to end.
fn sample(keys: &[ActionKey]) -> Vec<u8> {
    let step = keys.len().div_ceil(SAMPLES).max(1);
    keys.iter().step_by(step).flat_map(|key| key.0.0).collect()
}

/// Reads the volumes recorded in a view, sorted by digest. Skips malformed rows.
pub fn list_volumes(store: &dyn Store, view: ViewId) -> Result<Vec<(Digest, KnownVolume)>, StoreError> {
    let volume = |(key, body): (Vec<u8>, Vec<u8>)| Some((Digest(key.try_into().ok()?), minicbor::decode(&body).ok()?));
    Ok(store.rows(view, Part::Volumes)?.into_iter().filter_map(volume).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Commit;
    use crate::store::memory::MemoryStore;

    #[test]
    fn rows_come_back_and_damaged_ones_are_left_out() {
        let (store, view) = (MemoryStore::default(), ViewId(1));
        let volume = VolumeRef {
            id: Digest::of(b"volume"),
            address: b"there".to_vec(),
            kind: Default::default(),
            len: 7,
            took_us: 9,
        };
        let keys: Vec<ActionKey> = (0..100_u8).map(|n| ActionKey(Digest::of(&[n]))).collect();
        let outputs = [Digest::of(b"a"), Digest::of(b"b")];
        let known = KnownVolume::new(&volume, &keys, &outputs, false);
        let rows = vec![known.to_row(&volume.id), (Part::Volumes, b"no digest".to_vec(), Some(vec![0xff]))];
        store.commit(view, Commit { rows, ..Commit::default() }).expect("a store");
        assert_eq!(list_volumes(&store, view).expect("a store"), [(volume.id, known.clone())]);
        assert_eq!(known.prefixes(), outputs.each_ref().map(prefix));
        assert!(known.keys.len() <= SAMPLES * 32 && !known.is_stored(&store).expect("a store"));
    }

    #[test]
    fn a_volume_is_fetched_if_that_is_not_slower() {
        let volume = KnownVolume {
            len: 2_000_000,
            took_us: 1_020_000,
            ..KnownVolume::default()
        };
        let far = Some(Duration::from_millis(20));
        let at = |speed: u64| volume.cost(far, Some(speed));
        assert_eq!((at(2_000_000).fetch_us, at(2_000_000).is_fetched(Prefer::Auto)), (1_020_000, true));
        assert!(!at(1_900_000).is_fetched(Prefer::Auto) && at(1).is_fetched(Prefer::Fetch) && !at(u64::MAX).is_fetched(Prefer::Make));
    }
}
