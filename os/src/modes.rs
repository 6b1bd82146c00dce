//! Who may do what with a file or folder: permissions as systems write them, `0o700`.

use crate::errors::SystemError;
use crate::handles::AsFd;
use rustix::fs::{Access, Gid, Mode, Uid};
use std::fs::{DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::Path;

/// Makes a folder.
///
/// # Errors
/// The system's; also when it is there.
pub fn create_folder(path: &Path, mode: u32) -> io::Result<()> {
    DirBuilder::new().mode(mode).create(path)
}

/// Makes a folder, and those above it, unless it is there.
///
/// # Errors
/// The system's.
pub fn create_folders(path: &Path, mode: u32) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(mode).create(path)
}

/// These permissions, in the words of the standard library.
pub fn permissions(mode: u32) -> Permissions {
    Permissions::from_mode(mode)
}

/// Gives a file or folder permissions; a link is followed.
///
/// # Errors
/// The system's.
pub fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    std::fs::set_permissions(path, permissions(mode))
}

/// Gives an open file or folder permissions.
///
/// # Errors
/// The system's.
pub fn set_mode_of(opened: impl AsFd, mode: u32) -> Result<(), SystemError> {
    Ok(rustix::fs::fchmod(opened, Mode::from_raw_mode(mode as _))?)
}

/// Gives an open file to a user and a group.
///
/// # Errors
/// The system's, which lets few do so.
pub fn give_to(opened: impl AsFd, owner: u32, group: u32) -> Result<(), SystemError> {
    Ok(rustix::fs::fchown(opened, Some(Uid::from_raw(owner)), Some(Gid::from_raw(group)))?)
}

/// Whether this user may run a file.
pub fn may_run(file: &Path) -> bool {
    rustix::fs::access(file, Access::EXEC_OK).is_ok()
}
