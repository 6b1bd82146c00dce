//! The caller's side: starts the chain of processes, and hears how it ended.

use crate::STAGE;
use crate::levels::Level;
use crate::spec::Spec;
use crate::wire::{Report, receive, send};
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

/// The own binary, once it is known to answer as a stage.
static OWN: OnceLock<PathBuf> = OnceLock::new();

/// Notes that the own binary calls [`crate::run_stage_if_asked`].
pub(crate) fn answers() {
    if let Ok(own) = std::env::current_exe() {
        // Noted before: the same.
        let _ = OWN.set(own);
    }
}

/// First processes that said how the program ended and have nothing left to do but to end, which takes the kernel a while: it takes their
/// namespaces down.
static LEAVING: Mutex<Vec<Child>> = Mutex::new(Vec::new());

/// Takes note of those that have left, and of one more that leaves.
fn leaves(child: Child) {
    let mut leaving = LEAVING.lock().unwrap_or_else(PoisonError::into_inner);
    leaving.retain_mut(|child| matches!(child.try_wait(), Ok(None)));
    leaving.push(child);
}

/// A program that runs confined. Dropping it before it has ended leaves it running; [`Confined::kill_all`] ends it.
pub struct Confined {
    /// The first process; its streams are those of the program.
    pub child: Child,
    /// Closed to have everything ended; `None` where there is no supervisor.
    line: Option<UnixStream>,
    /// Where there is none: the first process, to wait for.
    first: Option<OwnedFd>,
}

/// Why there is no end of a program to tell.
#[derive(Debug, thiserror::Error)]
pub enum Ended {
    /// The level cannot be had on this machine.
    #[error("{0}")]
    Refused(String),
    /// The program cannot be started.
    #[error("{0}")]
    NotStarted(io::Error),
    /// The processes around it ended without a word.
    #[error("the process that watches over it ended: {0}")]
    Lost(String),
}

impl Confined {
    /// Starts it, its output to pipes.
    ///
    /// # Errors
    /// When no process can be started. That the level or the program cannot is told by [`Confined::wait_for_exit`], except without confinement.
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
        // The command holds their end, which would keep the line open.
        drop(command);
        match send(&line, spec) {
            // It has no words for what is not UTF-8, and would wait for them for ever.
            Err(error) if matches!(error.kind(), io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput) => {
                let mut child = child;
                drop(line);
                let _ = child.wait();
                Err(Ended::Refused(format!("what is to be run cannot be told to its watcher: {error}")))
            }
            // What ended before it had read everything says why.
            Ok(()) | Err(_) => Ok(Self {
                child,
                line: Some(line),
                first: None,
            }),
        }
    }

    /// Can be read from (or waited for) when [`has_ended`](Self::has_ended) may have become true. `None` where the system has no such thing.
    pub fn end_comes(&self) -> Option<BorrowedFd<'_>> {
        let line = self.line.as_ref().map(AsFd::as_fd);
        line.or_else(|| self.first.as_ref().map(AsFd::as_fd))
    }

    /// Whether the program has ended, with everything that it started; of what is not confined the first process.
    pub fn has_ended(&self) -> bool {
        if let Some(line) = &self.line {
            // Nothing is said before the end.
            let now = Timespec { tv_sec: 0, tv_nsec: 0 };
            return matches!(poll(&mut [PollFd::new(line, PollFlags::IN)], Some(&now)), Ok(1));
        }
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        self.pid()
            .is_none_or(|pid| !matches!(waitid(WaitId::Pid(pid), look), Ok(None) | Err(Errno::INTR)))
    }

    /// Ends what the first process of a program that is not confined left in its group.
    pub fn end_rest(&self) {
        if self.line.is_none() {
            self.kill();
        }
    }

    /// How the program ended, once its processes have: all of them, where there is a level.
    ///
    /// # Errors
    /// When it did not run at all.
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
        // It speaks once everything below it is dead.
        leaves(self.child);
        match report {
            Report::Exited(code) => Ok(ExitStatus::from_raw(code << 8)),
            Report::Signalled(signal) => Ok(ExitStatus::from_raw(signal)),
            Report::Refused(why) => Err(Ended::Refused(why)),
            Report::NotStarted(error) => Err(Ended::NotStarted(io::Error::from_raw_os_error(error))),
            Report::Ready => Err(Ended::Lost("nothing was to be started".to_owned())),
        }
    }

    /// Whether the level could be set up, for a spec without a program.
    pub(crate) fn tried(mut self) -> Result<(), Ended> {
        let status = self.child.wait().map_err(|error| Ended::Lost(error.to_string()))?;
        let report = self.line.as_ref().map(receive::<Report>);
        match report {
            Some(Ok(Report::Ready)) => Ok(()),
            Some(Ok(Report::Refused(why))) => Err(Ended::Refused(why)),
            _ => Err(Ended::Lost(status.to_string())),
        }
    }

    /// Ends the program with everything that it started, and waits for that.
    pub fn kill_all(mut self) {
        match self.line.take() {
            // Its supervisor ends the rest, then itself.
            Some(line) => drop(line),
            None => self.kill(),
        }
        let _ = self.child.wait();
    }

    /// Waits for its end and leaves it unreaped, so that its number still means its own process group.
    fn await_end(&self) {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while let Some(pid) = self.pid()
            && let Err(Errno::INTR) = waitid(WaitId::Pid(pid), options)
        {}
    }

    /// The number of the first process.
    fn pid(&self) -> Option<Pid> {
        i32::try_from(self.child.id()).ok().and_then(Pid::from_raw)
    }

    fn kill(&self) {
        if let Some(group) = self.pid() {
            // It may have ended by itself in the meantime.
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
