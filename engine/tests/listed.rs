//! The log of builds: which builds add a line, its content, and which versions refer to it.

use crate::toys::bench::{Bench, How};
use engine::store::builds::{BuildRecord, Outcome, key_of_build};
use engine::store::{Commit, Part};

const MANIFEST: &str = r#"
[producer.names]
uses = "fragile"
[producer.text]
uses = "concat"

[[rule]]
target = "//index:names"
producer = "names"
inputs = { all = { each = "glob:docs/*", target = "//files/{item}:bytes" } }
[[rule]]
target = "//doc/{d}:text"
each = { d = "glob:docs/*" }
producer = "text"
inputs = { own = "//files/{d}:bytes" }
"#;

const ALL: &[&str] = &["//..."];

fn log(bench: &Bench) -> Vec<BuildRecord> {
    let engine = bench.engine();
    let rows = engine.store.rows(engine.view, Part::Builds).expect("a store");
    rows.iter().map(|row| BuildRecord::from_row(row).expect("a build")).collect()
}

fn built_by(bench: &Bench, label: &str) -> Vec<Option<u64>> {
    let engine = bench.engine();
    let history = engine.store.history(engine.view, label).expect("a store");
    history.iter().map(|version| version.build).collect()
}

#[test]
fn builds_with_results_are_logged_and_named_by_versions() {
    let bench = Bench::new(MANIFEST);
    bench.put("docs/a", "a");
    bench.put("docs/b", "b");
    bench.build(ALL);
    bench.build(ALL);
    bench.build_as(
        ALL,
        &How {
            dry_run: true,
            ..How::default()
        },
    );
    assert_eq!(log(&bench).len(), 1, "nothing moved in the others");
    bench.put("docs/a", "a2");
    bench.build_as(
        ALL,
        &How {
            dry_run: true,
            ..How::default()
        },
    );
    bench.build(&["//doc/docs/a:text"]);
    bench.put("docs/a", "a");
    bench.build(ALL);
    let found = log(&bench);
    let rows: Vec<(u64, &str, u64, u64)> = found
        .iter()
        .map(|build| (build.number, build.command.as_str(), build.counts.ran, build.counts.cached))
        .collect();
    assert_eq!(
        rows,
        [(1, "//...", 3, 0), (2, "//doc/docs/a:text", 1, 0), (3, "//...", 0, 1)],
        "{found:#?}"
    );
    assert_eq!(built_by(&bench, "//doc/docs/a:text"), [Some(1), Some(2), Some(3)]);
    assert_eq!(built_by(&bench, "//doc/docs/b:text"), [Some(1)]);
    let producers: Vec<(&str, u64)> = found[0].producers.iter().map(|of| (of.uses.as_str(), of.ran)).collect();
    assert_eq!(producers, [("concat", 2), ("fragile", 1)]);
}

#[test]
fn a_build_that_only_removes_targets_is_logged() {
    let bench = Bench::new(MANIFEST);
    bench.put("docs/a", "a");
    bench.put("docs/b", "b");
    bench.build(&["//doc/..."]);
    bench.world.delete("docs/b");
    bench.build(&["//doc/..."]);
    bench.build(&["//doc/..."]);
    let gone: Vec<(u64, u64, Vec<String>)> = log(&bench)
        .into_iter()
        .map(|build| (build.number, build.gone.count, build.gone.labels))
        .collect();
    assert_eq!(gone, [(1, 0, vec![]), (2, 1, vec!["//doc/docs/b:text".to_owned()])]);
}

#[test]
fn a_repeated_failure_is_logged_and_changes_nothing_else() {
    let bench = Bench::new(MANIFEST);
    bench.put("docs/a", "a");
    bench.build(&["//doc/..."]);
    bench.put("docs/a", "FAIL");
    bench.build(&["//doc/..."]);
    bench.build(&["//index:names"]);
    bench.build(&["//doc/..."]);
    let known = bench.known(&["//doc/..."]);
    assert!(known.is_some());
    bench.build(&["//index:names"]);
    let outcomes: Vec<Outcome> = log(&bench).iter().map(|build| build.outcome).collect();
    assert_eq!(outcomes, [Outcome::Ok, Outcome::Ok, Outcome::Failed, Outcome::Failed]);
    assert_eq!(bench.known(&["//doc/..."]), known, "what was known to be current still is");
}

#[test]
fn build_numbers_continue_after_a_lost_state() {
    let bench = Bench::new(MANIFEST);
    bench.put("docs/a", "a");
    bench.build(ALL);
    bench.put("docs/a", "a2");
    bench.build(ALL);
    let engine = bench.engine();
    let lost = Commit {
        rows: vec![(Part::State, b"state".to_vec(), None), (Part::Builds, key_of_build(1), None)],
        ..Commit::default()
    };
    engine.store.commit(engine.view, lost).expect("a store");
    bench.put("docs/a", "a3");
    bench.build(ALL);
    let numbers: Vec<u64> = log(&bench).iter().map(|build| build.number).collect();
    assert_eq!(numbers, [2, 3]);
}
