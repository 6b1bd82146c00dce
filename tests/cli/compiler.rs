//! `[edit] check`: a compiler that looks at the texts after an edit, here a script.

use crate::bench::Bench;
use crate::structure_edits::{read, run_successfully};
use crate::trust;

const FILE: &str = "src/MemoTree.Core/Till.cs";
const TEXT: &str = "namespace Trade;\n\npublic class Till\n{\n    public int Count => Known;\n    // Bad from the beginning\n}\n";

/// A compiler that knows one error, and says on standard error that it ran on which projects.
const SCRIPT: &str = r#"echo "$*" >> ../runs
for file in $(find src -name '*.cs'); do
  grep -n Bad "$file" | while IFS=: read -r line _; do
    echo "$PWD/$file($line,9): error CS0103: The name 'Bad' does not exist [$PWD/src/A.csproj]"
  done
done | tee said
! test -s said
"#;

fn bench_with(check: &str) -> Bench {
    let bench = Bench::memotree();
    bench.write(FILE, TEXT);
    bench.write("check.sh", SCRIPT);
    let manifest = read(&bench, "cortex.toml").expect("a manifest");
    bench.write("cortex.toml", &format!("{manifest}\n[edit]\ncheck = \"{check}\"\n"));
    bench
}

fn replace<'a>(old: &'a str, new: &'a str) -> [&'a str; 7] {
    ["edit", "replace", FILE, "--old-text", old, "--new-text", new]
}

#[test]
fn the_compiler_says_what_an_edit_made_wrong() {
    let bench = bench_with("sh check.sh {projects}");
    let waits = trust::run(&bench, &replace("Known;", "Known + 1;"));
    assert!(
        waits.out.contains("not compiled: `[edit] check` waits for `cortex trust`"),
        "{waits:?}"
    );
    let listed = trust::run(&bench, &["trust"]).out;
    assert!(
        listed.contains("edit.check") && listed.contains("sh check.sh {projects}"),
        "{listed}"
    );
    // The error that was there before is none of the edit's, although it moves.
    let good = run_successfully(&bench, &replace("Known + 1;", "Known +\n        2;"));
    assert!(!good.contains("CS0103") && !good.contains("not compiled"), "{good}");
    let bad = run_successfully(&bench, &replace("2;", "Bad;"));
    assert!(
        bad.contains(&format!("{FILE}:6:9: error CS0103: The name 'Bad' does not exist")),
        "{bad}"
    );
    assert!(!bad.contains(&format!("{FILE}:7")), "{bad}");
    let runs = read(&bench, ".cortex/check/runs").expect("runs");
    assert_eq!(runs.lines().count(), 3, "the run after an edit is that before the next: {runs}");
    assert!(
        runs.lines().all(|line| line.ends_with("src/MemoTree.Core/MemoTree.Core.csproj")),
        "{runs}"
    );
    assert_eq!(read(&bench, "said"), None, "nothing is written to the workspace");
    // A session is compiled when it is saved.
    let session = bench.run(&["edit", "open", FILE, "--json"]).json()["session"]
        .as_str()
        .expect("a handle")
        .to_owned();
    let held = run_successfully(
        &bench,
        &[
            "edit", "replace", "--session", &session, "--old-text", "Till", "--new-text", "TillBad",
        ],
    );
    assert!(!held.contains("CS0103"), "{held}");
    let saved = run_successfully(&bench, &["edit", "commit", "--session", &session]);
    assert!(saved.contains(&format!("{FILE}:3:9: error CS0103")), "{saved}");
}

#[test]
fn errors_refuse_an_edit_where_the_manifest_says_so() {
    let bench = bench_with("sh check.sh\"\non_lost = \"refuse");
    let before = read(&bench, FILE);
    let refused = bench.run(&replace("Known;", "1; // Bad"));
    assert!(refused.code == 2 && refused.all().contains("error CS0103"), "{refused:?}");
    assert_eq!(read(&bench, FILE), before);
    let refused = bench.run(&[
        "edit",
        "add_member",
        "--symbol",
        "Trade.Till",
        "--new-text",
        "/// <summary>Bad.</summary>\npublic int One() => 1;",
    ]);
    assert!(refused.code == 2 && refused.all().contains("error CS0103"), "{refused:?}");
    assert_eq!(read(&bench, FILE), before);
    run_successfully(&bench, &replace("Known;", "1;"));
}

#[test]
fn a_check_that_fails_or_takes_too_long_is_said() {
    let bench = bench_with("echo no SDK; exit 3");
    let said = run_successfully(&bench, &replace("Known;", "1;"));
    assert!(
        said.contains("not compiled: the check ended with exit status: 3 and names no error: no SDK"),
        "{said}"
    );
    let bench = bench_with("sleep 60\"\ncheck_seconds = 1\n#\"");
    let said = run_successfully(&bench, &replace("Known;", "1;"));
    assert!(said.contains("not compiled: the check took more than 1 s"), "{said}");
}
