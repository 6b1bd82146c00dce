//! Edits that leave names without a meaning: said with the answer, or refused where that is asked for.

use crate::bench::Bench;
use std::fs;

const FILE: &str = "src/MemoTree.Core/Till.cs";
const TILL: &str = "namespace Trade;\n\npublic class Till\n{\n    public int Count;\n    public int Twice() => Count * 2;\n}\n";

fn till() -> Bench {
    let bench = Bench::memotree();
    bench.write(FILE, TILL);
    assert_eq!(bench.run(&["search", "Till"]).code, 0);
    bench
}

fn text(bench: &Bench) -> String {
    fs::read_to_string(bench.root().join(FILE)).expect("a file")
}

const LOSING: &[&str] = &["edit", "replace", FILE, "--old-text", "Count * 2", "--new-text", "Coumt * 2"];

#[test]
fn a_strict_edit_loses_no_name() {
    let bench = till();
    let refused = bench.run(&[LOSING, &["--strict"]].concat());
    assert!(
        refused.code == 2
            && refused
                .err
                .contains("Coumt is not defined at src/MemoTree.Core/Till.cs:6:27 (did you mean Count?)"),
        "{}{}",
        refused.out,
        refused.err
    );
    assert_eq!(text(&bench), TILL);
    let sessions = bench.run(&["edit", "list"]).out;
    assert!(sessions.contains("0 sessions"), "{sessions}");
    let fine = bench.run(&[
        "edit", "replace", FILE, "--old-text", "Count * 2", "--new-text", "Count * 3", "--strict",
    ]);
    assert!(fine.code == 0 && text(&bench).contains("Count * 3"), "{}{}", fine.out, fine.err);
    let warned = bench.run(
        LOSING
            .iter()
            .map(|word| word.replace("* 2", "* 3"))
            .collect::<Vec<_>>()
            .iter()
            .map(String::as_str)
            .collect::<Vec<_>>()
            .as_slice(),
    );
    assert!(
        warned.code == 0 && warned.out.contains("Coumt is not defined"),
        "{}{}",
        warned.out,
        warned.err
    );
    assert_eq!(bench.run(&["edit", "undo"]).code, 0);
}

#[test]
fn the_manifest_refuses_edits_that_lose_names() {
    let bench = till();
    let manifest = fs::read_to_string(bench.root().join("cortex.toml")).expect("a manifest");
    bench.write("cortex.toml", &format!("{manifest}\n[edit]\non_lost = \"refuse\"\n"));
    assert_eq!(bench.run(LOSING).code, 2);
    let opened = bench.run(&["edit", "open", FILE, "--json"]).out;
    let opened: serde_json::Value = serde_json::from_str(&opened).expect("JSON");
    let session = opened["session"].as_str().expect("a handle").to_owned();
    let within = bench.run(&[LOSING, &["--session", &session]].concat());
    assert_eq!(within.code, 2, "{}{}", within.out, within.err);
    let diff = bench.run(&["edit", "diff", "--session", &session]).out;
    assert!(!diff.contains("Coumt"), "{diff}");
    assert_eq!(text(&bench), TILL);
    bench.write("cortex.toml", &format!("{manifest}\n[edit]\non_lost = \"stop\"\n"));
    let unknown = bench.run(&["status"]);
    assert!(unknown.err.contains("neither warn nor refuse"), "{}{}", unknown.out, unknown.err);
}

#[test]
fn a_member_with_meaningless_names_is_not_added() {
    let bench = till();
    let add = |member: &str| bench.run(&["edit", "add_member", "--symbol", "Trade.Till", "--new-text", member]);
    for (member, why) in [
        ("public int Half() => Countt / 2;", "Countt is not defined"),
        ("public int Half() => Twice(1);", "no Twice takes the arguments"),
        (
            "public int Half() { return new NodeStor().Count; }",
            "NodeStor would refer to nothing",
        ),
    ] {
        let refused = add(member);
        assert!(
            refused.code == 2 && refused.err.contains(why),
            "{member}: {}{}",
            refused.out,
            refused.err
        );
    }
    assert_eq!(text(&bench), TILL);
    assert_eq!(add("public int Half() => Twice() / 4;").code, 0);
}
