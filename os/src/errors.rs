//! Why a call failed, as the system numbers it; [`std::io::ErrorKind`] tells less apart.

use rustix::io::Errno;
use std::{fmt, io};

/// The system's number for what went wrong. Its text is that of an [`io::Error`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SystemError(i32);

impl SystemError {
    /// Nothing has that name.
    pub const NOT_FOUND: Self = Self(Errno::NOENT.raw_os_error());
    /// Something has that name already.
    pub const EXISTS: Self = Self(Errno::EXIST.raw_os_error());
    /// A folder is needed where something else is.
    pub const NO_FOLDER: Self = Self(Errno::NOTDIR.raw_os_error());
    /// A folder is where something else is needed.
    pub const IS_FOLDER: Self = Self(Errno::ISDIR.raw_os_error());
    /// A link where none is followed, or links that lead to each other.
    pub const LINK: Self = Self(Errno::LOOP.raw_os_error());
    /// The way leads out of the folder, or to another disk.
    pub const ELSEWHERE: Self = Self(Errno::XDEV.raw_os_error());
    /// The modes of files forbid it.
    pub const DENIED: Self = Self(Errno::ACCESS.raw_os_error());
    /// The system forbids it.
    pub const FORBIDDEN: Self = Self(Errno::PERM.raw_os_error());
    /// Nothing can be written there.
    pub const READ_ONLY: Self = Self(Errno::ROFS.raw_os_error());
    /// The disk is full; of listening: the system listens to no more.
    pub const NO_SPACE: Self = Self(Errno::NOSPC.raw_os_error());
    /// This user has no more room on the disk.
    pub const QUOTA: Self = Self(Errno::DQUOT.raw_os_error());
    /// A signal came first.
    pub const INTERRUPTED: Self = Self(Errno::INTR.raw_os_error());
    /// To be tried again.
    pub const AGAIN: Self = Self(Errno::AGAIN.raw_os_error());
    /// It makes no sense.
    pub const INVALID: Self = Self(Errno::INVAL.raw_os_error());
    /// The device failed; also what has no number.
    pub const DEVICE: Self = Self(Errno::IO.raw_os_error());
    /// This system has no such call.
    pub const NO_SUCH_CALL: Self = Self(Errno::NOSYS.raw_os_error());
    /// A program has too many arguments.
    pub const TOO_LONG: Self = Self(Errno::TOOBIG.raw_os_error());
    /// It is no program of this machine.
    pub const NO_PROGRAM: Self = Self(Errno::NOEXEC.raw_os_error());

    /// That of an error, if the system reported it.
    pub fn of(error: &io::Error) -> Option<Self> {
        error.raw_os_error().map(Self)
    }
}

impl From<Errno> for SystemError {
    fn from(errno: Errno) -> Self {
        Self(errno.raw_os_error())
    }
}

impl From<SystemError> for io::Error {
    fn from(error: SystemError) -> Self {
        Self::from_raw_os_error(error.0)
    }
}

impl fmt::Display for SystemError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        io::Error::from(*self).fmt(f)
    }
}

impl fmt::Debug for SystemError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&io::Error::from(*self), f)
    }
}

impl std::error::Error for SystemError {}
