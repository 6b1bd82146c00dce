//! State of a build besides its results: failures, standing warnings, and unstored outputs that later steps need.

use crate::toys::bench::{Bench, read_manifest};
use crate::toys::producers::registry;
use engine::build::explain::Explanation;
use engine::build::query::NodeState;
use engine::build::ruled_nodes::RuledNodes;
use engine::build::session::Session;
use engine::seams::producer::{Failure, Inputs, Output, Producer, ProducerId};
use engine::values::diagnostic::Diagnostic;
use engine::values::digest::Digest;
use engine::values::event::Reason;
use engine::values::pattern::{Pattern, PatternSet};
use std::collections::BTreeMap;
use std::sync::Arc;

const ALL: &[&str] = &["//..."];

/// Passes its input on, with a warning for each line that says so.
struct Warns;

impl Producer for Warns {
    fn id(&self) -> ProducerId {
        ProducerId::new("warns", 1)
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        let bytes = inputs.roles["own"][0].bytes.to_vec();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let mut output = Output::new(bytes);
        let warnings = text.lines().filter(|line| line.starts_with("WARN"));
        output.diagnostics = warnings.map(|line| Diagnostic::warning("W_TOY", line)).collect();
        Ok(output)
    }
}

fn bench(manifest: &str) -> Bench {
    let mut registry = registry(&BTreeMap::new());
    registry.add(Warns);
    Bench::with(
        Arc::new(read_manifest(manifest, &registry)),
        Digest::of(manifest.as_bytes()),
        registry,
    )
}

fn explained(bench: &Bench, label: &str) -> Explanation {
    let patterns = PatternSet::from(Pattern::parse(label).expect("a label"));
    bench.session().explain(&patterns).expect("a store").expect("one target")
}

const SETS: &str = r#"
[producer.names]
uses = "fragile"
[producer.text]
uses = "concat"

[[rule]]
target = "//index:names"
producer = "names"
inputs = { all = { each = "glob:docs/*", target = "//files/{item}:bytes" } }
[[rule]]
target = "//name/{n}:row"
each = { n = "//index:names" }
producer = "text"
[[rule]]
target = "//doc/{d}:text"
each = { d = "glob:docs/*" }
producer = "text"
inputs = { own = "//files/{d}:bytes" }
"#;

#[test]
fn a_failed_set_stops_only_dependent_targets() {
    let bench = bench(SETS);
    bench.put("docs/a", "FAIL");
    bench.put("docs/b", "b");
    let built = bench.build(ALL);
    assert_eq!(built.ran(), ["//doc/docs/a:text", "//doc/docs/b:text"]);
    assert_eq!(built.report.refused, []);
    let codes: Vec<&str> = built.report.failures.iter().map(|why| why.code.as_str()).collect();
    assert_eq!(codes, ["E_PRODUCER", "E_SET"]);
    assert_eq!(bench.known(ALL), None);
    // The targets over the set appear with it.
    bench.put("docs/a", "a");
    let built = bench.build(ALL);
    assert_eq!((built.failures(), built.report.targets), (Vec::new(), 6), "{:?}", built.log);
}

#[test]
fn failures_are_reported_and_retried_by_every_build() {
    let bench = bench(SETS);
    bench.put("docs/a", "a");
    bench.build(&["//index:names"]);
    bench.put("docs/a", "FAIL");
    bench.build(&["//index:names"]);
    let explanation = explained(&bench, "//index:names");
    assert_eq!(
        (explanation.state, explanation.failure.map(|why| why.message)),
        (NodeState::Pending, Some("an input says FAIL".into()))
    );
    assert!(explanation.output.is_some(), "the last good output is still there");
    // Tried again, although nothing changed.
    assert_eq!(bench.build(&["//index:names"]).report.failures.len(), 1);
    // With other inputs, the failure is outdated, and the result for these is unknown.
    bench.put("docs/a", "FAIL again");
    let explanation = explained(&bench, "//index:names");
    assert_eq!((explanation.state, explanation.failure.is_some()), (NodeState::Stale, true));
    // Back to inputs with a result: current, whatever happened in between.
    bench.put("docs/a", "a");
    let explanation = explained(&bench, "//index:names");
    assert_eq!((explanation.state, explanation.failure), (NodeState::Current, None));
    bench.build(&["//index:names"]);
    assert_eq!(bench.session().remarks().expect("a store"), BTreeMap::new());
}

