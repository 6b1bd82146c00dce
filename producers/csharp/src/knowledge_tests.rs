//! Tests which hashes each edit changes (seed 000 §3.3), and ties golden outputs to producer versions.

use super::fixture::{NODE_STORE, World, blob, decl, file, member, run, store};
use super::model::{MemberKind, Syntax};
use engine::seams::producer::{Producer, Registry};
use engine::values::digest::Digest;
use engine::values::table::Table;
use proptest::prelude::*;

/// Returns which of structure, impl and xmldoc of `key` differ.
fn changed(before: &Syntax, after: &Syntax, key: &str) -> String {
    let worlds = [before, after].map(|syntax| World::new(&[("a.cs", syntax.clone())], &[]));
    let differs = |name: &str| worlds[0].digest(name, key) != worlds[1].digest(name, key);
    ["structure", "impl", "xmldoc"]
        .into_iter()
        .filter(|name| differs(name))
        .collect::<Vec<_>>()
        .join(" ")
}

#[test]
fn which_edit_moves_which_hash() {
    type Edit = fn(&mut Syntax);
    let edits: [(&str, Edit, &str); 20] = [
        ("body", |s| s.types[0].members[4].body = "{ return null; }".into(), "impl"),
        ("private body", |s| s.types[0].members[6].body = "{ }".into(), "impl"),
        ("initialiser", |s| s.types[0].members[0].body = "= 2;".into(), "impl"),
        (
            "private signature",
            |s| s.types[0].members[6].signature = "private async Task<int> Load()".into(),
            "impl",
        ),
        ("default value", |s| s.types[0].members[3].body.push_str(" path = \"x\""), "impl"),
        (
            "member documentation",
            |s| s.types[0].members[4].doc = "<summary>Other.</summary>".into(),
            "xmldoc",
        ),
        ("type documentation", |s| s.types[0].doc.push_str("<remarks>x</remarks>"), "xmldoc"),
        (
            "documentation white space",
            |s| s.types[0].doc = "<summary>Keeps   nodes.\n Thread-safe.</summary>".into(),
            "",
        ),
        (
            "attribute",
            |s| s.types[0].members[4].attributes.push("Obsolete".into()),
            "structure",
        ),
        ("type attribute", |s| s.types[0].attributes.push("Obsolete".into()), "structure"),
        ("base", |s| s.types[0].bases.push("IStore".into()), "structure"),
        ("constraint", |s| s.types[0].constraints.push("where T : class".into()), "structure"),
        (
            "parameter type",
            |s| s.types[0].members[4].signature = "public Node Get(int key)".into(),
            "structure",
        ),
        (
            "parameter name",
            |s| s.types[0].members[4].signature = "public Node Get(string name)".into(),
            "structure",
        ),
        (
            "visibility",
            |s| {
                s.types[0].members[5].signature = "private void Dispose()".into();
                s.types[0].members[5].modifiers = vec!["private".into()];
            },
            "structure impl",
        ),
        ("order of methods", |s| s.types[0].members.swap(4, 5), ""),
        ("order of fields", |s| s.types[0].members.swap(0, 1), "impl"),
        (
            "sealed, with modifiers in another order",
            |s| {
                s.types[0].modifiers = vec!["public".into(), "sealed".into()];
                s.types[0].signature = "sealed public class Store".into();
            },
            "structure",
        ),
        ("lines", |s| s.types[0].members[4].span.first = 90, ""),
        (
            "async",
            |s| {
                s.types[0].members[5].signature = "public async void Dispose()".into();
                s.types[0].members[5].modifiers = vec!["async".into(), "public".into()];
            },
            "impl",
        ),
    ];
    for (what, edit, expected) in edits {
        let mut edited = store();
        edit(&mut edited);
        assert_eq!(changed(&store(), &edited, "Tree.Store"), expected, "{what}");
        assert_eq!(
            changed(&store(), &edited, "Tree.Colour"),
            "",
            "{what}: another type in the same file"
        );
    }
}

#[test]
fn order_of_enum_members() {
    let mut edited = store();
    edited.types[2].members.swap(0, 1);
    assert_eq!(changed(&store(), &edited, "Tree.Colour"), "impl", "values follow from the order");
    let valued = |order: [usize; 3]| {
        let mut syntax = store();
        for (at, member) in syntax.types[2].members.iter_mut().enumerate() {
            member.has_value = true;
            member.body = format!("= {at}");
        }
        let members = order.map(|at| syntax.types[2].members[at].clone());
        syntax.types[2].members = members.to_vec();
        syntax
    };
    assert_eq!(
        changed(&valued([0, 1, 2]), &valued([2, 0, 1]), "Tree.Colour"),
        "",
        "values are written"
    );
}

