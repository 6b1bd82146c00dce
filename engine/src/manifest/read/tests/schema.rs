//! The schema for editors knows the keys that the reader knows.

use super::{CSHARP, EXAMPLE, load_text};
use crate::manifest::SCHEMA;
use serde_json::{Map, Value};
use std::collections::BTreeSet;

fn schema() -> Value {
    serde_json::from_str(SCHEMA).expect("JSON")
}

fn resolved<'s>(root: &'s Value, schema: &'s Value) -> &'s Value {
    match schema["$ref"].as_str().and_then(|path| path.strip_prefix('#')) {
        Some(path) => root.pointer(path).expect("a definition"),
        None => schema,
    }
}

/// Finds keys of `value` that the schema does not allow.
fn strangers(root: &Value, schema: &Value, value: &Value, place: &str, found: &mut Vec<String>) {
    let schema = resolved(root, schema);
    if let Some(forms) = schema["anyOf"].as_array() {
        let fits = forms.iter().map(|form| {
            let mut wrong = Vec::new();
            strangers(root, form, value, place, &mut wrong);
            let kind = resolved(root, form)["type"].as_str().unwrap_or_default();
            let is_kind = matches!(
                (kind, value),
                ("object", Value::Object(_)) | ("array", Value::Array(_)) | ("string", Value::String(_)) | ("", _)
            );
            if is_kind { wrong } else { vec![format!("{place}: not {kind}")] }
        });
        found.extend(fits.min_by_key(Vec::len).unwrap_or_default());
        return;
    }
    let none = Map::new();
    for (key, inner) in value.as_object().unwrap_or(&none) {
        match (&schema["properties"][key], &schema["additionalProperties"]) {
            (Value::Null, Value::Bool(false)) => found.push(format!("{place}.{key}")),
            (Value::Null, Value::Object(_)) => strangers(root, &schema["additionalProperties"], inner, &format!("{place}.{key}"), found),
            (known, _) => strangers(root, known, inner, &format!("{place}.{key}"), found),
        }
    }
    for inner in value.as_array().into_iter().flatten() {
        strangers(root, &schema["items"], inner, place, found);
    }
}

#[test]
fn the_schema_has_every_key_of_the_example_and_of_the_ruleset() {
    for text in [EXAMPLE, CSHARP] {
        let value: Value = toml::from_str(text).expect("TOML");
        let mut found = Vec::new();
        strangers(&schema(), &schema(), &value, "", &mut found);
        // The manifest itself names its data tables.
        let own = |path: &String| {
            value["tables"]
                .as_object()
                .is_some_and(|tables| tables.keys().any(|name| path.starts_with(&format!(".{name}."))))
        };
        found.retain(|path| !own(path));
        assert_eq!(found, Vec::<String>::new());
    }
}

/// The reader lists its keys when it reports an unknown one.
#[test]
fn the_reader_and_the_schema_know_the_same_keys() {
    let schema = schema();
    let tables = [
        ("[workspace]\n", "/properties/workspace"),
        ("[sources.s]\n", "/properties/sources/additionalProperties"),
        ("[store]\n", "/properties/store"),
        ("[edit]\n", "/properties/edit"),
        ("[prompt_window]\n", "/properties/prompt_window"),
        ("[remote]\n", "/properties/remote"),
        ("[remote]\n[remote.tls]\n", "/properties/remote/properties/tls"),
        ("[model.m]\n", "/properties/model/additionalProperties"),
        ("[model.m.price]\n", "/properties/model/additionalProperties/properties/price"),
        ("[producer.p]\nuses = \"table\"\n", "/properties/producer/additionalProperties"),
        ("[[rule]]\n", "/properties/rule/items"),
    ];
    for (head, path) in tables {
        let errors = load_text(&format!("{head}qqqqqqqqqq = 1\n")).expect_err("an unknown key");
        let hints = errors.iter().filter(|error| error.found.as_deref() == Some("qqqqqqqqqq"));
        let hint = hints.filter_map(|error| error.hint.as_deref()).next().expect("a hint");
        let known: BTreeSet<&str> = hint.strip_prefix("its keys are ").expect("the keys").split(", ").collect();
        let properties = schema.pointer(path).expect("a table")["properties"].as_object().expect("keys");
        assert_eq!(known, properties.keys().map(String::as_str).collect(), "{head}");
    }
}
