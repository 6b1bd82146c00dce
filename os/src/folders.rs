//! An open folder, and what is done with names in it: whoever puts something else into the folder's place meanwhile changes nothing of that. No link
//! is followed under a name, and nothing is waited for, such as the other end of a pipe.

use crate::errors::SystemError;
use crate::handles::{AsFd, BorrowedFd, OwnedFd};
use crate::info::{FileInfo, Kind};
use rustix::fs::{AtFlags, CWD, Dir, DirEntry, FlockOperation, Mode, OFlags};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

type Result<T> = std::result::Result<T, SystemError>;

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
/// Never waits for the other end of a pipe, never becomes a terminal's owner.
const READ: OFlags = OFlags::RDONLY.union(OFlags::CLOEXEC).union(OFlags::NONBLOCK).union(OFlags::NOCTTY);
const WRITE: OFlags = OFlags::WRONLY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// An open folder.
#[derive(Debug)]
pub struct Folder(OwnedFd);

impl Folder {
    /// Opens a folder; links that lead to it are followed.
    ///
    /// # Errors
    /// The system's, as all errors here.
    pub fn open(path: &Path) -> Result<Self> {
        Ok(Self(rustix::fs::open(path, FOLDER, Mode::empty())?))
    }

    /// Opens a folder that has this name itself; links to folders above it are followed.
    ///
    /// # Errors
    /// [`SystemError::LINK`] or [`SystemError::NO_FOLDER`] for a link.
    pub fn open_no_link(path: &Path) -> Result<Self> {
        Ok(Self(rustix::fs::openat(CWD, path, FOLDER | OFlags::NOFOLLOW, Mode::empty())?))
    }

    /// Opens a folder in this one.
    ///
    /// # Errors
    /// [`SystemError::LINK`] or [`SystemError::NO_FOLDER`] for a link.
    pub fn open_folder(&self, name: impl AsRef<Path>) -> Result<Self> {
        Ok(Self(self.open_as(name.as_ref(), FOLDER | OFlags::NOFOLLOW, 0)?))
    }

    /// Opens a file, or whatever else has the name, to read it.
    ///
    /// # Errors
    /// [`SystemError::LINK`] for a link.
    pub fn open_to_read(&self, name: impl AsRef<Path>) -> Result<File> {
        Ok(self.open_as(name.as_ref(), READ | OFlags::NOFOLLOW, 0)?.into())
    }

    /// Opens a file at a path to read it. Links are followed as long as they stay below this folder.
    ///
    /// # Errors
    /// [`SystemError::ELSEWHERE`] when one leads out of it, or is absolute; [`SystemError::NO_SUCH_CALL`] and [`SystemError::FORBIDDEN`] where the
    /// system cannot do this; [`SystemError::AGAIN`] when something was renamed meanwhile.
    #[cfg(target_os = "linux")]
    pub fn open_beneath(&self, path: &str) -> Result<File> {
        use rustix::fs::ResolveFlags;
        let beneath = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        Ok(rustix::fs::openat2(&self.0, path, READ, Mode::empty(), beneath)?.into())
    }

    /// In place of the call that only Linux has.
    ///
    /// # Errors
    /// Always, with [`SystemError::NO_SUCH_CALL`].
    #[cfg(not(target_os = "linux"))]
    pub fn open_beneath(&self, _: &str) -> Result<File> {
        Err(SystemError::NO_SUCH_CALL)
    }

    /// Opens a file to write over it.
    ///
    /// # Errors
    /// [`SystemError::LINK`] for a link.
    pub fn open_to_write(&self, name: impl AsRef<Path>) -> Result<File> {
        Ok(self.open_as(name.as_ref(), WRITE, 0)?.into())
    }

    /// Makes a file and opens it to write it.
    ///
    /// # Errors
    /// [`SystemError::EXISTS`] when anything has the name.
    pub fn create_new(&self, name: impl AsRef<Path>, mode: u32) -> Result<File> {
        Ok(self.open_as(name.as_ref(), WRITE | OFlags::CREATE | OFlags::EXCL, mode)?.into())
    }

    /// Opens an empty file to write it; one that is there is emptied.
    ///
    /// # Errors
    /// [`SystemError::LINK`] for a link.
    pub fn create_or_empty(&self, name: impl AsRef<Path>, mode: u32) -> Result<File> {
        Ok(self.open_as(name.as_ref(), WRITE | OFlags::CREATE | OFlags::TRUNC, mode)?.into())
    }

