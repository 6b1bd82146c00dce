//! One document in its present state, by the command line.

use crate::bench::Bench;
use crate::mcp::{Client, text as told_text};
use serde_json::{Value, json};

pub const FILE: &str = "src/MemoTree.Core/Storage/Crc32.cs";

pub fn live(bench: &Bench, args: &[&str]) -> Value {
    let ran = bench.run(&[&["context", "live", "--json", FILE], args].concat());
    assert_eq!(ran.code, 0, "{ran:?}");
    ran.json()
}

pub fn text(answer: &Value) -> &str {
    answer["contextText"].as_str().expect("a text")
}

#[test]
fn versions_of_a_document_and_their_authors() {
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
            "--since", "1", "--author", "agent", "--what", "a shorter name", "--result", "renamed", "--cursor", "12:4",
        ],
    );
    assert_eq!((&delta["version"], &delta["shown"]), (&2.into(), &"delta".into()));
    for says in [
        "by agent, a shorter name\n  part of the changes above\n",
        "Result: renamed\n",
        "- Cursor: line 12, column 4\n",
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
            "--since", "2", "--author", "agent", "--failed", "the text was not found", "--anchor", "green",
        ],
    );
    assert!(
        text(&failed).contains("FAILED, nothing was changed: the text was not found"),
        "{failed}"
    );
    assert!(text(&failed).contains("Since anchor 'green' (version 1):"), "{failed}");
    // The same as fields: the failed try, and the change before it.
    let [tried, ..] = &failed["recentDiffs"].as_array().expect("a list")[..] else {
        panic!("{failed}")
    };
    assert_eq!(
        (&tried["isError"], &tried["error"], &tried["patchSnippet"]),
        (&true.into(), &"the text was not found".into(), &"".into())
    );
    let changed = &delta["recentDiffs"][0];
    let line = 1 + first.lines().position(|line| line.contains("Compute")).expect("a line");
    assert_eq!(
        (
            &changed["versionId"], &changed["isError"], &changed["affectedLineStart"], &changed["affectedLineEnd"]
        ),
        (&2.into(), &false.into(), &line.into(), &line.into())
    );
    assert!(
        changed["patchSnippet"].to_string().contains("+") && changed["timestamp"].is_u64(),
        "{changed}"
    );
    assert_eq!(failed["anchorDiff"]["versionId"], 1, "{failed}");
    // An earlier version by request, and nothing else.
    let before = live(&bench, &["--version", "1"]);
    assert!(text(&before).contains(&first) && !text(&before).contains("Recent"), "{before}");
    // A reader with a forgotten version is shown the whole document.
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
fn an_earlier_version_is_shown_within_the_budget() {
    let bench = Bench::memotree();
    let lines: String = (1..=30_000).map(|number| format!("// line {number}\n")).collect();
    std::fs::write(bench.root().join(FILE), lines).expect("written");
    live(&bench, &["--cursor", "7"]);
    for (cursor, line) in [(&[][..], 1), (&["--cursor", "15000"], 15_000)] {
        let actual = live(&bench, &[&["--version", "1", "--budget", "500"], cursor].concat());
        let place = |at: usize| actual["lines"][at].as_u64().expect("a line");
        assert_eq!(actual["shown"], "window");
        assert!(
            actual["tokens"].as_u64().is_some_and(|tokens| tokens <= 500 && tokens > 300),
            "{actual}"
        );
        assert!(place(0) <= line && line <= place(1) && place(1) - place(0) < 200, "{actual}");
        assert!(text(&actual).contains(&format!("// line {line}\n")), "{actual}");
        assert_eq!(actual["cut"], json!(["lines of the document outside of the window"]));
    }
    assert!(
        text(&live(&bench, &[])).contains("- Cursor: line 7\n"),
        "what is only looked at is not noted"
    );
}

