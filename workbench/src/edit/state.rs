//! States of an edited document, and the one transition function: (state, event) → (state, status, effects). It accesses neither disk nor text; the
//! caller carries out the effects and reports their results as further events.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// When edits are saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// At once.
    Immediate,
    /// By `commit`.
    Manual,
    /// Never: the buffer is for trying things out.
    Disabled,
}

/// Relation of buffer and file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileRelation {
    Idle,
    /// The buffer was edited; the file equals its base.
    PersistPending,
    /// The file no longer equals the buffer's base.
    OutOfSync {
        /// Whether another program changed an edited place; otherwise the file cannot be read.
        conflict: bool,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DocumentState {
    On(FileRelation),
    /// A choice between several matches is pending; the buffer is unchanged.
    SelectionPending(FileRelation),
    /// The file is being read; no write is allowed.
    Refreshing(FileRelation),
}

/// State of a document, as reported in answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum WorkflowState {
    /// Buffer and file are equal, and nothing is pending.
    Idle,
    /// Several matches wait for a choice.
    SelectionPending,
    /// The buffer has unsaved edits.
    PersistPending,
    /// The file no longer equals the base of the buffer.
    OutOfSync,
    /// The file is being read.
    Refreshing,
}

/// Result of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Status {
    /// The operation succeeded.
    Success,
    /// The text occurs nowhere, or there is no edit to undo.
    NoMatch,
    /// The text occurs in several places.
    MultiMatch,
    /// There was nothing to do.
    NoOp,
    /// It was done in the buffer, and could not be saved; or not done at all, because what it needs cannot be kept.
    PersistFailure,
    /// Another program changed the file at a place that the session edited.
    ExternalConflict,
    /// The operation failed, or is not allowed now.
    Exception,
}

/// An event of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The buffer has a new text.
    Edited {
        /// Whether the new text differs from the buffer's base.
        differs: bool,
    },
    /// The text to replace occurs in several places.
    Several,
    /// The text to replace occurs nowhere.
    Nowhere,
    /// The operation had no effect.
    Nothing,
    /// A selection no longer matches the buffer.
    Stale,
    Saved,
    /// The buffer could not be saved; the file is unchanged.
    Unsaved,
    /// The buffer was not saved, because the file no longer equals its base.
    Moved,
    /// The edits, or the selection, are discarded.
    Discarded,
    /// The file was found to differ from the buffer's base, outside a refresh.
    Outside(Reread),
    /// A reread of the file begins.
    RefreshBegun,
    Refreshed(Reread),
    /// The file cannot be read as text.
    Unread,
    /// The operation is refused, for another reason or because of the state.
    Refused,
}

/// Result of rereading the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reread {
    /// The file equals the buffer's base.
    Same {
        /// Whether the buffer differs from its base.
        differs: bool,
    },
    /// The buffer took over the file's text.
    Taken,
    /// The edits were carried to the new text: the foreign write left their places unchanged.
    Carried,
    /// Both sides changed the same place.
    Conflict,
}

/// Effect for the caller to carry out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Write the buffer to the file.
    Save,
    /// Drop the candidates; their numbers are invalid.
    ForgetSelection,
}

/// Result of a transition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transition {
    /// The state after the transition.
    pub state: DocumentState,
    /// Status of the operation after this event.
    pub status: Status,
    /// Effects to carry out, in order.
    pub effects: Vec<Effect>,
}

impl DocumentState {
    /// Returns the state as reported in answers.
    pub fn workflow_state(self) -> WorkflowState {
        match self {
            Self::On(FileRelation::Idle) => WorkflowState::Idle,
            Self::On(FileRelation::PersistPending) => WorkflowState::PersistPending,
            Self::On(FileRelation::OutOfSync { .. }) => WorkflowState::OutOfSync,
            Self::SelectionPending(_) => WorkflowState::SelectionPending,
            Self::Refreshing(_) => WorkflowState::Refreshing,
        }
    }

