//! Edit sessions by the command line, JSON and the disk: what the library's tests do not cover.

use crate::bench::{Bench, git};
use crate::serve::Service;
use serde_json::Value;
use std::fs;
use std::io::Read;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

const FILE: &str = "src/MemoTree.Core/NodeId.cs";

/// Upper bound of any run.
const LONG: Duration = Duration::from_secs(300);

fn edit(bench: &Bench, args: &[&str]) -> (i32, Value) {
    let mut all = vec!["edit"];
    all.extend(args);
    all.push("--json");
    let ran = bench.run(&all);
    (ran.code, ran.json())
}

fn read(bench: &Bench) -> String {
    fs::read_to_string(bench.root().join(FILE)).expect("file")
}

#[test]
fn an_edit_is_saved_built_with_and_taken_back() {
    let bench = Bench::memotree();
    let before = read(&bench);
    let (code, done) = edit(
        &bench,
        &[
            "replace_symbol",
            "--symbol",
            "NodeId.IsNone",
            "--new-text",
            "public bool IsNothing => Value == 0;",
        ],
    );
    assert_eq!((code, &done["status"]), (2, &Value::from("Exception")), "{done}");
    let (code, done) = edit(
        &bench,
        &[
            "replace", "--path", FILE, "--old-text", "bool IsNone =>", "--new-text", "bool IsNothing =>",
        ],
    );
    assert_eq!(
        (code, &done["workflow_state"], &done["metrics"]["delta"]),
        (0, &Value::from("Idle"), &Value::from(3))
    );
    let outline = bench.run(&["outline", "NodeId"]).out;
    assert!(outline.contains("IsNothing") && !outline.contains("IsNone"), "{outline}");
    let session = done["session"].as_str().expect("a handle");
    assert_eq!(edit(&bench, &["undo", "--session", session]).0, 0);
    assert_eq!(read(&bench), before);
    for again in [vec!["undo"], vec!["undo", "--session", session]] {
        let (code, nothing) = edit(&bench, &again);
        assert_eq!(
            (code, &nothing["status"], &nothing["flags"]["mask"]),
            (1, &"NoMatch".into(), &0.into()),
            "{nothing}"
        );
        assert!(nothing["summary"].as_str().is_some_and(|why| why.contains("revert")), "{nothing}");
    }
    assert!(bench.run(&["outline", "NodeId"]).out.contains("IsNone"));
}

#[test]
fn a_replaced_type_has_other_members_and_the_others_what_they_had() {
    let bench = Bench::memotree();
    let path = "src/MemoTree.Core/NodeKind.cs";
    let (code, done) = edit(
        &bench,
        &[
            "insert_after",
            "--symbol",
            "NodeKind#Folder",
            "--new-text",
            "    /// <summary>Waits.</summary>\n    Inbox, // new",
        ],
    );
    assert_eq!((code, &done["path"]), (0, &Value::from(path)), "{done}");
    let text = fs::read_to_string(bench.root().join(path)).expect("file");
    assert!(
        text.contains(
            "    Folder,\n    /// <summary>Waits.</summary>\n    Inbox, // new\n    /// <summary>Holds text.</summary>\n    Note,\n"
        ),
        "{text}"
    );
    let (code, done) = edit(
        &bench,
        &[
            "replace_symbol",
            "--symbol",
            "NodeKind",
            "--new-text",
            "public enum NodeKind { Folder, Leaf }",
        ],
    );
    assert_eq!(code, 0, "{done}");
    let outline = bench.run(&["outline", "NodeKind"]).out;
    assert!(
        outline.contains("Leaf") && outline.contains("What a node is for") && !outline.contains("Inbox"),
        "{outline}"
    );
    let two = "public enum NodeKind { Folder } public enum Other { }";
    let (code, done) = edit(&bench, &["replace_symbol", "--symbol", "NodeKind", "--new-text", two]);
    assert!(
        code == 2 && done["summary"].as_str().is_some_and(|told| told.contains("it would also declare")),
        "{done}"
    );
}

