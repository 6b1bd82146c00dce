//! Edits of several files as one edit. All edits of symbols are saved here, after a check of the workspace with the new texts. The workspace is that
//! of the files, or that of a session.

use super::edit_check::refused_by_compiler;
use super::window::root_of_workspace;
use crate::code::Code;
use crate::desk::Desk;
use crate::desk::clock::current_seconds;
use crate::desk::request_context::RequestContext;
use crate::failed::Failed;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::{Diagnostic, Severity};
use engine::values::event::Silent;
use std::collections::BTreeSet;
use std::sync::Arc;
use workbench::code_text::encoding::decode;
use workbench::edit::contents::{Content, read_kept_content};
use workbench::edit::disk::Disk;
use workbench::edit::files::Files;
use workbench::edit::flags::Flags;
use workbench::edit::order::{EditRequest, Order, Rewritten};
use workbench::edit::perform::perform;
use workbench::edit::response::{Metrics, Response};
use workbench::edit::session::EditSession;
use workbench::edit::state::{Mode, Status, WorkflowState};
use workbench::editable_paths::Guard;
use workbench::rename::{self, Obstacles};

/// Returns the answer of a dry run: the differences.
fn dry_response(files: &[Rewritten]) -> Response {
    Response {
        status: Status::Success,
        workflow_state: WorkflowState::Idle,
        summary: "nothing was changed".to_owned(),
        guidance: None,
        metrics: Metrics::default(),
        candidates: None,
        flags: Flags::default(),
        session: None,
        path: files.first().map(|file| file.path.clone()),
        operation_id: "dry-0".to_owned(),
        allowed: Vec::new(),
        detail: Some(rename::diff(files)),
        files: files.iter().map(|file| file.path.clone()).collect(),
        changed: Vec::new(),
        lost: Vec::new(),
        full: false,
    }
}

/// Most obstacles that a refusal lists.
const MOST_NAMED: usize = 50;

/// An edit that obstacles refuse.
pub(super) struct Rewriting<'r> {
    /// Name of the requested method.
    pub method: &'static str,
    /// Its name in lists and for undo.
    pub operation: &'static str,
    /// Error code of a refusal.
    pub code: ErrorCode,
    /// Beginning of the message of a refusal: what is not done.
    pub refusal: &'r str,
    pub hint: &'r str,
}

/// Destination of new texts.
#[derive(Clone, Copy, Default)]
pub(super) struct Destination<'d> {
    /// The session whose buffers get them; without one, the files get them.
    pub session: Option<&'d str>,
    /// Whether they are only shown, and not saved.
    pub is_dry: bool,
}

impl Destination<'_> {
    /// Plans an edit in the workspace, with the unsaved texts of the session, if there is one.
    pub fn plan_in<T>(
        self,
        desk: &mut Desk<'_>,
        method: &'static str,
        plan: impl FnOnce(&mut Desk<'_>) -> Result<T, Failed>,
    ) -> Result<T, Failed> {
        match self.session {
            None => plan(desk),
            Some(session) => read_in_session(desk, method, session, plan),
        }
    }
}

