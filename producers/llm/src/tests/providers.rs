//! Both wire formats against a server that answers well and badly.

use super::Stage;
use super::server::{Act, STREAM, Seen, Server, answer, json, stream};
use crate::{About, Ask, Limits, ModelReply, Question, Role, Runtime, Turn, TurnPart, Wants, model};
use engine::seams::producer::{Cancel, Failure, Params};
use engine::values::diagnostic::Diagnostic;
use engine::values::digest::{ActionKey, Digest};
use serde_json::{Value, json as value};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::path::Path;
use std::sync::Arc;

pub(super) const KEY: &str = "sk-hunter2hunter2hunter2";

/// A workspace, a world and a model.
pub(super) struct Asking {
    pub(super) folder: tempfile::TempDir,
    pub(super) stage: Arc<Stage>,
    pub(super) model: Params,
    pub(super) settings: Params,
    pub(super) limits: Limits,
}

impl Asking {
    /// Uses a model as in a manifest.
    pub(super) fn new(model: Value) -> Self {
        let models = BTreeMap::from([("team".to_owned(), model.as_object().cloned().expect("a table"))]);
        let bound = model::bind_model(value!({"model": "team"}).as_object().expect("a table"), &models);
        let stage = Stage::new();
        stage.set("TEAM_KEY", KEY);
        Self {
            folder: tempfile::tempdir().expect("a folder"),
            stage: Arc::new(stage),
            model: bound.params["model"].as_object().cloned().expect("a table"),
            settings: bound.settings,
            limits: Limits::default(),
        }
    }

    pub(super) fn openai(server: &Server) -> Self {
        Self::new(value!({"api": "openai", "name": "m", "base_url": format!("{}/v1", server.url), "api_key_env": "TEAM_KEY"}))
    }

    pub(super) fn anthropic(server: &Server) -> Self {
        Self::new(value!({"api": "anthropic", "name": "m", "base_url": server.url, "api_key_env": "TEAM_KEY"}))
    }

    pub(super) fn set(mut self, name: &str, setting: Value) -> Self {
        self.settings.insert(name.to_owned(), setting);
        self
    }

    pub(super) fn limit(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    pub(super) fn runtime(&self) -> Runtime {
        Runtime::in_world(self.limits, self.folder.path().to_owned(), self.stage.clone())
    }

    pub(super) fn root(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the content of the folder of pending batches.
    pub(super) fn batch_files(&self) -> Vec<(String, String)> {
        let folder = self.root().join(".cortex/batches");
        let entries = std::fs::read_dir(folder)
            .into_iter()
            .flatten()
            .map(|entry| entry.expect("an entry").path());
        let mut files: Vec<(String, String)> = entries
            .map(|path| {
                let name = path.file_name().expect("a name").to_string_lossy().into_owned();
                (name, std::fs::read_to_string(path).expect("text"))
            })
            .collect();
        files.sort();
        files
    }

    pub(super) fn ask(&self) -> Result<ModelReply, Failure> {
        self.ask_of(&self.runtime(), "What is it?")
    }

    pub(super) fn ask_of(&self, runtime: &Runtime, text: &str) -> Result<ModelReply, Failure> {
        self.ask_as(runtime, text, 0, &Cancel::default())
    }

    pub(super) fn ask_as(&self, runtime: &Runtime, text: &str, attempt: u32, cancel: &Cancel) -> Result<ModelReply, Failure> {
        let part = |text: &str, stable: bool| TurnPart {
            text: text.to_owned(),
            stable,
        };
        let turns = [
            Turn {
                role: Role::System,
                parts: vec![part("Be brief. ", true), part("Be right.", true)],
            },
            Turn {
                role: Role::User,
                parts: vec![part("Code: ", true), part(text, false)],
            },
        ];
        let key = ActionKey(Digest::of(text.as_bytes()));
        let question = Question {
            model: &self.model,
            settings: &self.settings,
            key: &key,
            attempt,
            turns: &turns,
            max_tokens: 100,
            wants: Wants::Text,
            about: About::default(),
        };
        runtime.ask(&question, cancel)
    }
}

pub(super) fn why(result: Result<ModelReply, Failure>) -> Box<Diagnostic> {
    match result {
        Err(Failure::Permanent(why) | Failure::Transient(why) | Failure::Limit(why)) => why,
        other => panic!("{other:?}"),
    }
}

pub(super) fn openai_stream(text: &str) -> Vec<u8> {
    let (first, second) = text.split_at(text.len() / 2);
    let mut body = String::new();
    for event in [
        value!({"choices": [{"delta": {"role": "assistant", "content": ""}, "finish_reason": null}]}),
        value!({"choices": [{"delta": {"content": first}}], "usage": null}),
        value!({"choices": [{"delta": {"content": second}, "finish_reason": null}]}),
        value!({"choices": [{"delta": {}, "finish_reason": "stop"}]}),
        value!({"choices": [], "usage": {"prompt_tokens": 50, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 20}}}),
    ] {
        body += &format!("data: {event}\n\n");
    }
    (body + "data: [DONE]\n\n").into_bytes()
}

pub(super) fn anthropic_stream(text: &str) -> Vec<u8> {
    let mut body = String::new();
    for event in [
        value!({"type": "message_start", "message": {"usage": {"input_tokens": 20, "cache_creation_input_tokens": 10, "cache_read_input_tokens": 20, "output_tokens": 1}}}),
        value!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        value!({"type": "ping"}),
        value!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}),
        value!({"type": "content_block_stop", "index": 0}),
        value!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 7}}),
        value!({"type": "message_stop"}),
    ] {
        body += &format!("event: {}\ndata: {event}\n\n", event["type"].as_str().expect("a type"));
    }
    body.into_bytes()
}

