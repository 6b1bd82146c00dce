//! `cortex check`: validates `cortex.toml`. Builds nothing.

use super::show;
use crate::cli::CheckArgs;
use crate::command_context::CommandContext;
use engine::manifest::SCHEMA;
use methods::failed::Outcome;
use methods::render::format_count;
use std::io::Write as _;

/// Runs `cortex check`.
pub fn run_check(context: &CommandContext, args: &CheckArgs) -> Outcome {
    if args.schema {
        return show::outcome_of_write(write!(context.stdout(), "{SCHEMA}"));
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
    let text = match context.prints_json() {
        true => serde_json::json!(counts.into_iter().collect::<std::collections::BTreeMap<_, _>>()).to_string(),
        false => {
            let [rules, producers, sets, _] = counts.map(|(_, number)| format_count(number as u64));
            format!("cortex.toml is valid: {rules} rules, {producers} producers, {sets} source sets, including those of rulesets")
        }
    };
    show::outcome_of_write(writeln!(context.stdout(), "{text}"))
}
