//! What edit sessions did to a document. Their edits are versions of it, their tries that failed are told, and what a session has not saved yet is
//! the document as it stands.

use super::journal::{Journal, Said};
use super::kept;
use crate::edit::encoding::decode;
use crate::edit::files::Files;
use crate::edit::session::{self, Content, Session};
use std::collections::BTreeSet;
use std::io;
use std::path::Path;

/// Who edits in sessions.
const AGENT: &str = "agent";

/// So many steps are taken over at once: no more would be shown.
const STEPS: usize = 16;

/// A text that a session has not saved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsaved {
    /// Handle of the session.
    pub session: String,
    /// The text.
    pub text: String,
}

/// One thing that a session did, or tried.
struct Step {
    at: u64,
    id: String,
    what: String,
    /// The text that came of it; `None` when it failed.
    text: Option<String>,
    failed: Option<String>,
}

/// Takes over what sessions did to a document since it was last looked at, as versions of it, and gives what they have not saved, of the session
/// that was last used first.
///
/// # Errors
/// When what is kept of sessions or of the document cannot be read or written.
pub fn take_over<F: Files>(files: &F, root: &Path, path: &str) -> io::Result<Vec<Unsaved>> {
    let mut sessions = session::all(files)?;
    sessions.retain(|session| session.paths().iter().any(|known| *known == path));
    sessions.sort_by(|a, b| (b.used, &a.id).cmp(&(a.used, &b.id)));
    let journal = kept::read(root, path)?;
    for step in steps(files, &sessions, path, &journal) {
        let said = Said {
            author: AGENT.to_owned(),
            what: Some(step.what),
            failed: step.failed,
            edit: Some(step.id),
        };
        let text = match step.text {
            Some(text) => text,
            // What failed left the document as it was.
            None => match kept::read(root, path)?
                .current()
                .and_then(|current| kept::text(root, path, &current.digest))
            {
                Some(text) => text,
                None => continue,
            },
        };
        kept::change(root, path, &text, |journal| {
            let before = journal.current().and_then(|current| kept::text(root, path, &current.digest));
            journal.found(&text, before.as_deref(), step.at, &said);
        })?;
    }
    let mut unsaved = Vec::new();
    for session in &sessions {
        let document = session.documents.get(path).filter(|document| document.is_edited());
        if let Some(text) = document.and_then(|document| text_of(files, &document.now.text)) {
            unsaved.push(Unsaved {
                session: session.id.clone(),
                text,
            });
        }
    }
    Ok(unsaved)
}

/// What is new to a journal, in the order of time.
fn steps<F: Files>(files: &F, sessions: &[Session], path: &str, journal: &Journal) -> Vec<Step> {
    let known: BTreeSet<&str> = journal.versions.iter().filter_map(|version| version.edit.as_deref()).collect();
    let since = journal.current().map_or(0, |current| current.at);
    let is_new = |at: u64, id: &str| at >= since && !known.contains(id);
    let mut steps = Vec::new();
    for session in sessions {
        for edit in session.done.iter().filter(|edit| is_new(edit.at, &edit.id)) {
            let to = edit.changes.iter().find(|change| change.path == path).map(|change| &change.to.text);
            if let Some(text) = to.and_then(|to| text_of(files, to)) {
                steps.push(Step {
                    at: edit.at,
                    id: edit.id.clone(),
                    what: edit.operation.clone(),
                    text: Some(text),
                    failed: None,
                });
            }
        }
        let of_it = session
            .failed
            .iter()
            .filter(|failed| failed.path == path && is_new(failed.at, &failed.id));
        steps.extend(of_it.map(|failed| Step {
            at: failed.at,
            id: failed.id.clone(),
            what: failed.operation.clone(),
            text: None,
            failed: Some(failed.why.clone()),
        }));
    }
    // Operations of a session are numbered: behind its handle, without leading zeros.
    steps.sort_by(|a, b| (a.at, a.id.len(), &a.id).cmp(&(b.at, b.id.len(), &b.id)));
    let old = steps.len().saturating_sub(STEPS);
    steps.split_off(old)
}

fn text_of<F: Files>(files: &F, content: &Content) -> Option<String> {
    let bytes = session::kept(files, content.as_deref()?).ok()??;
    Some(decode(&bytes).ok()?.0)
}