fn body(seen: &Seen) -> Value {
    serde_json::from_str(&seen.body).expect("JSON")
}

#[test]
fn openai_streams_and_counts() {
    let server = Server::new(vec![stream(openai_stream("ROLE: it is é"))]);
    let asking = Asking::openai(&server).set("price", value!({"input": 1, "cached": 0.1, "output": 10}));
    let answer = asking.ask().expect("an answer");
    assert_eq!(answer.text, "ROLE: it is é");
    assert!(!answer.cut);
    let spent = &answer.spent;
    assert_eq!(
        (spent.calls, spent.input_tokens, spent.cached_tokens, spent.output_tokens),
        (1, 50, 20, 7)
    );
    assert_eq!(
        (spent.micros, spent.estimated, spent.model.as_str()),
        (Some(30 + 2 + 70), false, "m")
    );
    let seen = server.seen();
    assert_eq!(seen[0].line, "POST /v1/chat/completions");
    assert!(seen[0].headers.to_lowercase().contains(&format!("authorization: bearer {KEY}\n")));
    let expected = value!({
        "model": "m", "max_tokens": 100, "stream": true, "stream_options": {"include_usage": true},
        "messages": [{"role": "system", "content": "Be brief. \n\nBe right."}, {"role": "user", "content": "Code: \n\nWhat is it?"}],
    });
    assert_eq!(body(&seen[0]), expected);
}

#[test]
fn anthropic_streams_counts_and_marks_what_may_be_cached() {
    let server = Server::new(vec![stream(anthropic_stream("ROLE: it"))]);
    let answer = Asking::anthropic(&server).ask().expect("an answer");
    assert_eq!((answer.text.as_str(), answer.cut), ("ROLE: it", false));
    let spent = &answer.spent;
    assert_eq!(
        (spent.input_tokens, spent.cached_tokens, spent.output_tokens, spent.micros),
        (50, 20, 7, None)
    );
    let seen = server.seen();
    assert_eq!(seen[0].line, "POST /v1/messages");
    let headers = seen[0].headers.to_lowercase();
    assert!(headers.contains(&format!("x-api-key: {KEY}\n")) && headers.contains("anthropic-version: 2023-06-01\n"));
    let expected = value!({
        "model": "m", "max_tokens": 100, "stream": true,
        "system": [{"type": "text", "text": "Be brief. "}, {"type": "text", "text": "Be right."}],
        "messages": [{"role": "user", "content": [
            {"type": "text", "text": "Code: ", "cache_control": {"type": "ephemeral"}}, {"type": "text", "text": "What is it?"},
        ]}],
    });
    assert_eq!(body(&seen[0]), expected);
}

