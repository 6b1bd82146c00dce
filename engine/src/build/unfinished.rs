//! What is left to do after a build's commit: files that show states, and files that follow from names that moved.
//!
//! The commit notes what follows it, and who has done it takes the note away. A process that is killed in between leaves the note, so no later
//! command says "all up to date" before a build has finished the work. Stored in `Part::State` (key `unfinished`), one byte.

use super::engine::EngineError;
use super::session::Session;
use crate::store::{Commit, Part, RowChange, Store, StoreError, ViewId};

/// The row's key.
const KEY: &[u8] = b"unfinished";
const FILES: u8 = 1;
const NAMES: u8 = 2;

/// What a commit left to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unfinished {
    /// Files that show the states of nodes are to be [renewed](super::renew).
    pub files: bool,
    /// Something that files beside the outputs [follow](super::layout::Finish::followed) from moved.
    pub names: bool,
}

impl Unfinished {
    /// What is left to do in a view.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn of(store: &dyn Store, view: ViewId) -> Result<Self, StoreError> {
        let row = store.row(view, Part::State, KEY)?;
        let bits = row.as_deref().and_then(<[u8]>::first).copied().unwrap_or_default();
        Ok(Self {
            files: bits & FILES != 0,
            names: bits & NAMES != 0,
        })
    }

    /// Whether nothing is.
    pub fn is_none(self) -> bool {
        self == Self::default()
    }

    /// The row that says so.
    pub(super) fn row(self) -> RowChange {
        let bits = u8::from(self.files) * FILES + u8::from(self.names) * NAMES;
        (Part::State, KEY.to_vec(), (bits != 0).then(|| vec![bits]))
    }
}

impl Session {
    /// Notes that what follows from names is done, if it was left to do.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn followed_names(&mut self) -> Result<(), EngineError> {
        let left = Unfinished::of(&*self.engine.store, self.engine.view)?;
        if left.names {
            let rows = vec![Unfinished { names: false, ..left }.row()];
            self.engine.store.commit(self.engine.view, Commit { rows, ..Commit::default() })?;
        }
        Ok(())
    }
}
