//! Runs a program so that it reads and writes only what it was given, talks to nobody, and leaves nothing running.
//!
//! The program's own binary is started twice before the program itself: the first process ([`run_stage_if_asked`], stage `supervise`) watches over
//! everything that is started below it and ends all of it, the second (stage `confine`) takes rights away from itself and starts the program.
//! Nothing runs between `fork` and `exec` of the caller, whose size would be paid for with every start. What each [`Level`] stops is said there.

#[cfg(target_os = "linux")]
mod calls;
#[cfg(target_os = "linux")]
mod confine;
#[cfg(target_os = "linux")]
mod fence;
mod levels;
#[cfg(target_os = "linux")]
mod limits;
#[cfg(target_os = "linux")]
mod root;
mod spec;
mod start;
#[cfg(target_os = "linux")]
mod supervise;
mod wire;

pub use levels::{Level, Levels, levels};
pub use spec::{Limits, Spec, WORK};
pub use start::{Confined, Ended};

use std::ffi::OsString;

/// The argument by which the own binary knows that it is started as a stage.
const STAGE: &str = "__sandbox";

/// To be called first of all by a program that confines others, with its arguments: where it was started as a stage it becomes that, and is to
/// exit with the code given; else it is known from now on that it answers as one.
#[must_use]
pub fn run_stage_if_asked(mut arguments: impl Iterator<Item = OsString>) -> Option<u8> {
    // What whoever started this left open is nothing to do with a program that is started here.
    close_fds::set_fds_cloexec(3, &[]);
    let _name = arguments.next();
    if arguments.next().is_none_or(|first| first != STAGE) {
        start::answers();
        return None;
    }
    #[cfg(target_os = "linux")]
    match arguments.next().as_ref().and_then(|stage| stage.to_str()) {
        Some("supervise") => return Some(supervise::run()),
        Some("confine") => return Some(confine::run()),
        _ => {}
    }
    Some(2)
}
