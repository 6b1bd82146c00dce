//! Sessions as stored between operations: documents, their versions by content, edits and undone edits. All of it is in the checkout, none in the
//! store: unsaved edits are a person's work, not a cache. A version is a file named by its digest, so a session's state names everything it needs,
//! and one write stores it.

use super::contents::Content;
use super::files::Files;
use super::state::{DocumentState, FileRelation, Mode};
use crate::code_text::encoding::Encoding;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::io;

/// Seconds after its last use at which a session ends, and an overlay without a lifetime of its own: seven days.
pub const LIFETIME: u64 = 7 * 24 * 3600;
/// [`LIFETIME`] in words.
pub(super) const ENDS: &str = "the session ends seven days after it was last used";
/// Most edits that can be undone.
const REMEMBERED: usize = 200;

/// A version of a document: the buffer's content with its properties. A version is restored as a whole or not at all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Version {
    /// Content of the buffer; the bytes include line ends and byte order mark.
    pub text: Content,
    /// Content of the file when it last equalled the buffer. A save overwrites no other content.
    pub base: Content,
    pub encoding: Encoding,
    /// Permissions of the file, if it existed.
    pub mode: Option<u32>,
}

impl Version {
    /// Returns the version of an unedited file.
    pub fn of(text: Content, encoding: Encoding, mode: Option<u32>) -> Self {
        Self {
            base: text.clone(),
            text,
            encoding,
            mode,
        }
    }

    /// Whether the version's text differs from its base.
    pub fn is_edited(&self) -> bool {
        self.text != self.base
    }
}

/// Matches to choose from. Their numbers are valid only for this version of the document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Selection {
    /// Content in which they were found.
    pub snapshot: Content,
    pub needle: String,
    pub replacement: String,
    pub count: usize,
}

/// A document of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Document {
    pub state: DocumentState,
    pub now: Version,
    /// Content of the file when it was last read.
    pub seen: Content,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selection: Option<Selection>,
}

/// Change of a file by an edit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileEdit {
    pub path: String,
    /// Version before.
    pub from: Version,
    /// Version after.
    pub to: Version,
}

/// A file in a running save.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Saving {
    pub path: String,
    /// Content before.
    pub from: Content,
    pub to: Content,
    /// Permissions, if the file is created.
    pub mode: Option<u32>,
}

/// An edit, which can be undone as a whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Edit {
    pub operation: String,
    /// Identifier of the edit in the log.
    pub id: String,
    /// Time, in seconds.
    pub at: u64,
    /// Order among the operations of all sessions.
    #[serde(default)]
    pub turn: u64,
    pub changes: Vec<FileEdit>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EditSession {
    pub id: String,
    /// Mode of saving edits.
    pub mode: Mode,
    /// Whether the session was opened explicitly, not created by an edit without a handle. Other sessions' edits never end it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub opened: bool,
    /// Overlay whose merge the session saves, in the journal of its save. If that saves nothing, the session is not stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overlay: Option<String>,
    /// Time of the last use, in seconds.
    pub used: u64,
    /// Order of the last operation among those of all sessions.
    #[serde(default)]
    pub turn: u64,
    /// Number of operations so far.
    pub operations: u64,
    /// Documents, by path of the real file below the workspace.
    pub documents: BTreeMap<String, Document>,
    /// Edits, oldest first.
    pub done: Vec<Edit>,
    /// Undone edits, oldest first.
    pub undone: Vec<Edit>,
    /// Files of a running save; after a crash some of them may be saved.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub saving: Vec<Saving>,
    /// Whether that save is being rolled back: a file with its old content was not reverted by another program.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub taking_back: bool,
    /// Sentences about events since the last answer, for the next one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub news: Vec<String>,
}

/// Reason why a handle has no session.
#[derive(Debug, thiserror::Error)]
pub enum NoSession {
    /// No such session was opened here, or it was closed.
    #[error("there is no session {0} in this checkout")]
    Unknown(String),
    #[error("the session {0} was not used for seven days and has ended")]
    Expired(String),
    /// The session's file is damaged.
    #[error("the session {id} cannot be read: {why}")]
    Damaged { id: String, why: String },
    /// The disk reports an error.
    #[error("sessions cannot be read or written: {0}")]
    Io(#[from] io::Error),
}

fn note_name(id: &str) -> String {
    format!("sessions/{id}.json")
}

fn journal(id: &str) -> String {
    format!("saving/{id}.json")
}

impl EditSession {
    pub fn new(id: String, mode: Mode, now: u64) -> Self {
        Self {
            id,
            mode,
            opened: false,
            overlay: None,
            used: now,
            turn: 0,
            operations: 0,
            documents: BTreeMap::new(),
            done: Vec::new(),
            undone: Vec::new(),
            saving: Vec::new(),
            taking_back: false,
            news: Vec::new(),
        }
    }

