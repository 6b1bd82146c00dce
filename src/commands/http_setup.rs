//! Setup of a command that listens over HTTP: the address, and the gate with the token that clients need.

use crate::cli::HttpArgs;
use crate::command_context::CommandContext;
use crate::http::access_rules::{self, HttpAccessRules};
use crate::http::listen;
use crate::http::token::{self, Token};
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use methods::code::Code;
use methods::failed::Failed;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};

/// A bound address, before requests are served.
pub struct Entrance {
    listener: TcpListener,
    gate: HttpAccessRules,
    /// Bound address.
    pub at: SocketAddr,
    pub token: String,
    pub token_file: PathBuf,
}

impl Entrance {
    /// Binds the address, and reads or creates the token. Fails when a flag is wrong, the address is in use, or the token cannot be read or
    /// written.
    pub fn bind_address(context: &CommandContext, args: &HttpArgs, at: SocketAddr) -> Result<Self, Failed> {
        if let Some(wrong) = args.allow_origin.iter().find(|origin| !access_rules::is_origin(origin)) {
            let why = Diagnostic::error(ErrorCode::E_ORIGIN, "this is not the origin of a page").found(wrong.as_str());
            return Err(Failed::new(
                Code::Usage,
                why.hint("an origin is a scheme, a name and a port: https://tools.example:8443"),
            ));
        }
        let service = context.service().ok_or_else(|| {
            let why = Diagnostic::error(ErrorCode::E_NO_STORE, "the token for clients needs a store");
            Failed::new(Code::Usage, why.hint("serve the parent process without --http, or use a store"))
        })?;
        let token_file = service.with_extension("token");
        let token = token::text_at(&token_file).map_err(|error| token_not_safe(&token_file, &error))?;
        let opened = listen::bind_listener(at).and_then(|listener| Ok((listener.local_addr()?, listener)));
        let (at, listener) = opened.map_err(|error| bind_error(at, &error))?;
        Ok(Self {
            gate: HttpAccessRules::new(at, &args.allow_host, &args.allow_origin, Token::from_text(&token)),
            listener,
            at,
            token,
            token_file,
        })
    }

    /// Prints to standard error where clients find the server and its token. Returns the parts to serve with.
    pub fn announce(self, path: &str) -> (TcpListener, HttpAccessRules) {
        note_line!("clients need the token in {}", self.token_file.display());
        note_line!("serving at http://{}/{path}", self.at);
        if !self.at.ip().is_loopback() {
            note_line!("other machines in the network can reach it, and the connection is not encrypted: an eavesdropper learns the token");
        }
        (self.listener, self.gate)
    }
}

fn token_not_safe(path: &Path, error: &std::io::Error) -> Failed {
    let why = Diagnostic::error(
        ErrorCode::E_TOKEN,
        format!("the token in {} cannot be used: {error}", path.display()),
    );
    Failed::new(Code::Io, why.hint("remove the file; the next server writes a new one"))
}

fn bind_error(at: SocketAddr, error: &std::io::Error) -> Failed {
    let why = Diagnostic::error(ErrorCode::E_SERVE, format!("the server cannot listen at {at}: {error}"));
    Failed::new(Code::Io, why.hint("name another port, or 0 for a free one"))
}