#[test]
fn the_branch_of_an_if_that_source_shows_is_edited() {
    let bench = Bench::memotree();
    let path = "src/MemoTree.Core/Cond.cs";
    let text = "public class Cond\n{\n#if NET5_0_OR_GREATER\n    public int M() => 9;\n#else\n    public int M() => 8;\n#endif\n}\n";
    bench.write(path, text);
    assert!(bench.run(&["source", "Cond#M"]).out.contains("=> 9"));
    let asked = ["replace_symbol", "--symbol", "Cond#M", "--new-text", "    public int M() => 7;"];
    let (code, refused) = edit(&bench, &[&asked[..], &["--path", path]].concat());
    let actual = refused["summary"].as_str().unwrap_or_default();
    assert!(
        code == 2 && actual.contains("depends on the preprocessor symbols of the file"),
        "{refused}"
    );
    let (code, done) = edit(&bench, &asked);
    assert_eq!(code, 0, "{done}");
    let now = fs::read_to_string(bench.root().join(path)).expect("file");
    assert_eq!(now, text.replace("=> 9", "=> 7"));
}

#[test]
fn a_member_of_which_two_files_have_parts_is_not_guessed() {
    let bench = Bench::memotree();
    let [one, other] = ["src/MemoTree.Core/Parts.cs", "src/MemoTree.Core/Parts.More.cs"];
    bench.write(one, "partial class Parts\n{\n    partial void Run();\n    int X;\n}\n");
    bench.write(other, "partial class Parts\n{\n#if !NEVER\n    partial void Run() { }\n#endif\n}\n");
    let asked = [
        "replace_symbol",
        "--symbol",
        "Parts#Run",
        "--new-text",
        "    partial void Run() { X = 1; }",
    ];
    let refused = bench.run(&[&["edit"], &asked[..], &["--json"]].concat());
    let stderr: Value = serde_json::from_str(&refused.err).expect("JSON");
    assert_eq!(
        (refused.code, &stderr["message"]),
        (2, &Value::from("Parts#Run() is declared in 2 files")),
        "{refused:?}"
    );
    assert_eq!(stderr["candidates"], serde_json::json!([other, one]));
    let (code, done) = edit(&bench, &["insert_before", "--symbol", "Parts#X", "--new-text", "    int Y;"]);
    assert_eq!((code, &done["path"]), (0, &Value::from(one)), "{done}");
}

