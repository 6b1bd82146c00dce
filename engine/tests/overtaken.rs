//! A build that waits for a model or a program releases the checkout: other processes build while it waits, nothing is asked twice, and no
//! result changes.

use crate::toys::bench::{Bench, read_manifest};
use crate::toys::producers::registry;
use crate::toys::shelf::Shelf;
use engine::build::checkout_turn::CheckoutTurn;
use engine::build::query::NodeState;
use engine::files::memory::MemoryWorld;
use engine::seams::paid::Spent;
use engine::seams::producer::{Failure, Inputs, Output, Params, Pool, Producer, ProducerId};
use engine::store::builds::BuildRecord;
use engine::store::{Part, Store, StoreError, ViewId};
use engine::values::diagnostic::Diagnostic;
use engine::values::digest::Digest;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

const MANIFEST: &str = r##"
[producer]
strip = { uses = "strip" }
model = { uses = "model" }
concat = { uses = "concat" }
[[rule]]
target = "//doc/{d}:clean"
each = { d = "glob:docs/*" }
producer = "strip"
inputs = { own = "//files/{d}:bytes" }
[[rule]]
target = "//doc/{d}:summary"
each = { d = "glob:docs/*" }
producer = "model"
inputs = { own = "//doc/{d}:clean" }
[[rule]]
target = "//doc/{d}:reader"
each = { d = "glob:docs/*" }
producer = "model"
inputs = { own = "//doc/{d}:summary" }
[[rule]]
target = "//all:summaries"
producer = "concat"
inputs = { all = { each = "glob:docs/*", target = "//doc/{item}:summary" } }
"##;
const FILES: [&str; 3] = ["docs/a", "docs/b", "docs/c"];
const LINES: [&str; 5] = ["one\n", "two\n", "# comment\none\n", "FAIL\n", "three\n"];
const PATTERNS: [&str; 4] = ["//...", "//doc/docs/a:summary", "//doc/...:clean", "//all:summaries"];

/// State of a model: whether it answers, and its prompts.
#[derive(Default)]
struct Desk {
    answers: Mutex<bool>,
    moved: Condvar,
    asked: Mutex<Vec<String>>,
}

impl Desk {
    fn answer(&self, does: bool) {
        *self.answers.lock().expect("no panic while it is held") = does;
        self.moved.notify_all();
    }
}

/// A model or a program that answers with its prompt once allowed; FAIL fails.
struct Model(Arc<Desk>, Pool);

impl Producer for Model {
    fn id(&self) -> ProducerId {
        ProducerId::new("model", 1)
    }

    fn pool(&self, _: &Params) -> Pool {
        self.1
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        let text = String::from_utf8_lossy(&inputs.single("own")?.bytes).into_owned();
        self.0.asked.lock().expect("no panic while it is held").push(text.clone());
        let answers = self.0.answers.lock().expect("no panic while it is held");
        drop(self.0.moved.wait_while(answers, |answers| !*answers));
        if text.contains("FAIL") {
            return Err(Failure::Permanent(Box::new(Diagnostic::error("E_TEST", "no answer"))));
        }
        Ok(Output {
            spent: (self.1 == Pool::Paid).then(|| Spent {
                calls: 1,
                ..Spent::default()
            }),
            ..Output::new(format!("answer to {text}"))
        })
    }
}

/// Action of another process once it has the checkout; `None` for no action.
type Others = Box<dyn FnOnce() + Send>;

#[derive(Default)]
struct Turns {
    desk: Arc<Desk>,
    others: Mutex<Option<Others>>,
    at_work: Mutex<Option<JoinHandle<()>>>,
    given: Mutex<usize>,
    end: End,
}

/// Way in which the build gets the checkout back.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum End {
    #[default]
    Taken,
    /// Another process had it, whether it wrote or not.
    TakenAfterOthers,
    /// Another process keeps it.
    Lost,
}

impl CheckoutTurn for Turns {
    fn patience(&self) -> Duration {
        Duration::ZERO
    }

    fn release_checkout(&self) {
        *self.given.lock().expect("no panic while it is held") += 1;
        let others = self.others.lock().expect("no panic while it is held").take();
        let desk = self.desk.clone();
        let work = move || {
            desk.answer(true);
            others.into_iter().for_each(|others| others());
        };
        *self.at_work.lock().expect("no panic while it is held") = Some(std::thread::spawn(work));
    }

    fn reacquire_checkout(&self, _: &dyn Fn() -> bool) -> Result<bool, StoreError> {
        let at_work = self.at_work.lock().expect("no panic while it is held").take();
        at_work.into_iter().for_each(|work| work.join().expect("others do not panic"));
        match self.end {
            End::Taken => Ok(true),
            End::TakenAfterOthers => Ok(false),
            End::Lost => Err(StoreError::ViewBusy {
                holder: "others".to_owned(),
            }),
        }
    }
}

