//! `check`: validates `cortex.toml`. Builds nothing.

use super::{Effect, Method};
use crate::desk::Desk;
use crate::failed::Failed;
use crate::render::format_count;
use engine::manifest::SCHEMA;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Check `cortex.toml` and report all mistakes. Builds nothing.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Check {
    /// Print the JSON Schema of `cortex.toml` instead, for an editor.
    #[arg(long)]
    #[serde(default)]
    schema: bool,
}

/// A valid manifest in numbers, or the JSON Schema of manifests.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ManifestCheck {
    /// A valid manifest in numbers, with those of its rulesets.
    #[serde(rename_all = "camelCase")]
    Valid {
        /// Number of rules.
        rules: usize,
        /// Number of producers.
        producers: usize,
        /// Number of source sets.
        source_sets: usize,
        /// Number of warnings, which are reported like errors.
        warnings: usize,
    },
    /// The JSON Schema.
    Schema(Value),
}

impl Method for Check {
    const NAME: &'static str = "check";
    const EFFECT: Effect = Effect::Reads;
    type Answer = ManifestCheck;

    fn answer(&self, desk: &mut Desk<'_>) -> Result<ManifestCheck, Failed> {
        if self.schema {
            return serde_json::from_str(SCHEMA)
                .map(ManifestCheck::Schema)
                .map_err(|error| Failed::bug(&error));
        }
        let workspace = desk.context.workspace(Self::NAME)?;
        let manifest = workspace.manifest()?;
        desk.context.say(workspace.warnings());
        Ok(ManifestCheck::Valid {
            rules: manifest.rules.len(),
            producers: manifest.producers.len(),
            source_sets: manifest.sources.len(),
            warnings: workspace.warnings().len(),
        })
    }

    fn text(answer: &ManifestCheck) -> String {
        match answer {
            ManifestCheck::Valid {
                rules,
                producers,
                source_sets,
                ..
            } => {
                let [rules, producers, sets] = [rules, producers, source_sets].map(|number| format_count(*number as u64));
                format!("cortex.toml is valid: {rules} rules, {producers} producers, {sets} source sets, including those of rulesets\n")
            }
            // The schema as its authors wrote it, with their order of keys.
            ManifestCheck::Schema(_) => SCHEMA.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn numbers_and_the_schema_are_told_apart() {
        let text = |answer: Value| Check::text(&ManifestCheck::deserialize(answer).expect("an answer"));
        let valid = text(json!({"rules": 1, "producers": 2, "sourceSets": 3, "warnings": 0}));
        assert!(
            valid.starts_with("cortex.toml is valid: 1 rules, 2 producers, 3 source sets"),
            "{valid}"
        );
        assert_eq!(text(serde_json::from_str(SCHEMA).expect("JSON")), SCHEMA);
    }
}