#[test]
fn a_patch_of_gits_makes_the_tree_that_git_has() {
    let bench = Bench::documents();
    let root = bench.root();
    let folder = bench.beside("git");
    fs::create_dir_all(folder.join("docs/\u{e4}")).expect("folder");
    git(&folder, &["init", "--quiet"]);
    for name in ["docs/empty.md", "docs/full.md", "docs/moved.md"] {
        let text = if name == "docs/empty.md" { "" } else { "one\r\ntwo\r\n" };
        fs::write(folder.join(name), text).expect("file");
        bench.write(name, text);
    }
    git(&folder, &["add", "--all"]);
    git(&folder, &["commit", "--quiet", "--message", "one"]);
    fs::write(folder.join("docs/empty.md"), "now full\r\n").expect("file");
    fs::write(folder.join("docs/full.md"), "").expect("file");
    fs::write(folder.join("docs/new.md"), "").expect("file");
    fs::rename(folder.join("docs/moved.md"), folder.join("docs/\u{e4}/\"it\".md")).expect("moved");
    git(&folder, &["add", "--all"]);
    let patch = bench.beside("x.patch").to_string_lossy().into_owned();
    git(&folder, &["diff", "--cached", "--output", &patch]);
    let ran = bench.run(&["edit", "patch", "--file", &patch, "--json"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    for name in [
        "docs/empty.md", "docs/full.md", "docs/new.md", "docs/\u{e4}/\"it\".md", "docs/moved.md",
    ] {
        let (made, expected) = (fs::read(root.join(name)).ok(), fs::read(folder.join(name)).ok());
        assert_eq!(made, expected, "{name}");
    }
    let session = ran.json()["session"].as_str().expect("a handle").to_owned();
    assert_eq!(bench.run(&["edit", "undo", "--session", &session]).code, 0);
    assert_eq!(fs::read(root.join("docs/moved.md")).expect("back"), b"one\r\ntwo\r\n");
    assert!(!root.join("docs/new.md").exists());
}

#[test]
fn exit_codes_and_forms() {
    let bench = Bench::memotree();
    let before = read(&bench);
    let args = ["edit", "open", "--path", FILE, "--json"];
    let session = bench.run(&args).json()["session"].as_str().expect("a handle").to_owned();
    let in_session = |args: &[&str]| {
        let mut all = vec!["edit", args[0], "--session", &session];
        all.extend(&args[1..]);
        bench.run(&all)
    };
    let several = in_session(&["replace", "--old-text", "NodeId", "--new-text", "Id", "--full"]);
    assert_eq!(several.code, 1);
    assert!(
        several
            .out
            .starts_with("status: `MultiMatch`\nstate: `SelectionPending`\nflags: `SelectionPending`\n\n### [Warning] 概览\n- summary: "),
        "{several:?}"
    );
    assert!(several.out.contains("\n| 1 | `[[SEL#1]]` | `[[/SEL#1]]` | "));
    let brief = in_session(&["candidates", "--from", "2"]);
    assert!(
        brief.out.starts_with("MultiMatch: ") && brief.out.contains("[[SEL#2]]"),
        "{brief:?}"
    );
    let basic = in_session(&["candidates", "--from", "2", "--basic"]);
    assert!(!basic.out.contains("[[SEL#2]]"), "{basic:?}");
    assert_eq!(in_session(&["commit"]).code, 2, "a choice waits");
    assert_eq!(in_session(&["replace_selection", "--selection-id", "1"]).code, 0);
    assert_eq!(in_session(&["replace", "--old-text", "nowhere at all", "--new-text", "x"]).code, 1);
    assert_eq!(in_session(&["replace", "--old-text", "x"]).code, 2);
    assert_eq!(read(&bench), before);
    assert_eq!(in_session(&["commit"]).code, 0);
    assert_eq!(read(&bench), before.replacen("NodeId", "Id", 1));
    assert_eq!(in_session(&["undo"]).code, 0);
    assert_eq!(in_session(&["commit"]).code, 0);
    assert_eq!(read(&bench), before);
    assert_eq!(in_session(&["close"]).code, 0);
    assert_eq!(in_session(&["diff"]).code, 2);
    // A patch from a file, and a batch as JSON.
    let patch = format!(
        "--- a/{FILE}\n+++ b/{FILE}\n@@ -1,1 +1,2 @@\n+// new\n {}\n",
        before.lines().next().expect("a line")
    );
    fs::write(bench.beside("x.patch"), patch).expect("file");
    let patched = bench.run(&["edit", "patch", "--file", &bench.beside("x.patch").to_string_lossy()]);
    assert_eq!(patched.code, 0, "{patched:?}");
    let one = format!("{{\"path\": \"{FILE}\", \"oldText\": \"// new\\n\", \"newText\": \"\"}}");
    let batch = bench.run(&["edit", "batch", "--edits", &one]);
    assert_eq!((batch.code, read(&bench)), (0, before), "{batch:?}");
}

#[test]
fn nothing_is_written_that_is_not_the_workspaces_own() {
    let bench = Bench::memotree();
    fs::create_dir(bench.root().join(".git")).expect("folder");
    fs::write(bench.root().join(".git/config"), "one").expect("file");
    fs::write(bench.beside("secret"), "one").expect("file");
    std::os::unix::fs::symlink(bench.beside("secret"), bench.root().join("link.cs")).expect("link");
    let replace = |path: &str, more: &[&str]| {
        let mut all = vec!["replace", "--path", path, "--old-text", "one", "--new-text", "two"];
        all.extend(more);
        edit(&bench, &all)
    };
    for path in [
        "../secret", "link.cs", ".git/config", ".cortex/window.json", "cortex.toml", "src", "nowhere.cs",
    ] {
        let (code, answer) = replace(path, &[]);
        assert_eq!((code, &answer["status"]), (2, &Value::from("Exception")), "{path}: {answer}");
        assert!(answer["guidance"].is_string() && answer["session"].is_null(), "{answer}");
    }
    assert_eq!(fs::read(bench.beside("secret")).expect("file"), b"one");
    assert_eq!(fs::read(bench.root().join(".git/config")).expect("file"), b"one");
    // The manifest, with permission.
    assert_eq!(replace("cortex.toml", &["--manifest"]).0, 1, "it has no such text");
    // A save that the disk refuses stays in the buffer.
    fs::write(bench.root().join("only.cs"), "one").expect("file");
    let mut mode = fs::metadata(bench.root().join("only.cs")).expect("file").permissions();
    mode.set_readonly(true);
    fs::set_permissions(bench.root().join("only.cs"), mode).expect("mode");
    let (code, answer) = replace("only.cs", &[]);
    assert_eq!(
        (code, &answer["status"], &answer["workflow_state"]),
        (5, &Value::from("PersistFailure"), &Value::from("PersistPending"))
    );
    assert_eq!(fs::read(bench.root().join("only.cs")).expect("file"), b"one");
}

#[test]
fn edits_at_once_are_all_made() {
    let bench = Bench::documents();
    let text: String = (0..8).map(|number| format!("line {number} end\n")).collect();
    bench.write("docs/a.md", &text);
    std::thread::scope(|scope| {
        for number in 0..8 {
            let bench = &bench;
            scope.spawn(move || {
                let (old, new) = (format!("line {number} end"), format!("LINE {number}"));
                let ran = bench.run(&["edit", "replace", "--path", "docs/a.md", "--old-text", &old, "--new-text", &new]);
                assert_eq!(ran.code, 0, "{ran:?}");
            });
        }
    });
    let expected: String = (0..8).map(|number| format!("LINE {number}\n")).collect();
    assert_eq!(fs::read_to_string(bench.root().join("docs/a.md")).expect("file"), expected);
}

#[test]
fn beside_a_service_what_others_write_is_noticed_when_it_happens() {
    let bench = Bench::documents();
    let service = Service::start(&bench);
    let opened = bench.run(&["edit", "open", "docs/a.md", "--json"]).json();
    let session = opened["session"].as_str().expect("a handle");
    let note = bench.root().join(format!(".cortex/edit/sessions/{session}.json"));
    let kept = || fs::read_to_string(&note).expect("a session");
    assert!(!kept().contains("updated"));
    let before = fs::read_to_string(bench.root().join("docs/a.md")).expect("file");
    bench.write("docs/a.md", &format!("{before}and more\n"));
    let begun = Instant::now();
    while !kept().contains("the content is updated") {
        assert!(begun.elapsed() < LONG, "nobody noticed");
        std::thread::yield_now();
    }
    drop(service);
    let appended = bench.run(&["edit", "append", "--session", session, "--anchor", "$", "--new-text", "the end\n"]);
    assert!(
        appended.code == 0 && appended.out.contains("the content is updated"),
        "{appended:?}"
    );
    assert_eq!(bench.run(&["edit", "commit", "--session", session]).code, 0);
    let now = fs::read_to_string(bench.root().join("docs/a.md")).expect("file");
    assert_eq!(now, format!("{before}and more\nthe end\n"));
}

#[test]
fn a_wrong_edit_is_answered_with_what_works() {
    let bench = Bench::documents();
    let result_of = |args: &[&str]| {
        let ran = bench.run(args);
        assert_eq!(ran.code, 2, "{ran:?}");
        ran.err
    };
    let form = "help: write cortex edit replace PATH --old-text TEXT|--selector QUERY --new-text TEXT [--all] [--session HANDLE]";
    assert!(result_of(&["edit", "replace", "docs/a.md", "--old-text", "two"]).contains(form));
    assert!(result_of(&["edit", "replace", "docs/a.md", "two", "2"]).contains(form));
    assert!(result_of(&["edit", "docs/a.md"]).contains("as `cortex edit replace PATH --old-text TEXT --new-text TEXT`"));
    assert!(result_of(&["edit", "commit"]).contains("help: write cortex edit commit --session HANDLE [PATH]"));
    let help = bench.run(&["edit", "replace", "--help"]).out;
    assert!(
        help.contains("Example:\n  cortex edit replace src/Core/Node.cs --old-text"),
        "{help}"
    );
    assert!(!help.contains("--selection-id"), "only what it needs: {help}");
    let ran = bench.run(&["edit", "replace", "docs/a.md", "--old-text", "two", "--new-text", "2"]);
    assert_eq!(ran.code, 0, "{ran:?}");
}

#[test]
fn logs_tell_of_operations_by_their_ids() {
    let bench = Bench::documents();
    let mut command = bench.command(&[
        "edit", "replace", "--path", "docs/a.md", "--old-text", "two", "--new-text", "2", "--json",
    ]);
    let ran = bench.ran(
        command
            .env("CORTEX_DEBUG_CATEGORIES", "TextEdit.MatchTrace")
            .output()
            .expect("it runs"),
    );
    let log = fs::read_to_string(bench.root().join(".cortex/edit/log/TextEdit.MatchTrace.log")).expect("a log");
    let line: Value = serde_json::from_str(log.lines().next().expect("a line")).expect("JSON");
    assert_eq!(
        (&line["operation_id"], &line["status"]),
        (&ran.json()["operation_id"], &Value::from("Success"))
    );
    assert!(line["micros"].is_u64() && line["flags"].is_array(), "{line}");
    bench.run(&["edit", "list"]);
    assert_eq!(fs::read_dir(bench.root().join(".cortex/edit/log")).expect("folder").count(), 1);
}

/// Returns a long text with a word on a line of its own.
fn text(word: &str) -> String {
    format!("{}{word}\n{}", "a line of text\n".repeat(60_000), "and more\n".repeat(60_000))
}

/// Runs a command and kills it after `time`, unless it has ended.
fn killed_after(command: &mut Command, time: Duration) {
    let mut child = command.stdout(Stdio::piped()).spawn().expect("it starts");
    let mut out = child.stdout.take().expect("piped");
    let (send, ended) = mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let _ = out.read_to_end(&mut Vec::new());
            let _ = send.send(());
        });
        let _ = ended.recv_timeout(time);
        child.kill().expect("killed");
        child.wait().expect("gone");
    });
}

