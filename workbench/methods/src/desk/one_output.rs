//! The output of one target: built anew, or as it is.

use super::outputs::build_outputs;
use super::request_context::RequestContext;
use crate::code::Code;
use crate::failed::Failed;
use crate::render::moment;
use engine::build::query::NodeState;
use engine::build::session::Session;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::{Diagnostic, Severity};
use engine::values::digest::Digest;
use std::sync::Arc;
use workbench::builds::files_behind;
use workbench::status::target_status;

pub struct LabelledOutput {
    pub label: String,
    pub digest: Digest,
    pub bytes: Arc<[u8]>,
}

pub fn build_and_read(context: &RequestContext, session: &mut Session, label: &str) -> Result<LabelledOutput, Failed> {
    match make_output(context, session, label)? {
        (shown, Code::Ok) => Ok(shown),
        (_, code) => Err(already_reported(code)),
    }
}

/// Creates a failure whose diagnostics are already reported.
fn already_reported(code: Code) -> Failed {
    Failed {
        code,
        diagnostics: Vec::new(),
    }
}

/// Builds one label and returns its output, even if something else failed, for example laying it out; then the code says so.
pub fn make_output(context: &RequestContext, session: &mut Session, label: &str) -> Result<(LabelledOutput, Code), Failed> {
    let (report, code) = build_outputs(context, session, "show", &[label.to_owned()], false)?;
    if code != Code::Ok && !matches!(report.outputs.as_slice(), [Some(_)]) {
        return Err(already_reported(code));
    }
    let ([root], [bytes]) = (report.roots.as_slice(), report.outputs.as_slice()) else {
        let why = Diagnostic::error(
            ErrorCode::E_SEVERAL,
            format!("{label} names {} targets; `show` prints one", report.roots.len()),
        );
        return Err(Failed::new(Code::Usage, why.hint("name one label, with its ':target'")));
    };
    let gone = || {
        let (code, what, hint) = match (report.tally.awaited, report.tally.deferred) {
            (0, 0) => (Code::Io, "the output cannot be read from the store", "run the same command again"),
            (0, _) => (
                Code::TargetFailed,
                "its answer comes with a batch",
                "the same command again, once the batch is answered (within a day), shows it",
            ),
            _ => (
                Code::TargetFailed,
                "it waits for an agent's answer",
                "`cortex work next` gives the question, `cortex work submit` takes the answer",
            ),
        };
        Failed::new(code, Diagnostic::error(ErrorCode::E_NO_OUTPUT, what).label(&root.label).hint(hint))
    };
    let digest = root.output.ok_or_else(gone)?;
    let bytes = bytes.clone().ok_or_else(gone)?;
    let shown = LabelledOutput {
        label: root.label.to_string(),
        digest,
        bytes,
    };
    Ok((shown, code))
}

/// Returns the last output of a label with its state, and reports a stale one. Returns `None` if the label should be built.
pub fn read_stored_output(
    context: &RequestContext,
    session: &mut Session,
    label: &str,
    only: bool,
) -> Result<Option<(LabelledOutput, NodeState)>, Failed> {
    let last = session.last(label)?;
    let blob = last
        .as_ref()
        .map(|last| session.engine.store.output(&last.result.output))
        .transpose()?
        .flatten();
    let status = target_status(&context.root_around().unwrap_or_default(), session, label)?;
    let state = status.state;
    if state == NodeState::Current && !only {
        return Ok(None);
    }
    let (Some(last), Some(bytes)) = (last, blob) else {
        if !only {
            return Ok(None);
        }
        let why = Diagnostic::error(ErrorCode::E_NO_OUTPUT, "it has no output yet").label(label);
        return Err(Failed::new(Code::Usage, why.hint(format!("`cortex build '{label}'` builds it"))));
    };
    if state != NodeState::Current {
        let removed = files_behind(session, label, last.result.key)?.removed;
        let (what, hint) = match (state, removed.first()) {
            (_, Some(file)) => (
                format!("is out of date: {file} was removed"),
                "`cortex explain` shows its use of the file; a build may remove the target".to_owned(),
            ),
            (state, None) => {
                let what = match (state, &status.waits_for) {
                    (NodeState::MaybeStale, _) => "may be out of date: its inputs must be rebuilt first",
                    (NodeState::Pending, Some(wait)) => &format!("is out of date, and {wait}"),
                    (NodeState::Pending, None) if status.last_error.is_some() => "is out of date, and the last rebuild failed",
                    (NodeState::Pending, None) => "is out of date, and the last build did not rebuild it",
                    (NodeState::Generating, _) => "is out of date, and a build is asking a model for a new one",
                    _ if session.is_invalidated(label) => "is out of date: it was invalidated by hand",
                    _ => "is out of date: its inputs have changed",
                };
                let hint = format!("`cortex show --refresh '{label}'` rebuilds it, `cortex explain` says why");
                (what.to_owned(), hint)
            }
        };
        let made = moment(last.record.made_at);
        let note = Diagnostic::new(
            Severity::Note,
            ErrorCode::N_STALE,
            format!("this is the version of {made}; it {what}"),
        )
        .label(label);
        context.say(&[note.hint(hint)]);
    }
    let shown = LabelledOutput {
        label: label.to_owned(),
        digest: last.result.output,
        bytes,
    };
    Ok(Some((shown, state)))
}
