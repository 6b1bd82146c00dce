//! Keys come from the configured sources and appear nowhere else.

use super::providers::{Asking, KEY, openai_stream, why};
use super::server::{Server, answer, stream};
use crate::{Ask, Limits};
use serde_json::json;

#[test]
fn a_missing_key_is_told_with_what_to_do() {
    let server = Server::new(vec![stream(openai_stream("it"))]);
    let why_without = |variable: &str| why(Asking::openai(&server).set("api_key_env", json!(variable)).ask());
    let why = why_without("NOT_SET");
    assert_eq!(why.code, "E_KEY");
    assert!(
        why.hint.as_deref().is_some_and(|hint| hint.starts_with("export NOT_SET=")),
        "{why:?}"
    );
    assert!(server.seen().is_empty());
}

#[test]
fn a_program_gives_the_key_once() {
    let server = Server::new(vec![stream(openai_stream("it"))]);
    let model = json!({"api": "openai", "name": "m", "base_url": server.url, "api_key_command": ["sh", "-c", "echo x >> asked; echo from-a-program; echo more"]});
    let asking = Asking::new(model);
    let runtime = asking.runtime();
    for _ in 0..3 {
        asking.ask_of(&runtime, "x").expect("an answer");
    }
    assert!(
        server
            .seen()
            .iter()
            .all(|seen| seen.headers.to_lowercase().contains("authorization: bearer from-a-program\n"))
    );
    assert_eq!(std::fs::read_to_string(asking.root().join("asked")).expect("a log"), "x\n");

    for (command, kind) in [
        ("echo sk-hunter2hunter2; exit 3", "exit status: 3"),
        ("printf 'sk-hunter2\\001hunter2'", "cannot be a key"),
        ("true", "cannot be a key"),
    ] {
        let model = json!({"api": "openai", "name": "m", "base_url": server.url, "api_key_command": ["sh", "-c", command]});
        let why = why(Asking::new(model).ask());
        assert!(why.code == "E_KEY" && why.message.contains(kind), "{why:?}");
        assert!(!format!("{why:?}").contains("hunter2"), "{why:?}");
    }
}

#[test]
fn headers_may_carry_keys_of_their_own() {
    let server = Server::new(vec![answer("418 Teapot", "", format!("you sent {KEY}"))]);
    let model =
        json!({"api": "openai", "name": "m", "base_url": server.url, "headers": {"Authorization": "Basic $TEAM_KEY", "x-team": "docs"}});
    let failure = why(Asking::new(model).ask());
    let headers = server.seen()[0].headers.to_lowercase();
    assert!(
        headers.contains(&format!("authorization: basic {KEY}\n")) && headers.contains("x-team: docs\n"),
        "{headers}"
    );
    assert_eq!(failure.found.as_deref(), Some("you sent [key]"));
    let model = json!({"api": "openai", "name": "m", "base_url": server.url, "headers": {"x-key": "$NOT_SET"}});
    assert!(why(Asking::new(model).ask()).message.contains("NOT_SET"));
}

/// For any behaviour of a server, no stored, shown or written data contains the key.
#[test]
fn a_key_is_nowhere_to_be_found() {
    let echo = |text: String| String::from_utf8(openai_stream(&text)).expect("text");
    let server = Server::with(move |seen, number| match number {
        0 => stream(echo(format!("{}{}", "x".repeat(20), KEY).repeat(2))),
        1 => answer("500 Oh", "", seen.headers.clone()),
        2 => answer(
            "400 No",
            "",
            format!("{{\"error\":{{\"message\":\"bad key {KEY}\",\"type\":\"{KEY}\"}}}}"),
        ),
        3 => answer("302 Found", &format!("Location: http://x/?key={KEY}\r\n"), ""),
        4 => answer("200 OK", "", format!("{{\"id\":\"{KEY}\"}}")),
        _ => answer("200 OK", "", "{\"id\":\"batch-1\"}"),
    });
    let asking = Asking::openai(&server)
        .set("record", json!("answers.jsonl"))
        .set("retries", json!(1));
    let runtime = asking.runtime();
    let mut said = String::new();
    for _ in 0..4 {
        said += &format!("{:?}\n", asking.ask_of(&runtime, "x"));
    }
    let asking = asking.limit(Limits {
        batch: true,
        ..Limits::default()
    });
    let runtime = asking.runtime();
    said += &format!("{:?}\n", asking.ask_of(&runtime, "x"));
    said += &format!("{:?}\n", runtime.flush());
    said += &format!("{:?} {:?}\n", asking.model, asking.settings);
    let mut files = 0;
    let mut folders = vec![asking.root().to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                said += &std::fs::read_to_string(path).expect("text");
                files += 1;
            }
        }
    }
    assert_eq!(files, 2, "the recording and the note of a batch");
    assert!(said.contains("[key]") && said.contains("batch-1"), "{said}");
    assert!(!said.contains("hunter2"), "{said}");
}
