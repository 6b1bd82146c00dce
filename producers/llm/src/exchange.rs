//! Sends one question to one server once, and reads its answer as it streams.

use super::call_environment::CallEnvironment;
use super::call_failures::{Called, Trouble};
use super::http::{self, Request, Response};
use super::keys::Access;
use super::reply::{Complaint, Reply};
use super::settings::{Api, Model, Reach};
use super::sse::Events;
use super::{Question, Wants, anthropic, openai};
use engine::seams::producer::Cancel;
use serde_json::Value;

/// Limit of bytes of an answer on the wire, with its envelope.
const LONGEST_ANSWER: usize = 32 << 20;

/// A server, with everything that one call needs.
pub(super) struct ServerCall<'a> {
    pub(super) api: Api,
    pub(super) reach: &'a Reach<'a>,
    pub(super) access: &'a Access,
    pub(super) called: Called<'a>,
    pub(super) world: &'a dyn CallEnvironment,
}

impl ServerCall<'_> {
    /// Asks a question. `go_on` sees the reply so far and decides whether to continue. A failure includes the partial reply, because it may
    /// be billed.
    pub(super) fn ask_provider(
        &self,
        model: &Model<'_>,
        question: &Question<'_>,
        cancel: &Cancel,
        go_on: &mut dyn FnMut(&Reply) -> bool,
    ) -> (Reply, Result<(), Trouble>) {
        let mut reply = Reply::to(question);
        let stream = self.reach.stream;
        let (path, body) = match self.api {
            _ if question.wants == Wants::Vector => (openai::EMBEDDINGS, openai::embeddings_body(model, question)),
            Api::Anthropic => (anthropic::PATH, anthropic::request_body(model, question, stream)),
            _ => (openai::PATH, openai::body_of_request(model, question, self.reach.base_url, stream)),
        };
        let outcome = self.send_json(path, &body, cancel).and_then(|mut response| match question.wants {
            Wants::Vector => self.read_vector(response, &mut reply, cancel),
            Wants::Text => self.read_stream(&mut response, &mut reply, cancel, go_on),
        });
        reply.text = self.access.secrets.scrub(&reply.text);
        (reply, outcome)
    }

    pub(super) fn send_json(&self, path: &str, body: &Value, cancel: &Cancel) -> Result<Response, Trouble> {
        self.send_checked(path, Some(body.to_string().into_bytes()), "application/json".to_owned(), cancel)
    }

    /// Sends a request; any status but success is an error.
    pub(super) fn send_checked(
        &self,
        path: &str,
        body: Option<Vec<u8>>,
        content_type: String,
        cancel: &Cancel,
    ) -> Result<Response, Trouble> {
        let request = Request {
            url: self.reach.url(path),
            headers: self.access.headers.clone(),
            body,
            content_type,
        };
        let mut response =
            http::send_request(request, self.reach.timeout, self.world, cancel).map_err(|broken| self.called.connection_failed(broken))?;
        if (200..300).contains(&response.status) {
            return Ok(response);
        }
        Err(self.called.read_refusal(&mut response, self.world, cancel))
    }

    /// Reads a whole body as JSON.
    pub(super) fn read_json_body(&self, mut response: Response, cancel: &Cancel) -> Result<Value, Trouble> {
        let (bytes, all) = response
            .read_body(LONGEST_ANSWER, cancel)
            .map_err(|broken| self.called.connection_failed(broken))?;
        if !all {
            return Err(self.called.endless(LONGEST_ANSWER));
        }
        Reply::default()
            .parse_json(&bytes)
            .map_err(|complaint| self.called.complaint(&complaint, None))
    }

    fn read_vector(&self, response: Response, reply: &mut Reply, cancel: &Cancel) -> Result<(), Trouble> {
        let value = self.read_json_body(response, cancel)?;
        openai::vector(&value, reply).map_err(|complaint| self.called.complaint(&complaint, None))
    }

    fn read_stream(
        &self,
        response: &mut Response,
        reply: &mut Reply,
        cancel: &Cancel,
        go_on: &mut dyn FnMut(&Reply) -> bool,
    ) -> Result<(), Trouble> {
        let complaint = |complaint: Complaint| self.called.complaint(&complaint, None);
        let event = match self.api {
            Api::Anthropic => anthropic::event,
            _ => openai::event,
        };
        let mut is_stream = response.header("content-type").map(|kind| kind.contains("event-stream"));
        let (mut events, mut whole, mut taken) = (Events::default(), Vec::new(), 0);
        loop {
            let piece = match response.piece(cancel) {
                Ok(Some(piece)) => piece,
                Ok(None) => break,
                // Everything needed has arrived.
                Err(http::Broken::Lost(_)) if reply.whole => break,
                Err(http::Broken::Lost(_)) if !reply.text.is_empty() => return Err(self.called.truncated()),
                Err(broken) => return Err(self.called.connection_failed(broken)),
            };
            taken += piece.len();
            if taken > LONGEST_ANSWER {
                return Err(self.called.endless(LONGEST_ANSWER));
            }
            // The body of a server that does not declare a stream is parsed at its end.
            if *is_stream.get_or_insert(false) {
                let mut take = |data: &[u8]| Ok(event(data, reply)? && go_on(reply));
                if !events.feed(&piece, &mut take).map_err(complaint)? {
                    return Ok(());
                }
            } else {
                whole.extend_from_slice(&piece);
            }
        }
        if is_stream == Some(true) {
            events.flush_open_event(|data| event(data, reply)).map_err(complaint)?;
        } else if whole.trim_ascii_start().starts_with(b"data:") || whole.trim_ascii_start().starts_with(b"event:") {
            events.feed(&whole, |data| event(data, reply)).map_err(complaint)?;
            events.flush_open_event(|data| event(data, reply)).map_err(complaint)?;
        } else if whole.trim_ascii_start().starts_with(b"<") {
            return Err(self.called.web_page_trouble());
        } else {
            let value = reply.parse_json(&whole).map_err(complaint)?;
            match self.api {
                Api::Anthropic => anthropic::read_answer(&value, reply),
                _ => openai::read_answer(&value, reply),
            }
            .map_err(complaint)?;
        }
        if reply.whole || reply.cut {
            Ok(())
        } else {
            Err(self.called.truncated())
        }
    }
}
