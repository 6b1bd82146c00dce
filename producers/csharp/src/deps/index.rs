//! The symbol index that the binder uses: the whole index while it is built, or only the rows for one type.

use crate::types::simple_name;
use engine::seams::producer::Failure;
use engine::values::table::Table;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// A type declared under a simple name. Fields are in alphabetical order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Accessibility in effect.
    pub accessibility: String,
    /// Paths of other projects that compile a part of the type, sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<String>,
    /// Keys of bases (direct and indirect) that have nested types, nearest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ancestors: Vec<String>,
    /// Number of own type parameters.
    pub arity: u32,
    /// Bases as written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bases: Vec<String>,
    /// Symbol of the enclosing type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encloser: Option<String>,
    /// The only file that sees the type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Type identifier.
    pub id: String,
    /// Key in `//index:types`.
    pub key: String,
    /// Namespace.
    pub namespace: String,
    /// Path of its project file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Whether it is a value type: a struct or an enum.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub value: bool,
}

impl Entry {
    /// Returns namespace and path, without a scope.
    pub fn symbol(&self) -> &str {
        crate::types::symbol_of(&self.key)
    }

    /// Whether a project compiles the type; no project compiles loose files.
    pub fn is_of(&self, project: Option<&str>) -> bool {
        self.project.as_deref() == project || project.is_some_and(|project| self.also.iter().any(|also| also == project))
    }

    /// Whether a project, if it is one, compiles the type.
    pub fn is_compiled_by(&self, project: Option<&str>) -> bool {
        project.is_some() && self.is_of(project)
    }
}

/// Global usings and other facts of one project.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Globals {
    /// Aliases of the references that have some, by path.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub aliases: BTreeMap<String, Vec<String>>,
    /// Whether its code is checked for overflow outside of `checked` and `unchecked`.
    #[serde(default, rename = "checked", skip_serializing_if = "std::ops::Not::not")]
    pub is_checked: bool,
    /// Projects in `references` whose internal types this project sees.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub friends: Vec<String>,
    /// Path of the project file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Paths of referenced projects, transitively.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub references: Vec<String>,
    /// Text after `@` in keys of types of this project, then of those it references; none for projects without such types.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<String>,
    /// Its global usings, sorted.
    pub usings: Vec<GlobalUsing>,
}

/// A global using. The index binds targets of aliases and of `using static`, because it knows all names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GlobalUsing {
    /// Alias.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alias: Option<String>,
    /// `global using static`.
    #[serde(default, rename = "static", skip_serializing_if = "std::ops::Not::not")]
    pub is_static: bool,
    /// Namespace or type.
    pub target: String,
    /// Types of the workspace with that full name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub types: Vec<Entry>,
    /// Types of the workspace that the target of an alias names inside: its type arguments and the parts of a tuple.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub within: Vec<Entry>,
}

/// Lookups that the binder needs.
pub trait Index {
    /// Returns the types of a simple name, sorted by key.
    fn types_named(&self, name: &str) -> &[Entry];
    /// Whether the workspace has that namespace.
    fn has_namespace(&self, namespace: &str) -> bool;
}

/// An index in memory.
#[derive(Debug, Default)]
pub struct NameIndex {
    /// Simple name → its types.
    pub names: BTreeMap<String, Vec<Entry>>,
    /// All namespaces.
    pub namespaces: BTreeSet<String>,
    /// Directory of a project → its global usings; `?` for loose files.
    pub globals: BTreeMap<String, Globals>,
}

impl Index for NameIndex {
    fn types_named(&self, name: &str) -> &[Entry] {
        self.names.get(name).map_or(&[], Vec::as_slice)
    }

    fn has_namespace(&self, namespace: &str) -> bool {
        self.namespaces.contains(namespace)
    }
}

impl NameIndex {
    /// Reads the rows of a slice.
    ///
    /// # Errors
    /// If the blob is no such table.
    pub fn from_blob(blob: &[u8]) -> Result<Self, Failure> {
        let table = Table::open(blob).ok_or_else(|| Failure::permanent("input 'symbols' is not a table"))?;
        let mut index = Self::default();
        for (key, value) in table.rows() {
            let broken = |error: serde_json::Error| Failure::permanent(format!("the row {key:?} of the symbols cannot be read: {error}"));
            if let Some(namespace) = key.strip_prefix("ns:") {
                index.namespaces.insert(namespace.to_owned());
            } else if key.starts_with("base:") {
                continue;
            } else if let Some(place) = key.strip_prefix("using:") {
                index
                    .globals
                    .insert(place.to_owned(), serde_json::from_slice(value).map_err(broken)?);
            } else {
                index.names.insert(key.to_owned(), serde_json::from_slice(value).map_err(broken)?);
            }
        }
        index.add_types_of_aliases();
        Ok(index)
    }

    /// Adds the types that targets of global aliases name. The mentions of a type cannot request their rows, because only the index knows
    /// global usings. A name that has a row keeps it.
    fn add_types_of_aliases(&mut self) {
        let usings = self.globals.values().flat_map(|globals| &globals.usings);
        let entries = usings
            .filter(|using| using.alias.is_some())
            .flat_map(|using| using.types.iter().chain(&using.within));
        let mut added: BTreeMap<String, Vec<Entry>> = BTreeMap::new();
        for entry in entries {
            let name = simple_name(entry.symbol());
            if !self.names.contains_key(name) {
                added.entry(name.to_owned()).or_default().push(entry.clone());
            }
        }
        for (name, mut entries) in added {
            entries.sort_by(|one, other| one.key.cmp(&other.key));
            entries.dedup_by(|one, other| one.key == other.key);
            self.names.insert(name, entries);
        }
    }

    /// Returns all entries.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.names.values().flatten()
    }

    /// Returns all entries, mutable.
    pub fn entries_mut(&mut self) -> impl Iterator<Item = &mut Entry> {
        self.names.values_mut().flatten()
    }

    /// Returns the entry of a key.
    pub fn by_key(&self, key: &str) -> Option<&Entry> {
        self.types_named(simple_name(key)).iter().find(|entry| entry.key == key)
    }

    /// Returns the types whose dotted full name is `target`, ignoring type arguments.
    pub fn exact(&self, target: &str) -> Vec<Entry> {
        let (path, arity) = super::written::written_name(target);
        self.of_path(&path, arity)
    }

    /// Returns the types of a dotted full name whose last segment has `arity` type parameters.
    pub fn of_path(&self, path: &str, arity: u32) -> Vec<Entry> {
        let path = path.strip_prefix("global::").unwrap_or(path);
        let last = path.rsplit('.').next().unwrap_or(path);
        self.types_named(last)
            .iter()
            .filter(|entry| entry.arity == arity && dotted(entry.symbol()) == path)
            .cloned()
            .collect()
    }
}

/// Returns a symbol in C# notation: without arity marks, `.` for `+`.
pub fn dotted(symbol: &str) -> String {
    let mut text = String::with_capacity(symbol.len());
    let mut mark = false;
    for c in symbol.chars() {
        match c {
            '`' => mark = true,
            c if mark && c.is_ascii_digit() => {}
            '+' => {
                mark = false;
                text.push('.');
            }
            c => {
                mark = false;
                text.push(c);
            }
        }
    }
    text
}
