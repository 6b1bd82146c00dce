//! `cortex log`: lists the builds of this checkout.

use super::show;
use crate::cli::LogArgs;
use crate::command_context::CommandContext;
use methods::failed::Outcome;
use methods::render::builds;
use std::io::Write;
use workbench::builds::log;

/// Runs `cortex log`. Reads neither manifest nor sources.
pub fn run_log(context: &CommandContext, args: &LogArgs) -> Outcome {
    let workspace = context.workspace("log")?;
    let mut found = log(&*workspace.engine.store, workspace.engine.view)?;
    let surplus = found.len().saturating_sub(usize::try_from(args.count).unwrap_or(usize::MAX));
    found.drain(..surplus);
    let text = if context.prints_json() {
        format!("{:#}\n", builds::log_json(&found))
    } else {
        if found.is_empty() {
            note_line!("no build of this checkout has run anything yet");
        }
        builds::log(&found, context.out)
    };
    show::outcome_of_write(write!(context.stdout(), "{text}"))
}
