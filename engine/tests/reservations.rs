//! Two processes need the same programs: each program runs once, and neither process waits for a result that the other does not commit.

use crate::toys::bench::{Bench, read_manifest};
use crate::toys::producers::registry;
use crate::toys::shelf::Shelf;
use engine::seams::producer::{Failure, Inputs, Output, Params, Pool, Producer, ProducerId};
use engine::store::memory::MemoryStore;
use engine::store::records::{ActionRecord, HistoryRecord};
use engine::store::{ActionLock, Commit, Part, Row, Store, StoreError, ViewId};
use engine::values::digest::{ActionKey, Digest};
use std::collections::BTreeSet;
use std::sync::mpsc;
use std::sync::{Arc, Barrier, Condvar, Mutex, Once};
use std::time::Duration;

/// Upper bound of any step; only a defect reaches it.
const LIMIT: Duration = Duration::from_secs(120);

/// Returns a manifest with a program over each document; those of one folder have a reader, so that they run first.
fn manifest(first: &str) -> String {
    format!(
        "[producer]\nprogram = {{ uses = \"program\" }}\nconcat = {{ uses = \"concat\" }}\n\
         [[rule]]\ntarget = \"//doc/{{d}}:words\"\neach = {{ d = \"glob:*/*\" }}\nproducer = \"program\"\ninputs = {{ own = \"//files/{{d}}:bytes\" }}\n\
         [[rule]]\ntarget = \"//doc/{{d}}:copy\"\neach = {{ d = \"glob:{first}/*\" }}\nproducer = \"concat\"\ninputs = {{ own = \"//doc/{{d}}:words\" }}\n"
    )
}

#[derive(Default)]
struct Reserved {
    keys: Mutex<BTreeSet<ActionKey>>,
    released: Condvar,
}

struct Reservation(Arc<Reserved>, ActionKey);

impl Drop for Reservation {
    fn drop(&mut self) {
        self.0.keys.lock().expect("no panic while it is held").remove(&self.1);
        self.0.released.notify_all();
    }
}

/// A store that several processes share, each with its own view.
struct SharedStore {
    inner: Arc<MemoryStore>,
    reserved: Arc<Reserved>,
    view: ViewId,
}

impl Store for SharedStore {
    fn blob(&self, digest: &Digest) -> Result<Option<Arc<[u8]>>, StoreError> {
        self.inner.blob(digest)
    }

    fn has_blob(&self, digest: &Digest) -> Result<bool, StoreError> {
        self.inner.has_blob(digest)
    }

    fn action(&self, key: &ActionKey) -> Result<Option<ActionRecord>, StoreError> {
        self.inner.action(key)
    }

    fn row(&self, _: ViewId, part: Part, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        self.inner.row(self.view, part, key)
    }

    fn rows(&self, _: ViewId, part: Part) -> Result<Vec<Row>, StoreError> {
        self.inner.rows(self.view, part)
    }

    fn history(&self, _: ViewId, label: &str) -> Result<Vec<HistoryRecord>, StoreError> {
        self.inner.history(self.view, label)
    }

    fn commit(&self, _: ViewId, commit: Commit) -> Result<(), StoreError> {
        self.inner.commit(self.view, commit)
    }

    fn damage(&self) -> Vec<String> {
        Vec::new()
    }

    fn lock_action(&self, key: &ActionKey, is_cancelled: &dyn Fn() -> bool) -> Result<Option<ActionLock>, StoreError> {
        let mut keys = self.reserved.keys.lock().expect("no panic while it is held");
        while keys.contains(key) {
            if is_cancelled() {
                return Ok(None);
            }
            let wait = self.reserved.released.wait_timeout(keys, Duration::from_millis(50));
            keys = wait.expect("no panic while it is held").0;
        }
        keys.insert(*key);
        Ok(Some(Box::new(Reservation(self.reserved.clone(), *key))))
    }
}

/// A program; the first ones of both processes start at the same time.
struct Program {
    first: Once,
    both: Arc<Barrier>,
    ran: Arc<Mutex<Vec<String>>>,
}

impl Producer for Program {
    fn id(&self) -> ProducerId {
        ProducerId::new("program", 1)
    }

    fn pool(&self, _: &Params) -> Pool {
        Pool::Slow
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        self.first.call_once(|| {
            self.both.wait();
        });
        let text = String::from_utf8_lossy(&inputs.single("own")?.bytes).into_owned();
        self.ran.lock().expect("no panic while it is held").push(text.clone());
        Ok(Output::new(text))
    }
}

#[test]
fn builds_in_opposite_order_run_each_program_once() {
    let (inner, reserved) = (Arc::new(MemoryStore::default()), Arc::new(Reserved::default()));
    let (both, ran) = (Arc::new(Barrier::new(2)), Arc::new(Mutex::new(Vec::new())));
    let (send, ended) = mpsc::channel();
    let mut texts = Vec::new();
    for (view, first) in [(1, "early"), (2, "late")] {
        let mut registry = registry(&Default::default());
        registry.add(Program {
            first: Once::new(),
            both: both.clone(),
            ran: ran.clone(),
        });
        let text = manifest(first);
        let store = SharedStore {
            inner: inner.clone(),
            reserved: reserved.clone(),
            view: ViewId(view),
        };
        let bench = Bench {
            store: Arc::new(Shelf::over(Box::new(store))),
            jobs: 1,
            ..Bench::with(Arc::new(read_manifest(&text, &registry)), Digest::of(text.as_bytes()), registry)
        };
        texts = ["early", "late"]
            .iter()
            .flat_map(|folder| (0..6).map(move |n| format!("{folder}/{n}")))
            .collect();
        texts.iter().for_each(|path| bench.put(path, path));
        let send = send.clone();
        std::thread::spawn(move || {
            let built = bench.build(&["//..."]);
            send.send((built.report.failures.clone(), built.report.tally.ran + built.report.tally.cached))
        });
    }
    for _ in 0..2 {
        let (failures, made) = ended.recv_timeout(LIMIT).expect("an end: neither waits for the other for ever");
        assert_eq!((failures, made), (Vec::new(), texts.len() + 6));
    }
    let mut ran = ran.lock().expect("no panic while it is held").clone();
    ran.sort();
    assert_eq!(ran, texts);
}
