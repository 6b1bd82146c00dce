//! The limits of a run.

use super::providers::{Asking, openai_stream, why};
use super::server::{Act, STREAM, Server, answer, stream};
use crate::{Ask, Limits, model};
use engine::seams::producer::{Cancel, Failure};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

#[test]
fn each_limit_stops_before_it_is_passed() {
    let price = json!({"input": 1, "output": 10});
    // The question has about 24 tokens and its answer at most 100; the real usage was 57.
    for (limits, answered, message) in [
        (
            Limits {
                max_calls: Some(2),
                ..Limits::default()
            },
            2,
            "all 2 calls that --max-calls allows are made",
        ),
        (
            Limits {
                max_tokens: Some(200),
                ..Limits::default()
            },
            2,
            "and 114 of the 200 that --max-tokens allows are spent",
        ),
        (
            Limits {
                max_cost_micros: Some(1_250),
                ..Limits::default()
            },
            2,
            "and 0.00024 USD of the 0.00125 USD that --max-cost allows are spent",
        ),
        (
            Limits {
                max_tokens: Some(20),
                ..Limits::default()
            },
            0,
            "and 0 of the 20",
        ),
    ] {
        let server = Server::new(vec![stream(openai_stream("it"))]);
        let asking = Asking::openai(&server).set("price", price.clone()).limit(limits);
        let runtime = asking.runtime();
        for _ in 0..answered {
            asking.ask_of(&runtime, "x").expect("within the limits");
        }
        let failure = asking.ask_of(&runtime, "x");
        assert!(matches!(failure, Err(Failure::Limit(_))), "{failure:?}");
        let why = why(failure);
        assert!(why.code == "E_LIMIT" && why.message.contains(message), "{why:?}");
        assert!(why.hint.as_deref().is_some_and(|hint| hint.starts_with("raise --max-")), "{why:?}");
        assert_eq!(server.seen().len(), answered, "nothing is sent");
    }
}

#[test]
fn a_server_that_writes_more_than_it_may_is_read_no_further_than_the_limits_allow() {
    let unit = b"data: {\"choices\":[{\"delta\":{\"content\":\"0123456789\"}}]}\n\n".repeat(50);
    let limits = |max_tokens, max_cost_micros| Limits {
        max_tokens,
        max_cost_micros,
        ..Limits::default()
    };
    for limits in [limits(Some(200), None), limits(None, Some(200))] {
        let server = Server::new(vec![Act::Endless(STREAM.into(), unit.clone())]);
        let asking = Asking::openai(&server).set("price", json!({"input": 1, "output": 1})).limit(limits);
        let Err(Failure::Rejected(rejected)) = asking.ask() else {
            panic!("it is stopped");
        };
        assert_eq!(rejected.why.code, "E_LIMIT");
        let spent = rejected.spent.expect("spent");
        let tokens = spent.input_tokens + spent.output_tokens;
        assert!(
            (190..225).contains(&tokens),
            "{tokens}: the last bytes are all that may be too much"
        );
    }
    // Where the limits allow it, the answer is read up to the limit of bytes.
    let server = Server::new(vec![Act::Endless(STREAM.into(), unit)]);
    let answer = Asking::openai(&server).limit(limits(Some(2_000), None)).ask().expect("an answer");
    assert_eq!(answer.text.len(), 1_600);
}

#[test]
fn a_call_waits_for_amounts_that_other_calls_only_reserve() {
    let server = Server::new(vec![stream(openai_stream("it"))]);
    // Room for the real usage of two calls, but not for the most of two at once.
    let limits = Limits {
        max_tokens: Some(190),
        ..Limits::default()
    };
    let asking = Asking::openai(&server).limit(limits);
    let runtime = asking.runtime();
    std::thread::scope(|scope| {
        let asks: Vec<_> = (0..2).map(|_| scope.spawn(|| asking.ask_of(&runtime, "x"))).collect();
        for ask in asks {
            ask.join().expect("no panic").expect("both fit one after the other");
        }
    });
}

