//! Resolution of symbol paths in a small workspace: agrees with build targets, and every reported path resolves to its own symbol.
use super::describe::describe;
use super::index::simple_name;
use super::outputs::{Outputs, Trouble};
use super::overloads;
use super::resolve::{How, Options, Resolution, resolve};
use super::samples::Sample;
use super::search::{Query, search};
use super::usages::Subject;
use crate::aliases::Aliases;
use proptest::prelude::*;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;

fn meaning(sample: &mut Sample, text: &str, options: &Options<'_>) -> Resolution {
    let symbols = sample.names();
    resolve(&symbols, sample, text, options).expect("a resolution")
}

/// Formats the step, the candidates, and `!` if the path resolved.
fn resolved_text(sample: &mut Sample, text: &str) -> String {
    let found = meaning(sample, text, &Options::default());
    let how = found.how.map_or("nothing".to_owned(), |how| format!("{how:?}").to_lowercase());
    let paths: Vec<String> = found
        .candidates
        .iter()
        .map(|one| match &one.inherited_by {
            Some(heir) => format!("{} ({heir})", one.path),
            None => one.path.clone(),
        })
        .collect();
    let mark = if found.resolved.is_some() { "!" } else { "" };
    assert_eq!(found.total, paths.len());
    assert_eq!(
        found.resolved.as_ref().map(|one| &one.path),
        found.candidate().ok().map(|one| &one.path)
    );
    format!("{how}{mark} {}", paths.join(" "))
}

#[test]
fn paths_resolve_to_their_symbols() {
    let mut sample = Sample::default();
    for (text, expected) in [
        // Whole names, in any case and in every notation of nested types and type arguments.
        ("Box.Store", "exact! Box.Store"),
        ("box.store", "exact! Box.Store"),
        ("Box.Store+Entry`1", "exact! Box.Store+Entry`1"),
        ("Box.Store.Entry<int>.Kind", "exact! Box.Store+Entry`1+Kind"),
        ("Box.Cache", "exact! Box.Cache"),
        ("Box.Cache<string, int>", "exact! Box.Cache`2"),
        ("cache`2", "suffix! Box.Cache`2"),
        // The type without type parameters takes precedence.
        ("Cache", "suffix! Box.Cache"),
        // Endings, from a separator on.
        ("BigStore", "suffix! Box.BigStore"),
        ("Down.Store", "suffix! Box.Deep.Down.Store"),
        ("Store", "suffix Box.Store Box.Deep.Down.Store"),
        ("Entry.Kind", "suffix! Box.Store+Entry`1+Kind"),
        ("ore", "nothing "),
        // A rooted name must be whole.
        ("global::Box.Store", "exact! Box.Store"),
        ("global::box.store", "exact! Box.Store"),
        ("global::Box.Store.Entry<int>.Kind", "exact! Box.Store+Entry`1+Kind"),
        ("global::Box.Store.Get(int)", "exact! Box.Store#Get(int)"),
        ("global::Store", "fuzzy Box.Store Box.Deep.Down.Store Box.IStore"),
        ("global::BigStore.Twice", "fuzzy Box.BigStore#Twice()"),
        ("global::Twice", "nothing "),
        ("global::*Store", "nothing "),
        ("global::Box.*Store", "wildcard Box.Store Box.IStore Box.BigStore"),
        ("global::Deep.Down", "nothing "),
        // Members.
        ("BigStore.Twice", "suffix! Box.BigStore#Twice()"),
        ("Box.Store#Get", "exact Box.Store#Get(int) Box.Store#Get(string?,int)"),
        ("Box.Store.Get(int)", "exact! Box.Store#Get(int)"),
        ("Box.Store.get(String,System.Int32)", "exact! Box.Store#Get(string?,int)"),
        ("Box.Store#op_Addition", "exact! Box.Store#op_Addition(Store,Store)"),
        ("Box.Store#Dispose", "exact! Box.Store#System.IDisposable.Dispose()"),
        ("Store.System.IDisposable.Dispose", "suffix! Box.Store#System.IDisposable.Dispose()"),
        ("Box.Store#Get(string?,int)", "exact! Box.Store#Get(string?,int)"),
        ("Box.Store..ctor", "exact! Box.Store#.ctor(int)"),
        ("Box.Store.Store(int)", "exact! Box.Store#.ctor(int)"),
        ("Box.Store#Store", "exact! Box.Store#.ctor(int)"),
        ("BigStore.Get(int)", "suffix! Box.Store#Get(int) (Box.BigStore)"),
        ("BigStore.Cache", "fuzzy Box.Store#Cache"),
        ("Twice", "suffix! Box.BigStore#Twice()"),
        ("hits", "suffix! Box.Cache`2#Hits"),
        ("Box.Store.Cache", "exact! Box.Store#Cache"),
        ("IStore.Count", "suffix! Box.IBase#Count (Box.IStore)"),
        // Patterns.
        ("*Store", "wildcard Box.Store Box.IStore Box.BigStore Box.Deep.Down.Store"),
        ("Box.?Store", "wildcard! Box.IStore"),
        ("BigStore.T*", "wildcard! Box.BigStore#Twice()"),
        ("Twi*", "wildcard Box.BigStore#Twice() Box.Deep.Down.Store#Twin"),
        ("Nope*", "nothing "),
        // Similarly spelled names.
        ("BigStroe", "fuzzy Box.BigStore"),
        ("Box.Store.Gte", "fuzzy Box.Store#Get(int) Box.Store#Get(string?,int)"),
        ("Box.Store.Get(char)", "fuzzy Box.Store#Get(int) Box.Store#Get(string?,int)"),
        ("BigStroe.Twice", "fuzzy Box.BigStore#Twice()"),
        ("Qqqqqqqq", "nothing "),
    ] {
        assert_eq!(resolved_text(&mut sample, text), expected, "{text}");
    }
}

