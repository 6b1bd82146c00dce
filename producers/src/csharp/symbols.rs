//! `csharp/symbols`: the table that names are bound with; each reader depends on the rows it asks for.
//!
//! Rows: a simple name → array of the types declared under it; `base:NAME` → keys of the types that write a base with that name on its path;
//! `ns:A.B` → `{}` for every namespace and those around it; `using:DIR` →
//! the project whose file lies in `DIR`, what it references and its global usings; `using:FILE` → the same for a file that another
//! project owns than the nearest (linked and left out files); `using:?` → global usings of loose files.
//! Entries carry the bases that have nested types (`ancestors`), because nested types are inherited and a reader cannot ask for rows
//! of bases that it does not write down.

use super::deps::binder::{Binder, Bound, Surroundings};
use super::deps::index::{Entry, GlobalUsing, Globals, Index, NameIndex};
use super::friends::ANY;
use super::layout::{Layout, WrittenUsing, directory};
use super::mentions::{Place, join_path, levels};
use super::names::{NamedType, Names};
use super::structure::check_flags;
use super::types::{TypeRow, decode_all, json, symbol_of};
use engine::seams::producer::{Failure, Inputs, Output, ParamError, Params, Producer, ProducerId};
use engine::seams::update::TableUpdate;
use engine::values::table::{Table, write_table};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};

/// How long a chain of bases is followed.
const LONGEST_CHAIN: usize = 32;

/// Of how many types of one name a base may be.
const MOST_NEAR: usize = 4;

/// The producer `csharp/symbols`.
#[derive(Debug)]
pub struct Symbols;

impl Producer for Symbols {
    fn id(&self) -> ProducerId {
        ProducerId::new("csharp/symbols", 11)
    }

    fn check(&self, params: &Params) -> Result<(), Vec<ParamError>> {
        check_flags(params, &[])
    }

    fn update(&self) -> Option<&dyn TableUpdate> {
        Some(self)
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        let files = decode_all(inputs.all("names"))?;
        let layout = Layout::read(inputs.all("projects"), inputs.maybe("files"))?;
        let types = inputs.single("types")?;
        let table = Table::open(&types.bytes).ok_or_else(|| Failure::permanent("input 'types' is not a table"))?;
        let mut index = declare(&files, &layout, table)?;
        global_usings(&mut index, &files, &layout);
        inherit(&mut index, &files, &layout);
        Ok(Output::new(write_table(&rows(&index))))
    }
}

/// The keys of a symbol: by file where several types share it.
type Keys<'a> = FxHashMap<(&'a str, &'a str), &'a str>;

/// Keys by (symbol, file), read back from the table of types; of a part that several projects share, that of the type with the fewest files.
fn keys_by_file<'a>(table: &[(&'a str, &'a TypeRow)]) -> Keys<'a> {
    let mut found: FxHashMap<(&str, &str), (usize, &str)> = FxHashMap::default();
    for (key, row) in table {
        for file in &row.files {
            let of = (row.files.len(), *key);
            let known = found.entry((symbol_of(key), file.as_str())).or_insert(of);
            *known = of.min(*known);
        }
    }
    found.into_iter().map(|(place, (_, key))| (place, key)).collect()
}

/// An entry for every type, without ancestors.
fn declare(files: &[(&str, Names)], layout: &Layout, table: Table<'_>) -> Result<NameIndex, Failure> {
    let mut rows = Vec::with_capacity(table.len());
    for (key, value) in table.rows() {
        let row: TypeRow =
            serde_json::from_slice(value).map_err(|error| Failure::permanent(format!("the row of {key} cannot be read: {error}")))?;
        rows.push((key, row));
    }
    let listed: Vec<(&str, &TypeRow)> = rows.iter().map(|(key, row)| (*key, row)).collect();
    let keys = keys_by_file(&listed);
    let by_key: FxHashMap<&str, &TypeRow> = listed.iter().copied().collect();
    let mut index = NameIndex::default();
    let mut entries: BTreeMap<&str, (String, Entry)> = BTreeMap::new();
    for (file, names) in files {
        for decl in &names.types {
            let symbol = join_path(&decl.namespace, &decl.path);
            let Some(key) = keys.get(&(symbol.as_str(), *file)) else { continue };
            let row = by_key[key];
            let (_, entry) = entries
                .entry(key)
                .or_insert_with(|| (decl.name.clone(), entry(key, row, decl, (file, names.is_app), layout)));
            add_part(entry, decl, layout.also(file));
        }
    }
    for (_, (name, entry)) in entries {
        for level in levels(&entry.namespace).filter(|level| !level.is_empty()) {
            index.namespaces.insert(level.to_owned());
        }
        index.names.entry(name).or_default().push(entry);
    }
    Ok(index)
}

