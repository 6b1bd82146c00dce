//! Tests of binding, through the whole chain from declarations to dependencies.

use super::Dependencies;
use crate::fixture::{World, decl, file, name, using};
use crate::mention_model::Place;
use crate::model::{MemberKind, NamePlace, Syntax, TypeDecl, Using};

fn deps(world: &World, key: &str) -> Dependencies {
    serde_json::from_slice(&world.output("deps", key).bytes).expect("dependencies")
}

/// Returns a type in namespace `N.Inner` that names `path` in a signature.
fn reader(path: &str) -> TypeDecl {
    let mut reader = decl("N.Inner", "Reader");
    reader.names.push(name(path, NamePlace::Signature));
    reader
}

fn bound(types: Vec<TypeDecl>, usings: Vec<Using>) -> Vec<String> {
    let world = World::new(&[("a.cs", Syntax { usings, ..file(types) })], &[]);
    deps(&world, "N.Inner.Reader").structure
}

#[test]
fn namespaces_inward_to_outward() {
    assert_eq!(bound(vec![reader("T"), decl("N", "T"), decl("", "T")], vec![]), ["N.T"]);
    assert_eq!(
        bound(vec![reader("T"), decl("N.Inner", "T"), decl("N", "T")], vec![]),
        ["N.Inner.T"]
    );
    assert_eq!(bound(vec![reader("global::T"), decl("N", "T"), decl("", "T")], vec![]), ["T"]);
    assert_eq!(bound(vec![reader("T"), decl("Elsewhere", "T")], vec![]), Vec::<String>::new());
}

#[test]
fn using_directives_and_aliases() {
    let types = || vec![reader("T"), decl("Lib", "T"), decl("N.Sub", "T")];
    assert_eq!(bound(types(), vec![using("Lib")]), ["Lib.T"]);
    let mut inside = using("Sub");
    inside.namespace = "N".into();
    assert_eq!(
        bound(types(), vec![inside]),
        ["N.Sub.T"],
        "a using inside a namespace is relative to it"
    );
    let alias = Using {
        alias: Some("X".into()),
        ..using("Lib.T")
    };
    assert_eq!(bound(vec![reader("X"), decl("Lib", "T")], vec![alias]), ["Lib.T"]);
    let space = Using {
        alias: Some("L".into()),
        ..using("Lib")
    };
    assert_eq!(bound(vec![reader("L.T"), decl("Lib", "T")], vec![space]), ["Lib.T"]);
    let fixed = Using {
        is_static: true,
        ..using("Lib.Outer")
    };
    assert_eq!(
        bound(vec![reader("In"), decl("Lib", "Outer"), decl("Lib", "Outer+In")], vec![fixed]),
        ["Lib.Outer+In"]
    );
}

#[test]
fn an_extern_alias_begins_at_the_root() {
    assert_eq!(
        bound(vec![reader("Other::Lib.T"), decl("Lib", "T"), decl("N.Lib", "T")], vec![]),
        ["Lib.T"]
    );
    let types = || vec![reader("T"), decl("Lib", "T")];
    assert_eq!(bound(types(), vec![using("Other::Lib")]), ["Lib.T"]);
    let alias = Using {
        alias: Some("X".into()),
        ..using("Other::Lib.T")
    };
    assert_eq!(bound(vec![reader("X"), decl("Lib", "T")], vec![alias]), ["Lib.T"]);
    let space = Using {
        alias: Some("L".into()),
        ..using("Lib")
    };
    let both = vec![reader("L::T"), decl("Lib", "T"), decl("", "T")];
    assert_eq!(bound(both, vec![space]), ["Lib.T"]);
}

#[test]
fn own_namespace_before_usings() {
    assert_eq!(
        bound(vec![reader("T"), decl("Lib", "T"), decl("N", "T")], vec![using("Lib")]),
        ["N.T"]
    );
}

#[test]
fn qualified_and_nested_names() {
    assert_eq!(bound(vec![reader("Sub.T"), decl("N.Sub", "T")], vec![]), ["N.Sub.T"]);
    assert_eq!(
        bound(vec![reader("Outer.In"), decl("N", "Outer"), decl("N", "Outer+In")], vec![]),
        ["N.Outer+In"]
    );
    let mut arity = reader("T");
    arity.names[0].arity = 1;
    assert_eq!(bound(vec![arity, decl("N", "T"), decl("N", "T`1")], vec![]), ["N.T`1"]);
}

