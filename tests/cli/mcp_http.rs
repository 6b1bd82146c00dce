//! `cortex mcp --http` with hand-written messages: requests that must be refused, and cancelled ones.

use super::mcp::{NEW, OLD, hello};
use crate::bench::Bench;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Stdio};

/// Headers of every message.
const FORM: [(&str, &str); 2] = [
    ("Content-Type", "application/json"),
    ("Accept", "application/json, text/event-stream"),
];

/// A server on its own port.
pub struct Served {
    child: Child,
    port: u16,
    token: String,
}

impl Served {
    fn start(bench: &Bench, more: &[&str]) -> Self {
        Self::start_as("mcp", bench, more)
    }

    /// Starts `cortex COMMAND --http`.
    pub fn start_as(command: &str, bench: &Bench, more: &[&str]) -> Self {
        let args: Vec<&str> = [command, "--http", "0"].iter().chain(more).copied().collect();
        let mut command = bench.command(&args);
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let (mut token, mut port) = (None, None);
        let mut lines = BufReader::new(child.stderr.take().expect("piped")).lines();
        while token.is_none() || port.is_none() {
            let line = lines.next().expect("it begins").expect("a line");
            if let Some(path) = line.strip_prefix("clients need the token in ") {
                let mode = std::fs::metadata(path).expect("the file").permissions().mode() & 0o777;
                assert_eq!(mode, 0o600);
                token = Some(std::fs::read_to_string(path).expect("the token").trim().to_owned());
            }
            if let Some(rest) = line.strip_prefix("serving at http://127.0.0.1:") {
                port = Some(rest.trim_end_matches("mcp").trim_end_matches('/').parse().expect("a port"));
            }
        }
        Self {
            child,
            port: port.expect("a port"),
            token: token.expect("a token"),
        }
    }

    /// Returns the address and the authorization header.
    pub fn way_in(&self) -> (String, String) {
        (format!("127.0.0.1:{}", self.port), format!("Bearer {}", self.token))
    }

    /// Sends a request.
    pub fn begin(&self, line: &str, headers: &[(&str, &str)], body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("it listens");
        let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let length = body.len();
        write!(
            stream,
            "{line} HTTP/1.1\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
        )
        .expect("written");
        stream
    }

    /// Sends a request; returns the status and the whole answer.
    pub fn send(&self, line: &str, headers: &[(&str, &str)], body: &str) -> (u16, String) {
        let mut stream = self.begin(line, headers, body);
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        let status = answer.split(' ').nth(1).and_then(|code| code.parse().ok());
        let status = status.unwrap_or_else(|| panic!("no answer: {answer:?}"));
        (status, answer)
    }

    fn post(&self, headers: &[(&str, &str)], message: &Value) -> (u16, String) {
        let headers: Vec<_> = FORM.iter().chain(headers).copied().collect();
        self.send("POST /mcp", &headers, &message.to_string())
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // Some tests already ended it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn http_admits_local_clients_with_the_token() {
    let bench = Bench::memotree();
    let served = Served::start(
        &bench,
        &["--allow-host", "proxy.example", "--allow-origin", "https://tools.example"],
    );
    let (own, bearer) = served.way_in();
    let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello()});
    let wrong = format!("Bearer {}x", served.token);
    for (status, headers) in [
        (200, vec![("Host", own.as_str()), ("Authorization", bearer.as_str())]),
        (
            200,
            vec![
                ("Host", "localhost"),
                ("Authorization", &bearer),
                ("Origin", "http://localhost:6274"),
            ],
        ),
        (
            200,
            vec![
                ("Host", "proxy.example"),
                ("Authorization", &bearer),
                ("Origin", "https://tools.example"),
            ],
        ),
        (403, vec![("Host", "evil.example"), ("Authorization", &bearer)]),
        (
            403,
            vec![("Host", &own), ("Authorization", &bearer), ("Origin", "http://evil.example")],
        ),
        (403, vec![("Host", &own), ("Authorization", &bearer), ("Origin", "null")]),
        (401, vec![("Host", &own)]),
        (401, vec![("Host", &own), ("Authorization", &wrong)]),
        (401, vec![("Host", &own), ("Authorization", "Bearer")]),
    ] {
        let (code, answer) = served.post(&headers, &initialize);
        assert_eq!(code, status, "{headers:?}: {answer}");
        assert_eq!(answer.contains("\"serverInfo\""), status == 200, "{headers:?}: {answer}");
        assert!(!answer.contains(&served.token));
        let (code, answer) = served.send("GET /metrics", &headers, "");
        assert_eq!(code, status, "{headers:?}: {answer}");
        assert_eq!(answer.contains("cortex_uptime_seconds"), status == 200, "{headers:?}: {answer}");
    }
    let in_ = [("Host", own.as_str()), ("Authorization", bearer.as_str())];
    assert_eq!(served.send("GET /", &in_, "").0, 404);
    assert_eq!(served.send("POST /metrics", &in_, "").0, 405);
    // Malformed messages get JSON-RPC's error codes.
    let headers: Vec<_> = FORM.iter().chain(&in_).copied().collect();
    for (body, id, error) in [
        ("{\"jsonrpc\": \"2.0\", ", Value::Null, -32700),
        ("", Value::Null, -32700),
        ("[]", Value::Null, -32600),
        ("{\"id\": 3, \"method\": \"ping\"}", json!(3), -32600),
        (r#"{"jsonrpc": "2.0", "id": 4, "method": "ping", "params": [1]}"#, json!(4), -32602),
        (r#"{"jsonrpc": "2.0", "id": 1.5, "method": "ping"}"#, json!(1.5), -32600),
    ] {
        let (code, answer) = served.send("POST /mcp", &headers, body);
        let actual: Value = serde_json::from_str(answer.rsplit("\r\n").next().expect("a body")).unwrap_or_default();
        assert_eq!(
            (code, &actual["id"], &actual["error"]["code"]),
            (400, &id, &json!(error)),
            "{body}: {answer}"
        );
    }
    let other = [in_[0], in_[1], ("Content-Type", "text/plain"), FORM[1]];
    assert_eq!(served.send("POST /mcp", &other, "{}").0, 415);
    let long = " ".repeat((4 << 20) + 1);
    assert_eq!(served.send("POST /mcp", &headers, &long).0, 413);

    // The newer protocol needs no session: one request is a complete conversation.
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
        "name": "outline", "arguments": {"symbols": ["NodeId"]},
        "_meta": {"io.modelcontextprotocol/protocolVersion": NEW, "io.modelcontextprotocol/clientCapabilities": {}},
    }});
    let headers = [
        in_[0],
        in_[1],
        ("MCP-Protocol-Version", NEW),
        ("Mcp-Method", "tools/call"),
        ("Mcp-Name", "outline"),
    ];
    let (code, answer) = served.post(&headers, &call);
    assert!(code == 200 && answer.contains("MemoTree.Core.NodeId"), "{code} {answer}");
    let (_, figures) = served.send("GET /metrics", &in_, "");
    assert!(figures.contains("cortex_call_seconds_count{method=\"outline\"} 1\n"), "{figures}");
    for line in [
        "cortex_types_indexed 67\n",
        "cortex_projects 2\n",
        "cortex_semantic_queue_length 0\n",
        "cortex_alarms 0\n",
    ] {
        assert!(figures.contains(line), "{line}: {figures}");
    }

    // The token is stable, and refused where other users could read it.
    let again = Served::start(&bench, &[]);
    assert_eq!(again.token, served.token);
    let ran = bench.run(&["mcp", "--http", "0", "--allow-origin", "tools.example"]);
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert_eq!(bench.run(&["mcp", "--http", "nowhere"]).code, 2);
    assert_eq!(bench.run(&["--no-store", "mcp", "--http", "0"]).code, 2);
}

