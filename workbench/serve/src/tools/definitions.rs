//! Tools: which methods are tools, and their definitions. A model reads all definitions first, so they are short: one sentence to select by, and
//! plain schemas. The full reference of a method is a resource.

use super::answer_form::Form;
use super::tool_purposes::purpose;
use super::{first_sentence, group};
use engine::manifest::model::Manifest;
use methods::catalog::{AsTool, Effect, METHODS, MethodEntry};
use methods::failed::Failed;
use serde::Serialize;
use serde_json::{Map, Value, json};

/// Arguments of a call, or a schema.
pub type JsonObject = Map<String, Value>;

/// Definition of a tool, in the form of the Model Context Protocol.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Tool {
    pub name: String,
    pub description: String,
    /// The schema of its arguments.
    pub input_schema: JsonObject,
    /// The schema of its answer, if it is listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<JsonObject>,
    /// Its effects, as far as they differ from the defaults of the protocol.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<ToolAnnotations>,
}

/// Effects of a tool; `None` is the default of the protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolAnnotations {
    /// Whether it changes nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_only_hint: Option<bool>,
    /// Whether it may destroy something.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destructive_hint: Option<bool>,
    /// Whether a second call with the same arguments changes nothing more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotent_hint: Option<bool>,
}

pub fn tool_name(entry: &MethodEntry) -> String {
    entry.name.replace(' ', "_")
}

/// Methods behind a tool.
#[derive(Clone, Copy)]
pub enum ToolMethods {
    Method(&'static MethodEntry),
    /// Several methods, selected by `op`.
    Group(&'static str),
}

impl ToolMethods {
    fn name_of_tool(self) -> String {
        match self {
            Self::Method(entry) => tool_name(entry),
            Self::Group(tool) => tool.to_owned(),
        }
    }

    fn tool_definition(self) -> Tool {
        match self {
            Self::Method(entry) => tool_of_methods(tool_name(entry), input(entry), &[entry]),
            Self::Group(tool) => group::tool_of_group(tool),
        }
    }

    /// Returns the method that a call selects, and its arguments. Fails when a group has no such operation.
    pub fn method_of(self, arguments: JsonObject) -> Result<(&'static MethodEntry, Value), Failed> {
        match self {
            Self::Method(entry) => Ok((entry, arguments.into())),
            Self::Group(tool) => group::method_of(tool, arguments),
        }
    }
}

/// Capabilities of this workspace. A tool that cannot work here is not listed; calling it reports what is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToolAvailability {
    /// Whether the manifest has an agent model, which takes work and submits it.
    pub work: bool,
    /// Whether a model of the manifest answers questions.
    pub investigate: bool,
}

impl ToolAvailability {
    /// All capabilities.
    pub const ALL: Self = Self {
        work: true,
        investigate: true,
    };

    /// Returns the capabilities of a manifest's models.
    pub fn from_manifest(manifest: &Manifest) -> Self {
        let answers = |model: &engine::seams::producer::Params| model.get("api").is_none_or(|api| api != "agent");
        Self {
            work: !workbench::agent_questions::agent_patterns(manifest).is_empty(),
            investigate: manifest.models.values().any(answers),
        }
    }

    fn do_what(self, stands: ToolMethods) -> bool {
        let name = stands.name_of_tool();
        (self.work || !name.starts_with("work_")) && (self.investigate || name != "investigate")
    }
}

/// Returns all tools, in the order of the table.
fn all_tools() -> Vec<ToolMethods> {
    let mut groups: Vec<&str> = Vec::new();
    let stands = |entry: &'static MethodEntry| match (entry.tool, entry.operation_of()) {
        (AsTool::Own, _) => Some(ToolMethods::Method(entry)),
        (_, Some(tool)) if !groups.contains(&tool) => {
            groups.push(tool);
            Some(ToolMethods::Group(tool))
        }
        _ => None,
    };
    METHODS.iter().filter_map(stands).collect()
}

pub fn find_tool(wanted: &str) -> Option<ToolMethods> {
    all_tools().into_iter().find(|stands| stands.name_of_tool() == wanted)
}

