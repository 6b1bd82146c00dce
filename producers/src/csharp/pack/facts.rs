//! `csharp/pack-facts`: what `index.json` says of a pack (seed 000 §3.1): its name, its tokens and its types.
//!
//! Made from outlines alone, so that looking at the index never asks for a summary: of a pack with summaries the estimate counts the
//! outlines, and its text tells the whole. Which types stay within a budget does not depend on summaries.

use super::budget::tokens;
use super::document::parts;
use super::select::read_selection;
use crate::csharp::structure::check_flags;
use crate::csharp::types::json;
use engine::seams::producer::{Failure, Inputs, Output, ParamError, Params, Producer, ProducerId, Sees};
use serde::{Deserialize, Serialize};

/// An entry of `packs` in `index.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PackFacts {
    /// Its name.
    pub name: String,
    /// About so many tokens are its outlines.
    pub token_estimate: u64,
    /// Identifiers of its types, in its order.
    pub type_ids: Vec<String>,
}

/// The producer `csharp/pack-facts`.
#[derive(Debug)]
pub struct PackFactsOf;

impl Producer for PackFactsOf {
    fn id(&self) -> ProducerId {
        ProducerId::new("csharp/pack-facts", 1)
    }

    fn sees(&self, _: &Params) -> Sees {
        Sees { vars: true, label: false }
    }

    fn check(&self, params: &Params) -> Result<(), Vec<ParamError>> {
        check_flags(params, &[])
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        let selection = read_selection(&inputs.one("selection")?.bytes)?;
        let parts = parts(inputs, &selection)?;
        let cut = parts.cut(&selection);
        let kept = selection.types.iter().filter(|key| !cut.types.contains(&key.as_str()));
        let facts = PackFacts {
            name: inputs.var("pack").unwrap_or_default().to_owned(),
            token_estimate: tokens(cut.bytes),
            type_ids: kept.map(|key| parts.outlines[key].0.id.clone()).collect(),
        };
        Ok(Output::new(json(&facts)))
    }
}
