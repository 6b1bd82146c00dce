//! The states of an edited document and the one function that makes every transition: (state, event) → (state, status, effects). It knows no
//! disk and no text; whoever runs it carries the effects out and reports how they went as further events.

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

/// How buffer and file stand to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ground {
    /// Both are the same.
    Idle,
    /// The buffer was edited, and the file is what it was made of.
    PersistPending,
    /// The file is not what the buffer was made of any more.
    OutOfSync {
        /// Whether somebody else wrote where the buffer was edited; else the file cannot be read.
        conflict: bool,
    },
}

/// The state of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Nothing is under way.
    On(Ground),
    /// One of several matches is to be chosen; the buffer is as it was.
    SelectionPending(Ground),
    /// The file is being read; nothing may be written.
    Refreshing(Ground),
}

/// A state as it is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum WorkflowState {
    /// Buffer and file are the same, nothing is under way.
    Idle,
    /// Several matches wait for a choice.
    SelectionPending,
    /// The buffer has edits that the file has not.
    PersistPending,
    /// The file is not what the buffer was made of.
    OutOfSync,
    /// The file is being read.
    Refreshing,
}

/// What one operation came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Status {
    /// It was done.
    Success,
    /// The text stands nowhere, or there is no edit to take back.
    NoMatch,
    /// The text stands in several places.
    MultiMatch,
    /// There was nothing to do.
    NoOp,
    /// It was done in the buffer, and could not be saved; or not done at all, because what it needs cannot be kept.
    PersistFailure,
    /// Another program changed the file at a place that the session edited.
    ExternalConflict,
    /// It could not be done, or may not be now.
    Exception,
}

/// What happened to a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The buffer has another text.
    Edited {
        /// Whether it differs from what it was made of.
        differs: bool,
    },
    /// The text to replace stands in several places.
    Several,
    /// It stands nowhere.
    Nowhere,
    /// There was nothing to do.
    Nothing,
    /// A selection does not fit the buffer any more.
    Stale,
    /// The buffer was saved.
    Saved,
    /// It could not be saved; the file is as it was.
    Unsaved,
    /// It was not saved, because the file is not what the buffer was made of.
    Moved,
    /// The edits, or the selection, are not wanted.
    Discarded,
    /// The file was found not to be what the buffer was made of, outside of any refresh.
    Outside(Reread),
    /// The file is to be read anew.
    RefreshBegun,
    /// It was.
    Refreshed(Reread),
    /// It cannot be read as text.
    Unread,
    /// The operation cannot be done for another reason, or may not be in this state.
    Refused,
}

/// What reading the file anew came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reread {
    /// It is what the buffer was made of.
    Same {
        /// Whether the buffer differs from it.
        differs: bool,
    },
    /// The buffer is the file's text now.
    Taken,
    /// The edits stand on the new text: nobody touched their places.
    Carried,
    /// Both changed the same place.
    Conflict,
}

/// What whoever runs it has to carry out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Write the buffer to the file.
    Save,
    /// Numbers of candidates mean nothing any more.
    ForgetSelection,
}

/// What a step came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The state after it.
    pub state: State,
    /// What the operation came to, as far as this event tells.
    pub status: Status,
    /// What is to be carried out, in order.
    pub effects: Vec<Effect>,
}

impl State {
    /// As it is told.
    pub fn workflow_state(self) -> WorkflowState {
        match self {
            Self::On(Ground::Idle) => WorkflowState::Idle,
            Self::On(Ground::PersistPending) => WorkflowState::PersistPending,
            Self::On(Ground::OutOfSync { .. }) => WorkflowState::OutOfSync,
            Self::SelectionPending(_) => WorkflowState::SelectionPending,
            Self::Refreshing(_) => WorkflowState::Refreshing,
        }
    }

