//! `cortex mcp`: the methods for language models, from the server's beginning to its end.

use crate::cli::{McpArgs, McpCommand};
use crate::context::{Context, Failed, Outcome};
use crate::exit::{self, Code};
use crate::mcp::form::Form;
use crate::mcp::gate::{self, Gate};
use crate::mcp::http;
use crate::mcp::server::{self, Server};
use crate::mcp::token::Token;
use crate::mcp::tools::Can;
use crate::service::server::Stop;
use crate::service::{Host, session_watch, watching};
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

/// Runs it. Standard output is the protocol's; people are told on standard error.
pub fn run(context: &Context, args: &McpArgs) -> Outcome {
    if let Some(McpCommand::Install(args)) = &args.command {
        return super::mcp_install::run(context, args);
    }
    // Whatever is wrong with manifest or store is said at once, and not to the first client.
    let can = Can::of(&*context.workspace("mcp")?.manifest()?);
    context.close();
    let stop = Stop::default();
    let ends = stop.clone();
    exit::on_signal(move || ends.stop(), || {});
    let host = Arc::new(Host::new(context.global.clone()));
    let form = if args.structured { Form::Structured } else { Form::Text };
    let server = Server::new(host.clone(), form, can);
    let _lookout = session_watch::begin(context);
    let served = match args.http {
        None => {
            let _watch = watching::begin(context, &stop, &host, args.ahead);
            server::converse(server, &stop)
        }
        Some(at) => {
            let token = token(context, args)?;
            let _watch = watching::begin(context, &stop, &host, args.ahead);
            http::listen(server, at, &stop, |at| {
                began(at);
                Gate::new(at, &args.allow_host, &args.allow_origin, token)
            })
        }
    };
    served.map(|()| Code::Ok).map_err(|error| {
        let why = Diagnostic::error(ErrorCode::E_SERVE, format!("the server cannot go on: {error}"));
        Failed::new(
            Code::Io,
            why.hint("check the client that speaks to it, or the address that it listens at"),
        )
    })
}

/// The token that clients need, and where it stands.
fn token(context: &Context, args: &McpArgs) -> Result<Token, Failed> {
    if let Some(wrong) = args.allow_origin.iter().find(|origin| !gate::is_origin(origin)) {
        let why = Diagnostic::error(ErrorCode::E_ORIGIN, "this is no origin of a page").found(wrong.as_str());
        return Err(Failed::new(
            Code::Usage,
            why.hint("an origin is a scheme, a name and a port: https://tools.example:8443"),
        ));
    }
    let service = context.service().ok_or_else(|| {
        let why = Diagnostic::error(
            ErrorCode::E_NO_STORE,
            "without a store there is no place for the token that clients need",
        );
        Failed::new(Code::Usage, why.hint("serve the parent process without --http, or keep a store"))
    })?;
    let path = service.with_extension("token");
    let token = Token::at(&path).map_err(|error| untrusted(&path, &error))?;
    note_line!("clients need the token in {}", path.display());
    Ok(token)
}

fn untrusted(path: &Path, error: &std::io::Error) -> Failed {
    let why = Diagnostic::error(
        ErrorCode::E_TOKEN,
        format!("the token in {} cannot be used: {error}", path.display()),
    );
    Failed::new(Code::Io, why.hint("remove the file; the next server makes another"))
}

fn began(at: SocketAddr) {
    note_line!("serving at http://{at}/mcp");
    if !at.ip().is_loopback() {
        note_line!("others in the network can reach it, and nothing is encrypted: whoever listens there learns the token");
    }
}
