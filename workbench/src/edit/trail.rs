//! The trail of a session: what became of its documents by each operation, taking back and making again included, for who looks on.

use super::session::{Content, Session};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// So many steps are remembered.
const REMEMBERED: usize = 32;

/// What became of a document by an operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// The operation.
    pub operation: String,
    /// Its name in the log: the session's handle and its number.
    pub id: String,
    /// When, in seconds.
    pub at: u64,
    /// Which document.
    pub path: String,
    /// What the buffer held before.
    pub from: Content,
    /// What it holds since.
    pub to: Content,
    /// Whether the file was written with it.
    pub saved: bool,
    /// Whether somebody else wrote it, and a buffer without edits took it over.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub foreign: bool,
}

/// What buffers hold, and what they were made of.
pub(super) type Standing = BTreeMap<String, (Content, Content)>;

/// How the documents of a session stand.
pub(super) fn standing(session: &Session) -> Standing {
    let documents = session.documents.iter();
    documents
        .map(|(path, document)| (path.clone(), (document.now.text.clone(), document.now.base.clone())))
        .collect()
}

/// Whether earlier steps of a session may be forgotten.
pub fn is_cut(session: &Session) -> bool {
    session.trail.len() >= REMEMBERED
}

/// Adds what an operation did, which began with the documents as they stood `before`.
pub(super) fn follow(session: &mut Session, before: &Standing, operation: &str, id: &str, now: u64) {
    let mut steps = Vec::new();
    for (path, document) in &session.documents {
        let (text, base) = (&document.now.text, &document.now.base);
        let opened_with = || {
            let of_it = session.done.iter().rev().find(|edit| edit.id == id);
            let change = of_it.and_then(|edit| edit.changes.iter().find(|change| change.path == *path));
            change.map(|change| (change.from.text.clone(), change.from.base.clone()))
        };
        let Some((from, base_before)) = before.get(path).cloned().or_else(opened_with) else {
            continue;
        };
        let edits = session.done.iter().chain(&session.undone);
        let was_edited = from != base_before;
        let saved = text == base && *base != base_before;
        let is_own = was_edited
            || edits
                .flat_map(|edit| &edit.changes)
                .any(|change| [&change.from.text, &change.to.text].contains(&text));
        let moved = from != *text || was_edited && saved;
        if moved {
            steps.push(Step {
                operation: operation.to_owned(),
                id: id.to_owned(),
                at: now,
                path: path.clone(),
                from,
                to: text.clone(),
                saved: saved && is_own,
                foreign: !is_own,
            });
        }
    }
    session.trail.append(&mut steps);
    let forgotten = session.trail.len().saturating_sub(REMEMBERED);
    session.trail.drain(..forgotten);
}
