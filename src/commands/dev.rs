//! `cortex dev`: measurements for developers of cortex. Hidden, and may change at any time.

use crate::cli::DevCommand;
use crate::command_context::CommandContext;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use methods::code::Code;
use methods::commands::facts;
use methods::failed::{Failed, Outcome, outcome_of_write};
use std::collections::BTreeMap;
use std::io::Write;

/// Runs `cortex dev`.
pub fn run_dev(context: &CommandContext, command: &DevCommand) -> Outcome {
    match command {
        DevCommand::Facts => context.print_answer(facts::run_facts(context)),
        DevCommand::Errors => outcome_of_write(write!(std::io::stdout().lock(), "{}", methods::render::codes::codes_page())),
        DevCommand::Methods => outcome_of_write(write!(std::io::stdout().lock(), "{}", methods::catalog::reference::methods_page())),
        DevCommand::Commands => outcome_of_write(write!(std::io::stdout().lock(), "{}", super::reference::reference_page())),
        DevCommand::Sandbox => {
            let folder = tempfile::tempdir().map_err(|error| {
                let why = Diagnostic::error(ErrorCode::E_TMPDIR, format!("cannot create a folder for temporary files: {error}"));
                Failed::new(Code::Io, why.hint("set TMPDIR to a writable folder"))
            })?;
            let levels = sandbox::supported_levels(folder.path());
            let refused: BTreeMap<&str, &str> = levels.refused.iter().map(|(level, why)| (level.name(), why.as_str())).collect();
            let found = serde_json::json!({"best": levels.best, "refused": refused});
            outcome_of_write(writeln!(std::io::stdout().lock(), "{found}"))
        }
        DevCommand::ParseOnly { folder, jobs } => {
            let parsed = workbench::parse_bench::measure(folder, usize::from(*jobs))?;
            outcome_of_write(writeln!(std::io::stdout().lock(), "{}", serde_json::json!(parsed)))
        }
    }
}
