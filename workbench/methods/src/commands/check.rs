//! `cortex check`: validates `cortex.toml`. Builds nothing.

use super::CommandAnswer;
use crate::desk::request_context::RequestContext;
use crate::failed::Failed;
use crate::render::format_count;
use clap::Args;
use engine::manifest::SCHEMA;

/// Check `cortex.toml` and report all mistakes. Builds nothing.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// Print the JSON Schema of `cortex.toml` instead, for an editor.
    #[arg(long)]
    pub schema: bool,
}

/// Runs `cortex check`.
///
/// # Errors
/// When the manifest is wrong.
pub fn run_check(context: &RequestContext, args: &CheckArgs) -> Result<CommandAnswer, Failed> {
    if args.schema {
        return Ok(CommandAnswer::of_bytes(SCHEMA));
    }
    let workspace = context.workspace("check")?;
    let manifest = workspace.manifest()?;
    let warnings = workspace.warnings();
    context.say(warnings);
    let counts = [
        ("rules", manifest.rules.len()),
        ("producers", manifest.producers.len()),
        ("sourceSets", manifest.sources.len()),
        ("warnings", warnings.len()),
    ];
    let document = serde_json::json!(counts.into_iter().collect::<std::collections::BTreeMap<_, _>>());
    let [rules, producers, sets, _] = counts.map(|(_, number)| format_count(number as u64));
    let text = format!("cortex.toml is valid: {rules} rules, {producers} producers, {sets} source sets, including those of rulesets");
    Ok(CommandAnswer::of_line(&text, &document))
}
