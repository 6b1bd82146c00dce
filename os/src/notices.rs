//! What is heard of folders, by whatever way the system has to listen to them.

use std::borrow::Cow;

/// Something that was heard of a folder, which has the number that [`Queue::add`] gave.
#[derive(Debug)]
pub enum Notice<'n> {
    /// The queue was full: anything may have happened.
    Lost,
    /// Something happened to a name in a folder.
    Name {
        /// The folder.
        folder: i32,
        /// The name; a lossy one if it is no text.
        name: Cow<'n, str>,
        /// Whether it is a folder's.
        is_dir: bool,
        /// Whether only bytes were written.
        written: bool,
    },
    /// A folder went away, or what it is mounted from did.
    Gone {
        /// The folder.
        folder: i32,
        /// Whether its number means nothing any more.
        is_over: bool,
    },
}
