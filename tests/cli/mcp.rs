//! `cortex mcp` by hand-written messages over standard input, in both of its protocols.

use crate::bench::Bench;
use crate::work;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

pub const OLD: &str = "2025-11-25";
pub const NEW: &str = "2026-07-28";

/// A client of the server's standard input and output.
pub struct Client {
    pub child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    last: u64,
    /// Whether each request identifies the client itself, without a handshake.
    new: bool,
}

impl Client {
    pub fn start(bench: &Bench, new: bool) -> Self {
        Self::of(bench, new, &["mcp"])
    }

    /// Starts a client with structured answers.
    pub fn structured(bench: &Bench, new: bool) -> Self {
        Self::of(bench, new, &["mcp", "--structured"])
    }

    fn of(bench: &Bench, new: bool, arguments: &[&str]) -> Self {
        let mut command = bench.command(arguments);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let (to, from) = (child.stdin.take().expect("piped"), child.stdout.take().expect("piped"));
        let from = BufReader::new(from);
        let mut client = Self {
            child,
            to,
            from,
            last: 0,
            new,
        };
        if !new {
            let hello = client.result("initialize", hello());
            assert_eq!(hello["protocolVersion"], OLD);
            assert_eq!(hello["serverInfo"]["name"], "cortex");
            client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        }
        client
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.to, "{message}").expect("written");
    }

    /// Reads the next message: every line of standard output is one.
    fn next(&mut self) -> Value {
        let mut line = String::new();
        self.from.read_line(&mut line).expect("a line");
        let message: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"));
        assert_eq!(message["jsonrpc"], "2.0", "{message}");
        message
    }

    pub fn begin(&mut self, method: &str, mut params: Value) -> u64 {
        self.last += 1;
        if self.new {
            let meta = json!({
                "io.modelcontextprotocol/protocolVersion": NEW,
                "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": {},
            });
            for (key, value) in meta.as_object().expect("an object") {
                params["_meta"][key] = value.clone();
            }
        }
        self.send(&json!({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params}));
        self.last
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params);
        let answer = self.next();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    fn result(&mut self, method: &str, params: Value) -> Value {
        let mut answer = self.ask(method, params);
        assert_eq!(answer["error"], Value::Null);
        answer["result"].take()
    }

    fn refused(&mut self, method: &str, params: Value) -> (i64, String) {
        let answer = self.ask(method, params);
        let error = &answer["error"];
        let code = error["code"].as_i64().unwrap_or_else(|| panic!("no error: {answer}"));
        (code, error["message"].as_str().expect("a message").to_owned())
    }

    pub fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.result("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    /// Returns the text of a failed tool call.
    pub fn failure(&mut self, tool: &str, arguments: Value) -> String {
        let result = self.call(tool, arguments);
        assert_eq!(
            (&result["isError"], &result["structuredContent"]),
            (&json!(true), &Value::Null),
            "{result}"
        );
        text(&result)
    }

    pub fn read(&mut self, uri: &str) -> String {
        let result = self.result("resources/read", json!({"uri": uri}));
        assert_eq!(result["contents"][0]["uri"], uri);
        result["contents"][0]["text"].as_str().expect("a text").to_owned()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // Some tests already ended it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn hello() -> Value {
    json!({"protocolVersion": OLD, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}})
}

/// Returns the text of an answer, which has exactly one form.
pub fn text(result: &Value) -> String {
    let (text, data) = (&result["content"][0]["text"], &result["structuredContent"]);
    assert!(text.is_string() != data.is_object(), "one form: {result}");
    let fields = [text, &data["contextText"], &data["outlineText"]];
    let actual = fields.into_iter().find_map(Value::as_str).map(str::to_owned);
    actual.unwrap_or_else(|| data.to_string())
}

fn names(list: &Value) -> Vec<&str> {
    let each = list.as_array().expect("a list").iter();
    each.map(|one| one["name"].as_str().expect("a name")).collect()
}

