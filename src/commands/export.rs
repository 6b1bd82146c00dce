//! `cortex export`: writes the code of the workspace as an index of another format.

use super::output_file::{replaceable, write_atomically};
use super::show;
use crate::cli::ExportCommand;
use crate::command_context::CommandContext;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use methods::code::Code;
use methods::desk::Desk;
use methods::failed::{Failed, Outcome};
use methods::render::{format_count, format_size};
use std::io::Write;
use workbench::scip_export::export;

/// Runs `cortex export`.
pub fn run_export(context: &CommandContext, command: &ExportCommand) -> Outcome {
    let ExportCommand::Scip { out, project_root } = command;
    if !project_root.contains("://") {
        let why = Diagnostic::error(ErrorCode::E_USAGE, "the project root is not a URI").found(project_root);
        return Err(Failed::new(Code::Usage, why.hint("write file:///src/memotree, or omit it")));
    }
    replaceable(out, is_index)?;
    let mut desk = Desk::new(context, "export scip");
    desk.read_only();
    let names = desk.workspace_names()?;
    let found = export(&mut desk, &names.symbols, project_root, env!("CARGO_PKG_VERSION"))?;
    let code = desk.code();
    // Release the store while the file is written.
    drop(desk);
    context.release_locks();
    write_atomically(out, &found.bytes)?;
    let path = out.display().to_string();
    let text = if context.prints_json() {
        let document = serde_json::json!({
            "path": path, "bytes": found.bytes.len(), "documents": found.documents, "symbols": found.symbols, "occurrences": found.occurrences,
            "unread": found.unread,
        });
        format!("{document:#}\n")
    } else {
        let [documents, symbols, occurrences] = [found.documents, found.symbols, found.occurrences].map(|one| format_count(one as u64));
        let size = format_size(found.bytes.len() as u64);
        format!("{path}: {size}, {documents} documents, {symbols} definitions, {occurrences} occurrences\n")
    };
    show::outcome_of_write(write!(context.stdout(), "{text}"))?;
    Ok(code)
}

/// Returns whether a file starts like an index: with its metadata, and in that a version or a tool.
fn is_index(head: &[u8]) -> bool {
    matches!(head, [0x0a, _, 0x08 | 0x12, ..])
}
