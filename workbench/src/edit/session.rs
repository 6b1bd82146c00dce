//! Sessions as they are kept between operations: documents, their versions by content, what was done and taken back. All of it lies in the
//! checkout, none in the store: edits that nobody has saved are a person's, and no cache. A version is a file named by the digest of its bytes,
//! so that a state of a session names all that it needs, and writing it is one step.

use super::encoding::Encoding;
use super::files::Files;
use super::state::{Ground, Mode, State};
use engine::values::digest::Digest;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::io;

/// A session ends so many seconds after it was last used: seven days.
pub const LIFETIME: u64 = 7 * 24 * 3600;
/// So many edits can be taken back.
const REMEMBERED: usize = 200;
/// From so many sessions on old ones are looked for when one is opened.
const MANY: usize = 64;
/// So many that have nothing unsaved stay.
const KEPT: usize = 256;
/// Versions that nothing unsaved needs take so many bytes at most.
const ROOM: u64 = 256 << 20;

/// What a document holds: the digest of its bytes; `None` where there is no file.
pub type Version = Option<String>;

/// The version of some bytes.
pub fn version(bytes: Option<&[u8]>) -> Version {
    bytes.map(|bytes| Digest::of(bytes).to_string())
}

/// Matches to choose from. Their numbers mean something as long as the document is at that version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Selection {
    /// Of the text in which they were found.
    pub snapshot: Version,
    /// What was looked for.
    pub needle: String,
    /// What is to take its place, unless told otherwise.
    pub replacement: String,
    /// How many there are.
    pub count: usize,
}

/// A document of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Document {
    /// How it stands.
    pub state: State,
    /// What the buffer was made of: what the file held when both were last known to agree.
    pub base: Version,
    /// What the buffer holds.
    pub now: Version,
    /// What the file held when it was last looked at.
    pub seen: Version,
    /// How the buffer is written.
    pub encoding: Encoding,
    /// What is to be chosen from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selection: Option<Selection>,
}

/// One file's part of an edit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// Which file.
    pub path: String,
    /// What the buffer held.
    pub from: Version,
    /// What it held then.
    pub to: Version,
}

/// An edit that can be taken back as a whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Edit {
    /// The operation.
    pub operation: String,
    /// Its name in the log.
    pub id: String,
    /// When, in seconds.
    pub at: u64,
    /// What it changed.
    pub changes: Vec<Change>,
}

/// A session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// Its handle.
    pub id: String,
    /// When edits are saved.
    pub mode: Mode,
    /// When it was last used, in seconds.
    pub used: u64,
    /// How many operations it has seen.
    pub operations: u64,
    /// By path of the real file below the workspace.
    pub documents: BTreeMap<String, Document>,
    /// Edits, the last one last.
    pub done: Vec<Edit>,
    /// Those that were taken back, the last one last.
    pub undone: Vec<Edit>,
    /// What is being saved just now: after a crash some of it may be.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub saving: Vec<Change>,
}

/// Why there is no session of a handle.
#[derive(Debug, thiserror::Error)]
pub enum NoSession {
    /// Nobody opened it here, or it was closed.
    #[error("there is no session {0} in this checkout")]
    Unknown(String),
    /// It was not used for long.
    #[error("the session {0} was not used for seven days and has ended")]
    Expired(String),
    /// It is not of our making.
    #[error("the session {id} cannot be read: {why}")]
    Damaged {
        /// Which.
        id: String,
        /// Why.
        why: String,
    },
    /// The disk does not answer.
    #[error("sessions cannot be read or written: {0}")]
    Io(#[from] io::Error),
}

fn note(id: &str) -> String {
    format!("sessions/{id}.json")
}

fn blob(version: &str) -> String {
    format!("versions/{version}")
}

impl Session {
    /// A new one.
    pub fn new(id: String, mode: Mode, now: u64) -> Self {
        Self {
            id,
            mode,
            used: now,
            operations: 0,
            documents: BTreeMap::new(),
            done: Vec::new(),
            undone: Vec::new(),
            saving: Vec::new(),
        }
    }

    /// That of a handle, as it was last stored.
    ///
    /// # Errors
    /// When there is none that can be used.
    pub fn load(files: &impl Files, id: &str, now: u64) -> Result<Self, NoSession> {
        let is_handle = (1..=32).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let unknown = || NoSession::Unknown(id.chars().filter(|c| !c.is_control()).take(40).collect());
        let bytes = if is_handle { files.note(&note(id))? } else { None };
        let session: Self = serde_json::from_slice(&bytes.ok_or_else(unknown)?).map_err(|error| NoSession::Damaged {
            id: id.to_owned(),
            why: error.to_string(),
        })?;
        if session.has_expired(now) {
            return Err(NoSession::Expired(id.to_owned()));
        }
        Ok(session)
    }

    fn has_expired(&self, now: u64) -> bool {
        now > self.used.saturating_add(LIFETIME)
    }

