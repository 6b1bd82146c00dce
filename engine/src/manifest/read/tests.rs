//! Tests of reading manifests: one manifest in, messages or a model out.

mod errors;
mod model;
mod models;
mod remote;
mod robust;
mod schema;
mod tables;

use super::{Loaded, ManifestSource, load};
use crate::seams::producer::{Bound, Failure, Inputs, Output, ParamError, Params, Producer, ProducerId, Registry};
use crate::values::diagnostic::Diagnostic;
use std::collections::BTreeMap;

pub(super) const CSHARP: &str = include_str!("../../../../producers/rulesets/csharp.toml");
pub(super) const EXAMPLE: &str = include_str!("../../../../cortex.toml.example");

/// Parameters of the toy called `semantic`.
const SEMANTIC: [&str; 5] = ["model", "docs", "structures", "template", "sections"];

/// A producer with only a name; `command` requires an `argv`.
struct Toy(String);

impl Producer for Toy {
    fn id(&self) -> ProducerId {
        ProducerId::new(self.0.as_str(), 1)
    }

    fn check(&self, params: &Params) -> Result<(), Vec<ParamError>> {
        let wrong = self.0 == "command"
            && !params.contains_key("shell")
            && !params
                .get("argv")
                .is_some_and(|argv| argv.as_array().is_some_and(|argv| argv.iter().all(serde_json::Value::is_string)));
        let error = || ParamError {
            param: "argv".into(),
            message: "'argv' is a list of strings".into(),
            hint: Some("write argv = [\"true\"]".into()),
            unknown: false,
        };
        if self.0 == "semantic" {
            let unknown = params.keys().filter(|name| !SEMANTIC.contains(&name.as_str()));
            let errors: Vec<ParamError> = unknown.map(|name| ParamError::unknown_parameter(name, &SEMANTIC)).collect();
            return if errors.is_empty() { Ok(()) } else { Err(errors) };
        }
        if wrong { Err(vec![error()]) } else { Ok(()) }
    }

    /// Like the real producer: the switches are always set.
    fn bind(&self, params: &Params, _: &BTreeMap<String, Params>) -> Bound {
        let mut bound = Bound {
            params: params.clone(),
            ..Bound::default()
        };
        if self.0 == "semantic" {
            let asks = params.get("model").is_some_and(|model| model != "extractive");
            bound.params.insert("asks".into(), asks.into());
            bound.params.entry("docs").or_insert((!asks).into());
            bound.params.entry("structures").or_insert(asks.into());
            bound.params.entry("template").or_insert(serde_json::Value::Null);
        }
        bound
    }

    fn outputs(&self, params: &Params) -> Vec<String> {
        let outputs = params.get("outputs").and_then(serde_json::Value::as_object);
        outputs.into_iter().flatten().map(|(name, _)| name.clone()).collect()
    }

    fn produce(&self, _: &Inputs<'_>) -> Result<Output, Failure> {
        Ok(Output::default())
    }
}

pub(super) fn registry() -> Registry {
    let mut registry = Registry::default();
    let used = CSHARP.split("uses = \"").skip(1).filter_map(|rest| rest.split('"').next());
    for name in used.chain(["command", "table", "wasm", super::ENTRY]) {
        registry.add(Toy(name.to_owned()));
    }
    registry
}

pub(super) fn load_text(text: &str) -> Result<Loaded, Vec<Diagnostic>> {
    let source = ManifestSource {
        name: "cortex.toml".into(),
        text,
    };
    load(
        &source,
        None,
        &|name| (name == "csharp").then_some(CSHARP),
        &["csharp"],
        &registry(),
    )
}

/// Formats messages as on a terminal, without the hints.
pub(super) fn errors_text(errors: &[Diagnostic]) -> String {
    let line = |error: &Diagnostic| {
        let place = error.place.as_ref().map(ToString::to_string).unwrap_or_default();
        format!(
            "{} {place}: {} [{}]\n",
            error.code,
            error.message,
            error.found.as_deref().unwrap_or_default()
        )
    };
    errors.iter().map(line).collect()
}
