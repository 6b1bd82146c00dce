//! Tests of the store on disk: its folder, a model, damage, and failing media.

mod blocks;
mod damage;
mod faults;
mod folder;
mod model;
mod salvage;
mod sharing;
mod verify;

use super::DiskStore;
use super::open_database::is_panic_expected;
use super::schema::Table;
use crate::store::conformance::{result, version};
use crate::store::{Commit, Part, Store, ViewId};
use std::path::Path;
use std::sync::{Once, OnceLock};

/// Rewrites every row of a table behind the store's back with `becomes` (`None` removes it); returns the number of rows.
fn rewrite(path: &Path, table: Table, becomes: impl Fn(Vec<u8>, Vec<u8>) -> Option<(Vec<u8>, Vec<u8>)>) -> usize {
    let database = redb::Database::create(path).unwrap();
    let txn = database.begin_write().unwrap();
    let count = {
        let mut table = txn.open_table(table.definition()).unwrap();
        let rows: Vec<_> = redb::ReadableTable::iter(&table)
            .unwrap()
            .map(|entry| entry.map(|(key, value)| (key.value().to_vec(), value.value().to_vec())).unwrap())
            .collect();
        for (key, value) in rows.iter().cloned() {
            table.remove(&key[..]).unwrap();
            if let Some((key, value)) = becomes(key, value) {
                table.insert(&key[..], &value[..]).unwrap();
            }
        }
        rows.len()
    };
    txn.commit().unwrap();
    count
}

/// redb panics on damaged pages, and the store catches that: to print the backtraces would take longer than the tests.
fn silence_expected_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !is_panic_expected() {
                hook(info);
            }
        }));
    });
}

/// Makes a few commits with rows in every table; returns the blobs.
fn fill(store: &DiskStore) -> Vec<Vec<u8>> {
    silence_expected_panics();
    static NOISE: OnceLock<Vec<u8>> = OnceLock::new();
    let hash = |n: u64| blake3::hash(&n.to_be_bytes()).as_bytes()[..4].to_vec();
    let noise = NOISE.get_or_init(|| (0..30_006).flat_map(hash).collect());
    let mut blobs = Vec::new();
    for n in 0..6_u64 {
        let text = format!("output {n}").into_bytes();
        let long = noise[..4 * (30_000 + usize::try_from(n).unwrap())].to_vec();
        let results = vec![result(&format!("//n:{n}"), &text), result(&format!("//long:{n}"), &long)];
        let rows = Part::ALL
            .map(|part| (part, n.to_be_bytes().to_vec(), Some(row_body(part, n))))
            .into();
        let history = vec![("//n:n".to_owned(), version(n))];
        store
            .commit(
                ViewId(1),
                Commit {
                    results,
                    rows,
                    history,
                    ..Commit::default()
                },
            )
            .unwrap();
        blobs.extend([text, long]);
    }
    blobs
}

fn row_body(part: Part, n: u64) -> Vec<u8> {
    format!("{part:?} {n} ").repeat(100).into_bytes()
}
