//! The symbols for `#if` that a producer reads a file under: its parameter `defines` and its input of that name, a JSON list
//! (`//files/P:defines`: those that are defined for the file and that it mentions).

use engine::seams::producer::{Failure, Inputs, ParamError, Params};
use serde_json::Value;
use std::collections::BTreeSet;

/// The symbols.
///
/// # Errors
/// When the input is not a list of symbols.
pub fn given(inputs: &Inputs<'_>) -> Result<BTreeSet<String>, Failure> {
    let mut symbols: BTreeSet<String> = list(inputs.params.get("defines").unwrap_or(&Value::Null))
        .map(str::to_owned)
        .collect();
    for input in inputs.all("defines") {
        let more: Vec<String> = serde_json::from_slice(&input.bytes)
            .map_err(|error| Failure::permanent(format!("input 'defines' is not a list of symbols: {error}")))?;
        symbols.extend(more);
    }
    Ok(symbols)
}

/// Checks that `defines` is the only parameter and a list of symbols.
///
/// # Errors
/// Everything that is wrong with the parameters.
pub fn check(params: &Params) -> Result<(), Vec<ParamError>> {
    let wrong = |param: &str, message: String, hint: &str| ParamError {
        param: param.to_owned(),
        message,
        hint: Some(hint.to_owned()),
        unknown: false,
    };
    let mut errors: Vec<ParamError> = params
        .keys()
        .filter(|key| *key != "defines")
        .map(|key| ParamError::unknown(key, &["defines"]))
        .collect();
    if let Some(value) = params.get("defines")
        && list(value).count() != value.as_array().map_or(usize::MAX, Vec::len)
    {
        errors.push(wrong(
            "defines",
            "`defines` is a list of symbols".to_owned(),
            "write defines = [\"DEBUG\", \"NET8_0\"]",
        ));
    }
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

fn list(value: &Value) -> impl Iterator<Item = &str> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str)
}
