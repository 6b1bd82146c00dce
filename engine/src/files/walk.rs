//! Steps of a walk over directories: the directories to list, and those below them.

use super::listing::{DirectoryRow, Listing, RULES};
use super::scan::{Context, Scan, ScannedDirectory, join};
use super::tree::Check;
use crate::values::diagnostic::Diagnostic;
use crate::values::digest::Digest;
use rustc_hash::{FxHashMap, FxHashSet};

pub(super) struct WalkTask {
    pub path: String,
    pub outer: Context,
    /// Whether to list it even if its own check showed no change.
    pub forced: bool,
}

/// A visited directory, with the directories to visit below it.
pub(super) enum WalkStep {
    /// Listed again; `None` if it is gone.
    Listed(Option<Box<ScannedDirectory>>, Vec<WalkTask>),
    /// Its row is still valid.
    Passed(Vec<WalkTask>, Vec<Diagnostic>),
}

/// Rows and checks of the known directories, by path.
pub(super) type KnownDirectories<'a> = FxHashMap<&'a str, (&'a DirectoryRow<'a>, &'a Check)>;

impl WalkTask {
    /// Lists the directory unless its row is valid. `needed`: directories to visit whatever their parents show.
    pub(super) fn visit(&self, scan: &Scan<'_>, rows: &KnownDirectories<'_>, needed: &FxHashSet<&str>) -> WalkStep {
        let known = rows.get(self.path.as_str());
        if let Some((row, _)) = known.filter(|(_, check)| !self.forced && !check.has_changed) {
            return self.visit_needed(scan, row, needed);
        }
        let Some(mut found) = scan.list_directory(&self.path, &self.outer, known.map(|(row, _)| *row)) else {
            return WalkStep::Listed(None, Vec::new());
        };
        let all = self.forced || known.is_none_or(|(row, check)| check.rules_changed || row.fingerprint() != scan.fingerprint);
        // An added or removed rule file affects everything below, just as a changed one does.
        let all = all || known.is_some_and(|(row, _)| rule_names(row) != new_rule_names(&found.listing));
        let contexts = std::mem::take(&mut found.contexts);
        let below = found
            .listing
            .subdirs
            .iter()
            .zip(contexts)
            .map(|(name, outer)| (join(&self.path, name), outer));
        let below = below.filter(|(path, _)| all || needed.contains(path.as_str()) || !rows.contains_key(path.as_str()));
        let tasks = below.map(|(path, outer)| Self { path, outer, forced: all }).collect();
        WalkStep::Listed(Some(Box::new(found)), tasks)
    }

    /// Visits the needed directories below one whose row is valid.
    fn visit_needed(&self, scan: &Scan<'_>, row: &DirectoryRow<'_>, needed: &FxHashSet<&str>) -> WalkStep {
        let mut diagnostics = Vec::new();
        let inner = scan.context_below(&self.path, &self.outer, row, &mut diagnostics);
        let below = row
            .subdirs()
            .map(|name| (join(&self.path, name), name))
            .filter(|(path, _)| needed.contains(path.as_str()));
        let tasks = below
            .map(|(path, name)| Self {
                outer: scan.subdirectory_context(&inner, &path, name),
                path,
                forced: false,
            })
            .collect();
        WalkStep::Passed(tasks, diagnostics)
    }
}

/// Returns the directories that changed or are unknown, with all directories above them.
pub(super) fn directories_to_visit<'a>(checks: &'a [(&str, DirectoryRow<'_>, Check)]) -> FxHashSet<&'a str> {
    let mut needed: FxHashSet<&str> = FxHashSet::default();
    for (path, _, check) in checks.iter().filter(|(_, _, check)| check.has_changed || !check.unknown.is_empty()) {
        for path in std::iter::once(*path).chain(check.unknown.iter().map(String::as_str)) {
            let mut path = Some(path);
            while let Some(up) = path {
                path = needed.insert(up).then(|| parent(up)).flatten();
            }
        }
    }
    needed
}

fn rule_names<'a>(row: &DirectoryRow<'a>) -> Vec<(&'a str, Digest)> {
    let files = row.files;
    (0..files.len())
        .filter(|index| files.flags(*index) & RULES != 0)
        .map(|index| (files.name(index), files.digest_of_entry(index)))
        .collect()
}

fn new_rule_names(listing: &Listing) -> Vec<(&str, Digest)> {
    listing
        .files
        .iter()
        .filter(|entry| entry.flags & RULES != 0)
        .map(|entry| (entry.name.as_str(), entry.digest))
        .collect()
}

/// Returns the directory above `path`; `None` for the root.
pub(super) fn parent(path: &str) -> Option<&str> {
    (!path.is_empty()).then(|| path.rsplit_once('/').map_or("", |(parent, _)| parent))
}
