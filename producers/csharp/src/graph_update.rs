//! Updates `//index:graph` from its last version if no other type names the changed type: a new type, an unused type, or method bodies.
//!
//! Groups and depths depend on all structures together. But a type that no other type names is in no group, and no other depth depends on it.
//! So only its row and the counts of the types that it names change. In all other cases, the whole graph is rebuilt.

use super::dependencies::DependencyRow;
use super::graph::{Graph, GraphRow};
use engine::seams::update::{TableChanges, TableUpdate, TableView, UpdatedRows};
use engine::values::json;
use std::collections::{BTreeMap, BTreeSet};

impl TableUpdate for Graph {
    fn update(&self, moves: &dyn TableChanges) -> Option<UpdatedRows> {
        let types = Versions::from_moves(moves, "types")?;
        let named = Versions::from_moves(moves, "dependencies")?;
        let last = |key: &str| -> Option<Option<GraphRow>> {
            let row = moves.last().row(key)?;
            row.map_or(Some(None), |row| serde_json::from_slice(&row).ok().map(Some))
        };
        let mut changed: BTreeSet<String> = named.changed.clone();
        for key in &types.changed {
            if types.before.row(key)?.is_some() != types.now.row(key)?.is_some() {
                changed.insert(key.clone());
            } else if last(key)?.is_none_or(|row| row.group.is_some()) {
                // A group's name is a hash of its types' identifiers.
                return None;
            }
        }
        let mut counted: BTreeMap<String, i64> = BTreeMap::new();
        // Types that were added, removed or changed in structure, with the names in their present structure.
        let mut shaped: BTreeMap<String, Option<Vec<String>>> = BTreeMap::new();
        for key in &changed {
            let before = known_names(&*types.before, &*named.before, key)?;
            let now = known_names(&*types.now, &*named.now, key)?;
            for (names, by) in [(&before, -1), (&now, 1)] {
                for name in names.iter().flat_map(|names| names.structure.iter().chain(&names.body)) {
                    *counted.entry(name.clone()).or_default() += by;
                }
            }
            let (before, now) = (before.map(|names| names.structure), now.map(|names| names.structure));
            if before != now {
                shaped.insert(key.clone(), now);
            }
        }
        let mut rows: BTreeMap<String, Option<Vec<u8>>> = BTreeMap::new();
        for (key, names) in &shaped {
            let before = last(key)?;
            let was_named = before.is_some_and(|row| row.references > 0 || row.group.is_some());
            if was_named || counted.get(key).is_some_and(|by| *by > 0) {
                return None;
            }
            let row = match names {
                Some(names) => {
                    let depths: Option<Vec<u32>> = names.iter().map(|name| Some(last(name)??.depth)).collect();
                    Some(json::encode(&GraphRow {
                        dependencies: names.clone(),
                        depth: depths?.into_iter().min().map_or(0, |depth| depth + 1),
                        ..GraphRow::default()
                    }))
                }
                None => None,
            };
            rows.insert(key.clone(), row);
        }
        for (key, by) in counted.into_iter().filter(|(key, by)| *by != 0 && !shaped.contains_key(key)) {
            let row = last(&key)??;
            let references = u32::try_from(i64::from(row.references) + by).ok()?;
            rows.insert(key, Some(json::encode(&GraphRow { references, ..row })));
        }
        Some(UpdatedRows {
            rows,
            ..UpdatedRows::default()
        })
    }
}

/// The old and new table of a role.
pub struct Versions<'m> {
    pub before: Box<dyn TableView + 'm>,
    pub now: Box<dyn TableView + 'm>,
    /// Keys of the rows that differ between the two.
    pub changed: BTreeSet<String>,
}

impl<'m> Versions<'m> {
    /// Opens both tables; `None` if one is missing.
    pub fn from_moves(moves: &'m dyn TableChanges, role: &str) -> Option<Self> {
        let now = moves.digest(role, "")?;
        let before = match moves.changed_inputs(role)? {
            [] => now,
            [moved] => moved.before?,
            _ => return None,
        };
        Some(Self {
            before: moves.table(&before)?,
            now: moves.table(&now)?,
            changed: moves.changed_rows(&before, &now)?,
        })
    }
}

/// Returns the workspace types that a type names; `Some(None)` if `key` is no type.
fn known_names(types: &dyn TableView, named: &dyn TableView, key: &str) -> Option<Option<DependencyRow>> {
    if types.row(key)?.is_none() {
        return Some(None);
    }
    let mut names = match named.row(key)? {
        Some(row) => DependencyRow::from_row(key, &row).ok()?,
        None => DependencyRow::default(),
    };
    for list in [&mut names.structure, &mut names.body] {
        let mut known = Vec::with_capacity(list.len());
        for name in std::mem::take(list) {
            if types.row(&name)?.is_some() {
                known.push(name);
            }
        }
        *list = known;
    }
    Some(Some(names))
}