#[test]
fn by_mcp_a_document_is_cut_in_its_own_order() {
    let bench = Bench::memotree();
    let method = |number: usize| format!("\tstring M{number}()\n\t{{\n\t\treturn \"x\\n\" + \"\\t\\\"\" + nameof(M{number});\n\t}}\n");
    let members: String = (0..3000).map(method).collect();
    let file = "src/MemoTree.Core/Tabs.cs";
    bench.write(file, &format!("class Tabs\n{{\n{members}}}\n"));
    let mut client = Client::structured(&bench, true);
    for arguments in [
        json!({"plan": "rename it"}),
        json!({"budget": 1_000_000}),
        json!({"version": 1}),
        json!({"version": 1, "budget": 1_000_000}),
    ] {
        let mut arguments = arguments;
        (arguments["op"], arguments["file"]) = ("live".into(), file.into());
        let seen = client.call("context", arguments.clone());
        let (told, data) = (told_text(&seen), &seen["structuredContent"]);
        assert!(data["shortened"].is_null() && !told.contains("left out]"), "{data}");
        assert_eq!(
            (&data["shown"], &data["cut"]),
            (&"window".into(), &json!(["lines of the document outside of the window"]))
        );
        let (first, last) = (&data["lines"][0], data["lines"][1].as_u64().expect("a line"));
        assert!(told.contains(&format!("Lines {first} to {last}:\n```\n")) && last > 500, "{data}");
        assert_eq!(told.matches("\n```").count() % 2, 0, "every fence is closed");
        if arguments["version"].is_null() {
            assert!(
                told.contains("## Recent Diffs") && told.contains("- At version 1: rename it\n"),
                "{told}"
            );
        }
    }
}

#[test]
fn a_document_that_cannot_be_shown_is_refused_by_name() {
    let bench = Bench::memotree();
    std::fs::write(bench.root().join("large.cs"), vec![b'a'; (32 << 20) + 1]).expect("file");
    std::fs::write(bench.root().join("binary.cs"), b"a\0b").expect("file");
    std::fs::write(bench.root().join("utf16.cs"), b"\xff\xfea\0b\0").expect("file");
    std::os::unix::fs::symlink("/etc/passwd", bench.root().join("link.cs")).expect("link");
    for (args, code, says) in [
        (vec!["../x.cs"], 2, "../x.cs leads out of the workspace"),
        (vec!["/etc/passwd"], 2, "/etc/passwd leads out of the workspace"),
        (vec![".git/config"], 2, "belongs to git"),
        (vec![".cortex/edit"], 2, "belongs to cortex"),
        (vec!["gone.cs"], 2, "error[E_NO_FILE]: there is no file gone.cs"),
        (vec!["large.cs"], 2, "files over 32 MiB are not shown"),
        (vec!["src"], 2, "src is not a regular file"),
        (vec!["link.cs"], 2, "leads out of the workspace"),
        (vec!["binary.cs"], 2, "binary.cs is not shown: it is binary"),
        (vec!["utf16.cs", "--session", "abc"], 2, "there is no session abc"),
        (vec!["utf16.cs"], 0, "note: utf16.cs is written in utf-16le"),
        (
            vec!["utf16.cs", "--what", "tidy up"],
            0,
            "no version has the description 'tidy up'; it was not recorded",
        ),
        (vec!["utf16.cs", "--author", " "], 2, "the author's name is empty"),
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
        (vec!["utf16.cs", "--set-anchor", "x\n\n## Editor State"], 2, "a control character"),
        (
            vec!["utf16.cs", "--failed", "x", "--session", "abc"],
            2,
            "session and failed cannot go together",
        ),
        (vec!["utf16.cs", "--version", "7"], 2, "there is no version 7 of utf16.cs"),
        (vec!["utf16.cs", "--since", "1", "--version", "1"], 2, "cannot be used with"),
        (vec!["utf16.cs", "--plan", "x", "--version", "1"], 2, "do not combine it with plan"),
        (
            vec!["utf16.cs", "--anchor", "x", "--version", "1"],
            2,
            "do not combine it with anchor",
        ),
    ] {
        let ran = bench.run(&[&["context", "live"], args.as_slice()].concat());
        assert!(
            ran.code == code && ran.all().to_lowercase().contains(&says.to_lowercase()),
            "{args:?}: {ran:?}"
        );
    }
}

