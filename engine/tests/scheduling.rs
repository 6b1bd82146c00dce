//! Order, failure, cancellation, cycles and depth: how the build loop processes a graph, checked by the log of runs.

use crate::toys::bench::{Bench, Entry, How};
use crate::toys::producers::registry;
use crate::toys::shelf::Shelf;
use engine::manifest::model::{InputFrom, InputSpec, Manifest, ProducerDef, Rule, SetSpec, SourceSet};
use engine::manifest::template::Template;
use engine::seams::producer::{Failure, Inputs, Output, Pool, Producer, ProducerId, Registry};
use engine::store::disk::{DiskOptions, DiskStore};
use engine::values::digest::Digest;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

/// Returns a manifest with rules `//n:NAME`, each with its own producer and inputs among the others or files.
fn rules(rules: &[(&str, &str, &[&str])]) -> String {
    let mut text = String::new();
    for (name, uses, inputs) in rules {
        let _ = writeln!(
            text,
            "[producer.{name}]\nuses = \"{uses}\"\nparams.prefix = \"{name}\"\n[[rule]]\ntarget = \"//n:{name}\"\nproducer = \"{name}\"\n[rule.inputs]"
        );
        for (at, input) in inputs.iter().enumerate() {
            let input = if input.contains('/') {
                (*input).to_owned()
            } else {
                format!("//n:{input}")
            };
            let _ = writeln!(text, "i{at} = \"{input}\"");
        }
    }
    text
}

const FILE: &str = "//files/f.txt:bytes";

#[test]
fn slow_nodes_run_in_order_of_priority() {
    let text = rules(&[
        ("plain", "slow", &[FILE]),
        ("other", "slow", &[FILE]),
        ("wanted", "slow", &[FILE]),
        ("a", "slow", &["wanted"]),
        ("b", "slow", &["wanted"]),
        ("c", "slow", &["wanted", "other"]),
    ]);
    let mut bench = Bench::new(&text);
    bench.jobs = 1;
    bench.put("f.txt", "x");
    let built = bench.build(&["//n:plain", "//n:other", "//n:a", "//n:b", "//n:c"]);
    // `wanted` has three readers, `other` one, `plain` none; the readers themselves run in the order of the request.
    assert_eq!(
        built.ran_in_order(),
        ["//n:wanted", "//n:other", "//n:plain", "//n:a", "//n:b", "//n:c"]
    );
}

#[test]
fn shallow_slow_nodes_run_first() {
    let text = rules(&[
        ("base", "concat", &[FILE]),
        ("middle", "concat", &["base"]),
        ("deep", "slow", &["middle"]),
        ("shallow", "slow", &[FILE]),
        ("deepreader", "concat", &["deep"]),
        ("shallowreader", "concat", &["shallow"]),
        ("gate", "slow", &["middle"]),
    ]);
    let mut bench = Bench::new(&text);
    bench.jobs = 1;
    bench.put("f.txt", "x");
    // Once the graph knows everything, both are in the queue at the same time.
    bench.build(&["//n:deepreader", "//n:shallowreader"]);
    bench.put("f.txt", "y");
    let built = bench.build(&["//n:deepreader", "//n:shallowreader"]);
    let slow: Vec<&str> = built
        .ran_in_order()
        .into_iter()
        .filter(|label| ["//n:deep", "//n:shallow"].contains(label))
        .collect();
    assert_eq!(slow, ["//n:shallow", "//n:deep"]);
}

#[test]
fn keep_going_tries_everything_and_fail_fast_stops() {
    let text = rules(&[
        ("bad", "fragile", &[FILE]),
        ("needs", "concat", &["bad"]),
        ("good", "concat", &["//files/g.txt:bytes"]),
        ("late", "concat", &["good"]),
    ]);
    let mut bench = Bench::new(&text);
    bench.jobs = 1;
    bench.put("f.txt", "FAIL");
    bench.put("g.txt", "x");
    let targets = ["//n:bad", "//n:needs", "//n:good", "//n:late"];
    let built = bench.build_as(
        &targets,
        &How {
            keep_going: false,
            ..How::default()
        },
    );
    assert_eq!(built.failures(), [("E_PRODUCER".to_owned(), "//n:bad".to_owned())]);
    assert!(!built.ran().contains(&"//n:late"), "{:?}", built.log);
    let built = bench.build(&targets);
    assert_eq!(built.failures(), [("E_PRODUCER".to_owned(), "//n:bad".to_owned())]);
    assert!(built.log.contains(&Entry::Skipped("//n:needs".to_owned())));
    assert!(built.ran().contains(&"//n:late") && built.outputs()["//n:needs"].is_none());
    // Failures are not stored: the same input is tried again, the rest is not.
    let again = bench.build(&targets);
    assert_eq!((again.failures(), again.ran()), (built.failures(), vec![]));
    assert!(again.log.contains(&Entry::Started("//n:bad".to_owned())));
}

