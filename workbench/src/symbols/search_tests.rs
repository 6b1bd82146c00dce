//! Searches in a small workspace, and in random names against a naive search.

use super::camel_humps::Humps;
use super::describe::describe;
use super::index::{Symbols, simple_name};
use super::resolve::{Options, resolve};
use super::samples::Sample;
use super::search::{Matched, Page, Query, search};
use engine::values::case_folding::folded;
use engine::values::table::write_table;
use proptest::prelude::*;
use std::collections::BTreeMap;

fn found_names(page: &Page) -> Vec<String> {
    let hits = page.hits.iter();
    hits.map(|hit| format!("{:?} {}", hit.matched, hit.path)).collect()
}

#[test]
fn generated_types_are_suggested_last() {
    let mut sample = Sample::from_files(&[
        ("src/A.g.cs", "namespace Box; public class Colors1 { }"),
        ("src/B.cs", "namespace Box; class Colors2 { }"),
    ]);
    let names = sample.names();
    let found = resolve(&names, &mut sample, "Colors", &Options::default()).expect("a resolution");
    let paths: Vec<&str> = found.candidates.iter().map(|one| one.path.as_str()).collect();
    assert_eq!(paths, ["Box.Colors2", "Box.Colors1"]);
}

#[test]
fn generated_code_is_found_when_asked_for() {
    let sample = Sample::from_files(&[
        ("src/Texts.Designer.cs", "namespace Box; class Texts { public string Hello; }"),
        (
            "src/Readers.cs",
            "namespace Box; class TextsReader { string Hi() => new Texts().Hello; } partial class Half { }",
        ),
        ("src/Half.g.cs", "namespace Box; partial class Half { }"),
    ]);
    let symbols = sample.symbols();
    let page = search(&symbols, &Query::new("Texts")).expect("an answer");
    assert_eq!(
        (found_names(&page), page.filtered, page.generated),
        (vec!["Prefix Box.TextsReader".to_owned()], 1, 1)
    );
    let all = Query {
        generated: true,
        ..Query::new("Texts")
    };
    let page = search(&symbols, &all).expect("an answer");
    assert_eq!(
        (found_names(&page), page.generated),
        (vec!["Exact Box.Texts".to_owned(), "Prefix Box.TextsReader".to_owned()], 0)
    );
    let page = search(&symbols, &Query::new("Hello")).expect("an answer");
    assert_eq!((page.hits.len(), page.generated), (0, 1));
    let page = search(&symbols, &Query::new("Half")).expect("an answer");
    assert_eq!((found_names(&page), page.generated), (vec!["Exact Box.Half".to_owned()], 0));
    assert!(symbols.declared("Hello").next().is_some(), "it is bound like other code");
}

#[test]
fn humps_that_follow_one_another_come_first() {
    let text = "class RateLimitPolicySpecs { int RunOnBus; } class ResiliencePipelineSetOfOnes { int RunBusAgainAndAgain; } class RowPlainBase { }";
    let symbols = Sample::from_files(&[("a.cs", text)]).symbols();
    let found = |query: &str| found_names(&search(&symbols, &Query::new(query)).expect("an answer"));
    assert_eq!(found("RPS"), ["Humps ResiliencePipelineSetOfOnes", "Humps RateLimitPolicySpecs"]);
    assert_eq!(
        found("rb"),
        [
            "Humps RowPlainBase",
            "Humps ResiliencePipelineSetOfOnes#RunBusAgainAndAgain",
            "Humps RateLimitPolicySpecs#RunOnBus",
        ]
    );
}

