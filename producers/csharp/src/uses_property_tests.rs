//! The invariant of usages, in random code. Each name that refers to a member is listed as its use, certain or possible. No other name is
//! listed as certain.
//!
//! The pieces of code mark the meaning of their names: `§Go` is the member `A.Go`, `Go` without the mark is not.

use super::fixture::World;
use super::usages::Place;
use engine::values::table::Table;
use proptest::prelude::*;
use std::collections::BTreeSet;

const WORLD: &str = "using System; using System.Collections.Generic; using System.Linq; using System.Threading.Tasks;
class A { public int Go; public A Next; public A this[int at] => this; public static A Make(int n) => null; }
class Other { public int Go; }
";

/// Generates a value of type `int`.
fn value() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(vec![
        "1",
        "§Go",
        "this.§Go",
        "base.§Go",
        "a.§Go",
        "a?.§Go ?? 2",
        "a.Next.Next.§Go",
        "a[0].§Go",
        "A.Make(1).§Go",
        "((A)o).§Go",
        "(o as A).§Go",
        "unknown().§Go",
        "missing.Thing.§Go",
        "d.§Go",
        "other.Go",
        "new Other { Go = 1 }.Go",
        "new A { §Go = 2 }.§Go",
        "nameof(A.§Go).Length",
        "(Go: 1, 2).Go",
        "new { Go = 1 }.Go",
        "(o is A { §Go: 1 } ? 1 : 2)",
        "(o is A { Next.§Go: > 1 } ? 1 : 2)",
        "named(Go: 3)",
    ]);
    leaf.prop_map(str::to_owned).prop_recursive(4, 24, 3, |inner| {
        let two = (inner.clone(), inner.clone());
        prop_oneof![
            two.clone().prop_map(|(one, two)| format!("({one} + {two} * 2)")),
            two.clone().prop_map(|(one, two)| format!("({one} > {two} ? {one} : {two})")),
            inner.clone().prop_map(|one| format!("A.Make({one}).§Go")),
            inner.clone().prop_map(|one| format!("unknown({one}, x => x.§Go)")),
            inner.clone().prop_map(|one| format!("all.Select(q => q.§Go + {one}).Count()")),
            inner.clone().prop_map(|one| format!("((Func<int>)(() => {{ return {one}; }}))()")),
            inner.clone().prop_map(|one| format!("$\"{{{one}}}\".Length")),
            inner.clone().prop_map(|one| format!("new[] {{ {one}, 2 }}.Length")),
            inner
                .clone()
                .prop_map(|one| format!("new A {{ §Go = {one}, Next = new() {{ §Go = 3 }} }}.§Go")),
            two.clone()
                .prop_map(|(one, two)| format!("(o switch {{ A {{ §Go: var v }} => {one}, _ => {two} }})")),
            inner
                .clone()
                .prop_map(|one| format!("(from q in all where q.§Go > {one} select q.§Go).Count()")),
            inner.clone().prop_map(|one| format!("-checked({one})")),
            inner.clone().prop_map(|one| format!("a[{one}].§Go")),
            inner.prop_map(|one| format!("(await Task.FromResult({one}))")),
        ]
    })
}

fn statements() -> impl Strategy<Value = String> {
    let one = value().prop_flat_map(|value| {
        prop::sample::select(vec![
            format!("n = {value};"),
            "{ int Go = 1; n = Go; a.§Go = Go; }".to_owned(),
            format!("a.§Go += {value};"),
            format!("§Go = {value};"),
            "a.§Go++; --a.Next.§Go;".to_owned(),
            format!("foreach (var q in all) {{ q.§Go = {value}; }}"),
            format!("for (int i = {value}; i < a.§Go; i++) {{ }}"),
            format!("try {{ n = {value}; }} catch (Exception e) when (a.§Go > 1) {{ }}"),
            format!("switch (o) {{ case A {{ §Go: 1 }} when {value} > 1: break; default: n = {value}; break; }}"),
            format!("if (o is A {{ §Go: var v }} && v > 1) {{ n = {value}; }} else n = a.§Go;"),
            format!("int Local(int p) => p + {value}; n = Local(a.§Go);"),
            format!("var (x, y) = ({value}, a.§Go);"),
            format!("lock (o) {{ n = {value}; goto Go; }} Go: ;"),
            format!("unknown().Each((A q) => {{ q.§Go = {value}; }});"),
        ])
    });
    // Each statement gets its own scope, because a name that is declared twice has no meaning.
    prop::collection::vec(one, 1..5).prop_map(|all| all.iter().map(|one| format!("{{ {one} }}\n")).collect())
}

/// Returns the places in `T`'s code whose keys and uses `fits` accepts.
fn places(world: &World, fits: impl Fn(&str, &Place) -> bool) -> BTreeSet<(u32, u32)> {
    let bytes = world.output("usages", "T").bytes;
    let table = Table::open(&bytes).expect("a table");
    let mut found = BTreeSet::new();
    for (key, row) in table.rows() {
        let places: Vec<Place> = serde_json::from_slice(row).expect("places");
        found.extend(
            places
                .iter()
                .filter(|place| fits(key, place))
                .map(|place| (place.line, place.column)),
        );
    }
    found
}

/// Returns line and column of each `Go` of a marked text, in the text without marks, and whether it is marked.
fn names(marked: &str) -> Vec<((u32, u32), bool)> {
    let mut found = Vec::new();
    for (number, line) in (1..).zip(marked.lines()) {
        let mut column = 1;
        for (at, c) in line.char_indices() {
            let is_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
            let is_name =
                line[at..].starts_with("Go") && !is_word(line[at + 2..].chars().next()) && !is_word(line[..at].chars().next_back());
            if is_name {
                found.push(((number, column), line[..at].ends_with('§')));
            }
            column += u32::from(c != '§');
        }
    }
    found
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]
    #[test]
    fn every_name_of_a_member_is_listed(code in statements()) {
        let marked = format!(
            "{WORLD}class T : A {{ A a; object o; List<A> all; Other other; int n; int named(int Go) => 1; async Task M(dynamic d) {{\n{code}}} }}\n"
        );
        let text = marked.replace('§', "");
        let world = World::of_texts(&[("a.cs", text.as_str())]);
        let certain = places(&world, |key, place| key == "A#Go" && !place.elsewhere);
        let listed = places(&world, |key, _| key == "A#Go" || key == "?#Go");
        let first = WORLD.lines().count() as u32 + 2;
        for (place, is_member) in names(&marked).into_iter().filter(|((line, _), _)| *line >= first) {
            if is_member {
                prop_assert!(listed.contains(&place), "lost at {place:?} in\n{text}");
            } else {
                prop_assert!(!certain.contains(&place), "wrong at {place:?} in\n{text}");
            }
        }
    }
}
