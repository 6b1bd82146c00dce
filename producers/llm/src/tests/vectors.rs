//! Embeddings: requested from a server or a program, and counted.

use super::providers::{Asking, why};
use super::server::{Act, Server, answer, json};
use crate::{About, Ask, ModelReply, Question, Role, Turn, TurnPart, Wants};
use engine::seams::producer::{Cancel, Failure};
use engine::values::digest::{ActionKey, Digest};
use serde_json::{Value, json as value};

fn ask(asking: &Asking, text: &str) -> Result<ModelReply, Failure> {
    let key = ActionKey(Digest::of(text.as_bytes()));
    let turns = [Turn {
        role: Role::User,
        parts: vec![TurnPart {
            text: text.to_owned(),
            stable: false,
        }],
    }];
    let question = Question {
        model: &asking.model,
        settings: &asking.settings,
        key: &key,
        attempt: 0,
        turns: &turns,
        max_tokens: 0,
        wants: Wants::Vector,
        about: About::default(),
    };
    asking.runtime().ask(&question, &Cancel::default())
}

#[test]
fn a_server_gives_numbers_and_what_they_took() {
    let whole = value!({"object": "list", "data": [{"object": "embedding", "index": 0, "embedding": [0.5, -0.25]}], "usage": {"prompt_tokens": 12, "total_tokens": 12}});
    let server = Server::new(vec![json(whole.to_string())]);
    let asking = Asking::openai(&server).set("price", value!({"input": 1, "output": 10}));
    let answered = ask(&asking, "class A").expect("an answer");
    assert_eq!(answered.text, "[0.5,-0.25]");
    let spent = &answered.spent;
    assert_eq!(
        (spent.calls, spent.input_tokens, spent.output_tokens, spent.micros, spent.estimated),
        (1, 12, 0, Some(12), false)
    );
    let seen = server.seen();
    assert!(seen[0].line.contains("/v1/embeddings"), "{}", seen[0].line);
    let body: Value = serde_json::from_str(&seen[0].body).expect("JSON");
    assert_eq!(body, value!({"model": "m", "input": "class A"}));
}

#[test]
fn an_answer_that_is_no_embedding_is_reported() {
    let chat = value!({"choices": [{"message": {"content": "I cannot"}}]});
    let server = Server::new(vec![json(chat.to_string())]);
    let failed = why(ask(&Asking::openai(&server).set("retries", value!(1)), "x"));
    assert!(
        failed.found.as_deref().is_some_and(|found| found.contains("data[0].embedding")),
        "{failed:?}"
    );
    let server = Server::new(vec![answer(
        "404 Not Found",
        "Content-Type: application/json\r\n",
        "{\"error\": {\"message\": \"no such model\"}}",
    )]);
    let failed = why(ask(&Asking::openai(&server).set("retries", value!(1)), "x"));
    assert!(format!("{failed:?}").contains("no such model"), "{failed:?}");
    let server = Server::new(Vec::<Act>::new());
    let failed = why(ask(&Asking::anthropic(&server), "x"));
    assert_eq!(failed.message, "model 'team' makes no embeddings");
}

#[test]
fn a_program_prints_them() {
    let asking = Asking::new(value!({"api": "command", "command": ["sh", "-c", "read line; printf '[%d, -1.5]' ${#line}"]}));
    let answered = ask(&asking, "four").expect("an answer");
    assert_eq!(answered.text, "[4, -1.5]");
    assert_eq!((answered.spent.calls, answered.spent.output_tokens), (1, 0));
}

#[test]
fn recorded_numbers_are_answered_again() {
    let whole = value!({"data": [{"embedding": [0.5, -0.25]}], "usage": {"prompt_tokens": 12}});
    let server = Server::new(vec![json(whole.to_string())]);
    let real = Asking::openai(&server).set("record", value!("vectors.jsonl"));
    ask(&real, "class A").expect("an answer");
    let replayed = Asking {
        folder: real.folder,
        ..Asking::new(value!({"api": "replay", "recording": "vectors.jsonl"}))
    };
    assert_eq!(ask(&replayed, "class A").expect("an answer").text, "[0.5,-0.25]");
}
