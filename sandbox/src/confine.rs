//! The second stage: gives up all rights that the program must not have, then starts it.

use crate::spec::{Level, Spec, WORK};
use crate::wire::{Report, receive, write_to_wire};
use crate::{file_access, limits, root_folder, system_calls};
use rustix::io::Errno;
use rustix::process::{DumpableBehavior, Pid, Signal, WaitOptions, set_dumpable_behavior, set_parent_process_death_signal, wait};
use rustix::thread::{CapabilitySet, CapabilitySets, remove_capability_from_bounding_set, set_capabilities, set_no_new_privs};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// Runs the stage; standard input is the connection to the supervisor.
pub(crate) fn run_confined_stage() -> u8 {
    let Ok(line) = io::stdin().as_fd().try_clone_to_owned().map(UnixStream::from) else {
        return 2;
    };
    let Ok(spec) = receive::<Spec>(&line) else { return 2 };
    // If the supervisor is killed, this process ends as well.
    if set_parent_process_death_signal(Some(Signal::KILL)).is_err() {
        return 2;
    }
    let report = match spec.level {
        Level::Strict => strict(&spec),
        Level::Landlock => landlock(&spec),
        Level::None => Err("there is nothing to confine".to_owned()),
    };
    let report = report.unwrap_or_else(Report::Refused);
    u8::from(write_to_wire(&line, &report).is_err())
}

fn strict(spec: &Spec) -> Result<Report, String> {
    root_folder::change_root(spec).map_err(|(what, error)| format!("{what}: {error}"))?;
    let step = |what: &'static str| move |error: io::Error| format!("{what}: {error}");
    rustix::system::sethostname(b"cortex").map_err(|error| step("its host name cannot be set")(error.into()))?;
    drop_privileges().map_err(step("its privileges cannot be dropped"))?;
    file_access::close_within()?;
    system_calls::deny(system_calls::Sockets::Local).map_err(|error| format!("its system calls cannot be bounded: {error}"))?;
    std::env::set_current_dir(WORK).map_err(step("its folder cannot be entered"))?;
    if spec.program.as_os_str().is_empty() {
        return Ok(Report::Ready);
    }
    limits::set_limits(&spec.limits).map_err(step("its limits cannot be set"))?;
    // The program runs as the same user: it must not inspect this process or act in its place.
    set_dumpable_behavior(DumpableBehavior::NotDumpable).map_err(|error| step("it cannot be kept from its watcher")(error.into()))?;
    // This first process of the namespace ignores most signals and inherits orphans, so the program runs in another process.
    let child = match program(spec).spawn() {
        Ok(child) => i32::try_from(child.id()).ok().and_then(Pid::from_raw),
        Err(error) => return Ok(Report::NotStarted(error.raw_os_error().unwrap_or(0))),
    };
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if Some(pid) == child => {
                return Ok(match (status.exit_status(), status.terminating_signal()) {
                    (Some(code), _) => Report::Exited(code),
                    (None, signal) => Report::Signalled(signal.unwrap_or(0)),
                });
            }
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(format!("its end cannot be awaited: {error}")),
        }
    }
}

fn landlock(spec: &Spec) -> Result<Report, String> {
    let step = |what: &'static str| move |error: io::Error| format!("{what}: {error}");
    std::env::set_current_dir(&spec.folder).map_err(step("its folder cannot be entered"))?;
    drop_privileges().map_err(step("its privileges cannot be dropped"))?;
    file_access::restrict_process(spec)?;
    system_calls::deny(system_calls::Sockets::None).map_err(|error| format!("its system calls cannot be bounded: {error}"))?;
    if spec.program.as_os_str().is_empty() {
        return Ok(Report::Ready);
    }
    limits::set_limits(&spec.limits).map_err(step("its limits cannot be set"))?;
    if !is_program(&spec.program) {
        return Ok(Report::NotStarted(Errno::NOEXEC.raw_os_error()));
    }
    // Returns only on an error.
    let error = program(spec).exec();
    Ok(Report::NotStarted(error.raw_os_error().unwrap_or(0)))
}

/// Returns whether a file starts like a program or a script. The C library hands other files to a shell on `exec`, but not when spawning a
/// child. A file that may be run but not read counts as a program.
fn is_program(file: &Path) -> bool {
    // Opening a pipe would wait.
    let plain = file.metadata().is_ok_and(|metadata| metadata.is_file());
    let mut head = Vec::new();
    let read = plain.then(|| File::open(file).and_then(|file| file.take(4).read_to_end(&mut head)));
    !matches!(read, Some(Ok(_))) || head.starts_with(b"#!") || head == b"\x7fELF"
}

/// Drops all capabilities, now and for programs started later, also for the superuser.
fn drop_privileges() -> io::Result<()> {
    set_no_new_privs(true)?;
    for capability in CapabilitySet::all().iter() {
        // A capability that the kernel does not know, or that the process never had, cannot be removed and need not be.
        let _ = remove_capability_from_bounding_set(capability);
    }
    let none = CapabilitySets {
        effective: CapabilitySet::empty(),
        permitted: CapabilitySet::empty(),
        inheritable: CapabilitySet::empty(),
    };
    Ok(set_capabilities(None, none)?)
}

/// Builds the command of the program, with empty standard input.
fn program(spec: &Spec) -> Command {
    let mut command = Command::new(&spec.program);
    let (name, arguments) = spec.argv.split_first().map_or(("", &[][..]), |(name, rest)| (name.as_str(), rest));
    command.arg0(name).args(arguments).stdin(Stdio::null());
    command.env_clear().envs(spec.env.iter().map(|(name, value)| (name, value)));
    command
}
