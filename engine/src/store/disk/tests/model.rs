//! Random commits, readings, releases and reopenings against the store in memory.

use super::super::{DiskOptions, DiskStore};
use crate::store::conformance::{key, result, version};
use crate::store::memory::MemoryStore;
use crate::store::{Commit, Inventory, Part, Store, Usage, ViewId};
use crate::values::digest::Digest;
use proptest::collection::vec;
use proptest::prelude::*;
use std::sync::{Arc, OnceLock};

#[derive(Clone, Debug)]
enum Step {
    /// Results (name, blob), rows (part, key, body), versions (label).
    Commit {
        view: u64,
        results: Vec<(u8, u8)>,
        rows: Vec<(usize, u8, Option<u8>)>,
        versions: Vec<u8>,
    },
    Release,
    Reopen,
}

fn any_step() -> impl Strategy<Value = Step> {
    let rows = vec((0..Part::ALL.len(), 0..6_u8, proptest::option::of(any::<u8>())), 0..8);
    let commit =
        (0..3_u64, vec((0..12_u8, 0..12_u8), 0..8), rows, vec(0..2_u8, 0..12)).prop_map(|(view, results, rows, versions)| Step::Commit {
            view,
            results,
            rows,
            versions,
        });
    prop_oneof![6 => commit, 1 => Just(Step::Release), 1 => Just(Step::Reopen)]
}

/// Blobs of every size class: empty, small, compressible, several chunks. Each is computed once: the checks after every step compare all.
fn blob(seed: u8) -> Vec<u8> {
    static BLOBS: [OnceLock<Vec<u8>>; 256] = [const { OnceLock::new() }; 256];
    BLOBS[usize::from(seed)].get_or_init(|| compute_blob(seed)).clone()
}

fn compute_blob(seed: u8) -> Vec<u8> {
    match seed % 4 {
        0 => vec![seed; usize::from(seed) / 4],
        1 => vec![seed; 3_000],
        2 => (0..20_000_u32)
            .flat_map(|n| blake3::hash(&[&n.to_be_bytes()[..], &[seed]].concat()).as_bytes()[..8].to_vec())
            .collect(),
        _ => format!("text {seed} ").repeat(usize::from(seed) * 40).into_bytes(),
    }
}

fn blob_of_seed(seed: u8) -> (Digest, Arc<[u8]>) {
    let blob = blob(seed);
    (Digest::of(&blob), blob.into())
}

fn commit(results: &[(u8, u8)], rows: &[(usize, u8, Option<u8>)], versions: &[u8]) -> Commit {
    Commit {
        results: results.iter().map(|(name, seed)| result(&name.to_string(), &blob(*seed))).collect(),
        // Some blobs are committed without a result.
        blobs: results
            .iter()
            .filter(|(name, _)| name % 3 == 0)
            .map(|(name, _)| blob_of_seed(*name))
            .collect(),
        rows: rows
            .iter()
            .map(|(part, key, body)| (Part::ALL[*part], vec![*key], body.map(blob)))
            .collect(),
        history: versions
            .iter()
            .zip(0..)
            .map(|(label, at)| (label.to_string(), version(at)))
            .collect(),
        used: results
            .iter()
            .map(|(name, seed)| (key(&name.to_string()), u64::from(*seed)))
            .collect(),
    }
}

fn agree(disk: &DiskStore, memory: &MemoryStore) {
    for n in 0..12_u8 {
        let digest = Digest::of(&blob(n));
        assert_eq!(disk.blob(&digest).unwrap(), memory.blob(&digest).unwrap());
        assert_eq!(disk.has_blob(&digest).unwrap(), memory.has_blob(&digest).unwrap());
        assert_eq!(
            disk.action(&key(&n.to_string())).unwrap(),
            memory.action(&key(&n.to_string())).unwrap()
        );
        let name = key(&n.to_string());
        assert_eq!(disk.last_use(&name).unwrap(), memory.last_use(&name).unwrap());
    }
    for view in (0..3).map(ViewId) {
        for part in Part::ALL {
            assert_eq!(disk.rows(view, part).unwrap(), memory.rows(view, part).unwrap());
            assert_eq!(disk.row(view, part, &[3]).unwrap(), memory.row(view, part, &[3]).unwrap());
        }
        for label in ["0", "1"] {
            assert_eq!(disk.history(view, label).unwrap(), memory.history(view, label).unwrap());
        }
    }
    let (held, wanted) = (disk.usage().unwrap(), memory.usage().unwrap());
    assert_eq!(Usage { file_bytes: 0, ..held }, wanted);
    assert_eq!(disk.blob_bytes().unwrap().raw, memory.blob_bytes().unwrap().raw);
    assert_eq!(disk.damage(), memory.damage());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]
    #[test]
    fn the_disk_store_equals_the_memory_store(steps in vec(any_step(), 1..12)) {
        let dir = tempfile::tempdir().unwrap();
        let memory = MemoryStore::new();
        let open = || DiskStore::open(dir.path(), DiskOptions::default()).unwrap();
        let (mut disk, _) = open();
        for step in &steps {
            match step {
                Step::Commit { view, results, rows, versions } => {
                    disk.commit(ViewId(*view), commit(results, rows, versions)).unwrap();
                    memory.commit(ViewId(*view), commit(results, rows, versions)).unwrap();
                }
                Step::Release => disk.release(),
                Step::Reopen => {
                    drop(disk);
                    let (opened, notices) = open();
                    prop_assert!(notices.is_empty());
                    disk = opened;
                }
            }
            agree(&disk, &memory);
        }
    }
}
