//! One document as it stands now, by the command line.

use crate::bench::Bench;
use serde_json::Value;

const FILE: &str = "src/MemoTree.Core/Storage/Crc32.cs";

fn live(bench: &Bench, args: &[&str]) -> Value {
    let ran = bench.run(&[&["context", "live", "--json", FILE], args].concat());
    assert_eq!(ran.code, 0, "{ran:?}");
    ran.json()
}

fn text(answer: &Value) -> &str {
    answer["contextText"].as_str().expect("a text")
}

#[test]
fn versions_of_a_document_and_who_made_them() {
    let bench = Bench::memotree();
    let place = bench.root().join(FILE);
    let first = std::fs::read_to_string(&place).expect("text");
    let whole = live(&bench, &["--plan", "rename Compute", "--set-anchor", "green"]);
    assert_eq!((&whole["version"], &whole["shown"]), (&1.into(), &"whole".into()));
    assert!(text(&whole).contains(&first), "{whole}");
    assert_eq!(live(&bench, &["--since", "1"])["shown"], "unchanged");
    std::fs::write(&place, first.replacen("Compute", "Sum", 1)).expect("written");
    let delta = live(
        &bench,
        &[
            "--since",
            "1",
            "--author",
            "agent",
            "--what",
            "a shorter name",
            "--result",
            "renamed",
            "--cursor",
            "12:4",
        ],
    );
    assert_eq!((&delta["version"], &delta["shown"]), (&2.into(), &"delta".into()));
    for says in [
        "by agent, a shorter name\n```diff\n",
        "Result: renamed\n",
        "- Cursor: line 12, column 4\n",
        "Since the anchor of ",
    ] {
        assert!(text(&delta).contains(says), "{says}: {}", text(&delta));
    }
    assert!(!text(&delta).contains(&first[..200]), "the document is not told twice");
    let joined: String = delta["message"]["content"]
        .as_array()
        .expect("sections")
        .iter()
        .map(|one| one["text"].as_str().expect("text"))
        .collect();
    assert_eq!((joined.as_str(), &delta["message"]["role"]), (text(&delta), &"user".into()));
    let failed = live(
        &bench,
        &[
            "--since",
            "2",
            "--author",
            "agent",
            "--failed",
            "the text was not found",
            "--anchor",
            "green",
        ],
    );
    assert!(
        text(&failed).contains("FAILED, nothing was changed: the text was not found"),
        "{failed}"
    );
    assert!(text(&failed).contains("Since anchor 'green' (version 1):"), "{failed}");
    // An earlier version, when it is asked for, and nothing but it.
    let before = live(&bench, &["--version", "1"]);
    assert!(text(&before).contains(&first) && !text(&before).contains("Recent"), "{before}");
    // A reader who has a version that is forgotten is shown the whole.
    let forgotten = live(&bench, &["--since", "99"]);
    assert_eq!(forgotten["shown"], "whole");
    assert!(
        forgotten["notes"][0]
            .as_str()
            .expect("a note")
            .starts_with("version 99 is not remembered")
    );
}

#[test]
fn a_long_document_is_a_window_and_an_outline() {
    let bench = Bench::memotree();
    let members: String = (0..1249)
        .map(|number| format!("    int M{number}()\n    {{\n        return {number};\n    }}\n"))
        .collect();
    std::fs::write(bench.root().join(FILE), format!("class Long\n{{\n{members}}}\n")).expect("written");
    let answer = live(&bench, &["--cursor", "2400", "--budget", "2000"]);
    assert_eq!(answer["shown"], "window");
    assert!(answer["tokens"].as_u64().expect("tokens") <= 2000);
    let (first, last) = (
        answer["lines"][0].as_u64().expect("a line"),
        answer["lines"][1].as_u64().expect("a line"),
    );
    assert!(first < 2400 && 2400 < last && last - first > 50, "{first} {last}");
    assert!(text(&answer).contains("Outline:\n```\n     1 class Long\n"), "{answer}");
    assert_eq!(answer["cut"][0], "lines of the document outside of the window");
}

