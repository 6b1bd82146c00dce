//! Building labels to read their outputs, for `show`, `outline`, `usages` and `dev facts`.

use super::build;
use crate::code::Code;
use crate::desk::request_context::RequestContext;
use crate::failed::Failed;
use engine::build::Options;
use engine::build::request::{Report, Request};
use engine::build::session::Session;
use engine::values::digest::Digest;

/// Builds labels or patterns and returns their outputs, in the report's order. `command` keeps the requests of commands apart. The code says
/// whether all of them were built. Fails when a pattern is wrong or names nothing, which is then already reported, or when the store fails.
pub fn build_outputs(
    context: &RequestContext,
    session: &mut Session,
    command: &str,
    labels: &[String],
    keep_going: bool,
) -> Result<(Report, Code), Failed> {
    build_labels(context, session, command, (labels, keep_going), true)
}

/// Builds targets and returns the report with the digests of their outputs, which are not read. Otherwise as [`build_outputs`]. Fails as
/// [`build_outputs`] does.
pub fn list_outputs(context: &RequestContext, session: &mut Session, command: &str, labels: &[String]) -> Result<(Report, Code), Failed> {
    build_labels(context, session, command, (labels, true), false)
}

fn build_labels(
    context: &RequestContext,
    session: &mut Session,
    command: &str,
    (labels, keep_going): (&[String], bool),
    outputs: bool,
) -> Result<(Report, Code), Failed> {
    let request = Request {
        patterns: build::patterns(labels)?,
        digest: Digest::of(format!("{command}\0{}", labels.join("\0")).as_bytes()),
        options: Options {
            jobs: build::default_jobs(),
            keep_going,
            // cortex itself looks up answers in index tables; such a request is not built ahead.
            own: labels.iter().all(|label| label.starts_with("//index:")),
            ..Options::default()
        },
        list: true,
        outputs,
    };
    let report = build::build(context, session, &request)?;
    if !report.refused.is_empty() {
        return Err(Failed {
            code: Code::Usage,
            diagnostics: Vec::new(),
        });
    }
    let code = build::code(&report);
    Ok((report, code))
}
