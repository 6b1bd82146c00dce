//! Paid results: priced before they are requested, durable at once, recorded in the ledger, never requested twice, corrected by people.

use crate::toys::bench::{Bench, How, read_manifest};
use crate::toys::producers::registry;
use crate::toys::shelf::Shelf;
use engine::build::BuildMode;
use engine::build::remarks::Wait;
use engine::build::session::Session;
use engine::seams::paid::{Notes, Plan, Rejected, Spent};
use engine::seams::producer::{Bound, Cancel, Failure, Inputs, Output, ParamError, Params, Pool, Producer, ProducerId, Registry};
use engine::store::ledger::{LedgerEntry, Outcome};
use engine::store::{Part, Store, ViewId};
use engine::values::diagnostic::Diagnostic;
use engine::values::digest::Digest;
use engine::values::event::Silent;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// A request to an oracle: label, whether fresh, the previous output with its notes and inputs.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Asked {
    label: String,
    fresh: bool,
    previous: Option<(String, Notes, Vec<String>)>,
}

/// Answers with its prompt, for ten tokens in and one out; obeys the words REJECT, LIMIT, DEFER and DOWN in its inputs.
#[derive(Clone, Default)]
struct Oracle {
    asked: Arc<Mutex<Vec<Asked>>>,
    answers: Arc<AtomicUsize>,
}

const COST: u64 = 7;

fn spent() -> Spent {
    Spent {
        model: "oracle".to_owned(),
        calls: 1,
        input_tokens: 10,
        output_tokens: 1,
        micros: Some(COST),
        ..Spent::default()
    }
}

impl Producer for Oracle {
    fn id(&self) -> ProducerId {
        ProducerId::new("oracle", 1)
    }

    fn check(&self, _: &Params) -> Result<(), Vec<ParamError>> {
        Ok(())
    }

    fn pool(&self, _: &Params) -> Pool {
        Pool::Paid
    }

    fn bind(&self, params: &Params, _: &BTreeMap<String, Params>) -> Bound {
        let (settings, params) = params.clone().into_iter().partition(|(name, _)| name == "address");
        Bound { params, settings }
    }

    fn plan(&self, inputs: &Inputs<'_>) -> Result<Plan, Failure> {
        Ok(Plan {
            mode: if inputs.previous.is_some() { "patch" } else { "full" }.to_owned(),
            prompt: format!("{} of {} unknown", inputs.label, inputs.unknown),
            cost: spent(),
            ..Plan::default()
        })
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let mut asked = self.asked.lock().expect("no panic while it is held");
        let previous = inputs.previous.as_ref().map(|previous| {
            let inputs = previous.inputs.iter().map(|input| text(input.bytes.as_deref().unwrap_or_default()));
            (text(&previous.output), previous.notes.clone(), inputs.collect())
        });
        asked.push(Asked {
            label: inputs.label.to_owned(),
            fresh: inputs.fresh,
            previous,
        });
        let read: String = inputs.roles.values().flatten().map(|input| text(&input.bytes)).collect();
        let why = |code: &str| Diagnostic::error(code, "no answer");
        if read.contains("REJECT") {
            return Err(Failure::Rejected(Box::new(Rejected {
                why: why("E_ANSWER"),
                raw: b"gibberish".to_vec(),
                spent: Some(spent()),
            })));
        }
        if read.contains("LIMIT") {
            return Err(Failure::Limit(Box::new(why("E_LIMIT"))));
        }
        if read.contains("DEFER") {
            return Err(Failure::Deferred);
        }
        if read.contains("DOWN") {
            return Err(Failure::Transient(Box::new(why("E_DOWN"))));
        }
        Ok(Output {
            bytes: format!("answer {} to {read}", self.answers.fetch_add(1, Ordering::Relaxed) + 1).into_bytes(),
            spent: Some(spent()),
            notes: Notes::from([("mode".to_owned(), "full".to_owned())]),
            ..Output::default()
        })
    }
}

