//! What an edit of texts left without a meaning, said with its answer.

use super::Method;
use super::edit::Edit;
use super::rewriting::{kept_text, look_in};
use crate::desk::Desk;
use workbench::edit::disk::Disk;
use workbench::edit::response::Response;
use workbench::edit::session::Session;
use workbench::edit::state::Status;
use workbench::symbols::lost_names::{EditedFile, LostNames, lost_names};

/// Lost names that an answer says.
const SAID: usize = 10;

/// Says in the answer of an edit of C# files which names mean nothing after it. Where nothing of the workspace was ever asked or built, nothing is
/// looked at: an edit does not wait until all of it is read for the first time.
pub(super) fn with_lost_names(desk: &Desk<'_>, response: Response, now: u64) -> Response {
    let is_csharp = response.changed.iter().any(|one| one.path.ends_with(".cs"));
    if response.status != Status::Success || !is_csharp {
        return response;
    }
    match find_lost_names(desk, &response, now) {
        Some(found) if !found.lost.is_empty() => {
            let said: Vec<&str> = found.lost.iter().take(SAID).map(String::as_str).collect();
            let more = match found.lost.len().saturating_sub(SAID) {
                0 => String::new(),
                more => format!("; {more} more"),
            };
            Response {
                lost: found.lost.clone(),
                guidance: Some(format!(
                    "mend what the edit left without a meaning, or take it back with `undo`: {}{more}",
                    said.join("; ")
                )),
                ..response
            }
        }
        _ => response,
    }
}

fn find_lost_names(desk: &Desk<'_>, response: &Response, now: u64) -> Option<LostNames> {
    let root = desk.context.root()?;
    let disk = Disk::new(&root);
    let id = response.session.as_deref()?;
    let session = Session::load(&disk, id, now).ok()?;
    let changes = session.done.last()?.changes.iter();
    let files: Vec<EditedFile> = changes
        .filter(|change| change.path.ends_with(".cs"))
        .map(|change| EditedFile {
            path: change.path.clone(),
            before: kept_text(&disk, &change.from.text).unwrap_or_default(),
            after: kept_text(&disk, &change.to.text).unwrap_or_default(),
        })
        .collect();
    let faults: Vec<String> = files.iter().filter_map(EditedFile::new_syntax_fault).collect();
    if !faults.is_empty() {
        return Some(LostNames {
            lost: faults,
            ..LostNames::default()
        });
    }
    if !root.join(".cortex/store").exists() || desk.context.overlay().is_some() {
        return None;
    }
    // What cannot be told is not: the edit is done all the same.
    look_in(desk, Edit::NAME, id, |inside| {
        let names = inside.names()?;
        lost_names(inside, &names.symbols, &files)
    })
    .ok()
}