#[test]
fn whole_answers_in_json_are_read_too() {
    let openai = value!({"choices": [{"message": {"content": "it"}, "finish_reason": "length"}], "usage": {"prompt_tokens": 5, "completion_tokens": 6}});
    let server = Server::new(vec![json(openai.to_string())]);
    let asking = Asking::openai(&server).set("stream", value!(false));
    let answer = asking.ask().expect("an answer");
    assert_eq!((answer.text.as_str(), answer.cut, answer.spent.output_tokens), ("it", true, 6));
    assert_eq!(body(&server.seen()[0]).get("stream"), None);

    let anthropic = value!({"type": "message", "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "it"}],
        "stop_reason": "max_tokens", "usage": {"input_tokens": 5, "output_tokens": 6}});
    let server = Server::new(vec![json(anthropic.to_string())]);
    let answer = Asking::anthropic(&server).ask().expect("an answer");
    assert_eq!((answer.text.as_str(), answer.cut, answer.spent.input_tokens), ("it", true, 5));
}

#[test]
fn missing_counts_are_estimated() {
    let server = Server::new(vec![stream(
        "data: {\"choices\":[{\"delta\":{\"content\":\"1234567\"},\"finish_reason\":\"stop\"}]}\n",
    )]);
    let answer = Asking::openai(&server).ask().expect("an answer");
    assert!(answer.spent.estimated);
    assert_eq!((answer.spent.input_tokens, answer.spent.output_tokens), (24, 3));
}

#[test]
fn endless_answers_are_cut() {
    let unit = b"data: {\"choices\":[{\"delta\":{\"content\":\"0123456789\"}}]}\n\n".repeat(50);
    let server = Server::new(vec![Act::Endless(STREAM.into(), unit)]);
    let answer = Asking::openai(&server).ask().expect("an answer");
    assert_eq!((answer.text.len(), answer.cut, answer.spent.estimated), (1_600, true, true));

    let server = Server::new(vec![Act::Endless(STREAM.into(), b": still here\n\n".repeat(5_000))]);
    assert!(why(Asking::openai(&server).ask()).message.contains("without coming to an end"));
}

#[test]
fn bytes_that_are_no_text_are_replaced_and_told() {
    let server = Server::new(vec![stream(
        b"data: {\"choices\":[{\"delta\":{\"content\":\"a\xff\xfeb\"},\"finish_reason\":\"stop\"}]}\n\n",
    )]);
    let answer = Asking::openai(&server).ask().expect("an answer");
    assert_eq!(answer.text, "a\u{fffd}\u{fffd}b");
    assert_eq!(answer.remarks[0].code, "W_ENCODING");
}

#[test]
fn wrong_json_and_cut_streams_are_tried_again() {
    let half = &openai_stream("half of it")[..150];
    let server = Server::new(vec![stream("data: {\"choices\":\n\n"), stream(half), stream(openai_stream("all"))]);
    let asking = Asking::openai(&server);
    let answer = asking.ask().expect("an answer");
    assert_eq!((answer.text.as_str(), server.seen().len()), ("all", 3));
    assert!(
        answer.spent.estimated && answer.spent.input_tokens > 50,
        "what broke off is counted: {:?}",
        answer.spent
    );
    assert_eq!(asking.stage.passed().as_secs(), 1 + 2);
}

