//! Trail of a session: the change of its documents by each operation, including undo and redo, and its failed tries, for a live view.

use super::contents::Content;
use super::files::Files;
use super::run::EditRun;
use super::session::EditSession;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Most operations per document whose steps are remembered.
const REMEMBERED: usize = 32;
/// Most failed operations of a session that are remembered.
const FAILED: usize = 20;

/// Change of a document by an operation, or its failed try.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrailStep {
    /// The operation.
    pub operation: String,
    /// Identifier of the operation in the log: the session's handle and a number.
    pub id: String,
    /// Time, in seconds.
    pub at: u64,
    /// Order among the operations of all sessions.
    #[serde(default)]
    pub turn: u64,
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
    /// Reason why the operation failed, as a sentence, if it did; the buffer is then unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
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
    /// The operation failed, and left the buffer with this content.
    Failed { text: Content, why: String },
}

/// Returns the steps of one document, and whether earlier ones may be forgotten.
pub fn steps_of_document<'s>(session: &'s EditSession, path: &str) -> (Vec<&'s TrailStep>, bool) {
    let steps: Vec<&TrailStep> = session.trail.iter().filter(|step| step.path == path).collect();
    let changes: Vec<&&TrailStep> = steps.iter().filter(|step| step.failed.is_none()).collect();
    let operations = changes.chunk_by(|one, other| one.id == other.id).count();
    (steps, operations >= REMEMBERED)
}

impl<F: Files> EditRun<'_, F> {
    /// Adds the events of the operation to the trail in their order. Session edits and foreign writes are separate steps; a save belongs to the
    /// session's step that it saves.
    pub(super) fn follow(&mut self, operation: &str) {
        let (id, moves) = (self.id(), std::mem::take(&mut self.moves));
        let trail = &mut self.session.trail;
        for (path, moved) in moves {
            let step = |from: Content, to: Content, foreign: bool| TrailStep {
                operation: operation.to_owned(),
                id: id.clone(),
                at: self.now,
                turn: self.turn,
                path: path.clone(),
                from,
                to,
                saved: false,
                over: None,
                foreign,
                failed: None,
            };
            let last = trail.iter().rposition(|step| step.path == path);
            let (from, to, foreign, over, failed) = match moved {
                Moved::Own { from, to } => (from, to, false, None, None),
                Moved::Foreign { from, to } => (from, to, true, None, None),
                Moved::Saved { over, to } => (to.clone(), to, false, Some(over), None),
                Moved::Failed { text, why } => (text.clone(), text, false, None, Some(why)),
            };
            // A foreign write detected between two operations.
            if let Some(noticed) = last.map(|at| trail[at].to.clone()).filter(|noticed| *noticed != from) {
                trail.push(step(noticed, from.clone(), true));
            }
            let own = last.map(|at| &mut trail[at]).filter(|_| failed.is_none());
            let own = own.filter(|own| own.id == id && !own.foreign && !foreign && own.to == from && !own.saved);
            let saved = over.is_some();
            match own {
                Some(own) => (own.to, own.saved, own.over) = (to, saved, over.flatten()),
                None if saved || failed.is_some() || from != to => trail.push(TrailStep {
                    saved,
                    over: over.flatten(),
                    failed,
                    ..step(from, to, foreign)
                }),
                None => {}
            }
        }
        forget(trail);
    }
}

/// Keeps the steps of each document's last operations, complete for each operation, and the last failed tries among them.
fn forget(trail: &mut Vec<TrailStep>) {
    let mut operations: BTreeMap<String, (usize, String)> = BTreeMap::new();
    let mut failures = 0;
    trail.reverse();
    trail.retain(|step| {
        let (count, last) = operations.entry(step.path.clone()).or_default();
        if step.failed.is_some() {
            failures += 1;
            return failures <= FAILED && *count <= REMEMBERED;
        }
        if *last != step.id {
            *count += 1;
            last.clone_from(&step.id);
        }
        *count <= REMEMBERED
    });
    trail.reverse();
}
