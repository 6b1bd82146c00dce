//! `cortex dev`: measurements for those who work on cortex. Hidden, and without promise.

use super::show;
use crate::cli::DevCommand;
use crate::context::Outcome;
use std::io::Write;

/// Runs it.
pub fn run(command: &DevCommand) -> Outcome {
    let DevCommand::ParseOnly { folder, jobs } = command;
    let parsed = workbench::parsing::measure(folder, usize::from(*jobs))?;
    show::written(writeln!(std::io::stdout().lock(), "{}", serde_json::json!(parsed)))
}
