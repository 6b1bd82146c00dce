//! Listening: clients at the socket, or one client on standard input and output.

use super::message::{self, code};
use super::peer::{self, Shared};
use engine::watch::Socket;
use os::handles::AsFd;
use os::wait::is_hung_up;
use serde_json::Value;
use serve::host::Host;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::UnixStream;
use tokio::sync::{Notify, Semaphore};

/// Limit of clients, if the process may open as many files. A further client may still ask about the service itself.
const CLIENTS: usize = 1024;

/// Number of clients beyond [`CLIENTS`] that may ask one question each. The service refuses further clients without reading.
const HEARINGS: usize = 16;

/// Open files per client.
const FILES_OF_ONE: u64 = 2;

/// Open files reserved for the store, the watch and programs.
const OTHER_FILES: u64 = 128;

/// Limit of requests answered at once. Most of them wait for their turn to build.
pub const WORKERS: usize = 32;

/// Pause after a failed accept, for instance because too many files are open.
const PAUSE: Duration = Duration::from_millis(50);

/// Poll interval for the removal of the socket.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Handle that ends a server.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<Notify>);

impl Stop {
    pub fn stop(&self) {
        self.0.notify_one();
    }

    /// Waits for the end.
    pub async fn stopped(&self) {
        self.0.notified().await;
    }
}

/// Creates the state that the clients of one server share.
pub fn shared(host: Arc<Host>, stop: &Stop) -> Shared {
    Shared {
        host,
        workers: Arc::new(Semaphore::new(WORKERS)),
        stop: stop.0.clone(),
    }
}

/// Creates the runtime that answers requests. Fails when the system cannot start threads.
pub fn runtime() -> io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(WORKERS + 4)
        .enable_all()
        .build()
}

/// Serves clients at the socket until it is stopped. Fails when the server cannot start, or the socket is removed.
pub fn serve_socket(host: Arc<Host>, socket: &Socket, stop: &Stop) -> io::Result<()> {
    let clients = clients();
    let runtime = runtime()?;
    let ends = host.clone();
    let shared = shared(host, stop);
    let listener = socket.listener().try_clone()?;
    runtime
        .block_on(async {
            let listener = tokio::net::UnixListener::from_std(listener)?;
            let places = Arc::new(Semaphore::new(clients));
            let hearings = Arc::new(Semaphore::new(HEARINGS));
            let mut look = tokio::time::interval(LOOK_EVERY);
            loop {
                tokio::select! {
                    // Without its socket, the server can be neither reached nor stopped, and does not prevent another server from starting.
                    _ = look.tick() => if !socket.is_in_place() {
                        return Err(io::Error::new(io::ErrorKind::NotFound, "its socket was removed"));
                    },
                    () = shared.stop.notified() => break,
                    accepted = listener.accept() => match accepted {
                        Err(_) => tokio::time::sleep(PAUSE).await,
                        Ok((stream, _)) => match places.clone().try_acquire_owned() {
                            Err(_) => match hearings.clone().try_acquire_owned() {
                                Err(_) => refuse(stream),
                                Ok(heard) => {
                                    let shared = shared.clone();
                                    tokio::spawn(async move {
                                        let (from, to) = stream.into_split();
                                        peer::hear(&shared, from, to).await;
                                        drop(heard);
                                    });
                                }
                            },
                            Ok(place) => {
                                let shared = shared.clone();
                                tokio::spawn(async move {
                                    let hung = stream.as_fd().try_clone_to_owned();
                                    let gone = move || hung.as_ref().is_ok_and(is_hung_up);
                                    let (from, to) = stream.into_split();
                                    peer::serve(shared, from, to, gone).await;
                                    drop(place);
                                });
                            }
                        },
                    },
                }
            }
            Ok(())
        })
        .inspect(|()| ends.end_all())
        .inspect(|()| runtime.shutdown_timeout(Duration::from_secs(5)))
}

/// Returns the limit of clients that this process's limit of open files allows.
fn clients() -> usize {
    let places = os::processes::raise_open_files().saturating_sub(OTHER_FILES) / FILES_OF_ONE;
    usize::try_from(places).unwrap_or(CLIENTS).clamp(1, CLIENTS)
}

/// Refuses a client beyond the limits, without waiting. The socket buffer is empty, so the message fits; waiting until the runtime reports
/// the socket writable takes longest when most clients connect.
fn refuse(stream: UnixStream) {
    let message = message::error(&Value::Null, code::BUSY, peer::FULL);
    if let Ok(mut stream) = stream.into_std() {
        // The client may be gone.
        let _ = stream.write_all(format!("{message}\n").as_bytes());
    }
}

/// Serves one client on standard input and output until the input ends. Fails when the server cannot start.
pub fn converse(host: Arc<Host>, stop: &Stop) -> io::Result<()> {
    let runtime = runtime()?;
    let shared = shared(host.clone(), stop);
    runtime.block_on(async {
        tokio::select! {
            () = stop.0.notified() => {}
            () = peer::serve(shared.clone(), tokio::io::stdin(), tokio::io::stdout(), || false) => {}
        }
    });
    host.end_all();
    // A read of standard input cannot be interrupted.
    runtime.shutdown_background();
    Ok(())
}
