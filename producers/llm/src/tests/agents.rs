//! Agents: no model is called, and an answer is found by a digest of the prompt.

use super::providers::{Asking, why};
use crate::{About, Ask, ModelReply, Note, Question, Role, Runtime, SubmittedAnswer, Turn, TurnPart, Wants};
use engine::seams::producer::{Cancel, Failure};
use engine::values::digest::{ActionKey, Digest};
use serde_json::json;

fn agent() -> Asking {
    Asking::new(json!({"api": "agent"}))
}

fn turn(role: Role, text: &str) -> Turn {
    let part = TurnPart {
        text: text.to_owned(),
        stable: false,
    };
    Turn { role, parts: vec![part] }
}

fn ask(asking: &Asking, runtime: &Runtime, key: &str, turns: &[Turn], about: About<'_>) -> Result<ModelReply, Failure> {
    let key = ActionKey(Digest::of(key.as_bytes()));
    let question = Question {
        model: &asking.model,
        settings: &asking.settings,
        key: &key,
        attempt: 0,
        turns,
        max_tokens: 100,
        wants: Wants::Text,
        about,
    };
    runtime.ask(&question, &Cancel::default())
}

const ABOUT: About<'static> = About {
    label: "//a:s",
    patch: false,
    why: "there is no earlier answer",
    faults: &[],
};

fn submitted_answer(text: &str) -> SubmittedAnswer {
    SubmittedAnswer {
        agent: "ann".to_owned(),
        at: 7,
        text: text.to_owned(),
    }
}

/// Hands in an answer to a question.
fn answer(runtime: &Runtime, id: &str, text: &str) {
    let note = Note {
        label: "//a:s".to_owned(),
        answer: Some(submitted_answer(text)),
        ..Note::default()
    };
    runtime.agents().notes().note_question(id, &note).expect("written");
}

#[test]
fn a_question_waits_and_its_answer_is_found_whatever_else_moved() {
    let mut asking = agent();
    // Nothing leaves the machine, and no price is needed.
    asking.limits.offline = true;
    asking.limits.max_cost_micros = Some(0);
    asking.limits.max_calls = Some(0);
    let turns = [turn(Role::System, "Be right."), turn(Role::User, "What is it?")];
    let runtime = asking.runtime();
    for _ in 0..2 {
        assert_eq!(ask(&asking, &runtime, "k", &turns, ABOUT), Err(Failure::Awaited));
    }
    let waiting = runtime.agents().take_waiting();
    assert_eq!(waiting.len(), 1, "asked twice, waits once");
    let one = &waiting[0];
    assert_eq!(
        (one.label.as_str(), one.system.as_str(), one.user.as_str()),
        ("//a:s", "Be right.", "What is it?")
    );
    assert_eq!((one.patch, one.max_tokens, one.why.as_str()), (false, 100, ABOUT.why));
    assert!(runtime.agents().take_waiting().is_empty());
    answer(&runtime, &one.id, "A store.");
    let found = ask(&asking, &asking.runtime(), "another key", &turns, ABOUT).expect("answered");
    assert_eq!((found.text.as_str(), found.spent.agent.as_deref()), ("A store.", Some("ann")));
    assert_eq!((found.spent.micros, found.spent.calls), (None, 1));
    let other = About { label: "//b:s", ..ABOUT };
    assert_eq!(ask(&asking, &runtime, "k", &turns, other), Err(Failure::Awaited), "another target");
    let others = [turn(Role::System, "Be right."), turn(Role::User, "What is that?")];
    assert_eq!(ask(&asking, &runtime, "k", &others, ABOUT), Err(Failure::Awaited), "other words");
    assert_eq!(runtime.agents().take_waiting().len(), 2);
    assert_eq!(runtime.agents().take_used().len(), 0, "used by another run");
}

