//! Packs of a small workspace: filters against a naive evaluation, dependencies, order, budget, and edits that leave packs unchanged.

use super::budget::tokens;
use super::filter::{Expr, Field, Filter, parse_filter};
use super::form::{CONTENTS, Contents, FACTS, PACK, PackFacts};
use super::glob::{Glob, Name};
use super::select::{Select, Selection, Why, read_selection};
use crate::fixture::{World, blob, run_with};
use crate::graph::Graph;
use crate::types::symbol_of;
use engine::seams::producer::{Failure, Input, Output, Producer};
use engine::values::diagnostic::Diagnostic;
use engine::values::table::{Table, write_table};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

const CODE: &str = r#"
namespace Memo.Core
{
    /// <summary>Where nodes are. For ever.</summary>
    public class NodeStore : IStore { public Node Get(Key key) => new(); private Cache _cache; int Size() { return Limits.Most; } }
    public interface IStore { Node Get(Key key); }
    public class Node { public Node? Parent; public Tree? In; }
    public class Tree { public Node Root; public sealed class Walk { } }
    public readonly struct Key { }
    internal class Cache { Key _last; }
    public static class Limits { public const int Most = 3; }
}
namespace Memo.Web { public class Page { public Memo.Core.IStore Store; } public class List<T> { public T First; } }
namespace Other { public class Lonely { } class NodeStoreTests { void Run() { new Memo.Core.NodeStore(); } } }
public class Program { }
"#;