#[test]
fn one_that_is_meant_has_identifiers_and_labels() {
    let mut sample = Sample::default();
    let found = meaning(&mut sample, "Store.Get(string,int)", &Options::default());
    assert_eq!((found.resolved.is_some(), found.how), (true, Some(How::Suffix)));
    let one = found.candidate().expect("one").clone();
    assert_eq!(
        (one.kind.as_str(), one.accessibility.as_str(), one.files.as_slice()),
        ("method", "public", &["src/Store.cs".to_owned()][..])
    );
    let id = one.member_id.clone().expect("an identifier");
    assert!(
        id.starts_with(&format!("{}_", one.type_id)) && one.type_id.starts_with("T_"),
        "{id}"
    );
    for (given, path) in [(&id, &one.path), (&one.type_id, &one.key().to_owned())] {
        let found = meaning(&mut sample, given, &Options::default());
        assert_eq!(
            (found.how, found.resolved.map(|found| found.path).as_ref()),
            (Some(How::Exact), Some(path))
        );
    }
    assert_eq!(meaning(&mut sample, "T_nothing", &Options::default()).resolved, None);
    let label = one.label("outline");
    assert_eq!(label, "//types/Box.Store#Get(string%3F,int):outline");
    let outline = sample
        .read(&[label])
        .expect("built")
        .pop()
        .and_then(|output| output.bytes)
        .expect("an outline");
    assert!(String::from_utf8_lossy(&outline).contains("public string Get(string? name, int most = 3)"));
    let of_type = meaning(&mut sample, "Box.Store", &Options::default());
    assert_eq!(of_type.label_of("outline").expect("one"), "//types/Box.Store:outline");
}

