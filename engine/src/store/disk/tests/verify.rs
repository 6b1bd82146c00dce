//! Verification: readers get everything that it reports as sound, damage is found everywhere, and concurrent changes are no damage.

use super::super::folder::DATABASE;
use super::super::schema::{self, ACTIONS, BLOB_DATA, BLOBS};
use super::super::sweep::{Marks, Policy};
use super::super::verify::DamagedItem;
use super::super::{DiskOptions, DiskStore};
use super::{fill, rewrite, row_body};
use crate::store::conformance::result;
use crate::store::records::{HistoryRecord, NewResult};
use crate::store::{Commit, Part, Store, ViewId, shared};
use crate::values::digest::Digest;
use proptest::prelude::*;
use std::cell::Cell;
use std::fs;
use std::path::Path;
use std::sync::OnceLock;

fn opened(dir: &Path) -> DiskStore {
    DiskStore::open(dir, DiskOptions::default()).unwrap().0
}

/// Returns a store's file and its blobs, created once.
fn sample_store() -> &'static (Vec<u8>, Vec<Vec<u8>>) {
    static WHOLE: OnceLock<(Vec<u8>, Vec<Vec<u8>>)> = OnceLock::new();
    WHOLE.get_or_init(|| {
        let dir = tempfile::tempdir().unwrap();
        let store = opened(dir.path());
        let mut blobs = fill(&store);
        // Enough blobs that their chunks need a branch page.
        let noise = |n: u32| {
            let mut bytes = vec![0; 32 + n as usize % 3 * 1_300];
            blake3::Hasher::new().update(&n.to_be_bytes()).finalize_xof().fill(&mut bytes);
            bytes
        };
        let raw: Vec<Vec<u8>> = (0..200).map(noise).collect();
        let results = raw
            .iter()
            .enumerate()
            .map(|(n, bytes)| result(&format!("//raw:{n}"), bytes))
            .collect();
        let commit = Commit {
            results,
            ..Commit::default()
        };
        store.commit(ViewId(1), commit).unwrap();
        blobs.extend(raw);
        drop(store);
        (fs::read(dir.path().join(DATABASE)).unwrap(), blobs)
    })
}

/// Whether verification reports a damaged file as sound; if so, checks that a reader gets everything.
fn is_found_sound(bytes: &[u8]) -> bool {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join(DATABASE), bytes).unwrap();
    let (store, notices) = DiskStore::open(dir.path(), DiskOptions::default()).unwrap();
    let is_sound = notices.is_empty() && store.verify_everything().is_ok_and(|verified| verified.is_sound());
    if is_sound {
        for blob in &sample_store().1 {
            let found = store.blob(&Digest::of(blob)).unwrap();
            assert!(found.is_some_and(|found| *found == blob[..]), "a blob is not there");
        }
        for n in 0..6_u64 {
            let wanted = result(&format!("//n:{n}"), format!("output {n}").as_bytes());
            assert_eq!(store.action(&wanted.key).unwrap(), Some(wanted.record));
            for part in Part::ALL {
                assert_eq!(store.row(ViewId(1), part, &n.to_be_bytes()).unwrap(), Some(row_body(part, n)));
            }
        }
        assert_eq!(store.history(ViewId(1), "//n:n").unwrap().len(), 6);
        assert_eq!(store.damage(), Vec::<String>::new());
    }
    is_sound
}

proptest! {
    // As with all flips, use a fixed seed, because a cycle of pages cannot be caught.
    #![proptest_config(ProptestConfig { cases: 200, rng_seed: proptest::test_runner::RngSeed::Fixed(2), ..ProptestConfig::default() })]
    #[test]
    fn sound_blobs_are_readable(at in any::<prop::sample::Index>(), bit in 0..8_u8) {
        let mut bytes = sample_store().0.clone();
        let used: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at] != 0).collect();
        bytes[used[at.index(used.len())]] ^= 1 << bit;
        is_found_sound(&bytes);
    }
}

#[test]
fn unreachable_rows_are_damage() {
    let whole = &sample_store().0;
    assert!(is_found_sound(whole));
    let seq = |bytes: &[u8]| u64::from_be_bytes(bytes[..8].try_into().unwrap());
    let (mut hit, mut found) = (0, 0);
    // Pages that begin with a 2 contain the keys that direct a search; those of chunks are 12 bytes apart.
    for (page, bytes) in whole.chunks(4096).enumerate().filter(|(_, bytes)| bytes[0] == 2) {
        for (at, keys) in bytes.windows(24).enumerate() {
            let (one, next) = keys.split_at(12);
            if !(1..300).contains(&seq(one)) || seq(next) <= seq(one) || seq(next) >= 300 {
                continue;
            }
            if [one, next] != [schema::chunk_key(seq(one), 0), schema::chunk_key(seq(next), 0)] {
                continue;
            }
            for bit in 0..6 {
                let mut damaged = whole.clone();
                damaged[page * 4096 + at + 7] ^= 1 << bit;
                hit += 1;
                found += usize::from(!is_found_sound(&damaged));
            }
        }
    }
    // Some changed keys shift a search slightly without harm.
    assert!(found > hit / 3 && hit > 100, "{found} of {hit}");
}

