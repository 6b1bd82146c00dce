//! Updates `//index:symbols` from its last version when few files changed.
//!
//! A type's entry depends on its declarations, but its ancestors depend on the binding of its bases and theirs. So the update binds each
//! type again whose base path contains the name of an added, removed or changed type. It also binds the heirs of these types again (`base:`
//! rows list the types).

use super::changed_files::{ChangedFiles, has_row};
use super::deps::index::{Entry, Globals, Index, NameIndex};
use super::deps::written::written_name;
use super::names::Names;
use super::namespaces::{join_path, levels};
use super::project_ownership::Layout;
use super::symbols::{Symbols, add_part, bases_of_bases, bound_bases, entry, globals_places, named_within, names_on_path};
use super::types::{TypeRow, symbol_of};
use engine::seams::update::{TableChanges, TableUpdate, TableView, UpdatedRows};
use engine::values::json;
use rustc_hash::{FxHashMap, FxHashSet};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of types bound again; with more, the producer reads all files.
const MOST_HEIRS: usize = 2_000;

impl TableUpdate for Symbols {
    fn update(&self, moves: &dyn TableChanges) -> Option<UpdatedRows> {
        let changed = ChangedFiles::from_moves(moves)?;
        // Global usings and friends affect all files of their projects, and projects that alone compile a type have rows of their own.
        if changed
            .versions()
            .any(|names| !names.global_usings.is_empty() || !names.friends.is_empty() || names.types.iter().any(|decl| !decl.of.is_empty()))
        {
            return None;
        }
        let now = moves.digest("types", "")?;
        let before = match moves.changed_inputs("types")? {
            [] => now,
            [moved] => moved.before?,
            _ => return None,
        };
        let mut keys = moves.changed_rows(&before, &now)?;
        let types = moves.table(&now)?;
        for symbol in changed.changed_symbols() {
            if types.row(&symbol)?.is_some() {
                keys.insert(symbol);
            } else if has_row(&*types, &format!("{symbol}@"), |_, _| true)? {
                return None;
            }
        }
        // If several types share a symbol, a file's type depends on all of them.
        if keys.iter().any(|key| key.contains('@')) || has_strays(&changed, moves)? {
            return None;
        }
        let mut update = Update {
            moves,
            changed: &changed,
            types: &*types,
            index: LoadedIndex::default(),
            layout: changed.layout([])?,
            names: FxHashMap::default(),
            rows: BTreeMap::new(),
            shifted: BTreeSet::new(),
        };
        update.replace_entries(&keys)?;
        let targets = update.global_targets()?;
        if targets.iter().any(|target| update.shifted.contains(&target.name)) {
            return None;
        }
        update.bind_heirs(&keys, &targets)?;
        Some(UpdatedRows {
            rows: update.into_rows()?,
            ..UpdatedRows::default()
        })
    }
}

/// Whether one of the files has or had a `using:` row of its own, because its owner is not the nearest project.
fn has_strays(changed: &ChangedFiles<'_>, moves: &dyn TableChanges) -> Option<bool> {
    let layout = changed.layout(changed.paths())?;
    for file in changed.paths() {
        let strays = changed.now.contains_key(file) && layout.project_above(file) != layout.owner(file);
        if strays || moves.last().row(&format!("using:{file}"))?.is_some() {
            return Some(true);
        }
    }
    Some(false)
}

/// Returns the simple name of the type under a key.
fn name_of(key: &str) -> &str {
    let symbol = symbol_of(key);
    let last = symbol.rsplit(['.', '+']).next().unwrap_or(symbol);
    last.split('`').next().unwrap_or(last)
}

/// A type that a global using names.
struct GlobalTarget {
    /// Simple name of the type.
    name: String,
    /// Alias; without one, the using opens the type's static members.
    alias: Option<String>,
}

/// An update in progress.
struct Update<'u> {
    moves: &'u dyn TableChanges,
    changed: &'u ChangedFiles<'u>,
    types: &'u dyn TableView,
    /// The rows read so far, as updated; entries without their ancestors.
    index: LoadedIndex,
    /// Owners of the files read so far.
    layout: Layout,
    /// Names of the files read so far.
    names: FxHashMap<String, Option<Names>>,
    /// Changed rows by key, except rows of simple names.
    rows: BTreeMap<String, Option<Vec<u8>>>,
    /// Names whose meaning on the path of a base may have changed.
    shifted: BTreeSet<String>,
}

