//! Parameters of the producer `semantic` for summaries by a language model, checked and read.
//!
//! For the built-in model `extractive` only `model` and `docs` have an effect; the other parameters do not enter its key.

use super::carried_answers::Carry;
use engine::seams::producer::{Bound, ParamError, Params};
use llm::model;
use serde_json::Value;
use std::collections::BTreeMap;

/// The section about a type's purpose; summaries of its readers use it.
pub(super) const ROLE: &str = "ROLE";

/// The section about how a type is created, used and ended.
pub(super) const LIFECYCLE: &str = "LIFECYCLE";

/// The sections of the seed (000 §3.5), each with its instruction for the model.
pub(super) const SECTIONS: [(&str, &str); 5] = [
    (ROLE, "purpose, one to three claims"),
    (LIFECYCLE, "creation, ownership, threads, end"),
    ("EDGE_CASES", "nulls, empties, limits, throws"),
    ("LIMITATIONS", "gaps, cost, hazards"),
    ("RECOMMENDATIONS", "use, risks of changes"),
];

/// Every parameter.
const KNOWN: [&str; 15] = [
    "carry", "declarations_only", "docs", "evidence", "generated", "max_diff", "max_patches", "max_tokens", "model", "never_send",
    "sections", "structures", "template", "test_bodies", "together",
];

/// Limit of questions that are asked as one, unless `together` sets it.
const TOGETHER: usize = 16;

/// Parameters that determine how an answer is produced, and not its content: they are not part of the key.
const SETTINGS: [&str; 4] = ["carry", "max_diff", "max_patches", "together"];

/// Limit of sections, the seed's included.
const MOST_SECTIONS: usize = 20;

/// A section of a summary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Section {
    /// Its name, as it appears before its colon.
    pub(super) name: String,
    /// The instruction for the model.
    pub(super) about: String,
}

/// The parsed parameters.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SummaryParameters {
    /// The model as bound.
    pub(super) model: Params,
    /// The seed's sections and the user's, in this order.
    pub(super) sections: Vec<Section>,
    /// Whether claims must name their evidence; claims that name nothing known are dropped.
    pub(super) evidence: bool,
    /// Whether documentation is shown.
    pub(super) docs: bool,
    /// Whether generated code is summarised.
    pub(super) generated: bool,
    /// Limit of tokens of the answer for one type.
    pub(super) max_tokens: u64,
    /// Limit of successive patches before a whole new answer.
    pub(super) max_patches: u64,
    /// Share of the inputs' text above which a change leads to a whole new answer.
    pub(super) max_diff: f64,
    /// The changes of code over which an answer is carried.
    pub(super) carry: Carry,
    /// Limit of questions that are asked as one.
    pub(super) together: usize,
    /// Globs of files that no model sees, in addition to the built-in ones.
    pub(super) never_send: Vec<String>,
    /// Globs of files of whose types only the declarations are shown.
    pub(super) declarations_only: Vec<String>,
    /// Whether bodies of test methods are shown.
    pub(super) test_bodies: bool,
    /// Path of the template, for messages.
    pub(super) template: Option<String>,
}

impl SummaryParameters {
    /// Reads bound parameters; missing ones have their defaults.
    pub(super) fn from_params(params: &Params, settings: &Params) -> Self {
        let texts = |name: &str| -> Vec<String> {
            let list = params.get(name).and_then(Value::as_array).into_iter().flatten();
            list.filter_map(|text| text.as_str().map(str::to_owned)).collect()
        };
        let own = params.get("sections").and_then(Value::as_array).into_iter().flatten();
        let own = own.filter_map(|section| {
            Some(Section {
                name: section.get("name")?.as_str()?.to_owned(),
                about: section.get("about")?.as_str()?.to_owned(),
            })
        });
        let seeds = SECTIONS.iter().map(|(name, about)| Section {
            name: (*name).to_owned(),
            about: (*about).to_owned(),
        });
        Self {
            model: params.get("model").and_then(Value::as_object).cloned().unwrap_or_default(),
            sections: seeds.chain(own).collect(),
            evidence: params.get("evidence").and_then(Value::as_bool).unwrap_or(true),
            docs: params.get("docs").and_then(Value::as_bool).unwrap_or(false),
            generated: params.get("generated").and_then(Value::as_bool).unwrap_or(false),
            max_tokens: params.get("max_tokens").and_then(Value::as_u64).unwrap_or(1200),
            max_patches: settings.get("max_patches").and_then(Value::as_u64).unwrap_or(32),
            max_diff: settings.get("max_diff").and_then(Value::as_f64).unwrap_or(1.0),
            carry: settings
                .get("carry")
                .and_then(Value::as_str)
                .and_then(Carry::from_word)
                .unwrap_or_default(),
            together: max_joint_questions(settings).unwrap_or(TOGETHER),
            never_send: texts("never_send"),
            declarations_only: texts("declarations_only"),
            test_bodies: params.get("test_bodies").and_then(Value::as_bool).unwrap_or(false),
            template: params.get("template").and_then(Value::as_str).map(str::to_owned),
        }
    }

