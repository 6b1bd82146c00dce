//! Lost output: standard output or error is on a full disk, or its reader has closed. A failed write never ends the work.

use crate::bench::Bench;
use std::fs::File;
use std::process::Stdio;

/// Commands with output, and their exit codes when the output is read.
const COMMANDS: [(&str, i32); 26] = [
    ("build //docs/... //index:total", 0),
    ("build //docs/... --json", 0),
    ("build //docs/... --verbose", 0),
    ("build //index:broken", 1),
    ("build //nosuch:x", 2),
    ("build --nosuch", 2),
    ("build //docs/... --dry-run", 0),
    ("show //index:total", 0),
    ("status", 0),
    ("status --json", 0),
    ("query //docs/...", 0),
    ("explain //index:total", 0),
    ("history //index:total", 0),
    ("log", 0),
    ("cost", 0),
    ("outline Nope", 2),
    ("gc --older-than 0", 0),
    ("store verify", 0),
    ("store stats", 0),
    ("init", 2),
    ("rules show csharp", 0),
    ("serve --status", 1),
    ("serve --stop", 0),
    ("edit list", 0),
    ("man", 0),
    ("nosuch", 2),
];

fn full() -> Stdio {
    File::options().write(true).open("/dev/full").expect("a device").into()
}

fn gone() -> Stdio {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    writer.into()
}

/// Returns the codes of all commands with the streams of `out` and `err`.
fn codes(out: fn() -> Stdio, err: fn() -> Stdio) -> Vec<(&'static str, i32, i32)> {
    let bench = Bench::documents();
    assert_eq!(bench.run(&["build", "//index:total"]).code, 0);
    let coded = |(line, code): (&'static str, i32)| {
        bench.write("docs/a.md", &format!("new for {line}\n"));
        let args: Vec<&str> = line.split(' ').collect();
        let ran = bench.command(&args).stdout(out()).stderr(err()).status().expect("it starts");
        (line, code, ran.code().unwrap_or(-1))
    };
    COMMANDS.into_iter().map(coded).collect()
}

#[test]
fn unread_output_changes_no_exit_code() {
    for err in [full as fn() -> Stdio, gone] {
        for (line, wanted, code) in codes(Stdio::null, err) {
            assert_eq!(code, wanted, "{line}");
        }
    }
}

#[test]
fn an_answer_that_cannot_be_written_is_an_error_and_no_panic() {
    for err in [full as fn() -> Stdio, gone, Stdio::null] {
        for (line, wanted, code) in codes(full, err) {
            assert!(code == wanted || code == 5, "{line}: {code}");
        }
    }
    // The reader closes the stream early.
    for (line, wanted, code) in codes(gone, gone) {
        assert!(code == wanted, "{line}: {code}");
    }
}

#[test]
fn a_build_with_unread_output_lays_its_files_out() {
    let bench = Bench::documents();
    for (text, stream) in [("one\n", full as fn() -> Stdio), ("one two\n", gone)] {
        bench.write("docs/a.md", text);
        let ran = bench
            .command(&["build", "//index:total", "--verbose"])
            .stdout(stream())
            .stderr(stream())
            .status();
        assert_eq!(ran.expect("it starts").code(), Some(0));
        let total = std::fs::read_to_string(bench.root().join(".cortex/out/total.txt")).expect("laid out");
        assert!(total.starts_with(&text.split_whitespace().count().to_string()), "{total}");
    }
    let ran = bench
        .command(&["build", "//index:total", "--json"])
        .stdout(full())
        .output()
        .expect("it starts");
    let err = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.code() == Some(5) && err.contains("E_WRITE"), "{err}");
}
