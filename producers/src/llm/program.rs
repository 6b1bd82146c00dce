//! Programs that models and keys come from: a text in, a text out, ended in time. They get the whole environment, because that is where
//! such programs find their own settings, and the workspace's folder to run in.

use super::world::LOOK_UP;
use engine::seams::producer::Cancel;
use os::processes;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// This much of what a program says on standard error is kept.
const LONGEST_COMPLAINT: usize = 8 << 10;

/// What to run.
pub(super) struct Program<'a> {
    pub(super) argv: &'a [&'a str],
    pub(super) root: &'a Path,
    pub(super) input: &'a [u8],
    pub(super) timeout: Duration,
    /// Most bytes that are taken.
    pub(super) longest: usize,
}

/// What it said.
pub(super) struct Said {
    pub(super) bytes: Vec<u8>,
    /// Whether it said more than is taken, and was ended.
    pub(super) cut: bool,
}

/// Why it said nothing.
pub(super) enum Stop {
    Cancelled,
    TimedOut,
    NotStarted(std::io::Error),
    Failed(ExitStatus, String),
}

impl Stop {
    /// What happened, without a word of what the program said.
    pub(super) fn kind(&self) -> String {
        match self {
            Self::Cancelled => "it was told to stop".to_owned(),
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
pub(super) fn run(program: &Program<'_>, cancel: &Cancel) -> Result<Said, Stop> {
    let (name, arguments) = program
        .argv
        .split_first()
        .ok_or_else(|| Stop::NotStarted(std::io::ErrorKind::InvalidInput.into()))?;
    // A name with a slash is looked for from the workspace's folder, whatever folder this process runs in.
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
    let heard = listen(&mut child, program, deadline, cancel);
    if !matches!(heard, Ok((_, false))) {
        kill_program(&mut child);
    }
    let ((bytes, complaint), cut) = heard?;
    if cut {
        return Ok(Said { bytes, cut });
    }
    let status = wait_for_exit(&mut child, deadline, cancel)?;
    if status.success() {
        Ok(Said { bytes, cut })
    } else {
        Err(Stop::Failed(status, String::from_utf8_lossy(&complaint).into_owned()))
    }
}

/// Waits for the end of a program that says no more: it may have closed its pipes and live on.
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
type Taken = ((Vec<u8>, Vec<u8>), bool);

fn listen(child: &mut Child, program: &Program<'_>, deadline: Option<Instant>, cancel: &Cancel) -> Result<Taken, Stop> {
    let (sender, heard) = channel();
    // The pipes are served by threads of their own, which end with the program.
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
) -> Result<Taken, Stop> {
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
                    // Nobody listens any more when this fails.
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
