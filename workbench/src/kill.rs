//! The steps between which a process may be killed: everything that files of a checkout are written by. In tests a thread can be stopped before any
//! of them, as a kill stops a process: what was done stays, and nothing is done after it, no cleaning up either. Elsewhere they are what they
//! are.

use os::handles::AsFd;
use std::fs::File;
use std::io::{self, Write};

/// A step that comes next; whoever cannot do it goes no further.
///
/// # Errors
/// When the thread was stopped.
#[cfg(not(test))]
#[allow(clippy::unnecessary_wraps)]
pub fn check_killed() -> io::Result<()> {
    Ok(())
}

/// Writes bytes, which may be cut short anywhere.
///
/// # Errors
/// The system's.
#[cfg(not(test))]
pub fn write(file: &mut File, bytes: &[u8]) -> io::Result<()> {
    file.write_all(bytes)
}

/// Waits until what was written to a file, or what a folder names, lies on the disk.
///
/// # Errors
/// The system's.
#[cfg(not(test))]
pub fn sync(what: impl AsFd) -> io::Result<()> {
    Ok(os::disks::sync(what)?)
}

#[cfg(test)]
pub use stopped::{check_killed, fail, kill_after, sync, write};

#[cfg(test)]
mod stopped {
    use super::*;
    use std::cell::Cell;

    thread_local! {
        /// Steps that are still done; `None`: all are.
        static LEFT: Cell<Option<usize>> = const { Cell::new(None) };
        /// Steps before one that fails, after which all is well again.
        static FAILS: Cell<Option<usize>> = const { Cell::new(None) };
    }

    /// Has one step of this thread fail, that after so many more; `None`: none does. Whether one is still to fail.
    pub fn fail(at: Option<usize>) -> bool {
        FAILS.replace(at).is_some()
    }

    /// Stops this thread after so many more steps; `None` has it go on, as a new process.
    pub fn kill_after(steps: Option<usize>) {
        LEFT.set(steps);
    }

    pub fn check_killed() -> io::Result<()> {
        match FAILS.get() {
            Some(0) => {
                FAILS.set(None);
                return Err(io::Error::other("it failed"));
            }
            left => FAILS.set(left.map(|left| left - 1)),
        }
        match LEFT.get() {
            Some(0) => Err(io::Error::other("killed")),
            left => {
                LEFT.set(left.map(|left| left - 1));
                Ok(())
            }
        }
    }

    pub fn write(file: &mut File, bytes: &[u8]) -> io::Result<()> {
        let (first, rest) = bytes.split_at(bytes.len() / 2);
        for part in [first, rest] {
            check_killed()?;
            file.write_all(part)?;
        }
        Ok(())
    }

    /// A killed process loses nothing that the system has: it is not waited for.
    pub fn sync(_: impl AsFd) -> io::Result<()> {
        check_killed()
    }
}
