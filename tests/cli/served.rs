//! Summaries by models behind a server: odd answers, and which parts of them are shown, stored and reported.

use crate::bench::{Bench, Ran};
use crate::money::FULL;
use crate::server::{Seen, Server, answer, json};
use serde_json::{Value, json as value};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

const KEY: &str = "sk-Zebra7Quartz2Ember9Violet4Tango1Nickel6";
const A: &str = "namespace N;\npublic class A { public int Get() { return 1; } }\n";
/// Depends on A, so its question follows A's.
const B: &str = "namespace N;\npublic class B { public A Held { get; } = new A(); }\n";
const ALL: &str = "//types/...:semantic";

fn workspace(server: &Server, api: &str, model: &str) -> Bench {
    let bench = Bench::empty();
    bench.write("A.cs", A);
    bench.write("B.cs", B);
    let base = format!("http://127.0.0.1:{}", server.port);
    bench.write(
        "cortex.toml",
        &format!(
            "[workspace]\nname = \"served\"\nrulesets = [\"csharp\"]\n\n[model.far]\napi = \"{api}\"\nname = \"far-1\"\nbase_url = \"{base}\"\nretries = 1\n\
             price = {{ input = 1.0, output = 10.0 }}\n{model}\n\n[producer.semantic]\nparams.model = \"far\"\n"
        ),
    );
    bench
}

/// Runs with the key in the environment.
fn run(bench: &Bench, args: &[&str]) -> Ran {
    let mut command = bench.command(args);
    command.env("FAR_KEY", KEY);
    bench.ran(command.output().expect("the program starts"))
}

fn chat(text: &str) -> Value {
    value!({"choices": [{"message": {"content": text}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 100, "completion_tokens": 20}})
}

fn message(text: &str) -> Value {
    value!({"content": [{"type": "text", "text": text}], "stop_reason": "end_turn", "usage": {"input_tokens": 100, "output_tokens": 20}})
}

fn contains(bytes: &[u8], words: &str) -> bool {
    bytes.windows(words.len()).any(|window| window == words.as_bytes())
}

/// Returns the files below a folder that contain the words.
fn holders(folder: &Path, words: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(holders(&path, words));
        } else if contains(&std::fs::read(&path).unwrap_or_default(), words) {
            found.push(path.display().to_string());
        }
    }
    found
}

/// A server that leaks the key it was given: in errors, answers, streams and names.
fn telltale(seen: &Seen, number: usize) -> Vec<u8> {
    let key = seen.headers.lines().find(|line| line.contains("Zebra7")).unwrap_or("none");
    let key = key.split_whitespace().last().unwrap_or_default();
    match number % 4 {
        0 => answer(
            "401 Unauthorized",
            "",
            format!("{{\"error\":{{\"message\":\"{key} is not known; you sent {key}\",\"type\":\"{key}\"}}}}"),
        ),
        1 => answer("302 Found", &format!("Location: http://elsewhere/{key}\r\n"), key),
        2 => {
            // A stream that splits the key.
            let (one, other) = key.split_at(key.len() / 2);
            let piece = |text: &str| format!("data: {}\n\n", value!({"choices": [{"delta": {"content": text}}]}));
            let body = format!("{}{}{}data: [DONE]\n\n", piece(FULL), piece(one), piece(other));
            answer("200 OK", "Content-Type: text/event-stream\r\n", body)
        }
        _ => {
            let text = format!("{FULL}- {key}\n");
            json(&if seen.line.contains("messages") {
                message(&text)
            } else {
                chat(&text)
            })
        }
    }
}

#[test]
fn only_the_server_sees_keys() {
    for (api, how) in [
        ("openai", "api_key_env = \"FAR_KEY\""),
        ("openai", "api_key_command = [\"sh\", \"-c\", \"echo $FAR_KEY\"]"),
        ("anthropic", "api_key_env = \"FAR_KEY\""),
        ("openai", "headers = { x-own = \"$FAR_KEY\" }\nrecord = \"answers.jsonl\""),
    ] {
        let server = Server::new(telltale);
        let bench = workspace(&server, api, how);
        let events = bench.beside("events.jsonl").to_string_lossy().into_owned();
        let mut text = String::new();
        for args in [
            &["build", "-v", "--events", &events, ALL][..],
            &["--output", "json", "build", "--keep-going", ALL],
            &["build", "-v", "--keep-going", ALL],
            &["build", "--batch", ALL],
            &["--output", "json", "build", ALL],
            &["prompt", "--full", "//types/N.A:semantic"],
            &["investigate", "What is kept?", "--scope", "N"],
            &["status", "--output", "json"],
            &["history", "--json", "//types/N.A:semantic"],
            &["explain", "--json", "//types/N.A:semantic"],
            &["show", "--allow-stale", "//types/N.A:semantic"],
            &["show", "--rejected", "//types/N.A:semantic"],
            &["cost", "--json"],
        ] {
            let ran = run(&bench, args);
            text.push_str(&format!("{args:?}\n{}\n{}\n", ran.out, ran.err));
        }
        assert!(
            server.take().iter().any(|seen| contains(seen.headers.as_bytes(), KEY)),
            "{api} {how}: it was sent"
        );
        assert!(text.contains("[key]"), "{api} {how}: the server told it\n{text}");
        assert!(!text.contains(KEY) && !text.contains("Zebra7"), "{api} {how}\n{text}");
        assert_eq!(holders(bench.store().parent().expect("a folder"), "Zebra7"), [""; 0], "{api} {how}");
    }
}