const TAGS: [(&str, &str); 4] = [
    ("web", r#"["Memo.Web.*"]"#),
    ("stores", r#"["*Store","istore"]"#),
    ("none", "[]"),
    ("misspelt", r#"["NodeStroe","Key","Nowhere.*"]"#),
];

/// The indexes of a C# workspace.
struct Bench {
    world: World,
    indexes: Vec<(&'static str, Vec<Input>)>,
}

impl Bench {
    fn new(code: &str) -> Self {
        let (syntax, _) = crate::parse::read(code, &BTreeSet::new(), "a.cs");
        let world = World::new(&[("src/a.cs", syntax)], &[("src/App.csproj", "{}")]);
        let types = || vec![blob("", world.types.clone())];
        let run = |producer: &dyn Producer, roles| vec![blob("", run_with(producer, &[], "{}", roles).expect("an index").bytes)];
        let tags: BTreeMap<&str, &str> = TAGS.into_iter().collect();
        let indexes = vec![
            (
                "graph",
                run(&Graph, vec![("types", types()), ("dependencies", vec![world.dependencies()])]),
            ),
            ("dependencies", vec![world.dependencies()]),
            (
                "languages",
                vec![blob(
                    "",
                    write_table(&BTreeMap::from([("scip", r#"{"indexed":true}"#), ("typescript", "{}")])),
                )],
            ),
            (
                "names",
                vec![
                    blob("scip", names(&["web/b.ts"])),
                    blob("typescript", names(&["web/a.ts", "web/b.ts", "web/sub/c.ts"])),
                ],
            ),
            ("tags", vec![blob("", write_table(&tags))]),
            ("types", types()),
        ];
        Self { world, indexes }
    }

    fn index(&self, role: &str) -> &[u8] {
        let found = self.indexes.iter().find(|(known, _)| *known == role);
        &found.expect("an index").1[0].bytes
    }

    fn select(&self, row: &serde_json::Value) -> Result<Output, Failure> {
        let row = write_table(&BTreeMap::from([("core", row.to_string())]));
        let mut roles = self.indexes.clone();
        roles.push(("row", vec![blob("", row)]));
        run_with(&Select, &[("pack", "core")], "{}", roles)
    }

    fn selected(&self, row: &serde_json::Value) -> Selection {
        let output = self.select(row).unwrap_or_else(|failure| panic!("{row}: {failure:?}"));
        read_selection(&output.bytes).expect("a selection")
    }

    /// Returns the types that a filter matches, without dependencies and without namespaces.
    fn selected_types(&self, filter: &str) -> Vec<String> {
        let selection = self.selected(&serde_json::json!({"filter": filter, "dependencies": false}));
        let mut names: Vec<String> = selection.types.iter().map(|key| short(key)).collect();
        names.sort();
        names
    }

    /// Returns the text that a producer of packs writes for a row, with requested summaries.
    fn make(&self, producer: &dyn Producer, row: &serde_json::Value) -> String {
        String::from_utf8(self.output(producer, row).bytes).expect("text")
    }

    fn output(&self, producer: &dyn Producer, row: &serde_json::Value) -> Output {
        let selection = self.select(row).expect("a selection").bytes;
        let of = read_selection(&selection).expect("a selection");
        let each =
            |name: &str, keys: &[String]| -> Vec<Input> { keys.iter().map(|key| blob(key, self.world.output(name, key).bytes)).collect() };
        let outlines = |paths: &[String], tool: &str| -> Vec<Input> {
            paths
                .iter()
                .map(|path| blob(path, format!("# {path}\nTold by: {tool}\n")))
                .collect()
        };
        let summaries = of.semantic.iter().map(|key| {
            let head = format!("# Semantic: {key} T_1\nStructureHash: 1\nImplHash: 1\nDependencies: none\nSource: extractive\n");
            blob(key, format!("{head}\nROLE:\nHolds {key} for its users.\n"))
        });
        let roles = vec![
            ("files", outlines(&of.files, "tree-sitter")),
            ("indexed", outlines(&of.indexed, "an index")),
            ("outlines", each("outline-info", &of.types)),
            ("semantics", summaries.collect()),
            ("selection", vec![blob("", selection)]),
        ];
        run_with(producer, &[("pack", "core")], "{}", roles).expect("a pack")
    }

    /// Returns the diagnostics of writing a pack.
    fn diagnostics_of(&self, row: &serde_json::Value) -> Vec<Diagnostic> {
        self.output(&PACK, row).diagnostics
    }

    fn pack(&self, row: &serde_json::Value) -> String {
        self.make(&PACK, row)
    }

    /// Returns the contents of a pack's text from the data form, and checks that the text agrees.
    fn contents(&self, row: &serde_json::Value) -> Contents {
        let contents: Contents = serde_json::from_str(&self.make(&CONTENTS, row)).expect("contents");
        let text = self.pack(row);
        assert_eq!(contents.token_estimate, tokens(text.len()), "{text}");
        assert!(text.contains(&format!("| Tokens: about {}", contents.token_estimate)), "{text}");
        let headings = text.lines().filter_map(|line| line.strip_prefix("## ")?.split(' ').next());
        assert_eq!(
            headings.collect::<Vec<_>>(),
            [&contents.types[..], &contents.files].concat(),
            "{text}"
        );
        for out in &contents.left_out {
            assert!(text.contains(&out.path), "{out:?} in {text}");
        }
        contents
    }
}

/// Returns a table of names that these files define.
fn names(files: &[&str]) -> Vec<u8> {
    let row = |file: &&str| (file.to_string(), format!(r#"{{"{file}":[["C","class"]]}}"#));
    write_table(&files.iter().map(row).collect())
}

fn short(key: &str) -> String {
    key.rsplit('.').next().unwrap_or(key).to_owned()
}

#[test]
fn each_primary_of_a_filter_selects_its_types() {
    let bench = Bench::new(CODE);
    for (filter, expected) in [
        ("namespace:memo.web", vec!["List`1", "Page"]),
        ("namespace:Memo", vec![]),
        ("namespace:Memo.* type:*Store*", vec!["IStore", "NodeStore"]),
        ("!namespace:Memo.*", vec!["Lonely", "NodeStoreTests", "Program"]),
        ("type:List", vec!["List`1"]),
        ("type:Tree+Walk or type:walk", vec!["Tree+Walk"]),
        ("access:internal", vec!["Cache", "NodeStoreTests"]),
        ("access:int*", vec!["Cache", "NodeStoreTests"]),
        ("tag:web", vec!["List`1", "Page"]),
        ("tag:stores !type:I*", vec!["NodeStore"]),
        ("tag:none", vec![]),
        ("depends:NodeStore", vec!["NodeStoreTests"]),
        ("depends:Key", vec!["Cache", "IStore", "NodeStore"]),
        ("depends:Limits", vec!["NodeStore"]),
        ("file:src/A.cs type:Page", vec!["Page"]),
        ("file:web/* type:Page", vec![]),
    ] {
        assert_eq!(bench.selected_types(filter), expected, "{filter}");
    }
}

#[test]
fn names_in_a_filter_that_do_not_exist_are_reported() {
    let bench = Bench::new(CODE);
    let diagnostics = |filter: &str| match bench.select(&serde_json::json!({ "filter": filter })) {
        Err(Failure::Permanent(why)) => vec![*why],
        Err(other) => panic!("{other:?}"),
        Ok(output) => output.diagnostics,
    };
    let wrong = diagnostics("type:A\n or tag:wbe");
    assert_eq!(
        (wrong[0].code.as_str(), wrong[0].hint.as_deref()),
        ("InvalidFilter", Some("did you mean 'web'?"))
    );
    let place = wrong[0].place.as_ref().expect("a place");
    assert_eq!(
        (place.line, place.column, wrong[0].candidates.as_slice()),
        (1, 16, &["web".to_owned()][..])
    );
    assert!(
        diagnostics("access:publik")[0]
            .hint
            .as_deref()
            .is_some_and(|hint| hint.contains("'public'"))
    );
    let nothing: Vec<String> = diagnostics("type:NodeStroe and namespace:Memo.Core")
        .iter()
        .map(|one| one.code.clone())
        .collect();
    assert_eq!(nothing, ["CS-PACK-NOTHING", "CS-PACK-EMPTY"]);
    assert_eq!(diagnostics("type:NodeStroe")[0].candidates, ["Memo.Core.NodeStore"]);
    assert_eq!(diagnostics("type:NodeStore"), []);
    assert_eq!(diagnostics("tag:stores"), []);
    let patterns: Vec<(String, Vec<String>)> = diagnostics("tag:misspelt")
        .into_iter()
        .map(|one| (one.message, one.candidates))
        .collect();
    assert_eq!(
        patterns,
        [
            (
                "'NodeStroe' of tag:misspelt selects no type".to_owned(),
                vec!["Memo.Core.NodeStore".to_owned()]
            ),
            ("'Nowhere.*' of tag:misspelt selects no type".to_owned(), vec![]),
        ]
    );
}

#[test]
fn public_dependencies_of_declarations_come_with_it_in_order() {
    let bench = Bench::new(CODE);
    let selection = bench.selected(&serde_json::json!({"filter": "type:NodeStore"}));
    let own = |names: &[&str]| -> Vec<String> { names.iter().map(|name| format!("Memo.Core.{name}")).collect() };
    // Not Cache (internal) and not Limits (named only in a body); Node is included, but not the types that Node names.
    assert_eq!(selection.types, own(&["Key", "Node", "IStore", "NodeStore"]));
    assert_eq!(selection.why["Memo.Core.NodeStore"], Why::Matched);
    assert_eq!(selection.why["Memo.Core.Key"], Why::DependencyOf(own(&["NodeStore"])));
    let both = bench.selected(&serde_json::json!({"filter": "type:NodeStore or type:Page"}));
    assert_eq!(
        both.why["Memo.Core.IStore"],
        Why::DependencyOf(vec!["Memo.Core.NodeStore".into(), "Memo.Web.Page".into()])
    );
    assert_eq!(
        both.types,
        [own(&["Key", "Node", "IStore", "NodeStore"]), vec!["Memo.Web.Page".into()]].concat()
    );
    let group = bench.selected(&serde_json::json!({"filter": "type:Tree or type:Node or type:Key"}));
    assert_eq!(group.types, own(&["Key", "Node", "Tree"]));
}

#[test]
fn a_pack_is_a_text_that_says_what_it_left_out() {
    let bench = Bench::new(CODE);
    let row = |budget: Option<u64>| serde_json::json!({"filter": "type:NodeStore", "semantic": true, "budget": budget});
    let whole = bench.pack(&row(None));
    insta::assert_snapshot!(bench.pack(&serde_json::json!({"filter": "type:NodeStore\n or type:Lonely", "dependencies": false})), @"
    # Pack core
    Filter: type:NodeStore or type:Lonely
    Types: 2 (2 matched, 0 as dependencies) | Tokens: about 162

    ## Memo.Core.NodeStore T_f6gkg4jw
    Kind: class | File: src/a.cs | Assembly: App
    XMLDOC: Where nodes are.

    Public API:
      + public class NodeStore : IStore
      + public Node Get(Key key)

    Implements: IStore
    DependsOn: Memo.Core.IStore, Memo.Core.Cache, Memo.Core.Key, Memo.Core.Node

    ## Other.Lonely T_gq3axv2e
    Kind: class | File: src/a.cs | Assembly: App

    Public API:
      + public class Lonely

    Implements: none
    DependsOn: none
    ");
    assert_eq!(whole.matches("\n### Semantic (").count(), 4);
    assert!(whole.contains("\nIn the pack as a dependency of Memo.Core.NodeStore\n"), "{whole}");
    let out = |contents: &Contents| -> Vec<(String, String)> {
        let each = contents.left_out.iter();
        each.map(|out| (out.part.clone(), short(&out.path))).collect()
    };
    let all = bench.contents(&row(None));
    assert_eq!((out(&all), all.types.len()), (vec![], 4));
    // Facts depend on outlines alone.
    let plain = |budget: Option<u64>| serde_json::json!({"filter": "type:NodeStore", "budget": budget});
    let facts = |budget| -> PackFacts { serde_json::from_str(&bench.make(&FACTS, &plain(budget))).expect("facts") };
    assert_eq!(facts(None).token_estimate, bench.contents(&plain(None)).token_estimate);
    let mut before = all;
    for budget in (1..before.token_estimate).rev() {
        let now = bench.contents(&row(Some(budget)));
        assert!(now.token_estimate <= budget || now.types.is_empty(), "{budget}: {now:?}");
        assert_eq!(now.types.len() + now.left_out.iter().filter(|out| out.part == "type").count(), 4);
        assert!(now.types.len() == 4 || now.left_out.iter().filter(|out| out.part == "summary").count() == now.types.len());
        let why = format!("it does not fit the budget of {budget} tokens");
        assert!(now.left_out.iter().all(|out| out.why == why), "{now:?}");
        before = now;
    }
    assert_eq!((before.types.len(), before.left_out.len()), (0, 4));
    let least = bench.diagnostics_of(&row(Some(1)));
    assert_eq!(least[0].code, "CS-PACK-BUDGET");
    let head = format!(
        "the budget of 1 tokens is too small for any type of the pack, and its head alone takes {}",
        before.token_estimate
    );
    assert_eq!(least[0].message, head);
    let fewest: u64 = least[0]
        .hint
        .as_deref()
        .and_then(|hint| hint.split(' ').find_map(|word| word.parse().ok()))
        .expect("a number");
    assert_eq!(bench.contents(&row(Some(fewest))).types.len(), 1);
    let small = bench.pack(&row(Some(fewest)));
    assert!(small.contains("\nTypes: 1 of 4 (1 matched, 0 as dependencies) | "), "{small}");
    assert_eq!((before.needed, bench.contents(&row(Some(fewest))).needed), (Some(fewest), None));
    let short = bench.contents(&row(Some(fewest - 1)));
    assert_eq!((short.types.len(), short.needed), (0, Some(fewest)));
    // The head fits, but no type.
    assert_eq!(
        bench.diagnostics_of(&row(Some(fewest - 1)))[0].message,
        format!("the budget of {} tokens is too small for any type of the pack", fewest - 1)
    );
}

#[test]
fn smaller_types_fill_the_budget_that_a_larger_type_leaves() {
    let methods: String = (0..40)
        .map(|at| format!("public int Method{at}(int first, int second) => {at}; "))
        .collect();
    let code = format!(
        "namespace N; public class Core {{ }} public class Big {{ {methods} public Core Back; }} public class Tiny {{ public Core One; public Big Two; }}"
    );
    let bench = Bench::new(&code);
    let row = |budget: Option<u64>| serde_json::json!({"filter": "namespace:N", "budget": budget});
    let kept = |budget| bench.contents(&row(budget)).types;
    assert_eq!(kept(None).len(), 3);
    let some: BTreeSet<Vec<String>> = (1..400).map(|budget| kept(Some(budget))).collect();
    let names: BTreeSet<String> = some.iter().map(|types| types.join(" ")).collect();
    assert!(names.contains("N.Core N.Tiny") || names.contains("N.Tiny N.Core"), "{names:?}");
}

#[test]
fn a_long_type_does_not_displace_many_short_ones() {
    let methods: String = (0..40)
        .map(|at| format!("public int Method{at}(int first, int second) => {at}; "))
        .collect();
    let short: String = (0..9).map(|at| format!("public class Short{at} {{ public Big Of; }} ")).collect();
    let bench = Bench::new(&format!("namespace N; public class Big {{ {methods} }} {short}"));
    let kept = |budget: u64| {
        bench
            .contents(&serde_json::json!({"filter": "namespace:N", "budget": budget}))
            .types
            .len()
    };
    let all = bench.contents(&serde_json::json!({"filter": "namespace:N"})).types.len();
    assert_eq!(all, 10);
    let counts: Vec<usize> = (300..1_500).step_by(25).map(kept).collect();
    let most_before = counts.iter().scan(0, |most, count| {
        *most = (*most).max(*count);
        Some(*most)
    });
    assert!(counts.iter().zip(most_before).all(|(count, most)| 2 * count >= most), "{counts:?}");
    assert!(counts.contains(&9), "{counts:?}");
    // The most important type is the long one, and the others fit without it.
    assert!(kept(300) > 1, "{counts:?}");
}

#[test]
fn types_that_a_filter_excludes_are_not_added_as_dependencies() {
    let bench = Bench::new(CODE);
    let row = |filter: &str| serde_json::json!({ "filter": filter });
    let selected = |filter: &str| {
        let selection = bench.selected(&row(filter));
        let types: Vec<String> = selection.types.iter().map(|key| short(key)).collect();
        let excluded: Vec<(String, String)> = selection.excluded.into_iter().map(|(key, by)| (short(&key), by)).collect();
        (types.join(" "), excluded)
    };
    let by = |names: &[&str], by: &str| -> Vec<(String, String)> { names.iter().map(|name| ((*name).to_owned(), by.to_owned())).collect() };
    assert_eq!(
        selected("type:NodeStore !type:key"),
        ("Node IStore NodeStore".into(), by(&["Key"], "!type:key"))
    );
    // A `!` excludes a dependency from whatever branch of the filter it is in.
    assert_eq!(selected("type:NodeStore or (type:Page !type:Key)").1, by(&["Key"], "!type:Key"));
    assert_eq!(selected("type:NodeStore !access:public"), (String::new(), vec![]));
    assert_eq!(selected("type:NodeStore !depends:Key"), (String::new(), vec![]));
    assert_eq!(selected("type:NodeStore !namespace:Other").1, vec![]);
    // A type that the filter matches stays, even if a `!` names it.
    assert_eq!(selected("type:NodeStore or type:Key or (type:Page !type:Key)").1, vec![]);
    assert_eq!(selected("type:Key !type:NodeStore"), ("Key".into(), vec![]));
    let text = bench.pack(&row("type:NodeStore !type:key"));
    assert!(
        text.contains("\nLeft out by the filter, 1 dependencies: Memo.Core.Key (!type:key)\n"),
        "{text}"
    );
    let contents = bench.contents(&row("type:NodeStore !type:key"));
    assert_eq!(contents.left_out[0].why, "declarations name it, and the filter says !type:key");
}

#[test]
fn files_of_other_languages_are_selected_by_their_path_alone() {
    let bench = Bench::new(CODE);
    let row = |filter: &str, budget: Option<u64>| serde_json::json!({"filter": filter, "budget": budget});
    let selected = |filter: &str| {
        let selection = bench.selected(&row(filter, None));
        (selection.files.join(" "), selection.indexed.join(" "))
    };
    let files = |by_grammar: &str, by_index: &str| (by_grammar.to_owned(), by_index.to_owned());
    // If an index describes a file, the index wins.
    assert_eq!(selected("file:web/*"), files("web/a.ts web/sub/c.ts", "web/b.ts"));
    assert_eq!(selected("file:WEB/?.ts !file:*b.ts or type:Page"), files("web/a.ts", ""));
    for filter in [
        "!type:Page", "file:web/* type:Page", "!file:web/a.ts", "type:Page or !file:src/a.cs",
    ] {
        assert_eq!(selected(filter), files("", ""), "{filter}");
    }
    let all = row("type:Key or file:web/*", None);
    let text = bench.pack(&all);
    assert!(
        text.contains("\nTypes: 1 (1 matched, 0 as dependencies) | Files: 3 | Tokens: about "),
        "{text}"
    );
    assert!(
        text.ends_with("\n## web/b.ts\nTold by: an index\n\n## web/sub/c.ts\nTold by: tree-sitter\n"),
        "{text}"
    );
    // The budget drops files before types, the last by path first.
    let whole = bench.contents(&all).token_estimate;
    for budget in 1..whole {
        let contents = bench.contents(&row("type:Key or file:web/*", Some(budget)));
        assert!(
            contents.files.len() < 3 && contents.files.len() + contents.left_out.len() + contents.types.len() == 4,
            "{contents:?}"
        );
        assert!(contents.files.is_empty() || contents.types.len() == 1, "{contents:?}");
        assert_eq!(contents.files, ["web/a.ts", "web/b.ts"][..contents.files.len()]);
    }
    let nothing = bench.diagnostics_of(&row("file:web/*", Some(1)));
    assert!(
        nothing[0]
            .message
            .starts_with("the budget of 1 tokens is too small for any file of the pack"),
        "{nothing:?}"
    );
}

#[test]
fn edits_that_do_not_concern_a_pack_leave_it_as_it_is() {
    let row = serde_json::json!({"filter": "namespace:Memo.Core type:*Store"});
    let before = Bench::new(CODE);
    for (why, from, to) in [
        ("a comment", "public class Node {", "// more\npublic class Node {"),
        ("a body", "return Limits.Most;", "return 7;"),
        (
            "a type that is not meant",
            "public class Lonely { }",
            "public class Lonely { } public class New { NodeStore s; Key k; }",
        ),
    ] {
        let after = Bench::new(&CODE.replace(from, to));
        assert_ne!(CODE, CODE.replace(from, to), "{why}");
        assert_eq!(before.select(&row), after.select(&row), "{why}");
        assert_eq!(before.pack(&row), after.pack(&row), "{why}");
    }
    let documented = Bench::new(&CODE.replace("Where nodes are", "Where all nodes are"));
    assert_ne!(before.pack(&row), documented.pack(&row));
}

/// Whether a filter matches one type, evaluated directly from the definitions.
fn means(bench: &Bench, filter: &Filter, expr: &Expr, key: &str) -> bool {
    match expr {
        Expr::Any(parts) => parts.iter().any(|part| means(bench, filter, part, key)),
        Expr::All(parts) => parts.iter().all(|part| means(bench, filter, part, key)),
        Expr::Is { primary, not } => {
            let primary = &filter.primaries[*primary];
            let is = |glob: &Glob, key: &str| glob.matches_type(&Name::new(symbol_of(key), &bench.world.row(key).namespace));
            let row = bench.world.row(key);
            *not != match primary.field {
                Field::Namespace => primary.glob.matches(&row.namespace),
                Field::Type => is(&primary.glob, key),
                Field::File => row.files.iter().any(|file| primary.glob.matches(file)),
                Field::Access => primary.glob.matches(&row.accessibility.replace(' ', "-")),
                Field::Tag => TAGS.iter().filter(|(tag, _)| primary.glob.matches(tag)).any(|(_, patterns)| {
                    let patterns: Vec<String> = serde_json::from_str(patterns).expect("patterns");
                    patterns.iter().any(|pattern| is(&Glob::new(pattern), key))
                }),
                Field::Depends => {
                    let table = Table::open(bench.index("dependencies")).expect("a table");
                    let row: crate::dependencies::DependencyRow = serde_json::from_slice(table.get(key).expect("a row")).expect("a row");
                    row.structure.iter().chain(&row.body).any(|named| is(&primary.glob, named))
                }
            }
        }
    }
}

fn filters() -> impl Strategy<Value = String> {
    let primary = prop::sample::select(vec![
        "type:Node*", "type:*s", "type:Tree", "namespace:Memo.*", "namespace:*", "access:public", "access:i*", "tag:web", "tag:*",
        "tag:none", "depends:Node", "depends:*Store", "file:src/*", "file:web/*", "!type:Key", "! depends:Key", "!tag:stores",
        "!access:public",
    ]);
    primary.prop_map(str::to_owned).prop_recursive(4, 24, 4, |inner| {
        let joined = |word: &'static str| prop::collection::vec(inner.clone(), 2..4).prop_map(move |parts| parts.join(word));
        prop_oneof![
            joined(" OR "),
            joined("||"),
            joined(" and "),
            joined(" "),
            inner.clone().prop_map(|part| format!("({part})"))
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn filters_mean_what_their_parts_mean(filter in filters()) {
        thread_local!(static BENCH: Bench = Bench::new(CODE));
        BENCH.with(|bench| {
            let parsed = parse_filter(&filter).expect("a filter");
            let mut expected: Vec<String> = bench.world.keys().into_iter().filter(|key| means(bench, &parsed, &parsed.root, key)).map(|key| short(&key)).collect();
            expected.sort();
            prop_assert_eq!(bench.selected_types(&filter), expected, "{}", filter);
            Ok(())
        })?;
    }
}
