//! `cortex watch` beside other commands: its events, and that they skip checks of unchanged files.

use crate::bench::{Bench, git};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

const LONG: Duration = Duration::from_secs(300);

/// A running watch and the lines it prints.
struct Watch {
    child: Child,
    lines: Receiver<Value>,
}

impl Watch {
    fn start(bench: &Bench, args: &[&str]) -> Self {
        let mut command = bench.command(&[&["watch", "--output", "json"], args].concat());
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let out = BufReader::new(child.stdout.take().expect("piped"));
        let (send, lines) = channel();
        std::thread::spawn(move || {
            for line in out.lines().map_while(Result::ok) {
                let line = serde_json::from_str(&line).expect("JSON lines");
                if send.send(line).is_err() {
                    break;
                }
            }
        });
        let watch = Self { child, lines };
        watch.next("watching");
        watch
    }

    /// Returns the next line of an event.
    fn next(&self, event: &str) -> Value {
        loop {
            let line = self
                .lines
                .recv_timeout(LONG)
                .unwrap_or_else(|error| panic!("no line '{event}': {error}"));
            if line["event"] == event {
                return line;
            }
        }
    }

    /// Collects the files of `moved` lines until one of them changed as given.
    fn moved(&self, path: &str, change: &str) -> Vec<(String, String)> {
        let wanted = (path.to_owned(), change.to_owned());
        let mut all = Vec::new();
        while !all.contains(&wanted) {
            all.extend(files(&self.next("moved")));
        }
        all
    }

