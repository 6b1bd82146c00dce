//! The symbol index: names of a workspace over the outputs of `//index:types`, `//index:members` and `//index:declarations`.
//!
//! Opening reads keys only. They are folded to one case and joined, so that a look-up by name is one text search. Rows are decoded on request.
//! `//index:members` lists the members that other code can name: operators, finalizers, static constructors and explicit implementations are in
//! `//types/T:members` only.

use super::outputs::SymbolError;
use engine::values::case_folding::{fold, folded};
use engine::values::digest::Digest;
use engine::values::table::Table;
use memchr::memmem::Finder;
use producers::csharp::deps::declarations::{TypeLine, extension_key};
use producers::csharp::deps::dotnet::MemberLine;
use producers::csharp::deps::lookups::{Lookups, TableRows};
use producers::csharp::deps::shape::Shape;
use producers::csharp::deps::world::World;
use producers::csharp::hashes::Access;
use producers::csharp::types::{TypeRow, symbol_of};
use rustc_hash::FxHashMap;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

/// The names of a workspace.
#[derive(Debug)]
pub struct Symbols {
    types: Arc<[u8]>,
    members: Arc<[u8]>,
    declarations: Arc<[u8]>,
    keys: Folded,
    names: Folded,
    digest: OnceLock<Digest>,
    namespaces: OnceLock<Vec<String>>,
    /// Keys of types declared in generated code only.
    generated: OnceLock<BTreeSet<String>>,
    /// Positions of the types that name each type among their bases.
    heirs: OnceLock<FxHashMap<String, Vec<usize>>>,
    /// Positions of the types that are declared in each file.
    of_files: OnceLock<FxHashMap<String, Vec<usize>>>,
}

/// A member of the index; each overload of a type is a line of its own.
#[derive(Clone, Copy, Debug)]
pub struct Declared<'s> {
    /// Key of the type that declares it.
    pub owner: &'s str,
    pub name: &'s str,
    /// The index line of the member.
    pub line: MemberLine<'s>,
}

/// Facts about a type for ordering and filtering.
#[derive(Clone, Copy, Debug)]
pub struct TypeBrief<'s> {
    pub access: Access,
    /// `class`, `record struct` …
    pub kind: &'s str,
}

impl Symbols {
    /// Returns the keys of all heirs of a type, at any number of steps.
    pub fn all_heirs(&self, key: &str) -> std::collections::BTreeSet<&str> {
        let mut found = std::collections::BTreeSet::new();
        let mut open: Vec<&str> = self.heirs(key).collect();
        while let Some(heir) = open.pop() {
            if found.insert(heir) {
                open.extend(self.heirs(heir));
            }
        }
        found
    }

    /// Opens the three outputs. Fails when an output is not a table.
    pub fn open(types: Arc<[u8]>, members: Arc<[u8]>, declarations: Arc<[u8]>) -> Result<Self, SymbolError> {
        let keys = Folded::from_table(Table::open(&types).ok_or_else(|| SymbolError::damaged().at_label("//index:types"))?);
        let names = Folded::from_table(Table::open(&members).ok_or_else(|| SymbolError::damaged().at_label("//index:members"))?);
        Table::open(&declarations).ok_or_else(|| SymbolError::damaged().at_label("//index:declarations"))?;
        Ok(Self {
            types,
            members,
            declarations,
            keys,
            names,
            digest: OnceLock::new(),
            namespaces: OnceLock::new(),
            generated: OnceLock::new(),
            heirs: OnceLock::new(),
            of_files: OnceLock::new(),
        })
    }

    /// Returns the digest of the three outputs, computed once; an equal digest means equal answers.
    pub fn digest(&self) -> Digest {
        *self.digest.get_or_init(|| {
            let all = [&self.types, &self.members, &self.declarations].map(|output| Digest::of(output).0);
            Digest::of(all.as_flattened())
        })
    }

    /// Returns all namespaces of types and their outer namespaces, sorted.
    pub fn namespaces(&self) -> &[String] {
        self.namespaces.get_or_init(|| {
            let mut found = BTreeSet::new();
            let mut last = "";
            for key in self.keys() {
                let own = namespace(key);
                if std::mem::replace(&mut last, own) != own {
                    let levels = own.match_indices('.').map(|(at, _)| at).chain([own.len()]);
                    found.extend(levels.map(|end| own[..end].to_owned()));
                }
            }
            found.into_iter().filter(|name| !name.is_empty()).collect()
        })
    }

