//! The operations of `edit`: their arguments, and an example of each.

use super::edit::{Edit, Op};
use super::reference;
use crate::code::Code;
use crate::failed::Failed;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use serde_json::Value;

/// Name of the positional argument with the file.
pub const PATH: &str = "which";

/// Effect of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationKind {
    /// Writes a given text, which may contain undefined names.
    Text,
    /// Edits files after a check against the whole workspace.
    Workspace,
    /// Acts on a session and its buffers.
    Session,
}

/// An operation, as a command.
pub struct EditOperation {
    pub name: &'static str,
    pub kind: OperationKind,
    pub about: &'static str,
    /// The usage of the command behind its name, for the message about a wrong argument.
    pub form: &'static str,
    /// An example for programs.
    pub json: &'static str,
    pub needs: &'static [&'static str],
    pub takes: &'static [&'static str],
    /// An example, without `cortex edit`.
    pub example: &'static str,
}

/// All operations, in the order of the help and of [`Op`].
pub const OPERATIONS: &[EditOperation] = &[
    EditOperation {
        name: "open",
        kind: OperationKind::Session,
        about: "Begin a session with a file",
        form: "PATH [--mode manual|immediate|disabled]",
        json: r#"{"op": "open", "path": "src/A.cs"}"#,
        needs: &[PATH],
        takes: &["session", "mode", "manifest"],
        example: "open src/Core/Node.cs",
    },
    EditOperation {
        name: "replace",
        kind: OperationKind::Text,
        about: "Replace a text at one place; of several places, list them by number",
        form: "PATH --old-text TEXT|--selector QUERY --new-text TEXT [--all] [--session HANDLE]",
        json: r#"{"op": "replace", "path": "src/A.cs", "oldText": "the present text", "newText": "the new text"}"#,
        needs: &[PATH, "old_text", "new_text"],
        takes: &["selector", "all", "session", "mode", "exact_ends", "manifest", "strict"],
        example: "replace src/Core/Node.cs --old-text 'Value == 0' --new-text 'Value is 0'",
    },
    EditOperation {
        name: "replace_selection",
        kind: OperationKind::Text,
        about: "Choose one of the places that `replace` or `append` listed",
        form: "--session HANDLE --selection-id N [--new-text TEXT]",
        json: r#"{"op": "replace_selection", "session": "HANDLE", "selectionId": 2}"#,
        needs: &["session", "selection_id"],
        takes: &["new_text", "manifest", "strict"],
        example: "replace_selection --session 1a2b3c4d --selection-id 2",
    },
    EditOperation {
        name: "candidates",
        kind: OperationKind::Session,
        about: "List more of the places",
        form: "--session HANDLE [--from N]",
        json: r#"{"op": "candidates", "session": "HANDLE", "from": 6}"#,
        needs: &["session"],
        takes: &["from", "manifest"],
        example: "candidates --session 1a2b3c4d --from 6",
    },
    EditOperation {
        name: "append",
        kind: OperationKind::Text,
        about: "Insert a text after another one, or at the beginning or end of the file",
        form: "PATH --anchor TEXT --new-text TEXT [--session HANDLE]",
        json: r#"{"op": "append", "path": "src/A.cs", "anchor": "the text before", "newText": "the text"}"#,
        needs: &[PATH, "anchor", "new_text"],
        takes: &["session", "mode", "exact_ends", "manifest", "strict"],
        example: "append docs/notes.md --anchor '$' --new-text 'The end.'",
    },
    EditOperation {
        name: "create",
        kind: OperationKind::Text,
        about: "Create a file",
        form: "PATH --new-text TEXT [--session HANDLE]",
        json: r#"{"op": "create", "path": "src/B.cs", "newText": "the text"}"#,
        needs: &[PATH, "new_text"],
        takes: &["session", "mode", "manifest", "strict"],
        example: "create docs/plan.md --new-text '# Plan'",
    },
    EditOperation {
        name: "write",
        kind: OperationKind::Text,
        about: "Replace the whole text of a file, or create it; the answer says which",
        form: "PATH --new-text TEXT [--session HANDLE]",
        json: r#"{"op": "write", "path": "src/A.cs", "newText": "the text"}"#,
        needs: &[PATH, "new_text"],
        takes: &["session", "mode", "exact_ends", "manifest", "strict"],
        example: "write docs/plan.md --file plan.md",
    },
    EditOperation {
        name: "replace_symbol",
        kind: OperationKind::Text,
        about: "Replace a type or a member by a text",
        form: "--symbol NAME --new-text TEXT [--whole] [--session HANDLE] [PATH]",
        json: r#"{"op": "replace_symbol", "symbol": "A#Member", "newText": "the declaration"}"#,
        needs: &["symbol", "new_text"],
        takes: &["whole", "session", "mode", "exact_ends", "strict"],
        example: "replace_symbol --symbol 'Node#IsRoot' --new-text 'public bool IsRoot => Parent is null;'",
    },
    EditOperation {
        name: "insert_before",
        kind: OperationKind::Text,
        about: "Insert a text before a type or a member",
        form: "--symbol NAME --new-text TEXT [--session HANDLE] [PATH]",
        json: r#"{"op": "insert_before", "symbol": "A#Member", "newText": "a declaration"}"#,
        needs: &["symbol", "new_text"],
        takes: &["session", "mode", "exact_ends", "strict"],
        example: "insert_before --symbol 'Node#IsRoot' --new-text '    public bool IsLeaf => Children.Count == 0;'",
    },
    EditOperation {
        name: "insert_after",
        kind: OperationKind::Text,
        about: "Insert a text after a type or a member",
        form: "--symbol NAME --new-text TEXT [--session HANDLE] [PATH]",
        json: r#"{"op": "insert_after", "symbol": "A#Member", "newText": "a declaration"}"#,
        needs: &["symbol", "new_text"],
        takes: &["session", "mode", "exact_ends", "strict"],
        example: "insert_after --symbol 'Node#IsRoot' --file member.cs",
    },
    EditOperation {
        name: "safe_delete",
        kind: OperationKind::Workspace,
        about: "Delete a type or a member that nothing uses, in all its parts; otherwise list its uses",
        form: "--symbol NAME [--dry-run] [--session HANDLE]",
        json: r#"{"op": "safe_delete", "symbol": "A#Member"}"#,
        needs: &["symbol"],
        takes: &["dry_run", "session"],
        example: "safe_delete --symbol 'Node#IsRoot'",
    },
    EditOperation {
        name: "add_using",
        kind: OperationKind::Workspace,
        about: "Add a using directive in its place, unless it exists or would change the meaning of names",
        form: "PATH --new-text NAMESPACE [--dry-run] [--session HANDLE]",
        json: r#"{"op": "add_using", "path": "src/A.cs", "newText": "System.Linq"}"#,
        needs: &[PATH, "new_text"],
        takes: &["dry_run", "session"],
        example: "add_using src/Core/Node.cs --new-text System.Linq",
    },
    EditOperation {
        name: "add_member",
        kind: OperationKind::Workspace,
        about: "Add a member to a type, beside those of its kind, unless its names are undefined or heirs would lack it",
        form: "--symbol TYPE --new-text TEXT [PATH] [--dry-run] [--session HANDLE]",
        json: r#"{"op": "add_member", "symbol": "A", "newText": "the declaration"}"#,
        needs: &["symbol", "new_text"],
        takes: &["dry_run", "session"],
        example: "add_member --symbol Node --new-text 'public bool IsLeaf => Children.Count == 0;'",
    },
    EditOperation {
        name: "change_signature",
        kind: OperationKind::Workspace,
        about: "Add, remove, reorder and rename parameters; callers, overrides, implementations and references follow",
        form: "--symbol METHOD --new-text 'PARAMETER, OLD -> NEW, TYPE NAME = DEFAULT, TYPE NAME := ARGUMENT' [--dry-run] [--session HANDLE]",
        json: r#"{"op": "change_signature", "symbol": "A#Member", "newText": "kept, old -> new, bool deep = false, int depth := 0"}"#,
        needs: &["symbol", "new_text"],
        takes: &["dry_run", "session"],
        example: "change_signature --symbol 'Node#Find' --new-text 'depth, name -> label, bool exact := true'",
    },
    EditOperation {
        name: "move_type",
        kind: OperationKind::Workspace,
        about: "Move a type to a file of its own, with its usings, namespace, documentation and attributes",
        form: "--symbol TYPE [--new-text NEW_PATH] [PATH] [--dry-run] [--session HANDLE]",
        json: r#"{"op": "move_type", "symbol": "A"}"#,
        needs: &["symbol"],
        takes: &["new_text", "dry_run", "session"],
        example: "move_type --symbol Node",
    },
    EditOperation {
        name: "extract_interface",
        kind: OperationKind::Workspace,
        about: "Extract an interface from all or some public members of a type, into a file beside it",
        form: "--symbol TYPE --new-text 'NAME[: MEMBER, MEMBER]' [PATH] [--dry-run] [--session HANDLE]",
        json: r#"{"op": "extract_interface", "symbol": "A", "newText": "IA: Member, Other"}"#,
        needs: &["symbol", "new_text"],
        takes: &["dry_run", "session"],
        example: "extract_interface --symbol Node --new-text 'INode: Find, Depth'",
    },
    EditOperation {
        name: "implement_members",
        kind: OperationKind::Workspace,
        about: "Add stubs for the members of interfaces and abstract classes that a type lacks",
        form: "--symbol TYPE [PATH] [--dry-run] [--session HANDLE]",
        json: r#"{"op": "implement_members", "symbol": "A"}"#,
        needs: &["symbol"],
        takes: &["dry_run", "session"],
        example: "implement_members --symbol Node",
    },
    EditOperation {
        name: "organize_usings",
        kind: OperationKind::Workspace,
        about: "Sort using directives: System first, then by name, static ones and aliases last, without duplicates",
        form: "PATH [--dry-run] [--session HANDLE]",
        json: r#"{"op": "organize_usings", "path": "src/A.cs"}"#,
        needs: &[PATH],
        takes: &["dry_run", "session"],
        example: "organize_usings src/Core/Node.cs",
    },
    EditOperation {
        name: "delete",
        kind: OperationKind::Workspace,
        about: "Delete a file; remaining uses of its types are listed",
        form: "PATH [--dry-run] [--session HANDLE]",
        json: r#"{"op": "delete", "path": "src/A.cs"}"#,
        needs: &[PATH],
        takes: &["dry_run", "session", "strict"],
        example: "delete src/Core/Node.cs",
    },
    EditOperation {
        name: "move",
        kind: OperationKind::Workspace,
        about: "Move a file to an unused path, or to an existing folder",
        form: "PATH TO [--dry-run] [--session HANDLE]",
        json: r#"{"op": "move", "path": "src/A.cs", "newText": "src/Model/A.cs"}"#,
        needs: &[PATH, "new_text"],
        takes: &["dry_run", "session", "strict"],
        example: "move src/Core/Node.cs src/Model",
    },
    EditOperation {
        name: "rename_file",
        kind: OperationKind::Workspace,
        about: "Rename a file in its folder; its types keep their names",
        form: "PATH NAME [--dry-run] [--session HANDLE]",
        json: r#"{"op": "rename_file", "path": "src/A.cs", "newText": "B.cs"}"#,
        needs: &[PATH, "new_text"],
        takes: &["dry_run", "session", "strict"],
        example: "rename_file src/Core/Node.cs TreeNode.cs",
    },
    EditOperation {
        name: "patch",
        kind: OperationKind::Text,
        about: "Apply a unified diff or a `*** Begin Patch`, all of it or nothing",
        form: "--file FILE [--session HANDLE]",
        json: r#"{"op": "patch", "newText": "the patch"}"#,
        needs: &["new_text"],
        takes: &["session", "mode", "manifest", "strict"],
        example: "patch --file changes.diff",
    },
    EditOperation {
        name: "batch",
        kind: OperationKind::Text,
        about: "Make several replacements in one or several files, all or none",
        form: "[PATH] --edits JSON --edits JSON … [--session HANDLE]",
        json: r#"{"op": "batch", "path": "src/A.cs", "edits": [{"oldText": "a", "newText": "b"}]}"#,
        needs: &["edits"],
        takes: &["session", "mode", "exact_ends", "manifest", "strict"],
        example: "batch src/Core/Node.cs --edits '{\"oldText\": \"a\", \"newText\": \"b\"}' --edits '{\"oldText\": \"c\", \"newText\": \"d\"}'",
    },
    EditOperation {
        name: "commit",
        kind: OperationKind::Session,
        about: "Save the edits of a session",
        form: "--session HANDLE [PATH]",
        json: r#"{"op": "commit", "session": "HANDLE"}"#,
        needs: &["session"],
        takes: &["manifest"],
        example: "commit --session 1a2b3c4d",
    },
    EditOperation {
        name: "discard",
        kind: OperationKind::Session,
        about: "Drop a selection, or unsaved edits",
        form: "--session HANDLE [PATH]",
        json: r#"{"op": "discard", "session": "HANDLE"}"#,
        needs: &["session"],
        takes: &["manifest"],
        example: "discard --session 1a2b3c4d",
    },
    EditOperation {
        name: "diff",
        kind: OperationKind::Session,
        about: "Show the differences between buffer and file",
        form: "--session HANDLE [PATH]",
        json: r#"{"op": "diff", "session": "HANDLE"}"#,
        needs: &["session"],
        takes: &["manifest"],
        example: "diff --session 1a2b3c4d",
    },
    EditOperation {
        name: "refresh",
        kind: OperationKind::Session,
        about: "Reread the file; on a conflict, a second call takes the file's text",
        form: "--session HANDLE [PATH]",
        json: r#"{"op": "refresh", "session": "HANDLE"}"#,
        needs: &["session"],
        takes: &["manifest"],
        example: "refresh --session 1a2b3c4d src/Core/Node.cs",
    },
    EditOperation {
        name: "persist_as",
        kind: OperationKind::Session,
        about: "Save the buffer under another, unused name",
        form: "--session HANDLE --new-text NEW_PATH [PATH]",
        json: r#"{"op": "persist_as", "session": "HANDLE", "newText": "src/B.cs"}"#,
        needs: &["session", "new_text"],
        takes: &["manifest"],
        example: "persist_as --session 1a2b3c4d --new-text src/Core/Node.mine.cs",
    },
    EditOperation {
        name: "undo",
        kind: OperationKind::Session,
        about: "Undo the last edit, in all its files or in one; without a session, that of this checkout",
        form: "[--session HANDLE] [PATH]",
        json: r#"{"op": "undo", "session": "HANDLE"}"#,
        needs: &[],
        takes: &["session", "manifest"],
        example: "undo",
    },
    EditOperation {
        name: "redo",
        kind: OperationKind::Session,
        about: "Redo the edit that was undone last; without a session, that of this checkout",
        form: "[--session HANDLE] [PATH]",
        json: r#"{"op": "redo", "session": "HANDLE"}"#,
        needs: &[],
        takes: &["session", "manifest"],
        example: "redo",
    },
    EditOperation {
        name: "close",
        kind: OperationKind::Session,
        about: "End a session that has nothing unsaved",
        form: "--session HANDLE",
        json: r#"{"op": "close", "session": "HANDLE"}"#,
        needs: &["session"],
        takes: &[],
        example: "close --session 1a2b3c4d",
    },
    EditOperation {
        name: "list",
        kind: OperationKind::Session,
        about: "List the sessions of this checkout",
        form: "",
        json: r#"{"op": "list"}"#,
        needs: &[],
        takes: &[],
        example: "list",
    },
];