fn bench(desk: &Arc<Desk>) -> Bench {
    bench_in(desk, Pool::Paid)
}

fn bench_in(desk: &Arc<Desk>, pool: Pool) -> Bench {
    let mut registry = registry(&BTreeMap::new());
    registry.add(Model(desk.clone(), pool));
    let manifest = Arc::new(read_manifest(MANIFEST, &registry));
    Bench::with(manifest, Digest::of(MANIFEST.as_bytes()), registry)
}

/// Returns another process over the same checkout and store.
fn other(bench: &Bench) -> Bench {
    Bench {
        world: bench.world.clone(),
        store: bench.store.clone(),
        ..Bench::with(bench.manifest.clone(), bench.digest, bench.registry.clone())
    }
}

/// Builds while another process acts; returns the model's prompts.
fn build_beside(
    bench: &mut Bench,
    desk: &Arc<Desk>,
    (patterns, end): (&[&str], End),
    others: Option<Others>,
) -> (crate::toys::bench::Built, usize) {
    let turns = Arc::new(Turns {
        desk: desk.clone(),
        others: Mutex::new(others),
        end,
        ..Turns::default()
    });
    desk.answer(false);
    bench.turn = Some(turns.clone());
    let built = bench.build(patterns);
    bench.turn = None;
    desk.answer(true);
    let given = *turns.given.lock().expect("no panic while it is held");
    (built, given)
}

fn texts_asked(desk: &Desk) -> Vec<String> {
    let mut asked = desk.asked.lock().expect("no panic while it is held").clone();
    asked.sort();
    asked
}

#[test]
fn an_undisturbed_build_continues_after_releasing_the_checkout() {
    let desk = Arc::new(Desk::default());
    let mut bench = bench(&desk);
    bench.put("docs/a", "one\n");
    let (built, given) = build_beside(&mut bench, &desk, (&["//..."], End::Taken), None);
    assert_eq!((given, built.report.tally.ran), (1, 4));
    assert_eq!(bench.known(&["//..."]), Some(4));
}

#[test]
fn other_processes_build_during_a_model_call() {
    let desk = Arc::new(Desk::default());
    let mut bench = bench(&desk);
    bench.put("docs/a", "one\n");
    bench.put("docs/b", "two\n");
    let theirs = other(&bench);
    let others = Box::new(move || {
        theirs.put("docs/b", "three\n");
        assert_eq!(theirs.build(&["//doc/...:clean"]).report.failures, Vec::new());
    });
    let (built, given) = build_beside(&mut bench, &desk, (&["//doc/docs/a:reader"], End::Taken), Some(others));
    assert_eq!((given, &built.report.failures), (1, &Vec::new()));
    assert_eq!(built.report.tally.spent.calls, 2);
    // The other process's results stay, and so do the requested ones.
    assert_eq!(bench.known(&["//doc/docs/a:reader"]), Some(1));
    let rows = bench.store.rows(ViewId(1), Part::Builds).expect("a store");
    let log: Vec<u64> = rows.iter().filter_map(BuildRecord::from_row).map(|build| build.number).collect();
    assert_eq!(log, [1, 2]);
    assert_eq!(bench.build(&["//doc/...:clean"]).ran(), Vec::<&str>::new());
    assert_eq!(texts_asked(&desk), ["answer to one\n", "one\n"]);
}

#[test]
fn other_processes_build_while_a_program_runs() {
    let desk = Arc::new(Desk::default());
    let mut bench = bench_in(&desk, Pool::Slow);
    bench.put("docs/a", "one\n");
    bench.put("docs/b", "two\n");
    let theirs = other(&bench);
    let others = Box::new(move || {
        theirs.put("docs/a", "three\n");
        assert_eq!(theirs.build(&["//doc/...:clean"]).report.failures, Vec::new());
    });
    let (built, given) = build_beside(&mut bench, &desk, (&["//doc/docs/a:reader"], End::Taken), Some(others));
    assert_eq!((given, &built.report.failures), (1, &Vec::new()));
    // The result for the old text is stored under its key; for the new text nothing ran while the checkout was held.
    assert_eq!(texts_asked(&desk), ["answer to one\n", "one\n"]);
    let status = bench.session().status_of("//doc/docs/a:reader").expect("a store");
    assert_eq!(status.state, NodeState::None, "the graph of now has never had it");
    bench.put("docs/a", "one\n");
    assert_eq!(bench.build(&["//doc/docs/a:reader"]).report.failures, Vec::new());
    assert_eq!(texts_asked(&desk), ["answer to one\n", "one\n"]);
}

