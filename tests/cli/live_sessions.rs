//! Documents as they are in edit sessions, whatever happens to their files.

use crate::bench::Bench;
use crate::live::{FILE, live, text};
use serde_json::{Value, json};

fn edit(bench: &Bench, args: &[&str]) -> Value {
    let ran = bench.run(&[&["edit"], args, &["--json"]].concat());
    assert_eq!(ran.code, 0, "{ran:?}");
    ran.json()
}

fn opened(bench: &Bench, file: &str) -> String {
    edit(bench, &["open", file])["session"].as_str().expect("a handle").to_owned()
}

#[test]
fn edits_of_other_documents_do_not_evict_versions_of_a_session() {
    let bench = Bench::memotree();
    let session = opened(&bench, FILE);
    let append = |file: &str, text: &str| {
        edit(
            &bench,
            &["append", file, "--anchor", "$", "--new-text", text, "--session", &session],
        );
    };
    let view = |args: &[&str]| live(&bench, &[&["--session", session.as_str()], args].concat());
    append(FILE, "// first\n");
    view(&["--set-anchor", "green"]);
    for number in 0..34 {
        append("src/MemoTree.Core/NodeId.cs", &format!("// {number}\n"));
    }
    assert!(text(&view(&["--version", "2"])).contains("// first"));
    // Old versions of the document itself are forgotten, except those of anchors.
    for number in 0..33 {
        append(FILE, &format!("// {number}\n"));
    }
    let second = view(&["--version", "2"]);
    assert!(text(&second).contains("// first") && !text(&second).contains("// 0\n"), "{second}");
    let since = view(&["--since", "2", "--anchor", "green", "--budget", "4000"]);
    assert_eq!(
        (&since["shown"], since["notes"].as_array().map(Vec::len)),
        (&"delta".into(), Some(0)),
        "{since}"
    );
    assert!(text(&since).contains("Since anchor 'green' (version 2):"), "{since}");
    let gone = bench.run(&["context", "live", FILE, "--session", &session, "--version", "1"]);
    let actual = "versions 37 to 69 of the session are remembered, and 2 as anchors";
    assert!(gone.code == 2 && gone.all().contains(actual), "{gone:?}");
}

#[test]
fn a_document_whose_file_became_a_folder_is_still_shown() {
    let bench = Bench::memotree();
    let session = opened(&bench, FILE);
    edit(
        &bench,
        &["append", FILE, "--anchor", "$", "--new-text", "// mine\n", "--session", &session],
    );
    live(&bench, &[]);
    let place = bench.root().join(FILE);
    std::fs::remove_file(&place).expect("removed");
    std::fs::create_dir(&place).expect("folder");
    let view = live(&bench, &["--session", &session]);
    assert!(text(&view).contains("// mine"), "{view}");
    let why = format!("{FILE} cannot be read: it is not a regular file; shown is what session {session} has");
    assert_eq!(view["notes"], serde_json::json!([why]));
    // The absolute path works, too, as does the history of the file.
    let full = place.to_string_lossy().into_owned();
    assert_eq!(bench.run(&["context", "live", &full, "--session", &session]).code, 0);
    let none = bench.run(&["context", "live", FILE]);
    assert!(none.code == 5 && none.all().contains("--version 1 shows it"), "{none:?}");
    assert!(!text(&live(&bench, &["--version", "1"])).contains("// mine"));
    std::fs::remove_dir(&place).expect("removed");
    let gone = live(&bench, &["--session", &session]);
    assert!(
        gone["notes"]
            .to_string()
            .contains("the file was deleted; this is the text of session"),
        "{gone}"
    );
    // Folders are not documents.
    for folder in ["src", "src/MemoTree.Core/../MemoTree.Core"] {
        let ran = bench.run(&["context", "live", folder, "--session", &session]);
        assert!(ran.code == 2 && ran.all().contains("is not a regular file"), "{ran:?}");
    }
}

#[test]
fn the_result_of_a_plan_is_reported_with_the_next_plan() {
    let bench = Bench::memotree();
    let early = live(&bench, &["--result", "done"]);
    assert!(
        early["notes"].to_string().contains("this result has no reported plan before it"),
        "{early}"
    );
    live(&bench, &["--plan", "rename it"]);
    let actual = live(&bench, &["--plan", "test it", "--result", "renamed"]);
    let plans = "- At version 1: test it\n  Result: not known yet\n- At version 1: rename it\n  Result: renamed\n";
    assert!(
        text(&actual).contains(plans) && actual["notes"].as_array().is_some_and(Vec::is_empty),
        "{actual}"
    );
}

