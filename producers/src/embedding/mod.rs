//! `embedding` and `embedding/vectors` (seed 001: the node kinds Embedding and Index): a vector for each type and member, and the table of all.
//!
//! Texts about the same subject have vectors of similar direction. The built-in model, [`subwords`], needs no network and no training; a
//! `[model.NAME]` with `api = "openai"` is asked at `/embeddings`, one with `api = "command"` gets the text and prints the numbers.

mod described;
pub mod subwords;
pub mod vector;

use crate::semantic::{redact, withholding_glob};
use csharp::types::TypeRow;
use described::Described;
use engine::seams::fold::Fold;
use engine::seams::paid::{Notes, Plan, Rejected, Spent};
use engine::seams::producer::{
    Bound, Failure, Input, Inputs, Output, ParamError, ParamErrors, Params, Pool, Producer, ProducerId, Registry,
};
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use engine::values::table::{Table, write_table};
use llm::{About, Ask, Question, Role, Turn, TurnPart, Wants, model};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;
use vector::Vector;

/// The name of the producer of vectors.
pub const NAME: &str = "embedding";
/// The role of a search text.
pub const QUERY: &str = "query";
/// Default dimensions of a vector of the built-in model.
pub const DIMENSIONS: u64 = 512;
/// Least and most dimensions of a vector of the built-in model.
const BOUNDS: std::ops::RangeInclusive<u64> = 16..=4_096;
/// Default limit of tokens of a text that a model is sent.
const MOST_TOKENS: u64 = 2_000;
const KNOWN: [&str; 4] = ["model", "dimensions", "most_tokens", "never_send"];

pub(crate) fn register_embedding(registry: &mut Registry, ask: Arc<dyn Ask>) {
    registry.add(Embedding { ask });
    registry.add(Vectors);
}

/// `embedding`: the vector of one text.
///
/// Roles: `structure`, `xmldoc`, `impl` of a type, or `code` of a member, or [`QUERY`]; `type`, the rows of its types, names the files. Parameters:
/// `model`; `dimensions` of the built-in model; for others `most_tokens` of a text and `never_send`, globs of files that no model sees.
pub struct Embedding {
    pub ask: Arc<dyn Ask>,
}

impl Producer for Embedding {
    fn id(&self) -> ProducerId {
        ProducerId::new(NAME, 1)
    }

    fn pool(&self, params: &Params) -> Pool {
        if model::asks_model(params) { Pool::Paid } else { Pool::Cpu }
    }

    fn bind(&self, params: &Params, models: &BTreeMap<String, Params>) -> Bound {
        model::bind_model(params, models)
    }

    fn check(&self, params: &Params) -> Result<(), Vec<ParamError>> {
        check_parameters(params)
    }

    fn plan(&self, inputs: &Inputs<'_>) -> Result<Plan, Failure> {
        let Some(model) = chosen_model(inputs) else {
            return Ok(Plan::default());
        };
        let mut cost = Spent {
            model: model::model_name(model).to_owned(),
            micros: self.ask.price(inputs.settings, 0, 0, 0),
            ..Spent::default()
        };
        if is_withheld(inputs)? {
            return Ok(Plan {
                mode: "withheld".to_owned(),
                why: "it is in a file that no model sees".to_owned(),
                cost,
                ..Plan::default()
            });
        }
        let text = self.text_sent(inputs, model, &Described::from_inputs(inputs)?);
        let count = self.ask.count(model, &text);
        (cost.calls, cost.input_tokens) = (1, count.tokens);
        cost.micros = self.ask.price(inputs.settings, count.tokens, 0, 0);
        cost.estimated = !count.exact || inputs.unknown > 0;
        Ok(Plan {
            mode: "full".to_owned(),
            why: "there is no vector of this text yet".to_owned(),
            prompt: format!("{}\n", text.trim_end()),
            cost,
            ..Plan::default()
        })
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        let described = Described::from_inputs(inputs)?;
        match chosen_model(inputs) {
            Some(model) => self.by_model(inputs, model, &described),
            None => {
                let dimensions = inputs.params.get("dimensions").and_then(Value::as_u64).unwrap_or(DIMENSIONS);
                let numbers = subwords::embed(&described.weighted(), usize::try_from(dimensions).unwrap_or(usize::MAX));
                Ok(Output::new(Vector::from_numbers(&numbers).to_text()))
            }
        }
    }
}

impl Embedding {
    fn text_sent(&self, inputs: &Inputs<'_>, model: &Params, described: &Described) -> String {
        let most = inputs.params.get("most_tokens").and_then(Value::as_u64).unwrap_or(MOST_TOKENS);
        truncate_to_tokens(&redact(&described.text()).0, most, |text| self.ask.count(model, text).tokens).to_owned()
    }

