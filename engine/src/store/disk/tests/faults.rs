//! Failing media: the N-th write, sync, change of length or read fails, for every N; then checks the contents.
//!
//! A disk here is two files in memory, the database and the copy of a compaction. A power loss drops any part of the unsynced changes.

use super::super::DiskStore;
use super::super::compact::{self, Whole};
use super::super::lock::Lock;
use super::super::open_database::{Access, Base, Closing, Fault, Medium, OpenDatabase, guarded};
use super::super::schema;
use super::super::sweep::{Marks, Policy};
use crate::store::conformance::{key, result, version};
use crate::store::{Commit, Part, Store, StoreError, ViewId};
use crate::values::diagnostic::Diagnostic;
use crate::values::digest::Digest;
use redb::{Builder, ReadableDatabase, StorageBackend};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// Kind of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Failure {
    /// One change fails, the next works.
    Once(io::ErrorKind),
    /// All changes fail from then on.
    ForGood(io::ErrorKind),
    /// Half of a write succeeds, then it fails.
    Short,
    /// Every operation fails from then on, and any part of the unsynced changes is lost.
    Power,
    /// One read fails.
    Read,
}

/// An unsynced change.
#[derive(Clone, Debug)]
enum Pending {
    Write(usize, Vec<u8>),
    Len(usize),
}

/// A file as programs see it, and as it is on the platter.
#[derive(Clone, Debug, Default)]
struct Image {
    bytes: Vec<u8>,
    synced: Vec<u8>,
    pending: Vec<Pending>,
}

fn apply(bytes: &mut Vec<u8>, change: &Pending) {
    match change {
        Pending::Len(len) => bytes.resize(*len, 0),
        Pending::Write(offset, data) => {
            // If a file's growth was lost, a later write extends it.
            bytes.resize(bytes.len().max(offset + data.len()), 0);
            bytes[*offset..offset + data.len()].copy_from_slice(data);
        }
    }
}

#[derive(Debug, Default)]
struct Disk {
    /// The database and the copy.
    images: [Image; 2],
    /// Number of changes, or reads, so far.
    points: usize,
    failure: Option<(Failure, usize)>,
    reached: bool,
}

impl Disk {
    /// Counts a point of possible failure; returns the failure there, if any.
    fn come_to(&mut self, reading: bool) -> Option<Failure> {
        let (failure, at) = self.failure?;
        if reading != (failure == Failure::Read) {
            return match failure {
                Failure::Power if self.reached => Some(failure),
                _ => None,
            };
        }
        self.points += 1;
        let goes_on = matches!(failure, Failure::ForGood(_) | Failure::Power);
        let fails = self.points == at || goes_on && self.points > at;
        self.reached |= fails;
        fails.then_some(failure)
    }

    fn error(failure: Failure) -> io::Error {
        match failure {
            Failure::Once(kind) | Failure::ForGood(kind) => kind.into(),
            Failure::Short => io::ErrorKind::StorageFull.into(),
            Failure::Power | Failure::Read => io::Error::other("the disk failed"),
        }
    }

    /// Restores the disk: after a power loss with only part of the unsynced changes, otherwise as it is.
    fn recover(&mut self) {
        let Some((failure, at)) = self.failure.take() else { return };
        if failure != Failure::Power {
            return;
        }
        for (number, image) in self.images.iter_mut().enumerate() {
            let mut bytes = std::mem::take(&mut image.synced);
            for (turn, change) in image.pending.drain(..).enumerate() {
                let drawn = *blake3::hash(format!("{at} {number} {turn}").as_bytes()).as_bytes();
                match change {
                    // Half of all writes survive, some of them partially.
                    Pending::Write(offset, mut data) if drawn[0] < 128 => {
                        if drawn[1] < 32 {
                            data.truncate(data.len() / 2);
                        }
                        apply(&mut bytes, &Pending::Write(offset, data));
                    }
                    Pending::Len(len) if drawn[0] < 128 => apply(&mut bytes, &Pending::Len(len)),
                    _ => {}
                }
            }
            image.bytes.clone_from(&bytes);
            image.synced = bytes;
        }
    }
}

/// One of the files of a disk.
#[derive(Clone, Debug)]
struct FaultyFile(Arc<Mutex<Disk>>, usize);

impl FaultyFile {
    fn change(&self, change: Pending) -> io::Result<()> {
        let mut disk = self.0.lock().unwrap();
        let failed = disk.come_to(false);
        let keeps = matches!(disk.failure, Some((Failure::Power, _)));
        let image = &mut disk.images[self.1];
        let change = match (failed, change) {
            (None, change) => change,
            (Some(Failure::Short), Pending::Write(offset, data)) => {
                apply(&mut image.bytes, &Pending::Write(offset, data[..data.len() / 2].to_vec()));
                return Err(Disk::error(Failure::Short));
            }
            (Some(failure), change) => {
                // A change during the power loss may survive, too.
                if failure == Failure::Power {
                    image.pending.push(change);
                }
                return Err(Disk::error(failure));
            }
        };
        apply(&mut image.bytes, &change);
        if keeps {
            image.pending.push(change);
        }
        Ok(())
    }
}

