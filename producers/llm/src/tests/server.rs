//! A scripted server, to test that clients survive any behaviour.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};

/// A request of a client.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    /// Method and path.
    pub(crate) line: String,
    /// Headers as received, in lower case.
    pub(crate) headers: String,
    pub(crate) body: String,
}

/// The server's reaction to a request.
#[derive(Clone)]
pub(crate) enum Act {
    /// Sends bytes and closes the connection.
    Say(Vec<u8>),
    /// Sends nothing until the client disconnects.
    Silence,
    /// Sends the first once and the second until the client disconnects.
    Endless(Vec<u8>, Vec<u8>),
}

/// Runs until it is dropped.
pub(crate) struct Server {
    pub(crate) url: String,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Server {
    /// Performs the acts one after the other, and repeats the last for ever.
    pub(crate) fn new(acts: Vec<Act>) -> Self {
        Self::with(move |_, number| acts[number.min(acts.len() - 1)].clone())
    }

    /// Chooses the act by the request and the number of earlier ones.
    pub(crate) fn with(act: impl Fn(&Seen, usize) -> Act + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (log, act) = (Arc::clone(&seen), Arc::new(act));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (log, act) = (Arc::clone(&log), Arc::clone(&act));
                std::thread::spawn(move || {
                    if let Some(request) = read(&stream) {
                        let number = {
                            let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
                            log.push(request.clone());
                            log.len() - 1
                        };
                        perform(act(&request, number), stream);
                    }
                });
            }
        });
        Self { url, seen }
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn read(stream: &TcpStream) -> Option<Seen> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut headers = String::new();
    while !headers.ends_with("\r\n\r\n") && headers != "\r\n" {
        if reader.read_line(&mut headers).ok()? == 0 {
            return None;
        }
    }
    let headers = headers.replace("\r\n", "\n");
    let length = headers.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
    });
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    Some(Seen {
        line: line.trim().trim_end_matches(" HTTP/1.1").to_owned(),
        headers,
        body: String::from_utf8_lossy(&body).into_owned(),
    })
}

fn perform(act: Act, mut stream: TcpStream) {
    // The client may disconnect at any time.
    match act {
        Act::Say(bytes) => drop(stream.write_all(&bytes)),
        Act::Silence => drop(stream.read(&mut [0; 1])),
        Act::Endless(first, unit) => {
            let mut going = stream.write_all(&first);
            while going.is_ok() {
                going = stream.write_all(&unit);
            }
        }
    }
}

/// Returns an answer with a status and headers.
pub(crate) fn answer(status: &str, headers: &str, body: impl AsRef<[u8]>) -> Act {
    let body = body.as_ref();
    let mut bytes = format!(
        "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n{headers}\r\n",
        body.len()
    )
    .into_bytes();
    bytes.extend_from_slice(body);
    Act::Say(bytes)
}

/// Returns a good answer in JSON.
pub(crate) fn json(body: impl AsRef<[u8]>) -> Act {
    answer("200 OK", "Content-Type: application/json\r\n", body)
}

/// The head of a stream without a length.
pub(crate) const STREAM: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nConnection: close\r\n\r\n";

/// Returns a stream that ends with the connection.
pub(crate) fn stream(body: impl AsRef<[u8]>) -> Act {
    Act::Say([STREAM.as_bytes(), body.as_ref()].concat())
}
