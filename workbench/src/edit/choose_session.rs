//! Chooses the session of an operation that names none: a new one; for an undo, that of the last edit; for a redo, that of the last undo.

use super::expiry;
use super::files::Files;
use super::order::{EditRequest, Order};
use super::run::Trouble;
use super::session::{self, Edit, EditSession, NoSession};
use super::state::{Mode, Status};

/// Returns the session of an operation: the named one, a new one, or that of the last edit.
pub(super) fn choose_session<F: Files>(files: &F, request: &EditRequest, now: u64) -> Result<EditSession, Trouble> {
    match (&request.session, &request.order) {
        (Some(id), _) => EditSession::load(files, id, now).map_err(|why| no_session(&why)),
        (None, Order::Undo) => last_edited(files, request.path.as_deref(), now),
        (None, Order::Redo) => last_taken_back(files, request.path.as_deref(), now),
        (None, _) => create_session(files, request, now),
    }
}

/// Creates a session for an order that needs no existing one.
fn create_session<F: Files>(files: &F, request: &EditRequest, now: u64) -> Result<EditSession, Trouble> {
    let usual = match request.order {
        Order::Open => Mode::Manual,
        Order::Replace { .. }
        | Order::ReplaceAll { .. }
        | Order::ReplaceNodes { .. }
        | Order::Append { .. }
        | Order::Create(_)
        | Order::Write(_)
        | Order::Symbol(_)
        | Order::Patch(_)
        | Order::Rewrite { .. }
        | Order::Batch(_) => Mode::Immediate,
        _ => {
            let why = format!("{} needs the handle of a session", request.order.name());
            return Err(Trouble::new(why, "name one with session; `list` lists them, `open` opens one"));
        }
    };
    let news = expiry::tidy(files, now)?;
    let id = format!("{:08x}", files.unique_number() as u32);
    Ok(EditSession {
        opened: request.order == Order::Open,
        news,
        ..EditSession::new(id, request.mode.unwrap_or(usual), now)
    })
}

/// Finds the session of the last edit in this checkout, of this file if one is given.
fn last_edited<F: Files>(files: &F, path: Option<&str>, now: u64) -> Result<EditSession, Trouble> {
    let wanted = path.map(|path| real_path(files, path));
    // A discard is not an edit that `undo` looks for.
    let last = |session: &EditSession| {
        let mut of_file = session.done.iter().filter(|edit| changes_file(edit, wanted.as_deref()));
        let edit = of_file.next_back().filter(|edit| edit.operation != "discard");
        edit.map(|edit| (edit.at, edit.turn))
    };
    let edited = unexpired_sessions(files, now)?.filter(|session| last(session).is_some());
    edited.max_by_key(last).ok_or_else(|| no_edit("edit", path, "to revert"))
}

/// Finds the session whose edit was undone last, of this file if one is given.
fn last_taken_back<F: Files>(files: &F, path: Option<&str>, now: u64) -> Result<EditSession, Trouble> {
    let wanted = path.map(|path| real_path(files, path));
    let is_of_file = |session: &EditSession| session.undone.iter().any(|edit| changes_file(edit, wanted.as_deref()));
    let undone = unexpired_sessions(files, now)?.filter(is_of_file);
    let last = undone.max_by_key(|session| (session.used, session.turn));
    last.ok_or_else(|| no_edit("reverted edit", path, "to apply again"))
}

/// Returns the path of the real file; a file that is gone keeps the given path.
fn real_path<F: Files>(files: &F, path: &str) -> String {
    files.resolve(path).unwrap_or_else(|_| path.to_owned())
}

fn changes_file(edit: &Edit, path: Option<&str>) -> bool {
    path.is_none_or(|path| edit.changes.iter().any(|change| change.path == path))
}

fn unexpired_sessions<F: Files>(files: &F, now: u64) -> Result<impl Iterator<Item = EditSession>, Trouble> {
    let sessions = session::list_sessions(files)?.into_iter();
    Ok(sessions.filter(move |session| !session.has_expired(now)))
}

fn no_edit(what: &str, path: Option<&str>, purpose: &str) -> Trouble {
    let of = path.map_or_else(String::new, |path| format!(" of {path}"));
    Trouble {
        status: Status::NoMatch,
        ..Trouble::new(format!("this checkout has no {what}{of} {purpose}"), "")
    }
}

/// Explains that a handle has no session.
fn no_session(why: &NoSession) -> Trouble {
    Trouble::new(
        why.to_string(),
        "`open` the file again, or `list` the sessions; files have their last saved content",
    )
}