#[test]
fn nested_types_of_bases_are_inherited() {
    let mut heir = decl("N.Inner", "Reader");
    heir.bases = vec!["Middle".into()];
    heir.names = vec![name("In", NamePlace::Signature), name("Middle", NamePlace::Base)];
    let mut middle = decl("N", "Middle");
    middle.bases = vec!["Base".into()];
    middle.names = vec![name("Base", NamePlace::Base)];
    assert_eq!(
        bound(vec![heir, middle, decl("N", "Base"), decl("N", "Base+In")], vec![]),
        ["N.Base+In", "N.Middle"]
    );
}

#[test]
fn own_nested_types_are_in_scope_except_for_bases() {
    let mut own = decl("N.Inner", "Reader");
    own.names = vec![name("In", NamePlace::Signature)];
    assert_eq!(
        bound(vec![own.clone(), decl("N.Inner", "Reader+In"), decl("N", "In")], vec![]),
        ["N.Inner.Reader+In"]
    );
    own.names = vec![name("In", NamePlace::Base)];
    assert_eq!(bound(vec![own, decl("N.Inner", "Reader+In"), decl("N", "In")], vec![]), ["N.In"]);
}

#[test]
fn attributes_try_the_suffix_first() {
    let mut own = decl("N.Inner", "Reader");
    own.names = vec![name("Mark", NamePlace::Attribute)];
    assert_eq!(
        bound(vec![own, decl("N", "Mark"), decl("N", "MarkAttribute")], vec![]),
        ["N.MarkAttribute"]
    );
}

#[test]
fn type_parameters_are_no_types() {
    let mut own = decl("N.Inner", "Reader");
    own.type_parameters = vec!["T".into()];
    own.names = vec![name("T", NamePlace::Signature)];
    assert_eq!(bound(vec![own, decl("N", "T")], vec![]), Vec::<String>::new());
}

#[test]
fn two_meanings_are_ambiguous_and_unknown_ones_external() {
    let mut own = reader("T");
    own.names.push(name("List", NamePlace::Signature));
    own.names[1].arity = 1;
    let world = World::new(
        &[(
            "a.cs",
            Syntax {
                usings: vec![using("A"), using("B")],
                ..file(vec![own, decl("A", "T"), decl("B", "T")])
            },
        )],
        &[],
    );
    let found = deps(&world, "N.Inner.Reader");
    assert!(found.structure.is_empty());
    assert_eq!(found.ambiguous.len(), 1);
    assert_eq!(found.ambiguous[0].candidates, ["A.T", "B.T"]);
    assert_eq!(
        found.external.into_iter().collect::<Vec<_>>(),
        ["System.Collections.Generic.List`1"],
        "known to .NET"
    );
}

#[test]
fn expressions_bind_only_what_is_visible() {
    let mut own = decl("N.Inner", "Reader");
    let body = "{ int local = 1; Tool.Run(); local.Value(); Far.Go(); }";
    own.members
        .push(crate::fixture::member(MemberKind::Method, "M", "public void M()", body));
    let world = World::new(&[("a.cs", file(vec![own, decl("N", "Tool"), decl("Other", "Far")]))], &[]);
    let found = deps(&world, "N.Inner.Reader");
    assert_eq!(found.body, ["N.Tool"]);
    assert_eq!(found.evidence["N.Tool"].iter().copied().collect::<Vec<_>>(), [Place::Body]);
    assert!(found.external.is_empty());
}

