//! The HTTP server: `/mcp` is the endpoint of streamable HTTP, `/metrics` tells figures. Everyone passes the gate first.

use super::gate::Gate;
use super::metrics;
use super::server::Server;
use crate::methods;
use crate::service::Host;
use crate::service::figures::Service;
use crate::service::message::{self, Message, code};
use crate::service::server::{Stop, runtime};
use engine::seams::producer::Cancel;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderMap, HeaderValue, WWW_AUTHENTICATE};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::Value;
use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

/// So many connections are served at once; others wait to be accepted.
const CONNECTIONS: usize = 256;
/// The head of a request is to come within this time.
const PATIENCE: Duration = Duration::from_secs(30);
/// After a failure to accept, for instance because there are too many open files, this is waited.
const PAUSE: Duration = Duration::from_millis(50);
/// No message is longer.
const LONGEST: usize = 4 << 20;
/// What is under way may come to its end within this time.
const LAST_WORDS: Duration = Duration::from_secs(5);

type Body = BoxBody<Bytes, Infallible>;
type Endpoint = StreamableHttpService<Server, LocalSessionManager>;

/// Where to listen, as it stands on the command line: a port of the loopback, or an address with a port.
///
/// # Errors
/// When it is neither.
pub fn place(text: &str) -> Result<SocketAddr, String> {
    if let Ok(port) = text.parse::<u16>() {
        return Ok((IpAddr::V4(Ipv4Addr::LOCALHOST), port).into());
    }
    let local = text.strip_prefix("localhost:").map(|port| format!("127.0.0.1:{port}"));
    let address = local.as_deref().unwrap_or(text).parse();
    address.map_err(|_| "this is no port and no address with a port; 8080 and 127.0.0.1:8080 are".to_owned())
}

/// What every connection shares.
struct Shared {
    gate: Gate,
    host: Arc<Host>,
    endpoint: Endpoint,
}

/// Serves clients until it is stopped. `began` is told where it listens, and makes the gate.
///
/// # Errors
/// When it cannot begin.
pub fn listen(server: Server, at: SocketAddr, stop: &Stop, began: impl FnOnce(SocketAddr) -> Gate) -> io::Result<()> {
    let runtime = runtime()?;
    let served = runtime.block_on(async {
        let listener = TcpListener::bind(at).await?;
        let host = server.host.clone();
        // The gate knows hosts and origins better: it has looked at them when a request comes here.
        let config = StreamableHttpServerConfig::default()
            .disable_allowed_hosts()
            .disable_allowed_origins();
        let endpoint = StreamableHttpService::new(move || Ok(server.clone()), Arc::default(), config);
        let gate = began(listener.local_addr()?);
        let shared = Arc::new(Shared { gate, host, endpoint });
        tokio::select! {
            () = accept(&listener, &shared) => {}
            () = stop.stopped() => {}
        }
        Ok(())
    });
    runtime.shutdown_timeout(LAST_WORDS);
    served
}

async fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    // The semaphore is never closed.
    while let Ok(place) = places.clone().acquire_owned().await {
        match listener.accept().await {
            Err(_) => tokio::time::sleep(PAUSE).await,
            Ok((stream, _)) => {
                let shared = shared.clone();
                tokio::spawn(async move {
                    serve(stream, shared).await;
                    drop(place);
                });
            }
        }
    }
}

async fn serve(stream: TcpStream, shared: Arc<Shared>) {
    let answer = service_fn(move |request| {
        let shared = shared.clone();
        async move { Ok::<_, Infallible>(shared.answer(request).await) }
    });
    let mut http = hyper::server::conn::http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(PATIENCE);
    // A client that breaks off or does not speak HTTP is its own concern.
    let _ = http.serve_connection(TokioIo::new(stream), answer).await;
}

