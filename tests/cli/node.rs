//! Any target of the graph, asked by methods: its output, why it stands as it does, what it was, and making it again.

use crate::bench::Bench;
use serde_json::Value;

fn ask(bench: &Bench, args: &[&str]) -> Value {
    let ran = bench.run(&[&["node"], args, &["--json"]].concat());
    assert_eq!(ran.code, 0, "{ran:?}");
    ran.json()
}

const OUTLINE: &str = "//types/MemoTree.Core.Storage.NodeCodec:outline";
const CODEC: &str = "src/MemoTree.Core/Storage/NodeCodec.cs";

#[test]
fn a_target_is_got_explained_and_looked_back_on() {
    let bench = Bench::memotree();
    let first = ask(&bench, &["get", OUTLINE]);
    assert_eq!(first["nodeState"], "current");
    assert!(first["output"].as_str().expect("a text").contains("NodeCodec"), "{first}");
    bench.change(CODEC, "public static ", "internal static ");
    let before = ask(&bench, &["get", OUTLINE, "--freshness", "any"]);
    assert_eq!((&before["output"], &before["nodeState"]), (&first["output"], &"maybe_stale".into()));
    let why = ask(&bench, &["why", OUTLINE]);
    assert!(why["text"].as_str().expect("a text").contains(CODEC), "{why}");
    assert_eq!(why["document"]["state"], "maybe_stale", "{why}");
    let now = ask(&bench, &["get", OUTLINE, "--freshness", "strong"]);
    assert_ne!(now["output"], first["output"]);
    assert_eq!(
        ask(&bench, &["history", OUTLINE])["document"]["versions"]
            .as_array()
            .expect("a list")
            .len(),
        2
    );
    let diff = ask(&bench, &["diff", OUTLINE]);
    assert!(diff["text"].as_str().expect("a text").contains("internal static"), "{diff}");
    let query = ask(&bench, &["query", &format!("deps({OUTLINE})")]);
    assert!(query["text"].as_str().expect("a text").contains(":complete\n"), "{query}");
    assert!(ask(&bench, &["cost"])["text"].as_str().expect("a text").starts_with("No model"));
}

#[test]
fn parameters_of_a_request_are_part_of_the_key_and_of_nothing_else() {
    let bench = Bench::memotree();
    let label = "//types/MemoTree.Core.Storage.NodeCodec:semantic";
    let usual = ask(&bench, &["get", label]);
    let other = ask(&bench, &["get", label, "--param", "docs=false"]);
    assert_ne!(usual["output"], other["output"]);
    assert_eq!(ask(&bench, &["get", label])["output"], usual["output"]);
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
fn what_was_invalidated_is_made_again_once() {
    let bench = Bench::memotree();
    assert_eq!(bench.run(&["build", "//types/...:outline"]).code, 0);
    let marked = ask(&bench, &["invalidate", OUTLINE]);
    assert_eq!(marked["labels"], serde_json::json!([OUTLINE]));
    assert_eq!(
        (&marked["paid"], &marked["price"]),
        (&0.into(), &"nothing: no model makes any of them".into())
    );
    let why = ask(&bench, &["why", OUTLINE]);
    assert_eq!(why["document"]["state"], "stale", "{why}");
    assert!(
        why["text"].as_str().expect("a text").contains("it was invalidated by hand"),
        "{why}"
    );
    assert!(
        bench.run(&["log"]).out.contains(&format!("node invalidate {OUTLINE}")),
        "{}",
        bench.run(&["log"]).out
    );
    let ran = |args: &[&str]| {
        let built = bench.run(&[&["build", "--output", "json"], args].concat()).json();
        built["tally"]["ran"].as_u64().expect("a number")
    };
    // A build of something else leaves the mark.
    assert_eq!(ran(&["//types/MemoTree.Core.NodeStore:outline"]), 0);
    // What it is made of and is not kept is made again for it.
    assert!(ran(&["//types/...:outline"]) >= 1);
    assert_eq!(ran(&["//types/...:outline"]), 0);
    // A file stands for what reads it.
    let marked = ask(&bench, &["invalidate", CODEC]);
    assert!(
        marked["labels"]
            .as_array()
            .expect("a list")
            .iter()
            .all(|label| label.as_str().expect("a label").contains(CODEC))
    );
    let unknown = bench.run(&["node", "invalidate", "src/None.cs"]);
    assert_eq!(unknown.code, 2, "{unknown:?}");
}
