//! Conformance suite of stores, run over every backend.

use super::codec::tests::any_action;
use super::disk::{DiskOptions, DiskStore};
use super::memory::MemoryStore;
use super::records::{ActionRecord, HistoryRecord, NewResult};
use super::views::ViewRecord;
use super::{BlobBytes, Commit, Inventory, KEEP_VERSIONS, Part, RowChange, Usage, ViewId};
use crate::values::digest::{ActionKey, Digest};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use std::path::Path;
use std::sync::{Arc, OnceLock};

const VIEW: ViewId = ViewId(7);
const OTHER: ViewId = ViewId(u64::MAX);

pub(super) fn key(text: &str) -> ActionKey {
    ActionKey(Digest::of(text.as_bytes()))
}

pub(super) fn result(name: &str, blob: &[u8]) -> NewResult {
    static ANY: OnceLock<ActionRecord> = OnceLock::new();
    let any = ANY.get_or_init(|| any_action().new_tree(&mut TestRunner::deterministic()).unwrap().current());
    let record = ActionRecord {
        output: Digest::of(blob),
        len: blob.len() as u64,
        label: name.to_owned(),
        parts: Vec::new(),
        ..any.clone()
    };
    NewResult {
        key: key(name),
        record,
        blob: Some(Arc::from(blob)),
        parts: Vec::new(),
    }
}

pub(super) fn version(at: u64) -> HistoryRecord {
    HistoryRecord {
        version: 99,
        key: key("k"),
        output: Digest::of(&at.to_be_bytes()),
        at,
        build: at.checked_sub(1),
    }
}

fn results_come_back(store: &dyn Inventory) {
    let long = vec![b'x'; 400_000];
    let noise: Vec<u8> = (0..200_000_u32)
        .flat_map(|n| blake3::hash(&n.to_be_bytes()).as_bytes()[..2].to_vec())
        .collect();
    let blobs: [&[u8]; 5] = [b"", b"short", &long, &noise, &noise[..65_480]];
    let results: Vec<_> = blobs.iter().enumerate().map(|(n, blob)| result(&n.to_string(), blob)).collect();
    store
        .commit(
            VIEW,
            Commit {
                results: results.clone(),
                ..Commit::default()
            },
        )
        .unwrap();
    for (wanted, blob) in results.iter().zip(blobs) {
        assert_eq!(store.blob(&wanted.record.output).unwrap().as_deref(), Some(blob));
        assert!(store.has_blob(&wanted.record.output).unwrap());
        assert_eq!(store.action(&wanted.key).unwrap().as_ref(), Some(&wanted.record));
    }
    let absent = Digest::of(b"absent");
    assert_eq!((store.blob(&absent).unwrap(), store.has_blob(&absent).unwrap()), (None, false));
    assert_eq!(store.action(&ActionKey(absent)).unwrap(), None);
    assert_eq!(store.damage(), Vec::<String>::new());
}

fn an_output_may_be_left_out_and_the_last_record_of_a_key_wins(store: &dyn Inventory) {
    let mut bare = result("a", b"bare");
    bare.blob = None;
    let mut later = bare.clone();
    later.record.took_us = 1;
    store
        .commit(
            VIEW,
            Commit {
                results: vec![bare.clone(), later.clone()],
                ..Commit::default()
            },
        )
        .unwrap();
    assert!(!store.has_blob(&bare.record.output).unwrap());
    assert_eq!(store.action(&bare.key).unwrap(), Some(later.record));
}

fn an_output_may_come_after_its_result(store: &dyn Inventory) {
    let whole = result("late", b"late");
    let mut bare = whole.clone();
    bare.blob = None;
    let results = Commit {
        results: vec![bare],
        ..Commit::default()
    };
    store.commit(VIEW, results).unwrap();
    assert!(!store.has_blob(&whole.record.output).unwrap());
    let other = Digest::of(b"other");
    let blobs = Commit {
        blobs: vec![
            (whole.record.output, b"late".as_slice().into()),
            (other, b"wrong".as_slice().into()),
        ],
        ..Commit::default()
    };
    store.commit(VIEW, blobs).unwrap();
    assert_eq!(store.blob(&whole.record.output).unwrap().as_deref(), Some(&b"late"[..]));
    assert!(!store.has_blob(&other).unwrap());
    assert_eq!(store.damage().len(), 1);
}

fn an_output_under_a_wrong_digest_is_refused(store: &dyn Inventory) {
    let mut wrong = result("//a:b", b"one");
    wrong.record.output = Digest::of(b"two");
    store
        .commit(
            VIEW,
            Commit {
                results: vec![wrong.clone()],
                ..Commit::default()
            },
        )
        .unwrap();
    assert!(!store.has_blob(&wrong.record.output).unwrap());
    let damage = store.damage();
    assert!(damage.len() == 1 && damage[0].contains("//a:b"), "{damage:?}");
    assert_eq!(store.damage(), Vec::<String>::new());
}

fn row(part: Part, key: &[u8], body: Option<&[u8]>) -> RowChange {
    (part, key.to_vec(), body.map(<[u8]>::to_vec))
}

