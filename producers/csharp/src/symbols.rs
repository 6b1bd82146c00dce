//! `csharp/symbols`: the table by which binding resolves names. Each reader depends only on the rows that it requests.
//!
//! Rows:
//! - a simple name → array of the types declared under it;
//! - `base:NAME` → keys of the types that write a base with that name on its path;
//! - `ns:A.B` → `{}` for every namespace and the namespaces around it;
//! - `using:DIR` → the project whose file is in `DIR`, the projects that it references, and its global usings;
//! - `using:FILE` → the same for a file that does not belong to the nearest project (linked files, and files left out);
//! - `using:@PROJECT` → the same for a project whose name or path follows `@` in keys of types;
//! - `using:?` → global usings of loose files.
//!
//! Entries list the bases that have nested types (`ancestors`): nested types are inherited, and a reader cannot request rows of bases that
//! it does not name.

use super::code::{self, ast::TypeRef};
use super::deps::binder::{Binder, Bound, Surroundings};
use super::deps::index::{Entry, GlobalUsing, Globals, Index, NameIndex};
use super::deps::written::written_name;
use super::mention_model::Place;
use super::names::{NamedType, Names};
use super::namespaces::{join_path, levels};
use super::parse::friends::ANY;
use super::project_ownership::{Layout, WrittenUsing, directory};
use super::types::{TypeRow, decode_all, scope_of, symbol_of};
use engine::seams::producer::{Failure, Inputs, Output, Producer, ProducerId};
use engine::seams::update::TableUpdate;
use engine::values::json;
use engine::values::table::{Table, write_table};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Maximum length of a chain of bases.
const LONGEST_CHAIN: usize = 32;

/// Maximum number of types of one name that all count as the base; with more, none does.
const MOST_NEAR: usize = 4;

/// The producer `csharp/symbols`.
#[derive(Debug)]
pub struct Symbols;

impl Producer for Symbols {
    fn id(&self) -> ProducerId {
        ProducerId::new("csharp/symbols", 18)
    }

    fn update(&self) -> Option<&dyn TableUpdate> {
        Some(self)
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        let files = decode_all(inputs.all("names"))?;
        let layout = Layout::from_inputs(inputs.all("projects"), inputs.maybe("files"))?;
        let types = inputs.single("types")?;
        let table = Table::open(&types.bytes).ok_or_else(|| Failure::permanent("input 'types' is not a table"))?;
        let mut declared = Vec::with_capacity(table.len());
        for (key, value) in table.rows() {
            let row: TypeRow =
                serde_json::from_slice(value).map_err(|error| Failure::permanent(format!("the row of {key} cannot be read: {error}")))?;
            declared.push((key, row));
        }
        let keys = keys_by_file(&declared);
        let mut index = declare(&files, &layout, &declared, &keys);
        let scopes: BTreeSet<&str> = declared.iter().filter_map(|(key, _)| scope_of(key)).collect();
        global_usings(&mut index, &files, &layout, &scopes);
        inherit(&mut index, &files, &layout, &keys);
        Ok(Output::new(write_table(&index_rows(&index))))
    }
}

/// Keys and rows of the types to which a symbol refers in a file: several for a part that several projects share.
type Keys<'a> = FxHashMap<(&'a str, &'a str), Vec<(&'a str, &'a TypeRow)>>;

