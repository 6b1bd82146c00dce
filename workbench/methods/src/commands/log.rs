//! `cortex log`: lists the builds of this checkout.

use super::CommandAnswer;
use crate::desk::request_context::RequestContext;
use crate::failed::Failed;
use crate::render::builds;
use clap::Args;
use workbench::builds::log;

/// List the builds of this checkout, with their work, time and cost.
///
/// Each line has the commit, and whether files differed from it. A build in which no target ran, failed or was cached has no line. The log keeps the
/// newest 1,000 builds.
#[derive(Debug, Args)]
pub struct LogArgs {
    /// Number of builds to list, from the newest.
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..))]
    pub count: u64,
}

/// Runs `cortex log`. Reads neither manifest nor sources.
///
/// # Errors
/// When the store cannot be read.
pub fn run_log(context: &RequestContext, args: &LogArgs) -> Result<CommandAnswer, Failed> {
    let workspace = context.workspace("log")?;
    let mut found = log(&*workspace.engine.store, workspace.engine.view)?;
    let surplus = found.len().saturating_sub(usize::try_from(args.count).unwrap_or(usize::MAX));
    found.drain(..surplus);
    if found.is_empty() {
        context.print_text("no build of this checkout has run anything yet");
    }
    Ok(CommandAnswer::new(
        builds::log(&found, context.answer_style()),
        &builds::log_json(&found),
    ))
}
