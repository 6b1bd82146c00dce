//! Blocks: kept blobs survive every commit and gc byte for byte, blobs share rows, and no unused row remains.

use super::super::block::BlockUse;
use super::super::frame;
use super::super::schema::{BLOB_DATA, BLOCKS};
use super::super::sweep::{Marks, Policy};
use super::super::{DiskOptions, DiskStore};
use crate::store::conformance::result;
use crate::store::records::NewResult;
use crate::store::{Commit, Part, Store, ViewId};
use proptest::prelude::*;
use redb::{ReadableTable, ReadableTableMetadata};
use std::collections::BTreeMap;
use std::path::Path;

fn opened(dir: &Path) -> DiskStore {
    DiskStore::open(dir, DiskOptions::default()).unwrap().0
}

fn file(store: &DiskStore, results: Vec<NewResult>) {
    store
        .commit(
            ViewId(1),
            Commit {
                results,
                ..Commit::default()
            },
        )
        .unwrap();
}

fn keep_only<'r>(store: &DiskStore, kept: impl Iterator<Item = &'r NewResult>) {
    let mut marks = Marks::default();
    kept.for_each(|kept| marks.mark_result(&kept.key, &kept.record.output));
    let policy = Policy {
        now: 1 << 40,
        older_than: 0,
        keep_versions: 0,
        paid: false,
        free: None,
    };
    let plan = store.find_garbage(marks, &policy).unwrap();
    store.sweep(&plan).unwrap();
}

/// Returns the number of data rows, and the usage of each block.
fn rows(store: &DiskStore) -> (u64, Vec<BlockUse>) {
    store
        .run_reading(|database| {
            let txn = database.begin_read()?;
            let blocks = txn.open_table(BLOCKS.definition())?;
            let mut uses = Vec::new();
            for row in blocks.iter()? {
                let (key, value) = row?;
                uses.extend(BlockUse::from_row(
                    frame::verified_body(BLOCKS.name, key.value(), value.value()).unwrap(),
                ));
            }
            Ok((txn.open_table(BLOB_DATA.definition())?.len()?, uses))
        })
        .unwrap()
}

fn is_there(store: &DiskStore, result: &NewResult) -> bool {
    store.blob(&result.record.output).unwrap() == result.blob
}

/// Returns an output of a length, similar for neighbours; no two are equal.
fn output(number: u32, len: usize) -> NewResult {
    let mut bytes = format!("{number} ").into_bytes();
    bytes.extend((0..len).map(|at| (at * (1 + number as usize % 3) % 251) as u8));
    result(&format!("//n/{number}:out"), &bytes)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn kept_results_survive_any_collection(
        steps in proptest::collection::vec((proptest::collection::vec(prop_oneof![8 => 0usize..3_000, 1 => 20_000usize..90_000], 0..60), any::<u64>()), 1..5),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let store = opened(dir.path());
        let mut model: BTreeMap<u32, NewResult> = BTreeMap::new();
        let mut number = 0;
        for (lens, keep) in steps {
            let fresh: Vec<NewResult> = lens.iter().map(|len| { number += 1; output(number, *len) }).collect();
            file(&store, fresh.clone());
            model.extend((number + 1 - fresh.len() as u32..).zip(fresh));
            model.retain(|number, _| keep >> (number % 64) & 1 == 1);
            keep_only(&store, model.values());
            for kept in model.values() {
                prop_assert!(is_there(&store, kept));
            }
            let verified = store.verify_everything().unwrap();
            prop_assert!(verified.is_sound(), "{:?}", verified.damage.first());
            prop_assert_eq!(verified.blobs, model.len() as u64);
            prop_assert!(rows(&store).1.iter().all(|block| !block.is_thin()));
        }
        keep_only(&store, std::iter::empty());
        prop_assert_eq!(rows(&store), (0, Vec::new()));
    }
}

#[test]
fn small_outputs_share_rows_and_compress_together() {
    let dir = tempfile::tempdir().unwrap();
    let store = opened(dir.path());
    let results: Vec<NewResult> = (0..1_000).map(|number| output(number, 500)).collect();
    file(&store, results.clone());
    let (data, blocks) = rows(&store);
    assert!(data < 20 && blocks.len() as u64 == data, "{data} rows");
    assert!(results.iter().all(|result| is_there(&store, result)));
    // Results stored again are already there.
    file(&store, results);
    assert_eq!(rows(&store).0, data);
}

#[test]
fn a_store_of_the_first_format_is_upgraded() {
    let dir = tempfile::tempdir().unwrap();
    let long = output(1, 100_000);
    {
        let store = opened(dir.path());
        file(&store, vec![long.clone()]);
    }
    {
        let database = redb::Database::create(dir.path().join(super::super::folder::DATABASE)).unwrap();
        let txn = database.begin_write().unwrap();
        txn.delete_table(BLOCKS.definition()).unwrap();
        super::super::schema::write_format(&txn, 1, 1).unwrap();
        txn.commit().unwrap();
    }
    let store = opened(dir.path());
    assert!(is_there(&store, &long));
    let more: Vec<NewResult> = (2..9).map(|number| output(number, 50)).collect();
    file(&store, more.clone());
    drop(store);
    let database = redb::Database::create(dir.path().join(super::super::folder::DATABASE)).unwrap();
    assert_eq!(super::super::schema::format(&database).unwrap(), Some(super::super::schema::FORMAT));
    drop(database);
    let store = opened(dir.path());
    assert!(store.verify_everything().unwrap().is_sound() && more.iter().all(|result| is_there(&store, result)));
}

#[test]
fn a_grown_file_is_compacted_once() {
    let dir = tempfile::tempdir().unwrap();
    let store = opened(dir.path());
    let path = dir.path().join(super::super::folder::DATABASE);
    let length = || {
        store.release();
        std::fs::metadata(&path).unwrap().len()
    };
    let count = 10_000;
    for first in (0..count).step_by(500) {
        // Rows that each commit replaces leave free pages between those of results.
        let rows = (0..40_u32).map(|row| (Part::Nodes, row.to_be_bytes().to_vec(), Some(vec![first as u8; 20_000])));
        let commit = Commit {
            results: (first..first + 500).map(|number| output(number, 90)).collect(),
            rows: rows.collect(),
            ..Commit::default()
        };
        store.commit(ViewId(1), commit).unwrap();
    }
    let before = length();
    let is_wasteful = store.fill().unwrap().is_wasteful();
    assert_eq!(store.compact_if_grown().unwrap(), is_wasteful);
    assert!(is_wasteful && length() < before / 4 * 3, "{} of {before}", length());
    assert!(store.verify_everything().unwrap().is_sound());
    assert!((0..count).step_by(97).all(|number| is_there(&store, &output(number, 90))));
    file(&store, vec![output(count, 90)]);
    assert!(!store.compact_if_grown().unwrap());
}