fn rows_are_kept_apart_by_view_and_part(store: &dyn Inventory) {
    let long = b"manifest ".repeat(1_000);
    let rows: Vec<_> = Part::ALL
        .iter()
        .flat_map(|part| {
            [
                row(*part, b"b", Some(b"2")),
                row(*part, b"a", Some(&long)),
                row(*part, b"", Some(b"")),
            ]
        })
        .collect();
    store.commit(VIEW, Commit { rows, ..Commit::default() }).unwrap();
    store
        .commit(
            OTHER,
            Commit {
                rows: vec![row(Part::State, b"a", Some(b"other"))],
                ..Commit::default()
            },
        )
        .unwrap();
    for part in Part::ALL {
        assert_eq!(
            store.rows(VIEW, part).unwrap(),
            [(vec![], vec![]), (b"a".to_vec(), long.clone()), (b"b".to_vec(), b"2".to_vec())]
        );
        assert_eq!(store.row(VIEW, part, b"a").unwrap().as_ref(), Some(&long));
        assert_eq!(store.row(VIEW, part, b"c").unwrap(), None);
    }
    assert_eq!(store.rows(OTHER, Part::State).unwrap(), [(b"a".to_vec(), b"other".to_vec())]);
    assert!(store.rows(OTHER, Part::Nodes).unwrap().is_empty());
    assert_eq!(store.rows(OTHER, Part::Corrections).unwrap().len(), 3, "of all views together");
    let rows = vec![
        row(Part::State, b"a", None),
        row(Part::State, b"b", None),
        row(Part::State, b"b", Some(b"3")),
        row(Part::State, b"z", None),
    ];
    store.commit(VIEW, Commit { rows, ..Commit::default() }).unwrap();
    assert_eq!(
        store.rows(VIEW, Part::State).unwrap(),
        [(vec![], vec![]), (b"b".to_vec(), b"3".to_vec())]
    );
    assert_eq!(store.rows(OTHER, Part::State).unwrap().len(), 1);
}

fn versions_are_numbered_and_trimmed(store: &dyn Inventory) {
    let keep = KEEP_VERSIONS as u64;
    let pushes = |range: std::ops::Range<u64>| range.map(|at| ("//a:b".to_owned(), version(at))).collect();
    store
        .commit(
            VIEW,
            Commit {
                history: pushes(0..3),
                ..Commit::default()
            },
        )
        .unwrap();
    store
        .commit(
            VIEW,
            Commit {
                history: pushes(3..keep + 5),
                ..Commit::default()
            },
        )
        .unwrap();
    store
        .commit(
            OTHER,
            Commit {
                history: pushes(0..1),
                ..Commit::default()
            },
        )
        .unwrap();
    let history = store.history(VIEW, "//a:b").unwrap();
    assert_eq!(history.len(), KEEP_VERSIONS);
    for (record, at) in history.iter().zip(5..) {
        assert_eq!(
            *record,
            HistoryRecord {
                version: u32::try_from(at + 1).unwrap(),
                ..version(at)
            }
        );
    }
    assert_eq!(store.history(OTHER, "//a:b").unwrap(), [HistoryRecord { version: 1, ..version(0) }]);
    assert!(store.history(VIEW, "//a:c").unwrap().is_empty());
}

fn usage_counts_blobs_results_and_versions(store: &dyn Inventory) {
    let results = vec![result("a", b"one"), result("b", b"three"), result("c", b"three")];
    store
        .commit(
            VIEW,
            Commit {
                results,
                history: vec![("//a:b".to_owned(), version(0))],
                ..Commit::default()
            },
        )
        .unwrap();
    let usage = Usage {
        file_bytes: 0,
        ..store.usage().unwrap()
    };
    assert_eq!(
        usage,
        Usage {
            file_bytes: 0,
            blobs: 2,
            actions: 3,
            history_versions: 1,
            ..Usage::default()
        }
    );
    assert_eq!(store.blob_bytes().unwrap(), BlobBytes { raw: 8, stored: 8 });
}

fn uses_and_checkouts_are_remembered(store: &dyn Inventory) {
    let root = Path::new("/a/b");
    let commit = |view: u64, used: Vec<(ActionKey, u64)>, at: u64| {
        let rows = ViewRecord::renewed(None, root, at).into_iter().collect();
        let commit = Commit {
            rows,
            used,
            ..Commit::default()
        };
        store.commit(ViewId(view), commit).unwrap();
    };
    commit(9, vec![(key("a"), 5), (key("b"), 6), (key("a"), 7)], 1);
    commit(3, vec![(key("b"), 4)], 2);
    assert_eq!(store.last_use(&key("a")).unwrap(), Some(7));
    assert_eq!(store.last_use(&key("b")).unwrap(), Some(4), "the last word counts");
    assert_eq!(store.last_use(&key("c")).unwrap(), None);
    let stray = row(Part::View, b"stray", Some(b"x"));
    store
        .commit(
            ViewId(3),
            Commit {
                rows: vec![stray],
                ..Commit::default()
            },
        )
        .unwrap();
    let views = store.views().unwrap();
    let seen: Vec<_> = views.iter().map(|(view, record)| (view.0, record.root(), record.used)).collect();
    assert_eq!(seen, [(3, root, 2), (9, root, 1)]);
    assert!(store.damage().is_empty());
}

fn suite(make: &dyn Fn() -> Box<dyn Inventory>) {
    results_come_back(&*make());
    an_output_may_be_left_out_and_the_last_record_of_a_key_wins(&*make());
    an_output_under_a_wrong_digest_is_refused(&*make());
    an_output_may_come_after_its_result(&*make());
    rows_are_kept_apart_by_view_and_part(&*make());
    versions_are_numbered_and_trimmed(&*make());
    usage_counts_blobs_results_and_versions(&*make());
    uses_and_checkouts_are_remembered(&*make());
}

#[test]
fn the_store_in_memory_conforms() {
    suite(&|| Box::new(MemoryStore::new()));
}

#[test]
fn the_store_on_disk_conforms() {
    let dir = tempfile::tempdir().unwrap();
    let count = std::cell::Cell::new(0);
    suite(&|| {
        count.set(count.get() + 1);
        let (store, notices) = DiskStore::open(&dir.path().join(count.get().to_string()), DiskOptions::default()).unwrap();
        assert!(notices.is_empty());
        Box::new(store)
    });
}
