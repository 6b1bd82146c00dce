//! Listening: clients at the socket, or one on standard input and output.

use super::host::Host;
use super::message::{self, code};
use super::peer::{self, Shared};
use engine::watch::Socket;
use os::handles::AsFd;
use os::wait::is_hung_up;
use serde_json::Value;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::UnixStream;
use tokio::sync::{Notify, Semaphore};

/// So many clients are served at once, if there may be as many open files; those that come then may ask the service about itself.
const CLIENTS: usize = 1024;

/// So many of those are heard at once; more are told that they come too many.
const HEARINGS: usize = 16;

/// Open files that a client takes.
const FILES_OF_ONE: u64 = 2;

/// Open files that are left to the store, the watch and programs.
const OTHER_FILES: u64 = 128;

/// So many requests are answered at once. Most of them wait for their turn to build.
pub const WORKERS: usize = 32;

/// After a failure to accept, for instance because there are too many open files, this is waited.
const PAUSE: Duration = Duration::from_millis(50);

/// How often it is looked whether clients can still find the socket.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Ends what is served.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<Notify>);

impl Stop {
    /// Ends it.
    pub fn stop(&self) {
        self.0.notify_one();
    }

    /// Waits for the end.
    pub async fn stopped(&self) {
        self.0.notified().await;
    }
}

/// What clients share that are served together.
pub fn shared(host: Arc<Host>, stop: &Stop) -> Shared {
    Shared {
        host,
        workers: Arc::new(Semaphore::new(WORKERS)),
        stop: stop.0.clone(),
    }
}

/// What requests are answered in.
///
/// # Errors
/// When the system has no threads for it.
pub fn runtime() -> io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(WORKERS + 4)
        .enable_all()
        .build()
}

/// Serves clients at the socket until it is stopped.
///
/// # Errors
/// When it cannot begin, or the socket is removed.
pub fn listen(host: Arc<Host>, socket: &Socket, stop: &Stop) -> io::Result<()> {
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
                    // Without its place it can be neither asked nor stopped, and would keep nobody from beginning another one.
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

/// How many clients can be served at once with as many open files as this process may have.
fn clients() -> usize {
    let places = os::processes::raise_open_files().saturating_sub(OTHER_FILES) / FILES_OF_ONE;
    usize::try_from(places).unwrap_or(CLIENTS).clamp(1, CLIENTS)
}

/// Tells one client too many that it is one. Nothing was written to it, so there is room; waiting until the runtime has noticed as much takes
/// longest just when very many come.
fn refuse(stream: UnixStream) {
    let message = message::error(&Value::Null, code::BUSY, peer::FULL);
    if let Ok(mut stream) = stream.into_std() {
        // Who is gone does not learn it.
        let _ = stream.write_all(format!("{message}\n").as_bytes());
    }
}

/// Serves one client on standard input and output until it is done.
///
/// # Errors
/// When it cannot begin.
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
    // A read of standard input cannot be broken off.
    runtime.shutdown_background();
    Ok(())
}