    /// Returns the relation of buffer and file.
    pub fn file_relation(self) -> FileRelation {
        match self {
            Self::On(relation) | Self::SelectionPending(relation) | Self::Refreshing(relation) => relation,
        }
    }
}

impl fmt::Display for WorkflowState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

pub fn transition(state: DocumentState, mode: Mode, event: Event) -> Transition {
    let to = |state: DocumentState, status: Status, effects: &[Effect]| Transition {
        state,
        status,
        effects: effects.to_vec(),
    };
    let on = |relation: FileRelation, status: Status, effects: &[Effect]| to(DocumentState::On(relation), status, effects);
    let conflict = FileRelation::OutOfSync { conflict: true };
    let forget = &[Effect::ForgetSelection];
    match (state, event) {
        // While the file is being read, no other event is allowed.
        (DocumentState::Refreshing(_), Event::Refreshed(found)) => match found {
            Reread::Same { differs: false } => on(FileRelation::Idle, Status::NoOp, &[]),
            Reread::Same { differs: true } => on(FileRelation::PersistPending, Status::NoOp, &[]),
            Reread::Taken => on(FileRelation::Idle, Status::Success, &[]),
            Reread::Carried => on(FileRelation::PersistPending, Status::Success, &[]),
            Reread::Conflict => on(conflict, Status::ExternalConflict, &[]),
        },
        (DocumentState::Refreshing(_), Event::Unread) => on(FileRelation::OutOfSync { conflict: false }, Status::Exception, &[]),
        (DocumentState::Refreshing(_), _) => to(state, Status::Exception, &[]),
        (_, Event::RefreshBegun) => to(DocumentState::Refreshing(state.file_relation()), Status::Success, forget),
        (_, Event::Refreshed(_)) => to(state, Status::Exception, &[]),
        (_, Event::Unread) => on(FileRelation::OutOfSync { conflict: false }, Status::Exception, forget),

        (_, Event::Edited { differs }) => match (state.file_relation(), mode) {
            (FileRelation::OutOfSync { .. }, _) => on(state.file_relation(), Status::Success, forget),
            (_, _) if !differs => on(FileRelation::Idle, Status::Success, forget),
            // The edit is pending until the file has it.
            (_, Mode::Immediate) => on(
                FileRelation::PersistPending,
                Status::Success,
                &[Effect::ForgetSelection, Effect::Save],
            ),
            (_, Mode::Manual | Mode::Disabled) => on(FileRelation::PersistPending, Status::Success, forget),
        },
        (_, Event::Several) => to(DocumentState::SelectionPending(state.file_relation()), Status::MultiMatch, &[]),
        // A new search replaces the candidates of an older one, whatever its result.
        (_, Event::Nowhere) => on(state.file_relation(), Status::NoMatch, forget),
        (_, Event::Nothing) => on(state.file_relation(), Status::NoOp, forget),
        (_, Event::Refused) => to(state, Status::Exception, &[]),
        (_, Event::Stale) => on(state.file_relation(), Status::Exception, forget),

        (DocumentState::On(FileRelation::PersistPending), Event::Saved) => on(FileRelation::Idle, Status::Success, &[]),
        (DocumentState::On(FileRelation::PersistPending), Event::Unsaved) => on(FileRelation::PersistPending, Status::PersistFailure, &[]),
        (DocumentState::On(FileRelation::PersistPending), Event::Moved) => on(conflict, Status::ExternalConflict, &[]),
        (_, Event::Saved | Event::Unsaved | Event::Moved) => to(state, Status::Exception, &[]),

        // Candidates are dropped first; the edits stay until a second discard.
        (DocumentState::SelectionPending(relation), Event::Discarded) => on(relation, Status::Success, forget),
        (DocumentState::On(FileRelation::Idle), Event::Discarded) => on(FileRelation::Idle, Status::NoOp, &[]),
        (DocumentState::On(_), Event::Discarded) => on(FileRelation::Idle, Status::Success, &[]),

        (_, Event::Outside(found)) => match found {
            Reread::Same { .. } => to(state, Status::Success, &[]),
            Reread::Taken => on(FileRelation::Idle, Status::Success, forget),
            Reread::Carried => on(FileRelation::PersistPending, Status::Success, forget),
            Reread::Conflict => on(conflict, Status::ExternalConflict, forget),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDLE: DocumentState = DocumentState::On(FileRelation::Idle);
    const PENDING: DocumentState = DocumentState::On(FileRelation::PersistPending);
    const OUT: DocumentState = DocumentState::On(FileRelation::OutOfSync { conflict: true });
    const DEAF: DocumentState = DocumentState::On(FileRelation::OutOfSync { conflict: false });
    const CHOOSING: DocumentState = DocumentState::SelectionPending(FileRelation::Idle);
    const CHOOSING_MORE: DocumentState = DocumentState::SelectionPending(FileRelation::PersistPending);
    const READING: DocumentState = DocumentState::Refreshing(FileRelation::Idle);
    const ALL: [DocumentState; 7] = [IDLE, PENDING, OUT, DEAF, CHOOSING, CHOOSING_MORE, READING];
    const EDITED: Event = Event::Edited { differs: true };

    /// Applies an event and, as the caller does, a successful save if the effects demand one.
    fn ran(state: DocumentState, mode: Mode, event: Event) -> (DocumentState, Status) {
        let done = transition(state, mode, event);
        match done.effects.contains(&Effect::Save) {
            true => {
                let saved = transition(done.state, mode, Event::Saved);
                assert_eq!(saved.effects, []);
                (saved.state, saved.status)
            }
            false => (done.state, done.status),
        }
    }

    #[test]
    fn the_contract_of_transitions() {
        use Mode::{Disabled, Immediate, Manual};
        let table = [
            // One match, chosen or unique.
            (IDLE, Immediate, EDITED, Status::Success, IDLE),
            (PENDING, Immediate, EDITED, Status::Success, IDLE),
            (IDLE, Manual, EDITED, Status::Success, PENDING),
            (PENDING, Manual, EDITED, Status::Success, PENDING),
            (IDLE, Disabled, EDITED, Status::Success, PENDING),
            (CHOOSING, Immediate, EDITED, Status::Success, IDLE),
            (CHOOSING, Manual, EDITED, Status::Success, PENDING),
            (CHOOSING_MORE, Manual, EDITED, Status::Success, PENDING),
            (OUT, Manual, EDITED, Status::Success, OUT),
            (OUT, Immediate, EDITED, Status::Success, OUT),
            (
                DocumentState::SelectionPending(OUT.file_relation()),
                Manual,
                EDITED,
                Status::Success,
                OUT,
            ),
            // An edit that reverts the last one.
            (PENDING, Manual, Event::Edited { differs: false }, Status::Success, IDLE),
            // Saving.
            (PENDING, Manual, Event::Saved, Status::Success, IDLE),
            (PENDING, Manual, Event::Unsaved, Status::PersistFailure, PENDING),
            (PENDING, Immediate, Event::Unsaved, Status::PersistFailure, PENDING),
            (PENDING, Manual, Event::Moved, Status::ExternalConflict, OUT),
            // Discarding.
            (IDLE, Manual, Event::Discarded, Status::NoOp, IDLE),
            (PENDING, Manual, Event::Discarded, Status::Success, IDLE),
            (OUT, Manual, Event::Discarded, Status::Success, IDLE),
            (CHOOSING, Manual, Event::Discarded, Status::Success, IDLE),
            (CHOOSING_MORE, Manual, Event::Discarded, Status::Success, PENDING),
            // Foreign writes.
            (IDLE, Manual, Event::Outside(Reread::Taken), Status::Success, IDLE),
            (PENDING, Manual, Event::Outside(Reread::Carried), Status::Success, PENDING),
            (PENDING, Manual, Event::Outside(Reread::Conflict), Status::ExternalConflict, OUT),
            (
                CHOOSING_MORE,
                Manual,
                Event::Outside(Reread::Conflict),
                Status::ExternalConflict,
                OUT,
            ),
            (CHOOSING, Manual, Event::Outside(Reread::Taken), Status::Success, IDLE),
            (PENDING, Manual, Event::Unread, Status::Exception, DEAF),
            // Rereading.
            (
                READING,
                Manual,
                Event::Refreshed(Reread::Same { differs: false }),
                Status::NoOp,
                IDLE,
            ),
            (
                READING,
                Manual,
                Event::Refreshed(Reread::Same { differs: true }),
                Status::NoOp,
                PENDING,
            ),
            (READING, Manual, Event::Refreshed(Reread::Taken), Status::Success, IDLE),
            (READING, Manual, Event::Refreshed(Reread::Carried), Status::Success, PENDING),
            (READING, Manual, Event::Refreshed(Reread::Conflict), Status::ExternalConflict, OUT),
            (READING, Manual, Event::Unread, Status::Exception, DEAF),
        ];
        for (state, mode, event, status, after) in table {
            assert_eq!(ran(state, mode, event), (after, status), "{state:?} {mode:?} {event:?}");
        }
        for mode in [Immediate, Manual, Disabled] {
            for state in ALL.into_iter().filter(|state| *state != READING) {
                // Several matches, from any state: pending edits stay pending.
                assert_eq!(
                    ran(state, mode, Event::Several),
                    (DocumentState::SelectionPending(state.file_relation()), Status::MultiMatch)
                );
                assert_eq!(
                    ran(state, mode, Event::RefreshBegun).0,
                    DocumentState::Refreshing(state.file_relation())
                );
                assert_eq!(ran(state, mode, Event::Refused), (state, Status::Exception));
                // A failed new search drops the older candidates, and nothing else.
                for (event, status) in [
                    (Event::Nowhere, Status::NoMatch),
                    (Event::Nothing, Status::NoOp),
                    (Event::Stale, Status::Exception),
                ] {
                    assert_eq!(ran(state, mode, event), (DocumentState::On(state.file_relation()), status));
                }
            }
        }
    }

    #[test]
    fn nothing_is_saved_that_may_not_be() {
        for state in ALL {
            for event in [
                EDITED,
                Event::Several,
                Event::Discarded,
                Event::RefreshBegun,
                Event::Outside(Reread::Carried),
            ] {
                let saves = |mode| transition(state, mode, event).effects.contains(&Effect::Save);
                assert!(!saves(Mode::Manual) && !saves(Mode::Disabled));
                let is_in_step = !matches!(state.file_relation(), FileRelation::OutOfSync { .. }) && state != READING;
                assert_eq!(saves(Mode::Immediate), event == EDITED && is_in_step, "{state:?} {event:?}");
            }
        }
    }

    #[test]
    fn selections_die_with_their_text_and_by_a_new_search() {
        for state in ALL.into_iter().filter(|state| *state != READING) {
            for event in [
                EDITED,
                Event::Nowhere,
                Event::Nothing,
                Event::Stale,
                Event::RefreshBegun,
                Event::Outside(Reread::Taken),
                Event::Outside(Reread::Carried),
            ] {
                let done = transition(state, Mode::Manual, event);
                assert!(done.effects.contains(&Effect::ForgetSelection), "{state:?} {event:?}");
                assert!(!matches!(done.state, DocumentState::SelectionPending(_)));
            }
        }
    }

    #[test]
    fn while_a_file_is_read_everything_waits() {
        for event in [
            EDITED,
            Event::Several,
            Event::Saved,
            Event::Discarded,
            Event::RefreshBegun,
            Event::Outside(Reread::Taken),
        ] {
            assert_eq!(
                transition(READING, Mode::Immediate, event),
                Transition {
                    state: READING,
                    status: Status::Exception,
                    effects: vec![]
                }
            );
        }
    }
}
