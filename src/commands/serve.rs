//! `cortex serve`: starts and ends the service of a checkout.

#[cfg(feature = "http")]
use super::http_setup::Entrance;
use crate::cli::ServeArgs;
use crate::command_context::CommandContext;
#[cfg(feature = "http")]
use crate::page::{self, News};
use crate::service::client;
use crate::service::server::{self, Stop};
use crate::signals;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::{Diagnostic, Severity};
use engine::watch::{Batch, Socket, SocketError};
use methods::code::Code;
use methods::failed::{Failed, Outcome, outcome_of_write};
#[cfg(feature = "http")]
use serve::Host;
use serve::{session_watch, source_watch};
#[cfg(feature = "http")]
use std::io::IsTerminal;
use std::io::Write;
use std::path::{Path, PathBuf};
#[cfg(feature = "http")]
use std::sync::Arc;
use std::time::Duration;

/// Runs `cortex serve`.
pub fn run_serve(context: &CommandContext, args: &ServeArgs) -> Outcome {
    if args.status {
        return status(context);
    }
    if args.stop {
        return stop_serving(context);
    }
    // Report errors of manifest and store now, not to the first client.
    context.workspace("serve")?.manifest()?;
    context.release_locks_to_reopen();
    let stop = Stop::default();
    let ends = stop.clone();
    signals::on_signal(move || ends.stop(), || {});
    let host = context.host();
    #[cfg(feature = "http")]
    let page = Page::default();
    #[cfg(feature = "http")]
    let edits = page.news.clone();
    let note_edits = move |_batch: &Batch| {
        #[cfg(feature = "http")]
        edits.note_edits(_batch);
    };
    let end = stop.clone();
    let _watch = source_watch::start_watching(context, &host, args.ahead, (note_edits, move || end.stop()));
    let _lookout = session_watch::listen_for_sessions(context);
    if args.stdio {
        return outcome_of_serving(server::converse(host, &stop));
    }
    let path = socket_path(context)?;
    let socket = Socket::bind_exclusively(&path).map_err(|error| socket_error(&path, error))?;
    #[cfg(feature = "http")]
    if let Some(at) = args.http.http {
        return page.serve(context, Entrance::bind_address(context, &args.http, at)?, host, &socket, &stop);
    }
    // The service runs even if this line cannot be written.
    let _ = match context.prints_json() {
        true => writeln!(context.stdout(), "{}", serving(&path)),
        false => writeln!(context.stdout(), "serving at {}", path.display()),
    };
    outcome_of_serving(server::serve_socket(host, &socket, &stop))
}

/// Builds the JSON line that announces the service.
fn serving(path: &Path) -> serde_json::Value {
    serde_json::json!({"socket": path, "pid": std::process::id()})
}

/// Live page of the service.
#[cfg(feature = "http")]
#[derive(Default)]
struct Page {
    news: News,
}

#[cfg(feature = "http")]
impl Page {
    /// Serves the page and the socket until one of them ends.
    fn serve(self, context: &CommandContext, entrance: Entrance, host: Arc<Host>, socket: &Socket, stop: &Stop) -> Outcome {
        let _ = writeln!(context.stdout(), "{}", start_line(context, &socket_path(context)?, &entrance));
        let (shared, store, page_stop) = (server::shared(host.clone(), stop), context.store_folder(), Stop::default());
        let way = entrance.announce("");
        let served = std::thread::scope(|scope| {
            let page = scope.spawn(|| {
                let served = page::serve(shared, self.news, store, way, &page_stop);
                // The user requested the page, so the service ends with it.
                stop.stop();
                served
            });
            let served = server::serve_socket(host, socket, stop);
            page_stop.stop();
            let page = page
                .join()
                .unwrap_or_else(|_| Err(std::io::Error::other("the server of the page broke off")));
            served.and(page)
        });
        outcome_of_serving(served)
    }
}

/// Builds the line that announces page and service. Only on a terminal the address includes the token: elsewhere it might be stored in a log.
#[cfg(feature = "http")]
fn start_line(context: &CommandContext, path: &Path, entrance: &Entrance) -> String {
    let page = format!("http://{}/", entrance.at);
    if context.prints_json() {
        let mut document = serving(path);
        document["page"] = page.into();
        document["token"] = entrance.token_file.display().to_string().into();
        return document.to_string();
    }
    let token = match std::io::stdout().is_terminal() {
        true => entrance.token.clone(),
        false => format!("TOKEN, with the token in {}", entrance.token_file.display()),
    };
    format!("serving at {}\nthe page is {page}#token={token}", path.display())
}

