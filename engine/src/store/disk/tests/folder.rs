//! The folder: creation, bad files, newer formats, contention.

use super::super::folder::DATABASE;
use super::super::schema;
use super::super::{DiskOptions, DiskStore};
use super::fill;
use crate::store::conformance::result;
use crate::store::{Commit, Store, StoreError, ViewId};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

fn open(dir: &Path) -> (DiskStore, Vec<String>) {
    let (store, notices) = DiskStore::open(dir, DiskOptions::default()).unwrap();
    (
        store,
        notices
            .into_iter()
            .map(|notice| format!("{}: {}; {}", notice.code, notice.message, notice.hint.unwrap_or_default()))
            .collect(),
    )
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// Checks that the store opens, reports which file it set aside, is empty, and works.
fn is_set_aside(dir: &Path, bytes: &[u8], reason: &str) {
    fs::create_dir_all(dir).unwrap();
    fs::write(dir.join(DATABASE), bytes).unwrap();
    fs::write(dir.join("other"), "untouched").unwrap();
    let (store, notices) = open(dir);
    assert_eq!(notices.len(), 1);
    assert!(
        notices[0].starts_with("E_STORE_DAMAGED: the store's file ") && notices[0].contains(DATABASE),
        "{notices:?}"
    );
    assert!(
        notices[0].contains(reason) && notices[0].contains("store.redb.damaged-1"),
        "{notices:?}"
    );
    assert_eq!(fs::read(dir.join("store.redb.damaged-1")).unwrap(), bytes);
    assert_eq!(fs::read(dir.join("other")).unwrap(), b"untouched");
    fill(&store);
    drop(store);
    let (store, notices) = open(dir);
    assert!(notices.is_empty());
    assert!(store.has_blob(&result("//n:0", b"output 0").record.output).unwrap());
}

#[test]
fn a_new_folder_is_private_and_as_documented() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path().join("deep/store");
    let (store, notices) = open(&dir);
    assert!(notices.is_empty());
    assert_eq!(names(&dir), ["store-id", "store.lock", "store.redb"]);
    assert_eq!(fs::metadata(&dir).unwrap().permissions().mode() & 0o777, 0o700);
    for name in ["store.lock", "store.redb", "store-id"] {
        assert_eq!(fs::metadata(dir.join(name)).unwrap().permissions().mode() & 0o777, 0o600, "{name}");
    }
    let id = fs::read_to_string(dir.join("store-id")).unwrap();
    assert_eq!(id.trim_end().len(), 32);
    drop(store);
    fs::remove_file(dir.join("store-id")).unwrap();
    drop(open(&dir));
    assert_eq!(fs::read_to_string(dir.join("store-id")).unwrap(), id);
}

#[test]
fn garbage_and_empty_files_are_set_aside() {
    let dir = tempfile::tempdir().unwrap();
    is_set_aside(&dir.path().join("a"), b"", "it is empty");
    is_set_aside(&dir.path().join("b"), b"garbage", "");
    is_set_aside(&dir.path().join("c"), &[0; 8192], "");
    is_set_aside(&dir.path().join("d"), &b"SQLite format 3\0".repeat(10_000), "");
}

#[test]
fn a_truncated_file_opens_with_its_remaining_rows() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = open(dir.path());
    let blobs = fill(&store);
    drop(store);
    let whole = fs::read(dir.path().join(DATABASE)).unwrap();
    for len in (0..40)
        .map(|n| whole.len() * n / 40)
        .chain([1, 100, 319, 320, 321, 4095, 4096, 4097, whole.len() - 1])
    {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(DATABASE), &whole[..len]).unwrap();
        let (store, notices) = open(dir.path());
        for blob in &blobs {
            match store.blob(&crate::values::digest::Digest::of(blob)) {
                Ok(found) => assert!(found.is_none_or(|found| *found == blob[..])),
                Err(error) => assert!(matches!(error, StoreError::Damaged { .. }), "{error}"),
            }
        }
        // Whatever the damage: the opening after the next works.
        let damaged = store
            .commit(
                ViewId(1),
                Commit {
                    results: vec![result("x", b"x")],
                    ..Commit::default()
                },
            )
            .is_err();
        drop(store);
        let (store, later) = open(dir.path());
        assert!(!damaged || !later.is_empty() || !notices.is_empty(), "damage at {len} was not told");
        fill(&store);
    }
}

#[test]
fn a_newer_store_is_refused_unchanged() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(DATABASE);
    let database = redb::Database::create(&path).unwrap();
    schema::create_as(&database, "id", schema::FORMAT + 2, schema::FORMAT + 1).unwrap();
    drop(database);
    let before = fs::read(&path).unwrap();
    let found = DiskStore::open(dir.path(), DiskOptions::default()).unwrap_err();
    assert!(
        matches!(found, StoreError::TooNew { found, known, .. } if found == schema::FORMAT + 1 && known == schema::FORMAT),
        "{found}"
    );
    assert_eq!(names(dir.path()), ["store.lock", "store.redb"]);
    assert!(fs::read(&path).unwrap() == before);
}