#[test]
fn a_partial_answer_is_accounted_for_if_no_other_comes() {
    let half = &openai_stream("half of it")[..150];
    let server = Server::new(vec![stream(half)]);
    let asking = Asking::openai(&server).set("price", value!({"input": 1, "output": 10}));
    let Err(Failure::Rejected(rejected)) = asking.ask() else {
        panic!("it cost something");
    };
    assert!(rejected.why.message.ends_with("broke off in the middle of its answer, in 3 tries"));
    let spent = rejected.spent.expect("spent");
    assert!(
        spent.calls == 3 && spent.input_tokens == 72 && spent.output_tokens > 0 && spent.estimated,
        "{spent:?}"
    );
    assert!(spent.micros.is_some_and(|micros| micros > 72) && rejected.raw.is_empty());
}

#[test]
fn counts_that_cannot_be_are_not_believed() {
    let event = |usage: Value| {
        let answer = value!({"choices": [{"delta": {"content": "it is"}, "finish_reason": "stop"}], "usage": usage});
        stream(format!("data: {answer}\n\ndata: [DONE]\n\n"))
    };
    for usage in [
        value!({"prompt_tokens": u64::MAX, "completion_tokens": 7}),
        value!({"prompt_tokens": 50, "completion_tokens": u64::MAX}),
        value!({"prompt_tokens": 50, "completion_tokens": 1_000_000}),
    ] {
        let server = Server::new(vec![event(usage.clone())]);
        let spent = Asking::openai(&server).ask().expect("an answer").spent;
        assert_eq!((spent.input_tokens, spent.output_tokens, spent.estimated), (24, 2, true), "{usage}");
    }
}

#[test]
fn a_server_that_does_not_speak_the_interface_is_reported() {
    let page = answer("200 OK", "Content-Type: text/html\r\n", "\n<!DOCTYPE html><title>Log in</title>");
    let server = Server::new(vec![page]);
    let diagnostic = why(Asking::openai(&server).ask());
    assert!(diagnostic.message.ends_with("answered with a web page"), "{diagnostic:?}");
    assert_eq!(server.seen().len(), 1, "another try would find the same page");

    // A server of plain HTTP answers a TLS greeting in plain text.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("https://{}/v1", listener.local_addr().expect("an address"));
    let plain = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        let greeting = stream.read(&mut [0; 16 << 10]).expect("a greeting");
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").expect("said");
        greeting
    });
    let asking = Asking::new(value!({"api": "openai", "name": "m", "base_url": url}));
    let diagnostic = why(asking.ask());
    assert!(plain.join().expect("no panic") > 0);
    assert!(
        diagnostic
            .found
            .as_deref()
            .is_some_and(|found| found.contains("does not speak TLS")),
        "{diagnostic:?}"
    );
}

#[test]
fn a_busy_server_is_given_the_time_it_asks_for() {
    for (header, seconds) in [
        ("Retry-After: 17\r\n", 17),
        ("Retry-After: Sat, 21 Nov 2026 21:40:40 GMT\r\n", 40),
        ("", 1),
    ] {
        let busy = answer("429 Too Many Requests", header, "{\"error\":{\"message\":\"slow down\"}}");
        let server = Server::new(vec![busy, stream(anthropic_stream("it"))]);
        let asking = Asking::anthropic(&server);
        assert_eq!(asking.ask().expect("an answer").text, "it");
        assert_eq!(asking.stage.passed().as_secs(), seconds, "{header}");
    }
    let server = Server::new(vec![answer("429 Too Many Requests", "Retry-After: 7200\r\n", "")]);
    let asking = Asking::openai(&server);
    assert!(why(asking.ask()).hint.expect("a hint").contains("7200 s"));
    assert_eq!((server.seen().len(), asking.stage.passed().as_secs()), (1, 0));
}

