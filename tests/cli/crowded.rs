//! `cortex serve` beside other builds, and with the most clients that it can serve.

use crate::bench::Bench;
use crate::serve::{Client, Service, request};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;

/// Returns a request that needs the checkout for itself.
fn order(id: &str, token: Option<&str>) -> String {
    let mut params = json!({"symbol": "NodeTree"});
    if let Some(token) = token {
        params["progressToken"] = token.into();
    }
    json!({"jsonrpc": "2.0", "id": id, "method": "window.pin", "params": params}).to_string()
}

#[test]
fn requests_are_answered_while_a_program_runs() {
    let (bench, pipe) = Bench::waits();
    let service = Service::start(&bench);
    let (mut first, mut told, mut short) = (service.client(), service.client(), service.client());
    first.send(&request("a", "//index:waits", Some("p")));
    let progress = first.next();
    assert_eq!(
        (&progress["method"], &progress["params"]["token"]),
        (&json!("$/progress"), &json!("p"))
    );
    for (client, id, token) in [(&mut told, "b", Some("q")), (&mut short, "c", None)] {
        client.send(&order(id, token));
        assert_eq!(client.answer()["id"], id);
    }
    std::fs::write(&pipe, "").expect("a pipe");
    assert_eq!(first.answer()["id"], "a");
}

/// Returns the fixture with `N` targets that each block until a pipe is written to, and the pipes.
fn several_wait<const N: usize>() -> (Bench, [PathBuf; N]) {
    let bench = Bench::memotree();
    let mut manifest = std::fs::read_to_string(bench.root().join("cortex.toml")).expect("a manifest");
    let pipes = std::array::from_fn(|at| {
        let pipe = bench.beside(&format!("pipe-{at}"));
        assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
        let _ = write!(
            manifest,
            "\n[producer.wait-{at}]\nuses = \"command\"\nargv = [\"cat\", \"{}\", \"{{in.text}}\"]\nsandbox = \"off\"\n\n\
             [[rule]]\ntarget = \"//index:waits-{at}\"\nproducer = \"wait-{at}\"\ninputs = {{ text = \"//files/cortex.toml:bytes\" }}\n",
            pipe.display()
        );
        pipe
    });
    bench.write("cortex.toml", &manifest);
    (bench, pipes)
}

/// Returns a request for a target.
fn node(id: &str, label: &str) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": "node.get", "params": {"label": label}}).to_string()
}

#[test]
fn questions_are_answered_however_many_requests_wait_for_programs() {
    let (bench, pipes) = several_wait::<3>();
    let service = Service::start(&bench);
    let mut waiting: Vec<Client> = pipes.iter().map(|_| service.client()).collect();
    for (at, client) in waiting.iter_mut().enumerate() {
        client.send(&node(&at.to_string(), &format!("//index:waits-{at}")));
    }
    let gates = pipes.map(|pipe| std::fs::File::options().write(true).open(pipe).expect("the program reads"));
    bench.change(
        "src/MemoTree.Core/NodeStore.cs",
        "namespace MemoTree.Core;",
        "namespace MemoTree.Core;\n\nclass Between { }",
    );
    // A request that waits for another process has the right to build; questions are still answered.
    let held = bench.lock_checkout();
    let mut builds = service.client();
    builds.send(&order("x", Some("p")));
    while service.client().result("cortex.about", json!({}))["requests"] != json!(waiting.len() + 1) {
        std::thread::yield_now();
    }
    let mut asks = service.client();
    for (method, params) in [
        ("semantic", json!({"symbol": "NodeTree"})),
        ("usages", json!({"symbol": "NodeId"})),
        ("source", json!({"symbols": ["NodeStore.Get"]})),
    ] {
        asks.result(method, params);
    }
    drop(held);
    drop(gates);
    for (at, client) in waiting.iter_mut().enumerate() {
        let answer = client.answer();
        assert_eq!(
            (&answer["id"], &answer["error"]),
            (&json!(at.to_string()), &Value::Null),
            "{answer}"
        );
    }
    assert_eq!(builds.answer()["error"], Value::Null);
}

#[test]
fn a_request_reports_that_it_waits_for_another_request() {
    let (bench, pipe) = Bench::waits();
    let service = Service::start(&bench);
    let (mut first, mut told, mut short) = (service.client(), service.client(), service.client());
    first.send(&node("a", "//index:waits"));
    let gate = std::fs::File::options().write(true).open(pipe).expect("the program reads");
    let mut waits = serde_json::from_str::<Value>(&node("b", "//index:waits")).expect("JSON");
    waits["params"]["progressToken"] = "q".into();
    told.send(&waits.to_string());
    short.send(&node("c", "//index:waits"));
    let busy = short.next();
    let data = &busy["error"]["data"];
    assert_eq!((&busy["error"]["code"], &data["code"]), (&json!(-32001), &json!("Busy")), "{busy}");
    let made = "another request of this process is making the same result";
    assert!(data["message"].as_str().is_some_and(|told| told.starts_with(made)), "{busy}");
    drop(gate);
    // A request with a token waits for the result.
    for (client, id) in [(&mut first, "a"), (&mut told, "b")] {
        let answer = client.answer();
        assert_eq!((&answer["id"], &answer["error"]), (&json!(id), &Value::Null), "{answer}");
    }
}

