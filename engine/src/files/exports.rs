//! Output files laid out under `.cortex/out/`, and checks that they still have the bytes written.
//!
//! Replaces files by renaming, without fsync: a later build lays lost files out again. No component of a path may be a symbolic link, so
//! this module never writes elsewhere. It knows nodes as numbers only.
//!
//! Rows: key = page number u32 big-endian (node / 256); body = version u8 (1), three zero bytes, packed entries sorted by node: name =
//! path below `.cortex/out/`, word = node, flag 1 = the stamp was settled when the content was last known.

use super::packed::{self, Packed, PackedFile};
use super::read::{Root, hash_open, io_error, is_plain_path, system_error};
use super::stamp::Stamp;
use crate::seams::world::{ExportOutcome, RowEdits, Rows, WorldError};
use crate::values::digest::Digest;
use os::errors::SystemError;
use os::folders::Folder;
use os::info::{FileInfo, FileKind};
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Path of the output folder.
pub const OUT_DIR: &str = ".cortex/out";

const VERSION: u8 = 1;
const HEAD_LEN: usize = 4;
const SETTLED: u32 = 1;
const PAGE: u32 = 256;

/// Number of searches through all paths that take less time than building a map of their owners.
const SEARCHES: u32 = 16;

/// Entries of up to [`PAGE`] nodes: as saved, or decoded because one of them changed.
enum ExportPage {
    Saved(Arc<Vec<u8>>),
    Open(BTreeMap<u32, PackedFile>),
}

impl ExportPage {
    fn get(&self, node: u32) -> Option<PackedFile> {
        match self {
            Self::Saved(bytes) => {
                let packed = packed_entries(bytes)?;
                packed.find_word(u64::from(node)).map(|index| packed.entry(index))
            }
            Self::Open(entries) => entries.get(&node).cloned(),
        }
    }

    /// Calls `visit` with each path and its node.
    fn each_path(&self, mut visit: impl FnMut(&str, u32)) {
        match self {
            Self::Open(entries) => entries.iter().for_each(|(node, entry)| visit(&entry.name, *node)),
            Self::Saved(bytes) => {
                if let Some(packed) = packed_entries(bytes) {
                    for index in 0..packed.len() {
                        if let Ok(node) = u32::try_from(packed.word_at(index)) {
                            visit(packed.name(index), node);
                        }
                    }
                }
            }
        }
    }

    fn node_of_path(&self, path: &str) -> Option<u32> {
        let mut found = None;
        self.each_path(|name, node| {
            if name == path {
                found = Some(node);
            }
        });
        found
    }

    fn encode_page(&self) -> Arc<Vec<u8>> {
        match self {
            Self::Saved(bytes) => bytes.clone(),
            Self::Open(entries) => {
                let mut row = vec![VERSION, 0, 0, 0];
                packed::append_entries(entries.values(), &mut row);
                Arc::new(row)
            }
        }
    }

    fn decoded_entries(&mut self) -> &mut BTreeMap<u32, PackedFile> {
        if let Self::Saved(bytes) = self {
            let packed = packed_entries(bytes);
            let all = packed.iter().flat_map(|packed| (0..packed.len()).map(|index| packed.entry(index)));
            *self = Self::Open(all.filter_map(|entry| Some((u32::try_from(entry.word).ok()?, entry))).collect());
        }
        match self {
            Self::Open(entries) => entries,
            Self::Saved(_) => unreachable!("invariant: a saved page was opened above"),
        }
    }
}

fn packed_entries(bytes: &[u8]) -> Option<Packed<'_>> {
    let (packed, rest) = Packed::split_entries(bytes.get(HEAD_LEN..)?)?;
    (bytes[0] == VERSION && rest.is_empty()).then_some(packed)
}

#[derive(Default)]
struct KnownExport {
    pages: BTreeMap<u32, ExportPage>,
    dirty: BTreeSet<u32>,
    /// Owner of each path; built after [`SEARCHES`] searches.
    owners: Option<FxHashMap<String, u32>>,
    searches: u32,
}

impl KnownExport {
    fn get(&self, node: u32) -> Option<PackedFile> {
        self.pages.get(&(node / PAGE))?.get(node)
    }