impl StorageBackend for FaultyFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.lock().unwrap().images[self.1].bytes.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let offset = usize::try_from(offset).unwrap();
        let mut disk = self.0.lock().unwrap();
        if let Some(failure) = disk.come_to(true) {
            return Err(Disk::error(failure));
        }
        let bytes = disk.images[self.1].bytes.get(offset..offset + out.len());
        out.copy_from_slice(bytes.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.change(Pending::Len(usize::try_from(len).unwrap()))
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut disk = self.0.lock().unwrap();
        if let Some(failure) = disk.come_to(false) {
            return Err(Disk::error(failure));
        }
        let image = &mut disk.images[self.1];
        for change in std::mem::take(&mut image.pending) {
            apply(&mut image.synced, &change);
        }
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.change(Pending::Write(usize::try_from(offset).unwrap(), data.to_vec()))
    }
}

#[derive(Debug)]
struct FaultyMedium(FaultyFile, PathBuf);

impl Medium for FaultyMedium {
    fn open(&self, _: Access, _: Option<Lock>, _: &mut Vec<Diagnostic>) -> Result<OpenDatabase, StoreError> {
        let empty = self.0.len().is_ok_and(|len| len == 0);
        let opened = guarded(|| {
            let database = Builder::new().set_cache_size(CACHE).create_with_backend(self.0.clone())?;
            if empty {
                schema::create(&database, "id")?;
            }
            Ok(database)
        });
        opened
            .map(|database| OpenDatabase::new(Base::Write(Closing::new(database)), None))
            .map_err(|fault: Fault| fault.into_store_error(&self.1, "opened"))
    }

    fn mark_damaged(&self, reason: &str) {
        panic!("a failing disk was taken for damage: {reason}");
    }

    fn copy(&self, from: &dyn ReadableDatabase, whole: Whole) -> Result<bool, Fault> {
        let copy = FaultyFile(Arc::clone(&self.0.0), 1);
        copy.0.lock().unwrap().images[1] = Image::default();
        guarded(|| {
            let target = Builder::new().set_cache_size(CACHE).create_with_backend(copy.clone())?;
            compact::copy(from, &target, whole, &|| false)
        })?;
        copy.sync_data()?;
        Ok(true)
    }

    fn move_copy(&self) -> Result<(), Fault> {
        let mut disk = self.0.0.lock().unwrap();
        match disk.come_to(false) {
            None => {
                disk.images.swap(0, 1);
                Ok(())
            }
            Some(failure) => Err(Disk::error(failure).into()),
        }
    }

    fn path(&self) -> &Path {
        &self.1
    }

    fn file_bytes(&self) -> u64 {
        self.0.len().unwrap_or_default()
    }
}

/// Small, so that pages are read again.
const CACHE: usize = 64 << 10;

fn opened(file: &FaultyFile) -> Result<DiskStore, StoreError> {
    DiskStore::from_medium(Box::new(FaultyMedium(file.clone(), PathBuf::from("/store")))).map(|(store, _)| store)
}

fn commit(n: u8) -> Commit {
    Commit {
        results: vec![
            result(&n.to_string(), &[n; 700]),
            result(&format!("{n}+"), &blake3::hash(&[n]).as_bytes().repeat(2_100)),
        ],
        blobs: vec![(Digest::of(&[n; 900]), [n; 900].as_slice().into())],
        rows: vec![(Part::Nodes, vec![n], Some(vec![n; 9_000])), (Part::State, vec![], Some(vec![n]))],
        history: vec![("//a:b".to_owned(), version(u64::from(n)))],
        used: vec![(key(&n.to_string()), u64::from(n))],
    }
}

/// Returns results that nothing refers to.
fn garbage() -> Commit {
    Commit {
        results: (0..6_u8)
            .map(|n| {
                result(
                    &format!("garbage {n}"),
                    &blake3::hash(&[n, n]).as_bytes().repeat(300 + usize::from(n)),
                )
            })
            .collect(),
        ..Commit::default()
    }
}

/// Runs gc and compacts.
fn collect(store: &DiskStore) -> Result<(), StoreError> {
    let collecting = store.begin_collection()?;
    let mut marks = Marks::default();
    for result in (0..=10).flat_map(|n| commit(n).results) {
        marks.mark_result(&result.key, &result.record.output);
    }
    let policy = Policy {
        now: 1 << 40,
        older_than: 0,
        keep_versions: 0,
        paid: false,
        free: None,
    };
    let plan = store.find_garbage(marks, &policy)?;
    store.sweep(&plan)?;
    store.compact()?;
    drop(collecting);
    Ok(())
}