#[test]
fn a_request_reports_that_another_process_builds() {
    let bench = Bench::memotree();
    assert_eq!(bench.run(&["build", "//index:types"]).code, 0);
    let service = Service::start(&bench);
    let mut short = service.client();
    let held = bench.lock_checkout();
    short.send(&order("a", None));
    let busy = short.next();
    assert_eq!(busy["error"]["code"], -32001, "{busy}");
    let data = &busy["error"]["data"];
    assert_eq!((&data["code"], &data["progress"]), (&json!("Busy"), &json!(0)), "{busy}");
    let pid = format!("pid {} (cortex build", std::process::id());
    assert!(data["message"].as_str().is_some_and(|told| told.contains(&pid)), "{busy}");
    // A request with a token waits for its turn.
    short.send(&order("b", Some("p")));
    drop(held);
    let answer = short.answer();
    assert_eq!((&answer["id"], &answer["error"]), (&json!("b"), &Value::Null), "{answer}");
}

#[test]
fn a_service_that_is_full_tells_how_it_does_and_ends() {
    let bench = Bench::memotree();
    let mut shell = Command::new("sh");
    let serve = bench.command(&["serve", "--json"]);
    shell.args(["-c", "ulimit -n 200 && exec \"$0\" \"$@\""]).arg(serve.get_program());
    shell.args(serve.get_args()).current_dir(bench.root());
    shell.envs(serve.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let mut service = Service::run(shell);
    // As many clients as can be served, and some that are refused.
    let mut clients: Vec<Client> = (0..60).map(|_| service.client()).collect();
    let is_refused = |client: &mut Client| {
        // The service no longer reads from a client that it refused before.
        let _ = client
            .stream
            .write_all(b"{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"resolve\",\"params\":{\"symbol\":\"NodeId\"}}\n");
        let answer = client.next();
        (answer["error"]["code"] == -32001).then(|| answer["id"].clone())
    };
    assert!(clients.iter_mut().filter_map(is_refused).count() > 10);
    assert_eq!(is_refused(&mut service.client()), Some(json!("x")));
    let status = bench.run(&["serve", "--status", "--json"]);
    let stdout: Value = serde_json::from_str(&status.out).unwrap_or_else(|error| panic!("{error}: {status:?}"));
    assert_eq!((status.code, &stdout["pid"]), (0, &json!(service.child.id())), "{status:?}");
    // The stopped service does not answer; its lock names its process.
    let pid = service.child.id().to_string();
    let signal = |name: &str| assert!(Command::new("kill").args([name, &pid]).status().expect("kill").success());
    signal("-STOP");
    let status = bench.run(&["serve", "--status"]);
    assert_eq!(status.code, 4, "{status:?}");
    assert!(status.err.contains(&format!("pid {pid}, does not answer")), "{status:?}");
    let start = std::time::Instant::now();
    let stop = bench.run(&["serve", "--stop"]);
    assert_eq!((stop.code, stop.out), (0, format!("stopped pid {pid}\n")), "{}", stop.err);
    // Detection takes two seconds; the bound allows for a busy machine.
    assert!(start.elapsed().as_secs() < 9, "{:?}", start.elapsed());
    assert_eq!(service.child.wait().expect("it ends").code(), Some(0));
}

#[test]
fn a_stopped_service_is_found_out_and_the_command_answers_by_itself() {
    let bench = Bench::memotree();
    assert_eq!(bench.run(&["build", "//..."]).code, 0);
    let wanted = bench.run(&["outline", "NodeId"]);
    let service = Service::start(&bench);
    let pid = service.child.id().to_string();
    let signal = |name: &str| assert!(Command::new("kill").args([name, &pid]).status().expect("kill").success());
    signal("-STOP");
    let actual = format!("the service of this checkout, pid {pid}, does not answer");
    for args in [
        &["resolve", "NodeId"][..],
        &["outline", "NodeId"],
        &["search", "Node"],
        &["edit", "list"],
    ] {
        let start = std::time::Instant::now();
        let ran = bench.run(args);
        assert!(ran.code == 0 && ran.err.contains(&actual), "{args:?} {ran:?}");
        assert!(ran.out.trim() != "" && (args[0] != "outline" || ran.out == wanted.out), "{ran:?}");
        // Detection takes two seconds; the bound allows for a busy machine.
        assert!(start.elapsed().as_secs() < 120, "{args:?} {:?}", start.elapsed());
    }
    // A method that changes files runs once, in the service or in the command.
    let edit = [
        "edit",
        "append",
        "--path",
        "src/MemoTree.Core/GlobalUsings.cs",
        "--anchor",
        "$",
        "--new-text",
        "// once\n",
    ];
    let edited = bench.run(&edit);
    signal("-CONT");
    let pinged = service.client().ask("ping", json!({}));
    assert_eq!(pinged["result"], json!({}));
    assert!(edited.code == 0 && edited.err.contains(&actual), "{edited:?}");
    let text = std::fs::read_to_string(bench.root().join("src/MemoTree.Core/GlobalUsings.cs")).expect("a file");
    assert_eq!(text.matches("// once").count(), 1, "{text}");
}