#[test]
fn errors_show_five_and_count_all() {
    let files: Vec<(String, String)> = (0..9)
        .map(|n| {
            (
                format!("{n}.cs"),
                format!("namespace N{n} {{ class Same {{ }} class Other{n} {{ }} }}"),
            )
        })
        .collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let mut sample = Sample::from_files(&files);
    let found = meaning(
        &mut sample,
        "Same",
        &Options {
            most: 6,
            ..Options::default()
        },
    );
    assert_eq!((found.total, found.candidates.len()), (9, 6));
    let error = found.candidate().expect_err("several");
    assert_eq!(
        (error.trouble, error.diagnostic.code.as_str()),
        (Trouble::Ambiguous, "AmbiguousSymbol")
    );
    assert_eq!(error.diagnostic.message, "9 types or members have this name");
    assert_eq!(error.diagnostic.candidates, ["N0.Same", "N1.Same", "N2.Same", "N3.Same", "N4.Same"]);
    // Recently used paths come first among suggestions, and nowhere else.
    let recent = ["N7.Other7".to_owned(), "N5.Same".to_owned()];
    let options = Options {
        recent: &recent,
        ..Options::default()
    };
    assert_eq!(meaning(&mut sample, "Same", &options).candidates[0].path, "N0.Same");
    let near = meaning(&mut sample, "Other", &options);
    assert_eq!((near.how, near.candidates[0].path.as_str()), (Some(How::Fuzzy), "N7.Other7"));
    let error = near.candidate().expect_err("suggestions");
    assert_eq!(error.diagnostic.code, "SymbolNotFound");
    assert_eq!(error.diagnostic.hint.as_deref(), Some("did you mean N7.Other7?"));
}

#[test]
fn former_names_answer_and_say_so() {
    let mut sample = Sample::default();
    let id = meaning(&mut sample, "BigStore", &Options::default()).candidates[0].type_id.clone();
    let aliases = Aliases {
        aliases: BTreeMap::from([("T_old".to_owned(), id)]),
        names: BTreeMap::from([("T_old".to_owned(), "Box.HugeStore".to_owned())]),
        ..Aliases::default()
    };
    let options = Options {
        aliases: Some(&aliases),
        ..Options::default()
    };
    let found = meaning(&mut sample, "HugeStore", &options);
    assert_eq!((found.how, found.former.as_deref()), (Some(How::Alias), Some("HugeStore")));
    assert_eq!(found.candidate().expect("one").path, "Box.BigStore");
    let member = meaning(&mut sample, "Box.HugeStore.Twice", &options);
    assert_eq!(member.candidate().expect("one").path, "Box.BigStore#Twice()");
}

#[test]
fn projects_that_share_a_name_are_told_apart() {
    let project = "<Project Sdk=\"Microsoft.NET.Sdk\"><PropertyGroup><TargetFramework>net8.0</TargetFramework></PropertyGroup></Project>";
    let mut sample = Sample::from_files(&[
        ("One/One.csproj", project),
        ("Two/Two.csproj", project),
        ("One/a.cs", "namespace P; class Q { void Go() { } }"),
        ("Two/a.cs", "namespace P; class Q { void Come() { } }"),
    ]);
    for (text, expected) in [
        ("P.Q", "exact P.Q@One P.Q@Two"),
        ("Q@Two", "suffix! P.Q@Two"),
        ("p.q@one", "exact! P.Q@One"),
        ("Q.Come", "suffix! P.Q@Two#Come()"),
        ("Q@One#Go", "suffix! P.Q@One#Go()"),
    ] {
        assert_eq!(resolved_text(&mut sample, text), expected, "{text}");
    }
}

#[test]
fn members_of_many_types_are_told_without_opening_each() {
    let classes: String = (0..40)
        .map(|n| format!("class C{n} {{ void Go() {{ }} void Go(int a) {{ }} }}\n"))
        .collect();
    let mut sample = Sample::from_files(&[("a.cs", &classes)]);
    let found = meaning(&mut sample, "Go", &Options::default());
    assert_eq!((found.total, found.candidates.len(), found.how), (80, 20, Some(How::Suffix)));
    assert_eq!(found.candidates[0].path, "C0#Go()");
    assert_eq!(found.candidates[19].path, "C9#Go(int)");
    let wild = meaning(&mut sample, "C*.G?", &Options::default());
    assert_eq!((wild.total, wild.how), (80, Some(How::Wildcard)));
    // Only the overloads of shown members are read.
    let opened = |label: &&String| label.ends_with(":members") && *label != "//index:members";
    assert_eq!(sample.asked.iter().filter(opened).count(), 40, "{:?}", sample.asked);
}