    /// Keeps it as it is.
    ///
    /// # Errors
    /// When it cannot be written; then it is kept as it was.
    pub fn store(&self, files: &impl Files) -> io::Result<()> {
        files.keep(&note(&self.id), &serde_json::to_vec(self)?)
    }

    /// Ends it.
    ///
    /// # Errors
    /// When that cannot be written down.
    pub fn end(&self, files: &impl Files) -> io::Result<()> {
        files.drop_note(&note(&self.id))
    }

    /// Whether nothing would be lost with it.
    pub fn is_saved(&self) -> bool {
        self.saving.is_empty() && self.documents.values().all(|document| document.base == document.now)
    }

    /// Remembers an edit. What was taken back before cannot be made again after it.
    pub fn remember(&mut self, edit: Edit) {
        self.done.push(edit);
        if self.done.len() > REMEMBERED {
            self.done.remove(0);
        }
        self.undone.clear();
    }

    /// All files that it names.
    pub fn paths(&self) -> BTreeSet<&String> {
        let edits = self.done.iter().chain(&self.undone).flat_map(|edit| &edit.changes);
        let changes = edits.chain(&self.saving).map(|change| &change.path);
        self.documents.keys().chain(changes).collect()
    }

    fn versions(&self) -> impl Iterator<Item = &String> {
        let documents = self.documents.values().flat_map(|one| [&one.base, &one.now, &one.seen]);
        let changes = self
            .done
            .iter()
            .chain(&self.undone)
            .flat_map(|edit| &edit.changes)
            .chain(&self.saving);
        documents.chain(changes.flat_map(|change| [&change.from, &change.to])).flatten()
    }
}

impl Document {
    /// Whether the buffer has edits that the file had not.
    pub fn is_edited(&self) -> bool {
        self.now != self.base
    }

    /// A document whose buffer is the file.
    pub fn of(version: Version, encoding: Encoding) -> Self {
        Self {
            state: State::On(Ground::Idle),
            base: version.clone(),
            now: version.clone(),
            seen: version,
            encoding,
            selection: None,
        }
    }
}

/// Keeps the bytes of a version.
///
/// # Errors
/// When they cannot be written.
pub fn keep(files: &impl Files, version: &Version, bytes: &[u8]) -> io::Result<()> {
    match version {
        Some(version) => files.keep(&blob(version), bytes),
        None => Ok(()),
    }
}

/// The bytes of a version that was kept; `None` when they are not there, or not what they were.
///
/// # Errors
/// When they cannot be read.
pub fn kept(files: &impl Files, version: &str) -> io::Result<Option<Vec<u8>>> {
    if !version.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Ok(None);
    }
    let bytes = files.note(&blob(version))?;
    Ok(bytes.filter(|bytes| Digest::of(bytes).to_string() == version))
}

/// All sessions that can be read, the last used first.
///
/// # Errors
/// When they cannot be listed.
pub fn all(files: &impl Files) -> io::Result<Vec<Session>> {
    let mut all = Vec::new();
    for (name, _) in files.notes("sessions")? {
        if let Some(bytes) = files.note(&format!("sessions/{name}"))?
            && let Ok(session) = serde_json::from_slice::<Session>(&bytes)
        {
            all.push(session);
        }
    }
    all.sort_by(|a, b| b.used.cmp(&a.used).then_with(|| a.id.cmp(&b.id)));
    Ok(all)
}

/// Where there are many sessions, or large versions: see [`collect`].
///
/// # Errors
/// When the disk does not answer.
pub fn tidy(files: &impl Files, now: u64) -> io::Result<()> {
    let large = || -> io::Result<bool> { Ok(files.notes("versions")?.iter().map(|(_, length)| length).sum::<u64>() > ROOM) };
    match files.notes("sessions")?.len() >= MANY || large()? {
        true => collect(files, now),
        false => Ok(()),
    }
}

/// Ends sessions that have expired, and the oldest of those that have nothing unsaved where they are too many, or their versions too large. Drops
/// versions that no session names. A session that cannot be read stays, and so do all versions then.
///
/// # Errors
/// When the disk does not answer.
pub fn collect(files: &impl Files, now: u64) -> io::Result<()> {
    let lengths: BTreeMap<String, u64> = files.notes("versions")?.into_iter().collect();
    let names = files.notes("sessions")?;
    let sessions = all(files)?;
    let (mut wanted, mut saved, mut taken) = (BTreeSet::new(), 0, 0);
    for session in &sessions {
        let own: BTreeSet<&String> = session.versions().filter(|version| !wanted.contains(*version)).collect();
        let length: u64 = own.iter().filter_map(|version| lengths.get(*version)).sum();
        let is_saved = session.is_saved();
        if session.has_expired(now) || is_saved && (saved == KEPT || taken + length > ROOM) {
            session.end(files)?;
            continue;
        }
        saved += usize::from(is_saved);
        taken += length;
        wanted.extend(own);
    }
    if sessions.len() == names.len() {
        for name in lengths.keys().filter(|name| !wanted.contains(*name)) {
            files.drop_note(&format!("versions/{name}"))?;
        }
    }
    Ok(())
}