fn keys_by_file<'a>(table: &'a [(&'a str, TypeRow)]) -> Keys<'a> {
    let mut found: Keys<'a> = FxHashMap::default();
    for (key, row) in table {
        for file in &row.files {
            found.entry((symbol_of(key), file.as_str())).or_default().push((*key, row));
        }
    }
    found
}

/// Returns an index with an entry for every type, without ancestors.
fn declare<'a>(files: &[(&str, Names)], layout: &Layout, rows: &'a [(&'a str, TypeRow)], keys: &Keys<'a>) -> NameIndex {
    let mut index = NameIndex::default();
    let mut entries: BTreeMap<&str, (String, Entry)> = BTreeMap::new();
    for (file, names) in files {
        for decl in &names.types {
            let symbol = join_path(&decl.namespace, &decl.path);
            for (key, row) in keys.get(&(symbol.as_str(), *file)).into_iter().flatten() {
                let (_, entry) = entries
                    .entry(key)
                    .or_insert_with(|| (decl.name.clone(), entry(key, row, decl, (file, names.is_app), layout)));
                add_part(entry, decl, file, layout);
            }
        }
    }
    for same in rows
        .chunk_by(|(one, _), (other, _)| symbol_of(one) == symbol_of(other))
        .filter(|same| same.len() > 1)
    {
        let chosen = types_of_projects(same, layout);
        for (key, _) in same {
            if let Some((_, entry)) = entries.get_mut(key) {
                let own = chosen
                    .iter()
                    .filter(|(path, chosen)| *chosen == key && Some(**path) != entry.project.as_deref());
                entry.also = own.map(|(path, _)| (*path).to_owned()).collect();
            }
        }
    }
    for (_, (name, entry)) in entries {
        for level in levels(&entry.namespace).filter(|level| !level.is_empty()) {
            index.namespaces.insert(level.to_owned());
        }
        index.names.entry(name).or_default().push(entry);
    }
    index
}

/// Returns, for each project that compiles a part of one of these types of one symbol, its own type. That is the type whose home is the
/// project. Without one, it is the type with most files that the project compiles and, among these, with fewest other files.
fn types_of_projects<'a>(same: &[(&'a str, TypeRow)], layout: &'a Layout) -> BTreeMap<&'a str, &'a str> {
    /// Whether the project is the type's home, number of files that the project compiles, number of all files.
    type Rank = (bool, usize, Reverse<usize>);
    let mut best: BTreeMap<&str, (Rank, &str)> = BTreeMap::new();
    for (key, row) in same {
        let home = row
            .project
            .as_deref()
            .and_then(|id| layout.with_id(id))
            .map(|project| project.path.as_str());
        let mut compiled: BTreeMap<&str, usize> = home.map(|home| (home, 0)).into_iter().collect();
        for file in &row.files {
            let owner = layout.owner(file).map(|at| layout.projects[at].path.as_str());
            for project in owner.into_iter().chain(layout.also(file).iter().map(String::as_str)) {
                *compiled.entry(project).or_default() += 1;
            }
        }
        for (project, count) in compiled {
            let rank = (home == Some(project), count, Reverse(row.files.len()));
            let known = best.entry(project).or_insert((rank, key));
            if rank > known.0 {
                *known = (rank, key);
            }
        }
    }
    best.into_iter().map(|(project, (_, key))| (project, key)).collect()
}

/// Adds a declaration to the entry of its type: its bases, and other projects that compile its file.
pub(super) fn add_part(entry: &mut Entry, decl: &NamedType, file: &str, layout: &Layout) {
    let home = layout.compiler(&decl.of, file).map(|at| &layout.projects[at].path);
    // A part that another project's type shares adds no project: [`types_of_projects`] assigns those.
    if home == entry.project.as_ref() {
        for project in layout.other_compilers(decl, file) {
            if let Err(at) = entry.also.binary_search(project) {
                entry.also.insert(at, project.clone());
            }
        }
    }
    for base in &decl.bases {
        if !entry.bases.contains(base) {
            entry.bases.push(base.clone());
        }
    }
}

/// Returns the entry of a type from its first declaration, without the facts that its [parts](add_part) add.
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
        project: row
            .project
            .as_deref()
            .and_then(|id| layout.with_id(id))
            .map(|project| project.path.clone()),
        value: matches!(row.kind.as_str(), "struct" | "record struct" | "enum"),
    }
}

/// Returns the target of a global using, which `global::` may precede.
fn from_root(target: &str) -> String {
    target.strip_prefix("global::").unwrap_or(target).to_owned()
}

/// Returns a global using with the types of the workspace that it names.
fn bind_global_using(index: &NameIndex, (alias, target, is_static): WrittenUsing) -> GlobalUsing {
    let (mut types, mut within) = (Vec::new(), Vec::new());
    if alias.is_some() || is_static {
        types = index.exact(&target);
    }
    if alias.is_some() {
        let named = named_within(&target);
        within = named.iter().flat_map(|(path, arity)| index.of_path(path, *arity)).collect();
    }
    GlobalUsing {
        alias,
        is_static,
        target,
        types,
        within,
    }
}

