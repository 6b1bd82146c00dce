//! The trail of a session: what became of its documents by each operation, taking back and making again included, for who looks on.

use super::session::{Content, Session};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The steps of so many operations are remembered of each document.
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
    /// What the file held until it was: what others made of it is theirs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over: Content,
    /// Whether it is what somebody else did to the file, which the buffer took over.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub foreign: bool,
}

/// What befell a document in the midst of an operation.
#[derive(Clone, Debug)]
pub(super) enum Moved {
    /// The session changed its buffer.
    Own { from: Content, to: Content },
    /// Its buffer took over what somebody else did to the file.
    Foreign { from: Content, to: Content },
    /// The file was written.
    Saved { over: Content, to: Content },
}

/// The steps of one document, and whether earlier ones may be forgotten.
pub fn of<'s>(session: &'s Session, path: &str) -> (Vec<&'s Step>, bool) {
    let steps: Vec<&Step> = session.trail.iter().filter(|step| step.path == path).collect();
    let operations = steps.chunk_by(|one, other| one.id == other.id).count();
    (steps, operations >= REMEMBERED)
}

/// Adds what befell documents in an operation, in its order. What the session and others did are steps of their own; a save belongs to the
/// session's step that it saves.
pub(super) fn follow(session: &mut Session, moves: Vec<(String, Moved)>, operation: &str, id: &str, now: u64) {
    for (path, moved) in moves {
        let step = |from: Content, to: Content, foreign: bool| Step {
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
        // What was noticed between two operations.
        if let Some(noticed) = last.map(|at| session.trail[at].to.clone()).filter(|noticed| *noticed != from) {
            session.trail.push(step(noticed, from.clone(), true));
        }
        let own = last.map(|at| &mut session.trail[at]);
        let own = own.filter(|own| own.id == id && !own.foreign && !foreign && own.to == from && !own.saved);
        let saved = over.is_some();
        match own {
            Some(own) => (own.to, own.saved, own.over) = (to, saved, over.flatten()),
            None if saved || from != to => session.trail.push(Step {
                saved,
                over: over.flatten(),
                ..step(from, to, foreign)
            }),
            None => {}
        }
    }
    forget(session);
}

/// Of each document the steps of the last operations stay, each with all of its steps.
fn forget(session: &mut Session) {
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
