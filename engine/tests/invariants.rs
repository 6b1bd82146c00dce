//! The design's invariants and promises, one named test each, on small handwritten graphs, with the log of runs.

use crate::toys::bench::{Bench, Entry, How};
use crate::toys::producers::registry;
use crate::toys::shelf::Shelf;
use engine::build::graph_memory::GraphMemory;
use engine::build::session::Session;
use engine::files::disk::Disk;
use engine::store::disk::{DiskOptions, DiskStore};
use engine::store::{Part, Store, ViewId};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// A small C#-like graph: text without comments, its shape (lines with `=`), and its readers.
const GRAPH: &str = r#"
[producer.clean]
uses = "strip"
[producer.index]
uses = "table"
[producer.links]
uses = "links"
[producer.row]
uses = "concat"
[producer.body]
uses = "upper"
[producer.all]
uses = "concat"
params.prefix = "all"

[[rule]]
target = "//doc/{d}:clean"
each = { d = "glob:docs/*.txt" }
producer = "clean"
inputs = { own = "//files/{d}:bytes" }
[[rule]]
target = "//doc/{d}:body"
each = { d = "glob:docs/*.txt" }
producer = "body"
inputs = { own = "//doc/{d}:clean" }
out = "{d}.body"
[[rule]]
target = "//doc/{d}:mentions"
each = { d = "glob:docs/*.txt" }
producer = "links"
inputs = { own = "//doc/{d}:clean" }
[[rule]]
target = "//index:names"
producer = "index"
inputs = { all = { each = "glob:docs/*.txt", target = "//doc/{item}:clean" } }
[[rule]]
target = "//doc/{d}:deps"
each = { d = "glob:docs/*.txt" }
producer = "row"
inputs = { rows = { table = "//index:names", each = "//doc/{d}:mentions" } }
[[rule]]
target = "//name/{n}:row"
each = { n = "//index:names" }
producer = "row"
inputs = { row = { table = "//index:names", each = ["{n}"] } }
out = "names/{n}"
[[rule]]
target = "//all:rows"
producer = "all"
inputs = { rows = { each = "//index:names", target = "//name/{item}:row" } }
"#;

fn bench() -> Bench {
    let bench = Bench::new(GRAPH);
    bench.put("docs/a.txt", "# about a\nalpha=1\n@beta\nbody of a\n");
    bench.put("docs/b.txt", "beta=2\nbody of b\n");
    bench.put("docs/c.txt", "gamma=3\n@alpha\n");
    bench
}

const ALL: &[&str] = &["//..."];

/// Builds the same files without a store.
fn from_nothing(bench: &Bench) -> Bench {
    let mut other = Bench::with(bench.manifest.clone(), bench.digest, bench.registry.clone());
    other.world = engine::files::memory::MemoryWorld::new();
    for (path, bytes) in bench.world.sources_now() {
        other.world.write_source(&path, bytes);
    }
    other
}

fn same_as_from_nothing(bench: &Bench) {
    let other = from_nothing(bench);
    assert_eq!(bench.build(ALL).outputs(), other.build(ALL).outputs());
    assert_eq!(bench.world.outputs(), other.world.outputs());
}

#[test]
fn invariant_1_a_result_is_current_exactly_when_it_is_filed_under_the_present_key() {
    let mut bench = bench();
    assert!(bench.build(ALL).report.failures.is_empty());
    // A → B → A: the result under the key of A is stored, so nothing runs on the way back.
    let a = bench.world.sources_now()["docs/a.txt"].clone();
    bench.put("docs/a.txt", "alpha=other\n");
    assert!(!bench.build(ALL).ran().is_empty());
    bench.world.write_source("docs/a.txt", a);
    assert_eq!(bench.build(ALL).ran(), Vec::<&str>::new());
    // The key includes producer, version and parameters, but neither whether outputs are kept, nor where they are written.
    bench.registry = registry(&BTreeMap::from([("upper", 2)]));
    assert_eq!(
        bench.build(ALL).ran(),
        ["//doc/docs/a.txt:body", "//doc/docs/b.txt:body", "//doc/docs/c.txt:body"]
    );
    bench.registry = registry(&BTreeMap::new());
    assert_eq!(bench.build(ALL).ran(), Vec::<&str>::new());
    bench.redefine(&GRAPH.replace("params.prefix = \"all\"", "params.prefix = \"every\""));
    assert_eq!(bench.build(ALL).ran(), ["//all:rows"]);
    bench.redefine(&GRAPH.replace("out = \"{d}.body\"", "out = \"bodies/{d}\""));
    assert_eq!(bench.build(ALL).ran(), Vec::<&str>::new());
    same_as_from_nothing(&bench);
}

