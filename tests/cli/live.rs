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
        (vec!["../x.cs"], 2, "../x.cs leads out of the workspace"),
        (vec!["/etc/passwd"], 2, "/etc/passwd leads out of the workspace"),
        (vec![".git/config"], 2, "belongs to git"),
        (vec![".cortex/live"], 2, "belongs to cortex"),
        (vec!["gone.cs"], 5, "there is no file gone.cs"),
        (vec!["src"], 2, "src is no regular file"),
        (vec!["link.cs"], 2, "leads out of the workspace"),
        (vec!["binary.cs"], 2, "binary.cs is not shown: it is binary"),
        (vec!["utf16.cs", "--session", "abc"], 2, "there is no session abc"),
        (vec!["utf16.cs"], 0, "note: utf16.cs is written in utf-16le"),
        (vec!["utf16.cs", "--cursor", "0"], 2, "the cursor is no LINE"),
        (
            vec!["utf16.cs", "--selection", "garbage"],
            2,
            "the selection is no LINE:COLUMN-LINE",
        ),
        (
            vec!["utf16.cs", "--selection", "2:1-1:1"],
            2,
            "the selection is no LINE:COLUMN-LINE",
        ),
        (vec!["utf16.cs", "--set-anchor", " "], 2, "an anchor's name is empty"),
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
fn what_sessions_save_is_a_version_and_each_has_its_own_view() {
    let bench = Bench::memotree();
    let edit = |args: &[&str]| bench.run(&[&["edit"], args, &["--json"]].concat());
    live(&bench, &[]);
    let place = bench.root().join(FILE);
    let saved = std::fs::read_to_string(&place).expect("text");
    let handle = || edit(&["open", FILE]).json()["session"].as_str().expect("a handle").to_owned();
    let (one, other) = (handle(), handle());
    let in_it = |session: &str, args: &[&str]| edit(&[args, &["--session", session]].concat());
    assert_eq!(
        in_it(&one, &["replace", FILE, "--old-text", "nowhere to be seen", "--new-text", "x"]).code,
        1
    );
    assert_eq!(in_it(&one, &["append", FILE, "--anchor", "$", "--new-text", "// one\n"]).code, 0);
    assert_eq!(
        in_it(&other, &["append", FILE, "--anchor", "$", "--new-text", "// other\n"]).code,
        0
    );
    // The file is as it was, and it is said who has more.
    let file = live(&bench, &["--since", "1"]);
    assert!(!text(&file).contains("// one"), "{}", text(&file));
    for session in [&one, &other] {
        let note = format!("edit session {session} has edits of it that are not saved: --session {session} shows it as it is there");
        let notes = file["notes"].as_array().expect("notes");
        assert!(notes.contains(&note.clone().into()), "{note}: {notes:?}");
    }
    assert!(
        text(&file).contains("by agent, replace\n  FAILED, nothing was changed: no match in"),
        "{}",
        text(&file)
    );
    // In the session both operations are versions, under their numbers.
    let view = live(&bench, &["--session", &one]);
    assert!(
        text(&view).contains("+// one") && text(&view).contains("by agent, append\n") && !text(&view).contains("// other"),
        "{}",
        text(&view)
    );
    assert_eq!(view["version"], 3, "opened, tried, appended");
    assert_eq!(std::fs::read_to_string(&place).expect("text"), saved);
    // Saved and taken back: two versions of the file, both by the agent, the second without a call in between.
    assert_eq!(in_it(&one, &["commit"]).code, 0);
    assert_eq!(in_it(&one, &["undo"]).code, 0);
    assert_eq!(in_it(&one, &["commit"]).code, 0);
    let after = live(&bench, &[]);
    for says in ["by agent, commit\n```diff\n", "+// one", "-// one"] {
        assert!(text(&after).contains(says), "{says}: {}", text(&after));
    }
    assert!(!text(&after).contains("by person\n```diff"), "{}", text(&after));
    assert_eq!(live(&bench, &["--session", &one, "--since", "3"])["shown"], "delta", "{after}");
    // Somebody writes the file beside the session, and takes it away.
    std::fs::write(&place, format!("// before\n{saved}")).expect("written");
    let beside = live(&bench, &["--session", &other]);
    assert!(
        text(&beside).contains("+// other") && !text(&beside).contains("// before"),
        "{}",
        text(&beside)
    );
    assert!(beside["notes"].to_string().contains("somebody else changed the file"), "{beside}");
    std::fs::remove_file(&place).expect("removed");
    let gone = live(&bench, &["--session", &other]);
    assert!(gone["notes"].to_string().contains("the file itself is gone"), "{gone}");
    let none = bench.run(&["context", "live", FILE]);
    assert!(
        none.code == 5 && none.all().contains("is the last that is remembered: --version"),
        "{none:?}"
    );
}

#[test]
fn what_is_remembered_is_for_its_owner() {
    use std::os::unix::fs::PermissionsExt;
    let bench = Bench::memotree();
    live(&bench, &[]);
    let mode = std::fs::metadata(bench.root().join(".cortex/live"))
        .expect("folder")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o700);
}