#[test]
fn tools_in_both_protocols() {
    let bench = Bench::memotree();
    for new in [false, true] {
        let mut client = Client::structured(&bench, new);
        if new {
            let about = client.result("server/discover", json!({}));
            let versions = about["supportedVersions"].as_array().expect("versions");
            assert!(versions.contains(&json!(NEW)) && versions.contains(&json!(OLD)), "{about}");
        }
        let listed = client.result("tools/list", json!({}));
        let outline = listed["tools"]
            .as_array()
            .expect("tools")
            .iter()
            .find(|tool| tool["name"] == "outline");
        let outline = outline.unwrap_or_else(|| panic!("no outline: {listed}"));
        assert_eq!(outline["annotations"], json!({"readOnlyHint": true}));
        assert_eq!(outline["inputSchema"]["required"], json!(["symbols"]));
        // It may cause a paid request to a model.
        let semantic = listed["tools"]
            .as_array()
            .expect("tools")
            .iter()
            .find(|tool| tool["name"] == "semantic");
        let actual = &semantic.expect("semantic")["annotations"];
        assert_eq!(actual, &json!({"destructiveHint": false, "idempotentHint": true}));

        let result = client.call("outline", json!({"symbols": ["NodeId"]}));
        assert_eq!(result["structuredContent"]["resolved"]["path"], "MemoTree.Core.NodeId");
        assert_eq!(result["content"], json!([]), "one form is sent");
        let schema = &outline["outputSchema"];
        assert_eq!(
            (&schema["type"], &schema["required"]),
            (&json!("object"), &json!(["resolved", "outlineText", "state"]))
        );
        assert_eq!(client.result("tools/list", json!({})), listed, "the list stays the same");
        let mut plain = Client::start(&bench, new);
        let short = plain.call("outline", json!({"symbols": ["NodeId"]}));
        assert_eq!(json!(text(&short)), result["structuredContent"]["outlineText"]);
        assert!(short["structuredContent"].is_null() && short["isError"] == json!(false), "{short}");
        let plain = plain.result("tools/list", json!({}));
        let tools = plain["tools"].as_array().expect("tools");
        assert!(tools.iter().all(|tool| tool["outputSchema"].is_null()), "{plain}");
        // The summaries of this workspace are quoted: no model answers, and none is an agent.
        let has = |name: &str| tools.iter().any(|tool| tool["name"] == name);
        assert!(has("search") && !has("investigate") && !has("work_next"), "{plain}");
        // Answers use the present sources.
        bench.write(
            "src/MemoTree.Core/Fresh.cs",
            &format!("namespace MemoTree.Core;\npublic class Fresh{new} {{ }}\n"),
        );
        assert!(text(&client.call("outline", json!({"symbols": [format!("Fresh{new}")]}))).contains(&format!("Fresh{new}")));
    }
}

