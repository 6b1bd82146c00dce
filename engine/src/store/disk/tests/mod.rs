//! Tests of the store on disk: its folder, a model, damage, and failing media.

mod damage;
mod faults;
mod folder;
mod model;
mod sharing;
mod verify;

use super::DiskStore;
use crate::store::conformance::{result, version};
use crate::store::{Commit, Part, Store, ViewId};

/// A few commits with something in every table; gives the blobs.
fn fill(store: &DiskStore) -> Vec<Vec<u8>> {
    let mut blobs = Vec::new();
    for n in 0..6_u64 {
        let text = format!("output {n}").into_bytes();
        let long: Vec<u8> = (0..30_000 + n)
            .flat_map(|i| blake3::hash(&i.to_be_bytes()).as_bytes()[..4].to_vec())
            .collect();
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
