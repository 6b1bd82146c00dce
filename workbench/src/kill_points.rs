//! The steps between which a process may be killed: all writes of files of a checkout go through them. In tests a thread can be stopped before any
//! step, as a kill stops a process: finished steps stay, and no later step or cleanup runs. Outside of tests they are plain operations.

use os::handles::AsFd;
use std::fs::File;
use std::io::{self, Write};

/// Checks before a step that the thread is not stopped; on an error the caller must stop. Fails when the thread was stopped.
#[cfg(not(test))]
#[allow(clippy::unnecessary_wraps)]
pub fn check_killed() -> io::Result<()> {
    Ok(())
}

/// Writes bytes; a kill may cut the write anywhere.
#[cfg(not(test))]
pub fn write(file: &mut File, bytes: &[u8]) -> io::Result<()> {
    file.write_all(bytes)
}

/// Waits until the data of a file, or the names in a folder, are on the disk.
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
        /// Steps that still run; `None`: all.
        static LEFT: Cell<Option<usize>> = const { Cell::new(None) };
        /// Steps before one that fails; later ones succeed again.
        static FAILS: Cell<Option<usize>> = const { Cell::new(None) };
    }

    /// Makes the step after the next `at` steps fail; `None` cancels. Returns whether a failure was pending.
    pub fn fail(at: Option<usize>) -> bool {
        FAILS.replace(at).is_some()
    }

    /// Stops this thread after `steps` more steps; `None` lets it continue, as a new process. Returns whether more steps were left, so that
    /// the operation ended by itself, and a later kill would change nothing.
    pub fn kill_after(steps: Option<usize>) -> bool {
        LEFT.replace(steps).is_some_and(|left| left > 0)
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

    /// A killed process loses no data that the system has, so a test need not wait for the disk.
    pub fn sync(_: impl AsFd) -> io::Result<()> {
        check_killed()
    }
}
