//! Errors of system calls by number; [`std::io::ErrorKind`] distinguishes fewer.

use rustix::io::Errno;
use std::{fmt, io};

/// Error number of the system. Its text is that of an [`io::Error`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SystemError(i32);

impl SystemError {
    /// The name does not exist.
    pub const NOT_FOUND: Self = Self(Errno::NOENT.raw_os_error());
    /// The name exists already.
    pub const EXISTS: Self = Self(Errno::EXIST.raw_os_error());
    /// Not a folder, where one is needed.
    pub const NO_FOLDER: Self = Self(Errno::NOTDIR.raw_os_error());
    /// A folder, where something else is needed.
    pub const IS_FOLDER: Self = Self(Errno::ISDIR.raw_os_error());
    /// A link where none is followed, or a cycle of links.
    pub const LINK: Self = Self(Errno::LOOP.raw_os_error());
    /// The path leaves the folder, or leads to another disk.
    pub const ELSEWHERE: Self = Self(Errno::XDEV.raw_os_error());
    /// The permissions of the file forbid it.
    pub const DENIED: Self = Self(Errno::ACCESS.raw_os_error());
    /// The system forbids it.
    pub const FORBIDDEN: Self = Self(Errno::PERM.raw_os_error());
    /// The file system is read-only.
    pub const READ_ONLY: Self = Self(Errno::ROFS.raw_os_error());
    /// The disk is full; when listening: the user may watch no more folders.
    pub const NO_SPACE: Self = Self(Errno::NOSPC.raw_os_error());
    /// The user's quota is used up.
    pub const QUOTA: Self = Self(Errno::DQUOT.raw_os_error());
    /// A signal interrupted the call.
    pub const INTERRUPTED: Self = Self(Errno::INTR.raw_os_error());
    /// Temporarily unavailable; try again.
    pub const AGAIN: Self = Self(Errno::AGAIN.raw_os_error());
    /// Invalid argument.
    pub const INVALID: Self = Self(Errno::INVAL.raw_os_error());
    /// The device failed; also used for errors without a number.
    pub const DEVICE: Self = Self(Errno::IO.raw_os_error());
    /// The system lacks this call.
    pub const NO_SUCH_CALL: Self = Self(Errno::NOSYS.raw_os_error());
    /// The arguments of a program are too long.
    pub const TOO_LONG: Self = Self(Errno::TOOBIG.raw_os_error());
    /// Not a program for this machine.
    pub const NO_PROGRAM: Self = Self(Errno::NOEXEC.raw_os_error());

    /// Returns the number of an error, if the system reported it.
    pub fn from_io_error(error: &io::Error) -> Option<Self> {
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