    fn end(mut self, bench: &Bench) {
        let id = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(id, rustix::process::Signal::INT).expect("it runs");
        assert_eq!(self.child.wait().expect("it ends").code(), Some(130));
        assert!(!socket(bench).exists());
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        // Already ended, unless a test failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn files(moved: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    let files = moved["files"].as_array().expect("files").iter();
    files.map(|file| (text(&file["path"]), text(&file["change"]))).collect()
}

fn socket(bench: &Bench) -> PathBuf {
    let view = workbench::location::view(&bench.root().canonicalize().expect("there"));
    workbench::location::watch_socket(&bench.store(), view)
}

/// Returns the counts of a build's check of the files: stamps read, files hashed, changes.
fn look(bench: &Bench, args: &[&str]) -> [u64; 3] {
    let log = bench.beside("events.jsonl");
    let ran = bench.run(&[&["build", "--events", log.to_str().expect("text")], args].concat());
    assert_eq!(ran.code, 0, "{ran:?}");
    let text = fs::read_to_string(log).expect("written");
    let scanned = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"))
        .find(|event| event["event"] == "scanned");
    let scanned = scanned.expect("a look");
    ["stated", "hashed", "changed"].map(|field| scanned[field].as_u64().expect("a number"))
}

const TARGETS: [&str; 2] = ["//docs/...", "//index:total"];

#[test]
fn a_build_beside_a_watch_looks_only_where_something_moved() {
    let bench = Bench::documents();
    let manifest = fs::read_to_string(bench.root().join("cortex.toml")).expect("there");
    bench.write("cortex.toml", &manifest.replace("docs/*.md", "docs/**/*.md"));
    bench.write("docs/deep/c.md", "six\n");
    assert_eq!(bench.run(&["build", "//docs/...", "//index:total"]).code, 0);
    let watch = Watch::start(&bench, &[]);
    let first = look(&bench, &TARGETS);
    assert!(first[0] > 3 && first[2] == 0, "the first build learns of the watch: {first:?}");
    assert_eq!(look(&bench, &TARGETS), [0, 0, 0]);
    assert_eq!(bench.run(&["build", "//docs/...", "//index:total"]).code, 0);
    assert_eq!(look(&bench, &TARGETS), [0, 0, 0]);

    bench.write("docs/deep/c.md", "six seven\n");
    let [stated, hashed, changed] = look(&bench, &TARGETS);
    assert!(
        (1..=3).contains(&stated) && (hashed, changed) == (1, 1),
        "{stated} {hashed} {changed}"
    );
    assert_eq!(look(&bench, &TARGETS), [0, 0, 0]);
    fs::remove_dir_all(bench.root().join("docs/deep")).expect("removed");
    assert_eq!(look(&bench, &TARGETS)[2], 1);
    assert_eq!(bench.run(&["show", "//index:total"]).out.lines().count(), 2);

    // Output files are checked, too.
    let total = bench.root().join(".cortex/out/total.txt");
    for _ in 0..2 {
        assert_eq!(bench.run(&["build", "//docs/...", "//index:total"]).code, 0);
    }
    fs::write(&total, "spoilt").expect("written");
    let ran = bench.run(&["build", "//docs/...", "//index:total"]);
    assert!(ran.err.contains("1 file written"), "{ran:?}");
    assert_ne!(fs::read_to_string(&total).expect("there"), "spoilt");
    watch.end(&bench);
    // Without a watch, everything is checked.
    assert!(look(&bench, &TARGETS)[0] > 2);
}

#[test]
fn it_tells_what_moves() {
    let bench = Bench::documents();
    assert_eq!(bench.run(&["build", "//docs/...", "//index:total"]).code, 0);
    let watch = Watch::start(&bench, &[]);
    let pair = |path: &str, change: &str| (path.to_owned(), change.to_owned());
    bench.write("docs/a.md", "uno\n");
    let moved = watch.next("moved");
    assert_eq!(files(&moved), [pair("docs/a.md", "edited")]);
    assert!(moved["stale"].as_u64().expect("a number") >= 2, "{moved}");
    // An editor saves by renaming a new file over the old one.
    bench.write("docs/a.md.new", "due\n");
    fs::rename(bench.root().join("docs/a.md.new"), bench.root().join("docs/a.md")).expect("renamed");
    assert_eq!(watch.moved("docs/a.md", "edited"), [pair("docs/a.md", "edited")]);
    bench.write("docs/a.md", "one two three\n");
    assert_eq!(watch.moved("docs/a.md", "back"), [pair("docs/a.md", "back")]);
    fs::create_dir(bench.root().join("more")).expect("made");
    bench.write("docs/new.md", "new\n");
    assert_eq!(watch.moved("docs/new.md", "added"), [pair("docs/new.md", "added")]);
    fs::remove_file(bench.root().join("docs/b.md")).expect("removed");
    assert_eq!(watch.moved("docs/b.md", "removed"), [pair("docs/b.md", "removed")]);
    watch.end(&bench);
}

#[test]
fn a_checkout_of_a_branch_is_told_at_once() {
    let bench = Bench::documents();
    let write = |text: &str| (0..12).for_each(|number| bench.write(&format!("docs/{number}.md"), text));
    write("one\n");
    bench.write(".gitignore", ".cortex/\n");
    git(&bench.root(), &["init", "-q"]);
    git(&bench.root(), &["add", "."]);
    git(&bench.root(), &["commit", "-qm", "one"]);
    git(&bench.root(), &["checkout", "-qb", "other"]);
    write("two\n");
    git(&bench.root(), &["commit", "-qam", "two"]);
    git(&bench.root(), &["checkout", "-q", "main"]);
    assert_eq!(bench.run(&["build", "//docs/..."]).code, 0);
    let watch = Watch::start(&bench, &[]);
    git(&bench.root(), &["checkout", "-q", "other"]);
    // Git updates HEAD after all files; on a slow machine that may be another batch.
    let moved = watch.next("moved");
    assert_eq!(files(&moved).len(), 12, "{moved}");
    assert_eq!(look(&bench, &["//docs/..."])[2], 12);
    // A build that detects the change first does not remove it from the watch's report.
    let signal = |signal| {
        let id = rustix::process::Pid::from_child(&watch.child);
        rustix::process::kill_process(id, signal).expect("it runs");
    };
    signal(rustix::process::Signal::STOP);
    git(&bench.root(), &["checkout", "-q", "main"]);
    assert_eq!(bench.run(&["build", "//docs/..."]).code, 0);
    signal(rustix::process::Signal::CONT);
    let mut built = Vec::new();
    while built.len() < 12 {
        built.extend(files(&watch.next("moved")).into_iter().filter(|(_, change)| change == "built"));
    }
    assert_eq!(built.len(), 12, "{built:?}");
    watch.end(&bench);
}

#[test]
fn a_change_inside_a_file_names_the_members() {
    let bench = Bench::memotree();
    assert_eq!(bench.run(&["build", "//types/...:members"]).code, 0);
    let watch = Watch::start(&bench, &[]);
    let path = "src/MemoTree.Core/NodeStore.cs";
    let text = fs::read_to_string(bench.root().join(path)).expect("there");
    let edited = text.replacen("value is not null", "value is { }", 1);
    assert_ne!(edited, text);
    bench.write(path, &edited);
    let moved = watch.next("moved");
    assert_eq!(files(&moved), [(path.to_owned(), "edited".to_owned())]);
    let members = moved["members"].as_array().expect("members");
    assert!(
        members.len() == 1 && members[0].as_str().is_some_and(|member| member.contains("NodeStore#")),
        "{moved}"
    );
    // The same when a file with types is deleted at the same moment.
    bench.write(
        "src/MemoTree.Core/Odd.cs",
        "namespace MemoTree.Core; public class Odd { public int F; }\n",
    );
    watch.moved("src/MemoTree.Core/Odd.cs", "added");
    assert_eq!(bench.run(&["build", "//types/...:members"]).code, 0);
    bench.write(path, &text);
    fs::remove_file(bench.root().join("src/MemoTree.Core/Odd.cs")).expect("removed");
    let (mut told, mut members) = (Vec::new(), Vec::new());
    while told.len() < 2 {
        let moved = watch.next("moved");
        told.extend(files(&moved));
        members.extend(moved["members"].as_array().expect("members").clone());
    }
    assert!(
        members.len() == 1 && members[0].as_str().is_some_and(|member| member.contains("NodeStore#")),
        "{told:?} {members:?}"
    );
    watch.end(&bench);
}

#[test]
fn a_watch_counts_a_summary_as_stale_only_if_its_free_inputs_changed() {
    let bench = Bench::empty();
    let answer = "ROLE:\\n- Runs.\\nLIFECYCLE:\\n- None.\\nEDGE_CASES:\\n- None.\\nLIMITATIONS:\\n- None.\\nRECOMMENDATIONS:\\n- None.\\n";
    let argv = serde_json::json!(["sh", "-c", format!("cat >/dev/null; printf '{answer}'")]);
    bench.write(
        "cortex.toml",
        &format!(
            "[workspace]\nname = \"w\"\nrulesets = [\"csharp\"]\n[model.own]\napi = \"command\"\ncommand = {argv}\n\
             [producer.semantic]\nparams.model = \"own\"\n"
        ),
    );
    bench.write("A.cs", "namespace N;\npublic class A { public int Get() { return 1; } }\n");
    bench.write("B.cs", "namespace N;\npublic class B { public A Get() { return null; } }\n");
    assert_eq!(bench.run(&["build", "//types/...:semantic", "//types/...:members"]).code, 0);
    let watch = Watch::start(&bench, &[]);
    let result_of = |moved: &Value| [moved["summaries"]["stale"].clone(), moved["summaries"]["maybe_stale"].clone()];
    bench.write("C.cs", "namespace N;\npublic class C { }\n");
    let moved = watch.next("moved");
    assert_eq!(result_of(&moved), [0, 0], "{moved}");
    bench.write("A.cs", "namespace N;\npublic class A { public int Get() { return 2; } }\n");
    let moved = watch.next("moved");
    let counted = bench.run(&["status", "--json"]).json()["semantic"].clone();
    assert_eq!(
        result_of(&moved),
        [counted["stale"].clone(), counted["maybe_stale"].clone()],
        "{moved}"
    );
    assert_eq!(counted["stale"], 1, "{counted}");
    // A member whose file moved elsewhere is unchanged.
    fs::create_dir(bench.root().join("sub")).expect("made");
    fs::rename(bench.root().join("B.cs"), bench.root().join("sub/B.cs")).expect("moved");
    let moved = watch.next("moved");
    assert_eq!((files(&moved).len(), &moved["members"]), (2, &serde_json::json!([])), "{moved}");
    watch.end(&bench);
}

#[test]
fn patterns_are_built_at_the_beginning_and_after_each_batch() {
    let bench = Bench::documents();
    let watch = Watch::start(&bench, &["//index:total"]);
    let total = || fs::read_to_string(bench.root().join(".cortex/out/total.txt")).expect("laid out");
    assert_eq!(watch.next("built")["targets"], 1);
    let before = total();
    bench.write("docs/a.md", "a b c d e f g\n");
    assert_eq!(watch.next("built")["targets"], 1);
    assert_ne!(total(), before);
    // A malformed manifest does not stop the watch.
    let manifest = fs::read_to_string(bench.root().join("cortex.toml")).expect("there");
    bench.write("cortex.toml", "[");
    bench.write("docs/a.md", "a\n");
    bench.write("cortex.toml", &format!("{manifest}# edited\n"));
    watch.moved("cortex.toml", "edited");
    bench.write("docs/b.md", "b c\n");
    while !total().starts_with("1 ") {
        watch.next("built");
    }
    watch.end(&bench);
}

#[test]
fn recent_requests_are_built_ahead() {
    let bench = Bench::documents();
    assert_eq!(bench.run(&["build", "//index:total"]).code, 0);
    let watch = Watch::start(&bench, &["--ahead"]);
    bench.write("docs/a.md", "a b c d e f g\n");
    let ahead = watch.next("ahead");
    assert!(ahead["ran"].as_u64().expect("a number") >= 1, "{ahead}");
    let ran = bench.run(&["build", "//index:total"]);
    assert!(ran.err.contains("all up to date"), "{ran:?}");
    watch.end(&bench);
}

#[test]
fn one_watch_for_a_checkout_and_a_killed_one_is_replaced() {
    let bench = Bench::documents();
    let mut first = Watch::start(&bench, &[]);
    let second = bench.run(&["watch"]);
    assert_eq!(second.code, 4, "{second:?}");
    assert!(
        second.err.contains(&format!("watched already, by pid {}", first.child.id())),
        "{second:?}"
    );
    first.child.kill().expect("killed");
    first.child.wait().expect("ended");
    assert!(socket(&bench).exists());
    assert_eq!(bench.run(&["build", "//docs/..."]).code, 0);
    let third = Watch::start(&bench, &[]);
    assert_eq!(look(&bench, &["//docs/..."])[2], 0);
    assert_eq!(look(&bench, &["//docs/..."]), [0, 0, 0]);
    third.end(&bench);
}

#[test]
fn an_edit_is_told_by_what_of_its_type_it_changed() {
    let bench = Bench::empty();
    bench.write("cortex.toml", "[workspace]\nname = \"w\"\nrulesets = [\"csharp\"]\n");
    let code = |doc: &str, body: &str, parameter: &str| {
        format!("namespace N;\n{doc}public class A {{ public int Get({parameter}) {{ return {body}; }} }}\n")
    };
    bench.write("A.cs", &code("", "1", ""));
    bench.write("B.cs", "namespace N;\npublic class B { public A Get() { return null; } }\n");
    assert_eq!(bench.run(&["build", "//types/...:semantic"]).code, 0);
    let watch = Watch::start(&bench, &[]);
    let mut found = Vec::new();
    for text in [
        code("// A comment.\n", "1", ""),
        code("/// <summary>Gets.</summary>\n", "1", ""),
        code("/// <summary>Gets.</summary>\n", "2", ""),
        code("/// <summary>Gets.</summary>\n", "2", "int n"),
    ] {
        bench.write("A.cs", &text);
        let moved = watch.next("moved");
        assert_eq!(files(&moved), [("A.cs".to_owned(), "edited".to_owned())]);
        assert_eq!(moved["types"][0]["type"], "N.A", "{moved}");
        found.push((
            moved["types"][0]["kinds"].clone(),
            moved["summaries"]["stale"].as_u64().expect("a number"),
        ));
    }
    let kinds = |kinds: &[&str]| serde_json::json!(kinds);
    assert_eq!((&found[0], &found[1].0), (&(kinds(&["layout"]), 0), &kinds(&["documentation"])));
    assert_eq!(found[2], (kinds(&["body"]), 1));
    assert_eq!(found[3].0[0], "structure");
}

#[test]
fn requests_of_methods_are_not_built_ahead() {
    let bench = Bench::memotree();
    let asked = "//types/MemoTree.Core.NodeStore:outline";
    assert_eq!(bench.run(&["build", asked]).code, 0);
    for name in ["NodeId", "NodeTree", "NodeKind"] {
        assert_eq!(bench.run(&["resolve", name]).code, 0);
        assert_eq!(bench.run(&["window", "pin", name]).code, 0);
    }
    let watch = Watch::start(&bench, &["--ahead"]);
    bench.change(
        "src/MemoTree.Core/NodeStore.cs",
        "namespace MemoTree.Core;",
        "namespace MemoTree.Core;\n\n/// <summary>Another.</summary>\npublic class Another { }",
    );
    watch.next("ahead");
    let built = bench.run(&["build", "--output", "json", asked]).json();
    assert_eq!(built["tally"]["ran"], 0, "{built}");
    watch.end(&bench);
}