    /// Opens a file to write at its front, made if need be.
    ///
    /// # Errors
    /// [`SystemError::LINK`] for a link.
    pub fn open_or_create(&self, name: impl AsRef<Path>, mode: u32) -> Result<File> {
        Ok(self.open_as(name.as_ref(), WRITE | OFlags::CREATE | OFlags::NONBLOCK, mode)?.into())
    }

    /// Opens a file to write behind its end, made if need be.
    ///
    /// # Errors
    /// [`SystemError::LINK`] for a link.
    pub fn open_to_append(&self, name: impl AsRef<Path>, mode: u32) -> Result<File> {
        let flags = WRITE | OFlags::APPEND | OFlags::CREATE | OFlags::NONBLOCK;
        Ok(self.open_as(name.as_ref(), flags, mode)?.into())
    }

    fn open_as(&self, name: &Path, flags: OFlags, mode: u32) -> Result<OwnedFd> {
        Ok(rustix::fs::openat(&self.0, name, flags, Mode::from_raw_mode(mode as _))?)
    }

    /// What the system tells of a name, of a link itself if it is one.
    ///
    /// # Errors
    /// [`SystemError::NOT_FOUND`] when nothing has it.
    pub fn info_of(&self, name: impl AsRef<Path>) -> Result<FileInfo> {
        let found = rustix::fs::statat(&self.0, name.as_ref(), AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(FileInfo::of_stat(&found))
    }

    /// Where a link leads, as it is written.
    ///
    /// # Errors
    /// [`SystemError::INVALID`] when it is no link.
    pub fn link_target(&self, path: impl AsRef<Path>) -> Result<OsString> {
        let target = rustix::fs::readlinkat(&self.0, path.as_ref(), Vec::new())?;
        Ok(OsString::from_vec(target.into_bytes()))
    }

    /// Makes a folder.
    ///
    /// # Errors
    /// [`SystemError::EXISTS`] when anything has the name.
    pub fn make_folder(&self, name: impl AsRef<Path>, mode: u32) -> Result<()> {
        Ok(rustix::fs::mkdirat(&self.0, name.as_ref(), Mode::from_raw_mode(mode as _))?)
    }

    /// Takes a file's name away.
    ///
    /// # Errors
    /// [`SystemError::NOT_FOUND`] when nothing has it, and when it is a folder.
    pub fn remove(&self, name: impl AsRef<Path>) -> Result<()> {
        Ok(rustix::fs::unlinkat(&self.0, name.as_ref(), AtFlags::empty())?)
    }

    /// Gives a file another name, which is taken from the file that has it.
    ///
    /// # Errors
    /// [`SystemError::ELSEWHERE`] when the other folder is on another disk.
    pub fn rename(&self, name: impl AsRef<Path>, to: &Self, new: impl AsRef<Path>) -> Result<()> {
        Ok(rustix::fs::renameat(&self.0, name.as_ref(), &to.0, new.as_ref())?)
    }

    /// Lets the owner do everything with a file or folder, and nobody else anything. A link that is put into its place at this moment is followed.
    ///
    /// # Errors
    /// [`SystemError::FORBIDDEN`] when it belongs to someone else.
    pub fn open_up(&self, name: impl AsRef<Path>) -> Result<()> {
        Ok(rustix::fs::chmodat(&self.0, name.as_ref(), Mode::RWXU, AtFlags::empty())?)
    }

    /// Waits until nobody else has the lock of this folder; this handle has it then, as long as it is open.
    ///
    /// # Errors
    /// [`SystemError::INTERRUPTED`] when a signal comes.
    pub fn lock(&self) -> Result<()> {
        Ok(rustix::fs::flock(&self.0, FlockOperation::LockExclusive)?)
    }

    /// What is in the folder, but for `.` and `..`, in no order.
    ///
    /// # Errors
    /// The system's.
    pub fn entries(&self) -> Result<impl Iterator<Item = Result<Entry>> + use<>> {
        let entries = Dir::read_from(&self.0)?;
        Ok(entries
            .map(|entry| entry.map(Entry).map_err(SystemError::from))
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

/// What a folder says of one name in it.
pub struct Entry(DirEntry);

impl Entry {
    /// The name.
    pub fn name(&self) -> &OsStr {
        OsStr::from_bytes(self.0.file_name().to_bytes())
    }

    /// What the name leads to; [`Kind::Unknown`] on file systems that do not note it in the folder.
    pub fn kind(&self) -> Kind {
        Kind::of(self.0.file_type())
    }
}
