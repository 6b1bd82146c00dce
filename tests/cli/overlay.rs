//! Overlays by the command line: edits beside the workspace, built, compared, merged and discarded.

use crate::bench::{Bench, Ran};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;

pub const FILE: &str = "src/MemoTree.Core/NodeStore.cs";
pub const FROM: &str = "Nodes cannot be moved yet";

pub fn read(bench: &Bench, path: &str) -> String {
    fs::read_to_string(bench.root().join(path)).expect("file")
}

/// Puts a document from standard input.
pub fn put(bench: &Bench, name: &str, path: &str, bytes: &[u8]) -> Ran {
    let mut command = bench.command(&["overlay", "put", name, path, "--from", "-"]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    child.stdin.take().expect("a pipe").write_all(bytes).expect("written");
    bench.ran(child.wait_with_output().expect("it ends"))
}

pub fn json(bench: &Bench, args: &[&str]) -> (i32, Value) {
    let ran = bench.run(&[args, &["--json"]].concat());
    (ran.code, ran.json())
}

pub fn ok(bench: &Bench, args: &[&str]) -> String {
    let ran = bench.run(args);
    assert_eq!(ran.code, 0, "{ran:?}");
    ran.out
}

/// Returns all files of a folder with their bytes.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut todo = vec![folder.to_owned()];
    while let Some(path) = todo.pop() {
        if path.is_dir() {
            todo.extend(fs::read_dir(&path).expect("folder").map(|entry| entry.expect("entry").path()));
        } else {
            found.insert(
                path.strip_prefix(folder).expect("below").to_string_lossy().into_owned(),
                fs::read(&path).expect("file"),
            );
        }
    }
    found
}

pub fn ran(bench: &Bench, args: &[&str]) -> u64 {
    let built = bench.run(&[args, &["--json"]].concat());
    assert_eq!(built.code, 0, "{built:?}");
    built.json()["tally"]["ran"].as_u64().expect("a number")
}

#[test]
fn results_of_an_overlay_are_found_after_merging() {
    let bench = Bench::memotree();
    ok(&bench, &["build", "//..."]);
    ok(&bench, &["overlay", "open", "fix"]);
    let edited = read(&bench, FILE).replace(FROM, "Moving is for later");
    assert_eq!(put(&bench, "fix", FILE, edited.as_bytes()).code, 0);
    let (out, log) = (files(&bench.root().join(".cortex/out")), ok(&bench, &["log"]));
    let (code, built) = json(&bench, &["overlay", "build", "fix", "//..."]);
    let in_overlay = built["ran"].as_u64().expect("a number");
    assert!(code == 0 && (10..100).contains(&in_overlay), "{built}");
    let (_, again) = json(&bench, &["overlay", "build", "fix", "//..."]);
    assert_eq!(again["ran"], 0, "{again}");
    // The checkout itself is unchanged.
    assert_eq!(files(&bench.root().join(".cortex/out")), out);
    assert_eq!(ok(&bench, &["log"]), log);
    let (_, status) = json(&bench, &["status"]);
    assert_eq!(ran(&bench, &["build", "//..."]), 0, "{status}");
    assert_eq!(read(&bench, FILE).matches(FROM).count(), 1);
    // The overlay shows another output than the workspace.
    let within = ok(&bench, &["show", "//types/NodeStore:semantic", "--overlay", "fix"]);
    assert!(within.contains("Moving is for later") && !ok(&bench, &["show", "//types/NodeStore:semantic"]).contains("Moving is for later"));
    let merged = ok(&bench, &["overlay", "merge", "fix"]);
    assert_eq!(merged, format!("written {FILE}\noverlay fix is merged and has ended\n"));
    assert_eq!(read(&bench, FILE), edited);
    assert_eq!(ran(&bench, &["build", "//..."]), 0, "what the overlay made is there");
    assert_eq!(ok(&bench, &["show", "//types/NodeStore:semantic"]), within);
    assert_eq!(bench.run(&["overlay", "diff", "fix"]).code, 2, "it has ended");
}