#[test]
fn errors_of_a_tool_call_are_reported_to_the_model() {
    let bench = Bench::memotree();
    let mut client = Client::start(&bench, false);
    let actual = client.failure("outline", json!({"symbols": ["NodeStroe"]}));
    assert!(
        actual.contains("NodeStroe") && actual.contains("MemoTree.Core.NodeStore"),
        "{actual}"
    );
    // The model can correct arguments; an unknown tool is the client's error.
    for wrong in [
        json!({}),
        json!({"symbols": 3}),
        json!({"symbols": ["NodeId"], "more": true}),
        json!({"symbols": {"a": []}}),
    ] {
        let actual = client.failure("outline", wrong.clone());
        assert!(
            actual.starts_with("error[E_PARAM]") && actual.ends_with("cortex://method/outline"),
            "{wrong}: {actual}"
        );
    }
    assert_eq!(client.refused("tools/call", json!({"name": "no such tool"})).0, -32602);
    assert_eq!(client.refused("tools/call", json!({"name": "x".repeat(100_000)})).0, -32602);
    for arguments in [json!([1]), json!([]), json!("x")] {
        let params = json!({"name": "outline", "arguments": arguments});
        assert_eq!(client.refused("tools/call", params).0, -32602, "{arguments}");
    }
    assert_eq!(client.refused("tools/list", json!({"cursor": "x"})).0, -32602);
    let (code, message) = client.refused("no/such/method", json!({}));
    assert_eq!(code, -32601);
    assert!(message.starts_with("there is no method 'no/such/method'"), "{message}");
    for (tool, does) in [
        ("grep", "there is no tool 'grep'; call the tool 'search' with op 'grep'"),
        ("callers", "there is no tool 'callers'; call the tool 'usages' with op 'callers'"),
        (
            "overlay_put",
            "there is no tool 'overlay_put'; call the tool 'overlay' with op 'put'",
        ),
        ("zzz", "there is no tool 'zzz'; tools/list names them"),
    ] {
        let (code, message) = client.refused("tools/call", json!({"name": tool, "arguments": {}}));
        assert_eq!((code, message.as_str()), (-32602, does));
    }
    // No tool leads out of the workspace, and all refuse quickly.
    let long = "A".repeat(100_000);
    for symbol in [
        "//files/../../store:bytes", "//files//etc/passwd:bytes", "../../etc/passwd", "/etc/passwd", "A\u{0}B", "\u{1b}[31m", "", &long,
    ] {
        let actual = client.failure("outline", json!({"symbols": [symbol]}));
        assert!(
            actual.starts_with("error[") && actual.len() < 4000,
            "{}",
            &actual[..actual.len().min(400)]
        );
        assert!(!actual.contains('\u{1b}') && !actual.contains("root:"), "{actual}");
    }
    // Malformed lines do not end the connection.
    for garbage in ["{", "[]", "3", "\"\"", "{\"jsonrpc\":\"2.0\"}"] {
        writeln!(client.to, "{garbage}").expect("written");
    }
    let id = client.begin("ping", json!({}));
    let mut answer = client.next();
    while answer["id"] != id {
        assert!(answer["error"]["code"].is_i64(), "{answer}");
        answer = client.next();
    }
    assert_eq!(answer["result"], json!({}));
}

#[test]
fn remarks_about_the_repository_take_one_line() {
    let bench = Bench::memotree();
    let project = "<Project Sdk=\"Microsoft.NET.Sdk\"><PropertyGroup><TargetFramework>net8.0</TargetFramework></PropertyGroup><ItemGroup><ProjectReference Include=\"../Gone/Gone.csproj\" /></ItemGroup></Project>";
    bench.write("src/Odd/Odd.csproj", project);
    let mut client = Client::start(&bench, false);
    let found = text(&client.call("search", json!({"query": "NodeStore"})));
    assert!(
        found.contains("about the repository as a whole: ask `status` with op = \"doctor\""),
        "{found}"
    );
    assert!(!found.contains("CS-"), "{found}");
    let doctor = text(&client.call("status", json!({"op": "doctor"})));
    assert!(doctor.contains("Gone.csproj"), "{doctor}");
}

