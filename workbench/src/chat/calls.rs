//! Calls of tools in the text of an answer. A model that needs another lookup ends its turn with a block:
//!
//! ````text
//! ```cortex
//! {"tool": "outline", "symbol": "NodeStore"}
//! ```
//! ````
//!
//! Each JSON object in it is a call; its fields other than `tool` are the arguments. A block of text works with every kind of model: servers,
//! programs and recordings.

use serde_json::{Map, Value};

/// First line of the block.
const OPEN: &str = "```cortex";
/// Last line of the block.
const CLOSE: &str = "```";
/// Limit of calls per answer.
pub const MOST: usize = 8;

/// A call of a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    pub tool: String,
    pub arguments: Map<String, Value>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ParsedAnswer {
    /// The text for the person.
    pub text: String,
    /// The calls, or why a part of a block is not a call.
    pub calls: Vec<Result<Call, String>>,
}

pub fn parse_tool_calls(answer: &str) -> ParsedAnswer {
    let (mut read, mut block) = (ParsedAnswer::default(), None::<String>);
    for line in answer.split_inclusive('\n') {
        let bare = line.trim();
        match &mut block {
            None if bare == OPEN => block = Some(String::new()),
            None => read.text.push_str(line),
            Some(text) if bare == CLOSE => {
                read.calls.extend(calls(text));
                block = None;
            }
            Some(text) => text.push_str(line),
        }
    }
    // The answer may end without the closing line.
    if let Some(text) = block {
        read.calls.extend(calls(&text));
    }
    read.calls.truncate(MOST);
    read.text.truncate(read.text.trim_end().len());
    read
}

/// Returns the part of a growing answer that may be shown: up to a block, and up to a line that may begin one.
pub fn shown_so_far(answer: &str) -> &str {
    let mut end = 0;
    for line in answer.split_inclusive('\n') {
        let bare = line.trim();
        let may_open = match line.ends_with('\n') {
            true => bare == OPEN,
            false => OPEN.starts_with(bare) && !bare.is_empty(),
        };
        if may_open {
            break;
        }
        end += line.len();
    }
    &answer[..end]
}

fn calls(block: &str) -> Vec<Result<Call, String>> {
    let mut found = Vec::new();
    for value in serde_json::Deserializer::from_str(block).into_iter::<Value>() {
        match value {
            Ok(Value::Array(values)) => found.extend(values.into_iter().map(call_from_json)),
            Ok(value) => found.push(call_from_json(value)),
            Err(error) => {
                found.push(Err(format!("the block is no JSON: {error}")));
                break;
            }
        }
    }
    if found.is_empty() {
        found.push(Err("the block is empty".to_owned()));
    }
    found
}

fn call_from_json(value: Value) -> Result<Call, String> {
    let Value::Object(mut arguments) = value else {
        return Err("a call is an object: {\"tool\": \"outline\", \"symbol\": \"NAME\"}".to_owned());
    };
    match arguments.remove("tool") {
        Some(Value::String(tool)) => Ok(Call { tool, arguments }),
        _ => Err("a call names its tool: {\"tool\": \"outline\", \"symbol\": \"NAME\"}".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tools(answer: &str) -> Vec<Result<String, String>> {
        let read = parse_tool_calls(answer).calls.into_iter();
        read.map(|call| call.map(|call| format!("{} {}", call.tool, Value::from(call.arguments))))
            .collect()
    }

    #[test]
    fn calls_are_taken_out_of_the_text() {
        let answer = "Let me look.\n```cortex\n{\"tool\": \"outline\", \"symbol\": \"A\"}\n{\"tool\": \"status\"}\n```\n";
        assert_eq!(parse_tool_calls(answer).text, "Let me look.");
        assert_eq!(
            tools(answer),
            [Ok("outline {\"symbol\":\"A\"}".to_owned()), Ok("status {}".to_owned())]
        );
        let plain = "Use this:\n```csharp\nvar a = 1;\n```";
        assert_eq!(
            (parse_tool_calls(plain).text.as_str(), parse_tool_calls(plain).calls.len()),
            (plain, 0)
        );
        assert_eq!(tools("```cortex\n[{\"tool\": \"a\"}, {\"tool\": \"b\"}]").len(), 2);
        assert!(tools("```cortex\n{\"tool\": \"a\"} nonsense\n```")[1].is_err());
        assert!(tools("```cortex\n```")[0].is_err());
        assert!(tools("```cortex\n{\"symbol\": 1}\n\"a\"\n```").iter().all(Result::is_err));
    }

    proptest! {
        #[test]
        fn text_shown_of_a_partial_answer_begins_the_whole_text(answer in "([a-z\n]|```|`|```cortex\n|cortex|\\{\"tool\": \"a\"\\}){0,30}", cut in any::<prop::sample::Index>()) {
            let at = answer.floor_char_boundary(cut.index(answer.len() + 1));
            let whole = parse_tool_calls(&answer).text;
            let shown = shown_so_far(&answer[..at]).trim_end();
            prop_assert!(whole.starts_with(shown), "{whole:?} {shown:?}");
        }
    }
}
