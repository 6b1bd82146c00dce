//! Why an overlay cannot be used.

use crate::edit::files::SaveError;
use crate::edit::place::Refused;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use std::io;

/// Longest piece of what was asked for that is shown again, in characters.
const SHOWN: usize = 120;

/// Why an overlay cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum OverlayError {
    /// What was asked for cannot be.
    #[error("{}", .0.message)]
    Asked(Box<Diagnostic>),
    /// What is kept of overlays cannot be read or written.
    #[error("what is kept of overlays in .cortex/edit cannot be read or written: {0}")]
    Io(#[from] io::Error),
    /// Files of the workspace cannot be written.
    #[error("the overlay is not merged: {0}")]
    Save(#[from] SaveError),
}

impl OverlayError {
    /// What was asked for cannot be: a sentence, what was found, what to do.
    pub(super) fn refused(code: ErrorCode, message: impl Into<String>, found: &str, hint: impl Into<String>) -> Self {
        let why = Diagnostic::error(code, message).hint(hint);
        Self::Asked(Box::new(match found {
            "" => why,
            found => why.found(found.chars().take(SHOWN).collect::<String>()),
        }))
    }

    /// No overlay stands over this path.
    pub(super) fn path(path: &str, why: &Refused) -> Self {
        let hint = "an overlay holds text files of the workspace, named from its root";
        Self::refused(ErrorCode::E_PATH, why.to_string(), path, hint)
    }
}