#[test]
fn invariant_2_after_any_edits_outputs_are_those_of_a_build_from_nothing() {
    let bench = bench();
    bench.build(ALL);
    bench.put("docs/d.txt", "delta=4\n@gamma\n");
    bench.world.delete("docs/b.txt");
    bench.put("docs/c.txt", "gamma=5\n@delta\n");
    same_as_from_nothing(&bench);
    bench.put("docs/e.txt", "beta=7\n");
    bench.world.delete("docs/d.txt");
    bench.build(&["//index:names"]);
    bench.build(&["//doc/...:deps"]);
    same_as_from_nothing(&bench);
}

#[test]
fn invariant_3_a_comment_stops_at_the_text_without_comments() {
    let bench = bench();
    bench.build(ALL);
    bench.put("docs/a.txt", "# another comment\nalpha=1\n@beta\nbody of a\n");
    assert_eq!(bench.build(ALL).ran(), ["//doc/docs/a.txt:clean"]);
}

#[test]
fn invariant_3_a_body_edit_runs_its_own_chain_only() {
    let bench = bench();
    bench.build(ALL);
    bench.put("docs/a.txt", "# about a\nalpha=1\n@beta\nanother body\n");
    assert_eq!(
        bench.build(ALL).ran(),
        [
            "//doc/docs/a.txt:body", "//doc/docs/a.txt:clean", "//doc/docs/a.txt:mentions", "//index:names"
        ]
    );
}

#[test]
fn invariant_3_a_new_name_runs_nothing_that_does_not_mention_it() {
    let bench = bench();
    bench.put("docs/c.txt", "gamma=3\n@delta\n");
    bench.build(ALL);
    bench.put("docs/d.txt", "delta=4\n");
    let ran = [
        "//all:rows", "//doc/docs/c.txt:deps", "//doc/docs/d.txt:body", "//doc/docs/d.txt:clean", "//doc/docs/d.txt:mentions",
        "//index:names",
    ];
    let built = bench.build(ALL);
    // The row of the new name has the same key as the input that `c` reads, so one of the two is found.
    let twins = ["//doc/docs/c.txt:deps", "//name/delta:row"];
    let others: Vec<&str> = built
        .ran()
        .into_iter()
        .filter(|label| !twins.contains(label) && *label != "//doc/docs/d.txt:deps")
        .collect();
    assert_eq!(others, ran.into_iter().filter(|label| !twins.contains(label)).collect::<Vec<_>>());
}

#[test]
fn invariant_4_a_deleted_store_costs_time_and_nothing_else() {
    let mut bench = bench();
    let before = bench.build(ALL);
    let laid_out = bench.world.outputs();
    bench.store = Arc::new(Shelf::new());
    let after = bench.build(ALL);
    assert_eq!((before.outputs(), before.ran()), (after.outputs(), after.ran()));
    assert_eq!((after.report.written, bench.world.outputs()), (0, laid_out));
}

#[test]
fn invariant_4_lost_blobs_are_made_again_and_only_they() {
    let bench = bench();
    let before = bench.build(ALL);
    for root in &before.report.roots {
        if root.label.ends_with(":clean") || root.label.starts_with("//index") {
            bench.store.lose(root.output.expect("an output"));
        }
    }
    bench.put("docs/c.txt", "gamma=3\n@beta\n");
    let built = bench.build_as(&["//doc/docs/c.txt:deps"], &How::default());
    assert_eq!(
        built.text("//doc/docs/c.txt:deps"),
        from_nothing(&bench).build(&["//doc/docs/c.txt:deps"]).text("//doc/docs/c.txt:deps")
    );
    assert!(!built.ran().iter().any(|label| label.ends_with(":body")), "{:?}", built.ran());
    same_as_from_nothing(&bench);
}

