//! The names of a workspace.

use engine::values::digest::Digest;
use std::sync::Arc;
use workbench::symbols::answer_state::{AnswerState, Flaws};
use workbench::symbols::index::Symbols;

/// The symbol index of the workspace, and the files for which it may be incomplete.
#[derive(Clone)]
pub struct WorkspaceNames {
    /// All types and members.
    pub symbols: Arc<Symbols>,
    /// The digests of the tables that they were read from; empty if not known.
    pub tables: Vec<Option<Digest>>,
    /// Files that do not parse.
    pub flaws: Arc<Flaws>,
}

impl WorkspaceNames {
    /// Returns the state of an answer about symbols declared in these files.
    pub fn state_of_symbols<'f>(&self, files: impl Iterator<Item = &'f String>) -> AnswerState {
        AnswerState::default().of_files(&self.flaws, files)
    }
}