/// A provider of batches: a batch is answered once `ended` is set.
fn batches(server_ended: Arc<AtomicBool>) -> Server {
    let requests = std::sync::Mutex::new(Vec::<Vec<Value>>::new());
    Server::new(move |seen, _| {
        let mut requests = requests.lock().expect("no panic while it is held");
        let number = seen
            .line
            .rsplit("b-")
            .next()
            .and_then(|rest| rest.split('/').next()?.parse::<usize>().ok());
        match seen.line.as_str() {
            "POST /v1/messages/batches" => {
                let body: Value = serde_json::from_str(&seen.body).expect("JSON");
                requests.push(body["requests"].as_array().expect("a list").clone());
                json(&value!({"id": format!("b-{}", requests.len() - 1)}))
            }
            line if line.ends_with("/results") => {
                let rows = requests[number.expect("a number")].iter().map(|request| {
                    value!({"custom_id": request["custom_id"], "result": {"type": "succeeded", "message": message(FULL)}}).to_string()
                });
                answer("200 OK", "", rows.collect::<Vec<_>>().join("\n"))
            }
            line if line.starts_with("GET /v1/messages/batches/b-") => {
                json(&value!({"processing_status": if server_ended.load(Relaxed) { "ended" } else { "in_progress" }}))
            }
            "POST /v1/messages" => json(&message(FULL)),
            other => answer("404 Not Found", "", format!("no {other}")),
        }
    })
}

fn state(bench: &Bench, of: &str) -> Value {
    let index = std::fs::read_to_string(bench.root().join(".cortex/out/index.json")).expect("an index");
    let index: Value = serde_json::from_str(&index).expect("JSON");
    let types = index["types"].as_array().expect("types");
    types.iter().find(|entry| entry["fqn"] == of).expect("the type")["semanticState"].clone()
}

#[test]
fn a_batch_is_told_waited_for_and_picked_up_level_by_level() {
    let ended = Arc::new(AtomicBool::new(false));
    let server = batches(Arc::clone(&ended));
    let bench = workspace(&server, "anthropic", "api_key_env = \"FAR_KEY\"");
    let targets = [ALL, "//index:json"];
    let build = |flags: &[&str]| run(&bench, &[&["build"], flags, &targets].concat());
    let creates = || server.take().iter().filter(|seen| seen.line == "POST /v1/messages/batches").count();
    let first = build(&["--batch"]);
    assert_eq!((first.code, creates()), (0, 1), "{first:?}");
    assert!(first.err.contains("1 handed over in a batch, answers come later"), "{}", first.err);
    assert!(first.err.contains("next     run the same command again"), "{}", first.err);
    assert_eq!((state(&bench, "N.A"), state(&bench, "N.B")), ("pending".into(), "pending".into()));
    let status = run(&bench, &["--output", "json", "status"]).json();
    assert_eq!(
        (&status["semantic"]["pending"], &status["semantic"]["none"]),
        (&2.into(), &0.into()),
        "{status}"
    );
    let priced = build(&["--dry-run"]);
    assert!(
        priced.err.contains("pending  1 handed over in a batch: nothing more is paid"),
        "{}",
        priced.err
    );
    assert!(!priced.err.contains("asks     1"), "{}", priced.err);
    // The batch still runs: nothing is asked twice, with or without --batch.
    for flags in [&["--batch"][..], &[]] {
        let waits = build(flags);
        assert_eq!((waits.code, creates()), (0, 0), "{waits:?}");
        assert!(waits.err.contains("1 handed over in a batch"), "{}", waits.err);
    }
    ended.store(true, Relaxed);
    let second = build(&["--batch"]);
    assert_eq!(
        (second.code, creates()),
        (0, 1),
        "the answer about A, and the question about B: {second:?}"
    );
    assert_eq!((state(&bench, "N.A"), state(&bench, "N.B")), ("cached".into(), "pending".into()));
    // A build without --batch uses the answers, too.
    let third = build(&[]);
    assert_eq!((third.code, creates()), (0, 0), "{third:?}");
    assert_eq!(state(&bench, "N.B"), "cached");
    let cost = run(&bench, &["cost", "--json"]).json();
    assert_eq!(
        (&cost["spent"]["spent"]["calls"], &cost["spent"]["spent"]["micros"]),
        (&2.into(), &300.into()),
        "half the price: {cost}"
    );
    assert!(
        std::fs::read_dir(bench.root().join(".cortex/batches")).map_or(0, Iterator::count) == 0,
        "nothing is left on the shelf"
    );
}

