//! `SIGTERM` and `SIGINT` at several moments of a build: it ends, finished results are kept, and the next build does the rest.

use crate::bench::Bench;
use crate::{mcp, serve};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Returns a workspace of so many files, each with a type that mentions the previous one.
fn generated(files: usize) -> Bench {
    let bench = Bench::empty();
    bench.write("cortex.toml", "[workspace]\nname = \"many\"\nrulesets = [\"csharp\"]\n");
    for file in 0..files {
        let mut text = format!("namespace N;\n/// <summary>Type {file}.</summary>\npublic class T{file}\n{{\n");
        for member in 0..6 {
            let _ = writeln!(text, "    public T{} M{member}(int a) => null;", file.saturating_sub(1));
        }
        bench.write(&format!("src/T{file}.cs"), &(text + "}\n"));
    }
    bench
}

/// Returns the labels of the targets that ran, from the output of `--verbose`.
fn ran(text: &str) -> Vec<String> {
    let lines = text.lines().filter_map(|line| line.trim().strip_prefix("ran"));
    lines.filter_map(|line| line.split_whitespace().next().map(str::to_owned)).collect()
}

fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).expect("below").to_string_lossy().into_owned();
                found.insert(name, std::fs::read(&path).expect("a file"));
            }
        }
    }
    found
}

const BUILD: &[&str] = &["build", "//types/...:outline", "//index:json", "--verbose", "-j2"];

#[test]
fn a_build_told_to_end_does_not_go_on_and_the_next_one_makes_the_rest() {
    let clean = generated(120);
    let all = ran(&clean.run(BUILD).err).len();
    let expected = files(&clean.root().join(".cortex/out"));
    assert!(all > 600, "{all}");
    for (signal, code, after) in [("-TERM", 143, 1), ("-INT", 130, 60), ("-TERM", 143, 200)] {
        let bench = generated(120);
        let mut child = bench
            .command(BUILD)
            .stderr(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .expect("starts");
        let mut said = BufReader::new(child.stderr.take().expect("piped"));
        let mut text = String::new();
        while ran(&text).len() < after {
            assert!(said.read_line(&mut text).expect("text") > 0, "{text}");
        }
        let mut kill = std::process::Command::new("kill");
        assert!(kill.args([signal, &child.id().to_string()]).status().expect("kill").success());
        said.read_to_string(&mut text).expect("text");
        assert_eq!(child.wait().expect("ends").code(), Some(code), "{text}");
        let first = ran(&text);
        assert!(
            text.contains("interrupted; ") && first.len() < all,
            "{} of {all} ran\n{text}",
            first.len()
        );
        let next = bench.run(BUILD);
        assert_eq!(next.code, 0, "{next:?}");
        let both: BTreeSet<String> = first.iter().cloned().chain(ran(&next.err)).collect();
        assert_eq!(both.len(), all);
        let second = ran(&next.err);
        let twice = second.iter().filter(|label| first.contains(label));
        // Outputs that are not stored run again for their readers.
        let kept: Vec<&String> = twice.filter(|label| !label.ends_with(":complete")).collect();
        assert!(kept.is_empty(), "{kept:?} ran twice");
        assert_eq!(files(&bench.root().join(".cortex/out")), expected, "{signal} after {after}");
        assert!(bench.run(BUILD[..3].as_ref()).err.contains("up to date"));
    }
}

#[test]
fn temporary_files_of_a_process_that_is_gone_go_with_the_next_file_that_is_written() {
    let bench = generated(2);
    assert_eq!(bench.run(BUILD).code, 0);
    let mut gone = std::process::Command::new("true").spawn().expect("starts");
    gone.wait().expect("ends");
    let (left, own) = (
        bench.root().join(format!(".cortex/out/.cortex-{}-0.tmp", gone.id())),
        bench.root().join(format!(".cortex/out/.cortex-{}-0.tmp", std::process::id())),
    );
    std::fs::write(&left, "x").expect("file");
    std::fs::write(&own, "x").expect("file");
    bench.change("src/T1.cs", "Type 1.", "Another.");
    assert_eq!(bench.run(BUILD).code, 0);
    assert_eq!((left.exists(), own.exists()), (false, true), "who lives may still need it");
}

#[test]
fn files_of_two_gigabytes_are_refused_and_not_read() {
    let bench = generated(2);
    assert_eq!(bench.run(BUILD).code, 0);
    let sparse = |path: &str| {
        let file = std::fs::File::create(bench.root().join(path)).expect("file");
        file.set_len(2 << 30).expect("a length");
    };
    // With less memory than the file's length.
    let limited = "ulimit -v 1900000; exec cortex build //types/...:outline --verbose";
    sparse("src/Large.cs");
    let ran = bench.shell(limited);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(
        ran.out.contains("src/Large.cs") && ran.out.contains("larger than 32 MiB"),
        "{ran:?}"
    );
    sparse("cortex.toml");
    let ran = bench.shell(limited);
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.out.contains("a manifest has at most 64 MiB"), "{ran:?}");
}

/// Signals a service to end while a program of one of its requests reads the pipe.
fn end_while_a_program_runs(bench: &Bench, pipe: &Path, service: &mut Child) {
    let mut gate = std::fs::File::options().write(true).open(pipe).expect("the program reads");
    let pid = service.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &pid]).status().expect("kill").success());
    let ended = service.wait().expect("it ends");
    assert!(matches!(ended.code(), Some(0 | 143)), "{ended}");
    let unread = gate.write_all(b"x").expect_err("the program ended with it");
    assert_eq!(unread.kind(), ErrorKind::BrokenPipe, "{unread}");
    let flights = std::fs::read_dir(bench.store().join("flights")).expect("flights");
    let flights: Vec<_> = flights.map(|flight| flight.expect("a flight").path()).collect();
    assert!(flights.is_empty(), "{flights:?}");
}

#[test]
fn a_service_told_to_end_ends_the_programs_of_its_requests() {
    let (bench, pipe) = Bench::waits();
    let get = json!({"jsonrpc": "2.0", "id": 1, "method": "node.get", "params": {"label": "//index:waits"}}).to_string();
    let mut own = bench.command(&["serve", "--stdio"]);
    let mut own = own.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("it starts");
    writeln!(own.stdin.as_mut().expect("piped"), "{get}").expect("written");
    end_while_a_program_runs(&bench, &pipe, &mut own);
    let mut service = serve::Service::start(&bench);
    let mut client = service.client();
    client.send(&get);
    end_while_a_program_runs(&bench, &pipe, &mut service.child);
    let mut agent = mcp::Client::start(&bench, true);
    agent.begin(
        "tools/call",
        json!({"name": "node", "arguments": {"op": "get", "label": "//index:waits"}}),
    );
    end_while_a_program_runs(&bench, &pipe, &mut agent.child);
}
