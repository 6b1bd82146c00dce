//! Checks of edited texts: names that an edit leaves undefined, and errors of the compiler. They are reported in the answer, or refuse the edit.

use super::Method;
use super::edit::Edit;
use super::edit_by_symbol::rewriting;
use super::rewriting::{read_in_session, session_text_of};
use crate::desk::Desk;
use crate::desk::clock::current_seconds;
use crate::failed::Failed;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use producers::command::Trust;
use workbench::edit::answer_settings::{check_of_manifest, refuses_lost_names};
use workbench::edit::compiler::{Compiled, EditedBytes, check_edit, files_of_last_edit, files_to_commit, may_be_compiled};
use workbench::edit::disk::Disk;
use workbench::edit::files::Files;
use workbench::edit::order::{EditRequest, Order, Rewritten};
use workbench::edit::perform::perform;
use workbench::edit::response::Response;
use workbench::edit::session::EditSession;
use workbench::edit::state::{Mode, Status};
use workbench::editable_paths::Guard;
use workbench::rename::Obstacles;
use workbench::symbols::index::Symbols;
use workbench::symbols::lost_names::{EditedFile, LostNames, lost_names};
use workbench::symbols::undeclared_qualifiers::UndeclaredQualifier;
use workbench::trust::{Trusted, check_of_edits};

/// Most lost names in the guidance of an answer.
const SAID: usize = 10;

/// Guidance of a saved edit, before its lost names.
const SAVED: &str = "fix the names that no longer bind, or revert the edit with `undo`";

/// Guidance of a dry run, before the names that the edit would lose.
const DRY: &str = "with the edit, names would no longer bind";

/// Adds the names that an edit of C# files leaves undefined to its answer. If the workspace was never queried or built, only a strict edit is checked
/// against it: other edits do not wait until the whole workspace is read for the first time.
pub(super) fn with_lost_names(desk: &Desk<'_>, response: Response, is_strict: bool, now: u64) -> Response {
    let is_csharp = response.changed.iter().any(|one| one.path.ends_with(".cs"));
    if response.status != Status::Success || !is_csharp {
        return response;
    }
    let found = find_lost_names(desk, &response, is_strict, now);
    with_losses(response, found.map(|found| found.lost).unwrap_or_default(), SAVED)
}

/// Returns the names that a dry run of an edit would leave undefined; none if they cannot be found, which does not stop a dry run.
pub(super) fn find_losses_of_dry_run(inside: &mut Desk<'_>, files: &[Rewritten]) -> Vec<String> {
    let files: Vec<Rewritten> = files.iter().filter(|file| file.path.ends_with(".cs")).cloned().collect();
    if files.is_empty() {
        return Vec::new();
    }
    let Ok(names) = inside.workspace_names() else {
        return Vec::new();
    };
    match names_lost(inside, &names.symbols, &files) {
        Ok(Err(Obstacles(lost))) => lost.into_iter().collect(),
        _ => Vec::new(),
    }
}

/// Adds the names that an edit would leave undefined to the answer of its dry run.
pub(super) fn with_losses_of_dry_run(response: Response, losses: Vec<String>) -> Response {
    with_losses(response, losses, DRY)
}

/// Adds the faults of an edit to its answer; its guidance begins with `advice`.
fn with_losses(response: Response, losses: Vec<String>, advice: &str) -> Response {
    if losses.is_empty() {
        return response;
    }
    let lost = [response.lost, losses].concat();
    let named: Vec<&str> = lost.iter().take(SAID).map(String::as_str).collect();
    let more = match lost.len().saturating_sub(SAID) {
        0 => String::new(),
        more => format!("; {more} more"),
    };
    let guidance = format!("{advice}: {}{more}", named.join("; "));
    Response {
        guidance: Some(guidance),
        lost,
        ..response
    }
}

/// Adds the messages of the compiler of `[edit] check` about a saved edit to its answer. `is_trial`: the edit is only tried, and will be saved.
pub(super) fn with_compiler(desk: &Desk<'_>, response: Response, is_trial: bool) -> Response {
    match compile_last_edit(desk, &response, is_trial) {
        Some(found) => with_compiled(response, found),
        None => response,
    }
}

/// Compiles the texts after the edit of an answer. `is_trial`: the edit is only tried, and will be saved.
pub(super) fn compile_last_edit(desk: &Desk<'_>, response: &Response, is_trial: bool) -> Option<Compiled> {
    let session = response.session.as_deref().filter(|_| response.status == Status::Success)?;
    let disk = Disk::new(&desk.context.root_around()?);
    let session = EditSession::load(&disk, session, current_seconds()).ok()?;
    let files = files_of_last_edit(&disk, &session);
    (is_trial || session.mode == Mode::Immediate).then(|| compile(desk, &files))?
}

/// Adds the messages of a compiler to an answer.
pub(super) fn with_compiled(response: Response, found: Compiled) -> Response {
    let summary = match &found.note {
        Some(note) => format!("{}; not compiled: {note}", response.summary),
        None => response.summary.clone(),
    };
    with_losses(Response { summary, ..response }, found.errors, SAVED)
}

/// Runs the compiler of `[edit] check` on the texts after an edit; `None` without a compiler, or without a text for it. A failure to run it does not
/// stop the edit.
pub(super) fn compile(desk: &Desk<'_>, files: &[EditedBytes]) -> Option<Compiled> {
    let root = desk.context.root_around()?;
    let guard = Guard {
        store: desk.context.store_folder(),
        manifest: false,
    };
    let disk = Disk::new(&root).with_guard(guard);
    let manifest = disk.read("cortex.toml").ok().flatten()?.bytes;
    let setting = check_of_manifest(&manifest).filter(|_| may_be_compiled(files))?;
    let definition = check_of_edits(&manifest)?.definition;
    if !Trusted::in_repository(desk.context.settings().trust.clone(), &root).trusts(&definition) {
        return Some(Compiled {
            errors: Vec::new(),
            note: Some("`[edit] check` waits for `cortex trust`".to_owned()),
        });
    }
    Some(
        check_edit(&root, &disk, &setting, files, &desk.context.cancel()).unwrap_or_else(|error| Compiled {
            errors: Vec::new(),
            note: Some(format!("cannot copy the sources: {error}")),
        }),
    )
}

