//! One HTTP(S) request: sent once, with a deadline, and cancelled promptly. This module knows no provider and does not retry.
//!
//! The request runs on its own thread, which passes the response on piece by piece. Every few milliseconds the caller checks for cancellation, which
//! a blocking read would not allow; on cancellation it shuts the connection down and the thread ends by itself.

use super::call_environment::{CallEnvironment, LOOK_UP};
use super::proxy::proxy_for;
use super::secret::Secret;
use engine::seams::producer::Cancel;
use std::io::Read;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};
use ureq::http::{HeaderMap, HeaderName, HeaderValue, Request as HttpRequest};
use ureq::tls::{RootCerts, TlsConfig, TlsProvider};
use ureq::{Agent, Proxy};

/// Number of pieces that may be queued.
const WAITING: usize = 4;
const PIECE: usize = 16 << 10;

/// A request. It contains keys, so it has no `Debug`.
pub(super) struct Request {
    pub(super) url: String,
    pub(super) headers: Vec<(String, Secret)>,
    /// `None` for a GET request.
    pub(super) body: Option<Vec<u8>>,
    pub(super) content_type: String,
}

/// The reason why no response came, or no more of it.
#[derive(Debug)]
pub(super) enum Broken {
    Cancelled,
    TimedOut,
    /// The address, a header or a proxy is invalid.
    Unfit(String),
    /// There is no connection, or it ended too early.
    Lost(String),
}

/// The head of a response; [`Response::piece`] returns the rest.
pub(super) struct Response {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    events: Receiver<Event>,
    agent: Option<Agent>,
    deadline: Instant,
}

enum Event {
    Head(u16, Box<HeaderMap>),
    Piece(Vec<u8>),
    End,
    Broken(Broken),
}

impl Drop for Response {
    fn drop(&mut self) {
        if let Some(agent) = self.agent.take() {
            agent.shutdown();
        }
    }
}

/// Sends a request and waits for the head of the answer.
pub(super) fn send_request(request: Request, timeout: Duration, world: &dyn CallEnvironment, cancel: &Cancel) -> Result<Response, Broken> {
    let proxy = proxy_for(&request.url, |name| world.variable(name))
        .map(|address| Proxy::new(&address).map_err(|_| Broken::Unfit("the proxy's address in the environment is not one".to_owned())))
        .transpose()?;
    let agent = agent(proxy, timeout)?;
    let request = prepare(request)?;
    let (sender, events) = sync_channel(WAITING);
    let worker = agent.clone();
    std::thread::Builder::new()
        .name("cortex-http".to_owned())
        .spawn(move || run_request(&worker, request, &sender))
        .map_err(|error| Broken::Lost(format!("no thread could be started: {error}")))?;
    let mut response = Response {
        status: 0,
        headers: HeaderMap::new(),
        events,
        agent: Some(agent),
        deadline: Instant::now()
            .checked_add(timeout)
            .unwrap_or_else(|| Instant::now() + Duration::from_secs(86_400)),
    };
    match response.next(cancel)? {
        Event::Head(status, headers) => {
            response.status = status;
            response.headers = *headers;
            Ok(response)
        }
        Event::Broken(why) => Err(why),
        Event::Piece(_) | Event::End => Err(Broken::Lost("the answer has no head".to_owned())),
    }
}

impl Response {
    /// Returns the next piece of the body, `None` at its end.
    pub(super) fn piece(&mut self, cancel: &Cancel) -> Result<Option<Vec<u8>>, Broken> {
        match self.next(cancel)? {
            Event::Piece(bytes) => Ok(Some(bytes)),
            Event::End => Ok(None),
            Event::Broken(why) => Err(why),
            Event::Head(..) => Err(Broken::Lost("the answer has two heads".to_owned())),
        }
    }