/// Readers detect a lost blob one by one: the first may already have checked its producer again, in vain, before the others ask.
#[test]
fn a_dry_run_predicts_all_readers_of_a_lost_blob() {
    let bench = Bench::new(
        r#"
[producer.links]
uses = "links"
[producer.row]
uses = "concat"

[[rule]]
target = "//list:links"
producer = "links"
inputs = { own = "//files/list.txt:bytes" }
[[rule]]
target = "//doc/{d}:row"
each = { d = "glob:docs/*.txt" }
producer = "row"
inputs = { own = "//files/{d}:bytes", more = { each = "//list:links", target = "//files/docs/{item}.txt:bytes" } }
"#,
    );
    bench.put("list.txt", "@first\n");
    bench.put("docs/first.txt", "one\n");
    let built = bench.build(&["//list:links"]);
    bench.store.lose(built.report.roots[0].output.expect("an output"));
    for number in 0..20 {
        bench.put(&format!("docs/{number}.txt"), "text\n");
    }
    let dry = How {
        dry_run: true,
        keep_going: true,
        outputs: false,
        ..How::default()
    };
    // Which of them ask late depends on timing.
    for _ in 0..1_000 {
        let foretold = bench.build_as(ALL, &dry);
        assert_eq!(foretold.failures(), []);
        assert_eq!((foretold.report.tally.would_run, foretold.report.tally.may_run), (0, 21));
    }
    assert!(bench.build(ALL).report.failures.is_empty());
}

#[test]
fn losing_the_graph_adds_no_versions() {
    let mut bench = bench();
    let built = bench.build(ALL);
    bench.put("docs/a.txt", "alpha=9\n");
    bench.build(ALL);
    let versions = || -> Vec<_> {
        let history = |label: &str| bench.store.history(ViewId(1), label).expect("a store");
        built.report.roots.iter().map(|root| history(&root.label)).collect()
    };
    let before = versions();
    assert!(before.iter().any(|history| history.len() == 2));
    drop(bench.session());
    for (key, _) in bench.store.rows(ViewId(1), Part::Links).expect("a store") {
        bench.store.lose_row(Part::Links, &key);
    }
    // This process has cached the graph and needs no link rows; another process does.
    assert!(!bench.session().graph.is_empty());
    bench.graphs = GraphMemory::default();
    assert!(bench.session().graph.is_empty());
    // A part first: a later build finds the rest.
    bench.build(&["//doc/docs/a.txt:*"]);
    bench.build(ALL);
    assert_eq!(versions(), before);
    // A change is a new version; so is a restored output after a deletion.
    let count = |label: &str| bench.store.history(ViewId(1), label).expect("a store").len();
    let of_the_file = |label: &&str| label.starts_with("//doc/docs/a.txt:") && count(label) == 2;
    let label = built
        .report
        .roots
        .iter()
        .map(|root| &*root.label)
        .find(of_the_file)
        .expect("one that moved");
    bench.put("docs/a.txt", "alpha=10\n");
    bench.build(ALL);
    assert_eq!(count(label), 3);
    bench.world.delete("docs/a.txt");
    bench.build(ALL);
    bench.put("docs/a.txt", "alpha=10\n");
    bench.build(ALL);
    assert_eq!(count(label), 4);
}

#[test]
fn an_unchanged_set_is_not_read_for_its_members() {
    let bench = Bench::new(&format!(
        "{GRAPH}\n[[rule]]\ntarget = \"//name/{{n}}:also\"\neach = {{ n = \"//index:names\" }}\nproducer = \"row\"\ninputs = {{ other = \"//files/other:bytes\" }}\n"
    ));
    bench.put("docs/a.txt", "alpha=1\n");
    bench.put("other", "one");
    let how = How {
        outputs: false,
        ..How::default()
    };
    let before = bench.build_as(&["//name/..."], &how);
    assert_eq!(before.report.roots.len(), 2);
    let names = bench.build(&["//index:names"]).report.roots[0].output;
    bench.store.lose(names.expect("an output"));
    bench.put("other", "two");
    assert_eq!(bench.build_as(&["//name/..."], &how).ran(), ["//name/alpha:also"]);
    // An item that has left the set since is detected, whatever else changed.
    bench.put("docs/a.txt", "beta=1\n");
    bench.put("other", "three");
    assert_eq!(
        bench.build_as(&["//name/..."], &how).ran(),
        ["//doc/docs/a.txt:clean", "//index:names", "//name/beta:also", "//name/beta:row"]
    );
}