/// Arguments of every operation.
pub const ALWAYS: [&str; 2] = ["basic", "full"];

/// Refuses an argument that the operation ignores, because the caller expects an effect of it. Fails when there is such an argument.
pub(super) fn refuse_unused(edit: &Edit) -> Result<(), Failed> {
    let given = serde_json::to_value(edit).expect("invariant: arguments are plain values");
    let line = edit.op.operation();
    let name = line.name;
    let is_given = |value: &Value| !value.is_null() && *value != Value::Bool(false);
    let fields = given.as_object().into_iter().flatten();
    let unused = fields.filter(|(_, value)| is_given(value)).find_map(|(field, _)| {
        let id = reference::snake(field);
        (id != "op" && !line.takes(&id)).then_some(field)
    });
    let Some(unused) = unused else { return Ok(()) };
    let all = [line.needs, line.takes].concat();
    let names: Vec<String> = all
        .iter()
        .map(|id| if *id == PATH { "path".to_owned() } else { reference::camel(id) })
        .collect();
    let why = Diagnostic::error(ErrorCode::E_PARAM, format!("{name} has no use for '{unused}'; nothing was done"));
    let hint = match names.is_empty() {
        true => format!("{name} takes no arguments"),
        false => format!("{name} takes {}", names.join(", ")),
    };
    Err(Failed::new(Code::Usage, why.hint(hint)))
}

