//! Processes: whether one lives, ending one or a group of them, how one ended, and the limits of this one.

use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, kill_process, kill_process_group, setrlimit, test_kill_process};
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus};

/// Returns the effective user of this process.
pub fn own_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

fn pid(number: u32) -> Option<Pid> {
    i32::try_from(number).ok().and_then(Pid::from_raw)
}

/// Returns whether a process of this number lives, of any user.
pub fn is_alive(process: u32) -> bool {
    pid(process).is_some_and(|process| test_kill_process(process) != Err(rustix::io::Errno::SRCH))
}

/// Signals a process to end, and continues it, so that a stopped process takes the signal, too. Fails when no process has this number, or
/// it belongs to another user.
pub fn ask_to_end(process: i32) -> io::Result<()> {
    let process = Pid::from_raw(process).ok_or(io::ErrorKind::InvalidData)?;
    kill_process(process, Signal::TERM)?;
    match kill_process(process, Signal::CONT) {
        // The process has ended since.
        Err(rustix::io::Errno::SRCH) => Ok(()),
        continued => Ok(continued?),
    }
}

/// Starts a program in its own process group, which its children join.
pub fn begin_group(command: &mut Command) -> &mut Command {
    command.process_group(0)
}

/// Kills the group of a process, if it still exists.
pub fn kill_group(leader: u32) {
    if let Some(group) = pid(leader) {
        // The group may have ended by itself in the meantime.
        let _ = kill_process_group(group, Signal::KILL);
    }
}

/// Reason why a program was killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Killed {
    /// The program exceeded its limit of processor time.
    ProcessorTime,
    /// The program wrote a file beyond the size limit.
    FileSize,
    /// Another process killed the program.
    AtOnce,
}

/// Returns why a program, or the last command of a shell, was killed, if for one of these reasons.
pub fn killed_by(status: ExitStatus) -> Option<Killed> {
    // A shell exits with 128 plus the number of the signal that ended its command.
    let of = |signal: Signal| status.signal() == Some(signal.as_raw()) || status.code() == Some(128 + signal.as_raw());
    let known = [
        (Signal::XCPU, Killed::ProcessorTime),
        (Signal::XFSZ, Killed::FileSize),
        (Signal::KILL, Killed::AtOnce),
    ];
    known.into_iter().find_map(|(signal, killed)| of(signal).then_some(killed))
}

/// Lowers the CPU priority of this thread, and of threads that it starts. Does nothing on a system without priorities.
pub fn lower_priority() {
    let _ = rustix::process::nice(10);
}

/// Raises this process's limit of open files to the maximum; returns the limit.
pub fn raise_open_files() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    // On an error the limit stays the same.
    let _ = setrlimit(
        Resource::Nofile,
        Rlimit {
            current: limit.maximum,
            ..limit
        },
    );
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}
