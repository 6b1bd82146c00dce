//! What a command says besides its answer: to people on standard error, or to the program that asked.

use super::{Context, Failed, Voice};
use crate::render::diagnostic;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::{Diagnostic, Severity};
use workbench::workspace::Workspace;

/// Errors of one command that are told as text.
const MOST_TOLD: usize = 20;

impl Context {
    /// Whether anything was said to another program.
    pub fn has_said(&self) -> bool {
        matches!(&self.voice, Voice::Caller { said, .. } if !said.borrow().is_empty())
    }

    /// The first error that was said to another program.
    pub fn complaint(&self) -> Option<Diagnostic> {
        match &self.voice {
            Voice::Terminal => None,
            Voice::Caller { said, .. } => said.borrow().iter().find(|one| one.severity == Severity::Error).cloned(),
        }
    }

    /// What was said to another program since this was last asked.
    pub fn take_said(&self) -> Vec<Diagnostic> {
        match &self.voice {
            Voice::Terminal => Vec::new(),
            Voice::Caller { said, .. } => said.take(),
        }
    }

    /// Prints diagnostics to standard error (in JSON form one a line), or keeps them for the program that asked.
    pub fn say(&self, diagnostics: &[Diagnostic]) {
        let mut diagnostics = self.placed(diagnostics);
        // What holds for all steps of a command is told once.
        diagnostics.retain(|one| one.code != ErrorCode::N_NOT_FILED || !self.unfiled.replace(true));
        let diagnostics = &diagnostics;
        if let Voice::Caller { said, .. } = &self.voice {
            said.borrow_mut().extend_from_slice(diagnostics);
            return;
        }
        if self.json() {
            for one in diagnostics {
                note_line!("{}", diagnostic::json(one));
            }
            return;
        }
        for text in diagnostic::brief_texts(diagnostics, self.err) {
            note_line!("{text}");
        }
    }

    /// Prints the warnings about the manifest that change what a command finds. What is only left over is told by those that check it.
    pub fn say_of_manifest(&self, workspace: &Workspace) {
        let warnings = workspace.warnings().iter().filter(|one| one.code != ErrorCode::W_UNUSED);
        self.say(&warnings.cloned().collect::<Vec<_>>());
    }

    /// Prints why a command failed; as text the first errors only, and how many there are more: nobody reads on.
    pub fn say_why(&self, failed: &Failed) {
        let (told, rest) = failed.diagnostics.split_at(failed.diagnostics.len().min(MOST_TOLD));
        if rest.is_empty() || self.json() {
            return self.say(&failed.diagnostics);
        }
        self.say(told);
        // What was not even kept is counted by the last.
        let least = if rest.last().is_some_and(|last| last.code == ErrorCode::E_MORE) {
            "at least "
        } else {
            ""
        };
        let plural = if rest.len() == 1 { " is" } else { "s are" };
        let more = Diagnostic::error(ErrorCode::E_MORE, format!("{least}{} more error{plural} not shown", rest.len()));
        self.say(&[more.hint("mend these first and look again, or list more with --output json")]);
    }

    /// Diagnostics at their places in the files that people edit.
    pub fn placed(&self, diagnostics: &[Diagnostic]) -> Vec<Diagnostic> {
        let mut placed = diagnostics.to_vec();
        let of_filters = placed.iter_mut().filter(|one| one.code == ErrorCode::InvalidFilter);
        for one in of_filters {
            if let Some(root) = self.root() {
                *one = workbench::packs::placed(&root, one.clone());
            }
        }
        placed
    }
}
