//! Sessions as they are kept between operations: documents, their versions by content, what was done and taken back. All of it lies in the
//! checkout, none in the store: edits that nobody has saved are a person's, and no cache. A version is a file named by the digest of its bytes,
//! so that a state of a session names all that it needs, and writing it is one step.

use super::encoding::Encoding;
use super::files::Files;
use super::state::{Ground, Mode, State};
use super::trail::Step;
use engine::values::digest::Digest;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::io;

/// A session ends so many seconds after it was last used: seven days.
pub const LIFETIME: u64 = 7 * 24 * 3600;
/// The same in words.
pub(super) const ENDS: &str = "the session ends seven days after it was last used";
/// So many edits can be taken back.
const REMEMBERED: usize = 200;
/// So many tries that came to nothing are remembered.
const FAILED: usize = 20;
/// From so many sessions on old ones are looked for when one is opened.
const MANY: usize = 64;
/// So many of those that nobody opened stay once all is saved: each is an edit without a handle.
const KEPT: usize = 256;
/// Their versions take so many bytes at most.
const ROOM: u64 = 256 << 20;
/// So many of those that were ended to make room are named.
const ENDED: usize = 5;

/// What a file or a buffer holds: the digest of its bytes; `None` where there is no file.
pub type Content = Option<String>;

/// The content that some bytes are.
pub fn content(bytes: Option<&[u8]>) -> Content {
    bytes.map(|bytes| Digest::of(bytes).to_string())
}

/// A version of a document: what the buffer holds, and all that belongs to it. A version comes back as a whole or not at all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Version {
    /// What the buffer holds. Its line ends and its byte order mark are part of the bytes.
    pub text: Content,
    /// What it was made of: what the file held when both were last known to agree. It is saved over nothing else.
    pub base: Content,
    /// How it is written.
    pub encoding: Encoding,
    /// Permissions of the file, where there was one.
    pub mode: Option<u32>,
}

impl Version {
    /// That of a file as it is.
    pub fn of(text: Content, encoding: Encoding, mode: Option<u32>) -> Self {
        Self {
            base: text.clone(),
            text,
            encoding,
            mode,
        }
    }

    /// Whether it has edits that its base has not.
    pub fn is_edited(&self) -> bool {
        self.text != self.base
    }
}

/// Matches to choose from. Their numbers mean something as long as the document is at that version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Selection {
    /// Of the text in which they were found.
    pub snapshot: Content,
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
    /// What the buffer is.
    pub now: Version,
    /// What the file held when it was last looked at.
    pub seen: Content,
    /// What is to be chosen from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selection: Option<Selection>,
}

/// One file's part of an edit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// Which file.
    pub path: String,
    /// What the buffer was.
    pub from: Version,
    /// What it was then.
    pub to: Version,
}

/// A file that is being saved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Saving {
    /// Which file.
    pub path: String,
    /// What it held.
    pub from: Content,
    /// What it is to hold.
    pub to: Content,
    /// Its permissions, where it is made anew.
    pub mode: Option<u32>,
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
    /// What orders the edits of one second.
    #[serde(default)]
    pub turn: u64,
    /// What it changed.
    pub changes: Vec<Change>,
}

/// A try that came to nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failed {
    /// The operation.
    pub operation: String,
    /// Its name in the log.
    pub id: String,
    /// When, in seconds.
    pub at: u64,
    /// With which file.
    pub path: String,
    /// Why, in a sentence.
    pub why: String,
}

/// A session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// Its handle.
    pub id: String,
    /// When edits are saved.
    pub mode: Mode,
    /// Whether somebody opened it, and did not only edit without a handle. Nobody else's edits end it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub opened: bool,
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
    /// What was tried and came to nothing, the last one last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<Failed>,
    /// What became of its documents, the last step last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trail: Vec<Step>,
    /// What is being saved just now: after a crash some of it may be.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub saving: Vec<Saving>,
    /// Whether that is being taken back: what of it holds again what it held was not reverted by somebody else.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub taking_back: bool,
    /// What was noticed since the last answer, for the next one: sentences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub news: Vec<String>,
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

