//! Accepts connections, and passes the requests that the gate allows to the routes.

use super::access_rules::HttpAccessRules;
use super::answer::{Body, text_answer};
use crate::service::server::{Stop, runtime};
use hyper::body::Incoming;
use hyper::header::{HeaderValue, WWW_AUTHENTICATE};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

/// Limit of open connections; further connections wait to be accepted.
const CONNECTIONS: usize = 256;
/// Time-out for the head of a request.
const PATIENCE: Duration = Duration::from_secs(30);
/// Pause after a failed accept, for instance because too many files are open.
const PAUSE: Duration = Duration::from_millis(50);
/// Time-out for running requests when the server stops.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// Request handler of a server.
pub trait Routes: Send + Sync + 'static {
    /// Returns whether a path needs no token, because it shows nothing of the workspace.
    fn is_public(&self, _path: &str) -> bool {
        false
    }

    /// Answers a request that the gate allowed.
    fn answer(&self, request: Request<Incoming>) -> impl Future<Output = Response<Body>> + Send;
}

/// Parses an address of the command line: a port on the loopback, or an address with a port. Fails when the text is neither.
pub fn parse_address(text: &str) -> Result<SocketAddr, String> {
    if let Ok(port) = text.parse::<u16>() {
        return Ok((IpAddr::V4(Ipv4Addr::LOCALHOST), port).into());
    }
    let local = text.strip_prefix("localhost:").map(|port| format!("127.0.0.1:{port}"));
    let address = local.as_deref().unwrap_or(text).parse();
    address.map_err(|_| "this is neither a port nor an address with a port, such as 8080 or 127.0.0.1:8080".to_owned())
}

/// Binds an address; port 0 picks a free port. Fails when the address is in use, or not of this machine.
pub fn bind_listener(at: SocketAddr) -> io::Result<std::net::TcpListener> {
    let listener = std::net::TcpListener::bind(at)?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Serves clients until `stop`, then calls `ends`. Creates the routes inside the runtime, so that they may spawn tasks. Fails when the
/// server cannot start.
pub fn serve<R: Routes>(
    listener: std::net::TcpListener,
    gate: HttpAccessRules,
    stop: &Stop,
    (routes, ends): (impl FnOnce() -> R, impl FnOnce()),
) -> io::Result<()> {
    let runtime = runtime()?;
    let served = runtime.block_on(async {
        let listener = TcpListener::from_std(listener)?;
        let shared = Arc::new(Shared { gate, routes: routes() });
        tokio::select! {
            () = accept(&listener, &shared) => {}
            () = stop.stopped() => {}
        }
        Ok(())
    });
    ends();
    runtime.shutdown_timeout(LAST_WORDS);
    served
}

/// State that all connections share.
struct Shared<R> {
    gate: HttpAccessRules,
    routes: R,
}

async fn accept<R: Routes>(listener: &TcpListener, shared: &Arc<Shared<R>>) {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    // The semaphore is never closed, so acquiring does not fail.
    while let Ok(place) = places.clone().acquire_owned().await {
        match listener.accept().await {
            Err(_) => tokio::time::sleep(PAUSE).await,
            Ok((stream, _)) => {
                let shared = shared.clone();
                tokio::spawn(async move {
                    serve_connection(stream, shared).await;
                    drop(place);
                });
            }
        }
    }
}

async fn serve_connection<R: Routes>(stream: TcpStream, shared: Arc<Shared<R>>) {
    let answer = service_fn(move |request| {
        let shared = shared.clone();
        async move { Ok::<_, Infallible>(shared.answer_if_allowed(request).await) }
    });
    let mut http = hyper::server::conn::http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(PATIENCE);
    // An error here is the client's: it disconnected or does not speak HTTP.
    let _ = http.serve_connection(TokioIo::new(stream), answer).await;
}

impl<R: Routes> Shared<R> {
    async fn answer_if_allowed(&self, request: Request<Incoming>) -> Response<Body> {
        let checked = match self.routes.is_public(request.uri().path()) {
            true => self.gate.check_address(request.headers()),
            false => self.gate.check_request(request.headers()),
        };
        let Err(refused) = checked else {
            return self.routes.answer(request).await;
        };
        let mut response = text_answer(refused.status, refused.why);
        if refused.status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_on_the_loopback_unless_said() {
        let address = |text| parse_address(text).map(|at| at.to_string());
        assert_eq!(address("8080").as_deref(), Ok("127.0.0.1:8080"));
        assert_eq!(address("localhost:0").as_deref(), Ok("127.0.0.1:0"));
        assert_eq!(address("[::1]:80").as_deref(), Ok("[::1]:80"));
        assert_eq!(address("0.0.0.0:80").as_deref(), Ok("0.0.0.0:80"));
        for wrong in ["", "70000", "example.org:80", "127.0.0.1", ":80"] {
            assert!(parse_address(wrong).is_err(), "{wrong:?}");
        }
    }
}
