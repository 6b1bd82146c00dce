//! Resolves a producer's `model` parameter: the part of a `[model.NAME]` that may influence an answer (it enters keys) and the part that only says
//! how to reach the model (it does not).

use engine::seams::producer::{Bound, Params};
use serde_json::Value;
use std::collections::BTreeMap;

/// The name of the built-in model, which needs no network.
pub const EXTRACTIVE: &str = "extractive";

/// Keys of a model that may influence its answers.
const KEYED: [&str; 7] = ["api", "name", "max_tokens", "context_tokens", "temperature", "params", "command"];

/// Replaces the name of a model by its definition and sets `asks`: whether it is a language model.
pub fn bind_model(params: &Params, models: &BTreeMap<String, Params>) -> Bound {
    let mut bound = Bound {
        params: params.clone(),
        settings: Params::new(),
    };
    let name = params.get("model").and_then(Value::as_str).unwrap_or(EXTRACTIVE);
    let model = models
        .get(name)
        .filter(|model| model.get("api").and_then(Value::as_str) != Some(EXTRACTIVE));
    bound.params.insert("asks".to_owned(), model.is_some().into());
    let Some(model) = model else {
        bound.params.insert("model".to_owned(), EXTRACTIVE.into());
        return bound;
    };
    let (keyed, settings): (Params, Params) = model.clone().into_iter().partition(|(key, _)| KEYED.contains(&key.as_str()));
    bound.params.insert("model".to_owned(), keyed.into());
    bound.settings = settings;
    bound.settings.insert("model".to_owned(), name.into());
    bound
}

/// Whether a producer with these bound parameters asks a language model.
pub fn asks_model(params: &Params) -> bool {
    params.get("asks").and_then(Value::as_bool).unwrap_or(false)
}

/// Returns the name of a bound model for reports of its cost.
pub fn model_name(model: &Params) -> &str {
    let text = |key: &str| model.get(key).and_then(Value::as_str);
    text("name").or_else(|| text("api")).unwrap_or("a model")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(value: serde_json::Value) -> Params {
        value.as_object().cloned().expect("an object")
    }

    #[test]
    fn settings_for_reaching_a_model_are_not_in_the_key() {
        let team = serde_json::json!({"api": "openai", "name": "m", "temperature": 0, "base_url": "http://x", "api_key_env": "K", "timeout_seconds": 3});
        let models = BTreeMap::from([("team".to_owned(), object(team))]);
        let bound = bind_model(&object(serde_json::json!({"model": "team", "docs": false})), &models);
        let expected = serde_json::json!({"asks": true, "docs": false, "model": {"api": "openai", "name": "m", "temperature": 0}});
        assert_eq!(Value::Object(bound.params), expected);
        let expected = serde_json::json!({"model": "team", "base_url": "http://x", "api_key_env": "K", "timeout_seconds": 3});
        assert_eq!(Value::Object(bound.settings), expected);
        let bound = bind_model(&object(serde_json::json!({"model": "extractive"})), &models);
        assert_eq!(
            Value::Object(bound.params),
            serde_json::json!({"asks": false, "model": "extractive"})
        );
    }
}
