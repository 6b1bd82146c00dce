//! The command line as a client: a method is answered by the service of the checkout, if there is one.

use crate::exit::Code;
use crate::methods::{Answered, Entry};
use engine::values::diagnostic::Diagnostic;
use rustix::process::{Pid, Signal, kill_process};
use serde::Deserialize;
use serde_json::{Value, json};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long a service is waited for that is to say what it is.
const PATIENCE: Duration = Duration::from_secs(2);

/// How long a service that is to end is waited for: it gives what it is doing half of that.
const END: Duration = Duration::from_secs(10);

/// How often it is looked whether it has ended.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// How long an answer may take before a person is told that it is waited for.
const MOMENT: Duration = Duration::from_millis(300);

/// What the service said.
pub struct Told {
    /// The answer, or why there is none.
    pub result: Result<Answered, (Code, Vec<Diagnostic>)>,
    /// What it said besides.
    pub said: Vec<Diagnostic>,
}

/// What tells the command line how things go.
pub const SAID: &str = "cortex.said";

/// Asks for a method; `waits` hears of an answer that takes its time, `hear` how things go. `None` when no service answers, or one of another version: then it is to
/// be answered here.
pub fn ask(socket: &Path, entry: &Entry, arguments: &Value, waits: impl FnOnce(), hear: impl Fn(&str)) -> Option<Told> {
    #[derive(Deserialize)]
    struct Reply {
        answer: Value,
        code: u8,
        said: Vec<Diagnostic>,
        failed: Vec<Diagnostic>,
    }
    let params = json!({"version": super::version(), "method": entry.name, "arguments": arguments});
    let reply = told_in_time(sent(socket, "cortex.cli", &params, Some(MOMENT)).ok()?, waits, hear).ok()?;
    let reply: Reply = serde_json::from_value(reply.get("result")?.clone()).ok()?;
    let code = Code::of(reply.code)?;
    let result = match reply.answer {
        Value::Null => Err((code, reply.failed)),
        answer => Ok(Answered { answer, code }),
    };
    Some(Told { result, said: reply.said })
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
pub fn end(socket: &Path, pid: i32) -> io::Result<bool> {
    let process = Pid::from_raw(pid).ok_or(io::ErrorKind::InvalidData)?;
    kill_process(process, Signal::TERM)?;
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

/// The answer, however long it takes.
fn told_in_time(stream: UnixStream, waits: impl FnOnce(), hear: impl Fn(&str)) -> io::Result<Value> {
    let mut reader = BufReader::new(stream);
    if let Err(error) = reader.fill_buf().map(drop) {
        if !matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) {
            return Err(error);
        }
        waits();
    }
    reader.get_ref().set_read_timeout(None)?;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let message: Value = serde_json::from_str(&line)?;
        if message["method"] != SAID {
            return Ok(message);
        }
        hear(message["params"]["words"].as_str().unwrap_or_default());
    }
}

fn exchange(socket: &Path, method: &str, params: &Value, patience: Option<Duration>) -> io::Result<Value> {
    let stream = sent(socket, method, params, patience)?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line)?;
    Ok(serde_json::from_str(&line)?)
}

fn sent(socket: &Path, method: &str, params: &Value, patience: Option<Duration>) -> io::Result<UnixStream> {
    let mut stream = engine::watch::connect(socket)?;
    stream.set_read_timeout(patience)?;
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    stream.write_all(format!("{request}\n").as_bytes())?;
    Ok(stream)
}
