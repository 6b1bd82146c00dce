//! While a program runs: what it says is read, and it is told to stop when it has to.

use super::params::Bounds;
use super::scratch::Scratch;
use engine::seams::producer::{Cancel, Failure};
use engine::values::diagnostic::Diagnostic;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use sandbox::{Confined, Ended};
use std::io::Read;
use std::os::fd::AsFd;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

/// A program may say this much on standard output.
const MAX_OUTPUT: usize = 256 << 20;
/// This much of what it says on standard error is kept.
const MAX_STDERR: usize = 64 << 10;

/// A program that has ended.
pub(super) struct Heard {
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: Vec<u8>,
    pub(super) status: ExitStatus,
}

/// Why there is no end to tell of.
pub(super) enum Stop {
    Cancelled,
    TimedOut,
    TooMuch(String, &'static str),
    Broken(std::io::Error),
    Ended(Ended),
}

impl Stop {
    pub(super) fn failure(self, program: &str, bounds: &Bounds) -> Failure {
        let permanent = |message: String, hint: &str| Failure::Permanent(Box::new(Diagnostic::error("E_COMMAND", message).hint(hint)));
        match self {
            Self::Cancelled => Failure::Cancelled,
            Self::TimedOut => Failure::Transient(Box::new(
                Diagnostic::error(
                    "E_TIMEOUT",
                    format!("'{program}' did not end within {} s", bounds.timeout.as_secs()),
                )
                .hint("give the producer a larger `timeout`"),
            )),
            Self::TooMuch(what, hint) => permanent(format!("'{program}' wrote {what}"), hint),
            Self::Broken(error) => super::io("its output cannot be read", &error),
            Self::Ended(Ended::NotStarted(error)) => not_started(program, bounds, &error),
            Self::Ended(Ended::Refused(why)) => super::unavailable(why),
            Self::Ended(Ended::Lost(why)) => Failure::Transient(Box::new(
                Diagnostic::error("E_COMMAND", format!("the process that confines '{program}' ended: {why}"))
                    .hint("something else ended it; build again"),
            )),
        }
    }
}

fn not_started(program: &str, bounds: &Bounds, error: &std::io::Error) -> Failure {
    let why = Diagnostic::error("E_COMMAND", format!("'{program}' cannot be started: {error}"));
    let hint = match bounds.readable.is_empty() {
        true => "install it, write its full path in `argv`, or name what it reads beside the system's folders in `readable`",
        false => "install it, or write its full path in `argv`",
    };
    Failure::Permanent(Box::new(why.hint(hint)))
}

/// Reads what it says until it has ended, with everything that it started.
pub(super) fn hear(mut program: Confined, scratch: &Scratch, bounds: &Bounds, cancel: &Cancel) -> Result<Heard, Stop> {
    let mut watch = Watch {
        cancel,
        // A wait that no clock can express is a wait without end.
        deadline: Instant::now().checked_add(bounds.timeout),
        scratch,
        disk: bounds.disk,
        looked: Instant::now(),
    };
    let heard = listen(&mut program, &mut watch).and_then(|texts| {
        await_end(&program, &mut watch)?;
        Ok(texts)
    });
    match heard {
        Ok([stdout, stderr]) => match program.ended() {
            Ok(status) => Ok(Heard { stdout, stderr, status }),
            Err(ended) => Err(Stop::Ended(ended)),
        },
        Err(stop) => {
            program.end();
            Err(stop)
        }
    }
}

/// How long a wait lasts before it is seen whether to stop.
const LOOK_UP: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 50_000_000,
};

/// How long nobody looks how much a program has written.
const DISK_LOOK: Duration = Duration::from_secs(1);

/// What may end a program early.
struct Watch<'a> {
    cancel: &'a Cancel,
    deadline: Option<Instant>,
    scratch: &'a Scratch,
    disk: u64,
    looked: Instant,
}

impl Watch<'_> {
    fn look(&mut self) -> Result<(), Stop> {
        if self.cancel.is_cancelled() {
            return Err(Stop::Cancelled);
        }
        if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Err(Stop::TimedOut);
        }
        if self.looked.elapsed() >= DISK_LOOK {
            self.looked = Instant::now();
            if self.scratch.holds() > self.disk {
                let what = format!("more than {} MiB to its folder", self.disk >> 20);
                return Err(Stop::TooMuch(what, "give the producer a larger `disk`, or have it write less"));
            }
        }
        Ok(())
    }
}

/// Reads both streams to their ends.
fn listen(program: &mut Confined, watch: &mut Watch<'_>) -> Result<[Vec<u8>; 2], Stop> {
    let child = &mut program.child;
    let mut streams = [child.stdout.take().map(Stream::Out), child.stderr.take().map(Stream::Err)];
    let mut texts = [Vec::new(), Vec::new()];
    let mut buffer = [0; 64 << 10];
    while streams.iter().any(Option::is_some) {
        watch.look()?;
        let open: Vec<usize> = (0..2).filter(|&at| streams[at].is_some()).collect();
        let ready: Vec<usize> = {
            let mut fds: Vec<PollFd<'_>> = open
                .iter()
                .filter_map(|&at| streams[at].as_ref())
                .map(|stream| match stream {
                    Stream::Out(out) => PollFd::from_borrowed_fd(out.as_fd(), PollFlags::IN),
                    Stream::Err(err) => PollFd::from_borrowed_fd(err.as_fd(), PollFlags::IN),
                })
                .collect();
            match poll(&mut fds, Some(&LOOK_UP)) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(Stop::Broken(error.into())),
            }
            open.iter()
                .zip(&fds)
                .filter(|(_, fd)| !fd.revents().is_empty())
                .map(|(&at, _)| at)
                .collect()
        };
        for at in ready {
            let read = match &mut streams[at] {
                Some(Stream::Out(out)) => out.read(&mut buffer),
                Some(Stream::Err(err)) => err.read(&mut buffer),
                None => continue,
            };
            match read {
                Ok(0) => streams[at] = None,
                Ok(len) => texts[at].extend_from_slice(&buffer[..len]),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Stop::Broken(error)),
            }
        }
        if texts[0].len() > MAX_OUTPUT {
            let what = format!("more than {} MiB to standard output", MAX_OUTPUT >> 20);
            return Err(Stop::TooMuch(what, "have it write less, or to a file that `outputs` names"));
        }
        texts[1].truncate(MAX_STDERR);
    }
    Ok(texts)
}

enum Stream {
    Out(std::process::ChildStdout),
    Err(std::process::ChildStderr),
}

/// Returns when the first process has ended; it may close its streams long before.
fn await_end(program: &Confined, watch: &mut Watch<'_>) -> Result<(), Stop> {
    let Some(id) = program.pid() else { return Ok(()) };
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    while let Ok(None) | Err(Errno::INTR) = waitid(WaitId::Pid(id), look) {
        watch.look()?;
        wait_a_while(id);
    }
    Ok(())
}

/// Returns when the process has ended, or after a while.
#[cfg(target_os = "linux")]
fn wait_a_while(id: Pid) {
    match rustix::process::pidfd_open(id, rustix::process::PidfdFlags::empty()) {
        // Either outcome is looked into by the caller.
        Ok(program) => drop(poll(&mut [PollFd::new(&program, PollFlags::IN)], Some(&LOOK_UP))),
        Err(_) => std::thread::sleep(Duration::from_millis(1)),
    }
}

#[cfg(not(target_os = "linux"))]
fn wait_a_while(_: Pid) {
    std::thread::sleep(Duration::from_millis(1));
}