#[test]
fn a_panicking_producer_fails_only_its_node() {
    let bench = Bench::new(&rules(&[
        ("bad", "fragile", &[FILE]),
        ("reads", "concat", &["bad"]),
        ("good", "concat", &[FILE]),
    ]));
    bench.put("f.txt", "PANIC");
    let built = bench.build(&["//n:reads", "//n:good"]);
    assert_eq!(built.failures(), [("E_INTERNAL".to_owned(), "//n:bad".to_owned())]);
    assert!(built.text("//n:good").contains("PANIC"));
}

fn cancelled_builds_go_on(store: Shelf) {
    let names: Vec<String> = (0..30).map(|n| format!("n{n}")).collect();
    let chain: Vec<(&str, &str, Vec<&str>)> = (0..30)
        .map(|n| {
            (
                names[n].as_str(),
                "concat",
                if n == 0 { vec![FILE] } else { vec![names[n - 1].as_str()] },
            )
        })
        .collect();
    let chain: Vec<(&str, &str, &[&str])> = chain.iter().map(|(name, uses, inputs)| (*name, *uses, inputs.as_slice())).collect();
    let mut bench = Bench::new(&rules(&chain));
    bench.store = Arc::new(store);
    bench.put("f.txt", "x");
    let mut ran: Vec<String> = Vec::new();
    let mut builds = 0;
    loop {
        let built = bench.build_as(
            &["//n:n29"],
            &How {
                stop_after: Some(12),
                ..How::default()
            },
        );
        ran.extend(built.ran_in_order().into_iter().map(str::to_owned));
        builds += 1;
        assert!(built.report.failures.is_empty() && builds < 30, "{built:?}");
        assert_eq!(bench.known(&["//n:n29"]).is_some(), !built.report.cancelled);
        if !built.report.cancelled {
            break;
        }
    }
    assert!(builds > 2, "it was cancelled in between");
    assert_eq!(
        ran,
        names.iter().map(|name| format!("//n:{name}")).collect::<Vec<_>>(),
        "each ran once, in all builds together"
    );
}

#[test]
fn a_cancelled_build_keeps_its_results() {
    cancelled_builds_go_on(Shelf::new());
    let folder = tempfile::tempdir().expect("a folder");
    let (disk, _) = DiskStore::open(folder.path(), DiskOptions::default()).expect("a store");
    cancelled_builds_go_on(Shelf::over(Box::new(disk)));
}

#[test]
fn cycles_through_discovered_inputs_are_reported_as_paths() {
    let bench = Bench::new(
        r#"
        [producer.concat]
        uses = "concat"
        [producer.links]
        uses = "links"
        [[rule]]
        target = "//d/{d}:links"
        each = { d = "glob:*.txt" }
        producer = "links"
        inputs = { own = "//files/{d}:bytes" }
        [[rule]]
        target = "//d/{d}:all"
        each = { d = "glob:*.txt" }
        producer = "concat"
        inputs = { own = "//files/{d}:bytes", more = { each = "//d/{d}:links", target = "//d/{item}:all" } }
        "#,
    );
    bench.put("a.txt", "@b.txt\n");
    bench.put("b.txt", "@c.txt\n");
    bench.put("c.txt", "leaf\n");
    bench.put("d.txt", "@a.txt\n");
    assert!(bench.build(&["//d/...:all"]).report.failures.is_empty());
    bench.put("c.txt", "@a.txt\n");
    let built = bench.build(&["//d/...:all"]);
    let [why] = built.report.failures.as_slice() else {
        panic!("{:?}", built.report.failures)
    };
    assert_eq!(why.code, "E_CYCLE");
    let found = why.found.as_deref().expect("a path");
    let turns = ["a", "b", "c", "a", "b", "c"].windows(4).map(|turn| {
        turn.iter()
            .map(|name| format!("//d/{name}.txt:all"))
            .collect::<Vec<_>>()
            .join(" → ")
    });
    assert!(turns.into_iter().any(|turn| turn == found), "{found}");
    assert!(built.outputs().values().all(Option::is_none));
    bench.put("c.txt", "leaf again\n");
    let built = bench.build(&["//d/...:all"]);
    assert!(built.report.failures.is_empty() && built.text("//d/d.txt:all").contains("leaf again"));
}

