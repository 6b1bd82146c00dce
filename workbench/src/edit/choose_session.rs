//! Chooses the session of an operation that names none: a new one; for an undo, that of the last edit; for a redo, that of the last undo.

use super::expiry;
use super::files::Files;
use super::order::{EditRequest, Order};
use super::run::Trouble;
use super::session::{self, EditSession, NoSession};
use super::state::{Mode, Status};

/// Returns the session of an operation: the named one, a new one, or that of the last edit.
pub(super) fn choose_session<F: Files>(files: &F, request: &EditRequest, now: u64) -> Result<EditSession, Trouble> {
    match (&request.session, &request.order) {
        (Some(id), _) => EditSession::load(files, id, now).map_err(|why| no_session(&why)),
        (None, Order::Undo) => last_edited(files, now),
        (None, Order::Redo) => last_taken_back(files, now),
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

/// Finds the session of the last edit in this checkout.
fn last_edited<F: Files>(files: &F, now: u64) -> Result<EditSession, Trouble> {
    let lives = |session: &EditSession| now <= session.used.saturating_add(session::LIFETIME);
    // A discard is not an edit that `undo` looks for.
    let last = |session: &EditSession| session.done.last().filter(|edit| edit.operation != "discard").cloned();
    let at = |session: &EditSession| last(session).map(|edit| (edit.at, edit.turn));
    let all: Vec<EditSession> = session::list_sessions(files)?.into_iter().filter(lives).collect();
    let Some(last) = all.iter().filter_map(at).max() else {
        return Err(Trouble {
            status: Status::NoMatch,
            ..Trouble::new("this checkout has no edit to revert", "")
        });
    };
    let mut of_then: Vec<EditSession> = all.into_iter().filter(|session| at(session) == Some(last)).collect();
    match of_then.len() {
        1 => Ok(of_then.remove(0)),
        count => {
            let lines = of_then.iter().map(|session| {
                let edit = session.done.last().into_iter();
                let paths: Vec<&str> = edit.flat_map(|edit| &edit.changes).map(|change| change.path.as_str()).collect();
                format!("{}  {}", session.id, paths.join(", "))
            });
            Err(Trouble {
                detail: Some(lines.collect::<Vec<_>>().join("\n")),
                ..Trouble::new(
                    format!("{count} edits were made in the same second"),
                    "choose one by `session` (`cortex edit undo --session ID`)",
                )
            })
        }
    }
}

/// Finds the session whose edit was undone last.
fn last_taken_back<F: Files>(files: &F, now: u64) -> Result<EditSession, Trouble> {
    let lives = |session: &EditSession| now <= session.used.saturating_add(session::LIFETIME);
    let all = session::list_sessions(files)?
        .into_iter()
        .filter(|session| lives(session) && !session.undone.is_empty());
    let mut all: Vec<EditSession> = all.collect();
    all.sort_by_key(|session| std::cmp::Reverse(session.used));
    let ids: Vec<&str> = all.iter().map(|session| session.id.as_str()).collect();
    match all.as_slice() {
        [] => Err(Trouble {
            status: Status::NoMatch,
            ..Trouble::new("this checkout has no reverted edit to apply again", "")
        }),
        [first, second, ..] if first.used == second.used => Err(Trouble::new(
            "edits of several sessions were reverted in the same second",
            format!("choose one by session: {}", ids.join(", ")),
        )),
        _ => Ok(all.remove(0)),
    }
}

/// Explains that a handle has no session.
fn no_session(why: &NoSession) -> Trouble {
    Trouble::new(
        why.to_string(),
        "`open` the file again, or `list` the sessions; files have their last saved content",
    )
}
