//! One client of the service: its requests are answered in parallel, each under its id; messages to it are written one by one.

use super::client;
use super::follow::Streams;
use super::frame::{self, Frame, Framing, LONGEST, Reader};
use super::message::{self, Message, code};
use super::outbox::{self, Outbox, Queue};
use crate::exit::exit_number;
use engine::seams::producer::Cancel;
use methods::catalog::{self, MethodEntry};
use methods::code::Code;
use methods::desk::request_context::Tell;
use methods::failed::Failed;
use methods::render::diagnostic;
use serde_json::{Map, Value, json};
use serve::host::{Asker, Host, Outcome, Patience};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{Semaphore, SemaphorePermit};

/// Limit of unanswered requests of one client; further requests are refused.
const MOST: usize = 1024;
/// Limit of requests of one client that are answered in parallel.
const WORKING: usize = 32;
/// Time-out to receive the rest of a message, and for the client to read a message.
const PATIENCE: Duration = Duration::from_secs(30);
/// Time-out to hear one question of a client beyond the limit, and to write the answer.
const HEARING: Duration = Duration::from_secs(1);
/// Method that ends the service.
pub(super) const STOP: &str = "cortex.stop";
/// Interval of progress notifications.
const TELL_EVERY: Duration = Duration::from_millis(200);

/// Table of methods, as clients get it.
static LISTING: LazyLock<Value> = LazyLock::new(catalog::reference::listing);

/// State that all clients share.
#[derive(Clone)]
pub struct Shared {
    pub host: Arc<Host>,
    /// Limits the requests that are answered in parallel.
    pub workers: Arc<Semaphore>,
    pub stop: Arc<tokio::sync::Notify>,
}

/// State that the requests of one client share.
#[derive(Clone)]
pub(super) struct Peer {
    pub(super) shared: Shared,
    pub(super) streams: Streams,
    /// Running requests by id, as JSON.
    running: Arc<Mutex<HashMap<String, Cancel>>>,
    out: Outbox,
    /// Limits the requests of this client that are answered in parallel.
    working: Arc<Semaphore>,
}

/// Error message for a client beyond the limit.
pub const FULL: &str = "so many clients are not served at once; come again";

/// Reads one question of a client beyond the limit, and answers it if it is about the service itself. So a full service can still be
/// asked for its status and stopped.
pub async fn hear<R: AsyncRead + Unpin, W: AsyncWrite + Unpin>(shared: &Shared, from: R, mut to: W) {
    let mut reader = Reader::new(from);
    let first = async {
        if reader.ready().await? {
            reader.next().await
        } else {
            Ok(Frame::End)
        }
    };
    let first_message = match tokio::time::timeout(HEARING, first).await {
        Ok(Ok(Frame::Message(bytes))) => message::parse_message(&bytes).ok(),
        _ => None,
    };
    let (id, method) = match first_message {
        Some(Message::Request { id, method, .. }) => (id, method),
        _ => (Value::Null, String::new()),
    };
    let answer = shared
        .answer_about_service(&id, &method)
        .unwrap_or_else(|| message::error(&id, code::BUSY, FULL));
    let answer = answer.to_string();
    let written = frame::write_message(&mut to, reader.framing(), answer.as_bytes());
    // The client may have stopped reading.
    let _ = tokio::time::timeout(HEARING, written).await;
    if method == STOP {
        shared.stop.notify_one();
    }
}

impl Shared {
    /// Answers a question about the service itself; `None` for another method.
    pub(super) fn answer_about_service(&self, id: &Value, method: &str) -> Option<Value> {
        let answer = match method {
            "ping" | STOP => json!({}),
            "methods" => LISTING.clone(),
            "cortex.about" => self.describe_service(),
            _ => return None,
        };
        Some(message::answer_message(id, answer))
    }

    fn describe_service(&self) -> Value {
        let mut about = json!(self.host.figures());
        about["version"] = super::version().into();
        about
    }
}

