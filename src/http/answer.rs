//! Request bodies, and plain answers to requests.

use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderMap, HeaderValue};
use hyper::{Response, StatusCode};
use serde_json::Value;
use std::convert::Infallible;

/// Body of an answer.
pub type Body = BoxBody<Bytes, Infallible>;

/// Limit of a request body, in bytes.
const LONGEST: usize = 4 << 20;

/// Builds an answer of plain text.
pub fn text_answer(status: StatusCode, text: impl Into<Bytes>) -> Response<Body> {
    answer_of_type(status, "text/plain; charset=utf-8", text)
}

/// Builds an answer of a JSON document.
pub fn json_answer(status: StatusCode, document: &Value) -> Response<Body> {
    answer_of_type(status, "application/json", document.to_string())
}

/// Builds an answer of text with a content type.
pub fn answer_of_type(status: StatusCode, content_type: &'static str, text: impl Into<Bytes>) -> Response<Body> {
    let mut response = Response::new(Full::new(text.into()).boxed());
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

/// Builds the answer to a method that the path does not support.
pub fn not_allowed(allowed: &'static str, why: &'static str) -> Response<Body> {
    let mut response = text_answer(StatusCode::METHOD_NOT_ALLOWED, why);
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
    response
}

/// Returns whether the headers declare a JSON body.
pub fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let kind = kind.and_then(|kind| kind.split(';').next());
    kind.is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
}

/// Reads the body of a request. Errors: the answer to a body that is too long or incomplete.
pub async fn read_body(body: Incoming) -> Result<Bytes, Response<Body>> {
    match Limited::new(body, LONGEST).collect().await {
        Ok(body) => Ok(body.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(text_answer(StatusCode::PAYLOAD_TOO_LARGE, "a message is 4 MiB long at most")),
        Err(_) => Err(text_answer(StatusCode::BAD_REQUEST, "the rest of the message did not come")),
    }
}