#[test]
fn queries_find_matching_names() {
    let symbols = Sample::default().symbols();
    let found = |query: Query<'_>| found_names(&search(&symbols, &query).expect("an answer"));
    let of = |text| found(Query::new(text));
    assert_eq!(
        of("store"),
        [
            "Exact Box.Store", "Exact Box.Deep.Down.Store", "Humps Box.IStore", "Humps Box.BigStore",
        ]
    );
    assert_eq!(
        of("tor"),
        [
            "Substring Box.Store",
            "Substring Box.Deep.Down.Store",
            "Substring Box.IStore",
            "Substring Box.BigStore"
        ]
    );
    assert_eq!(of("BS"), ["Humps Box.BigStore"]);
    assert_eq!(of("big store"), ["Exact Box.BigStore"]);
    assert_eq!(of("deep. sto"), ["Prefix Box.Deep.Down.Store"]);
    assert_eq!(of("Deep.Store"), ["Exact Box.Deep.Down.Store"]);
    assert_eq!(of("Store.get"), ["Exact Box.IStore#Get", "Exact Box.Store#Get"]);
    assert_eq!(of("Entry.Val"), ["Prefix Box.Store+Entry`1#Value"]);
    assert_eq!(of("cache"), ["Exact Box.Cache`2", "Exact Box.Cache", "Exact Box.Store#Cache"]);
    assert_eq!(of("T?ice"), ["Wildcard Box.BigStore#Twice"]);
    assert_eq!(of("BigStroe"), ["Fuzzy Box.BigStore"]);
    assert_eq!(of("Twcie"), ["Fuzzy Box.BigStore#Twice"]);
    assert_eq!(of("Qqqqq"), Vec::<String>::new());
    let kind = |text, kind| {
        found(Query {
            kind: Some(kind),
            ..Query::new(text)
        })
    };
    assert_eq!(kind("", "interface"), ["Prefix Box.IBase", "Prefix Box.IStore"]);
    assert_eq!(kind("ki", "member"), Vec::<String>::new());
    assert_eq!(kind("get", "method"), ["Exact Box.IStore#Get", "Exact Box.Store#Get"]);
    assert_eq!(kind("coun", "value"), ["Prefix Box.IBase#Count", "Prefix Box.Store#Count"]);
    assert_eq!(kind("coun", "Property"), kind("coun", "value"));
    assert_eq!(
        (kind("coun", "field"), kind("val", "FIELD")),
        (vec![], vec!["Prefix Box.Store+Entry`1#Value".to_owned()])
    );
    assert_eq!(kind("ol", "enum member"), ["Prefix Box.Store+Entry`1+Kind#Old"]);
    assert_eq!(kind("BigS", "constructor"), ["Prefix Box.BigStore#.ctor"]);
    assert_eq!(kind("", "constructor"), ["Prefix Box.Store#.ctor", "Prefix Box.BigStore#.ctor"]);
    assert_eq!(kind("dow", "namespace"), ["Prefix Box.Deep.Down"]);
    assert_eq!(kind("deep.d", "Namespace"), ["Prefix Box.Deep.Down"]);
    assert_eq!(kind("", "namespace"), ["Prefix Box", "Prefix Box.Deep", "Prefix Box.Deep.Down"]);
    let within = |text, namespace| {
        found(Query {
            namespace: Some(namespace),
            ..Query::new(text)
        })
    };
    assert_eq!(
        within("", "box.deep"),
        ["Prefix Box.Deep.Down.Store", "Prefix Box.Deep.Down.Reader"]
    );
    assert_eq!(within("store", "Box.Dee"), Vec::<String>::new());
    // An unknown name and a name that the filters exclude give different answers.
    let page = search(
        &symbols,
        &Query {
            kind: Some("enum"),
            ..Query::new("store")
        },
    )
    .expect("an answer");
    assert_eq!((page.total, page.filtered), (0, 4));
    let page = search(&symbols, &Query::new("Qqqqq")).expect("an answer");
    assert_eq!((page.total, page.filtered), (0, 0));
}

#[test]
fn members_are_described_where_they_are_shown() {
    let mut sample = Sample::default();
    let symbols = sample.names();
    let page = search(&symbols, &Query::new("cache")).expect("an answer");
    let found = describe(&mut sample, page.hits).expect("members");
    let hits: Vec<_> = found
        .iter()
        .map(|hit| {
            (
                hit.path.as_str(),
                hit.kind.as_str(),
                hit.accessibility.as_str(),
                hit.files.join(" "),
            )
        })
        .collect();
    assert_eq!(hits[0], ("Box.Cache`2", "class", "public", "src/Stores.cs".to_owned()));
    assert_eq!(hits[2], ("Box.Store#Cache", "field", "private", "src/Store.cs".to_owned()));
    assert_eq!((found[0].member_id.as_ref(), found[2].member_id.is_some()), (None, true));
    // Each overload has its identifier; a page counts them as one.
    let page = search(&symbols, &Query::new("Box.Store.Get")).expect("an answer");
    assert_eq!(page.total, 1);
    let found = describe(&mut sample, page.hits).expect("members");
    let ids: std::collections::BTreeSet<&String> = found.iter().filter_map(|hit| hit.member_id.as_ref()).collect();
    let paths: Vec<&str> = found.iter().map(|hit| hit.path.as_str()).collect();
    assert_eq!((paths, ids.len()), (vec!["Box.Store#Get(int)", "Box.Store#Get(string?,int)"], 2));
    assert!(ids.iter().all(|id| id.starts_with(&format!("{}_", found[0].type_id))));
}

