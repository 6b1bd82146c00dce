//! The error of the workbench.

use crate::overlay::OverlayError;
use engine::build::engine::EngineError;
use engine::store::StoreError;
use engine::values::diagnostic::Diagnostic;
use std::path::PathBuf;

/// A failure that stops a command.
#[derive(Debug, thiserror::Error)]
pub enum WorkbenchError {
    /// There is no manifest at or above the folder.
    #[error("there is no cortex.toml in {0} or any folder above it")]
    NoManifest(PathBuf),
    /// A path cannot be used.
    #[error("{path} cannot be read: {reason}")]
    Path {
        /// The path.
        path: PathBuf,
        /// The system's message.
        reason: String,
    },
    /// A file of the checkout cannot be read or written.
    #[error("{}", .0.message)]
    Checkout(Box<Diagnostic>),
    /// The manifest has errors: all of them.
    #[error("the manifest has {} errors", .0.len())]
    Manifest(Vec<Diagnostic>),
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The overlay failed.
    #[error(transparent)]
    Overlay(#[from] OverlayError),
}

impl From<StoreError> for WorkbenchError {
    fn from(error: StoreError) -> Self {
        Self::Engine(error.into())
    }
}