const WARNING: &str = r#"
[producer.warns]
uses = "warns"

[[rule]]
target = "//doc/{d}:text"
each = { d = "glob:docs/*" }
producer = "warns"
inputs = { own = "//files/{d}:bytes" }
"#;

#[test]
fn warnings_stay_until_their_target_changes() {
    let bench = bench(WARNING);
    bench.put("docs/a", "WARN one\nWARN two");
    bench.put("docs/b", "b");
    let built = bench.build(ALL);
    assert_eq!((built.report.diagnostics.len(), built.report.earlier_warnings), (2, 0));
    assert_eq!(bench.known_request(ALL).map(|known| known.warnings), Some(2));
    // Another file changes: the first file's warnings are counted, its own are reported.
    bench.put("docs/b", "WARN three");
    let built = bench.build(ALL);
    assert_eq!((built.report.diagnostics.len(), built.report.earlier_warnings), (1, 2));
    assert_eq!(bench.known_request(ALL).map(|known| known.warnings), Some(3));
    assert_eq!(bench.build(ALL).report.earlier_warnings, 3);
    // A fixed warning, and one whose file is deleted.
    bench.put("docs/a", "WARN one");
    assert_eq!(bench.build(ALL).report.earlier_warnings, 1);
    bench.world.delete("docs/b");
    assert_eq!(bench.build(ALL).report.earlier_warnings, 1);
    bench.put("docs/a", "fine");
    bench.build(ALL);
    assert_eq!(bench.known_request(ALL).map(|known| known.warnings), Some(0));
    // Found under its key, it is reported as if it had just run.
    bench.put("docs/a", "WARN one");
    let built = bench.build(ALL);
    assert_eq!(
        (built.ran().len(), built.report.diagnostics.len(), built.report.earlier_warnings),
        (0, 1, 0)
    );
}

const LARGE: &str = r#"
[producer.large]
uses = "concat"
keep = false
[producer.links]
uses = "links"

[[rule]]
target = "//large:text"
producer = "large"
inputs = { own = "//files/large.txt:bytes" }
[[rule]]
target = "//large:links"
producer = "links"
inputs = { own = "//large:text" }
"#;

#[test]
fn large_outputs_are_built_once_despite_keep_false() {
    let bench = bench(LARGE);
    bench.put("large.txt", &format!("@link\n{}", "x".repeat(41 << 20)));
    assert_eq!(bench.build(&["//large:links"]).ran(), ["//large:links", "//large:text"]);
}

/// The members of a set that became invalid are not carried over, even if a build of the set alone detected that.
#[test]
fn members_of_a_malformed_set_have_no_output() {
    let bench = bench(
        r#"
[producer.names]
uses = "links"
[producer.text]
uses = "concat"

[[rule]]
target = "//index:names"
producer = "names"
inputs = { own = "//files/names.txt:bytes" }
[[rule]]
target = "//name/{n}:row"
each = { n = "//index:names" }
producer = "text"
[[rule]]
target = "//the:row"
producer = "text"
inputs = { own = "//name/one:row" }
"#,
    );
    bench.put("names.txt", "@one\n");
    assert!(bench.build(ALL).report.failures.is_empty());
    bench.put("names.txt", "@[\n");
    bench.build(&["//index:names"]);
    let built = bench.build(&["//the:row"]);
    assert_eq!(
        built.outputs(),
        BTreeMap::from([("//the:row".to_owned(), None)]),
        "{:?}",
        built.report.failures
    );
    bench.put("names.txt", "@one\n");
    assert!(bench.build(ALL).report.failures.is_empty());
}

#[test]
fn invalidated_targets_run_once_and_cut_off_early() {
    let bench = bench(SETS);
    bench.put("docs/a", "a");
    bench.build(ALL);
    let mut session = bench.session();
    let patterns = PatternSet::from(Pattern::parse("//index:names").expect("a label"));
    let node = session.graph.find("//index:names").expect("a node");
    assert_eq!(session.invalidate(&patterns, &[node]).expect("a store"), ["//index:names"]);
    drop(session);
    let explanation = explained(&bench, "//index:names");
    assert_eq!(explanation.state, NodeState::Stale);
    assert_eq!(explanation.chain[0].reason, Some(Reason::Invalidated));
    // Another request leaves the mark.
    assert_eq!(bench.build(&["//doc/...:text"]).ran(), [""; 0]);
    assert_eq!(bench.build(ALL).ran(), ["//index:names"]);
    assert_eq!(bench.build(ALL).ran(), [""; 0]);
    assert!(bench.known(ALL).is_some());
}

