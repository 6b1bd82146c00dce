//! An open folder, and operations on the names in it, which keep working on this folder even if its path is replaced. No link is followed under
//! a name, and no call waits, for example for the other end of a pipe.

use crate::errors::SystemError;
use crate::handles::{AsFd, BorrowedFd, OwnedFd};
use crate::info::{FileInfo, FileKind};
use rustix::fs::{AtFlags, CWD, Dir, DirEntry, FlockOperation, Mode, OFlags};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

type Result<T> = std::result::Result<T, SystemError>;

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
/// Does not wait for the other end of a pipe, or take over a terminal.
const READ: OFlags = OFlags::RDONLY.union(OFlags::CLOEXEC).union(OFlags::NONBLOCK).union(OFlags::NOCTTY);
const WRITE: OFlags = OFlags::WRONLY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// An open folder.
#[derive(Debug)]
pub struct Folder(OwnedFd);

impl Folder {
    /// Opens a folder; follows links to it. Errors: the error of the system, as for all errors here.
    pub fn open(path: &Path) -> Result<Self> {
        Ok(Self(rustix::fs::open(path, FOLDER, Mode::empty())?))
    }

    /// Opens a folder whose last name is no link; follows links to folders above it. Errors: [`SystemError::LINK`] or
    /// [`SystemError::NO_FOLDER`] for a link.
    pub fn open_no_link(path: &Path) -> Result<Self> {
        Ok(Self(rustix::fs::openat(CWD, path, FOLDER | OFlags::NOFOLLOW, Mode::empty())?))
    }

    /// Opens a folder in this one. Errors: [`SystemError::LINK`] or [`SystemError::NO_FOLDER`] for a link.
    pub fn open_folder(&self, name: impl AsRef<Path>) -> Result<Self> {
        Ok(Self(self.open_as(name.as_ref(), FOLDER | OFlags::NOFOLLOW, 0)?))
    }

    /// Opens a file, or anything else of this name, to read it. Errors: [`SystemError::LINK`] for a link.
    pub fn open_to_read(&self, name: impl AsRef<Path>) -> Result<File> {
        Ok(self.open_as(name.as_ref(), READ | OFlags::NOFOLLOW, 0)?.into())
    }

    /// Opens a file at a path to read it. Follows links that stay below this folder. Errors: [`SystemError::ELSEWHERE`] for a link that
    /// leaves the folder or is absolute; [`SystemError::NO_SUCH_CALL`] and [`SystemError::FORBIDDEN`] on a system that lacks the call;
    /// [`SystemError::AGAIN`] when something was renamed meanwhile.
    #[cfg(target_os = "linux")]
    pub fn open_beneath(&self, path: &str) -> Result<File> {
        use rustix::fs::ResolveFlags;
        let beneath = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        Ok(rustix::fs::openat2(&self.0, path, READ, Mode::empty(), beneath)?.into())
    }

    /// Replaces the call that only Linux has. Errors: always, with [`SystemError::NO_SUCH_CALL`].
    #[cfg(not(target_os = "linux"))]
    pub fn open_beneath(&self, _: &str) -> Result<File> {
        Err(SystemError::NO_SUCH_CALL)
    }

    /// Opens an existing file to overwrite it. Errors: [`SystemError::LINK`] for a link.
    pub fn open_to_write(&self, name: impl AsRef<Path>) -> Result<File> {
        Ok(self.open_as(name.as_ref(), WRITE, 0)?.into())
    }

    /// Creates a file and opens it to write. Errors: [`SystemError::EXISTS`] when the name exists.
    pub fn create_new(&self, name: impl AsRef<Path>, mode: u32) -> Result<File> {
        Ok(self.open_as(name.as_ref(), WRITE | OFlags::CREATE | OFlags::EXCL, mode)?.into())
    }

    /// Opens an empty file to write, creating or truncating it. Errors: [`SystemError::LINK`] for a link.
    pub fn create_or_empty(&self, name: impl AsRef<Path>, mode: u32) -> Result<File> {
        Ok(self.open_as(name.as_ref(), WRITE | OFlags::CREATE | OFlags::TRUNC, mode)?.into())
    }

    /// Opens a file to write at its beginning; creates it if it does not exist. Errors: [`SystemError::LINK`] for a link.
    pub fn open_or_create(&self, name: impl AsRef<Path>, mode: u32) -> Result<File> {
        Ok(self.open_as(name.as_ref(), WRITE | OFlags::CREATE | OFlags::NONBLOCK, mode)?.into())
    }

