//! Code of any length: a use of a member is listed regardless of the number of parameters, values or branches around it.

use super::fixture::World;
use super::usages::Place;
use engine::values::table::Table;
use std::collections::BTreeSet;

const WORLD: &str = "using System; using System.Collections.Generic;
public class A : Attribute { public A(params object[] all) { } public int At; }
public class Bag { public int this[int at] { get => 1; set { } } public int V; public Bag Next; public Bag Do(int n) => this; public void Add(int n) { } }
public static class H { public static int P(int a, int b) => a; public const int K = 1; }
";

/// Returns `count` numbered copies of a text, `#` for the number, with a separator.
fn copies(count: usize, text: &str, between: &str) -> String {
    let all: Vec<String> = (1..=count).map(|at| text.replace('#', &at.to_string())).collect();
    all.join(between)
}

/// Returns declarations with default values, followed by code to bind.
fn with_defaults(n: usize) -> Vec<(&'static str, String)> {
    let list = copies(n, "int x# = 0", ", ");
    let named = copies(n, "int x# = H.K", ", ");
    vec![
        ("method", format!("class E {{ void F({list}) {{ H.P(1, 2); }} }}")),
        ("values", format!("class E {{ void F({named}) {{ H.P(1, 2); }} }}")),
        ("arrow", format!("class E {{ int F({list}) => H.P(1, 2); }}")),
        (
            "attributed",
            format!(
                "class E {{ void F({}) {{ H.P(1, 2); }} }}",
                copies(n, "[A(At = 1)] int? x# = default(int?)", ", ")
            ),
        ),
        (
            "texts",
            format!(
                "class E {{ void F({}) {{ H.P(1, 2); }} }}",
                copies(n, "string x# = @\"a\nb\"", ",\n")
            ),
        ),
        ("escaped", format!("class E {{ void F(int @in = 0, {list}) {{ H.P(1, 2); }} }}")),
        (
            "constructor",
            format!("class E {{ E({list}) : this(H.P(1, 2), \"\") {{ H.P(1, 2); }} E(int a, string b) {{ }} }}"),
        ),
        (
            "indexer",
            format!("class E {{ int this[{list}] {{ get {{ return H.P(1, 2); }} set => H.P(1, 2); }} }}"),
        ),
        (
            "local",
            format!("class E {{ void G() {{ void F({list}) {{ H.P(1, 2); }} F(); }} }}"),
        ),
        ("lambda", format!("class E {{ void G() {{ var f = ({list}) => H.P(1, 2); }} }}")),
        ("record", format!("record R({named}) {{ int F() => H.P(1, 2); }}")),
        (
            "class",
            format!("class E({list}) : B(H.P(1, 2)) {{ int f = H.P(1, 2); }} class B(int n);"),
        ),
        ("delegate", format!("delegate int D({named}); class E {{ int F() => H.P(1, 2); }}")),
        (
            "generic",
            format!("class E {{ void F<T>({list}) where T : new() {{ H.P(1, 2); }} }}"),
        ),
        (
            "partial",
            format!(
                "partial class E {{ partial void F({list}); partial void F({}) {{ H.P(1, 2); }} }}",
                copies(n, "int x#", ", ")
            ),
        ),
    ]
}

