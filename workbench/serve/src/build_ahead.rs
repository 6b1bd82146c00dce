//! Building ahead: while no source changes, builds recent requests and the outlines of the window's types, without paid work.

use engine::build::Options;
use engine::build::request::{Report, Request};
use engine::build::session::Session;
use engine::seams::producer::Cancel;
use engine::values::digest::Digest;
use engine::values::event::Silent;
use engine::values::pattern::PatternSet;
use methods::desk::build::{default_jobs, patterns};
use methods::desk::model_limits::AskingArgs;
use methods::desk::request_context::RequestContext;
use methods::failed::Failed;
use std::time::{Duration, Instant};
use workbench::watch::{recently_current_requests, window_outlines};
use workbench::workspace::Workspace;

/// Time without a change before building ahead starts.
pub const IDLE: Duration = Duration::from_secs(1);

/// Figures of one run of building ahead.
#[derive(Debug, Default)]
pub struct Ahead {
    /// Number of producers that ran.
    pub ran: usize,
    /// Number of requests that were built.
    pub requests: usize,
    pub took: Duration,
}

/// Builds ahead until `cancel`; calls `built` with each session that was built. Returns `None` if another process has the checkout.
pub fn build_ahead(context: &RequestContext, cancel: &Cancel, mut built: impl FnMut(&Session)) -> Result<Option<Ahead>, Failed> {
    let (workspace, builds) = context.watching("build ahead", &no_paid_calls())?;
    if !builds {
        return Ok(None);
    }
    let start = Instant::now();
    let mut ahead = Ahead::default();
    let lately = recently_current_requests(&*workspace.engine.store, workspace.engine.view)?
        .into_iter()
        .map(Some);
    for texts in lately.chain([None]) {
        let mut session = open_session(&workspace)?;
        let texts = texts.unwrap_or_else(|| window_outlines(&workspace.root, &session.graph));
        if texts.is_empty() {
            continue;
        }
        let Some(report) = build_gently(&mut session, &texts, cancel)? else {
            break;
        };
        (ahead.ran, ahead.requests) = (ahead.ran + report.tally.ran, ahead.requests + 1);
        if report.cancelled {
            break;
        }
        built(&session);
    }
    if ahead.ran > 0 {
        context.built();
    }
    ahead.took = start.elapsed();
    Ok(Some(ahead))
}

fn open_session(workspace: &Workspace) -> Result<Session, Failed> {
    let sources = workspace.engine.read_sources(&workspace.digest, || workspace.manifest())?;
    Ok(Session::open(workspace.engine.clone(), &workspace.manifest_definition()?, sources)?)
}

/// Builds with low CPU priority. Returns `None` after a panic, which it reports.
fn build_gently(session: &mut Session, texts: &[String], cancel: &Cancel) -> Result<Option<Report>, Failed> {
    // The workers inherit the priority of the thread that starts them; the rest of the process keeps its own.
    let report = std::thread::scope(|scope| {
        let build = || -> Result<Report, Failed> {
            os::processes::lower_priority();
            session.build(&request(patterns(texts)?), &Silent, cancel).map_err(Failed::from)
        };
        scope.spawn(build).join()
    });
    report.ok().transpose()
}

/// Returns limits that allow no model call, because no user requested one.
pub fn no_paid_calls() -> AskingArgs {
    AskingArgs {
        max_calls: Some(0),
        ..AskingArgs::default()
    }
}

/// Returns a build request for patterns whose report is discarded.
pub fn request(patterns: PatternSet) -> Request {
    let texts: Vec<String> = patterns.patterns().iter().map(ToString::to_string).collect();
    Request {
        digest: Digest::of(texts.join("\0").as_bytes()),
        patterns,
        options: Options {
            jobs: default_jobs(),
            ..Options::default()
        },
        list: false,
        outputs: false,
    }
}