#[test]
fn resources_are_listed_and_read() {
    let bench = Bench::memotree();
    let many: String = (0..450).map(|number| format!("public class Many{number:03}<T> {{ }}\n")).collect();
    bench.write("src/MemoTree.Core/Many.cs", &format!("namespace Many;\n{many}"));
    let mut client = Client::start(&bench, true);
    let mut uris: Vec<String> = Vec::new();
    let mut cursor = Value::Null;
    loop {
        let params = if cursor.is_null() { json!({}) } else { json!({"cursor": cursor}) };
        let page = client.result("resources/list", params);
        let own = page["resources"].as_array().expect("resources");
        uris.extend(own.iter().map(|one| one["uri"].as_str().expect("an address").to_owned()));
        cursor = page["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    let mut once = uris.clone();
    once.sort();
    once.dedup();
    assert_eq!(once.len(), uris.len(), "nothing stands there twice");
    assert_eq!(uris.iter().filter(|uri| uri.starts_with("cortex://type/Many.Many")).count(), 450);
    let generic = "cortex://type/Many.Many449%601/outline";
    assert!(uris.iter().any(|uri| uri == generic), "{:?}", uris.last());
    assert!(client.read(generic).contains("Many449"));
    assert!(client.read("cortex://method/outline").contains("`lastGood`"));
    assert!(client.read("cortex://type/NodeStore/source").contains("class NodeStore"));
    let templates = client.result("resources/templates/list", json!({}))["resourceTemplates"].clone();
    let templates: Vec<&str> = templates
        .as_array()
        .expect("templates")
        .iter()
        .map(|one| one["uriTemplate"].as_str().expect("a template"))
        .collect();
    assert!(templates.contains(&"cortex://type/{symbol}/outline"), "{templates:?}");
    assert!(templates.contains(&"cortex://pack/{name}"), "{templates:?}");
    assert!(client.read("cortex://pack/storage").starts_with("# Pack storage\n"));
    assert_eq!(bench.run(&["window", "pin", "NodeStore"]).code, 0);
    assert!(client.read("cortex://window").contains("\n# MemoTree.Core.NodeStore T_"));

    assert!(templates.contains(&"cortex://operation/{id}"), "{templates:?}");
    // A background operation can be followed to its end, or to its failure.
    for (scope, end) in [("MemoTree.Core", "done"), ("Nowhere9", "failed")] {
        let question = json!({"question": "How are nodes moved?", "scope": [scope], "background": true});
        let begun = text(&client.call("investigate", question));
        let uri = begun.split(['(', ')']).nth(1).expect("an address").to_owned();
        let state = |page: &str| {
            page.lines()
                .next()
                .and_then(|line| line.split(": ").nth(1))
                .unwrap_or_default()
                .to_owned()
        };
        let last = loop {
            let actual = client.read(&uri);
            if !["gathering", "asking"].contains(&state(&actual).as_str()) {
                break actual;
            }
        };
        assert_eq!(state(&last), end, "{last}");
        let tells = if end == "done" { "\nEvidence\n" } else { "\nerror[" };
        assert!(last.contains(tells), "{last}");
    }

    for wrong in [
        "cortex://type/Nowhere9/outline",
        "cortex://operation/0",
        "cortex://type/..%2f..%2fetc%2fpasswd/outline",
        "cortex://type/%2f%2ffiles%2fsrc:bytes/source",
        "cortex://pack/nothing",
        "file:///etc/passwd",
        "",
    ] {
        assert_eq!(client.refused("resources/read", json!({"uri": wrong})).0, -32602, "{wrong}");
    }
    assert_eq!(client.refused("resources/list", json!({"cursor": "no cursor"})).0, -32602);
    // The older protocol has its own code for this.
    let mut client = Client::start(&bench, false);
    assert_eq!(
        client.refused("resources/read", json!({"uri": "cortex://type/Nowhere9/outline"})).0,
        -32002
    );
}

#[test]
fn prompts_name_the_tools() {
    let bench = Bench::memotree();
    let mut client = Client::start(&bench, false);
    let listed = client.result("prompts/list", json!({}));
    assert!(names(&listed["prompts"]).starts_with(&["explore_type", "change_type"]), "{listed}");
    let given = json!({"name": "explore_type", "arguments": {"symbol": "NodeStore"}});
    let prompt = client.result("prompts/get", given);
    let text = prompt["messages"][0]["content"]["text"].as_str().expect("a text");
    assert!(text.contains("type NodeStore of") && text.contains("`outline`"), "{text}");
    assert_eq!(client.refused("prompts/get", json!({"name": "explore_type"})).0, -32602);
}

#[test]
fn progress_is_told_and_a_request_can_be_taken_back() {
    let (bench, pipe) = Bench::waits();
    let mut client = Client::structured(&bench, false);
    let waiting = json!({"name": "outline", "arguments": {"symbols": ["//index:waits"]}, "_meta": {"progressToken": "t"}});
    let id = client.begin("tools/call", waiting);
    let actual = client.next();
    assert_eq!(
        (&actual["method"], &actual["params"]["progressToken"]),
        (&json!("notifications/progress"), &json!("t"))
    );
    assert_eq!(
        (&actual["params"]["progress"], &actual["params"]["total"]),
        (&json!(0.0), &json!(100.0)),
        "{actual}"
    );
    // Opening the pipe for writing blocks until the command reads it: the command runs.
    drop(std::fs::File::options().write(true).open(&pipe).expect("the command reads"));
    let _kept = std::fs::File::options().read(true).write(true).open(&pipe).expect("a pipe");
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}));
    // The request may have been answered just before, but not after; the next request runs in either case.
    let next = client.begin("tools/call", json!({"name": "outline", "arguments": {"symbols": ["NodeId"]}}));
    let mut answer = client.next();
    while answer["id"] != next {
        assert!(answer["method"] == "notifications/progress" || answer["id"] == id, "{answer}");
        answer = client.next();
    }
    assert_eq!(
        answer["result"]["structuredContent"]["resolved"]["path"], "MemoTree.Core.NodeId",
        "{answer}"
    );
}