    fn set_entry(&mut self, node: u32, entry: Option<PackedFile>) {
        let page = self
            .pages
            .entry(node / PAGE)
            .or_insert_with(|| ExportPage::Open(BTreeMap::new()))
            .decoded_entries();
        let old = match entry {
            Some(entry) => page.insert(node, entry),
            None => page.remove(&node),
        };
        let new = page.get(&node).map(|entry| entry.name.clone());
        if let Some(owners) = &mut self.owners {
            if let Some(old) = old {
                owners.remove(&old.name);
            }
            if let Some(new) = new {
                owners.insert(new, node);
            }
        }
        self.dirty.insert(node / PAGE);
    }

    /// Returns the owner of a path that `node` requests, if it is another node. If `node` has it, no lookup is needed: a path has one owner.
    fn other_owner(&mut self, path: &str, node: u32) -> Option<u32> {
        if self.get(node).is_some_and(|entry| entry.name == path) {
            return None;
        }
        self.owner(path).filter(|owner| *owner != node)
    }

    fn owner(&mut self, path: &str) -> Option<u32> {
        if self.owners.is_none() && self.searches < SEARCHES {
            self.searches += 1;
            return self.pages.values().find_map(|page| page.node_of_path(path));
        }
        let pages = &self.pages;
        let owners = self.owners.get_or_insert_with(|| {
            let mut owners = FxHashMap::default();
            for page in pages.values() {
                page.each_path(|name, node| {
                    owners.insert(name.to_owned(), node);
                });
            }
            owners
        });
        owners.get(path).copied()
    }
}

/// The output files of a workspace.
#[derive(Default)]
pub struct Exports {
    known: Mutex<KnownExport>,
    /// Cache of open directories below the output folder, by path, since most files share a few.
    directories: Mutex<FxHashMap<String, Arc<Folder>>>,
    temporary: AtomicU64,
}

/// Comparison of a recorded file with the disk.
enum FileComparison {
    Same,
    /// It has this content and this stamp.
    Fresh(Stamp, Digest),
    Different,
}

fn lock_pages<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // State behind these locks is consistent between statements: a panic elsewhere does not corrupt it.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns a path below the output folder, for messages.
fn display_path(path: &str) -> String {
    format!("{OUT_DIR}/{path}")
}

