//! Tests of extracted summaries from declarations, and ties golden outputs to producer versions.

use super::{Role, Semantic, register_semantic};
use crate::fixture::{NODE_STORE, World, blob, run, store};
use engine::seams::producer::Registry;
use engine::values::digest::Digest;
use llm::Refusing;
use std::sync::Arc;

/// Returns the summary of a type, as the ruleset builds it.
fn semantic_of(world: &World, key: &str) -> Vec<u8> {
    let one = |name: &str| vec![blob("", world.output(name, key).bytes)];
    let roles = vec![
        ("structure", one("structure")),
        ("impl", one("impl")),
        ("xmldoc", one("xmldoc")),
        ("deps", one("deps")),
        ("type", vec![World::slice(&world.types, &[key.to_owned()])]),
    ];
    run(&Semantic::new(Arc::new(Refusing)), key, "{}", roles).expect("a summary").bytes
}

fn role_of(world: &World, key: &str) -> Vec<u8> {
    let roles = vec![("semantic", vec![blob("", semantic_of(world, key))])];
    run(&Role, key, "{}", roles).expect("a role").bytes
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).expect("text")
}

#[test]
fn semantic_in_the_seeds_format() {
    let world = World::new(&[("a.cs", store())], &[]);
    let summary = text(semantic_of(&world, "Tree.Store"));
    let node = world.row("Tree.Node").id;
    for claim in [
        &format!("Dependencies: {node}\nSource: extracted from code, no model\n\nROLE:\n- Keeps nodes. Thread-safe.\n"),
        "- Constructed with `string path` (`new Store`).",
        "- Ends with `Dispose` (IDisposable).",
        "- `new Store` throws ArgumentNullException when `path is null`.",
        "- `Get` throws ArgumentNullException when `key == null`.",
        "- `Get` may give null or default.",
        "- Serialises callers with `lock`: `Load`.",
        "- Dispose every instance: `using` or a call of `Dispose`.",
    ] {
        assert!(summary.contains(claim), "{claim}\n---\n{summary}");
    }
    let role = text(role_of(&world, "Tree.Store"));
    assert!(
        role.starts_with("- Keeps nodes. Thread-safe.\n") && !role.contains("LIFECYCLE"),
        "{role}"
    );
    let node = text(semantic_of(&world, "Tree.Node"));
    assert!(node.contains("EDGE_CASES:\nNone found in the code.\n"), "{node}");
}

/// A changed output requires a new producer version: increment the version and update its line here.
#[test]
fn golden_outputs_belong_to_versions() {
    let world = World::new(&[("src/a.cs", store())], &[("src/Tree.csproj", "{}")]);
    let mut registry = Registry::default();
    register_semantic(&mut registry, Arc::new(Refusing));
    let made = [
        ("semantic", semantic_of(&world, "Tree.Store")),
        ("semantic/role", role_of(&world, "Tree.Store")),
    ];
    let lines = made.map(|(producer, bytes)| {
        let id = registry.get(producer).expect("registered").id();
        format!("{id} {}", Digest::of(&bytes).short())
    });
    insta::assert_snapshot!(lines.join("\n"), @"
    semantic@9 37fa68445632
    semantic/role@1 989b18270614
    ");
}

#[test]
fn from_text_to_semantic() {
    let (syntax, _) = csharp::parse::read(NODE_STORE, &std::collections::BTreeSet::new(), "src/a.cs");
    let world = World::new(&[("src/a.cs", syntax)], &[("src/Memo.Core.csproj", "{}")]);
    insta::assert_snapshot!(text(semantic_of(&world, "Memo.Core.NodeStore")), @r#"
    # Semantic: Memo.Core.NodeStore T_f6gkg4jw
    StructureHash: SPZCFQMF
    ImplHash: I327NKAX
    Dependencies: T_zmikzza9, T_8jh38u89, T_9t5vzmbc, T_3sr7zfjk
    Source: extracted from code, no model

    ROLE:
    - Stores Nodes by key. Not thread-safe.
    - A public sealed class that implements IDisposable, INodeStore.
    - Exposes 2 properties: `Count`, `Name`.
    - Exposes 1 event: `Changed`.
    - Exposes 4 methods: `Get`, `Find`, `Open`, `Dispose`.
    - Its declarations name 4 other types of the workspace.

    LIFECYCLE:
    - Constructed with `INodeSource source, int capacity` (`new NodeStore`).
    - `Open` makes instances from `(string path)`.
    - Ends with `Dispose` (IDisposable).
    - Raises `Changed` to its subscribers.

    EDGE_CASES:
    - `Name` throws ArgumentNullException when `value is null`.
    - `new NodeStore` throws ArgumentOutOfRangeException when `capacity < 0`: "negative".
    - `Find` may give null or default.

    LIMITATIONS:
    - `Get` is not supported: "gone".
    - Serialises callers with `lock`: `Dispose`.
    - `Get` is obsolete: "Use Find instead".
    - Sealed: nothing can derive from `NodeStore`.
    - `NodeStore` documents: "Not thread-safe."

    RECOMMENDATIONS:
    - Dispose every instance: `using` or a call of `Dispose`.
    - Unsubscribe from its events when a subscriber goes away before it.
    - Check results for null or default: `Find`.
    - Instead of `Get` follow its own advice: "Use Find instead".
    - Check arguments for null before calling: null is refused (see EDGE_CASES).
    "#);
}
