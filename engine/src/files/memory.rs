//! The world in memory: files in a map, a settable clock, failures on request. The twin of `files::disk` for tests.
//!
//! It has no directories, links or ignore files; only globs decide sets. Clones share one world.

use super::globs::{Globs, fingerprint};
use super::packed::{self, Packed, PackedFile};
use super::read::is_plain_path;
use super::stamp::Stamp;
use crate::seams::world::{Change, ExportOutcome, Exports, Refresh, RowEdits, Rows, SetDef, Sources, World, WorldError};
use crate::values::digest::Digest;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

#[derive(Default)]
struct MemoryState {
    now: i64,
    files: BTreeMap<String, Vec<u8>>,
    outputs: BTreeMap<String, Vec<u8>>,
    unreadable: BTreeSet<String>,
    unwritable: BTreeSet<String>,
    reads: usize,
    writes: usize,
    /// Compiled globs by the fingerprint of their sets: to compile them takes longer than to scan a world in memory.
    globs: BTreeMap<u64, Arc<Globs>>,
}

/// A world without a disk.
#[derive(Clone, Default)]
pub struct MemoryWorld(Arc<Mutex<MemoryState>>);

impl MemoryWorld {
    /// Creates an empty world at time 0.
    pub fn new() -> Self {
        Self::default()
    }

    fn locked_state(&self) -> MutexGuard<'_, MemoryState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn compile_globs(&self, sets: &[SetDef]) -> Result<Arc<Globs>, WorldError> {
        let print = fingerprint(sets);
        if let Some(globs) = self.locked_state().globs.get(&print) {
            return Ok(Arc::clone(globs));
        }
        let globs = Arc::new(Globs::new(sets)?);
        self.locked_state().globs.insert(print, Arc::clone(&globs));
        Ok(globs)
    }

    /// Sets the clock, in nanoseconds since 1970.
    pub fn set_now(&self, now: i64) {
        self.locked_state().now = now;
    }

    pub fn write_source(&self, path: &str, bytes: impl Into<Vec<u8>>) {
        self.locked_state().files.insert(path.to_owned(), bytes.into());
    }

    /// Removes a source; returns whether it existed.
    pub fn delete(&self, path: &str) -> bool {
        self.locked_state().files.remove(path).is_some()
    }

    pub fn sources_now(&self) -> BTreeMap<String, Vec<u8>> {
        self.locked_state().files.clone()
    }

    /// Returns all output files by path below the output folder.
    pub fn outputs(&self) -> BTreeMap<String, Vec<u8>> {
        self.locked_state().outputs.clone()
    }

    /// Edits an output file without the builder's knowledge (`None` removes it).
    pub fn tamper(&self, path: &str, bytes: Option<Vec<u8>>) {
        match bytes {
            Some(bytes) => self.locked_state().outputs.insert(path.to_owned(), bytes),
            None => self.locked_state().outputs.remove(path),
        };
    }

    /// Causes reads of a source to fail, or to work again. Until then it has no digest, as on a disk.
    pub fn fail_reads(&self, path: &str, fail: bool) {
        let mut state = self.locked_state();
        if fail {
            state.unreadable.insert(path.to_owned())
        } else {
            state.unreadable.remove(path)
        };
    }

    /// Causes writes and removals of an output file to fail, or to work again.
    pub fn fail_writes(&self, path: &str, fail: bool) {
        let mut state = self.locked_state();
        if fail {
            state.unwritable.insert(path.to_owned())
        } else {
            state.unwritable.remove(path)
        };
    }

    /// Returns how many times sources were read and output files actually written.
    pub fn touches(&self) -> (usize, usize) {
        let state = self.locked_state();
        (state.reads, state.writes)
    }
}

/// Reason of a failed read of a file that does not exist.
const NO_FILE: &str = "No such file or directory";

fn world_error(path: &str, what: &'static str, reason: &str) -> WorldError {
    WorldError::Io {
        path: path.to_owned(),
        what,
        reason: reason.to_owned(),
        no_space: false,
        missing: reason == NO_FILE,
    }
}

impl World for MemoryWorld {
    fn now_nanos(&self) -> i64 {
        self.locked_state().now
    }

    fn sources(&self, rows: Rows) -> Box<dyn Sources> {
        let known = decode_memory_row(&rows)
            .into_iter()
            .map(|entry| (entry.name, (entry.word, (entry.flags == 0).then_some(entry.digest))));
        let print = rows
            .iter()
            .find(|(key, _)| key == b"sets")
            .and_then(|(_, row)| row.as_slice().try_into().ok().map(u64::from_le_bytes));
        Box::new(MemorySources {
            world: self.clone(),
            print,
            known: known.collect(),
            dirty: false,
        })
    }

