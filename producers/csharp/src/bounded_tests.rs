//! Chains, nested constructs and lists of any length: the work and the output of the producers grow linearly with the text, whatever its
//! shape.

use super::fixture::World;
use super::lexer::LOOKS;

type Shape = fn(usize) -> String;

fn class(members: &str) -> String {
    format!("namespace N;\npublic class A {{\n{members}\n}}\n")
}

fn method(body: &str) -> String {
    class(&format!(
        "A a() => this; int x; A b; A f(params object[] o) => this;\nvoid M() {{ {body} }}"
    ))
}

fn nest(open: &str, middle: &str, close: &str, depth: usize) -> String {
    format!("{}{middle}{}", open.repeat(depth), close.repeat(depth))
}

fn each(count: usize, part: impl Fn(usize) -> String) -> String {
    (0..count).map(part).collect()
}

/// Chains of repeated suffixes or operators.
const CHAINS: &[(&str, Shape)] = &[
    ("calls", |n| method(&format!("a(){};", ".a()".repeat(n)))),
    ("calls of nothing known", |n| method(&format!("zz(){};", ".qq()".repeat(n)))),
    ("calls in an initialiser", |n| class(&format!("object F = b{};", ".b()".repeat(n)))),
    ("members", |n| method(&format!("var q = b{};", "?.b".repeat(n)))),
    ("elements", |n| method(&format!("var q = b{};", "?[0]".repeat(n)))),
    ("calls with lambdas", |n| {
        method(&format!("var q = new int[0]{};", ".Select(x => (x, x))".repeat(n)))
    }),
    ("qualified names", |n| class(&format!("{}Q F;", "b.".repeat(n)))),
    ("sums", |n| method(&format!("var q = \"a\"{};", " + \"b\" + b".repeat(n)))),
    ("mixed operators", |n| {
        method(&format!("var q = 1{};", " + x * 2 == 3 && x".repeat(n)))
    }),
    ("less", |n| method(&format!("var q = x{};", " < x".repeat(n)))),
    ("coalesce", |n| method(&format!("var q = b{};", " ?? b".repeat(n)))),
    ("casts", |n| method(&format!("var q = b{};", " as A".repeat(n)))),
    ("patterns", |n| method(&format!("var q = x is 1{};", " or 1".repeat(n)))),
    ("assignments", |n| method(&format!("{}1;", "x = ".repeat(n)))),
    ("else if", |n| {
        method(&format!("if (x == 0) x = 1;{}", " else if (x == 2) x = 3;".repeat(n)))
    }),
    ("ternaries", |n| method(&format!("var q = {}0;", "x == 1 ? 1 : ".repeat(n)))),
    ("switches", |n| method(&format!("var q = x{};", " switch { _ => 1 }".repeat(n)))),
    ("with", |n| method(&format!("var q = b{};", " with { x = 1 }".repeat(n)))),
    ("values of values", |n| {
        method(&each(n, |at| format!("var v{} = (v{at}, v{at}, v{at}, v{at}, v{at});\n", at + 1)))
    }),
];

/// Nested constructs.
const NESTS: &[(&str, Shape)] = &[
    ("brackets", |n| method(&format!("var q = {};", nest("f(", "1", ")", n)))),
    ("conversions of tuple parts", |n| {
        let operators = ["string", "bool", "long", "double", "decimal"]
            .map(|of| format!("public static implicit operator S((S, {of}) of) => default; "));
        class(&format!(
            "struct S {{ {} }} S s = {};",
            operators.concat(),
            nest("(", "0", ", 'c')", n)
        ))
    }),
    ("casts", |n| method(&format!("var q = {};", nest("(A)(", "b", ")", n)))),
    ("blocks", |n| method(&nest("if (x == 1) {", "x = 1;", "}", n))),
    ("bare conditions", |n| method(&format!("{};", "if (x == 1) ".repeat(n)))),
    ("lambdas", |n| {
        method(&format!(
            "System.Action q = {};",
            nest("() => { System.Action w = ", "null", "; }", n)
        ))
    }),
    ("lambdas of values", |n| {
        method(&format!("var q = {};", nest("f(y => ", "1", ")", n)))
    }),
    ("initialisers", |n| {
        method(&format!("var q = {};", nest("new A { b = ", "null", "}", n)))
    }),
    ("arrays", |n| method(&format!("object[][] q = {};", nest("{", "1", "}", n)))),
    ("type arguments", |n| class(&format!("{}int{} F;", "L<".repeat(n), ">".repeat(n)))),
    ("tuples of types", |n| class(&format!("{} F;", nest("(int, ", "int", ")", n)))),
    ("array marks", |n| class(&format!("int{} F;", "[]".repeat(n)))),
    ("signs", |n| method(&format!("var q = {}x;", "!".repeat(n)))),
    ("interpolated texts", |n| {
        method(&format!("var q = {};", nest("$\"{", "x", "}\"", n)))
    }),
    ("switches", |n| {
        method(&format!("var q = {};", nest("x switch { _ => ", "1", "}", n)))
    }),
    ("properties in patterns", |n| {
        method(&format!("var q = b is {};", nest("{ b: ", "null", "}", n)))
    }),
    ("conditions of #if", |n| {
        format!("{}class A {{ int f; }}\n{}", "#if !X\n".repeat(n), "#endif\n".repeat(n))
    }),
    ("local functions", |n| method(&nest("void F() {", "", "}", n))),
    ("namespaces", |n| nest("namespace N {", "class A { int x; }", "}", n)),
    ("brackets that nothing closes", |n| method(&"(".repeat(n))),
    ("texts that nothing closes", |n| method(&"$\"{".repeat(n))),
];

