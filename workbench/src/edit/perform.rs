//! Performs one operation, from its order to its answer: read the documents' files, check that their states allow the operation, carry it out, and
//! compose the answer.

use super::allowed_tools::{Tool, allows};
use super::buffer_operations::{both_changes, close, commit, diff, discard, persist_as, refresh, undo_or_redo};
use super::candidate::Candidate;
use super::changed::Changed;
use super::choose_session::choose_session;
use super::draft_log::Step;
use super::edit_counts::EditCounts;
use super::edit_log::{Category, Log, OperationEvents};
use super::editing::{
    append, batch, edit_with_encoding, list_candidates, open_document, replace, replace_all, replace_all_text, rewrite, select, symbol_edit,
};
use super::files::Files;
use super::flags::flags;
use super::guidance::{on, with_handle};
use super::order::{EditRequest, Order};
use super::refusals::{how_moved, not_now, skip_refused};
use super::response::{Metrics, Response};
use super::run::{EditRun, Trouble};
use super::selected_nodes::{NodesToReplace, replace_nodes};
use super::session::{self, Document, EditSession, NoSession};
use super::state::{DocumentState, FileRelation, Mode, Reread, Status, WorkflowState};
use super::targets::{resolve_path, targets};
use super::{expiry, markdown, patch, patch_series, saving};
use crate::code_text::encoding::length;
use engine::values::quantity::plural;
use serde_json::{Value, json};
use std::io;
use std::time::Instant;

/// Guidance when the session cannot be written.
const AGAIN: &str = "free some space on the disk and check the permissions of .cortex, then try again";

/// Most single edits that a list of sessions contains, and most files of a session there.
const MOST_LISTED: usize = 20;

/// Outcome of an operation.
#[derive(Default)]
pub(super) struct Done {
    pub(super) status: Option<Status>,
    pub(super) summary: String,
    pub(super) guidance: Option<String>,
    pub(super) detail: Option<String>,
    pub(super) candidates: Option<Vec<Candidate>>,
    pub(super) count: Option<usize>,
    pub(super) paths: Vec<String>,
    pub(super) changed: Vec<Changed>,
}

impl Done {
    pub(super) fn of(status: Status, summary: impl Into<String>) -> Self {
        Self {
            status: Some(status),
            summary: summary.into(),
            ..Self::default()
        }
    }

    pub(super) fn with(self, detail: String) -> Self {
        Self {
            detail: (!detail.is_empty()).then_some(detail),
            ..self
        }
    }
}

/// Performs a request under the checkout's edit lock. `now` is in seconds.
pub fn perform<F: Files>(files: &F, request: &EditRequest, now: u64) -> Response {
    let began = Instant::now();
    let mut met = OperationEvents::default();
    let response = match files.lock_for_editing() {
        Ok(_alone) => perform_locked(files, request, now, &mut met),
        Err(error) => refusal_response(&Trouble::from(error), "-"),
    };
    let (response, violation) = check_form(response);
    if files.is_logging() {
        let log = Log {
            files,
            operation: request.order.name(),
            response: &response,
            at: now,
            micros: began.elapsed().as_micros(),
        };
        let mut asked_for = request.arguments();
        asked_for["matches"] = met.matches.into();
        log.write(request.order.category(), &asked_for);
        met.saves.iter().for_each(|saved| log.write(Category::Persistence, saved));
        met.outside.iter().for_each(|seen| log.write(Category::External, seen));
        violation.iter().for_each(|form| log.write(Category::Schema, form));
    }
    response
}

/// Checks that the Markdown form of an answer can be parsed. If not, returns an answer that reports it, and the malformed form for the log.
pub(super) fn check_form(response: Response) -> (Response, Option<Value>) {
    let text = markdown::format(&response);
    match markdown::parse(&text) {
        Ok(_) => (response, None),
        Err(error) => (response.as_malformed(), Some(json!({"error": error.to_string(), "form": text}))),
    }
}

/// Completes or rolls back the saves of killed processes, as the next operation would. Returns sentences about the recovery.
pub fn recover<F: Files>(files: &F, now: u64) -> io::Result<Vec<String>> {
    if files.notes("saving")?.is_empty() {
        return Ok(Vec::new());
    }
    let _alone = files.lock_for_editing()?;
    saving::finish(files, now)
}

fn perform_locked<F: Files>(files: &F, request: &EditRequest, now: u64, met: &mut OperationEvents) -> Response {
    match saving::finish(files, now) {
        Ok(recovered) => performed(files, request, now, met, recovered),
        Err(error) => refusal_response(&Trouble::from(error), "-"),
    }
}

