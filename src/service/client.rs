//! The command line as a client: the service of the checkout answers a method, if one runs.

use crate::exit::code_of_number;
use engine::values::diagnostic::Diagnostic;
use methods::catalog::{Answered, Effect, MethodEntry};
use methods::code::Code;
use os::sockets::Stream;
use serde::Deserialize;
use serde_json::{Value, json};
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::time::{Duration, Instant};

/// Time-out for a service to describe itself.
const PATIENCE: Duration = Duration::from_secs(2);

/// Time without a byte before the client pings the service, and time-out of that ping. Together they bound how long a stopped service goes
/// unnoticed.
const SILENCE: Duration = Duration::from_millis(800);

/// Time-out for a service to end; twice the time that the service gives its running work.
const END: Duration = Duration::from_secs(10);

/// Poll interval while a service ends.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Time after which the command prints that it waits for an answer.
const MOMENT: Duration = Duration::from_millis(300);

/// Reply of the service to one request.
pub struct ServiceReply {
    /// The answer, or the reason for its absence.
    pub result: Result<Answered, (Code, Vec<Diagnostic>)>,
    /// Diagnostics besides the answer.
    pub diagnostics: Vec<Diagnostic>,
}

/// Result of asking a service.
pub enum Reply {
    Told(ServiceReply),
    /// No service of this version answers; run the method in this process.
    Nobody,
    /// A service listens but shows no sign of life. If `asked`, it has the request and may still run it when it continues.
    Unanswering {
        /// Pid of the service; `None` if its lock file does not name it.
        pid: Option<i32>,
        /// Whether the service has a request that acts.
        asked: bool,
    },
}

/// Reason for a missing answer.
enum Silence {
    /// The connection failed, or returned something else than an answer.
    Broken,
    /// The service shows no sign of life.
    Dead,
}

impl From<io::Error> for Silence {
    fn from(_: io::Error) -> Self {
        Self::Broken
    }
}

/// Notification that carries status to the command line.
pub const SAID: &str = "cortex.said";

/// Requests a method. Calls `waits` if the answer takes long, and `hear` with each status.
pub fn request_method(socket: &Path, entry: &MethodEntry, arguments: &Value, waits: impl FnOnce(), hear: impl Fn(&str)) -> Reply {
    let acts = entry.effect >= Effect::Acts;
    // A request that must not run twice goes only to a service that answers a ping.
    let unasked = |error| {
        unanswering(socket, &error).map_or(Reply::Nobody, |pid| Reply::Unanswering {
            pid: Some(pid),
            asked: false,
        })
    };
    if acts && let Err(error) = ping(socket) {
        return unasked(error);
    }
    let params = json!({"version": super::version(), "method": entry.name, "arguments": arguments});
    let stream = match write_request(socket, "cortex.cli", &params, Some(MOMENT)) {
        Ok(stream) => stream,
        Err(error) => return unasked(error),
    };
    match read_answer(stream, || ping(socket).is_ok(), waits, hear) {
        Ok(message) => read_reply(message).map_or(Reply::Nobody, Reply::Told),
        Err(Silence::Broken) => Reply::Nobody,
        Err(Silence::Dead) => Reply::Unanswering {
            pid: engine::watch::holder(socket),
            asked: acts,
        },
    }
}

/// Pings the service within [`SILENCE`] on a new connection. A service with too many clients also counts as alive.
fn ping(socket: &Path) -> io::Result<()> {
    exchange(socket, "ping", &json!({}), Some(SILENCE)).map(drop)
}

/// Reads the answer; `None` from a service of another version.
fn read_reply(mut message: Value) -> Option<ServiceReply> {
    #[derive(Deserialize)]
    struct Reply {
        answer: Value,
        code: u8,
        said: Vec<Diagnostic>,
        failed: Vec<Diagnostic>,
    }
    let reply: Reply = serde_json::from_value(message.get_mut("result")?.take()).ok()?;
    let code = code_of_number(reply.code)?;
    let result = match reply.answer {
        Value::Null => Err((code, reply.failed)),
        answer => Ok(Answered {
            answer,
            code,
            remarks: Vec::new(),
        }),
    };
    Some(ServiceReply {
        result,
        diagnostics: reply.said,
    })
}

/// Returns the service's description of itself. Fails when no service answers, or it cannot describe itself.
pub fn ask_about_service(socket: &Path) -> io::Result<Value> {
    let mut reply = exchange(socket, "cortex.about", &json!({}), Some(PATIENCE))?;
    match reply["result"].take() {
        Value::Null => Err(io::Error::other(reply["error"]["message"].as_str().unwrap_or("no answer"))),
        about => Ok(about),
    }
}

/// Returns the pid of the service that listens and does not answer; `None` if no service listens.
pub fn unanswering(socket: &Path, why: &io::Error) -> Option<i32> {
    match why.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => None,
        _ => engine::watch::holder(socket),
    }
}

/// Signals a service that does not answer to end. Returns whether it ended in time. Fails when the signal cannot be sent.
pub fn end_service(socket: &Path, pid: i32) -> io::Result<bool> {
    os::processes::ask_to_end(pid)?;
    let until = Instant::now() + END;
    while engine::watch::holder(socket) == Some(pid) {
        if Instant::now() >= until {
            return Ok(false);
        }
        std::thread::sleep(LOOK_EVERY);
    }
    Ok(true)
}

/// Asks the service to end, and waits until it closes this connection, with or without an answer. Fails when no service listens, or it does
/// not close the connection in time.
pub fn stop_service(socket: &Path) -> io::Result<()> {
    let mut stream = write_request(socket, "cortex.stop", &json!({}), Some(END))?;
    io::copy(&mut stream, &mut io::sink())?;
    Ok(())
}

/// Reads the answer, however long it takes, while `is_alive` returns true. Calls `waits` when nothing arrived at first.
fn read_answer(stream: Stream, is_alive: impl Fn() -> bool, waits: impl FnOnce(), hear: impl Fn(&str)) -> Result<Value, Silence> {
    let mut reader = BufReader::new(stream);
    if is_silent(reader.fill_buf().map(drop))? {
        waits();
    }
    reader.get_ref().set_read_timeout(Some(SILENCE))?;
    loop {
        let mut line = Vec::new();
        // A pause keeps the part of the line that already arrived.
        while is_silent(reader.read_until(b'\n', &mut line).map(drop))? {
            if !is_alive() {
                return Err(Silence::Dead);
            }
        }
        let message: Value = serde_json::from_slice(&line).map_err(io::Error::from)?;
        if message["method"] != SAID {
            return Ok(message);
        }
        hear(message["params"]["words"].as_str().unwrap_or_default());
    }
}

/// Returns whether the read timed out.
fn is_silent(read: io::Result<()>) -> io::Result<bool> {
    match read {
        Ok(()) => Ok(false),
        Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => Ok(true),
        Err(error) => Err(error),
    }
}

fn exchange(socket: &Path, method: &str, params: &Value, patience: Option<Duration>) -> io::Result<Value> {
    let stream = write_request(socket, method, params, patience)?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line)?;
    Ok(serde_json::from_str(&line)?)
}

fn write_request(socket: &Path, method: &str, params: &Value, patience: Option<Duration>) -> io::Result<Stream> {
    let mut stream = engine::watch::connect(socket)?;
    stream.set_read_timeout(patience)?;
    // A long request can exceed the socket buffer of a service that does not read.
    stream.set_write_timeout(Some(SILENCE))?;
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    stream.write_all(format!("{request}\n").as_bytes())?;
    Ok(stream)
}