impl Update<'_> {
    /// Replaces the entries of these types, and the rows that depend on their declarations alone.
    fn replace_entries(&mut self, keys: &BTreeSet<String>) -> Option<()> {
        let mut files: BTreeSet<String> = BTreeSet::new();
        let mut types: Vec<(&String, TypeRow)> = Vec::new();
        for key in keys {
            self.index.load_names(self.moves.last(), name_of(key))?;
            if let Some(row) = self.types.row(key)? {
                let row: TypeRow = serde_json::from_slice(&row).ok()?;
                files.extend(row.files.iter().cloned());
                types.push((key, row));
            }
        }
        self.read_files(&files)?;
        let mut old: Vec<Entry> = Vec::new();
        for key in keys {
            if let Some(entries) = self.index.names.names.get_mut(name_of(key)) {
                old.extend(entries.extract_if(.., |entry| entry.key == *key));
            }
        }
        let mut new: Vec<Entry> = Vec::new();
        for (key, row) in types {
            if let Some(entry) = self.declared_entry(key, &row) {
                let named = self.index.names.names.entry(name_of(key).to_owned()).or_default();
                let at = named.partition_point(|other| other.key < entry.key);
                named.insert(at, entry.clone());
                new.push(entry);
            }
        }
        self.shifted
            .extend(old.iter().chain(&new).map(|entry| name_of(&entry.key).to_owned()));
        self.note_namespaces(&old, &new)?;
        self.note_bases(&old, &new)?;
        // Only types with nested types are ancestors, so their set may change.
        let enclosers = old.iter().chain(&new).filter_map(|entry| entry.encloser.as_deref());
        self.shifted.extend(enclosers.map(|encloser| name_of(encloser).to_owned()));
        Some(())
    }

    fn declared_entry(&self, key: &str, row: &TypeRow) -> Option<Entry> {
        let mut found: Option<Entry> = None;
        for file in &row.files {
            let Some(Some(names)) = self.names.get(file) else { continue };
            for decl in &names.types {
                if join_path(&decl.namespace, &decl.path) == symbol_of(key) {
                    let entry = found.get_or_insert_with(|| entry(key, row, decl, (file, names.is_app), &self.layout));
                    add_part(entry, decl, file, &self.layout);
                }
            }
        }
        found
    }

    /// Reads the names and the owners of files not read yet.
    fn read_files(&mut self, files: &BTreeSet<String>) -> Option<()> {
        let unread: Vec<&str> = files
            .iter()
            .map(String::as_str)
            .filter(|file| !self.names.contains_key(*file))
            .collect();
        if unread.is_empty() {
            return Some(());
        }
        self.changed.add_owners(&mut self.layout, unread.iter().copied())?;
        let read = self.changed.names_of(unread.iter().copied())?;
        for file in unread {
            self.names.insert(file.to_owned(), None);
        }
        for (file, names) in read {
            self.names.insert(file.to_owned(), Some(names));
        }
        Some(())
    }

    /// Adds and removes rows of namespaces.
    fn note_namespaces(&mut self, old: &[Entry], new: &[Entry]) -> Option<()> {
        let namespaces: BTreeSet<&str> = old.iter().chain(new).flat_map(|entry| levels(&entry.namespace)).collect();
        for level in namespaces.into_iter().filter(|level| !level.is_empty()) {
            let row = format!("ns:{level}");
            let is = has_row(self.types, &format!("{level}."), |_, _| true)?;
            if self.moves.last().row(&row)?.is_some() != is {
                self.shifted.extend(level.split('.').map(str::to_owned));
                self.rows.insert(row, is.then(|| b"{}".to_vec()));
            }
            self.index.known.insert(format!("ns:{level}"));
            if is {
                self.index.names.namespaces.insert(level.to_owned());
            }
        }
        Some(())
    }

    /// Updates the rows that list the types whose base paths contain a name.
    fn note_bases(&mut self, old: &[Entry], new: &[Entry]) -> Option<()> {
        let names = |entry: &Entry| -> BTreeSet<String> { entry.bases.iter().flat_map(|base| names_on_path(base)).collect() };
        let mut writers: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (entry, is_there) in old.iter().map(|entry| (entry, false)).chain(new.iter().map(|entry| (entry, true))) {
            for name in names(entry) {
                let of_name = match writers.entry(name) {
                    std::collections::btree_map::Entry::Occupied(known) => known.into_mut(),
                    std::collections::btree_map::Entry::Vacant(unknown) => {
                        let row = self.moves.last().row(&format!("base:{}", unknown.key()))?;
                        unknown.insert(writers_in(row.as_deref())?)
                    }
                };
                match is_there {
                    true => of_name.insert(entry.key.clone()),
                    false => of_name.remove(&entry.key),
                };
            }
        }
        for (name, writers) in writers {
            self.rows
                .insert(format!("base:{name}"), (!writers.is_empty()).then(|| json::encode(&writers)));
        }
        Some(())
    }

    /// Returns the types whose base paths contain a name.
    fn writers(&self, name: &str) -> Option<BTreeSet<String>> {
        let row = format!("base:{name}");
        match self.rows.get(&row) {
            Some(changed) => writers_in(changed.as_deref()),
            None => writers_in(self.moves.last().row(&row)?.as_deref()),
        }
    }

    /// Returns the types that global usings name, by an alias or for their static members.
    fn global_targets(&self) -> Option<Vec<GlobalTarget>> {
        let mut targets = Some(Vec::new());
        self.moves.last().rows_from("using:", &mut |key, value| {
            if !key.starts_with("using:") {
                return false;
            }
            let globals: Option<Globals> = serde_json::from_slice(value).ok();
            let Some((globals, found)) = globals.zip(targets.as_mut()) else {
                targets = None;
                return false;
            };
            let bound = globals.usings.into_iter().filter(|using| using.alias.is_some() || using.is_static);
            for using in bound {
                // The row of an alias also contains the types that its target names inside.
                let within = using.alias.iter().flat_map(|_| named_within(&using.target));
                let paths = std::iter::once(written_name(&using.target)).chain(within);
                found.extend(paths.map(|(path, _)| GlobalTarget {
                    name: path.rsplit(['.', ':']).next().unwrap_or(&path).to_owned(),
                    alias: using.alias.clone(),
                }));
            }
            true
        })?;
        targets
    }

    /// Binds the ancestors of the changed types, and of all types whose bases may have another meaning. An alias counts as a name of its target.
    fn bind_heirs(&mut self, keys: &BTreeSet<String>, targets: &[GlobalTarget]) -> Option<()> {
        let mut open: Vec<String> = self.shifted.iter().cloned().collect();
        let mut seen: FxHashSet<String> = self.shifted.iter().cloned().collect();
        let mut heirs: BTreeSet<String> = keys.clone();
        while let Some(name) = open.pop() {
            for target in targets.iter().filter(|target| target.name == name) {
                let alias = target.alias.as_ref()?;
                if seen.insert(alias.clone()) {
                    open.push(alias.clone());
                }
            }
            for writer in self.writers(&name)? {
                let own = name_of(&writer).to_owned();
                heirs.insert(writer);
                if seen.insert(own.clone()) {
                    open.push(own);
                }
            }
            if heirs.len() > MOST_HEIRS {
                return None;
            }
        }
        let mut bases: FxHashMap<String, Vec<String>> = FxHashMap::default();
        let mut nested: FxHashMap<String, bool> = FxHashMap::default();
        for heir in heirs {
            self.index.load_names(self.moves.last(), name_of(&heir))?;
            let mut lost = false;
            let mut ancestors = bases_of_bases(&heir, |key| match bases.get(key) {
                Some(known) => known.clone(),
                None => {
                    let found = self.bases_of(key);
                    lost |= found.is_none();
                    let found = found.unwrap_or_default();
                    bases.insert(key.to_owned(), found.clone());
                    found
                }
            });
            if lost {
                return None;
            }
            for base in &ancestors {
                if !nested.contains_key(base) {
                    nested.insert(base.clone(), self.has_nested(symbol_of(base))?);
                }
            }
            ancestors.retain(|base| nested[base]);
            self.index.ancestors.insert(heir, ancestors);
        }
        Some(())
    }

    fn bases_of(&mut self, key: &str) -> Option<Vec<String>> {
        if key.contains('@') {
            return None;
        }
        let Some(row) = self.types.row(key)? else { return Some(Vec::new()) };
        let row: TypeRow = serde_json::from_slice(&row).ok()?;
        let files: BTreeSet<String> = row.files.iter().cloned().collect();
        self.read_files(&files)?;
        self.index.load_names(self.moves.last(), name_of(key))?;
        let mut bases = Vec::new();
        for file in &files {
            let Some(names) = self.names.get_mut(file).and_then(Option::take) else {
                continue;
            };
            for decl in names.types.iter().filter(|decl| !decl.bases.is_empty()) {
                if join_path(&decl.namespace, &decl.path) == key {
                    let index = &mut self.index;
                    let places = globals_places(&self.layout, key, file, decl);
                    for place in &places {
                        index.load_globals(self.moves.last(), place)?;
                    }
                    bases.extend(index.repeat_until_loaded(self.moves.last(), |index| {
                        let globals = places.iter().find_map(|place| index.names.globals.get(place));
                        bound_bases(index, globals, &self.layout, file, decl)
                    })?);
                }
            }
            self.names.insert(file.clone(), Some(names));
        }
        Some(bases)
    }

    /// Whether a type has nested types that other code can see.
    fn has_nested(&self, symbol: &str) -> Option<bool> {
        let start = format!("{symbol}+");
        has_row(self.types, &start, |key, row| {
            let is_direct = !symbol_of(key)[start.len().min(symbol_of(key).len())..].contains('+');
            let row: Option<TypeRow> = serde_json::from_slice(row).ok();
            is_direct && row.is_some_and(|row| row.accessibility != "private")
        })
    }

    fn into_rows(mut self) -> Option<BTreeMap<String, Option<Vec<u8>>>> {
        for (name, mut entries) in self.index.names.names {
            for entry in &mut entries {
                if let Some(ancestors) = self.index.ancestors.remove(&entry.key) {
                    entry.ancestors = ancestors;
                }
            }
            let row = (!entries.is_empty()).then(|| json::encode(&entries));
            if self.moves.last().row(&name)?.as_deref() != row.as_deref() {
                self.rows.insert(name, row);
            }
        }
        Some(self.rows)
    }
}

