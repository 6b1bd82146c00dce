//! What is asked of a disk: how much room it has, to keep some for a file, to have written what it was given.

use crate::errors::SystemError;
use crate::handles::AsFd;
use std::fs::File;
use std::path::Path;

/// Bytes that this user can still write to the disk of a folder; 0 when it does not say.
pub fn free_bytes(folder: &Path) -> u64 {
    rustix::fs::statvfs(folder).map_or(0, |disk| disk.f_bavail.saturating_mul(disk.f_frsize))
}

/// Keeps room for the first `bytes` of a file, whose length stays as it is.
///
/// # Errors
/// [`SystemError::NO_SPACE`] or [`SystemError::QUOTA`] when there is none, others where disks cannot do this.
#[cfg(target_os = "linux")]
pub fn keep_room(file: &File, bytes: u64) -> Result<(), SystemError> {
    Ok(rustix::fs::fallocate(file, rustix::fs::FallocateFlags::KEEP_SIZE, 0, bytes)?)
}

/// Keeps no room: this system has no call for it that leaves the length as it is.
///
/// # Errors
/// Always.
#[cfg(not(target_os = "linux"))]
pub fn keep_room(_: &File, _: u64) -> Result<(), SystemError> {
    Err(SystemError::NO_SUCH_CALL)
}

/// Waits until what was written to a file, or what a folder names, lies on the disk.
///
/// # Errors
/// The system's.
pub fn sync(what: impl AsFd) -> Result<(), SystemError> {
    Ok(rustix::fs::fsync(what)?)
}