/// Adds a declaration to the entry of its type: its bases, and other projects that compile its file.
pub(super) fn add_part(entry: &mut Entry, decl: &NamedType, also: &[String]) {
    for project in also.iter().filter(|_| decl.of.is_none()) {
        if let Err(at) = entry.also.binary_search(project) {
            entry.also.insert(at, project.clone());
        }
    }
    for base in &decl.bases {
        if !entry.bases.contains(base) {
            entry.bases.push(base.clone());
        }
    }
}

/// The entry of a type, from its first declaration, without what its [parts](add_part) add.
pub(super) fn entry(key: &str, row: &TypeRow, decl: &NamedType, (file, is_app): (&str, bool), layout: &Layout) -> Entry {
    let is_alone = is_app && layout.owner(file).is_none();
    let is_of_file = row.accessibility == "file" || decl.path.contains('+') && key.ends_with(file);
    Entry {
        accessibility: row.accessibility.clone(),
        also: Vec::new(),
        ancestors: Vec::new(),
        arity: u32::try_from(row.arity).unwrap_or(u32::MAX),
        bases: Vec::new(),
        encloser: decl.path.rsplit_once('+').map(|(outer, _)| join_path(&decl.namespace, outer)),
        file: (is_alone || is_of_file).then(|| file.to_owned()),
        id: row.id.clone(),
        key: key.to_owned(),
        namespace: row.namespace.clone(),
        project: layout.compiler(decl.of.as_deref(), file).map(|at| layout.projects[at].path.clone()),
        value: matches!(row.kind.as_str(), "struct" | "record struct" | "enum"),
    }
}

/// Fills in the `using:` rows.
fn global_usings(index: &mut NameIndex, files: &[(&str, Names)], layout: &Layout) {
    let mut of_owner: BTreeMap<Option<usize>, BTreeSet<WrittenUsing>> = BTreeMap::new();
    of_owner.entry(None).or_default();
    for (at, project) in layout.projects.iter().enumerate() {
        of_owner.entry(Some(at)).or_default().extend(project.usings.iter().cloned());
    }
    for (file, names) in files {
        let globals = names.global_usings.iter();
        of_owner
            .entry(layout.owner(file))
            .or_default()
            .extend(globals.map(|using| (using.alias.clone(), using.target.clone(), using.is_static)));
    }
    let friends = friends(files, layout);
    let mut strays: BTreeMap<Option<usize>, Vec<&str>> = BTreeMap::new();
    for (file, owner) in layout.strays() {
        strays.entry(owner).or_default().push(file);
    }
    for (owner, usings) in of_owner {
        let project = owner.map(|at| &layout.projects[at]);
        let place = project.map_or("?", |project| directory(&project.path));
        let usings = usings.into_iter().map(|(alias, target, is_static)| {
            let types = if alias.is_some() || is_static {
                index.exact(&target)
            } else {
                Vec::new()
            };
            GlobalUsing {
                alias,
                is_static,
                target,
                types,
            }
        });
        let sees = |path: &&String| {
            let assembly = project.map_or("", |project| project.assembly.as_str()).to_lowercase();
            friends.get(path.as_str()).is_some_and(|friends| friends.contains(&assembly))
        };
        let row = Globals {
            friends: project
                .into_iter()
                .flat_map(|project| &project.references)
                .filter(sees)
                .cloned()
                .collect(),
            project: project.map(|project| project.path.clone()),
            references: project.map(|project| project.references.clone()).unwrap_or_default(),
            usings: usings.collect(),
        };
        for file in strays.get(&owner).into_iter().flatten() {
            index.globals.insert((*file).to_owned(), row.clone());
        }
        // Of several projects in one directory the first has its row; files of the others have rows of their own.
        if project.is_none_or(|project| layout.nearest(&project.path) == owner) {
            index.globals.insert(place.to_owned(), row);
        }
    }
}

