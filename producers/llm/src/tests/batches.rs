//! Batches over several runs, some of which are killed or fail.

use super::providers::{Asking, KEY, why};
use super::server::{Act, Seen, Server, answer, json};
use crate::{Ask, Limits};
use engine::seams::producer::{Cancel, Failure};
use engine::values::digest::Digest;
use serde_json::{Value, json as value};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// A provider of batches: its answers quote the last words of the question.
#[derive(Default)]
struct Provider {
    requests: Mutex<Vec<Value>>,
    metadata: Mutex<Vec<String>>,
    created: AtomicUsize,
    ended: AtomicBool,
    failed: AtomicBool,
    expired: AtomicBool,
    mute: AtomicBool,
    vanished: AtomicBool,
}

impl Provider {
    fn act(&self, seen: &Seen) -> Act {
        let ended = self.ended.load(Ordering::Relaxed);
        let state = match (self.failed.load(Ordering::Relaxed), self.expired.load(Ordering::Relaxed), ended) {
            (true, ..) => "failed",
            (_, true, _) => "expired",
            (_, _, true) => "completed",
            _ => "in_progress",
        };
        match seen.line.as_str() {
            "POST /v1/files" => {
                assert!(seen.headers.to_lowercase().contains("content-type: multipart/form-data; boundary="));
                let rows = seen.body.lines().filter(|line| line.starts_with('{'));
                *self.requests.lock().expect("lock") = rows.map(|row| serde_json::from_str(row).expect("JSON")).collect();
                json("{\"id\":\"file-1\"}")
            }
            "POST /v1/batches" => {
                let body: Value = serde_json::from_str(&seen.body).expect("JSON");
                assert_eq!((&body["input_file_id"], &body["completion_window"]), (&value!("file-1"), &value!("24h")));
                self.metadata.lock().expect("lock").push(body["metadata"]["cortex"].as_str().expect("ours").to_owned());
                self.submit_batch()
            }
            "POST /v1/messages/batches" => {
                let body: Value = serde_json::from_str(&seen.body).expect("JSON");
                *self.requests.lock().expect("lock") = body["requests"].as_array().expect("requests").clone();
                self.submit_batch()
            }
            "GET /v1/batches?limit=100" => {
                let ours = self.metadata.lock().expect("lock").clone();
                let list: Vec<Value> = ours.iter().map(|id| value!({"id": "b-1", "metadata": {"cortex": id}})).collect();
                json(value!({"data": list}).to_string())
            }
            "GET /v1/messages/batches?limit=100" => {
                let count = self.requests.lock().expect("lock").len();
                json(value!({"data": [{"id": "b-0", "request_counts": {"succeeded": 99}}, {"id": "b-1", "request_counts": {"processing": count}}]}).to_string())
            }
            "GET /v1/batches/b-1" | "GET /v1/messages/batches/b-1" if self.vanished.load(Ordering::Relaxed) => {
                answer("404 Not Found", "", "no such batch")
            }
            "GET /v1/batches/b-1" => json(
                value!({"status": state, "output_file_id": if ended { value!("out-1") } else { Value::Null }, "errors": {"data": [{"message": "too odd"}]}}).to_string(),
            ),
            "GET /v1/messages/batches/b-1" => json(value!({"processing_status": if ended { "ended" } else { "in_progress" }}).to_string()),
            "GET /v1/files/out-1/content" => json(self.rows(|request| {
                let words = request["body"]["messages"][1]["content"].as_str().expect("words").replace("\n\n", "");
                let body = value!({"choices": [{"message": {"content": words}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 40, "completion_tokens": 10}});
                let (status, body) = if words.contains("bad") { (400, value!({"error": {"message": "odd words"}})) } else { (200, body) };
                value!({"custom_id": request["custom_id"], "response": {"status_code": status, "body": body}})
            })),
            "GET /v1/messages/batches/b-1/results" => json(self.rows(|request| {
                let words = request["params"]["messages"][0]["content"][1]["text"].as_str().expect("words");
                let message = value!({"content": [{"type": "text", "text": format!("Code: {words}")}], "stop_reason": "end_turn", "usage": {"input_tokens": 40, "output_tokens": 10}});
                let result = if words.contains("bad") {
                    value!({"type": "errored", "error": {"type": "error", "error": {"type": "invalid_request_error", "message": "odd words"}}})
                } else {
                    value!({"type": "succeeded", "message": message})
                };
                value!({"custom_id": request["custom_id"], "result": result})
            })),
            other => answer("404 Not Found", "", format!("no {other}")),
        }
    }

    fn submit_batch(&self) -> Act {
        self.created.fetch_add(1, Ordering::Relaxed);
        if self.mute.load(Ordering::Relaxed) {
            Act::Say(Vec::new())
        } else {
            json("{\"id\":\"b-1\"}")
        }
    }

    fn rows(&self, row: impl Fn(&Value) -> Value) -> String {
        self.requests
            .lock()
            .expect("lock")
            .iter()
            .map(|request| format!("{}\n", row(request)))
            .collect()
    }
}

fn each(test: impl Fn(Arc<Provider>, Asking)) {
    for make in [Asking::openai, Asking::anthropic] {
        let provider = Arc::new(Provider::default());
        let acting = Arc::clone(&provider);
        let server = Server::with(move |seen, _| acting.act(seen));
        let limits = Limits {
            batch: true,
            ..Limits::default()
        };
        test(
            provider,
            make(&server).set("price", value!({"input": 1, "output": 10})).limit(limits),
        );
    }
}

fn sends(asking: &Asking, texts: &[&str]) {
    let runtime = asking.runtime();
    for text in texts {
        assert_eq!(asking.ask_of(&runtime, text), Err(Failure::Deferred));
        assert_eq!(asking.ask_of(&runtime, text), Err(Failure::Deferred), "asked twice, sent once");
    }
    runtime.flush().expect("sent");
}

#[test]
fn a_batch_is_sent_waited_for_and_picked_up_for_half_the_price() {
    each(|provider, asking| {
        sends(&asking, &["one", "two"]);
        assert_eq!(provider.requests.lock().expect("lock").len(), 2);
        let files = asking.batch_files();
        assert_eq!(files.len(), 1);
        let key = &Digest::of(b"one").to_string()[..60];
        assert!(
            files[0].1.contains(&format!("{key}-0")) && files[0].1.contains("\"b-1\""),
            "{files:?}"
        );
        assert!(!files[0].1.contains("Be brief") && !files[0].1.contains(KEY), "{files:?}");

        let running = asking.runtime();
        assert_eq!(asking.ask_of(&running, "one"), Err(Failure::Deferred));
        running.flush().expect("nothing to send");

        provider.ended.store(true, Ordering::Relaxed);
        let runtime = asking.runtime();
        let answer = asking.ask_of(&runtime, "two").expect("an answer");
        assert_eq!((answer.text.as_str(), answer.spent.micros), ("Code: two", Some((40 + 100) / 2)));
        runtime.flush().expect("nothing to send");
        assert!(
            !asking.batch_files().iter().any(|(_, text)| text.contains("Code: two")),
            "what was used is gone"
        );
        drop(runtime);
        assert_eq!(asking.ask_of(&asking.runtime(), "one").expect("an answer").text, "Code: one");
        assert!(asking.batch_files().is_empty(), "all is used: {:?}", asking.batch_files());
        assert_eq!(provider.created.load(Ordering::Relaxed), 1);
    });
}

#[test]
fn a_run_that_is_killed_loses_no_answer() {
    each(|provider, asking| {
        sends(&asking, &["one"]);
        provider.ended.store(true, Ordering::Relaxed);
        let killed = asking.runtime();
        assert_eq!(asking.ask_of(&killed, "one").expect("an answer").text, "Code: one");
        // Killed: no cleanup runs.
        std::mem::forget(killed);
        assert_eq!(asking.ask_of(&asking.runtime(), "one").expect("an answer").text, "Code: one");
        assert_eq!(provider.created.load(Ordering::Relaxed), 1);
    });
}

#[test]
fn a_batch_whose_name_was_never_heard_is_found_again() {
    each(|provider, asking| {
        provider.mute.store(true, Ordering::Relaxed);
        let runtime = asking.runtime();
        assert_eq!(asking.ask_of(&runtime, "one"), Err(Failure::Deferred));
        assert!(matches!(runtime.flush(), Err(Failure::Transient(_))));
        drop(runtime);
        assert_eq!(asking.ask_of(&asking.runtime(), "one"), Err(Failure::Deferred), "it may still run");
        provider.ended.store(true, Ordering::Relaxed);
        assert_eq!(asking.ask_of(&asking.runtime(), "one").expect("an answer").text, "Code: one");
        assert_eq!(provider.created.load(Ordering::Relaxed), 1, "sent once");
    });
}

#[test]
fn a_repair_keeps_the_first_answer_until_it_comes() {
    each(|provider, asking| {
        sends(&asking, &["one"]);
        provider.ended.store(true, Ordering::Relaxed);
        let cancel = Cancel::default();
        let runtime = asking.runtime();
        asking.ask_of(&runtime, "one").expect("an answer");
        assert_eq!(asking.ask_as(&runtime, "one", 1, &cancel), Err(Failure::Deferred));
        // The second batch has the name of the first here; the next run polls it.
        runtime.flush().expect("sent");
        drop(runtime);
        let runtime = asking.runtime();
        asking.ask_of(&runtime, "one").expect("the first answer is still there");
        asking.ask_as(&runtime, "one", 1, &cancel).expect("and the repair");
        drop(runtime);
        assert!(asking.batch_files().is_empty(), "{:?}", asking.batch_files());
    });
}

#[test]
fn other_words_under_the_same_key_are_another_question() {
    each(|provider, asking| {
        sends(&asking, &["one"]);
        provider.ended.store(true, Ordering::Relaxed);
        let file = asking.root().join(".cortex/batches").join(&asking.batch_files()[0].0);
        let note = std::fs::read_to_string(&file).expect("a note");
        let mut note: Value = serde_json::from_str(&note).expect("JSON");
        let items = note["items"].as_object_mut().expect("items");
        items.values_mut().for_each(|digest| *digest = value!("of other words"));
        std::fs::write(&file, note.to_string()).expect("written");
        assert_eq!(asking.ask_of(&asking.runtime(), "one"), Err(Failure::Deferred));
    });
}

#[test]
fn a_question_that_a_batch_refuses_is_reported_once_and_can_be_asked_again() {
    each(|provider, asking| {
        sends(&asking, &["bad", "good"]);
        provider.ended.store(true, Ordering::Relaxed);
        let runtime = asking.runtime();
        let refused = why(asking.ask_of(&runtime, "bad"));
        assert!(
            refused.found.as_deref().is_some_and(|found| found.contains("odd words")),
            "{refused:?}"
        );
        asking.ask_of(&runtime, "good").expect("an answer");
        drop(runtime);
        assert_eq!(asking.ask_of(&asking.runtime(), "bad"), Err(Failure::Deferred), "asked anew");
    });
}

#[test]
fn batches_that_fail_or_expire_or_grow_old_are_asked_anew() {
    let provider = Arc::new(Provider::default());
    let acting = Arc::clone(&provider);
    let server = Server::with(move |seen, _| acting.act(seen));
    let limits = Limits {
        batch: true,
        ..Limits::default()
    };
    let asking = Asking::openai(&server).limit(limits);
    sends(&asking, &["one"]);
    provider.failed.store(true, Ordering::Relaxed);
    let runtime = asking.runtime();
    let failed = why(asking.ask_of(&runtime, "one"));
    assert_eq!((failed.code.as_str(), failed.found.as_deref()), ("E_BATCH", Some("too odd")));
    assert_eq!(asking.ask_of(&runtime, "one"), Err(Failure::Deferred));
    provider.failed.store(false, Ordering::Relaxed);
    runtime.flush().expect("sent");

    provider.expired.store(true, Ordering::Relaxed);
    sends(&asking, &["one"]);
    assert_eq!(provider.created.load(Ordering::Relaxed), 3);

    let file = asking.batch_files().remove(0);
    let old = file.1.replace("\"sent\": 1795297200", "\"sent\": 1");
    assert_ne!(old, file.1);
    std::fs::write(asking.root().join(".cortex/batches").join(&file.0), old).expect("written");
    assert_eq!(asking.ask_of(&asking.runtime(), "two"), Err(Failure::Deferred));
    assert!(
        !asking.batch_files().iter().any(|(name, _)| *name == file.0),
        "{:?}",
        asking.batch_files()
    );
}

#[test]
fn nothing_is_asked_at_full_price_unawares_when_a_batch_has_vanished() {
    each(|provider, asking| {
        sends(&asking, &["one", "two"]);
        provider.vanished.store(true, Ordering::Relaxed);
        let asking = Asking {
            limits: Limits::default(),
            ..asking
        };
        let runtime = asking.runtime();
        let answer = asking.ask_of(&runtime, "one");
        assert!(matches!(answer, Err(Failure::Limit(_))), "{answer:?}");
        assert_eq!(asking.ask_of(&runtime, "two"), answer, "the same words, so that they are told once");
        let answer = why(answer);
        assert!(answer.code == "E_BATCH" && answer.hint.expect("a hint").contains("one by one"));
        drop(runtime);
        // The user of the next build has been told.
        assert!(
            matches!(asking.ask_of(&asking.runtime(), "one"), Err(Failure::Permanent(_))),
            "it is asked"
        );
    });
}

#[test]
fn limits_hold_for_what_is_sent_in_batches() {
    each(|provider, asking| {
        let asking = Asking {
            limits: Limits {
                max_calls: Some(1),
                ..asking.limits
            },
            ..asking
        };
        let runtime = asking.runtime();
        assert_eq!(asking.ask_of(&runtime, "one"), Err(Failure::Deferred));
        assert!(matches!(asking.ask_of(&runtime, "two"), Err(Failure::Limit(_))));
        runtime.flush().expect("sent");
        assert_eq!(provider.requests.lock().expect("lock").len(), 1);
    });
}