/// Serves a client until it disconnects or breaks the protocol. A client that only ends its requests still gets the answers; `gone` returns whether
/// the client disconnected.
pub async fn serve<R, W>(shared: Shared, from: R, to: W, gone: impl Fn() -> bool)
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let (out, queue) = outbox::new();
    let headers = Arc::new(AtomicBool::new(false));
    let mut writer = tokio::spawn(write_all(to, queue, headers.clone()));
    let peer = Peer {
        shared,
        streams: Streams::default(),
        running: Arc::default(),
        out,
        working: Arc::new(Semaphore::new(WORKING)),
    };
    let mut reader = Reader::new(from);
    tokio::select! {
        () = async {
            peer.read_requests(&mut reader, &headers).await;
            while !peer.running().is_empty() && !gone() {
                tokio::time::sleep(TELL_EVERY / 10).await;
            }
        } => {}
        // The client does not read.
        _ = &mut writer => {}
    }
    peer.running().values().for_each(Cancel::cancel);
    drop(peer);
    if !writer.is_finished() {
        // Answers that are ready are still written.
        let _ = tokio::time::timeout(PATIENCE, writer).await;
    }
}

/// Writes messages until the queue ends, or the client does not read.
async fn write_all<W: AsyncWrite + Unpin>(mut to: W, mut queue: Queue, headers: Arc<AtomicBool>) {
    while let Some((bytes, _room)) = queue.next_message().await {
        let framing = if headers.load(Relaxed) { Framing::Headers } else { Framing::Lines };
        match tokio::time::timeout(PATIENCE, frame::write_message(&mut to, framing, &bytes)).await {
            Ok(Ok(())) => {}
            _ => return,
        }
    }
}