#[test]
fn a_session_is_compared_with_its_own_anchors() {
    let bench = Bench::memotree();
    let edit = |args: &[&str]| bench.run(&[&["edit"], args, &["--json"]].concat());
    let before = std::fs::read_to_string(bench.root().join(FILE)).expect("text");
    let session = edit(&["open", FILE]).json()["session"].as_str().expect("a handle").to_owned();
    let view = |args: &[&str]| live(&bench, &[&["--session", session.as_str()], args].concat());
    let append = |text: &str| {
        let ran = edit(&["append", FILE, "--anchor", "$", "--new-text", text, "--session", &session]);
        assert_eq!(ran.code, 0, "{ran:?}");
    };
    // The reader of an unedited document has a version to continue from.
    let first = view(&[]);
    assert!(!text(&first).contains("Anchor Diff"), "{first}");
    append("// one\n");
    let since = view(&["--since", &first["version"].to_string(), "--set-anchor", "green"]);
    assert_eq!(
        (&since["shown"], since["notes"].as_array().map(Vec::len)),
        (&"delta".into(), Some(0)),
        "{since}"
    );
    let whole = view(&[]);
    assert!(
        text(&whole).contains("Since an earlier state of the session (version 0):\n```diff"),
        "{whole}"
    );
    append("// two\n");
    // A foreign write that a session took over is a version of it. The store of drafts still has the text that was only viewed.
    let other = "src/MemoTree.Core/NodeId.cs";
    let looking = edit(&["open", other]).json()["session"].as_str().expect("a handle").to_owned();
    let of_other = |since: &str| {
        bench
            .run(&["context", "live", other, "--session", &looking, "--since", since, "--json"])
            .json()
    };
    assert_eq!(of_other("0")["shown"], "unchanged");
    bench.write(other, "class New { }\n");
    assert_eq!(edit(&["refresh", other, "--session", &looking]).code, 0);
    let refreshed = of_other("0");
    assert_eq!(
        (&refreshed["version"], &refreshed["shown"]),
        (&2.into(), &"delta".into()),
        "{refreshed}"
    );
    assert!(
        text(&refreshed).contains("by another program\n") && text(&refreshed).contains("+class New { }\n"),
        "{refreshed}"
    );
    assert_eq!(refreshed["notes"].as_array().map(Vec::len), Some(0), "{refreshed}");
    // A foreign write of the file is not part of the session's view.
    std::fs::write(bench.root().join(FILE), format!("// else\n{before}")).expect("written");
    let named = view(&["--anchor", "green"]);
    let diff = text(&named).split("## Anchor Diff").nth(1).expect("a difference").to_owned();
    assert!(
        diff.contains("Since anchor 'green' (version 2):") && diff.contains("+// two"),
        "{diff}"
    );
    assert!(!diff.contains("+// one") && !diff.contains("// else"), "{diff}");
    // The file has no anchor of that name; its own anchors are compared by their names.
    let none = live(&bench, &["--anchor", "green"]);
    assert!(
        none["notes"].to_string().contains("there is no anchor 'green': none has a name"),
        "{none}"
    );
    live(&bench, &["--set-anchor", "red"]);
    let of_file = view(&["--anchor", "red"]);
    assert!(text(&of_file).contains("Since anchor 'red' of the file (version 2):"), "{of_file}");
    assert!(text(&of_file).contains("-// else"), "{of_file}");
}

#[test]
fn each_version_names_its_author() {
    let bench = Bench::memotree();
    let edit = |args: &[&str]| bench.run(&[&["edit"], args, &["--json"]].concat());
    let place = bench.root().join(FILE);
    let before = std::fs::read_to_string(&place).expect("text");
    live(&bench, &[]);
    let append = |text: &str, more: &[&str]| {
        let ran = edit(&[&["append", FILE, "--anchor", "$", "--new-text", text], more].concat());
        assert_eq!(ran.code, 0, "{ran:?}");
    };
    let session = edit(&["open", FILE]).json()["session"].as_str().expect("a handle").to_owned();
    append("// one\n", &["--session", &session]);
    std::fs::write(&place, format!("// mine\n{before}")).expect("written");
    for order in ["commit", "close"] {
        assert_eq!(edit(&[order, "--session", &session]).code, 0);
    }
    std::fs::write(&place, format!("// mine\n// more\n{before}// one\n")).expect("written");
    append("// two\n", &[]);
    // An explicit author takes precedence: a commit of the same text saves nothing.
    let other = edit(&["open", FILE]).json()["session"].as_str().expect("a handle").to_owned();
    append("// same\n", &["--session", &other]);
    let now = std::fs::read_to_string(&place).expect("text");
    std::fs::write(&place, format!("{now}// same\n")).expect("written");
    live(&bench, &["--author", "bob"]);
    assert_eq!(edit(&["commit", "--session", &other]).code, 0);
    let actual = live(&bench, &[]);
    let recent = text(&actual).split("## ").nth(2).expect("differences").to_owned();
    let versions: Vec<(bool, Vec<&str>)> = recent
        .split("- Version ")
        .skip(1)
        .map(|one| {
            (
                one.contains(" by agent, "),
                one.lines().filter(|line| line.starts_with("+//")).collect(),
            )
        })
        .collect();
    assert_eq!(
        versions,
        [
            (false, vec!["+// same"]),
            (true, vec!["+// two"]),
            (false, vec!["+// more"]),
            (true, vec!["+// one"]),
            (false, vec!["+// mine"]),
        ],
        "{recent}"
    );
    assert!(recent.contains(" by bob\n"), "{recent}");
    // A save in a session is not a first view, and the session has its own plans.
    append("// more\n", &["--session", &other]);
    assert_eq!(edit(&["commit", "--session", &other]).code, 0);
    let view = live(&bench, &["--session", &other, "--plan", "rest", "--set-anchor", "green"]);
    assert!(
        text(&view).contains("by agent, commit\n  saved, the text is as before\n") && text(&view).contains("- At version 5: rest"),
        "{}",
        text(&view)
    );
    assert!(!text(&view).contains("first seen"), "{}", text(&view));
    assert!(!text(&live(&bench, &[])).contains("At version 5"));
    // The versions stay when the session ends.
    assert_eq!(edit(&["close", "--session", &other]).code, 0);
    assert_eq!(live(&bench, &[])["version"], 7);
}

