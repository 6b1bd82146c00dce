//! The names of a file: a file with several names (hard links) is one document.

use super::stored_journals;
use crate::edit::editable_paths::is_one;
use crate::edit::files::Files;
use crate::edit::session;
use std::collections::BTreeSet;
use std::io;
use std::path::Path;

/// The names of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentNames {
    /// Name of the document's journal: the requested one, unless only another one has a journal.
    pub path: String,
    /// All names: the requested one, and those with a journal or edited in sessions.
    pub all: BTreeSet<String>,
}

impl DocumentNames {
    /// Returns the names of the file at a path of the workspace.
    ///
    /// # Errors
    /// When stored data of documents or sessions cannot be read.
    pub fn from_path<F: Files>(files: &F, root: &Path, path: &str) -> io::Result<Self> {
        let own = Self {
            path: path.to_owned(),
            all: BTreeSet::from([path.to_owned()]),
        };
        if !files.is_in_place(path) {
            return Ok(own);
        }
        // Check the paths: the checkout's author may have written the stored data, too.
        let is_meant = |other: &String| is_one(&root.join(path), &root.join(other)) && files.resolve(other).as_ref() == Ok(other);
        let mut remembered = stored_journals::paths(files)?;
        remembered.retain(is_meant);
        let sessions = session::list_sessions(files)?;
        let edited = sessions
            .iter()
            .flat_map(|session| session.paths())
            .filter(|other| is_meant(other))
            .cloned();
        let first = remembered
            .first()
            .filter(|_| !remembered.contains(path))
            .unwrap_or(&own.path)
            .clone();
        Ok(Self {
            path: first,
            all: own.all.into_iter().chain(edited).chain(remembered).collect(),
        })
    }

    /// Whether a path is one of the names.
    pub fn has_path(&self, path: &str) -> bool {
        self.all.contains(path)
    }
}