#[test]
fn every_damaged_row_is_found() {
    let blobs = sample_store().1.len();
    for table in [ACTIONS, BLOBS, BLOB_DATA] {
        // The version, the check, the first and last byte of the body; or the whole row.
        let places: [fn(usize) -> Option<usize>; 5] = [|_| Some(0), |_| Some(1), |_| Some(9), |len| Some(len - 1), |_| None];
        for at in places {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join(DATABASE);
            fs::write(&path, &sample_store().0).unwrap();
            let rows = rewrite(&path, table, |key, mut value| {
                let at = at(value.len())?;
                value[at] ^= 1;
                Some((key, value))
            });
            if at(9).is_none() && table.name != BLOB_DATA.name {
                // Nothing shows that a row was there.
                continue;
            }
            let store = opened(dir.path());
            let found = store.verify_everything().unwrap();
            let told_of = |item: &&DamagedItem| item.what.contains(table.name) || item.what.contains("its bytes are missing");
            let of_rows = found.damage.iter().filter(told_of).count();
            // A blob in several chunks counts as damaged once.
            let wanted = if table.name == BLOB_DATA.name { blobs } else { rows };
            assert_eq!(of_rows, wanted, "{} {:?}", table.name, found.damage.first());
            store.repair(&found.damage).unwrap();
            let left = store.verify_everything().unwrap();
            assert!(left.is_sound(), "{} {:?}", table.name, left.damage.first());
        }
    }
}

fn version_of(result: &NewResult) -> HistoryRecord {
    HistoryRecord {
        version: 0,
        key: result.key,
        output: result.record.output,
        at: 7,
        build: None,
    }
}

#[test]
fn a_result_under_a_damaged_key_does_not_count_as_collected() {
    let dir = tempfile::tempdir().unwrap();
    let mut filed = commit(0..3);
    filed.history = (0..3).map(|n| (format!("//n:{n}"), version_of(&filed.results[n]))).collect();
    opened(dir.path()).commit(ViewId(1), filed).unwrap();
    rewrite(&dir.path().join(DATABASE), ACTIONS, |mut key, value| {
        key[7] ^= 4;
        Some((key, value))
    });
    let store = opened(dir.path());
    let found = store.verify_everything().unwrap();
    assert_eq!((found.versions, found.collected), (3, 0));
    let mut labels: Vec<&[String]> = found.damage.iter().map(|item| &*item.labels).collect();
    labels.sort();
    assert_eq!(labels, [["//n:0"], ["//n:1"], ["//n:2"]], "{:?}", found.damage);
    // Rows dropped by a repair are missing.
    store.repair(&found.damage).unwrap();
    let left = store.verify_everything().unwrap();
    assert!(left.is_sound() && left.collected == 3, "{:?}", left.damage);
}

fn commit(names: std::ops::Range<u32>) -> Commit {
    let of = |n: u32| result(&format!("//n:{n}"), &blake3::hash(&n.to_le_bytes()).as_bytes().repeat(20));
    Commit {
        results: names.map(of).collect(),
        ..Commit::default()
    }
}

/// A cache may have lost some parts of an output; they are fetched or built when they are read.
#[test]
fn missing_parts_are_damage_only_of_local_results() {
    for (note, damages) in [(None, 1), (Some(shared::FOUND), 0)] {
        let dir = tempfile::tempdir().unwrap();
        let mut filed = commit(0..1);
        let record = &mut filed.results[0].record;
        record.parts = vec![Digest::of(b"lost")];
        record.notes.extend(note.map(|note| (note.to_owned(), "found".to_owned())));
        let store = opened(dir.path());
        store.commit(ViewId(1), filed).unwrap();
        assert_eq!(store.verify_everything().unwrap().damage.len(), damages, "{note:?}");
    }
}

#[test]
fn concurrent_commits_and_gc_are_no_damage() {
    // At each moment at which the store is released, gc removes the newer half, and newly stored blobs reuse the same numbers.
    let moments = Cell::new(0);
    let mut at = 0;
    while at == 0 || at <= moments.get() {
        let dir = tempfile::tempdir().unwrap();
        let store = opened(dir.path());
        store.commit(ViewId(1), commit(0..40)).unwrap();
        moments.set(0);
        let between = || {
            moments.set(moments.get() + 1);
            if moments.get() != at {
                return;
            }
            let mut marks = Marks::default();
            for kept in commit(0..20).results {
                marks.mark_result(&kept.key, &kept.record.output);
            }
            let policy = Policy {
                now: 1 << 40,
                older_than: 0,
                keep_versions: 0,
                paid: false,
                free: None,
            };
            let plan = store.find_garbage(marks, &policy).unwrap();
            store.sweep(&plan).unwrap();
            store.commit(ViewId(1), commit(40..70)).unwrap();
        };
        let found = store.verify_with(between).unwrap();
        assert!(found.is_sound(), "moment {at}: {:?}", found.damage);
        let after = store.verify_everything().unwrap();
        assert!(after.is_sound() && after.blobs == if at == 0 { 40 } else { 50 });
        assert!(at == 0 || found.rows >= after.rows - 60, "{} of {}", found.rows, after.rows);
        at += 1;
    }
    assert!(moments.get() > 16);
}
