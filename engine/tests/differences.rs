//! Cost of a build when sets gain and lose items: it reads what depends on these items, and its result equals that of a clean build.

use crate::toys::bench::{Bench, How, Log};
use engine::build::graph_memory::GraphMemory;
use engine::build::request::Request;
use engine::graph::NodeId;
use engine::seams::producer::Cancel;
use engine::store::Store;
use engine::values::pieces::{self, PieceError};
use std::collections::BTreeMap;

const MANIFEST: &str = r#"
[producer.copy]
uses = "concat"

[[rule]]
target = "//doc/{d}:text"
each = { d = "glob:docs/*" }
producer = "copy"
out = "texts/{d}"
inputs = { own = "//files/{d}:bytes" }
[[rule]]
target = "//doc/{d}:again"
each = { d = "glob:docs/*" }
producer = "copy"
inputs = { own = "//doc/{d}:text" }
[[rule]]
target = "//fixed:one"
producer = "copy"
inputs = { own = "//files/docs/0001:bytes" }
"#;

const ALL: &[&str] = &["//..."];
const DOCS: usize = 2_000;

fn doc(number: usize) -> String {
    format!("docs/{number:04}")
}

fn filled() -> Bench {
    let bench = Bench::new(MANIFEST);
    (0..DOCS).for_each(|number| bench.put(&doc(number), &format!("text {number}")));
    bench
}

/// Builds all without a list; returns the number of blobs, records and rows read.
fn reads_of_a_build(bench: &Bench) -> usize {
    let request = Request {
        list: false,
        ..bench.request(
            ALL,
            &How {
                outputs: false,
                ..How::default()
            },
        )
    };
    let mut session = bench.session();
    let before = bench.store.reads();
    let report = session.build(&request, &Log::new(None), &Cancel::default()).expect("a store");
    assert_eq!((report.failures, report.refused), (vec![], vec![]));
    bench.store.reads() - before
}

/// Returns the labels of the stored request, in order.
fn roots(bench: &Bench) -> Vec<String> {
    let known = bench.known_request(ALL).expect("it is current");
    let session = bench.session();
    let label = |id: &u32| session.graph.node(NodeId(*id)).label.to_string();
    known.roots.iter().map(label).collect()
}

/// Returns all labels of the graph.
fn labels(bench: &Bench) -> Vec<String> {
    let session = bench.session();
    let mut labels: Vec<String> = session.graph.iter().map(|(_, node)| node.label.to_string()).collect();
    labels.sort_unstable();
    labels
}

fn outputs(bench: &Bench) -> BTreeMap<String, Vec<u8>> {
    bench
        .world
        .outputs()
        .into_iter()
        .map(|(path, bytes)| (path, bytes.to_vec()))
        .collect()
}

#[test]
fn only_added_and_removed_items_are_read() {
    let bench = filled();
    reads_of_a_build(&bench);
    reads_of_a_build(&bench);
    let pages = labels(&bench).len() / 64;
    let steps: [(&str, &[usize], &[usize]); 4] = [
        ("one comes", &[DOCS], &[]),
        ("one goes", &[], &[7]),
        ("some come and go", &[DOCS + 1, DOCS + 2, 7], &[1_999, 0]),
        ("one is back", &[0], &[DOCS]),
    ];
    for (step, come, go) in steps {
        come.iter().for_each(|&number| bench.put(&doc(number), &format!("text {number}")));
        for &number in go {
            bench.world.delete(&doc(number));
        }
        let reads = reads_of_a_build(&bench);
        assert!(reads < pages, "{step}: {reads} reads, of a graph of {pages} pages");
        let clean = Bench::new(MANIFEST);
        for (path, bytes) in bench.world.sources_now() {
            clean.world.write_source(&path, bytes);
        }
        clean.build(ALL);
        assert_eq!(roots(&bench), roots(&clean), "{step}");
        assert_eq!(labels(&bench), labels(&clean), "{step}");
        assert_eq!(outputs(&bench), outputs(&clean), "{step}");
    }
}

#[test]
fn a_pattern_that_no_longer_matches_is_refused() {
    let bench = Bench::new(MANIFEST);
    bench.put(&doc(0), "only");
    let pattern: &[&str] = &["//doc/...:text"];
    assert_eq!(bench.build(pattern).report.targets, 1);
    bench.world.delete(&doc(0));
    let codes = bench.build(pattern).report.refused.into_iter().map(|why| why.code);
    assert_eq!(codes.collect::<Vec<_>>(), ["E_NO_TARGET"]);
    bench.put(&doc(1), "another");
    assert_eq!(bench.build(pattern).report.targets, 1);
}