/// Reads the workspace with the texts of a session.
pub(super) fn read_in_session<T>(
    desk: &Desk<'_>,
    method: &'static str,
    session: &str,
    read: impl FnOnce(&mut Desk<'_>) -> Result<T, Failed>,
) -> Result<T, Failed> {
    let global = desk.context.settings().clone();
    let context = RequestContext::of_request(global, desk.context.cancel(), Arc::new(Silent)).sharing_graph_of(desk.context);
    context.use_overlay(session);
    let mut inside = Desk::new(&context, method).part_of(desk);
    inside.read_only();
    let found = read(&mut inside)?;
    drop(inside);
    context.release_locks_to_reopen();
    // Others are about the workspace, and said of it.
    let mut said = context.take_collected();
    said.retain(|one| one.code == ErrorCode::W_UNDECLARED);
    desk.context.say(&said);
    Ok(found)
}

/// Returns the text of a content that a session keeps.
pub(super) fn session_text_of(disk: &Disk, content: &Content) -> Option<String> {
    let bytes = read_kept_content(disk, content.as_deref()?).ok()??;
    Some(decode(&bytes).ok()?.0)
}

/// Returns the unsaved files of a session, together with new texts, which replace those of the session.
fn trial_texts(disk: &Disk, session: Option<&str>, files: &[Rewritten]) -> Vec<Rewritten> {
    let session = session.and_then(|session| EditSession::load(disk, session, current_seconds()).ok());
    let mut texts = files.to_vec();
    for (path, document) in session.iter().flat_map(|session| &session.documents) {
        if !document.is_edited() {
            continue;
        }
        let base = session_text_of(disk, &document.now.base);
        match texts.iter_mut().find(|file| file.path == *path) {
            Some(file) => file.before = base,
            None => texts.push(Rewritten {
                path: path.clone(),
                before: base,
                after: session_text_of(disk, &document.now.text),
                like: None,
            }),
        }
    }
    texts.retain(|file| file.before != file.after);
    texts
}

impl Rewriting<'_> {
    /// Writes new texts to files, all or none, if `looked` finds no obstacle in the workspace with the new texts.
    pub fn perform(
        &self,
        desk: &mut Desk<'_>,
        files: &[Rewritten],
        to: Destination<'_>,
        looked: impl FnOnce(&mut Desk<'_>) -> Result<Result<(), Obstacles>, Failed>,
    ) -> Result<Response, Failed> {
        let root = root_of_workspace(desk)?;
        let guard = Guard {
            store: desk.context.store_folder(),
            manifest: false,
        };
        let disk = Disk::new(&root).with_guard(guard).logging(desk.context.settings().logs.clone());
        let is_read_only = |path: &str| {
            disk.read(path)
                .is_ok_and(|found| found.is_some_and(|found| found.mode & 0o222 == 0))
        };
        let is_generated =
            |file: &&Rewritten| producers::csharp::generated::is_generated(&file.path, file.before.as_deref().unwrap_or_default());
        let locked = files.iter().filter(|file| is_read_only(&file.path));
        let mut locked: BTreeSet<String> = locked.map(|file| format!("{}: it is read-only", file.path)).collect();
        let generated = files.iter().filter(is_generated);
        locked.extend(generated.map(|file| format!("{} is generated, and its next generation would undo the change", file.path)));
        if !locked.is_empty() {
            let hint = "nothing was changed; make the files writable, or change what generates them";
            return Err(Rewriting { hint, ..*self }.refused(&Obstacles(locked)));
        }
        // Other processes may write these files while they are edited.
        desk.context.release_locks();
        let rewrite = |texts: Vec<Rewritten>| Order::Rewrite {
            operation: self.operation,
            texts,
        };
        if files.iter().all(|file| file.before == file.after) {
            return self.order(&disk, rewrite(files.to_vec()), to.session, None);
        }
        // The new texts are checked in a session of their own, without a change of the files.
        let trial = trial_texts(&disk, to.session, files);
        if !trial.is_empty() {
            let tried = self.order(&disk, rewrite(trial), None, Some(Mode::Manual))?;
            let tried = tried.session.ok_or_else(|| Failed::bug(&"an edit has no session"))?;
            let found = read_in_session(desk, self.method, &tried, looked);
            let found = found.map(|looked| looked.and_then(|()| refused_by_compiler(desk, &disk, &tried)));
            for end in [Order::Discard, Order::Close] {
                drop(self.order(&disk, end, Some(&tried), None));
            }
            found?.map_err(|way| self.refused(&way))?;
        }
        if to.is_dry {
            return Ok(dry_response(files));
        }
        let done = self.order(&disk, rewrite(files.to_vec()), to.session, None)?;
        Ok(done)
    }

    /// Performs one operation of a session.
    fn order(&self, disk: &Disk, order: Order, session: Option<&str>, mode: Option<Mode>) -> Result<Response, Failed> {
        let request = EditRequest {
            order,
            session: session.map(str::to_owned),
            path: None,
            mode,
            fit: false,
        };
        let response = perform(disk, &request, current_seconds());
        let code = match response.status {
            Status::Success | Status::NoOp => return Ok(response),
            Status::PersistFailure => Code::Io,
            Status::NoMatch | Status::MultiMatch | Status::ExternalConflict => Code::TargetFailed,
            Status::Exception => Code::Usage,
        };
        let why = Diagnostic::error(self.code, response.summary);
        Err(Failed::new(
            code,
            why.hint(response.guidance.unwrap_or_else(|| "nothing was changed".to_owned())),
        ))
    }

    pub fn refused(&self, way: &Obstacles) -> Failed {
        // Report a single failure at once.
        let only = way.0.first().filter(|_| way.0.len() == 1);
        let message = match only {
            Some(only) => format!("{}: {only}", self.refusal),
            None if way.0.len() > MOST_NAMED => format!("{}: {} obstacles; the first {MOST_NAMED} follow", self.refusal, way.0.len()),
            None => format!("{}: {} obstacles", self.refusal, way.0.len()),
        };
        let named = way.0.iter().take(if only.is_some() { 0 } else { MOST_NAMED });
        let named = named.map(|what| Diagnostic::new(Severity::Note, ErrorCode::N_IN_THE_WAY, what.as_str()));
        let why = Diagnostic::error(self.code, message).hint(self.hint);
        Failed {
            code: Code::Usage,
            diagnostics: std::iter::once(why).chain(named).collect(),
        }
    }
}