    /// Loads the session of a handle, as last stored. Fails when there is no usable session.
    pub fn load(files: &impl Files, id: &str, now: u64) -> Result<Self, NoSession> {
        let is_handle = (1..=32).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let unknown = || NoSession::Unknown(id.chars().filter(|c| !c.is_control()).take(40).collect());
        let bytes = if is_handle { files.read_note(&note_name(id))? } else { None };
        let session: Self = serde_json::from_slice(&bytes.ok_or_else(unknown)?).map_err(|error| NoSession::Damaged {
            id: id.to_owned(),
            why: error.to_string(),
        })?;
        if session.has_expired(now) {
            return Err(NoSession::Expired(id.to_owned()));
        }
        Ok(session)
    }

    pub(super) fn has_expired(&self, now: u64) -> bool {
        now > self.used.saturating_add(LIFETIME)
    }

    /// Stores the session. Fails when it cannot be written; the old state then stays.
    pub fn store(&self, files: &impl Files) -> io::Result<()> {
        files.write_note(&note_name(&self.id), &serde_json::to_vec(self)?)
    }

    /// Writes a journal with the running save next to the stored session; after a crash, [`Self::interrupted`] finds it.
    pub fn begin_saving(&self, files: &impl Files) -> io::Result<()> {
        files.write_note(&journal(&self.id), &serde_json::to_vec(self)?)
    }

    /// Drops the journal; call once the finished state is stored.
    pub fn end_saving(&self, files: &impl Files) -> io::Result<()> {
        files.drop_note(&journal(&self.id))
    }

    /// Returns the sessions with a journal: their process was killed during a save.
    pub fn interrupted(files: &impl Files) -> io::Result<Vec<Self>> {
        let mut all = Vec::new();
        for (name, _) in files.notes("saving")? {
            let bytes = files.read_note(&format!("saving/{name}"))?.unwrap_or_default();
            let session = serde_json::from_slice::<Self>(&bytes)
                .ok()
                .filter(|session| name == format!("{}.json", session.id));
            let later = |session: &Self| -> io::Result<bool> {
                let stored = files
                    .read_note(&note_name(&session.id))?
                    .and_then(|bytes| serde_json::from_slice::<Self>(&bytes).ok());
                Ok(stored.is_some_and(|stored| stored.operations >= session.operations))
            };
            match session {
                Some(session) if !later(&session)? => all.push(session),
                // The state was stored, or the journal is unreadable.
                _ => files.drop_note(&format!("saving/{name}"))?,
            }
        }
        Ok(all)
    }

    pub fn end_session(&self, files: &impl Files) -> io::Result<()> {
        files.drop_note(&note_name(&self.id))
    }

    /// Whether the session can end without a loss of edits.
    pub fn is_saved(&self) -> bool {
        self.saving.is_empty() && !self.documents.values().any(Document::is_edited)
    }

    /// Remembers an edit. Edits undone before can no longer be redone.
    pub fn remember(&mut self, edit: Edit) {
        self.done.push(edit);
        if self.done.len() > REMEMBERED {
            self.done.remove(0);
        }
        self.undone.clear();
    }

    /// Returns all files that the session names.
    pub fn paths(&self) -> BTreeSet<&String> {
        let edits = self.done.iter().chain(&self.undone).flat_map(|edit| &edit.changes);
        let changes = edits.map(|change| &change.path);
        let saving = self.saving.iter().map(|saving| &saving.path);
        self.documents.keys().chain(changes).chain(saving).collect()
    }

    /// Returns all contents that the session needs.
    pub(super) fn contents(&self) -> impl Iterator<Item = &String> {
        let edits = self.done.iter().chain(&self.undone).flat_map(|edit| &edit.changes);
        let versions = edits.flat_map(|change| [&change.from, &change.to]);
        let versions = versions.chain(self.documents.values().map(|one| &one.now));
        let seen = self.documents.values().map(|one| &one.seen);
        let saving = self.saving.iter().flat_map(|saving| [&saving.from, &saving.to]);
        versions
            .flat_map(|version| [&version.text, &version.base])
            .chain(seen)
            .chain(saving)
            .flatten()
    }
}

impl Document {
    /// Whether the buffer differs from the file.
    pub fn is_edited(&self) -> bool {
        self.now.is_edited()
    }

    /// Returns a document without edits.
    pub fn of(now: Version) -> Self {
        Self {
            state: DocumentState::On(FileRelation::Idle),
            seen: now.text.clone(),
            now,
            selection: None,
        }
    }
}

/// Returns all readable sessions, the last used first.
pub fn list_sessions(files: &impl Files) -> io::Result<Vec<EditSession>> {
    let mut all = Vec::new();
    for (name, _) in files.notes("sessions")? {
        if let Some(bytes) = files.read_note(&format!("sessions/{name}"))?
            && let Ok(session) = serde_json::from_slice::<EditSession>(&bytes)
            && name == format!("{}.json", session.id)
        {
            all.push(session);
        }
    }
    all.sort_by(|a, b| b.used.cmp(&a.used).then_with(|| a.id.cmp(&b.id)));
    Ok(all)
}