/// Returns long lists and runs with uses inside and after them.
fn long_runs(n: usize) -> Vec<(&'static str, String)> {
    let within = |code: String| format!("class E {{ int n; bool b; Bag bag; void F(object o, int a) {{ {code} H.P(3, 4); }} }}");
    let call = "H.P(#, 1)";
    let copy = |text: &str, between: &str| copies(n, text, between);
    vec![
        (
            "attribute arguments",
            format!(
                "[A({})] class E {{ [A({})] int F() => H.P(1, 2); }}",
                copy("H.K", ", "),
                copy("H.K", ", ")
            ),
        ),
        (
            "attributes",
            format!("class E {{ {} int F() => H.P(1, 2); }}", copy("[A(H.K)]", "\n")),
        ),
        ("enum members", format!("enum W {{ {} }}", copy("M# = H.K", ", "))),
        (
            "fields",
            format!("class E {{ int {}; int G = H.P(1, 2); }}", copy("f# = H.P(#, 1)", ", ")),
        ),
        ("array", within(format!("var all = new[] {{ {} }};", copy(call, ", ")))),
        ("array field", format!("class E {{ int[] all = {{ {} }}; }}", copy(call, ", "))),
        ("collection", within(format!("int[] all = [{}];", copy(call, ", ")))),
        (
            "dictionary",
            within(format!(
                "var all = new Dictionary<int, int> {{ {} }};",
                copy("{ #, H.P(#, 1) }", ", ")
            )),
        ),
        (
            "index initialiser",
            within(format!("var all = new Bag {{ {} }};", copy("[#] = H.P(#, 1)", ", "))),
        ),
        (
            "switch arms",
            within(format!("n = a switch {{ {}, _ => 0 }};", copy("# => H.P(#, 1)", ", "))),
        ),
        (
            "switch cases",
            within(format!("switch (a) {{ {} }}", copy("case #: H.P(#, 1); break;", "\n"))),
        ),
        (
            "labels",
            within(format!("switch (a) {{ {} H.P(1, 1); break; }}", copy("case #:", "\n"))),
        ),
        (
            "type parameters",
            format!("class E<{}> {{ void F() {{ H.P(1, 2); }} }}", copy("T#", ", ")),
        ),
        (
            "constraints",
            format!(
                "class E {{ void F<{}>() {} {{ H.P(1, 2); }} }}",
                copy("T#", ", "),
                copy("where T# : new()", " ")
            ),
        ),
        ("type arguments", within(format!("Func<{}> f = null;", copy("int", ", ")))),
        ("arguments", within(format!("string.Concat({});", copy(call, ", ")))),
        (
            "named arguments",
            within(format!("string.Concat({});", copy("x#: H.P(#, 1)", ", "))),
        ),
        ("interpolation", within(format!("var s = $\"{}\";", copy("{H.P(#, 1)}", " ")))),
        ("concatenation", within(format!("var s = {};", copy("\"a\" + H.P(#, 1)", " + ")))),
        (
            "mixed operators",
            within(format!("n = {};", copy("H.P(#, 1) * 2 - H.P(#, 2) << 1", " + "))),
        ),
        ("truth", within(format!("b = {};", copy("H.P(#, 1) > 0 && H.P(#, 2) == 1", " || ")))),
        ("coalesce", within(format!("var v = {};", copy("(int?)H.P(#, 1)", " ?? ")))),
        ("conditional", within(format!("n = {} : 0;", copy("a == # ? H.P(#, 1)", " : ")))),
        ("assignments", within(format!("n = {} H.P(1, 1);", copy("n =", " ")))),
        (
            "if else",
            within(format!(
                "{} else {{ H.P(2, 2); }}",
                copy("if (a == H.P(#, 2)) { H.P(#, 1); }", " else ")
            )),
        ),
        ("if", within(copy("if (a == #) { H.P(#, 1); }", "\n"))),
        ("statements", within(copy("H.P(#, 1);", "\n"))),
        ("chain", within(format!("bag{};", copy(".Do(H.P(#, 1))", "")))),
        ("tuple", within(format!("var t = ({});", copy(call, ", ")))),
        ("patterns", within(format!("b = a is {}; H.P(1, 1);", copy("#", " or ")))),
        ("and patterns", within(format!("b = a is {}; H.P(1, 1);", copy("not #", " and ")))),
        ("list pattern", within(format!("b = o is [{}]; H.P(1, 1);", copy("H.K", ", ")))),
        ("is chain", within(format!("b = a{}; H.P(1, 1);", copy(" is int", "")))),
        ("as chain", within(format!("b = a{}; H.P(1, 1);", copy(" as Bag", "")))),
        (
            "with chain",
            within(format!("var v = bag{}; H.P(1, 1);", copy(" with { V = H.P(#, 1) }", ""))),
        ),
        (
            "query",
            within(format!(
                "var q = from x in new[] {{ 1 }} {} select H.P(1, 1);",
                copy("let y# = H.P(#, 1)", " ")
            )),
        ),
        (
            "catches",
            within(format!(
                "try {{ }} {}",
                copy("catch (Exception) when (H.P(#, 2) > 1) { H.P(#, 1); }", " ")
            )),
        ),
        ("usings", within(format!("{} {{ H.P(1, 1); }}", copy("using (null)", " ")))),
        ("loops", within(format!("{} {{ H.P(1, 1); }}", copy("while (b)", " ")))),
        ("goto labels", within(format!("{} H.P(1, 1);", copy("l#:", " ")))),
        ("signs", within(format!("n = {} H.P(1, 1);", copy("-", " ")))),
        ("nots", within(format!("b = {} (H.P(1, 1) > 1);", copy("!", " ")))),
        ("casts", within(format!("n = {} H.P(1, 1);", copy("(int)", " ")))),
        ("nested calls", within(format!("{} 1 {};", copy("H.P(", ""), copy(", 1)", "")))),
        (
            "nested parentheses",
            within(format!("n = {} H.P(1, 1) {};", copy("(", ""), copy(")", ""))),
        ),
        ("nested blocks", within(format!("{} H.P(1, 1); {}", copy("{", " "), copy("}", " ")))),
        (
            "nested ifs",
            within(format!("{} H.P(1, 1); {}", copy("if (b) {", " "), copy("}", " "))),
        ),
        (
            "nested lambdas",
            within(format!("Action f = {} H.P(1, 1){};", copy("() => {", " "), copy("; }", ""))),
        ),
        ("curried lambdas", within(format!("Action f = {} H.P(1, 1);", copy("x# =>", " ")))),
        (
            "nested objects",
            within(format!(
                "bag = {} 1 {};",
                copy("new Bag { V = H.P(#, 1), Next =", " "),
                copy("}", " ")
            )),
        ),
        (
            "nested switches",
            within(format!(
                "n = {} 0 {};",
                copy("a switch { # => H.P(#, 1), _ =>", " "),
                copy("}", " ")
            )),
        ),
        (
            "nested arrays",
            within(format!("var v = {} H.P(1, 1) {};", copy("[", ""), copy("]", ""))),
        ),
        (
            "nested interpolations",
            within(format!("var s = {}H.P(1, 1){};", copy("$\"{", ""), copy("}\"", ""))),
        ),
        (
            "accessors",
            format!(
                "class E {{ {} }}",
                copy("int P# { [A] get { return H.P(#, 1); } [A] private set { H.P(#, 2); } }", "\n")
            ),
        ),
        ("bases", format!("class E : {} {{ int F() => H.P(1, 2); }}", copy("I#", ", "))),
    ]
}

