//! Folds of tables: after any sequence of added, removed and changed inputs, the table equals that of the present inputs.

use super::api_sections::ApiSections;
use super::dependencies::DependencyTable;
use super::deps::chunk_signatures::ChunkSignatures;
use super::deps::declarations::Declarations;
use super::deps::member_index::MemberIndex;
use super::fixture::{World, blob, run};
use crate::table_union::TableUnion;
use engine::seams::fold::{Contribution, Fold, changed_rows};
use engine::seams::producer::{Input, Producer};
use engine::values::table::write_table;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

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

/// Converts the inputs of types to the inputs of a fold; the number is that of the types in a chunk.
type Group = fn(&[Input], usize) -> Vec<Input>;

/// Returns one input per type.
fn by_type(inputs: &[Input], _: usize) -> Vec<Input> {
    inputs.to_vec()
}

/// Returns the signatures of adjacent types as one input.
fn by_chunk(inputs: &[Input], width: usize) -> Vec<Input> {
    let chunks = inputs.chunks(width);
    let chunk = |types: &[Input]| {
        let made = run(&ChunkSignatures, "", "{}", vec![("members", types.to_vec())]).expect("signatures");
        blob(&types[types.len() - 1].item, made.bytes)
    };
    chunks.map(chunk).collect()
}

/// Returns tables of the dependencies of adjacent types.
fn tables(inputs: &[Input], width: usize) -> Vec<Input> {
    let table = |types: &[Input]| {
        let made = run(&DependencyTable, "", "{}", vec![("deps", types.to_vec())]).expect("a table");
        blob(&types[types.len() - 1].item, made.bytes)
    };
    inputs.chunks(width).map(table).collect()
}

/// A state: for each type its version, or none, and the number of types in a chunk.
type State = (Vec<u8>, usize);

/// Folds a sequence of states and compares the tables.
fn compare<P: Producer + Fold>(producer: &P, role: &str, group: Group, states: &[State]) -> Result<(), TestCaseError> {
    let versions = inputs(role);
    let mut items: Vec<String> = versions.iter().flatten().map(|input| input.item.to_string()).collect();
    items.sort();
    items.dedup();
    let mut rows: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    let mut there: Vec<Input> = Vec::new();
    for (state, width) in states {
        let chosen = items.iter().zip(state).filter_map(|(item, choice)| {
            let inputs = versions.get(usize::from(*choice))?;
            inputs.iter().find(|input| *input.item == **item).cloned()
        });
        let now = group(&chosen.collect::<Vec<_>>(), *width);
        let given = |inputs: &[Input], item: &str| {
            let input = inputs.iter().find(|input| *input.item == *item);
            input.map(|input| producer.rows_of_input(input).expect("rows")).unwrap_or_default()
        };
        let names: BTreeSet<&str> = there.iter().chain(&now).map(|input| &*input.item).collect();
        let changes: Vec<Contribution<'_>> = names
            .into_iter()
            .map(|item| Contribution {
                item,
                before: given(&there, item),
                now: given(&now, item),
            })
            .collect();
        let changed = changed_rows(producer, &changes, &mut |key| Some(rows.get(key).cloned())).expect("rows are at hand");
        for (key, row) in changed {
            match row {
                Some(row) => drop(rows.insert(key, row)),
                None => drop(rows.remove(&key)),
            }
        }
        let whole = run(producer, "", "{}", vec![(Fold::role(producer), now.clone())])
            .expect("a table")
            .bytes;
        prop_assert_eq!(write_table(&rows), whole);
        there = now;
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn folds_are_what_all_inputs_give(states in proptest::collection::vec((proptest::collection::vec(0u8..3, 12), 1usize..5), 1..5)) {
        compare(&Declarations, "signatures", by_chunk, &states)?;
        compare(&MemberIndex, "signatures", by_chunk, &states)?;
        compare(&DependencyTable, "deps", by_type, &states)?;
        compare(&TableUnion, "deps", tables, &states)?;
        compare(&ApiSections, "outline-info", by_type, &states)?;
    }
}