/// Fills in the `using:` rows. `scopes`: the text after `@` in keys of types.
fn global_usings(index: &mut NameIndex, files: &[(&str, Names)], layout: &Layout, scopes: &BTreeSet<&str>) {
    let mut of_owner: BTreeMap<Option<usize>, BTreeSet<WrittenUsing>> = BTreeMap::new();
    of_owner.entry(None).or_default();
    for (at, project) in layout.projects.iter().enumerate() {
        let written = project.usings.iter();
        let usings = written.map(|(alias, target, is_static)| (alias.clone(), from_root(target), *is_static));
        of_owner.entry(Some(at)).or_default().extend(usings);
    }
    for (file, names) in files.iter().filter(|(_, names)| !names.global_usings.is_empty()) {
        let others = layout.also(file).iter().filter_map(|path| layout.at_path(path)).map(Some);
        for compiler in std::iter::once(layout.owner(file)).chain(others) {
            let globals = names.global_usings.iter();
            of_owner
                .entry(compiler)
                .or_default()
                .extend(globals.map(|using| (using.alias.clone(), from_root(&using.target), using.is_static)));
        }
    }
    let names = layout.scope_names();
    let declared = files.iter().flat_map(|(_, names)| &names.types);
    let alone: BTreeSet<&str> = declared.filter_map(|decl| decl.of.first()).map(String::as_str).collect();
    let friends = friends(files, layout);
    let mut strays: BTreeMap<Option<usize>, Vec<&str>> = BTreeMap::new();
    for (file, owner) in layout.files_not_of_nearest_project() {
        strays.entry(owner).or_default().push(file);
    }
    let scope_of_project = |at: Option<usize>| at.map(|at| names[at]).filter(|name| scopes.contains(name));
    for (owner, usings) in of_owner {
        let project = owner.map(|at| &layout.projects[at]);
        let place = project.map_or("?", |project| directory(&project.path));
        let usings = usings.into_iter().map(|using| bind_global_using(index, using));
        let sees = |path: &&String| {
            let assembly = project.map_or("", |project| project.assembly.as_str()).to_lowercase();
            friends.get(path.as_str()).is_some_and(|friends| friends.contains(&assembly))
        };
        let referenced = project.into_iter().flat_map(|project| &project.references);
        let row = Globals {
            aliases: project.map(|project| project.aliases.clone()).unwrap_or_default(),
            is_checked: project.is_some_and(|project| project.is_checked),
            friends: project
                .into_iter()
                .flat_map(|project| &project.references)
                .filter(sees)
                .cloned()
                .collect(),
            project: project.map(|project| project.path.clone()),
            references: project.map(|project| project.references.clone()).unwrap_or_default(),
            scopes: scope_of_project(owner)
                .into_iter()
                .chain(referenced.filter_map(|path| scope_of_project(layout.at_path(path))))
                .map(str::to_owned)
                .collect(),
            usings: usings.collect(),
        };
        let scope = scope_of_project(owner);
        let path = project.map(|project| project.path.as_str()).filter(|path| alone.contains(path));
        for scope in scope.into_iter().chain(path) {
            index.globals.insert(format!("@{scope}"), row.clone());
        }
        for file in strays.get(&owner).into_iter().flatten() {
            index.globals.insert((*file).to_owned(), row.clone());
        }
        // If several projects are in one directory, its row is that of the first; files of the others have rows of their own.
        if project.is_none_or(|project| layout.project_above(&project.path) == owner) {
            index.globals.insert(place.to_owned(), row);
        }
    }
}

/// Returns, by path of a project, the assemblies that see its internal types, in lower case; all assemblies of the workspace if one of the names is
/// not a literal text.
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
fn inherit(index: &mut NameIndex, files: &[(&str, Names)], layout: &Layout, keys: &Keys<'_>) {
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
            let symbol = join_path(&decl.namespace, &decl.path);
            for (key, _) in keys.get(&(symbol.as_str(), *file)).into_iter().flatten() {
                let bases = bound_bases(&*index, globals_of(index, layout, key, file, decl), layout, file, decl);
                bases_of.entry((*key).to_owned()).or_default().extend(bases);
            }
        }
    }
    let of = |key: &str| bases_of.get(key).cloned().unwrap_or_default();
    for entry in index.entries_mut() {
        entry.ancestors = bases_of_bases(&entry.key, of);
        entry.ancestors.retain(|base| with_nested.contains(symbol_of(base)));
    }
}

fn project_of<'l>(layout: &'l Layout, file: &str) -> Option<&'l str> {
    layout.owner(file).map(|at| layout.projects[at].path.as_str())
}

/// Returns the global usings that apply to a declaration of the type of a key.
fn globals_of<'i>(index: &'i NameIndex, layout: &Layout, key: &str, file: &str, decl: &NamedType) -> Option<&'i Globals> {
    let places = globals_places(layout, key, file, decl);
    places.iter().find_map(|place| index.globals.get(place))
}

/// Returns the places of global usings that may apply to a declaration. The first existing place applies: that of the project in the type's
/// key, of the only project that compiles it, of the file, of its owner.
pub(super) fn globals_places(layout: &Layout, key: &str, file: &str, decl: &NamedType) -> Vec<String> {
    let scopes = scope_of(key).into_iter().chain(decl.of.first().map(String::as_str));
    let owner = layout.owner(file).map_or("?", |at| directory(&layout.projects[at].path));
    let places = scopes.map(|scope| format!("@{scope}"));
    places.chain([file.to_owned(), owner.to_owned()]).collect()
}

