//! Routes of the live page: `/` returns the page, `/rpc` answers one JSON-RPC message, `/events` streams the news.

use super::event_stream::News;
use super::shell::SHELL;
use crate::http::access_rules::HttpAccessRules;
use crate::http::answer::{Body, answer_of_type, is_json, json_answer, not_allowed, read_body, text_answer};
use crate::http::listen::{self, Routes};
use crate::service::peer::Shared;
use crate::service::server::Stop;
use hyper::body::Incoming;
use hyper::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use hyper::{Method, Request, Response, StatusCode};
use std::io;
use std::net::TcpListener;
use std::path::PathBuf;

/// Headers of all answers: their type is not guessed, they are not cached, and no other site may embed them.
static HEADERS: [(HeaderName, &str); 5] = [
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (CACHE_CONTROL, "no-store"),
    (REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// Serves pages until `stop`. Fails when the server cannot start.
pub fn serve(
    shared: Shared,
    news: News,
    store: Option<PathBuf>,
    (listener, gate): (TcpListener, HttpAccessRules),
    stop: &Stop,
) -> io::Result<()> {
    let host = shared.host.clone();
    let routes = || {
        tokio::spawn(news.clone().follow_builds(shared.host.clone(), store));
        Page { shared, news }
    };
    listen::serve(listener, gate, stop, (routes, || host.end_all()))
}

/// Handler of the routes.
struct Page {
    shared: Shared,
    news: News,
}

impl Routes for Page {
    fn is_public(&self, path: &str) -> bool {
        path == "/"
    }

    async fn answer(&self, request: Request<Incoming>) -> Response<Body> {
        let mut response = match (request.uri().path(), request.method()) {
            ("/", &Method::GET | &Method::HEAD) => page_response(),
            ("/", _) => not_allowed("GET, HEAD", "the page is only read"),
            ("/rpc", &Method::POST) if is_json(request.headers()) => self.message(request).await,
            ("/rpc", &Method::POST) => text_answer(StatusCode::UNSUPPORTED_MEDIA_TYPE, "a message is application/json"),
            ("/rpc", _) => not_allowed("POST", "messages are posted"),
            ("/events", &Method::GET) => {
                let mut response = Response::new(self.news.stream_news());
                response
                    .headers_mut()
                    .insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
                response
            }
            ("/events", _) => not_allowed("GET", "events are only read"),
            _ => text_answer(StatusCode::NOT_FOUND, "there are /, /rpc and /events"),
        };
        for (name, value) in &HEADERS {
            response.headers_mut().insert(name, HeaderValue::from_static(value));
        }
        response
    }
}

impl Page {
    async fn message(&self, request: Request<Incoming>) -> Response<Body> {
        let body = match read_body(request.into_body()).await {
            Ok(body) => body,
            Err(refused) => return refused,
        };
        match self.shared.answer_message(&body).await {
            Some(answer) => json_answer(StatusCode::OK, &answer),
            None => text_answer(StatusCode::ACCEPTED, ""),
        }
    }
}

fn page_response() -> Response<Body> {
    let mut response = answer_of_type(StatusCode::OK, "text/html; charset=utf-8", SHELL.page.as_str());
    // The policy consists of digests and constants, so this does not fail.
    if let Ok(policy) = HeaderValue::from_str(&SHELL.policy) {
        response.headers_mut().insert(CONTENT_SECURITY_POLICY, policy);
    }
    response
}
