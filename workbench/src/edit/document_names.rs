//! The names of a file: a file with several names (hard links) is one document.

use super::draft_log::DraftLog;
use super::files::Files;
use super::session;
use std::collections::BTreeSet;
use std::io;

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
    pub fn from_path(files: &impl Files, path: &str) -> io::Result<Self> {
        let own = Self {
            path: path.to_owned(),
            all: BTreeSet::from([path.to_owned()]),
        };
        if !files.is_in_place(path) {
            return Ok(own);
        }
        // Check the paths: the checkout's author may have written the stored data, too.
        let is_meant = |other: &String| files.is_one(path, other) && files.resolve(other).as_ref() == Ok(other);
        let log = DraftLog::from_files(files)?;
        let remembered: BTreeSet<String> = log
            .observed_documents()
            .into_iter()
            .filter(|other| is_meant(other))
            .cloned()
            .collect();
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
}
