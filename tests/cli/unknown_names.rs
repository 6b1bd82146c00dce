//! Names of targets, types and files that do not exist or are ambiguous: the message, and the names it suggests.

use crate::bench::Bench;

#[test]
fn targets_that_are_not_there() {
    let bench = Bench::documents();
    insta::assert_snapshot!(bench.run(&["build", "//index:totla"]).all(), @"
    exit 2
    error[E_NO_TARGET] //index:totla: no target matches //index:totla
      help: did you mean //index:total?
    ");
    insta::assert_snapshot!(bench.run(&["build", "//docs/docs/c.md:words"]).all(), @"
    exit 2
    error[E_NO_TARGET] //docs/docs/c.md:words: no target matches //docs/docs/c.md:words
      help: `cortex ls` lists the kinds of targets
    ");
    let json = bench.run(&["build", "//index:totla", "--output", "json"]);
    assert_eq!((json.code, &json.json()["refused"][0]["code"]), (2, &"E_NO_TARGET".into()));
}

#[test]
fn a_name_with_several_meanings() {
    let bench = Bench::documents();
    bench.write("docs/more/a.md", "x\n");
    let manifest = std::fs::read_to_string(bench.root().join("cortex.toml")).expect("manifest");
    bench.write("cortex.toml", &manifest.replace("glob:docs/*.md", "glob:docs/**/*.md"));
    insta::assert_snapshot!(bench.run(&["build", "//docs/a.md:words"]).all(), @"
    exit 2
    error[E_AMBIGUOUS] //docs/a.md:words: 'a.md' matches 2 targets
      could be:
        //docs/docs/a.md:words
        //docs/docs/more/a.md:words
      help: write the full name, such as docs/a.md
    ");
}

#[test]
fn an_ambiguous_name_of_any_target_is_one_error() {
    let bench = Bench::memotree();
    bench.write("src/MemoTree.Core/a/Twice.cs", "namespace A; class Twice;");
    bench.write("src/MemoTree.Core/b/Twice.cs", "namespace B; class Twice;");
    insta::assert_snapshot!(bench.run(&["build", "//types/Twice"]).all(), @"
    exit 2
    error[E_AMBIGUOUS] //types/Twice: this matches 2 names
      could be:
        //types/A.Twice
        //types/B.Twice
      help: write the full name, such as A.Twice
    ");
}

#[test]
fn a_suggestion_can_be_typed() {
    let bench = Bench::memotree();
    for pattern in ["//types/Zzz*:outline", "//types/Q:outline", "//types/Zzz:outlin"] {
        let ran = bench.run(&["build", pattern]);
        assert_eq!(ran.code, 2);
        assert!(!ran.err.contains('{'), "{}", ran.err);
    }
}

/// A subtracted name is resolved like a requested one, and reported if it is unknown or ambiguous.
#[test]
fn names_that_are_taken_away_are_names_too() {
    let bench = Bench::documents();
    let ran = bench.run(&["build", "//docs/...", "-//docs/b.md:words", "--output", "json"]);
    assert_eq!((ran.json()["targets"].as_u64(), ran.code), (Some(1), 0), "{ran:?}");
    let asked = bench.run(&["query", "//docs/... - //docs/b.md:words"]);
    assert_eq!(asked.out, "//docs/docs/a.md:words\n");
    insta::assert_snapshot!(bench.run(&["build", "//docs/...", "-//docs/docs/c.md:words"]).all(), @"
    exit 2
    error[E_NO_TARGET] //docs/docs/c.md:words: no target matches //docs/docs/c.md:words
      help: `cortex ls` lists the kinds of targets
    ");
    let nothing = bench.run(&["build", "//docs/...", "-//docs/*z:words", "--output", "json"]);
    assert_eq!((nothing.json()["targets"].as_u64(), nothing.code), (Some(2), 0), "{nothing:?}");
    bench.write("docs/more/a.md", "x\n");
    let manifest = std::fs::read_to_string(bench.root().join("cortex.toml")).expect("manifest");
    bench.write("cortex.toml", &manifest.replace("glob:docs/*.md", "glob:docs/**/*.md"));
    let ran = bench.run(&["build", "//docs/...", "-//docs/a.md:words"]);
    assert!(ran.code == 2 && ran.err.contains("E_AMBIGUOUS"), "{ran:?}");
}

#[test]
fn a_mistyped_target_or_family_is_guessed() {
    let bench = Bench::documents();
    for (typed, meant) in [
        ("//docs/a.md:wrods", "//docs/docs/a.md:words"),
        ("//dosc/docs/a.md:words", "//docs/docs/a.md:words"),
        ("//indx:total", "//index:total"),
    ] {
        let ran = bench.run(&["build", typed]);
        let hint = format!("help: did you mean {meant}?");
        assert!(ran.code == 2 && ran.err.contains(&hint), "{typed}: {ran:?}");
    }
    let bench = Bench::empty();
    bench.write("A.cs", "namespace Box { class NodeStore { } }\n");
    assert_eq!(bench.run(&["init"]).code, 0);
    for (args, meant) in [
        (["build", "//types/NodeStore:outlin"], "//types/Box.NodeStore:outline"),
        (["build", "//typs/NodeStore:outline"], "//types/Box.NodeStore:outline"),
        (["build", "//types/...:outlin"], "//types/...:outline"),
        (["ls", "//typs/..."], "//types/..."),
        (["usages", "NodeStroe"], "Box.NodeStore"),
        (["usages", "NodeStroe#Put"], "Box.NodeStore"),
    ] {
        let ran = bench.run(&args);
        let hint = format!("help: did you mean {meant}?");
        assert!(ran.code == 2 && ran.err.contains(&hint), "{args:?}: {ran:?}");
    }
}

#[test]
fn no_name_is_suggested_for_an_unlike_one() {
    let bench = Bench::memotree();
    assert_eq!(bench.run(&["build"]).code, 0);
    for args in [
        ["ls", "docs"],
        ["show", "Qwertz"],
        ["help", "E_NOPE"],
        ["help", "README"],
        ["source", "src/MemoTree.Core/Outcome.cs"],
    ] {
        let ran = bench.run(&args);
        assert!(ran.code == 2 && !ran.err.contains("did you mean"), "{args:?}: {ran:?}");
    }
    let namespace = bench.run(&["show", "MemoTree.Core.Query"]).err;
    assert!(namespace.contains("see `cortex outline MemoTree.Core.Query`"), "{namespace}");
    assert!(bench.run(&["help", "NoMatch"]).out.starts_with("NoMatch\n  The text to replace"));
}

#[test]
fn a_path_that_is_not_there_is_told_as_one_by_all() {
    let bench = Bench::memotree();
    let paths = [
        ("src/MemoTree.Core/NodeIt.cs", "did you mean src/MemoTree.Core/NodeId.cs?"),
        ("src/storage/nodeid.cs", "did you mean src/MemoTree.Core/NodeId.cs?"),
        (
            "NodeId.cs",
            "did you mean src/MemoTree.Core/NodeId.cs? paths begin at the workspace's root",
        ),
        ("src/Nope.cs", "write its path from the workspace's root"),
    ];
    for command in ["explain", "show", "outline", "source", "history", "ls", "invalidate"] {
        for (path, hint) in paths {
            let ran = bench.run(&[command, path]);
            assert!(
                ran.code == 2 && ran.err.contains("error[E_NO_FILE]") && ran.err.contains(hint),
                "{command} {path}: {ran:?}"
            );
        }
    }
    let unknown = bench.run(&["invalidate", "NodeStroe"]).err;
    assert!(
        unknown.contains("did you mean //types/MemoTree.Core.NodeStore:outline?"),
        "{unknown}"
    );
}

#[test]
fn a_label_of_any_length_is_cut_where_it_is_shown() {
    let bench = Bench::documents();
    for label in [
        format!("//docs/{}:words", "é".repeat(600)),
        format!("//{}/*:words", "x".repeat(600)),
    ] {
        let ran = bench.run(&["explain", &label]);
        assert_eq!(ran.code, 2, "{}", ran.err);
        let longest = ran.err.lines().map(|line| line.chars().count()).max();
        assert!(ran.err.contains(": no target matches this\n  found: //"), "{}", ran.err);
        assert!(longest.is_some_and(|chars| chars < 200), "{}", ran.err);
    }
}
