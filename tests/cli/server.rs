//! A local server that answers by a closure and records its requests.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};

/// A received request.
#[derive(Clone, Debug)]
pub struct Seen {
    /// Method and path.
    pub line: String,
    /// Headers as received.
    pub headers: String,
    /// The body.
    pub body: String,
}

/// Runs until the tests end.
pub struct Server {
    /// Its port.
    pub port: u16,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Server {
    /// Starts a server; `act` returns the answer to a request, given the number of earlier requests.
    pub fn new(act: impl Fn(&Seen, usize) -> Vec<u8> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let seen = Arc::<Mutex<Vec<Seen>>>::default();
        let (log, act) = (Arc::clone(&seen), Arc::new(act));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (log, act) = (Arc::clone(&log), Arc::clone(&act));
                std::thread::spawn(move || serve(stream, &log, &*act));
            }
        });
        Self { port, seen }
    }

    /// Returns the requests since the last call.
    pub fn take(&self) -> Vec<Seen> {
        std::mem::take(&mut self.seen.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn serve(mut stream: TcpStream, log: &Mutex<Vec<Seen>>, act: &dyn Fn(&Seen, usize) -> Vec<u8>) {
    let Some(request) = read(&stream) else { return };
    let number = {
        let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
        log.push(request.clone());
        log.len() - 1
    };
    // The client may close the connection at any time.
    let _ = stream.write_all(&act(&request, number));
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

/// Returns an answer with a status and further headers, each with its line end.
pub fn answer(status: &str, headers: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n{headers}\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

/// Returns a successful answer in JSON.
pub fn json(value: &serde_json::Value) -> Vec<u8> {
    answer("200 OK", "Content-Type: application/json\r\n", value.to_string())
}