fn writers_in(row: Option<&[u8]>) -> Option<BTreeSet<String>> {
    row.map_or(Some(BTreeSet::new()), |row| serde_json::from_slice(row).ok())
}

/// The rows read from the last table.
#[derive(Default)]
struct LoadedIndex {
    /// Names, namespaces and global usings; entries without ancestors, as while bases are bound.
    names: NameIndex,
    /// Ancestors of entries, by key.
    ancestors: FxHashMap<String, Vec<String>>,
    /// Keys of the rows that are loaded or known not to exist.
    known: FxHashSet<String>,
    /// Requested keys that are not known yet.
    missing: RefCell<BTreeSet<String>>,
}

impl LoadedIndex {
    fn load_names(&mut self, last: &dyn TableView, name: &str) -> Option<()> {
        if self.known.insert(name.to_owned())
            && let Some(row) = last.row(name)?
        {
            let mut entries: Vec<Entry> = serde_json::from_slice(&row).ok()?;
            for entry in &mut entries {
                let ancestors = std::mem::take(&mut entry.ancestors);
                self.ancestors.insert(entry.key.clone(), ancestors);
            }
            self.names.names.insert(name.to_owned(), entries);
        }
        Some(())
    }

    fn load_globals(&mut self, last: &dyn TableView, place: &str) -> Option<()> {
        let key = format!("using:{place}");
        if !self.known.contains(&key)
            && let Some(row) = last.row(&key)?
        {
            self.names.globals.insert(place.to_owned(), serde_json::from_slice(&row).ok()?);
        }
        self.known.insert(key);
        Some(())
    }

    /// Repeats `ask` until all rows that it requests are loaded.
    fn repeat_until_loaded<T>(&mut self, last: &dyn TableView, ask: impl Fn(&Self) -> T) -> Option<T> {
        loop {
            let answer = ask(self);
            let missing = self.missing.take();
            if missing.is_empty() {
                return Some(answer);
            }
            for key in missing {
                match key.strip_prefix("ns:") {
                    Some(namespace) => {
                        if last.row(&key)?.is_some() {
                            self.names.namespaces.insert(namespace.to_owned());
                        }
                        self.known.insert(key);
                    }
                    None => self.load_names(last, &key)?,
                }
            }
        }
    }
}

impl Index for LoadedIndex {
    fn types_named(&self, name: &str) -> &[Entry] {
        if !self.known.contains(name) {
            self.missing.borrow_mut().insert(name.to_owned());
        }
        self.names.types_named(name)
    }

    fn has_namespace(&self, namespace: &str) -> bool {
        let key = format!("ns:{namespace}");
        if !self.known.contains(&key) {
            self.missing.borrow_mut().insert(key);
        }
        self.names.has_namespace(namespace)
    }
}
