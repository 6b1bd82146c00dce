//! Counts the outcomes of edits: `edit.apply.success.rate` and `edit.rollback.count`.

use super::edit::Op;
use super::edit_operations::OperationKind;
use crate::desk::Desk;
use crate::failed::Failed;
use workbench::edit::disk::Disk;
use workbench::edit::edit_counts::{EditCounts, EditOutcome};
use workbench::edit::response::Response;
use workbench::edit::state::Status;

/// Counts an attempted edit, or an undo. Dry runs, edits with several matches, and all other operations are not counted.
pub(super) fn count_operation(desk: &Desk<'_>, op: Op, is_dry: bool, outcome: &Result<Response, Failed>) {
    let status = outcome.as_ref().map_or(Status::Exception, |response| response.status);
    let is_done = matches!(status, Status::Success | Status::NoOp);
    let outcome = match op {
        _ if is_dry || status == Status::MultiMatch => None,
        Op::Undo => is_done.then_some(EditOutcome::RolledBack),
        op if op.operation().kind == OperationKind::Session => None,
        _ if is_done => Some(EditOutcome::Applied),
        _ => Some(EditOutcome::Failed),
    };
    count_outcome(desk, outcome);
}

pub(super) fn count_outcome(desk: &Desk<'_>, outcome: Option<EditOutcome>) {
    if let (Some(outcome), Some(root)) = (outcome, desk.context.root_around()) {
        EditCounts::count_edit(&Disk::new(&root), outcome);
    }
}