impl Peer {
    fn running(&self) -> MutexGuard<'_, HashMap<String, Cancel>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn read_requests<R: AsyncRead + Unpin>(&self, reader: &mut Reader<R>, headers: &AtomicBool) {
        while let Ok(true) = reader.ready().await {
            headers.store(reader.framing() == Framing::Headers, Relaxed);
            let frame = match tokio::time::timeout(PATIENCE, reader.next()).await {
                Ok(Ok(frame)) => frame,
                Ok(Err(_)) => return,
                Err(_) => return self.refuse(code::PARSE, "the rest of the message did not come").await,
            };
            match frame {
                Frame::Message(bytes) => self.receive(&bytes).await,
                Frame::TooLong { bytes, .. } => {
                    let why = format!("a message of at least {bytes} bytes is too long; the longest is {LONGEST}");
                    self.refuse(code::REQUEST, &why).await;
                }
                Frame::Garbage(why) => return self.refuse(code::PARSE, why).await,
                Frame::End => return,
            }
        }
    }

    pub(super) async fn queue_message(&self, message: Value) {
        self.out.send_when_there_is_room(message).await;
    }

    async fn refuse(&self, code: i32, why: &str) {
        self.queue_message(message::error(&Value::Null, code, why)).await;
    }

    async fn receive(&self, bytes: &[u8]) {
        match message::parse_message(bytes) {
            Err((id, code, why)) => self.queue_message(message::error(&id, code, &why)).await,
            Ok(Message::Answer) => {}
            Ok(Message::Notification { method, params }) => {
                if method == "$/cancelRequest"
                    && let Some(cancel) = params.get("id").and_then(|id| self.running().get(&id.to_string()).cloned())
                {
                    cancel.cancel();
                }
            }
            Ok(Message::Request { id, method, params }) => self.request(id, &method, params).await,
        }
    }

    async fn request(&self, id: Value, method: &str, params: Value) {
        // A client could not distinguish two answers under one id.
        if self.running().contains_key(&id.to_string()) {
            let id: String = id.to_string().chars().take(80).collect();
            return self
                .refuse(code::REQUEST, &format!("a request of the id {id} is being answered"))
                .await;
        }
        if let Some(answer) = self.shared.answer_about_service(&id, method) {
            self.queue_message(answer).await;
            if method == STOP {
                self.shared.stop.notify_one();
            }
            return;
        }
        if matches!(method, "StreamOp" | "$/enumerator/next" | "$/enumerator/abort") {
            let (peer, method) = (self.clone(), method.to_owned());
            return match self.register_request(&id) {
                Err(refused) => self.queue_message(refused).await,
                Ok(cancel) => {
                    tokio::spawn(async move {
                        let message = peer.follow(&id, &method, params, &cancel).await;
                        peer.answer_request(&id, message).await;
                    });
                }
            };
        }
        let outcome = match MethodCall::from_request(method, params) {
            Ok(call) => self.register_request(&id).map(|cancel| (call, cancel)),
            Err(why) => Err(message::error(&id, why.0, &why.1)),
        };
        match outcome {
            Ok((call, cancel)) => {
                let peer = self.clone();
                tokio::spawn(async move { peer.start_answer(id, call, cancel).await });
            }
            Err(refused) => self.queue_message(refused).await,
        }
    }

    fn register_request(&self, id: &Value) -> Result<Cancel, Value> {
        let mut running = self.running();
        if running.len() >= MOST {
            return Err(message::error(
                id,
                code::BUSY,
                "so many requests of one client are not answered at once",
            ));
        }
        let cancel = Cancel::default();
        running.insert(id.to_string(), cancel.clone());
        Ok(cancel)
    }

    /// Sends the answer of a request. Frees its id just before, so that a later request of the same id is answered after it.
    async fn answer_request(&self, id: &Value, message: Value) {
        let ready = self.out.ready(message).await;
        let mut running = self.running();
        running.remove(&id.to_string());
        if let Some(ready) = ready {
            ready.send_ready();
        }
    }

    async fn start_answer(&self, id: Value, call: MethodCall, cancel: Cancel) {
        // The permit lasts until the answer is queued: for a client that does not read, no further answer is computed.
        let Ok(_working) = self.working.acquire().await else { return };
        let progress = call.progress.clone().map(|token| tokio::spawn(self.clone().send_progress(token)));
        let host = self.shared.host.clone();
        let (entry, arguments, stop) = (call.entry, call.arguments, cancel.clone());
        let patience = if call.cli || progress.is_some() {
            Patience::Long
        } else {
            Patience::Short
        };
        let asker = Asker {
            tell: call.cli.then(|| self.teller()),
            ..Asker::with_patience(patience)
        };
        let outcome = match self.worker(patience).await {
            Ok(_worker) => tokio::task::spawn_blocking(move || host.call_with(entry, arguments, &stop, asker)).await,
            Err(failed) => Ok(Outcome {
                result: Err(failed),
                diagnostics: Vec::new(),
            }),
        };
        if let Some(progress) = progress {
            progress.abort();
        }
        let message = match outcome {
            _ if cancel.is_cancelled() => message::error(&id, code::CANCELLED, "request cancelled"),
            Ok(outcome) => reply_to(&id, outcome, call.cli),
            Err(_) => message::error(&id, code::INTERNAL, "a bug of cortex: the request came to no end"),
        };
        self.answer_request(&id, message).await;
    }

    /// Returns a callback that sends status to the command line.
    fn teller(&self) -> Tell {
        let (peer, runtime) = (self.clone(), tokio::runtime::Handle::current());
        Arc::new(move |words: &str| {
            let message = message::notification(client::SAID, json!({ "words": words }));
            runtime.block_on(peer.queue_message(message));
        })
    }

    /// Waits for a worker. While the service loads, all workers may wait for it; then an impatient request fails here.
    async fn worker(&self, patience: Patience) -> Result<SemaphorePermit<'_>, Failed> {
        let mut worker = std::pin::pin!(self.shared.workers.acquire());
        loop {
            tokio::select! {
                worker = &mut worker => return worker.map_err(|closed| Failed::bug(&closed)),
                () = tokio::time::sleep(TELL_EVERY) => {
                    if let Some(failed) = self.shared.host.loads(patience) {
                        return Err(failed);
                    }
                }
            }
        }
    }

    /// Sends the progress of the build whenever it changes, until the task is aborted.
    async fn send_progress(self, token: Value) {
        let mut before = None;
        loop {
            let percent = self.shared.host.percent();
            if percent != before
                && let Some(percent) = percent
            {
                let value = json!({"token": token, "value": {"kind": "report", "percentage": percent}});
                self.queue_message(message::notification("$/progress", value)).await;
            }
            before = percent;
            tokio::time::sleep(TELL_EVERY).await;
        }
    }
}