/// Performs a request after the recovery of interrupted saves; `recovered` describes that recovery.
fn performed<F: Files>(files: &F, request: &EditRequest, now: u64, met: &mut OperationEvents, recovered: Vec<String>) -> Response {
    if request.order == Order::List {
        return list_sessions(files, now, recovered).unwrap_or_else(|trouble| refusal_response(&trouble, "-"));
    }
    let is_new = request.session.is_none() && !matches!(request.order, Order::Undo | Order::Redo);
    let session = match choose_session(files, request, now) {
        Ok(session) => session,
        Err(trouble) => return refusal_response(&trouble, request.session.as_deref().unwrap_or("-")),
    };
    if let Some(mode) = request.mode.filter(|mode| request.session.is_some() && *mode != session.mode) {
        let why = format!(
            "the session {} is {}, not {}: a session keeps the mode that it was opened with",
            session.id,
            mode_word(session.mode),
            mode_word(mode)
        );
        return refusal_response(&Trouble::new(why, "omit mode, or open another session with it"), &session.id);
    }
    let mut run = EditRun::start_run(files, session, now);
    if request.session.is_none() && !is_new && run.session.is_saved() {
        // The caller does not know this session: what its buffers take over is no news, the more so as the next edit may have written it.
        run.notes.clear();
        run.tells_taken = false;
    }
    run.session.operations += 1;
    run.session.used = run.session.used.max(now);
    run.session.turn = run.turn;
    run.notes.extend(recovered.iter().cloned());
    let offered = run.offers();
    let mode = run.session.mode;
    // Undo and redo without a handle concern the files, so save at once if the session has no unsaved edits.
    if request.session.is_none() && !is_new && run.session.is_saved() && mode == Mode::Manual {
        run.session.mode = Mode::Immediate;
    }
    let outcome = perform_in(&mut run, request);
    run.session.mode = mode;
    let only_tells = outcome.is_err() || request.order.only_shows();
    let (done, focus) = match outcome {
        Ok(done) => {
            let focus = done.paths.first().cloned();
            (done, focus)
        }
        Err(trouble) => {
            let focus = trouble.path.clone();
            let done = Done {
                status: Some(trouble.status),
                summary: trouble.summary,
                guidance: trouble.guidance.filter(|guidance| !guidance.is_empty()),
                detail: trouble.detail,
                ..Done::default()
            };
            (done, focus)
        }
    };
    let came_to_nothing = !matches!(done.status, Some(Status::Success | Status::NoOp | Status::MultiMatch) | None);
    if let Some(path) = focus.clone().filter(|_| came_to_nothing)
        && let Some(document) = run.session.documents.get(&path)
    {
        let text = document.now.text.clone();
        run.add_step(Step {
            failed: Some(done.summary.clone()),
            ..Step::from_change(&path, &text, &text)
        });
    }
    *met = std::mem::take(&mut run.met);
    run.ended = offered && !run.offers() && !matches!(request.order, Order::Discard | Order::Close);
    let closed = request.order == Order::Close && done.status == Some(Status::Success);
    // Drop a new session without edits and candidates, unless the request opened it.
    let is_empty = run.session.done.is_empty() && run.session.documents.values().all(|one| one.selection.is_none());
    let is_nothing = is_new && is_empty && (request.order != Order::Open || run.session.documents.is_empty());
    let kept = match closed || is_nothing {
        true => run
            .session
            .end_session(files)
            .and_then(|()| if closed { expiry::collect(files, now) } else { Ok(Vec::new()) })
            .map(|ended| run.notes.extend(ended)),
        false => run.store_session(request.order.name()),
    };
    if run.is_saving && kept.is_ok() {
        // The stored session is newer than the journal, so a journal that remains is ignored.
        let _ = run.session.end_saving(files);
    }
    let mut is_told = !closed && !is_nothing;
    let mut response = match kept {
        Ok(()) => answer(&run, request, done, focus),
        Err(error) if is_stored_anyway(&run, closed) => {
            let mut response = answer(&run, request, done, focus);
            response.status = Status::PersistFailure;
            response.summary = format!("{}; but the session cannot be stored: {error}", response.summary);
            response.guidance = Some(AGAIN.to_owned()).filter(|_| !run.is_saving).or(response.guidance);
            response
        }
        Err(error) => {
            is_told = !is_new;
            run.notes = recovered;
            answer_rolled_back(&mut run, request, done, focus, only_tells, &error)
        }
    };
    if !is_told {
        response.session = None;
    } else if is_new {
        // A reader of the text form needs the handle, too.
        response.summary = format!("{} (session {})", response.summary, run.session.id);
        if request.order != Order::Open {
            let can_undo = !run.session.done.is_empty() && response.allowed.contains(&Tool::Undo);
            response.guidance = Some(with_handle(response.guidance, can_undo));
        }
    }
    response
}

