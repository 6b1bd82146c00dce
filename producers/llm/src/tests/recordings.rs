//! Recorded answers, and programs that answer.

use super::providers::{Asking, openai_stream, why};
use super::server::{Server, stream};
use crate::Limits;
use engine::seams::producer::{Cancel, Failure};
use serde_json::json;

#[test]
fn recorded_answers_are_replayed_without_a_server() {
    let server = Server::new(vec![stream(openai_stream("one")), stream(openai_stream("two"))]);
    let real = Asking::openai(&server).set("record", json!("deep/answers.jsonl"));
    let runtime = real.runtime();
    real.ask_of(&runtime, "first").expect("an answer");
    real.ask_of(&runtime, "second").expect("an answer");

    let replay = |name: &str| {
        let model = json!({"api": "replay", "name": name, "recording": "deep/answers.jsonl", "price": {"input": 1, "output": 1}});
        let limits = Limits {
            offline: true,
            batch: true,
            ..Limits::default()
        };
        Asking {
            folder: tempfile::tempdir().expect("a folder"),
            ..Asking::new(model)
        }
        .limit(limits)
    };
    let asking = replay("m");
    std::fs::create_dir(asking.root().join("deep")).expect("a folder");
    std::fs::copy(real.root().join("deep/answers.jsonl"), asking.root().join("deep/answers.jsonl")).expect("copied");
    let runtime = asking.runtime();
    assert_eq!(asking.ask_of(&runtime, "second").expect("an answer").text, "two");
    let answer = asking.ask_of(&runtime, "first").expect("an answer");
    assert_eq!(
        (answer.text.as_str(), answer.spent.input_tokens, answer.spent.micros),
        ("one", 50, Some(57))
    );
    let missing = why(asking.ask_of(&runtime, "third"));
    assert!(missing.code == "E_REPLAY" && missing.hint.expect("a hint").contains("record ="));

    let other = Asking {
        folder: asking.folder,
        ..replay("another")
    };
    assert_eq!(
        why(other.ask_of(&other.runtime(), "first")).code,
        "E_REPLAY",
        "another model said that"
    );
}

#[test]
fn lines_may_be_written_by_hand() {
    let asking = Asking::new(json!({"api": "replay", "recording": "a.jsonl"}));
    let lines =
        "\n{\"contains\": [\"Be brief\", \"fish\"], \"text\": \"a fish\", \"cut\": true}\n{\"contains\": [], \"text\": \"something\"}\n";
    std::fs::write(asking.root().join("a.jsonl"), lines).expect("written");
    let runtime = asking.runtime();
    let answer = asking.ask_of(&runtime, "a fish?").expect("an answer");
    assert_eq!((answer.text.as_str(), answer.cut, answer.spent.estimated), ("a fish", true, true));
    assert_eq!(asking.ask_of(&runtime, "a bird?").expect("an answer").text, "something");
}

#[test]
fn broken_recordings_are_told_with_their_place() {
    let asking = Asking::new(json!({"api": "replay", "recording": "a.jsonl"}));
    assert!(why(asking.ask()).message.contains("a.jsonl cannot be read"));
    std::fs::write(asking.root().join("a.jsonl"), "{\"text\": \"x\"}\n{\"txt\": 1}\n").expect("written");
    let place = why(asking.ask()).place.expect("a place");
    assert_eq!((place.file.as_str(), place.line), ("a.jsonl", 2));
    let asking = Asking::new(json!({"api": "replay", "recording": "../a.jsonl"}));
    assert!(why(asking.ask()).message.contains("in the workspace"));
}

#[test]
fn a_torn_line_loses_only_itself() {
    let server = Server::new(vec![stream(openai_stream("one")), stream(openai_stream("two"))]);
    let real = Asking::openai(&server).set("record", json!("answers.jsonl"));
    let file = real.root().join("answers.jsonl");
    real.ask_of(&real.runtime(), "first").expect("an answer");
    let mut bytes = std::fs::read(&file).expect("a recording");
    bytes.extend_from_slice(b"{\"digest\":\"00\",\"text\":\"thr\xc3");
    std::fs::write(&file, bytes).expect("written");
    real.ask_of(&real.runtime(), "second").expect("an answer");

    let asking = Asking::new(json!({"api": "replay", "name": "m", "recording": "answers.jsonl"}));
    std::fs::copy(&file, asking.root().join("answers.jsonl")).expect("copied");
    let runtime = asking.runtime();
    let first = asking.ask_of(&runtime, "first").expect("an answer");
    assert_eq!((first.text.as_str(), first.spent.model.as_str()), ("one", "m (replay)"));
    let place = first.remarks[0].place.as_ref().expect("a place");
    assert_eq!((first.remarks[0].code.as_str(), place.line), ("W_REPLAY", 2));
    let second = asking.ask_of(&runtime, "second").expect("an answer");
    assert_eq!((second.text.as_str(), second.remarks.len()), ("two", 0), "told once");
}

fn program(script: &str) -> Asking {
    Asking::new(json!({"api": "command", "command": ["sh", "-c", script], "timeout_seconds": 60}))
}

#[test]
fn a_program_reads_the_question_and_prints_the_answer() {
    let asking = program("cat; pwd >&2; touch here");
    let answer = asking.ask().expect("an answer");
    assert_eq!(answer.text, "Be brief. \n\nBe right.\n\nCode: \n\nWhat is it?");
    assert!(answer.spent.estimated && answer.spent.model == "sh");
    assert!(asking.root().join("here").exists(), "it runs in the workspace");
    // A program that does not read its input, with a small question.
    assert_eq!(
        program("echo yes")
            .ask_of(&program("x").runtime(), &"long ".repeat(100_000))
            .expect("an answer")
            .text,
        "yes\n"
    );
}

#[test]
fn programs_fail_in_their_own_ways() {
    let failure = program("echo 'no \u{1b}[1mGPU' >&2; exit 3").ask();
    assert!(matches!(failure, Err(Failure::Permanent(_))));
    let failure = why(failure);
    assert!(
        failure.message.contains("exit status: 3") && failure.found.as_deref() == Some("no [1mGPU"),
        "{failure:?}"
    );
    assert!(matches!(program("exit 75").ask(), Err(Failure::Transient(_))));
    let missing = Asking::new(json!({"api": "command", "command": ["/no/such/program"]})).ask();
    assert!(why(missing).message.contains("cannot be started"));

    let slow = program("sleep 1000 & sleep 1000").set("timeout_seconds", json!(0.1));
    assert!(matches!(slow.ask(), Err(Failure::Transient(_))));
    let endless = program("while :; do echo 0123456789; done").ask().expect("an answer");
    assert_eq!((endless.text.len(), endless.cut), (1_600, true));
    let mended = program("printf 'a\\377b'").ask().expect("an answer");
    assert_eq!((mended.text.as_str(), mended.remarks.len()), ("a\u{fffd}b", 1));
}

#[test]
fn a_program_is_ended_when_the_run_is_told_to_stop() {
    let asking = program("echo ready > ready; sleep 1000");
    let (runtime, cancel, ready) = (asking.runtime(), Cancel::default(), asking.root().join("ready"));
    std::thread::scope(|scope| {
        let ask = scope.spawn(|| asking.ask_as(&runtime, "x", 0, &cancel));
        while !ready.exists() {
            std::thread::yield_now();
        }
        cancel.cancel();
        assert_eq!(ask.join().expect("no panic"), Err(Failure::Cancelled));
    });
}