#[test]
fn long_answers_are_shortened_and_say_so() {
    let bench = Bench::memotree();
    let body: String = (0..6_000)
        .map(|number| format!("    public int Member{number}() => {number};\n"))
        .collect();
    bench.write(
        "src/MemoTree.Core/Long.cs",
        &format!("namespace Long;\npublic class Long\n{{\n{body}}}\n"),
    );
    let mut client = Client::start(&bench, false);
    let result = client.call("outline", json!({"symbols": ["Long.Long"]}));
    let actual = text(&result);
    assert!(
        actual.contains("[left out: ") && actual.contains("lines left out]"),
        "{}",
        &actual[actual.len().saturating_sub(300)..]
    );
    let structured = Client::structured(&bench, false).call("outline", json!({"symbols": ["Long.Long"]}));
    assert!(structured["structuredContent"]["shortened"][0].is_string());
    // At most five bytes per token.
    assert!(result.to_string().len() < 100_000, "{} bytes", result.to_string().len());
}

/// Reads all pages of one list from a paginated tool; returns the entries and the number of pages. `next` builds the arguments of the next page.
fn pages(client: &mut Client, tool: &str, first: Value, list: &str, next: impl Fn(&Value) -> Option<Value>) -> (Vec<String>, usize) {
    let (mut told, mut count, mut arguments) = (Vec::new(), 0, first);
    loop {
        let page = client.call(tool, arguments.clone())["structuredContent"].clone();
        let items = page[list].as_array().expect("a list");
        assert!(!items.is_empty() && page["shortened"].is_null(), "{page}");
        told.extend(items.iter().map(|item| item["path"].as_str().expect("a path").to_owned()));
        count += 1;
        let Some(more) = next(&page) else {
            return (told, count);
        };
        more.as_object()
            .expect("arguments")
            .iter()
            .for_each(|(name, value)| arguments[name] = value.clone());
    }
}

#[test]
fn pages_that_are_too_long_end_where_the_next_begins() {
    let bench = Bench::memotree();
    let long = "Very".repeat(60);
    let names = (0..400).map(|number| format!("public class TypeOfARatherLong{long}LongName{number} : Base {{ }}\n"));
    let text = format!("namespace Many;\npublic class Base {{ }}\n{}", names.collect::<String>());
    bench.write("src/MemoTree.Core/Many.cs", &text);
    let mut client = Client::structured(&bench, false);
    let by_cursor = |page: &Value| page["next"].as_str().map(|next| json!({"cursor": next}));
    let search = |limit: u32| json!({"query": "RatherLong", "limit": limit});
    let (few, in_tens) = pages(&mut client, "search", search(40), "hits", by_cursor);
    let (all, in_hundreds) = pages(&mut client, "search", search(200), "hits", by_cursor);
    assert_eq!((few.len(), in_tens), (400, 10));
    assert!(in_hundreds > 2 && in_hundreds < 10, "{in_hundreds} pages");
    assert_eq!(all, few);
    let page = client.call("search", search(200));
    let shown = page["structuredContent"]["hits"].as_array().map_or(0, Vec::len);
    let note = format!("{shown} of 400 are shown: continue with the value of `cursor`");
    assert!(text_of_state(&page).contains(&note), "{}", text_of_state(&page));
    // Tools with a numeric offset.
    let rdeps = |limit: u32| json!({"op": "deps", "symbol": "Many.Base", "reverse": true, "limit": limit});
    let mut by_offset = |limit: u32| {
        let mut seen = 0;
        let mut found = Vec::new();
        while seen < 400 {
            let mut asked = rdeps(limit);
            asked["offset"] = seen.into();
            let page = client.call("usages", asked)["structuredContent"].clone();
            let types = page["types"].as_array().expect("a list").clone();
            assert!(!types.is_empty() && page["shortened"].is_null() && page["total"] == 400, "{page}");
            seen += types.len();
            let note = match seen {
                400 => "to 400 of 400 are shown".to_owned(),
                seen => format!("of 400 are shown: raise `limit`, or continue with `offset` {seen}"),
            };
            assert!(page["state"]["notes"].to_string().contains(&note), "{}", page["state"]);
            found.extend(types.into_iter().map(|one| one["path"].clone()));
        }
        found
    };
    assert_eq!(by_offset(1000), by_offset(50));
}