impl Shared {
    async fn answer(&self, request: Request<Incoming>) -> Response<Body> {
        if let Err(refused) = self.gate.check(request.headers()) {
            let mut response = plain(refused.status, refused.why);
            if refused.status == StatusCode::UNAUTHORIZED {
                response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            return response;
        }
        match (request.uri().path(), request.method()) {
            ("/mcp", &Method::DELETE) => {
                let mut response = self.endpoint.handle(request).await;
                // The session has ended; 'accepted' would say that it is to end yet, and clients warn of that.
                if response.status() == StatusCode::ACCEPTED {
                    *response.status_mut() = StatusCode::NO_CONTENT;
                }
                response
            }
            ("/mcp", &Method::POST) if is_json(request.headers()) => self.message(request).await,
            ("/mcp", _) => self.endpoint.handle(request).await,
            ("/metrics", &Method::GET) => {
                let mut response = plain(StatusCode::OK, metrics::text(&self.figures().await));
                response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(metrics::MIME));
                response
            }
            ("/metrics", _) => {
                let mut response = plain(StatusCode::METHOD_NOT_ALLOWED, "figures are only read");
                response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET"));
                response
            }
            _ => plain(StatusCode::NOT_FOUND, "there are /mcp and /metrics"),
        }
    }

    /// The figures, with the queue of summaries and the alarms where `status` can tell them.
    async fn figures(&self) -> Service {
        let host = self.host.clone();
        let status = move || {
            let entry = methods::find("status")?;
            let answered = host.call(entry, serde_json::json!({}), &Cancel::default()).result.ok()?;
            serde_json::from_value::<Service>(answered.answer.get("service")?.clone()).ok()
        };
        let told = tokio::task::spawn_blocking(status).await.ok().flatten();
        told.unwrap_or_else(|| self.host.figures())
    }

    /// Answers a message. What is none is told as JSON-RPC has it.
    async fn message(&self, request: Request<Incoming>) -> Response<Body> {
        let (head, body) = request.into_parts();
        let body = match Limited::new(body, LONGEST).collect().await {
            Ok(body) => body.to_bytes(),
            Err(error) if error.is::<LengthLimitError>() => return plain(StatusCode::PAYLOAD_TOO_LARGE, "a message is 4 MiB long at most"),
            Err(_) => return plain(StatusCode::BAD_REQUEST, "the rest of the message did not come"),
        };
        let (id, params) = match message::parse(&body) {
            Ok(Message::Request { id, params, .. }) => (id, params),
            Ok(Message::Notification { params, .. }) => (Value::Null, params),
            Ok(Message::Answer) => (Value::Null, Value::Null),
            Err((id, code, why)) => return refused(&message::error(&id, code, &why)),
        };
        let response = self.endpoint.handle(Request::from_parts(head, Full::new(body))).await;
        // It was JSON: what the endpoint could not read is another matter.
        match (response.status(), params) {
            (StatusCode::UNSUPPORTED_MEDIA_TYPE, Value::Array(_)) => {
                refused(&message::error(&id, code::PARAMS, "params are given by name, as an object"))
            }
            (StatusCode::UNSUPPORTED_MEDIA_TYPE, _) => {
                let why = "this is no message of the protocol; an id is a string or a whole number";
                refused(&message::error(&id, code::REQUEST, why))
            }
            _ => response,
        }
    }
}

/// Whether a request says that its body is JSON.
fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let kind = kind.and_then(|kind| kind.split(';').next());
    kind.is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
}

/// The answer to what is no request.
fn refused(message: &Value) -> Response<Body> {
    let mut response = plain(StatusCode::BAD_REQUEST, message.to_string());
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

fn plain(status: StatusCode, text: impl Into<Bytes>) -> Response<Body> {
    let mut response = Response::new(Full::new(text.into()).boxed());
    *response.status_mut() = status;
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_on_the_loopback_unless_said() {
        let told = |text| place(text).map(|at| at.to_string());
        assert_eq!(told("8080").as_deref(), Ok("127.0.0.1:8080"));
        assert_eq!(told("localhost:0").as_deref(), Ok("127.0.0.1:0"));
        assert_eq!(told("[::1]:80").as_deref(), Ok("[::1]:80"));
        assert_eq!(told("0.0.0.0:80").as_deref(), Ok("0.0.0.0:80"));
        for wrong in ["", "70000", "example.org:80", "127.0.0.1", ":80"] {
            assert!(place(wrong).is_err(), "{wrong:?}");
        }
    }
}
