//! Questions during a build: they are answered at once, as in a quiet workspace, and leave the checkout unchanged.
//!
//! A program that waits at a pipe blocks the build; questions use `--no-wait`, so that waiting would be a failure.

use crate::bench::{Bench, Ran};
use crate::serve::{Client, Service, request};
use serde_json::{Value, json};
use std::fs::File;
use std::path::Path;
use std::process::{Child, Stdio};

const QUESTIONS: [&[&str]; 11] = [
    &["resolve", "NodeStore"],
    &["search", "Node"],
    &["outline", "NodeStore"],
    &["source", "NodeStore.Get"],
    &["usages", "NodeId"],
    &["deps", "NodeStore"],
    &["rdeps", "NodeId"],
    &["semantic", "NodeStore"],
    &["show", "//types/MemoTree.Core.NodeStore:outline"],
    &["node", "get", "//types/MemoTree.Core.NodeStore:outline"],
    &["context", "build", "--query", "Where is the CRC checked?"],
];

/// Starts a build that waits at the pipe; dropping the file lets it continue.
fn start_build_that_waits(bench: &Bench, pipe: &Path) -> (Child, File) {
    let mut build = bench.command(&["build", "//index:waits"]);
    let mut build = build.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    // The write end opens once the program reads: the checkout is being built.
    let gate = Bench::write_end(pipe, &mut build);
    (build, gate)
}

fn answers(bench: &Bench) -> Vec<(i32, String)> {
    let ask = |args: &&[&str]| {
        let Ran { code, out, err } = bench.run(&[args, &["--no-wait"][..]].concat());
        assert!(code == 0, "{args:?} {out} {err}");
        (code, out)
    };
    QUESTIONS.iter().map(ask).collect()
}

/// Returns the files of the output folder.
fn laid_out(bench: &Bench) -> Vec<(String, Vec<u8>)> {
    let out = bench.root().join(".cortex/out");
    let Ok(entries) = std::fs::read_dir(out) else { return Vec::new() };
    let files = entries.map(|entry| entry.expect("entry").path()).filter(|path| path.is_file());
    let mut files: Vec<(String, Vec<u8>)> = files
        .map(|path| (path.display().to_string(), std::fs::read(&path).expect("file")))
        .collect();
    files.sort();
    files
}

#[test]
fn questions_do_not_wait_for_another_process_that_builds() {
    let (bench, pipe) = Bench::waits();
    let rounds: [&dyn Fn(); 3] = [
        // Nothing was built yet.
        &|| {},
        // All is current.
        &|| assert_eq!(bench.run(&["build", "//index:json"]).code, 0),
        // The sources changed since the last finished build.
        &|| {
            bench.change(
                "src/MemoTree.Core/NodeStore.cs",
                "namespace MemoTree.Core;",
                "namespace MemoTree.Core;\n\nclass Between { }",
            );
        },
    ];
    for prepare in rounds {
        prepare();
        // The target of the build changes each time, too.
        let manifest = std::fs::read_to_string(bench.root().join("cortex.toml")).expect("a manifest");
        bench.write("cortex.toml", &format!("{manifest}# once more\n"));
        let (mut build, gate) = start_build_that_waits(&bench, &pipe);
        let before = laid_out(&bench);
        let beside = answers(&bench);
        assert_eq!(laid_out(&bench), before, "the checkout is the build's");
        drop(gate);
        assert!(build.wait().expect("it ends").success());
        assert_eq!(beside, answers(&bench));
    }
}

#[test]
fn questions_do_not_wait_for_a_checkout_that_another_process_holds() {
    let bench = Bench::memotree();
    assert_eq!(bench.run(&["build", "//index:json"]).code, 0);
    bench.change(
        "src/MemoTree.Core/NodeStore.cs",
        "namespace MemoTree.Core;",
        "namespace MemoTree.Core;\n\nclass Between { }",
    );
    let held = bench.lock_checkout();
    let before = laid_out(&bench);
    let beside = answers(&bench);
    assert_eq!(laid_out(&bench), before, "the checkout is the other's");
    drop(held);
    assert_eq!(beside, answers(&bench));
}

fn answered(client: &mut Client, id: &str) -> Value {
    let message = client.next();
    assert_eq!((&message["id"], &message["error"]), (&json!(id), &Value::Null), "{message}");
    message["result"].clone()
}

#[test]
fn a_service_answers_questions_while_a_request_of_its_own_waits() {
    let (bench, pipe) = Bench::waits();
    let service = Service::start(&bench);
    let (mut first, mut second) = (service.client(), service.client());
    first.send(&request("a", "//index:waits", None));
    let gate = File::options().write(true).open(&pipe).expect("the command reads");
    for (at, (method, params)) in [
        ("resolve", json!({"symbol": "NodeTree"})),
        ("GetOutline", json!({"path": "NodeTree"})),
        ("search", json!({"query": "Node"})),
        ("usages", json!({"symbol": "NodeId"})),
        ("source", json!({"symbols": ["NodeStore.Get"]})),
        ("GetSemantic", json!({"path": "NodeTree"})),
    ]
    .into_iter()
    .enumerate()
    {
        let id = at.to_string();
        second.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string());
        answered(&mut second, &id);
    }
    drop(gate);
    answered(&mut first, "a");
}
