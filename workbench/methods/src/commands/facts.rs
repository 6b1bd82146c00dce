//! `cortex dev facts`: builds the inputs of the facts and prints the facts, to compare them with the compiler's.

use super::CommandAnswer;
use crate::code::Code;
use crate::desk::outputs::build_outputs;
use crate::desk::request_context::RequestContext;
use crate::failed::Failed;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use engine::values::label::Label;
use workbench::facts::TARGETS;

/// Runs `cortex dev facts`. Fails when the inputs cannot be built.
pub fn run_facts(context: &RequestContext) -> Result<CommandAnswer, Failed> {
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
    Ok(CommandAnswer::of_bytes(lines).with_outcome(Ok(code)))
}
