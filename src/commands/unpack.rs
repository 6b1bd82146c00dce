//! `cortex show --into FOLDER`: writes the files of a tree to a new folder.

use crate::command_context::CommandContext;
use engine::build::blobs::{Blobs, Unavailable};
use engine::build::session::Session;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use engine::values::tree::{self, File};
use methods::code::Code;
use methods::desk::one_output::LabelledOutput;
use methods::failed::{Failed, Outcome};
use methods::render::{format_count, format_size};
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::Path;

/// Writes the files. The folder gets its name only when it is complete.
pub fn unpack(context: &CommandContext, session: &Session, shown: &LabelledOutput, folder: &Path) -> Outcome {
    let files = files_of_tree(session, shown)?;
    // Check for an existing folder before anything is written.
    if fs::symlink_metadata(folder).is_ok() {
        let why = Diagnostic::error(ErrorCode::E_EXISTS, format!("{} already exists", folder.display()));
        return Err(Failed::new(Code::Usage, why.hint("name a new folder, or remove this one")));
    }
    let bytes: u64 = files.values().map(|file| file.bytes.len() as u64).sum();
    // Release the store while files are written.
    context.release_locks();
    write_folder(folder, &files).map_err(|error| {
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
    let text = match context.prints_json() {
        true => serde_json::json!({"label": shown.label, "digest": shown.digest.to_string(), "path": path, "files": files.len(), "bytes": bytes}).to_string(),
        false => format!("{path}: {} files, {}", format_count(files.len() as u64), format_size(bytes)),
    };
    super::show::outcome_of_write(writeln!(context.stdout(), "{text}"))
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

/// Writes files to a new folder, through a temporary folder next to it.
fn write_folder(folder: &Path, files: &BTreeMap<String, File>) -> io::Result<()> {
    let above = folder
        .parent()
        .filter(|above| !above.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    fs::create_dir_all(above)?;
    let beside = tempfile::Builder::new().prefix(".cortex-").tempdir_in(above)?;
    for (path, file) in files {
        let place = beside.path().join(path);
        if let Some(inner) = place.parent() {
            fs::create_dir_all(inner)?;
        }
        fs::write(&place, &file.bytes)?;
        if file.program {
            os::modes::set_mode(&place, 0o755)?;
        }
    }
    os::modes::set_mode(beside.path(), 0o755)?;
    // The rename replaces a folder that another process created only if it is empty.
    fs::rename(beside.path(), folder)?;
    let _ = beside.keep();
    Ok(())
}