#[test]
fn invariant_4_damaged_rows_of_the_view_are_found_anew() {
    // More than one page of nodes, each row damaged in turn.
    let build = |lost: Option<(Part, usize)>| {
        let bench = bench();
        (0..200).for_each(|n| bench.put(&format!("docs/n{n}.txt"), &format!("k{n}=v\n")));
        bench.build(ALL);
        if let Some((part, at)) = lost {
            let rows = bench.store.rows(ViewId(1), part).expect("a store");
            let Some((key, _)) = rows.get(at) else { return false };
            bench.store.lose_row(part, key);
        }
        bench.put("docs/a.txt", "alpha=9\n");
        // The last names are on the last page, which the next build does not write.
        (90..100).for_each(|n| bench.put(&format!("docs/n{n}.txt"), &format!("k{n}=w\n")));
        bench.put("docs/n7.txt", "k7=w\n@alpha\n");
        bench.world.delete("docs/n9.txt");
        bench.build(&["//doc/...:deps"]);
        bench.put("docs/n8.txt", "k8=w\n@k7\n");
        let (one, other) = (bench.build(ALL).outputs(), from_nothing(&bench).build(ALL).outputs());
        let differ: Vec<&String> = one
            .iter()
            .filter(|(label, output)| other.get(*label) != Some(output))
            .map(|(label, _)| label)
            .collect();
        assert!(differ.is_empty() && one.len() == other.len(), "{lost:?}: {differ:?}");
        true
    };
    build(None);
    for part in [Part::State, Part::Directories, Part::Exports, Part::Requests, Part::Nodes] {
        (0..8).take_while(|at| build(Some((part, *at)))).for_each(drop);
    }
}

#[test]
fn invariant_5_a_producer_sees_what_is_in_its_key_and_nothing_else() {
    let text = r#"
        [producer.blind]
        uses = "concat"
        [producer.seeing]
        uses = "named"
        [producer.digests]
        uses = "digests"
        [[rule]]
        target = "//blind/{d}:x"
        each = { d = "glob:*.txt" }
        producer = "blind"
        inputs = { own = "//files/{d}:bytes" }
        [[rule]]
        target = "//seeing/{d}:x"
        each = { d = "glob:*.txt" }
        producer = "seeing"
        inputs = { own = "//files/{d}:bytes" }
        [[rule]]
        target = "//digests:x"
        producer = "digests"
        inputs = { own = { node = "//blind/a.txt:x", digest = true } }
        "#;
    let bench = Bench::new(text);
    bench.put("a.txt", "same");
    let first = bench.build(ALL);
    assert!(!first.text("//blind/a.txt:x").contains("a.txt") && first.text("//seeing/a.txt:x").contains("//seeing/a.txt:x"));
    // A file with another name and the same content costs nothing if the producer does not see the name.
    bench.put("b.txt", "same");
    assert_eq!(bench.build(ALL).ran(), ["//seeing/b.txt:x"]);
}

#[test]
fn promise_5_looking_never_executes_and_a_dry_run_changes_nothing() {
    let bench = bench();
    bench.build(&["//doc/...:clean"]);
    bench.put("docs/a.txt", "alpha=7\n");
    let (commits, outputs) = (bench.store.commits(), bench.world.outputs());
    let dry = bench.build_as(
        &["//doc/...:body"],
        &How {
            dry_run: true,
            outputs: false,
            ..How::default()
        },
    );
    assert!(dry.ran().is_empty() && !dry.log.iter().any(|entry| matches!(entry, Entry::Started(_))));
    assert_eq!((dry.report.tally.would_run, dry.report.tally.may_run), (3, 1));
    drop::<Session>(bench.session());
    assert_eq!(bench.known(&["//doc/...:clean"]), None);
    assert_eq!((bench.store.commits(), bench.world.outputs()), (commits, outputs));
}