    fn exports(&self, rows: Rows) -> Box<dyn Exports> {
        let known = decode_memory_row(&rows)
            .into_iter()
            .filter_map(|entry| Some((u32::try_from(entry.word).ok()?, (entry.name, entry.digest))));
        Box::new(MemoryExports {
            world: self.clone(),
            known: Mutex::new((known.collect(), false)),
        })
    }

    fn read(&self, path: &str) -> Result<Vec<u8>, WorldError> {
        let mut state = self.locked_state();
        state.reads += 1;
        if !is_plain_path(path) {
            return Err(WorldError::Leaves {
                path: path.to_owned(),
                out_of: "the workspace",
            });
        }
        if state.unreadable.contains(path) {
            return Err(world_error(path, "read", "Permission denied"));
        }
        state.files.get(path).cloned().ok_or_else(|| world_error(path, "read", NO_FILE))
    }
}

fn decode_memory_row(rows: &Rows) -> Vec<PackedFile> {
    let row = rows.iter().find(|(key, _)| key == b"all");
    let packed = row
        .and_then(|(_, row)| Packed::split_entries(row))
        .map(|(packed, _)| packed)
        .filter(Packed::well_formed);
    packed
        .iter()
        .flat_map(|packed| (0..packed.len()).map(|index| packed.entry(index)))
        .collect()
}

fn encode_memory_row(entries: &[PackedFile]) -> (Vec<u8>, Option<Vec<u8>>) {
    let mut row = Vec::new();
    packed::append_entries(entries.iter(), &mut row);
    (b"all".to_vec(), Some(row))
}

struct MemorySources {
    world: MemoryWorld,
    print: Option<u64>,
    known: BTreeMap<String, (u64, Option<Digest>)>,
    dirty: bool,
}

/// Returns the bit of a set in the words of files.
fn bit(index: usize) -> u64 {
    u32::try_from(index).ok().and_then(|index| 1u64.checked_shl(index)).unwrap_or(0)
}

impl Sources for MemorySources {
    fn refresh(&mut self, sets: &[SetDef]) -> Result<Refresh, WorldError> {
        let globs = self.world.compile_globs(sets)?;
        let print = fingerprint(sets);
        let state = self.world.locked_state();
        let mut refresh = Refresh {
            stated: state.files.len(),
            ..Refresh::default()
        };
        let mut now = BTreeMap::new();
        for (path, bytes) in &state.files {
            let word = globs.sets_of_path(path);
            if word != 0 {
                refresh.hashed += 1;
                now.insert(path.clone(), (word, (!state.unreadable.contains(path)).then(|| Digest::of(bytes))));
            }
        }
        drop(state);
        let mut changed_sets = 0;
        let paths: BTreeSet<&String> = self.known.keys().chain(now.keys()).collect();
        for path in paths {
            let (was_in, from) = self.known.get(path).copied().unwrap_or_default();
            let (is_in, to) = now.get(path).copied().unwrap_or_default();
            // An unreadable file is in no set.
            let in_sets = |word: u64, digest: Option<Digest>| if digest.is_some() { word } else { 0 };
            changed_sets |= in_sets(was_in, from) ^ in_sets(is_in, to);
            if from != to {
                refresh.changes.push(Change {
                    path: path.clone(),
                    from,
                    to,
                });
            }
        }
        let all = self.print != Some(print);
        refresh.sets_changed = (0..sets.len()).filter(|set| all || changed_sets & (1 << set) != 0).collect();
        self.dirty |= all || self.known != now;
        (self.known, self.print) = (now, Some(print));
        Ok(refresh)
    }

    fn set(&self, index: usize) -> Vec<String> {
        self.known
            .iter()
            .filter(|(_, (word, digest))| word & bit(index) != 0 && digest.is_some())
            .map(|(path, _)| path.clone())
            .collect()
    }

    fn contains(&self, index: usize, path: &str) -> bool {
        self.known
            .get(path)
            .is_some_and(|(word, digest)| word & bit(index) != 0 && digest.is_some())
    }

    fn sets_of_paths(&self, sets: &[SetDef], paths: &[&str]) -> Result<Vec<u64>, WorldError> {
        let globs = self.world.compile_globs(sets)?;
        Ok(paths.iter().map(|path| globs.sets_of_path(path)).collect())
    }

    fn count(&self) -> usize {
        self.known.len()
    }

    fn digest(&self, path: &str) -> Option<Digest> {
        self.known.get(path)?.1
    }

