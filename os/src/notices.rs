//! Notices about watched folders, independent of the system's way to watch them.

use std::borrow::Cow;

/// Notice about a folder, which has the number that [`Queue::add_folder`] returned.
#[derive(Debug)]
pub enum Notice<'n> {
    /// The queue overflowed: anything may have happened.
    Lost,
    /// Something happened to a name in a folder.
    Name {
        folder: i32,
        /// The name; lossy if it is not text.
        name: Cow<'n, str>,
        /// Whether the name is a folder's.
        is_dir: bool,
        /// Whether only bytes were written.
        written: bool,
    },
    /// A folder was removed, moved or unmounted.
    Gone {
        folder: i32,
        /// Whether the number is no longer valid.
        is_over: bool,
    },
}