fn journal(id: &str) -> String {
    format!("saving/{id}.json")
}

fn blob(content: &str) -> String {
    format!("versions/{content}")
}

impl Session {
    /// A new one.
    pub fn new(id: String, mode: Mode, now: u64) -> Self {
        Self {
            id,
            mode,
            opened: false,
            used: now,
            operations: 0,
            documents: BTreeMap::new(),
            done: Vec::new(),
            undone: Vec::new(),
            failed: Vec::new(),
            trail: Vec::new(),
            saving: Vec::new(),
            taking_back: false,
            news: Vec::new(),
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
        files.write_note(&note(&self.id), &serde_json::to_vec(self)?)
    }

    /// Keeps it as it is beside what it was, with what it is saving: whoever comes after a crash finds it by [`Self::interrupted`].
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn begin_saving(&self, files: &impl Files) -> io::Result<()> {
        files.write_note(&journal(&self.id), &serde_json::to_vec(self)?)
    }

    /// Nothing is being saved any more, and that it is so was stored.
    ///
    /// # Errors
    /// When that cannot be written down.
    pub fn end_saving(&self, files: &impl Files) -> io::Result<()> {
        files.drop_note(&journal(&self.id))
    }

    /// Sessions that were saving when their process was killed, before that could be stored.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn interrupted(files: &impl Files) -> io::Result<Vec<Self>> {
        let mut all = Vec::new();
        for (name, _) in files.notes("saving")? {
            let bytes = files.note(&format!("saving/{name}"))?.unwrap_or_default();
            let session = serde_json::from_slice::<Self>(&bytes)
                .ok()
                .filter(|session| name == format!("{}.json", session.id));
            let later = |session: &Self| -> io::Result<bool> {
                let stored = files
                    .note(&note(&session.id))?
                    .and_then(|bytes| serde_json::from_slice::<Self>(&bytes).ok());
                Ok(stored.is_some_and(|stored| stored.operations >= session.operations))
            };
            match session {
                Some(session) if !later(&session)? => all.push(session),
                // It was stored, or nobody can know what was meant.
                _ => files.drop_note(&format!("saving/{name}"))?,
            }
        }
        Ok(all)
    }

    /// Ends it.
    ///
    /// # Errors
    /// When that cannot be written down.
    pub fn end_session(&self, files: &impl Files) -> io::Result<()> {
        files.drop_note(&note(&self.id))
    }

    /// Whether nothing would be lost with it.
    pub fn is_saved(&self) -> bool {
        self.saving.is_empty() && !self.documents.values().any(Document::is_edited)
    }

    /// Remembers an edit. What was taken back before cannot be made again after it.
    pub fn remember(&mut self, edit: Edit) {
        self.done.push(edit);
        if self.done.len() > REMEMBERED {
            self.done.remove(0);
        }
        self.undone.clear();
    }

    /// Remembers a try that came to nothing.
    pub fn remember_failed(&mut self, failed: Failed) {
        self.failed.push(failed);
        if self.failed.len() > FAILED {
            self.failed.remove(0);
        }
    }

    /// All files that it names.
    pub fn paths(&self) -> BTreeSet<&String> {
        let edits = self.done.iter().chain(&self.undone).flat_map(|edit| &edit.changes);
        let changes = edits.map(|change| &change.path);
        let saving = self.saving.iter().map(|saving| &saving.path);
        self.documents.keys().chain(changes).chain(saving).collect()
    }

    fn contents(&self) -> impl Iterator<Item = &String> {
        let edits = self.done.iter().chain(&self.undone).flat_map(|edit| &edit.changes);
        let versions = edits.flat_map(|change| [&change.from, &change.to]);
        let versions = versions.chain(self.documents.values().map(|one| &one.now));
        let seen = self.documents.values().map(|one| &one.seen);
        let saving = self.saving.iter().flat_map(|saving| [&saving.from, &saving.to]);
        versions
            .flat_map(|version| [&version.text, &version.base])
            .chain(seen)
            .chain(saving)
            .chain(self.trail.iter().flat_map(|step| [&step.from, &step.to, &step.over]))
            .flatten()
    }
}

