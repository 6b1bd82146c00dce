//! The first stage: starts the second, and ensures that no process outlives it.
//!
//! For [`Level::Strict`], the processes are in a process namespace, which ends with its first process. For [`Level::Landlock`], this process
//! adopts orphans, and kills its children until none is left.

use crate::STAGE;
use crate::spec::{Level, Spec};
use crate::wire::{Report, receive, write_to_wire};
use nix::sched::{CloneFlags, unshare};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, getgid, getpid, getuid, kill_process, pidfd_open, set_child_subreaper, wait, waitpid,
};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

/// Keeps the allocator of the second stage from reserving address space: that process sets the program's memory limit for itself before it
/// starts the program, and a process above its limit cannot start another one. The program does not see this variable.
const ADDRESS_SPACE: (&str, &str) = ("MIMALLOC_ARENA_RESERVE", "0");

/// Runs the stage; standard input is the connection to the caller.
pub(crate) fn run_supervisor() -> u8 {
    let Ok(line) = io::stdin().as_fd().try_clone_to_owned().map(UnixStream::from) else {
        return 2;
    };
    let Ok(spec) = receive::<Spec>(&line) else { return 2 };
    let report = watch(&line, &spec).unwrap_or_else(|error| Report::Refused(format!("its processes cannot be set apart: {error}")));
    match write_to_wire(&line, &report) {
        Ok(()) => 0,
        // The caller has closed the connection.
        Err(_) => 1,
    }
}

fn watch(line: &UnixStream, spec: &Spec) -> io::Result<Report> {
    if spec.level == Level::Strict {
        set_apart()?;
    } else {
        set_child_subreaper(Some(getpid()))?;
    }
    let (inner, theirs) = UnixStream::pair()?;
    let mut child = Command::new("/proc/self/exe")
        .args([STAGE, "confine"])
        .env_clear()
        .env(ADDRESS_SPACE.0, ADDRESS_SPACE.1)
        .stdin(OwnedFd::from(theirs))
        // A signal to the program's own group must not reach this process.
        .process_group(0)
        .spawn()?;
    // On a failed send, the end of the child below tells why.
    let _ = write_to_wire(&inner, spec);
    let ended = await_end(line, &child);
    let report = match ended {
        // The caller closed the connection, to end everything.
        Err(()) => {
            let _ = child.kill();
            let _ = child.wait();
            Report::Signalled(Signal::KILL.as_raw())
        }
        Ok(()) => {
            let status = wait_for_child(&child)?;
            inner.set_nonblocking(true)?;
            match receive::<Report>(&inner) {
                Ok(report) => report,
                // The stage became the program, so there is no report.
                Err(_) if spec.level == Level::Landlock => status,
                Err(_) => Report::Refused("the process that sets it up ended early".to_owned()),
            }
        }
    };
    end_all();
    Ok(report)
}

/// Creates namespaces for the child. Inside, this user is the superuser, but only of these namespaces.
fn set_apart() -> io::Result<()> {
    let (user, group) = (getuid().as_raw(), getgid().as_raw());
    unshare(
        CloneFlags::CLONE_NEWUSER
            | CloneFlags::CLONE_NEWNS
            | CloneFlags::CLONE_NEWPID
            | CloneFlags::CLONE_NEWNET
            | CloneFlags::CLONE_NEWIPC
            | CloneFlags::CLONE_NEWUTS,
    )?;
    std::fs::write("/proc/self/setgroups", "deny")?;
    std::fs::write("/proc/self/uid_map", format!("0 {user} 1"))?;
    std::fs::write("/proc/self/gid_map", format!("0 {group} 1"))
}

/// Waits until the child has ended, without reaping it. Returns `Err` if the connection was closed first.
fn await_end(line: &UnixStream, child: &Child) -> Result<(), ()> {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or(())?;
    let ended = pidfd_open(pid, PidfdFlags::empty()).map_err(drop)?;
    loop {
        let mut fds = [PollFd::new(&ended, PollFlags::IN), PollFd::new(line, PollFlags::IN)];
        match poll(&mut fds, None) {
            Ok(_) if !fds[0].revents().is_empty() => return Ok(()),
            // The caller sends nothing more, so the connection was closed.
            Ok(_) if !fds[1].revents().is_empty() => return Err(()),
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return Err(()),
        }
    }
}

fn wait_for_child(child: &Child) -> io::Result<Report> {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    loop {
        match waitpid(pid, WaitOptions::empty()) {
            Ok(Some((_, status))) => {
                return Ok(match (status.exit_status(), status.terminating_signal()) {
                    (Some(code), _) => Report::Exited(code),
                    (None, signal) => Report::Signalled(signal.unwrap_or(0)),
                });
            }
            Ok(None) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Kills all processes below this one. When a parent ends, its children become children of this process.
fn end_all() {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) | Err(Errno::INTR) => {}
            Ok(None) => {
                for child in child_processes() {
                    // The process may have ended by itself in the meantime.
                    let _ = kill_process(child, Signal::KILL);
                }
                // Wait for one to end; an immediate retry would find the same processes, still ending.
                let _ = wait(WaitOptions::empty());
            }
            // No child is left.
            Err(_) => return,
        }
    }
}

/// Returns the children of this process, by the parent that each process of the machine names.
fn child_processes() -> Vec<Pid> {
    let own = getpid().as_raw_nonzero().get();
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    let numbers = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    numbers.filter(|&pid| parent(pid) == Some(own)).filter_map(Pid::from_raw).collect()
}

fn parent(pid: i32) -> Option<i32> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may contain anything; state and parent follow the last parenthesis.
    text.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}
