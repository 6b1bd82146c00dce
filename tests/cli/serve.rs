//! `cortex serve`: JSON-RPC over its socket and over standard input, and the command line as its client.

use crate::bench::Bench;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

const LONG: Duration = Duration::from_secs(300);

/// A running service.
pub struct Service {
    pub child: Child,
    socket: PathBuf,
}

impl Service {
    pub fn start(bench: &Bench) -> Self {
        Self::run(bench.command(&["serve", "--json"]))
    }

    /// Starts a service whose standard error can be read.
    fn start_with_stderr(bench: &Bench) -> (Self, BufReader<ChildStderr>) {
        let mut command = bench.command(&["serve", "--json"]);
        command.stderr(Stdio::piped());
        let mut service = Self::run(command);
        let words = service.child.stderr.take().expect("piped");
        (service, BufReader::new(words))
    }

    pub fn run(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().expect("the program starts");
        let mut line = String::new();
        let out = child.stdout.as_mut().expect("piped");
        BufReader::new(out).read_line(&mut line).expect("a line");
        let begun: Value = serde_json::from_str(&line).expect("JSON");
        let socket = begun["socket"].as_str().expect("a path").into();
        Self { child, socket }
    }

    pub fn client(&self) -> Client {
        let stream = UnixStream::connect(&self.socket).expect("it listens");
        stream.set_read_timeout(Some(LONG)).expect("a time-out");
        Client {
            reader: BufReader::new(stream.try_clone().expect("cloned")),
            stream,
            last: 0,
        }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // Some tests already ended it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A client that writes lines.
pub struct Client {
    pub stream: UnixStream,
    reader: BufReader<UnixStream>,
    last: u64,
}

impl Client {
    pub fn send(&mut self, text: &str) {
        self.stream.write_all(format!("{text}\n").as_bytes()).expect("written");
    }

    pub fn next(&mut self) -> Value {
        let mut line = String::new();
        self.reader.read_line(&mut line).expect("an answer");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    /// Returns the next message other than progress.
    pub fn answer(&mut self) -> Value {
        loop {
            let message = self.next();
            if message["method"] != "$/progress" {
                return message;
            }
        }
    }

    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        self.last += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params}).to_string());
        let answer = self.next();
        assert_eq!(answer["id"], self.last, "{answer}");
        answer
    }

    pub fn result(&mut self, method: &str, params: Value) -> Value {
        let mut answer = self.ask(method, params);
        assert_eq!(answer["error"], Value::Null);
        answer["result"].take()
    }
}

#[test]
fn arguments_that_exclude_each_other_are_refused_as_on_the_command_line() {
    let bench = Bench::memotree();
    let service = Service::start(&bench);
    for (method, params) in [
        ("deps", json!({"symbol": "NodeStore", "structure": true, "body": true})),
        ("rdeps", json!({"symbol": "NodeStore", "structure": true, "body": true})),
        ("window.set", json!({"pack": "storage", "noPack": true})),
    ] {
        let answer = service.client().ask(method, params);
        assert!(answer["error"].to_string().contains("cannot go together"), "{answer}");
    }
}

#[test]
fn commands_look_the_same_with_a_service_and_without() {
    let bench = Bench::memotree();
    bench.run(&["build", "//..."]);
    let commands: [&[&str]; 9] = [
        &["outline", "NodeId"],
        &["outline", "NodeStore#Get", "--json"],
        &["outline", "--data", "--json", "NodeId", "NodeStore"],
        &["outline", "NodeStroe"],
        &["outline", "NodeStroe", "--output", "json"],
        &["outline", "--last-good", "Nothing"],
        &["semantic", "NodeStore"],
        &["investigate", "How are nodes moved?", "--scope", "MemoTree.Core"],
        &["operation", "none"],
    ];
    let run = || commands.map(|args| bench.run(args));
    let without = run();
    let service = Service::start(&bench);
    let with = run();
    for ((args, without), with) in commands.iter().zip(&without).zip(&with) {
        assert_eq!(
            (without.code, &without.out),
            (with.code, &with.out),
            "{args:?}: {} against {}",
            without.err,
            with.err
        );
        // The command reports a slow service, and the progress of an investigation.
        match args[0] {
            "investigate" => assert!(with.err.contains(": gathers what is in MemoTree.Core"), "{}", with.err),
            _ => {
                let waited = "waiting for the service of this checkout, which answers others or builds\n";
                assert_eq!(without.err, with.err.replace(waited, ""), "{args:?}");
            }
        }
    }
    let methods = service.client().result("cortex.about", json!({}))["methods"].clone();
    assert_eq!(
        (&methods["outline"]["calls"], &methods["semantic"]["calls"]),
        (&json!(6), &json!(1)),
        "{methods}"
    );
}