    /// How buffer and file stand to each other.
    pub fn ground(self) -> Ground {
        match self {
            Self::On(ground) | Self::SelectionPending(ground) | Self::Refreshing(ground) => ground,
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

/// The one transition.
pub fn transition(state: State, mode: Mode, event: Event) -> Step {
    let to = |state: State, status: Status, effects: &[Effect]| Step {
        state,
        status,
        effects: effects.to_vec(),
    };
    let on = |ground: Ground, status: Status, effects: &[Effect]| to(State::On(ground), status, effects);
    let conflict = Ground::OutOfSync { conflict: true };
    let forget = &[Effect::ForgetSelection];
    match (state, event) {
        // While the file is being read nothing else happens.
        (State::Refreshing(_), Event::Refreshed(found)) => match found {
            Reread::Same { differs: false } => on(Ground::Idle, Status::NoOp, &[]),
            Reread::Same { differs: true } => on(Ground::PersistPending, Status::NoOp, &[]),
            Reread::Taken => on(Ground::Idle, Status::Success, &[]),
            Reread::Carried => on(Ground::PersistPending, Status::Success, &[]),
            Reread::Conflict => on(conflict, Status::ExternalConflict, &[]),
        },
        (State::Refreshing(_), Event::Unread) => on(Ground::OutOfSync { conflict: false }, Status::Exception, &[]),
        (State::Refreshing(_), _) => to(state, Status::Exception, &[]),
        (_, Event::RefreshBegun) => to(State::Refreshing(state.ground()), Status::Success, forget),
        (_, Event::Refreshed(_)) => to(state, Status::Exception, &[]),
        (_, Event::Unread) => on(Ground::OutOfSync { conflict: false }, Status::Exception, forget),

        (_, Event::Edited { differs }) => match (state.ground(), mode) {
            (Ground::OutOfSync { .. }, _) => on(state.ground(), Status::Success, forget),
            (_, _) if !differs => on(Ground::Idle, Status::Success, forget),
            // It is pending until the file has it.
            (_, Mode::Immediate) => on(Ground::PersistPending, Status::Success, &[Effect::ForgetSelection, Effect::Save]),
            (_, Mode::Manual | Mode::Disabled) => on(Ground::PersistPending, Status::Success, forget),
        },
        (_, Event::Several) => to(State::SelectionPending(state.ground()), Status::MultiMatch, &[]),
        // Whatever a new search comes to, it takes the place of what an older one offered.
        (_, Event::Nowhere) => on(state.ground(), Status::NoMatch, forget),
        (_, Event::Nothing) => on(state.ground(), Status::NoOp, forget),
        (_, Event::Refused) => to(state, Status::Exception, &[]),
        (_, Event::Stale) => on(state.ground(), Status::Exception, forget),

        (State::On(Ground::PersistPending), Event::Saved) => on(Ground::Idle, Status::Success, &[]),
        (State::On(Ground::PersistPending), Event::Unsaved) => on(Ground::PersistPending, Status::PersistFailure, &[]),
        (State::On(Ground::PersistPending), Event::Moved) => on(conflict, Status::ExternalConflict, &[]),
        (_, Event::Saved | Event::Unsaved | Event::Moved) => to(state, Status::Exception, &[]),

        // What was offered goes first; the edits stay until they are discarded themselves.
        (State::SelectionPending(ground), Event::Discarded) => on(ground, Status::Success, forget),
        (State::On(Ground::Idle), Event::Discarded) => on(Ground::Idle, Status::NoOp, &[]),
        (State::On(_), Event::Discarded) => on(Ground::Idle, Status::Success, &[]),

        (_, Event::Outside(found)) => match found {
            Reread::Same { .. } => to(state, Status::Success, &[]),
            Reread::Taken => on(Ground::Idle, Status::Success, forget),
            Reread::Carried => on(Ground::PersistPending, Status::Success, forget),
            Reread::Conflict => on(conflict, Status::ExternalConflict, forget),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDLE: State = State::On(Ground::Idle);
    const PENDING: State = State::On(Ground::PersistPending);
    const OUT: State = State::On(Ground::OutOfSync { conflict: true });
    const DEAF: State = State::On(Ground::OutOfSync { conflict: false });
    const CHOOSING: State = State::SelectionPending(Ground::Idle);
    const CHOOSING_MORE: State = State::SelectionPending(Ground::PersistPending);
    const READING: State = State::Refreshing(Ground::Idle);
    const ALL: [State; 7] = [IDLE, PENDING, OUT, DEAF, CHOOSING, CHOOSING_MORE, READING];
    const EDITED: Event = Event::Edited { differs: true };

    /// An event and then, as whoever runs it does, that the save which it asks for went well.
    fn ran(state: State, mode: Mode, event: Event) -> (State, Status) {
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
            // One match, chosen or alone.
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
            (State::SelectionPending(OUT.ground()), Manual, EDITED, Status::Success, OUT),
            // An edit that takes the last one back.
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
            // Somebody else's writes.
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
            // Reading anew.
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
                // Several matches, from anywhere: what was pending stays so.
                assert_eq!(
                    ran(state, mode, Event::Several),
                    (State::SelectionPending(state.ground()), Status::MultiMatch)
                );
                assert_eq!(ran(state, mode, Event::RefreshBegun).0, State::Refreshing(state.ground()));
                assert_eq!(ran(state, mode, Event::Refused), (state, Status::Exception));
                // A new search that comes to nothing drops what was offered before it, and nothing else.
                for (event, status) in [
                    (Event::Nowhere, Status::NoMatch),
                    (Event::Nothing, Status::NoOp),
                    (Event::Stale, Status::Exception),
                ] {
                    assert_eq!(ran(state, mode, event), (State::On(state.ground()), status));
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
                let is_in_step = !matches!(state.ground(), Ground::OutOfSync { .. }) && state != READING;
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
                assert!(!matches!(done.state, State::SelectionPending(_)));
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
                Step {
                    state: READING,
                    status: Status::Exception,
                    effects: vec![]
                }
            );
        }
    }
}