    fn files(&self) -> Vec<(String, Option<Digest>)> {
        self.known.iter().map(|(path, (_, digest))| (path.clone(), *digest)).collect()
    }

    fn take_dirty_rows(&mut self) -> RowEdits {
        if !std::mem::take(&mut self.dirty) {
            return Vec::new();
        }
        let entries: Vec<PackedFile> = self
            .known
            .iter()
            .map(|(path, (word, digest))| PackedFile {
                name: path.clone(),
                flags: u32::from(digest.is_none()),
                word: *word,
                stamp: Stamp::default(),
                digest: digest.unwrap_or(Digest([0; 32])),
            })
            .collect();
        let print = self.print.map(|print| print.to_le_bytes().to_vec());
        vec![encode_memory_row(&entries), (b"sets".to_vec(), print)]
    }
}

/// Path and digest by node, and whether they changed.
type ExportRecords = (BTreeMap<u32, (String, Digest)>, bool);

struct MemoryExports {
    world: MemoryWorld,
    known: Mutex<ExportRecords>,
}

impl MemoryExports {
    fn lock_records(&self) -> MutexGuard<'_, ExportRecords> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Exports for MemoryExports {
    fn verify(&self, nodes: &[u32]) -> Vec<u32> {
        let (known, state) = (self.lock_records(), self.world.locked_state());
        let same = |(path, digest): &(String, Digest)| state.outputs.get(path).is_some_and(|bytes| Digest::of(bytes) == *digest);
        let bad: BTreeSet<u32> = nodes.iter().copied().filter(|node| !known.0.get(node).is_some_and(same)).collect();
        bad.into_iter().collect()
    }

    fn write(&self, node: u32, path: &str, digest: Digest, bytes: &[u8]) -> Result<ExportOutcome, WorldError> {
        if !is_plain_path(path) {
            return Err(WorldError::Leaves {
                path: path.to_owned(),
                out_of: "the output folder",
            });
        }
        if let Some(first) = self
            .lock_records()
            .0
            .iter()
            .find(|(owner, (held, _))| **owner != node && held == path)
            .map(|(owner, _)| *owner)
        {
            return Err(WorldError::Claimed {
                path: path.to_owned(),
                first,
                second: node,
            });
        }
        if self.path(node).is_some_and(|old| old != path) {
            self.remove(node)?;
        }
        let (mut known, mut state) = (self.lock_records(), self.world.locked_state());
        let outcome = if state.outputs.get(path).is_some_and(|old| old == bytes) {
            ExportOutcome::AlreadyPresent
        } else if state.unwritable.contains(path) {
            return Err(world_error(path, "written", "Permission denied"));
        } else {
            state.writes += 1;
            state.outputs.insert(path.to_owned(), bytes.to_vec());
            ExportOutcome::Written
        };
        let entry = (path.to_owned(), digest);
        if known.0.get(&node) != Some(&entry) {
            known.0.insert(node, entry);
            known.1 = true;
        }
        Ok(outcome)
    }

    fn remove(&self, node: u32) -> Result<(), WorldError> {
        let (mut known, mut state) = (self.lock_records(), self.world.locked_state());
        let Some((path, _)) = known.0.get(&node) else { return Ok(()) };
        if state.unwritable.contains(path) && state.outputs.contains_key(path) {
            return Err(world_error(path, "removed", "Permission denied"));
        }
        state.outputs.remove(path);
        known.0.remove(&node);
        known.1 = true;
        Ok(())
    }

    fn path(&self, node: u32) -> Option<String> {
        self.lock_records().0.get(&node).map(|(path, _)| path.clone())
    }

    fn digest(&self, node: u32) -> Option<Digest> {
        self.lock_records().0.get(&node).map(|(_, digest)| *digest)
    }

    fn read(&self, node: u32) -> Option<Vec<u8>> {
        let (known, state) = (self.lock_records(), self.world.locked_state());
        let (path, digest) = known.0.get(&node)?;
        state.outputs.get(path).filter(|bytes| Digest::of(bytes) == *digest).cloned()
    }

    fn take_dirty_rows(&self) -> RowEdits {
        let mut known = self.lock_records();
        if !std::mem::take(&mut known.1) {
            return Vec::new();
        }
        let entries: Vec<PackedFile> = known
            .0
            .iter()
            .map(|(node, (path, digest))| PackedFile {
                name: path.clone(),
                flags: 0,
                word: u64::from(*node),
                stamp: Stamp::default(),
                digest: *digest,
            })
            .collect();
        vec![encode_memory_row(&entries)]
    }
}