#[test]
fn what_cannot_be_shown_is_refused_by_name() {
    let bench = Bench::memotree();
    std::fs::write(bench.root().join("binary.cs"), b"a\0b").expect("file");
    std::fs::write(bench.root().join("utf16.cs"), b"\xff\xfea\0b\0").expect("file");
    std::os::unix::fs::symlink("/etc/passwd", bench.root().join("link.cs")).expect("link");
    for (args, code, says) in [
        (vec!["../x.cs"], 2, "this leads out of the workspace"),
        (vec!["/etc/passwd"], 2, "this leads out of the workspace"),
        (vec!["gone.cs"], 5, "there is no file gone.cs"),
        (vec!["src"], 5, "is no file"),
        (vec!["link.cs"], 5, "links are not followed"),
        (vec!["binary.cs"], 2, "binary.cs is no text"),
        (vec!["utf16.cs"], 0, "note: utf16.cs is written in utf-16le"),
        (vec!["utf16.cs", "--cursor", "0"], 2, "the cursor is no LINE"),
        (vec!["utf16.cs", "--version", "7"], 2, "there is no version 7 of utf16.cs"),
        (vec!["utf16.cs", "--since", "1", "--version", "1"], 2, "cannot be used with"),
        (vec!["utf16.cs", "--plan", "x", "--version", "1"], 2, "plan cannot go with it"),
        (vec!["utf16.cs", "--anchor", "x", "--version", "1"], 2, "anchor cannot go with it"),
    ] {
        let ran = bench.run(&[&["context", "live"], args.as_slice()].concat());
        assert!(
            ran.code == code && ran.all().to_lowercase().contains(&says.to_lowercase()),
            "{args:?}: {ran:?}"
        );
    }
}

#[test]
fn edits_of_sessions_are_versions_and_what_is_not_saved_is_shown() {
    let bench = Bench::memotree();
    let edit = |args: &[&str]| bench.run(&[&["edit"], args, &["--json"]].concat());
    let first = live(&bench, &[]);
    let place = bench.root().join(FILE);
    let saved = std::fs::read_to_string(&place).expect("text");
    let opened = edit(&["open", FILE]).json();
    let session = opened["session"].as_str().expect("a handle").to_owned();
    let in_it = |args: &[&str]| edit(&[args, &["--session", &session]].concat());
    assert_eq!(
        in_it(&["replace", FILE, "--old-text", "nowhere to be seen", "--new-text", "x"]).code,
        1
    );
    assert_eq!(in_it(&["append", FILE, "--anchor", "$", "--new-text", "// the end\n"]).code, 0);
    let told = live(&bench, &["--since", &first["version"].to_string()]);
    assert!(
        text(&told).contains("+// the end") && text(&told).contains("by agent, append\n"),
        "{}",
        text(&told)
    );
    assert!(
        text(&told).contains("by agent, replace\n  FAILED, nothing was changed: no match in"),
        "{}",
        text(&told)
    );
    let note = told["notes"][0].as_str().expect("a note");
    assert_eq!(
        note,
        format!("edit session {session} has edits of it that are not saved: it is shown as it is there")
    );
    assert_eq!(std::fs::read_to_string(&place).expect("text"), saved);
    assert_eq!(told["version"], 3, "the failure and the edit");
    // Nothing is taken over twice, and saving is no version.
    assert_eq!(in_it(&["commit"]).code, 0);
    let after = live(&bench, &["--since", "3"]);
    assert_eq!(
        (&after["version"], &after["shown"], &after["notes"]),
        (&3.into(), &"unchanged".into(), &serde_json::json!([]))
    );
    assert_eq!(in_it(&["undo"]).code, 0);
    let back = live(&bench, &["--since", "3", "--author", "agent", "--what", "undo"]);
    assert!(text(&back).contains("-// the end"), "{}", text(&back));
}