fn invalidate(bench: &Bench, label: &str) {
    let mut session = bench.session();
    let id = session.graph.find(label).expect("a node");
    let patterns = bench.request(&[label], &crate::toys::bench::How::default()).patterns;
    assert_eq!(session.invalidate(&patterns, &[id]).expect("a store"), [label]);
}

#[test]
fn targets_invalidated_during_a_wait_stay_invalidated() {
    for pool in [Pool::Paid, Pool::Slow] {
        let desk = Arc::new(Desk::default());
        let mut bench = bench_in(&desk, pool);
        bench.put("docs/a", "one\n");
        bench.put("docs/b", "two\n");
        desk.answer(true);
        assert_eq!(bench.build(&["//doc/...:summary"]).report.failures, Vec::new());
        bench.put("docs/b", "three\n");
        let theirs = other(&bench);
        let others = Box::new(move || invalidate(&theirs, "//doc/docs/a:summary"));
        build_beside(&mut bench, &desk, (&["//doc/...:summary"], End::Taken), Some(others));
        let status = bench.session().status_of("//doc/docs/a:summary").expect("a store");
        assert_eq!(status.state, NodeState::Stale);
        assert_eq!(texts_asked(&desk), ["one\n", "three\n", "two\n"]);
        assert_eq!(bench.known(&["//doc/...:summary"]), None);
        assert_eq!(bench.build(&["//doc/...:summary"]).ran(), ["//doc/docs/a:summary"]);
        assert_eq!(bench.build(&["//doc/...:summary"]).ran(), Vec::<&str>::new());
    }
}

#[test]
fn one_of_two_builds_rebuilds_an_invalidated_target() {
    for pool in [Pool::Paid, Pool::Slow] {
        let desk = Arc::new(Desk::default());
        let bench = bench_in(&desk, pool);
        bench.put("docs/a", "one\n");
        desk.answer(true);
        bench.build(&["//doc/docs/a:summary"]);
        invalidate(&bench, "//doc/docs/a:summary");
        bench.world.set_now(3_000_000_000);
        let theirs = other(&bench);
        // The other process knows the mark, too, and finishes first.
        let mut session = theirs.session();
        let request = theirs.request(&["//doc/docs/a:summary"], &crate::toys::bench::How::default());
        assert_eq!(bench.build(&["//doc/docs/a:summary"]).ran(), ["//doc/docs/a:summary"]);
        let report = session.build(&request, &engine::values::event::Silent, &Default::default());
        assert_eq!(report.expect("a store").tally.ran, 0);
        assert_eq!(texts_asked(&desk), ["one\n", "one\n"]);
    }
}

#[test]
fn history_names_the_build_of_overtaken_results() {
    let desk = Arc::new(Desk::default());
    let mut bench = bench(&desk);
    bench.put("docs/a", "one\n");
    let theirs = other(&bench);
    let others = Box::new(move || {
        theirs.world.set_now(3_000_000_000_000_000_000);
        theirs.put("docs/b", "two\n");
        drop(theirs.build(&["//doc/docs/b:clean"]));
    });
    build_beside(&mut bench, &desk, (&["//doc/docs/a:summary"], End::Taken), Some(others));
    let versions = bench.store.history(ViewId(1), "//doc/docs/a:summary").expect("a store");
    let record = bench.store.action(&versions[0].key).expect("a store").expect("a record");
    assert_eq!((versions.len(), versions[0].build, versions[0].at), (1, Some(2), record.made_at));
}

#[test]
fn requested_files_are_laid_out_after_an_overtaken_build() {
    let desk = Arc::new(Desk::default());
    let mut bench = bench(&desk);
    bench.put("docs/a", "one\n");
    build_beside(&mut bench, &desk, (&["//doc/docs/a:summary"], End::TakenAfterOthers), None);
    assert_eq!(bench.known(&["//doc/docs/a:summary"]), Some(1));
}

#[test]
fn answers_survive_a_lost_checkout() {
    let desk = Arc::new(Desk::default());
    let mut bench = bench(&desk);
    bench.put("docs/a", "one\n");
    let (built, _) = build_beside(&mut bench, &desk, (&["//doc/docs/a:summary"], End::Lost), None);
    assert_eq!(built.report.failures, Vec::new());
    assert_eq!(bench.known(&["//doc/docs/a:summary"]), None);
    assert_eq!(bench.build(&["//doc/docs/a:summary"]).report.failures, Vec::new());
    assert_eq!(texts_asked(&desk), ["one\n"]);
}