impl Document {
    /// Whether the buffer has edits that the file had not.
    pub fn is_edited(&self) -> bool {
        self.now.is_edited()
    }

    /// A document whose buffer is the file.
    pub fn of(now: Version) -> Self {
        Self {
            state: State::On(Ground::Idle),
            seen: now.text.clone(),
            now,
            selection: None,
        }
    }
}

/// Keeps bytes.
///
/// # Errors
/// When they cannot be written.
pub fn write_content(files: &impl Files, content: &Content, bytes: &[u8]) -> io::Result<()> {
    match content {
        Some(content) => files.write_note(&blob(content), bytes),
        None => Ok(()),
    }
}

/// Bytes that were kept; `None` when they are not there, or not what they were.
///
/// # Errors
/// When they cannot be read.
pub fn read_kept_content(files: &impl Files, content: &str) -> io::Result<Option<Vec<u8>>> {
    if !content.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Ok(None);
    }
    let bytes = files.note(&blob(content))?;
    Ok(bytes.filter(|bytes| Digest::of(bytes).to_string() == content))
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
            && name == format!("{}.json", session.id)
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
pub fn tidy(files: &impl Files, now: u64) -> io::Result<Vec<String>> {
    let large = || -> io::Result<bool> { Ok(files.notes("versions")?.iter().map(|(_, length)| length).sum::<u64>() > ROOM) };
    match files.notes("sessions")?.len() >= MANY || large()? {
        true => collect(files, now),
        false => Ok(Vec::new()),
    }
}

/// Ends sessions that have expired, and the oldest of those that nobody opened and that have nothing unsaved, where these are too many, or their
/// versions too large: what was ended to make room is told in sentences. Drops versions that no session names. A session that cannot be read stays,
/// and so do all versions then.
///
/// # Errors
/// When the disk does not answer.
pub fn collect(files: &impl Files, now: u64) -> io::Result<Vec<String>> {
    let ended = collect_beyond(files, now, KEPT, ROOM)?;
    let shown = ended.iter().take(ENDED).cloned().collect::<Vec<_>>().join(", ");
    let more = match ended.len().saturating_sub(ENDED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let told = format!("to make room the oldest sessions of single edits have ended, which can be taken back no more: {shown}{more}");
    Ok(if ended.is_empty() { Vec::new() } else { vec![told] })
}

/// As [`collect`], with `most` sessions that nobody opened and so many bytes of their versions, but for the last of them. Handles of those ended.
pub(super) fn collect_beyond(files: &impl Files, now: u64, most: usize, room: u64) -> io::Result<Vec<String>> {
    let lengths: BTreeMap<String, u64> = files.notes("versions")?.into_iter().collect();
    let names = files.notes("sessions")?;
    let sessions = all(files)?;
    let (mut wanted, mut single, mut taken) = (BTreeSet::new(), 0, 0);
    let mut ended = Vec::new();
    for session in &sessions {
        let own: BTreeSet<&String> = session.contents().filter(|content| !wanted.contains(*content)).collect();
        if session.has_expired(now) {
            session.end_session(files)?;
            continue;
        }
        if !session.opened && session.is_saved() {
            let length: u64 = own.iter().filter_map(|content| lengths.get(*content)).sum();
            if single == most || single > 0 && taken + length > room {
                session.end_session(files)?;
                ended.push(session.id.clone());
                continue;
            }
            single += 1;
            taken += length;
        }
        wanted.extend(own);
    }
    if sessions.len() == names.len() {
        for name in lengths.keys().filter(|name| !wanted.contains(*name)) {
            files.drop_note(&format!("versions/{name}"))?;
        }
    }
    Ok(ended)
}