/// By path of a project the assemblies that see its internal types, in lower case; all of the workspace where the text does not say which.
pub fn friends<'l, F: AsRef<str>>(files: &[(F, Names)], layout: &'l Layout) -> BTreeMap<&'l str, BTreeSet<String>> {
    let mut friends: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    let all = || layout.projects.iter().map(|project| project.assembly.to_lowercase());
    for project in &layout.projects {
        let named = project.internals_visible_to.iter();
        let names = named.map(|name| name.split(',').next().unwrap_or_default().trim().to_lowercase());
        friends.entry(&project.path).or_default().extend(names);
    }
    for (file, names) in files.iter().filter(|(_, names)| !names.friends.is_empty()) {
        let file = file.as_ref();
        let owner = layout.owner(file).map(|at| layout.projects[at].path.as_str());
        let also = layout
            .also(file)
            .iter()
            .filter_map(|path| layout.projects.iter().find(|project| project.path == *path));
        for path in owner.into_iter().chain(also.map(|project| project.path.as_str())) {
            let known = friends.entry(path).or_default();
            for name in &names.friends {
                match name == ANY {
                    true => known.extend(all()),
                    false => _ = known.insert(name.to_lowercase()),
                }
            }
        }
    }
    friends
}

/// Fills in ancestors: bases with nested types, nearest first.
fn inherit(index: &mut NameIndex, files: &[(&str, Names)], layout: &Layout) {
    let with_nested: BTreeSet<String> = index
        .entries()
        .filter(|entry| entry.accessibility != "private")
        .filter_map(|entry| entry.encloser.clone())
        .collect();
    if with_nested.is_empty() {
        return;
    }
    let mut bases_of: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (file, names) in files {
        for decl in names.types.iter().filter(|decl| !decl.bases.is_empty()) {
            if let Some(own) = own_entry(index, layout, file, decl) {
                let own = own.key.clone();
                let bases = bound_bases(&*index, globals_of(index, layout, file), layout, file, decl);
                bases_of.entry(own).or_default().extend(bases);
            }
        }
    }
    let of = |key: &str| bases_of.get(key).cloned().unwrap_or_default();
    for entry in index.entries_mut() {
        entry.ancestors = bases_of_bases(&entry.key, of);
        entry.ancestors.retain(|base| with_nested.contains(symbol_of(base)));
    }
}

/// The entry of the type that a declaration in a file is a part of.
pub(super) fn own_entry<'i>(index: &'i NameIndex, layout: &Layout, file: &str, decl: &NamedType) -> Option<&'i Entry> {
    let symbol = join_path(&decl.namespace, &decl.path);
    index.entry_seen_from(&decl.name, &symbol, project_of(layout, file), file)
}

fn project_of<'l>(layout: &'l Layout, file: &str) -> Option<&'l str> {
    layout.owner(file).map(|at| layout.projects[at].path.as_str())
}

/// The global usings of a file.
pub(super) fn globals_of<'i>(index: &'i NameIndex, layout: &Layout, file: &str) -> Option<&'i Globals> {
    index.globals.get(file).or_else(|| index.globals.get(globals_place(layout, file)))
}

/// Where the global usings of a file stand that has none of its own.
pub(super) fn globals_place<'l>(layout: &'l Layout, file: &str) -> &'l str {
    layout.owner(file).map_or("?", |at| directory(&layout.projects[at].path))
}

/// What the bases are that a declaration writes.
pub(super) fn bound_bases(index: &dyn Index, globals: Option<&Globals>, layout: &Layout, file: &str, decl: &NamedType) -> Vec<String> {
    let enclosing: Vec<String> = enclosing(decl);
    let binder = Binder::new(index);
    let around = Surroundings {
        namespace: &decl.namespace,
        usings: &[],
        enclosing: &enclosing,
        project: project_of(layout, file),
        file,
        globals,
    };
    let bound = decl.bases.iter().flat_map(|base| {
        let (path, arity) = written_name(base);
        match binder.bind(&around, &path, arity, Place::Base, true) {
            Bound::Type(entry) => vec![entry],
            Bound::External => near(index, &path, arity, &around),
            Bound::Ambiguous(_) => Vec::new(),
        }
    });
    bound.map(|entry| entry.key.clone()).collect()
}

