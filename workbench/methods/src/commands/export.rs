//! `cortex export`: writes the code of the workspace as an index of another format.

use super::CommandAnswer;
use super::output_file::a_file;
use super::output_file::{replaceable, write_atomically};
use crate::code::Code;
use crate::desk::Desk;
use crate::desk::request_context::RequestContext;
use crate::failed::Failed;
use crate::render::{format_count, format_size};
use clap::{Args, Subcommand};
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use std::path::PathBuf;
use workbench::scip_export::export;

/// Write an index of the code for other programs.
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// The format.
    #[command(subcommand)]
    pub command: ExportCommand,
}

/// The formats of an index.
#[derive(Debug, Subcommand)]
pub enum ExportCommand {
    /// Write a SCIP index: definitions, references, documentation, implementations and overrides.
    ///
    /// The same sources give the same bytes. Paths are relative to the root of the workspace; the index contains no path of this machine.
    Scip {
        /// The file to write; an existing index is replaced.
        #[arg(short, long, value_name = "FILE", default_value = "index.scip", value_parser = a_file)]
        out: PathBuf,
        /// The base URI of paths, for readers that need one: file:///src/memotree.
        #[arg(long, value_name = "URI", default_value = "file:///")]
        project_root: String,
    },
}

/// Runs `cortex export`.
///
/// # Errors
/// When the code cannot be read, or the file cannot be written.
pub fn run_export(context: &RequestContext, command: &ExportCommand) -> Result<CommandAnswer, Failed> {
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
    let document = serde_json::json!({
        "path": path, "bytes": found.bytes.len(), "documents": found.documents, "symbols": found.symbols, "occurrences": found.occurrences,
        "unread": found.unread,
    });
    let [documents, symbols, occurrences] = [found.documents, found.symbols, found.occurrences].map(|one| format_count(one as u64));
    let size = format_size(found.bytes.len() as u64);
    let text = format!("{path}: {size}, {documents} documents, {symbols} definitions, {occurrences} occurrences\n");
    Ok(CommandAnswer::new(text, &document).with_outcome(Ok(code)))
}

/// Returns whether a file starts like an index: with its metadata, and in that a version or a tool.
fn is_index(head: &[u8]) -> bool {
    matches!(head, [0x0a, _, 0x08 | 0x12, ..])
}
