//! Edits of several files as one, which are looked at before they are saved.

use super::window::root;
use crate::commands::gc::now;
use crate::context::{Context, Failed};
use crate::desk::Desk;
use crate::exit::Code;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::{Diagnostic, Severity};
use engine::values::event::Silent;
use std::collections::BTreeSet;
use std::sync::Arc;
use workbench::edit::disk::Disk;
use workbench::edit::files::Files;
use workbench::edit::order::{EditRequest, Order};
use workbench::edit::perform::perform;
use workbench::edit::place::Guard;
use workbench::edit::response::Response;
use workbench::edit::state::{Mode, Status};
use workbench::live::edits;
use workbench::rename::{InTheWay, Rewritten};

/// What is named of what is in the way.
const MOST_NAMED: usize = 50;

/// An edit that is refused where anything is in the way.
pub(super) struct Rewriting<'r> {
    /// The method that looks at it.
    pub method: &'static str,
    /// What it is called where it is listed and undone.
    pub operation: &'static str,
    /// Its code where it is refused.
    pub code: ErrorCode,
    /// What does not happen when it is refused, in a sentence's beginning.
    pub refusal: &'r str,
    /// What leads on then.
    pub hint: &'r str,
}

impl Rewriting<'_> {
    /// Gives files their new texts, all or none, once `looked` found nothing in the way in the workspace that has them. Nothing is saved unless
    /// `saves`.
    pub fn perform(
        &self,
        desk: &mut Desk<'_>,
        files: &[Rewritten],
        saves: bool,
        looked: impl FnOnce(&mut Desk<'_>) -> Result<Result<(), InTheWay>, Failed>,
    ) -> Result<Option<Response>, Failed> {
        let root = root(desk)?;
        let guard = Guard {
            store: desk.context.store_folder(),
            manifest: false,
        };
        let disk = Disk::new(&root).guarded(guard).logging(desk.context.logs());
        // Nobody may write them.
        let is_read_only = |path: &str| {
            disk.read(path)
                .is_ok_and(|found| found.is_some_and(|found| found.mode & 0o222 == 0))
        };
        let locked = files.iter().filter(|file| is_read_only(&file.path));
        let locked: BTreeSet<String> = locked.map(|file| format!("{}: it is read-only", file.path)).collect();
        if !locked.is_empty() {
            return Err(self.refused(&InTheWay(locked)));
        }
        // The files are not kept from others while they are edited.
        desk.context.let_go();
        let texts = files
            .iter()
            .map(|file| (file.path.clone(), file.before.clone(), file.after.clone()));
        let rewrite = Order::Rewrite {
            operation: self.operation,
            texts: texts.collect(),
        };
        if files.iter().all(|file| file.before == file.after) {
            return self.order(&disk, rewrite, None, None).map(Some);
        }
        // The new texts are looked at in a session of their own, which holds them beside the files.
        let tried = self.order(&disk, rewrite.clone(), None, Some(Mode::Manual))?;
        let tried = tried.session.ok_or_else(|| Failed::bug(&"an edit has no session"))?;
        let found = self.bind_new_texts(desk, &tried, looked);
        for end in [Order::Discard, Order::Close] {
            drop(self.order(&disk, end, Some(&tried), None));
        }
        found?.map_err(|way| self.refused(&way))?;
        if !saves {
            return Ok(None);
        }
        let done = self.order(&disk, rewrite, None, None)?;
        if let Some(session) = &done.session {
            drop(edits::hand_over(&Disk::new(&root), &root, session, now()));
        }
        Ok(Some(done))
    }

    /// Looks at the workspace with the texts of a session.
    fn bind_new_texts<T>(
        &self,
        desk: &Desk<'_>,
        session: &str,
        looked: impl FnOnce(&mut Desk<'_>) -> Result<T, Failed>,
    ) -> Result<T, Failed> {
        let global = desk.context.global.clone();
        let context = Context::of_request(global, desk.context.cancel(), Arc::new(Silent));
        context.use_overlay(session);
        let mut inside = Desk::new(&context, self.method);
        inside.read_only();
        let found = looked(&mut inside)?;
        drop(inside);
        context.close();
        Ok(found)
    }

    /// Performs one operation of a session.
    fn order(&self, disk: &Disk, order: Order, session: Option<&str>, mode: Option<Mode>) -> Result<Response, Failed> {
        let asked = EditRequest {
            order,
            session: session.map(str::to_owned),
            path: None,
            mode,
            fit: false,
        };
        let response = perform(disk, &asked, now());
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

    /// The refusal, with what is in the way.
    pub fn refused(&self, way: &InTheWay) -> Failed {
        // What is the only one is told at once.
        let only = way.0.first().filter(|_| way.0.len() == 1);
        let message = match only {
            Some(only) => format!("{}: {only}", self.refusal),
            None => format!("{}: {} things are in the way", self.refusal, way.0.len()),
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
