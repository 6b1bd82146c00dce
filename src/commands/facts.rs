//! `cortex dev facts`: builds the inputs of the facts and prints the facts, to compare them with the compiler's.

use super::show;
use crate::command_context::CommandContext;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use engine::values::label::Label;
use methods::code::Code;
use methods::desk::outputs::build_outputs;
use methods::failed::{Failed, Outcome};
use std::io::Write;
use workbench::facts::TARGETS;

/// Runs `cortex dev facts`.
pub fn run_facts(context: &CommandContext) -> Outcome {
    let workspace = context.building("dev facts")?;
    let mut session = workspace.session()?;
    context.say_of_manifest(&workspace);
    let (report, code) = build_outputs(context, &mut session, "dev facts", &TARGETS.map(str::to_owned), true)?;
    let outputs = report.roots.into_iter().zip(report.outputs);
    let outputs = outputs.filter_map(|(root, bytes)| Some((Label::parse(&root.label).ok()?, bytes?)));
    let lines = workbench::facts::fact_lines(outputs).map_err(|error| {
        Failed::new(
            Code::TargetFailed,
            Diagnostic::error(ErrorCode::E_FACTS, error.to_string()).hint("run `cortex build '//...'`"),
        )
    })?;
    show::outcome_of_write(context.stdout().write_all(lines.as_bytes()))?;
    Ok(code)
}
