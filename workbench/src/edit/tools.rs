//! Which operations a document allows in which state. The list of tools never varies: one that is blocked answers with those that are not.

use super::state::{Mode, WorkflowState};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An operation on a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Tool {
    /// Put a text in the place of another.
    Replace,
    /// Put it in the place of one of several.
    ReplaceSelection,
    /// Show more of several.
    Candidates,
    /// Put a text behind another.
    Append,
    /// Edit a type or a member by its name.
    Symbol,
    /// Apply a patch, or several edits.
    Patch,
    /// Save.
    Commit,
    /// Drop edits that are not saved, or a selection.
    Discard,
    /// Read the file anew.
    Refresh,
    /// Show what differs.
    Diff,
    /// Take the last edit back.
    Undo,
    /// Make it again.
    Redo,
    /// Save under another name.
    PersistAs,
}

impl Tool {
    /// All of them, in the order in which they are told.
    pub const ALL: [Self; 13] = [
        Self::Replace,
        Self::ReplaceSelection,
        Self::Candidates,
        Self::Append,
        Self::Symbol,
        Self::Patch,
        Self::Commit,
        Self::Discard,
        Self::Refresh,
        Self::Diff,
        Self::Undo,
        Self::Redo,
        Self::PersistAs,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Replace => "replace",
            Self::ReplaceSelection => "replace_selection",
            Self::Candidates => "candidates",
            Self::Append => "append",
            Self::Symbol => "symbol",
            Self::Patch => "patch",
            Self::Commit => "commit",
            Self::Discard => "discard",
            Self::Refresh => "refresh",
            Self::Diff => "diff",
            Self::Undo => "undo",
            Self::Redo => "redo",
            Self::PersistAs => "persist_as",
        }
    }
}

/// Whether a state allows it.
pub fn allows(state: WorkflowState, mode: Mode, tool: Tool) -> bool {
    use Tool::*;
    use WorkflowState::*;
    match (state, tool) {
        (Refreshing, _) => false,
        (_, Commit) => {
            matches!(state, Idle | PersistPending) && (mode == Mode::Manual || mode == Mode::Immediate && state == PersistPending)
        }
        (_, Replace | Discard | Refresh) => true,
        (_, ReplaceSelection | Candidates) => state == SelectionPending,
        (_, Diff) => state != Idle,
        (_, Append | Symbol | Patch | Undo | Redo) => matches!(state, Idle | PersistPending),
        // What cannot be saved where it belongs can be saved elsewhere.
        (_, PersistAs) => state != SelectionPending && mode != Mode::Disabled,
    }
}

/// Those that it allows.
pub fn allowed(state: WorkflowState, mode: Mode) -> Vec<Tool> {
    Tool::ALL.into_iter().filter(|tool| allows(state, mode, *tool)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seed 004 §7.2 line by line: replace, replace_selection, append, commit, discard, refresh, diff; then what is of this program.
    #[test]
    fn the_matrix() {
        use Tool::*;
        let columns = [
            Replace,
            ReplaceSelection,
            Append,
            Commit,
            Discard,
            Refresh,
            Diff,
            Undo,
            Redo,
            PersistAs,
            Candidates,
            Symbol,
            Patch,
        ];
        let line = |state, mode| -> String {
            columns
                .iter()
                .map(|tool| if allows(state, mode, *tool) { 'Y' } else { '-' })
                .collect()
        };
        use Mode::{Disabled, Immediate, Manual};
        use WorkflowState::{Idle, OutOfSync, PersistPending, Refreshing, SelectionPending};
        assert_eq!(line(Idle, Manual), "Y-YYYY-YYY-YY");
        assert_eq!(line(Idle, Immediate), "Y-Y-YY-YYY-YY");
        assert_eq!(line(Idle, Disabled), "Y-Y-YY-YY--YY");
        assert_eq!(line(SelectionPending, Manual), "YY--YYY---Y--");
        assert_eq!(line(PersistPending, Manual), "Y-YYYYYYYY-YY");
        assert_eq!(line(PersistPending, Disabled), "Y-Y-YYYYY--YY");
        // An edit that could not be saved at once can be saved later.
        assert_eq!(line(PersistPending, Immediate), "Y-YYYYYYYY-YY");
        assert_eq!(line(OutOfSync, Manual), "Y---YYY--Y---");
        for mode in [Immediate, Manual, Disabled] {
            assert_eq!(line(Refreshing, mode), "-------------");
        }
        assert_eq!(columns.len(), Tool::ALL.len());
    }

    #[test]
    fn names_are_those_of_the_protocol() {
        for tool in Tool::ALL {
            assert_eq!(serde_json::to_value(tool).expect("JSON"), tool.name());
        }
    }
}
