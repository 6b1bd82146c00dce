//! The caller's side: starts the chain of processes, and receives its result.

use crate::STAGE;
use crate::spec::{Level, Spec};
use crate::wire::{Report, receive, write_to_wire};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};

/// This program's binary, once it is known to run as a stage.
static OWN: OnceLock<PathBuf> = OnceLock::new();

/// Notes that this program's binary calls [`crate::run_stage_if_requested`].
pub(crate) fn answers() {
    if let Ok(own) = std::env::current_exe() {
        // On a second call the path is already set, to the same value.
        let _ = OWN.set(own);
    }
}

/// First processes that have reported their result and only have to end, which takes a while because the kernel removes their
/// namespaces.
static LEAVING: Mutex<Vec<Child>> = Mutex::new(Vec::new());

/// Reaps processes of [`LEAVING`] that have ended, and adds one.
fn reap_ended(child: Child) {
    let mut leaving = LEAVING.lock().unwrap_or_else(PoisonError::into_inner);
    leaving.retain_mut(|child| matches!(child.try_wait(), Ok(None)));
    leaving.push(child);
}

/// A program in a sandbox. Dropping it kills the program, except at [`Level::None`]; [`Confined::kill_all`] always does, and waits for the end.
pub struct Confined {
    /// First process; its streams are those of the program.
    pub child: Child,
    /// Connection to the supervisor; closing it kills everything. `None` without a supervisor.
    line: Option<UnixStream>,
    /// Without a supervisor, the handle to wait for the first process.
    first: Option<OwnedFd>,
}

/// Reason why a program has no exit status.
#[derive(Debug, thiserror::Error)]
pub enum Ended {
    /// This machine does not support the level.
    #[error("{0}")]
    Refused(String),
    /// The program could not be started.
    #[error("{0}")]
    NotStarted(io::Error),
    /// The processes around the program ended without a report.
    #[error("the process that watches over it ended: {0}")]
    Lost(String),
}

impl Confined {
    /// Starts the program, with its output in pipes. Fails when no process can be started. [`Confined::wait_for_exit`] reports a failure of
    /// the level or the program, except at [`Level::None`].
    pub fn start(spec: &Spec) -> Result<Self, Ended> {
        let mut command = match spec.level {
            Level::None => {
                let mut command = Command::new(&spec.program);
                let (name, arguments) = spec.argv.split_first().map_or(("", &[][..]), |(name, rest)| (name.as_str(), rest));
                command.arg0(name).args(arguments).current_dir(&spec.folder).stdin(Stdio::null());
                command.env_clear().envs(spec.env.iter().map(|(name, value)| (name, value)));
                command
            }
            _ => {
                let own = OWN
                    .get()
                    .ok_or_else(|| Ended::Refused("this program does not start itself as a stage".to_owned()))?;
                let mut command = Command::new(own);
                command.args([STAGE, "supervise"]).env_clear();
                command
            }
        };
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        if spec.level == Level::None {
            let child = command.spawn().map_err(Ended::NotStarted)?;
            let first = waitable(&child);
            return Ok(Self { child, line: None, first });
        }
        let lost = |error: io::Error| Ended::Lost(error.to_string());
        let (line, theirs) = UnixStream::pair().map_err(lost)?;
        let child = command.stdin(OwnedFd::from(theirs)).spawn().map_err(lost)?;
        // The command still has the other end, which would keep the connection open.
        drop(command);
        match write_to_wire(&line, spec) {
            // The spec cannot be encoded, for example a path that is not UTF-8; the stage would wait for it for ever.
            Err(error) if matches!(error.kind(), io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput) => {
                let mut child = child;
                drop(line);
                let _ = child.wait();
                Err(Ended::Refused(format!(
                    "the program and its limits cannot be sent to its supervisor: {error}"
                )))
            }
            // If the stage ended early, its end tells why.
            Ok(()) | Err(_) => Ok(Self {
                child,
                line: Some(line),
                first: None,
            }),
        }
    }

