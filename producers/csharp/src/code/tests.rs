//! Tests the parser's results for code, and its tolerance of any text.

use super::ast::*;
use super::*;
use proptest::prelude::*;

/// Returns the parsed statements in debug form.
fn names(text: &str) -> String {
    format!("{:?}", body(text, false))
}

fn has(text: &str, part: &str) {
    let found = names(text);
    assert!(found.contains(part), "{text}\n{found}");
}

#[test]
fn statements_and_locals() {
    has("{ var a = b.C(); Foo<int> d = new(); }", "Local(Var(0), [(\"a\"");
    has("{ List<Foo> d = new(); }", "Local(Named([Name { word: Word { text: \"List\"");
    has("{ await x; }", "Await(Name(");
    has(
        "{ foreach (var (a, b) in c) { d(); } }",
        "Foreach(Var(0), Tuple([Name(\"a\"), Name(\"b\")])",
    );
    has(
        "{ foreach ((int A, B C) d in e) { f(); } }",
        "Foreach(Tuple([(Some(\"A\"), Predefined(\"int\"))",
    );
    has("{ int F(int x) => x; }", "Function(LocalFunction { name: \"F\"");
    has(
        "{ static (int, string) F(int x) { return (x, null); } }",
        "Function(LocalFunction { name: \"F\"",
    );
    has("{ void F() { a(); } return new(b ? c : d); }", "Return(New(None");
    has("{ a = b; }", "Assign(Name(");
    has("{ checked { a = b; } }", "Overflow(true, [Expression(Assign(");
    has(
        "{ if (c) unchecked { a = b; } else d(); }",
        "Block([Overflow(false, [Expression(Assign(",
    );
    has("{ if (x is Foo { Bar: 1 } f && f.G) return; }", "Recursive(Some(Named");
    has("{ (var a, B b) = c; }", "Declaration(Var(0), Name(\"a\"))");
    has("{ using var a = b; using (var c = d) e(); }", "Block([Using(Local(Var(0), [(\"c\"");
}

#[test]
fn values() {
    has("=> (Foo)bar.Baz", "Cast(Named");
    has("=> (a) + b", "Operation(Arithmetic");
    has("=> (Foo*)(a + b)", "Cast(Pointer(Named");
    has("=> f((int)from, (int)select)", "Cast(Predefined(\"int\"), Name(");
    has(
        "=> (int)from - (int)a.from",
        "Operation(Arithmetic, [Cast(Predefined(\"int\"), Name(",
    );
    has("=> await with(a) + await select(b)", "Operation(Arithmetic, [Await(Chain(Name(");
    has("=> a ?? (b ? c = d : e)", "Conditional(Name(");
    has("=> a < b && c > d", "Operation(Truth");
    has("=> a.B<C>(d)", "args: [Named");
    has("=> x is A or B ? y : z", "Conditional(Is(");
    has("=> x switch { A a => 1, _ => 2 }", "Switch(Name(");
    has("=> $\"{a.B:x} {{c}} {d}\"", "Interpolated([Chain(");
    has("=> from a in b where a.C select a.D", "Query([From(None, \"a\"");
    has(
        "=> f(x => x.Y, (a, b) => { return a; }, out var z)",
        "Lambda([Parameter { name: \"x\"",
    );
    has("=> f(out Foo z)", "Declaration(Named");
    has("=> new Foo { A = 1, B = { C = 2 } }", "Nested(Word");
    has("=> new int[n] { 1 }", "NewArray(Some(Predefined(\"int\"))");
    has("=> a?.B?[0]!.C", "Index(");
}

