//! Operations that a document allows in each state. The list of tools never varies: a blocked operation answers with the allowed ones.

use super::state::{Mode, WorkflowState};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An operation on a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Tool {
    /// Replace a text.
    Replace,
    /// Replace one of several matches.
    ReplaceSelection,
    /// Show more candidates.
    Candidates,
    /// Insert a text after another one.
    Append,
    /// Replace a type or a member by a text.
    ReplaceSymbol,
    /// Insert a text before a type or a member.
    InsertBefore,
    /// Insert a text after a type or a member.
    InsertAfter,
    /// Apply a patch.
    Patch,
    /// Apply several replacements.
    Batch,
    /// Create a file.
    Create,
    /// Replace the whole text of a file, or create it.
    Write,
    /// Save the edits.
    Commit,
    /// Drop unsaved edits, or a selection.
    Discard,
    /// Reread the file.
    Refresh,
    /// Show the differences between buffer and file.
    Diff,
    /// Undo the last edit.
    Undo,
    /// Redo the edit that was undone last.
    Redo,
    /// Save the buffer under another name.
    PersistAs,
    /// End the session.
    Close,
}

/// All operations with their names, in the order of answers.
const TOOLS: [(Tool, &str); 19] = [
    (Tool::Replace, "replace"),
    (Tool::ReplaceSelection, "replace_selection"),
    (Tool::Candidates, "candidates"),
    (Tool::Append, "append"),
    (Tool::ReplaceSymbol, "replace_symbol"),
    (Tool::InsertBefore, "insert_before"),
    (Tool::InsertAfter, "insert_after"),
    (Tool::Patch, "patch"),
    (Tool::Batch, "batch"),
    (Tool::Create, "create"),
    (Tool::Write, "write"),
    (Tool::Commit, "commit"),
    (Tool::Discard, "discard"),
    (Tool::Refresh, "refresh"),
    (Tool::Diff, "diff"),
    (Tool::Undo, "undo"),
    (Tool::Redo, "redo"),
    (Tool::PersistAs, "persist_as"),
    (Tool::Close, "close"),
];

impl Tool {
    /// Returns the operation's name.
    pub fn name(self) -> &'static str {
        TOOLS[self as usize].1
    }
}

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
        (_, Append | ReplaceSymbol | InsertBefore | InsertAfter | Patch | Batch | Create | Write | Undo | Redo) => {
            matches!(state, Idle | PersistPending)
        }
        // Closing would lose unsaved edits.
        (_, Close) => matches!(state, Idle | SelectionPending),
        // An edit that cannot be saved to its own file can be saved to another.
        (_, PersistAs) => state != SelectionPending && mode != Mode::Disabled,
    }
}

/// Returns the operations that a state allows.
pub fn tools_allowed_in(state: WorkflowState, mode: Mode) -> Vec<Tool> {
    let allowed = TOOLS.iter().filter(|(tool, _)| allows(state, mode, *tool));
    allowed.map(|(tool, _)| *tool).collect()
}

/// Returns the operations that a text names between backticks.
#[cfg(test)]
pub(super) fn tools_in_text(text: &str) -> Vec<Tool> {
    let of_word = |word: &str| TOOLS.iter().find(|(_, name)| *name == word).map(|(tool, _)| *tool);
    text.split('`').skip(1).step_by(2).filter_map(of_word).collect()
}

#[cfg(test)]
mod tests {
    use super::super::guidance::by_state;
    use super::*;

    /// Seed 004 §7.2 row by row: replace, replace_selection, append, commit, discard, refresh, diff; then this program's own operations.
    #[test]
    fn the_matrix() {
        use Tool::*;
        let columns = [
            Replace, ReplaceSelection, Append, Commit, Discard, Refresh, Diff, Undo, Redo, PersistAs, Candidates, Close, ReplaceSymbol,
            InsertBefore, InsertAfter, Patch, Batch, Create, Write,
        ];
        let line = |state, mode| -> String {
            columns
                .iter()
                .map(|tool| if allows(state, mode, *tool) { 'Y' } else { '-' })
                .collect()
        };
        use Mode::{Disabled, Immediate, Manual};
        use WorkflowState::{Idle, OutOfSync, PersistPending, Refreshing, SelectionPending};
        assert_eq!(line(Idle, Manual), "Y-YYYY-YYY-YYYYYYYY");
        assert_eq!(line(Idle, Immediate), "Y-Y-YY-YYY-YYYYYYYY");
        assert_eq!(line(Idle, Disabled), "Y-Y-YY-YY--YYYYYYYY");
        assert_eq!(line(SelectionPending, Manual), "YY--YYY---YY-------");
        assert_eq!(line(PersistPending, Manual), "Y-YYYYYYYY--YYYYYYY");
        assert_eq!(line(PersistPending, Disabled), "Y-Y-YYYYY---YYYYYYY");
        // An edit whose immediate save failed can be saved later.
        assert_eq!(line(PersistPending, Immediate), "Y-YYYYYYYY--YYYYYYY");
        assert_eq!(line(OutOfSync, Manual), "Y---YYY--Y---------");
        for mode in [Immediate, Manual, Disabled] {
            assert_eq!(line(Refreshing, mode), "-------------------");
        }
        assert_eq!(columns.len(), TOOLS.len());
    }

    #[test]
    fn tools_that_the_guidance_names_are_allowed() {
        use WorkflowState::{Idle, OutOfSync, PersistPending, Refreshing, SelectionPending};
        for mode in [Mode::Immediate, Mode::Manual, Mode::Disabled] {
            for state in [Idle, SelectionPending, PersistPending, OutOfSync, Refreshing] {
                let found = tools_in_text(&by_state(state, mode).unwrap_or_default());
                assert!(found.iter().all(|tool| allows(state, mode, *tool)), "{state} {mode:?}: {found:?}");
                assert_eq!(found.is_empty(), matches!(state, Idle | Refreshing), "{state} {mode:?}");
            }
        }
        assert_eq!(tools_in_text("call `undo`, `create` or `old_text`"), [Tool::Undo, Tool::Create]);
    }

    #[test]
    fn names_are_those_of_the_protocol() {
        for (tool, name) in TOOLS {
            assert_eq!(serde_json::to_value(tool).expect("JSON"), name);
            assert_eq!(tool.name(), name);
        }
    }
}
