//! Unreadable pages: rows on other pages are salvaged.

use super::super::folder::{CONDEMNED, DATABASE};
use super::super::{DiskOptions, DiskStore};
use crate::store::conformance::{result, version};
use crate::store::{Commit, Store, ViewId};
use crate::values::digest::Digest;
use std::fs;

const RESULTS: u64 = 1500;

fn outputs() -> impl Iterator<Item = (String, Vec<u8>)> {
    (0..RESULTS).map(|n| {
        (
            format!("//n:{n}"),
            format!("output {n} {}", Digest::of(&n.to_be_bytes())).into_bytes(),
        )
    })
}

/// Counts the correct results, blobs and versions.
fn count_intact(store: &DiskStore) -> [usize; 3] {
    let mut found = [0; 3];
    for (label, output) in outputs() {
        let wanted = result(&label, &output);
        let action = store.action(&wanted.key).unwrap();
        assert!(action.as_ref().is_none_or(|action| *action == wanted.record), "{label}");
        let blob = store.blob(&wanted.record.output).unwrap();
        assert!(blob.as_ref().is_none_or(|blob| **blob == output[..]), "{label}");
        found[0] += usize::from(action.is_some());
        found[1] += usize::from(blob.is_some());
        found[2] += store.history(ViewId(1), &label).unwrap().len();
    }
    found
}

#[test]
fn rows_on_sound_pages_are_salvaged() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = DiskStore::open(dir.path(), DiskOptions::default()).unwrap();
    let commit = Commit {
        results: outputs().map(|(label, output)| result(&label, &output)).collect(),
        history: outputs().map(|(label, _)| (label, version(1))).collect(),
        ..Commit::default()
    };
    store.commit(ViewId(1), commit).unwrap();
    let all = count_intact(&store);
    drop(store);
    let whole = fs::read(dir.path().join(DATABASE)).unwrap();
    super::silence_expected_panics();
    let (mut tried, mut hardly) = (0, 0);
    // The first page locates all others: without it there is no database.
    for page in (1..whole.len() / 4096).step_by(13) {
        let range = page * 4096..(page + 1) * 4096;
        if whole[range.clone()].iter().all(|byte| *byte == 0) {
            continue;
        }
        let dir = tempfile::tempdir().unwrap();
        let mut damaged = whole.clone();
        damaged[range].fill(0xa5);
        fs::write(dir.path().join(DATABASE), &damaged).unwrap();
        fs::write(dir.path().join(CONDEMNED), "its pages contradict each other").unwrap();
        let (store, notices) = DiskStore::open(dir.path(), DiskOptions::default()).unwrap();
        assert!(
            notices[0].hint.as_ref().is_some_and(|hint| hint.contains(" sound rows ")),
            "{notices:?}"
        );
        assert!(fs::read(dir.path().join("store.redb.damaged-1")).unwrap() == damaged);
        // A page belongs to one table. A leaf has at most a hundred of these rows; the root has all.
        let left = count_intact(&store);
        let lost: Vec<usize> = (0..3).map(|n| all[n] - left[n]).filter(|lost| *lost > 0).collect();
        assert!(lost.len() <= 1, "page {page}: {left:?} of {all:?}");
        hardly += usize::from(lost.iter().all(|lost| *lost <= 100));
        tried += 1;
    }
    assert!(tried > 20 && hardly > tried * 9 / 10, "{hardly} of {tried}");
    // The rest of a file is salvaged, too, if it lost whole pages at its end, or if its damage is detected on opening.
    let cut = |pages: usize| whole[..whole.len() - pages * 4096].to_vec();
    let mut noisy = whole.clone();
    noisy[4096] ^= 0xff;
    for (what, damaged) in [("cut", cut(1)), ("cut more", cut(9)), ("noisy", noisy)] {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(DATABASE), &damaged).unwrap();
        let (store, notices) = DiskStore::open(dir.path(), DiskOptions::default()).unwrap();
        let left = count_intact(&store);
        assert!(
            left.iter().filter(|left| **left >= 1400).count() >= 2,
            "{what}: {left:?} {notices:?}"
        );
    }
}
