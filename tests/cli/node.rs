//! Any target of the graph, by methods: output, explanation, history, and invalidation.

use crate::bench::Bench;
use crate::serve::Service;
use serde_json::Value;

fn ask(bench: &Bench, args: &[&str]) -> Value {
    let ran = bench.run(&[args, &["--json"]].concat());
    assert_eq!(ran.code, 0, "{ran:?}");
    ran.json()
}

const OUTLINE: &str = "//types/MemoTree.Core.Storage.NodeCodec:outline";
const CODEC: &str = "src/MemoTree.Core/Storage/NodeCodec.cs";

#[test]
fn a_target_is_got_explained_and_looked_back_on() {
    let bench = Bench::memotree();
    let first = ask(&bench, &["node", "get", OUTLINE]);
    assert_eq!(first["nodeState"], "current");
    assert!(first["output"].as_str().expect("a text").contains("NodeCodec"), "{first}");
    bench.change(CODEC, "public static ", "internal static ");
    let before = ask(&bench, &["node", "get", OUTLINE, "--freshness", "any"]);
    assert_eq!((&before["output"], &before["nodeState"]), (&first["output"], &"maybe_stale".into()));
    let why = ask(&bench, &["explain", OUTLINE]);
    assert_eq!(
        why["chain"].as_array().expect("a list").last().expect("a step")["reason"]["path"],
        CODEC
    );
    assert_eq!(why["state"], "maybe_stale", "{why}");
    let now = ask(&bench, &["node", "get", OUTLINE, "--freshness", "strong"]);
    assert_ne!(now["output"], first["output"]);
    assert_eq!(ask(&bench, &["history", OUTLINE])["versions"].as_array().expect("a list").len(), 2);
    let diff = ask(&bench, &["diff", OUTLINE]);
    assert!(diff["diff"].as_str().expect("a text").contains("internal static"), "{diff}");
    let query = ask(&bench, &["query", &format!("deps({OUTLINE})")]);
    let reads = |label: &Value| label.as_str().expect("a label").ends_with(":complete");
    assert!(
        query["edges"]
            .as_array()
            .expect("a list")
            .iter()
            .any(|edge| edge[0] == OUTLINE && reads(&edge[1]))
    );
    assert_eq!(ask(&bench, &["cost"])["spent"]["times"], 0);
}

#[test]
fn parameters_of_a_request_are_part_of_the_key_and_of_nothing_else() {
    let bench = Bench::memotree();
    let label = "//types/MemoTree.Core.Storage.NodeCodec:semantic";
    let usual = ask(&bench, &["node", "get", label]);
    let other = ask(&bench, &["node", "get", label, "--param", "docs=false"]);
    assert_ne!(usual["output"], other["output"]);
    assert_eq!(ask(&bench, &["node", "get", label])["output"], usual["output"]);
    let again = bench.run(&["build", "--output", "json", label]);
    assert_eq!(again.json()["tally"]["ran"], 0, "{again:?}");
    for (param, code) in [("nonsense=1", 2), ("docs=maybe", 2), ("=1", 2)] {
        let refused = bench.run(&["node", "get", label, "--param", param]);
        assert_eq!(refused.code, code, "{refused:?}");
        assert!(!refused.err.is_empty());
    }
    let leaf = bench.run(&["node", "get", &format!("//files/{CODEC}:bytes"), "--param", "a=1"]);
    assert_eq!(leaf.code, 2, "{leaf:?}");
}

#[test]
fn an_invalidated_target_is_rebuilt_once() {
    let bench = Bench::memotree();
    assert_eq!(bench.run(&["build", "//types/...:outline"]).code, 0);
    let marked = ask(&bench, &["invalidate", OUTLINE]);
    assert_eq!(marked["labels"], serde_json::json!([OUTLINE]));
    assert_eq!(
        (&marked["paid"], &marked["price"]),
        (&0.into(), &"It costs nothing: no model is asked for them or their readers.".into())
    );
    assert_eq!(ask(&bench, &["explain", OUTLINE])["state"], "stale");
    let why = bench.run(&["explain", OUTLINE]).out;
    assert!(why.contains("it was invalidated by hand"), "{why}");
    let unmade = bench.run(&["invalidate", "//index:json"]);
    assert!(unmade.code == 2 && unmade.err.contains("E_NO_OUTPUT"), "{unmade:?}");
    let log = bench.run(&["log"]).out;
    assert!(log.contains(&format!("invalidate {OUTLINE}\n       1 target (")), "{log}");
    assert_eq!(log.matches("invalidate").count(), 1, "{log}");
    let ran = |args: &[&str]| {
        let built = bench.run(&[&["build", "--output", "json"], args].concat()).json();
        built["tally"]["ran"].as_u64().expect("a number")
    };
    // A build of another target keeps the mark.
    assert_eq!(ran(&["//types/MemoTree.Core.NodeStore:outline"]), 0);
    // Its inputs that are not stored are built again for it.
    assert!(ran(&["//types/...:outline"]) >= 1);
    assert_eq!(ran(&["//types/...:outline"]), 0);
    // A file refers to the targets that read it.
    let marked = ask(&bench, &["invalidate", CODEC]);
    assert!(
        marked["labels"]
            .as_array()
            .expect("a list")
            .iter()
            .all(|label| label.as_str().expect("a label").contains(CODEC))
    );
    let unknown = bench.run(&["invalidate", "src/None.cs"]);
    assert_eq!(unknown.code, 2, "{unknown:?}");
}