    /// Whether a type is declared in generated code only.
    pub fn is_generated(&self, key: &str) -> bool {
        let generated = self.generated.get_or_init(|| {
            #[derive(Deserialize)]
            struct Mark {
                #[serde(default)]
                generated: bool,
            }
            let is_marked = |row: &[u8]| serde_json::from_slice::<Mark>(row).is_ok_and(|row| row.generated);
            let table = self.table();
            let marked = table.rows().filter(|(_, row)| is_marked(row));
            marked.map(|(key, _)| key.to_owned()).collect()
        });
        generated.contains(key)
    }

    /// Returns the keys of the types that name a type among their bases, in order.
    pub fn heirs(&self, key: &str) -> impl Iterator<Item = &str> {
        let all = self.heirs.get_or_init(|| {
            let declarations = Table::open(&self.declarations).expect("invariant: it was opened before");
            // Both tables are sorted by key.
            let mut rows = declarations.rows().peekable();
            let mut heirs: FxHashMap<String, Vec<usize>> = FxHashMap::default();
            for (at, key) in self.keys().enumerate() {
                while rows.next_if(|(other, _)| *other < key).is_some() {}
                let row = rows.next_if(|(other, _)| *other == key).map_or(&[][..], |(_, row)| row);
                for base in TypeLine::bases_in_row(std::str::from_utf8(row).unwrap_or_default()) {
                    let Some(base) = base.key() else { continue };
                    match heirs.get_mut(base) {
                        Some(known) if known.last() == Some(&at) => {}
                        Some(known) => known.push(at),
                        None => _ = heirs.insert(base.to_owned(), vec![at]),
                    }
                }
            }
            heirs
        });
        all.get(key).into_iter().flatten().map(|at| self.key(*at))
    }

    /// Returns the keys of the types that are declared in a file, wholly or in part, in order.
    pub fn types_of_file(&self, file: &str) -> impl Iterator<Item = &str> {
        let all = self.of_files.get_or_init(|| {
            let mut of_files: FxHashMap<String, Vec<usize>> = FxHashMap::default();
            for at in 0..self.len() {
                for file in self.type_row(at).into_iter().flat_map(|row| row.files) {
                    of_files.entry(file).or_default().push(at);
                }
            }
            of_files
        });
        all.get(file).into_iter().flatten().map(|at| self.key(*at))
    }