#[test]
fn a_build_in_an_overlay_is_the_build_of_such_a_folder() {
    let (bench, clean) = (Bench::memotree(), Bench::memotree());
    ok(&bench, &["build", "//..."]);
    ok(&bench, &["overlay", "open", "all"]);
    let added =
        "namespace MemoTree.Core.Fresh;\n/// <summary>New.</summary>\npublic sealed class Newcomer { public NodeId Id => new(1); }\n";
    let edited = read(&bench, FILE).replace(FROM, "Later");
    let gone = "src/MemoTree.Core/Exchange/MarkdownImporter.cs";
    for (path, text) in [(FILE, edited.as_str()), ("src/MemoTree.Core/Fresh/Newcomer.cs", added)] {
        assert_eq!(put(&bench, "all", path, text.as_bytes()).code, 0);
        clean.write(path, text);
    }
    ok(&bench, &["overlay", "put", "all", gone, "--delete"]);
    fs::remove_file(clean.root().join(gone)).expect("removed");
    for label in [
        "//index:api", "//index:types", "//index:graph", "//types/NodeStore:semantic", "//types/Newcomer:outline", "//index:json",
    ] {
        let within = ok(&bench, &["show", label, "--overlay", "all"]);
        assert_eq!(within, ok(&clean, &["show", label]), "{label}");
    }
    // All other read-only commands support the overlay, too.
    assert!(ok(&bench, &["outline", "Newcomer", "--overlay", "all"]).contains("public NodeId Id"));
    assert!(ok(&bench, &["source", "Newcomer", "--overlay", "all"]).contains("Fresh/Newcomer.cs:"));
    assert!(ok(&bench, &["search", "Newcomer", "--overlay", "all"]).contains("MemoTree.Core.Fresh.Newcomer"));
    assert!(ok(&bench, &["query", "//types/Newcomer:outline", "--overlay", "all"]).contains("Fresh.Newcomer:outline"));
    let query = ["context", "build", "--query", "what is Newcomer", "--overlay", "all"];
    assert!(ok(&bench, &query).contains("MemoTree.Core.Fresh.Newcomer"));
    let none = bench.run(&["outline", "Newcomer"]);
    assert_eq!(none.code, 2, "{none:?}");
    for args in [
        &["gc"][..],
        &["edit", "list"],
        &["window", "show"],
        &["watch"],
        &["context", "build", "--query", "x", "--conversation", "new"],
    ] {
        let refused = bench.run(&[args, &["--overlay", "all"]].concat());
        assert!(refused.code == 2 && refused.err.contains("error[E_OVERLAY]"), "{refused:?}");
    }
    assert!(
        !bench.root().join(".cortex/window.json").exists(),
        "what was looked at in an overlay is not remembered"
    );
}

#[test]
fn overlays_are_apart_and_a_collection_keeps_what_they_made() {
    let bench = Bench::documents();
    ok(&bench, &["build", "//docs/...", "//index:total"]);
    for (name, text) in [("one", "a\n"), ("two", "a b c d\n")] {
        ok(&bench, &["overlay", "open", name]);
        assert_eq!(put(&bench, name, "docs/a.md", text.as_bytes()).code, 0);
        assert!(ok(&bench, &["overlay", "build", name, "//index:total"]).ends_with("2 ran\n"));
    }
    let total = |name: &str| ok(&bench, &["show", "//docs/docs/a.md:words", "--overlay", name]);
    assert!(total("one").starts_with('1') && total("two").starts_with('4'));
    assert!(ok(&bench, &["show", "//docs/docs/a.md:words"]).starts_with('3'));
    // While an overlay is open its results are kept; afterwards they are garbage like any other.
    let collect = ["gc", "--older-than", "0", "--keep-versions", "1"];
    ok(&bench, &collect);
    assert!(ok(&bench, &["overlay", "build", "one", "//index:total"]).ends_with(": 2 cached\n"));
    ok(&bench, &["overlay", "discard", "one"]);
    ok(&bench, &collect);
    assert!(ok(&bench, &["overlay", "build", "two", "//index:total"]).ends_with(": 2 cached\n"));
    ok(&bench, &["overlay", "open", "one"]);
    assert_eq!(put(&bench, "one", "docs/a.md", b"a\n").code, 0);
    assert!(ok(&bench, &["overlay", "build", "one", "//index:total"]).ends_with(": 2 ran\n"));
}