    /// Opens a file to append to it; creates it if it does not exist. Errors: [`SystemError::LINK`] for a link.
    pub fn open_to_append(&self, name: impl AsRef<Path>, mode: u32) -> Result<File> {
        let flags = WRITE | OFlags::APPEND | OFlags::CREATE | OFlags::NONBLOCK;
        Ok(self.open_as(name.as_ref(), flags, mode)?.into())
    }

    fn open_as(&self, name: &Path, flags: OFlags, mode: u32) -> Result<OwnedFd> {
        Ok(rustix::fs::openat(&self.0, name, flags, Mode::from_raw_mode(mode as _))?)
    }

    /// Returns the metadata of a name; of a link itself, not its target. Errors: [`SystemError::NOT_FOUND`] when the name does not exist.
    pub fn info_of(&self, name: impl AsRef<Path>) -> Result<FileInfo> {
        let found = rustix::fs::statat(&self.0, name.as_ref(), AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(FileInfo::of_stat(&found))
    }

    /// Returns the target of a link as written. Errors: [`SystemError::INVALID`] when it is not a link.
    pub fn link_target(&self, path: impl AsRef<Path>) -> Result<OsString> {
        let target = rustix::fs::readlinkat(&self.0, path.as_ref(), Vec::new())?;
        Ok(OsString::from_vec(target.into_bytes()))
    }

    /// Creates a folder. Errors: [`SystemError::EXISTS`] when the name exists.
    pub fn make_folder(&self, name: impl AsRef<Path>, mode: u32) -> Result<()> {
        Ok(rustix::fs::mkdirat(&self.0, name.as_ref(), Mode::from_raw_mode(mode as _))?)
    }

    /// Removes a file's name. Errors: [`SystemError::NOT_FOUND`] when the name does not exist; another error for a folder.
    pub fn remove(&self, name: impl AsRef<Path>) -> Result<()> {
        Ok(rustix::fs::unlinkat(&self.0, name.as_ref(), AtFlags::empty())?)
    }

    /// Removes an empty folder in it. Fails when the folder is not empty, is not a folder, or cannot be removed.
    pub fn remove_empty_folder(&self, name: impl AsRef<Path>) -> Result<()> {
        Ok(rustix::fs::unlinkat(&self.0, name.as_ref(), AtFlags::REMOVEDIR)?)
    }

    /// Renames a file, replacing a file of the new name. Errors: [`SystemError::ELSEWHERE`] when the other folder is on another disk.
    pub fn rename(&self, name: impl AsRef<Path>, to: &Self, new: impl AsRef<Path>) -> Result<()> {
        Ok(rustix::fs::renameat(&self.0, name.as_ref(), &to.0, new.as_ref())?)
    }

    /// Gives the owner all permissions to a file or folder, and other users none. Follows a link that replaces it at this moment. Errors:
    /// [`SystemError::FORBIDDEN`] when another user owns it.
    pub fn open_up(&self, name: impl AsRef<Path>) -> Result<()> {
        Ok(rustix::fs::chmodat(&self.0, name.as_ref(), Mode::RWXU, AtFlags::empty())?)
    }

    /// Waits for the exclusive lock of this folder; it lasts until this handle is closed. Errors: [`SystemError::INTERRUPTED`] when a
    /// signal arrives.
    pub fn lock_exclusively(&self) -> Result<()> {
        Ok(rustix::fs::flock(&self.0, FlockOperation::LockExclusive)?)
    }

    /// Returns the entries of the folder except `.` and `..`, unordered.
    pub fn entries(&self) -> Result<impl Iterator<Item = Result<FolderEntry>> + use<>> {
        let entries = Dir::read_from(&self.0)?;
        Ok(entries
            .map(|entry| entry.map(FolderEntry).map_err(SystemError::from))
            .filter(|entry| !entry.as_ref().is_ok_and(|entry| matches!(entry.name().as_bytes(), b"." | b".."))))
    }
}

impl AsFd for Folder {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl From<Folder> for OwnedFd {
    fn from(folder: Folder) -> Self {
        folder.0
    }
}

pub struct FolderEntry(DirEntry);

impl FolderEntry {
    pub fn name(&self) -> &OsStr {
        OsStr::from_bytes(self.0.file_name().to_bytes())
    }

    /// Returns the kind of the entry; [`FileKind::Unknown`] on file systems that do not store it in the folder.
    pub fn kind(&self) -> FileKind {
        FileKind::from_file_type(self.0.file_type())
    }
}
