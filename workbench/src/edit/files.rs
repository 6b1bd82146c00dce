//! The world of edits: the files of the workspace, and what is kept of sessions. One implementation is the disk, tests have one in memory that
//! can be stopped before every step.

use super::diagnostics::Category;
use super::place::Refused;
use super::tree::Tree;
use std::io;
use std::rc::Rc;

/// How a file looked when it was read. As long as nobody wrote it, it looks the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    /// Device, inode, length in bytes, and the times of the last write and the last change, in nanoseconds.
    pub of: (u64, u64, u64, i128, i128),
}

/// A file with its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileWithBytes {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// How it looked.
    pub stamp: Stamp,
    /// Its permissions.
    pub mode: u32,
}

/// What a file is to become.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Save {
    /// Its path below the workspace, of the real file.
    pub path: String,
    /// How it looked when it was read; `None` when there was none. If it looks otherwise now, nothing is saved.
    pub seen: Option<Stamp>,
    /// Its bytes; `None` takes it away.
    pub bytes: Option<Rc<Vec<u8>>>,
    /// Its permissions where there was none; those that are usual if none are told.
    pub mode: Option<u32>,
}

/// Why files were not saved.
#[derive(Debug, thiserror::Error)]
pub enum SaveError {
    /// Somebody wrote one meanwhile. Nothing was saved.
    #[error("{path} was changed by somebody else at this moment")]
    Moved {
        /// Which.
        path: String,
    },
    /// It may not be written. Nothing was saved.
    #[error("{path} is read-only")]
    ReadOnly {
        /// Which.
        path: String,
    },
    /// Two of them are one file. Nothing was saved.
    #[error("{path} and {other} are one file under two names (hard links), and are not saved at once; change it under one of them")]
    OneFile {
        /// One of its names.
        path: String,
        /// Another.
        other: String,
    },
    /// The system refuses.
    #[error("{path} cannot be written: {error}")]
    Io {
        /// Which.
        path: String,
        /// So many of the files, in their order, were saved before. This one may be what it is to be, too, or some of it.
        saved: usize,
        /// The system's words.
        error: io::Error,
    },
}

/// Whether bytes are those of a file that was being written in place, or taken back so.
pub(crate) fn is_torn(found: &[u8], from: &[u8], to: &[u8]) -> bool {
    begins_anew(found, from, to) || begins_anew(found, to, from)
}

/// The beginning of what is to stand there, and behind it what stood there.
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
        // It was made longer, or is yet to be cut off.
        false => found.len() > from.len() && written == found.len(),
    }
}

/// Files of the workspace by their path below its root, and notes by name.
pub trait Files {
    /// What keeps others from editing in this checkout, until it is dropped.
    type Alone;

    /// Waits until nobody else edits in this checkout.
    ///
    /// # Errors
    /// When that cannot be arranged.
    fn lock_for_editing(&self) -> io::Result<Self::Alone>;

    /// The path below the workspace of the real file that a path means.
    ///
    /// # Errors
    /// When it may not be edited.
    fn resolve(&self, given: &str) -> Result<String, Refused>;

    /// Whether what stands under that very path is a link.
    fn is_link(&self, given: &str) -> bool;

    /// A number that nobody else was given.
    fn fresh(&self) -> u64;

    /// A number that is larger at a later call, also by another process and within a second.
    fn turn(&self) -> u64;

    /// What all files hold: those that ignore files leave out are not among them, nor those in folders whose names begin with a dot.
    ///
    /// # Errors
    /// When the workspace cannot be looked at.
    fn tree(&self) -> io::Result<Tree>;

    /// Whether a file of that path is one that [`Files::tree`] has.
    ///
    /// # Errors
    /// As of that.
    fn is_in_tree(&self, path: &str) -> io::Result<bool>;

    /// Writes a line to a log, if that is wanted. Whether it can be written changes nothing.
    fn log_line(&self, category: Category, line: &str);

    /// Whether any log is wanted.
    fn tells(&self) -> bool;

    /// A file of at most [`super::encoding::LARGEST`] bytes; `None` when there is none.
    ///
    /// # Errors
    /// When it is no regular file, or larger, or cannot be read.
    fn read(&self, path: &str) -> io::Result<Option<FileWithBytes>>;

    /// Saves files, one after the other; each is at every moment what it was or what it is to be. Before the first is saved, all are known to
    /// have room and to look as they did. Where one cannot be saved then, [`Files::unstage`] is for the
    /// caller, once he has taken back what was.
    ///
    /// # Errors
    /// When one cannot be saved.
    fn save(&self, files: &[Save]) -> Result<(), SaveError>;

    /// Whether something beside a file says that it waits to be saved: of several files that are saved at once each has that, once all are ready,
    /// until it is what it is to be.
    fn is_staged(&self, path: &str) -> bool;

    /// Takes away what was left beside a file that was to be saved. What cannot be removed stays: it harms nobody.
    fn unstage(&self, path: &str);

    /// Whether a file is written in place, as one of several names (hard links) is: a death can leave it half written.
    fn is_in_place(&self, path: &str) -> bool;

    /// A note.
    ///
    /// # Errors
    /// When it cannot be read.
    fn note(&self, name: &str) -> io::Result<Option<Vec<u8>>>;

    /// Writes a note; it is kept once this returns, and at every moment what it was or what it is to be.
    ///
    /// # Errors
    /// When it cannot be written; then it is what it was.
    fn write_note(&self, name: &str, bytes: &[u8]) -> io::Result<()>;

    /// Takes a note away, if it is there.
    ///
    /// # Errors
    /// When it cannot be removed.
    fn drop_note(&self, name: &str) -> io::Result<()>;

    /// The names of the notes whose name begins with `folder/`, without that, each with its length in bytes.
    ///
    /// # Errors
    /// When they cannot be listed.
    fn notes(&self, folder: &str) -> io::Result<Vec<(String, u64)>>;
}
