//! `.cortex/packs.toml`: the packs that were created at run time. It is part of a build's definition like the manifest.

use crate::checkout::{self, UnexpectedEntry};
use crate::error::WorkbenchError;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use std::io;
use std::path::Path;

/// Path of the file, below the workspace's root.
pub const FILE: &str = ".cortex/packs.toml";
/// The label of the table that lists all packs.
pub const LABEL: &str = "//manifest/pack:table";
/// Limit of bytes of the file.
pub(crate) const MOST_BYTES: usize = 4 << 20;

/// Reads the text of the file; empty if the file is missing.
///
/// # Errors
/// When it is a link, too large, not UTF-8 or cannot be read.
pub(crate) fn read_packs(root: &Path) -> Result<String, WorkbenchError> {
    let bytes = checkout::read_file(root, FILE, MOST_BYTES).map_err(|error| unusable(&error))?;
    decode_packs(bytes)
}

/// Returns the text of the file.
///
/// # Errors
/// When it is not UTF-8.
pub(crate) fn decode_packs(bytes: Option<Vec<u8>>) -> Result<String, WorkbenchError> {
    String::from_utf8(bytes.unwrap_or_default()).map_err(|_| {
        pack_file_error(
            ErrorCode::E_ENCODING,
            "the file of packs is not UTF-8 text",
            "save it as UTF-8, or remove it",
        )
    })
}

fn pack_file_error(code: ErrorCode, message: &str, hint: &str) -> WorkbenchError {
    WorkbenchError::Manifest(vec![Diagnostic::error(code, message).at(FILE, 0, 0).hint(hint)])
}

/// Returns the failure of a file that cannot be read or written.
pub(crate) fn unusable(error: &io::Error) -> WorkbenchError {
    if let Some(way) = UnexpectedEntry::wrapped_in(error) {
        let why = Diagnostic::error(ErrorCode::E_PATH, format!("it {}", way.what)).at(&*way.path, 0, 0);
        return WorkbenchError::Manifest(vec![why.hint(way.hint())]);
    }
    if error.kind() == io::ErrorKind::FileTooLarge {
        let message = format!("the file of packs cannot be used: {error}");
        return pack_file_error(
            ErrorCode::E_PATH,
            &message,
            "move it away, or put a file there that can be read and written",
        );
    }
    let what = format!("the file of packs, {FILE},");
    let why = checkout::trouble(&what, error, "see that it is a file that can be read and written");
    WorkbenchError::Checkout(Box::new(why))
}