/// Whether everything of commit `n` is stored.
fn is_there(store: &DiskStore, n: u8) -> bool {
    let results = commit(n).results;
    let found = results.iter().filter(|result| {
        store.action(&result.key).unwrap().as_ref() == Some(&result.record) && store.blob(&result.record.output).unwrap() == result.blob
    });
    let found = found.count() + usize::from(store.row(ViewId(1), Part::Nodes, &[n]).unwrap() == Some(vec![n; 9_000]));
    assert!(found == 0 || found == 3, "half of a commit");
    found == 3
}

/// Builds, runs gc, compacts, builds. Returns the acknowledged commits.
fn scenario(store: &DiskStore) -> Vec<u8> {
    let mut acknowledged = vec![0];
    let mut step = |done: Result<(), StoreError>, n: Option<u8>| match done {
        Ok(()) => acknowledged.extend(n),
        Err(StoreError::NoSpace { .. } | StoreError::Io { .. }) => {}
        Err(error) => panic!("{error}"),
    };
    step(store.commit(ViewId(1), commit(1)), Some(1));
    step(collect(store), None);
    step(store.commit(ViewId(1), commit(2)), Some(2));
    step(store.commit(ViewId(1), garbage()), None);
    step(store.commit(ViewId(1), commit(3)), Some(3));
    acknowledged
}

/// Runs everything with a failure at point `at`; returns whether the point was reached.
fn run(base: &[u8], failure: Failure, at: usize) -> bool {
    let image = Image {
        bytes: base.to_vec(),
        synced: if failure == Failure::Power { base.to_vec() } else { Vec::new() },
        pending: Vec::new(),
    };
    let disk = Disk {
        images: [image, Image::default()],
        points: 0,
        failure: Some((failure, at)),
        reached: false,
    };
    let file = FaultyFile(Arc::new(Mutex::new(disk)), 0);
    let mut acknowledged = vec![0];
    if let Ok(store) = opened(&file) {
        acknowledged = scenario(&store);
        // A disk that failed once works again: the same handle continues.
        if !matches!(failure, Failure::ForGood(_) | Failure::Power) {
            let again = || store.commit(ViewId(1), commit(9));
            again().or_else(|_| again()).unwrap();
            acknowledged.push(9);
        }
    }
    let reached = file.0.lock().unwrap().reached;
    file.0.lock().unwrap().recover();
    let store = opened(&file).unwrap();
    let lost = (0..=9).find(|n| acknowledged.contains(n) && !is_there(&store, *n));
    assert_eq!(lost, None, "a commit is lost after {failure:?} at point {at}");
    let history = store.history(ViewId(1), "//a:b").unwrap();
    assert!(acknowledged.iter().all(|n| history.iter().any(|found| found.at == u64::from(*n))));
    let verified = store.verify_everything().unwrap();
    assert!(verified.is_sound(), "{:?} after {failure:?} at point {at}", verified.damage);
    if at.is_multiple_of(8) {
        collect(&store).unwrap();
    }
    store.commit(ViewId(1), commit(10)).unwrap();
    assert!(is_there(&store, 10) && acknowledged.iter().all(|n| is_there(&store, *n)));
    assert_eq!(store.damage(), Vec::<String>::new());
    reached
}

fn every_point(failures: &[Failure]) {
    let file = FaultyFile(Arc::default(), 0);
    let store = opened(&file).unwrap();
    store.commit(ViewId(1), commit(0)).unwrap();
    store.commit(ViewId(1), garbage()).unwrap();
    drop(store);
    let base = file.0.lock().unwrap().images[0].bytes.clone();
    for failure in failures {
        let points = (1..).take_while(|at| run(&base, *failure, *at)).count();
        assert!(points > 40, "only {points} points of {failure:?}");
    }
}

#[test]
fn acknowledged_commits_survive_one_failed_change() {
    every_point(&[
        Failure::Once(io::ErrorKind::Other),
        Failure::Once(io::ErrorKind::StorageFull),
        Failure::Short,
    ]);
}

#[test]
fn acknowledged_commits_survive_a_disk_failure() {
    every_point(&[Failure::ForGood(io::ErrorKind::Other), Failure::ForGood(io::ErrorKind::StorageFull)]);
}

#[test]
fn acknowledged_commits_survive_a_power_loss() {
    every_point(&[Failure::Power]);
}

#[test]
fn acknowledged_commits_survive_a_failed_read() {
    every_point(&[Failure::Read]);
}
