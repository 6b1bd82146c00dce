//! The tools: which methods are, and their definitions. A model reads all of them before it does anything, so they are short: the first
//! sentences, the plainest schemas. The reference of a method, which can be read as a resource, has all of it.

use super::first_sentence;
use crate::methods::{Effect, Entry, METHODS, reference};
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// The name of a method as a tool.
pub fn name(entry: &Entry) -> String {
    entry.name.replace(' ', "_")
}

/// The tool of that name.
pub fn find(wanted: &str) -> Option<&'static Entry> {
    METHODS.iter().find(|entry| entry.tool && name(entry) == wanted)
}

/// All tools. The list is the same for every client and never changes while the program runs.
pub fn definitions() -> Vec<Tool> {
    METHODS.iter().filter(|entry| entry.tool).map(definition).collect()
}

fn definition(entry: &Entry) -> Tool {
    let about = reference::about(entry);
    let tool = Tool::new(name(entry), first_sentence(&about).trim_end_matches('.').to_owned(), input(entry))
        .with_annotations(annotations(entry.effect));
    match output(entry) {
        Some(schema) => tool.with_raw_output_schema(Arc::new(schema)),
        None => tool,
    }
}

/// What clients are told of an effect. What is not said is the protocol's default: it may change things, and ask the world outside.
fn annotations(effect: Effect) -> ToolAnnotations {
    let told = ToolAnnotations::new();
    match effect {
        Effect::Looks => told.read_only(true).open_world(false),
        Effect::Reads => told.read_only(true),
        Effect::Sets => told.destructive(false).idempotent(true).open_world(false),
        Effect::Acts => told.destructive(false),
    }
}

fn object(schema: &schemars::Schema) -> Map<String, Value> {
    schema.as_object().cloned().unwrap_or_default()
}

/// The schema of the arguments, told briefly; groups of them are left to the reference.
fn input(entry: &Entry) -> JsonObject {
    let schema = object(&(entry.arguments)());
    let required = schema.get("required").cloned().unwrap_or_else(|| json!([]));
    let needed = |name: &String| required.as_array().is_some_and(|names| names.iter().any(|one| one == name));
    let mut told = Map::new();
    for (name, field) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let mut field = either(field.clone());
        if field["type"] == "object" {
            continue;
        }
        if let Some(field) = field.as_object_mut() {
            briefly(field, needed(name));
        }
        told.insert(name.clone(), field);
    }
    let mut schema = Map::from_iter([("type".to_owned(), json!("object")), ("properties".to_owned(), told.into())]);
    if required != json!([]) {
        schema.insert("required".to_owned(), required);
    }
    schema
}

/// The first clause of what an argument is for. Of one that may be left out its default says it, and of a switch its name.
fn briefly(field: &mut Map<String, Value>, needed: bool) {
    let about = field.remove("description");
    let is_told = field.contains_key("default") || field.get("type").is_some_and(|kind| kind == "boolean");
    if let Some(Value::String(about)) = about.filter(|_| needed || !is_told) {
        let clause = about.split([':', ';', ',', '(', '[']).next().unwrap_or_default().trim_end();
        field.insert("description".to_owned(), clause.into());
    }
}

/// The schema of the answer, as far as the list has room for it: that it is an object, whose fields the reference tells.
fn output(entry: &Entry) -> Option<JsonObject> {
    let is_object = object(&(entry.answers)()).get("type")? == "object";
    is_object.then(|| Map::from_iter([("type".to_owned(), json!("object"))]))
}

/// The keys of a schema that every client understands, its texts cut to their first sentences.
fn plain(schema: Map<String, Value>) -> Map<String, Value> {
    const KEPT: [&str; 8] = [
        "type",
        "items",
        "properties",
        "required",
        "enum",
        "minimum",
        "maximum",
        "additionalProperties",
    ];
    let mut told = Map::new();
    for (key, value) in schema {
        match (key.as_str(), value) {
            ("properties", Value::Object(fields)) => {
                let fields = fields.into_iter().map(|(name, field)| (name, either(field)));
                told.insert(key, fields.collect::<Map<_, _>>().into());
            }
            ("items", items) => {
                told.insert(key, either(items));
            }
            ("description", Value::String(text)) => {
                told.insert(key, first_sentence(&text).trim_end_matches('.').into());
            }
            // A choice of words, each with a sentence of its own.
            ("oneOf" | "anyOf", Value::Array(choices)) => {
                let words: Vec<Value> = choices.iter().flat_map(words).collect();
                if !words.is_empty() {
                    told.insert("type".to_owned(), "string".into());
                    told.insert("enum".to_owned(), words.into());
                }
            }
            (kept, value) if KEPT.contains(&kept) => {
                told.insert(key, value);
            }
            // What is off, empty or none by default need not be said.
            ("default", value) if !matches!(&value, Value::Null | Value::Bool(false)) && value != json!([]) && value != json!("") => {
                told.insert(key, value);
            }
            _ => {}
        }
    }
    told
}

