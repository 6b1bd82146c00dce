//! A running watcher: a thread that gathers events into batches and answers clients at the socket.
//!
//! A batch ends after a moment without events, at the latest after [`LONGEST`]; while git checks out files it stays open longer.

use super::ask;
use super::socket::{Socket, SocketError};
use super::watcher::{WatchProblem, Watcher};
use crate::seams::world::{SetDef, WorldError};
use crossbeam_channel::{Receiver, Sender};
use os::handles::AsFd;
use os::sockets::Stream;
use os::wait::Waits;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Time without events after which a batch is complete.
const QUIET: Duration = Duration::from_millis(100);
/// Maximum duration of a batch.
const LONGEST: Duration = Duration::from_millis(800);
/// The same while git is at work.
const CHECKOUT: Duration = Duration::from_secs(10);
/// Interval of full scans if watching is impossible.
const RESCAN: Duration = Duration::from_secs(10);

/// A batch of changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// Changed files and directories, relative to the root.
    pub paths: BTreeSet<String>,
    /// Whether anything else may have changed.
    pub whole: bool,
    /// Whether another commit or branch was checked out.
    pub head: bool,
    /// Why watching is impossible. Batches then only announce that a scan is due.
    pub problem: Option<WatchProblem>,
}

impl Batch {
    pub fn is_empty(&self) -> bool {
        self.paths.is_empty() && !self.whole && !self.head && self.problem.is_none()
    }
}

/// Reason why a watch cannot start.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// Another watch of the same checkout runs.
    #[error("this checkout is watched already, by pid {pid}")]
    Watched {
        /// That process, as the lock file names it.
        pid: String,
    },
    /// The socket cannot be created.
    #[error("the watch cannot listen at {path}: {reason}")]
    Socket {
        path: PathBuf,
        /// The operating system's error message.
        reason: String,
    },
    /// The workspace cannot be watched.
    #[error(transparent)]
    World(#[from] WorldError),
}

impl From<SocketError> for WatchError {
    fn from(error: SocketError) -> Self {
        match error {
            SocketError::Taken { pid } => Self::Watched { pid },
            SocketError::Io { path, reason } => Self::Socket { path, reason },
        }
    }
}

enum Order {
    Cover(Vec<SetDef>),
    Stop,
}

/// A running watch. Dropping it ends it.
pub struct Watch {
    orders: Sender<Order>,
    wake: Stream,
    batches: Receiver<Batch>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    /// Starts watching. Calls `interrupt` on changes, and when another process requests the checkout.
    pub fn start(watcher: Watcher, socket: Option<Socket>, interrupt: Box<dyn Fn() + Send>) -> io::Result<Self> {
        let (orders, client) = crossbeam_channel::unbounded();
        let (sender, batches) = crossbeam_channel::unbounded();
        let (wake, woken) = Stream::pair()?;
        woken.set_nonblocking(true)?;
        let service = Service {
            watcher,
            socket,
            woken,
            orders: client,
            batches: sender,
            interrupt,
            mounts: File::open("/proc/self/mountinfo").ok(),
        };
        let thread = std::thread::Builder::new()
            .name("watch".to_owned())
            .spawn(move || service.run_service())?;
        Ok(Self {
            orders,
            wake,
            batches,
            thread: Some(thread),
        })
    }

    /// Returns the channel of batches. It closes when the watch ends.
    pub fn batches(&self) -> &Receiver<Batch> {
        &self.batches
    }

    /// Also watches directories that may contain files of these sets.
    pub fn cover(&self, sets: Vec<SetDef>) {
        self.order(Order::Cover(sets));
    }

    /// Returns a function that ends the watch, callable from any thread.
    pub fn stopper(&self) -> impl Fn() + Send + 'static {
        let (orders, wake) = (self.orders.clone(), self.wake.try_clone());
        move || {
            // As in `order`. Without a cloned handle, it takes effect at the next event.
            let _ = orders.send(Order::Stop);
            if let Ok(mut wake) = wake.as_ref() {
                let _ = wake.write(&[0]);
            }
        }
    }

    fn order(&self, order: Order) {
        // A watch that has ended takes no orders.
        let _ = self.orders.send(order);
        let _ = (&self.wake).write(&[0]);
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.order(Order::Stop);
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has already reported it.
            let _ = thread.join();
        }
    }
}

