//! Supervises a running program: reads its output, and stops it when needed.

use super::disk_usage;
use super::params::Bounds;
use super::start_failure::Attempt;
use engine::seams::producer::{Cancel, Failure};
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use os::handles::{AsFd, BorrowedFd, OwnedFd};
use os::wait::{Waits, bytes_to_read};
use sandbox::{Confined, Ended};
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

/// Limit of bytes on standard output.
const MAX_OUTPUT: usize = 256 << 20;
/// Limit of bytes that are kept of standard error.
const MAX_STDERR: usize = 64 << 10;

pub(super) struct EndedProgram {
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: Vec<u8>,
    pub(super) status: ExitStatus,
}

/// The reason why a program did not end by itself.
pub(super) enum Stop {
    Cancelled,
    TimedOut,
    TooMuch(String, &'static str),
    Broken(std::io::Error),
    Ended(Ended),
}

impl Stop {
    pub(super) fn failure(self, attempt: &Attempt<'_>) -> Failure {
        let program = attempt.program;
        let permanent =
            |message: String, hint: &str| Failure::Permanent(Box::new(Diagnostic::error(ErrorCode::E_COMMAND, message).hint(hint)));
        match self {
            Self::Cancelled => Failure::Cancelled,
            Self::TimedOut => Failure::Transient(Box::new(
                Diagnostic::error(
                    ErrorCode::E_TIMEOUT,
                    format!("'{program}' did not end within {} s", attempt.bounds.timeout.as_secs()),
                )
                .hint("give the producer a larger `timeout`"),
            )),
            Self::TooMuch(what, hint) => permanent(format!("'{program}' wrote {what}"), hint),
            Self::Broken(error) => Failure::Transient(Box::new(
                Diagnostic::error(ErrorCode::E_COMMAND, format!("what '{program}' says cannot be read: {error}")).hint("build again"),
            )),
            Self::Ended(Ended::NotStarted(error)) => attempt.not_started(&error),
            Self::Ended(Ended::Refused(why)) => super::unavailable(why),
            Self::Ended(Ended::Lost(why)) => Failure::Transient(Box::new(
                Diagnostic::error(ErrorCode::E_COMMAND, format!("the process that confines '{program}' ended: {why}"))
                    .hint("something else ended it; build again"),
            )),
        }
    }
}

/// Reads the output until the program has ended, with everything that it started.
pub(super) fn hear(mut program: Confined, folder: &Path, bounds: &Bounds, cancel: &Cancel) -> Result<EndedProgram, Stop> {
    let mut watch = Watch {
        cancel,
        // A timeout beyond the clock's range never expires.
        deadline: Instant::now().checked_add(bounds.timeout),
        folder,
        disk: bounds.disk,
        looked: Instant::now(),
    };
    match read_streams(&mut program, &mut watch) {
        Ok([stdout, stderr]) => match program.wait_for_exit() {
            Ok(status) => Ok(EndedProgram { stdout, stderr, status }),
            Err(ended) => Err(Stop::Ended(ended)),
        },
        Err(stop) => {
            program.kill_all();
            Err(stop)
        }
    }
}

/// Interval of checks whether to stop.
const LOOK_UP: Duration = Duration::from_millis(50);

/// The interval where the end of a program is not signalled.
const MOMENT: Duration = Duration::from_millis(1);

/// Interval of checks of the bytes that a program has written.
const DISK_LOOK: Duration = Duration::from_secs(1);

/// The conditions that end a program early.
struct Watch<'a> {
    cancel: &'a Cancel,
    deadline: Option<Instant>,
    folder: &'a Path,
    disk: u64,
    looked: Instant,
}

impl Watch<'_> {
    fn check_limits(&mut self) -> Result<(), Stop> {
        if self.cancel.is_cancelled() {
            return Err(Stop::Cancelled);
        }
        if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Err(Stop::TimedOut);
        }
        if self.looked.elapsed() >= DISK_LOOK {
            self.looked = Instant::now();
            if disk_usage::bytes_in_folder(self.folder) > self.disk {
                let what = format!("more than {} MiB to its folder", self.disk >> 20);
                return Err(Stop::TooMuch(
                    what,
                    "give the producer a larger `disk`, or have it write less or fewer files",
                ));
            }
        }
        Ok(())
    }
}

/// Reads both streams until the program has ended, and then the rest in them: child processes may keep them open for any time.
fn read_streams(program: &mut Confined, watch: &mut Watch<'_>) -> Result<[Vec<u8>; 2], Stop> {
    let mut heard = [Stream::new(program.child.stdout.take()), Stream::new(program.child.stderr.take())];
    while !program.has_ended() {
        watch.check_limits()?;
        let mut waits: Waits<'_> = heard.iter().filter_map(Stream::fd).chain(program.end_comes()).collect();
        // Without a signal of the end, poll for it.
        let pause = if program.end_comes().is_some() { LOOK_UP } else { MOMENT };
        waits.wait(Some(pause)).map_err(|error| Stop::Broken(error.into()))?;
        let ready: Vec<bool> = waits.came().collect();
        let open = heard.iter_mut().filter(|stream| stream.pipe.is_some());
        for (stream, _) in open.zip(ready).filter(|(_, ready)| *ready) {
            stream.read_available(usize::MAX)?;
        }
        check_output_limits(&mut heard)?;
    }
    program.end_rest();
    for stream in &mut heard {
        stream.read_rest()?;
    }
    check_output_limits(&mut heard)?;
    Ok(heard.map(|stream| stream.text))
}

fn check_output_limits([out, err]: &mut [Stream; 2]) -> Result<(), Stop> {
    if out.text.len() > MAX_OUTPUT {
        let what = format!("more than {} MiB to standard output", MAX_OUTPUT >> 20);
        return Err(Stop::TooMuch(what, "have it write less, or to a file that `outputs` names"));
    }
    err.text.truncate(MAX_STDERR);
    Ok(())
}

/// An output stream of a program.
struct Stream {
    /// `None` at the end of the stream.
    pipe: Option<File>,
    text: Vec<u8>,
}

impl Stream {
    fn new(pipe: Option<impl Into<OwnedFd>>) -> Self {
        Self {
            pipe: pipe.map(|pipe| File::from(pipe.into())),
            text: Vec::new(),
        }
    }

    fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.pipe.as_ref().map(AsFd::as_fd)
    }

    /// Waits for data and reads up to `most` bytes; returns their number.
    fn read_available(&mut self, most: usize) -> Result<usize, Stop> {
        let mut buffer = [0; 64 << 10];
        let room = most.min(buffer.len());
        let Some(pipe) = &mut self.pipe else { return Ok(0) };
        match pipe.read(&mut buffer[..room]) {
            Ok(0) => self.pipe = None,
            Ok(len) => {
                self.text.extend_from_slice(&buffer[..len]);
                return Ok(len);
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(Stop::Broken(error)),
        }
        Ok(0)
    }

    /// Reads the available bytes without waiting.
    fn read_rest(&mut self) -> Result<(), Stop> {
        let there = self.fd().map_or(Ok(0), bytes_to_read);
        let mut left = there.map_err(|error| Stop::Broken(error.into()))?;
        while left > 0 && self.pipe.is_some() {
            let read = self.read_available(usize::try_from(left).unwrap_or(usize::MAX))?;
            left = left.saturating_sub(read as u64);
        }
        Ok(())
    }
}