#[test]
fn failed_calls_cost_nothing() {
    let server = Server::new(vec![
        answer("500 Oh", "", ""),
        answer("500 Oh", "", ""),
        stream(openai_stream("it")),
    ]);
    let asking = Asking::openai(&server).limit(Limits {
        max_calls: Some(1),
        ..Limits::default()
    });
    let answer = asking.ask().expect("the third try");
    assert_eq!((answer.spent.calls, answer.spent.input_tokens), (1, 50));
}

#[test]
fn no_money_without_a_price() {
    let server = Server::new(vec![stream(openai_stream("it"))]);
    let asking = Asking::openai(&server).limit(Limits {
        max_cost_micros: Some(5),
        ..Limits::default()
    });
    let asked = asking.ask();
    assert!(matches!(asked, Err(Failure::Limit(_))), "told once for all");
    let why = why(asked);
    assert!(why.code == "E_PRICE" && why.hint.expect("a hint").contains("[model.team]"));
    assert_eq!(asking.runtime().price(&asking.settings, 1, 0, 1), None);
}

#[test]
fn offline_opens_no_connection() {
    let limits = Limits {
        offline: true,
        ..Limits::default()
    };
    for api in ["openai", "anthropic", "command"] {
        let server = Server::new(vec![Act::Silence]);
        let model = json!({"api": api, "name": "m", "base_url": server.url, "command": ["sh", "-c", "touch ran"], "api_key_command": ["touch", "ran"]});
        let asking = Asking::new(model).limit(limits);
        assert_eq!(why(asking.ask()).code, "E_OFFLINE");
        let runtime = Asking {
            limits: Limits { batch: true, ..limits },
            ..asking
        };
        assert_eq!(why(runtime.ask()).code, "E_OFFLINE");
        assert!(server.seen().is_empty() && !runtime.root().join("ran").exists());
    }
}

#[test]
fn a_question_that_cannot_fit_is_not_sent() {
    let server = Server::new(vec![stream(openai_stream("it"))]);
    let mut asking = Asking::openai(&server);
    asking.model.insert("context_tokens".to_owned(), json!(110));
    let why = why(asking.ask());
    assert_eq!((why.code.as_str(), server.seen().len()), ("E_CONTEXT", 0));
    assert!(why.message.contains("124 tokens, and 110 fit"), "{why:?}");
}

#[test]
fn rates_are_kept_across_threads() {
    let server = Server::new(vec![stream(openai_stream("it"))]);
    let asking = Asking::openai(&server).set("requests_per_minute", json!(3));
    let runtime = asking.runtime();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| asking.ask_of(&runtime, "x").expect("an answer"));
        }
    });
    assert!(
        asking.stage.passed() >= Duration::from_secs(59),
        "the fourth waits for the next minute"
    );
    assert_eq!(server.seen().len(), 4);
}

#[test]
fn a_run_told_to_stop_asks_nothing() {
    let server = Server::new(vec![stream(openai_stream("it"))]);
    let (asking, cancel) = (Asking::openai(&server), Cancel::default());
    cancel.cancel();
    assert_eq!(asking.ask_as(&asking.runtime(), "x", 0, &cancel), Err(Failure::Cancelled));
    assert!(server.seen().is_empty());
}

#[test]
fn all_that_may_move_an_answer_is_keyed_and_nothing_else() {
    let team = json!({
        "api": "openai", "name": "m", "max_tokens": 5, "context_tokens": 9, "temperature": 0, "params": {"seed": 1}, "command": ["x"],
        "base_url": "http://x", "api_key_env": "K", "api_key_command": ["k"], "headers": {"a": "b"}, "recording": "r", "record": "s",
        "timeout_seconds": 1, "retries": 1, "requests_per_minute": 1, "tokens_per_minute": 1, "stream": true, "price": {"input": 1, "output": 1},
    });
    let models = BTreeMap::from([("team".to_owned(), team.as_object().cloned().expect("a table"))]);
    let bound = model::bind_model(json!({"model": "team"}).as_object().expect("a table"), &models);
    let keyed: Vec<&String> = bound.params["model"].as_object().expect("a table").keys().collect();
    let mut expected = ["api", "command", "context_tokens", "max_tokens", "name", "params", "temperature"];
    expected.sort_unstable();
    assert_eq!(keyed, expected);
    let settings = Value::Object(bound.settings);
    assert_eq!(settings.as_object().expect("a table").len(), 13, "{settings}");
}
