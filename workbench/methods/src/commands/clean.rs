//! `cortex clean`: deletes the files below `.cortex/out`.

use super::CommandAnswer;
use crate::code::Code;
use crate::desk::request_context::RequestContext;
use crate::failed::Failed;
use crate::render::{format_size, plural};
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;

/// Runs `cortex clean`. Locks the checkout, so that no build writes these files at the same time.
///
/// # Errors
/// When the files cannot be deleted.
pub fn run_clean(context: &RequestContext) -> Result<CommandAnswer, Failed> {
    let workspace = context.building("clean")?;
    let removed = workbench::clean::clean(&workspace.root).map_err(|error| {
        let why = Diagnostic::error(ErrorCode::E_WRITE, format!(".cortex/out cannot be deleted: {error}"));
        Failed::new(Code::Io, why.hint("check the permissions of the folder, or delete it by hand"))
    })?;
    let (files, bytes) = (plural(removed.files, "file"), format_size(removed.bytes));
    let text = format!("deleted {files} ({bytes}) below .cortex/out; the results stay in the store");
    let document = serde_json::json!({"files": removed.files, "bytes": removed.bytes});
    Ok(CommandAnswer::of_line(&text, &document))
}
