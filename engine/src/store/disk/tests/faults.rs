//! Media that fail: the N-th write, sync or change of length, for every N; and what is there afterwards.

use super::super::DiskStore;
use super::super::lock::Lock;
use super::super::schema;
use super::super::session::{Access, Base, Fault, Medium, Session, guarded};
use crate::store::conformance::{key, result, version};
use crate::store::{Commit, Part, Store, StoreError, ViewId};
use crate::values::diagnostic::Diagnostic;
use redb::{Builder, StorageBackend};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// A file in memory whose N-th change fails once, or for good, as disks do.
#[derive(Debug, Default)]
struct Image {
    bytes: Vec<u8>,
    changes: usize,
    fail_at: Option<usize>,
    fail_for_good: bool,
    no_space: bool,
}

#[derive(Clone, Debug, Default)]
struct FaultyFile(Arc<Mutex<Image>>);

impl FaultyFile {
    fn change(&self, change: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
        let mut image = self.0.lock().unwrap();
        image.changes += 1;
        if image
            .fail_at
            .is_some_and(|at| image.changes == at || image.fail_for_good && image.changes > at)
        {
            return Err(if image.no_space {
                io::ErrorKind::StorageFull.into()
            } else {
                io::Error::other("the disk failed")
            });
        }
        change(&mut image.bytes);
        Ok(())
    }
}

impl StorageBackend for FaultyFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.lock().unwrap().bytes.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let offset = usize::try_from(offset).unwrap();
        let image = self.0.lock().unwrap();
        let bytes = image.bytes.get(offset..offset + out.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
        out.copy_from_slice(bytes);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.change(|bytes| bytes.resize(usize::try_from(len).unwrap(), 0))
    }

    fn sync_data(&self) -> io::Result<()> {
        self.change(|_| {})
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let offset = usize::try_from(offset).unwrap();
        self.change(|bytes| bytes[offset..offset + data.len()].copy_from_slice(data))
    }
}

#[derive(Debug)]
struct FaultyMedium(FaultyFile, PathBuf);

impl Medium for FaultyMedium {
    fn open(&self, _: Access, _: Option<Lock>, _: &mut Vec<Diagnostic>) -> Result<Session, StoreError> {
        let empty = self.0.len().is_ok_and(|len| len == 0);
        let opened = guarded(|| {
            let database = Builder::new().create_with_backend(self.0.clone())?;
            if empty {
                schema::create(&database, "id")?;
            }
            Ok(database)
        });
        opened
            .map(|database| Session::new(Base::Write(database), None))
            .map_err(|fault: Fault| fault.at(&self.1, "opened"))
    }

    fn condemn(&self, reason: &str) {
        panic!("a failing disk was taken for damage: {reason}");
    }

    fn path(&self) -> &Path {
        &self.1
    }

    fn file_bytes(&self) -> u64 {
        self.0.len().unwrap_or_default()
    }
}

fn open(file: &FaultyFile) -> DiskStore {
    DiskStore::over(Box::new(FaultyMedium(file.clone(), PathBuf::from("/store"))))
        .unwrap()
        .0
}

fn commit(n: u8) -> Commit {
    Commit {
        results: vec![
            result(&n.to_string(), &[n; 700]),
            result(&format!("{n}+"), &blake3::hash(&[n]).as_bytes().repeat(3_000)),
        ],
        rows: vec![(Part::Nodes, vec![n], Some(vec![n; 20_000])), (Part::State, vec![], Some(vec![n]))],
        history: vec![("//a:b".to_owned(), version(u64::from(n)))],
        used: vec![(key(&n.to_string()), u64::from(n))],
    }
}

/// Everything of commit `n` is there.
fn is_there(store: &DiskStore, n: u8) -> bool {
    let results = commit(n).results;
    let found = results.iter().filter(|result| {
        store.action(&result.key).unwrap().as_ref() == Some(&result.record) && store.blob(&result.record.output).unwrap() == result.blob
    });
    let found = found.count() + usize::from(store.row(ViewId(1), Part::Nodes, &[n]).unwrap() == Some(vec![n; 20_000]));
    assert!(found == 0 || found == 3, "half of a commit");
    found == 3
}

const COMMITS: u8 = 3;

/// Runs the commits with a fault at change `at`; gives whether the fault was reached.
fn run(base: &[u8], at: usize, fail_for_good: bool, no_space: bool) -> bool {
    let image = Image {
        bytes: base.to_vec(),
        changes: 0,
        fail_at: Some(at),
        fail_for_good,
        no_space,
    };
    let file = FaultyFile(Arc::new(Mutex::new(image)));
    let mut acknowledged = vec![0];
    if let Ok((store, _)) = DiskStore::over(Box::new(FaultyMedium(file.clone(), PathBuf::from("/store")))) {
        for n in 1..=COMMITS {
            match store.commit(ViewId(1), commit(n)) {
                Ok(()) => acknowledged.push(n),
                Err(StoreError::NoSpace { .. }) if no_space => {}
                Err(StoreError::Io { .. }) => {}
                Err(error) => panic!("{error}"),
            }
        }
        // A disk that failed once works again: the same handle goes on.
        if !fail_for_good {
            store
                .commit(ViewId(1), commit(9))
                .or_else(|_| store.commit(ViewId(1), commit(9)))
                .unwrap();
            acknowledged.push(9);
        }
    }
    let reached = {
        let mut image = file.0.lock().unwrap();
        image.fail_at = None;
        image.changes >= at
    };
    let store = open(&file);
    for n in (0..=COMMITS).chain([9]) {
        assert!(
            is_there(&store, n) || !acknowledged.contains(&n),
            "commit {n} is lost after a fault at change {at}"
        );
    }
    let history = store.history(ViewId(1), "//a:b").unwrap();
    assert!(acknowledged.iter().all(|n| history.iter().any(|found| found.at == u64::from(*n))));
    store.commit(ViewId(1), commit(10)).unwrap();
    assert!(is_there(&store, 10));
    assert_eq!(store.damage(), Vec::<String>::new());
    reached
}

#[test]
fn what_was_acknowledged_survives_a_failure_at_any_point() {
    let file = FaultyFile::default();
    let store = open(&file);
    store.commit(ViewId(1), commit(0)).unwrap();
    drop(store);
    let base = file.0.lock().unwrap().bytes.clone();
    for (fail_for_good, no_space) in [(false, false), (false, true), (true, false), (true, true)] {
        let points = (1..).take_while(|at| run(&base, *at, fail_for_good, no_space)).count();
        assert!(points > 20, "only {points} points");
    }
}
