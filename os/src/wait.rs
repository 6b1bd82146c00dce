//! Waiting for input with a time-out. A signal ends the wait early, like the time-out.

use crate::errors::SystemError;
use crate::handles::{AsFd, BorrowedFd};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::time::Duration;

/// Several handles to wait for at once.
pub struct Waits<'f>(Vec<PollFd<'f>>);

impl<'f> FromIterator<BorrowedFd<'f>> for Waits<'f> {
    /// Waits for each handle to become readable, or closed at the other end.
    fn from_iter<I: IntoIterator<Item = BorrowedFd<'f>>>(opened: I) -> Self {
        Self(opened.into_iter().map(poll_readable).collect())
    }
}

impl<'f> Waits<'f> {
    /// Adds a file of the system's own that reports changes, to wait for the next one.
    pub fn add_changes(&mut self, file: BorrowedFd<'f>) {
        self.0.push(PollFd::from_borrowed_fd(file, PollFlags::PRI));
    }

    /// Waits for any of the handles, at most `longest`; for ever without it.
    pub fn wait(&mut self, longest: Option<Duration>) -> Result<(), SystemError> {
        wait(&mut self.0, longest)
    }

    /// Returns for each handle, in the order of addition, whether it is ready.
    pub fn came(&self) -> impl DoubleEndedIterator<Item = bool> {
        self.0.iter().map(|waited| !waited.revents().is_empty())
    }
}

/// As [`Waits::wait`], for a fixed number of handles; returns which are ready.
pub fn wait_to_read<const N: usize>(opened: [BorrowedFd<'_>; N], longest: Option<Duration>) -> Result<[bool; N], SystemError> {
    let mut waited = opened.map(poll_readable);
    wait(&mut waited, longest)?;
    Ok(waited.map(|waited| !waited.revents().is_empty()))
}

/// Returns whether the other end closed a connection in both directions.
pub fn is_hung_up(connection: impl AsFd) -> bool {
    let mut waited = [PollFd::from_borrowed_fd(connection.as_fd(), PollFlags::empty())];
    wait(&mut waited, Some(Duration::ZERO)).is_ok() && waited[0].revents().contains(PollFlags::HUP)
}

/// Returns the number of bytes that can be read without waiting.
pub fn bytes_to_read(opened: impl AsFd) -> Result<u64, SystemError> {
    Ok(rustix::io::ioctl_fionread(opened)?)
}

fn poll_readable(opened: BorrowedFd<'_>) -> PollFd<'_> {
    PollFd::from_borrowed_fd(opened, PollFlags::IN)
}

fn wait(waited: &mut [PollFd<'_>], longest: Option<Duration>) -> Result<(), SystemError> {
    let longest = longest.map(|time| Timespec {
        tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: time.subsec_nanos().into(),
    });
    match poll(waited, longest.as_ref()) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}
