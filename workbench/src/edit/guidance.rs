//! Guidance texts: the next step from a state, and the fallback.

use super::session::ENDS;
use super::state::{DocumentState, FileRelation, Mode, WorkflowState};

/// Returns the next step from an internal state.
pub(super) fn on(state: DocumentState, mode: Mode) -> Option<String> {
    let words = match (state, mode) {
        (DocumentState::On(FileRelation::OutOfSync { conflict: false }), Mode::Disabled) => "fix the file, then call `refresh`",
        (DocumentState::On(FileRelation::OutOfSync { conflict: false }), _) => {
            "fix the file, then call `refresh`; `persist_as` saves the buffer under another path"
        }
        _ => return by_state(state.workflow_state(), mode),
    };
    Some(words.to_owned())
}

/// Returns the next step from a reported state.
pub(super) fn by_state(state: WorkflowState, mode: Mode) -> Option<String> {
    let words = match (state, mode) {
        (WorkflowState::SelectionPending, _) => {
            "call `replace_selection` with selectionId, the number of a candidate, or `replace` with a longer oldText"
        }
        (WorkflowState::PersistPending, Mode::Disabled) => "call `diff` to see the edits, or `discard` to drop them",
        (WorkflowState::PersistPending, _) => "call `commit` to save, or `discard` to drop the edits",
        (WorkflowState::OutOfSync, Mode::Disabled) => {
            "call `diff` to see both sides, then `refresh` for the file's text; yours can be had back then"
        }
        (WorkflowState::OutOfSync, _) => {
            "call `diff` to see both sides, then `refresh` for the file's text (yours can be had back then), or `persist_as` to save yours elsewhere"
        }
        (WorkflowState::Refreshing, _) => "the file is being read: ask again",
        (WorkflowState::Idle, _) => return None,
    };
    Some(words.to_owned())
}

/// Returns the next step after an answer that shows both sides of a conflict.
pub(super) fn both_seen(state: DocumentState, mode: Mode) -> Option<String> {
    let words = match (state, mode) {
        (DocumentState::On(FileRelation::OutOfSync { conflict: true }), Mode::Disabled) => {
            "`refresh` takes the file's text (yours can be had back then)"
        }
        (DocumentState::On(FileRelation::OutOfSync { conflict: true }), _) => {
            "`refresh` takes the file's text (yours can be had back then); `persist_as` saves yours elsewhere"
        }
        _ => return None,
    };
    Some(words.to_owned())
}

/// Extends the guidance of a session that was created for one edit.
pub(super) fn with_handle(guidance: Option<String>, can_undo: bool) -> String {
    let undo = can_undo.then(|| "`undo` in this session reverts it".to_owned());
    let ways = [guidance, undo, Some(ENDS.to_owned())];
    ways.into_iter().flatten().collect::<Vec<_>>().join("; ")
}
