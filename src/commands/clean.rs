//! `cortex clean`: deletes the files below `.cortex/out`.

use super::show;
use crate::command_context::CommandContext;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use methods::code::Code;
use methods::failed::{Failed, Outcome};
use methods::render::{format_size, plural};
use std::io::Write as _;

/// Runs `cortex clean`. Locks the checkout, so that no build writes these files at the same time.
pub fn run_clean(context: &CommandContext) -> Outcome {
    let workspace = context.building("clean")?;
    let removed = workbench::clean::clean(&workspace.root).map_err(|error| {
        let why = Diagnostic::error(ErrorCode::E_WRITE, format!(".cortex/out cannot be deleted: {error}"));
        Failed::new(Code::Io, why.hint("check the permissions of the folder, or delete it by hand"))
    })?;
    let text = match context.prints_json() {
        true => serde_json::json!({"files": removed.files, "bytes": removed.bytes}).to_string(),
        false => format!(
            "deleted {} ({}) below .cortex/out; the results stay in the store",
            plural(removed.files, "file"),
            format_size(removed.bytes)
        ),
    };
    show::outcome_of_write(writeln!(context.stdout(), "{text}"))
}
