//! Tests of the files on a real disk: single cases, and random edits compared with a naive full scan.

mod exports;
mod model;
mod overlaid;
mod tree;
mod worlds;

use crate::files::tree::SourceTree;
use crate::seams::world::{Refresh, SetDef};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Returns nanoseconds since 1970.
pub(super) fn now() -> i64 {
    i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos()).unwrap()
}

/// Returns ten seconds from now, when present stamps are settled.
pub(super) fn later() -> i64 {
    now() + 10_000_000_000
}

pub(super) fn set(include: &[&str], exclude: &[&str], gitignore: bool) -> SetDef {
    let strings = |globs: &[&str]| globs.iter().map(|glob| (*glob).to_owned()).collect();
    SetDef {
        name: include.join(" "),
        include: strings(include),
        exclude: strings(exclude),
        gitignore,
    }
}

/// A workspace in a temporary folder with its known state.
pub(super) struct Bench {
    _dir: tempfile::TempDir,
    pub(super) root: PathBuf,
    pub(super) tree: SourceTree,
    pub(super) sets: Vec<SetDef>,
}

impl Bench {
    pub(super) fn new(sets: Vec<SetDef>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("ws");
        fs::create_dir(&root).unwrap();
        Self {
            _dir: dir,
            root,
            tree: SourceTree::default(),
            sets,
        }
    }

    pub(super) fn write(&self, path: &str, text: &str) -> PathBuf {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    pub(super) fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    pub(super) fn at(&mut self, now: i64) -> Refresh {
        self.tree.refresh(&self.root, &self.sets, now).unwrap()
    }

    /// Refreshes with all stamps settled; formats changes as `-old +new ~edited`.
    pub(super) fn changes(&mut self) -> String {
        refresh_text(&self.at(later()))
    }

    pub(super) fn codes(&mut self) -> Vec<String> {
        let refresh = self.at(later());
        refresh
            .diagnostics
            .iter()
            .map(|d| format!("{} {}", d.code, d.place.as_ref().unwrap().file))
            .collect()
    }

    /// Loads all rows saved so far into a new tree.
    pub(super) fn reload(&mut self, rows: &mut std::collections::BTreeMap<Vec<u8>, Vec<u8>>) {
        for (key, row) in self.tree.take_dirty_rows() {
            match row {
                Some(row) => rows.insert(key, row),
                None => rows.remove(&key),
            };
        }
        self.tree = SourceTree::from_rows(rows.clone().into_iter().collect());
    }
}

pub(super) fn refresh_text(refresh: &Refresh) -> String {
    let sign = |change: &crate::seams::world::Change| match (change.from, change.to) {
        (None, _) => '+',
        (_, None) => '-',
        _ => '~',
    };
    refresh
        .changes
        .iter()
        .map(|change| format!("{}{}", sign(change), change.path))
        .collect::<Vec<_>>()
        .join(" ")
}

/// Restores a former modification time.
pub(super) fn set_mtime(path: &Path, time: SystemTime) {
    fs::File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
}
