//! Explains why a program did not start: the system reports one error number for many reasons.

use super::find::path_of_programs;
use super::params::Bounds;
use engine::seams::producer::Failure;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use os::errors::SystemError;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Bytes of a script that are searched for the name of its interpreter.
const LINE: u64 = 256;

/// An attempt to start a program.
pub(super) struct Attempt<'a> {
    /// The program as the manifest names it.
    pub(super) program: &'a str,
    /// Its file, seen from outside of a sandbox; `None` when there is none of that name.
    pub(super) file: Option<PathBuf>,
    pub(super) bounds: &'a Bounds,
}

impl Attempt<'_> {
    /// Describes the obstacle and its remedy.
    pub(super) fn not_started(&self, error: &io::Error) -> Failure {
        let (what, hint) = self.reason(error);
        let why = Diagnostic::error(ErrorCode::E_COMMAND, format!("'{}' cannot be started: {what}", self.program));
        let why = match &self.file {
            None => why.found(format!("PATH={}", path_of_programs())),
            Some(_) => why,
        };
        Failure::Permanent(Box::new(why.hint(hint)))
    }

    fn reason(&self, error: &io::Error) -> (String, &'static str) {
        let Some(file) = &self.file else {
            let what = "there is no program of this name in the folders of PATH";
            return (what.to_owned(), "install it, or write its full path in `argv`");
        };
        let number = SystemError::from_io_error(error);
        if number == Some(SystemError::TOO_LONG) {
            let hint = "have `shell` name the files by a pattern: `cat texts.*` for an input `texts` that is a list";
            return ("its arguments are too long for the system".to_owned(), hint);
        }
        let is_beside = self.program.contains('/') && Path::new(self.program).is_relative();
        if is_beside && !file.exists() {
            let hint = "commands start in an empty folder: make the script an input, as in `inputs.script = \"//files/tools/count.sh:bytes\"`, and write \"{in.script}\" in `argv`";
            return ("it is not in the folder that the command starts in".to_owned(), hint);
        }
        if let Err((what, hint)) = runs(file) {
            return (what.to_owned(), hint);
        }
        match (number, interpreter(file)) {
            (Some(SystemError::NOT_FOUND | SystemError::DENIED), Some(interpreter)) if !Path::new(&interpreter).exists() => (
                format!("the interpreter '{interpreter}' that its first line names is not there"),
                "install the interpreter, or fix the first line of the script",
            ),
            (Some(SystemError::NOT_FOUND | SystemError::DENIED), Some(interpreter)) => (
                format!("the interpreter '{interpreter}' that its first line names may not be run there"),
                "check that it is executable, and that `readable` names the files that it needs outside of the system's folders",
            ),
            (Some(SystemError::NO_PROGRAM), _) => (
                "it is neither a program of this machine nor a script with a first line that names its interpreter".to_owned(),
                "begin the script with #!/bin/sh, or name its interpreter in `argv`",
            ),
            _ if self.bounds.readable.is_empty() => (error.to_string(), "name what it needs beside the system's folders in `readable`"),
            _ => (
                error.to_string(),
                "see that `readable` names all that it needs, and that its file system lets programs run",
            ),
        }
    }
}

/// Checks without running it whether a file is executable. Errors: the obstacle and its remedy.
pub(super) fn runs(file: &Path) -> Result<(), (&'static str, &'static str)> {
    match file.metadata() {
        Err(_) => Err(("it is not there", "install it, or name another")),
        Ok(metadata) if metadata.is_dir() => Err(("it is a folder", "name a program in it")),
        Ok(metadata) if !metadata.is_file() => Err(("it is not a file", "name a program")),
        Ok(_) if !os::modes::may_run(file) => Err((
            "its file may not be executed",
            "make it executable (`chmod +x`), or name its interpreter in `argv`: [\"sh\", \"FILE\"]",
        )),
        Ok(_) => Ok(()),
    }
}

/// Returns the interpreter that the first line of a script names.
fn interpreter(file: &Path) -> Option<String> {
    let mut head = Vec::new();
    File::open(file).ok()?.take(LINE).read_to_end(&mut head).ok()?;
    let line = head.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let line = String::from_utf8_lossy(line);
    line.split_whitespace().next().map(str::to_owned)
}
