//! Dry runs after files were added, deleted and renamed: they predict no failure of a buildable target, and their predicted runs happen.

use crate::bench::Bench;
use crate::looking::labels;
use std::fs;

/// Returns the targets that a dry run of everything predicts to run after `change`; checks that it predicts no failure.
fn told(bench: &Bench, change: impl FnOnce()) -> Vec<String> {
    assert_eq!(bench.run(&["build", "//..."]).code, 0);
    change();
    for flag in ["--keep-going", "--fail-fast"] {
        let dry = bench.run(&["build", "--dry-run", flag, "//..."]);
        assert!(
            dry.code == 0 && !dry.err.contains("failed") && !dry.err.contains("skipped"),
            "{dry:?}"
        );
    }
    let dry = bench.run(&["build", "--dry-run", "//...", "--output", "json"]).json();
    let actual = dry["outlook"]["will_run"].as_array().expect("labels").iter();
    actual.map(|label| label.as_str().expect("a label").to_owned()).collect()
}

#[test]
fn a_dry_run_does_not_fail_for_a_file_that_went_away() {
    let bench = Bench::memotree();
    let path = "src/MemoTree.Core/NodeKind.cs";
    let actual = told(&bench, || fs::remove_file(bench.root().join(path)).expect("removed"));
    assert!(!actual.iter().any(|label| label.contains(path)), "{actual:?}");
    let ran = labels(&bench, "ran", &["build", "//..."]);
    assert!(
        !actual.is_empty() && actual.iter().all(|label| ran.contains(label)),
        "{actual:?} of {ran:?}"
    );
}

#[test]
fn a_dry_run_does_not_fail_for_a_file_with_another_name() {
    let bench = Bench::memotree();
    let at = |name: &str| bench.root().join("src/MemoTree.Core").join(name);
    let actual = told(&bench, || fs::rename(at("NodeId.cs"), at("Ident.cs")).expect("renamed"));
    let ran = labels(&bench, "ran", &["build", "//..."]);
    assert!(
        !actual.is_empty() && actual.iter().all(|label| ran.contains(label)),
        "{actual:?} of {ran:?}"
    );
}

#[test]
fn an_overlay_without_a_file_says_what_it_would_come_to() {
    let bench = Bench::memotree();
    assert_eq!(bench.run(&["build", "//..."]).code, 0);
    assert_eq!(bench.run(&["overlay", "open", "o"]).code, 0);
    let put = ["overlay", "put", "o", "src/MemoTree.Core/NodeKind.cs", "--delete"];
    assert_eq!(bench.run(&put).code, 0);
    let differs = bench.run(&["overlay", "diff", "o", "--targets"]);
    assert!(differs.code == 0 && !differs.err.contains("error"), "{differs:?}");
    let built = bench.run(&["overlay", "build", "o", "//..."]);
    assert_eq!(built.code, 0, "{built:?}");
}

#[test]
fn a_dry_run_does_not_refuse_what_comes_with_a_new_file() {
    let bench = Bench::memotree();
    assert_eq!(bench.run(&["build", "//..."]).code, 0);
    bench.write("src/MemoTree.Core/Newcomer.cs", "namespace N;\npublic class Newcomer { }\n");
    let wanted = "//types/Newcomer:outline";
    insta::assert_snapshot!(bench.run(&["build", "--dry-run", wanted]).all(), @"
    exit 0
    note[N_UNKNOWN_SET] //types/Newcomer:outline: no target matches //types/Newcomer:outline, as far as is known before a build
      help: `cortex build //...` makes it known; `cortex explain` says what it needs
    0 targets known so far: 2 will run, 152 more may run (TIME)
      will run //projects/src/MemoTree.Cli/MemoTree.Cli.csproj:files
               //projects/src/MemoTree.Core/MemoTree.Core.csproj:files
      may run  147 of the others, only if the output of //index:files changes
    ");
    let json = bench.run(&["build", "--dry-run", wanted, "--output", "json"]);
    assert!(json.code == 0 && json.json()["unknown"][0]["label"] == wanted, "{json:?}");
    assert_eq!(bench.run(&["build", wanted]).code, 0);
    // Once everything is known, an unknown name is an error.
    let mistyped = bench.run(&["build", "--dry-run", "//types/Newcomers:outline"]);
    assert!(mistyped.code == 2 && mistyped.err.contains("error[E_NO_TARGET]"), "{mistyped:?}");
}

#[test]
fn the_way_to_an_edit_leads_through_what_decides_the_inputs() {
    let bench = Bench::memotree();
    assert_eq!(bench.run(&["build", "//..."]).code, 0);
    bench.change(
        "src/MemoTree.Core/Node.cs",
        "namespace MemoTree.Core",
        "// x\nnamespace MemoTree.Core",
    );
    let stdout = bench.run(&["explain", "//types/MemoTree.Core.NodeStore:complete"]).out;
    let because = stdout
        .split("  because ")
        .nth(1)
        .and_then(|rest| rest.split("  only if ").next())
        .expect("a way");
    assert!(
        because.contains(": decided by ") && because.contains("//index:types: ") && because.contains("src/MemoTree.Core/Node.cs"),
        "{stdout}"
    );
    assert!(
        !stdout.contains("did not request it") && !because.contains("NodeStore.Persistence.cs"),
        "{stdout}"
    );
}
