//! The source tree: the known state of every directory that may contain sources, and its refresh.
//!
//! Stores directories as encoded rows and checks them in place; decodes only changed ones. A refresh has three steps. *Check*: reads the
//! stamp of every known directory and file, in parallel. *Walk*: lists changed directories, and everything below changed ignore rules,
//! again from the root down. *Examine*: hashes files whose stamps prove nothing. The new state replaces the old one at the end, so a failed
//! refresh changes nothing.

use super::globs::{Globs, fingerprint};
use super::ignores::EXCLUDE_FILE;
use super::listing::{DIR_SETTLED, DIR_UNREADABLE, DirectoryRow, LINK, Listing, REFUSED, RULES, SETTLED, UNREADABLE};
use super::packed::PackedFile;
use super::read::Root;
use super::scan::{Context, Scan, join, not_text, rules_unchanged};
use super::walk::{WalkStep, WalkTask, directories_to_visit, parent};
use crate::seams::world::{Change, MAX_SETS, Refresh, RowEdits, Rows, SetDef, TreeFacts, WorldError};
use crate::values::diagnostic::Diagnostic;
use crate::values::digest::Digest;
use os::info::FileKind;
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Number of directories given to a thread at a time when checking.
const GRAIN: usize = 16;

/// The known state of the sources of a workspace.
#[derive(Default)]
pub struct SourceTree {
    /// Rows by directory, the root under the empty path. Every row is well-formed.
    directories: BTreeMap<String, Vec<u8>>,
    dirty: BTreeSet<String>,
}

/// Result of checking a directory in place.
#[derive(Default)]
pub(super) struct Check {
    /// The directory must be listed again.
    pub(super) has_changed: bool,
    /// Everything below must be listed again, too.
    pub(super) rules_changed: bool,
    /// Indexes of files to examine.
    pending: Vec<usize>,
    /// Rule files with a changed stamp but unchanged content.
    fresh: Vec<(usize, PackedFile)>,
    /// Kept subdirectories without a row.
    pub(super) unknown: Vec<String>,
    stated: usize,
}

/// A directory during a refresh.
struct DirectoryWork {
    listing: Listing,
    pending: Vec<usize>,
}

impl SourceTree {
    /// Loads the saved state. Skips damaged rows and those of another version: their directories are listed again.
    pub fn from_rows(rows: Rows) -> Self {
        let mut tree = Self::default();
        for (key, row) in rows {
            if let Ok(path) = String::from_utf8(key)
                && (path.is_empty() || super::read::is_plain_path(&path))
                && DirectoryRow::from_bytes(&row).is_some_and(|row| row.well_formed())
            {
                tree.directories.insert(path, row);
            }
        }
        tree
    }

    /// Refreshes the state from the folder `root` for these sets, as of `now` (nanoseconds since 1970). Fails when the root cannot be
    /// opened or a set is malformed; the state is then unchanged.
    pub fn refresh(&mut self, root: &Path, sets: &[SetDef], now: i64) -> Result<Refresh, WorldError> {
        self.refresh_rows(root, sets, now, None)
    }

    /// Like [`SourceTree::refresh`], given the changes since these rows were saved. Checks the directories of the paths `changed`, everything
    /// below those that are directories, and directories that must be checked every time. Checks everything unless these are the
    /// `directories` rows that were saved, for these sets. Fails as [`SourceTree::refresh`] does.
    pub fn refresh_named(
        &mut self,
        root: &Path,
        sets: &[SetDef],
        now: i64,
        changed: &[String],
        directories: u64,
    ) -> Result<Refresh, WorldError> {
        let print = fingerprint(sets);
        let whole = self.directories.contains_key("")
            && self.directories.len() as u64 == directories
            && self.rows().all(|(_, row)| row.fingerprint() == print);
        let named = whole.then(|| self.directories_to_read(changed));
        self.refresh_rows(root, sets, now, named.as_ref())
    }

    pub(super) fn rows(&self) -> impl Iterator<Item = (&str, DirectoryRow<'_>)> {
        let rows = self.directories.iter();
        rows.filter_map(|(path, bytes)| DirectoryRow::from_bytes(bytes).map(|row| (path.as_str(), row)))
    }

