//! Updates `//index:types` from its last version when few files changed: the rows of the types that these files declare or declared.
//!
//! Messages about types declared more than once and about colliding identifiers concern the whole workspace. If a change affects one of
//! these, the producer reads all files.

use super::changed_files::{ChangedFiles, has_row};
use super::names::Names;
use super::namespaces::join_path;
use super::short_ids::{ShortIds, id_in};
use super::types::{TypeRow, Types, gather, type_rows};
use engine::seams::update::{TableChanges, TableUpdate, TableView, UpdatedRows};
use engine::values::codes::ErrorCode;
use rustc_hash::FxHashSet;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

impl TableUpdate for Types {
    fn update(&self, moves: &dyn TableChanges) -> Option<UpdatedRows> {
        let changed = ChangedFiles::from_moves(moves)?;
        let symbols = changed.changed_symbols();
        let mut old: BTreeMap<&str, TypeRow> = BTreeMap::new();
        for symbol in &symbols {
            match moves.last().row(symbol)? {
                Some(row) => drop(old.insert(symbol, serde_json::from_slice(&row).ok()?)),
                None if has_row(moves.last(), &format!("{symbol}@"), |_, _| true)? => return None,
                None => {}
            }
        }
        if old.values().any(|row| row.widened) || was_declared_twice(&changed, moves, &old)? {
            return None;
        }
        let mut files: BTreeSet<&str> = changed.now.keys().map(String::as_str).collect();
        files.extend(old.values().flat_map(|row| &row.files).map(String::as_str));
        let layout = changed.layout(files.iter().copied())?;
        let names = changed.names_of(files)?;
        let mut found = gather(&names, &layout);
        found.retain(|(symbol, _), _| symbols.contains(symbol));
        let mut diagnostics = Vec::new();
        let now = type_rows(&found, &layout, &mut diagnostics);
        let new = new_ids(&old, &now)?;
        let mut known = ShortIds::from_memo(moves.memo());
        if !diagnostics.is_empty() || meets_another(moves.last(), &symbols, known.as_ref(), &new)? {
            return None;
        }
        if let Some(known) = &mut known {
            new.iter().for_each(|id| known.add(id));
        }
        let mut changes: BTreeMap<String, Option<Vec<u8>>> = old.keys().map(|key| ((*key).to_owned(), None)).collect();
        changes.extend(now.into_iter().map(|(key, row)| (key, Some(row))));
        Some(UpdatedRows {
            rows: changes,
            diagnostics: moves.diagnostics().to_vec(),
            memo: known.map_or_else(Arc::default, ShortIds::into_memo),
        })
    }
}

/// Whether one of these types was declared several times without `partial`.
fn was_declared_twice(changed: &ChangedFiles<'_>, moves: &dyn TableChanges, old: &BTreeMap<&str, TypeRow>) -> Option<bool> {
    if !moves
        .diagnostics()
        .iter()
        .any(|diagnostic| diagnostic.code == ErrorCode::CS_DECLARED_TWICE)
    {
        return Some(false);
    }
    for (symbol, row) in old {
        let others = row
            .files
            .iter()
            .map(String::as_str)
            .filter(|file| !changed.before.contains_key(*file));
        let others = changed.names_of(others)?;
        let before = row.files.iter().filter_map(|file| changed.before.get(file));
        let parts: Vec<bool> = before
            .chain(others.iter().map(|(_, names)| names))
            .flat_map(|names| parts_of(names, symbol))
            .collect();
        if parts.len() > 1 && parts.contains(&false) {
            return Some(true);
        }
    }
    Some(false)
}

/// Returns, for each declaration of a symbol in a file, whether it is `partial`.
fn parts_of<'n>(names: &'n Names, symbol: &'n str) -> impl Iterator<Item = bool> + 'n {
    let of_symbol = names
        .types
        .iter()
        .filter(move |named| join_path(&named.namespace, &named.path) == symbol);
    of_symbol.map(|named| named.is_partial)
}

/// Returns the identifiers that no former row of their types has.
fn new_ids(old: &BTreeMap<&str, TypeRow>, now: &BTreeMap<String, Vec<u8>>) -> Option<FxHashSet<Vec<u8>>> {
    let mut new = FxHashSet::default();
    for (key, row) in now {
        let row: TypeRow = serde_json::from_slice(row).ok()?;
        if old.get(key.as_str()).is_none_or(|old| old.id != row.id) {
            new.insert(row.id.into_bytes());
        }
    }
    Some(new)
}

/// Whether the short form of a new identifier equals that of an unchanged type. Reads no row if `known`, the identifiers of all types, shows that.
fn meets_another(last: &dyn TableView, symbols: &BTreeSet<String>, known: Option<&ShortIds>, new: &FxHashSet<Vec<u8>>) -> Option<bool> {
    let may_meet = |id: &Vec<u8>| known.is_none_or(|known| known.may_contain(id));
    if !new.iter().any(may_meet) {
        return Some(false);
    }
    let mut meets = false;
    last.rows_from("", &mut |key, value| {
        meets = id_in(value).is_some_and(|id| new.contains(id)) && !symbols.contains(key);
        !meets
    })?;
    Some(meets)
}
