//! Records that a build writes besides its results: the log of its events, and its profile.

mod critical_path;
pub mod events;
pub mod trace;

use crate::code::Code;
use crate::failed::Failed;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use std::path::Path;

fn write_failure(what: &str, path: &Path, error: &std::io::Error) -> Failed {
    let message = format!("the {what} {} cannot be written: {error}", path.display());
    let why = Diagnostic::error(ErrorCode::E_WRITE, message);
    Failed::new(Code::Io, why.hint("check the path, its permissions and the space on the disk"))
}
