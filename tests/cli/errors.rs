//! Every kind of mistake: its code, its words and the next step.

use crate::bench::Bench;

#[test]
fn no_manifest() {
    insta::assert_snapshot!(Bench::empty().run(&["build", "//..."]).all(), @"");
}

#[test]
fn a_broken_manifest_is_told_all_at_once() {
    let bench = Bench::documents();
    let manifest = std::fs::read_to_string(bench.root().join("cortex.toml")).expect("manifest");
    bench.write("cortex.toml", &manifest.replace("producer = \"count\"", "producer = \"cuont\"").replace("out = ", "uot = "));
    insta::assert_snapshot!(bench.run(&["build", "//..."]).all(), @"");
    bench.write("cortex.toml", "[workspace\n");
    assert_eq!(bench.run(&["status"]).code, 2);
    std::fs::write(bench.root().join("cortex.toml"), b"\n\xff\n").expect("file");
    insta::assert_snapshot!(bench.run(&["status"]).all(), @"");
}

#[test]
fn targets_that_are_not_there() {
    let bench = Bench::documents();
    insta::assert_snapshot!(bench.run(&["build", "//index:totla"]).all(), @"");
    insta::assert_snapshot!(bench.run(&["build", "//docs/docs/c.md:words"]).all(), @"");
    let json = bench.run(&["build", "//index:totla", "--output", "json"]);
    assert_eq!((json.code, &json.json()["refused"][0]["code"]), (2, &"E_NO_TARGET".into()));
}

#[test]
fn a_name_with_several_meanings() {
    let bench = Bench::documents();
    bench.write("docs/more/a.md", "x\n");
    let manifest = std::fs::read_to_string(bench.root().join("cortex.toml")).expect("manifest");
    bench.write("cortex.toml", &manifest.replace("glob:docs/*.md", "glob:docs/**/*.md"));
    insta::assert_snapshot!(bench.run(&["build", "//docs/a.md:words"]).all(), @"");
}

#[test]
fn bad_patterns_and_queries() {
    let bench = Bench::documents();
    insta::assert_snapshot!(bench.run(&["build", "docs", "//a//b:c"]).all(), @"");
    insta::assert_snapshot!(bench.run(&["query", "deps(//index:total"]).all(), @"");
    insta::assert_snapshot!(bench.run(&["query", "dops(//index:total)"]).all(), @"");
    let deep = "(".repeat(50_000);
    assert_eq!(bench.run(&["query", &deep]).code, 2);
    assert_eq!(bench.run(&["query", "//index:totla"]).code, 2);
    assert_eq!(bench.run(&["build"]).code, 2);
    assert_eq!(bench.run(&["biuld"]).code, 2);
    assert_eq!(bench.run(&["man", "biuld"]).code, 2);
}

#[test]
fn init_does_not_replace_a_manifest() {
    let bench = Bench::empty();
    assert_eq!(bench.run(&["init"]).code, 0);
    insta::assert_snapshot!(bench.run(&["init"]).all(), @"");
    assert_eq!(bench.run(&["init", "--force"]).code, 0);
    assert_eq!(bench.run(&["status"]).code, 0);
}