#[test]
fn changes_merged_from_an_overlay_have_the_agent_as_author() {
    let bench = Bench::memotree();
    let place = bench.root().join(FILE);
    let before = std::fs::read_to_string(&place).expect("text");
    live(&bench, &[]);
    assert_eq!(bench.run(&["overlay", "open", "idea"]).code, 0);
    let file = bench.root().join("idea.txt");
    std::fs::write(&file, format!("{before}// idea\n")).expect("written");
    let put = bench.run(&["overlay", "put", "idea", FILE, "--from", file.to_str().expect("a path")]);
    assert_eq!(put.code, 0, "{put:?}");
    // A person writes meanwhile: the merge joins both, and each change has its own author.
    std::fs::write(&place, format!("// mine\n{before}")).expect("written");
    let merged = bench.run(&["overlay", "merge", "idea"]);
    assert_eq!(merged.code, 0, "{merged:?}");
    let seen = live(&bench, &[]);
    let recent = text(&seen).split("## ").nth(2).expect("differences").to_owned();
    let (newest, older) = recent.split_once("- Version 2: ").expect("two");
    assert!(
        newest.contains("by agent, overlay merge idea\n") && newest.contains("+// idea") && !newest.contains("+// mine"),
        "{recent}"
    );
    assert!(
        older.contains("by person\n") && older.contains("+// mine") && !older.contains("+// idea"),
        "{recent}"
    );
}

#[test]
fn a_cursor_out_of_range_is_corrected_with_a_note() {
    let bench = Bench::memotree();
    let write = |text: &str| std::fs::write(bench.root().join(FILE), text).expect("written");
    write("class A\n{\n}\n");
    let actual = live(&bench, &["--cursor", "900:7", "--selection", "1:1-2:9"]);
    assert!(
        text(&actual).contains("- Cursor: line 4, column 1\n- Selection: 1:1-2:2\n"),
        "{actual}"
    );
    assert_eq!(
        actual["notes"],
        json!([
            "the cursor cannot be at 900:7: 4:1 is used, the end of the text",
            "1:1-2:9 is not in the text: 1:1-2:2 is selected"
        ])
    );
    assert_eq!(live(&bench, &[])["notes"], json!([]), "said once");
    // A line longer than the budget is cut inside.
    write(&format!("{}\n", "漢字".repeat(20_000)));
    let cut = live(&bench, &["--cursor", "1:20000", "--budget", "500"]);
    assert!(text(&cut).contains("Line 1, characters 19"), "{cut}");
    assert!(cut["cut"].to_string().contains("the rest of line 1"), "{cut}");
    assert!(cut["tokens"].as_u64().is_some_and(|tokens| tokens > 300 && tokens <= 500), "{cut}");
}