#[test]
fn visibility_does_not_move_identifiers() {
    let mut edited = store();
    edited.types[0].members[4].signature = "protected Node Get(string other)".into();
    edited.types[0].members[4].modifiers = vec!["protected".into()];
    let ids = [store(), edited].map(|syntax| {
        let structure = World::new(&[("a.cs", syntax)], &[]).output("structure", "Tree.Store");
        let structure = super::structure::decode_structure(&blob("", structure.bytes)).expect("a structure");
        structure
            .members
            .into_iter()
            .find(|member| member.name == "Get")
            .expect("Get is API")
            .id
    });
    assert_eq!(ids[0], ids[1]);
    assert_eq!(ids[0].len(), 6);
}

#[test]
fn internal_members_on_request() {
    let mut syntax = store();
    syntax.types[0]
        .members
        .push(member(MemberKind::Method, "Inside", "internal void Inside()", ""));
    let world = World::new(&[("a.cs", syntax)], &[]);
    let complete = vec![blob("", world.output("complete", "Tree.Store").bytes)];
    for (params, expected) in [("{}", false), (r#"{"include_internal":true}"#, true)] {
        let bytes = run(
            &super::structure::Structure,
            "Tree.Store",
            params,
            vec![("complete", complete.clone())],
        )
        .expect("a structure")
        .bytes;
        assert_eq!(String::from_utf8(bytes).expect("text").contains("Inside"), expected);
    }
}

#[test]
fn documentation_is_structure_on_request() {
    let structure = |doc: &str, params: &str| {
        let mut syntax = store();
        syntax.types[0].doc = doc.to_owned();
        let world = World::new(&[("a.cs", syntax)], &[]);
        let complete = vec![blob("", world.output("complete", "Tree.Store").bytes)];
        run(&super::structure::Structure, "Tree.Store", params, vec![("complete", complete)]).expect("a structure")
    };
    for (params, moves) in [("{}", false), (r#"{"include_xml_doc":true}"#, true)] {
        assert_eq!(
            structure("<summary>A.</summary>", params) != structure("<summary>B.</summary>", params),
            moves
        );
    }
}

proptest! {
    #[test]
    fn parts_and_member_order_move_no_hash(split in proptest::collection::vec(any::<bool>(), 5), rotate in 0_usize..5) {
        let whole = store();
        let mut parts = store();
        let mut members = parts.types[0].members.split_off(2);
        let second_members: Vec<_> = members.iter().zip(&split).filter(|(_, away)| **away).map(|(member, _)| member.clone()).collect();
        let mut keep = split.iter().map(|away| !away);
        members.retain(|_| keep.next().unwrap_or(true));
        let turn = rotate % members.len().max(1);
        members.rotate_left(turn);
        parts.types[0].members.extend(members);
        parts.types[0].modifiers.push("partial".into());
        parts.types[0].signature = "public partial class Store".into();
        let mut second = decl("Tree", "Store");
        second.members = second_members;
        second.modifiers = vec!["partial".into()];
        second.signature = "partial class Store".into();
        let one = World::new(&[("a.cs", whole)], &[]);
        let two = World::new(&[("a.cs", parts), ("b.cs", file(vec![second]))], &[]);
        for name in ["structure", "impl", "xmldoc"] {
            prop_assert_eq!(one.digest(name, "Tree.Store"), two.digest(name, "Tree.Store"), "{}", name);
        }
        prop_assert_eq!(one.row("Tree.Store").id, two.row("Tree.Store").id);
        prop_assert_eq!(two.row("Tree.Store").files, ["a.cs", "b.cs"]);
    }
}

#[test]
fn one_symbol_in_two_projects_and_file_types() {
    let mut hidden = decl("", "Hidden");
    hidden.modifiers = vec!["file".into()];
    let files = [
        ("A/a.cs", file(vec![decl("", "T"), hidden.clone()])),
        ("B/b.cs", file(vec![decl("", "T"), hidden])),
        ("c.cs", file(vec![decl("", "T")])),
    ];
    let world = World::new(&files, &[("A/A.csproj", r#"{"assembly":"Acme.A"}"#), ("B/B.csproj", "{}")]);
    assert_eq!(world.keys(), ["Hidden@A/a.cs", "Hidden@B/b.cs", "T@A", "T@B", "T@loose"]);
    assert_eq!(world.row("T@A").assembly, "Acme.A");
    assert_ne!(world.row("T@A").id, world.row("T@B").id);
    assert_eq!(world.row("T@loose").project, None);
    assert!(world.output("structure", "T@B").bytes.starts_with(b"{\"symbol\":\"T\""));
}

#[test]
fn a_type_that_only_another_project_compiles_is_its() {
    let mut other = decl("", "T");
    other.of = vec!["B/B.csproj".to_owned()];
    let files = [("A/a.cs", file(vec![decl("", "S"), other]))];
    let world = World::new(&files, &[("A/A.csproj", "{}"), ("B/B.csproj", r#"{"assembly":"Acme.B"}"#)]);
    assert_eq!(world.keys(), ["S", "T"]);
    assert_eq!(
        (world.row("S").assembly.as_str(), world.row("T").assembly.as_str()),
        ("A", "Acme.B")
    );
}

#[test]
fn outline_in_the_seeds_format() {
    let world = World::new(&[("src/a.cs", store())], &[("src/Tree.csproj", "{}")]);
    let outline = String::from_utf8(world.output("outline", "Tree.Store").bytes).expect("text");
    let id = world.row("Tree.Store").id;
    let mut lines = outline.lines();
    assert_eq!(lines.next(), Some(format!("# Tree.Store {id}").as_str()));
    assert!(
        lines
            .next()
            .is_some_and(|line| line.starts_with("Kind: class | File: src/a.cs | Assembly: Tree | StructureHash: "))
    );
    let rest: Vec<&str> = lines.skip(1).collect();
    assert_eq!(
        rest,
        [
            "XMLDOC: Keeps nodes.",
            "",
            "Public API:",
            "  + public class Store : IDisposable",
            "  + public int Count { get; }",
            "  + public Store(string path)",
            "  + public Node Get(string key)  — Finds a node.",
            "  + public void Dispose()",
            "",
            "Implements: IDisposable",
            "DependsOn: Tree.Node",
        ]
    );
}

/// A changed output requires a new producer version: increment the version and update its line here.
#[test]
fn golden_outputs_belong_to_versions() {
    let world = World::new(&[("src/a.cs", store())], &[("src/Tree.csproj", "{}")]);
    let mut registry = Registry::default();
    super::register_csharp(&mut registry);
    let (types, dependencies) = (vec![blob("", world.types.clone())], vec![world.dependencies()]);
    let roles = vec![("types", types.clone()), ("dependencies", dependencies)];
    let graph = run(&super::graph::Graph, "", "{}", roles).expect("a graph").bytes;
    let log = run(&super::conflicts::Conflicts, "", "{}", vec![("types", types.clone())])
        .expect("a log")
        .bytes;
    let roles = vec![
        ("types", types),
        ("graph", vec![blob("", graph.clone())]),
        ("impl", world.each("impl")),
    ];
    let roles = vec![
        ("entries", vec![super::index_json::tests::entries(roles)]),
        ("projects", world.projects()),
    ];
    let json = run(&super::index_json::IndexJson, "", "{}", roles).expect("an index").bytes;
    let mut lines = vec![
        format!("{} {}", super::graph::Graph.id(), Digest::of(&graph).short()),
        format!("{} {}", super::conflicts::Conflicts.id(), Digest::of(&log).short()),
        format!("{} {}", super::index_json::IndexJson.id(), Digest::of(&json).short()),
        format!("{} {}", super::types::Types.id(), Digest::of(&world.types).short()),
        format!("{} {}", super::symbols::Symbols.id(), Digest::of(&world.symbols).short()),
    ];
    for (name, producer) in [
        ("complete", "csharp/complete"),
        ("structure", "csharp/structure"),
        ("impl", "csharp/impl"),
        ("xmldoc", "csharp/xmldoc"),
        ("mentions", "csharp/mentions"),
        ("api-mentions", "csharp/mentions"),
        ("api-deps", "csharp/api-deps"),
        ("deps", "csharp/deps"),
        ("facts", "csharp/facts"),
        ("signatures", "csharp/signatures"),
        ("outline-info", "csharp/outline-info"),
        ("outline", "csharp/outline"),
    ] {
        let id = registry.get(producer).expect("registered").id();
        lines.push(format!("{id} {}", world.digest(name, "Tree.Store").short()));
    }
    assert!(Table::open(&world.types).is_some_and(|table| table.len() == 3));
    insta::assert_snapshot!(lines.join("\n"), @"
    csharp/graph@2 143c8af71b7a
    csharp/conflicts@1 af1349b9f5f9
    csharp/index-json@2 0c6a9a70dbdf
    csharp/types@13 115ad061ca7b
    csharp/symbols@18 c4c61b66ee07
    csharp/complete@8 a63023a75543
    csharp/structure@2 bbb34213f114
    csharp/impl@2 49b2d0831310
    csharp/xmldoc@2 680de06bc1f7
    csharp/mentions@18 e4dfdc986cd3
    csharp/mentions@18 b54c27ff710a
    csharp/api-deps@10 0ce448befa57
    csharp/deps@36 a9655e293004
    csharp/facts@27 e8b168145421
    csharp/signatures@23 9b07cd253a5c
    csharp/outline-info@3 4f6387dba515
    csharp/outline@3 d62a1bee3b41
    ");
}

#[test]
fn a_type_is_generated_when_all_its_parts_are() {
    let world = World::of_texts(&[
        (
            "A.Designer.cs",
            "namespace N; class Texts { public int Size; } partial class Form { Texts texts; }",
        ),
        ("A.cs", "namespace N; partial class Form { int Go() => texts.Size; }"),
        ("B.cs", "// <auto-generated/>\nnamespace N; class Made { }"),
    ]);
    let generated: Vec<String> = world.keys().into_iter().filter(|key| world.row(key).generated).collect();
    assert_eq!(generated, ["N.Made", "N.Texts"]);
    let usages = world.output("usages", "N.Form").bytes;
    let usages = Table::open(&usages).expect("a table");
    assert!(usages.get("N.Texts#Size").is_some(), "generated code is bound");
}

#[test]
fn from_text_to_outline_and_dependencies() {
    let (syntax, _) = super::parse::read(NODE_STORE, &std::collections::BTreeSet::new(), "src/a.cs");
    let world = World::new(&[("src/a.cs", syntax)], &[("src/Memo.Core.csproj", "{}")]);
    let all = ["outline", "deps"].map(|name| String::from_utf8(world.output(name, "Memo.Core.NodeStore").bytes).expect("text"));
    insta::assert_snapshot!(all.join("\n"), @r#"
    # Memo.Core.NodeStore T_f6gkg4jw
    Kind: class | File: src/a.cs | Assembly: Memo.Core | StructureHash: SPZCFQMF | ImplHash: I327NKAX
    XmlDocHash: W7G2PH7Z
    XMLDOC: Stores Nodes by key.

    Public API:
      + public sealed class NodeStore : IDisposable, INodeStore
      + public event EventHandler<NodeId>? Changed
      + public int Count { get; private set; }
      + public string Name { get; set; }
      + public NodeStore(INodeSource source, int capacity = 16)  — Makes a store.
      + public static NodeStore Open(string path)
      + public Node? Find(NodeId id)
      + [Obsolete("Use Find instead")] public Node Get(NodeId id)
      + public void Dispose()

    Implements: IDisposable, INodeStore
    DependsOn: Memo.Core.INodeStore, Memo.Core.INodeSource, Memo.Core.Node, Memo.Core.NodeId

    {"ambiguous":[],"body":["Memo.Core.FileSource"],"doc_bases":[],"evidence":{"Memo.Core.FileSource":["body","inferred"],"Memo.Core.INodeSource":["signature"],"Memo.Core.INodeStore":["base"],"Memo.Core.Node":["signature","inferred"],"Memo.Core.NodeId":["signature","inferred"]},"external":["System.ArgumentNullException","System.ArgumentOutOfRangeException","System.Collections.Generic.Dictionary`2","System.EventHandler`1","System.IDisposable","System.NotSupportedException","System.ObsoleteAttribute"],"ids":{"Memo.Core.FileSource":"T_bpif35e7","Memo.Core.INodeSource":"T_zmikzza9","Memo.Core.INodeStore":"T_8jh38u89","Memo.Core.Node":"T_9t5vzmbc","Memo.Core.NodeId":"T_3sr7zfjk"},"structure":["Memo.Core.INodeSource","Memo.Core.INodeStore","Memo.Core.Node","Memo.Core.NodeId"],"type":"Memo.Core.NodeStore"}
    "#);
}

#[test]
fn file_based_apps_are_compiled_alone() {
    let world = World::of_texts(&[
        ("a.cs", "#!/usr/bin/env dotnet\nvar x = new Helper(); record Helper;"),
        (
            "b.cs",
            "#:package A@1.0\nHelper.Run(); static class Helper { public static void Run() { } } class Only { }",
        ),
        ("lib.cs", "class Shared { Only own; Helper none; }"),
        ("c.cs", "new Shared();"),
    ]);
    assert_eq!(
        world.keys(),
        [
            "Helper@a.cs", "Helper@b.cs", "Only", "Program@a.cs", "Program@b.cs", "Program@loose", "Shared"
        ]
    );
    let deps = |key: &str| -> Vec<String> {
        let found: super::deps::Dependencies = serde_json::from_slice(&world.output("deps", key).bytes).expect("dependencies");
        found.evidence.into_keys().collect()
    };
    assert_eq!(deps("Program@a.cs"), ["Helper@a.cs"]);
    assert_eq!(deps("Program@b.cs"), ["Helper@b.cs"]);
    assert_eq!(deps("Program@loose"), ["Shared"]);
    assert_eq!(deps("Shared"), [""; 0]);
}
