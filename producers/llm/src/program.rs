//! Programs that provide models and keys: text in, text out, with a time limit. They get the whole environment, where they find their own settings,
//! and run in the workspace's folder.

use super::call_environment::LOOK_UP;
use engine::seams::producer::Cancel;
use os::processes;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// Limit of bytes that are kept of a program's standard error.
const LONGEST_COMPLAINT: usize = 8 << 10;

/// A program to run.
pub(super) struct Program<'a> {
    pub(super) argv: &'a [&'a str],
    pub(super) root: &'a Path,
    pub(super) input: &'a [u8],
    pub(super) timeout: Duration,
    /// Limit of bytes of its output.
    pub(super) longest: usize,
}

/// The output of a program.
pub(super) struct ProgramText {
    pub(super) bytes: Vec<u8>,
    /// Whether it wrote more than the limit, and was ended.
    pub(super) cut: bool,
}

/// The reason why a program gave no output.
pub(super) enum Stop {
    Cancelled,
    TimedOut,
    NotStarted(std::io::Error),
    Failed(ExitStatus, String),
}

impl Stop {
    /// Returns a description without any text of the program.
    pub(super) fn describe_stop(&self) -> String {
        match self {
            Self::Cancelled => "it was cancelled".to_owned(),
            Self::TimedOut => "it did not end in time".to_owned(),
            Self::NotStarted(error) => format!("it cannot be started: {error}"),
            Self::Failed(status, _) => status.to_string(),
        }
    }
}

enum ProgramOutput {
    Out(Vec<u8>),
    Complaint(Vec<u8>),
    Ended,
}

/// Runs a program to its end, or ends it and everything in its process group.
pub(super) fn run_program(program: &Program<'_>, cancel: &Cancel) -> Result<ProgramText, Stop> {
    let (name, arguments) = program
        .argv
        .split_first()
        .ok_or_else(|| Stop::NotStarted(std::io::ErrorKind::InvalidInput.into()))?;
    // Look up a name with a slash from the workspace's folder, whatever folder this process runs in.
    let file = if name.contains('/') { program.root.join(name) } else { name.into() };
    let mut command = Command::new(file);
    command
        .args(arguments)
        .current_dir(program.root)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = processes::begin_group(&mut command).spawn().map_err(Stop::NotStarted)?;
    let deadline = Instant::now().checked_add(program.timeout);
    let heard = read_until_end(&mut child, program, deadline, cancel);
    if !matches!(heard, Ok((_, false))) {
        kill_program(&mut child);
    }
    let ((bytes, complaint), cut) = heard?;
    if cut {
        return Ok(ProgramText { bytes, cut });
    }
    let status = wait_for_exit(&mut child, deadline, cancel)?;
    if status.success() {
        Ok(ProgramText { bytes, cut })
    } else {
        Err(Stop::Failed(status, String::from_utf8_lossy(&complaint).into_owned()))
    }
}

/// Waits for the end of a program that has closed its pipes: it may still run.
fn wait_for_exit(child: &mut Child, deadline: Option<Instant>, cancel: &Cancel) -> Result<ExitStatus, Stop> {
    let mut pause = Duration::from_millis(1);
    loop {
        let stop = match child.try_wait() {
            Ok(Some(status)) => return Ok(status),
            Ok(None) if cancel.is_cancelled() => Stop::Cancelled,
            Ok(None) if deadline.is_some_and(|deadline| Instant::now() >= deadline) => Stop::TimedOut,
            Ok(None) => {
                std::thread::sleep(pause);
                pause = (pause * 2).min(LOOK_UP);
                continue;
            }
            Err(error) => Stop::NotStarted(error),
        };
        kill_program(child);
        return Err(stop);
    }
}

/// Standard output and standard error until both end, and whether the first grew too long.
type BothStreams = ((Vec<u8>, Vec<u8>), bool);

fn read_until_end(child: &mut Child, program: &Program<'_>, deadline: Option<Instant>, cancel: &Cancel) -> Result<BothStreams, Stop> {
    let (sender, heard) = channel();
    // Threads of their own serve the pipes and end with the program.
    if let Some(mut input) = child.stdin.take() {
        let text = program.input.to_vec();
        // A program need not read its input.
        std::thread::spawn(move || drop(input.write_all(&text)));
    }
    let mut open = 0;
    if let Some(out) = child.stdout.take() {
        open += 1;
        pump(out, sender.clone(), ProgramOutput::Out);
    }
    if let Some(complaints) = child.stderr.take() {
        open += 1;
        pump(complaints, sender, ProgramOutput::Complaint);
    }
    gather(&heard, open, program.longest, deadline, cancel)
}

fn gather(
    heard: &Receiver<ProgramOutput>,
    mut open: u32,
    longest: usize,
    deadline: Option<Instant>,
    cancel: &Cancel,
) -> Result<BothStreams, Stop> {
    let (mut out, mut complaint) = (Vec::new(), Vec::new());
    while open > 0 {
        if cancel.is_cancelled() {
            return Err(Stop::Cancelled);
        }
        if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Err(Stop::TimedOut);
        }
        match heard.recv_timeout(LOOK_UP) {
            Ok(ProgramOutput::Out(bytes)) => out.extend_from_slice(&bytes),
            Ok(ProgramOutput::Complaint(bytes)) => {
                complaint.extend_from_slice(&bytes);
                complaint.truncate(LONGEST_COMPLAINT);
            }
            Ok(ProgramOutput::Ended) => open -= 1,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        if out.len() > longest {
            out.truncate(longest);
            return Ok(((out, complaint), true));
        }
    }
    Ok(((out, complaint), false))
}

fn pump(mut from: impl Read + Send + 'static, to: Sender<ProgramOutput>, as_heard: fn(Vec<u8>) -> ProgramOutput) {
    std::thread::spawn(move || {
        let mut buffer = vec![0; 16 << 10];
        loop {
            match from.read(&mut buffer) {
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Ok(0) | Err(_) => {
                    // A failed send means that the caller has stopped listening.
                    let _ = to.send(ProgramOutput::Ended);
                    return;
                }
                Ok(len) => {
                    if to.send(as_heard(buffer[..len].to_vec())).is_err() {
                        return;
                    }
                }
            }
        }
    });
}

fn kill_program(child: &mut Child) {
    processes::kill_group(child.id());
    let _ = child.wait();
}
