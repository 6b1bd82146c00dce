//! The documents of an operation.

use super::files::Files;
use super::order::{EditRequest, Order};
use super::run::{EditRun, Trouble};

/// Opens the documents of a request and returns their paths.
pub(super) fn targets<F: Files>(run: &mut EditRun<'_, F>, request: &EditRequest) -> Result<Vec<String>, Trouble> {
    if let Order::Undo | Order::Redo = request.order {
        let stack = if request.order == Order::Undo {
            &run.session.done
        } else {
            &run.session.undone
        };
        if let (Some(edit), None) = (stack.last(), &request.path) {
            return Ok(edit.changes.iter().map(|change| change.path.clone()).collect());
        }
    }
    if let Some(given) = &request.path {
        // A document keeps its path even if its file has become a link or is gone.
        let path = match run.session.documents.contains_key(given) {
            true => given.clone(),
            false => resolve_path(run.files, given)?,
        };
        match &request.order {
            Order::Undo | Order::Redo => drop(run.document(&path)?),
            Order::Create(_) => run.open_new(&path)?,
            Order::Write(_) if !run.is_there(&path)? => run.open_new(&path)?,
            _ => run.open(&path)?,
        }
        return Ok(vec![path]);
    }
    if matches!(request.order, Order::Patch(_) | Order::Batch(_) | Order::Rewrite { .. }) {
        return Ok(Vec::new());
    }
    let all: Vec<String> = run.session.documents.keys().cloned().collect();
    let several = matches!(
        request.order,
        Order::Commit | Order::Discard | Order::Refresh | Order::Diff | Order::Close | Order::Undo | Order::Redo
    );
    match all.len() {
        0 => Err(Trouble::new("no file is named", "name it with path, from the workspace's root")),
        1 => Ok(all),
        _ if several => Ok(all),
        _ => Err(Trouble {
            detail: Some(all.join("\n")),
            ..Trouble::new(
                format!("the session has {} files, and none is named", all.len()),
                "name one with path",
            )
        }),
    }
}

/// Resolves a path to that of the real file.
pub(super) fn resolve_path<F: Files>(files: &F, given: &str) -> Result<String, Trouble> {
    files.resolve(given).map_err(|why| Trouble::new(why.to_string(), why.hint()))
}