/// Whether an operation counts although its session could not be stored: the next operation finds the journal of its save, or the closed session is
/// gone.
fn is_stored_anyway<F: Files>(run: &EditRun<'_, F>, closed: bool) -> bool {
    let id = &run.session.id;
    match closed {
        true => matches!(EditSession::load(run.files, id, run.now), Err(NoSession::Unknown(_))),
        false => {
            // The write may have succeeded without being durable.
            let is_stored = EditSession::load(run.files, id, run.now).is_ok_and(|stored| stored.operations >= run.session.operations);
            is_stored || EditSession::interrupted(run.files).is_ok_and(|all| all.iter().any(|one| one.id == *id))
        }
    }
}

/// Returns the answer for an operation that is rolled back because its session could not be stored.
fn answer_rolled_back<F: Files>(
    run: &mut EditRun<'_, F>,
    request: &EditRequest,
    done: Done,
    focus: Option<String>,
    only_tells: bool,
    error: &io::Error,
) -> Response {
    let operations = run.session.operations;
    let empty = EditSession::new(run.session.id.clone(), run.session.mode, run.now);
    run.session = EditSession::load(run.files, &run.session.id, run.now).unwrap_or(empty);
    run.session.operations = operations;
    (run.delta, run.ended) = (0, false);
    let nothing = match &request.order {
        Order::Undo => "nothing was undone",
        Order::Redo => "nothing was redone",
        Order::Discard => "nothing was dropped",
        Order::Commit => "nothing was saved",
        Order::Close => "the session has not ended",
        _ => "nothing was done",
    };
    let (summary, detail) = match only_tells {
        true => (format!("{}; but the session cannot be stored: {error}", done.summary), done.detail),
        false => (format!("{nothing}: the session cannot be stored: {error}"), None),
    };
    let done = Done {
        guidance: Some(AGAIN.to_owned()),
        detail,
        ..Done::of(Status::PersistFailure, summary)
    };
    answer(run, request, done, focus)
}

/// Returns the answer without a document.
fn refusal_response(trouble: &Trouble, id: &str) -> Response {
    Response {
        status: trouble.status,
        workflow_state: WorkflowState::Idle,
        summary: trouble.summary.clone(),
        guidance: trouble.guidance.clone().filter(|guidance| !guidance.is_empty()),
        metrics: Metrics::default(),
        candidates: None,
        flags: Default::default(),
        session: None,
        path: trouble.path.clone(),
        operation_id: format!("{}-0", id.chars().filter(char::is_ascii_alphanumeric).take(32).collect::<String>()),
        allowed: Vec::new(),
        detail: trouble.detail.clone(),
        files: Vec::new(),
        changed: Vec::new(),
        lost: Vec::new(),
        full: false,
    }
}

fn list_sessions<F: Files>(files: &F, now: u64, recovered: Vec<String>) -> Result<Response, Trouble> {
    let mut sessions = session::list_sessions(files)?;
    sessions.retain(|session| !session.has_expired(now));
    let count = sessions.len();
    // Of saved single edits, the last are listed.
    let mut single = 0;
    sessions.retain(|session| {
        let is_single = !session.opened && session.is_saved();
        single += usize::from(is_single);
        !is_single || single <= MOST_LISTED
    });
    let mut lines: Vec<String> = sessions.iter().map(|session| describe_session(session, now)).collect();
    if count > lines.len() {
        lines.push(format!("and {}", plural(count - lines.len(), "more single edit")));
    }
    let mut response = refusal_response(&Trouble::new(format!("{} in this checkout", plural(count, "session")), ""), "-");
    response.status = Status::Success;
    response.guidance = None;
    response.detail = (!lines.is_empty()).then(|| lines.join("\n"));
    let counts = EditCounts::read_counts(files);
    let counted = (counts != EditCounts::default()).then(|| counts.to_string());
    let notes: Vec<String> = recovered.into_iter().chain([response.summary]).chain(counted).collect();
    response.summary = notes.join("; ");
    Ok(response)
}