/// Returns the message that no tool has this name, with the operation and tool that the name refers to.
pub fn no_tool(wanted: &str) -> String {
    let name: String = wanted.chars().take(80).collect();
    let is_meant = |entry: &&MethodEntry| self::tool_name(entry) == wanted || entry.group_and_word().1 == wanted;
    let does = |entry: &MethodEntry| {
        Some(format!(
            "the tool '{}' with op '{}'",
            entry.operation_of()?,
            entry.group_and_word().1
        ))
    };
    let does: Vec<String> = METHODS.iter().filter(is_meant).filter_map(does).collect();
    match does.is_empty() {
        true => format!("there is no tool '{name}'; tools/list names them"),
        false => format!("there is no tool '{name}'; call {}", does.join(" or ")),
    }
}

/// Limit of the list of tools, in tokens.
const MOST_TOKENS: usize = 1_500;

/// Returns the tools of a server; the list is the same for all clients and never changes. In structured form, answers get as much of their
/// schemas as fits: first the required fields of all, then the kinds of all fields, each in the order of the methods.
pub fn definitions(form: Form, can: ToolAvailability) -> Vec<Tool> {
    let all: Vec<ToolMethods> = all_tools().into_iter().filter(|stands| can.do_what(*stands)).collect();
    let mut tools: Vec<Tool> = all.iter().map(|stands| stands.tool_definition()).collect();
    let details = match form {
        Form::Text => [].as_slice(),
        Form::Structured => [SchemaDetail::Always, SchemaDetail::Kinds].as_slice(),
    };
    for details in details {
        for (at, stands) in all.iter().enumerate() {
            let ToolMethods::Method(entry) = stands else { continue };
            let Some(schema) = output_schema(entry, *details) else { continue };
            let before = tools[at].output_schema.replace(schema);
            if tokens(&tools) > MOST_TOKENS {
                tools[at].output_schema = before;
            }
        }
    }
    tools
}

/// Counts the tokens of the list as a client gets it.
fn tokens(tools: &[Tool]) -> usize {
    producers::llm::tokens::o200k(&json!({ "tools": tools }).to_string())
}

pub(super) fn tool_of_methods(name: String, input: JsonObject, entries: &[&MethodEntry]) -> Tool {
    Tool {
        description: purpose(&name).to_owned(),
        name,
        input_schema: input,
        output_schema: None,
        annotations: Some(annotations(entries)).filter(|annotations| *annotations != ToolAnnotations::default()),
    }
}

/// Returns the combined annotations of methods. The protocol's defaults are: destructive, not idempotent, reaches the outside world.
/// A method that may ask a model is never read-only.
fn annotations(entries: &[&MethodEntry]) -> ToolAnnotations {
    let mut annotations = ToolAnnotations::default();
    match entries.iter().map(|entry| entry.effect).max() {
        // `is_read_only` excludes methods that ask a model.
        _ if entries.iter().all(|entry| entry.is_read_only()) => annotations.read_only_hint = Some(true),
        Some(Effect::Looks | Effect::Reads | Effect::Sets) => {
            (annotations.destructive_hint, annotations.idempotent_hint) = (Some(false), Some(true));
        }
        Some(Effect::Acts) => annotations.destructive_hint = Some(false),
        Some(Effect::Writes) | None => {}
    }
    annotations
}

fn object(schema: &schemars::Schema) -> Map<String, Value> {
    schema.as_object().cloned().unwrap_or_default()
}

/// Returns a brief schema of the arguments. Objects, and arguments with `x-tool` false, are left to the reference. An `x-tool` text replaces the
/// description; an empty one removes it.
pub(super) fn input(entry: &MethodEntry) -> JsonObject {
    let schema = object(&(entry.arguments)());
    let required = schema.get("required").cloned().unwrap_or_else(|| json!([]));
    let needed = |name: &String| required.as_array().is_some_and(|names| names.iter().any(|one| one == name));
    let mut properties = Map::new();
    for (name, field) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let is_left_out = field["x-tool"] == false;
        let words = field["x-tool"].as_str().map(str::to_owned);
        let mut field = either(field.clone());
        if is_left_out || field["type"] == "object" {
            continue;
        }
        if let Some(field) = field.as_object_mut() {
            briefly(name, field, needed(name));
            match words {
                Some(words) if words.is_empty() => drop(field.remove("description")),
                Some(words) => drop(field.insert("description".to_owned(), words.into())),
                None => {}
            }
        }
        properties.insert(name.clone(), field);
    }
    let mut schema = Map::from_iter([("type".to_owned(), json!("object")), ("properties".to_owned(), properties.into())]);
    if required != json!([]) {
        schema.insert("required".to_owned(), required);
    }
    schema
}

