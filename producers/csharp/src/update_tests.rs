//! Updates of tables: after any sequence of added, removed and changed files, the table equals the one built from all files.

use super::chunks::{Chunks, ends_chunk};
use super::conflicts::Conflicts;
use super::dependencies::DependencyRow;
use super::fixture::{blob, run};
use super::graph::Graph;
use super::groups::Groups;
use super::names::names_of_file;
use super::parse::read;
use super::symbols::Symbols;
use super::types::Types;
use engine::seams::producer::{Input, Output, Producer};
use engine::seams::update::{ChangedInput, TableChanges, TableUpdate, TableView, UpdatedRows};
use engine::values::diagnostic::Diagnostic;
use engine::values::digest::Digest;
use engine::values::json;
use engine::values::table::{Table, write_table};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

type Rows = BTreeMap<String, Vec<u8>>;

/// Texts of files; only headers matter. Names repeat, so that edits change the meaning of bases.
const TEXTS: [&str; 22] = [
    "",
    "namespace N { public class A { public class In { } } }",
    "namespace N { public class A : B { } }",
    "namespace N { public class A { private class In { } } public class Z { } }",
    "namespace N { public class B : C { } }",
    "namespace N { public class B : M.C { public enum Kind { One } } }",
    "namespace M { public class C { public struct State { } } }",
    "namespace M { public class C : D<C> { } public interface E { } }",
    "namespace M { public class D<T> { public class Entry { } } }",
    "public class D<T> : N.A.In { }",
    "namespace N.M { public class C { public class Deep { public class Deeper { } } } }",
    "namespace N { public partial class P : A { } }",
    "namespace N { public partial class P : E { public class Nested : B { } } }",
    "namespace N { internal partial class P { } file class Hidden : A { } }",
    "namespace N { public class B { } public class A : B { } }",
    "namespace N { public delegate void Run(A a); public record R(int Id) : A; public enum Kind { } }",
    "global using N; namespace N { public class F : C { } }",
    "namespace N { public class F : A.In { } public class G : F { public class Late { } } public class H : G { } }",
    "namespace Q { using N; public class A { } public class H : A { } }",
    "namespace Q { public class K : H { } public class L : K { } public class T : Q.L { } }",
    "global using An = N.A; [assembly: InternalsVisibleTo(\"B\")] public class U : An { }",
    "namespace M.X { public class C { } } namespace N { public class A { } public class A { } }",
];

/// Files in the folder of each project, and outside of both.
const FILES: [&str; 9] = [
    "a/1.cs", "a/2.cs", "a/3.cs", "b/1.cs", "b/2.cs", "b/c/3.cs", "x.cs", "y/1.cs", "a/4.cs",
];

