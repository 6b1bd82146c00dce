//! Tests of incomplete code, and of rare valid code.

use super::read;
use crate::ids::member_key;
use crate::model::Tier;
use std::collections::BTreeSet;

/// Returns tier, first message with its line and column, and keys of the types and their members.
fn seen(text: &str) -> (Tier, String, String) {
    let (syntax, diagnostics) = read(text, &BTreeSet::new(), "f.cs");
    let message = diagnostics.first().map_or_else(String::new, |first| {
        let place = first.place.as_ref().map_or((0, 0), |place| (place.line, place.column));
        format!("{}:{} {}", place.0, place.1, first.message)
    });
    let shown = syntax.types.iter().map(|decl| {
        let members: Vec<String> = decl.members.iter().map(member_key).collect();
        format!("{}[{}]", decl.path, members.join(" "))
    });
    (syntax.tier, message, shown.collect::<Vec<_>>().join(" "))
}

#[test]
fn unfinished_values_of_enums() {
    for (text, members) in [
        ("enum E { A = }", "E[A]"),
        ("enum E { A, B = , C }", "E[A B C]"),
        ("class X { enum E { A = /* x */ } int y; }", "X[y] X+E[A]"),
    ] {
        let (tier, message, shown) = seen(text);
        assert_eq!(tier, Tier::Partial, "{text}");
        assert!(message.starts_with("1:"), "{text}: {message}");
        assert!(
            members.split(' ').all(|part| shown.contains(part.trim_matches(['[', ']']))),
            "{text}: {shown}"
        );
    }
    seen("enum E { A =");
    seen("enum E { A = \"");
}

#[test]
fn type_parameters_with_attributes_that_have_values() {
    let text = "class G { void M<[A(1)] T>() { } void N<[A(\"x\")] T>(T t) { } int S; } class C<[A(1)] T> { } \
                interface I<[A] in T, [B(-1, N = 2)] out U> { } record R<[B(1)] T>(T X); class D<[A][B(E.X | E.Y | E.Z)] T> { }";
    assert_eq!(
        seen(text),
        (Tier::Whole, String::new(), "G[M`1() N`1(T) S] C`1[] I`2[] R`1[X] D`1[]".to_owned())
    );
    assert_eq!(
        seen("class A { bool B = F(a < b, [1], c > d); }").2,
        "A[B]",
        "a comparison and a collection"
    );
}

#[test]
fn semicolons_stand_apart_from_the_types_that_they_end() {
    let text = "namespace N { struct A { int x; } ;\n struct B { class C { } /* c */ ; Action D = () => { } ; int y; }\n#if X\n#endif\n; enum E { F }\n; }";
    assert_eq!(seen(text), (Tier::Repaired, String::new(), "A[x] B[D y] B+C[] E[F]".to_owned()));
}

#[test]
fn queries_hold_commas() {
    let text = "class A { object B { get; } = from q in w orderby q.x, q.y select q; int C; static readonly object D = from q in w \
                orderby q.x, q.y select new { q.x }; int E = 1, F = 2; }";
    assert_eq!(seen(text), (Tier::Whole, String::new(), "A[B C D E F]".to_owned()));
}

#[test]
fn escapes_in_names_and_checked_conversions() {
    let text = r"class \u0041bc { int \u0061b = 1; int a\u0062c() { return 1; } public static explicit operator checked Abc(int b) => new(); enum E { X\u0041 } }";
    assert_eq!(
        seen(text),
        (
            Tier::Whole,
            String::new(),
            "Abc[ab abc() op_CheckedExplicit(int)->Abc] Abc+E[XA]".to_owned()
        )
    );
    let (syntax, _) = read(text, &BTreeSet::new(), "f.cs");
    let last = syntax.types[1].members[0].span;
    assert_eq!(&text[last.from as usize..last.to as usize], r"X\u0041");
}

#[test]
fn compound_operators_of_shifts() {
    let text = "struct S { public void operator >>=(int by) { } public void operator >>>=(int by) => F(); public void operator <<=(int by) { } \
                public static bool operator >=(S a, S b) => true; int After = 1; }";
    let (tier, message, shown) = seen(text);
    assert_eq!(
        (tier, message.as_str(), shown.as_str()),
        (
            Tier::Repaired,
            "",
            "S[op_RightShiftAssignment(int) op_UnsignedRightShiftAssignment(int) op_LeftShiftAssignment(int) op_GreaterThanOrEqual(S,S) After]"
        )
    );
}

