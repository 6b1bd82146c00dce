//! The wire format of Anthropic's messages.

use super::reply::{Complaint, Reply};
use super::settings::Model;
use super::{Question, Role, Turn};
use serde_json::{Map, Value, json};

/// Path of the interface, below the base address.
pub(super) const PATH: &str = "/v1/messages";
/// The version of the format.
pub(super) const VERSION: &str = "2023-06-01";

/// Returns the body of a request. Marks the last stable part, so that the provider caches everything up to its end.
pub(super) fn request_body(model: &Model<'_>, question: &Question<'_>, stream: bool) -> Value {
    // Rules come before the conversation, in any order of turns.
    let is_rule = |turn: &&Turn| turn.role == Role::System;
    let ordered: Vec<&Turn> = question
        .turns
        .iter()
        .filter(is_rule)
        .chain(question.turns.iter().filter(|turn| !is_rule(turn)))
        .collect();
    let last_stable = ordered
        .iter()
        .flat_map(|turn| &turn.parts)
        .enumerate()
        .filter(|(_, part)| part.stable && !part.text.is_empty())
        .map(|(at, _)| at)
        .last();
    let (mut system, mut messages) = (Vec::new(), Vec::new());
    let mut at = 0;
    for turn in ordered {
        let mut blocks = Vec::new();
        for part in &turn.parts {
            if !part.text.is_empty() {
                let mut block = json!({"type": "text", "text": part.text});
                if Some(at) == last_stable {
                    block["cache_control"] = json!({"type": "ephemeral"});
                }
                blocks.push(block);
            }
            at += 1;
        }
        match turn.role {
            _ if blocks.is_empty() => {}
            Role::System => system.append(&mut blocks),
            Role::User => messages.push(json!({"role": "user", "content": blocks})),
            Role::Assistant => messages.push(json!({"role": "assistant", "content": blocks})),
        }
    }
    let mut body = Map::new();
    body.insert("model".to_owned(), model.name.into());
    body.insert("max_tokens".to_owned(), question.max_tokens.into());
    if !system.is_empty() {
        body.insert("system".to_owned(), system.into());
    }
    body.insert("messages".to_owned(), messages.into());
    if let Some(temperature) = model.temperature {
        body.insert("temperature".to_owned(), temperature.clone());
    }
    if stream {
        body.insert("stream".to_owned(), true.into());
    }
    for (name, value) in model.params.into_iter().flatten() {
        body.entry(name.clone()).or_insert_with(|| value.clone());
    }
    body.into()
}

/// Reads one event of a stream; returns `false` at the end of the answer.
pub(super) fn event(data: &[u8], reply: &mut Reply) -> Result<bool, Complaint> {
    let value = reply.parse_json(data)?;
    match value.get("type").and_then(Value::as_str) {
        Some("message_start") => update_usage(value.pointer("/message/usage"), reply),
        Some("content_block_start") => return Ok(append_to_reply(value.pointer("/content_block/text"), reply)),
        Some("content_block_delta") => return Ok(append_to_reply(value.pointer("/delta/text"), reply)),
        Some("message_delta") => {
            update_usage(value.get("usage"), reply);
            check_stop_reason(value.pointer("/delta/stop_reason"), reply)?;
        }
        Some("message_stop") => {
            reply.whole = true;
            return Ok(false);
        }
        Some("error") => return Err(error(&value)),
        _ => {}
    }
    Ok(true)
}

pub(super) fn read_answer(value: &Value, reply: &mut Reply) -> Result<(), Complaint> {
    if value.get("type").and_then(Value::as_str) == Some("error") {
        return Err(error(value));
    }
    let Some(blocks) = value.get("content").and_then(Value::as_array) else {
        return Err(Complaint {
            kind: "no_content".to_owned(),
            message: "the answer has no 'content'".to_owned(),
            ..Complaint::default()
        });
    };
    for block in blocks {
        if !append_to_reply(block.get("text"), reply) {
            break;
        }
    }
    update_usage(value.get("usage"), reply);
    check_stop_reason(value.get("stop_reason"), reply)?;
    reply.whole = true;
    Ok(())
}

/// Returns an error of a stream; its kind replaces the missing status.
pub(super) fn error(value: &Value) -> Complaint {
    let complaint = Complaint::of_json(200, value);
    let status = match complaint.kind.as_str() {
        "invalid_request_error" => 400,
        "authentication_error" => 401,
        "permission_error" => 403,
        "not_found_error" => 404,
        "request_too_large" => 413,
        "rate_limit_error" => 429,
        "overloaded_error" => 529,
        "api_error" | "timeout_error" => 500,
        _ => complaint.status,
    };
    Complaint { status, ..complaint }
}

fn append_to_reply(text: Option<&Value>, reply: &mut Reply) -> bool {
    text.and_then(Value::as_str).is_none_or(|text| reply.append_text(text))
}

fn check_stop_reason(reason: Option<&Value>, reply: &mut Reply) -> Result<(), Complaint> {
    match reason.and_then(Value::as_str) {
        Some("max_tokens" | "model_context_window_exceeded") => reply.cut = true,
        Some("refusal") => {
            return Err(Complaint {
                status: 400,
                kind: "refusal".to_owned(),
                message: "the model refused to answer".to_owned(),
                numbers: None,
            });
        }
        _ => {}
    }
    Ok(())
}

/// Updates the usage field by field: the first event has the input, the last has the output.
fn update_usage(usage: Option<&Value>, reply: &mut Reply) {
    let Some(usage) = usage.filter(|usage| usage.is_object()) else {
        return;
    };
    let field = |name: &str| usage.get(name).and_then(Value::as_u64);
    let mut found = reply.usage.unwrap_or_default();
    if let Some(fresh) = field("input_tokens") {
        found.cached = field("cache_read_input_tokens").unwrap_or(0);
        found.written = field("cache_creation_input_tokens").unwrap_or(0);
        found.input = fresh.saturating_add(found.cached).saturating_add(found.written);
    }
    found.output = field("output_tokens").unwrap_or(found.output);
    reply.usage = Some(found);
}