/// Repeats a request until it is answered from memory: time stamps of recently written files are not trusted.
fn ask_until_remembered(client: &mut Client, (method, name): (&str, &str), params: &Value) -> Value {
    let begun = Instant::now();
    loop {
        let answer = client.result(method, params.clone());
        if client.result("cortex.about", json!({}))["methods"][name]["warm"].as_u64() > Some(0) {
            return answer;
        }
        assert!(begun.elapsed() < LONG, "{name} is never answered from memory");
    }
}

#[test]
fn summaries_and_windows_are_remembered_until_the_store_or_their_files_change() {
    let bench = Bench::empty();
    let answer =
        "printf 'ROLE:\\n- Runs.\\nLIFECYCLE:\\n- None.\\nEDGE_CASES:\\n- None.\\nLIMITATIONS:\\n- None.\\nRECOMMENDATIONS:\\n- None.\\n'";
    let manifest =
        "[workspace]\nname = \"p\"\nrulesets = [\"csharp\"]\n[producer.semantic]\nparams.model = \"own\"\n[model.own]\napi = \"command\"\n";
    bench.write(
        "cortex.toml",
        &format!("{manifest}command = [\"sh\", \"-c\", \"cat >/dev/null; {answer}\"]\n"),
    );
    bench.write("A.cs", "namespace N;\npublic class A { public void Run() { } }\n");
    let service = Service::start(&bench);
    let mut client = service.client();
    let summary = json!({"path": "A"});
    let none = ask_until_remembered(&mut client, ("GetSemantic", "semantic"), &summary);
    assert_eq!((&none["semanticState"], &none["semanticText"]), (&json!("none"), &Value::Null));
    let empty = ask_until_remembered(&mut client, ("GetPromptWindow", "window show"), &json!({}));
    assert_eq!(empty["pinnedChars"], 0, "{empty}");
    // Another process changes the store and the window.
    assert_eq!(bench.run(&["build", "//types/N.A:semantic"]).code, 0);
    let made = client.result("GetSemantic", summary.clone());
    assert!(
        made["semanticState"] == "cached" && made["semanticText"].to_string().contains("Runs."),
        "{made}"
    );
    assert_eq!(bench.run(&["window", "pin", "A"]).code, 0);
    let pinned = client.result("GetPromptWindow", json!({}));
    assert!(pinned["pinnedChars"].as_u64() > Some(0), "{pinned}");
    // With `refresh`, the model is asked.
    let refreshed = client.result("GetSemantic", json!({"path": "A", "refresh": true}));
    assert_eq!(refreshed["semanticState"], "cached", "{refreshed}");
}