/// Shortens an argument's description to its first clause, and drops it if an optional argument has a default, is a switch, or the name says as
/// much. Drops a minimum of 0 or 1. Reduces objects in a list to the kinds of their fields.
fn briefly(name: &str, field: &mut Map<String, Value>, needed: bool) {
    if field.get("minimum").is_some_and(|minimum| minimum == 0 || minimum == 1) {
        field.remove("minimum");
    }
    if let Some(items) = field.get_mut("items").and_then(Value::as_object_mut) {
        items.remove("description");
        items.remove("additionalProperties");
        for field in items.get_mut("properties").and_then(Value::as_object_mut).into_iter().flatten() {
            *field.1 = json!({ "type": field.1["type"] });
        }
    }
    let about = field.remove("description");
    let is_told = field.contains_key("default") || field.get("type").is_some_and(|kind| kind == "boolean");
    if let Some(Value::String(about)) = about.filter(|_| needed || !is_told) {
        let clause = about.split([':', ';', ',', '(', '[']).next().unwrap_or_default().trim_end();
        if !repeats(name, clause) {
            field.insert("description".to_owned(), clause.into());
        }
    }
    if field.get("default").is_some_and(|default| *default == 0) {
        field.remove("default");
    }
}

/// Returns whether a clause only repeats the argument's name: "The question" of `question`, "The operation" of `op`.
fn repeats(name: &str, clause: &str) -> bool {
    let articles = ["The ", "A ", "An ", "Its "];
    let bare = articles.iter().find_map(|article| clause.strip_prefix(article));
    bare.is_some_and(|bare| !bare.contains(' ') && bare.to_lowercase().starts_with(name))
}

/// Detail of an answer's schema; the reference has all of it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SchemaDetail {
    /// Only the required fields.
    Always,
    /// Also the kinds of all fields.
    Kinds,
}

/// Returns the schema of an answer in that detail; `None` if the answer is not an object.
fn output_schema(entry: &MethodEntry, detail: SchemaDetail) -> Option<JsonObject> {
    let schema = object(&(entry.answers)());
    if schema.get("type")? != "object" {
        return None;
    }
    let mut short = Map::from_iter([("type".to_owned(), json!("object"))]);
    if let Some(required) = schema.get("required") {
        short.insert("required".to_owned(), required.clone());
    }
    if let Some(fields) = schema
        .get("properties")
        .and_then(Value::as_object)
        .filter(|_| detail == SchemaDetail::Kinds)
    {
        let kind = |field: &Value| field.get("type").filter(|kind| kind.is_string()).cloned();
        let brief = |field| kind(field).map_or_else(|| json!({}), |kind| json!({ "type": kind }));
        let fields = fields.iter().map(|(name, field)| (name.clone(), brief(field)));
        short.insert("properties".to_owned(), fields.collect::<Map<_, _>>().into());
    }
    Some(short)
}

/// Reduces a schema to the keys that every client understands, and its texts to their first sentences.
fn simplify_schema(schema: Map<String, Value>) -> Map<String, Value> {
    const KEPT: [&str; 8] = [
        "type", "items", "properties", "required", "enum", "minimum", "maximum", "additionalProperties",
    ];
    let mut simple = Map::new();
    for (key, value) in schema {
        match (key.as_str(), value) {
            ("properties", Value::Object(fields)) => {
                let fields = fields.into_iter().map(|(name, field)| (name, either(field)));
                simple.insert(key, fields.collect::<Map<_, _>>().into());
            }
            ("items", items) => {
                simple.insert(key, either(items));
            }
            ("description", Value::String(text)) => {
                simple.insert(key, first_sentence(&text).trim_end_matches('.').into());
            }
            // A choice of words, each with its own description.
            ("oneOf" | "anyOf", Value::Array(choices)) => {
                let words: Vec<Value> = choices.iter().flat_map(choice_values).collect();
                if !words.is_empty() {
                    simple.insert("type".to_owned(), "string".into());
                    simple.insert("enum".to_owned(), words.into());
                }
            }
            ("enum", Value::Array(words)) => {
                let words: Vec<Value> = words.into_iter().filter(|word| !word.is_null()).collect();
                simple.insert(key, words.into());
            }
            (kept, value) if KEPT.contains(&kept) => {
                simple.insert(key, value);
            }
            // A default that is off, empty or null is omitted.
            ("default", value) if !matches!(&value, Value::Null | Value::Bool(false)) && value != json!([]) && value != json!("") => {
                simple.insert(key, value);
            }
            _ => {}
        }
    }
    simple
}

