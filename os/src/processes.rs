//! Processes: whether one lives, ending one or a group of them, how one ended, and what this one may have.

use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, kill_process, kill_process_group, setrlimit, test_kill_process};
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus};

/// The user in whose name this process acts.
pub fn own_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

fn pid(number: u32) -> Option<Pid> {
    i32::try_from(number).ok().and_then(Pid::from_raw)
}

/// Whether a process of this number lives, whoever it belongs to.
pub fn is_alive(process: u32) -> bool {
    pid(process).is_some_and(|process| test_kill_process(process) != Err(rustix::io::Errno::SRCH))
}

/// Asks a process to end, one that is stopped, too: it takes the signal when it goes on.
///
/// # Errors
/// When there is none of this number, or it belongs to someone else.
pub fn ask_to_end(process: i32) -> io::Result<()> {
    let process = Pid::from_raw(process).ok_or(io::ErrorKind::InvalidData)?;
    kill_process(process, Signal::TERM)?;
    Ok(kill_process(process, Signal::CONT)?)
}

/// Has a program begin a group of its own, of which what it starts becomes part.
pub fn begin_group(command: &mut Command) -> &mut Command {
    command.process_group(0)
}

/// Ends the group that a process began, if it is still there.
pub fn kill_group(leader: u32) {
    if let Some(group) = pid(leader) {
        // It may have ended by itself in the meantime.
        let _ = kill_process_group(group, Signal::KILL);
    }
}

/// What ended a program that did not end by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Killed {
    /// It took more processor time than it may.
    ProcessorTime,
    /// It wrote a larger file than it may.
    FileSize,
    /// Somebody ended it at once.
    AtOnce,
}

/// What ended a program, or what a shell ran in its last step, if it was one of these.
pub fn killed_by(status: ExitStatus) -> Option<Killed> {
    // A shell ends with 128 and the number of the signal that ended what it ran.
    let of = |signal: Signal| status.signal() == Some(signal.as_raw()) || status.code() == Some(128 + signal.as_raw());
    let known = [
        (Signal::XCPU, Killed::ProcessorTime),
        (Signal::XFSZ, Killed::FileSize),
        (Signal::KILL, Killed::AtOnce),
    ];
    known.into_iter().find_map(|(signal, killed)| of(signal).then_some(killed))
}

/// Leaves the processors to others first: of this thread, and of threads that it starts. A system that does not know of priorities goes on as it does.
pub fn lower_priority() {
    let _ = rustix::process::nice(10);
}

/// Lets this process have as many files open as the system allows; how many these are.
pub fn raise_open_files() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    // It stays what it was where it cannot be raised.
    let _ = setrlimit(
        Resource::Nofile,
        Rlimit {
            current: limit.maximum,
            ..limit
        },
    );
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}