    /// Returns the known directories to check when these paths changed.
    fn directories_to_read(&self, changed: &[String]) -> BTreeSet<String> {
        let mut named = BTreeSet::new();
        for path in changed {
            let path = if path.starts_with(".git/") { "" } else { path.as_str() };
            if path.is_empty() || self.directories.contains_key(path) {
                named.insert(path.to_owned());
                named.extend(self.directories_below(path).map(str::to_owned));
            }
            // For an unknown path, check the nearest known directory above it.
            let mut up = parent(path);
            while let Some(directory) = up.filter(|up| !self.directories.contains_key(*up)) {
                up = parent(directory);
            }
            named.extend(up.map(str::to_owned));
        }
        named.extend(self.rows().filter(|(_, row)| is_unstable(row)).map(|(path, _)| path.to_owned()));
        named
    }

    /// Returns the number of known directories, and whether any must be checked every time.
    pub fn tree_facts(&self) -> TreeFacts {
        TreeFacts {
            directories: self.directories.len() as u64,
            odd: self.rows().any(|(_, row)| is_unstable(&row)),
        }
    }

    fn refresh_rows(&mut self, root: &Path, sets: &[SetDef], now: i64, named: Option<&BTreeSet<String>>) -> Result<Refresh, WorldError> {
        if sets.len() > MAX_SETS {
            return Err(WorldError::TooManySets { count: sets.len() });
        }
        let root = Root::open_root(root)?;
        let print = fingerprint(sets);
        let rows: Vec<(&str, DirectoryRow<'_>)> = self.rows().collect();
        let is_unchanged = |path: &str| named.is_some_and(|named| !named.contains(path));
        let checks: Vec<(&str, DirectoryRow<'_>, Check)> = rows
            .into_par_iter()
            .with_min_len(GRAIN)
            .map(|(path, row)| {
                let check = if is_unchanged(path) {
                    Check::default()
                } else {
                    self.check_directory(&root, path, &row, print, now)
                };
                (path, row, check)
            })
            .collect();

        let mut refresh = Refresh {
            stated: checks.iter().map(|(_, _, check)| check.stated).sum(),
            ..Refresh::default()
        };
        for (path, row, _) in &checks {
            refresh.diagnostics.extend(row.not_text().map(|name| not_text(path, name)));
        }
        let must_walk = |check: &Check| check.has_changed || check.rules_changed || !check.unknown.is_empty();
        let walk = !self.directories.contains_key("") || checks.iter().any(|(_, _, check)| must_walk(check));
        if !walk
            && checks
                .iter()
                .all(|(_, _, check)| check.pending.is_empty() && check.fresh.is_empty())
        {
            sort_diagnostics(&mut refresh.diagnostics);
            return Ok(refresh);
        }

        // Examining needs no matchers, and compiling them would be most of the cost of a small edit.
        let globs = Globs::new(if walk { sets } else { &[] })?;
        let scan = Scan {
            root: &root,
            globs: &globs,
            fingerprint: print,
            now,
        };
        let mut work: BTreeMap<String, DirectoryWork> = BTreeMap::new();
        for (path, row, check) in &checks {
            if !check.has_changed && (!check.pending.is_empty() || !check.fresh.is_empty()) {
                let mut listing = row.listing();
                for (index, entry) in &check.fresh {
                    listing.files[*index] = entry.clone();
                }
                work.insert(
                    (*path).to_owned(),
                    DirectoryWork {
                        listing,
                        pending: check.pending.clone(),
                    },
                );
            }
        }
        let mut gone = BTreeSet::new();
        if walk {
            self.list_changed(&scan, &checks, &mut work, &mut gone, &mut refresh);
        }
        drop(checks);
        hash_pending(&scan, &mut work, &mut refresh);
        self.replace_rows(work, gone, sets.len(), print, &mut refresh);
        sort_diagnostics(&mut refresh.diagnostics);
        Ok(refresh)
    }

    /// Compares a directory with the disk, without decoding it.
    fn check_directory(&self, root: &Root, path: &str, row: &DirectoryRow<'_>, print: u64, now: i64) -> Check {
        let mut check = Check {
            stated: 1,
            ..Check::default()
        };
        let listed = row.flags() & (DIR_SETTLED | DIR_UNREADABLE) == DIR_SETTLED;
        check.has_changed =
            !listed || row.fingerprint() != print || !matches!(root.stat(path), Ok((stamp, FileKind::Folder)) if stamp == row.stamp());
        let mut whole = String::with_capacity(path.len() + 64);
        let full = |name: &str, whole: &mut String| {
            whole.clear();
            whole.push_str(path);
            if !path.is_empty() {
                whole.push('/');
            }
            whole.push_str(name);
        };
        for index in 0..row.files.len() {
            let flags = row.files.flags(index);
            // The new listing of a changed directory examines its files. Check its rules now: they decide about everything below it.
            if check.has_changed && flags & RULES == 0 {
                continue;
            }
            if flags & (LINK | REFUSED | UNREADABLE) != 0 && flags & RULES == 0 {
                check.pending.push(index);
                continue;
            }
            full(row.files.name(index), &mut whole);
            check.stated += 1;
            let answer = root.stat(&whole);
            let same = matches!(answer, Ok((stamp, FileKind::File)) if stamp == row.files.stamp(index));
            if same && flags & (SETTLED | UNREADABLE) == SETTLED {
                continue;
            }
            if flags & RULES != 0 {
                match rules_unchanged(root, now, &whole, &row.files.entry(index)) {
                    Some(entry) => check.fresh.push((index, entry)),
                    None => (check.has_changed, check.rules_changed) = (true, true),
                }
            } else if answer.is_ok() {
                check.pending.push(index);
            } else {
                // The file is gone although its directory seemed unchanged: this scan read the two at different moments.
                check.has_changed = true;
            }
        }
        if path.is_empty() && row.files.find_name(EXCLUDE_FILE).is_none() && matches!(root.stat(EXCLUDE_FILE), Ok((_, FileKind::File))) {
            (check.has_changed, check.rules_changed) = (true, true);
        }
        for name in row.subdirs() {
            full(name, &mut whole);
            if !self.directories.contains_key(&whole) {
                check.unknown.push(whole.clone());
            }
        }
        check
    }

    /// Lists directories as needed, level by level from the root.
    fn list_changed(
        &self,
        scan: &Scan<'_>,
        checks: &[(&str, DirectoryRow<'_>, Check)],
        work: &mut BTreeMap<String, DirectoryWork>,
        gone: &mut BTreeSet<String>,
        refresh: &mut Refresh,
    ) {
        let rows: FxHashMap<&str, (&DirectoryRow<'_>, &Check)> = checks.iter().map(|(path, row, check)| (*path, (row, check))).collect();
        let needed = directories_to_visit(checks);
        let mut level = vec![WalkTask {
            path: String::new(),
            outer: Context {
                reach: scan.globs.reach_at_root(),
                ignores: None,
            },
            forced: false,
        }];
        while !level.is_empty() {
            let steps: Vec<WalkStep> = level.par_iter().map(|task| task.visit(scan, &rows, &needed)).collect();
            let mut next = Vec::new();
            for (task, step) in level.iter().zip(steps) {
                let found = match step {
                    WalkStep::Passed(tasks, diagnostics) => {
                        next.extend(tasks);
                        refresh.diagnostics.extend(diagnostics);
                        continue;
                    }
                    WalkStep::Listed(found, tasks) => {
                        next.extend(tasks);
                        found
                    }
                };
                let kept: FxHashSet<&str> = found.iter().flat_map(|found| &found.listing.subdirs).map(String::as_str).collect();
                for path in self.directories_below(&task.path) {
                    let start = if task.path.is_empty() { 0 } else { task.path.len() + 1 };
                    let name = path[start..].split('/').next().unwrap_or_default();
                    if !kept.contains(name) {
                        gone.insert(path.to_owned());
                    }
                }
                match found {
                    Some(found) => {
                        refresh.stated += found.stated;
                        if !rows.contains_key(task.path.as_str()) {
                            refresh
                                .diagnostics
                                .extend(found.listing.not_text.iter().map(|name| not_text(&task.path, name)));
                        }
                        refresh.diagnostics.extend(found.diagnostics);
                        work.insert(
                            task.path.clone(),
                            DirectoryWork {
                                listing: found.listing,
                                pending: found.pending,
                            },
                        );
                    }
                    None => {
                        gone.insert(task.path.clone());
                    }
                }
            }
            level = next;
        }
        // A row that no listing reaches is obsolete.
        let unreached = checks
            .iter()
            .filter(|(path, _, check)| check.has_changed && !work.contains_key(*path));
        gone.extend(unreached.map(|(path, _, _)| (*path).to_owned()));
        gone.iter().for_each(|path| {
            work.remove(path);
        });
    }

    /// Returns the known directories below `path`.
    fn directories_below<'a>(&'a self, path: &str) -> impl Iterator<Item = &'a str> + use<'a> {
        let prefix = if path.is_empty() { String::new() } else { format!("{path}/") };
        let rows = self
            .directories
            .range::<str, _>((std::ops::Bound::Included(prefix.as_str()), std::ops::Bound::Unbounded));
        rows.map(|(path, _)| path.as_str())
            .take_while(move |path| path.starts_with(&prefix))
            .filter(|path| !path.is_empty())
    }

    /// Replaces the old state by the new one and records the differences.
    fn replace_rows(
        &mut self,
        work: BTreeMap<String, DirectoryWork>,
        gone: BTreeSet<String>,
        sets: usize,
        print: u64,
        refresh: &mut Refresh,
    ) {
        let (mut changed_sets, mut all_sets) = (0u64, !self.directories.contains_key(""));
        for path in gone {
            if let Some(bytes) = self.directories.remove(&path) {
                if let Some(row) = DirectoryRow::from_bytes(&bytes) {
                    compare(&path, Some(&row), &[], &mut changed_sets, &mut refresh.changes);
                }
                self.dirty.insert(path);
            }
        }
        for (path, DirectoryWork { listing, .. }) in work {
            let bytes = listing.encode();
            let old = self.directories.get(&path);
            if old == Some(&bytes) {
                continue;
            }
            let row = old.and_then(|bytes| DirectoryRow::from_bytes(bytes));
            all_sets |= row.is_some_and(|row| row.fingerprint() != print);
            compare(&path, row.as_ref(), &listing.files, &mut changed_sets, &mut refresh.changes);
            self.directories.insert(path.clone(), bytes);
            self.dirty.insert(path);
        }
        refresh.changes.sort_unstable();
        refresh.sets_changed = (0..sets).filter(|set| all_sets || changed_sets & (1 << set) != 0).collect();
    }

    /// Returns the paths of a set of the last refresh, sorted. Leaves out unreadable files and the files of unreadable directories, so that
    /// a failure affects only itself.
    pub fn set_paths(&self, index: usize) -> Vec<String> {
        let listed = self.collect_sources(|word| is_in(word, index), |path, digest| digest.map(|_| path));
        let mut paths: Vec<String> = listed.into_iter().flatten().collect();
        paths.sort_unstable();
        paths
    }

    /// Whether a path is in a set of the last refresh.
    pub fn contains(&self, index: usize, path: &str) -> bool {
        self.find_source(path, |row, at| is_in(row.files.word_at(at), index) && digest_in(row, at).is_some())
            .unwrap_or(false)
    }

    pub fn count(&self) -> usize {
        let sources = |row: DirectoryRow<'_>| {
            (0..row.files.len())
                .filter(|at| is_source(row.files.flags(*at), row.files.word_at(*at)))
                .count()
        };
        self.directories
            .values()
            .filter_map(|bytes| DirectoryRow::from_bytes(bytes))
            .map(sources)
            .sum()
    }

    /// Returns all sources, sorted by path.
    pub fn files(&self) -> Vec<(String, Option<Digest>)> {
        let mut files = self.collect_sources(|_| true, |path, digest| (path, digest));
        files.sort_unstable();
        files
    }

    fn collect_sources<T>(&self, wanted: impl Fn(u64) -> bool, make: impl Fn(String, Option<Digest>) -> T) -> Vec<T> {
        let mut out = Vec::new();
        for (path, bytes) in &self.directories {
            let Some(row) = DirectoryRow::from_bytes(bytes) else { continue };
            for index in 0..row.files.len() {
                if is_source(row.files.flags(index), row.files.word_at(index)) && wanted(row.files.word_at(index)) {
                    out.push(make(join(path, row.files.name(index)), digest_in(&row, index)));
                }
            }
        }
        out
    }

    /// Returns the digest of a source; `None` if the path is no source or unreadable.
    pub fn digest(&self, path: &str) -> Option<Digest> {
        self.find_source(path, digest_in).flatten()
    }

    /// Applies `read` to the source at a path, if there is one.
    fn find_source<T>(&self, path: &str, read: impl FnOnce(&DirectoryRow<'_>, usize) -> T) -> Option<T> {
        let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
        let row = DirectoryRow::from_bytes(self.directories.get(directory)?)?;
        let at = row.files.find_name(name)?;
        is_source(row.files.flags(at), row.files.word_at(at)).then(|| read(&row, at))
    }

    /// Returns the rows changed since they were loaded or last taken; none after a refresh that found no change.
    pub fn take_dirty_rows(&mut self) -> RowEdits {
        let dirty = std::mem::take(&mut self.dirty);
        dirty
            .into_iter()
            .map(|path| (path.clone().into_bytes(), self.directories.get(&path).cloned()))
            .collect()
    }
}

/// Hashes pending files, in parallel.
fn hash_pending(scan: &Scan<'_>, work: &mut BTreeMap<String, DirectoryWork>, refresh: &mut Refresh) {
    let mut jobs: Vec<(&str, &mut PackedFile)> = Vec::new();
    for (path, DirectoryWork { listing, pending }) in work.iter_mut() {
        let pending: FxHashSet<usize> = pending.iter().copied().collect();
        let files = listing.files.iter_mut().enumerate().filter(|(index, _)| pending.contains(index));
        jobs.extend(files.map(|(_, entry)| (path.as_str(), entry)));
    }
    let results: Vec<(bool, Vec<Diagnostic>)> = jobs
        .into_par_iter()
        .map(|(directory, entry)| {
            let mut diagnostics = Vec::new();
            (scan.examine(directory, entry, &mut diagnostics), diagnostics)
        })
        .collect();
    for (hashed, diagnostics) in results {
        refresh.hashed += usize::from(hashed);
        refresh.diagnostics.extend(diagnostics);
    }
}

/// Adds the differences between a directory's former and present sources; both are sorted by name.
fn compare(directory: &str, old: Option<&DirectoryRow<'_>>, new: &[PackedFile], sets: &mut u64, changes: &mut Vec<Change>) {
    let old: BTreeMap<&str, (u64, Option<Digest>)> = old
        .into_iter()
        .flat_map(|row| (0..row.files.len()).map(move |index| (row, index)))
        .filter(|(row, index)| is_source(row.files.flags(*index), row.files.word_at(*index)))
        .map(|(row, index)| (row.files.name(index), (row.files.word_at(index), digest_in(row, index))))
        .collect();
    let new: BTreeMap<&str, (u64, Option<Digest>)> = new
        .iter()
        .filter(|entry| is_source(entry.flags, entry.word))
        .map(|entry| {
            (
                entry.name.as_str(),
                (entry.word, (entry.flags & UNREADABLE == 0).then_some(entry.digest)),
            )
        })
        .collect();
    for name in old.keys().chain(new.keys().filter(|name| !old.contains_key(*name))) {
        let (was_in, from) = old.get(name).copied().unwrap_or_default();
        let (is_in, to) = new.get(name).copied().unwrap_or_default();
        // An unreadable file is in no set.
        let in_sets = |word: u64, digest: Option<Digest>| if digest.is_some() { word } else { 0 };
        *sets |= in_sets(was_in, from) ^ in_sets(is_in, to);
        if from != to {
            changes.push(Change {
                path: join(directory, name),
                from,
                to,
            });
        }
    }
}

/// Whether a file's word names a set.
fn is_in(word: u64, set: usize) -> bool {
    word & u32::try_from(set).ok().and_then(|set| 1u64.checked_shl(set)).unwrap_or(0) != 0
}

/// Whether every refresh must check a directory: it has an entry that may change alone (a link, an unreadable file), or a name that is no
/// text, which the refresh reports.
fn is_unstable(row: &DirectoryRow<'_>) -> bool {
    let odd = |index| row.files.flags(index) & (LINK | REFUSED | UNREADABLE) != 0;
    row.flags() & DIR_UNREADABLE != 0 || row.not_text().next().is_some() || (0..row.files.len()).any(odd)
}

fn is_source(flags: u32, sets: u64) -> bool {
    sets != 0 && flags & REFUSED == 0
}

fn digest_in(row: &DirectoryRow<'_>, index: usize) -> Option<Digest> {
    (row.files.flags(index) & UNREADABLE == 0).then(|| row.files.digest_of_entry(index))
}

fn sort_diagnostics(diagnostics: &mut Vec<Diagnostic>) {
    diagnostics.sort_unstable_by(|a, b| (&a.place, &a.code, a).cmp(&(&b.place, &b.code, b)));
    diagnostics.dedup();
}