#[test]
fn an_address_and_a_key_are_no_part_of_the_question() {
    let server = Server::new(|_, _| json(&chat(FULL)));
    let bench = workspace(&server, "openai", "stream = false");
    assert_eq!(run(&bench, &["build", ALL]).code, 0);
    assert_eq!(server.take().len(), 2);
    let manifest = std::fs::read_to_string(bench.root().join("cortex.toml")).expect("a manifest");
    for (from, to) in [
        ("127.0.0.1", "localhost"),
        ("stream = false", "stream = true"),
        ("stream = false", "api_key_env = \"FAR_KEY\""),
        ("stream = false", "api_key_command = [\"echo\", \"x\"]"),
        ("stream = false", "headers = { x-team = \"docs\" }\ntimeout_seconds = 9"),
    ] {
        assert!(manifest.contains(from));
        bench.write("cortex.toml", &manifest.replace(from, to));
        let built = run(&bench, &["build", ALL]);
        assert_eq!((built.code, server.take().len()), (0, 0), "{to}: {built:?}");
    }
    // Another API, or another model name, is another question.
    for (from, to) in [("\"openai\"", "\"anthropic\""), ("far-1", "far-2")] {
        bench.write("cortex.toml", &manifest.replace(from, to));
        run(&bench, &["build", "//types/N.A:semantic"]);
        assert!(!server.take().is_empty(), "{to}");
    }
}

#[test]
fn an_address_with_a_key_in_it_is_refused_and_not_shown() {
    let server = Server::new(|_, _| json(&chat(FULL)));
    let bench = workspace(&server, "openai", "");
    let manifest = std::fs::read_to_string(bench.root().join("cortex.toml")).expect("a manifest");
    for (tail, code) in [
        ("/v1?api_key=abcdef123456", "E_SECRET"),
        ("/v1?sig=abcdef123456", "E_SECRET"),
        ("/v1?version=3", "E_MODEL"),
    ] {
        bench.write(
            "cortex.toml",
            &manifest.replace(&server.port.to_string(), &format!("{}{tail}", server.port)),
        );
        let refused = run(&bench, &["build", ALL]);
        assert!(refused.code == 2 && refused.err.contains(code), "{refused:?}");
        assert!(!refused.err.contains("abcdef123456"), "{refused:?}");
    }
    assert_eq!(server.take().len(), 0);
}

/// A foreign manifest that sends the key to its own server.
#[test]
fn keys_are_sent_nowhere_before_someone_has_looked() {
    for how in [
        "api_key_env = \"FAR_KEY\"",
        "api_key_command = [\"sh\", \"-c\", \"echo $FAR_KEY\"]",
        "headers = { x-own = \"${FAR_KEY}\" }",
    ] {
        let server = Server::new(|_, _| json(&chat(FULL)));
        let bench = workspace(&server, "openai", how);
        let run = |args: &[&str]| {
            let mut command = bench.command(args);
            bench.ran(command.env_remove("CORTEX_TRUST").env("FAR_KEY", KEY).output().expect("runs"))
        };
        let refused = run(&["build", ALL]);
        assert!(refused.code != 0 && refused.err.contains("E_UNTRUSTED"), "{how}: {refused:?}");
        assert_eq!(server.take().len(), 0, "{how}");
        let listed = run(&["trust", "--list"]);
        assert!(
            listed.out.contains("waits    model.far") && listed.out.contains(&server.port.to_string()),
            "{how}: {listed:?}"
        );
        run(&["trust"]);
        assert_eq!(run(&["build", ALL]).code, 0, "{how}");
        assert!(!server.take().is_empty(), "{how}");
        // Another address requires trust again.
        bench.change("cortex.toml", "127.0.0.1", "127.0.0.2");
        bench.change("A.cs", "return 1", "return 2");
        assert!(run(&["build", ALL]).err.contains("E_UNTRUSTED"), "{how}");
    }
}