    fn by_model(&self, inputs: &Inputs<'_>, model: &Params, described: &Described) -> Result<Output, Failure> {
        if is_withheld(inputs)? {
            return Ok(Output::new(Vector::from_numbers(&[]).to_text()));
        }
        let text = self.text_sent(inputs, model, described);
        let turns = [Turn {
            role: Role::User,
            parts: vec![TurnPart { text, stable: false }],
        }];
        let question = Question {
            model,
            settings: inputs.settings,
            key: inputs.key,
            attempt: 0,
            turns: &turns,
            max_tokens: 0,
            wants: Wants::Vector,
            about: About::default(),
        };
        let answer = self.ask.ask(&question, inputs.cancel)?;
        let numbers: Option<Vec<f32>> = serde_json::from_str(answer.text.trim()).ok();
        let Some(numbers) = numbers.filter(|numbers| !numbers.is_empty() && numbers.iter().all(|number| number.is_finite())) else {
            let why = Diagnostic::error(ErrorCode::E_ANSWER, "the model's answer is not a list of numbers");
            return Err(Failure::Rejected(Box::new(Rejected {
                why: why.hint("name a model for embeddings; a program prints [0.1, -0.2, …]"),
                raw: answer.text.into_bytes(),
                spent: Some(answer.spent),
            })));
        };
        Ok(Output {
            diagnostics: answer.remarks,
            spent: Some(answer.spent),
            notes: Notes::from([("mode".to_owned(), "full".to_owned())]),
            ..Output::new(Vector::from_numbers(&numbers).to_text())
        })
    }
}

/// Whether the type is in a file that no model sees, as in [`crate::semantic`]. Its vector has no numbers, and nothing is near it.
fn is_withheld(inputs: &Inputs<'_>) -> Result<bool, Failure> {
    let globs: Vec<String> = inputs.params.get("never_send").map_or_else(Vec::new, |globs| {
        let globs = globs.as_array().into_iter().flatten().filter_map(Value::as_str);
        globs.map(str::to_owned).collect()
    });
    for input in inputs.all("type") {
        let table = Table::open(&input.bytes).ok_or_else(|| Failure::permanent("the rows of types cannot be read"))?;
        for (_, row) in table.rows() {
            let row: TypeRow = serde_json::from_slice(row).map_err(|error| Failure::permanent(error.to_string()))?;
            if row.files.iter().any(|file| withholding_glob(file, &globs).is_some()) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// Truncates a text to at most so many tokens.
fn truncate_to_tokens(text: &str, most: u64, count: impl Fn(&str) -> u64) -> &str {
    let mut kept = text;
    loop {
        let tokens = count(kept);
        if tokens <= most {
            return kept;
        }
        let share = most as f64 / tokens as f64 * 0.98;
        kept = &kept[..kept.floor_char_boundary((kept.len() as f64 * share) as usize)];
    }
}

/// Returns the model to ask, unless it is the built-in one.
fn chosen_model<'p>(inputs: &Inputs<'p>) -> Option<&'p Params> {
    let model = inputs.params.get("model").and_then(Value::as_object);
    model.filter(|_| model::asks_model(inputs.params))
}

fn check_parameters(params: &Params) -> Result<(), Vec<ParamError>> {
    let mut errors = ParamErrors::default();
    errors.add_unknown(params, &KNOWN);
    if params
        .get("dimensions")
        .is_some_and(|value| value.as_u64().is_none_or(|number| !BOUNDS.contains(&number)))
    {
        errors.add(
            "dimensions",
            "'dimensions' is a whole number from 16 to 4096",
            "write dimensions = 512",
        );
    }
    if params
        .get("most_tokens")
        .is_some_and(|value| value.as_u64().is_none_or(|number| number == 0))
    {
        errors.add(
            "most_tokens",
            "'most_tokens' is a whole number from 1 on",
            "write most_tokens = 2000",
        );
    }
    if params.contains_key("dimensions") && params.contains_key("model") {
        errors.add(
            "dimensions",
            "'dimensions' is of the built-in model only",
            "remove it, or write params = { dimensions = … } of the [model.NAME], if its server knows them",
        );
    }
    let is_globs = |value: &Value| value.as_array().is_some_and(|globs| globs.iter().all(Value::is_string));
    if params.get("never_send").is_some_and(|value| !is_globs(value)) {
        errors.add(
            "never_send",
            "'never_send' is a list of globs",
            "write never_send = [\"src/Licensing/**\"]",
        );
    }
    if params.get("model").is_some_and(|value| !value.is_string()) {
        errors.add(
            "model",
            "'model' is the name of a model",
            "write model = \"NAME\" of a [model.NAME], or leave it out",
        );
    }
    errors.into_result()
}

/// `embedding/vectors`: the vectors of all types in one table, type → the bytes of its [`Vector`]. It is a fold: an edit reads one vector.
struct Vectors;

impl Producer for Vectors {
    fn id(&self) -> ProducerId {
        ProducerId::new("embedding/vectors", 1)
    }

    fn fold(&self) -> Option<&dyn Fold> {
        Some(self)
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        let rows: BTreeMap<String, Vec<u8>> = inputs.all("vectors").iter().map(embedding_row).collect::<Result<_, _>>()?;
        Ok(Output::new(write_table(&rows)))
    }
}

impl Fold for Vectors {
    fn role(&self) -> &'static str {
        "vectors"
    }

    fn rows_of_input(&self, input: &Input) -> Result<BTreeMap<String, Vec<u8>>, Failure> {
        Ok(BTreeMap::from([embedding_row(input)?]))
    }
}

fn embedding_row(input: &Input) -> Result<(String, Vec<u8>), Failure> {
    let vector =
        Vector::from_text(&input.bytes).ok_or_else(|| Failure::permanent(format!("the vector of {} cannot be read", input.item)))?;
    Ok((input.item.to_string(), vector.to_bytes()))
}