fn either(schema: Value) -> Value {
    match schema {
        Value::Object(schema) => plain(schema).into(),
        // Anything goes.
        _ => json!({}),
    }
}

fn words(choice: &Value) -> Vec<Value> {
    match (choice.get("const"), choice.get("enum")) {
        (Some(word), _) => vec![word.clone()],
        (None, Some(Value::Array(words))) => words.clone(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// What a list of tools may take of a model's attention.
    const MOST_TOKENS: usize = 1_500;

    #[test]
    fn the_list_is_short() {
        let tools = definitions();
        let text = serde_json::to_string(&json!({"tools": tools})).expect("JSON");
        let tokens = producers::llm::tokens::o200k(&text);
        assert!(tools.len() <= 15, "{} tools", tools.len());
        assert!(tokens <= MOST_TOKENS, "{tokens} tokens for {} tools:\n{text}", tools.len());
    }

    #[test]
    fn every_client_can_read_the_definitions() {
        let mut names = HashSet::new();
        for tool in definitions() {
            assert!(names.insert(tool.name.clone()), "{} stands twice", tool.name);
            let told = tool.name.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_');
            assert!(told && (1..=64).contains(&tool.name.len()), "{}", tool.name);
            assert!(!tool.description.as_deref().unwrap_or_default().is_empty(), "{}", tool.name);
            let schemas = [Some(tool.input_schema), tool.output_schema];
            for schema in schemas.into_iter().flatten() {
                assert_eq!(schema["type"], "object", "{}", tool.name);
                check(&tool.name, &Value::Object(schema.as_ref().clone()));
            }
        }
    }

    /// What clients were seen to reject.
    fn check(tool: &str, schema: &Value) {
        match schema {
            Value::Object(fields) => {
                for (key, value) in fields {
                    assert!(
                        !["$ref", "$defs", "format", "oneOf", "anyOf", "allOf"].contains(&key.as_str()),
                        "{tool}: {key}"
                    );
                    assert!(key != "type" || value.is_string() || value.is_object(), "{tool}: type {value}");
                    check(tool, value);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| check(tool, item)),
            _ => {}
        }
    }

    #[test]
    fn schemas_are_cut_to_what_is_needed() {
        let schema = json!({
            "description": "What is wanted. And more of it.",
            "default": null,
            "format": "uint32",
            "title": "Wanted",
            "properties": {
                "kind": {"oneOf": [{"const": "a", "description": "An a."}, {"enum": ["b", "c"]}], "default": "a"},
                "any": true,
                "list": {"type": "array", "items": {"type": "string", "description": "One. Of many."}, "default": []},
                "on": {"type": "boolean", "default": false},
            },
        });
        let told = plain(schema.as_object().expect("an object").clone());
        assert_eq!(
            Value::Object(told),
            json!({
                "description": "What is wanted",
                "properties": {
                    "kind": {"type": "string", "enum": ["a", "b", "c"], "default": "a"},
                    "any": {},
                    "list": {"type": "array", "items": {"type": "string", "description": "One"}},
                    "on": {"type": "boolean"},
                },
            })
        );
    }

    #[test]
    fn arguments_are_told_briefly() {
        let told = |needed, field: Value| {
            let mut field = field.as_object().expect("an object").clone();
            briefly(&mut field, needed);
            Value::Object(field)
        };
        let about = "Only of this kind: type, member (or another)";
        let short = json!({"type": "string", "description": "Only of this kind"});
        assert_eq!(told(true, json!({"type": "string", "description": about})), short);
        assert_eq!(told(false, json!({"type": "string", "description": about})), short);
        assert_eq!(told(false, json!({"default": 20, "description": about})), json!({"default": 20}));
        assert_eq!(
            told(false, json!({"type": "boolean", "description": about})),
            json!({"type": "boolean"})
        );
        assert_eq!(told(false, json!({"type": "string"})), json!({"type": "string"}));
    }

    #[test]
    fn effects_are_told() {
        let told = |effect| serde_json::to_value(annotations(effect)).expect("JSON");
        assert_eq!(told(Effect::Looks), json!({"readOnlyHint": true, "openWorldHint": false}));
        assert_eq!(told(Effect::Reads), json!({"readOnlyHint": true}));
        assert_eq!(
            told(Effect::Sets),
            json!({"destructiveHint": false, "idempotentHint": true, "openWorldHint": false})
        );
        assert_eq!(told(Effect::Acts), json!({"destructiveHint": false}));
    }
}