fn either(schema: Value) -> Value {
    match schema {
        Value::Object(schema) => simplify_schema(schema).into(),
        // Any value is allowed.
        _ => json!({}),
    }
}

fn choice_values(choice: &Value) -> Vec<Value> {
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

    #[test]
    fn the_guide_for_agents_names_tools_that_there_are() {
        let guide = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/agents.md"));
        let rows = guide
            .split("## Which question")
            .nth(1)
            .expect("a table")
            .lines()
            .filter(|line| line.starts_with("| "));
        let named: Vec<&str> = rows.filter_map(|row| row.split('`').nth(1)).collect();
        assert!(named.len() > 8, "{named:?}");
        for tool in named {
            assert!(find_tool(tool).is_some(), "{tool}");
        }
    }

    #[test]
    fn the_list_is_short() {
        let short = |form, can| {
            let tools = definitions(form, can);
            let text = serde_json::to_string(&json!({"tools": tools})).expect("JSON");
            let tokens = producers::llm::tokens::o200k(&text);
            assert!(tools.len() <= 15, "{} tools", tools.len());
            assert!(tokens <= 1_500, "{tokens} tokens for {} tools:\n{text}", tools.len());
            (tools, text)
        };
        let (tools, text) = short(Form::Text, ToolAvailability::ALL);
        assert!(tools.iter().all(|tool| tool.output_schema.is_none()), "{text}");
        short(Form::Structured, ToolAvailability::ALL);
        let few = ToolAvailability {
            work: false,
            investigate: false,
        };
        let (tools, text) = short(Form::Structured, few);
        // Some answer schemas fit, and they agree with the full ones.
        let required = |tool: &Tool| tool.output_schema.as_ref().and_then(|schema| schema.get("required").cloned());
        assert!(tools.iter().filter(|tool| required(tool).is_some()).count() >= 2, "{text}");
        for tool in &tools {
            let Some(schema) = tool.output_schema.clone().map(Value::Object) else {
                continue;
            };
            let full = (methods::catalog::find_method(&tool.name).expect("a method").answers)();
            assert_eq!(schema["required"], full.as_value()["required"], "{}", tool.name);
            for (name, field) in schema["properties"].as_object().into_iter().flatten() {
                let kind = &full.as_value()["properties"][name]["type"];
                assert!(
                    field.as_object().is_some_and(|field| field.is_empty()) || field["type"] == *kind,
                    "{}: {name}",
                    tool.name
                );
            }
        }
    }

    #[test]
    fn tools_without_their_capability_are_not_listed() {
        let can = |work, investigate| ToolAvailability { work, investigate };
        let names = |can| {
            let tools = definitions(Form::Text, can).into_iter().map(|tool| tool.name);
            tools.collect::<HashSet<_>>()
        };
        let all = names(ToolAvailability::ALL);
        let without = |can| {
            let mut left: Vec<String> = all.difference(&names(can)).cloned().collect();
            left.sort();
            left
        };
        assert_eq!(without(can(false, true)), ["work_next", "work_submit"]);
        assert_eq!(without(can(true, false)), ["investigate"]);
    }

    #[test]
    fn every_client_can_read_the_definitions() {
        let mut names = HashSet::new();
        for tool in definitions(Form::Structured, ToolAvailability::ALL) {
            assert!(names.insert(tool.name.clone()), "{} stands twice", tool.name);
            let is_plain = tool.name.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_');
            assert!(is_plain && (1..=64).contains(&tool.name.len()), "{}", tool.name);
            assert!(!tool.description.is_empty(), "{}", tool.name);
            let schemas = [Some(tool.input_schema), tool.output_schema];
            for schema in schemas.into_iter().flatten() {
                assert_eq!(schema["type"], "object", "{}", tool.name);
                check(&tool.name, &Value::Object(schema));
            }
        }
    }

    /// Asserts the absence of schemas that clients were seen to reject.
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
        let simple = simplify_schema(schema.as_object().expect("an object").clone());
        assert_eq!(
            Value::Object(simple),
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
        let argument = |needed, field: Value| {
            let mut field = field.as_object().expect("an object").clone();
            briefly("x", &mut field, needed);
            Value::Object(field)
        };
        let about = "Only of this kind: type, member (or another)";
        let short = json!({"type": "string", "description": "Only of this kind"});
        assert_eq!(argument(true, json!({"type": "string", "description": about})), short);
        assert_eq!(argument(false, json!({"type": "string", "description": about})), short);
        assert_eq!(
            argument(false, json!({"default": 20, "description": about, "minimum": 0})),
            json!({"default": 20})
        );
        assert_eq!(argument(false, json!({"default": 0, "description": about})), json!({}));
        assert_eq!(
            argument(false, json!({"type": "boolean", "description": about})),
            json!({"type": "boolean"})
        );
        assert_eq!(argument(false, json!({"type": "string"})), json!({"type": "string"}));
        // A description that repeats the name is omitted.
        assert_eq!(argument(true, json!({"description": "The xylophone: this"})), json!({}));
        let item = json!({"type": "object", "properties": {"a": {"type": "string", "description": "An a"}}, "required": ["a"], "additionalProperties": false});
        assert_eq!(
            argument(false, json!({"type": "array", "items": item})),
            json!({"type": "array", "items": {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}})
        );
    }

    #[test]
    fn schemas_of_tools_omit_rare_arguments() {
        let method = |name: &str| methods::catalog::find_method(name).expect("a method");
        let edit = input(method("edit"));
        let is_listed = |name: &str| edit["properties"].get(name).is_some();
        assert!(is_listed("op") && is_listed("oldText") && is_listed("whole"));
        assert!(!is_listed("from") && !is_listed("manifest") && !is_listed("basic"), "{edit:?}");
        assert_eq!(edit["properties"]["edits"]["items"]["required"], json!(["oldText", "newText"]));
        assert!(!is_listed("mode") && edit["properties"]["session"].is_object());
        let source = find_tool("source").expect("a tool").tool_definition();
        let symbols = &source.input_schema["properties"]["symbols"];
        assert_eq!(symbols["description"], "Names, or files with lines: src/A.cs:10-40");
    }

    #[test]
    fn effects_are_told() {
        let effects =
            |name: &str| serde_json::to_value(annotations(&[methods::catalog::find_method(name).expect("a method")])).expect("JSON");
        let reads = json!({"readOnlyHint": true});
        assert_eq!(effects("outline"), reads);
        let sets = json!({"destructiveHint": false, "idempotentHint": true});
        assert_eq!(effects("window_pin"), sets);
        assert_eq!(effects("work_next"), json!({"destructiveHint": false}));
        assert_eq!(effects("edit"), json!({}));
        // These may ask a model.
        let asks = json!({"destructiveHint": false, "idempotentHint": true});
        assert_eq!((effects("semantic"), effects("pack_build")), (asks.clone(), asks));
        assert_eq!(effects("investigate"), json!({"destructiveHint": false}));
        // A group gets the worst annotations of its methods: it writes, and may ask a model.
        let group: Vec<&MethodEntry> = methods::catalog::operations("overlay").collect();
        assert_eq!(serde_json::to_value(annotations(&group)).expect("JSON"), json!({}));
        // A method that takes limits for models must be marked as asking.
        for entry in METHODS {
            let arguments = (entry.arguments)();
            let takes = |name: &str| arguments.as_value()["properties"].get(name).is_some();
            assert!(entry.asks || !(takes("maxCost") || takes("refresh")), "{}", entry.name);
        }
    }
}
