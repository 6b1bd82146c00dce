//! Metadata of files.

use crate::errors::SystemError;
use crate::handles::AsFd;
use rustix::fs::{FileType, Stat};
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Kind of a file system entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    File,
    Folder,
    Link,
    Pipe,
    Socket,
    Device,
    /// The system does not say.
    Unknown,
}

impl FileKind {
    pub(crate) fn from_file_type(kind: FileType) -> Self {
        match kind {
            FileType::RegularFile => Self::File,
            FileType::Directory => Self::Folder,
            FileType::Symlink => Self::Link,
            FileType::Fifo => Self::Pipe,
            FileType::Socket => Self::Socket,
            FileType::CharacterDevice | FileType::BlockDevice => Self::Device,
            FileType::Unknown => Self::Unknown,
        }
    }
}

/// A time of a file, since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Time {
    pub seconds: i64,
    /// Additional nanoseconds.
    pub nanoseconds: i64,
}

/// Metadata of a file or folder.
#[derive(Clone, Copy, Debug)]
pub struct FileInfo {
    pub device: u64,
    /// Number of the file on the device.
    pub number: u64,
    /// Kind and permissions, as the system writes them; the lower twelve bits are the permissions.
    pub mode: u32,
    /// Number of hard links.
    pub links: u64,
    pub owner: u32,
    pub group: u32,
    /// Length in bytes.
    pub size: u64,
    /// Bytes on the disk.
    pub allocated: u64,
    /// Last write of the contents; programs can set it.
    pub modified: Time,
    /// Last change of anything; programs cannot set it.
    pub changed: Time,
}

impl FileInfo {
    /// Returns the metadata of an open file or folder.
    pub fn from_handle(opened: impl AsFd) -> Result<Self, SystemError> {
        Ok(Self::of_stat(&rustix::fs::fstat(opened)?))
    }

    /// Returns the metadata at a path; of a link itself.
    pub fn of_path(path: &Path) -> Result<Self, SystemError> {
        Ok(Self::of_stat(&rustix::fs::lstat(path)?))
    }

    /// Returns the metadata at a path, following links.
    pub fn of_target(path: &Path) -> Result<Self, SystemError> {
        Ok(Self::of_stat(&rustix::fs::stat(path)?))
    }

    /// Converts metadata of the standard library.
    pub fn of_metadata(found: &Metadata) -> Self {
        Self {
            device: found.dev(),
            number: found.ino(),
            mode: found.mode(),
            links: found.nlink(),
            owner: found.uid(),
            group: found.gid(),
            size: found.size(),
            allocated: found.blocks().saturating_mul(512),
            modified: Time {
                seconds: found.mtime(),
                nanoseconds: found.mtime_nsec(),
            },
            changed: Time {
                seconds: found.ctime(),
                nanoseconds: found.ctime_nsec(),
            },
        }
    }

    /// The casts keep the bits: types differ between systems.
    #[allow(clippy::unnecessary_cast, clippy::useless_conversion)]
    pub(crate) fn of_stat(stat: &Stat) -> Self {
        Self {
            device: stat.st_dev as u64,
            number: stat.st_ino as u64,
            mode: stat.st_mode as u32,
            links: stat.st_nlink as u64,
            owner: stat.st_uid,
            group: stat.st_gid,
            size: stat.st_size as u64,
            allocated: u64::try_from(stat.st_blocks).unwrap_or(0).saturating_mul(512),
            modified: Time {
                seconds: stat.st_mtime as i64,
                nanoseconds: stat.st_mtime_nsec as i64,
            },
            changed: Time {
                seconds: stat.st_ctime as i64,
                nanoseconds: stat.st_ctime_nsec as i64,
            },
        }
    }

    #[allow(clippy::unnecessary_cast)]
    pub fn kind(&self) -> FileKind {
        FileKind::from_file_type(FileType::from_raw_mode(self.mode as rustix::fs::RawMode))
    }

    /// Returns device and file number, which together identify the file among all that exist at the same time.
    pub fn identity(&self) -> (u64, u64) {
        (self.device, self.number)
    }
}
