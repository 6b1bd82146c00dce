//! The names of a file: a file with several names (hard links) is one document.

use super::draft_log::DraftLog;
use super::files::Files;
use super::session;
use std::collections::BTreeSet;
use std::io;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentNames {
    /// Name of the document's journal: the requested one, unless only another one has a journal.
    pub path: String,
    /// All names: the requested one, and those with a journal or edited in sessions.
    pub all: BTreeSet<String>,
}

impl DocumentNames {
    /// Returns the names of the file at a path of the workspace. Fails when stored data of documents or sessions cannot be read.
    pub fn from_path(files: &impl Files, path: &str) -> io::Result<Self> {
        let own = Self {
            path: path.to_owned(),
            all: BTreeSet::from([path.to_owned()]),
        };
        if !files.is_in_place(path) {
            return Ok(own);
        }
        let log = DraftLog::from_files(files)?;
        let sessions = session::list_sessions(files)?;
        let edited = sessions
            .iter()
            .flat_map(|session| session.paths())
            .filter(|other| is_name_of(files, path, other))
            .cloned();
        Ok(Self {
            path: journal_name(files, &log, path),
            all: own.all.into_iter().chain(edited).chain(observed_names(files, &log, path)).collect(),
        })
    }
}

/// Returns the name of the journal of a file with several names: the given one, unless only another one has a journal.
pub(super) fn journal_name(files: &impl Files, log: &DraftLog, path: &str) -> String {
    let observed = observed_names(files, log, path);
    let other = observed.first().filter(|_| !observed.contains(path));
    other.map_or_else(|| path.to_owned(), String::clone)
}

/// Returns the names of the file at a path that have a journal.
fn observed_names(files: &impl Files, log: &DraftLog, path: &str) -> BTreeSet<String> {
    let observed = log.observed_documents().into_iter();
    observed.filter(|other| is_name_of(files, path, other)).cloned().collect()
}

/// Whether another path is a name of the same file. It is checked: the checkout's author may have written the stored data, too.
fn is_name_of(files: &impl Files, path: &str, other: &String) -> bool {
    files.is_one(path, other) && files.resolve(other).as_ref() == Ok(other)
}