    fn table(&self) -> Table<'_> {
        Table::open(&self.types).expect("invariant: it was opened before")
    }

    fn member_table(&self) -> Table<'_> {
        Table::open(&self.members).expect("invariant: it was opened before")
    }

    /// Returns the output of `//index:declarations`.
    pub fn declarations(&self) -> &[u8] {
        &self.declarations
    }

    /// Whether the workspace declares extension members of a name.
    pub fn has_extensions(&self, name: &str) -> bool {
        let declarations = Table::open(&self.declarations).expect("invariant: it was opened before");
        declarations.get(&extension_key(name)).is_some()
    }

    /// Returns the number of types.
    pub fn len(&self) -> usize {
        self.keys.ends.len()
    }

    /// Whether there is no type.
    pub fn is_empty(&self) -> bool {
        self.keys.ends.is_empty()
    }

    /// Returns the key of the type at `at`, in the order of keys.
    ///
    /// # Panics
    /// If `at` is not below [`Symbols::len`].
    pub fn key(&self, at: usize) -> &str {
        self.table().row(at).0
    }

    /// Returns all keys in order.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.table().keys()
    }

    pub fn find(&self, key: &str) -> Option<usize> {
        let table = self.table();
        let (mut low, mut high) = (0, table.len());
        while low < high {
            let middle = usize::midpoint(low, high);
            match table.row(middle).0.cmp(key) {
                std::cmp::Ordering::Equal => return Some(middle),
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        None
    }

    /// Returns the whole index row of a type.
    pub fn type_row(&self, at: usize) -> Result<TypeRow, SymbolError> {
        serde_json::from_slice(self.table().row(at).1).map_err(|_| SymbolError::damaged().at_label("//index:types"))
    }

    /// Returns the facts for ordering; an unreadable row counts as private.
    pub fn brief(&self, at: usize) -> TypeBrief<'_> {
        #[derive(Deserialize)]
        struct Words<'w> {
            accessibility: &'w str,
            kind: &'w str,
        }
        match serde_json::from_slice::<Words<'_>>(self.table().row(at).1) {
            Ok(words) => TypeBrief {
                access: Access::parse(words.accessibility),
                kind: words.kind,
            },
            Err(_) => TypeBrief {
                access: Access::Private,
                kind: "",
            },
        }
    }

    /// Finds the type with an identifier.
    pub fn with_id(&self, id: &str) -> Option<usize> {
        let table = self.table();
        let written = format!("\"id\":\"{id}\"");
        let holds = |row: &[u8]| std::str::from_utf8(row).is_ok_and(|row| row.contains(&written));
        (0..table.len()).find(|&at| holds(table.row(at).1) && self.type_row(at).is_ok_and(|row| row.id == id))
    }

    /// Finds types whose keys contain a text; case is ignored.
    pub fn containing(&self, text: &str) -> Vec<usize> {
        self.keys.containing(&folded(text))
    }

    /// Finds types whose keys have a name that ends with the text; case is ignored.
    pub fn ending(&self, text: &str) -> Vec<usize> {
        self.keys.ending(&folded(text))
    }

    /// Returns the folded key of the type at `at`.
    pub fn folded(&self, at: usize) -> &str {
        self.keys.get(at)
    }

    /// Returns the number of names with rows in `//index:members`: names of members and simple names of types.
    pub fn name_count(&self) -> usize {
        self.names.ends.len()
    }

    /// Returns the name at `at`, and its folded form.
    ///
    /// # Panics
    /// If `at` is not below [`Symbols::name_count`].
    pub fn name(&self, at: usize) -> (&str, &str) {
        (self.member_table().row(at).0, self.names.get(at))
    }

    /// Finds names that contain a text; case is ignored.
    pub fn names_holding(&self, text: &str) -> Vec<usize> {
        self.names.containing(&folded(text))
    }

    /// Finds names equal to a text, ignoring case; an exact match is returned alone.
    pub fn spelled(&self, name: &str) -> Vec<&str> {
        let table = self.member_table();
        let wanted = folded(name);
        let mut found = self.names.containing(&wanted);
        found.retain(|&at| self.names.get(at) == wanted);
        let found: Vec<&str> = found.into_iter().map(|at| table.row(at).0).collect();
        match found.iter().find(|known| **known == name) {
            Some(one) => vec![one],
            None => found,
        }
    }

    /// Returns the members of a name by declaring type; constructors are under `.ctor` of one type only, see [`Symbols::constructors`].
    pub fn declared<'s>(&'s self, name: &'s str) -> impl Iterator<Item = Declared<'s>> {
        self.lines(name).filter_map(move |line| match line.as_bytes().first() {
            Some(b'=' | b'.') | None => None,
            Some(_) => declared(name, line).filter(|found| self.is_member(found)),
        })
    }

    /// Whether the type has the member: a positional parameter declares none if a base class has a value of its name.
    fn is_member(&self, found: &Declared<'_>) -> bool {
        if found.line.flags != "pr" {
            return true;
        }
        let rows = TableRows::read(&self.declarations).expect("invariant: it was opened before");
        let lookups = Lookups::new(&rows);
        !World::new(&lookups).inherits_value(&Shape::of_key(found.owner), found.name)
    }

    /// Returns the constructors of all types of a simple name.
    pub fn constructors<'s>(&'s self, simple: &'s str) -> impl Iterator<Item = Declared<'s>> {
        self.lines(simple).filter_map(|line| declared(".ctor", line.strip_prefix('.')?))
    }

    /// Whether a type has this symbol, in whichever project.
    pub fn has_symbol(&self, symbol: &str) -> bool {
        self.find(symbol).is_some() || self.types_named(simple_name(symbol)).any(|key| symbol_of(key) == symbol)
    }

    /// Returns the keys of all types of a simple name.
    pub fn types_named<'s>(&'s self, simple: &str) -> impl Iterator<Item = &'s str> + use<'s> {
        self.lines(simple).filter_map(|line| line.strip_prefix('='))
    }

    fn lines<'s>(&'s self, name: &str) -> std::str::Lines<'s> {
        let row = self.member_table().get(name).unwrap_or_default();
        std::str::from_utf8(row).unwrap_or_default().lines()
    }

    /// Returns the sorted keys of types that declare a member of a name.
    pub fn owners(&self, name: &str) -> Vec<&str> {
        let members = self.lines(name).filter(|line| !line.starts_with(['=', '.']));
        let keys: BTreeSet<&str> = members
            .filter(|line| declared(name, line).is_some_and(|found| self.is_member(&found)))
            .filter_map(|line| Some(line.split_once('\t')?.0))
            .collect();
        keys.into_iter().collect()
    }

    /// Whether a type itself declares a member of a name.
    pub fn declares(&self, owner: &str, name: &str) -> bool {
        match name {
            ".ctor" => self.constructors(simple_name(owner)).any(|declared| declared.owner == owner),
            _ => self.declared(name).any(|declared| declared.owner == owner),
        }
    }

    /// Returns the bases of a type that the workspace declares, nearest first.
    pub fn bases(&self, key: &str) -> Vec<String> {
        let rows = TableRows::read(&self.declarations).expect("invariant: it was opened before");
        let lookups = Lookups::new(&rows);
        let levels = World::new(&lookups).levels(&Shape::of_key(key));
        let bases = levels.iter().skip(1);
        bases
            .filter_map(|base| base.key())
            .filter(|base| self.find(base).is_some())
            .map(str::to_owned)
            .collect()
    }
}

