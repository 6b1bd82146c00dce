//! `cortex history`: the versions of a target.

use super::{build, last_good, names, show};
use crate::cli::HistoryArgs;
use crate::context::{Context, Failed, Outcome};
use crate::exit::Code;
use crate::render::versions;
use engine::build::session::Session;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use std::io::Write;
use workbench::versions::{Version, lineage};
use workbench::workspace::Workspace;

/// Runs it.
pub fn run(context: &Context, args: &HistoryArgs) -> Outcome {
    let workspace = context.workspace("history")?;
    let mut session = workspace.session()?;
    context.say(workspace.warnings());
    let (label, found) = of(context, &workspace, &mut session, &args.label)?;
    let text = if context.json() {
        format!("{:#}\n", versions::json(&label, &found))
    } else {
        versions::list(&label, &found, context.out)
    };
    show::written(write!(context.stdout(), "{text}"))
}

/// The one label that is meant.
pub fn meant(session: &mut Session, text: &str, what: &str) -> Result<String, Failed> {
    let text = names::label(session, text)?;
    let patterns = build::patterns(&[text.into_owned()])?;
    session.the_one(&patterns, what)?.map_err(|diagnostics| Failed {
        code: Code::Usage,
        diagnostics,
    })
}

/// Why there are no versions of a source file, and what to do about it.
pub fn source(label: &str) -> Option<(&'static str, String)> {
    let path = engine::build::file_path(label)?;
    let hint = format!("`git log -p -- {path}` tells what it was; `cortex explain '{label}'` what it is now, and who reads it");
    Some(("it is a source file: versions are kept of what is made of it", hint))
}

/// The label that is meant, and its versions; at least one.
pub fn of(context: &Context, workspace: &Workspace, session: &mut Session, text: &str) -> Result<(String, Vec<Version>), Failed> {
    let label = match meant(session, text, "looked back on") {
        Ok(label) => label,
        Err(failed) => {
            last_good::remark_missing(context, workspace, session, None, text)?;
            return Err(failed);
        }
    };
    if session.graph.find(&label).is_none() {
        last_good::remark_renamed(context, workspace, session, &label)?;
    }
    let found = lineage(&workspace.root, session, &label)?;
    if found.is_empty() {
        let (what, hint) = match source(&label) {
            Some(told) => told,
            None if last_good::remark_missing(context, workspace, session, None, &label)? => {
                ("no version of it is kept", "what was collected is not known any more".to_owned())
            }
            None => ("it was never made in this checkout", format!("cortex build '{label}'")),
        };
        let why = Diagnostic::error(ErrorCode::E_NO_VERSION, what).label(&label);
        return Err(Failed::new(Code::Usage, why.hint(hint)));
    }
    Ok((label, found))
}
