//! `cortex serve --http` with hand-written requests: authorization, answers of methods, and events about edits and builds.

use crate::bench::Bench;
use crate::mcp_http::Served;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};

const JSON: (&str, &str) = ("Content-Type", "application/json");

/// Returns the document in the body of an answer.
fn document(answer: &str) -> Value {
    let body = answer.split_once("\r\n\r\n").expect("a body").1;
    serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {answer}"))
}

#[test]
fn the_page_is_for_everyone_here_and_the_workspace_for_those_with_the_token() {
    let bench = Bench::memotree();
    let served = Served::start_as("serve", &bench, &[]);
    let (own, bearer) = served.way_in();
    let (host, token) = (("Host", own.as_str()), ("Authorization", bearer.as_str()));
    let (status, page) = served.send("GET /", &[host], "");
    assert_eq!(status, 200, "{page}");
    let policy = page
        .lines()
        .find_map(|line| line.strip_prefix("content-security-policy: "))
        .expect("a policy");
    assert!(
        policy.contains("default-src 'none'") && policy.contains("connect-src 'self'") && !policy.contains("unsafe"),
        "{policy}"
    );
    assert!(!page.contains("memotree"), "the page alone holds nothing of the workspace");

    let status = json!({"jsonrpc": "2.0", "id": 1, "method": "resolve", "params": {"symbol": "NodeStore"}}).to_string();
    for (expected, line, headers, body) in [
        (403, "GET /", vec![("Host", "evil.example")], ""),
        (403, "GET /", vec![host, ("Origin", "http://evil.example")], ""),
        (405, "POST /", vec![host], ""),
        (401, "GET /events", vec![host], ""),
        (401, "POST /rpc", vec![host, JSON], &status),
        (401, "POST /rpc", vec![host, JSON, ("Authorization", "Bearer no")], &status),
        (
            403,
            "POST /rpc",
            vec![host, JSON, token, ("Origin", "http://evil.example")],
            &status,
        ),
        (415, "POST /rpc", vec![host, token], &status),
        (405, "GET /rpc", vec![host, token], ""),
        (404, "GET /mcp", vec![host, token], ""),
        (401, "GET /mcp", vec![host], ""),
        (200, "POST /rpc", vec![host, JSON, token, ("Origin", "http://localhost:1")], &status),
    ] {
        let (status, answer) = served.send(line, &headers, body);
        assert_eq!(status, expected, "{line} {headers:?}: {answer}");
    }
}

#[test]
fn messages_are_answered_as_at_the_socket() {
    let bench = Bench::memotree();
    assert_eq!(bench.run(&["build", "//types/...:outline"]).code, 0);
    let served = Served::start_as("serve", &bench, &[]);
    let (own, bearer) = served.way_in();
    let headers = [("Host", own.as_str()), ("Authorization", bearer.as_str()), JSON];
    let ask = |message: Value| document(&served.send("POST /rpc", &headers, &message.to_string()).1);
    let found = ask(json!({"jsonrpc": "2.0", "id": 7, "method": "resolve", "params": {"symbol": "NodeStore"}}));
    assert_eq!(found["id"], 7);
    assert_eq!(found["result"]["resolved"]["path"], "MemoTree.Core.NodeStore", "{found}");
    let actual = bench.run(&["resolve", "NodeStore", "--json"]);
    let actual: Value = serde_json::from_str(&actual.out).expect("JSON");
    assert_eq!(found["result"], actual, "the command line says the same");
    let unknown = ask(json!({"jsonrpc": "2.0", "id": "a", "method": "no.such"}));
    assert_eq!((&unknown["id"], &unknown["error"]["code"]), (&json!("a"), &json!(-32601)));
    assert_eq!(document(&served.send("POST /rpc", &headers, "{").1)["error"]["code"], -32700);
    let drawn =
        ask(json!({"jsonrpc": "2.0", "id": 1, "method": "node.near", "params": {"label": "//types/MemoTree.Core.NodeStore:outline"}}));
    let first = &drawn["result"]["nodes"][0];
    assert_eq!(first["label"], "//types/MemoTree.Core.NodeStore:outline", "{drawn}");
    let nodes = drawn["result"]["nodes"].as_array().expect("nodes").len();
    assert!((5..=120).contains(&nodes), "{nodes} nodes");
    bench.change("src/MemoTree.Core/NodeStore.cs", "Nodes cannot be moved yet", "Never");
    let drawn = ask(json!({"jsonrpc": "2.0", "id": 1, "method": "node.near", "params": {"label": "MemoTree.Core.NodeStore:outline"}}));
    let edges = drawn["result"]["edges"].as_array().expect("edges");
    assert!(
        edges.iter().any(|edge| edge["way"] == true),
        "the way to the edit is drawn: {drawn}"
    );
}

#[test]
fn edits_and_builds_of_others_are_told() {
    let (bench, pipe) = Bench::waits();
    bench.run(&["build", "//types/...:outline"]);
    let served = Served::start_as("serve", &bench, &[]);
    let (own, bearer) = served.way_in();
    let stream = served.begin("GET /events", &[("Host", own.as_str()), ("Authorization", bearer.as_str())], "");
    let mut lines = BufReader::new(stream).lines();
    let mut next = |what: &str, is: &dyn Fn(&Value) -> bool| {
        loop {
            let line = lines.next().unwrap_or_else(|| panic!("no {what}")).expect("a line");
            if let Some(data) = line.strip_prefix("data: ") {
                let actual: Value = serde_json::from_str(data).expect("JSON");
                if is(&actual) {
                    return actual;
                }
            }
        }
    };
    let before = next("number of the newest build", &|actual| actual["build"].as_u64() > Some(0));
    let path = "src/MemoTree.Core/NodeId.cs";
    bench.change(path, "IsNone", "IsNothing");
    let moved = next("edit", &|actual| actual["moves"].as_u64() > before["moves"].as_u64());
    assert_eq!(moved["paths"], json!([path]));
    bench.run(&["build", "//types/...:outline"]);
    next("build", &|actual| actual["build"].as_u64() > before["build"].as_u64());
    // Another process builds until the pipe is written to.
    let mut child = bench.command(&["build", "//index:waits"]).spawn().expect("the program starts");
    next("a build elsewhere", &|actual| {
        actual["elsewhere"] == true && actual["percent"].is_null()
    });
    std::fs::write(&pipe, "").expect("written");
    next("its end", &|actual| actual["elsewhere"] == false);
    assert!(child.wait().expect("ended").success());
}
