//! Arguments from programs: lists may be given as a single item, and errors are translated for people.

use crate::code::Code;
use crate::failed::Failed;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use engine::values::suggest::nearest;
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use std::fmt;

/// Reads the arguments of a method. Fails when an argument is invalid, with its name.
pub fn read_arguments<'de, M: Deserialize<'de>>(arguments: Value) -> Result<M, Failed> {
    serde_path_to_error::deserialize(arguments).map_err(|error| invalid_arguments(&error))
}

fn invalid_arguments(error: &serde_path_to_error::Error<serde_json::Error>) -> Failed {
    // The path of an error outside of any field is ".".
    let name = error.path().iter().next().map(|_| error.path().to_string());
    let why = argument_error(name.as_deref(), &error.inner().to_string());
    let hint = why
        .hint
        .clone()
        .unwrap_or_else(|| "the reference of methods lists the arguments of each".to_owned());
    Failed::new(Code::Usage, why.hint(hint))
}

/// Translates an error of the JSON reader; `name` is the argument concerned.
fn argument_error(name: Option<&str>, words: &str) -> Diagnostic {
    let wrong = |message: String| Diagnostic::error(ErrorCode::E_PARAM, message);
    let quoted = |words: &str| words.split('`').nth(1).unwrap_or_default().to_owned();
    if words.starts_with("missing field ") {
        return wrong(format!("the argument '{}' is missing", quoted(words)));
    }
    if words.starts_with("duplicate field ") {
        return wrong(format!("the argument '{}' is given twice", quoted(words)));
    }
    if let Some(rest) = words.strip_prefix("unknown field ") {
        let unknown = quoted(rest);
        // The names in backquotes after the first.
        let known: Vec<&str> = rest.split('`').skip(3).step_by(2).collect();
        let near = nearest(&unknown, known.iter().copied(), 1);
        let why = wrong("there is no argument of this name".to_owned()).found(cut_value(&unknown));
        return match (near.first(), known.as_slice()) {
            (Some(near), _) => why.hint(format!("did you mean '{near}'?")),
            (None, []) => why.hint("this takes no arguments"),
            (None, known) => why.hint(format!("it takes {}", known.join(", "))),
        };
    }
    let typed = words
        .strip_prefix("invalid type: ")
        .or_else(|| words.strip_prefix("invalid value: "));
    let typed = typed.and_then(|rest| rest.rsplit_once(", expected "));
    match (typed, name) {
        (Some((found, expected)), Some(name)) => {
            wrong(format!("'{name}' must be {}", expected_words(expected))).found(cut_value(describe_value(found)))
        }
        (Some((found, expected)), None) => {
            wrong(format!("the arguments must be {}", expected_words(expected))).found(cut_value(describe_value(found)))
        }
        (None, Some(name)) => wrong(format!("{name}: {words}")),
        (None, None) => wrong(words.to_owned()),
    }
}

/// Describes the values that a Rust type accepts.
fn expected_words(expected: &str) -> String {
    match expected {
        "usize" | "u64" | "u128" => "a whole number from 0".to_owned(),
        "u32" => format!("a whole number from 0 to {}", u32::MAX),
        "u16" => format!("a whole number from 0 to {}", u16::MAX),
        "u8" => format!("a whole number from 0 to {}", u8::MAX),
        "i64" | "i32" => "a whole number".to_owned(),
        "f64" | "f32" => "a number".to_owned(),
        "a boolean" => "true or false".to_owned(),
        "a map" => "an object".to_owned(),
        "a sequence" => "a list".to_owned(),
        other if other.starts_with("struct ") => "an object".to_owned(),
        other => other.to_owned(),
    }
}

/// Describes a given value, from serde's notation: `string "x"`, "integer `5`", `map`.
fn describe_value(found: &str) -> &str {
    match found {
        "map" => "an object",
        "sequence" => "a list",
        found => {
            let text = found.strip_prefix("string ");
            text.or_else(|| found.split('`').nth(1)).unwrap_or(found)
        }
    }
}

fn cut_value(text: &str) -> String {
    text.chars().take(120).collect()
}

/// Reads a list that may be given as a single item.
pub fn one_or_many<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    struct OneOrMany;
    impl<'de> Visitor<'de> for OneOrMany {
        type Value = Vec<String>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a string or a list of strings")
        }

        fn visit_str<E>(self, one: &str) -> Result<Vec<String>, E> {
            Ok(vec![one.to_owned()])
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut many: A) -> Result<Vec<String>, A::Error> {
            let mut all = Vec::new();
            while let Some(one) = many.next_element()? {
                all.push(one);
            }
            Ok(all)
        }
    }
    from.deserialize_any(OneOrMany)
}

/// Reads a list of types or members with at least one item.
pub fn symbols_argument<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    match one_or_many(from)? {
        none if none.is_empty() => Err(D::Error::custom("name a type or a member at least, such as \"NodeStore\"")),
        some => Ok(some),
    }
}

#[cfg(test)]
mod tests {
    use super::super::search::Search;
    use super::super::source::SourceOf;
    use super::*;
    use serde_json::json;

    /// Returns the message of a method with a list argument.
    fn said(arguments: Value) -> String {
        match read_arguments::<SourceOf>(arguments) {
            Ok(read) => read.symbols.join(" "),
            Err(failed) => failure_text(&failed),
        }
    }

    fn failure_text(failed: &Failed) -> String {
        let why = &failed.diagnostics[0];
        assert!(why.code == "E_PARAM" && why.hint.is_some(), "{why:?}");
        match &why.found {
            Some(found) => format!("{}; {found}", why.message),
            None => why.message.clone(),
        }
    }

    #[test]
    fn wrong_arguments_are_told_by_name_and_what_is_wanted() {
        for (arguments, expected) in [
            (json!({"symbols": "A"}), "A"),
            (json!({"symbols": ["A", "B"]}), "A B"),
            (json!({"symbols": 5}), "'symbols' must be a string or a list of strings; 5"),
            (json!({"path": {"a": 1}}), "'path' must be a string or a list of strings; an object"),
            (json!({"symbols": ["A", null]}), "'symbols[1]' must be a string; null"),
            (
                json!({"symbols": "A", "lines": "`x`"}),
                "'lines' must be a whole number from 0; \"`x`\"",
            ),
            (json!({"symbols": "A", "lines": -5}), "'lines' must be a whole number from 0; -5"),
            (json!({"symbols": "A", "lines": 1.5}), "'lines' must be a whole number from 0; 1.5"),
            (json!({}), "the argument 'symbols' is missing"),
            (json!({"symbols": "A", "path": "B"}), "the argument 'symbols' is given twice"),
            (
                json!({"symbols": []}),
                "symbols: name a type or a member at least, such as \"NodeStore\"",
            ),
            (json!({"symbols": "A", "lnes": 5}), "there is no argument of this name; lnes"),
            (json!("A"), "the arguments must be an object; \"A\""),
        ] {
            assert_eq!(said(arguments.clone()), expected, "{arguments}");
        }
        let hint = |arguments: Value| {
            let failed = read_arguments::<Search>(arguments).map(|_| ()).expect_err("it is wrong");
            failed.diagnostics[0].hint.clone().expect("a hint")
        };
        assert_eq!(hint(json!({"limt": 5})), "did you mean 'limit'?");
        assert_eq!(
            hint(json!({"zzzzzzzz": 5})),
            "it takes query, limit, kind, namespace, generated, semantic, cursor"
        );
    }
}