#[test]
fn pages_join_and_cursors_are_checked() {
    let symbols = Sample::default().symbols();
    let whole = search(
        &symbols,
        &Query {
            limit: 200,
            ..Query::new("e")
        },
    )
    .expect("an answer");
    assert!(whole.total > 6 && whole.next.is_none());
    let (mut paged, mut cursor) = (Vec::new(), None);
    loop {
        let query = Query {
            limit: 3,
            cursor: cursor.as_deref(),
            ..Query::new("e")
        };
        let page = search(&symbols, &query).expect("an answer");
        assert_eq!(page.total, whole.total);
        paged.extend(found_names(&page));
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(paged, found_names(&whole));
    let next = search(
        &symbols,
        &Query {
            limit: 3,
            ..Query::new("e")
        },
    )
    .expect("an answer")
    .next
    .expect("more");
    let refused = |symbols: &Symbols, text: &str, cursor: &str| {
        let query = Query {
            cursor: Some(cursor),
            ..Query::new(text)
        };
        search(symbols, &query).expect_err("refused").diagnostic.message
    };
    let other = Sample::from_files(&[("a.cs", "class Else { }")]).symbols();
    assert_eq!(
        refused(&other, "e", &next),
        "the names have changed since the search of this cursor"
    );
    assert_eq!(refused(&symbols, "el", &next), "this cursor belongs to another query");
    for cursor in ["", "x", "3", "zz.1.2", &"9".repeat(100_000)] {
        assert_eq!(refused(&symbols, "e", cursor), "this is not the cursor of a search");
    }
}

#[test]
fn queries_over_a_limit_or_without_meaning_are_refused() {
    let symbols = Sample::default().symbols();
    let refused = |query: Query<'_>| search(&symbols, &query).expect_err("refused").diagnostic.message;
    assert_eq!(refused(Query::new(&"x".repeat(100_000))), "a query has at most 1024 characters");
    assert_eq!(
        refused(Query::new(&"*a".repeat(33))),
        "a query has at most 32 wildcards, this one has 33"
    );
    assert_eq!(refused(Query::new("  ")), "there is nothing to look for");
    assert_eq!(
        refused(Query {
            kind: Some("clas"),
            ..Query::new("a")
        }),
        "no symbol is of this kind"
    );
}

/// Builds a table of types of these keys, and of members of these names, each in the first type.
fn tables(types: &[String], members: &[String]) -> Symbols {
    let rows: BTreeMap<&String, Vec<u8>> = types
        .iter()
        .map(|key| {
            (
                key,
                br#"{"accessibility":"public","arity":0,"assembly":"","files":[],"id":"T_x","kind":"class","namespace":""}"#.to_vec(),
            )
        })
        .collect();
    let owner = types.iter().min().cloned().unwrap_or_default();
    let names: BTreeMap<&String, Vec<u8>> = members
        .iter()
        .map(|name| (name, format!("{owner}\tm\t0\t?\t\n").into_bytes()))
        .collect();
    let nothing = write_table(&BTreeMap::<&str, &str>::new());
    Symbols::open(write_table(&rows).into(), write_table(&names).into(), nothing.into()).expect("tables")
}

/// Reference definition.
fn naive(query: &str, name: &str) -> Option<Matched> {
    let (query_low, low) = (folded(query), folded(name));
    if low == query_low {
        Some(Matched::Exact)
    } else if low.starts_with(&query_low) {
        Some(Matched::Prefix)
    } else if Humps::new(query).matches(name) {
        Some(Matched::Humps)
    } else {
        low.contains(&query_low).then_some(Matched::Substring)
    }
}

proptest! {
    #[test]
    fn every_match_is_found_once(
        types in proptest::collection::btree_set("([AB]\\.)?[AaBb]{1,5}", 1..12),
        members in proptest::collection::btree_set("[AaBb]{1,5}", 0..12),
        query in "[AaBb]{1,3}",
    ) {
        let (types, members): (Vec<String>, Vec<String>) = (types.into_iter().collect(), members.into_iter().collect());
        let symbols = tables(&types, &members);
        let page = search(&symbols, &Query { limit: 200, ..Query::new(&query) }).expect("an answer");
        let mut found: Vec<(String, Matched)> = page.hits.iter().map(|hit| (hit.path.clone(), hit.matched)).filter(|(_, matched)| *matched != Matched::Fuzzy).collect();
        prop_assert!(page.hits.is_sorted_by_key(|hit| hit.matched));
        found.sort();
        let owner = &types[0];
        let of_types = types.iter().filter_map(|key| Some((key.clone(), naive(&query, simple_name(key))?)));
        let of_members = members.iter().filter_map(|name| Some((format!("{owner}#{name}"), naive(&query, name)?)));
        let mut expected: Vec<(String, Matched)> = of_types.chain(of_members).collect();
        expected.sort();
        prop_assert_eq!(found, expected);
    }
}