/// Kills at moments spread over the length of an edit: the file is the old or the new one, and the next edit works.
#[test]
fn a_killed_edit_leaves_the_old_file_or_the_new_one() {
    let bench = Bench::documents();
    let path = bench.root().join("docs/a.md");
    fs::write(&path, text("one")).expect("file");
    let began = Instant::now();
    let args = |old: &'static str, new: &'static str| ["edit", "replace", "--path", "docs/a.md", "--old-text", old, "--new-text", new];
    assert_eq!(bench.run(&args("one\n", "two\n")).code, 0);
    let whole = began.elapsed();
    let mut seen = [0; 2];
    for part in 0..16 {
        fs::write(&path, text("one")).expect("file");
        killed_after(&mut bench.command(&args("one\n", "two\n")), whole * part / 14);
        let now = fs::read_to_string(&path).expect("file");
        let new = now == text("two");
        assert!(new || now == text("one"), "a mixture of {} bytes", now.len());
        seen[usize::from(new)] += 1;
        let (old, next) = if new { ("two\n", "three\n") } else { ("one\n", "three\n") };
        assert_eq!(bench.run(&args(old, next)).code, 0);
        assert_eq!(fs::read_to_string(&path).expect("file"), text("three"));
        let left: Vec<_> = fs::read_dir(bench.root().join("docs")).expect("folder").collect();
        assert_eq!(left.len(), 2, "nothing is left lying about: {left:?}");
    }
    assert!(seen[0] > 0, "no edit was killed in time");
}