struct Service {
    watcher: Watcher,
    socket: Option<Socket>,
    woken: Stream,
    orders: Receiver<Order>,
    batches: Sender<Batch>,
    interrupt: Box<dyn Fn() + Send>,
    mounts: Option<File>,
}

impl Service {
    fn run_service(mut self) {
        // Start of the open batch, and time of the last event.
        let mut open: Option<(Instant, Instant)> = None;
        let mut moment = self.watcher.moment();
        let mut looked = Instant::now() - RESCAN;
        loop {
            let blind = self.watcher.problem().is_some();
            let now = Instant::now();
            let wait = match open {
                _ if blind => Some(RESCAN.saturating_sub(now - looked)),
                Some((began, last)) => Some(self.ends(began, last).saturating_duration_since(now)),
                None => None,
            };
            if self.wait(wait).is_err() || !self.process_orders() {
                return;
            }
            self.answer_clients();
            // Decide before reading events: a change that git made before it removed its lock belongs to the batch.
            let ended = open.is_some_and(|(began, last)| Instant::now() >= self.ends(began, last));
            let (heard, now) = (self.watcher.process_received(), Instant::now());
            if let Some(problem) = self.watcher.problem().cloned() {
                if !blind || now - looked >= RESCAN {
                    looked = now;
                    let gone = problem == WatchProblem::Gone;
                    let batch = Batch {
                        whole: true,
                        problem: Some(problem),
                        ..self.watcher.take_batch()
                    };
                    if self.batches.send(batch).is_err() || gone {
                        return;
                    }
                    open = None;
                    self.watcher.restart();
                }
                continue;
            }
            if heard != moment {
                (self.interrupt)();
                open = Some((open.map_or(now, |(began, _)| began), now));
                moment = heard;
            }
            if let Some((began, last)) = open
                && ended
                && now >= self.ends(began, last)
            {
                open = None;
                if self.batches.send(self.watcher.take_batch()).is_err() {
                    return;
                }
            }
        }
    }

    /// Returns when the batch is complete, as far as known now.
    fn ends(&self, began: Instant, last: Instant) -> Instant {
        if self.watcher.is_checking_out() {
            // Git does not announce its end: poll for it.
            return (Instant::now() + QUIET / 2).min(began + CHECKOUT);
        }
        (last + QUIET).min(began + LONGEST)
    }

    /// Waits for an event or the end of the time.
    fn wait(&mut self, time: Option<Duration>) -> io::Result<()> {
        let listener = self.socket.as_ref().map(|socket| socket.listener().as_fd());
        let mut waits: Waits<'_> = [self.watcher.fd(), self.woken.as_fd()].into_iter().chain(listener).collect();
        if let Some(mounts) = &self.mounts {
            waits.add_changes(mounts.as_fd());
        }
        waits.wait(time)?;
        let mounts_changed = self.mounts.is_some() && waits.came().next_back() == Some(true);
        drop(waits);
        if mounts_changed {
            self.watcher.reread_mounts();
        }
        Ok(())
    }

    /// Processes orders; returns whether to continue.
    fn process_orders(&mut self) -> bool {
        let mut bytes = [0; 64];
        while matches!(self.woken.read(&mut bytes), Ok(1..)) {}
        while let Ok(order) = self.orders.try_recv() {
            match order {
                Order::Stop => return false,
                // Every build reports malformed sets; continue to watch the former ones, for their clients.
                Order::Cover(sets) => {
                    let _ = self.watcher.cover(&sets);
                }
            }
        }
        true
    }

    fn answer_clients(&mut self) {
        let Some(socket) = &self.socket else { return };
        while let Ok((stream, _)) = socket.listener().accept() {
            let watcher = &mut self.watcher;
            // A client without an answer checks everything.
            if let Ok(true) = ask::answer_question(stream, |sets, since| watcher.since(sets, since)) {
                (self.interrupt)();
            }
        }
    }
}
