//! `[model.NAME]`: the language models. Keys are never read from a manifest.

use super::fields::{Fields, Item, Text, check_name};
use super::json::{Spans, json_of_item, refuse_secret};
use super::report::Report;
use super::source::looks_secret;
use crate::seams::producer::Params;
use crate::values::codes::ErrorCode;
use crate::values::diagnostic::Diagnostic;
use serde_json::Value;
use std::collections::BTreeMap;
use toml::de::DeValue;

/// The model that always exists.
pub(super) const BUILT_IN: &str = "extractive";

const APIS: [&str; 6] = ["openai", "anthropic", "extractive", "replay", "command", "agent"];
/// Keys allowed for an agent, which cortex never calls.
const OF_AGENTS: [&str; 4] = ["api", "name", "max_tokens", "context_tokens"];
/// Every key with its kind.
const KEYS: [(&str, FieldKind); 19] = [
    ("api", FieldKind::Text),
    ("name", FieldKind::Text),
    ("base_url", FieldKind::Text),
    ("api_key_env", FieldKind::Text),
    ("api_key_command", FieldKind::Texts),
    ("headers", FieldKind::Headers),
    ("command", FieldKind::Texts),
    ("recording", FieldKind::Text),
    ("record", FieldKind::Text),
    ("timeout_seconds", FieldKind::Number),
    ("retries", FieldKind::Number),
    ("requests_per_minute", FieldKind::Number),
    ("tokens_per_minute", FieldKind::Number),
    ("stream", FieldKind::Flag),
    ("max_tokens", FieldKind::Number),
    ("context_tokens", FieldKind::Number),
    ("temperature", FieldKind::Number),
    ("params", FieldKind::Params),
    ("price", FieldKind::Price),
];
/// Parameters of a request's body that cortex sets itself.
const OWN_PARAMS: [&str; 11] = [
    "model", "messages", "system", "prompt", "stream", "stream_options", "max_tokens", "max_completion_tokens", "max_output_tokens",
    "temperature", "n",
];
/// Headers that describe the request itself.
const OWN_HEADERS: [&str; 6] = [
    "host", "content-length", "content-type", "transfer-encoding", "connection", "accept-encoding",
];
const PRICE_KEYS: [&str; 5] = ["input", "cached", "cache_write", "output", "currency"];
/// Words in the names of headers whose values grant access.
const SECRET_WORDS: [&str; 7] = ["auth", "key", "token", "secret", "cookie", "password", "credential"];
/// Upper bound of a price per million tokens.
const HIGHEST_PRICE: f64 = 1e6;
/// Upper bound of `timeout_seconds`: one day.
const LONGEST_TIMEOUT: f64 = 86_400.0;
const MOST_TRIES: u64 = 20;
const SECRET_KEYS: [&str; 9] = [
    "api_key", "apikey", "api-key", "token", "key", "secret", "password", "auth", "authorization",
];

#[derive(Clone, Copy, PartialEq)]
enum FieldKind {
    Text,
    Texts,
    Number,
    Flag,
    Headers,
    Params,
    Price,
}

/// Hides every key written in the `[model]` table before the reader reports anything.
pub(super) fn hide_secrets(report: &mut Report<'_>, models: Fields<'_, '_>) {
    for (_, model) in models.entries() {
        let Some(table) = model.value.as_table() else {
            continue;
        };
        for (key, value) in table {
            let item = Item::new(models.span.file, value);
            if is_secret(key.get_ref(), item) {
                report.hide(item.span);
            }
            for (name, value) in item.value.as_table().into_iter().flatten() {
                let inner = Item::new(models.span.file, value);
                if key.get_ref() == "headers" && is_literal_secret(name.get_ref(), inner) {
                    report.hide(inner.span);
                }
            }
        }
    }
}

fn is_secret(key: &str, item: Item<'_, '_>) -> bool {
    SECRET_KEYS.contains(&key.to_ascii_lowercase().as_str())
        || match item.value {
            DeValue::String(text) if key == "api_key_env" => !is_variable_name(text) || looks_secret(text),
            DeValue::String(text) if key == "base_url" => has_user(text) || has_key(text),
            DeValue::String(text) => looks_secret(text),
            _ => false,
        }
}