/// Counts the uses of `H.P` and `H.K` that are not listed as certain: lost uses, and uses that are only possible.
fn missed(code: &str) -> (usize, usize) {
    let text = format!("{WORLD}{code}\n");
    let world = World::of_texts(&[("a.cs", text.as_str())]);
    let (mut certain, mut possible) = (BTreeSet::new(), BTreeSet::new());
    for key in world.keys() {
        let table = world.output("usages", &key).bytes;
        let table = Table::open(&table).expect("a table");
        for (row, value) in table.rows() {
            let found: Vec<Place> = serde_json::from_slice(value).expect("places");
            let places = found.into_iter().map(|place| (place.line, place.column));
            match row {
                "H#P" | "H#K" => certain.extend(places),
                "?#P" | "?#K" => possible.extend(places),
                _ => {}
            }
        }
    }
    let (mut lost, mut vague) = (0, 0);
    for (line, content) in text.lines().enumerate() {
        for (at, _) in content.match_indices("H.P(").chain(content.match_indices("H.K")) {
            let place = (line as u32 + 1, content[..at].chars().count() as u32 + 3);
            if !certain.contains(&place) {
                *(if possible.contains(&place) { &mut vague } else { &mut lost }) += 1;
            }
        }
    }
    (lost, vague)
}

/// Returns the names of pieces with lost uses, and with uses that are only possible.
fn misses(pieces: fn(usize) -> Vec<(&'static str, String)>, count: usize) -> (Vec<&'static str>, Vec<&'static str>) {
    let (mut lost, mut vague) = (Vec::new(), Vec::new());
    for (name, code) in pieces(count) {
        let missed = missed(&code);
        lost.extend((missed.0 > 0).then_some(name));
        vague.extend((missed.1 > 0).then_some(name));
    }
    (lost, vague)
}

#[test]
fn default_values_of_any_number_lose_no_use() {
    for count in [1, 10, 11, 12, 40, 300] {
        assert_eq!(misses(with_defaults, count), (vec![], vec![]), "{count}");
    }
}

#[test]
fn long_code_loses_no_use() {
    for count in [5, 11, 20] {
        assert_eq!(misses(long_runs, count), (vec![], vec![]), "{count}");
    }
    let (lost, vague) = misses(long_runs, 150);
    assert_eq!(lost, Vec::<&str>::new());
    // Code nested too deeply is not bound: its uses are only possible.
    let is_nested = |name: &&&str| {
        name.starts_with("nested")
            || matches!(
                **name,
                "coalesce" | "conditional" | "assignments" | "nots" | "casts" | "curried lambdas"
            )
    };
    assert_eq!(
        vague.iter().filter(|name| !is_nested(name)).collect::<Vec<_>>(),
        Vec::<&&str>::new()
    );
}