#[test]
fn syntax_that_the_grammar_does_not_know_is_no_top_level_program() {
    for (text, shown) in [
        ("public union Pet(Cat, Dog);", "Pet[]"),
        ("union Pet(Cat, Dog);", "Pet[]"),
        (
            "namespace N; union Result<T>(T, System.Exception) { public bool Ok => true; class Inner { } }",
            "Result`1[Ok] Result`1+Inner[]",
        ),
        (
            "class C { public union Pet(List<Cat>, (int, Dog)?, int[]) { } union Make(int x) { return null; } }",
            "C[Make(int)] C+Pet[]",
        ),
    ] {
        assert_eq!(seen(text), (Tier::Whole, String::new(), shown.to_owned()), "{text}");
    }
    for text in [
        "union Pet(Cat cat, Dog dog);",
        "public widget Foo(int x) { return 1; }",
        "public widget Foo { A, B }",
        "widget Foo { int A; }",
        "sealed shape S(A, B);",
    ] {
        let (tier, message, shown) = seen(text);
        assert_eq!((tier, shown.as_str()), (Tier::Partial, ""), "{text}");
        assert!(!message.is_empty(), "{text}");
    }
    for text in [
        "await Run(1);",
        "int Add(int a) { return a; } Add(1);",
        "static void F() => G(); F();",
        "[Tag] static extern int F(int a);",
        "var x = 1; if (x > 0) return;",
        "using var x = Open(); return 1;",
    ] {
        assert_eq!(seen(text).2, "Program[<Main>$(string[])]", "{text}");
    }
}

#[test]
fn nested_collections_are_no_errors() {
    for value in [
        "[[1, 2], [3]]",
        "[[], []]",
        "[..a, [..b], [with, 1]]",
        "[[[a], [b, c]], [[d]]]",
        "F([[a, b], []], [x => [x, [y]]])",
        "new() { [1] = [[2]], [[a]] = [] }",
        "[(a, [b]), new() { C = [[1]] }]",
        "x is [[1, ..], [var y, _]] ? [[y]] : []",
        "[field, [type]]",
        "a ?? [[]]",
        "(int[][])[[1], [2, 3]]",
    ] {
        for text in [
            format!("class A {{ object B = {value}; }}"),
            format!("class A {{ object B => {value}; }}"),
            format!("class A {{ void B() {{ F({value}); var q = {value}; return {value}; }} }}"),
        ] {
            let (tier, message, _) = seen(&text);
            assert!(matches!(tier, Tier::Whole | Tier::Repaired), "{text}: {message}");
        }
    }
}

#[test]
fn statements_among_members_are_no_members() {
    for text in ["if (x) { }", "while (true) { }", "get { return 1; }", "async void;", "const int;"] {
        let (tier, message, shown) = seen(&format!("class X {{ int Begin;\n {text}\n void End() {{ }} }}"));
        assert_eq!((tier, shown.as_str()), (Tier::Partial, "X[Begin End()]"), "{text}");
        assert!(message.starts_with("2:2 "), "{text}: {message}");
    }
}

#[test]
fn errors_of_values_and_accessors_are_told() {
    for text in [
        "int a = 1 +;",
        "int a = => 3;",
        "int a = x y;",
        "int P { get; } = ;",
        "int P { get { return 1 } }",
        "void M() { x = ''; }",
        "void M() { x = 'ab'; }",
        "void M() {\n<<<<<<< HEAD\nF();\n=======\nG();\n>>>>>>> other\n}",
    ] {
        let (tier, message, shown) = seen(&format!("class X {{ int Begin;\n {text}\n void End() {{ }} }}"));
        assert!(!matches!(tier, Tier::Whole | Tier::Repaired), "{text}");
        assert!(!message.is_empty() && !message.starts_with("0:"), "{text}: {message}");
        assert!(shown.contains("Begin") && shown.contains("End()"), "{text}: {shown}");
    }
}

#[test]
fn a_missing_brace_has_a_place() {
    for (text, place) in [
        ("class C {\n void M() { if (true) { F(); }\n int Q; }", "1:9 "),
        ("class C {\n int Q;", "1:9 "),
        ("class C { int Q; }\n}", "2:1 "),
    ] {
        let (tier, message, _) = seen(text);
        assert_eq!(tier, Tier::Partial);
        assert!(message.starts_with(place), "{text}: {message}");
    }
}

#[test]
fn types_nested_too_deeply_are_told() {
    let deep = 150;
    let text: String = (0..deep).map(|at| format!("class N{at} {{ ")).collect::<String>() + &"}".repeat(deep);
    let (tier, message, shown) = seen(&text);
    assert!(shown.contains("N50["));
    assert_eq!((tier, message.is_empty()), (Tier::Partial, false));
}
