//! Permissions of files and folders, as systems write them: `0o700`.

use crate::errors::SystemError;
use crate::handles::AsFd;
use rustix::fs::{Access, Gid, Mode, Uid};
use std::fs::{DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::Path;

/// Creates a folder. Errors: the error of the system; also when the folder exists.
pub fn create_folder(path: &Path, mode: u32) -> io::Result<()> {
    DirBuilder::new().mode(mode).create(path)
}

/// Creates a folder, and those above it, unless they exist.
pub fn create_folders(path: &Path, mode: u32) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(mode).create(path)
}

/// Converts permissions to those of the standard library.
pub fn permissions(mode: u32) -> Permissions {
    Permissions::from_mode(mode)
}

/// Sets the permissions of a file or folder; follows a link.
pub fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    std::fs::set_permissions(path, permissions(mode))
}

/// Sets the permissions of an open file or folder.
pub fn set_mode_of(opened: impl AsFd, mode: u32) -> Result<(), SystemError> {
    Ok(rustix::fs::fchmod(opened, Mode::from_raw_mode(mode as _))?)
}

/// Sets the owner and group of an open file. Errors: the error of the system, which permits this to few users.
pub fn give_to(opened: impl AsFd, owner: u32, group: u32) -> Result<(), SystemError> {
    Ok(rustix::fs::fchown(opened, Some(Uid::from_raw(owner)), Some(Gid::from_raw(group)))?)
}

/// Returns whether this user may run a file.
pub fn may_run(file: &Path) -> bool {
    rustix::fs::access(file, Access::EXEC_OK).is_ok()
}