/// `//n:free` strips comments of f.txt, `//n:asked` asks about the result, `//n:read` reads the answer, `//n:more` asks about the answer.
const MANIFEST: &str = r##"
[producer]
strip = { uses = "strip" }
oracle = { uses = "oracle" }
concat = { uses = "concat" }
[[rule]]
target = "//n:free"
producer = "strip"
inputs = { text = "//files/f.txt:bytes" }
[[rule]]
target = "//n:asked"
producer = "oracle"
inputs = { text = "//n:free" }
[[rule]]
target = "//n:alike"
producer = "oracle"
inputs = { text = "//n:free" }
[[rule]]
target = "//n:read"
producer = "concat"
inputs = { text = "//n:asked" }
[[rule]]
target = "//n:more"
producer = "oracle"
inputs = { text = "//n:read" }
"##;

struct Case {
    bench: Bench,
    oracle: Oracle,
}

fn case() -> Case {
    let oracle = Oracle::default();
    let mut registry = registry(&BTreeMap::new());
    registry.add(oracle.clone());
    with(registry, oracle)
}

fn with(registry: Registry, oracle: Oracle) -> Case {
    let manifest = Arc::new(read_manifest(MANIFEST, &registry));
    let bench = Bench::with(manifest, Digest::of(MANIFEST.as_bytes()), registry);
    bench.put("f.txt", "x\n");
    Case { bench, oracle }
}

impl Case {
    fn asked(&self) -> Vec<Asked> {
        std::mem::take(&mut *self.oracle.asked.lock().expect("no panic while it is held"))
    }

    fn labels(&self) -> Vec<String> {
        self.asked().into_iter().map(|asked| asked.label).collect()
    }

    fn ledger(&self) -> Vec<(String, Outcome)> {
        let rows = self.bench.store.rows(ViewId(1), Part::Ledger).expect("a store");
        let mut entries: Vec<_> = rows
            .iter()
            .map(|row| LedgerEntry::from_row(row).expect("an entry"))
            .map(|entry| (entry.label, entry.outcome))
            .collect();
        entries.sort();
        entries
    }

    fn with_options(&self, label: &str, change: impl FnOnce(&mut engine::build::Options)) -> engine::build::request::Report {
        let mut request = self.bench.request(&[label], &How::default());
        request.outputs = true;
        change(&mut request.options);
        self.bench.session().build(&request, &Silent, &Cancel::default()).expect("a report")
    }

