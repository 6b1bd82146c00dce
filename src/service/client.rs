//! The command line as a client: a method is answered by the service of the checkout, if there is one.

use crate::exit::Code;
use crate::methods::{Answered, Effect, Entry};
use engine::values::diagnostic::Diagnostic;
use os::sockets::Stream;
use serde::Deserialize;
use serde_json::{Value, json};
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::time::{Duration, Instant};

/// How long a service is waited for that is to say what it is.
const PATIENCE: Duration = Duration::from_secs(2);

/// After so long without a word, a service is asked whether it is alive, and it has as long to say so: together they bound how long a stopped
/// service goes unnoticed.
const SILENCE: Duration = Duration::from_millis(800);

/// How long a service that is to end is waited for: it gives what it is doing half of that.
const END: Duration = Duration::from_secs(10);

/// How often it is looked whether it has ended.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// How long an answer may take before a person is told that it is waited for.
const MOMENT: Duration = Duration::from_millis(300);

/// What the service said.
pub struct ServiceReply {
    /// The answer, or why there is none.
    pub result: Result<Answered, (Code, Vec<Diagnostic>)>,
    /// What it said besides.
    pub said: Vec<Diagnostic>,
}

/// What came of asking a service.
pub enum Reply {
    /// It answered.
    Told(ServiceReply),
    /// No service answers, or one of another version: the method runs here.
    Nobody,
    /// The service of this pid listens and gives no sign of life. It was asked to act, if `asked` says so, and may do it when it goes on.
    Unanswering {
        /// Whose service it is; `None` where its lock file does not say.
        pid: Option<i32>,
        /// Whether it has the request.
        asked: bool,
    },
}

/// Why there is no answer.
enum Silence {
    /// The connection failed, or brought something else than an answer.
    Broken,
    /// No sign of life.
    Dead,
}

impl From<io::Error> for Silence {
    fn from(_: io::Error) -> Self {
        Self::Broken
    }
}

/// What tells the command line how things go.
pub const SAID: &str = "cortex.said";

/// Asks for a method; `waits` hears of an answer that takes its time, `hear` how things go.
pub fn ask(socket: &Path, entry: &Entry, arguments: &Value, waits: impl FnOnce(), hear: impl Fn(&str)) -> Reply {
    let acts = entry.effect >= Effect::Acts;
    // What is not the same when it is done twice is asked only of a service that is seen to be alive.
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
    let stream = match sent(socket, "cortex.cli", &params, Some(MOMENT)) {
        Ok(stream) => stream,
        Err(error) => return unasked(error),
    };
    match told_in_time(stream, || ping(socket).is_ok(), waits, hear) {
        Ok(message) => read_reply(message).map_or(Reply::Nobody, Reply::Told),
        Err(Silence::Broken) => Reply::Nobody,
        Err(Silence::Dead) => Reply::Unanswering {
            pid: engine::watch::holder(socket),
            asked: acts,
        },
    }
}

/// Has the service say anything at all within [`SILENCE`], on a connection of its own. One that has too many clients says as much.
fn ping(socket: &Path) -> io::Result<()> {
    exchange(socket, "ping", &json!({}), Some(SILENCE)).map(drop)
}

/// The answer of a service of this version.
fn read_reply(mut message: Value) -> Option<ServiceReply> {
    #[derive(Deserialize)]
    struct Reply {
        answer: Value,
        code: u8,
        said: Vec<Diagnostic>,
        failed: Vec<Diagnostic>,
    }
    let reply: Reply = serde_json::from_value(message.get_mut("result")?.take()).ok()?;
    let code = Code::of(reply.code)?;
    let result = match reply.answer {
        Value::Null => Err((code, reply.failed)),
        answer => Ok(Answered { answer, code }),
    };
    Some(ServiceReply { result, said: reply.said })
}

/// What the service tells of itself.
///
/// # Errors
/// When nobody answers, or a service that cannot.
pub fn about(socket: &Path) -> io::Result<Value> {
    let mut reply = exchange(socket, "cortex.about", &json!({}), Some(PATIENCE))?;
    match reply["result"].take() {
        Value::Null => Err(io::Error::other(reply["error"]["message"].as_str().unwrap_or("no answer"))),
        about => Ok(about),
    }
}

/// Whose service it is that listens and does not answer; `None` when nobody listens.
pub fn unanswering(socket: &Path, why: &io::Error) -> Option<i32> {
    match why.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => None,
        _ => engine::watch::holder(socket),
    }
}

/// Has a service end that answers nobody, by the signal for it. Whether it did in time.
///
/// # Errors
/// When the signal cannot be sent.
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

/// Has the service end, and waits until it lets go of this call: with an answer or, when it was faster than that, without.
///
/// # Errors
/// When nobody listens, or it goes on.
pub fn stop(socket: &Path) -> io::Result<()> {
    let mut stream = sent(socket, "cortex.stop", &json!({}), Some(END))?;
    io::copy(&mut stream, &mut io::sink())?;
    Ok(())
}

/// The answer, however long it takes, as long as the service `is_alive`.
fn told_in_time(stream: Stream, is_alive: impl Fn() -> bool, waits: impl FnOnce(), hear: impl Fn(&str)) -> Result<Value, Silence> {
    let mut reader = BufReader::new(stream);
    if is_silent(reader.fill_buf().map(drop))? {
        waits();
    }
    reader.get_ref().set_read_timeout(Some(SILENCE))?;
    loop {
        let mut line = Vec::new();
        // What came of a line before a pause stays in it.
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

/// Whether nothing came in time.
fn is_silent(read: io::Result<()>) -> io::Result<bool> {
    match read {
        Ok(()) => Ok(false),
        Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => Ok(true),
        Err(error) => Err(error),
    }
}

fn exchange(socket: &Path, method: &str, params: &Value, patience: Option<Duration>) -> io::Result<Value> {
    let stream = sent(socket, method, params, patience)?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line)?;
    Ok(serde_json::from_str(&line)?)
}

fn sent(socket: &Path, method: &str, params: &Value, patience: Option<Duration>) -> io::Result<Stream> {
    let mut stream = engine::watch::connect(socket)?;
    stream.set_read_timeout(patience)?;
    // A long request does not fit in what the system holds for one that does not read.
    stream.set_write_timeout(Some(SILENCE))?;
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    stream.write_all(format!("{request}\n").as_bytes())?;
    Ok(stream)
}
