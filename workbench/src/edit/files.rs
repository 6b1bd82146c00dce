//! Storage interface of edits: the files of the workspace and the notes of sessions. The disk implements it; tests use one in memory that can stop
//! before any step.

use super::edit_log::Category;
use super::tree::Tree;
use crate::editable_paths::Refused;
use std::io;
use std::rc::Rc;

/// File metadata at the time of reading; equal stamps mean that no program wrote the file since.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    /// Device, inode, length in bytes, and the times of the last write and the last change, in nanoseconds.
    pub of: (u64, u64, u64, i128, i128),
}

/// A file with its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileWithBytes {
    pub bytes: Vec<u8>,
    pub stamp: Stamp,
    /// Permissions of the file.
    pub mode: u32,
}

/// A file to write or delete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Save {
    /// Path of the real file, below the workspace.
    pub path: String,
    /// Stamp at the time of reading, `None` for a missing file. If it differs now, nothing is saved.
    pub seen: Option<Stamp>,
    /// New content; `None` deletes the file.
    pub bytes: Option<Rc<Vec<u8>>>,
    /// Permissions of a new file; `None` for the default.
    pub mode: Option<u32>,
}

/// Reason why files were not saved.
#[derive(Debug, thiserror::Error)]
pub enum SaveError {
    /// Another program wrote a file meanwhile. Nothing was saved.
    #[error("{path} was changed by another program at this moment")]
    Moved { path: String },
    /// The file is read-only. Nothing was saved.
    #[error("{path} is read-only")]
    ReadOnly { path: String },
    /// Two paths are hard links to one file. Nothing was saved.
    #[error("{path} and {other} are one file under two names (hard links), and are not saved at once; change it under one of them")]
    OneFile {
        /// One name of the file.
        path: String,
        /// Another name of the file.
        other: String,
    },
    /// The operating system reports an error.
    #[error("{path} cannot be written: {error}")]
    Io {
        path: String,
        /// Number of files saved before, in order. The file at `path` may also be written, fully or in part.
        saved: usize,
        error: io::Error,
    },
}

/// Whether `found` is a file partly written in place, in either direction.
pub(crate) fn is_torn(found: &[u8], from: &[u8], to: &[u8]) -> bool {
    begins_anew(found, from, to) || begins_anew(found, to, from)
}

/// Whether `found` is a beginning of `to` followed by the rest of `from`.
fn begins_anew(found: &[u8], from: &[u8], to: &[u8]) -> bool {
    let written = found.iter().zip(to).take_while(|(one, other)| one == other).count();
    let rest = found
        .iter()
        .rev()
        .zip(from.iter().rev())
        .take_while(|(one, other)| one == other)
        .count();
    match found.len() == from.len() {
        true => written + rest >= found.len(),
        // The file was extended, or is not truncated yet.
        false => found.len() > from.len() && written == found.len(),
    }
}

/// Files of the workspace by path below its root, and notes by name.
pub trait Files {
    /// Lock that keeps other processes from editing in this checkout, until dropped.
    type EditLock;

    /// Waits until no other process edits in this checkout, and acquires the lock. Fails when the lock cannot be acquired.
    fn lock_for_editing(&self) -> io::Result<Self::EditLock>;

    /// Returns the path below the workspace of the real file behind a path. Fails when the file must not be edited.
    fn resolve(&self, given: &str) -> Result<String, Refused>;

    /// Whether the path itself is a link.
    fn is_link(&self, given: &str) -> bool;

    fn unique_number(&self) -> u64;

    /// Returns a number larger than at any earlier call, also of another process within the same second.
    fn increasing_number(&self) -> u64;

    /// Returns all files with their contents, except ignored files and those in folders whose names begin with a dot.
    fn tree(&self) -> io::Result<Tree>;

    /// Whether [`Files::tree`] contains a file of that path. Errors: as for [`Files::tree`].
    fn is_in_tree(&self, path: &str) -> io::Result<bool>;

    /// Writes a line to a log, if that log is enabled; a failed write is ignored.
    fn log_line(&self, category: Category, line: &str);

    fn is_logging(&self) -> bool;

    /// Reads a file of at most [`crate::code_text::encoding::LARGEST`] bytes; `None` when it does not exist. Fails when it is not a regular file, is
    /// larger, or cannot be read.
    fn read(&self, path: &str) -> io::Result<Option<FileWithBytes>>;

    /// Saves files one after the other; each is at every moment either the old or the new one. Before the first save, all have room and an unchanged
    /// stamp. After a later failure, the caller restores the files and then calls [`Files::unstage`]. Fails when a file cannot be saved.
    fn save(&self, files: &[Save]) -> Result<(), SaveError>;

    /// Whether a staged file exists next to a file: when several files are saved at once, each has one from the time that all are ready
    /// until it is saved.
    fn is_staged(&self, path: &str) -> bool;

    /// Removes the staged file next to a file. One that cannot be removed stays and does no harm.
    fn unstage(&self, path: &str);

    /// Whether a file is written in place because it has several hard links: a killed process can leave it half written.
    fn is_in_place(&self, path: &str) -> bool;

    /// Whether two paths are names of the same file.
    fn is_one(&self, path: &str, other: &str) -> bool;

    fn read_note(&self, name: &str) -> io::Result<Option<Vec<u8>>>;

    /// Writes a note durably; the note is at every moment either the old or the new one. Fails when the note cannot be written; the old one
    /// stays.
    fn write_note(&self, name: &str, bytes: &[u8]) -> io::Result<()>;

    /// Appends to a note durably, and returns its length; a kill may cut the appended bytes.
    fn append_note(&self, name: &str, bytes: &str) -> io::Result<u64>;

    /// Removes a note, if it exists.
    fn drop_note(&self, name: &str) -> io::Result<()>;

    /// Returns the names of the notes below `folder/`, without that prefix, each with its length in bytes.
    fn notes(&self, folder: &str) -> io::Result<Vec<(String, u64)>>;
}