/// Starts a request that waits for a pipe, cancels it with `take_back`, and sends another one while the pipe stays open: that is answered only once
/// the first request has given up its turn.
fn taken_back(
    served: &Served,
    pipe: &Path,
    headers: &[(&str, &str)],
    meta: &Value,
    take_back: impl FnOnce(TcpStream) -> Option<TcpStream>,
) {
    let call = |id: u64, symbol: &str| {
        let arguments = json!({"symbols": [symbol]});
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "outline", "arguments": arguments, "_meta": meta}})
    };
    let all: Vec<_> = FORM.iter().chain(headers).copied().collect();
    let waiting = served.begin("POST /mcp", &all, &call(7, "//index:waits").to_string());
    // Opening the pipe for writing blocks until the command reads it: the command runs.
    let end = std::fs::File::options().write(true).open(pipe).expect("the command reads");
    let open = take_back(waiting);
    let (code, answer) = served.post(headers, &call(8, "NodeId"));
    assert!(code == 200 && answer.contains("MemoTree.Core.NodeId"), "{code} {answer}");
    drop((end, open));
}

#[test]
fn a_request_of_a_session_is_taken_back_by_a_message() {
    let (bench, pipe) = Bench::waits();
    let served = Served::start(&bench, &[]);
    let (own, bearer) = served.way_in();
    let in_ = [("Host", own.as_str()), ("Authorization", bearer.as_str())];
    let (_, answer) = served.post(&in_, &json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello()}));
    let session = answer
        .lines()
        .find_map(|line| {
            line.to_ascii_lowercase()
                .starts_with("mcp-session-id: ")
                .then(|| line[16..].trim().to_owned())
        })
        .unwrap_or_else(|| panic!("no session: {answer}"));
    let headers = [in_[0], in_[1], ("Mcp-Session-Id", session.as_str()), ("MCP-Protocol-Version", OLD)];
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(served.post(&headers, &ready).0, 202);
    taken_back(&served, &pipe, &headers, &json!({}), |open| {
        let back = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}});
        assert_eq!(served.post(&headers, &back).0, 202);
        Some(open)
    });
    // An ended session is unknown.
    assert_eq!(served.send("DELETE /mcp", &headers, "").0, 204);
    assert_eq!(served.post(&headers, &json!({"jsonrpc": "2.0", "id": 9, "method": "ping"})).0, 404);
}

#[test]
fn a_request_without_a_session_is_taken_back_by_hanging_up() {
    let (bench, pipe) = Bench::waits();
    let served = Served::start(&bench, &[]);
    let (own, bearer) = served.way_in();
    let headers = [
        ("Host", own.as_str()),
        ("Authorization", bearer.as_str()),
        ("MCP-Protocol-Version", NEW),
        ("Mcp-Method", "tools/call"),
        ("Mcp-Name", "outline"),
    ];
    let meta = json!({"io.modelcontextprotocol/protocolVersion": NEW, "io.modelcontextprotocol/clientCapabilities": {}});
    taken_back(&served, &pipe, &headers, &meta, |_| None);
}
