//! `rules list`, `rules show`: the built-in rulesets.

use super::{Effect, Method};
use crate::code::Code;
use crate::desk::Desk;
use crate::failed::Failed;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use engine::values::suggest::nearest;
use producers::rulesets::{NAMES, text};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// List the built-in rulesets.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct List {}

/// Print a ruleset: a manifest like any other.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Show {
    /// Name of the ruleset.
    name: String,
}

/// A ruleset.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Ruleset {
    /// Its name.
    name: String,
    /// Its manifest.
    text: String,
}

impl Method for List {
    const NAME: &'static str = "rules list";
    const EFFECT: Effect = Effect::Looks;
    type Answer = Vec<String>;

    fn answer(&self, _: &mut Desk<'_>) -> Result<Vec<String>, Failed> {
        Ok(NAMES.iter().map(|name| (*name).to_owned()).collect())
    }

    fn text(names: &Vec<String>) -> String {
        names.join("\n") + "\n"
    }
}

impl Method for Show {
    const NAME: &'static str = "rules show";
    const EFFECT: Effect = Effect::Looks;
    type Answer = Ruleset;

    fn answer(&self, _: &mut Desk<'_>) -> Result<Ruleset, Failed> {
        let unknown = || {
            let near = nearest(&self.name, NAMES.iter().copied(), 1);
            let hint = near.first().map_or_else(
                || format!("there are: {}", NAMES.join(", ")),
                |near| format!("did you mean {near}?"),
            );
            let why = Diagnostic::error(ErrorCode::E_NO_RULESET, "there is no such built-in ruleset");
            Failed::new(Code::Usage, why.found(&self.name).hint(hint))
        };
        Ok(Ruleset {
            text: text(&self.name).ok_or_else(unknown)?.to_owned(),
            name: self.name.clone(),
        })
    }

    fn text(answer: &Ruleset) -> String {
        answer.text.clone()
    }
}
