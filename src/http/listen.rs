//! Accepts connections and hands requests that the gate lets in to the routes.

use super::answer::{Body, text_answer};
use super::gate::Gate;
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

/// So many connections are served at once; others wait to be accepted.
const CONNECTIONS: usize = 256;
/// The head of a request is to come within this time.
const PATIENCE: Duration = Duration::from_secs(30);
/// After a failure to accept, for instance because there are too many open files, this is waited.
const PAUSE: Duration = Duration::from_millis(50);
/// What is under way may come to its end within this time.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// What a server answers.
pub trait Routes: Send + Sync + 'static {
    /// Whether a path is served without the token: what is there holds nothing of the workspace.
    fn is_public(&self, _path: &str) -> bool {
        false
    }

    /// Answers a request that the gate let in.
    fn answer(&self, request: Request<Incoming>) -> impl Future<Output = Response<Body>> + Send;
}

/// Where to listen, as it stands on the command line: a port of the loopback, or an address with a port.
///
/// # Errors
/// When it is neither.
pub fn parse_address(text: &str) -> Result<SocketAddr, String> {
    if let Ok(port) = text.parse::<u16>() {
        return Ok((IpAddr::V4(Ipv4Addr::LOCALHOST), port).into());
    }
    let local = text.strip_prefix("localhost:").map(|port| format!("127.0.0.1:{port}"));
    let address = local.as_deref().unwrap_or(text).parse();
    address.map_err(|_| "this is no port and no address with a port; 8080 and 127.0.0.1:8080 are".to_owned())
}

/// Listens at an address; with port 0 at a free one.
///
/// # Errors
/// When the address is taken, or not this machine's.
pub fn bind(at: SocketAddr) -> io::Result<std::net::TcpListener> {
    let listener = std::net::TcpListener::bind(at)?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Serves clients until it is stopped; `ends` is called then. The routes are made where tasks can be begun.
///
/// # Errors
/// When it cannot begin.
pub fn serve<R: Routes>(
    listener: std::net::TcpListener,
    gate: Gate,
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

/// What every connection shares.
struct Shared<R> {
    gate: Gate,
    routes: R,
}

async fn accept<R: Routes>(listener: &TcpListener, shared: &Arc<Shared<R>>) {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    // The semaphore is never closed.
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
        async move { Ok::<_, Infallible>(shared.answer(request).await) }
    });
    let mut http = hyper::server::conn::http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(PATIENCE);
    // A client that breaks off or does not speak HTTP is its own concern.
    let _ = http.serve_connection(TokioIo::new(stream), answer).await;
}

impl<R: Routes> Shared<R> {
    async fn answer(&self, request: Request<Incoming>) -> Response<Body> {
        let checked = match self.routes.is_public(request.uri().path()) {
            true => self.gate.check_address(request.headers()),
            false => self.gate.check(request.headers()),
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
        let told = |text| parse_address(text).map(|at| at.to_string());
        assert_eq!(told("8080").as_deref(), Ok("127.0.0.1:8080"));
        assert_eq!(told("localhost:0").as_deref(), Ok("127.0.0.1:0"));
        assert_eq!(told("[::1]:80").as_deref(), Ok("[::1]:80"));
        assert_eq!(told("0.0.0.0:80").as_deref(), Ok("0.0.0.0:80"));
        for wrong in ["", "70000", "example.org:80", "127.0.0.1", ":80"] {
            assert!(parse_address(wrong).is_err(), "{wrong:?}");
        }
    }
}
