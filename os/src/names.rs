//! Names of files as bytes: the form of the system, which need not be text.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Returns the bytes of a name or path.
pub fn name_bytes(name: &(impl AsRef<OsStr> + ?Sized)) -> &[u8] {
    name.as_ref().as_bytes()
}

pub fn path_of_bytes(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}
