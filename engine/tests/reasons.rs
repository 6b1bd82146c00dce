//! The reasons that `explain` gives are true: undoing the named changes, one file after the other, makes the target current again. Tested with random
//! edits, and builds of other targets in between.

use crate::toys::bench::Bench;
use engine::build::explain::Explanation;
use engine::build::query::NodeState;
use engine::values::digest::Digest;
use engine::values::event::Reason;
use engine::values::pattern::{Pattern, PatternSet};
use proptest::prelude::*;
use std::collections::BTreeMap;

const RULES: &str = r#"
[producer.strip]
uses = "strip"
[producer.upper]
uses = "upper"
[producer.links]
uses = "links"
[producer.concat]
uses = "concat"
[producer.table]
uses = "table"

[[rule]]
target = "//doc/{d}:clean"
each = { d = "glob:docs/*" }
producer = "strip"
inputs = { own = "//files/{d}:bytes" }
[[rule]]
target = "//doc/{d}:upper"
each = { d = "glob:docs/*" }
producer = "upper"
inputs = { own = "//doc/{d}:clean" }
[[rule]]
target = "//doc/{d}:links"
each = { d = "glob:docs/*" }
producer = "links"
inputs = { own = "//doc/{d}:clean" }
[[rule]]
target = "//doc/{d}:join"
each = { d = "glob:docs/*" }
producer = "concat"
inputs = { own = "//doc/{d}:upper", more = { each = "//doc/{d}:links", target = "//doc/{item}:upper" } }
[[rule]]
target = "//doc/{d}:whole"
each = { d = "glob:docs/*" }
producer = "concat"
inputs = { own = "//doc/{d}:join" }
[[rule]]
target = "//index:table"
producer = "table"
inputs = { all = { each = "glob:docs/*", target = "//doc/{item}:clean" } }
[[rule]]
target = "//doc/{d}:row"
each = { d = "glob:docs/*" }
producer = "concat"
inputs = { own = "//doc/{d}:clean", rows = { table = "//index:table", each = ["alpha"] } }
[[rule]]
target = "//doc/{d}:last"
each = { d = "glob:docs/*" }
producer = "concat"
inputs = { own = "//doc/{d}:row" }
"#;

const FILES: [&str; 4] = ["docs/a", "docs/b", "docs/c", "docs/d"];
const LINES: [&str; 8] = ["x", "y", "# one", "# two", "alpha=1", "alpha=2", "@docs/a", "@docs/b"];
const TARGETS: [&str; 8] = ["clean", "upper", "links", "join", "whole", "row", "last", "table"];
const BUILDS: [&str; 10] = [
    "//...", "//doc/...:last", "//doc/...:clean", "//doc/...:upper", "//doc/...:join", "//doc/...:row", "//index:table",
    "//doc/docs/a:whole", "//doc/docs/b:last", "//doc/docs/c:links",
];

/// A step between the first build and the question.
#[derive(Clone, Debug)]
enum Step {
    Write(usize, Vec<usize>),
    Build(usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (0..FILES.len(), lines()).prop_map(|(file, lines)| Step::Write(file, lines)),
        (0..BUILDS.len()).prop_map(Step::Build),
    ]
}

fn lines() -> impl Strategy<Value = Vec<usize>> {
    proptest::collection::vec(0..LINES.len(), 0..4)
}

fn text(lines: &[usize]) -> String {
    lines.iter().map(|&line| format!("{}\n", LINES[line])).collect()
}

fn explain(bench: &Bench, label: &str) -> Explanation {
    let patterns = PatternSet::from(Pattern::parse(label).expect("a label"));
    bench.session().explain(&patterns).expect("a store").expect("one target")
}

/// Returns the last reason of a chain.
fn reason(explanation: &Explanation) -> Option<&Reason> {
    explanation.chain.last()?.reason.as_ref()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn undoing_each_reason_makes_a_target_current(
        first in proptest::collection::vec(lines(), FILES.len()),
        steps in proptest::collection::vec(step(), 1..8),
        target in 0..TARGETS.len(),
        file in 0..FILES.len(),
    ) {
        let bench = Bench::new(RULES);
        let mut contents: BTreeMap<Digest, String> = BTreeMap::new();
        let mut put = |file: &str, text: String| {
            bench.put(file, &text);
            contents.insert(Digest::of(text.as_bytes()), text);
        };
        for (file, lines) in FILES.iter().zip(&first) {
            put(file, text(lines));
        }
        bench.build(&["//..."]);
        for step in &steps {
            match step {
                Step::Write(file, lines) => put(FILES[*file], text(lines)),
                Step::Build(patterns) => drop(bench.build(&[BUILDS[*patterns]])),
            }
        }
        let label = match TARGETS[target] {
            "table" => "//index:table".to_owned(),
            target => format!("//doc/{}:{target}", FILES[file]),
        };
        // Each file is undone at most once.
        for _ in 0..FILES.len() {
            let explanation = explain(&bench, &label);
            if explanation.state == NodeState::Current {
                break;
            }
            let Some(Reason::FileChanged { path, from, to }) = reason(&explanation) else {
                panic!("no file is named: {:#?}", explanation.chain);
            };
            let now = bench.world.sources_now()[path].clone();
            prop_assert_eq!(Digest::of(&now), *to, "{:#?}", explanation.chain);
            bench.put(path, &contents[from]);
        }
        let explanation = explain(&bench, &label);
        prop_assert_eq!(explanation.state, NodeState::Current, "{:#?}", explanation.chain);
    }
}

/// A node settled by a build of another target in between is not a change of the definition.
#[test]
fn inputs_of_other_builds_are_explained_down_to_a_file() {
    let bench = Bench::new(RULES);
    for file in FILES {
        bench.put(file, "x\n");
    }
    bench.build(&["//..."]);
    bench.put("docs/a", "y\n");
    bench.build(&["//doc/...:clean"]);
    let explanation = explain(&bench, "//doc/docs/a:whole");
    let labels: Vec<&str> = explanation.chain.iter().map(|step| &*step.label).collect();
    assert_eq!(
        labels,
        [
            "//doc/docs/a:whole", "//doc/docs/a:join", "//doc/docs/a:upper", "//doc/docs/a:clean", "//files/docs/a:bytes"
        ]
    );
    assert!(explanation.chain.iter().all(|step| step.redefined.is_empty()));
    assert!(matches!(reason(&explanation), Some(Reason::FileChanged { path, .. }) if path == "docs/a"));
}

/// A reader of a row has the row's digest, not the table's. Changes of the table that were built before are no longer reasons.
#[test]
fn a_later_build_is_no_reason_for_a_reader_of_a_row() {
    let bench = Bench::new(RULES);
    for file in FILES {
        bench.put(file, "x\n");
    }
    bench.put("docs/a", "alpha=1\n");
    bench.build(&["//..."]);
    bench.put("docs/b", "beta=1\n");
    bench.build(&["//..."]);
    bench.put("docs/c", "gamma=1\n");
    let explanation = explain(&bench, "//doc/docs/a:row");
    assert_eq!(explanation.state, NodeState::MaybeStale);
    let reason = reason(&explanation);
    assert!(
        matches!(reason, Some(Reason::FileChanged { path, .. }) if path == "docs/c"),
        "{reason:?}"
    );
}
