//! Runs the compiler once: a shell line in the copy, with a time limit.

use super::FOLDER;
use super::laid_out::copy_folder;
use super::messages::{CompilerError, errors_of_output};
use engine::seams::producer::Cancel;
use os::processes;
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Poll interval for the end of a run.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Most bytes of output that are read.
const MOST_BYTES: usize = 8 << 20;
/// Most characters shown of the last line of output.
const MOST_CHARS: usize = 200;

/// Result of a run.
pub(super) enum Ended {
    /// The errors in the output; none if the run succeeded.
    Errors(Vec<CompilerError>),
    /// The errors are unknown, for this reason.
    Unknown(String),
}

/// Runs a shell line in the copy.
pub(super) fn run_line(root: &Path, line: &str, seconds: u64, cancel: &Cancel) -> io::Result<Ended> {
    let (copy, said) = (copy_folder(root), root.join(FOLDER).join("said"));
    let output = File::create(&said)?;
    let mut command = Command::new("sh");
    command
        .args(["-c", line])
        .current_dir(&copy)
        // MSBuild's worker nodes would outlive the run.
        .env("MSBUILDDISABLENODEREUSE", "1")
        .stdin(Stdio::null())
        .stdout(output.try_clone()?)
        .stderr(output);
    let mut child = match processes::begin_group(&mut command).spawn() {
        Ok(child) => child,
        Err(error) => return Ok(Ended::Unknown(format!("`sh` cannot be started: {error}"))),
    };
    let Some(status) = wait_for_end(&mut child, Duration::from_secs(seconds), cancel)? else {
        return Ok(Ended::Unknown(format!("the check took more than {seconds} s and was ended")));
    };
    let mut bytes = fs::read(&said)?;
    bytes.truncate(MOST_BYTES);
    let text = String::from_utf8_lossy(&bytes);
    let errors = errors_of_output(&text, &copy.canonicalize()?.to_string_lossy());
    if errors.is_empty() && !status.success() {
        let last = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
        let last: String = last.trim().chars().take(MOST_CHARS).collect();
        return Ok(Ended::Unknown(format!("the check ended with {status} and names no error: {last}")));
    }
    Ok(Ended::Errors(errors))
}

/// Waits for the end of a run; `None` if it took too long or was cancelled, after killing its process group.
fn wait_for_end(child: &mut Child, limit: Duration, cancel: &Cancel) -> io::Result<Option<ExitStatus>> {
    let began = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if began.elapsed() > limit || cancel.is_cancelled() {
            processes::kill_group(child.id());
            child.wait()?;
            return Ok(None);
        }
        sleep(LOOK_EVERY);
    }
}