#[test]
fn targets_of_rules_after_a_build_are_those_of_all_labels() {
    let bench = bench(SETS);
    bench.put("docs/a", "a");
    bench.put("docs/b", "b");
    bench.build(ALL);
    let listed = |nodes: &RuledNodes| {
        let values = nodes.value_of.iter().map(|value| nodes.values[*value as usize].clone());
        let rows = nodes.ids.iter().copied().zip(nodes.rules.iter().copied()).zip(values);
        rows.collect::<Vec<_>>()
    };
    let find = |session: &Session, former| RuledNodes::from_graph(&session.graph, &session.rules, former);
    let before = find(&bench.session(), None);
    assert_eq!(listed(&bench.session().ruled_nodes()), listed(&before));
    bench.world.delete("docs/a");
    bench.put("docs/longer", "c");
    bench.put("docs/other", "d");
    bench.build(ALL);
    let session = bench.session();
    let after = listed(&find(&session, Some(&before)));
    assert_eq!(after, listed(&find(&session, None)));
    assert_eq!(after, listed(&session.ruled_nodes()));
    assert_ne!(after, listed(&before));
}

#[test]
fn targets_over_a_set_that_must_be_built_first_are_maybe_stale() {
    let bench = bench(SETS);
    bench.put("docs/a", "a");
    bench.put("docs/b", "b");
    bench.build(ALL);
    bench.put("docs/a", "c");
    let mut session = bench.session();
    let ids = session.ruled_nodes().ids.clone();
    let (statuses, outlook) = session.statuses_and_outlook(&ids).expect("a store");
    let labels = ids.iter().map(|id| session.graph.node(*id).label.to_string());
    let states: BTreeMap<String, NodeState> = labels.zip(statuses.into_iter().map(|status| status.state)).collect();
    let rows: Vec<NodeState> = states
        .iter()
        .filter(|(label, _)| label.starts_with("//name/"))
        .map(|(_, state)| *state)
        .collect();
    assert!(
        !rows.is_empty() && rows.iter().all(|state| *state == NodeState::MaybeStale),
        "{states:?}"
    );
    assert_eq!(states["//index:names"], NodeState::Stale);
    assert_eq!(states["//doc/docs/b:text"], NodeState::Current);
    let will_run: Vec<&str> = outlook.will_run.iter().map(|label| &**label).collect();
    assert_eq!(will_run, ["//doc/docs/a:text", "//index:names"]);
}

const ROWS: &str = r#"
[producer.index]
uses = "table"
[producer.links]
uses = "links"
[producer.deps]
uses = "fragile"
[producer.text]
uses = "concat"

[[rule]]
target = "//index:names"
producer = "index"
inputs = { own = "//files/names:bytes" }
[[rule]]
target = "//name/{n}:row"
each = { n = "//index:names" }
producer = "text"
[[rule]]
target = "//doc/{d}:mentions"
each = { d = "glob:docs/*" }
producer = "links"
inputs = { own = "//files/{d}:bytes" }
[[rule]]
target = "//doc/{d}:deps"
each = { d = "glob:docs/*" }
producer = "deps"
inputs = { rows = { table = "//index:names", each = "//doc/{d}:mentions" } }
"#;

#[test]
fn inputs_found_for_a_failed_target_do_not_hide_changes_of_former_ones() {
    let bench = bench(ROWS);
    bench.put("names", "good=1\nbad=FAIL\n");
    bench.put("docs/a", "@good\n");
    assert_eq!(bench.build(ALL).failures(), []);
    // It looks up another row and fails, so its inputs stay those of the last output.
    bench.put("docs/a", "@bad\n");
    assert_eq!(bench.build(ALL).report.failures.len(), 1);
    bench.put("docs/a", "@good\n");
    assert_eq!(bench.build(ALL).ran(), [""; 0]);
    bench.put("names", "good=2\nbad=FAIL\n");
    let built = bench.build(ALL);
    assert!(built.ran().contains(&"//doc/docs/a:deps"), "{:?}", built.ran());
    assert!(built.text("//doc/docs/a:deps").contains("\"value\":\"2\""));
}
