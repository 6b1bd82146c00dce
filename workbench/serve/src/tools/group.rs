//! Several methods as one tool: its argument `op` names the method, the other arguments are the method's. Without `op`, the method with the
//! tool's own name runs, if there is one.

use super::definitions::{self, JsonObject, Tool};
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use engine::values::suggest::nearest;
use methods::catalog::{self, MethodEntry};
use methods::code::Code;
use methods::failed::Failed;
use serde_json::{Map, Value, json};

/// Argument that names the method.
const OP: &str = "op";

fn operation_names(tool: &str) -> Vec<&'static str> {
    catalog::operations(tool).map(|entry| entry.group_and_word().1).collect()
}

/// Returns the method that runs without `op`.
fn default_operation(tool: &str) -> Option<&'static MethodEntry> {
    catalog::operations(tool).find(|entry| entry.group_and_word().1 == tool)
}

/// Builds the tool with the arguments of all its methods.
pub fn tool_of_group(tool: &'static str) -> Tool {
    definition_with(tool, |_| true)
}

/// Builds the tool from those of its methods that `is_offered` accepts.
pub fn definition_with(tool: &'static str, is_offered: impl Fn(&MethodEntry) -> bool) -> Tool {
    let entries: Vec<&MethodEntry> = catalog::operations(tool).filter(|entry| is_offered(entry)).collect();
    let names: Vec<&str> = entries.iter().map(|entry| entry.group_and_word().1).collect();
    let mut op = json!({"type": "string", "enum": names});
    let usual = default_operation(tool).filter(|usual| is_offered(usual));
    if let Some(usual) = usual {
        op["default"] = usual.group_and_word().1.into();
    }
    let mut fields = Map::from_iter([(OP.to_owned(), op)]);
    for entry in &entries {
        let own = definitions::input(entry).remove("properties");
        for (name, field) in own.as_ref().and_then(Value::as_object).into_iter().flatten() {
            fields.entry(name).or_insert_with(|| field.clone());
        }
    }
    let mut input = Map::from_iter([("type".to_owned(), "object".into()), ("properties".to_owned(), fields.into())]);
    if usual.is_none() {
        input.insert("required".to_owned(), json!([OP]));
    }
    definitions::tool_of_methods(tool.to_owned(), input, &entries)
}

/// Returns the method that a call names by `op`, and its arguments. Fails when the group has no such method.
pub fn method_of(tool: &str, mut arguments: JsonObject) -> Result<(&'static MethodEntry, Value), Failed> {
    let words = operation_names(tool);
    let all = format!("there are {}", words.join(", "));
    let (why, hint) = match arguments.remove(OP) {
        Some(Value::String(op)) => {
            if let Some(entry) = catalog::operations(tool).find(|entry| entry.group_and_word().1 == op) {
                return Ok((entry, arguments.into()));
            }
            let near = nearest(&op, words.iter().copied(), 1);
            let hint = near.first().map_or(all, |near| format!("did you mean '{near}'?"));
            let found: String = op.chars().take(120).collect();
            (
                Diagnostic::error(ErrorCode::E_PARAM, "there is no operation of this name").found(found),
                hint,
            )
        }
        Some(_) => (Diagnostic::error(ErrorCode::E_PARAM, "'op' must be a string"), all),
        None => match default_operation(tool) {
            Some(entry) => return Ok((entry, arguments.into())),
            None => (Diagnostic::error(ErrorCode::E_PARAM, "the argument 'op' is missing"), all),
        },
    };
    Err(Failed::new(Code::Usage, why.hint(hint)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked_for(arguments: Value) -> Result<(&'static str, Value), String> {
        let arguments = arguments.as_object().expect("an object").clone();
        match method_of("overlay", arguments) {
            Ok((entry, arguments)) => Ok((entry.name, arguments)),
            Err(failed) => Err(format!(
                "{}; {}",
                failed.diagnostics[0].message,
                failed.diagnostics[0].hint.as_deref().unwrap_or_default()
            )),
        }
    }

    #[test]
    fn an_operation_is_a_method_with_the_other_arguments() {
        assert_eq!(
            asked_for(json!({"op": "put", "name": "a", "path": "b"})),
            Ok(("overlay put", json!({"name": "a", "path": "b"})))
        );
        let all = "there are open, put, apply, build, diff, merge, list, discard";
        for (arguments, why) in [
            (
                json!({"op": "opn"}),
                "there is no operation of this name; did you mean 'open'?".to_owned(),
            ),
            (json!({"op": "zzzzzzzz"}), format!("there is no operation of this name; {all}")),
            (json!({"op": 5}), format!("'op' must be a string; {all}")),
            (json!({"name": "a"}), format!("the argument 'op' is missing; {all}")),
        ] {
            assert_eq!(asked_for(arguments), Err(why));
        }
    }

    #[test]
    fn the_tool_has_the_arguments_of_all_its_methods() {
        let tool = tool_of_group("overlay");
        let fields = tool.input_schema["properties"].as_object().expect("fields");
        for entry in catalog::operations("overlay") {
            let own = definitions::input(entry);
            assert!(
                own["properties"]
                    .as_object()
                    .expect("fields")
                    .keys()
                    .all(|name| fields.contains_key(name)),
                "{}",
                entry.name
            );
        }
        assert_eq!(fields["op"]["enum"].as_array().map(Vec::len), Some(8));
        assert_eq!(tool.input_schema["required"], json!(["op"]));
    }
}