/// Whether a URL contains a key in its query.
fn has_key(url: &str) -> bool {
    let Some((_, query)) = url.split_once('?') else { return false };
    query.split('&').any(|pair| {
        let name = pair.split('=').next().unwrap_or_default().to_ascii_lowercase();
        looks_secret(pair) || name.contains("sig") || SECRET_WORDS.iter().any(|word| name.contains(word))
    })
}

/// Whether a header's value grants access and is written literally instead of as a variable.
pub(super) fn is_literal_secret(name: &str, item: Item<'_, '_>) -> bool {
    let name = name.to_ascii_lowercase();
    let Some(value) = item.value.as_str() else {
        return false;
    };
    looks_secret(value) || (SECRET_WORDS.iter().any(|word| name.contains(word)) && !value.contains('$'))
}

/// Reads the `[model]` table of one file over those of earlier files.
pub(super) fn read_models(report: &mut Report<'_>, models: Fields<'_, '_>, found: &mut BTreeMap<String, Params>) {
    for (name, item) in models.entries() {
        let Some(fields) = Fields::from_item(report, item, "a model") else {
            continue;
        };
        if check_name(report, name, "a model") {
            let model = read_one(report, name, fields);
            found.insert(name.text.to_owned(), model);
        }
    }
}

fn read_one(report: &mut Report<'_>, name: Text<'_>, fields: Fields<'_, '_>) -> Params {
    let mut model = Params::new();
    for (key, item) in fields.entries() {
        if is_secret(key.text, item) {
            refuse_secret(report, item.span);
        } else if let Some((_, kind)) = KEYS.iter().find(|(known, _)| *known == key.text) {
            if check_kind(report, *kind, key, item)
                && let Some(value) = json_of_item(report, item, key.text, &mut Spans::new())
                && check_range(report, key.text, item, &value)
            {
                model.insert(key.text.to_owned(), value);
            }
        } else {
            fields.unknown_key(report, key, &KEYS.map(|(key, _)| key));
        }
    }
    check_api(report, name, fields);
    check_files(report, fields);
    if let (Some(_), Some(item)) = (fields.get("api_key_env"), fields.get("api_key_command")) {
        let diagnostic = Diagnostic::error(ErrorCode::E_MODEL, "a model has one key: 'api_key_env' names it already");
        report.error(item.span, diagnostic.hint("remove one of the two"));
    }
    if let Some(url) = fields.get("base_url")
        && let Some(text) = url.value.as_str()
    {
        const FORM: &str = "write base_url = \"http://127.0.0.1:8080/v1\"";
        if !text.starts_with("http://") && !text.starts_with("https://") {
            report.error(
                url.span,
                Diagnostic::error(ErrorCode::E_MODEL, "'base_url' is an http address").hint(FORM),
            );
        } else if text.contains(['?', '#']) && !has_key(text) {
            let message = "'base_url' ends before any '?' or '#': paths are added to it";
            report.error(url.span, Diagnostic::error(ErrorCode::E_MODEL, message).hint(FORM));
        }
    }
    model
}

fn check_kind(report: &mut Report<'_>, kind: FieldKind, key: Text<'_>, item: Item<'_, '_>) -> bool {
    let what = format!("'{}'", key.text);
    match kind {
        FieldKind::Text => item.text(report, &what).is_some(),
        FieldKind::Texts => item.texts(report, &what).is_some(),
        FieldKind::Number => {
            let good = matches!(item.value, DeValue::Integer(_) | DeValue::Float(_));
            if !good {
                item.report_wrong_type(report, &what, "a number");
            }
            good
        }
        FieldKind::Flag => {
            let good = item.value.as_bool().is_some();
            if !good {
                item.report_wrong_type(report, &what, "true or false");
            }
            good
        }
        FieldKind::Headers => Fields::from_item(report, item, "'headers'").is_some_and(|fields| check_headers(report, fields)),
        FieldKind::Params => Fields::from_item(report, item, "'params'").is_some_and(|fields| check_params(report, fields)),
        FieldKind::Price => Fields::from_item(report, item, "a price").is_some_and(|fields| check_price(report, fields)),
    }
}

