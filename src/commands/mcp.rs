//! `cortex mcp`: starts and ends the MCP server.

#[cfg(feature = "http")]
use super::http_setup::Entrance;
use crate::cli::{McpArgs, McpCommand};
use crate::command_context::CommandContext;
#[cfg(feature = "http")]
use crate::mcp::http;
use crate::mcp::server::{self, Server};
use crate::service::server::Stop;
use crate::signals;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use methods::code::Code;
use methods::failed::{Failed, Outcome};
use serve::tools::answer_form::Form;
use serve::tools::definitions::ToolAvailability;
use serve::{session_watch, source_watch};

/// Runs `cortex mcp`. Standard output belongs to the protocol; messages for people go to standard error.
pub fn run_mcp(context: &CommandContext, args: &McpArgs) -> Outcome {
    if let Some(McpCommand::Install(args)) = &args.command {
        return super::mcp_install::run_mcp_install(context, args);
    }
    // Report errors of manifest and store now, not to the first client.
    let can = ToolAvailability::from_manifest(&*context.workspace("mcp")?.manifest()?);
    context.release_locks_to_reopen();
    let stop = Stop::default();
    let ends = stop.clone();
    signals::on_signal(move || ends.stop(), || {});
    let (host, end) = (context.host(), stop.clone());
    let form = if args.structured { Form::Structured } else { Form::Text };
    let server = Server::new(host.clone(), form, can);
    let _lookout = session_watch::listen_for_sessions(context);
    let served = match args.http.http {
        #[cfg(feature = "http")]
        Some(at) => {
            let entrance = Entrance::bind_address(context, &args.http, at)?;
            let (listener, gate) = entrance.announce("mcp");
            let _watch = source_watch::start_watching(context, &host, args.ahead, (|_: &_| {}, move || end.stop()));
            http::serve_http(server, listener, gate, &stop)
        }
        _ => {
            let _watch = source_watch::start_watching(context, &host, args.ahead, (|_: &_| {}, move || end.stop()));
            server::converse(server, &stop)
        }
    };
    served.map(|()| Code::Ok).map_err(|error| {
        let why = Diagnostic::error(ErrorCode::E_SERVE, format!("the server cannot continue: {error}"));
        Failed::new(Code::Io, why.hint("check its client, or its address"))
    })
}