impl EditOperation {
    fn takes(&self, id: &str) -> bool {
        let own = if id == "path" { PATH } else { id };
        let takes_path = self.form.contains("PATH");
        let listed = self.needs.contains(&own) || self.takes.contains(&own);
        listed || ALWAYS.contains(&id) || (id == "path" && takes_path)
    }
}

impl Op {
    pub(super) fn operation(self) -> &'static EditOperation {
        &OPERATIONS[self as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::ValueEnum;

    #[test]
    fn an_argument_without_a_use_is_refused() {
        let refused = |arguments: Value| {
            let edit: Edit = serde_json::from_value(arguments).expect("an edit");
            refuse_unused(&edit).map_err(|failed| failed.diagnostics[0].message.clone())
        };
        for (arguments, unused) in [
            (
                serde_json::json!({"op": "replace", "path": "a", "oldText": "a", "newText": "b", "symbol": "A"}),
                "symbol",
            ),
            (
                serde_json::json!({"op": "replace_symbol", "symbol": "A", "newText": "b", "oldText": "a"}),
                "oldText",
            ),
            (
                serde_json::json!({"op": "insert_after", "symbol": "A", "newText": "b", "whole": true}),
                "whole",
            ),
            (serde_json::json!({"op": "list", "path": "a"}), "path"),
            (serde_json::json!({"op": "undo", "session": "s", "selectionId": 1}), "selectionId"),
        ] {
            let why = refused(arguments.clone()).expect_err("refused");
            assert!(why.contains(&format!("'{unused}'")), "{arguments}: {why}");
        }
        assert_eq!(
            refused(serde_json::json!({"op": "commit", "session": "s", "path": "a", "whole": false})),
            Ok(())
        );
    }

    #[test]
    fn the_new_text_has_the_names_of_overlays_too() {
        for name in ["newText", "patch", "text"] {
            let edit: Edit = serde_json::from_value(serde_json::json!({"op": "patch", name: "the patch"})).expect("an edit");
            assert_eq!(edit.new_text.as_deref(), Some("the patch"), "{name}");
        }
    }

    #[test]
    fn operations_are_listed_in_the_order_of_their_names() {
        let possible = Op::value_variants().iter().filter_map(Op::to_possible_value);
        let names: Vec<String> = possible.map(|op| op.get_name().to_owned()).collect();
        let listed: Vec<&str> = OPERATIONS.iter().map(|operation| operation.name).collect();
        assert_eq!(listed, names);
    }
}
