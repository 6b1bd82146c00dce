//! Trail of a session: the change of its documents by each operation, including undo and redo, for a live view.

use super::session::{Content, EditSession};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Most operations per document whose steps are remembered.
const REMEMBERED: usize = 32;

/// Change of a document by an operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrailStep {
    /// The operation.
    pub operation: String,
    /// Identifier of the operation in the log: the session's handle and a number.
    pub id: String,
    /// Time, in seconds.
    pub at: u64,
    /// Path of the document.
    pub path: String,
    /// Content of the buffer before.
    pub from: Content,
    /// Content of the buffer after.
    pub to: Content,
    /// Whether the step's content was saved to the file.
    pub saved: bool,
    /// Content of the file before that save; other programs' changes in it are not the session's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over: Content,
    /// Whether the step is a foreign write that the buffer took over.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub foreign: bool,
}

/// Event of a document during an operation.
#[derive(Clone, Debug)]
pub(super) enum Moved {
    /// The session changed its buffer.
    Own { from: Content, to: Content },
    /// The buffer took over a foreign write.
    Foreign { from: Content, to: Content },
    /// The file was written.
    Saved { over: Content, to: Content },
}

/// Returns the steps of one document, and whether earlier ones may be forgotten.
pub fn steps_of_document<'s>(session: &'s EditSession, path: &str) -> (Vec<&'s TrailStep>, bool) {
    let steps: Vec<&TrailStep> = session.trail.iter().filter(|step| step.path == path).collect();
    let operations = steps.chunk_by(|one, other| one.id == other.id).count();
    (steps, operations >= REMEMBERED)
}

/// Adds the events of an operation in their order. Session edits and foreign writes are separate steps; a save belongs to the session's step that it
/// saves.
pub(super) fn follow(session: &mut EditSession, moves: Vec<(String, Moved)>, operation: &str, id: &str, now: u64) {
    for (path, moved) in moves {
        let step = |from: Content, to: Content, foreign: bool| TrailStep {
            operation: operation.to_owned(),
            id: id.to_owned(),
            at: now,
            path: path.clone(),
            from,
            to,
            saved: false,
            over: None,
            foreign,
        };
        let last = session.trail.iter().rposition(|step| step.path == path);
        let (from, to, foreign, over) = match moved {
            Moved::Own { from, to } => (from, to, false, None),
            Moved::Foreign { from, to } => (from, to, true, None),
            Moved::Saved { over, to } => (to.clone(), to, false, Some(over)),
        };
        // A foreign write detected between two operations.
        if let Some(noticed) = last.map(|at| session.trail[at].to.clone()).filter(|noticed| *noticed != from) {
            session.trail.push(step(noticed, from.clone(), true));
        }
        let own = last.map(|at| &mut session.trail[at]);
        let own = own.filter(|own| own.id == id && !own.foreign && !foreign && own.to == from && !own.saved);
        let saved = over.is_some();
        match own {
            Some(own) => (own.to, own.saved, own.over) = (to, saved, over.flatten()),
            None if saved || from != to => session.trail.push(TrailStep {
                saved,
                over: over.flatten(),
                ..step(from, to, foreign)
            }),
            None => {}
        }
    }
    forget(session);
}

/// Keeps the steps of each document's last operations, complete for each operation.
fn forget(session: &mut EditSession) {
    let mut operations: BTreeMap<String, (usize, String)> = BTreeMap::new();
    session.trail.reverse();
    session.trail.retain(|step| {
        let (count, last) = operations.entry(step.path.clone()).or_default();
        if *last != step.id {
            *count += 1;
            last.clone_from(&step.id);
        }
        *count <= REMEMBERED
    });
    session.trail.reverse();
}
