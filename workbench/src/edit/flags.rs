//! Flags that follow from a state, and the flags that each state allows.

use super::state::{DocumentState, FileRelation, Mode, Status, WorkflowState};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One flag; its value is its bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Flag {
    /// Several matches wait for a choice.
    SelectionPending = 1,
    /// The buffer has unsaved edits.
    PersistPending = 2,
    /// The file no longer equals the base of the buffer.
    OutOfSync = 4,
    /// The answer does not have the required form.
    SchemaViolation = 8,
    /// Edits are never saved to the file.
    PersistReadOnly = 16,
    /// Another program changed the file at a place that the session edited.
    ExternalConflict = 32,
    /// The log has details of a failure.
    DiagnosticHint = 64,
}

impl Flag {
    /// All flags, in the order of answers.
    pub const ALL: [Self; 7] = [
        Self::SelectionPending,
        Self::PersistPending,
        Self::OutOfSync,
        Self::SchemaViolation,
        Self::PersistReadOnly,
        Self::ExternalConflict,
        Self::DiagnosticHint,
    ];
}

/// The flags of an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Flags {
    /// Sum of their bits.
    pub mask: u32,
    /// Their names, in the order of their bits.
    pub names: Vec<Flag>,
}

impl Flags {
    /// Returns these flags, in any order.
    pub fn from_list(flags: impl IntoIterator<Item = Flag>) -> Self {
        let mask = flags.into_iter().fold(0, |mask, flag| mask | flag as u32);
        Self {
            mask,
            names: Flag::ALL.into_iter().filter(|flag| mask & *flag as u32 != 0).collect(),
        }
    }

    pub fn with(&self, flag: Flag) -> Self {
        Self::from_list(self.names.iter().copied().chain([flag]))
    }

    pub fn has(&self, flag: Flag) -> bool {
        self.mask & flag as u32 != 0
    }
}

/// Returns the flags of a state; `logged` when the log has more about a failure.
pub fn flags(state: DocumentState, mode: Mode, status: Status, logged: bool) -> Flags {
    let own: &[Flag] = match state {
        DocumentState::On(FileRelation::Idle) => &[],
        DocumentState::On(FileRelation::PersistPending) => &[Flag::PersistPending],
        DocumentState::On(FileRelation::OutOfSync { conflict: true }) => &[Flag::OutOfSync, Flag::ExternalConflict],
        DocumentState::On(FileRelation::OutOfSync { conflict: false }) => &[Flag::OutOfSync],
        DocumentState::SelectionPending(_) => &[Flag::SelectionPending],
        DocumentState::Refreshing(_) => &[Flag::DiagnosticHint],
    };
    let hint = logged && matches!(status, Status::PersistFailure | Status::ExternalConflict | Status::Exception);
    // The read-only flag is set in every state whose row in the table of states allows it.
    let read_only = mode == Mode::Disabled && !matches!(state.workflow_state(), WorkflowState::OutOfSync | WorkflowState::Refreshing);
    Flags::from_list(
        own.iter()
            .copied()
            .chain(hint.then_some(Flag::DiagnosticHint))
            .chain(read_only.then_some(Flag::PersistReadOnly)),
    )
}

/// Whether flags include those that a state requires and only those that it allows (seed 004 §4.3).
pub fn flags_allowed(state: WorkflowState, flags: &Flags) -> bool {
    let (must, may): (&[Flag], &[Flag]) = match state {
        WorkflowState::Idle => (&[], &[Flag::PersistReadOnly, Flag::DiagnosticHint]),
        WorkflowState::SelectionPending => (&[Flag::SelectionPending], &[Flag::PersistReadOnly, Flag::DiagnosticHint]),
        WorkflowState::PersistPending => (&[Flag::PersistPending], &[Flag::PersistReadOnly, Flag::DiagnosticHint]),
        WorkflowState::OutOfSync => (&[Flag::OutOfSync], &[Flag::ExternalConflict, Flag::DiagnosticHint]),
        WorkflowState::Refreshing => (&[Flag::DiagnosticHint], &[]),
    };
    // A schema violation is allowed in any state.
    let may = |flag: &Flag| must.contains(flag) || may.contains(flag) || *flag == Flag::SchemaViolation;
    must.iter().all(|flag| flags.has(*flag)) && flags.names.iter().all(may)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_of_every_state_fit_it() {
        let relations = [
            FileRelation::Idle,
            FileRelation::PersistPending,
            FileRelation::OutOfSync { conflict: true },
            FileRelation::OutOfSync { conflict: false },
        ];
        let states = relations.iter().flat_map(|relation| {
            [
                DocumentState::On(*relation),
                DocumentState::SelectionPending(*relation),
                DocumentState::Refreshing(*relation),
            ]
        });
        for state in states {
            for mode in [Mode::Immediate, Mode::Manual, Mode::Disabled] {
                for status in [Status::Success, Status::Exception] {
                    for logged in [true, false] {
                        let flags = flags(state, mode, status, logged);
                        assert!(flags_allowed(state.workflow_state(), &flags), "{state:?} {mode:?} {flags:?}");
                        assert!(flags_allowed(state.workflow_state(), &flags.with(Flag::SchemaViolation)));
                        // Only states without flags of their own may share the flags of another state.
                        let own = flags
                            .names
                            .iter()
                            .any(|flag| !matches!(flag, Flag::PersistReadOnly | Flag::DiagnosticHint));
                        assert!(!own || !flags_allowed(WorkflowState::Idle, &flags));
                    }
                }
            }
        }
    }

    #[test]
    fn flags_are_a_mask_and_names() {
        let flags = Flags::from_list([Flag::DiagnosticHint, Flag::PersistPending, Flag::PersistPending]);
        assert_eq!(
            serde_json::to_value(&flags).expect("JSON"),
            serde_json::json!({"mask": 66, "names": ["PersistPending", "DiagnosticHint"]})
        );
        assert!(flags.has(Flag::PersistPending) && !flags.has(Flag::OutOfSync));
    }
}