fn check_headers(report: &mut Report<'_>, fields: Fields<'_, '_>) -> bool {
    let mut good = true;
    for (name, item) in fields.entries() {
        let lower = name.text.to_ascii_lowercase();
        let is_token = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if name.text.is_empty() || !name.text.chars().all(is_token) || OWN_HEADERS.contains(&lower.as_str()) {
            let diagnostic = Diagnostic::error(ErrorCode::E_MODEL, "this header cannot be set");
            report.error(name.span, diagnostic.hint("write headers = { \"x-team\" = \"docs\" }"));
            good = false;
        } else if is_literal_secret(name.text, item) {
            refuse_secret(report, item.span);
            good = false;
        } else {
            good &= item.text(report, &format!("'{}'", name.text)).is_some();
        }
    }
    good
}

fn check_params(report: &mut Report<'_>, fields: Fields<'_, '_>) -> bool {
    let mut good = true;
    for (name, _) in fields.entries() {
        if OWN_PARAMS.contains(&name.text) {
            let hint = match name.text {
                "temperature" | "max_tokens" => format!("write {} in the model's own table", name.text),
                _ => "remove it".to_owned(),
            };
            let diagnostic = Diagnostic::error(ErrorCode::E_MODEL, format!("cortex sets '{}' of a request itself", name.text));
            report.error(name.span, diagnostic.hint(hint));
            good = false;
        }
    }
    good
}

fn check_price(report: &mut Report<'_>, fields: Fields<'_, '_>) -> bool {
    const HINT: &str = "write price = { input = 0.25, cached = 0.025, output = 2.0, currency = \"USD\" }, for a million tokens";
    fields.report_unknown_keys(report, &PRICE_KEYS);
    let mut good = fields.entries().all(|(key, _)| PRICE_KEYS.contains(&key.text));
    for key in ["input", "output"] {
        if fields.get(key).is_none() {
            fields.report_missing(report, key, HINT);
            good = false;
        }
    }
    for (key, item) in fields.entries().filter(|(key, _)| PRICE_KEYS.contains(&key.text)) {
        let is_price = |number: f64| (0.0..=HIGHEST_PRICE).contains(&number);
        let (fits, wanted) = if key.text == "currency" {
            let code = item.value.as_str().unwrap_or_default();
            (
                code.len() == 3 && code.bytes().all(|byte| byte.is_ascii_uppercase()),
                "three capital letters",
            )
        } else {
            let number = json_of_item(report, item, key.text, &mut Spans::new());
            (
                number.and_then(|number| number.as_f64()).is_some_and(is_price),
                "a number from 0 to 1000000",
            )
        };
        if !fits {
            let diagnostic = Diagnostic::error(ErrorCode::E_MODEL, format!("'{}' of a price is {wanted}", key.text));
            report.error(item.span, diagnostic.hint(HINT));
            good = false;
        }
    }
    good
}

/// Checks that recordings are files of the workspace.
fn check_files(report: &mut Report<'_>, fields: Fields<'_, '_>) {
    for key in ["recording", "record"] {
        let Some(item) = fields.get(key) else {
            continue;
        };
        let is_inside = |path: &str| !path.is_empty() && !path.starts_with('/') && path.split('/').all(|part| part != "..");
        if item.value.as_str().is_some_and(|path| !is_inside(path)) {
            let diagnostic = Diagnostic::error(ErrorCode::E_MODEL, format!("'{key}' is a file in the workspace"));
            report.error(
                item.span,
                diagnostic.hint(format!("write a relative path without '..': {key} = \"tests/answers.jsonl\"")),
            );
        }
    }
}