#[test]
fn messages_that_are_none_are_answered_and_the_service_goes_on() {
    let bench = Bench::memotree();
    let service = Service::start(&bench);
    let mut client = service.client();
    let cases: [(&str, i32); 9] = [
        ("{", -32700),
        ("[]", -32600),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, -32600),
        (r#"{"id":1,"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":"nothing"}"#, -32601),
        // Only the person may trust programs.
        (r#"{"jsonrpc":"2.0","id":1,"method":"trust"}"#, -32601),
        (r#"{"jsonrpc":"2.0","id":1,"method":"GetOutline","params":{"pth":"x"}}"#, -32602),
        (r#"{"jsonrpc":"2.0","id":1,"method":"GetOutline","params":{"path":7}}"#, -32602),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"GetOutline","params":["a",true,false,1,0,1]}"#,
            -32602,
        ),
    ];
    for (text, code) in cases {
        client.send(text);
        let answer = client.next();
        assert_eq!(answer["error"]["code"], code, "{text}: {answer}");
    }
    assert_eq!(client.result("rules.show", json!({"name": "scip"}))["name"], "scip");
    assert!(client.result("log", json!({"count": 1}))["builds"].is_array());
    let long = "x".repeat(100_000);
    let answer = client.ask("GetOutline", json!({"path": long}));
    assert!(answer["error"]["data"]["code"].is_string(), "no answer to a long symbol");
    for path in [
        "../../etc/passwd",
        "//files/../../etc/passwd:bytes",
        "//types/../x:outline",
        "\u{0}",
    ] {
        let answer = client.ask("GetOutline", json!({"path": path}));
        assert!(answer["error"]["data"]["code"].is_string(), "{path:?}: {answer}");
    }
    // An overlong message is refused before its end.
    client.stream.write_all(&vec![b'y'; 5 << 20]).expect("written");
    assert_eq!(client.next()["error"]["code"], -32600);
    client.send("");
    assert_eq!(client.result("ping", json!({})), json!({}));
    // A request with the id null expects an answer with that id.
    client.send(r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#);
    assert_eq!(client.next(), json!({"jsonrpc": "2.0", "id": null, "result": {}}));
}

#[test]
fn headers_positions_and_cancelling_as_editors_have_them() {
    let bench = Bench::memotree();
    let service = Service::start(&bench);
    let mut client = service.client();
    let mut send = |value: Value| {
        let body = value.to_string();
        client
            .stream
            .write_all(format!("Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes())
            .expect("written");
    };
    send(json!({"jsonrpc": "2.0", "id": "a", "method": "GetOutline", "params": ["NodeId"]}));
    let mut read = || {
        let mut header = String::new();
        while !header.ends_with("\r\n\r\n") {
            client.reader.read_line(&mut header).expect("a header");
        }
        let length = header
            .trim()
            .strip_prefix("Content-Length: ")
            .expect("a length")
            .parse()
            .expect("a number");
        let mut body = vec![0; length];
        client.reader.read_exact(&mut body).expect("a body");
        serde_json::from_slice::<Value>(&body).expect("JSON")
    };
    assert_eq!(read()["result"]["resolved"]["path"], "MemoTree.Core.NodeId");
    // Cancelled before or after its answer, each request has exactly one answer.
    for id in 0..20 {
        send(json!({"jsonrpc": "2.0", "id": id, "method": "GetOutline", "params": {"path": format!("NodeId{id}")}}));
        send(json!({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": id}}));
        let answer = read();
        assert_eq!(answer["id"], id);
        assert!(
            [-32800, -32000].contains(&answer["error"]["code"].as_i64().unwrap_or(0)),
            "{answer}"
        );
    }
}

#[test]
fn an_investigation_is_a_stream() {
    let bench = Bench::memotree();
    let service = Service::start(&bench);
    let mut client = service.client();
    let begun = client.result(
        "Investigate",
        json!({"question": "How are nodes moved?", "scopePaths": ["MemoTree.Core"]}),
    );
    let op = begun["opId"].as_str().expect("an identifier").to_owned();
    let mut stream = client.result("StreamOp", json!({"opId": op}));
    let mut values: Vec<Value> = stream["values"].as_array().expect("values").clone();
    let token = stream["token"].clone();
    while stream["finished"] != true {
        stream = client.result("$/enumerator/next", json!([token]));
        values.extend(stream["values"].as_array().expect("values").clone());
    }
    assert!(values.len() >= 3 && values[0] == "is to begin", "{values:?}");
    // The same with partial results.
    client.send(&json!({"jsonrpc": "2.0", "id": "p", "method": "StreamOp", "params": {"opId": op, "partialResultToken": 7}}).to_string());
    let actual = client.next();
    assert_eq!((&actual["method"], &actual["params"]["token"]), (&json!("$/progress"), &json!(7)));
    assert!(actual["params"]["value"].as_array().is_some_and(|value| !value.is_empty()));
    assert_eq!(client.next()["result"]["finished"], true);
    assert_eq!(client.ask("$/enumerator/next", json!({"token": 99}))["error"]["code"], -32602);
    assert!(bench.run(&["operation", &op]).out.contains(": done\n"));
}

#[test]
fn one_service_a_checkout_and_stale_sockets_are_taken_over() {
    let bench = Bench::memotree();
    assert_eq!(bench.run(&["serve", "--status"]).code, 1);
    let mut service = Service::start(&bench);
    let mode = std::fs::metadata(&service.socket).expect("a socket").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let second = bench.run(&["serve"]);
    assert_eq!(second.code, 4, "{second:?}");
    assert!(second.err.contains("already runs for this checkout, pid"), "{second:?}");
    assert_eq!(bench.run(&["serve", "--status"]).code, 0);
    service.child.kill().expect("killed");
    service.child.wait().expect("it ends");
    assert!(service.socket.exists(), "nobody removed it");
    // No service runs: the command answers itself.
    assert_eq!(bench.run(&["outline", "NodeId"]).code, 0);
    assert_eq!(bench.run(&["serve", "--status"]).code, 1);
    let mut again = Service::start(&bench);
    assert_eq!(bench.run(&["serve", "--stop"]).code, 0);
    assert_eq!(again.child.wait().expect("it ends").code(), Some(0));
    assert!(!again.socket.exists());
}

#[test]
fn builds_beside_a_service_take_the_store_and_look_nowhere() {
    let bench = Bench::memotree();
    let service = Service::start(&bench);
    let mut client = service.client();
    client.result("GetOutline", json!({"path": "NodeId"}));
    assert_eq!(bench.run(&["build", "//..."]).code, 0);
    let events = bench.beside("events");
    bench.run(&["build", "//...", "--events", &events.to_string_lossy()]);
    let events = std::fs::read_to_string(events).expect("events");
    let scanned = events.lines().find(|line| line.contains("\"scanned\"")).expect("a look");
    assert!(scanned.contains("\"stated\":0"), "{scanned}");
    assert_eq!(bench.run(&["gc", "--older-than", "0"]).code, 0);
    assert_eq!(
        client.result("GetOutline", json!({"path": "NodeId"}))["resolved"]["typeId"],
        "T_p8e5mq6b"
    );
    assert_eq!(bench.run(&["store", "verify"]).code, 0);
}

#[test]
fn a_service_builds_ahead_what_was_asked_for_lately_and_the_window() {
    let bench = Bench::memotree();
    assert_eq!(bench.run(&["build", "//types/MemoTree.Core.Storage.NodeCodec:outline"]).code, 0);
    assert_eq!(bench.run(&["outline", "NodeId"]).code, 0);
    assert_eq!(bench.run(&["window", "pin", "NodeId"]).code, 0);
    let _service = Service::run(bench.command(&["serve", "--json", "--ahead"]));
    bench.change("src/MemoTree.Core/Storage/NodeCodec.cs", "public static ", "internal static ");
    bench.change("src/MemoTree.Core/NodeId.cs", "public ", "/** <summary>An id.</summary> */ public ");
    let until = Instant::now() + LONG;
    for label in [
        "//types/MemoTree.Core.Storage.NodeCodec:outline",
        "//types/MemoTree.Core.NodeId:outline",
    ] {
        // `explain` is read-only: it builds nothing, and interrupts nothing.
        while bench.run(&["explain", "--json", label]).json()["state"] != "current" {
            assert!(Instant::now() < until, "{label} was not built ahead");
        }
        assert_eq!(
            bench.run(&["history", "--json", label]).json()["versions"].as_array().map(Vec::len),
            Some(2)
        );
    }
}

pub fn request(id: &str, path: &str, token: Option<&str>) -> String {
    let mut params = json!({"path": path});
    if let Some(token) = token {
        params["progressToken"] = token.into();
    }
    json!({"jsonrpc": "2.0", "id": id, "method": "GetOutline", "params": params}).to_string()
}

#[test]
fn an_id_that_is_being_answered_is_refused_and_answered_once() {
    let (bench, pipe) = Bench::waits();
    let service = Service::start(&bench);
    let mut client = service.client();
    client.send(&request("a", "//index:waits", None));
    for again in [
        request("a", "NodeId", None),
        r#"{"jsonrpc":"2.0","id":"a","method":"ping"}"#.to_owned(),
    ] {
        client.send(&again);
        let refused = client.next();
        assert_eq!(
            (&refused["id"], &refused["error"]["code"]),
            (&Value::Null, &json!(-32600)),
            "{refused}"
        );
    }
    // A number and a string of the same digits are different ids.
    client.send(r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#);
    assert_eq!(client.next()["id"], 7);
    std::fs::write(&pipe, "").expect("a pipe");
    let answer = client.next();
    assert_eq!((&answer["id"], &answer["error"]), (&json!("a"), &Value::Null), "{answer}");
    client.send(&request("a", "NodeId", None));
    assert_eq!(client.next()["result"]["resolved"]["path"], "MemoTree.Core.NodeId");
}

#[test]
fn a_service_that_cannot_be_found_any_more_ends() {
    let bench = Bench::memotree();
    let (mut service, mut words) = Service::start_with_stderr(&bench);
    std::fs::remove_file(&service.socket).expect("removed");
    // Another process now owns the socket.
    let other = UnixListener::bind(&service.socket).expect("a socket");
    assert_eq!(service.child.wait().expect("it ends").code(), Some(5));
    let mut text = String::new();
    words.read_to_string(&mut text).expect("text");
    assert!(text.contains("its socket was removed"), "{text}");
    assert!(service.socket.exists(), "it is left alone");
    drop(other);
    let again = Service::start(&bench);
    assert_eq!(again.client().result("ping", json!({})), json!({}));
}

#[test]
fn how_it_does_as_json() {
    let bench = Bench::memotree();
    let service = Service::start(&bench);
    let about = bench.run(&["serve", "--status", "--json"]);
    assert_eq!((about.code, &about.json()["pid"]), (0, &json!(service.child.id())), "{about:?}");
    let stopped = bench.run(&["serve", "--stop", "--json"]);
    assert_eq!(stopped.json(), json!({"stopped": service.child.id()}), "{stopped:?}");
}

#[test]
fn every_transport_denies_paths_outside_the_workspace() {
    let bench = Bench::memotree();
    let service = Service::start(&bench);
    let mut client = service.client();
    let removed = client.ask("pack.remove", json!({"name": "../../x"}));
    assert_eq!(removed["error"]["data"]["code"], "AccessDenied", "{removed}");
    for path in ["../../etc/passwd", "/etc/passwd", "//files/../../etc/passwd:bytes"] {
        let data = client.ask("GetOutline", json!({"path": path}))["error"]["data"].clone();
        assert_eq!(
            (&data["code"], &data["publicAlternatives"]),
            (&json!("AccessDenied"), &json!([])),
            "{data}"
        );
        for flags in [&[][..], &["--offline"]] {
            let ran = bench.run(&[&["outline", path], flags].concat());
            assert!(ran.code == data["exitCode"] && ran.err.contains("error[AccessDenied]"), "{ran:?}");
        }
    }
}

#[test]
fn it_keeps_the_store_within_its_size() {
    let bench = Bench::documents();
    let manifest = std::fs::read_to_string(bench.root().join("cortex.toml")).expect("a manifest");
    let manifest = manifest
        .replace("\"wc\", \"-w\"", "\"cat\"")
        .replace("rulesets = []", "rulesets = [\"csharp\"]");
    let limits = "[store]\nmax_size = \"2 MB\"\nolder_than = \"0\"\nkeep_versions = 1\n";
    bench.write("cortex.toml", &format!("{manifest}\n{limits}"));
    let (service, words) = Service::start_with_stderr(&bench);
    let (send, lines) = mpsc::channel();
    std::thread::spawn(move || words.lines().map_while(Result::ok).try_for_each(|line| send.send(line)));
    let mut client = service.client();
    for round in 0..16_u32 {
        let noise = |n: u32| blake3::hash(&[round.to_be_bytes(), n.to_be_bytes()].concat()).to_hex().to_string();
        bench.write("docs/a.md", &(0..8_000).map(noise).collect::<String>());
        client.result("GetOutline", json!({"path": "//docs/docs/a.md:words"}));
    }
    let mut actual = String::new();
    while !actual.contains("the store grew beyond") {
        let line = lines.recv_timeout(LONG);
        actual.push_str(&line.unwrap_or_else(|error| panic!("{error}: {actual}")));
    }
    client.result("GetOutline", json!({"path": "//docs/docs/a.md:words"}));
    assert_eq!(bench.run(&["store", "verify"]).code, 0);
}

#[test]
fn one_client_on_standard_input() {
    let bench = Bench::memotree();
    let mut command = bench.command(&["serve", "--stdio"]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut input = child.stdin.take().expect("piped");
    writeln!(
        input,
        "{}",
        json!({"jsonrpc": "2.0", "id": 1, "method": "GetOutline", "params": {"path": "NodeId"}})
    )
    .expect("written");
    let mut out = BufReader::new(child.stdout.take().expect("piped"));
    let mut line = String::new();
    out.read_line(&mut line).expect("an answer");
    assert!(line.contains("T_p8e5mq6b"), "{line}");
    // The last request is answered although the input ended without a line feed.
    write!(
        input,
        "{}",
        json!({"jsonrpc": "2.0", "id": 2, "method": "SearchSymbols", "params": ["import", 10]})
    )
    .expect("written");
    drop(input);
    line.clear();
    out.read_line(&mut line).expect("an answer");
    assert!(line.contains("\"id\":2") && line.contains("MarkdownImporter"), "{line}");
    assert!(child.wait().expect("it ends").success());
    line.clear();
    assert_eq!(out.read_line(&mut line).expect("the end"), 0, "nothing but answers: {line}");
}

#[test]
fn the_reference_page_is_that_of_the_table() {
    let page = Bench::empty().run(&["dev", "methods"]);
    let written = include_str!("../../docs/methods.md");
    assert!(page.out == written, "write it anew: cortex dev methods > docs/methods.md");
    let page = Bench::empty().run(&["dev", "errors"]);
    let written = include_str!("../../docs/errors.md");
    assert!(page.out == written, "write it anew: cortex dev errors > docs/errors.md");
}
