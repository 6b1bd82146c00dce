//! `csharp/api-deps`: what the declarations of a type depend on. Bodies are not looked at, so that outlines need no more than names.

use super::index::NameIndex;
use super::named;
use crate::csharp::mentions::Mentions;
use crate::csharp::structure::check_flags;
use crate::csharp::types::json;
use engine::seams::producer::{Failure, Inputs, Output, ParamError, Params, Producer, ProducerId, Sees};

/// The producer `csharp/api-deps`. Its output is read like that of [`super::Deps`].
#[derive(Debug)]
pub struct ApiDeps;

impl Producer for ApiDeps {
    fn id(&self) -> ProducerId {
        ProducerId::new("csharp/api-deps", 2)
    }

    fn sees(&self, _: &Params) -> Sees {
        Sees { vars: true, label: false }
    }

    fn check(&self, params: &Params) -> Result<(), Vec<ParamError>> {
        check_flags(params, &[])
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        let own = inputs
            .var("type")
            .ok_or_else(|| Failure::permanent("the rule binds no variable 'type'"))?;
        let mentions: Mentions = serde_json::from_slice(&inputs.one("mentions")?.bytes)
            .map_err(|error| Failure::permanent(format!("the mentions of {own} cannot be read: {error}")))?;
        let index = NameIndex::read(&inputs.one("symbols")?.bytes)?;
        Ok(Output::new(json(&named(own, &mentions, &index).sorted())))
    }
}