/// Lists of repeated elements.
const LISTS: &[(&str, Shape)] = &[
    ("arguments", |n| method(&format!("f(1{});", ", x".repeat(n)))),
    ("statements", |n| method(&"f(x);".repeat(n))),
    ("locals", |n| {
        method(&each(n, |at| {
            format!("var v{at} = {};\n", if at == 0 { "x".into() } else { format!("v{}", at - 1) })
        }))
    }),
    ("members", |n| class(&each(n, |at| format!("int F{at}() => F{}();\n", at / 2)))),
    ("fields", |n| class(&format!("int a{};", each(n, |at| format!(", f{at} = 1"))))),
    ("overloads", |n| class(&each(n, |at| format!("void F(int a, T{at} b) {{ }}\n")))),
    ("parameters", |n| {
        class(&format!("void F(int a{}) {{ }}", each(n, |at| format!(", int p{at}"))))
    }),
    ("type arguments", |n| class(&format!("L<int{}> F;", ", int".repeat(n)))),
    ("type parameters", |n| {
        class(&format!("void F<T{}>() {{ }}", each(n, |at| format!(", T{at}"))))
    }),
    ("elements", |n| {
        method(&format!("var q = new object[] {{ 1{} }};", ", new A()".repeat(n)))
    }),
    ("attributes", |n| class(&format!("{} void M() {{ }}", "[X(1)] ".repeat(n)))),
    ("constants", |n| {
        format!("enum E {{ a{} }}", each(n, |at| format!(", e{at} = {at}")))
    }),
    ("usings", |n| {
        format!("{}class A {{ B f; }}", each(n, |at| format!("using U{at};\n")))
    }),
    ("bases", |n| format!("class A : B{} {{ }}", each(n, |at| format!(", I{at}")))),
    ("cases", |n| {
        method(&format!("switch (x) {{ {} }}", each(n, |at| format!("case {at}: break;\n"))))
    }),
    ("interpolated values", |n| method(&format!("var q = $\"{}\";", "{x} t ".repeat(n)))),
    ("positional parameters", |n| {
        format!("record R(int a{});", each(n, |at| format!(", int P{at}")))
    }),
    ("lines of documentation", |n| {
        class(&format!("{}void M() {{ }}", "/// text\n".repeat(n)))
    }),
];

const OUTPUTS: &[&str] = &[
    "complete", "structure", "impl", "xmldoc", "members", "mentions", "facts", "signatures", "api-deps", "deps", "usages", "outline-info",
    "outline",
];

/// Returns the number of token reads, and the total bytes of all outputs.
fn cost(text: &str) -> (u64, u64) {
    let before = LOOKS.get();
    let world = World::of_texts(&[("a.cs", text)]);
    let keys = world.keys();
    let bytes = OUTPUTS
        .iter()
        .flat_map(|name| keys.iter().map(|key| world.output(name, key).bytes.len() as u64))
        .sum();
    (LOOKS.get() - before, bytes)
}

fn grows_with_the_text(shapes: &[(&str, Shape)]) {
    const FEW: usize = 700;
    for (what, text) in shapes {
        let (small, large) = (cost(&text(FEW)), cost(&text(4 * FEW)));
        assert!(large.0 < 6 * small.0 + 20_000, "{what}: {} looks, then {}", small.0, large.0);
        assert!(large.1 < 6 * small.1 + 20_000, "{what}: {} bytes, then {}", small.1, large.1);
    }
}

#[test]
fn chains_cost_what_they_are_long() {
    grows_with_the_text(CHAINS);
}

#[test]
fn nests_cost_what_they_are_deep() {
    grows_with_the_text(NESTS);
}

#[test]
fn lists_cost_what_they_hold() {
    grows_with_the_text(LISTS);
}

#[test]
fn a_nest_of_any_depth_ends() {
    for (_, text) in NESTS {
        cost(&text(30_000));
    }
}
