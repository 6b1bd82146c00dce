//! Folds of tables: after any sequence of added, removed and changed inputs, the table equals that of the present inputs.

use super::api_sections::ApiSections;
use super::dependencies::DependencyTable;
use super::deps::declarations::Declarations;
use super::deps::member_index::MemberIndex;
use super::fixture::{World, run};
use engine::seams::fold::Fold;
use engine::seams::producer::{Input, Producer};
use engine::values::table::write_table;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Types that share names of members, constructors and extension methods, original and edited.
const TEXTS: [&str; 2] = [
    "namespace N { public class A { public int Id; public A() {} public A(int id) {} public B Next() => null; } public class A<T> { public T Id; }
     public class B : A { public string Id; public void A() {} } public delegate int D(A a); public record R(int Id) : S; public record S { public int Id { get; } }
     public static class E { public static A Next(this A a) => a; public static B Next(this B b) => b; } public static class F { public static int Next(this int n) => n; } }",
    "namespace N { public class A { public long Id; public A(int id) {} public A Next() => null; public int Count; } public class A<T> { }
     public class B { public void A(int n) {} public E.I Id; } public delegate A D(); public record R(int Id); public record S;
     public static class E { public static A Next(this A a, int n) => a; public class I {} } public static class F { } }",
];

fn inputs(role: &str) -> Vec<Vec<Input>> {
    let worlds = TEXTS.map(|text| World::of_texts(&[("a.cs", text)]));
    worlds.iter().map(|world| world.each(role)).collect()
}

/// Folds a sequence of states (one version per item or none) and compares the tables.
fn compare<P: Producer + Fold>(producer: &P, role: &str, states: &[Vec<u8>]) -> Result<(), TestCaseError> {
    let versions = inputs(role);
    let mut items: Vec<String> = versions.iter().flatten().map(|input| input.item.to_string()).collect();
    items.sort();
    items.dedup();
    let mut rows: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    let mut there: BTreeMap<String, Input> = BTreeMap::new();
    for state in states {
        for (item, choice) in items.iter().zip(state) {
            let chosen = versions
                .get(usize::from(*choice))
                .and_then(|inputs| inputs.iter().find(|input| *input.item == **item));
            let given = |input: Option<&Input>| input.map(|input| producer.rows_of_input(input).expect("rows")).unwrap_or_default();
            let (before, now) = (given(there.get(item)), given(chosen));
            for key in before.keys().chain(now.keys().filter(|key| !before.contains_key(*key))) {
                let row = producer.replace_part(key, rows.get(key).map(Vec::as_slice), item, now.get(key).map(Vec::as_slice));
                match row {
                    Some(row) => drop(rows.insert(key.clone(), row)),
                    None => drop(rows.remove(key)),
                }
            }
            match chosen {
                Some(input) => drop(there.insert(item.clone(), input.clone())),
                None => drop(there.remove(item)),
            }
        }
        let all = vec![(Fold::role(producer), there.values().cloned().collect())];
        let whole = run(producer, "", "{}", all).expect("a table").bytes;
        prop_assert_eq!(write_table(&rows), whole);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn folds_are_what_all_inputs_give(states in proptest::collection::vec(proptest::collection::vec(0u8..3, 12), 1..5)) {
        compare(&Declarations, "signatures", &states)?;
        compare(&MemberIndex, "signatures", &states)?;
        compare(&DependencyTable, "deps", &states)?;
        compare(&ApiSections, "outline-info", &states)?;
    }
}
