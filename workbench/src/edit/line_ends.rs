//! Adapts the line ends of a searched or new text to those of the file.

use super::files::Files;
use super::matching::find_occurrences;
use super::run::EditRun;
use crate::code_text::lines::{Ends, fit, split};

/// Returns the searched and the new text, with the line ends of the file if requested; notes any adaptation for the answer.
pub(super) fn adapt_line_ends<F: Files>(
    run: &mut EditRun<'_, F>,
    path: &str,
    text: &str,
    (old, new): (&str, &str),
    fits: bool,
) -> (String, String) {
    let (made_old, made_new) = with_line_ends_of_file(text, old, new, fits);
    if made_old != old || made_new != new {
        note_line_ends(run, path, text);
    }
    (made_old, made_new)
}

/// Adds the note that line ends were adapted to those of a file.
pub(super) fn note_line_ends<F: Files>(run: &mut EditRun<'_, F>, path: &str, text: &str) {
    let note = format!("line ends made {} as in {path}", Ends::from_text(text));
    if !run.notes.contains(&note) {
        run.notes.push(note);
    }
}

/// Returns the searched and the new text, with the line ends of the file if requested. In a file with mixed line ends, the searched text is also
/// found with other line ends, if that is unambiguous.
pub(super) fn with_line_ends_of_file(text: &str, old: &str, new: &str, fits: bool) -> (String, String) {
    let ends = Ends::from_text(text);
    if !fits || ends == Ends::default() {
        return (old.to_owned(), new.to_owned());
    }
    let fitted = fit(old, ends.most_frequent());
    let is_there = |old: &str| find_occurrences(text, old, 0, 1).count > 0;
    let other = match ends.are_mixed() {
        false => None,
        // Match whole line ends first: taken literally, `old` may match the LF of a CR LF.
        true => find_with_other_line_ends(text, old).or_else(|| (!is_there(&fitted) && is_there(old)).then(|| old.to_owned())),
    };
    match other {
        Some(other) => (other.clone(), fit(new, Ends::from_text(&other).most_frequent())),
        None => (fitted, fit(new, ends.most_frequent())),
    }
}

/// Returns the only place of a text that equals another one except for line ends, as it is in the file.
fn find_with_other_line_ends(text: &str, old: &str) -> Option<String> {
    let (plain, plain_old) = (fit(text, "\n"), fit(old, "\n"));
    let found = find_occurrences(&plain, &plain_old, 0, 1);
    let [at] = found.at.as_slice() else { return None };
    if found.count != 1 {
        return None;
    }
    // Maps an offset with LF line ends to the original text.
    let place = |plain_at: usize| {
        let (mut from, mut to) = (0, 0);
        for line in split(text) {
            let length = fit(line, "\n").len();
            if from + length > plain_at {
                break;
            }
            (from, to) = (from + length, to + line.len());
        }
        to + plain_at - from
    };
    text.get(place(*at)..place(at + plain_old.len())).map(str::to_owned)
}
