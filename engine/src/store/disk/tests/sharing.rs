//! Handles that give way to each other: all make progress, and no acknowledged commit is lost.

use super::super::{DiskOptions, DiskStore};
use crate::store::conformance::{key, result};
use crate::store::{Commit, Inventory, Store, StoreError, ViewId};

const COMMITS: u64 = 30;

#[test]
fn waiting_writers_and_readers_all_progress() {
    let dir = tempfile::tempdir().unwrap();
    let options = DiskOptions {
        yields_lock: true,
        ..DiskOptions::default()
    };
    let name = |writer: u64, n: u64| format!("{writer}.{n}");
    std::thread::scope(|scope| {
        for writer in 0..2 {
            let (dir, options) = (dir.path(), options.clone());
            scope.spawn(move || {
                let (store, _) = DiskStore::open(dir, options).unwrap();
                for n in 0..COMMITS {
                    let name = name(writer, n);
                    let results = vec![result(&name, name.as_bytes())];
                    let commit = Commit {
                        results,
                        ..Commit::default()
                    };
                    store.commit(ViewId(writer), commit).unwrap();
                    store.release_if_wanted();
                    // Its earlier commits are there, whichever handle had the store in between.
                    assert!(store.action(&key(&name)).unwrap().is_some());
                }
            });
        }
        scope.spawn(|| {
            for _ in 0..5 {
                let (store, notices) = DiskStore::open(dir.path(), DiskOptions::default()).unwrap();
                assert!(notices.is_empty());
                assert!(!store.is_wanted(), "who reads keeps what he reads");
            }
        });
    });
    let (store, _) = DiskStore::open(dir.path(), DiskOptions::default()).unwrap();
    for writer in 0..2 {
        for n in 0..COMMITS {
            let record = store.action(&key(&name(writer, n))).unwrap().unwrap();
            assert!(store.blob(&record.output).unwrap().is_some(), "{writer} {n}");
        }
    }
    assert!(store.damage().is_empty());
}

#[test]
fn compaction_stops_for_a_waiting_process() {
    let dir = tempfile::tempdir().unwrap();
    let options = DiskOptions {
        yields_lock: true,
        ..DiskOptions::default()
    };
    let (store, _) = DiskStore::open(dir.path(), options).unwrap();
    let commit = Commit {
        results: vec![result("a", b"a")],
        ..Commit::default()
    };
    store.commit(ViewId(1), commit).unwrap();
    let waiting = std::fs::File::create(dir.path().join("store.waiting")).unwrap();
    waiting.try_lock_shared().unwrap();
    assert!(!store.compact().unwrap());
    assert!(!dir.path().join("store.redb.new").exists());
    drop(waiting);
    assert!(store.compact().unwrap());
    assert!(store.action(&key("a")).unwrap().is_some());
}

#[test]
fn a_second_collection_fails_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let open = || DiskStore::open(dir.path(), DiskOptions::default()).unwrap().0;
    let one = open();
    let collecting = one.begin_collection().unwrap();
    // Between two steps, the second handle holds the store. It must not wait there for the first, which will want the store again.
    one.release();
    let two = open();
    assert!(matches!(two.begin_collection(), Err(StoreError::Collecting { .. })));
    let refused = DiskStore::refuse_second_collection(dir.path()).unwrap_err();
    let message = format!("another collection of this store is running, pid {} (cortex, ", std::process::id());
    assert!(refused.to_string().starts_with(&message), "{refused}");
    drop(two);
    one.usage().unwrap();
    drop(collecting);
    one.release();
    DiskStore::refuse_second_collection(dir.path()).unwrap();
    open().begin_collection().map(drop).unwrap();
}