/// Returns the keys of the types that a declaration lists as bases.
pub(super) fn bound_bases(index: &dyn Index, globals: Option<&Globals>, layout: &Layout, file: &str, decl: &NamedType) -> Vec<String> {
    let enclosing: Vec<String> = enclosing(decl);
    let binder = Binder::new(index);
    let around = Surroundings {
        namespace: &decl.namespace,
        usings: &[],
        enclosing: &enclosing,
        project: globals.map_or_else(|| project_of(layout, file), |globals| globals.project.as_deref()),
        file,
        globals,
    };
    let bound = decl.bases.iter().flat_map(|base| {
        let (path, arity) = written_name(base);
        match binder.bind(&around, &path, arity, Place::Base, true) {
            Bound::Type(entry) => vec![entry],
            Bound::External => guess_base(index, &path, arity, &around),
            Bound::Ambiguous(_) => Vec::new(),
        }
    });
    bound.map(|entry| entry.key.clone()).collect()
}

/// Finds types for a base that neither namespaces nor global usings resolve. Names of files omit their using directives, so that edits of
/// these stop there. Such a base may therefore be any type of that name that its project or a referenced project declares; the base of a
/// nested type may also be a nested type. If only a few types match, all of them count: lookups of nested types search each, and hardly
/// ever find one in the wrong type.
fn guess_base<'a>(index: &'a dyn Index, path: &str, arity: u32, around: &Surroundings<'_>) -> Vec<&'a Entry> {
    let references: &[String] = around.globals.map_or(&[], |globals| &globals.references);
    let is_near = |entry: &Entry, is_nested: bool| {
        entry.arity == arity
            && entry.encloser.is_some() == is_nested
            && !(is_nested && entry.accessibility == "private")
            && (entry.is_of(around.project) || references.iter().any(|path| entry.is_of(Some(path))))
    };
    let near = |is_nested| -> Vec<&Entry> {
        let found = index.types_named(path).iter().filter(|entry| is_near(entry, is_nested));
        found.take(MOST_NEAR + 1).collect()
    };
    let mut found = near(false);
    if found.is_empty() && around.enclosing.len() > 1 {
        found = near(true);
    }
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

/// Returns the bases breadth first, each once, in at most [`LONGEST_CHAIN`] steps.
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

/// Returns the names on the path of a base as written; each of them may decide its meaning.
pub(super) fn names_on_path(base: &str) -> BTreeSet<String> {
    let (path, _) = written_name(base);
    path.split([':', '.']).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// Returns the dotted paths, each with the arity of its last segment, that a written type names inside: as type arguments or parts of a tuple.
pub fn named_within(target: &str) -> Vec<(String, u32)> {
    fn collect(written: &TypeRef, is_inside: bool, found: &mut Vec<(String, u32)>) {
        match written {
            TypeRef::Var(_) | TypeRef::Predefined(_) => {}
            TypeRef::Array(inner) | TypeRef::Nullable(inner) | TypeRef::Pointer(inner) => collect(inner, is_inside, found),
            TypeRef::Tuple(parts) => parts.iter().for_each(|(_, part)| collect(part, true, found)),
            TypeRef::Function(parts) => parts.iter().for_each(|part| collect(part, true, found)),
            TypeRef::Named(segments) => {
                if is_inside && let Some(last) = segments.last() {
                    let words = segments
                        .iter()
                        .map(|segment| segment.word.text.as_str())
                        .filter(|word| *word != "global");
                    let arity = u32::try_from(last.args.len()).unwrap_or(u32::MAX);
                    found.push((words.collect::<Vec<_>>().join("."), arity));
                }
                let args = segments.iter().flat_map(|segment| &segment.args);
                args.for_each(|arg| collect(arg, true, found));
            }
        }
    }
    let mut found = Vec::new();
    if let Some(written) = code::type_ref(target) {
        collect(&written, false, &mut found);
    }
    found
}

fn index_rows(index: &NameIndex) -> BTreeMap<String, Vec<u8>> {
    let mut rows: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    let mut writers: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for (name, entries) in &index.names {
        rows.insert(name.clone(), json::encode(entries));
        for entry in entries {
            for name in entry.bases.iter().flat_map(|base| names_on_path(base)) {
                writers.entry(name).or_default().insert(&entry.key);
            }
        }
    }
    for (name, writers) in &writers {
        rows.insert(format!("base:{name}"), json::encode(writers));
    }
    for namespace in &index.namespaces {
        rows.insert(format!("ns:{namespace}"), b"{}".to_vec());
    }
    for (place, globals) in &index.globals {
        rows.insert(format!("using:{place}"), json::encode(globals));
    }
    rows
}
