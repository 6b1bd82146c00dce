//! `semantic`: role, life cycle, edge cases, limitations and recommendations of a type, in the seed's format (000 §3.5).
//!
//! There are two ways. The built-in model [`extractive`] draws claims from the code itself. A language model is asked by [`model_answer`]: this
//! module decides what it is shown, reads its answer, and patches an earlier answer after changes of the code; [`Ask`] reaches the model.

mod answer;
mod answer_plan;
mod author;
mod body_facts;
mod carried_answers;
mod changed_texts;
mod churn_guard;
mod code_lines;
mod context_sizes;
mod conversation;
mod corrections;
mod declared_code;
mod document;
mod dry_plan;
mod evidence;
mod extractive;
mod extractive_sections;
pub(crate) mod fence;
mod foreign_text;
mod group_answers;
#[cfg(test)]
mod knowledge_tests;
mod lifecycle;
mod member_relations;
mod model_answer;
mod parameters;
mod prompt;
mod prompt_slots;
mod prose;
mod renames;
mod replaced_words;
mod secrets;
mod shown_differences;
mod shown_texts;
mod shrink;
mod spelling;
mod splice;
mod split_off;
mod subject;
mod template;
mod test_methods;
mod tokens;
mod unspoken_changes;
mod used_types;

pub use answer::LONGEST_SECTION;
pub(crate) use secrets::redact;
pub use secrets::{Withheld, withholding_glob};

use engine::seams::paid::{FindResult, Plan, Previous};
use engine::seams::producer::{Bound, Failure, Grouping, Inputs, Output, ParamError, Params, Pool, Producer, ProducerId, Registry, Sees};
use llm::Ask;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Registers the producers of this module; `ask` answers their questions to language models.
pub fn register_semantic(registry: &mut Registry, ask: Arc<dyn Ask>) {
    registry.add(Semantic::new(ask));
    registry.add(Role);
}

/// The producer `semantic`.
pub struct Semantic {
    ask: Arc<dyn Ask>,
    rooms: context_sizes::LearntContextSizes,
}

impl Semantic {
    /// Creates the producer; `ask` answers its questions.
    pub fn new(ask: Arc<dyn Ask>) -> Self {
        Self {
            ask,
            rooms: context_sizes::LearntContextSizes::default(),
        }
    }
}

impl Producer for Semantic {
    fn id(&self) -> ProducerId {
        ProducerId::new("semantic", 9)
    }

    fn pool(&self, params: &Params) -> Pool {
        if parameters::asks_model(params) { Pool::Paid } else { Pool::Cpu }
    }

    fn bind(&self, params: &Params, models: &BTreeMap<String, Params>) -> Bound {
        parameters::bind_semantic_params(params, models)
    }

    fn sees(&self, params: &Params) -> Sees {
        // The summary of a member names it.
        Sees {
            vars: parameters::asks_model(params),
            label: false,
        }
    }

    fn check(&self, params: &Params) -> Result<(), Vec<ParamError>> {
        parameters::check_parameters(params)
    }

    fn plan(&self, inputs: &Inputs<'_>) -> Result<Plan, Failure> {
        dry_plan::plan_question(inputs, &*self.ask, &self.rooms)
    }

    fn grouping(&self, params: &Params, settings: &Params) -> Grouping {
        match parameters::max_joint_questions(settings) {
            _ if !parameters::asks_model(params) => Grouping::Never,
            None => Grouping::AfterEdits,
            Some(1) => Grouping::Never,
            Some(_) => Grouping::Always,
        }
    }

    fn assumes(&self, params: &Params, settings: &Params, role: &str) -> bool {
        // Most patches keep the ROLE of their type.
        let model = params.get("model").and_then(serde_json::Value::as_object);
        role == "roles" && model.is_some_and(|model| self.ask.joins(model, settings))
    }

    fn builds_on_previous(&self, params: &Params) -> bool {
        parameters::asks_model(params)
    }

    fn former_labels(&self, inputs: &Inputs<'_>) -> Vec<String> {
        subject::former_labels(inputs)
    }

    fn assemble_previous(&self, inputs: &Inputs<'_>, newest: &FindResult<'_>) -> Option<Previous> {
        group_answers::assemble_previous(inputs, newest).or_else(|| split_off::assemble_previous(inputs, newest))
    }

    fn flush(&self) -> Result<(), Failure> {
        self.ask.flush()
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        if parameters::asks_model(inputs.params) {
            model_answer::produce(inputs, &*self.ask, &self.rooms)
        } else {
            extractive::produce(inputs)
        }
    }
}

/// The producer `semantic/role`: the text of the ROLE section.
#[derive(Debug)]
pub struct Role;

impl Producer for Role {
    fn id(&self) -> ProducerId {
        ProducerId::new("semantic/role", 1)
    }

    fn check(&self, params: &Params) -> Result<(), Vec<ParamError>> {
        csharp::flags::check_flags(params, &[])
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        let semantic = &inputs.single("semantic")?.bytes;
        let text = std::str::from_utf8(semantic).map_err(|_| Failure::permanent("input 'semantic' is not UTF-8 text"))?;
        let role = text
            .split_once("\nROLE:")
            .map(|(_, rest)| rest.split("\nLIFECYCLE:").next().unwrap_or(rest).trim());
        let role = role.ok_or_else(|| Failure::permanent("input 'semantic' has no ROLE section"))?;
        Ok(Output::new(format!("{role}\n")))
    }
}
