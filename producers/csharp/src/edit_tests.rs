//! Tests which hashes an edit of a text changes (seed 000 §3.3), over the whole chain from text to digest.

use super::fixture::World;
use super::parse::read;
use proptest::prelude::*;
use std::collections::BTreeSet;

const FIELDS: [&str; 3] = [
    "private int count = 1;",
    "private readonly object gate = new();",
    "protected string name = \"x\";",
];

const MEMBERS: [&str; 9] = [
    "public const int Most = 8;",
    "public int Size { get; private set; }",
    "public event EventHandler? Changed;",
    "/// <summary>Makes one.</summary>\npublic Store(string path, int capacity = 16) : base(path) { this.path = path; }",
    "/// <summary>Finds a node.</summary>\n/// <param name=\"key\">Its key.</param>\npublic T? Get(string key, [NotNull] out T found) { lock (gate) { return Find(key); } }",
    "internal void Inside() { }",
    "private T? Find(string key) => default;",
    "public static Store<T> operator +(Store<T> a, Store<T> b) => a;",
    "public T this[int at] => Get(at.ToString());",
];

const HEADER: &str =
    "/// <summary>Keeps nodes.</summary>\n[Serializable]\npublic partial class Store<T> : Base<T>, IDisposable where T : class, new()";

const ENUM: &str = "public enum Colour { Red, Green, Blue = 7, Grey }";

fn text(parts: &[Vec<&str>]) -> String {
    let parts: Vec<String> = parts
        .iter()
        .enumerate()
        .map(|(at, members)| {
            let header = if at == 0 { HEADER } else { "partial class Store<T>" };
            format!("{header}\n{{\n{}\n}}\n", members.join("\n"))
        })
        .collect();
    format!("using System;\nnamespace Tree;\n{}{ENUM}\n", parts.concat())
}

fn base() -> String {
    text(&[FIELDS.iter().chain(&MEMBERS).copied().collect()])
}

fn world(text: &str) -> World {
    let (syntax, diagnostics) = read(text, &BTreeSet::from(["NET".to_owned()]), "a.cs");
    assert_eq!(diagnostics, [], "{text}");
    World::new(&[("a.cs", syntax)], &[])
}

const STORE: &str = "Tree.Store`1";

fn changed_hashes(before: &World, after: &World, key: &str) -> String {
    let differs = |name: &&&str| before.digest(name, key) != after.digest(name, key);
    let names: Vec<&str> = ["structure", "impl", "xmldoc"].iter().filter(differs).copied().collect();
    names.join(" ")
}

#[test]
fn which_edit_of_the_text_moves_which_hash() {
    let before = base();
    let old = world(&before);
    for (from, to, expected) in [
        // Layout and comments.
        ("lock (gate)", "lock (gate) /* c */ // d\n", ""),
        (
            "public int Size { get; private set; }",
            "public int Size\n    {\n        get;\n        private set;\n    }",
            "",
        ),
        (
            "using System;",
            "using System;\n\n// plain\n#region r\n#endregion\n#pragma warning disable 1\n",
            "",
        ),
        ("public static Store<T> operator", "static public Store<T> operator", ""),
        ("namespace Tree;", "namespace Tree;\n#if OTHER\nclass Else { }\n#endif\n", ""),
        // Bodies and values.
        ("return Find(key);", "return null;", "impl"),
        ("return Find(key);", "return this.Find(key);", "impl"),
        ("=> default;", "{ return default; }", "impl"),
        ("count = 1", "count = 2", "impl"),
        ("Most = 8", "Most = 9", "impl"),
        ("capacity = 16", "capacity = 17", "impl"),
        (", int capacity = 16", ", int capacity", "impl"),
        (": base(path)", ": base(path + \"x\")", "impl"),
        ("private T? Find(string key)", "private T? Find(string text)", "impl"),
        ("private T? Find", "private async T? Find", "impl"),
        ("internal void Inside()", "internal void Within()", "impl"),
        ("public T? Get", "public async T? Get", "impl"),
        (
            "private int count = 1;\nprivate readonly object gate = new();",
            "private readonly object gate = new();\nprivate int count = 1;",
            "impl",
        ),
        ("at.ToString()", "at.ToString(\"D\")", "impl"),
        // Declarations that other code sees.
        (
            "public int Size { get; private set; }",
            "public int Size { get; set; }",
            "structure",
        ),
        (
            "public int Size { get; private set; }",
            "public int Size { get; init; }",
            "structure",
        ),
        ("string path, int", "string file, int", "structure"),
        ("[Serializable]", "[Serializable, Obsolete(\"x\")]", "structure"),
        ("[NotNull] out T", "out T", "structure"),
        ("IDisposable where", "IDisposable, IStore where", "structure"),
        ("class, new()", "class", "structure"),
        ("public partial class", "public sealed partial class", "structure"),
        ("public event EventHandler?", "public event EventHandler", "structure"),
        ("operator +(", "operator -(", "structure impl"),
        ("public T? Get", "protected T? Get", "structure"),
        ("public T? Get", "private T? Get", "structure impl"),
        ("protected string name", "private string name", "structure impl"),
        (
            "public const int Most = 8;",
            "public const int Most = 8;\npublic void More() { }",
            "structure impl",
        ),
        (
            "public const int Most = 8;",
            "public const int Most = 8;\npublic abstract void More();",
            "structure",
        ),
        (
            "public const int Most = 8;",
            "#if NET\npublic const int Most = 8;\n#endif",
            "structure",
        ),
        // Documentation.
        ("Finds a node.", "Finds any node.", "xmldoc"),
        ("Keeps nodes.", "Keeps  nodes.\n/// ", ""),
        ("/// <summary>Makes one.</summary>", "/** <summary>Makes one.</summary> */", ""),
        ("/// <summary>Makes one.</summary>", "// <summary>Makes one.</summary>", "xmldoc"),
        (
            "internal void Inside",
            "/// <summary>Hidden.</summary>\ninternal void Inside",
            "xmldoc",
        ),
    ] {
        assert_eq!(before.matches(from).count(), 1, "{from}");
        let new = world(&before.replace(from, to));
        assert_eq!(changed_hashes(&old, &new, STORE), expected, "{from} → {to}");
        assert_eq!(
            changed_hashes(&old, &new, "Tree.Colour"),
            "",
            "{from} → {to}: another type of the file"
        );
        assert_eq!(old.row(STORE).id, new.row(STORE).id, "{from} → {to}: the identifier");
    }
}