    /// Returns the provider's name of the model, for the line `Source:`.
    pub(super) fn model_name(&self) -> &str {
        model::model_name(&self.model)
    }

    /// Returns the limit of tokens of question and answer together, if the model has one.
    pub(super) fn context_tokens(&self) -> Option<u64> {
        self.model.get("context_tokens").and_then(Value::as_u64)
    }

    /// Returns the limit of tokens of an answer about `types` types.
    pub(super) fn answer_tokens(&self, types: usize) -> u64 {
        let wanted = self.max_tokens.saturating_mul(types.max(1) as u64);
        self.model
            .get("max_tokens")
            .and_then(Value::as_u64)
            .map_or(wanted, |most| wanted.min(most))
    }
}

/// Replaces the model's name by its definition, fills in the switches that rules look at, and removes parameters that must not enter the key.
pub(super) fn bind_semantic_params(params: &Params, models: &BTreeMap<String, Params>) -> Bound {
    let mut bound = model::bind_model(params, models);
    let asks = asks_model(&bound.params);
    if !asks {
        // Other producers that ask models respect it too.
        if let Some(globs) = bound.params.get("never_send") {
            bound.settings.insert("never_send".to_owned(), globs.clone());
        }
        bound.params.retain(|name, _| matches!(name.as_str(), "model" | "docs" | "asks"));
    }
    for name in SETTINGS {
        if let Some(value) = bound.params.remove(name) {
            bound.settings.insert(name.to_owned(), value);
        }
    }
    let mut default = |name: &str, value: Value| {
        bound.params.entry(name).or_insert(value);
    };
    default("docs", (!asks).into());
    default("structures", asks.into());
    default("template", Value::Null);
    bound
}

/// Returns the limit of questions that are asked as one, if it is set.
pub(super) fn max_joint_questions(settings: &Params) -> Option<usize> {
    let most = settings.get("together").and_then(Value::as_u64)?;
    usize::try_from(most).ok()
}

/// Whether bound parameters name a language model.
pub(super) fn asks_model(params: &Params) -> bool {
    params.get("asks").and_then(Value::as_bool).unwrap_or(false)
}

/// Parameters that are true or false, and their effects.
const FLAGS: [(&str, &str); 5] = [
    ("docs", "true lets the model read documentation comments"),
    ("structures", "true shows the model what it uses of its dependencies' declarations"),
    ("evidence", "true asks for members behind claims and drops names of nothing"),
    ("generated", "true asks for summaries of generated code, too"),
    (
        "test_bodies",
        "true shows the model the bodies of test methods; otherwise it sees their declarations",
    ),
];