#[test]
fn namespaces_are_known_and_never_meant() {
    let mut sample = Sample::default();
    for (text, how, paths) in [
        ("box", Some(How::Exact), vec!["Box"]),
        ("Box.Deep", Some(How::Exact), vec!["Box.Deep"]),
        ("deep.down", Some(How::Suffix), vec!["Box.Deep.Down"]),
    ] {
        let found = meaning(&mut sample, text, &Options::default());
        assert_eq!(found.how, how, "{text}");
        assert!(found.resolved.is_some() && found.candidates.iter().all(|one| one.kind == "namespace"));
        assert_eq!(found.candidates.iter().map(|one| one.path.as_str()).collect::<Vec<_>>(), paths);
        let error = found.candidate().expect_err("no type");
        assert!(error.diagnostic.message.ends_with(" is a namespace, not a type or member"));
    }
}

#[test]
fn case_is_that_of_any_script() {
    let mut sample = Sample::from_files(&[(
        "a.cs",
        "namespace Größen; class Längenmaß { int Ёлка; void ΣΊΣΥΦΟΣ() { } } class ı { } class I { }",
    )]);
    for (text, expected) in [
        ("GRÖßEN.längenMAß", "exact! Größen.Längenmaß"),
        ("LÄNGENMAß.ёЛКА", "suffix! Größen.Längenmaß#Ёлка"),
        ("σίσυφοσ", "suffix! Größen.Längenmaß#ΣΊΣΥΦΟΣ()"),
        ("LÄNGEN*.Ё*", "wildcard! Größen.Längenmaß#Ёлка"),
        ("längenmßa", "fuzzy Größen.Längenmaß"),
        ("i", "suffix! Größen.I"),
        ("ı", "suffix! Größen.ı"),
    ] {
        assert_eq!(resolved_text(&mut sample, text), expected, "{text}");
    }
    assert_eq!(targets(&mut sample, "längenMAß"), ["Größen.Längenmaß"]);
}

#[test]
fn bombs_are_refused_or_answered() {
    let mut sample = Sample::default();
    let symbols = sample.names();
    for text in ["*a".repeat(50_000), "x".repeat(100_000), "*a".repeat(33)] {
        let error = resolve(&symbols, &mut sample, &text, &Options::default()).expect_err("over a limit");
        assert_eq!(error.trouble, Trouble::Asked);
    }
    let bomb = "*a*".repeat(16);
    assert_eq!(
        resolve(&symbols, &mut sample, &bomb, &Options::default()).expect("an answer").total,
        0
    );
}

const NAMES: [&str; 20] = [
    "Store", "store", "Cache", "Cache`2", "Box.Cache", "Entry", "Entry`1", "Entry`1+Kind", "Kind", "Down.Store", "Deep.Down.Store",
    "box.deep.down.STORE", "IStore", "Reader", "Line", "Cache`2+Line", "Box", "Box.Store", "BOX.STORE", "ore",
];

thread_local! {
    static BUILT: RefCell<Sample> = RefCell::new(Sample::default());
}

/// Returns the types that a build target of that name matches.
fn targets(sample: &mut Sample, name: &str) -> Vec<String> {
    let package = |label: &str| label.trim_start_matches("//types/").trim_end_matches(":structure").to_owned();
    match sample.built(&format!("//types/{name}:structure")) {
        Ok(labels) => labels.iter().map(|label| package(label)).collect(),
        Err((code, candidates)) if code == "E_AMBIGUOUS" => candidates.iter().map(|label| package(label)).collect(),
        Err(_) => Vec::new(),
    }
}