#[test]
fn failures_survive_an_overtaken_build() {
    let desk = Arc::new(Desk::default());
    let mut bench = bench(&desk);
    bench.put("docs/a", "FAIL\n");
    bench.put("docs/b", "two\n");
    let theirs = other(&bench);
    let others = Box::new(move || drop(theirs.build(&["//doc/docs/b:clean"])));
    let (built, _) = build_beside(&mut bench, &desk, (&["//doc/docs/a:summary"], End::Taken), Some(others));
    assert_eq!(built.report.failures.len(), 1, "{:?}", built.report.failures);
    let status = bench.session().status_of("//doc/docs/a:summary").expect("a store");
    assert_eq!(status.state, NodeState::Pending);
    assert_eq!(
        status.last_error.map(|failed| (failed.why.message, failed.times)),
        Some(("no answer".to_owned(), 1))
    );
    assert_eq!(texts_asked(&desk), ["FAIL\n"]);
}

/// A producer that removes a source of the workspace.
struct Remover(MemoryWorld);

impl Producer for Remover {
    fn id(&self) -> ProducerId {
        ProducerId::new("remover", 1)
    }

    fn produce(&self, _: &Inputs<'_>) -> Result<Output, Failure> {
        self.0.delete("docs/b");
        Ok(Output::new("removed"))
    }
}

#[test]
fn a_source_that_is_removed_during_a_build_is_reported_as_removed() {
    const REMOVED: &str = r#"
[producer]
remover = { uses = "remover" }
concat = { uses = "concat" }
[[rule]]
target = "//doc/{d}:removed"
each = { d = "glob:docs/a" }
producer = "remover"
inputs = { own = "//files/{d}:bytes" }
[[rule]]
target = "//doc/{d}:late"
each = { d = "glob:docs/b" }
producer = "concat"
inputs = { first = "//doc/docs/a:removed", own = "//files/{d}:bytes" }
"#;
    let world = MemoryWorld::new();
    let mut registry = registry(&BTreeMap::new());
    registry.add(Remover(world.clone()));
    let manifest = Arc::new(read_manifest(REMOVED, &registry));
    let bench = Bench {
        world,
        ..Bench::with(manifest, Digest::of(REMOVED.as_bytes()), registry)
    };
    bench.put("docs/a", "one\n");
    bench.put("docs/b", "two\n");
    let failures = bench.build(&["//doc/...:late"]).report.failures;
    let [failure] = failures.as_slice() else { panic!("{failures:?}") };
    assert_eq!(failure.code, "E_CHANGED");
    assert!(failure.message.contains("docs/b was removed during the build"), "{failure:?}");
    assert!(
        failure.hint.as_deref().is_some_and(|hint| hint.contains("build again")),
        "{failure:?}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn overtaken_builds_equal_clean_builds(
        rounds in proptest::collection::vec(
            (proptest::collection::vec((0..FILES.len(), 0..LINES.len()), 0..3), 0..PATTERNS.len(),
             proptest::collection::vec((0..FILES.len(), proptest::option::of(0..LINES.len())), 0..3), proptest::option::of(0..PATTERNS.len()), prop_oneof![Just(End::Taken), Just(End::TakenAfterOthers), Just(End::Lost)]),
            1..4),
        pool in prop_oneof![Just(Pool::Paid), Just(Pool::Slow)],
    ) {
        let desk = Arc::new(Desk::default());
        let mut bench = bench_in(&desk, pool);
        FILES.iter().for_each(|file| bench.put(file, LINES[0]));
        for (own, patterns, edits, theirs, end) in rounds {
            own.iter().for_each(|(file, line)| bench.put(FILES[*file], LINES[*line]));
            let beside = other(&bench);
            let others = Box::new(move || {
                for (file, line) in edits {
                    match line {
                        Some(line) => beside.put(FILES[file], LINES[line]),
                        None => drop(beside.world.delete(FILES[file])),
                    }
                }
                if let Some(theirs) = theirs {
                    beside.build(&[PATTERNS[theirs]]);
                }
            });
            build_beside(&mut bench, &desk, (&[PATTERNS[patterns]], end), Some(others));
        }
        let built = bench.build(&["//..."]);
        let clean = other(&bench);
        let clean = Bench { store: Arc::new(Shelf::new()), ..clean };
        let expected = clean.build(&["//..."]);
        prop_assert_eq!(built.outputs(), expected.outputs());
        // Nothing is left to do, and the output files are those of the present state.
        let again = bench.build(&["//..."]);
        prop_assert_eq!(again.ran(), Vec::<&str>::new());
    }
}
