//! The main path: build, build again, edit, build, print.

use crate::bench::Bench;
use std::process::Stdio;

#[test]
fn build_again_edit_and_build() {
    let bench = Bench::documents();
    insta::assert_snapshot!(bench.run(&["build", "//docs/...", "//index:total"]).all(), @"
    exit 0
    3 targets: 3 ran (3 without a sandbox), 1 file written (TIME)
    ");
    insta::assert_snapshot!(bench.run(&["build", "//docs/...", "//index:total"]).all(), @"
    exit 0
    3 targets: all up to date (TIME)
    ");
    bench.write("docs/a.md", "uno due tre\n");
    insta::assert_snapshot!(bench.run(&["build", "//docs/...", "//index:total", "-v", "-j1"]).all(), @"
    exit 0
    2 source files, 2 hashed, 1 changed
      stale   //files/docs/a.md:bytes (docs/a.md changed (DIGEST → DIGEST))
      ran     //docs/docs/a.md:words (TIME, same output; //files/docs/a.md:bytes changed)
    3 targets: 1 ran (1 without a sandbox) (TIME)
    ");
    assert_eq!(
        std::fs::read_to_string(bench.root().join(".cortex/out/total.txt"))
            .expect("laid out")
            .lines()
            .count(),
        2
    );
}

#[test]
fn a_failing_command_shows_what_it_said_without_its_control_characters() {
    let bench = Bench::documents();
    insta::assert_snapshot!(bench.run(&["build", "//..."]).all(), @r#"
    exit 1
    error[E_COMMAND] //index:broken: 'sh' failed: exit status: 3
      found: no \u{1b}[31mluck
      help: run it by hand on the same inputs; list other folders that it reads in `readable`
    4 targets: 3 ran (3 without a sandbox), 1 failed, 1 file written (TIME)
    "#);
    assert_eq!(bench.run(&["build", "--fail-fast", "//index:broken"]).code, 1);
}

#[test]
fn dry_runs_run_nothing() {
    let bench = Bench::documents();
    insta::assert_snapshot!(bench.run(&["build", "--dry-run", "//docs/...", "//index:total"]).all(), @"
    exit 0
    3 targets: 2 will run, 1 more may run (TIME)
      will run //docs/docs/a.md:words
               //docs/docs/b.md:words
    ");
    assert!(!bench.root().join(".cortex/out").exists());
}

#[test]
fn patterns_take_away_and_flags_may_follow() {
    let bench = Bench::documents();
    let ran = bench.run(&["build", "//docs/...", "-//docs/docs/b*", "-j", "1", "--output", "json"]);
    assert_eq!(ran.json()["targets"], 1, "{ran:?}");
}

#[test]
fn show_prints_outputs() {
    let bench = Bench::documents();
    let shown = bench.run(&["show", "//index:total"]);
    assert_eq!((shown.code, shown.out.lines().count()), (0, 2), "{shown:?}");
    let json = bench.run(&["show", "--json", "//docs/docs/a.md:words"]).json();
    assert_eq!(json["label"], "//docs/docs/a.md:words");
    assert_eq!(bench.run(&["show", "//docs/..."]).code, 2);
}

#[test]
fn events_are_json_lines() {
    let bench = Bench::documents();
    let log = bench.beside("events.jsonl");
    assert_eq!(bench.run(&["build", "//docs/...", "--events", log.to_str().expect("text")]).code, 0);
    let text = std::fs::read_to_string(&log).expect("the log");
    let events: Vec<String> = text
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON")["event"].to_string())
        .collect();
    assert_eq!(events.iter().filter(|event| *event == "\"ran\"").count(), 2, "{text}");
    let last: serde_json::Value = serde_json::from_str(text.lines().last().expect("a line")).expect("JSON");
    assert_eq!(last, serde_json::json!({"event": "committed", "results": 2}), "{text}");
    let ran = bench.run(&["build", "//docs/...", "--events", "/nowhere/at/all"]);
    assert_eq!(ran.code, 5, "{ran:?}");
}

#[test]
fn a_reader_that_goes_away_ends_it_quietly() {
    let bench = Bench::memotree();
    assert_eq!(bench.run(&["build", "//..."]).code, 0);
    for args in [
        &["query", "//..."][..],
        &["rules", "show", "csharp"],
        &["show", "//index:json"],
        &["man"],
    ] {
        let mut child = bench
            .command(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("starts");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("ends");
        assert_eq!(
            (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned()),
            (Some(0), String::new()),
            "{args:?}"
        );
    }
}

#[test]
fn an_interrupted_build_goes_on_next_time() {
    stopped_and_gone_on_with("-INT", 130);
}

#[test]
fn a_terminated_build_goes_on_next_time() {
    stopped_and_gone_on_with("-TERM", 143);
}

#[test]
fn a_build_that_was_stopped_before_anything_was_made_says_so() {
    let bench = Bench::documents();
    let manifest = std::fs::read_to_string(bench.root().join("cortex.toml")).expect("manifest");
    let stop = r#"["sh", "-c", "kill -INT $PPID; for i in 1 2 3 4 5 6 7 8 9; do sleep 1; done"]"#;
    bench.write("cortex.toml", &manifest.replace(r#"["wc", "-w", "{in.text}"]"#, stop));
    let ran = bench.run(&["build", "//docs/docs/a.md:words"]);
    assert_eq!(ran.code, 130, "{ran:?}");
    assert!(ran.err.contains("interrupted; 1 target: 0 built, 1 left ("), "{ran:?}");
}

fn stopped_and_gone_on_with(signal: &str, code: i32) {
    let bench = Bench::documents();
    let manifest = std::fs::read_to_string(bench.root().join("cortex.toml")).expect("manifest");
    let wait = "while [ ! -e GO ]; do sleep 0.05; done; cat \"$0\"".replace("GO", bench.beside("go").to_str().expect("text"));
    bench.write(
        "cortex.toml",
        &manifest.replace(r#"["cat", "{in.words}"]"#, &format!("[\"sh\", \"-c\", {wait:?}, \"{{in.words}}\"]")),
    );
    let log = bench.beside("events.jsonl");
    let child = bench
        .command(&["build", "//docs/...", "//index:total", "-j1", "--keep-going", "--verbose"])
        .stderr(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("starts");
    let mut child = child;
    let mut said = std::io::BufReader::new(child.stderr.take().expect("piped"));
    let mut text = String::new();
    // Two counts are finished; the third command is now waiting.
    while text.matches("ran ").count() < 2 {
        assert!(std::io::BufRead::read_line(&mut said, &mut text).expect("text") > 0, "{text}");
    }
    let killed = std::process::Command::new("kill")
        .args([signal, &child.id().to_string()])
        .status()
        .expect("kill");
    assert!(killed.success());
    std::io::Read::read_to_string(&mut said, &mut text).expect("text");
    assert_eq!(child.wait().expect("ends").code(), Some(code), "{text}");
    assert!(
        text.contains("interrupted; 3 targets: 2 ran (2 without a sandbox), 1 left ("),
        "{text}"
    );
    std::fs::write(bench.beside("go"), "").expect("file");
    let next = bench.run(&["build", "//docs/...", "//index:total", "--events", log.to_str().expect("text")]);
    let events = std::fs::read_to_string(&log).expect("log");
    assert_eq!(
        (next.code, events.matches("\"event\":\"ran\"").count()),
        (0, 1),
        "{next:?} {events}"
    );
}

#[test]
fn failures_are_told_by_status_and_explain_until_they_are_mended() {
    let bench = Bench::documents();
    assert_eq!(bench.run(&["build", "//..."]).code, 1);
    let ran = bench.run(&["explain", "//index:broken"]);
    assert!(
        ran.out.contains("pending: the last attempt with its present inputs failed"),
        "{}",
        ran.out
    );
    assert!(ran.out.contains("E_COMMAND: 'sh' failed: exit status: 3"), "{}", ran.out);
    let status = bench.run(&["status", "--output", "json"]).json();
    assert_eq!(status["targets"]["broken"]["pending"], 1, "{status}");
    assert_eq!(status["failures"][0]["code"], "E_COMMAND", "{status}");
    assert!(bench.run(&["status"]).out.contains("error[E_COMMAND] //index:broken"));
    let manifest = std::fs::read_to_string(bench.root().join("cortex.toml")).expect("manifest");
    bench.write("cortex.toml", &manifest.replace("exit 3", "exit 0"));
    assert_eq!(bench.run(&["build", "//..."]).code, 0);
    let status = bench.run(&["status", "--output", "json"]).json();
    assert_eq!(
        (&status["failures"], &status["targets"]["broken"]["current"]),
        (&serde_json::json!([]), &1.into())
    );
}

#[test]
fn a_build_in_which_nothing_runs_says_how_many_warnings_stand() {
    let bench = Bench::documents();
    let manifest = std::fs::read_to_string(bench.root().join("cortex.toml")).expect("manifest");
    bench.write(
        "cortex.toml",
        &manifest.replace(r#"["wc", "-w", "{in.text}"]"#, r#"["sh", "-c", "echo careful >&2"]"#),
    );
    let first = bench.run(&["build", "//docs/..."]);
    assert_eq!(
        (first.code, first.err.matches("warning[W_STDERR]").count()),
        (0, 2),
        "{}",
        first.err
    );
    insta::assert_snapshot!(bench.run(&["build", "//docs/..."]).all(), @"
    exit 0
    2 earlier warnings remain; `cortex status` lists them
    2 targets: all up to date (TIME)
    ");
    assert_eq!(
        bench.run(&["build", "//docs/...", "--output", "json"]).json()["standing_warnings"],
        2
    );
    assert_eq!(
        bench.run(&["status", "--output", "json"]).json()["diagnostics"]
            .as_array()
            .map(Vec::len),
        Some(2)
    );
}

#[test]
fn a_file_that_cannot_be_laid_out_is_not_up_to_date() {
    let bench = Bench::documents();
    bench.write(".cortex/out/total.txt/in/the/way", "");
    let said = bench.run(&["build", "//index:total"]);
    assert_eq!(said.code, 1, "{}", said.all());
    insta::assert_snapshot!(bench.run(&["build", "//index:total"]).all(), @"
    exit 1
    error[E_LAYOUT] //index:total: '.cortex/out/total.txt' cannot be written: Is a directory
      help: remove the obstacle or fix its permissions, then run the same command again; the output itself is in the store
    1 target: 1 not laid out (TIME)
    ");
    std::fs::remove_dir_all(bench.root().join(".cortex/out/total.txt")).expect("removed");
    assert_eq!(bench.run(&["build", "//index:total"]).code, 0);
}