fn agrees(sample: &mut Sample, name: &str) {
    let mut built = targets(sample, name);
    let found = meaning(sample, name, &Options::default());
    let mut types: Vec<String> = found
        .candidates
        .iter()
        .filter(|one| one.member().is_none())
        .map(|one| one.path.clone())
        .collect();
    if found.how == Some(How::Fuzzy) {
        types.clear();
    }
    types.sort();
    built.sort();
    match built.len() {
        // If a build finds nothing, resolution may still: it accepts more notations.
        0 => {}
        1 => assert_eq!(types, built, "{name}: {found:?}"),
        // Resolution may choose one of several types by whole name, project or type parameters, but only from those that the build matches.
        _ => assert!(
            !types.is_empty() && types.iter().all(|one| built.contains(one)),
            "{name}: {types:?} {built:?}"
        ),
    }
}

#[test]
fn build_targets_mean_the_same() {
    let mut sample = Sample::default();
    for name in NAMES {
        agrees(&mut sample, name);
    }
    assert_eq!(targets(&mut sample, "Store"), ["Box.Deep.Down.Store", "Box.Store"]);
    // The documented difference: a build refuses these names.
    assert_eq!(targets(&mut sample, "box.store"), ["Box.Store"]);
    assert_eq!(targets(&mut sample, "Store.Entry"), Vec::<String>::new());
    let mut shadowed = Sample::from_files(&[(
        "a.cs",
        "class Program { } namespace X { class Program { } namespace y { class program { } } }",
    )]);
    for name in ["Program", "program", "PROGRAM", "x.program", "y.program"] {
        agrees(&mut shadowed, name);
    }
    assert_eq!(targets(&mut shadowed, "PROGRAM"), ["Program"]);
    assert_eq!(resolved_text(&mut shadowed, "PROGRAM"), "exact! Program");
    assert_eq!(resolved_text(&mut shadowed, "program"), "suffix! X.y.program");
}

/// Returns the C# files and projects of the fixture.
fn fixture() -> Vec<(String, String)> {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/memotree"));
    let (mut folders, mut files) = (vec![root.to_path_buf()], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let name = path.strip_prefix(root).expect("below").to_string_lossy().into_owned();
            match path.is_dir() {
                // Skip the output of earlier builds.
                true if [".cortex", "bin", "obj"].iter().any(|left| path.ends_with(left)) => {}
                true => folders.push(path),
                false if name.ends_with(".cs") || name.ends_with(".csproj") => {
                    files.push((name, std::fs::read_to_string(path).expect("text")))
                }
                false => {}
            }
        }
    }
    files
}

fn sample_of(files: &[(String, String)]) -> Sample {
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    Sample::from_files(&files)
}