/// Compiles the texts that a commit would save. A strict commit with errors is refused.
pub(super) fn compile_commit(desk: &Desk<'_>, session: &str, path: Option<&str>, is_strict: bool) -> Result<Option<Compiled>, Failed> {
    let Some(root) = desk.context.root_around() else { return Ok(None) };
    let disk = Disk::new(&root);
    let Ok(session) = EditSession::load(&disk, session, current_seconds()) else {
        return Ok(None);
    };
    let found = compile(desk, &files_to_commit(&disk, &session, path));
    match &found {
        Some(found) if is_strict => refuse_losses(&found.errors).map(|()| None),
        _ => Ok(found),
    }
}

/// Compiles an edit of symbols that is tried in a session. If the manifest refuses edits with errors, they are obstacles.
pub(super) fn refused_by_compiler(desk: &Desk<'_>, disk: &Disk, session: &str) -> Result<(), Obstacles> {
    let manifest = disk.read("cortex.toml").ok().flatten();
    if !manifest.is_some_and(|manifest| refuses_lost_names(&manifest.bytes)) {
        return Ok(());
    }
    let session = EditSession::load(disk, session, current_seconds());
    let found = session.ok().and_then(|session| compile(desk, &files_of_last_edit(disk, &session)));
    match found.map(|found| found.errors) {
        Some(errors) if !errors.is_empty() => Err(Obstacles(errors.into_iter().collect())),
        _ => Ok(()),
    }
}

/// Refuses an edit without a session if it would lose names. The edit is tried in a session of its own, which is never saved.
pub(super) fn try_strictly(desk: &Desk<'_>, disk: &Disk, request: &EditRequest) -> Result<(), Failed> {
    let trial = EditRequest {
        mode: Some(Mode::Manual),
        ..request.clone()
    };
    let tried = with_lost_names(desk, perform(disk, &trial, current_seconds()), true, current_seconds());
    let tried = if tried.lost.is_empty() {
        with_compiler(desk, tried, true)
    } else {
        tried
    };
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

/// Undoes an edit of a session that lost names, and refuses it.
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
    refuse_losses(&response.lost)
}

fn refuse_losses(losses: &[String]) -> Result<(), Failed> {
    if losses.is_empty() {
        return Ok(());
    }
    let way = Obstacles(losses.iter().cloned().collect());
    Err(rewriting(
        "edit",
        "the edit is not made",
        "nothing was changed; fix the text, or edit without --strict (`[edit] on_lost`)",
    )
    .refused(&way))
}

/// Returns the names that an edit by symbol would lose, as obstacles.
pub(super) fn names_lost(inside: &mut Desk<'_>, symbols: &Symbols, files: &[Rewritten]) -> Result<Result<(), Obstacles>, Failed> {
    let files: Vec<EditedFile> = files
        .iter()
        .map(|file| EditedFile {
            path: file.path.clone(),
            before: file.before.clone().unwrap_or_default(),
            after: file.after.clone().unwrap_or_default(),
        })
        .collect();
    let world = inside.open_to_build()?.0.engine.world.clone();
    let found = lost_names(inside, symbols, &*world, &files)?;
    warn_of_undeclared(inside, &found);
    let lost = found.lost;
    Ok(match lost.is_empty() {
        true => Ok(()),
        false => Err(Obstacles(lost.into_iter().collect())),
    })
}

fn find_lost_names(desk: &Desk<'_>, response: &Response, is_strict: bool, now: u64) -> Option<LostNames> {
    let root = desk.context.root_around()?;
    let disk = Disk::new(&root);
    let id = response.session.as_deref()?;
    let session = EditSession::load(&disk, id, now).ok()?;
    let changes = session.done.last()?.changes.iter();
    let files: Vec<EditedFile> = changes
        .filter(|change| change.path.ends_with(".cs"))
        .map(|change| EditedFile {
            path: change.path.clone(),
            before: session_text_of(&disk, &change.from.text).unwrap_or_default(),
            after: session_text_of(&disk, &change.to.text).unwrap_or_default(),
        })
        .collect();
    let faults = EditedFile::new_syntax_faults(&files);
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
    read_in_session(desk, Edit::NAME, id, |inside| {
        let names = inside.workspace_names()?;
        let world = inside.open_to_build()?.0.engine.world.clone();
        let found = lost_names(inside, &names.symbols, &*world, &files)?;
        warn_of_undeclared(inside, &found);
        Ok(found)
    })
    .ok()
}

/// Warns of the names that an edit adds and nothing in the workspace declares. They refuse no edit.
fn warn_of_undeclared(inside: &Desk<'_>, found: &LostNames) {
    let warning = |one: &UndeclaredQualifier| {
        let message = format!("{} is declared nowhere in this workspace", one.name);
        let (line, column) = [one.line, one.column].map(|at| u32::try_from(at).unwrap_or(0)).into();
        let why = Diagnostic::warning(ErrorCode::W_UNDECLARED, message).at(&one.file, line, column);
        why.hint("correct the name; if a package declares it, nothing is wrong")
    };
    inside.context.say(&found.undeclared.iter().map(warning).collect::<Vec<_>>());
}
