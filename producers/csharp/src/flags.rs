//! Boolean parameters of producers.

use engine::seams::producer::{ParamError, Params};

/// Returns a boolean parameter.
pub fn flag(params: &Params, name: &str, default: bool) -> bool {
    params.get(name).and_then(serde_json::Value::as_bool).unwrap_or(default)
}

/// Checks that all parameters are among `known` and boolean.
///
/// # Errors
/// All errors in them.
pub fn check_flags(params: &Params, known: &[&str]) -> Result<(), Vec<ParamError>> {
    let mut errors = Vec::new();
    for (name, value) in params {
        if !known.contains(&name.as_str()) {
            errors.push(ParamError::unknown_parameter(name, known));
        } else if !value.is_boolean() {
            errors.push(ParamError {
                param: name.clone(),
                message: format!("'{name}' is true or false"),
                hint: None,
                unknown: false,
            });
        }
    }
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}