/// Returns the notes of an answer.
fn text_of_state(result: &Value) -> String {
    result["structuredContent"]["state"]["notes"].to_string()
}

#[test]
fn an_agent_fills_summaries_by_tools() {
    let bench = work::pair();
    let mut client = Client::structured(&bench, false);
    let none = client.call("semantic", json!({"symbol": "A"}))["structuredContent"].clone();
    assert_eq!(
        (&none["semanticState"], &none["state"]["complete"]),
        (&json!("none"), &json!(false)),
        "{none}"
    );
    assert!(none["state"]["notes"].to_string().contains("`work_next`"), "{none}");
    let why = client.failure("work_next", json!({"count": 0}));
    assert!(why.contains("count: 0 is not in 1..=100"), "{why}");
    let given = client.call("work_next", json!({"agent": "ann"}))["structuredContent"].clone();
    let question = &given["questions"][0];
    assert_eq!(
        (&given["waiting"], &question["label"]),
        (&json!(1), &json!("//types/N.A:semantic")),
        "{given}"
    );
    let submit = |answer: &str| json!({"id": question["id"], "answer": answer, "agent": "ann"});
    // An invalid answer is refused with the reason and the next step.
    let why = client.failure("work_submit", submit("It owns nodes."));
    assert!(why.contains("E_ANSWER") && why.contains("there is no summary of N.A"), "{why}");
    assert!(why.contains("submit a better answer") && why.contains("1 refused"), "{why}");
    let filed = client.call("work_submit", submit(&work::answer(question)))["structuredContent"].clone();
    assert_eq!(
        (&filed["status"], &filed["next"][0]["label"]),
        (&json!("filed"), &json!("//types/N.B:semantic")),
        "{filed}"
    );
    let made = client.call("semantic", json!({"symbol": "A"}))["structuredContent"].clone();
    assert_eq!(
        (&made["semanticState"], &made["state"]["complete"]),
        (&json!("cached"), &json!(true)),
        "{made}"
    );
    assert!(
        made["semanticText"].as_str().is_some_and(|text| text.contains("- Is N.A.")),
        "{made}"
    );
    assert!(bench.run(&["show", "//types/A:semantic"]).out.contains("- Is N.A."));
}

#[test]
fn a_malformed_message_is_refused_and_the_connection_continues() {
    let bench = Bench::memotree();
    for new in [false, true] {
        let mut client = Client::structured(&bench, new);
        let mut refused = |line: &[u8]| {
            client.to.write_all(line).expect("written");
            client.to.write_all(b"\n").expect("written");
            let answer = client.next();
            (answer["id"].clone(), answer["error"]["code"].as_i64().expect("an error"))
        };
        let call = br#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"outline","arguments":{"symbols":[""#;
        let long = [call.as_slice(), &vec![b'x'; 17 << 20], br#""]}}}"#].concat();
        assert_eq!(refused(&long), (json!("a"), -32600));
        assert_eq!(refused(call), (json!("a"), -32700));
        assert_eq!(refused(b"{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"\xff\"}"), (json!(8), -32700));
        assert_eq!(refused(b"hello"), (Value::Null, -32700));
        let actual = client.call("outline", json!({"symbols": ["NodeId"]}));
        assert_eq!(actual["structuredContent"]["resolved"]["path"], "MemoTree.Core.NodeId");
    }
}

#[test]
fn it_ends_with_its_input() {
    let bench = Bench::memotree();
    let mut command = bench.command(&["mcp"]);
    let ran = command.stdin(Stdio::null()).output().expect("the program starts");
    assert!(ran.status.success() && ran.stdout.is_empty(), "{ran:?}");
    let without = Bench::empty();
    let ran = without.run(&["mcp"]);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{}", ran.err);
}
