//! Reads only the changed files, before and after, to update a table built from the names of all files.

use super::names::{self, Names};
use super::namespaces::join_path;
use super::project_ownership::Layout;
use engine::seams::producer::Input;
use engine::seams::update::{TableChanges, TableView};
use std::collections::{BTreeMap, BTreeSet};

/// Files whose names or project changed.
pub struct ChangedFiles<'m> {
    moves: &'m dyn TableChanges,
    /// Their names in the last table, by path.
    pub before: BTreeMap<String, Names>,
    pub now: BTreeMap<String, Names>,
}

impl<'m> ChangedFiles<'m> {
    /// Finds the changed files; `None` if a project changed (it may affect all files) or bytes are missing.
    pub fn from_moves(moves: &'m dyn TableChanges) -> Option<Self> {
        if !moves.changed_inputs("projects")?.is_empty() {
            return None;
        }
        let mut changed = Self {
            moves,
            before: BTreeMap::new(),
            now: BTreeMap::new(),
        };
        for moved in moves.changed_inputs("names")? {
            if let Some(digest) = moved.before {
                changed.before.insert(moved.item.to_string(), read_names(moves, &digest)?);
            }
            if let Some(digest) = moved.now {
                changed.now.insert(moved.item.to_string(), read_names(moves, &digest)?);
            }
        }
        for table in moves.changed_inputs("files")? {
            for file in moves.changed_rows(&table.before?, &table.now?)? {
                if changed.before.contains_key(&file) || changed.now.contains_key(&file) {
                    continue;
                }
                if let Some(names) = names_of(moves, &file)? {
                    changed.before.insert(file.clone(), names.clone());
                    changed.now.insert(file, names);
                }
            }
        }
        Some(changed)
    }

    /// Returns the names of all changed files, before and after.
    pub fn versions(&self) -> impl Iterator<Item = &Names> {
        self.before.values().chain(self.now.values())
    }

    pub fn paths(&self) -> BTreeSet<&str> {
        self.before.keys().chain(self.now.keys()).map(String::as_str).collect()
    }

    /// Returns the symbols of the types that the changed files declare or declared.
    pub fn changed_symbols(&self) -> BTreeSet<String> {
        let types = self.versions().flat_map(|names| &names.types);
        types.map(|named| join_path(&named.namespace, &named.path)).collect()
    }

    /// Returns the present names of `files`, in path order, without deleted files.
    pub fn names_of<'f>(&self, files: impl IntoIterator<Item = &'f str>) -> Option<Vec<(&'f str, Names)>> {
        let mut found = Vec::new();
        for file in files {
            if let Some(names) = self.now.get(file) {
                found.push((file, names.clone()));
            } else if !self.before.contains_key(file)
                && let Some(names) = names_of(self.moves, file)?
            {
                found.push((file, names));
            }
        }
        Some(found)
    }

    /// Returns a layout of all projects and of the owners of `files` only.
    pub fn layout<'f>(&self, files: impl IntoIterator<Item = &'f str>) -> Option<Layout> {
        let mut projects = Vec::new();
        for (path, digest) in self.moves.present("projects") {
            projects.push(Input {
                digest,
                ..Input::of(&path, self.moves.bytes(&digest)?)
            });
        }
        let mut layout = Layout::from_inputs(&projects, None).ok()?;
        self.add_owners(&mut layout, files)?;
        Some(layout)
    }

    pub fn add_owners<'f>(&self, layout: &mut Layout, files: impl IntoIterator<Item = &'f str>) -> Option<()> {
        // Without that table a file belongs to the nearest project.
        let Some(table) = self.moves.digest("files", "") else {
            return Some(());
        };
        let table = self.moves.table(&table)?;
        let mut rows = Vec::new();
        for file in files {
            if let Some(row) = table.row(file)? {
                rows.push((file, row));
            }
        }
        layout.add_owners(rows.iter().map(|(file, row)| (*file, &**row))).ok()
    }
}

/// Returns the present names of a file; `Some(None)` if it is no source file.
fn names_of(moves: &dyn TableChanges, file: &str) -> Option<Option<Names>> {
    match moves.digest("names", file) {
        Some(digest) => read_names(moves, &digest).map(Some),
        None => Some(None),
    }
}

fn read_names(moves: &dyn TableChanges, digest: &engine::values::digest::Digest) -> Option<Names> {
    names::decode_names(&moves.bytes(digest)?).ok()
}

/// Whether a table has a row whose key begins with `start` and which `wanted` accepts.
pub fn has_row(table: &dyn TableView, start: &str, mut wanted: impl FnMut(&str, &[u8]) -> bool) -> Option<bool> {
    let mut found = false;
    table.rows_from(start, &mut |key, value| {
        let is_near = key.starts_with(start);
        found |= is_near && wanted(key, value);
        is_near && !found
    })?;
    Some(found)
}
