//! `duplicates`: nearly identical types.

use super::paging::default_number;
use super::symbols::lines_of_notes;
use super::vectors::vectors;
use super::{Effect, Method};
use crate::code::Code;
use crate::desk::Desk;
use crate::failed::Failed;
use crate::render::printable;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use workbench::similar_types::{Vectors, to_two_digits};
use workbench::symbols::answer_state::AnswerState;

/// List pairs of types with nearly equal declarations, documentation and code, most similar first. Needs the ruleset embeddings.
///
/// Similarity is the cosine of their vectors, without the part that all types share; 1 means equal. Generated code is left out. If several types are
/// equal, each is listed with the first.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Duplicates {
    /// Minimum similarity, from 0.5 to 1.
    #[arg(long, value_name = "LIKENESS", default_value_t = USUAL_LIKENESS)]
    #[serde(default = "default_likeness")]
    pub least: f32,
    /// Limit of pairs; all are counted.
    #[arg(long, value_name = "N", default_value_t = USUAL)]
    #[serde(default = "default_number::<USUAL>")]
    pub limit: usize,
    /// Include generated code.
    #[arg(long)]
    #[serde(default)]
    pub generated: bool,
}

const USUAL_LIKENESS: f32 = 0.85;
const USUAL: usize = 20;

fn default_likeness() -> f32 {
    USUAL_LIKENESS
}

/// The pairs.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct DuplicatesAnswer {
    pairs: Vec<Alike>,
    /// Number of pairs.
    total: usize,
    /// Number of compared types.
    types: usize,
    state: AnswerState,
}

/// Two types.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Alike {
    /// Their similarity, to two digits.
    likeness: f64,
    /// Their paths, by name.
    types: [String; 2],
}

impl Method for Duplicates {
    const NAME: &'static str = "duplicates";
    const EFFECT: Effect = Effect::Looks;
    const WITHIN: bool = true;
    type Answer = DuplicatesAnswer;

    fn answer(&self, desk: &mut Desk<'_>) -> Result<DuplicatesAnswer, Failed> {
        if !(0.5..=1.0).contains(&self.least) {
            let why = Diagnostic::error(ErrorCode::E_PARAM, "'least' is a likeness from 0.5 to 1").found(self.least.to_string());
            return Err(Failed::new(Code::Usage, why.hint("write --least 0.9")));
        }
        let table = vectors(desk)?;
        let names = desk.workspace_names()?;
        let is_meant = |key: &str| names.symbols.find(key).is_some() && (self.generated || !names.symbols.is_generated(key));
        let vectors = Vectors::from_table(&table.bytes, is_meant).unwrap_or_else(Vectors::none);
        let pairs = vectors.pairs(self.least);
        let shown = pairs.iter().take(self.limit).map(|pair| Alike {
            likeness: to_two_digits(pair.likeness),
            types: [pair.one.to_owned(), pair.other.to_owned()],
        });
        let shown: Vec<Alike> = shown.collect();
        let state = table
            .state_of_vectors()
            .of_workspace(&names.flaws)
            .lacking(&vectors.describe_uncompared())
            .page(0, shown.len(), pairs.len(), "raise `limit`");
        Ok(DuplicatesAnswer {
            total: pairs.len(),
            types: vectors.len(),
            pairs: shown,
            state,
        })
    }

    fn text(answer: &DuplicatesAnswer) -> String {
        let mut text = String::new();
        for pair in &answer.pairs {
            text.push_str(&format!("{:.2}  {}  {}\n", pair.likeness, pair.types[0], pair.types[1]));
        }
        if answer.total == 0 {
            text.push_str(&format!("none of {} types is so like another: lower --least\n", answer.types));
        }
        printable(&format!("{text}{}", lines_of_notes(&answer.state)))
    }
}
