//! Servers that are down, busy or refuse everything: waits, messages, and calls that are not sent any more.

use super::providers::{Asking, openai_stream, why};
use super::server::{Server, answer, stream};
use crate::Runtime;
use engine::seams::producer::{Cancel, Failure};
use serde_json::json as value;
use std::sync::{Arc, Mutex};

/// Returns a runtime and the messages that it reports while it waits.
fn telling(asking: &Asking) -> (Runtime, Arc<Mutex<Vec<String>>>) {
    let messages = Arc::new(Mutex::new(Vec::new()));
    let telling = Arc::clone(&messages);
    let runtime = asking
        .runtime()
        .telling(move |words| telling.lock().expect("lock").push(words.to_owned()));
    (runtime, messages)
}

#[test]
fn a_server_that_stays_down_is_left_alone_and_told_once() {
    let server = Server::new(vec![answer("503 Service Unavailable", "", "{\"error\":{\"message\":\"no GPU\"}}")]);
    let asking = Asking::openai(&server);
    let (runtime, messages) = telling(&asking);
    let ask = || asking.ask_of(&runtime, "x");
    assert!(why(ask()).message.ends_with("answered 503, in 3 tries"));
    assert!(asking.stage.passed().as_secs() < 5);
    let open = (0..20).map(|_| ask()).find(|asked| matches!(asked, Err(Failure::Limit(_))));
    let open = why(open.expect("it is given up in the end"));
    assert!(asking.stage.passed().as_secs() < 60, "{:?}", asking.stage.passed());
    assert_eq!(open.code, "E_CIRCUIT");
    assert!(open.found.as_deref().is_some_and(|found| found.contains("503")), "{open:?}");
    let sent = server.seen().len();
    assert_eq!(why(ask()), open, "the same words, so that they are told once");
    assert_eq!(server.seen().len(), sent, "nothing is sent while it is open");
    let messages = messages.lock().expect("lock");
    assert!(
        messages.len() == 1 && messages[0].contains("answered 503") && messages[0].contains("waiting"),
        "{messages:?}"
    );
}

#[test]
fn a_server_that_comes_back_soon_is_waited_for() {
    let server = Server::with(|_, number| match number {
        0..6 => answer("500 Oh", "", ""),
        _ => stream(openai_stream("it")),
    });
    let asking = Asking::openai(&server).set("retries", value!(1));
    let runtime = asking.runtime();
    for _ in 0..5 {
        assert!(matches!(asking.ask_of(&runtime, "x"), Err(Failure::Transient(_))));
    }
    // One call tries, finds the server still down, and fails; the next waits for the next try.
    assert!(matches!(asking.ask_of(&runtime, "x"), Err(Failure::Transient(_))));
    for _ in 0..4 {
        asking.ask_of(&runtime, "x").expect("an answer");
    }
    assert_eq!((server.seen().len(), asking.stage.passed().as_secs()), (10, 10));
    let cancel = Cancel::default();
    let down = Asking::openai(&Server::new(vec![answer("500 Oh", "", "")])).set("retries", value!(1));
    let runtime = down.runtime();
    (0..5).for_each(|_| drop(down.ask_of(&runtime, "x")));
    cancel.cancel();
    assert_eq!(down.ask_as(&runtime, "x", 0, &cancel), Err(Failure::Cancelled));
}

#[test]
fn a_model_that_refuses_everything_is_not_asked_again() {
    for (status, body, calls) in [
        ("401 Unauthorized", "", 1),
        ("404 Not Found", "{\"error\":\"model not found\"}", 1),
        ("429 Too Many Requests", "{\"error\":{\"code\":\"insufficient_quota\"}}", 1),
        ("403 Forbidden", "", 5),
        ("400 Bad Request", "{\"error\":{\"message\":\"top_q is unknown\"}}", 5),
        // Another question may fit.
        (
            "400 Bad Request",
            "{\"error\":{\"message\":\"maximum context length is 100 tokens, you asked for 205\"}}",
            9,
        ),
    ] {
        let server = Server::new(vec![answer(status, "", body)]);
        let asking = Asking::openai(&server);
        let runtime = asking.runtime();
        let asked: Vec<_> = (0..9).map(|_| asking.ask_of(&runtime, "x")).collect();
        assert_eq!(server.seen().len(), calls, "{status}");
        assert!(asked[..calls].iter().all(|asked| matches!(asked, Err(Failure::Permanent(_)))));
        for not_asked in &asked[calls..] {
            assert_eq!(not_asked, &asked[8], "the same words, so that they are told once");
            assert!(
                matches!(not_asked, Err(Failure::Limit(why)) if why.message.contains("nothing more is asked")),
                "{not_asked:?}"
            );
        }
    }
    // Refusals with answers in between concern single questions.
    let server = Server::with(|_, number| match number % 2 {
        0 => answer("403 Forbidden", "", ""),
        _ => stream(openai_stream("it")),
    });
    let asking = Asking::openai(&server);
    let runtime = asking.runtime();
    (0..14).for_each(|_| drop(asking.ask_of(&runtime, "x")));
    assert_eq!(server.seen().len(), 14);
}

#[test]
fn a_server_that_wants_an_hour_is_not_waited_for_by_anyone() {
    let server = Server::new(vec![answer("429 Too Many Requests", "Retry-After: 3600\r\n", "")]);
    let asking = Asking::openai(&server);
    let (runtime, messages) = telling(&asking);
    assert!(matches!(asking.ask_of(&runtime, "x"), Err(Failure::Transient(_))));
    let others = asking.ask_of(&runtime, "y");
    assert!(matches!(others, Err(Failure::Limit(_))), "{others:?}");
    assert!(why(others).hint.expect("a hint").contains("3600 s"));
    assert_eq!((server.seen().len(), asking.stage.passed().as_secs()), (1, 0));
    assert!(messages.lock().expect("lock").is_empty());

    let busy = answer("429 Too Many Requests", "Retry-After: 90\r\n", "");
    let server = Server::new(vec![busy, stream(openai_stream("it"))]);
    let asking = Asking::openai(&server);
    let (runtime, messages) = telling(&asking);
    asking.ask_of(&runtime, "x").expect("an answer");
    let messages = messages.lock().expect("lock");
    assert!(
        messages.len() == 1 && messages[0].ends_with("is busy and asks for 90 s; waiting"),
        "{messages:?}"
    );
}

#[test]
fn a_minute_that_is_too_narrow_for_one_question_is_told_once() {
    let server = Server::new(vec![stream(openai_stream("it"))]);
    let asking = Asking::openai(&server).set("tokens_per_minute", value!(60));
    let (runtime, messages) = telling(&asking);
    asking.ask_of(&runtime, "x").expect("an answer");
    asking.ask_of(&runtime, "x").expect("an answer");
    let messages = messages.lock().expect("lock");
    assert!(
        messages.len() == 1 && messages[0].contains("tokens_per_minute = 60 is less than the 121 "),
        "{messages:?}"
    );
}
