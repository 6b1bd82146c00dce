//! Asks a model one question, as producers do: `ask '{"api": "openai", "base_url": …, "name": …}' [MAX_TOKENS | vector] < question`. Prints the
//! answer as JSON, or why there is none, and then ends with 1.
#![allow(clippy::print_stdout, reason = "it is a program")]

use engine::seams::producer::{Cancel, Failure, Params};
use engine::values::digest::{ActionKey, Digest};
use producers::llm::{About, Ask, Limits, Question, Role, Runtime, Turn, TurnPart, Wants, model};
use std::collections::BTreeMap;
use std::io::Read;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let table = arguments.next().and_then(|table| serde_json::from_str::<Params>(&table).ok());
    let (wants, max_tokens) = match arguments.next() {
        Some(word) if word == "vector" => (Wants::Vector, Some(0)),
        number => (Wants::Text, number.map_or(Some(200), |number| number.parse().ok())),
    };
    let mut text = String::new();
    let (Some(table), Some(max_tokens), Ok(_)) = (table, max_tokens, std::io::stdin().read_to_string(&mut text)) else {
        println!("usage: ask '{{\"api\": \"openai\", \"base_url\": \"http://…/v1\", \"name\": \"…\"}}' [MAX_TOKENS | vector] < question");
        return ExitCode::from(2);
    };
    let mut params = Params::new();
    params.insert("model".to_owned(), "it".into());
    let bound = model::bind_model(&params, &BTreeMap::from([("it".to_owned(), table)]));
    let Some(model) = bound.params.get("model").and_then(|model| model.as_object()) else {
        println!("this 'api' answers no questions");
        return ExitCode::from(2);
    };
    let key = ActionKey(Digest::of(text.as_bytes()));
    let question = Question {
        model,
        settings: &bound.settings,
        key: &key,
        attempt: 0,
        turns: &[Turn {
            role: Role::User,
            parts: vec![TurnPart { text, stable: false }],
        }],
        max_tokens,
        wants,
        about: About::default(),
    };
    match Runtime::new(Limits::default(), ".").ask(&question, &Cancel::default()) {
        Ok(answer) => {
            println!(
                "{}",
                serde_json::json!({"text": answer.text, "cut": answer.cut, "spent": answer.spent})
            );
            ExitCode::SUCCESS
        }
        Err(Failure::Permanent(why) | Failure::Transient(why) | Failure::Limit(why)) => {
            println!("{}", serde_json::json!(why));
            ExitCode::FAILURE
        }
        Err(other) => {
            println!("{other:?}");
            ExitCode::FAILURE
        }
    }
}
