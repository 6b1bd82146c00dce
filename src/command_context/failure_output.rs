//! Prints why a command failed, shortened for people.

use super::CommandContext;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::{Diagnostic, Severity};
use methods::failed::Failed;

/// Limit of errors that one command prints as text.
const MOST_TOLD: usize = 20;

impl CommandContext {
    /// Prints the diagnostics of a failure; as text only the first errors and the number of the others, because people read no further. Errors
    /// precede notes.
    pub fn say_why(&self, failed: &Failed) {
        if failed.diagnostics.len() <= MOST_TOLD || self.prints_json() {
            return self.say(&failed.diagnostics);
        }
        self.say(&shorten_diagnostics(&failed.diagnostics));
    }
}

/// Returns the first diagnostics: errors before others, and after each kind the number of omitted ones.
fn shorten_diagnostics(all: &[Diagnostic]) -> Vec<Diagnostic> {
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
            let short = shorten_diagnostics(all);
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
