//! The names of a file: one that has several (hard links) is one document under all of them.

use super::kept;
use crate::edit::files::Files;
use crate::edit::place::is_one;
use crate::edit::session;
use std::collections::BTreeSet;
use std::io;
use std::path::Path;

/// Under which names a document is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    /// The one under which it is remembered, or will be: its own, unless only another one is.
    pub path: String,
    /// All of them: its own, and those under which it is remembered or edited in sessions.
    pub all: BTreeSet<String>,
}

impl Names {
    /// Of the file at a path of the workspace.
    ///
    /// # Errors
    /// When what is kept of documents or sessions cannot be read.
    pub fn of<F: Files>(files: &F, root: &Path, path: &str) -> io::Result<Self> {
        let own = Self {
            path: path.to_owned(),
            all: BTreeSet::from([path.to_owned()]),
        };
        if !files.is_in_place(path) {
            return Ok(own);
        }
        // Whoever made the checkout may have made what is kept in it, too.
        let is_meant = |other: &String| is_one(&root.join(path), &root.join(other)) && files.resolve(other).as_ref() == Ok(other);
        let mut remembered = kept::paths(root)?;
        remembered.retain(is_meant);
        let sessions = session::all(files)?;
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

    /// Whether a path is one of them.
    pub fn has(&self, path: &str) -> bool {
        self.all.contains(path)
    }
}