    /// Returns a handle that becomes readable when [`has_ended`](Self::has_ended) may return true. `None` if the system has no such handle.
    pub fn end_comes(&self) -> Option<BorrowedFd<'_>> {
        let line = self.line.as_ref().map(AsFd::as_fd);
        line.or_else(|| self.first.as_ref().map(AsFd::as_fd))
    }

    /// Returns whether the program has ended, with all its processes; at [`Level::None`], whether the first process has.
    pub fn has_ended(&self) -> bool {
        if let Some(line) = &self.line {
            // The supervisor sends nothing before the end.
            let now = Timespec { tv_sec: 0, tv_nsec: 0 };
            return matches!(poll(&mut [PollFd::new(line, PollFlags::IN)], Some(&now)), Ok(1));
        }
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        self.pid()
            .is_none_or(|pid| !matches!(waitid(WaitId::Pid(pid), options), Ok(None) | Err(Errno::INTR)))
    }

    /// Kills the rest of the process group at [`Level::None`].
    pub fn end_rest(&self) {
        if self.line.is_none() {
            self.kill();
        }
    }

    /// Waits for the program, and its processes except at [`Level::None`], to end. Returns the exit status. Fails when the program did not
    /// run.
    pub fn wait_for_exit(mut self) -> Result<ExitStatus, Ended> {
        let Some(line) = self.line.take() else {
            self.await_end();
            self.kill();
            return self.child.wait().map_err(|error| Ended::Lost(error.to_string()));
        };
        let Ok(report) = receive(&line) else {
            let ended = self.child.wait();
            return Err(Ended::Lost(
                ended.map_or_else(|error| error.to_string(), |status| status.to_string()),
            ));
        };
        // The supervisor reports once all processes below it have ended.
        reap_ended(self.child);
        match report {
            Report::Exited(code) => Ok(ExitStatus::from_raw(code << 8)),
            Report::Signalled(signal) => Ok(ExitStatus::from_raw(signal)),
            Report::Refused(why) => Err(Ended::Refused(why)),
            Report::NotStarted(error) => Err(Ended::NotStarted(io::Error::from_raw_os_error(error))),
            Report::Ready => Err(Ended::Lost("nothing was to be started".to_owned())),
        }
    }

    /// Returns whether the level could be set up, for a spec without a program.
    pub(crate) fn tried(mut self) -> Result<(), Ended> {
        let status = self.child.wait().map_err(|error| Ended::Lost(error.to_string()))?;
        let report = self.line.as_ref().map(receive::<Report>);
        match report {
            Some(Ok(Report::Ready)) => Ok(()),
            Some(Ok(Report::Refused(why))) => Err(Ended::Refused(why)),
            _ => Err(Ended::Lost(status.to_string())),
        }
    }

    /// Kills the program with all its processes, and waits for their end.
    pub fn kill_all(mut self) {
        match self.line.take() {
            // The supervisor kills the rest, then ends.
            Some(line) => drop(line),
            None => self.kill(),
        }
        let _ = self.child.wait();
    }

    /// Waits for the first process to end without reaping it, so that its number still identifies its process group.
    fn await_end(&self) {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while let Some(pid) = self.pid()
            && let Err(Errno::INTR) = waitid(WaitId::Pid(pid), options)
        {}
    }

    /// Returns the number of the first process.
    fn pid(&self) -> Option<Pid> {
        i32::try_from(self.child.id()).ok().and_then(Pid::from_raw)
    }

    fn kill(&self) {
        if let Some(group) = self.pid() {
            // The group may have ended by itself in the meantime.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

#[cfg(target_os = "linux")]
fn waitable(child: &Child) -> Option<OwnedFd> {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw)?;
    rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).ok()
}

#[cfg(not(target_os = "linux"))]
fn waitable(_: &Child) -> Option<OwnedFd> {
    None
}
