//! Names that mean nothing after an edit of texts: reported with its answer, or a reason to refuse it.

use super::Method;
use super::edit::Edit;
use super::edit_by_symbol::rewriting;
use super::rewriting::{look_in, session_text_of};
use crate::commands::gc::current_seconds;
use crate::context::Failed;
use crate::desk::Desk;
use workbench::edit::disk::Disk;
use workbench::edit::order::{EditRequest, Order, Rewritten};
use workbench::edit::perform::perform;
use workbench::edit::response::Response;
use workbench::edit::session::Session;
use workbench::edit::state::{Mode, Status};
use workbench::rename::InTheWay;
use workbench::symbols::index::Symbols;
use workbench::symbols::lost_names::{EditedFile, LostNames, lost_names};

/// Lost names that an answer says.
const SAID: usize = 10;

/// Says in the answer of an edit of C# files which names mean nothing after it. Where nothing of the workspace was ever asked or built, nothing is
/// looked at, unless the edit is strict: it does not wait until all of it is read for the first time.
pub(super) fn with_lost_names(desk: &Desk<'_>, response: Response, is_strict: bool, now: u64) -> Response {
    let is_csharp = response.changed.iter().any(|one| one.path.ends_with(".cs"));
    if response.status != Status::Success || !is_csharp {
        return response;
    }
    match find_lost_names(desk, &response, is_strict, now) {
        Some(found) if !found.lost.is_empty() => {
            let names: Vec<&str> = found.lost.iter().take(SAID).map(String::as_str).collect();
            let more = match found.lost.len().saturating_sub(SAID) {
                0 => String::new(),
                more => format!("; {more} more"),
            };
            Response {
                lost: found.lost.clone(),
                guidance: Some(format!(
                    "mend what the edit left without a meaning, or take it back with `undo`: {}{more}",
                    names.join("; ")
                )),
                ..response
            }
        }
        _ => response,
    }
}

/// Refuses an edit without a session that would lose names: it is tried in a session of its own, which nothing is saved of.
pub(super) fn try_strictly(desk: &Desk<'_>, disk: &Disk, request: &EditRequest) -> Result<(), Failed> {
    let trial = EditRequest {
        mode: Some(Mode::Manual),
        ..request.clone()
    };
    let tried = with_lost_names(desk, perform(disk, &trial, current_seconds()), true, current_seconds());
    for order in [Order::Discard, Order::Close] {
        let end = EditRequest {
            order,
            path: None,
            ..trial.clone()
        };
        if let Some(session) = &tried.session {
            drop(perform(
                disk,
                &EditRequest {
                    session: Some(session.clone()),
                    mode: None,
                    ..end
                },
                current_seconds(),
            ));
        }
    }
    refuse_lost(&tried)
}

/// Takes an edit of a session back that lost names.
pub(super) fn take_back_lost(disk: &Disk, request: &EditRequest, response: &Response) -> Result<(), Failed> {
    let refused = refuse_lost(response);
    if refused.is_err() {
        let undo = EditRequest {
            order: Order::Undo,
            mode: None,
            path: None,
            ..request.clone()
        };
        drop(perform(disk, &undo, current_seconds()));
    }
    refused
}

fn refuse_lost(response: &Response) -> Result<(), Failed> {
    if response.lost.is_empty() {
        return Ok(());
    }
    let way = InTheWay(response.lost.iter().cloned().collect());
    Err(rewriting(
        "edit",
        "the edit is not made",
        "nothing was changed; mend the text, or edit without --strict (`[edit] on_lost`)",
    )
    .refused(&way))
}

/// What is in the way of an edit by symbol whose texts lose names.
pub(super) fn names_lost(inside: &mut Desk<'_>, symbols: &Symbols, files: &[Rewritten]) -> Result<Result<(), InTheWay>, Failed> {
    let files: Vec<EditedFile> = files
        .iter()
        .map(|file| EditedFile {
            path: file.path.clone(),
            before: file.before.clone().unwrap_or_default(),
            after: file.after.clone().unwrap_or_default(),
        })
        .collect();
    let world = inside.open_to_build()?.0.engine.world.clone();
    let lost = lost_names(inside, symbols, &*world, &files)?.lost;
    Ok(match lost.is_empty() {
        true => Ok(()),
        false => Err(InTheWay(lost.into_iter().collect())),
    })
}

fn find_lost_names(desk: &Desk<'_>, response: &Response, is_strict: bool, now: u64) -> Option<LostNames> {
    let root = desk.context.root_around()?;
    let disk = Disk::new(&root);
    let id = response.session.as_deref()?;
    let session = Session::load(&disk, id, now).ok()?;
    let changes = session.done.last()?.changes.iter();
    let files: Vec<EditedFile> = changes
        .filter(|change| change.path.ends_with(".cs"))
        .map(|change| EditedFile {
            path: change.path.clone(),
            before: session_text_of(&disk, &change.from.text).unwrap_or_default(),
            after: session_text_of(&disk, &change.to.text).unwrap_or_default(),
        })
        .collect();
    let faults: Vec<String> = files.iter().filter_map(EditedFile::new_syntax_fault).collect();
    if !faults.is_empty() {
        return Some(LostNames {
            lost: faults,
            ..LostNames::default()
        });
    }
    let was_asked = is_strict || desk.context.store_folder().is_some_and(|folder| folder.exists());
    if !was_asked || desk.context.overlay().is_some() {
        return None;
    }
    // A failure of the check does not stop the edit.
    look_in(desk, Edit::NAME, id, |inside| {
        let names = inside.workspace_names()?;
        let world = inside.open_to_build()?.0.engine.world.clone();
        lost_names(inside, &names.symbols, &*world, &files)
    })
    .ok()
}
