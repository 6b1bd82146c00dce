//! `cortex rules`: the built-in rulesets.

use super::CommandAnswer;
use crate::code::Code;
use crate::failed::Failed;
use clap::{Args, Subcommand};
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use engine::values::suggest::nearest;
use producers::rulesets::{NAMES, text};
use serde_json::json;

/// List or print the built-in rulesets.
#[derive(Debug, Args)]
pub struct RulesArgs {
    /// The command; without one, list them.
    #[command(subcommand)]
    pub command: Option<RulesCommand>,
}

/// Commands about rulesets.
#[derive(Debug, Subcommand)]
pub enum RulesCommand {
    /// List the built-in rulesets.
    List,
    /// Print a ruleset: a manifest like any other.
    Show {
        /// Name of the ruleset.
        name: String,
    },
}

/// Runs `cortex rules`.
///
/// # Errors
/// When there is no such ruleset.
pub fn run_rules(args: &RulesArgs) -> Result<CommandAnswer, Failed> {
    match &args.command {
        None | Some(RulesCommand::List) => Ok(CommandAnswer::of_line(&NAMES.join("\n"), &json!(NAMES))),
        Some(RulesCommand::Show { name }) => match text(name) {
            Some(text) => Ok(CommandAnswer {
                document: format!("{}\n", json!({"name": name, "text": text})).into(),
                ..CommandAnswer::of_bytes(text)
            }),
            None => {
                let near = nearest(name, NAMES.iter().copied(), 1);
                let hint = near.first().map_or_else(
                    || format!("there are: {}", NAMES.join(", ")),
                    |near| format!("did you mean {near}?"),
                );
                Err(Failed::new(
                    Code::Usage,
                    Diagnostic::error(ErrorCode::E_NO_RULESET, "there is no such built-in ruleset")
                        .found(name)
                        .hint(hint),
                ))
            }
        },
    }
}