/// Whether a number is in the range that models accept.
fn check_range(report: &mut Report<'_>, key: &str, item: Item<'_, '_>, value: &Value) -> bool {
    let (good, wanted, hint) = match key {
        "temperature" => (
            value.as_f64().is_some_and(|number| (0.0..=2.0).contains(&number)),
            "a number from 0 to 2",
            "write temperature = 0",
        ),
        "timeout_seconds" => (
            value.as_f64().is_some_and(|number| number > 0.0 && number <= LONGEST_TIMEOUT),
            "a number of seconds, more than 0 and at most a day",
            "write timeout_seconds = 120",
        ),
        "max_tokens" => (is_count(value), "a whole number from 1 on", "write max_tokens = 2000"),
        "context_tokens" => (is_count(value), "a whole number from 1 on", "write context_tokens = 32000"),
        "requests_per_minute" => (is_count(value), "a whole number from 1 on", "write requests_per_minute = 60"),
        "tokens_per_minute" => (is_count(value), "a whole number from 1 on", "write tokens_per_minute = 100000"),
        "retries" => (
            value.as_u64().is_some_and(|tries| (1..=MOST_TRIES).contains(&tries)),
            "a whole number from 1 to 20: how often a call is tried",
            "write retries = 3",
        ),
        _ => return true,
    };
    if !good {
        report.error(
            item.span,
            Diagnostic::error(ErrorCode::E_MODEL, format!("'{key}' is {wanted}")).hint(hint),
        );
    }
    good
}

fn is_count(value: &Value) -> bool {
    value.as_u64().is_some_and(|number| (1..=u64::from(u32::MAX)).contains(&number))
}

fn check_api(report: &mut Report<'_>, name: Text<'_>, fields: Fields<'_, '_>) {
    let Some(api) = fields.required(report, "api", "write api = \"openai\" for any server that speaks its protocol") else {
        return;
    };
    if !APIS.contains(&api.text) {
        let diagnostic = Diagnostic::error(ErrorCode::E_MODEL, "this is not an interface of models");
        report.report_unknown_name(
            api.span,
            diagnostic,
            api.text,
            APIS.into_iter(),
            &format!("write one of {}", APIS.join(", ")),
        );
        return;
    }
    if name.text == BUILT_IN && api.text != BUILT_IN {
        let hint = "choose another name and set params.model of the producer to it";
        report.error(
            name.span,
            Diagnostic::error(ErrorCode::E_MODEL, "the model 'extractive' is built in").hint(hint),
        );
    }
    let needed: &[(&str, &str)] = match api.text {
        "openai" => &[
            ("base_url", "write base_url = \"http://127.0.0.1:8080/v1\""),
            ("name", "write name = \"some-model\""),
        ],
        "anthropic" => &[("name", "write name = \"some-model\"")],
        "command" => &[("command", "write command = [\"my-model\", \"--quiet\"]")],
        "replay" => &[("recording", "write recording = \"answers.jsonl\"")],
        _ => &[],
    };
    for (key, hint) in needed {
        if fields.get(key).is_none() {
            let whole = Fields { span: name.span, ..fields };
            whole.report_missing(report, key, hint);
        }
    }
    if api.text == "agent" {
        for (key, item) in fields.entries().filter(|(key, _)| !OF_AGENTS.contains(&key.text)) {
            // Other keys are reported as unknown, or refused as secrets.
            if KEYS.iter().any(|(known, _)| *known == key.text) {
                let message = format!("'{}' has no effect on an agent, which is never called", key.text);
                let hint = format!("remove it; an agent has {}", OF_AGENTS.join(", "));
                report.error(item.span, Diagnostic::error(ErrorCode::E_MODEL, message).hint(hint));
            }
        }
        return;
    }
    let unused = fields
        .get("command")
        .filter(|_| api.text != "command")
        .or(fields.get("recording").filter(|_| api.text != "replay"))
        .or(fields.get("record").filter(|_| matches!(api.text, "replay" | BUILT_IN)));
    if let Some(item) = unused {
        let message = format!("api = \"{}\" does not use this", api.text);
        report.error(
            item.span,
            Diagnostic::error(ErrorCode::E_MODEL, message).hint("remove it or change 'api'"),
        );
    }
}

pub(super) fn is_variable_name(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !text.is_empty() && text.len() <= 100 && text.chars().all(plain) && !text.starts_with(|c: char| c.is_ascii_digit())
}

/// Whether a URL contains `user:password@`.
pub(super) fn has_user(url: &str) -> bool {
    let authority = url
        .split_once("://")
        .map_or(url, |(_, rest)| rest)
        .split(['/', '?', '#'])
        .next()
        .unwrap_or_default();
    authority.contains('@')
}
