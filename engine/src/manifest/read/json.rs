//! TOML values as JSON for producers.

use super::fields::Item;
use super::report::Report;
use super::source::{Span, looks_secret};
use crate::values::codes::ErrorCode;
use crate::values::diagnostic::Diagnostic;
use serde_json::{Map, Number, Value};
use std::collections::HashMap;
use toml::de::{DeFloat, DeInteger, DeValue};

/// Maximum depth of values: later code may walk them by recursion.
const MAX_DEPTH: usize = 64;

/// Maximum length of remembered paths; a longer one only makes a message's place less precise.
const MAX_PATH: usize = 100;

/// Place of each parameter, by its dotted path.
pub(super) type Spans = HashMap<String, Span>;

/// Converts the value to JSON; reports values that cannot be. Adds places to `spans` under `path`.
pub(super) fn json_of_item(report: &mut Report<'_>, item: Item<'_, '_>, path: &str, spans: &mut Spans) -> Option<Value> {
    json_value(report, item, Some(path.to_owned()), 0, spans)
}

fn json_value(report: &mut Report<'_>, item: Item<'_, '_>, path: Option<String>, depth: usize, spans: &mut Spans) -> Option<Value> {
    let below = |name: &str| {
        path.as_ref()
            .filter(|path| depth < 3 && path.len() + name.len() < MAX_PATH)
            .map(|path| join(path, name))
    };
    if !matches!(item.value, DeValue::Array(_) | DeValue::Table(_)) {
        record_span(spans, path.clone(), item.span);
    }
    let mut refuse = |message: &str, hint: &str| {
        report.error(item.span, Diagnostic::error(ErrorCode::E_TYPE, message).hint(hint));
        None
    };
    if depth > MAX_DEPTH {
        return refuse("this is nested too deeply", "write at most 64 levels");
    }
    match item.value {
        DeValue::Datetime(_) => refuse("a parameter may not be a date", "write it as a string"),
        DeValue::Integer(number) => match integer(number) {
            Some(number) => Some(Value::Number(number)),
            None => refuse("this number is too large", "write it as a string"),
        },
        DeValue::Float(number) => match float(number) {
            Some(number) => Some(Value::Number(number)),
            None => refuse("a parameter must be a finite number", "write it as a string"),
        },
        DeValue::Boolean(value) => Some(Value::Bool(*value)),
        DeValue::String(text) if looks_secret(text) => {
            refuse_secret(report, item.span);
            None
        }
        DeValue::String(text) => Some(Value::String(text.clone().into_owned())),
        DeValue::Array(items) => {
            let mut list = Vec::with_capacity(items.len());
            for (index, inner) in items.iter().enumerate() {
                list.push(json_value(
                    report,
                    Item::new(item.span.file, inner),
                    below(&index.to_string()),
                    depth + 1,
                    spans,
                ));
            }
            record_span(spans, path, item.span);
            list.into_iter().collect::<Option<_>>().map(Value::Array)
        }
        DeValue::Table(table) => {
            let mut map = Map::new();
            let mut whole = true;
            for (key, inner) in table {
                match json_value(report, Item::new(item.span.file, inner), below(key.get_ref()), depth + 1, spans) {
                    Some(inner) => drop(map.insert(key.get_ref().to_string(), inner)),
                    None => whole = false,
                }
            }
            record_span(spans, path, item.span);
            whole.then_some(Value::Object(map))
        }
    }
}

/// Reports a key written in the manifest, without showing it.
pub(super) fn refuse_secret(report: &mut Report<'_>, span: Span) {
    report.hide(span);
    let hint = "put it into an environment variable and name that: api_key_env = \"TEAM_LLM_KEY\"; treat this key as known and replace it";
    report.error(
        span,
        Diagnostic::error(ErrorCode::E_SECRET, "a manifest must not contain keys")
            .found("(not shown)")
            .hint(hint),
    );
}

fn record_span(spans: &mut Spans, path: Option<String>, span: Span) {
    if let Some(path) = path {
        spans.insert(path, span);
    }
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() {
        name.to_owned()
    } else {
        format!("{path}.{name}")
    }
}

fn integer(number: &DeInteger<'_>) -> Option<Number> {
    let (text, radix) = (number.as_str(), number.radix());
    i64::from_str_radix(text, radix)
        .map(Number::from)
        .or_else(|_| u64::from_str_radix(text, radix).map(Number::from))
        .ok()
}

fn float(number: &DeFloat<'_>) -> Option<Number> {
    number.as_str().parse().ok().and_then(Number::from_f64)
}

/// Merges `over` into `base`: tables key by key; replaces anything else.
pub(super) fn merge(base: &mut Map<String, Value>, over: Map<String, Value>) {
    for (key, value) in over {
        match (base.get_mut(&key), value) {
            (Some(Value::Object(below)), Value::Object(above)) => merge(below, above),
            (_, value) => {
                base.insert(key, value);
            }
        }
    }
}