/// Checks parameters as written. Errors: all faults of the parameters.
pub(super) fn check_parameters(params: &Params) -> Result<(), Vec<ParamError>> {
    let mut errors = Vec::new();
    let globs = params.get("never_send").and_then(Value::as_array).into_iter().flatten();
    let globs: Vec<String> = globs.filter_map(|glob| glob.as_str().map(str::to_owned)).collect();
    let is_secret = |path: &str| super::secrets::withholding_glob(path, &globs).is_some();
    for (name, value) in params {
        if let Some((_, effect)) = FLAGS.iter().find(|(flag, _)| flag == name) {
            if !value.is_boolean() {
                errors.push(parameter_error(name, &format!("'{name}' is true or false"), effect));
            }
            continue;
        }
        let (message, hint) = match name.as_str() {
            "model" if value.is_string() => continue,
            "model" => (
                "'model' is the name of a model",
                "write model = \"extractive\", or the NAME of a table [model.NAME]",
            ),
            "max_patches" if value.as_u64().is_some_and(|number| number <= 1000) => continue,
            "max_patches" => (
                "'max_patches' is a whole number from 0 to 1000",
                "write max_patches = 32; 0 asks again every time",
            ),
            "max_diff" if value.as_f64().is_some_and(|share| (0.0..=1.0).contains(&share)) => continue,
            "max_diff" => (
                "'max_diff' is a number from 0 to 1",
                "write max_diff = 0.5: if more than half of the text changed, ask for a new answer",
            ),
            "max_tokens" if value.as_u64().is_some_and(|number| (64..=1_000_000).contains(&number)) => continue,
            "max_tokens" => (
                "'max_tokens' is a whole number from 64 to 1000000",
                "write max_tokens = 1200, the longest answer for one type",
            ),
            "carry" if value.as_str().and_then(Carry::from_word).is_some() => continue,
            "carry" => (
                "'carry' is \"never\", \"safe\" or \"likely\"",
                "write carry = \"safe\": a summary stays as it is where nothing that it says rests on the change",
            ),
            "together" if value.as_u64().is_some_and(|number| (1..=32).contains(&number)) => continue,
            "together" => (
                "'together' is a whole number from 1 to 32",
                "write together = 16: so many small questions of a build are asked as one; 1 asks each alone",
            ),
            "template" if value.as_str().is_some_and(is_secret) => (
                "'template' names a file that is never sent to a model",
                "a template is part of every question: put its text into a file of another name",
            ),
            "template" if value.as_str().is_some_and(is_path) => continue,
            "template" => (
                "'template' is the path of a file below the workspace",
                "write template = \"prompts/semantic.md\"",
            ),
            "never_send" if is_globs(value) => continue,
            "never_send" => ("'never_send' is a list of globs", "write never_send = [\"src/Licensing/**\"]"),
            "declarations_only" if is_globs(value) => continue,
            "declarations_only" => (
                "'declarations_only' is a list of globs",
                "write declarations_only = [\"test/**\"]: of types in these files no code is shown",
            ),
            "sections" => {
                sections(value, &mut errors);
                continue;
            }
            other => {
                errors.push(ParamError::unknown_parameter(other, &KNOWN));
                continue;
            }
        };
        errors.push(parameter_error(name, message, hint));
    }
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

fn parameter_error(param: &str, message: &str, hint: &str) -> ParamError {
    ParamError {
        param: param.to_owned(),
        message: message.to_owned(),
        hint: Some(hint.to_owned()),
        unknown: false,
    }
}

fn is_path(path: &str) -> bool {
    !path.is_empty()
        && !path.starts_with('/')
        && !path.contains(['\\', ':'])
        && path.split('/').all(|part| !matches!(part, "" | "." | ".."))
}

fn is_globs(value: &Value) -> bool {
    value
        .as_array()
        .is_some_and(|list| list.iter().all(|text| text.as_str().is_some_and(super::secrets::is_glob)))
}

/// Whether a text is valid as the name of a section.
pub(super) fn is_name(name: &str) -> bool {
    name.len() <= 40
        && name.starts_with(|c: char| c.is_ascii_uppercase())
        && name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
}

fn sections(value: &Value, errors: &mut Vec<ParamError>) {
    const FORM: &str = "write sections = [{ name = \"THREADING\", about = \"which threads may call what\" }]";
    let Some(list) = value.as_array() else {
        errors.push(parameter_error("sections", "'sections' is a list of tables", FORM));
        return;
    };
    if list.len() + SECTIONS.len() > MOST_SECTIONS {
        let message = format!(
            "a summary has at most {MOST_SECTIONS} sections, {} of them the seed's",
            SECTIONS.len()
        );
        errors.push(parameter_error("sections", &message, "leave some out"));
    }
    let mut seen: Vec<&str> = SECTIONS.iter().map(|(name, _)| *name).collect();
    for (at, section) in list.iter().enumerate() {
        let text = |key: &str| section.get(key).and_then(Value::as_str).unwrap_or_default();
        let (name, about) = (text("name"), text("about"));
        let others = section
            .as_object()
            .is_none_or(|table| table.keys().any(|key| !matches!(key.as_str(), "name" | "about")));
        let place = format!("sections.{at}");
        if others {
            errors.push(parameter_error(
                &place,
                "a section has a 'name' and an 'about' and nothing else",
                FORM,
            ));
        } else if !is_name(name) {
            errors.push(parameter_error(
                &place,
                "the name of a section is written in capitals, digits and '_', at most 40 of them",
                FORM,
            ));
        } else if seen.contains(&name) {
            errors.push(parameter_error(
                &place,
                "there is a section of this name already",
                "choose another name",
            ));
        } else if about.trim().is_empty() || about.len() > 500 || about.chars().any(char::is_control) {
            errors.push(parameter_error(
                &place,
                "'about' tells the model in one line of up to 500 characters what to write",
                FORM,
            ));
        }
        seen.push(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(value: Value) -> Params {
        value.as_object().cloned().expect("an object")
    }

    #[test]
    fn every_wrong_parameter_is_told_with_a_hint() {
        let params = object(serde_json::json!({
            "model": 1, "docs": "yes", "structures": 1, "evidence": 0, "max_patches": -1, "max_diff": 2, "max_tokens": 3, "carry": "always",
            "template": "../x", "never_send": "a", "declarations_only": 1, "test_bodies": 1, "sections": [{"name": "role", "about": "x"}, {"name": "ROLE", "about": "x"},
            {"name": "X", "about": ""}, {"name": "Y", "about": "y", "more": 1}], "sectoins": 1
        }));
        let errors = check_parameters(&params).expect_err("all of it is wrong");
        assert_eq!(errors.len(), 17, "{errors:#?}");
        assert!(errors.iter().all(|error| error.hint.is_some()));
        assert!(errors.iter().any(|error| error.param == "sections.3") && errors.iter().any(|error| error.unknown));
        let good = serde_json::json!({"model": "team", "sections": [{"name": "THREADING", "about": "threads"}], "max_diff": 0.25, "template": "p/s.md"});
        assert_eq!(check_parameters(&object(good)), Ok(()));
        for secret in [
            serde_json::json!({"template": ".env"}),
            serde_json::json!({"template": "own/p.md", "never_send": ["own/**"]}),
        ] {
            let errors = check_parameters(&object(secret)).expect_err("a template is sent");
            assert!(errors.len() == 1 && errors[0].message.contains("never sent"), "{errors:?}");
        }
    }

    #[test]
    fn parameters_of_language_models_are_not_in_the_key_of_the_built_in_one() {
        let written =
            object(serde_json::json!({"model": "extractive", "max_tokens": 90, "sections": [], "max_diff": 0.1, "template": "a.md"}));
        let bound = bind_semantic_params(&written, &BTreeMap::new());
        let expected = serde_json::json!({"asks": false, "docs": true, "model": "extractive", "structures": false, "template": null});
        assert_eq!((Value::Object(bound.params), bound.settings.len()), (expected, 0));
        let team = object(serde_json::json!({"api": "openai", "name": "m", "base_url": "http://x"}));
        let written = object(serde_json::json!({"model": "team", "max_tokens": 90, "max_diff": 0.1}));
        let bound = bind_semantic_params(&written, &BTreeMap::from([("team".to_owned(), team)]));
        let expected = serde_json::json!({"asks": true, "docs": false, "max_tokens": 90, "model": {"api": "openai", "name": "m"}, "structures": true, "template": null});
        assert_eq!(Value::Object(bound.params.clone()), expected);
        let parameters = SummaryParameters::from_params(&bound.params, &bound.settings);
        assert_eq!(
            (
                parameters.max_diff,
                parameters.max_patches,
                parameters.model_name(),
                parameters.answer_tokens(3)
            ),
            (0.1, 32, "m", 270)
        );
    }
}
