//! Disk operations: free space, reserving space for a file, flushing writes.

use crate::errors::SystemError;
use crate::handles::AsFd;
use std::fs::File;
use std::path::Path;

/// Returns the bytes that this user can still write to the disk of a folder; 0 if unknown.
pub fn free_bytes(folder: &Path) -> u64 {
    rustix::fs::statvfs(folder).map_or(0, |disk| disk.f_bavail.saturating_mul(disk.f_frsize))
}

/// Reserves space for the first `bytes` of a file without changing its length. Errors: [`SystemError::NO_SPACE`] or [`SystemError::QUOTA`]
/// without enough space, others on disks that cannot reserve.
#[cfg(target_os = "linux")]
pub fn keep_room(file: &File, bytes: u64) -> Result<(), SystemError> {
    Ok(rustix::fs::fallocate(file, rustix::fs::FallocateFlags::KEEP_SIZE, 0, bytes)?)
}

/// Fails: this system cannot reserve space without changing the length. Errors: always.
#[cfg(not(target_os = "linux"))]
pub fn keep_room(_: &File, _: u64) -> Result<(), SystemError> {
    Err(SystemError::NO_SUCH_CALL)
}

/// Waits until the writes to a file, or the names in a folder, are on the disk.
pub fn sync(what: impl AsFd) -> Result<(), SystemError> {
    Ok(rustix::fs::fsync(what)?)
}
