//! The watch of a service: it follows the sources, so that requests need not scan them.

use crate::Host;
use crate::build_ahead::IDLE;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use engine::watch::{Batch, Socket, SocketError, Watch, WatchError, WatchProblem, Watcher};
use methods::code::Code;
use methods::desk::request_context::RequestContext;
use methods::failed::Failed;
use std::sync::Arc;

/// Starts to watch the sources, so that requests need not scan them. A running `cortex watch` serves as well; without either, each request scans.
/// With `ahead`, builds ahead while no source changes. If this process watches, `hear` receives the changes, and `end` is called when the workspace
/// is gone.
pub fn start_watching(
    context: &RequestContext,
    host: &Arc<Host>,
    ahead: bool,
    (hear, end): (impl Fn(&Batch) + Send + 'static, impl Fn() + Send + 'static),
) -> Option<std::thread::JoinHandle<()>> {
    let started = start(context, host);
    context.release_locks_to_reopen();
    let watch = match started {
        Ok(watch) => watch?,
        Err(failed) => {
            context.say(&failed.diagnostics);
            return None;
        }
    };
    let settings = context.settings().clone();
    let host = host.clone();
    let follow = move || {
        let mut is_due = ahead;
        loop {
            let batch = match is_due {
                true => watch.batches().recv_timeout(IDLE).map_err(|error| error.is_timeout()),
                false => watch.batches().recv().map_err(|_| false),
            };
            let batch = match batch {
                Ok(batch) => batch,
                Err(true) => {
                    is_due = !host.build_ahead();
                    continue;
                }
                Err(false) => return,
            };
            is_due = ahead;
            if batch.problem == Some(WatchProblem::Gone) {
                end();
                return;
            }
            hear(&batch);
            if batch.whole || batch.paths.contains(workbench::location::MANIFEST) {
                let context = RequestContext::of_request(settings.clone(), Default::default(), Arc::new(engine::values::event::Silent));
                // The next request reports a wrong manifest.
                if let Ok(workspace) = context.workspace("serve")
                    && let Ok(look) = workspace.engine.read_sources(&workspace.digest, || workspace.manifest())
                {
                    watch.cover(look.state.set_defs());
                }
                context.release_locks_to_reopen();
            }
        }
    };
    std::thread::Builder::new().name("follow".to_owned()).spawn(follow).ok()
}

fn start(context: &RequestContext, host: &Arc<Host>) -> Result<Option<Watch>, Failed> {
    let workspace = context.workspace("serve")?;
    let sources = workspace.engine.read_sources(&workspace.digest, || workspace.manifest())?;
    let Some(store) = &workspace.store_folder else { return Ok(None) };
    let socket = match Socket::bind_exclusively(&workbench::location::watch_socket(store, workspace.engine.view)) {
        Ok(socket) => socket,
        Err(SocketError::Taken { .. }) => return Ok(None),
        Err(error) => return Err(WatchError::from(error).into()),
    };
    let watcher = Watcher::new(&workspace.root, &sources.state.set_defs()).map_err(WatchError::from)?;
    let host = host.clone();
    let make_way = move || host.end_build_ahead();
    let watch = Watch::start(watcher, Some(socket), Box::new(make_way)).map_err(|error| {
        let why = Diagnostic::error(ErrorCode::E_WATCH, format!("the watch cannot start: {error}"));
        Failed::new(Code::Io, why)
    })?;
    Ok(Some(watch))
}