#[test]
fn build_targets_of_the_fixture_mean_the_same() {
    let mut sample = sample_of(&fixture());
    let keys: Vec<String> = sample.names().keys().map(str::to_owned).collect();
    assert!(keys.len() > 60);
    for key in &keys {
        let simple = simple_name(key);
        for name in [key.as_str(), simple, &simple.to_uppercase(), &key.to_lowercase()] {
            agrees(&mut sample, name);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn build_targets_mean_the_same_of_any_text(name in "((Box|box|Deep|Down)[.+])?(Store|STORE|Cache|Entry|Kind|Reader)(`1|`2)?([.+](Entry|Kind|Line))?") {
        BUILT.with_borrow_mut(|sample| agrees(sample, &name));
    }
}

/// Members of all kinds.
const ZOO: &str = r#"
namespace Zoo.Deep
{
    public interface IFace<T> { void Do(T x); int this[int at] { get; } event System.Action Rung; static abstract IFace<T> operator +(IFace<T> a, IFace<T> b); }
    public class Cage<T> : IFace<T>, IFace<(int, string?)>, System.IDisposable
    {
        static Cage() { }
        public Cage() { }
        public Cage(int x, ref string[] y) { }
        ~Cage() { }
        public const int K = 1, L = 2;
        public readonly T[] field;
        public event System.Action Rung;
        public event System.Action Kept { add { } remove { } }
        void IFace<T>.Do(T x) { }
        void IFace<(int, string?)>.Do((int, string?) x) { }
        int IFace<T>.this[int at] => 1;
        public int this[int a] => 1;
        public int this[string? a, params int[] b] => 1;
        public static Cage<T> operator +(Cage<T> a, Cage<T> b) => a;
        public static Cage<T> operator checked +(Cage<T> a, Cage<T> b) => a;
        public static Cage<T> operator >>>(Cage<T> a, int b) => a;
        public static bool operator true(Cage<T> a) => true;
        public static bool operator false(Cage<T> a) => false;
        public static implicit operator int(Cage<T> c) => 1;
        public static explicit operator string?(Cage<T> c) => null;
        public static explicit operator (int, int)(Cage<T> c) => (1, 2);
        public void Add<U>(U u) { }
        public void Add(T t) { }
        public void Add<U, V>(System.Collections.Generic.Dictionary<U, V[]> d) { }
        void M(ref int a) { }
        void M(in long a) { }
        void M(out string a) { a = ""; }
        void M(int? a, string[,] b, (int x, string? y) c) { }
        unsafe void P(int* p, delegate*<int, void> f) { }
        void System.IDisposable.Dispose() { }
        int @class;
        void Twice() { }
        void Twice() { }
        public class Inner<U>
        {
            public enum Kind { One, Two = 2 }
            public delegate void Handler<V>(V v);
            public record R(int A, string B) { public int C; }
            public struct S { public S() { } public int Held { get; init; } }
            void Add<W>(W w, U u, T t) { }
        }
    }
    static class Ext { extension(string s) { public bool IsBlank() => true; } static int Len(this string s) => 1; }
    file class Hidden { void Here() { } }
    class Größe { int Länge; }
}
"#;

/// Checks that every path reported by the indexes, outlines, usages and search resolves to exactly its own symbol.
fn told_paths_mean_themselves(sample: &mut Sample, least: usize) {
    let symbols = sample.names();
    let keys: Vec<String> = symbols.keys().map(str::to_owned).collect();
    let mut paths: Vec<String> = Vec::new();
    for key in &keys {
        paths.push(key.clone());
        let rows = overloads::read_overloads(sample, &[key]).expect("members").remove(0);
        let full = rows.iter().map(|row| format!("{key}#{}", row.key));
        paths.extend(full);
        // The index reports names, which resolve to all their overloads.
        for name in rows.iter().map(|row| &row.name).filter(|name| symbols.declares(key, name)) {
            let found = resolve(&symbols, sample, &format!("{key}#{name}"), &Options::default()).expect("a resolution");
            let subject = Subject::from_resolution(&found).expect("one name");
            assert!(subject.path.starts_with(&format!("{key}#{name}")), "{key}#{name}: {subject:?}");
            assert!(found.candidates.iter().all(|one| one.key() == key), "{key}#{name}: {found:?}");
        }
    }
    assert!(paths.len() >= least, "{}", paths.len());
    let mut labels = Vec::new();
    for path in &paths {
        let found = resolve(&symbols, sample, path, &Options::default()).expect("a resolution");
        let resolved = found.resolved.as_ref().map(|one| one.path.as_str());
        assert_eq!((resolved, found.how), (Some(path.as_str()), Some(How::Exact)), "{path}: {found:?}");
        assert_eq!(Subject::from_resolution(&found).expect("one").path, *path);
        labels.push(found.label_of("outline").expect("one"));
    }
    // The label of each path is that of its outline, which reports the same path.
    let outlines = sample.read(&labels).expect("outlines");
    assert_eq!(outlines.len(), paths.len());
    for (path, outline) in paths.iter().zip(outlines) {
        let text = String::from_utf8(outline.bytes.expect("an outline").to_vec()).expect("text");
        let answer = if path.contains('#') {
            path.clone()
        } else {
            path.split('@').next().unwrap_or_default().to_owned()
        };
        assert!(text.starts_with(&format!("# {answer}")), "{path}: {text}");
    }
    for kind in [None, Some("member"), Some("constructor"), Some("namespace")] {
        for name in keys
            .iter()
            .map(|key| simple_name(key))
            .chain(["Add", "this[]", "M", "Do", "R", "e"])
        {
            let query = Query {
                kind,
                limit: 200,
                ..Query::new(name)
            };
            let hits = search(&symbols, &query).expect("a page").hits;
            for hit in describe(sample, hits).expect("hits") {
                let found = resolve(&symbols, sample, &hit.path, &Options::default());
                let resolved = found.expect("a resolution").resolved.expect("one");
                assert_eq!(resolved.path, hit.path);
                if hit.path.contains('#') {
                    assert_eq!((resolved.type_id, resolved.member_id), (hit.type_id, hit.member_id), "{}", hit.path);
                }
            }
        }
    }
}

#[test]
fn paths_that_are_told_mean_themselves_whatever_the_member() {
    let mut sample = Sample::from_files(&[("zoo.cs", ZOO), ("top.cs", "System.Console.WriteLine(); void Local() { }")]);
    told_paths_mean_themselves(&mut sample, 60);
    for (text, expected) in [
        ("Cage`1#Add`1(U)", "suffix! Zoo.Deep.Cage`1#Add`1(U)"),
        (
            "Cage#Add`2",
            "suffix! Zoo.Deep.Cage`1#Add`2(System.Collections.Generic.Dictionary<U, V[]>)",
        ),
        ("Cage<int>#this[int]", "suffix! Zoo.Deep.Cage`1#this[](int)"),
        ("Cage.this[string?, int[]]", "suffix! Zoo.Deep.Cage`1#this[](string?,int[])"),
        ("Cage#IFace<T>.Do", "suffix! Zoo.Deep.Cage`1#IFace<T>.Do(T)"),
        ("Cage#Finalize", "suffix! Zoo.Deep.Cage`1#Finalize()"),
        ("Cage#.cctor", "suffix! Zoo.Deep.Cage`1#.cctor()"),
        ("Cage..ctor(int, ref string[])", "suffix! Zoo.Deep.Cage`1#.ctor(int,ref string[])"),
        ("Cage#op_True", "suffix! Zoo.Deep.Cage`1#op_True(Cage<T>)"),
        ("Cage.Inner.S.Held", "suffix! Zoo.Deep.Cage`1+Inner`1+S#Held"),
    ] {
        assert_eq!(resolved_text(&mut sample, text), expected, "{text}");
    }
}

#[test]
fn paths_that_are_told_of_the_fixture_mean_themselves() {
    told_paths_mean_themselves(&mut sample_of(&fixture()), 300);
}

#[test]
fn a_type_that_a_project_compiles_goes_before_one_that_none_does() {
    let mut sample = Sample::from_files(&[
        ("src/A/A.csproj", "<Project Sdk=\"Microsoft.NET.Sdk\"/>"),
        ("src/A/Node.cs", "namespace N; public class Node { } public class Node<T> { }"),
        (
            "docs/Node.cs",
            "namespace N; public class Node { } namespace Docs; public class Page { }",
        ),
        ("docs/Other.cs", "namespace Other { public class Node { } }"),
        (
            "src/A/Tree.cs",
            "namespace N; class Tree { class Node { } class Leaf { } } class Leaf<T> { }",
        ),
    ]);
    for (text, expected) in [
        ("N.Node", "exact! N.Node@A"),
        ("Node", "suffix! N.Node@A"),
        ("Node<int>", "suffix! N.Node`1"),
        ("Node@loose", "suffix! N.Node@loose"),
        ("Other.Node", "exact! Other.Node"),
        ("Tree.Node", "suffix! N.Tree+Node"),
        ("Leaf", "suffix! N.Leaf`1"),
    ] {
        assert_eq!(resolved_text(&mut sample, text), expected, "{text}");
    }
}