/// Using directives of files are not in `:names` (their edits stop there), so a base that neither namespaces nor global usings find
/// may be any type of that name that its project and what it references declare. With a few of them all count: a nested type of a name is
/// looked for in each, and hardly ever in the wrong one.
fn near<'a>(index: &'a dyn Index, path: &str, arity: u32, around: &Surroundings<'_>) -> Vec<&'a Entry> {
    let references: &[String] = around.globals.map_or(&[], |globals| &globals.references);
    let near = |entry: &&Entry| {
        entry.arity == arity
            && entry.encloser.is_none()
            && (entry.is_of(around.project) || references.iter().any(|path| entry.is_of(Some(path))))
    };
    let found: Vec<&Entry> = index.types_named(path).iter().filter(near).take(MOST_NEAR + 1).collect();
    if found.len() > MOST_NEAR { Vec::new() } else { found }
}

fn enclosing(decl: &NamedType) -> Vec<String> {
    let mut enclosing: Vec<String> = decl
        .path
        .match_indices('+')
        .map(|(at, _)| join_path(&decl.namespace, &decl.path[..at]))
        .collect();
    enclosing.push(join_path(&decl.namespace, &decl.path));
    enclosing
}

/// Bases breadth first, each once; never more than [`LONGEST_CHAIN`] steps.
pub(super) fn bases_of_bases(key: &str, mut bases_of: impl FnMut(&str) -> Vec<String>) -> Vec<String> {
    let mut seen: Vec<String> = vec![key.to_owned()];
    let mut at = 0;
    while at < seen.len() && at < LONGEST_CHAIN {
        for base in bases_of(&seen[at]) {
            if !seen.contains(&base) && seen.len() <= LONGEST_CHAIN {
                seen.push(base);
            }
        }
        at += 1;
    }
    seen.remove(0);
    seen
}

/// The names on the path of a base as it is written, each of which may decide what it means.
pub(super) fn names_on_path(base: &str) -> BTreeSet<String> {
    let (path, _) = written_name(base);
    path.split([':', '.']).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// The dotted path and the arity of the last segment of a type as written (`A.B<C, D>.E<F>` → `A.B.E`, 1).
pub fn written_name(text: &str) -> (String, u32) {
    let (mut path, mut arity, mut depth, mut commas) = (String::new(), 0, 0_u32, 0);
    for c in text.chars() {
        match c {
            '<' => {
                depth += 1;
                if depth == 1 {
                    commas = 0;
                }
            }
            '>' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    arity = commas + 1;
                }
            }
            ',' if depth == 1 => commas += 1,
            '(' | '[' if depth == 0 => break,
            _ if depth > 0 || c.is_whitespace() || c == '?' || c == '@' => {}
            '.' => {
                arity = 0;
                path.push(c);
            }
            c => path.push(c),
        }
    }
    (path, arity)
}

fn rows(index: &NameIndex) -> BTreeMap<String, Vec<u8>> {
    let mut rows: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    let mut writers: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for (name, entries) in &index.names {
        rows.insert(name.clone(), json(entries));
        for entry in entries {
            for name in entry.bases.iter().flat_map(|base| names_on_path(base)) {
                writers.entry(name).or_default().insert(&entry.key);
            }
        }
    }
    for (name, writers) in &writers {
        rows.insert(format!("base:{name}"), json(writers));
    }
    for namespace in &index.namespaces {
        rows.insert(format!("ns:{namespace}"), b"{}".to_vec());
    }
    for (place, globals) in &index.globals {
        rows.insert(format!("using:{place}"), json(globals));
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_names() {
        for (text, expected) in [
            ("A", ("A", 0)),
            ("A.B<C, D>", ("A.B", 2)),
            ("A<B<C, D>>.E", ("A.E", 0)),
            ("global::A.B", ("global::A.B", 0)),
            ("A<,>", ("A", 2)),
            ("A(x, y)", ("A", 0)),
            ("A<<<", ("A", 0)),
        ] {
            let (path, arity) = written_name(text);
            assert_eq!((path.as_str(), arity), expected, "{text}");
        }
    }
}
