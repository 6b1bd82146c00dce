//! `cortex rules`: the built-in rulesets.

use super::show;
use crate::cli::{RulesArgs, RulesCommand};
use crate::command_context::CommandContext;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use engine::values::suggest::nearest;
use methods::code::Code;
use methods::failed::{Failed, Outcome};
use producers::rulesets::{NAMES, text};
use std::io::Write;

/// Runs `cortex rules`.
pub fn run_rules(context: &CommandContext, args: &RulesArgs) -> Outcome {
    let mut out = context.stdout();
    match &args.command {
        None | Some(RulesCommand::List) if context.prints_json() => show::outcome_of_write(writeln!(out, "{}", serde_json::json!(NAMES))),
        None | Some(RulesCommand::List) => show::outcome_of_write(writeln!(out, "{}", NAMES.join("\n"))),
        Some(RulesCommand::Show { name }) => match text(name) {
            Some(text) if context.prints_json() => {
                show::outcome_of_write(writeln!(out, "{}", serde_json::json!({"name": name, "text": text})))
            }
            Some(text) => show::outcome_of_write(write!(out, "{text}")),
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
