//! `export scip`: writes the code of the workspace as an index of another format.

use super::{Effect, Method};
use crate::code::Code;
use crate::desk::Desk;
use crate::desk::output_file::{a_file, replaceable, write_atomically};
use crate::failed::Failed;
use crate::render::{format_count, format_size};
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use workbench::scip_export::export;

/// Write a SCIP index: definitions, references, documentation, implementations and overrides.
///
/// The same sources give the same bytes. Paths are relative to the root of the workspace; the index contains no path of this machine.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExportScip {
    /// The file to write; an existing index is replaced.
    #[arg(short, long, value_name = "FILE", default_value = "index.scip", value_parser = a_file)]
    out: PathBuf,
    /// The base URI of paths, for readers that need one: file:///src/memotree.
    #[arg(long, value_name = "URI", default_value = "file:///")]
    project_root: String,
}

/// The written index.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct WrittenIndex {
    /// Its path.
    path: String,
    /// Its length.
    bytes: u64,
    /// Number of documents.
    documents: usize,
    /// Number of definitions.
    symbols: usize,
    /// Number of occurrences.
    occurrences: usize,
    /// Labels of outputs that are missing, so that the index lacks what they contain.
    unread: Vec<String>,
}

impl Method for ExportScip {
    const NAME: &'static str = "export scip";
    const EFFECT: Effect = Effect::Acts;
    const SERVED: bool = false;
    type Answer = WrittenIndex;

    fn reads(&self) -> bool {
        true
    }

    fn answer(&self, desk: &mut Desk<'_>) -> Result<WrittenIndex, Failed> {
        if !self.project_root.contains("://") {
            let why = Diagnostic::error(ErrorCode::E_USAGE, "the project root is not a URI").found(&self.project_root);
            return Err(Failed::new(Code::Usage, why.hint("write file:///src/memotree, or omit it")));
        }
        replaceable(&self.out, is_index)?;
        let names = desk.workspace_names()?;
        let found = export(desk, &names.symbols, &self.project_root, env!("CARGO_PKG_VERSION"))?;
        // Release the store while the file is written.
        desk.context.release_locks();
        write_atomically(&self.out, &found.bytes)?;
        Ok(WrittenIndex {
            path: self.out.display().to_string(),
            bytes: found.bytes.len() as u64,
            documents: found.documents,
            symbols: found.symbols,
            occurrences: found.occurrences,
            unread: found.unread,
        })
    }

    fn text(answer: &WrittenIndex) -> String {
        let [documents, symbols, occurrences] =
            [answer.documents, answer.symbols, answer.occurrences].map(|number| format_count(number as u64));
        let size = format_size(answer.bytes);
        format!(
            "{}: {size}, {documents} documents, {symbols} definitions, {occurrences} occurrences\n",
            answer.path
        )
    }
}

/// Returns whether a file starts like an index: with its metadata, and in that a version or a tool.
fn is_index(head: &[u8]) -> bool {
    matches!(head, [0x0a, _, 0x08 | 0x12, ..])
}