#[test]
fn a_refused_answer_leaves_the_question_with_the_reasons() {
    let asking = agent();
    let runtime = asking.runtime();
    let turns = [turn(Role::User, "What is it?")];
    assert_eq!(ask(&asking, &runtime, "k", &turns, ABOUT), Err(Failure::Awaited));
    let id = runtime.agents().take_waiting().remove(0).id;
    for times in 1..=2 {
        answer_again(&runtime, &id, "Hm.");
        assert_eq!(ask(&asking, &runtime, "k", &turns, ABOUT).expect("an answer").text, "Hm.");
        let repair = [turns[0].clone(), turn(Role::Assistant, "Hm."), turn(Role::User, "That is none.")];
        let faults = ["ROLE is missing".to_owned()];
        let about = About { faults: &faults, ..ABOUT };
        assert_eq!(ask(&asking, &runtime, "k", &repair, about), Err(Failure::Awaited));
        let waiting = runtime.agents().take_waiting();
        assert_eq!((waiting.len(), waiting[0].id.as_str()), (1, id.as_str()), "it is the same question");
        assert_eq!(waiting[0].user, "What is it?");
        let note = runtime.agents().notes().read_note(&id).expect("read").expect("noted");
        let refused = note.refused.expect("refused");
        assert_eq!((note.answer, refused.times, refused.why.as_slice()), (None, times, &faults[..]));
        assert_eq!(refused.given, submitted_answer("Hm."));
    }
}

/// Hands in another answer to a question that has a note.
fn answer_again(runtime: &Runtime, id: &str, text: &str) {
    let notes = runtime.agents().notes();
    let mut note = notes.read_note(id).expect("read").unwrap_or_default();
    note.answer = Some(submitted_answer(text));
    notes.note_question(id, &note).expect("written");
}

#[test]
fn agents_are_asked_about_targets_only() {
    let asking = agent();
    let diagnostic = why(ask(&asking, &asking.runtime(), "k", &[turn(Role::User, "x")], About::default()));
    assert_eq!(diagnostic.code, "E_AGENT");
}

#[test]
fn a_link_in_the_place_of_the_notes_is_not_followed() {
    let asking = agent();
    let runtime = asking.runtime();
    let elsewhere = tempfile::tempdir().expect("a folder");
    std::fs::create_dir(asking.root().join(".cortex")).expect("a folder");
    std::os::unix::fs::symlink(elsewhere.path(), asking.root().join(".cortex/work")).expect("a link");
    let diagnostic = why(ask(&asking, &runtime, "k", &[turn(Role::User, "x")], ABOUT));
    assert_eq!(diagnostic.code, "E_WORK");
    assert!(
        runtime
            .agents()
            .notes()
            .note_question("0123456789abcdef", &Note::default())
            .is_err()
    );
    assert_eq!(std::fs::read_dir(elsewhere.path()).expect("a folder").count(), 0);
    assert_eq!(runtime.agents().notes().read_note("../../../etc/abc").expect("no name"), None);
}

#[test]
fn a_question_that_is_requested_again_loses_its_answer() {
    let asking = agent();
    let runtime = asking.runtime();
    let turns = [turn(Role::User, "x")];
    assert_eq!(ask(&asking, &runtime, "k", &turns, ABOUT), Err(Failure::Awaited));
    let id = runtime.agents().take_waiting().remove(0).id;
    answer(&runtime, &id, "Old.");
    let notes = runtime.agents().notes();
    notes.want_anew(&["//b:s".to_owned()].into()).expect("noted");
    assert!(ask(&asking, &runtime, "k", &turns, ABOUT).is_ok(), "another target");
    notes.want_anew(&["//a:s".to_owned()].into()).expect("noted");
    assert_eq!(ask(&asking, &runtime, "k", &turns, ABOUT), Err(Failure::Awaited));
    notes.answered_anew("//a:s").expect("noted");
    assert_eq!(notes.anew().expect("read"), ["//b:s".to_owned()].into());
}

#[test]
fn old_notes_go() {
    let asking = agent();
    let runtime = asking.runtime();
    let notes = runtime.agents().notes();
    answer(&runtime, "0123456789abcdef", "Old.");
    notes.want_anew(&["//a:s".to_owned()].into()).expect("noted");
    let now = std::time::SystemTime::now();
    let days = |days: u64| now + std::time::Duration::from_secs(days * 86_400);
    notes.prune(days(29)).expect("read");
    assert_eq!(notes.read_notes().expect("read").len(), 1);
    notes.prune(days(31)).expect("read");
    assert_eq!((notes.read_notes().expect("read").len(), notes.anew().expect("read").len()), (0, 1));
}
