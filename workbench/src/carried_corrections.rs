//! Carries corrections over: a person's text about a type that was renamed or moved since goes into the summary under the present name.
//!
//! Names follow from earlier sources (see [`crate::former_types`]), so no producer can know them: the summary is built first, then corrected.

use crate::correction::{CORRECTED, Sections};
use crate::error::WorkbenchError;
use crate::former_types::present_name;
use crate::last_good::{label_of_type as label_of, parts};
use crate::paid::is_paid;
use engine::build::session::Session;
use engine::store::Commit;
use engine::store::corrections::{self, CorrectionRecord, Words};
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use std::collections::BTreeSet;
use std::path::Path;

/// Moves corrections of this checkout from former names of types to the present ones, if their summaries were built. Reports each.
pub fn carry(root: &Path, session: &mut Session) -> Result<Vec<Diagnostic>, WorkbenchError> {
    let mut sentences = Vec::new();
    for (label, record) in corrections::all_corrections(&*session.engine.store)? {
        if record.view != session.engine.view || session.graph.find(&label).is_some() {
            continue;
        }
        let Some((key, rest)) = parts(&label) else { continue };
        let Some(now) = present_name(root, session, &key)? else { continue };
        let present = label_of(&now, rest);
        if replace_words_in_output(session, &present, &record.words)? {
            let rows = vec![corrections::release(&label, record.view)];
            session
                .engine
                .store
                .commit(session.engine.view, Commit { rows, ..Commit::default() })?;
            let names = record.words.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
            let message = format!("the text of {names} is a person's, written when the type was named {key}; it was carried over");
            let hint = "review it: 'cortex diff LABEL' shows the change, 'cortex edit-output LABEL' changes the text";
            sentences.push(Diagnostic::warning(ErrorCode::W_CORRECTED, message).label(&present).hint(hint));
        }
    }
    Ok(sentences)
}

/// Writes the corrections into the last output of a label. Returns whether there was one.
fn replace_words_in_output(session: &mut Session, label: &str, words: &Words) -> Result<bool, WorkbenchError> {
    let mine = |record: &CorrectionRecord| record.view == session.engine.view;
    if !is_paid(session, label) || corrections::list_corrections(&*session.engine.store, label)?.iter().any(mine) {
        return Ok(false);
    }
    let Some(last) = session.last(label)? else { return Ok(false) };
    let Some(blob) = session.engine.store.output(&last.result.output)? else {
        return Ok(false);
    };
    let mut text = Sections::from_text(&String::from_utf8_lossy(&blob));
    for (name, body) in &mut text.list {
        if let Some(theirs) = words.get(name) {
            body.clone_from(theirs);
        }
    }
    let mut notes = last.record.notes;
    let names: BTreeSet<&str> = words
        .keys()
        .map(String::as_str)
        .filter(|name| text.section_text(name).is_some())
        .collect();
    notes.insert("mode".to_owned(), "edited".to_owned());
    notes.insert("base".to_owned(), last.result.output.to_string());
    notes.insert("why".to_owned(), "corrected by hand under its former name".to_owned());
    notes.insert(CORRECTED.to_owned(), names.into_iter().collect::<Vec<_>>().join(","));
    Ok(session
        .correct(label, text.summary_file().into_bytes(), notes, words.clone())?
        .is_some())
}