fn socket_path(context: &CommandContext) -> Result<PathBuf, Failed> {
    context.service().ok_or_else(|| {
        let why = Diagnostic::error(ErrorCode::E_NO_STORE, "the socket needs a store");
        Failed::new(Code::Usage, why.hint("serve one client with --stdio, or use a store"))
    })
}

fn socket_error(path: &Path, error: SocketError) -> Failed {
    match error {
        SocketError::Taken { pid } => {
            let why = Diagnostic::error(ErrorCode::E_BUSY, format!("a service already runs for this checkout, pid {pid}"));
            Failed::new(Code::Busy, why.hint("one service is enough for all; `cortex serve --stop` ends it"))
        }
        SocketError::Io { reason, .. } => {
            let why = Diagnostic::error(
                ErrorCode::E_SERVE,
                format!("the service cannot listen at {}: {reason}", path.display()),
            );
            Failed::new(Code::Io, why.hint("check the permissions of the store's folder"))
        }
    }
}

fn outcome_of_serving(result: std::io::Result<()>) -> Outcome {
    result.map(|()| Code::Ok).map_err(|error| {
        let why = Diagnostic::error(ErrorCode::E_SERVE, format!("the service cannot continue: {error}"));
        Failed::new(Code::Io, why)
    })
}

fn status(context: &CommandContext) -> Outcome {
    let path = socket_path(context)?;
    let about = match client::ask_about_service(&path) {
        Ok(about) => about,
        Err(error) => match client::unanswering(&path, &error) {
            Some(pid) => {
                let why = format!("the service of this checkout, pid {pid}, does not answer: {error}");
                let hint = "it may have more clients than it can serve, or be stopped; `cortex serve --stop` ends it";
                return Err(Failed::new(Code::Busy, Diagnostic::error(ErrorCode::E_BUSY, why).hint(hint)));
            }
            None => {
                let why = Diagnostic::new(Severity::Note, ErrorCode::N_NO_SERVICE, "no service runs for this checkout");
                context.say(&[why.hint("`cortex serve` starts one")]);
                return Ok(Code::TargetFailed);
            }
        },
    };
    if context.prints_json() {
        return outcome_of_write(writeln!(context.stdout(), "{about:#}"));
    }
    let uptime = Duration::from_secs(about["uptimeSec"].as_u64().unwrap_or_default());
    let mut text = format!(
        "serving at {} since {}, pid {}\n",
        path.display(),
        humantime::format_duration(uptime),
        about["pid"]
    );
    for (name, figures) in about["methods"].as_object().into_iter().flatten() {
        text += &format!(
            "  {name:<16} {:>8} calls, {} cached, {} failed, P50 {} ms, P95 {} ms\n",
            figures["calls"], figures["warm"], figures["failed"], figures["p50Ms"], figures["p95Ms"]
        );
    }
    outcome_of_write(write!(context.stdout(), "{text}"))
}

fn stop_serving(context: &CommandContext) -> Outcome {
    let path = socket_path(context)?;
    let (pid, ended) = match client::ask_about_service(&path) {
        Ok(about) => (about["pid"].clone(), client::stop_service(&path)),
        Err(error) => match client::unanswering(&path, &error) {
            Some(pid) => {
                let ended = client::end_service(&path, pid);
                let late = || Err(std::io::ErrorKind::TimedOut.into());
                (pid.into(), ended.and_then(|ended| if ended { Ok(()) } else { late() }))
            }
            None => {
                context.say(&[Diagnostic::new(
                    Severity::Note,
                    ErrorCode::N_NO_SERVICE,
                    "no service runs for this checkout",
                )]);
                if context.prints_json() {
                    return outcome_of_write(writeln!(context.stdout(), "{}", serde_json::json!({"stopped": null})));
                }
                return Ok(Code::Ok);
            }
        },
    };
    if let Err(error) = ended {
        let why = Diagnostic::error(ErrorCode::E_SERVE, format!("the service, pid {pid}, did not end: {error}"));
        return Err(Failed::new(
            Code::Io,
            why.hint("its present requests may take a while; SIGKILL ends it at once, and loses no stored result"),
        ));
    }
    let text = match context.prints_json() {
        true => serde_json::json!({"stopped": pid}).to_string(),
        false => format!("stopped pid {pid}"),
    };
    outcome_of_write(writeln!(context.stdout(), "{text}"))
}
