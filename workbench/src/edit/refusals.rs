//! Messages about operations that cannot continue with a file.

use super::allowed_tools::Tool;
use super::files::Files;
use super::run::{EditRun, Trouble};
use super::state::{Mode, WorkflowState};
use crate::code_text::lines::{Ends, fit};

/// Skips files that must no longer be edited, with a note, if the operation can continue with others.
pub(super) fn skip_refused<F: Files>(run: &mut EditRun<'_, F>, paths: &mut Vec<String>) {
    let (barred, free): (Vec<String>, Vec<String>) = paths.iter().cloned().partition(|path| run.is_barred(path));
    if !barred.is_empty() && !free.is_empty() {
        for path in barred {
            if let Err(trouble) = run.read_document_file(&path) {
                run.notes.push(format!("left out: {}", trouble.summary));
            }
        }
        *paths = free;
    }
}

/// Describes the state of a file that another program wrote while it is edited here.
pub(super) fn how_moved<F: Files>(run: &EditRun<'_, F>, path: &str) -> Result<String, Trouble> {
    let document = run.document(path)?;
    let (base, seen) = (run.text_of(path, &document.now.base)?, run.text_of(path, &document.seen)?);
    Ok(match (base, seen) {
        (_, None) => format!("another program removed {path}, which has edits here"),
        (Some((base, from)), Some((seen, to))) if base == seen && from != to => {
            format!("another program wrote {path} in {} without the edits of this session", to.form)
        }
        (Some((base, _)), Some((seen, _))) if fit(&base, "\n") == fit(&seen, "\n") => {
            let (from, to) = (Ends::from_text(&base), Ends::from_text(&seen));
            format!("{path} was given other ends of lines by another program where it is edited here: it had {from}, and has {to}")
        }
        _ => format!("{path} was changed by another program where it is edited here"),
    })
}

/// Reports a tool that the document's state does not allow.
pub(super) fn not_now<F: Files>(run: &EditRun<'_, F>, path: &str, tool: Tool) -> Trouble {
    let state = run
        .document(path)
        .map_or(WorkflowState::Idle, |document| document.state.workflow_state());
    let mode = run.session.mode;
    let names: Vec<String> = run
        .allowed_tools(state)
        .into_iter()
        .map(|tool| format!("`{}`", tool.name()))
        .collect();
    let because = match (tool, state) {
        (Tool::Commit, _) if mode == Mode::Disabled => "the session saves nothing".to_owned(),
        (Tool::Commit, WorkflowState::Idle) => "every edit is saved at once".to_owned(),
        (Tool::ReplaceSelection | Tool::Candidates, _) => {
            "there is no selection: numbers of candidates are valid only for the text that they refer to".to_owned()
        }
        (Tool::PersistAs, _) if mode == Mode::Disabled => "the session saves nothing".to_owned(),
        (Tool::Diff, WorkflowState::Idle) => "buffer and file are the same".to_owned(),
        (Tool::Undo | Tool::Redo, WorkflowState::OutOfSync) => {
            format!("{path} is OutOfSync, and a version that is put back would not be what its file is to become")
        }
        _ => format!("{path} is {state}"),
    };
    let possible = format!("possible are {}", names.join(", "));
    Trouble::new(
        format!("`{}` is not possible now: {because}", tool.name()),
        match (tool, state) {
            (Tool::Redo, WorkflowState::OutOfSync) => format!("`refresh` takes the file's text, also again; {possible}"),
            _ => possible,
        },
    )
    .at(path)
}
