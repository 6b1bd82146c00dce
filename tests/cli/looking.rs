//! Looking never executes: query, explain, status, gc, and the pages made from the flags.

use crate::bench::Bench;

#[test]
fn a_workspace_never_built_is_answered_as_far_as_it_is_known() {
    let bench = Bench::documents();
    insta::assert_snapshot!(bench.run(&["query", "deps(//index:total)"]).all(), @"");
    insta::assert_snapshot!(bench.run(&["explain", "//docs/docs/a.md:words"]).all(), @"");
    assert_eq!(bench.run(&["status"]).code, 0);
    let run = bench.run(&["build", "//docs/...", "--output", "json"]).json();
    assert_eq!(run["tally"]["ran"], 2, "looking ran nothing");

    let code = Bench::memotree();
    insta::assert_snapshot!(code.run(&["query", "//types/...:outline"]).all(), @"");
    assert_eq!(code.run(&["query", "//files/...:names"]).out.lines().count(), code.run(&["query", "//files/...:bytes ^ deps(//files/...:names)"]).out.lines().count());
}

#[test]
fn query_forms() {
    let bench = Bench::documents();
    insta::assert_snapshot!(bench.run(&["query", "//docs/... + //index:total - //docs/docs/b.md:words"]).out, @"");
    insta::assert_snapshot!(bench.run(&["query", "rdeps(//files/docs/a.md:bytes, 1)"]).out, @"");
    insta::assert_snapshot!(bench.run(&["query", "somepath(//index:total, //files/docs/b.md:bytes)"]).out, @"");
    insta::assert_snapshot!(bench.run(&["query", "kind(sou*, deps(//index:total))"]).out, @"");
    insta::assert_snapshot!(bench.run(&["query", "--format", "mermaid", "deps(//docs/docs/a.md:words)"]).out, @"");
    insta::assert_snapshot!(bench.run(&["query", "--format", "dot", "deps(//docs/docs/a.md:words)"]).out, @"");
    let json = bench.run(&["--output", "json", "query", "deps(//index:total, 1)"]).json();
    assert_eq!(json["edges"].as_array().map(Vec::len), Some(3), "{json}");
}

#[test]
fn explanations_go_down_to_the_file() {
    let bench = Bench::documents();
    assert_eq!(bench.run(&["build", "//index:total"]).code, 0);
    insta::assert_snapshot!(bench.run(&["explain", "//index:total"]).all(), @"");
    bench.write("docs/a.md", "uno due tre quattro\n");
    insta::assert_snapshot!(bench.run(&["explain", "//index:total"]).all(), @"");
    assert_eq!(bench.run(&["build", "//index:total"]).code, 0);
    insta::assert_snapshot!(bench.run(&["explain", "//index:total"]).all(), @"");
    let json = bench.run(&["explain", "--json", "//index:total"]).json();
    assert_eq!((&json["state"], &json["last_moved"][0]["label"]), (&"current".into(), &"//docs/docs/a.md:words".into()), "{json}");
}

#[test]
fn status_counts() {
    let bench = Bench::memotree();
    insta::assert_snapshot!(bench.run(&["status", "--no-store"]).all(), @"");
    assert_eq!(bench.run(&["build", "//types/NodeStore:semantic", "//types/...:outline"]).code, 0);
    bench.write("src/MemoTree.Core/Extra.cs", "namespace MemoTree.Core; public class Extra { }\n");
    let json = bench.run(&["status", "--output", "json"]).json();
    assert_eq!(json["changed"], serde_json::json!(["src/MemoTree.Core/Extra.cs"]));
    let text = bench.run(&["status"]);
    assert!(text.out.contains("1 changed since the last build") && text.out.contains("summaries"), "{text:?}");
}

#[test]
fn garbage_is_counted_and_not_taken() {
    let bench = Bench::documents();
    assert_eq!(bench.run(&["build", "//index:total"]).code, 0);
    let json = bench.run(&["gc", "--dry-run", "--output", "json"]).json();
    assert_eq!((&json["actions"], &json["unreached"]["actions"]), (&3.into(), &0.into()), "{json}");
    insta::assert_snapshot!(bench.run(&["gc"]).all(), @"");
}

#[test]
fn outlines_of_several_symbols() {
    let bench = Bench::memotree();
    let text = bench.run(&["outline", "NodeStore", "//types/MemoTree.Core.NodeId:outline"]);
    assert_eq!(text.code, 0, "{text:?}");
    assert!(text.out.starts_with("# MemoTree.Core.NodeStore ") && text.out.contains("\n\n# MemoTree.Core.NodeId "), "{}", text.out);
    assert!(bench.run(&["outline", "--json", "NodeStore"]).json().is_object());
    assert_eq!(bench.run(&["outline", "--json", "NodeStore", "NodeId"]).json().as_array().map(Vec::len), Some(2));
    insta::assert_snapshot!(bench.run(&["outline", "NodeStroe"]).all(), @"");
}

#[test]
fn pages() {
    let bench = Bench::empty();
    insta::assert_snapshot!(bench.run(&["--help"]).all(), @"");
    for args in [&["completions", "bash"][..], &["completions", "zsh"], &["completions", "fish"], &["man"], &["man", "query"], &["rules", "show", "csharp"]] {
        let ran = bench.run(args);
        assert!(ran.code == 0 && ran.out.len() > 1_000, "{args:?} {}", ran.code);
    }
    assert_eq!(bench.run(&["rules"]).out, "csharp\n");
    insta::assert_snapshot!(bench.run(&["rules", "show", "csharb"]).all(), @"");
    let parsed = Bench::memotree().run(&["dev", "parse-only", ".", "-j2"]).json();
    assert_eq!(parsed["files"], 49, "{parsed}");
}

#[test]
fn colours_only_when_wanted() {
    let bench = Bench::documents();
    assert!(!bench.run(&["status"]).out.contains('\u{1b}'));
    assert!(bench.run(&["--color", "always", "status"]).out.contains('\u{1b}'));
    let quiet = bench.ran(bench.command(&["status"]).env("NO_COLOR", "1").output().expect("starts"));
    assert!(!quiet.out.contains('\u{1b}'));
}