    /// Returns the body, at most `limit` bytes of it, and whether that was all.
    pub(super) fn read_body(&mut self, limit: usize, cancel: &Cancel) -> Result<(Vec<u8>, bool), Broken> {
        let mut body = Vec::new();
        while let Some(piece) = self.piece(cancel)? {
            body.extend_from_slice(&piece);
            if body.len() > limit {
                body.truncate(limit);
                return Ok((body, false));
            }
        }
        Ok((body, true))
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    fn next(&self, cancel: &Cancel) -> Result<Event, Broken> {
        loop {
            if cancel.is_cancelled() {
                return Err(Broken::Cancelled);
            }
            let left = self.deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(Broken::TimedOut);
            }
            match self.events.recv_timeout(left.min(LOOK_UP)) {
                Ok(event) => return Ok(event),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(Broken::Lost("the connection ended".to_owned())),
            }
        }
    }
}

fn agent(proxy: Option<Proxy>, timeout: Duration) -> Result<Agent, Broken> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = TlsConfig::builder()
        .provider(TlsProvider::Rustls)
        .unversioned_rustls_crypto_provider(provider)
        .root_certs(RootCerts::PlatformVerifier)
        .build();
    let config = Agent::config_builder()
        .tls_config(tls)
        .proxy(proxy)
        .http_status_as_error(false)
        // Send a key to the configured address only, not to a redirect.
        .max_redirects(0)
        .max_redirects_will_error(false)
        .timeout_global(Some(timeout))
        .user_agent(concat!("cortex/", env!("CARGO_PKG_VERSION")))
        .build();
    Ok(config.new_agent())
}

fn prepare(request: Request) -> Result<HttpRequest<Vec<u8>>, Broken> {
    let method = if request.body.is_some() { "POST" } else { "GET" };
    let mut prepared = HttpRequest::builder().method(method).uri(&request.url);
    if request.body.is_some() {
        prepared = prepared.header("content-type", request.content_type);
    }
    for (name, value) in &request.headers {
        let fit = HeaderName::from_bytes(name.as_bytes())
            .ok()
            .zip(HeaderValue::from_str(value.reveal()).ok());
        let Some((name, mut value)) = fit else {
            return Err(Broken::Unfit(format!(
                "the value of the header '{name}' holds characters that no header may hold"
            )));
        };
        value.set_sensitive(true);
        prepared = prepared.header(name, value);
    }
    prepared
        .body(request.body.unwrap_or_default())
        .map_err(|_| Broken::Unfit("the address is not one".to_owned()))
}

fn run_request(agent: &Agent, request: HttpRequest<Vec<u8>>, sender: &SyncSender<Event>) {
    // A failed send means that the caller has stopped listening.
    let tell = |event: Event| sender.send(event).is_ok();
    let answer = if request.method() == "GET" {
        agent.run(request.map(|_| ()))
    } else {
        agent.run(request)
    };
    let response = match answer {
        Ok(response) => response,
        Err(error) => {
            tell(Event::Broken(connection_error(&error)));
            return;
        }
    };
    let (head, body) = response.into_parts();
    if !tell(Event::Head(head.status.as_u16(), Box::new(head.headers))) {
        return;
    }
    let mut reader = body.into_with_config().limit(u64::MAX).reader();
    loop {
        let mut piece = vec![0; PIECE];
        let event = match reader.read(&mut piece) {
            Ok(0) => Event::End,
            Ok(len) => {
                piece.truncate(len);
                Event::Piece(piece)
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) if error.kind() == std::io::ErrorKind::TimedOut => Event::Broken(Broken::TimedOut),
            Err(error) => Event::Broken(Broken::Lost(error.to_string())),
        };
        let last = !matches!(event, Event::Piece(_));
        if !tell(event) || last {
            return;
        }
    }
}

fn connection_error(error: &ureq::Error) -> Broken {
    match error {
        ureq::Error::Timeout(_) => Broken::TimedOut,
        ureq::Error::BadUri(_) | ureq::Error::InvalidProxyUrl => Broken::Unfit(error.to_string()),
        ureq::Error::HostNotFound => Broken::Lost("the name of its host is not known (DNS)".to_owned()),
        // A TLS greeting to a server without TLS gives this error.
        other if other.to_string().contains("InvalidContentType") => {
            Broken::Unfit("it does not speak TLS: its address begins with http://, not https://".to_owned())
        }
        other => Broken::Lost(other.to_string()),
    }
}