fn split_path(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

impl Exports {
    /// Loads the saved state. Skips damaged rows: a build then compares their files with the outputs and writes them again.
    pub fn from_rows(rows: Rows) -> Self {
        let pages = rows.into_iter().filter_map(|(key, row)| {
            let page = u32::from_be_bytes(key.try_into().ok()?);
            let packed = packed_entries(&row)?;
            let in_order = (0..packed.len()).is_sorted_by(|a, b| packed.word_at(*a) < packed.word_at(*b));
            let in_page = (0..packed.len()).all(|index| packed.word_at(index) / u64::from(PAGE) == u64::from(page));
            let good = packed.well_formed() && in_order && in_page && (0..packed.len()).all(|index| is_plain_path(packed.name(index)));
            good.then(|| (page, ExportPage::Saved(Arc::new(row))))
        });
        Self {
            known: Mutex::new(KnownExport {
                pages: pages.collect(),
                ..KnownExport::default()
            }),
            ..Self::default()
        }
    }

    /// Returns those of `nodes` whose file is missing or differs from the bytes written, in ascending order. Records new stamps of files that were
    /// only touched.
    pub fn damaged_exports(&self, root: &Path, nodes: &[u32], now: i64) -> Vec<u32> {
        lock_pages(&self.directories).clear();
        // Take the pages out of the lock: a rayon thread that waits may run another job that acquires it.
        let pages: FxHashMap<u32, Arc<Vec<u8>>> = lock_pages(&self.known)
            .pages
            .iter()
            .map(|(number, page)| (*number, page.encode_page()))
            .collect();
        let looks: Vec<(u32, FileComparison)> = match Root::open_root(root) {
            Ok(root) => self.compare_with_disk(&root, &pages, nodes, now),
            Err(_) => nodes.iter().map(|node| (*node, FileComparison::Different)).collect(),
        };
        let mut known = lock_pages(&self.known);
        let mut bad = Vec::new();
        for (node, look) in looks {
            match look {
                FileComparison::Same => {}
                FileComparison::Fresh(stamp, digest) => {
                    if let Some(entry) = known.get(node).filter(|entry| entry.digest == digest) {
                        let flags = if stamp.settled(now) { SETTLED } else { 0 };
                        known.set_entry(node, Some(PackedFile { stamp, flags, ..entry }));
                    }
                }
                FileComparison::Different => bad.push(node),
            }
        }
        bad.sort_unstable();
        bad.dedup();
        bad
    }

    /// Compares the doubtful files in parallel. A thread opens a directory once for all adjacent files.
    fn compare_with_disk(&self, root: &Root, pages: &FxHashMap<u32, Arc<Vec<u8>>>, nodes: &[u32], now: i64) -> Vec<(u32, FileComparison)> {
        let pages: FxHashMap<u32, Packed<'_>> = pages
            .iter()
            .filter_map(|(number, bytes)| packed_entries(bytes).map(|packed| (*number, packed)))
            .collect();
        let look = |last: &mut Option<(String, Option<Arc<Folder>>)>, node: &u32| {
            let found = pages
                .get(&(node / PAGE))
                .and_then(|page| Some((page, page.find_word(u64::from(*node))?)));
            let Some((page, index)) = found else {
                return (*node, FileComparison::Different);
            };
            let (directory, name) = split_path(page.name(index));
            if last.as_ref().is_none_or(|(last, _)| last != directory) {
                *last = Some((directory.to_owned(), self.directory(root, directory, false).ok()));
            }
            let (flags, stamp, digest) = (page.flags(index), page.stamp(index), page.digest_of_entry(index));
            match last
                .as_ref()
                .and_then(|(_, folder)| folder.as_ref())
                .map(|folder| compare_file(folder, name, flags, &stamp, &digest))
            {
                None => (*node, FileComparison::Different),
                Some(FileComparison::Fresh(fresh, _)) if fresh == stamp && !fresh.settled(now) => (*node, FileComparison::Same),
                Some(other) => (*node, other),
            }
        };
        nodes
            .par_iter()
            .with_min_len(64)
            .map_init(|| None, look)
            .filter(|(_, look)| !matches!(look, FileComparison::Same))
            .collect()
    }

    /// Lays out an output. `digest` is that of `bytes`. Fails when another node has the path, it leads out of the output folder, or it
    /// cannot be written.
    pub fn write(&self, root: &Path, node: u32, path: &str, digest: Digest, bytes: &[u8], now: i64) -> Result<ExportOutcome, WorldError> {
        if !is_plain_path(path) {
            return Err(WorldError::Leaves {
                path: path.to_owned(),
                out_of: "the output folder",
            });
        }
        let claimed = {
            let mut known = lock_pages(&self.known);
            if let Some(first) = known.other_owner(path, node) {
                return Err(WorldError::Claimed {
                    path: path.to_owned(),
                    first,
                    second: node,
                });
            }
            known.get(node)
        };
        if claimed.as_ref().is_some_and(|old| old.name != path) {
            self.remove_export(root, node)?;
        }
        let root = Root::open_root(root)?;
        let old = claimed.filter(|old| old.name == path);
        let result = self
            .write_file(&root, path, digest, bytes, old.as_ref())
            .or_else(|error| match error {
                // The open directory was removed after it was opened.
                WorldError::Io { .. } if lock_pages(&self.directories).remove(split_path(path).0).is_some() => {
                    self.write_file(&root, path, digest, bytes, old.as_ref())
                }
                error => Err(error),
            });
        let (outcome, stamp) = result?;
        let flags = if stamp.settled(now) { SETTLED } else { 0 };
        let entry = PackedFile {
            name: path.to_owned(),
            flags,
            word: u64::from(node),
            stamp,
            digest,
        };
        let mut known = lock_pages(&self.known);
        if let Some(first) = known.other_owner(path, node) {
            return Err(WorldError::Claimed {
                path: path.to_owned(),
                first,
                second: node,
            });
        }
        if known.get(node).as_ref() != Some(&entry) {
            known.set_entry(node, Some(entry));
        }
        Ok(outcome)
    }

    fn write_file(
        &self,
        root: &Root,
        path: &str,
        digest: Digest,
        bytes: &[u8],
        old: Option<&PackedFile>,
    ) -> Result<(ExportOutcome, Stamp), WorldError> {
        let failed = |error| io_error(&display_path(path), "written", error);
        let (directory, name) = split_path(path);
        let folder = self.directory(root, directory, true).map_err(|error| {
            let way = describe_obstacle(root, directory).filter(|_| matches!(error, SystemError::NO_FOLDER | SystemError::LINK));
            match (failed(error), way) {
                (WorldError::Io { path, what, no_space, .. }, Some(reason)) => WorldError::Io {
                    path,
                    what,
                    reason,
                    no_space,
                    missing: false,
                },
                (error, _) => error,
            }
        })?;
        // Replaces an unreadable file; a directory at the path makes the rename fail. Replaces a file with the stamp of other bytes unread.
        // At worst it has these bytes already, because a program wrote them at the moment at which this process wrote the others.
        if let Ok(info) = folder.info_of(name)
            && info.kind() == FileKind::File
            && info.size == bytes.len() as u64
            && !old.is_some_and(|old| old.digest != digest && Stamp::from_info(&info) == old.stamp)
        {
            let (flags, stamp) = old
                .filter(|old| old.digest == digest)
                .map_or((0, Stamp::default()), |old| (old.flags, old.stamp));
            match compare_file(&folder, name, flags, &stamp, &digest) {
                FileComparison::Same => return Ok((ExportOutcome::AlreadyPresent, stamp)),
                FileComparison::Fresh(stamp, _) => return Ok((ExportOutcome::AlreadyPresent, stamp)),
                FileComparison::Different => {}
            }
        }
        let number = self.temporary.fetch_add(1, Ordering::Relaxed);
        let temporary = temporary(number);
        let replace = |top: &Folder| {
            let written = write_and_rename((top, &temporary), (&folder, name), bytes);
            if written.is_err() {
                // The next process that writes a file removes a leftover.
                let _ = top.remove(&temporary);
            }
            written
        };
        // All temporary files are in one folder, so that a sweep finds them without searching the others.
        let top = self.directory(root, "", true).map_err(failed)?;
        if number == 0 {
            super::leftovers::sweep(&top);
        }
        let written = match replace(&top) {
            // That folder may be read-only, or on another disk.
            Err(SystemError::ELSEWHERE | SystemError::DENIED | SystemError::FORBIDDEN | SystemError::READ_ONLY) => replace(&folder),
            written => written,
        };
        written.map(|stamp| (ExportOutcome::Written, stamp)).map_err(failed)
    }

    /// Removes a node's file and forgets it. Keeps a directory that took its place. Fails when the file exists and cannot be removed; it is
    /// then still known.
    pub fn remove_export(&self, root: &Path, node: u32) -> Result<(), WorldError> {
        let Some(entry) = lock_pages(&self.known).get(node) else {
            return Ok(());
        };
        let root = Root::open_root(root)?;
        let (directory, name) = split_path(&entry.name);
        let removed = self.directory(&root, directory, false).and_then(|folder| folder.remove(name));
        match removed {
            Ok(()) | Err(SystemError::NOT_FOUND | SystemError::NO_FOLDER | SystemError::IS_FOLDER | SystemError::LINK) => {
                lock_pages(&self.known).set_entry(node, None);
                Ok(())
            }
            Err(error) => Err(io_error(&display_path(&entry.name), "removed", error)),
        }
    }

    /// Returns the path of a node's file, relative to the output folder.
    pub fn path_of_node(&self, node: u32) -> Option<String> {
        lock_pages(&self.known).get(node).map(|entry| entry.name)
    }

    /// Returns the digest of the bytes last written for a node.
    pub fn digest_of_node(&self, node: u32) -> Option<Digest> {
        lock_pages(&self.known).get(node).map(|entry| entry.digest)
    }

    /// Returns the bytes of a node's file if they are those last written.
    pub fn read_export(&self, root: &Path, node: u32) -> Option<Vec<u8>> {
        let entry = lock_pages(&self.known).get(node)?;
        let (directory, name) = split_path(&entry.name);
        let folder = self.directory(&Root::open_root(root).ok()?, directory, false).ok()?;
        let info = folder.info_of(name).ok()?;
        if info.kind() != FileKind::File || info.size != entry.stamp.size {
            return None;
        }
        let mut bytes = Vec::with_capacity(usize::try_from(info.size).ok()?);
        folder.open_to_read(name).ok()?.take(info.size).read_to_end(&mut bytes).ok()?;
        (Digest::of(&bytes) == entry.digest).then_some(bytes)
    }

    /// Returns the rows changed since they were loaded or last taken.
    pub fn take_dirty_rows(&self) -> RowEdits {
        let mut known = lock_pages(&self.known);
        let dirty = std::mem::take(&mut known.dirty);
        let mut edits = Vec::with_capacity(dirty.len());
        for number in dirty {
            let page = known
                .pages
                .get(&number)
                .filter(|page| !matches!(page, ExportPage::Open(entries) if entries.is_empty()));
            let row = page.map(ExportPage::encode_page);
            match &row {
                Some(row) => known.pages.insert(number, ExportPage::Saved(row.clone())),
                None => known.pages.remove(&number),
            };
            let row = row.map(|row| row.to_vec());
            edits.push((number.to_be_bytes().to_vec(), row));
        }
        edits
    }

    /// Opens a directory below the output folder, creating it if `make`. Refuses links.
    fn directory(&self, root: &Root, path: &str, make: bool) -> Result<Arc<Folder>, SystemError> {
        if let Some(folder) = lock_pages(&self.directories).get(path) {
            return Ok(folder.clone());
        }
        let mut at: Option<Folder> = None;
        for name in OUT_DIR.split('/').chain(path.split('/')).filter(|name| !name.is_empty()) {
            let below = at.as_ref().unwrap_or(&root.folder);
            let folder = match below.open_folder(name) {
                Err(SystemError::NOT_FOUND) if make => {
                    match below.make_folder(name, 0o755) {
                        Ok(()) | Err(SystemError::EXISTS) => {}
                        Err(error) => return Err(error),
                    }
                    below.open_folder(name)?
                }
                answer => answer?,
            };
            if at.is_none() && make {
                keep_out_of_git(&folder);
            }
            at = Some(folder);
        }
        let folder = Arc::new(at.ok_or(SystemError::NOT_FOUND)?);
        lock_pages(&self.directories).insert(path.to_owned(), folder.clone());
        Ok(folder)
    }
}

/// Returns a name that no other process uses at the same time.
fn temporary(number: u64) -> String {
    format!(".cortex-{}-{number}.tmp", std::process::id())
}

/// Returns the process that chose a [`temporary`] name; `None` for other names.
pub(super) fn process_of(name: &str) -> Option<u32> {
    let numbers = name.strip_prefix(".cortex-")?.strip_suffix(".tmp")?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let (process, number) = numbers.split_once('-')?;
    process.parse().ok().filter(|_| is_number(process) && is_number(number))
}

/// Describes the object in place of a directory below the output folder.
fn describe_obstacle(root: &Root, directory: &str) -> Option<String> {
    let mut path = String::new();
    for name in OUT_DIR.split('/').chain(directory.split('/')).filter(|name| !name.is_empty()) {
        path = if path.is_empty() {
            name.to_owned()
        } else {
            format!("{path}/{name}")
        };
        match root.stat(&path).ok()?.1 {
            FileKind::Folder => {}
            FileKind::Link => return Some(format!("{path} is a link, and links are not followed here")),
            _ => return Some(format!("{path} is not a folder")),
        }
    }
    None
}

/// Creates a `.gitignore` in `.cortex` unless it exists. Ignores errors.
pub fn keep_out_of_git(folder: &Folder) {
    if let Ok(mut file) = folder.create_new(".gitignore", 0o644) {
        let _ = file.write_all(b"*\n");
    }
}

/// Writes a temporary file in a folder, and renames it.
fn write_and_rename(temporary: (&Folder, &str), to: (&Folder, &str), bytes: &[u8]) -> Result<Stamp, SystemError> {
    let mut file = temporary.0.create_or_empty(temporary.1, 0o644)?;
    file.write_all(bytes).map_err(system_error)?;
    temporary.0.rename(temporary.1, to.0, to.1)?;
    // Read the stamp after the rename, which changes the change time. Query the open file itself, whatever file has its name by now.
    Ok(Stamp::from_info(&FileInfo::from_handle(&file)?))
}

/// Compares a file with its record; reads it if its stamp proves nothing.
fn compare_file(folder: &Folder, name: &str, flags: u32, stamp: &Stamp, digest: &Digest) -> FileComparison {
    let Ok(info) = folder.info_of(name) else {
        return FileComparison::Different;
    };
    let regular = info.kind() == FileKind::File;
    if regular && flags & SETTLED != 0 && Stamp::from_info(&info) == *stamp {
        return FileComparison::Same;
    }
    let read = || -> Result<Option<Stamp>, SystemError> {
        let file = folder.open_to_read(name)?;
        let before = Stamp::from_info(&FileInfo::from_handle(&file)?);
        let same = hash_open(&file, before.size)? == *digest && Stamp::from_info(&FileInfo::from_handle(&file)?) == before;
        Ok(same.then_some(before))
    };
    if !regular {
        return FileComparison::Different;
    }
    read()
        .ok()
        .flatten()
        .map_or(FileComparison::Different, |stamp| FileComparison::Fresh(stamp, *digest))
}