#[test]
fn promise_8_the_last_output_stays_when_the_next_one_fails() {
    let bench = Bench::new(
        "[producer.p]\nuses = \"fragile\"\n[[rule]]\ntarget = \"//x:y\"\nproducer = \"p\"\ninputs = { own = \"//files/f.txt:bytes\" }\nout = \"y\"\n",
    );
    bench.put("f.txt", "good");
    bench.build(ALL);
    let laid_out = bench.world.outputs();
    bench.put("f.txt", "FAIL");
    assert_eq!(bench.build(ALL).failures().len(), 1);
    assert_eq!(
        (
            bench.world.outputs(),
            bench.store.history(ViewId(1), "//x:y").expect("a store").len()
        ),
        (laid_out, 1)
    );
    let session = bench.session();
    let id = session.graph.find("//x:y").expect("a node");
    assert!(session.graph.is_stale(id) && session.graph.node(id).result.is_some());
}

#[test]
fn a_rule_laid_out_elsewhere_moves_its_files() {
    let mut bench = bench();
    bench.build(ALL);
    bench.redefine(
        &GRAPH
            .replace("out = \"{d}.body\"", "out = \"bodies/{d}\"")
            .replace("out = \"names/{n}\"\n", ""),
    );
    bench.build(ALL);
    let outputs = bench.world.outputs();
    assert_eq!(
        outputs.keys().collect::<Vec<_>>(),
        ["bodies/docs/a.txt", "bodies/docs/b.txt", "bodies/docs/c.txt"]
    );
}

#[test]
fn files_may_swap_paths_in_one_build() {
    let text = r#"
        [producer.index]
        uses = "table"
        [producer.row]
        uses = "concat"
        [[rule]]
        target = "//index:names"
        producer = "index"
        inputs = { own = "//files/f.txt:bytes" }
        [[rule]]
        target = "//name/{n}:row"
        each = { n = "//index:names" }
        producer = "row"
        out = { path = "{place}", place = { each = "//index:names", row = "{n}", field = "value" } }
        inputs = { row = { table = "//index:names", each = ["{n}"] } }
        "#;
    let bench = Bench::new(text);
    for file in ["a=one\nb=two\n", "a=two\nb=one\n", "c=one\nd=two\n", "d=one\n"] {
        bench.put("f.txt", file);
        let built = bench.build(ALL);
        assert_eq!(built.report.failures, []);
        let expected: BTreeMap<String, Vec<u8>> = file
            .lines()
            .filter_map(|line| line.split_once('='))
            .map(|(name, place)| (place.to_owned(), built.text(&format!("//name/{name}:row")).into_bytes()))
            .collect();
        assert_eq!(bench.world.outputs(), expected);
    }
    bench.put("f.txt", "d=one\ne=one\n");
    assert_eq!(bench.build(ALL).failures().len(), 1, "two targets in one place are an error");
}

type Outputs = BTreeMap<String, Option<Vec<u8>>>;

/// Builds a workspace in its own folder; returns keys and outputs by label.
fn built_in(folder: &Path, age: u64) -> (BTreeMap<String, String>, Outputs) {
    let sample = bench();
    for (path, bytes) in sample.world.sources_now() {
        let path = folder.join("work").join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(&path, bytes).expect("a file");
        let time = SystemTime::now() - Duration::from_secs(age);
        fs::File::options()
            .write(true)
            .open(&path)
            .and_then(|file| file.set_modified(time))
            .expect("a stamp");
    }
    let mut bench = Bench::new(GRAPH);
    let (disk, _) = DiskStore::open(&folder.join("store"), DiskOptions::default()).expect("a store");
    bench.store = Arc::new(Shelf::over(Box::new(disk)));
    bench.other_world = Some(Arc::new(Disk::new(folder.join("work"))));
    let built = bench.build(ALL);
    assert_eq!(built.report.failures, []);
    assert_eq!(bench.known(ALL), Some(built.report.roots.len() as u64));
    let session = bench.session();
    let filed = session
        .graph
        .iter()
        .map(|(_, node)| (node.label.to_string(), format!("{:?}", node.result)));
    (filed.collect(), built.outputs())
}