#[test]
fn words_of_queries_are_names_outside_queries() {
    for word in [
        "group", "into", "join", "let", "on", "by", "equals", "from", "select", "where", "with", "orderby", "descending",
    ] {
        let name = format!("Some(Name(\"{word}\"))");
        has(&format!("=> a switch {{ Foo {word} => {word}.X, _ => 0 }}"), &name);
        has(&format!("=> a is Foo {word} && {word}.X"), &name);
        has(&format!("=> a is {{ X: 1 }} {word} ? {word} : b"), &name);
        has(&format!("{{ if (a is Foo {word}) return; }}"), &name);
        has(&format!("{{ switch (a) {{ case Foo {word}: break; }} }}"), &name);
        has(&format!("{{ switch (a) {{ case Foo {word} when {word}.X: break; }} }}"), &name);
        let name = format!("Name(\"{word}\"))");
        has(&format!("=> f(out var {word})"), &format!("Declaration(Var(0), {name}"));
        has(&format!("=> f(out Foo {word}, 1)"), &name);
        has(&format!("=> f(out (A, B) {word})"), &name);
    }
    for (text, part) in [
        ("=> from a in b where a is Foo select a", "None)), Word { text: \"where\""),
        (
            "=> from a in b orderby a is Foo descending, a.X select a",
            "text: \"orderbydescending\"",
        ),
        (
            "=> from a in b where f(from c in d where c is Foo select c) select a",
            "text: \"select\"",
        ),
        ("=> from a in b group a by a is Foo into c select c", "Into(\"c\")"),
        (
            "{ switch (a) { case Foo when b: break; } }",
            "Type(Named([Name { word: Word { text: \"Foo\", place: 0 }, args: [] }]), None)",
        ),
        ("=> a is Foo or Bar and { X: 1 }", "Or(["),
        ("=> f((a, b) switch { _ => 1 })", "Switch(Tuple("),
    ] {
        has(text, part);
    }
}

#[test]
fn lambdas_with_attributes_and_a_result() {
    for text in [
        "=> f([A] Foo (int x) => new(x))",
        "=> f([A, B(1)] [return: C] Foo? ([D] int x) => { return new(x); })",
        "=> f([A] int? (int x) => x)",
        "=> f([A] N.Foo<Bar>[] (int x) => x)",
    ] {
        has(text, "Lambda([Parameter { name: \"x\"");
        has(text, "Attributes([");
    }
    has("=> f([a, b] is Foo)", "Is(Collection([");
    has("=> from a in [b] where a select a", "Query([From(None, \"a\", Collection([");
}

#[test]
fn the_tokens_of_a_conditional_access_may_be_apart() {
    let joined = names("=> a?.B(1)?.C");
    assert_eq!(names("=> a?\n .B(1)? .C"), joined);
    assert_eq!(names("=> a ? .B(1) ?\n.C"), joined);
    has("=> a ? .5 : 1", "Conditional(Name(");
}

#[test]
fn long_and_deep_code_ends() {
    for text in [
        "(".repeat(20_000),
        "a.".repeat(20_000),
        "a+".repeat(20_000),
        "x is ".repeat(20_000),
        "!".repeat(20_000),
        "{".repeat(20_000),
        "a?b:".repeat(20_000),
        "x=a<".repeat(5_000),
        "if(a)".repeat(5_000),
        "a=>".repeat(5_000),
        "new(){a=".repeat(3_000),
        format!("{}{}", "(".repeat(5_000), ")".repeat(5_000)),
        "$\"{".repeat(2_000),
        "a[".repeat(5_000) + &"]".repeat(5_000),
        "(a)".repeat(5_000),
        // Statements without brackets: the next token closes the enclosing block.
        "foreach".to_owned(),
        "( foreach ) { using }".to_owned(),
    ] {
        let text = format!("{{ {text} }}");
        body(&text, true);
        let parsed = body(&text, false);
        let bytes = minicbor::to_vec(&parsed).expect("memory");
        let back: Vec<Statement> = minicbor::decode(&bytes).expect("our own bytes");
        assert_eq!(back, parsed);
    }
}

proptest! {
    #[test]
    fn any_text_ends(text in "[a-cA-C<>(){}\\[\\]=?.,;:!+&| \"$@0-2]{0,60}", words in proptest::collection::vec(prop::sample::select(vec!["is", "as", "new", "switch", "case", "x", "(", ")", "{", "}", "=>", "<", ">", "?", ":", ";", "foreach", "in", "var", "from", "select", "not", "or", "[", "]", "=", ".", ","]), 0..40)) {
        body(&text, true);
        body(&words.join(" "), true);
        type_ref(&text);
    }
}