#[test]
fn a_version_that_was_found_under_its_key_says_so() {
    let bench = Bench::documents();
    for text in ["one two three\n", "one\n", "one two three\n"] {
        bench.write("docs/a.md", text);
        assert_eq!(bench.run(&["build", "//docs/..."]).code, 0);
    }
    let versions = ask(&bench, &["history", "//docs/docs/a.md:words"])["versions"].clone();
    let facts = |name: &str| {
        versions
            .as_array()
            .expect("a list")
            .iter()
            .map(|version| version[name].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(facts("found"), [false, false, true], "{versions}");
    assert!(facts("took_us")[1].is_u64() && facts("took_us")[2].is_null(), "{versions}");
    let stdout = bench.run(&["history", "//docs/docs/a.md:words"]).out;
    assert_eq!(stdout.matches("found in the cache, built ").count(), 1, "{stdout}");
}

#[test]
fn targets_over_what_is_not_there_or_no_set_say_so() {
    let bench = Bench::documents();
    let built = bench.run(&["build", "//files/gone.txt:bytes"]);
    assert!(
        built.code != 0 && built.err.contains("the file gone.txt does not exist"),
        "{built:?}"
    );
    bench.write("here.txt", "");
    let built = bench.run(&["build", "//files/here.txt:bytes"]);
    assert!(
        built.code != 0 && built.err.contains("the file here.txt is in no source set"),
        "{built:?}"
    );
    let manifest = std::fs::read_to_string(bench.root().join("cortex.toml")).expect("manifest");
    let own = "[producer.list]\nuses = \"command\"\nargv = [\"echo\", '[\"a\", 7]']\nsandbox = \"off\"\n\
               [[rule]]\ntarget = \"//index:list\"\nproducer = \"list\"\n\
               [[rule]]\ntarget = \"//each/{n}:words\"\neach = { n = \"//index:list\" }\nproducer = \"list\"\n";
    bench.write("cortex.toml", &format!("{manifest}\n{own}"));
    let built = bench.run(&["build", "//each/...:words"]);
    assert!(
        built.code != 0
            && built
                .err
                .contains("//index:list cannot be read as a JSON list of texts: item 2 is 7"),
        "{built:?}"
    );
    assert!(!built.err.contains("see why it failed above"), "{built:?}");
}

/// The command prints the same text that a program gets from the service.
#[test]
fn questions_about_targets_look_the_same_with_a_service_and_without() {
    let bench = Bench::memotree();
    assert_eq!(bench.run(&["build", OUTLINE]).code, 0);
    bench.change(CODEC, "public static ", "internal static ");
    assert_eq!(bench.run(&["build", OUTLINE]).code, 0);
    bench.change(CODEC, "internal static ", "private static ");
    let deps = format!("deps({OUTLINE})");
    let questions: [&[&str]; 9] = [
        &["explain", OUTLINE],
        &["explain", OUTLINE, "--json"],
        &["explain", "--diff", "1", "2"],
        &["history", OUTLINE],
        &["diff", OUTLINE, "1", "2"],
        &["query", &deps],
        &["query", &deps, "--output", "mermaid"],
        &["cost"],
        &["explain", "//types/None:outline"],
    ];
    let run = || questions.map(|args| bench.run(args));
    let without = run();
    let service = Service::start(&bench);
    let with = run();
    for ((args, without), with) in questions.iter().zip(&without).zip(&with) {
        assert_eq!(
            (without.code, &without.out),
            (with.code, &with.out),
            "{args:?}: {} {}",
            without.err,
            with.err
        );
    }
    let methods = service.client().result("cortex.about", serde_json::json!({}))["methods"].clone();
    assert_eq!(methods["explain"]["calls"], 4, "{methods}");
    let mut client = service.client();
    let why = client.result("node.why", serde_json::json!({"label": OUTLINE}));
    assert_eq!(why["label"], OUTLINE, "{why}");
    let both = client.ask("explain", serde_json::json!({"label": OUTLINE, "diff": [1, 2]}));
    assert!(both["error"].is_object(), "{both}");
}
