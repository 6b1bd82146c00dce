//! MCP over HTTP: `/mcp` is the endpoint of streamable HTTP, `/metrics` returns figures.

use super::server::Server;
use crate::http::access_rules::HttpAccessRules;
use crate::http::answer::{Body, answer_of_type, is_json, json_answer, not_allowed, read_body, text_answer};
use crate::http::listen::{self, Routes};
use crate::service::message::{self, Message, code};
use crate::service::server::Stop;
use engine::seams::producer::Cancel;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::{Method, Request, Response, StatusCode};
use methods::catalog;
use methods::desk::figures::Service;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::Value;
use serve::Host;
use serve::metrics;
use std::io;
use std::net::TcpListener;
use std::sync::Arc;

/// Serves clients until `stop`. Fails when the server cannot start.
pub fn serve_http(server: Server, listener: TcpListener, gate: HttpAccessRules, stop: &Stop) -> io::Result<()> {
    let host = server.host.clone();
    let routes = || {
        let host = host.clone();
        // The gate has already checked host and origin.
        let config = StreamableHttpServerConfig::default()
            .disable_allowed_hosts()
            .disable_allowed_origins();
        let endpoint = StreamableHttpService::new(move || Ok(server.clone()), Arc::default(), config);
        Mcp { host, endpoint }
    };
    listen::serve(listener, gate, stop, (routes, || host.end_all()))
}

/// Routes of MCP.
struct Mcp {
    host: Arc<Host>,
    endpoint: StreamableHttpService<Server, LocalSessionManager>,
}

impl Routes for Mcp {
    async fn answer(&self, request: Request<Incoming>) -> Response<Body> {
        match (request.uri().path(), request.method()) {
            ("/mcp", &Method::DELETE) => {
                let mut response = self.endpoint.handle(request).await;
                // The session has already ended; 202 would announce a later end, which clients warn about.
                if response.status() == StatusCode::ACCEPTED {
                    *response.status_mut() = StatusCode::NO_CONTENT;
                }
                response
            }
            ("/mcp", &Method::POST) if is_json(request.headers()) => self.message(request).await,
            ("/mcp", _) => self.endpoint.handle(request).await,
            ("/metrics", &Method::GET) => answer_of_type(StatusCode::OK, metrics::MIME, metrics::format_metrics(&self.figures().await)),
            ("/metrics", _) => not_allowed("GET", "figures are only read"),
            _ => text_answer(StatusCode::NOT_FOUND, "there are /mcp and /metrics"),
        }
    }
}

impl Mcp {
    /// Returns the figures, with the queue of summaries and alarms if `status` succeeds.
    async fn figures(&self) -> Service {
        let host = self.host.clone();
        let status = move || {
            let entry = catalog::find_method("status")?;
            let answered = host.call(entry, serde_json::json!({}), &Cancel::default()).result.ok()?;
            serde_json::from_value::<Service>(answered.answer.get("service")?.clone()).ok()
        };
        let figures_of_service = tokio::task::spawn_blocking(status).await.ok().flatten();
        figures_of_service.unwrap_or_else(|| self.host.figures())
    }

    /// Answers a message. A malformed one gets a JSON-RPC error.
    async fn message(&self, request: Request<Incoming>) -> Response<Body> {
        let (head, body) = request.into_parts();
        let body = match read_body(body).await {
            Ok(body) => body,
            Err(refused) => return refused,
        };
        let refused = |message: &Value| json_answer(StatusCode::BAD_REQUEST, message);
        let (id, params) = match message::parse_message(&body) {
            Ok(Message::Request { id, params, .. }) => (id, params),
            Ok(Message::Notification { params, .. }) => (Value::Null, params),
            Ok(Message::Answer) => (Value::Null, Value::Null),
            Err((id, code, why)) => return refused(&message::error(&id, code, &why)),
        };
        let response = self.endpoint.handle(Request::from_parts(head, Full::new(body))).await;
        // The body was JSON, so this status means that the endpoint could not read the message.
        match (response.status(), params) {
            (StatusCode::UNSUPPORTED_MEDIA_TYPE, Value::Array(_)) => {
                refused(&message::error(&id, code::PARAMS, "params are given by name, as an object"))
            }
            (StatusCode::UNSUPPORTED_MEDIA_TYPE, _) => {
                let why = "this is not a message of the protocol; an id is a string or a whole number";
                refused(&message::error(&id, code::REQUEST, why))
            }
            _ => response,
        }
    }
}
