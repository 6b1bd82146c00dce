//! Errors of overlays.

use crate::edit::files::SaveError;
use crate::editable_paths::Refused;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use std::io;

/// Limit of characters of the user's input that an error repeats.
const SHOWN: usize = 120;

#[derive(Debug, thiserror::Error)]
pub enum OverlayError {
    /// The request is invalid.
    #[error("{}", .0.message)]
    Asked(Box<Diagnostic>),
    /// Stored data of overlays cannot be read or written.
    #[error("the overlays in .cortex/edit cannot be read or written: {0}")]
    Io(#[from] io::Error),
    /// Files of the workspace cannot be written.
    #[error("the overlay is not merged: {0}")]
    Save(#[from] SaveError),
}

impl OverlayError {
    /// Creates the error of an invalid request: a sentence, the offending text, the remedy.
    pub(super) fn refused(code: ErrorCode, message: impl Into<String>, found: &str, hint: impl Into<String>) -> Self {
        let why = Diagnostic::error(code, message).hint(hint);
        Self::Asked(Box::new(match found {
            "" => why,
            found => why.found(found.chars().take(SHOWN).collect::<String>()),
        }))
    }

    /// Creates the error that no overlay can have this path.
    pub(super) fn refused_path(path: &str, why: &Refused) -> Self {
        let hint = "an overlay holds text files of the workspace, named from its root";
        Self::refused(ErrorCode::E_PATH, why.to_string(), path, hint)
    }
}
