//! What belongs to a query, by the command line and by a service.

use crate::bench::Bench;
use serde_json::Value;

fn built(bench: &Bench, args: &[&str]) -> Value {
    let ran = bench.run(&[&["context", "build", "--json"], args].concat());
    assert_eq!(ran.code, 0, "{ran:?}");
    ran.json()
}

fn paths(answer: &Value) -> Vec<String> {
    let items = answer["items"].as_array().expect("a list");
    items
        .iter()
        .map(|item| {
            item["path"]
                .as_str()
                .expect("a path")
                .trim_start_matches("MemoTree.Core.")
                .to_owned()
        })
        .collect()
}

#[test]
fn a_query_is_answered_within_its_budget_and_says_why() {
    let bench = Bench::memotree();
    let query = "Why does the cache of rendered nodes evict the wrong entry? See src/MemoTree.Core/NodeStore.cs";
    let answer = built(&bench, &["--query", query, "--budget", "2000"]);
    let shown = paths(&answer);
    assert_eq!(shown[0], "NodeStore", "the query names its file: {shown:?}");
    assert!(shown[1..4].contains(&"Caching.LruCache`2".to_owned()), "{shown:?}");
    assert_eq!(answer["mentions"][0]["text"], "src/MemoTree.Core/NodeStore.cs");
    assert!(answer["tokens"].as_u64().expect("tokens") <= 2000);
    for item in answer["items"].as_array().expect("a list") {
        let path = item["path"].as_str().expect("a path");
        assert!(
            answer["contextText"].as_str().expect("a text").contains(&format!("## {path}\n")),
            "{path}"
        );
        assert!(!item["why"].as_str().expect("a reason").is_empty(), "{item}");
        let gave: f64 = item["gave"]
            .as_object()
            .expect("factors")
            .values()
            .map(|gave| gave.as_f64().expect("a number"))
            .sum();
        assert!((gave - item["score"].as_f64().expect("a score")).abs() < 1e-5, "{item}");
    }
    let quality = &answer["quality"];
    assert!(
        quality["dependencyCoverage"].as_f64() > Some(0.0) && quality["compressionRatio"].as_f64() < Some(1.0),
        "{quality}"
    );
    // The same log, query and sources: the same context.
    assert_eq!(built(&bench, &["--query", query, "--budget", "2000"]), answer);
    let text = bench.run(&["context", "build", "--query", query, "--budget", "2000"]).out;
    assert!(text.starts_with(answer["contextText"].as_str().expect("a text")), "{text}");
    assert!(text.contains("── why ──\n") && text.contains("\nleft out "), "{text}");
    // Other weights, another order.
    let named = built(&bench, &["--query", query, "--budget", "2000", "--weights", "bm25=0,coverage=1"]);
    assert_ne!(paths(&named), shown);
    assert_eq!(named["weights"]["bm25"], 0.0);
}

#[test]
fn rounds_of_a_conversation_leave_types_to_later_ones() {
    let bench = Bench::memotree();
    let first = built(
        &bench,
        &[
            "--query",
            "how is the tree encoded by NodeCodec",
            "--conversation",
            "new",
            "--budget",
            "1500",
        ],
    );
    assert_eq!(
        (&first["conversation"]["id"], &first["conversation"]["round"]),
        (&"c1".into(), &1.into())
    );
    let second = built(
        &bench,
        &[
            "--query",
            "is the tree encoded by NodeCodec twice",
            "--conversation",
            "c1",
            "--budget",
            "1500",
        ],
    );
    assert_eq!(second["conversation"]["round"], 2);
    let inherited = |answer: &Value| {
        let items = answer["items"].as_array().expect("a list");
        items.iter().filter(|item| item["inherited"].is_object()).count()
    };
    assert!(inherited(&first) == 0 && inherited(&second) > 0, "{second}");
    assert!(second["quality"]["hitRate"].as_f64() > Some(0.0));
    let third = built(
        &bench,
        &["--query", "colours of the command line", "--conversation", "c1", "--budget", "1500"],
    );
    assert_eq!(inherited(&third), 0, "another topic");
    // A conversation is not in the store.
    std::fs::remove_dir_all(bench.store()).expect("removed");
    assert_eq!(
        built(&bench, &["--query", "NodeCodec", "--conversation", "c1"])["conversation"]["round"],
        4
    );
}

#[test]
fn what_cannot_be_answered_is_refused() {
    let bench = Bench::memotree();
    for (args, code, says) in [
        (vec!["--query", " "], 2, "the query is empty"),
        (
            vec!["--query", "x", "--weights", "bm25=7"],
            2,
            "weights: '7' is no number from 0 to 1",
        ),
        (
            vec!["--query", "x", "--conversation", "c7"],
            2,
            "there is no conversation of this handle",
        ),
        (
            vec!["--query", "x", "--conversation", "../c7"],
            2,
            "there is no conversation of this handle",
        ),
        (
            vec!["--query", "Gone.cs is slow"],
            0,
            "Gone.cs is named, and no type is known in it",
        ),
        (
            vec!["--query", "quux zzyzx"],
            0,
            "no type of the workspace says a word of the query",
        ),
        (vec!["--query", "node store", "--budget", "0"], 0, "not shown for want of budget"),
    ] {
        let ran = bench.run(&[&["context", "build"], args.as_slice()].concat());
        assert!(ran.code == code && ran.all().contains(says), "{args:?}: {ran:?}");
    }
    let folder = bench.root().join(".cortex");
    std::fs::write(folder.join("conversations.json"), "[").expect("file");
    let ran = bench.run(&["context", "build", "--query", "x", "--conversation", "new"]);
    assert!(ran.code == 5 && ran.all().contains("conversations.json"), "{ran:?}");
    assert_eq!(std::fs::read(folder.join("conversations.json")).expect("file"), b"[");
}

#[test]
fn an_edit_is_seen_by_the_next_query() {
    let bench = Bench::memotree();
    let query = ["--query", "the kaleidoscope", "--budget", "1000"];
    assert_eq!(paths(&built(&bench, &query)), [""; 0]);
    let file = bench.root().join("src/MemoTree.Core/Storage/Crc32.cs");
    let text = std::fs::read_to_string(&file).expect("text");
    std::fs::write(&file, text.replacen("Compute", "Kaleidoscope", 1)).expect("written");
    assert_eq!(paths(&built(&bench, &query))[0], "Storage.Crc32");
}
