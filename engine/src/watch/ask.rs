//! Requests to a watcher of another process: one question and one answer over a Unix socket.
//!
//! A message is its length (u32, little-endian) and a CBOR map. Any failure (no listener, another version, a slow answer) counts as no
//! answer. The client checks everything: only this user can access the socket's folder, but even so it takes only paths from an answer.

use crate::seams::world::{Watched, Watcher};
use minicbor::{Decode, Encode};
use os::sockets::{self, Stream};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Incremented when the meaning of a message changes.
const VERSION: u32 = 1;

/// Time-out of each read.
const PATIENCE: Duration = Duration::from_millis(300);

/// Maximum length of an answer in bytes; a longer one becomes "everything may have changed".
const LONGEST: usize = 16 << 20;

#[derive(Debug, Default, Encode, Decode)]
#[cbor(map)]
pub(crate) struct Question {
    #[n(0)]
    version: u32,
    #[n(1)]
    pub(crate) sets: u64,
    /// The moment asked about.
    #[cbor(n(2), with = "minicbor::bytes")]
    pub(crate) since: Option<Vec<u8>>,
    /// Requests no changes; stops builds ahead, because another process requests the checkout.
    #[n(3)]
    stop_builds_ahead: bool,
}

#[derive(Debug, Default, Encode, Decode)]
#[cbor(map)]
struct WatchAnswer {
    #[n(0)]
    version: u32,
    /// Token of this moment; without one nothing is known.
    #[cbor(n(1), with = "minicbor::bytes")]
    token: Option<Vec<u8>>,
    /// The changes; absent if everything may have changed.
    #[n(2)]
    changed: Option<Vec<String>>,
    #[n(3)]
    outputs_changed: bool,
}

/// A client of the watcher that listens at a path, if any.
#[derive(Clone, Debug)]
pub struct WatcherAnswer {
    socket: PathBuf,
}

impl WatcherAnswer {
    /// Creates a client for `socket`.
    pub fn new(socket: impl Into<PathBuf>) -> Self {
        Self { socket: socket.into() }
    }

    /// Stops builds ahead, if a watch runs them.
    pub fn stop_builds_ahead(&self) {
        let question = Question {
            version: VERSION,
            stop_builds_ahead: true,
            ..Question::default()
        };
        // Without a listener, nothing must be stopped.
        let _ = connect(&self.socket).and_then(|mut stream| {
            stream.set_write_timeout(Some(PATIENCE))?;
            send_message(&mut stream, &question)
        });
    }

    fn changes_since(&self, sets: u64, since: Option<&[u8]>) -> io::Result<Option<Watched>> {
        let mut stream = connect(&self.socket)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let question = Question {
            version: VERSION,
            sets,
            since: since.map(<[u8]>::to_vec),
            stop_builds_ahead: false,
        };
        send_message(&mut stream, &question)?;
        let answer: WatchAnswer = receive(&mut stream, LONGEST)?;
        let known = answer.token.filter(|_| answer.version == VERSION);
        Ok(known.map(|token| Watched {
            token,
            changed: answer.changed,
            outputs_changed: answer.outputs_changed,
        }))
    }
}

impl Watcher for WatcherAnswer {
    fn since(&self, sets: u64, since: Option<&[u8]>) -> Option<Watched> {
        self.changes_since(sets, since).ok().flatten()
    }
}

/// Answers one question; `since` returns the known changes. Returns whether builds ahead must stop instead.
pub(crate) fn answer_question(mut stream: Stream, since: impl FnOnce(u64, Option<&[u8]>) -> Option<Watched>) -> io::Result<bool> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(PATIENCE / 3))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let question: Question = receive(&mut stream, 4096)?;
    if question.stop_builds_ahead {
        return Ok(true);
    }
    let known = since(question.sets, question.since.as_deref()).filter(|_| question.version == VERSION);
    let mut answer = WatchAnswer {
        version: VERSION,
        ..WatchAnswer::default()
    };
    if let Some(known) = known {
        let length: usize = known.changed.iter().flatten().map(|path| path.len() + 16).sum();
        answer.token = Some(known.token);
        answer.changed = known.changed.filter(|_| length < LONGEST / 2);
        answer.outputs_changed = known.outputs_changed;
    }
    send_message(&mut stream, &answer).map(|()| false)
}

fn send_message<T: Encode<()>>(stream: &mut Stream, message: &T) -> io::Result<()> {
    let body = minicbor::to_vec(message).map_err(|_| io::ErrorKind::InvalidData)?;
    let length = u32::try_from(body.len()).map_err(|_| io::ErrorKind::InvalidData)?;
    stream.write_all(&[&length.to_le_bytes()[..], &body].concat())
}

fn receive<T: for<'b> Decode<'b, ()>>(stream: &mut Stream, longest: usize) -> io::Result<T> {
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let length = u32::from_le_bytes(length) as usize;
    if length > longest {
        return Err(io::ErrorKind::InvalidData.into());
    }
    // Memory grows with the received bytes, not with the claimed length.
    let mut body = Vec::new();
    stream.take(length as u64).read_to_end(&mut body)?;
    minicbor::decode(&body).map_err(|_| io::ErrorKind::InvalidData.into())
}

/// Connects to the listener at a path. Fails when there is none; as a time-out if its queue of connections is full.
pub fn connect(socket: &Path) -> io::Result<Stream> {
    sockets::connect(socket, PATIENCE)
}