#[test]
fn permanent_failures_are_reported_without_retries() {
    for (status, body, code, hint) in [
        (
            "401 Unauthorized",
            "{\"error\":{\"message\":\"Incorrect API key provided: sk-hunter2hunter2hunter2\"}}",
            "E_KEY",
            "TEAM_KEY",
        ),
        ("403 Forbidden", "no", "E_KEY", "export"),
        ("404 Not Found", "{\"error\":\"model not found\"}", "E_PROVIDER", "base_url"),
        (
            "400 Bad Request",
            "{\"error\":{\"message\":\"top_q is unknown\"}}",
            "E_PROVIDER",
            "params",
        ),
        (
            "429 Too Many Requests",
            "{\"error\":{\"code\":\"insufficient_quota\",\"message\":\"pay\"}}",
            "E_QUOTA",
            "credit",
        ),
        (
            "400 Bad Request",
            "{\"error\":{\"message\":\"maximum context length is 100 tokens, you asked for 205\"}}",
            "E_CONTEXT",
            "context_tokens",
        ),
    ] {
        let server = Server::new(vec![answer(status, "", body)]);
        let why = why(Asking::openai(&server).ask());
        assert_eq!((why.code.as_str(), server.seen().len()), (code, 1), "{status}");
        assert!(why.hint.as_deref().expect("a hint").contains(hint), "{why:?}");
        assert!(!format!("{why:?}").contains("hunter2"), "{why:?}");
    }
    let server = Server::new(vec![answer("302 Found", "Location: http://other.example/v1\r\n", "")]);
    assert_eq!(why(Asking::openai(&server).ask()).found.as_deref(), Some("http://other.example/v1"));
}

#[test]
fn errors_inside_a_stream_are_errors() {
    let overloaded = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n";
    let server = Server::new(vec![stream(overloaded), stream(anthropic_stream("it"))]);
    assert_eq!(Asking::anthropic(&server).ask().expect("an answer").text, "it");
    let long = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"prompt is too long: 900 tokens > 800 maximum\"}}\n\n";
    let server = Server::new(vec![stream(long)]);
    let why = why(Asking::anthropic(&server).ask());
    assert_eq!(why.code, "E_CONTEXT");
    assert!(why.message.ends_with("900 tokens, and 800 fit"), "{why:?}");
}

#[test]
fn a_refusal_is_kept_with_what_it_cost() {
    let refusal = "data: {\"choices\":[{\"delta\":{\"content\":\"I\"},\"finish_reason\":\"content_filter\"}]}\n\n";
    let server = Server::new(vec![stream(refusal)]);
    let Err(Failure::Rejected(rejected)) = Asking::openai(&server).ask() else {
        panic!("it is rejected");
    };
    assert_eq!(
        (rejected.why.code.as_str(), rejected.raw.as_slice()),
        ("E_REFUSED", b"I".as_slice())
    );
    assert_eq!(rejected.spent.expect("spent").calls, 1);
}

#[test]
fn silence_ends_in_time_and_when_told() {
    let server = Server::new(vec![Act::Silence]);
    let asking = Asking::openai(&server)
        .set("timeout_seconds", value!(0.05))
        .set("retries", value!(1));
    let failure = asking.ask();
    assert!(matches!(failure, Err(Failure::Transient(_))));
    assert!(why(failure).message.ends_with("gave no whole answer within 0.05 s"));

    // Cancelled as soon as the question has arrived: long before any time-out.
    let cancel = Cancel::default();
    let canceller = cancel.clone();
    let server = Server::with(move |_, _| {
        canceller.cancel();
        Act::Silence
    });
    let asking = Asking::openai(&server).set("timeout_seconds", value!(600));
    let start = std::time::Instant::now();
    assert_eq!(asking.ask_as(&asking.runtime(), "x", 0, &cancel), Err(Failure::Cancelled));
    assert!(start.elapsed().as_secs() < 300);
}

#[test]
fn an_unreachable_server_is_reported() {
    let free = std::net::TcpListener::bind("127.0.0.1:0")
        .expect("a port")
        .local_addr()
        .expect("an address");
    let asking = Asking::new(value!({"api": "openai", "name": "m", "base_url": format!("http://{free}/v1")}));
    let failure = asking.ask();
    assert!(matches!(failure, Err(Failure::Transient(_))), "{failure:?}");
    assert!(why(failure).message.contains("cannot be reached"));
    let asking = Asking::new(value!({"api": "openai", "name": "m", "base_url": "http://no-such-host.invalid/v1", "retries": 1}));
    assert!(why(asking.ask()).message.contains("cannot be reached"));
}
