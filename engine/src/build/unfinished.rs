//! Work left after a build's commit: files that show states, and files that derive from changed names.
//!
//! The commit records this work, and finishing it removes the record. After a kill in between the record stays, so that no command reports "all up
//! to date" before a build has finished the work. Stored in `Part::State` (key `unfinished`), one byte.

use crate::store::{Part, RowChange, Store, StoreError, ViewId};

const KEY: &[u8] = b"unfinished";
const FILES: u8 = 1;
const NAMES: u8 = 2;

/// Work that a commit left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unfinished {
    /// Files that show the states of nodes must be [renewed](super::renew).
    pub files: bool,
    /// A node that files next to the outputs [follow](super::finish::Finish::name_sources) has changed.
    pub names: bool,
}

impl Unfinished {
    /// Reads the work left in a view.
    pub fn from_store(store: &dyn Store, view: ViewId) -> Result<Self, StoreError> {
        let row = store.row(view, Part::State, KEY)?;
        let bits = row.as_deref().and_then(<[u8]>::first).copied().unwrap_or_default();
        Ok(Self {
            files: bits & FILES != 0,
            names: bits & NAMES != 0,
        })
    }

    /// Whether no work is left.
    pub fn is_none(self) -> bool {
        self == Self::default()
    }

    pub(super) fn row(self) -> RowChange {
        let bits = u8::from(self.files) * FILES + u8::from(self.names) * NAMES;
        (Part::State, KEY.to_vec(), (bits != 0).then(|| vec![bits]))
    }
}
