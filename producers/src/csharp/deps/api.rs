//! `csharp/api-deps`: what the declarations of a type depend on. Bodies are not looked at, so that outlines need no more than names.

use super::{OWN, Subject, named};
use crate::csharp::structure::check_flags;
use crate::csharp::types::json;
use engine::seams::producer::{Failure, Inputs, Output, ParamError, Params, Producer, ProducerId, Sees};

/// The producer `csharp/api-deps`. Its output is read like that of [`super::Deps`].
#[derive(Debug)]
pub struct ApiDeps;

impl Producer for ApiDeps {
    fn id(&self) -> ProducerId {
        ProducerId::new("csharp/api-deps", 3)
    }

    fn sees(&self, _: &Params) -> Sees {
        OWN
    }

    fn check(&self, params: &Params) -> Result<(), Vec<ParamError>> {
        check_flags(params, &[])
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        let Subject { own, mentions, index } = Subject::read(inputs)?;
        Ok(Output::new(json(&named(own, &mentions, &index).sorted())))
    }
}
