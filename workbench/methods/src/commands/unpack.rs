//! `cortex show --into FOLDER`: writes the files of a tree to a new folder.

use super::CommandAnswer;
use crate::code::Code;
use crate::desk::one_output::LabelledOutput;
use crate::desk::request_context::RequestContext;
use crate::failed::Failed;
use crate::render::{format_count, format_size};
use engine::build::blobs::{Blobs, Unavailable};
use engine::build::session::Session;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use engine::values::tree::{self, File};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;
use workbench::new_folder::write_new_folder;

/// Writes the files. The folder gets its name only when it is complete. Fails when the output is no tree, or the folder exists or cannot be
/// written.
pub fn unpack(context: &RequestContext, session: &Session, shown: &LabelledOutput, folder: &Path) -> Result<CommandAnswer, Failed> {
    let files = files_of_tree(session, shown)?;
    // Check for an existing folder before anything is written.
    if fs::symlink_metadata(folder).is_ok() {
        let why = Diagnostic::error(ErrorCode::E_EXISTS, format!("{} already exists", folder.display()));
        return Err(Failed::new(Code::Usage, why.hint("name a new folder, or remove this one")));
    }
    let bytes: u64 = files.values().map(|file| file.bytes.len() as u64).sum();
    // Release the store while files are written.
    context.release_locks();
    write_new_folder(folder, &files).map_err(|error| {
        let code = match error.kind() {
            io::ErrorKind::StorageFull => ErrorCode::E_NO_SPACE,
            _ => ErrorCode::E_WRITE,
        };
        let why = Diagnostic::error(code, format!("{} cannot be written: {error}", folder.display()));
        Failed::new(
            Code::Io,
            why.hint("check the folder above it and its permissions, or choose another place"),
        )
    })?;
    let path = folder.display().to_string();
    let text = format!("{path}: {} files, {}", format_count(files.len() as u64), format_size(bytes));
    let document =
        serde_json::json!({"label": shown.label, "digest": shown.digest.to_string(), "path": path, "files": files.len(), "bytes": bytes});
    Ok(CommandAnswer::of_line(&text, &document))
}

fn files_of_tree(session: &Session, shown: &LabelledOutput) -> Result<BTreeMap<String, File>, Failed> {
    if !tree::is_tree(&shown.bytes) {
        let why = Diagnostic::error(ErrorCode::E_NO_TREE, "the output is one file, not a tree").label(&shown.label);
        return Err(Failed::new(Code::Usage, why.hint("pass --raw, and redirect it to a file")));
    }
    Blobs::new(session.engine.store.clone())
        .tree(&shown.bytes)
        .map_err(|lack| match lack {
            Unavailable::Broken(error) => error.into(),
            Unavailable::Piece => {
                let why =
                    Diagnostic::error(ErrorCode::E_NO_OUTPUT, "a part of the output cannot be read from the store").label(&shown.label);
                Failed::new(
                    Code::Io,
                    why.hint("`cortex store verify --repair` drops damaged parts; the next build rebuilds them"),
                )
            }
        })
}
