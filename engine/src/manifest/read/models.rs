//! `[model.NAME]`: which language models there are. Keys are never read from a manifest.

use super::fields::{Fields, Item, Text, check_name};
use super::json::{Spans, json, refuse_secret};
use super::report::Report;
use super::source::looks_secret;
use crate::seams::producer::Params;
use crate::values::diagnostic::Diagnostic;
use serde_json::Value;
use std::collections::BTreeMap;
use toml::de::DeValue;

/// The model that is always there.
pub(super) const BUILT_IN: &str = "extractive";

const APIS: [&str; 5] = ["openai", "anthropic", "extractive", "replay", "command"];
/// Every key, with what it is.
const KEYS: [(&str, Kind); 10] = [
    ("api", Kind::Text),
    ("name", Kind::Text),
    ("base_url", Kind::Text),
    ("api_key_env", Kind::Text),
    ("command", Kind::Texts),
    ("recording", Kind::Text),
    ("timeout_seconds", Kind::Number),
    ("max_tokens", Kind::Number),
    ("context_tokens", Kind::Number),
    ("temperature", Kind::Number),
];
/// Seconds of a day.
const LONGEST_TIMEOUT: f64 = 86_400.0;
const SECRET_KEYS: [&str; 9] = [
    "api_key",
    "apikey",
    "api-key",
    "token",
    "key",
    "secret",
    "password",
    "auth",
    "authorization",
];

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Text,
    Texts,
    Number,
}

/// Hides every key that stands in the `[model]` table, before anything is reported.
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
        }
    }
}

fn is_secret(key: &str, item: Item<'_, '_>) -> bool {
    SECRET_KEYS.contains(&key.to_ascii_lowercase().as_str())
        || match item.value {
            DeValue::String(text) if key == "api_key_env" => !is_variable_name(text) || looks_secret(text),
            DeValue::String(text) if key == "base_url" => has_user(text),
            DeValue::String(text) => looks_secret(text),
            _ => false,
        }
}

/// Reads the `[model]` table of one file over those of earlier files.
pub(super) fn read(report: &mut Report<'_>, models: Fields<'_, '_>, found: &mut BTreeMap<String, Params>) {
    for (name, item) in models.entries() {
        let Some(fields) = Fields::of(report, item, "a model") else {
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
            if right_kind(report, *kind, key, item)
                && let Some(value) = json(report, item, key.text, &mut Spans::new())
                && in_range(report, key.text, item, &value)
            {
                model.insert(key.text.to_owned(), value);
            }
        } else {
            fields.unknown_key(report, key, &KEYS.map(|(key, _)| key));
        }
    }
    check_api(report, name, fields);
    if let Some(url) = fields.get("base_url")
        && let Some(text) = url.value.as_str()
        && !text.starts_with("http://")
        && !text.starts_with("https://")
    {
        let diagnostic =
            Diagnostic::error("E_MODEL", "'base_url' is an http address").hint("write base_url = \"http://127.0.0.1:8080/v1\"");
        report.error(url.span, diagnostic);
    }
    model
}

fn right_kind(report: &mut Report<'_>, kind: Kind, key: Text<'_>, item: Item<'_, '_>) -> bool {
    let what = format!("'{}'", key.text);
    match kind {
        Kind::Text => item.text(report, &what).is_some(),
        Kind::Texts => item.texts(report, &what).is_some(),
        Kind::Number => {
            let good = matches!(item.value, DeValue::Integer(_) | DeValue::Float(_));
            if !good {
                item.not(report, &what, "a number");
            }
            good
        }
    }
}

/// Whether a number is one that a model can be asked with.
fn in_range(report: &mut Report<'_>, key: &str, item: Item<'_, '_>, value: &Value) -> bool {
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
        _ => return true,
    };
    if !good {
        report.error(item.span, Diagnostic::error("E_MODEL", format!("'{key}' is {wanted}")).hint(hint));
    }
    good
}

fn is_count(value: &Value) -> bool {
    value.as_u64().is_some_and(|number| (1..=u64::from(u32::MAX)).contains(&number))
}

fn check_api(report: &mut Report<'_>, name: Text<'_>, fields: Fields<'_, '_>) {
    let Some(api) = fields.required(report, "api", "write api = \"openai\" for any server that speaks its language") else {
        return;
    };
    if !APIS.contains(&api.text) {
        let diagnostic = Diagnostic::error("E_MODEL", "there is no such interface to models");
        report.unknown(
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
            Diagnostic::error("E_MODEL", "the model 'extractive' is built in").hint(hint),
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
            whole.missing(report, key, hint);
        }
    }
    let unused = fields
        .get("command")
        .filter(|_| api.text != "command")
        .or(fields.get("recording").filter(|_| api.text != "replay"));
    if let Some(item) = unused {
        let message = format!("api = \"{}\" does not look at this", api.text);
        report.error(item.span, Diagnostic::error("E_MODEL", message).hint("remove it or change 'api'"));
    }
}

fn is_variable_name(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !text.is_empty() && text.len() <= 100 && text.chars().all(plain) && !text.starts_with(|c: char| c.is_ascii_digit())
}

/// Whether an address holds `user:password@`.
fn has_user(url: &str) -> bool {
    let authority = url
        .split_once("://")
        .map_or(url, |(_, rest)| rest)
        .split(['/', '?', '#'])
        .next()
        .unwrap_or_default();
    authority.contains('@')
}
