//! `cortex history`: the versions of a target.

use super::{build, show};
use crate::cli::HistoryArgs;
use crate::context::{Context, Failed, Outcome};
use crate::exit::Code;
use crate::render::versions;
use engine::build::session::Session;
use engine::values::diagnostic::Diagnostic;
use std::io::Write;
use workbench::versions::Version;

/// Runs it.
pub fn run(context: &Context, args: &HistoryArgs) -> Outcome {
    let workspace = context.workspace("history")?;
    let mut session = workspace.session()?;
    context.say(workspace.warnings());
    let (label, found) = of(&mut session, &args.label)?;
    let text = if args.json || context.json() {
        format!("{:#}\n", versions::json(&label, &found))
    } else {
        versions::list(&label, &found, context.out)
    };
    show::written(write!(std::io::stdout().lock(), "{text}"))
}

/// The one label that is meant.
pub fn meant(session: &mut Session, text: &str, what: &str) -> Result<String, Failed> {
    let patterns = build::patterns(&[text.to_owned()])?;
    session.the_one(&patterns, what)?.map_err(|diagnostics| Failed {
        code: Code::Usage,
        diagnostics,
    })
}

/// The label that is meant, and its versions; at least one.
pub fn of(session: &mut Session, text: &str) -> Result<(String, Vec<Version>), Failed> {
    let label = meant(session, text, "looked back on")?;
    let found = workbench::versions::versions(session, &label)?;
    if found.is_empty() {
        let why = Diagnostic::error("E_NO_VERSION", "it was never made in this checkout").label(&label);
        return Err(Failed::new(Code::Usage, why.hint(format!("cortex build '{label}'"))));
    }
    Ok((label, found))
}