/// The next build of the checkout finds the overlay's results, even after a collection.
#[test]
fn a_collection_after_a_merge_keeps_what_the_next_build_needs() {
    let bench = Bench::documents();
    ok(&bench, &["build", "//docs/...", "//index:total"]);
    ok(&bench, &["overlay", "open", "o"]);
    for text in ["a b\n", "a b c d e\n"] {
        assert_eq!(put(&bench, "o", "docs/a.md", text.as_bytes()).code, 0);
        assert!(ok(&bench, &["overlay", "build", "o", "//index:total"]).ends_with("2 ran\n"));
    }
    ok(&bench, &["overlay", "merge", "o"]);
    let collect = ["gc", "--older-than", "0", "--keep-versions", "1"];
    ok(&bench, &collect);
    // A build of another target still needs them.
    ok(&bench, &["build", "//docs/docs/b.md:words"]);
    ok(&bench, &collect);
    assert_eq!(
        ran(&bench, &["build", "//docs/...", "//index:total"]),
        0,
        "what the overlay made is there"
    );
    // Afterwards the checkout's graph refers to the results it needs, and the rest is garbage.
    assert!(!bench.root().join(".cortex/edit/merged/results").exists());
    ok(&bench, &collect);
    assert_eq!(ran(&bench, &["build", "//docs/...", "//index:total"]), 0);
    bench.write("docs/a.md", "a b\n");
    assert_eq!(
        ran(&bench, &["build", "//docs/...", "//index:total"]),
        2,
        "what it made in between is gone"
    );
}

/// The same after a session was saved and closed.
#[test]
fn a_collection_after_a_closed_session_keeps_what_the_next_build_needs() {
    let bench = Bench::documents();
    ok(&bench, &["build", "//docs/...", "//index:total"]);
    let (_, opened) = json(&bench, &["edit", "open", "docs/a.md"]);
    let session = opened["session"].as_str().expect("a handle");
    let edit = ["edit", "write", "docs/a.md", "--session", session, "--new-text", "a b\n"];
    ok(&bench, &edit);
    assert!(ok(&bench, &["overlay", "build", session, "//index:total"]).ends_with("2 ran\n"));
    ok(&bench, &["edit", "commit", "--session", session]);
    ok(&bench, &["edit", "close", "--session", session]);
    // Opening another one removes the unneeded records.
    ok(&bench, &["overlay", "open", "o"]);
    ok(&bench, &["gc", "--older-than", "0", "--keep-versions", "1"]);
    assert_eq!(ran(&bench, &["build", "//docs/...", "//index:total"]), 0);
    assert!(!bench.root().join(".cortex/edit/merged/results").exists());
}