#[test]
fn all_names_of_a_file_are_one_document() {
    let bench = Bench::memotree();
    let session = opened(&bench, FILE);
    std::fs::hard_link(bench.root().join(FILE), bench.root().join("twin.cs")).expect("link");
    let look = |path: &str, args: &[&str]| {
        let ran = bench.run(&[&["context", "live", path, "--json"], args].concat());
        assert_eq!(ran.code, 0, "{ran:?}");
        ran.json()
    };
    let first = look("twin.cs", &[]);
    assert_eq!((&first["version"], &first["notes"]), (&json!(1), &json!([])));
    // The session's edits under the other name belong to the session.
    let edited = [
        "replace", FILE, "--session", &session, "--old-text", "namespace", "--new-text", "// mine\nnamespace",
    ];
    edit(&bench, &edited);
    let there = look("twin.cs", &["--session", &session]);
    assert!(text(&there).contains("// mine"), "{there}");
    assert_eq!(there["notes"][0], format!("session {session} has twin.cs as {FILE}"));
    let waits = look("twin.cs", &[])["notes"].to_string();
    assert!(
        waits.contains(&format!("edit session {session} has unsaved edits of it")),
        "{waits}"
    );
    edit(&bench, &["commit", "--session", &session]);
    edit(&bench, &["close", "--session", &session]);
    let saved = look("twin.cs", &["--since", "1"]);
    assert_eq!(saved["version"], 2);
    assert!(text(&saved).contains("by agent, commit\n"), "{saved}");
    // Both names share one sequence of versions.
    let other = look(FILE, &["--since", "2"]);
    assert_eq!((&other["version"], &other["shown"]), (&json!(2), &json!("unchanged")));
    let actual = format!("{FILE} and twin.cs are one file under two names (hard links), and one document: its history is that of twin.cs");
    assert_eq!(other["notes"], json!([actual]));
    // A new file under the old name is a document of its own.
    std::fs::remove_file(bench.root().join("twin.cs")).expect("removed");
    bench.write("twin.cs", "class Twin { }\n");
    assert_eq!(look(FILE, &[])["version"], 1);
    assert_eq!(look("twin.cs", &[])["version"], 3);
}

#[test]
fn a_document_that_a_session_cannot_show_is_refused_with_the_reason() {
    let bench = Bench::memotree();
    let session = opened(&bench, FILE);
    let refused = |path: &str, args: &[&str], says: &str| {
        let ran = bench.run(&[&["context", "live", path], args].concat());
        assert!(ran.code != 0 && ran.all().contains(says), "{path}: {ran:?}");
    };
    let inside = ["--session", session.as_str()];
    refused("src/MemoTree.Core/NodeId.cs", &inside, "is not a document of session");
    let name = "src/MemoTree.Core/New.cs";
    edit(&bench, &["create", name, "--new-text", "class New { }\n", "--session", &session]);
    let hint = format!("edit session {session} has it, with edits that are not saved: --session {session} shows that");
    refused(name, &[], &hint);
    assert_eq!(bench.run(&["context", "live", name, "--session", &session]).code, 0);
    edit(&bench, &["undo", "--session", &session]);
    refused(name, &inside, "was removed in session");
    bench.write(FILE, "class New { }\n");
    refused(FILE, &inside, "another program has written the file since");
    edit(&bench, &["refresh", FILE, "--session", &session]);
    assert!(text(&live(&bench, &inside)).contains("class New"));
}

#[test]
fn a_save_is_a_version_and_each_session_has_its_own_view() {
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
    // The file is unchanged, and notes name the sessions with more edits.
    let file = live(&bench, &["--since", "1"]);
    assert!(!text(&file).contains("// one"), "{}", text(&file));
    for session in [&one, &other] {
        let note = format!("edit session {session} has unsaved edits of it: --session {session} shows them");
        let notes = file["notes"].as_array().expect("notes");
        assert!(notes.contains(&note.clone().into()), "{note}: {notes:?}");
    }
    assert!(
        text(&file).contains("by agent, replace\n  FAILED, nothing was changed: no match in"),
        "{}",
        text(&file)
    );
    // In the session both operations are versions, with their numbers.
    let view = live(&bench, &["--session", &one]);
    assert!(
        text(&view).contains("+// one") && text(&view).contains("by agent, append\n") && !text(&view).contains("// other"),
        "{}",
        text(&view)
    );
    assert_eq!(view["version"], 3, "opened, tried, appended");
    assert_eq!(std::fs::read_to_string(&place).expect("text"), saved);
    // Saved and undone: two versions of the file, both by the agent, the second without a call in between.
    assert_eq!(in_it(&one, &["commit"]).code, 0);
    assert_eq!(in_it(&one, &["undo"]).code, 0);
    assert_eq!(in_it(&one, &["commit"]).code, 0);
    let after = live(&bench, &[]);
    for says in ["by agent, commit\n```diff\n", "+// one", "-// one"] {
        assert!(text(&after).contains(says), "{says}: {}", text(&after));
    }
    assert!(!text(&after).contains("by person\n```diff"), "{}", text(&after));
    assert_eq!(live(&bench, &["--session", &one, "--since", "3"])["shown"], "delta", "{after}");
    // Another program writes the file, and deletes it.
    std::fs::write(&place, format!("// before\n{saved}")).expect("written");
    let beside = live(&bench, &["--session", &other]);
    assert!(
        text(&beside).contains("+// other") && !text(&beside).contains("// before"),
        "{}",
        text(&beside)
    );
    assert!(beside["notes"].to_string().contains("another program changed the file"), "{beside}");
    std::fs::remove_file(&place).expect("removed");
    let gone = live(&bench, &["--session", &other]);
    assert!(gone["notes"].to_string().contains("the file was deleted"), "{gone}");
    let none = bench.run(&["context", "live", FILE]);
    assert!(
        none.code == 2 && none.all().contains("is the last that is remembered: --version"),
        "{none:?}"
    );
}

#[test]
fn an_edit_without_a_session_that_failed_is_told() {
    let bench = Bench::memotree();
    live(&bench, &[]);
    assert_ne!(
        bench
            .run(&["edit", "replace", FILE, "--old-text", "no such text", "--new-text", "x"])
            .code,
        0
    );
    let actual = live(&bench, &["--since", "1"]);
    assert_eq!(
        (&actual["recentDiffs"][0]["isError"], &actual["version"]),
        (&json!(true), &json!(2)),
        "{actual}"
    );
    assert!(text(&actual).contains("by agent, replace"), "{actual}");
    assert_eq!(live(&bench, &["--since", "2"])["recentDiffs"], json!([]));
}