#[test]
fn every_version_since_which_a_reader_asks_is_told_rightly() {
    let bench = Bench::memotree();
    let texts: Vec<String> = (1..=70).map(|number| format!("class A\n{{\n    int M{number};\n}}\n")).collect();
    for (number, text) in (1..).zip(&texts) {
        std::fs::write(bench.root().join(FILE), text).expect("written");
        let args: &[&str] = if number == 2 { &["--set-anchor", "green"] } else { &[] };
        assert_eq!(live(&bench, args)["version"], number);
    }
    for since in 1..=70 {
        let actual = live(&bench, &["--since", &since.to_string(), "--anchor", "green"]);
        // 64 versions are kept, and those of anchors: the second by name, the first by time.
        let shown = match since {
            70 => "unchanged",
            1 | 2 | 7.. => "delta",
            _ => "whole",
        };
        assert_eq!(actual["shown"], shown, "{since}: {actual}");
        assert_eq!(
            text(&actual).contains(&format!("-    int M{since};\n+    int M70;")),
            since != 70 && shown == "delta" || since == 2,
            "{actual}"
        );
        assert!(text(&actual).contains("Since anchor 'green' (version 2):"), "{actual}");
    }
    assert!(text(&live(&bench, &["--version", "2"])).contains("int M2;"));
    let gone = bench.run(&["context", "live", FILE, "--version", "3"]);
    assert!(
        gone.code == 2 && gone.all().contains("versions 7 to 70 are remembered, and 1, 2 as anchors"),
        "{gone:?}"
    );
    // Deleted and restored, the document is the same.
    std::fs::remove_file(bench.root().join(FILE)).expect("removed");
    assert_eq!(bench.run(&["context", "live", FILE]).code, 2);
    std::fs::write(bench.root().join(FILE), &texts[69]).expect("written");
    let back = live(&bench, &["--since", "70"]);
    assert_eq!((&back["version"], &back["shown"]), (&70.into(), &"unchanged".into()));
}

#[test]
fn readers_at_once_see_one_line_of_versions() {
    let bench = Bench::memotree();
    live(&bench, &[]);
    let session = bench.run(&["edit", "open", FILE, "--json"]).json()["session"]
        .as_str()
        .expect("a handle")
        .to_owned();
    let failed = bench.run(&[
        "edit", "replace", FILE, "--old-text", "nowhere to be seen", "--new-text", "x", "--session", &session,
    ]);
    assert_eq!(failed.code, 1, "{failed:?}");
    std::fs::write(bench.root().join(FILE), "class New { }\n").expect("written");
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..6).map(|_| scope.spawn(|| live(&bench, &[])["version"].clone())).collect();
        for reader in readers {
            assert_eq!(reader.join().expect("answered"), 3, "one that failed, and one that was written");
        }
    });
}

#[test]
fn only_the_owner_can_read_the_folder_of_journals() {
    use std::os::unix::fs::PermissionsExt;
    let bench = Bench::memotree();
    live(&bench, &[]);
    let mode = std::fs::metadata(bench.root().join(".cortex/edit"))
        .expect("folder")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o700);
}

#[test]
fn a_model_sees_a_document_and_what_belongs_to_a_task_by_one_tool() {
    let bench = Bench::memotree();
    let mut client = Client::structured(&bench, true);
    let built = client.call("context", json!({"op": "build", "query": "How are saves written?", "budget": 1000}));
    assert!(built["structuredContent"]["items"].is_array(), "{built}");
    let file = "src/MemoTree.Core/NodeId.cs";
    let seen = client.call("context", json!({"op": "live", "file": file}));
    assert!(
        told_text(&seen).contains("struct NodeId") && seen["structuredContent"]["message"].is_null(),
        "{seen}"
    );
    assert_eq!(
        (&seen["structuredContent"]["version"], &seen["structuredContent"]["shown"]),
        (&json!(1), &json!("whole"))
    );
    let again = client.call("context", json!({"op": "live", "file": file, "since": 1, "plan": "rename it"}));
    assert_eq!(again["structuredContent"]["shown"], "unchanged");
    // A document that fits the default budget is shown whole.
    let lines: String = (0..5000)
        .map(|number| format!("    // a line of a long document: {number}\n"))
        .collect();
    bench.write("src/MemoTree.Core/Long.cs", &lines);
    let long = client.call("context", json!({"op": "live", "file": "src/MemoTree.Core/Long.cs"}));
    let data = &long["structuredContent"];
    assert!(data["shortened"].is_null(), "{data}");
    assert_eq!(data["shown"], "window");
    assert!(told_text(&long).contains("Lines 1 to "), "{long}");
    let why = client.failure("context", json!({"op": "lve", "file": file}));
    assert!(why.contains("did you mean 'live'?"), "{why}");
}