fn declared<'s>(name: &'s str, line: &'s str) -> Option<Declared<'s>> {
    let (owner, rest) = line.split_once('\t')?;
    Some(Declared {
        owner,
        name,
        line: MemberLine::read(rest)?,
    })
}

/// Returns the last name of a key, without arity and scope.
pub fn simple_name(key: &str) -> &str {
    let symbol = symbol_of(key);
    let last = symbol.rsplit(['.', '+']).next().unwrap_or(symbol);
    last.split('`').next().unwrap_or(last)
}

/// Returns the namespace of a key, `""` for the global one.
pub fn namespace(key: &str) -> &str {
    let symbol = symbol_of(key);
    let outermost = symbol.split('+').next().unwrap_or(symbol);
    outermost.rsplit_once('.').map_or("", |(namespace, _)| namespace)
}

/// Whether a namespace is `outer` or inside it.
pub fn is_within(namespace: &str, outer: &str) -> bool {
    namespace
        .strip_prefix(outer)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Returns the number of names in a key's namespace.
pub fn depth(key: &str) -> usize {
    match namespace(key) {
        "" => 0,
        namespace => namespace.split('.').count(),
    }
}

/// Folded texts, joined with a line feed after each.
#[derive(Debug)]
struct Folded {
    text: String,
    ends: Vec<u32>,
}

impl Folded {
    fn from_table(table: Table<'_>) -> Self {
        let mut text = String::with_capacity(table.len() * 32);
        let mut ends = Vec::with_capacity(table.len());
        for key in table.keys() {
            match key.is_ascii() {
                true => text.extend(key.bytes().map(|byte| byte.to_ascii_uppercase() as char)),
                false => text.extend(key.chars().map(fold)),
            }
            ends.push(u32::try_from(text.len()).expect("invariant: tables stay below 4 GiB"));
            text.push('\n');
        }
        Self { text, ends }
    }

    fn get(&self, at: usize) -> &str {
        let start = if at == 0 { 0 } else { self.ends[at - 1] as usize + 1 };
        &self.text[start..self.ends[at] as usize]
    }

    /// Finds the texts that contain the folded `needle`.
    fn containing(&self, needle: &str) -> Vec<usize> {
        self.texts_with(needle, |_| true)
    }

    /// Finds the texts where a name ends with the folded `needle`: the end of the text, or an arity or project mark follows.
    fn ending(&self, needle: &str) -> Vec<usize> {
        self.texts_with(needle, |next| matches!(next, b'\n' | b'`' | b'@'))
    }

    /// Finds the texts with `needle` before a byte that `fits` accepts; a line feed follows each text.
    fn texts_with(&self, needle: &str, fits: impl Fn(u8) -> bool) -> Vec<usize> {
        let mut found: Vec<usize> = Vec::new();
        if needle.is_empty() || needle.contains('\n') {
            return found;
        }
        let (finder, bytes) = (Finder::new(needle), self.text.as_bytes());
        let mut from = 0;
        while let Some(at) = finder.find(&bytes[from..]).map(|at| from + at) {
            // A rejected occurrence may overlap an accepted one.
            from = at + 1;
            if bytes.get(at + needle.len()).is_some_and(|next| fits(*next)) {
                let row = self.ends.partition_point(|end| (*end as usize) < at);
                found.push(row);
                from = self.ends[row] as usize;
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples::Sample;
    use super::*;
    use engine::values::table::write_table;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    #[test]
    fn names_of_keys() {
        for (key, simple, around, levels) in [
            ("A.B.Cache`2+Entry`1@Some.Cli", "Entry", "A.B", 2),
            ("Cache`2", "Cache", "", 0),
            ("P.Q@src/a.b/C.csproj", "Q", "P", 1),
        ] {
            assert_eq!((simple_name(key), namespace(key), depth(key)), (simple, around, levels), "{key}");
        }
    }

    #[test]
    fn rows_are_found_by_key_id_and_name() {
        let sample = Sample::default();
        let symbols = sample.symbols();
        let at = symbols.find("Box.Store").expect("a type");
        assert_eq!(symbols.key(at), "Box.Store");
        let row = symbols.type_row(at).expect("a row");
        assert_eq!(symbols.with_id(&row.id), Some(at));
        assert_eq!(symbols.with_id("T_"), None);
        assert_eq!((symbols.find("Box"), symbols.brief(at).kind), (None, "class"));
        assert_eq!(symbols.owners("Get"), ["Box.IStore", "Box.Store"]);
        assert_eq!(symbols.spelled("get"), ["Get"]);
        assert!(symbols.declares("Box.Store", ".ctor") && !symbols.declares("Box.IStore", ".ctor"));
        assert_eq!(symbols.bases("Box.Store"), ["Box.IStore", "Box.IBase"]);
        assert_eq!(symbols.declared("Get").filter(|found| found.owner == "Box.Store").count(), 2);
    }

    #[test]
    fn bytes_that_are_no_table_are_refused() {
        let table: Arc<[u8]> = write_table(&BTreeMap::<&str, &[u8]>::new()).into();
        for broken in 0..3 {
            let mut tables = [0; 3].map(|_| table.clone());
            tables[broken] = Arc::from(*b"[1]");
            let [types, members, declarations] = tables;
            let error = Symbols::open(types, members, declarations).expect_err("no table");
            assert_eq!(error.trouble, super::super::outputs::Trouble::Damaged);
        }
    }

    proptest! {
        #[test]
        fn holding_a_text_is_told_of_each_row(keys in proptest::collection::btree_set("[a-cA-C.éÉж]{0,6}", 0..12), text in "[a-cA-CéЖ.]{1,3}") {
            let rows: BTreeMap<&str, &[u8]> = keys.iter().map(|key| (key.as_str(), &b"{}"[..])).collect();
            let folded = Folded::from_table(Table::open(&write_table(&rows)).expect("a table"));
            let expected: Vec<usize> = (0..)
                .zip(&keys)
                .filter(|(_, key)| key.to_uppercase().contains(&text.to_uppercase()))
                .map(|(at, _)| at)
                .collect();
            prop_assert_eq!(folded.containing(&super::folded(&text)), expected);
            let ending: Vec<usize> = (0..)
                .zip(&keys)
                .filter(|(_, key)| key.to_uppercase().ends_with(&text.to_uppercase()))
                .map(|(at, _)| at)
                .collect();
            prop_assert_eq!(folded.ending(&super::folded(&text)), ending);
            for (at, key) in keys.iter().enumerate() {
                prop_assert_eq!(folded.get(at), key.to_uppercase());
            }
        }
    }
}