#[test]
fn two_nodes_of_the_same_key_run_once_even_one_after_the_other() {
    let text = rules(&[("base", "concat", &[FILE])])
        + "[producer.same]\nuses = \"strip\"\n[[rule]]\ntarget = \"//twin/{t}:x\"\neach = { t = [\"a\", \"b\", \"c\"] }\nproducer = \"same\"\ninputs = { own = \"//n:base\" }\n";
    for jobs in [1, 4] {
        let mut bench = Bench::new(&text);
        bench.jobs = jobs;
        bench.put("f.txt", "x");
        let built = bench.build(&["//twin/...:x"]);
        assert_eq!(built.ran().iter().filter(|label| label.starts_with("//twin/")).count(), 1);
        assert_eq!(built.report.tally.cached, 2);
    }
}

/// Counts its inputs and passes the first on, so that depth and width cost nothing.
struct Counting;

impl Producer for Counting {
    fn id(&self) -> ProducerId {
        ProducerId::new("counting", 1)
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        let first = inputs
            .all("in")
            .first()
            .map_or(0, |input| String::from_utf8_lossy(&input.bytes).trim().parse::<u64>().unwrap_or(0));
        Ok(Output::new(format!("{}", first + inputs.all("in").len() as u64)))
    }
}

/// Returns a graph of literal rules, built as values to avoid parsing a long text.
fn bench_of(count: usize, from: impl Fn(usize) -> InputFrom) -> Bench {
    let mut registry = Registry::default();
    registry.add(Counting);
    let template = |text: &str| Template::parse(text).expect("a template");
    let rule = |n: usize| Rule {
        target: template(&format!("//n:n{n}")),
        each: None,
        inner: None,
        producer: 0,
        inputs: vec![InputSpec {
            role: "in".into(),
            from: from(n),
            digest_only: false,
        }],
        out: None,
        digest: Digest::of(&n.to_le_bytes()),
    };
    let producers = vec![ProducerDef {
        name: "counting".into(),
        uses: "counting".into(),
        params: Default::default(),
        settings: Default::default(),
        keep: true,
    }];
    let all = SourceSet {
        include: vec!["*.txt".to_owned()],
        exclude: Vec::new(),
        gitignore: false,
    };
    let sources = BTreeMap::from([("all".to_owned(), all)]);
    let manifest = Manifest {
        rules: (0..count).map(rule).collect(),
        producers,
        sources,
        ..Manifest::default()
    };
    let mut bench = Bench::with(Arc::new(manifest), Digest::of(b"made"), registry);
    bench.jobs = 2;
    bench
}

const MANY: usize = 100_000;

fn one(label: &str) -> InputFrom {
    InputFrom::One(Template::parse(label).expect("a template"))
}

#[test]
fn a_chain_of_a_hundred_thousand_nodes_costs_heap_and_not_stack() {
    let bench = bench_of(MANY, |n| one(&if n == 0 { FILE.to_owned() } else { format!("//n:n{}", n - 1) }));
    bench.put("f.txt", "0");
    let last = format!("//n:n{}", MANY - 1);
    let built = bench.build(&[&last]);
    assert_eq!(built.text(&last), MANY.to_string());
    // The whole chain is marked, and the propagation stops where an output equals the old one.
    bench.put("f.txt", "0 ");
    let built = bench.build(&[&last]);
    assert_eq!(built.ran(), ["//n:n0"]);
}

#[test]
fn a_chain_of_nodes_that_decide_each_other_costs_heap_and_not_stack() {
    let depth = 20_000;
    let bench = bench_of(depth, |n| {
        if n == 0 {
            return one(FILE);
        }
        let label = Template::parse(&format!("//n:n{}", n - 1)).expect("a template");
        InputFrom::Many {
            each: SetSpec::Node {
                label,
                row: None,
                field: None,
            },
            target: Template::parse("//files/{item}.txt:bytes").expect("a template"),
        }
    });
    bench.put("f.txt", "0");
    bench.put("1.txt", "0");
    let last = format!("//n:n{}", depth - 1);
    assert_eq!(bench.build(&[&last]).text(&last), "1");
}

