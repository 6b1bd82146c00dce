//! Reads of outputs that are in a cache: which volumes they fetch, and that a commit never waits for them.

use super::machines::{MANIFEST, UNREAD, machine, machine_of, warm};
use crate::toys::bench::Bench;
use crate::toys::board::{Board, Pen};
use crate::toys::shelf::Shelf;
use engine::seams::remote::Prefer;
use engine::store::fetching::Fetching;
use engine::store::memory::MemoryStore;
use engine::store::{Commit, Row, Store, StoreError, ViewId};
use engine::store::{Part, records};
use engine::values::digest::{ActionKey, Digest};
use std::sync::{Arc, mpsc};
use std::time::Duration;

const VIEW: ViewId = ViewId(1);

/// Returns a machine that knows the results of a warmed cache and has no output that only a reader wants, and the outputs of two producers.
fn machine_without_outputs(board: &Board) -> (Bench, Vec<Digest>) {
    let pen = Pen::default();
    let warming = machine(Some(board), &pen);
    warm(&warming, board);
    let roots = warming.build(&["//lines/...:strip", "//links/..."]).report.roots;
    let outputs = roots.iter().filter_map(|root| root.output).collect();
    let other = machine(Some(board), &pen);
    other.build_as(&["//all:slow"], &UNREAD);
    (other, outputs)
}

#[test]
fn laying_out_files_fetches_only_their_volumes() {
    let laid_out = |producer: &str| format!("producer = \"{producer}\"\nout = \"{producer}/{{");
    let text = MANIFEST
        .replace("producer = \"strip\"", &(laid_out("strip") + "file}\""))
        .replace("producer = \"concat\"", &(laid_out("concat") + "link}\""));
    let (board, pen) = (Board::default(), Pen::default());
    warm(&machine_of(&text, Some(&board), &pen), &board);
    let volumes = board.pinned().volumes.len();
    let other = machine_of(&text, Some(&board), &pen);
    let before = board.pinned().opened;
    let built = other.build_as(&["//lines/...", "//links/..."], &UNREAD);
    assert_eq!((built.report.written, built.ran()), (8, vec![]));
    let opened = board.pinned().opened - before;
    assert!(opened < volumes, "{opened} of {volumes}");
}

#[test]
fn many_outputs_fetch_each_volume_once() {
    let board = Board::default();
    let (other, outputs) = machine_without_outputs(&board);
    assert!(outputs.len() > 4);
    let store = Fetching::from_cache(other.store.clone(), Arc::new(board.clone()), VIEW, Prefer::Fetch);
    let before = board.pinned().opened;
    let mut fetched: Vec<Digest> = store
        .fetch_all(&outputs)
        .expect("a store")
        .into_iter()
        .map(|(digest, _)| digest)
        .collect();
    fetched.sort_unstable();
    fetched.dedup();
    let mut expected = outputs.clone();
    expected.sort_unstable();
    expected.dedup();
    assert_eq!(fetched, expected);
    assert_eq!(board.pinned().opened - before, 2, "one volume of each producer");
    assert!(store.fetch_all(&outputs).expect("a store").is_empty(), "now they are here");
    assert!(outputs.iter().all(|output| other.store.has_blob(output).expect("a store")));
    assert_eq!(board.pinned().opened - before, 2);
}

/// A store whose commits use every thread of a pool, like that of the disk.
struct Crowded(Arc<Shelf>, Arc<rayon::ThreadPool>);

impl Store for Crowded {
    fn blob(&self, digest: &Digest) -> Result<Option<Arc<[u8]>>, StoreError> {
        self.0.blob(digest)
    }

    fn has_blob(&self, digest: &Digest) -> Result<bool, StoreError> {
        self.0.has_blob(digest)
    }

    fn action(&self, key: &ActionKey) -> Result<Option<records::ActionRecord>, StoreError> {
        self.0.action(key)
    }

    fn row(&self, view: ViewId, part: Part, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        self.0.row(view, part, key)
    }

    fn rows(&self, view: ViewId, part: Part) -> Result<Vec<Row>, StoreError> {
        self.0.rows(view, part)
    }

    fn history(&self, view: ViewId, label: &str) -> Result<Vec<records::HistoryRecord>, StoreError> {
        self.0.history(view, label)
    }

    fn commit(&self, view: ViewId, commit: Commit) -> Result<(), StoreError> {
        self.1.broadcast(|_| ());
        self.0.commit(view, commit)
    }

    fn damage(&self) -> Vec<String> {
        self.0.damage()
    }
}

#[test]
fn a_commit_waits_for_no_reader_of_a_missing_output() {
    let board = Board::default();
    let (other, outputs) = machine_without_outputs(&board);
    let pool = Arc::new(rayon::ThreadPoolBuilder::new().num_threads(4).build().expect("threads"));
    let crowded = Arc::new(Crowded(other.store.clone(), pool.clone()));
    let store = Fetching::from_cache(crowded, Arc::new(board.clone()), VIEW, Prefer::Fetch);
    let (done, waiting) = mpsc::channel();
    std::thread::spawn(move || {
        let read = pool.broadcast(|_| outputs.iter().all(|output| store.blob(output).expect("a store").is_some()));
        done.send(read)
    });
    let read = waiting.recv_timeout(Duration::from_secs(60)).expect("no thread waits for another");
    assert_eq!(read, [true; 4]);
}

#[test]
fn a_plain_store_fetches_nothing() {
    let store = MemoryStore::new();
    assert!(store.fetch_all(&[Digest::of(b"absent")]).expect("a store").is_empty());
}