/// A batch killed between its files, without an answer: the next edit command finds all of them saved, or none.
#[test]
fn a_killed_batch_leaves_all_files_or_none() {
    let bench = Bench::documents();
    let names = ["docs/x.md", "docs/y.md", "docs/z.md"];
    let write = |word: &str| names.iter().for_each(|name| bench.write(name, &text(word)));
    let edits: Vec<String> = names
        .iter()
        .map(|name| format!("{{\"path\": \"{name}\", \"oldText\": \"one\\n\", \"newText\": \"two\\n\"}}"))
        .collect();
    let args = ["edit", "batch", "--edits", &edits[0], "--edits", &edits[1], "--edits", &edits[2]];
    write("one");
    let began = Instant::now();
    assert_eq!(bench.run(&args).code, 0);
    let whole = began.elapsed();
    let mut seen = [0; 2];
    for part in 0..16 {
        write("one");
        killed_after(&mut bench.command(&args), whole * part / 14);
        assert_eq!(bench.run(&["edit", "list"]).code, 0);
        let now: Vec<String> = names
            .iter()
            .map(|name| fs::read_to_string(bench.root().join(name)).expect("file"))
            .collect();
        let (all, none) = (now.iter().all(|now| *now == text("two")), now.iter().all(|now| *now == text("one")));
        assert!(all || none, "some of them, killed after {part}/14 of {whole:?}");
        seen[usize::from(all)] += 1;
    }
    assert!(seen[0] > 0, "no batch was killed in time");
}

