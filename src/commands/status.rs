//! `cortex status`: how the workspace stands.

use super::show;
use crate::context::{Context, Outcome};
use crate::render::status;
use std::io::Write;

/// Runs it.
pub fn run(context: &Context) -> Outcome {
    let workspace = context.workspace("status")?;
    let mut session = workspace.session()?;
    context.say(workspace.warnings());
    let found = workbench::status::status(&workspace, &mut session)?;
    let store = workspace.store_folder.as_deref();
    let text = if context.json() {
        format!("{:#}\n", status::json(&found, &workspace.root, store))
    } else {
        status::text(&found, &workspace.root, store, context.out)
    };
    show::written(write!(context.stdout(), "{text}"))
}
