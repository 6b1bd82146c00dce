//! `cortex explain`: is it current, what moved, and who moved that.

use super::{build, last_good, show};
use crate::cli::ExplainArgs;
use crate::context::{Context, Failed, Outcome};
use crate::exit::Code;
use crate::render::explanation;
use std::io::Write;

/// Runs it.
pub fn run(context: &Context, args: &ExplainArgs) -> Outcome {
    let patterns = build::patterns(std::slice::from_ref(&args.label))?;
    let workspace = context.workspace("explain")?;
    let mut session = workspace.session()?;
    context.say(workspace.warnings());
    let explained = match session.explain(&patterns)? {
        Ok(explained) => explained,
        Err(diagnostics) => {
            last_good::remark_missing(context, &workspace, &session, None, &args.label)?;
            let code = Code::Usage;
            return Err(Failed { code, diagnostics });
        }
    };
    let former = workbench::aliases::former(&workspace.root, &session, &explained.label)?;
    let text = if args.json || context.json() {
        let mut document = explanation::json(&explained);
        if !former.is_empty() {
            document["former"] = serde_json::json!(former);
        }
        format!("{document:#}\n")
    } else {
        explanation::text(&explained, &former, context.out)
    };
    show::written(write!(context.stdout(), "{text}"))
}