#[test]
fn a_later_format_that_we_can_read_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let database = redb::Database::create(dir.path().join(DATABASE)).unwrap();
    schema::create_as(&database, "id", schema::FORMAT + 1, schema::FORMAT).unwrap();
    drop(database);
    let (store, notices) = open(dir.path());
    assert!(notices.is_empty());
    fill(&store);
}

#[test]
fn leftovers_of_a_killed_creation_are_replaced() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("store.redb.new"), "half").unwrap();
    let (store, notices) = open(dir.path());
    assert!(notices.is_empty());
    fill(&store);
    assert!(!names(dir.path()).contains(&"store.redb.new".to_owned()));
}

#[test]
fn a_second_handle_waits_for_a_release() {
    let dir = tempfile::tempdir().unwrap();
    let (first, _) = DiskStore::open(
        dir.path(),
        DiskOptions {
            purpose: "cortex build".to_owned(),
            ..DiskOptions::default()
        },
    )
    .unwrap();
    fill(&first);
    let messages = Arc::new(Mutex::new(Vec::new()));
    let options = |timeout| {
        let messages = Arc::clone(&messages);
        let on_wait: super::super::OnWait = Arc::new(move |holder| messages.lock().unwrap().push(holder.to_owned()));
        DiskOptions {
            purpose: "cortex gc".to_owned(),
            lock_timeout: timeout,
            on_wait: Some(on_wait),
            ..DiskOptions::default()
        }
    };
    let refused = DiskStore::open(dir.path(), options(Duration::from_millis(5))).unwrap_err();
    let wanted = format!("pid {} (cortex build, ", std::process::id());
    assert!(matches!(refused, StoreError::Busy { holder } if holder.starts_with(&wanted)));
    assert_eq!(*messages.lock().unwrap(), [""; 0], "who waits a moment only is told nothing");

    first.release();
    let (second, _) = DiskStore::open(dir.path(), options(Duration::ZERO)).unwrap();
    let new = result("second", b"from the second");
    second
        .commit(
            ViewId(1),
            Commit {
                results: vec![new.clone()],
                ..Commit::default()
            },
        )
        .unwrap();
    second.release();
    assert_eq!(first.action(&new.key).unwrap(), Some(new.record));
}

#[test]
fn a_folder_that_cannot_be_used_is_an_error_that_names_it() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, "").unwrap();
    let error = DiskStore::open(&file.join("store"), DiskOptions::default()).unwrap_err();
    assert!(matches!(&error, StoreError::Io { what: "opened", .. }), "{error}");
    assert!(error.to_string().contains(&file.display().to_string()));

    let locked = dir.path().join("locked");
    fs::create_dir_all(locked.join("store.lock")).unwrap();
    assert!(matches!(
        DiskStore::open(&locked, DiskOptions::default()),
        Err(StoreError::Io { what: "opened", .. })
    ));
}

#[test]
fn a_folder_of_another_user_is_refused() {
    // Only root may change a folder's owner; other users can use `/`, which belongs to root.
    let dir = tempfile::tempdir().unwrap();
    let foreign = if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(dir.path(), Some(12_345), None).unwrap();
        dir.path()
    } else {
        Path::new("/")
    };
    assert!(matches!(
        DiskStore::open(foreign, DiskOptions::default()),
        Err(StoreError::Foreign { .. })
    ));
    assert!(!foreign.join("store.lock").exists());
}

#[test]
fn reading_changes_no_byte() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = open(dir.path());
    fill(&store);
    drop(store);
    let path = dir.path().join(DATABASE);
    let before = (fs::read(&path).unwrap(), fs::metadata(&path).unwrap().modified().unwrap());
    let (store, _) = open(dir.path());
    assert!(store.has_blob(&result("//n:0", b"output 0").record.output).unwrap());
    drop(store);
    assert_eq!(before, (fs::read(&path).unwrap(), fs::metadata(&path).unwrap().modified().unwrap()));
}

#[test]
fn acknowledged_commits_survive_a_kill() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = open(dir.path());
    let blobs = fill(&store);
    // A kill leaves the file as it is while the store is open.
    let left = fs::read(dir.path().join(DATABASE)).unwrap();
    drop(store);
    fs::write(dir.path().join(DATABASE), left).unwrap();
    let (store, notices) = open(dir.path());
    assert!(notices.is_empty());
    for blob in blobs {
        assert_eq!(
            store.blob(&crate::values::digest::Digest::of(&blob)).unwrap().as_deref(),
            Some(&blob[..])
        );
    }
    fill(&store);
}