#[test]
fn a_conflict_names_what_happened_to_the_file_since_opening() {
    let bench = Bench::documents();
    ok(&bench, &["overlay", "open", "o"]);
    let kept = read(&bench, "docs/a.md");
    fs::remove_file(bench.root().join("docs/a.md")).expect("removed");
    insta::assert_snapshot!(put(&bench, "o", "docs/a.md", kept.as_bytes()).all(), @"
    exit 2
    error[E_OVERLAY]: docs/a.md was removed since the overlay o was opened: merging a document of it would bring it back
      help: put it with --onto-now (ontoNow) to create the file again
    ");
    bench.write("docs/a.md", "others'\n");
    let away = "*** Begin Patch\n*** Delete File: docs/a.md\n*** End Patch\n";
    fs::write(bench.beside("away"), away).expect("file");
    let away = bench.beside("away").to_string_lossy().into_owned();
    insta::assert_snapshot!(bench.run(&["overlay", "apply", "o", &away]).all(), @"
    exit 2
    error[E_OVERLAY]: docs/a.md was changed since the overlay o was opened: a document based on its former content would revert that change
      help: read the present file, and confirm its deletion with --onto-now (ontoNow)
    ");
    assert_eq!(ok(&bench, &["overlay", "apply", "o", &away, "--onto-now"]), "patched docs/a.md\n");
    ok(&bench, &["overlay", "put", "o", "docs/a.md", "--drop"]);
    bench.write("docs/a.md", &kept);
    assert_eq!(put(&bench, "o", "docs/a.md", b"mine\n").code, 0, "it is what it was");
    bench.write("docs/a.md", "others'\n");
    assert_eq!(bench.run(&["overlay", "merge", "o"]).code, 1);
    fs::write(bench.beside("both"), "both\n").expect("file");
    let both = bench.beside("both").to_string_lossy().into_owned();
    ok(&bench, &["overlay", "put", "o", "docs/a.md", "--from", &both, "--onto-now"]);
    assert_eq!(
        ok(&bench, &["overlay", "merge", "o"]),
        "written docs/a.md\noverlay o is merged and has ended\n"
    );
}

#[test]
fn of_an_edit_session_saving_is_said() {
    let bench = Bench::documents();
    let (_, opened) = json(&bench, &["edit", "open", "docs/a.md"]);
    let session = opened["session"].as_str().expect("a handle").to_owned();
    let diff = || ok(&bench, &["overlay", "diff", &session]);
    assert_eq!(diff(), format!("session {session} has nothing that is not saved\n"));
    let edit = [
        "edit", "replace", "docs/a.md", "--session", &session, "--old-text", "two", "--new-text", "2",
    ];
    ok(&bench, &edit);
    let built = ok(&bench, &["overlay", "build", &session, "//docs/docs/a.md:words"]);
    assert_eq!(built, format!("1 target with the edits of session {session}: 1 ran\n"));
    bench.write("docs/a.md", "one deux three\n");
    assert!(diff().starts_with("changed docs/a.md; the file changed in the workspace since, and saving conflicts\n"));
    let refused = bench.run(&["overlay", "merge", &session]);
    assert!(
        refused.code == 2 && refused.err.contains(&format!("`cortex edit commit --session {session}` saves it")),
        "{refused:?}"
    );
}

#[test]
fn bytes_are_taken_as_they_are_and_patches_as_they_say() {
    let bench = Bench::documents();
    let wide: Vec<u8> = std::iter::once(0xfeff_u16)
        .chain("one\r\n".encode_utf16())
        .flat_map(u16::to_le_bytes)
        .collect();
    ok(&bench, &["overlay", "open", "o", "--expires", "2h"]);
    assert_eq!(
        put(&bench, "o", "docs/w.md", &wide).out,
        "added   docs/w.md  (overlay o, 1 document)\n"
    );
    assert_eq!(
        put(&bench, "o", "docs/w.md", &wide).out,
        "same    docs/w.md  (overlay o, 1 document)\n"
    );
    fs::write(
        bench.beside("x.patch"),
        "--- a/docs/b.md\n+++ b/docs/b.md\n@@ -1 +1,2 @@\n four five\n+six\n",
    )
    .expect("file");
    let patch = bench.beside("x.patch").to_string_lossy().into_owned();
    assert_eq!(ok(&bench, &["overlay", "apply", "o", &patch]), "patched docs/b.md\n");
    fs::write(
        bench.beside("same.patch"),
        "--- a/docs/b.md\n+++ b/docs/b.md\n@@ -2 +2 @@\n-six\n+six\n",
    )
    .expect("file");
    let same = bench.beside("same.patch").to_string_lossy().into_owned();
    assert_eq!(ok(&bench, &["overlay", "apply", "o", &same]), "same    docs/b.md\n");
    let again = bench.run(&["overlay", "apply", "o", &patch.replace("x.patch", "none.patch")]);
    assert!(again.code == 5 && again.err.contains("error[E_READ]"), "{again:?}");
    fs::write(
        bench.beside("x.patch"),
        "--- a/docs/b.md\n+++ b/docs/b.md\n@@ -1 +1 @@\n-nine\n+ten\n",
    )
    .expect("file");
    let unfit = bench.run(&["overlay", "apply", "o", &patch]);
    assert!(
        unfit.code == 1 && unfit.err.starts_with("error[E_PATCH]") && unfit.err.contains("fits nowhere"),
        "{unfit:?}"
    );
    ok(&bench, &["overlay", "merge", "o"]);
    assert_eq!(fs::read(bench.root().join("docs/w.md")).expect("file"), wide);
    assert_eq!(read(&bench, "docs/b.md"), "four five\nsix\n");
    assert_eq!(
        ok(&bench, &["overlay", "list"]),
        "there is no overlay; `overlay open NAME` opens one\n"
    );
}

#[test]
fn an_invalid_request_is_refused_with_a_remedy() {
    let bench = Bench::documents();
    fs::create_dir(bench.root().join(".git")).expect("folder");
    fs::write(bench.beside("secret"), "x").expect("file");
    std::os::unix::fs::symlink("../../secret", bench.root().join("docs/link.md")).expect("link");
    ok(&bench, &["overlay", "open", "fix-docs"]);
    for (args, code, says) in [
        (&["overlay", "open", "../x"][..], 2, "this cannot name an overlay"),
        (&["overlay", "open", "x", "--expires", "soon"], 2, "expires: "),
        (&["overlay", "open", "x", "--expires", "0"], 2, "an overlay cannot live for so long"),
        (&["overlay", "diff", "fix-dogs"], 2, "did you mean fix-docs?"),
        (&["overlay", "build", "none", "//..."], 2, "there is no overlay of this name"),
        (&["build", "//...", "--overlay", "none"], 2, "there is no overlay of this name"),
        (&["overlay", "build", "fix-docs", "//none:x"], 2, "E_NO_TARGET"),
        (
            &["overlay", "put", "fix-docs", "docs/a.md"],
            2,
            "one of three for a file: a text, `delete` or `drop`",
        ),
        (
            &["overlay", "put", "fix-docs", "docs/none.md", "--delete"],
            2,
            "there is no file docs/none.md",
        ),
        (
            &["overlay", "put", "fix-docs", "../secret", "--delete"],
            2,
            "leads out of the workspace",
        ),
        (
            &["overlay", "put", "fix-docs", "docs/link.md", "--delete"],
            2,
            "leads out of the workspace",
        ),
        (&["overlay", "put", "fix-docs", ".git/config", "--delete"], 2, "belongs to git"),
        (&["overlay", "put", "fix-docs", "cortex.toml", "--delete"], 2, "is the manifest"),
        (&["overlay", "put", "fix-docs", "docs", "--delete"], 2, "is not a regular file"),
        (
            &["overlay", "put", "fix-docs", "docs/a.md", "--from", "none"],
            5,
            "none cannot be read",
        ),
        (&["overlay", "discard", "fix"], 2, "there is no overlay of this name"),
    ] {
        let ran = bench.run(args);
        assert!(ran.code == code && ran.err.contains(says), "{args:?}: {ran:?}");
    }
    assert_eq!(put(&bench, "fix-docs", "docs/a.md", b"a\0b").code, 2);
    fs::write(bench.beside("long.patch"), vec![b'\n'; (4 << 20) + 1]).expect("file");
    let long = bench.run(&["overlay", "apply", "fix-docs", &bench.beside("long.patch").to_string_lossy()]);
    assert!(
        long.code == 2 && long.err.contains("is larger than 4 MiB"),
        "a patch is not cut: {long:?}"
    );
    // An expired overlay is marked, and is removed when the next one is opened.
    let record = bench.root().join(".cortex/edit/overlays/fix-docs.json");
    let mut actual: Value = serde_json::from_slice(&fs::read(&record).expect("record")).expect("JSON");
    actual["usedAt"] = 1_000_000.into();
    fs::write(&record, actual.to_string()).expect("written");
    let over = bench.run(&["show", "//index:total", "--overlay", "fix-docs"]);
    assert!(
        over.code == 2 && over.err.contains("the overlay fix-docs has ended: it was not used for 7 days"),
        "{over:?}"
    );
    assert!(ok(&bench, &["overlay", "list"]).contains("its time is over"));
    ok(&bench, &["overlay", "open", "next"]);
    assert!(!record.exists());
}

#[test]
fn overlays_are_methods_of_the_service() {
    let bench = Bench::documents();
    let session = |requests: &[Value]| -> Vec<Value> {
        let mut child = bench
            .command(&["serve", "--stdio"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        let mut input = child.stdin.take().expect("a pipe");
        for request in requests {
            writeln!(input, "{request}").expect("written");
        }
        drop(input);
        let output = child.wait_with_output().expect("it ends");
        let mut answers: Vec<Value> = String::from_utf8(output.stdout)
            .expect("text")
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .filter(|answer: &Value| answer["id"].is_number())
            .collect();
        answers.sort_by_key(|answer| answer["id"].as_u64());
        answers
    };
    let request =
        |id: u32, method: &str, params: Value| serde_json::json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
    assert_eq!(
        session(&[request(1, "overlay.open", serde_json::json!({"name": "o"}))])[0]["result"]["new"],
        true
    );
    let put = serde_json::json!({"name": "o", "path": "docs/a.md", "text": "x\n"});
    assert_eq!(session(&[request(1, "overlay.put", put)])[0]["result"]["status"], "changed");
    let built = session(&[request(
        1,
        "overlay.build",
        serde_json::json!({"name": "o", "patterns": ["//docs/docs/a.md:words"]}),
    )]);
    assert_eq!(built[0]["result"]["ran"], 1, "{built:?}");
    assert_eq!(
        session(&[request(1, "overlay.merge", serde_json::json!({"name": "o"}))])[0]["result"]["merged"],
        true
    );
    assert_eq!(read(&bench, "docs/a.md"), "x\n");
}
