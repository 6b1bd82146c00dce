//! Runs a program so that it reads and writes only the paths given to it, has no network, and leaves no process running.
//!
//! The caller's binary is started twice before the program. The first process ([`run_stage_if_requested`], stage `supervise`) watches all processes
//! below it and kills them; the second (stage `confine`) gives up rights and starts the program. Nothing runs between `fork` and `exec` of the
//! caller, because each start would cost time in proportion to its size. [`Level`] lists what each level stops.

#[cfg(target_os = "linux")]
mod confine;
#[cfg(target_os = "linux")]
mod file_access;
mod levels;
#[cfg(target_os = "linux")]
mod limits;
#[cfg(target_os = "linux")]
mod root_folder;
mod spec;
mod start;
#[cfg(target_os = "linux")]
mod supervise;
#[cfg(target_os = "linux")]
mod system_calls;
mod wire;

pub use levels::{Levels, supported_levels};
pub use spec::{Level, Limits, Spec, WORK};
pub use start::{Confined, Ended};

use std::ffi::OsString;

/// Argument that starts the binary as a stage.
const STAGE: &str = "__sandbox";

/// Runs a stage, if the binary was started as one, and returns the exit code to end with. Otherwise notes that this binary runs stages. A
/// program that confines others must call it first, with its arguments.
#[must_use]
pub fn run_stage_if_requested(mut arguments: impl Iterator<Item = OsString>) -> Option<u8> {
    // Handles that this program inherited must not reach the programs that it starts.
    close_fds::set_fds_cloexec(3, &[]);
    let _name = arguments.next();
    if arguments.next().is_none_or(|first| first != STAGE) {
        start::answers();
        return None;
    }
    #[cfg(target_os = "linux")]
    match arguments.next().as_ref().and_then(|stage| stage.to_str()) {
        Some("supervise") => return Some(supervise::run_supervisor()),
        Some("confine") => return Some(confine::run_confined_stage()),
        _ => {}
    }
    Some(2)
}
