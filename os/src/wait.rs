//! Waiting for something to be read, no longer than one wants. A signal ends the wait as the time does.

use crate::errors::SystemError;
use crate::handles::{AsFd, BorrowedFd};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::time::Duration;

/// Several things that are waited for at once.
pub struct Waits<'f>(Vec<PollFd<'f>>);

impl<'f> FromIterator<BorrowedFd<'f>> for Waits<'f> {
    /// Until there is something to read, or the other end is closed.
    fn from_iter<I: IntoIterator<Item = BorrowedFd<'f>>>(opened: I) -> Self {
        Self(opened.into_iter().map(readable).collect())
    }
}

impl<'f> Waits<'f> {
    /// Adds a file of the system's own that tells of changes: until there was one.
    pub fn add_changes(&mut self, file: BorrowedFd<'f>) {
        self.0.push(PollFd::from_borrowed_fd(file, PollFlags::PRI));
    }

    /// Waits until something comes, or the time is over; without a time, for ever.
    ///
    /// # Errors
    /// The system's.
    pub fn wait(&mut self, longest: Option<Duration>) -> Result<(), SystemError> {
        wait(&mut self.0, longest)
    }

    /// What came, in the order in which it was added.
    pub fn came(&self) -> impl DoubleEndedIterator<Item = bool> {
        self.0.iter().map(|waited| !waited.revents().is_empty())
    }
}

/// As [`Waits::wait`], of as many as there are; which of them came.
///
/// # Errors
/// The system's.
pub fn wait_to_read<const N: usize>(opened: [BorrowedFd<'_>; N], longest: Option<Duration>) -> Result<[bool; N], SystemError> {
    let mut waited = opened.map(readable);
    wait(&mut waited, longest)?;
    Ok(waited.map(|waited| !waited.revents().is_empty()))
}

/// Whether the other end of a connection is closed in both directions.
pub fn is_hung_up(connection: impl AsFd) -> bool {
    let mut waited = [PollFd::from_borrowed_fd(connection.as_fd(), PollFlags::empty())];
    wait(&mut waited, Some(Duration::ZERO)).is_ok() && waited[0].revents().contains(PollFlags::HUP)
}

/// Bytes that can be read at once.
///
/// # Errors
/// The system's.
pub fn bytes_to_read(opened: impl AsFd) -> Result<u64, SystemError> {
    Ok(rustix::io::ioctl_fionread(opened)?)
}

fn readable(opened: BorrowedFd<'_>) -> PollFd<'_> {
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