#[test]
fn a_fan_of_a_hundred_thousand_nodes_is_built_and_rebuilt() {
    let items: Vec<Template> = (0..MANY).map(|n| Template::parse(&format!("n{n}")).expect("a template")).collect();
    let bench = bench_of(MANY + 1, |n| {
        if n == MANY {
            return InputFrom::Many {
                each: SetSpec::List(items.clone()),
                target: Template::parse("//n:{item}").expect("a template"),
            };
        }
        one(&format!("//files/f{}.txt:bytes", n % 10))
    });
    (0..10).for_each(|n| bench.put(&format!("f{n}.txt"), &n.to_string()));
    let root = format!("//n:n{MANY}");
    let built = bench.build(&[&root]);
    assert_eq!(built.text(&root), (MANY + 1).to_string());
    // Ten files, ten keys: the other results are found under them.
    assert_eq!((built.ran().len(), built.report.tally.cached), (11, MANY - 10));
}

#[test]
fn a_ring_of_many_nodes_is_one_cycle_and_ends_quickly() {
    let count = 50_000;
    let bench = bench_of(count, |n| one(&format!("//n:n{}", (n + 1) % count)));
    let built = bench.build_as(&["//n:n0"], &How::default());
    let [why] = built.report.failures.as_slice() else {
        panic!("{} failures", built.report.failures.len())
    };
    assert!(why.code == "E_CYCLE" && why.found.as_deref().is_some_and(|found| found.len() < 1_000));
}

#[test]
fn all_cycles_are_reported() {
    let count = 20_000;
    let bench = bench_of(count, |n| one(&format!("//n:n{}", n ^ 1)));
    let built = bench.build_as(&["//n:*"], &How::default());
    assert_eq!(built.report.failures.len(), count / 2);
}

/// Reports a cancellation without a request.
struct Quitter;

impl Producer for Quitter {
    fn id(&self) -> ProducerId {
        ProducerId::new("quitter", 1)
    }

    fn check(&self, _: &engine::seams::producer::Params) -> Result<(), Vec<engine::seams::producer::ParamError>> {
        Ok(())
    }

    fn pool(&self, _: &engine::seams::producer::Params) -> Pool {
        Pool::Slow
    }

    fn produce(&self, _: &Inputs<'_>) -> Result<Output, Failure> {
        Err(Failure::Cancelled)
    }
}

#[test]
fn a_producer_that_cancels_itself_fails() {
    let mut registry = registry(&BTreeMap::new());
    registry.add(Quitter);
    let text = rules(&[("quits", "quitter", &[FILE]), ("reads", "concat", &["quits"])]);
    let mut bench = Bench::with(
        Arc::new(crate::toys::bench::read_manifest(&text, &registry)),
        Digest::of(text.as_bytes()),
        registry,
    );
    bench.jobs = 1;
    bench.put("f.txt", "x");
    let built = bench.build(&["//n:reads"]);
    assert_eq!(built.failures().len(), 1);
    assert_eq!(bench.known(&["//n:reads"]), None);
}

/// An unreadable file affects only its own targets; the target over the set uses the others, and all again once the file is readable.
#[test]
fn an_unreadable_file_is_left_out_of_its_set() {
    let text = r#"
[sources.docs]
include = ["docs/*.txt"]
[producer.concat]
uses = "concat"
[[rule]]
target = "//docs/{doc}:copy"
each = { doc = "sources:docs" }
producer = "concat"
inputs = { text = "//files/{doc}:bytes" }
[[rule]]
target = "//index:all"
producer = "concat"
inputs = { text = { each = "sources:docs", target = "//docs/{item}:copy" } }
"#;
    let bench = Bench::new(text);
    bench.put("docs/a.txt", "a");
    bench.put("docs/p.txt", "p");
    bench.world.fail_reads("docs/p.txt", true);
    let first = bench.build(&["//..."]);
    assert_eq!(first.failures(), []);
    assert_eq!(first.ran(), ["//docs/docs/a.txt:copy", "//index:all"]);
    bench.world.fail_reads("docs/p.txt", false);
    let whole = bench.build(&["//..."]);
    assert_eq!(whole.ran(), ["//docs/docs/p.txt:copy", "//index:all"]);
    bench.world.fail_reads("docs/p.txt", true);
    let again = bench.build(&["//..."]);
    assert_eq!((again.failures(), again.text("//index:all")), (vec![], first.text("//index:all")));
    let file = bench.build(&["//files/docs/p.txt:bytes"]);
    assert_eq!(
        file.report.failures[0].message,
        "the file docs/p.txt does not exist or cannot be read; the set //sources/docs:files would contain it"
    );
}