#[test]
fn which_edit_of_an_enum_moves_which_hash() {
    let old = world(&base());
    for (after, expected) in [
        ("public enum Colour { Red , Green, Blue = 7, Grey, }", ""),
        ("public enum Colour { Green, Red, Blue = 7, Grey }", "impl"),
        ("public enum Colour { Red, Green, Blue = 8, Grey }", "impl"),
        ("public enum Colour { Red, Green = 1, Blue = 7, Grey }", "impl"),
        ("public enum Colour { Blue = 7, Grey, Red = 0, Green }", "impl"),
        ("public enum Colour : byte { Red, Green, Blue = 7, Grey }", "structure"),
        ("public enum Colour { Red, Green, Blue = 7 }", "structure impl"),
    ] {
        let new = world(&base().replace(ENUM, after));
        assert_eq!(changed_hashes(&old, &new, "Tree.Colour"), expected, "{after}");
        assert_eq!(changed_hashes(&old, &new, STORE), "", "{after}");
    }
}

#[test]
fn kind_name_and_arity_make_the_identifier() {
    let id = |text: &str, key: &str| world(text).row(key).id;
    let class = id("namespace N; public class A { }", "N.A");
    assert_eq!(class, id("namespace N { sealed class A : B { int x; } }", "N.A"));
    for (text, key) in [
        ("namespace N; struct A { }", "N.A"),
        ("namespace N; class A<T> { }", "N.A`1"),
        ("namespace M; class A { }", "M.A"),
        ("namespace N; class B { class A { } }", "N.B+A"),
    ] {
        assert_ne!(class, id(text, key), "{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Any order of members, any number of parts and any layout give the same three hashes.
    #[test]
    fn order_parts_and_layout_move_nothing(keys in proptest::collection::vec(any::<(u32, bool, u8)>(), MEMBERS.len())) {
        let mut order: Vec<(u32, bool, u8, &str)> = keys.iter().zip(MEMBERS).map(|((key, second, gap), member)| (*key, *second, *gap, member)).collect();
        order.sort_unstable();
        let gaps = ["\n", "\n\n\t", " /* c */ ", "\n// c\n", "\n#region r\n#endregion\n"];
        let laid: Vec<(bool, String)> = order
            .iter()
            .map(|(_, second, gap, member)| (*second, format!("{}{member}", gaps[usize::from(*gap) % gaps.len()])))
            .collect();
        let first = FIELDS.iter().copied().chain(laid.iter().filter(|(second, _)| !second).map(|(_, member)| member.as_str()));
        let second: Vec<&str> = laid.iter().filter(|(second, _)| *second).map(|(_, member)| member.as_str()).collect();
        let after = text(&[first.collect(), second]);
        prop_assert_eq!(changed_hashes(&world(&base()), &world(&after), STORE), "", "{}", after);
    }
}