#[test]
fn global_usings_belong_to_their_project() {
    let global = Using {
        is_global: true,
        ..using("Lib")
    };
    let files = [
        (
            "A/g.cs",
            Syntax {
                usings: vec![global],
                ..file(vec![])
            },
        ),
        ("A/r.cs", file(vec![reader("T")])),
        (
            "B/r.cs",
            file(vec![{
                let mut other = reader("T");
                other.path = "Other".into();
                other.name = "Other".into();
                other
            }]),
        ),
        ("L/t.cs", file(vec![decl("Lib", "T")])),
    ];
    let world = World::new(
        &files,
        &[
            ("A/A.csproj", r#"{"references":["L/L.csproj"]}"#),
            ("B/B.csproj", r#"{"references":["L/L.csproj"],"usings":["X = Lib.T"]}"#),
            ("L/L.csproj", "{}"),
        ],
    );
    assert_eq!(deps(&world, "N.Inner.Reader").structure, ["Lib.T"]);
    assert!(deps(&world, "N.Inner.Other").structure.is_empty());
}

#[test]
fn a_type_of_a_project_that_is_not_referenced_is_another_one() {
    let with = |accessibility: &str, references: &str, far_project: &str, friends: &[&str]| {
        let mut far = decl("N", "T");
        far.modifiers = vec![accessibility.to_owned()];
        let mut far = file(vec![far]);
        far.friends = friends.iter().map(|name| (*name).to_owned()).collect();
        let files = [("A/r.cs", file(vec![reader("T")])), ("L/t.cs", far)];
        let world = World::new(&files, &[("A/A.csproj", references), ("L/L.csproj", far_project)]);
        deps(&world, "N.Inner.Reader").structure
    };
    let of = |accessibility: &str, references: &str| with(accessibility, references, "{}", &[]);
    let references = r#"{"assembly":"Acme.A","references":["L/L.csproj"]}"#;
    assert!(of("internal", references).is_empty());
    assert_eq!(with("internal", references, "{}", &["acme.a"]), ["N.T"]);
    assert_eq!(
        with("internal", references, r#"{"internals_visible_to":["Acme.A, PublicKey=00"]}"#, &[]),
        ["N.T"]
    );
    assert!(with("internal", references, "{}", &["Other"]).is_empty());
    assert_eq!(of("public", r#"{"references":["L/L.csproj"]}"#), ["N.T"]);
    assert!(of("public", "{}").is_empty());
    // If both projects compile its source, the index of files lists both.
    assert!(of("internal", "{}").is_empty());
}

#[test]
fn types_of_a_reference_with_aliases_are_behind_these() {
    let of = |path: &str, usings: Vec<Using>, aliases: &str| {
        let own = Syntax {
            usings,
            ..file(vec![reader(path)])
        };
        let files = [
            ("A/r.cs", own),
            ("L/t.cs", file(vec![decl("Lib", "T")])),
            ("M/t.cs", file(vec![decl("Lib", "T"), decl("Lib", "Only")])),
            ("O/t.cs", file(vec![decl("Lib", "Old")])),
        ];
        let facts = format!(r#"{{"references":["L/L.csproj","M/M.csproj","O/O.csproj"],"aliases":{aliases}}}"#);
        let projects = [
            ("A/A.csproj", facts.as_str()),
            ("L/L.csproj", "{}"),
            ("M/M.csproj", "{}"),
            ("O/O.csproj", "{}"),
        ];
        deps(&World::new(&files, &projects), "N.Inner.Reader").structure
    };
    let aliases = r#"{"L/L.csproj":["One"],"O/O.csproj":["Two","global"]}"#;
    assert_eq!(of("Lib.T", vec![], aliases), ["Lib.T@M"]);
    assert_eq!(of("T", vec![using("Lib")], aliases), ["Lib.T@M"]);
    assert_eq!(of("global::Lib.T", vec![], aliases), ["Lib.T@M"]);
    assert_eq!(of("One::Lib.T", vec![], aliases), ["Lib.T@L"]);
    assert_eq!(of("T", vec![using("One::Lib")], aliases), ["Lib.T@L"]);
    let alias = Using {
        alias: Some("X".into()),
        ..using("One::Lib.T")
    };
    assert_eq!(of("X", vec![alias], aliases), ["Lib.T@L"]);
    assert_eq!(of("One::Lib.Only", vec![], aliases), [""; 0]);
    for path in ["Lib.Old", "Two::Lib.Old"] {
        assert_eq!(of(path, vec![], aliases), ["Lib.Old"], "{path}");
    }
    assert_eq!(of("Lib.T", vec![], r#"{"L/L.csproj":["One"],"M/M.csproj":["Two"]}"#), [""; 0]);
}

#[test]
fn the_own_project_comes_first() {
    let files = [
        ("A/r.cs", file(vec![reader("T"), decl("N", "T")])),
        ("B/t.cs", file(vec![decl("N", "T")])),
    ];
    let world = World::new(&files, &[("A/A.csproj", "{}"), ("B/B.csproj", "{}")]);
    assert_eq!(world.keys(), ["N.Inner.Reader", "N.T@A", "N.T@B"]);
    assert_eq!(deps(&world, "N.Inner.Reader").structure, ["N.T@A"]);
}

#[test]
fn adding_a_type_moves_no_slice_that_does_not_name_it() {
    let before = World::new(&[("a.cs", file(vec![reader("T"), decl("N", "T")]))], &[]);
    let after = World::new(
        &[
            ("a.cs", file(vec![reader("T"), decl("N", "T")])),
            ("b.cs", file(vec![decl("N", "Unrelated")])),
        ],
        &[],
    );
    let keys = |world: &World| {
        let mentions: crate::mention_model::Mentions =
            serde_json::from_slice(&world.output("mentions", "N.Inner.Reader").bytes).expect("mentions");
        World::slice(&world.symbols, &mentions.keys).digest
    };
    assert_eq!(keys(&before), keys(&after));
}