/// Builds the message of a request's outcome.
pub(super) fn reply_to(id: &Value, outcome: Outcome, cli: bool) -> Value {
    let reported: Vec<Value> = outcome.diagnostics.iter().map(diagnostic::diagnostic_json).collect();
    if cli {
        let (answer, code, diagnostics) = match outcome.result {
            Ok(answered) => (answered.answer, answered.code, Vec::new()),
            Err(failed) => (Value::Null, failed.code, failed.diagnostics),
        };
        return message::answer_message(
            id,
            json!({"answer": answer, "code": exit_number(code), "said": outcome.diagnostics, "failed": diagnostics}),
        );
    }
    match outcome.result {
        Ok(mut answered) => {
            if !reported.is_empty() {
                answered.answer["diagnostics"] = reported.into();
            }
            if answered.code != Code::Ok {
                answered.answer["exitCode"] = exit_number(answered.code).into();
            }
            message::answer_message(id, answered.answer)
        }
        Err(failed) => message::error_message(id, &failed, &outcome.diagnostics),
    }
}

/// A call of a method in the table.
pub(super) struct MethodCall {
    pub(super) entry: &'static MethodEntry,
    pub(super) arguments: Value,
    /// Whether the command line is the client; it gets diagnostics and exit code with the answer.
    pub(super) cli: bool,
    /// Token for progress notifications.
    progress: Option<Value>,
}

impl MethodCall {
    /// Reads the method and its arguments, by name or by position.
    pub(super) fn from_request(method: &str, params: Value) -> Result<Self, (i32, String)> {
        if method == "cortex.cli" {
            let name = params["method"].as_str().unwrap_or_default();
            let entry = catalog::find_method(name).ok_or_else(|| unknown_method(name))?;
            if params["version"] != super::version() {
                return Err((code::REQUEST, "the service is of another version".to_owned()));
            }
            return Ok(Self {
                entry,
                arguments: params["arguments"].clone(),
                cli: true,
                progress: None,
            });
        }
        let entry = catalog::find_method(method).ok_or_else(|| unknown_method(method))?;
        let mut named = match params {
            Value::Null => Map::new(),
            Value::Object(named) => named,
            Value::Array(values) => by_position(entry, values)?,
            _ => return Err((code::PARAMS, "params are an object or an array".to_owned())),
        };
        // The seed's method returns the operation at once.
        if method == "Investigate" {
            named.entry("background").or_insert(true.into());
        }
        let progress = ["progressToken", "workDoneToken", "partialResultToken"]
            .iter()
            .find_map(|name| named.remove(*name));
        Ok(Self {
            entry,
            arguments: named.into(),
            cli: false,
            progress,
        })
    }
}

fn unknown_method(method: &str) -> (i32, String) {
    let method: String = method.chars().take(80).collect();
    (code::METHOD, format!("there is no method '{method}'; 'methods' lists them"))
}

/// Names arguments given in the order of the reference; a single object holds arguments by name.
fn by_position(entry: &MethodEntry, values: Vec<Value>) -> Result<Map<String, Value>, (i32, String)> {
    if let [Value::Object(named)] = values.as_slice() {
        return Ok(named.clone());
    }
    let names = catalog::reference::argument_names(entry);
    if values.len() > names.len() {
        return Err((code::PARAMS, format!("'{}' takes {} arguments at most", entry.name, names.len())));
    }
    Ok(names.into_iter().zip(values).filter(|(_, value)| !value.is_null()).collect())
}
