//! What a command that writes a file may replace: a file of its own kind, and no other.

use crate::context::Failed;
use crate::exit::Code;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// That nothing stands at a path, or what `is_ours` knows by its first bytes; a pipe or device is no file that could be lost.
///
/// # Errors
/// When another file stands there.
pub fn replaceable(path: &Path, is_ours: impl Fn(&[u8]) -> bool) -> Result<(), Failed> {
    // What cannot be looked at cannot be written either, and the writing tells why.
    if !std::fs::metadata(path).is_ok_and(|found| found.is_file()) {
        return Ok(());
    }
    let mut head = Vec::new();
    let read = File::open(path).and_then(|file| file.take(64).read_to_end(&mut head));
    if read.is_err() || head.is_empty() || is_ours(&head) {
        return Ok(());
    }
    let message = format!("{} is there, and holds something else", path.display());
    let why = Diagnostic::error(ErrorCode::E_EXISTS, message).hint("name another file, or remove this one first");
    Err(Failed::new(Code::Usage, why))
}