    fn text(&self, label: &str) -> String {
        let report = self.with_options(label, |_| {});
        let bytes = report.outputs.first().cloned().flatten().expect("an output");
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

fn label(name: &str) -> String {
    format!("//n:{name}")
}

#[test]
fn an_answer_is_paid_once_and_entered_in_the_ledger() {
    let case = case();
    let built = case.bench.build(&["//n:more"]);
    assert_eq!(case.labels(), [label("asked"), label("more")]);
    assert_eq!(
        (built.report.tally.spent.calls, built.report.tally.spent.micros),
        (2, Some(2 * COST))
    );
    // A comment stops at the free node; reverting to an earlier text costs nothing.
    case.bench.put("f.txt", "x\n# a comment\n");
    case.bench.build(&["//n:more"]);
    assert_eq!(case.labels(), [""; 0]);
    case.bench.put("f.txt", "y\n");
    case.bench.build(&["//n:asked"]);
    assert_eq!(case.labels(), [label("asked")]);
    case.bench.put("f.txt", "x\n");
    let built = case.bench.build(&["//n:asked"]);
    assert_eq!(case.labels(), [""; 0]);
    assert_eq!((built.report.tally.saved.calls, built.report.tally.saved.micros), (1, Some(COST)));
    let expected = [
        (label("asked"), Outcome::Full),
        (label("asked"), Outcome::Full),
        (label("asked"), Outcome::Saved),
        (label("more"), Outcome::Full),
    ];
    assert_eq!(case.ledger(), expected);
}

#[test]
fn two_targets_of_one_key_ask_once() {
    for jobs in [1, 4] {
        let case = case();
        let mut request = case.bench.request(&["//n:alike", "//n:asked"], &How::default());
        request.options.paid_jobs = jobs;
        let report = case.bench.session().build(&request, &Silent, &Cancel::default()).expect("a report");
        assert_eq!((case.asked().len(), report.tally.spent.calls, report.tally.saved.calls), (1, 1, 1));
        let outcomes: Vec<Outcome> = case.ledger().into_iter().map(|(_, outcome)| outcome).collect();
        assert!(
            outcomes.contains(&Outcome::Full) && outcomes.contains(&Outcome::Saved),
            "{outcomes:?}"
        );
    }
}

/// Any failure keeps the cost of the answers before it.
#[test]
fn failures_keep_the_cost_of_earlier_answers() {
    let why = || Box::new(Diagnostic::error("E_X", "no"));
    let rejected = |spent| {
        Failure::Rejected(Box::new(Rejected {
            why: *why(),
            raw: Vec::new(),
            spent,
        }))
    };
    let failures = [
        Failure::Permanent(why()),
        Failure::Transient(why()),
        Failure::Limit(why()),
        Failure::Cancelled,
        rejected(None),
        rejected(Some(spent())),
    ];
    for (at, failure) in failures.into_iter().enumerate() {
        assert_eq!(failure.clone().after_spending(None, ""), failure, "nothing was spent");
        let Failure::Rejected(rejection) = failure.after_spending(Some(&spent()), "raw") else {
            panic!("{at} lost it");
        };
        let calls = if at == 5 { 2 } else { 1 };
        assert_eq!(rejection.spent.map(|spent| spent.calls), Some(calls), "{at}");
    }
    assert_eq!(Failure::Deferred.after_spending(Some(&spent()), ""), Failure::Deferred);
}

/// Reads the store during the build.
struct Witness {
    store: Arc<Shelf>,
    /// Number of results found in the store, for each run.
    found: Arc<Mutex<Vec<usize>>>,
}

impl Producer for Witness {
    fn id(&self) -> ProducerId {
        ProducerId::new("concat", 9)
    }

    fn produce(&self, _: &Inputs<'_>) -> Result<Output, Failure> {
        let paid = |key| self.store.action(key).ok().flatten().is_some_and(|record| record.spent.is_some());
        let found = self.store.keys().iter().filter(|key| paid(key)).count();
        self.found.lock().expect("no panic while it is held").push(found);
        Ok(Output::new("seen"))
    }
}

#[test]
fn an_answer_is_durable_before_its_readers_run() {
    let (oracle, store, found) = (Oracle::default(), Arc::new(Shelf::new()), Arc::<Mutex<Vec<usize>>>::default());
    let mut registry = registry(&BTreeMap::new());
    registry.add(oracle.clone());
    registry.add(Witness {
        store: store.clone(),
        found: found.clone(),
    });
    let mut case = with(registry, oracle);
    case.bench.store = store;
    case.bench.build(&["//n:read"]);
    assert_eq!(*found.lock().expect("no panic while it was held"), [1]);
}

#[test]
fn pricing_builds_free_targets_and_asks_nothing() {
    let case = case();
    let report = case.with_options("//n:more", |options| options.mode = BuildMode::Price);
    assert_eq!(case.labels(), [""; 0]);
    let plans: Vec<_> = report
        .plans
        .iter()
        .map(|priced| {
            (
                &*priced.label,
                priced.certain,
                priced.plan.mode.as_str(),
                priced.plan.prompt.as_str(),
            )
        })
        .collect();
    // A question about a missing answer is planned as uncertain, with one unknown input.
    assert_eq!(
        plans,
        [
            ("//n:asked", true, "full", "//n:asked of 0 unknown"),
            ("//n:more", false, "full", "//n:more of 1 unknown")
        ]
    );
    assert_eq!(case.bench.known(&["//n:more"]), None);
    let built = case.bench.build(&["//n:more"]);
    assert_eq!(case.labels(), [label("asked"), label("more")]);
    assert!(!built.ran().contains(&"//n:free"), "what was free is made already");
    // With an earlier answer, the plan is a patch. Without a question, there is no plan.
    let report = case.with_options("//n:more", |options| options.mode = BuildMode::Price);
    assert_eq!(report.plans, []);
    case.bench.put("f.txt", "y\n");
    let report = case.with_options("//n:asked", |options| options.mode = BuildMode::Price);
    assert_eq!(report.plans[0].plan.mode, "patch");
}

#[test]
fn the_earlier_answer_comes_with_its_notes_and_inputs() {
    let case = case();
    case.bench.build(&["//n:asked"]);
    case.asked();
    case.bench.put("f.txt", "y\n");
    case.bench.build(&["//n:asked"]);
    let notes = Notes::from([("mode".to_owned(), "full".to_owned())]);
    let asked = case.asked();
    let before = asked[0].previous.clone().expect("an earlier answer");
    assert_eq!((before.0.as_str(), before.1), ("answer 1 to x\n", notes));
    assert_eq!(before.2.len(), 1);
    assert!(before.2[0].contains("x\n"));
}

#[test]
fn a_fresh_answer_is_a_new_version_under_the_same_key() {
    let case = case();
    let first = case.text("//n:read");
    case.asked();
    let fresh = BTreeSet::from([label("asked")]);
    let report = case.with_options("//n:asked", |options| options.fresh = fresh);
    let asked = case.asked();
    assert_eq!((asked.len(), asked[0].fresh), (1, true));
    assert_eq!(report.failures, []);
    assert_ne!(case.text("//n:read"), first);
    assert_eq!(case.labels(), [""; 0]);
    let versions = case.bench.store.history(ViewId(1), "//n:asked").expect("a store");
    assert_eq!(versions.len(), 2);
    assert_eq!(versions[0].key, versions[1].key);
    assert_ne!(versions[0].output, versions[1].output);
}

#[test]
fn rejected_answers_are_kept_and_retried_up_to_a_limit() {
    let case = case();
    case.bench.put("f.txt", "REJECT\n");
    for times in 1..=3 {
        let built = case.bench.build(&["//n:read"]);
        assert_eq!(built.failures().len(), 1);
        let remarks = case.bench.session().remarks().expect("a store");
        let failure = remarks["//n:asked"].failure.clone().expect("it failed");
        assert_eq!(
            (failure.times, failure.raw.as_slice(), &*failure.why.code),
            (times, &b"gibberish"[..], "E_ANSWER")
        );
    }
    // There is no paid fourth try until a person requests it or an input changes.
    case.asked();
    let built = case.bench.build(&["//n:read"]);
    assert!(built.failures().len() == 1 && case.labels().is_empty());
    let hint = built.report.failures[0].hint.clone().unwrap_or_default();
    assert!(hint.contains("cortex regenerate"), "{hint}");
    let priced = case.with_options("//n:asked", |options| options.mode = BuildMode::Price);
    assert_eq!(priced.plans, []);
    let remarks = case.bench.session().remarks().expect("a store");
    let failure = remarks["//n:asked"].failure.clone().expect("it failed");
    assert_eq!((failure.times, failure.raw.as_slice()), (3, &b"gibberish"[..]));
    assert_eq!(case.ledger(), vec![(label("asked"), Outcome::Rejected); 3]);
    let fresh = BTreeSet::from([label("asked")]);
    case.with_options("//n:asked", |options| options.fresh = fresh);
    assert_eq!(case.labels(), [label("asked")]);
    case.bench.put("f.txt", "fine\n");
    case.bench.build(&["//n:read"]);
    assert_eq!(case.bench.session().remarks().expect("a store").get("//n:asked"), None);
}

#[test]
fn limits_and_deferrals_are_no_failures() {
    for (word, limited, deferred) in [("LIMIT", 1, 0), ("DEFER", 0, 1)] {
        let case = case();
        case.bench.put("f.txt", &format!("{word}\n"));
        let built = case.bench.build_as(&["//n:read", "//n:free"], &How::default());
        let tally = &built.report.tally;
        assert_eq!((tally.failed, tally.limited, tally.deferred), (0, limited, deferred));
        assert_eq!(built.report.failures.len(), limited);
        assert_eq!(case.bench.known(&["//n:read", "//n:free"]), None);
        let remarks = case.bench.session().remarks().expect("a store");
        assert!(
            remarks.values().all(|remark| remark.failure.is_none() && remark.waits),
            "{remarks:?}"
        );
        let waits_for = |target: &str| remarks[target].waits_for.clone();
        assert_eq!(waits_for("//n:asked") == Some(Wait::Batch), deferred == 1, "{remarks:?}");
        assert_eq!(waits_for("//n:read"), Some(Wait::Target("//n:asked".to_owned())));
        assert_eq!(case.labels(), [label("asked")]);
        case.bench.build(&["//n:read"]);
        assert_eq!(case.labels(), [label("asked")], "it is asked for again");
    }
}

fn correct(case: &Case, text: &str) -> Option<Digest> {
    let mut session: Session = case.bench.session();
    let notes = Notes::from([("mode".to_owned(), "edited".to_owned())]);
    session
        .correct("//n:asked", text.as_bytes().to_vec(), notes, BTreeMap::new())
        .expect("a store")
}

#[test]
fn a_correction_applies_until_inputs_change() {
    let case = case();
    assert_eq!(correct(&case, "mine"), None, "there is nothing to correct yet");
    case.bench.build(&["//n:read"]);
    case.asked();
    assert_eq!(correct(&case, "mine"), Some(Digest::of(b"mine")));
    assert_eq!(case.text("//n:asked"), "mine");
    assert!(case.text("//n:read").contains("mine"), "its readers follow");
    // The same in a new process that has only the store.
    case.bench.put("f.txt", "y\n");
    assert!(case.text("//n:asked").starts_with("answer"));
    let asked = case.asked();
    let before = asked[0].previous.clone().expect("an earlier answer");
    assert_eq!((before.0.as_str(), before.1["mode"].as_str()), ("mine", "edited"));
    case.bench.put("f.txt", "x\n");
    assert_eq!(case.text("//n:asked"), "mine");
    assert_eq!(case.labels(), [""; 0]);
}

#[test]
fn correcting_a_stale_target_keeps_it_stale() {
    let case = case();
    case.bench.build(&["//n:asked"]);
    case.asked();
    case.bench.put("f.txt", "y\n");
    correct(&case, "mine");
    case.bench.build(&["//n:asked"]);
    assert_eq!(case.labels(), [label("asked")]);
}

/// A question outside of every rule is answered once, stored under its label, and recorded in the ledger.
#[test]
fn ad_hoc_results_are_keyed_and_paid_like_others() {
    use engine::build::ad_hoc::AdHocRequest;
    use engine::seams::producer::Input;
    let case = case();
    let ask = |text: &str, fresh: bool| {
        let roles = BTreeMap::from([(Arc::from("text"), vec![Input::of("", text.as_bytes())])]);
        let wanted = AdHocRequest {
            label: "//asked/q:answer",
            uses: "oracle",
            params: &Params::new(),
            roles: &roles,
            fresh,
        };
        let mut session = case.bench.session();
        let made = session
            .produce_ad_hoc(&wanted, &Cancel::default())
            .expect("a store")
            .expect("an answer");
        (String::from_utf8_lossy(&made.bytes).into_owned(), made.cached)
    };
    assert_eq!(ask("a", false), ("answer 1 to a".to_owned(), false));
    assert_eq!(ask("a", false), ("answer 1 to a".to_owned(), true));
    assert_eq!(ask("b", false), ("answer 2 to b".to_owned(), false));
    assert_eq!(ask("a", false), ("answer 1 to a".to_owned(), true));
    assert_eq!(ask("a", true), ("answer 3 to a".to_owned(), false));
    let last = case.bench.session().last("//asked/q:answer").expect("a store").expect("a result");
    assert_eq!(last.result.output, Digest::of(b"answer 3 to a"));
    assert_eq!(case.bench.store.history(ViewId(1), "//asked/q:answer").expect("a store").len(), 4);
    let outcomes: Vec<Outcome> = case.ledger().into_iter().map(|(_, outcome)| outcome).collect();
    assert_eq!(
        outcomes,
        [Outcome::Full, Outcome::Full, Outcome::Full, Outcome::Saved, Outcome::Saved]
    );
    // Builds of rules and this question do not affect each other.
    case.bench.build(&["//n:read"]);
    assert!(ask("b", false).1);
}