/// Describes a session in a line, with its first documents, unsaved ones before others.
fn describe_session(session: &EditSession, now: u64) -> String {
    let mut documents: Vec<_> = session.documents.iter().collect();
    documents.sort_by_key(|(_, document)| !document.is_edited());
    let state = |(path, document): &(&String, &Document)| format!("{path} {}", document.state.workflow_state());
    let named: Vec<String> = documents.iter().take(MOST_LISTED).map(state).collect();
    let more = match documents.len().saturating_sub(MOST_LISTED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let left = (session.used + session::LIFETIME - now) / 3600;
    let (mode, named) = (mode_word(session.mode), named.join(", "));
    format!("{}  {mode}  {left} h left  {named}{more}", session.id)
}

fn mode_word(mode: Mode) -> &'static str {
    match mode {
        Mode::Immediate => "immediate",
        Mode::Manual => "manual",
        Mode::Disabled => "disabled",
    }
}

fn answer<F: Files>(run: &EditRun<'_, F>, request: &EditRequest, done: Done, focus: Option<String>) -> Response {
    // Of several documents, report the one whose state is most urgent.
    let weight = |state: DocumentState| match state.workflow_state() {
        WorkflowState::OutOfSync => 3,
        WorkflowState::SelectionPending => 2,
        WorkflowState::PersistPending => 1,
        WorkflowState::Idle | WorkflowState::Refreshing => 0,
    };
    let known = |path: &String| run.session.documents.contains_key(path);
    let among: Vec<&String> = done.paths.iter().chain(&focus).filter(|path| known(path)).collect();
    let among = if among.is_empty() {
        run.session.documents.keys().collect()
    } else {
        among
    };
    let path = among
        .into_iter()
        .rev()
        .max_by_key(|path| weight(run.session.documents[*path].state))
        .cloned();
    let document = path.as_ref().and_then(|path| run.session.documents.get(path));
    let status = done.status.unwrap_or(Status::Success);
    let closed = request.order == Order::Close && status == Status::Success;
    // A closed session has no pending state.
    let state = document
        .filter(|_| !closed)
        .map_or(DocumentState::On(FileRelation::Idle), |document| document.state);
    let mode = run.session.mode;
    let mut summary = done.summary;
    for note in &run.notes {
        summary = if summary.is_empty() {
            note.clone()
        } else {
            format!("{note}; {summary}")
        };
    }
    let went = path.as_ref().filter(|_| !closed).and_then(|path| run.guide_after_lost_file(path));
    let mut guidance = done.guidance.or(went).or_else(|| on(state, mode));
    let reminders = [
        (run.ended, "numbers of candidates from before have ended: `replace` offers new ones"),
        (
            mode == Mode::Disabled && document.is_some() && !closed,
            "the edits stay in the buffer and are not saved",
        ),
    ];
    for (_, words) in reminders.into_iter().filter(|(applies, _)| *applies) {
        guidance = Some(guidance.map_or(words.to_owned(), |guidance| format!("{guidance}; {words}")));
    }
    let length = path
        .as_ref()
        .and_then(|path| run.bytes(path, &run.document(path).ok()?.now.text).ok()?)
        .map_or(0, |bytes| length(&bytes));
    Response {
        status,
        workflow_state: state.workflow_state(),
        summary,
        guidance,
        metrics: Metrics {
            delta: run.delta,
            new_length: length,
            selection_count: done.count,
        },
        candidates: done.candidates,
        flags: flags(state, mode, status, run.files.is_logging()),
        session: Some(run.session.id.clone()),
        path,
        operation_id: run.id(),
        allowed: if closed {
            Vec::new()
        } else {
            run.allowed_tools(state.workflow_state())
        },
        detail: done.detail,
        files: if done.paths.len() > 1 { done.paths } else { Vec::new() },
        changed: done.changed,
        lost: Vec::new(),
        full: false,
    }
}

