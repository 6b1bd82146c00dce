//! Answers that a listener receives as they grow, and cancels.

use super::providers::{Asking, KEY, openai_stream};
use super::server::{Act, STREAM, Server, stream};
use engine::seams::producer::{Cancel, Failure};
use std::sync::{Arc, Mutex};

#[test]
fn a_stream_is_heard_word_by_word_without_keys() {
    let server = Server::new(vec![stream(openai_stream(&format!("one two {KEY} three four five")))]);
    let heard = Arc::new(Mutex::new(Vec::new()));
    let notes = heard.clone();
    let asking = Asking::openai(&server);
    let runtime = asking
        .runtime()
        .heard_by(Some(Arc::new(move |text: &str| notes.lock().expect("notes").push(text.to_owned()))));
    let answer = asking.ask_of(&runtime, "What is it?").expect("an answer");
    let heard = heard.lock().expect("notes");
    assert!(heard.iter().all(|text| answer.text.starts_with(text.as_str())), "{heard:?}");
    assert_eq!(heard.last().map(String::as_str), Some("one two [key] three four"));
}

#[test]
fn a_cancelled_answer_was_streamed_and_is_paid() {
    let unit = b"data: {\"choices\":[{\"delta\":{\"content\":\"word \"}}]}\n\n".to_vec();
    // Eight words, and then only keep-alives.
    let mut words: Vec<u8> = STREAM.into();
    words.extend_from_slice(&unit.repeat(8));
    let server = Server::new(vec![Act::Endless(words, b": still here\n\n".to_vec())]);
    let cancel = Cancel::default();
    let ends = cancel.clone();
    let asking = Asking::openai(&server);
    let runtime = asking.runtime().heard_by(Some(Arc::new(move |text: &str| {
        if text.len() > 20 {
            ends.cancel();
        }
    })));
    let Err(Failure::Rejected(rejected)) = asking.ask_as(&runtime, "x", 0, &cancel) else {
        panic!("it is kept");
    };
    assert_eq!(rejected.why.code, "E_CANCELLED");
    assert!(rejected.raw.starts_with(b"word word word "), "{:?}", rejected.raw);
    let spent = rejected.spent.expect("spent");
    assert!(spent.calls == 1 && spent.output_tokens > 0 && spent.estimated, "{spent:?}");
}
