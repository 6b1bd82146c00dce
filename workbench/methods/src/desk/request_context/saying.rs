//! Diagnostics of a request besides its answer: for the person whose command it is, or for the calling program.

use super::{RequestContext, Voice};
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::{Diagnostic, Severity};
use workbench::workspace::Workspace;

impl RequestContext {
    /// Whether there are diagnostics for the calling program.
    pub fn has_collected(&self) -> bool {
        matches!(&self.voice, Voice::Caller { collected, .. } if !collected.borrow().is_empty())
    }

    /// Returns the first error for the calling program.
    pub fn complaint(&self) -> Option<Diagnostic> {
        match &self.voice {
            Voice::Person(_) => None,
            Voice::Caller { collected, .. } => collected.borrow().iter().find(|one| one.severity == Severity::Error).cloned(),
        }
    }

    /// Takes the diagnostics for the calling program since the last call.
    pub fn take_collected(&self) -> Vec<Diagnostic> {
        match &self.voice {
            Voice::Person(_) => Vec::new(),
            Voice::Caller { collected, .. } => collected.take(),
        }
    }

    /// Prints diagnostics for the person whose command this is, or collects them for the calling program.
    pub fn say(&self, diagnostics: &[Diagnostic]) {
        let mut diagnostics = self.placed(diagnostics);
        // Report once what is true of all steps of a command.
        diagnostics.retain(|one| one.code != ErrorCode::N_NOT_FILED || !self.is_unwritable_reported.replace(true));
        // Each step of a command scans the sources, and finds the same links and unreadable files; a tried and a saved edit add the same names.
        diagnostics.retain(|one| !is_reported_once(one) || self.reported_sources.borrow_mut().insert(one.clone()));
        match &self.voice {
            Voice::Person(person) => person.print_diagnostics(&diagnostics),
            Voice::Caller { collected, .. } => collected.borrow_mut().extend(diagnostics),
        }
    }

    /// Prints the warnings about the manifest that change what a command finds. Commands that check the manifest report leftovers.
    pub fn say_of_manifest(&self, workspace: &Workspace) {
        let warnings = workspace.warnings().iter().filter(|one| one.code != ErrorCode::W_UNUSED);
        self.say(&warnings.cloned().collect::<Vec<_>>());
    }

    /// Diagnostics at their places in the files that people edit.
    pub fn placed(&self, diagnostics: &[Diagnostic]) -> Vec<Diagnostic> {
        let mut placed = diagnostics.to_vec();
        let of_filters = placed.iter_mut().filter(|one| one.code == ErrorCode::InvalidFilter);
        for one in of_filters {
            if let Some(root) = self.root_around() {
                *one = workbench::packs::locate_filter_error(&root, one.clone());
            }
        }
        placed
    }
}

/// Whether a diagnostic tells why a source was not read as others are, or that an edit adds an unknown name.
fn is_reported_once(diagnostic: &Diagnostic) -> bool {
    use ErrorCode::{W_SOURCE_LINK, W_SOURCE_MOVING, W_SOURCE_NAME, W_SOURCE_SPECIAL, W_SOURCE_UNREADABLE, W_UNDECLARED};
    let codes = [
        W_SOURCE_LINK, W_SOURCE_MOVING, W_SOURCE_NAME, W_SOURCE_SPECIAL, W_SOURCE_UNREADABLE, W_UNDECLARED,
    ];
    codes.into_iter().any(|code| diagnostic.code == code)
}