fn perform_in<F: Files>(run: &mut EditRun<'_, F>, request: &EditRequest) -> Result<Done, Trouble> {
    let parts = match &request.order {
        Order::Patch(text) => Some(patch::parse(text).map_err(|why| Trouble::new(why, "nothing was changed: correct the patch"))?),
        _ => None,
    };
    let mut paths = targets(run, request)?;
    if let Some(parts) = &parts {
        paths = patch_series::open(run, parts, |run, given| resolve_path(run.files, given))?;
    }
    if let Order::Batch(edits) = &request.order {
        for edit in edits {
            let path = match (&edit.path, &request.path) {
                (Some(given), _) => resolve_path(run.files, given)?,
                (None, Some(_)) => paths[0].clone(),
                (None, None) => return Err(Trouble::new("an edit names no file", "give each edit a path, or one path for all")),
            };
            run.open(&path)?;
            if !paths.contains(&path) {
                paths.push(path);
            }
        }
    }
    if let Order::Rewrite { texts, .. } = &request.order {
        for file in texts {
            let path = resolve_path(run.files, &file.path)?;
            match (&file.before, &file.like) {
                (Some(_), _) => run.open(&path)?,
                (None, Some(like)) => {
                    let like = resolve_path(run.files, like)?;
                    run.open(&like)?;
                    run.open_like(&path, &like)?;
                }
                (None, None) => run.open_new(&path)?,
            }
            paths.push(path);
        }
    }
    if request.path.is_none() && paths.len() > 1 && matches!(request.order, Order::Commit | Order::Refresh) {
        skip_refused(run, &mut paths);
    }
    if request.order == Order::Refresh {
        return refresh(run, paths);
    }
    let chooses = |path: &&String| {
        let document = run.document(path);
        document.is_ok_and(|document| document.state.workflow_state() == WorkflowState::SelectionPending)
    };
    let offered: Vec<String> = paths.iter().filter(chooses).cloned().collect();
    for path in &paths {
        let goes_on = request.order.continues_after_read_failure();
        let found = match run.read_document_file(path) {
            // `diff` shows the buffer even if its file cannot be read.
            Err(trouble) if request.order == Order::Diff => {
                run.notes.push(trouble.summary);
                continue;
            }
            Err(_) if goes_on => continue,
            found => found?,
        };
        if found == Reread::Conflict && !goes_on {
            let both = both_changes(run, path)?;
            return Err(Trouble {
                status: Status::ExternalConflict,
                summary: format!("{}; nothing was done", how_moved(run, path)?),
                guidance: None,
                detail: Some(both),
                path: Some(path.clone()),
            });
        }
    }
    if let Some(tool) = request.order.tool() {
        if paths.len() > 1 && request.order.chooses_documents() {
            // Of several documents, choose those with unsaved edits or a pending state.
            let first = paths.first().cloned();
            paths.retain(|path| {
                run.document(path)
                    .is_ok_and(|document| document.is_edited() || document.state.workflow_state() != WorkflowState::Idle)
            });
            // If no document differs, one suffices to report that.
            if paths.is_empty() && tool == Tool::Diff {
                paths.extend(first);
            }
        }
        let mode = run.session.mode;
        let blocks = |path: &&String| {
            run.document(path)
                .is_ok_and(|document| !allows(document.state.workflow_state(), mode, tool))
        };
        if let Some(path) = paths.iter().find(blocks) {
            return Err(not_now(run, path, tool));
        }
    }
    let mut done = match &request.order {
        Order::Open => open_document(run, &paths[0])?,
        Order::Replace { old, new } => replace(run, &paths[0], old, new, request.fit)?,
        Order::ReplaceAll { old, new } => replace_all(run, &paths[0], old, new, request.fit)?,
        Order::ReplaceNodes { selector, old, new, all } => {
            let wanted = NodesToReplace {
                selector,
                old: old.as_deref(),
                is_all: *all,
            };
            replace_nodes(run, &paths[0], &wanted, new, request.fit)?
        }
        Order::Select { id, new } => select(run, &paths[0], *id, new.as_deref())?,
        Order::Candidates { from } => list_candidates(run, &paths[0], from.saturating_sub(1))?,
        Order::Append { anchor, new } => append(run, &paths[0], anchor, new, request.fit)?,
        Order::Create(new) | Order::Write(new) => replace_all_text(run, &paths[0], new, request.fit)?,
        Order::Symbol(wanted) => symbol_edit(run, &paths[0], wanted, request.fit)?,
        Order::Patch(_) => {
            let texts = patch_series::texts(run, parts.as_deref().unwrap_or_default(), |run, given| {
                resolve_path(run.files, given)
            })?;
            edit_with_encoding(run, "patch", texts, "applied the patch")?
        }
        Order::Batch(edits) => batch(run, edits, &paths, request.fit)?,
        Order::Rewrite { operation, texts } => rewrite(run, operation, texts, &paths)?,
        Order::Commit => commit(run, &paths)?,
        Order::Discard => discard(run, &paths, &offered)?,
        Order::Diff => diff(run, &paths)?,
        Order::PersistAs(given) => persist_as(run, &paths[0], given)?,
        Order::Undo | Order::Redo => {
            let only = request.path.as_ref().and(paths.first());
            undo_or_redo(
                run,
                request.order == Order::Redo,
                only.map(String::as_str),
                request.session.is_none(),
            )?
        }
        Order::Close => close(run, &paths)?,
        Order::Refresh | Order::List => Done::default(),
    };
    if done.paths.is_empty() {
        done.paths = paths;
    }
    Ok(done)
}