const PROJECTS: [(&str, &str); 2] = [("a/A.csproj", "{}"), ("b/B.csproj", r#"{"references":["a/A.csproj"]}"#)];

/// All inputs of one table at one time, with the table.
#[derive(Clone, Default)]
struct State {
    roles: BTreeMap<&'static str, Vec<Input>>,
    table: Output,
}

impl State {
    fn of(files: &BTreeMap<&str, (usize, bool)>, types: Option<&Output>, producer: &dyn Producer) -> Self {
        let of_text = |text| minicbor::to_vec(names_of_file(&read(text, &BTreeSet::new(), "f.cs").0)).expect("memory");
        let owner = |file: &str, strays: bool| match (&file[..1], strays) {
            ("a", false) | ("b", true) => r#""a/A.csproj""#,
            ("b", false) => r#""b/B.csproj""#,
            _ => "",
        };
        let row = |(file, (_, strays)): (&&str, &(usize, bool))| {
            // A second project also compiles one file.
            let also = if **file == *FILES[8] { r#""b/B.csproj""# } else { "" };
            let row = format!(r#"{{"also":[{also}],"project":[{}]}}"#, owner(file, *strays));
            ((*file).to_owned(), row.into_bytes())
        };
        let owners: Rows = files.iter().map(row).collect();
        let mut roles = BTreeMap::from([
            (
                "names",
                files.iter().map(|(file, (text, _))| blob(file, of_text(TEXTS[*text]))).collect(),
            ),
            ("projects", PROJECTS.iter().map(|(path, facts)| blob(path, *facts)).collect()),
            ("files", vec![blob("", write_table(&owners))]),
        ]);
        if let Some(types) = types {
            roles.insert("types", vec![blob("", types.bytes.clone())]);
        }
        let table = run(producer, "", "{}", roles.clone().into_iter().collect()).expect("a table");
        Self { roles, table }
    }

    fn inputs(&self) -> impl Iterator<Item = &Input> {
        self.roles.values().flatten()
    }

    fn digests(&self, role: &str) -> BTreeMap<Arc<str>, Digest> {
        self.roles
            .get(role)
            .into_iter()
            .flatten()
            .map(|input| (input.item.clone(), input.digest))
            .collect()
    }
}

/// The changes between two states.
struct Since<'a> {
    before: &'a State,
    now: &'a State,
    moved: BTreeMap<&'static str, Vec<ChangedInput>>,
    last: Held,
}

impl<'a> Since<'a> {
    fn new(before: &'a State, now: &'a State, last: Held) -> Self {
        let roles: BTreeSet<&'static str> = before.roles.keys().chain(now.roles.keys()).copied().collect();
        Self {
            moved: roles.into_iter().map(|role| (role, differing_inputs(before, now, role))).collect(),
            before,
            now,
            last,
        }
    }
}

/// Returns the inputs of a role that differ between two states.
fn differing_inputs(before: &State, now: &State, role: &str) -> Vec<ChangedInput> {
    let (before, now) = (before.digests(role), now.digests(role));
    let items: BTreeSet<&Arc<str>> = before.keys().chain(now.keys()).collect();
    let moved = items.into_iter().filter(|item| before.get(*item) != now.get(*item));
    moved
        .map(|item| ChangedInput {
            item: item.clone(),
            before: before.get(item).copied(),
            now: now.get(item).copied(),
        })
        .collect()
}

impl TableChanges for Since<'_> {
    fn last(&self) -> &dyn TableView {
        &self.last
    }

    fn diagnostics(&self) -> &[Diagnostic] {
        &self.before.table.diagnostics
    }

    fn memo(&self) -> &[u8] {
        &self.before.table.memo
    }

    fn changed_inputs(&self, role: &str) -> Option<&[ChangedInput]> {
        self.moved.get(role).map(Vec::as_slice)
    }

    fn present(&self, role: &str) -> Vec<(Arc<str>, Digest)> {
        self.now.digests(role).into_iter().collect()
    }

    fn digest(&self, role: &str, item: &str) -> Option<Digest> {
        self.now.digests(role).get(item).copied()
    }

    fn bytes(&self, digest: &Digest) -> Option<Arc<[u8]>> {
        let mut inputs = self.before.inputs().chain(self.now.inputs());
        inputs.find(|input| input.digest == *digest).map(|input| input.bytes.clone())
    }

    fn table(&self, digest: &Digest) -> Option<Box<dyn TableView + '_>> {
        Some(Box::new(Held::of(&self.bytes(digest)?)))
    }

    fn changed_rows(&self, before: &Digest, now: &Digest) -> Option<BTreeSet<String>> {
        let (before, now) = (Held::of(&self.bytes(before)?).0, Held::of(&self.bytes(now)?).0);
        let keys: BTreeSet<&String> = before.keys().chain(now.keys()).collect();
        Some(keys.into_iter().filter(|key| before.get(*key) != now.get(*key)).cloned().collect())
    }
}

struct Held(Rows);

impl Held {
    fn of(bytes: &[u8]) -> Self {
        let table = Table::open(bytes).expect("a table");
        Self(table.rows().map(|(key, value)| (key.to_owned(), value.to_vec())).collect())
    }
}

impl TableView for Held {
    fn row(&self, key: &str) -> Option<Option<Arc<[u8]>>> {
        Some(self.0.get(key).map(|row| Arc::from(&**row)))
    }

    fn rows_from(&self, key: &str, visit: &mut dyn FnMut(&str, &[u8]) -> bool) -> Option<()> {
        let mut rows = self.0.range(key.to_owned()..);
        while rows.next().is_some_and(|(key, row)| visit(key, row)) {}
        Some(())
    }
}

/// Returns whether the update succeeded, and checks that its rows equal those built from all files.
fn compare<P: Producer + TableUpdate>(producer: &P, before: &State, now: &State) -> Result<bool, TestCaseError> {
    let last = Held::of(&before.table.bytes);
    let mut rows = last.0.clone();
    let Some(UpdatedRows {
        rows: changes,
        diagnostics,
        memo,
    }) = TableUpdate::update(producer, &Since::new(before, now, last))
    else {
        return Ok(false);
    };
    for (key, row) in changes {
        match row {
            Some(row) => drop(rows.insert(key, row)),
            None => drop(rows.remove(&key)),
        }
    }
    let expected = Held::of(&now.table.bytes).0;
    for key in rows.keys().chain(expected.keys()) {
        let text = |rows: &Rows| rows.get(key).map(|row| String::from_utf8_lossy(row).into_owned());
        prop_assert_eq!(text(&rows), text(&expected), "the row of {}", key);
    }
    prop_assert_eq!(&diagnostics, &now.table.diagnostics);
    // An updated memo may still contain identifiers of removed types.
    let clean = &now.table.memo;
    let has_all = memo.iter().zip(clean.iter()).all(|(own, clean)| own & clean == *clean);
    prop_assert!(memo.len() != clean.len() || has_all, "the memo lacks an identifier");
    Ok(true)
}

/// Applies versions of the files. Returns the number of successful updates of each table, and of possible ones.
fn follow(is_crowded: bool, edits: &[(usize, usize, bool)]) -> Result<(usize, usize, usize), TestCaseError> {
    let mut files: BTreeMap<&str, (usize, bool)> = BTreeMap::new();
    for (at, file) in FILES.iter().enumerate() {
        files.insert(file, (if is_crowded { at * 2 + 1 } else { 0 }, false));
    }
    let mut before: Option<(State, State)> = None;
    let (mut types_updated, mut symbols_updated) = (0, 0);
    for (file, text, strays) in edits {
        let file = FILES[file % FILES.len()];
        match text % (TEXTS.len() + 2) {
            text if text < TEXTS.len() => drop(files.insert(file, (text, *strays))),
            _ => drop(files.remove(file)),
        }
        let types = State::of(&files, None, &Types);
        let symbols = State::of(&files, Some(&types.table), &Symbols);
        if let Some((old_types, old_symbols)) = &before {
            types_updated += usize::from(compare(&Types, old_types, &types)?);
            symbols_updated += usize::from(compare(&Symbols, old_symbols, &symbols)?);
        }
        before = Some((types, symbols));
    }
    Ok((types_updated, symbols_updated, edits.len() - 1))
}

/// The types that each type names in declarations and in bodies, as bit masks; `None` for an absent type.
type Named = Vec<Option<(u8, u8)>>;

/// Returns the tables of these types, and their graph.
fn graph_of(named: &Named) -> State {
    let key = |at: usize| format!("T{at}");
    let there = |mask: u8| (0..named.len()).filter(move |at| mask >> at & 1 == 1);
    let of_mask = |mask: u8| there(mask).filter(|at| named[*at].is_some()).map(key).collect::<Vec<_>>();
    let (mut types, mut dependencies) = (Rows::new(), Rows::new());
    for (at, masks) in named.iter().enumerate() {
        let Some((structure, body)) = masks else { continue };
        let others = !(1 << at);
        let row = format!(r#"{{"accessibility":"public","arity":0,"assembly":"","files":[],"id":"T_{at}","kind":"class","namespace":""}}"#);
        types.insert(key(at), row.into_bytes());
        let row = DependencyRow {
            structure: of_mask(structure & others),
            body: of_mask(body & others & !structure),
        };
        dependencies.insert(key(at), json::encode(&row));
    }
    let roles = BTreeMap::from([
        ("types", vec![blob("", write_table(&types))]),
        ("dependencies", vec![blob("", write_table(&dependencies))]),
    ]);
    let table = run(&Graph, "", "{}", roles.clone().into_iter().collect()).expect("a table");
    State { roles, table }
}

/// Returns the groups of such a graph.
fn groups_of(graph: &State) -> State {
    let roles = BTreeMap::from([("graph", vec![blob("", graph.table.bytes.clone())])]);
    let table = run(&Groups, "", "{}", roles.clone().into_iter().collect()).expect("a table");
    State { roles, table }
}

/// Returns the chunks of types.
fn chunks_of(keys: &BTreeSet<&String>) -> State {
    let types: BTreeMap<&str, &[u8]> = keys.iter().map(|key| (key.as_str(), &b"{}"[..])).collect();
    let roles = BTreeMap::from([("types", vec![blob("", write_table(&types))])]);
    let table = run(&Chunks, "", "{}", roles.clone().into_iter().collect()).expect("a table");
    State { roles, table }
}

proptest! {
    #[test]
    fn updated_chunks_are_what_all_types_give(
        first in proptest::collection::vec(any::<bool>(), 30),
        edits in proptest::collection::vec(proptest::collection::vec(0usize..30, 1..6), 1..6)
    ) {
        // Every third name ends a chunk; some sort after the name of the last chunk.
        let names = |ends: bool| (0..).map(|number| format!("{}{number}", ["A.B", "É"][number % 2])).filter(move |name| ends_chunk(name) == ends);
        let universe: Vec<String> = names(true).take(10).chain(names(false).take(20)).collect();
        let mut keys: BTreeSet<&String> = universe.iter().zip(first).filter_map(|(key, exists)| exists.then_some(key)).collect();
        let mut before = chunks_of(&keys);
        for edit in edits {
            for key in edit.into_iter().map(|at| &universe[at]) {
                if !keys.remove(key) {
                    keys.insert(key);
                }
            }
            let now = chunks_of(&keys);
            prop_assert!(compare(&Chunks, &before, &now)?);
            before = now;
        }
    }
}

#[test]
fn a_new_type_and_another_body_update_the_graph() {
    let all = |masks: &[(u8, u8)]| masks.iter().map(|masks| Some(*masks)).collect::<Named>();
    let first = graph_of(&all(&[(0, 0), (0b1, 0), (0b10, 0b1), (0b10100, 0), (0b1000, 0)]));
    let grown = graph_of(&all(&[(0, 0), (0b1, 0), (0b10, 0b1), (0b10100, 0), (0b1000, 0), (0b1100, 0b1)]));
    let edited = graph_of(&all(&[(0, 0b100), (0b1, 0), (0b10, 0), (0b10100, 0b1), (0b1000, 0), (0b1100, 0b1)]));
    for (before, now) in [(&first, &grown), (&grown, &edited), (&grown, &first)] {
        assert!(compare(&Graph, before, now).expect("equal tables"));
        assert!(compare(&Groups, &groups_of(before), &groups_of(now)).expect("equal tables"));
    }
}

#[test]
fn only_lengthened_identifiers_change_the_conflicts() {
    let of = |rows: &[(&str, &str)]| {
        let row = |(key, widened): &(&str, &str)| {
            let row = format!(
                r#"{{"accessibility":"public","arity":0,"assembly":"","files":[],"id":"T_{key}","kind":"class","namespace":""{widened}}}"#
            );
            ((*key).to_owned(), row.into_bytes())
        };
        let types: Rows = rows.iter().map(row).collect();
        let roles = BTreeMap::from([("types", vec![blob("", write_table(&types))])]);
        let table = run(&Conflicts, "", "{}", roles.clone().into_iter().collect()).expect("a text");
        State { roles, table }
    };
    let stays = |before: &State, now: &State| {
        let updated = TableUpdate::update(&Conflicts, &Since::new(before, now, Held(Rows::new())));
        let stays = updated.is_some_and(|updated| updated.rows.is_empty());
        assert!(!stays || before.table.bytes == now.table.bytes);
        stays
    };
    let wide = r#","widened":true"#;
    let (one, two) = (of(&[("A", "")]), of(&[("A", ""), ("B", "")]));
    let (widened, with_others) = (of(&[("A", wide), ("B", wide)]), of(&[("A", wide), ("B", wide), ("C", "")]));
    assert!(stays(&one, &two) && stays(&two, &one) && stays(&widened, &with_others));
    assert!(!stays(&two, &widened) && !stays(&widened, &two));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]
    #[test]
    fn an_updated_graph_is_what_all_types_give(
        first in proptest::collection::vec(proptest::option::weighted(0.8, (any::<u8>(), any::<u8>())), 8),
        edits in proptest::collection::vec((0usize..8, proptest::option::of((any::<u8>(), any::<u8>())), any::<bool>()), 1..6)
    ) {
        // Few references, so that no other type names some of the types.
        let sparse = |(structure, body): (u8, u8)| (structure & structure >> 3 & 0b10101, body & body >> 2);
        let mut named: Named = first.into_iter().map(|masks| masks.map(sparse)).collect();
        let mut before = graph_of(&named);
        for (at, masks, is_body) in edits {
            named[at] = match (named[at], masks) {
                (Some((structure, _)), Some((_, body))) if is_body => Some((structure, body)),
                (_, masks) => masks.map(sparse),
            };
            let now = graph_of(&named);
            compare(&Graph, &before, &now)?;
            compare(&Groups, &groups_of(&before), &groups_of(&now))?;
            before = now;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn updated_tables_are_what_all_files_give(
        is_crowded: bool,
        edits in proptest::collection::vec((0usize..100, 0usize..1000, prop::bool::weighted(0.1)), 2..12)
    ) {
        follow(is_crowded, &edits)?;
    }
}

/// An heir that names its base by an alias is bound again when that base gets a base with nested types.
#[test]
fn who_writes_an_alias_is_an_heir() {
    let (_, symbols, edits) = follow(false, &[(4, 20, false), (0, 2, false), (6, 5, false)]).expect("equal tables");
    assert_eq!((symbols, edits), (1, 2), "the edit that matters is an update");
}

#[test]
fn edits_that_touch_no_duplicate_update_the_tables() {
    // File and text: types with nested types are added, get heirs and other bases, and are removed.
    let edits = [
        (0, 0),
        (0, 1),
        (1, 5),
        (2, 6),
        (3, 8),
        (4, 17),
        (7, 12),
        (0, 2),
        (2, 7),
        (3, 0),
        (1, 4),
        (0, 3),
        (5, 19),
        (6, 9),
        (4, 0),
    ];
    let edits: Vec<_> = edits.iter().map(|(file, text)| (*file, *text, false)).collect();
    let (types, symbols, all) = follow(false, &edits).expect("equal tables");
    assert_eq!((types, symbols), (all, all));
}
