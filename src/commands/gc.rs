//! `cortex gc`: counts what this checkout does not reach. Collecting is not there yet, and it says so.

use super::show;
use crate::cli::GcArgs;
use crate::context::{Context, Failed, Outcome};
use crate::exit::Code;
use crate::render::status;
use engine::values::diagnostic::Diagnostic;
use std::io::Write;

/// Runs it.
pub fn run(context: &Context, args: &GcArgs) -> Outcome {
    if !args.dry_run {
        let why = Diagnostic::error("E_NOT_YET", "this version of cortex counts garbage but does not collect it");
        return Err(Failed::new(
            Code::Usage,
            why.hint("see what there is with `cortex gc --dry-run`; a store may also simply be deleted"),
        ));
    }
    let workspace = context.workspace("gc")?;
    let session = workspace.session()?;
    let text = match workbench::garbage::count(&workspace, &session)? {
        Some(sweep) if context.json() => format!("{:#}\n", status::sweep_json(&sweep)),
        Some(sweep) => status::sweep(&sweep),
        None if context.json() => "null\n".to_owned(),
        None => "there is no store\n".to_owned(),
    };
    show::written(write!(context.stdout(), "{text}"))
}