#[test]
fn all_readers_report_an_unknown_encoding() {
    let bench = Bench::memotree();
    // A comment in Shift_JIS, and UTF-8 with a byte of another encoding.
    let japanese = b"// \x83\x52\x83\x81\x83\x93\x83\x67 one\n";
    fs::write(bench.root().join("docs/sjis.md"), japanese).expect("file");
    fs::write(bench.root().join("docs/mixed.md"), b"\xc3\xa9\nb\xe9 one\n").expect("file");
    for (path, why) in [
        (
            "docs/sjis.md",
            "looks like Shift_JIS; make it UTF-8 first (`iconv -f Shift_JIS -t UTF-8`)",
        ),
        ("docs/mixed.md", "it is UTF-8 but for byte 4, 0xe9 in line 2"),
    ] {
        let before = fs::read(bench.root().join(path)).expect("file");
        let (code, told) = edit(&bench, &["replace", path, "--old-text", "one", "--new-text", "two"]);
        assert_eq!(code, 2, "{told}");
        assert!(told["summary"].as_str().is_some_and(|summary| summary.contains(why)), "{told}");
        for args in [&["source", path][..], &["context", "live", path]] {
            let ran = bench.run(args);
            assert_eq!(ran.code, 2, "{}", ran.err);
            assert!(ran.err.contains("E_ENCODING") && ran.err.contains(why), "{}", ran.err);
        }
        assert_eq!(fs::read(bench.root().join(path)).expect("file"), before);
    }
}

#[test]
fn source_prints_an_error_for_each_argument_beside_the_code_of_others() {
    let bench = Bench::memotree();
    let one = bench.run(&["source", "nope.txt"]);
    assert!(one.code == 2 && one.err.contains("error[E_NO_FILE]"), "{}", one.err);
    let ran = bench.run(&["source", "NodeId#IsNone", "nope.txt", "Nodde"]);
    assert_eq!(ran.code, 2, "{}", ran.err);
    for told in [
        "IsNone => Value == 0;",
        "error[E_NO_FILE] nope.txt: there is no such file in the workspace\n",
        "error[SymbolNotFound] Nodde: ",
        "  help: ",
    ] {
        assert!(ran.out.contains(told), "{told}: {}", ran.out);
    }
}

#[test]
fn edits_by_symbols_are_of_csharp_alone() {
    let bench = Bench::memotree();
    let text = "export class NodeStore { }\n";
    bench.write("web/api.ts", text);
    let session = edit(&bench, &["open", "web/api.ts"]).1["session"]
        .as_str()
        .expect("a handle")
        .to_owned();
    let replace = [
        "replace_symbol", "--symbol", "NodeStore", "--new-text", "class NodeStore { int x; }",
    ];
    for args in [
        &["add_using", "web/api.ts", "--new-text", "System.Linq"][..],
        &["add_member", "web/api.ts", "--symbol", "NodeStore", "--new-text", "int x;"],
        &[&replace[..], &["web/api.ts"]].concat(),
        &[&replace[..], &["--session", &session]].concat(),
    ] {
        let ran = bench.run(&[&["edit"], args].concat());
        assert!(
            ran.code == 2 && ran.all().contains("web/api.ts: it is not a C# file"),
            "{args:?}: {ran:?}"
        );
        assert!(!ran.all().contains("E_NO_TARGET"), "{ran:?}");
        assert_eq!(fs::read_to_string(bench.root().join("web/api.ts")).expect("file"), text);
    }
    // The `#if` symbols of a file outside every source set are unknown.
    bench.write("bin/A.cs", "class A { }\n");
    let ran = bench.run(&["edit", "add_using", "bin/A.cs", "--new-text", "System.Linq"]);
    assert!(
        ran.code == 2 && ran.err.contains("E_NO_TARGET") && !ran.all().contains("added"),
        "{ran:?}"
    );
}
