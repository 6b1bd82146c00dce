//! Diagnostics of a command besides its answer: for people on standard error, or for the calling program.

use super::{Context, Failed, Voice};
use crate::render::diagnostic;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::{Diagnostic, Severity};
use workbench::workspace::Workspace;

/// Limit of errors that one command prints as text.
const MOST_TOLD: usize = 20;

impl Context {
    /// Whether there are diagnostics for the calling program.
    pub fn has_collected(&self) -> bool {
        matches!(&self.voice, Voice::Caller { collected, .. } if !collected.borrow().is_empty())
    }

    /// Returns the first error for the calling program.
    pub fn complaint(&self) -> Option<Diagnostic> {
        match &self.voice {
            Voice::Terminal => None,
            Voice::Caller { collected, .. } => collected.borrow().iter().find(|one| one.severity == Severity::Error).cloned(),
        }
    }

    /// Takes the diagnostics for the calling program since the last call.
    pub fn take_collected(&self) -> Vec<Diagnostic> {
        match &self.voice {
            Voice::Terminal => Vec::new(),
            Voice::Caller { collected, .. } => collected.take(),
        }
    }

    /// Prints diagnostics to standard error (in JSON form one a line), or collects them for the calling program.
    pub fn say(&self, diagnostics: &[Diagnostic]) {
        let mut diagnostics = self.placed(diagnostics);
        // Report once what is true of all steps of a command.
        diagnostics.retain(|one| one.code != ErrorCode::N_NOT_FILED || !self.is_unwritable_reported.replace(true));
        let diagnostics = &diagnostics;
        if let Voice::Caller { collected, .. } = &self.voice {
            collected.borrow_mut().extend_from_slice(diagnostics);
            return;
        }
        if self.prints_json() {
            for one in diagnostics {
                note_line!("{}", diagnostic::diagnostic_json(one));
            }
            return;
        }
        for text in diagnostic::brief_texts(diagnostics, self.err) {
            note_line!("{text}");
        }
    }

    /// Prints the warnings about the manifest that change what a command finds. Commands that check the manifest report leftovers.
    pub fn say_of_manifest(&self, workspace: &Workspace) {
        let warnings = workspace.warnings().iter().filter(|one| one.code != ErrorCode::W_UNUSED);
        self.say(&warnings.cloned().collect::<Vec<_>>());
    }

    /// Prints why a command failed; as text the first errors only, and how many there are more: people read no further. Errors precede notes.
    pub fn say_why(&self, failed: &Failed) {
        if failed.diagnostics.len() <= MOST_TOLD || self.prints_json() {
            return self.say(&failed.diagnostics);
        }
        self.say(&shortened(&failed.diagnostics));
    }

    /// Diagnostics at their places in the files that people edit.
    pub fn placed(&self, diagnostics: &[Diagnostic]) -> Vec<Diagnostic> {
        let mut placed = diagnostics.to_vec();
        let of_filters = placed.iter_mut().filter(|one| one.code == ErrorCode::InvalidFilter);
        for one in of_filters {
            if let Some(root) = self.root_around() {
                *one = workbench::packs::placed(&root, one.clone());
            }
        }
        placed
    }
}

/// The first of many: errors before others, and behind each kind how many more there are.
fn shortened(all: &[Diagnostic]) -> Vec<Diagnostic> {
    let (errors, beside): (Vec<&Diagnostic>, Vec<&Diagnostic>) = all.iter().partition(|one| one.severity == Severity::Error);
    let told = errors.len().min(MOST_TOLD);
    let mut short: Vec<Diagnostic> = errors[..told].iter().copied().cloned().collect();
    if let Some(last) = errors[told..].last() {
        // The last diagnostic counts those that were not collected.
        let least = if last.code == ErrorCode::E_MORE { "at least " } else { "" };
        let are = are(errors.len() - told, "error");
        let more = Diagnostic::error(ErrorCode::E_MORE, format!("{least}{are} not shown"));
        short.push(more.hint("correct these first and run the command again, or list all with --output json"));
    }
    let room = beside.len().min(MOST_TOLD - told);
    short.extend(beside[..room].iter().copied().cloned());
    if beside.len() > room {
        let are = are(beside.len() - room, "note");
        let more = Diagnostic::new(Severity::Note, ErrorCode::N_INCOMPLETE, format!("{are} not shown"));
        short.push(more.hint("list all with --output json"));
    }
    short
}

fn are(count: usize, word: &str) -> String {
    match count {
        1 => format!("1 more {word} is"),
        count => format!("{count} more {word}s are"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_stand_before_notes_and_each_kind_is_counted() {
        let error = Diagnostic::error(ErrorCode::E_RENAME, "not renamed");
        let note = |at: usize| Diagnostic::new(Severity::Note, ErrorCode::N_IN_THE_WAY, format!("{at}"));
        let told = |all: &[Diagnostic]| {
            let short = shortened(all);
            let last = short.last().expect("one").message.clone();
            let first_note = short.iter().position(|one| one.severity == Severity::Note);
            let last_error = short.iter().rposition(|one| one.severity == Severity::Error);
            (short.len(), first_note > last_error, last)
        };
        let notes: Vec<Diagnostic> = (0..30).map(note).collect();
        let behind = [notes.as_slice(), std::slice::from_ref(&error)].concat();
        assert_eq!(told(&behind), (21, true, "11 more notes are not shown".to_owned()));
        let errors = vec![error; 21];
        assert_eq!(told(&errors).2, "1 more error is not shown");
        assert_eq!(
            told(&[notes, errors].concat()),
            (22, true, "30 more notes are not shown".to_owned())
        );
    }
}
