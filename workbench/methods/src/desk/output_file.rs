//! Output files of commands: a command replaces a file of its own kind, and no other.

use crate::code::Code;
use crate::failed::Failed;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Checks that a path is free, or its file's first bytes pass `is_ours`. Pipes and devices pass, because nothing in them can be lost. Fails
/// when another file is at the path.
pub fn replaceable(path: &Path, is_ours: impl Fn(&[u8]) -> bool) -> Result<(), Failed> {
    // If the path cannot be inspected, writing fails and reports why.
    if !std::fs::metadata(path).is_ok_and(|found| found.is_file()) {
        return Ok(());
    }
    let mut head = Vec::new();
    let read = File::open(path).and_then(|file| file.take(64).read_to_end(&mut head));
    if read.is_err() || head.is_empty() || is_ours(&head) {
        return Ok(());
    }
    let message = format!("{} exists, and has other contents", path.display());
    let why = Diagnostic::error(ErrorCode::E_EXISTS, message).hint("name another file, or remove this one first");
    Err(Failed::new(Code::Usage, why))
}

/// Writes a file atomically, through a temporary file next to it. Writes directly to anything but a regular file, for example a pipe.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> Result<(), Failed> {
    let failed = |error: std::io::Error| {
        let why = Diagnostic::error(ErrorCode::E_WRITE, format!("{} cannot be written: {error}", path.display()));
        Failed::new(
            Code::Io,
            why.hint("check the folder and its permissions, or write to another place"),
        )
    };
    // Follow a symbolic link, to replace its target and not the link.
    let place = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let other = fs::metadata(&place).is_ok_and(|found| !found.is_file());
    let (Some(name), false) = (place.file_name(), other) else {
        return fs::write(&place, bytes).map_err(failed);
    };
    let mut beside = OsString::from(".");
    beside.push(name);
    beside.push(format!(".{}.new", std::process::id()));
    let beside: PathBuf = place.with_file_name(beside);
    let written = fs::write(&beside, bytes).and_then(|()| fs::rename(&beside, &place));
    if written.is_err() {
        // Remove the partial file; only the write error is reported.
        let _ = fs::remove_file(&beside);
    }
    written.map_err(failed)
}

/// Parses a path to write to. Refuses `-`: elsewhere it is standard output, where the command's own output would mix with the file.
pub fn a_file(text: &str) -> Result<PathBuf, &'static str> {
    match text {
        "-" => Err("standard output is not supported here; write ./- for a file of that name"),
        path => Ok(path.into()),
    }
}
