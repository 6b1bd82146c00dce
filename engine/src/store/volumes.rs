//! Volumes of a remote cache whose results were filed here: their outputs are fetched when something reads them.
//!
//! Encoded with minicbor in `Part::Volumes`. Row key: the volume's digest.

use super::{Part, RowChange, Store, StoreError, ViewId};
use crate::seams::remote::VolumeRef;
use crate::values::digest::{ActionKey, Digest};
use minicbor::{Decode, Encode};

/// Bytes of a digest that are kept of each output.
const PREFIX: usize = 8;
/// So many keys are kept, by which it is found out whether the results are still here.
const SAMPLES: usize = 8;

/// A volume, as a row keeps it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct KnownVolume {
    /// Where it is: bytes of the cache's.
    #[n(0)]
    #[cbor(with = "minicbor::bytes")]
    pub address: Vec<u8>,
    /// The first bytes of the digest of each output.
    #[n(1)]
    #[cbor(with = "minicbor::bytes")]
    outputs: Vec<u8>,
    /// Some of its keys.
    #[n(2)]
    #[cbor(with = "minicbor::bytes")]
    keys: Vec<u8>,
    /// Bytes that its outputs travel in.
    #[n(3)]
    pub len: u64,
    /// Microseconds that it took to make them.
    #[n(4)]
    pub took_us: u64,
}

/// The start of a digest, as rows keep it.
pub fn prefix(digest: &Digest) -> [u8; PREFIX] {
    let mut prefix = [0; PREFIX];
    prefix.copy_from_slice(&digest.0[..PREFIX]);
    prefix
}

impl KnownVolume {
    /// A volume with these results and outputs.
    pub fn new(volume: &VolumeRef, keys: &[ActionKey], outputs: &[Digest], took_us: u64) -> Self {
        let step = keys.len().div_ceil(SAMPLES).max(1);
        Self {
            address: volume.address.clone(),
            outputs: outputs.iter().flat_map(prefix).collect(),
            keys: keys.iter().step_by(step).flat_map(|key| key.0.0).collect(),
            len: volume.len,
            took_us,
        }
    }

    /// The starts of the digests of its outputs.
    pub fn prefixes(&self) -> &[[u8; PREFIX]] {
        self.outputs.as_chunks().0
    }

    /// Whether its results are still filed, as far as some of them tell.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn is_filed(&self, store: &dyn Store) -> Result<bool, StoreError> {
        for key in self.keys.as_chunks().0 {
            if store.action(&ActionKey(Digest(*key)))?.is_none() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The row that keeps it.
    pub fn to_row(&self, id: &Digest) -> RowChange {
        let body = minicbor::to_vec(self).expect("invariant: encoding into memory does not fail");
        (Part::Volumes, id.0.to_vec(), Some(body))
    }
}

/// The volumes that a view knows, by rising digest. A row that cannot be read is none.
///
/// # Errors
/// When the store cannot be read.
pub fn all(store: &dyn Store, view: ViewId) -> Result<Vec<(Digest, KnownVolume)>, StoreError> {
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
            is_eager: false,
            len: 7,
        };
        let keys: Vec<ActionKey> = (0..100_u8).map(|n| ActionKey(Digest::of(&[n]))).collect();
        let outputs = [Digest::of(b"a"), Digest::of(b"b")];
        let known = KnownVolume::new(&volume, &keys, &outputs, 9);
        let rows = vec![known.to_row(&volume.id), (Part::Volumes, b"no digest".to_vec(), Some(vec![0xff]))];
        store.commit(view, Commit { rows, ..Commit::default() }).expect("a store");
        assert_eq!(all(&store, view).expect("a store"), [(volume.id, known.clone())]);
        assert_eq!(known.prefixes(), outputs.each_ref().map(prefix));
        assert!(known.keys.len() <= SAMPLES * 32 && !known.is_filed(&store).expect("a store"));
    }
}