/// Files whose names are in rows of a table.
const NAMED: &str = r#"
[sources.all]
include = ["**"]
[producer.copy]
uses = "concat"
[producer.table]
uses = "table"

[[rule]]
target = "//index:names"
producer = "table"
inputs = { lines = "//files/names:bytes" }
[[rule]]
target = "//doc/{d}:text"
each = { d = "//index:names" }
producer = "copy"
out = { path = "texts/{name}", name = { each = "//index:names", row = "{d}", field = "list" } }
inputs = { own = "//files/docs/{d}:bytes" }
"#;

/// Returns a built workspace of files with names of this length.
fn named(len: usize) -> Bench {
    let bench = Bench::new(NAMED);
    let names: String = (0..600).map(|number| format!("{number:04}={number:0len$}\n")).collect();
    bench.put("names", &names);
    (0..600).for_each(|number| bench.put(&doc(number), "before"));
    bench.build(ALL);
    bench
}

#[test]
fn a_path_by_row_is_found_without_the_whole_table() {
    let reads = [10, 200].map(|len| {
        let mut bench = named(len);
        // Another process holds no pages.
        bench.graphs = GraphMemory::default();
        bench.put(&doc(7), "after");
        let reads = reads_of_a_build(&bench);
        assert!(outputs(&bench)[&format!("texts/{:0len$}", 7)].ends_with(b"after\n"));
        reads
    });
    assert!(reads[1] <= reads[0] + 4, "{reads:?} reads with a small and with a large table");
}

#[test]
fn a_path_by_row_is_found_after_pages_were_lost() {
    let bench = named(200);
    let session = bench.session();
    let table = session.graph.find("//index:names").and_then(|id| session.graph.node(id).result);
    let root = bench
        .store
        .blob(&table.expect("it is built").output)
        .expect("a store")
        .expect("a root");
    let mut pages = Vec::new();
    let fetch = |digest: &_| Ok::<_, PieceError>(bench.store.blob(digest).expect("a store"));
    pieces::each_piece(&root, fetch, |page| pages.push(page)).expect("all pages");
    assert!(pages.len() > 4);
    pages.into_iter().for_each(|page| bench.store.lose(page));
    bench.put(&doc(7), "after");
    let log = bench.build(ALL);
    assert_eq!(log.report.failures, []);
    let len = 200;
    assert!(outputs(&bench)[&format!("texts/{:0len$}", 7)].ends_with(b"after\n"));
}

/// Documents in a table, each with a table of its parts.
const PARTS: &str = r#"
[sources.all]
include = ["**"]
[producer.copy]
uses = "concat"
[producer.table]
uses = "table"

[[rule]]
target = "//index:docs"
producer = "table"
inputs = { lines = "//files/names:bytes" }
[[rule]]
target = "//doc/{d}:parts"
each = { d = "//index:docs" }
producer = "table"
inputs = { lines = "//files/docs/{d}:bytes" }
[[rule]]
target = "//doc/{d}#{p}:text"
each = { d = "//index:docs", p = "//doc/{d}:parts" }
producer = "copy"
inputs = { row = { table = "//doc/{d}:parts", each = ["{p}"] } }
"#;

#[test]
fn the_inner_set_of_a_removed_item_is_not_requested() {
    let bench = Bench::new(PARTS);
    let pattern: &[&str] = &["//doc/...#*:text"];
    bench.put("names", "kept=1\nold=1\n");
    bench.put("docs/kept", "x=1\n");
    bench.put("docs/old", "y=1\n");
    assert_eq!(bench.build(pattern).report.targets, 2);
    assert_eq!(bench.known(pattern), Some(2));
    bench.world.delete("docs/old");
    bench.put("names", "kept=1\nnew=1\n");
    bench.put("docs/new", "y=1\n");
    let built = bench.build(pattern);
    assert_eq!((built.failures(), built.report.targets), (vec![], 2), "{:?}", built.log);
    // An inner set may also change alone.
    bench.put("docs/new", "y=1\nz=1\n");
    let built = bench.build(pattern);
    assert_eq!((built.failures(), built.report.targets), (vec![], 3), "{:?}", built.log);
}
