//! The wire format of OpenAI's chat completions, which most servers speak.

use super::reply::{Complaint, Reply, Usage};
use super::settings::Model;
use super::{Question, Role, Turn};
use serde_json::{Map, Value, json};

/// Path of chat completions, below the base address.
pub(super) const PATH: &str = "/chat/completions";

/// Path of embeddings, below the base address.
pub(super) const EMBEDDINGS: &str = "/embeddings";

/// Returns the body of a request for the embedding of the last turn.
pub(super) fn embeddings_body(model: &Model<'_>, question: &Question<'_>) -> Value {
    let parts = question.turns.last().into_iter().flat_map(|turn| &turn.parts);
    let text: String = parts.map(|part| part.text.as_str()).collect();
    let mut body = Map::from_iter([("model".to_owned(), model.name.into()), ("input".to_owned(), text.into())]);
    for (name, value) in model.params.into_iter().flatten() {
        body.entry(name.clone()).or_insert_with(|| value.clone());
    }
    body.into()
}

/// Reads an embedding: `{"data": [{"embedding": [0.1, …]}], "usage": {"prompt_tokens": …}}`. The answer's text is the list.
pub(super) fn vector(value: &Value, reply: &mut Reply) -> Result<(), Complaint> {
    if value.get("error").is_some_and(|error| !error.is_null()) {
        return Err(Complaint::of_json(200, value));
    }
    let Some(numbers) = value.pointer("/data/0/embedding").filter(|numbers| numbers.is_array()) else {
        return Err(Complaint {
            kind: "no_embedding".to_owned(),
            message: "the answer has no list 'data[0].embedding'".to_owned(),
            ..Complaint::default()
        });
    };
    reply.usage = value
        .pointer("/usage/prompt_tokens")
        .and_then(Value::as_u64)
        .map(|input| Usage { input, ..Usage::default() });
    reply.whole = reply.append_text(&numbers.to_string());
    Ok(())
}

pub(super) fn body_of_request(model: &Model<'_>, question: &Question<'_>, base_url: &str, stream: bool) -> Value {
    let mut body = Map::new();
    body.insert("model".to_owned(), model.name.into());
    body.insert("messages".to_owned(), question.turns.iter().map(message).collect());
    // OpenAI's own models refuse the old name; other servers know only that one.
    let longest = if base_url.contains("://api.openai.com") {
        "max_completion_tokens"
    } else {
        "max_tokens"
    };
    body.insert(longest.to_owned(), question.max_tokens.into());
    if let Some(temperature) = model.temperature {
        body.insert("temperature".to_owned(), temperature.clone());
    }
    if stream {
        body.insert("stream".to_owned(), true.into());
        body.insert("stream_options".to_owned(), json!({"include_usage": true}));
    }
    for (name, value) in model.params.into_iter().flatten() {
        body.entry(name.clone()).or_insert_with(|| value.clone());
    }
    body.into()
}

fn message(turn: &Turn) -> Value {
    let role = match turn.role {
        Role::System => "system",
        Role::User => "user",
        Role::Assistant => "assistant",
    };
    json!({"role": role, "content": turn.text()})
}

/// Reads one event of a stream; returns `false` at the end of the answer.
pub(super) fn event(data: &[u8], reply: &mut Reply) -> Result<bool, Complaint> {
    if data.trim_ascii() == b"[DONE]" {
        reply.whole = true;
        return Ok(false);
    }
    let value = reply.parse_json(data)?;
    append_part(&value, "delta", reply)
}

pub(super) fn read_answer(value: &Value, reply: &mut Reply) -> Result<(), Complaint> {
    if value.get("choices").and_then(|choices| choices.get(0)).is_none() && value.get("error").is_none() {
        return Err(Complaint {
            kind: "no_choices".to_owned(),
            message: "the answer has no 'choices'".to_owned(),
            ..Complaint::default()
        });
    }
    append_part(value, "message", reply)?;
    reply.whole = true;
    Ok(())
}

fn append_part(value: &Value, part: &str, reply: &mut Reply) -> Result<bool, Complaint> {
    if value.get("error").is_some_and(|error| !error.is_null()) {
        return Err(Complaint::of_json(200, value));
    }
    if let Some(usage) = value.get("usage").filter(|usage| usage.is_object()) {
        let count = |path: &str| usage.pointer(path).and_then(Value::as_u64);
        if let Some((input, output)) = count("/prompt_tokens").zip(count("/completion_tokens")) {
            reply.usage = Some(Usage {
                input,
                cached: count("/prompt_tokens_details/cached_tokens").unwrap_or(0).min(input),
                written: 0,
                output,
            });
        }
    }
    let Some(choice) = value.get("choices").and_then(|choices| choices.get(0)) else {
        return Ok(true);
    };
    if let Some(text) = choice.pointer(&format!("/{part}/content")).and_then(Value::as_str)
        && !reply.append_text(text)
    {
        return Ok(false);
    }
    match choice.get("finish_reason").and_then(Value::as_str) {
        None | Some("") => {}
        Some("content_filter") => {
            return Err(Complaint {
                status: 400,
                kind: "content_filter".to_owned(),
                message: "the provider's filter withheld the answer".to_owned(),
                numbers: None,
            });
        }
        Some(why) => {
            reply.cut |= why == "length";
            // A further event has the token count, so continue reading.
            reply.whole = true;
        }
    }
    Ok(true)
}