#[test]
fn promise_3_keys_and_blobs_are_the_same_in_any_folder_under_any_clock() {
    let (one, other) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let deep = other.path().join("some/deeper place");
    fs::create_dir_all(&deep).expect("a folder");
    let (one, other) = (built_in(one.path(), 5), built_in(&deep, 400_000));
    assert!(one.0.len() > 20 && one == other);
    assert_eq!(one.1, bench().build(ALL).outputs());
}

#[test]
fn the_number_of_workers_changes_nothing() {
    let build = |jobs: usize| {
        let mut bench = bench();
        bench.jobs = jobs;
        (0..60).for_each(|n| bench.put(&format!("docs/n{n}.txt"), &format!("k{n}=v\n@k{}\n", (n + 1) % 60)));
        let outputs = bench.build(ALL).outputs();
        bench.put("docs/n3.txt", "k3=w\n@alpha\n");
        bench.world.delete("docs/n4.txt");
        bench.build(ALL);
        let history: BTreeMap<String, Vec<_>> = outputs
            .keys()
            .map(|label| (label.clone(), bench.store.history(ViewId(1), label).expect("a store")))
            .collect();
        (bench.store.keys(), outputs, history, bench.world.outputs())
    };
    let one = build(1);
    assert!(one == build(2) && one == build(8));
    assert!(one.2.values().any(|versions| versions.len() == 2));
}

#[test]
fn an_unreadable_graph_leaves_no_pages() {
    let bench = bench();
    (0..200).for_each(|n| bench.put(&format!("docs/n{n}.txt"), &format!("k{n}=v\n")));
    bench.build(ALL);
    let rows = bench.store.rows(ViewId(1), Part::Nodes).expect("a store");
    assert!(rows.len() > 3);
    bench.store.lose_row(Part::Nodes, &rows[0].0);
    bench.put("docs/a.txt", "alpha=9\n");
    bench.build(&["//doc/docs/a.txt:clean"]);
    assert_eq!(bench.store.rows(ViewId(1), Part::Nodes).expect("a store").len(), 1);
}

#[test]
fn a_changed_row_marks_only_its_readers() {
    let bench = bench();
    bench.build(ALL);
    let rows_and_deps = |built: &crate::toys::bench::Built| -> Vec<String> {
        let marked = built.marked().into_iter();
        let of_table = marked.filter(|label| label.ends_with(":row") || label.ends_with(":deps") || *label == "//all:rows");
        of_table.map(str::to_owned).collect()
    };
    bench.put("docs/b.txt", "beta=3\nbody of b\n");
    let built = bench.build(ALL);
    assert_eq!(rows_and_deps(&built), ["//all:rows", "//doc/docs/a.txt:deps", "//name/beta:row"]);
    // An added row affects the target over all rows, and the target that missed it.
    bench.put("docs/c.txt", "gamma=3\n@alpha\n@delta\n");
    bench.build(ALL);
    bench.put("docs/b.txt", "beta=3\ndelta=4\nbody of b\n");
    let built = bench.build(ALL);
    assert_eq!(rows_and_deps(&built), ["//all:rows", "//doc/docs/c.txt:deps"]);
    assert!(built.ran().contains(&"//name/delta:row"));
    // An added file affects no other target except the one over all files.
    bench.put("docs/d.txt", "body of d\n");
    let built = bench.build(ALL);
    assert_eq!(built.marked(), ["//globs/docs|%2A.txt:files", "//index:names"]);
    // Removing a row removes its node; unrelated nodes are not checked.
    bench.put("docs/b.txt", "delta=4\nbody of b\n");
    let built = bench.build(ALL);
    assert_eq!(rows_and_deps(&built), ["//all:rows", "//doc/docs/a.txt:deps", "//name/beta:row"]);
    assert!(!built.outputs().contains_key("//name/beta:row"));
    same_as_from_nothing(&bench);
    assert_eq!(bench.build(&["//name/beta:row"]).report.refused.len(), 1);
}
