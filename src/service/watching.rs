//! The watch of a service: the sources are followed while it runs, so that nobody has to look at them for each request.

use super::server::Stop;
use crate::context::{Context, Failed};
use crate::exit::Code;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use engine::watch::{Batch, Socket, SocketError, Trouble, Watch, WatchError, Watcher};
use std::sync::Arc;

/// Begins to watch the sources, so that nobody has to look at them for each request. Where `cortex watch` runs it serves as well; where
/// nothing can be heard each request looks. `told` hears what moved, as far as this process watches.
pub fn begin(context: &Context, stop: &Stop, told: impl Fn(&Batch) + Send + 'static) -> Option<std::thread::JoinHandle<()>> {
    let started = start(context);
    context.close();
    let watch = match started {
        Ok(watch) => watch?,
        Err(failed) => {
            context.say(&failed.diagnostics);
            return None;
        }
    };
    let stop = stop.clone();
    let global = context.global.clone();
    let follow = move || {
        while let Ok(batch) = watch.batches().recv() {
            if batch.trouble == Some(Trouble::Gone) {
                stop.stop();
                return;
            }
            told(&batch);
            if batch.whole || batch.paths.contains(workbench::location::MANIFEST) {
                let context = Context::of_request(global.clone(), Default::default(), Arc::new(engine::values::event::Silent));
                // A manifest that is wrong is told to whoever asks next.
                if let Ok(workspace) = context.workspace("serve")
                    && let Ok(look) = workspace.engine.look(&workspace.digest, || workspace.manifest())
                {
                    watch.cover(look.state.set_defs());
                }
                context.close();
            }
        }
    };
    std::thread::Builder::new().name("follow".to_owned()).spawn(follow).ok()
}

fn start(context: &Context) -> Result<Option<Watch>, Failed> {
    let workspace = context.workspace("serve")?;
    let look = workspace.engine.look(&workspace.digest, || workspace.manifest())?;
    let Some(store) = &workspace.store_folder else { return Ok(None) };
    let socket = match Socket::bind(&workbench::watch::socket(store, workspace.engine.view)) {
        Ok(socket) => socket,
        Err(SocketError::Taken { .. }) => return Ok(None),
        Err(error) => return Err(WatchError::from(error).into()),
    };
    let watcher = Watcher::new(&workspace.root, &look.state.set_defs()).map_err(WatchError::from)?;
    let watch = Watch::start(watcher, Some(socket), Box::new(|| {})).map_err(|error| {
        let why = Diagnostic::error(ErrorCode::E_WATCH, format!("the watch cannot begin: {error}"));
        Failed::new(Code::Io, why)
    })?;
    Ok(Some(watch))
}
