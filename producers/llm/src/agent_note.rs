//! Notes on questions for agents, in `.cortex/work`: one file `ID.json` for each question that was leased or answered, replaced atomically.
//! `anew.json` lists the targets for which a person requests a new answer.
//!
//! Writers hold the lock of the checkout (see the store). An answer stays for a while after its use, so that the next run finds it again if
//! this one is killed before it stores the result.

use super::pending_batches::write_durably;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Hex digits of a question's id.
pub(super) const ID_DIGITS: usize = 16;
/// Age of the last write after which a note is removed.
const OLDEST: Duration = Duration::from_secs(30 * 86_400);
/// Limit of bytes of a file here.
const LARGEST: u64 = 16 << 20;
/// Name of the list of targets that need a new answer.
const ANEW: &str = "anew.json";

/// The stored facts about a question.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    pub label: String,
    /// Whether the question asks for a patch only.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub patch: bool,
    /// The text of the question when it was leased, for a diff with the present one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub asked: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<Lease>,
    /// The answer, unless it was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<SubmittedAnswer>,
    /// The last answer that was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<Refused>,
}

/// The lease of a question to one agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// Name of the agent; empty if it gave none.
    pub agent: String,
    /// End of the lease, in seconds since 1970.
    pub until: u64,
}

/// An answer as it was handed in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubmittedAnswer {
    pub agent: String,
    /// When it was handed in, in seconds since 1970.
    pub at: u64,
    pub text: String,
}

/// A refused answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    /// Number of refusals so far, this one included.
    pub times: u32,
    /// The faults of the answer.
    pub why: Vec<String>,
    pub given: SubmittedAnswer,
}

/// The folder of the notes.
pub struct Notes {
    root: PathBuf,
}

impl Notes {
    pub(super) fn new(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// Returns the folder, if it exists. Follows no link: a checkout may have anything in its place.
    fn existing_folder(&self) -> io::Result<Option<PathBuf>> {
        let mut path = self.root.clone();
        for name in [".cortex", "work"] {
            path.push(name);
            match std::fs::symlink_metadata(&path) {
                Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
                Err(error) => return Err(error),
                Ok(found) if found.is_dir() => {}
                Ok(_) => {
                    return Err(io::Error::new(
                        ErrorKind::NotADirectory,
                        format!("{} is not a folder", path.display()),
                    ));
                }
            }
        }
        Ok(Some(path))
    }

    /// Reads the note on a question; `None` when there is none or it cannot be parsed. Fails when the folder cannot be used.
    pub fn read_note(&self, id: &str) -> io::Result<Option<Note>> {
        if !is_id(id) {
            return Ok(None);
        }
        let text = self.note_text(&format!("{id}.json"))?;
        Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
    }

    /// Writes the note on a question, durably.
    pub fn note_question(&self, id: &str, note: &Note) -> io::Result<()> {
        self.write_note(&format!("{id}.json"), &(serde_json::to_string_pretty(note)? + "\n"))
    }

    /// Reads all notes, each with the id of its question.
    pub fn read_notes(&self) -> io::Result<Vec<(String, Note)>> {
        let mut notes = Vec::new();
        for path in self.note_files()? {
            let id = path.file_name().and_then(|name| name.to_str()?.strip_suffix(".json"));
            if let Some(id) = id
                && let Some(note) = self.read_note(id)?
            {
                notes.push((id.to_owned(), note));
            }
        }
        notes.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(notes)
    }

    /// Removes the notes whose last write is older than `OLDEST`.
    pub fn prune(&self, now: SystemTime) -> io::Result<()> {
        for path in self.note_files()? {
            let written = std::fs::symlink_metadata(&path).and_then(|found| found.modified());
            let is_old = written.is_ok_and(|written| now.duration_since(written).is_ok_and(|age| age > OLDEST));
            if is_old && path.file_name().is_some_and(|name| name != ANEW) {
                // A note that cannot be removed does no harm.
                let _ = std::fs::remove_file(path);
            }
        }
        Ok(())
    }

    /// Reads the targets that need a new answer. Fails when the folder cannot be used.
    pub fn anew(&self) -> io::Result<BTreeSet<String>> {
        let text = self.note_text(ANEW)?;
        Ok(text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default())
    }

    /// Requests new answers for targets: their earlier answers are no longer used.
    pub fn want_anew(&self, labels: &BTreeSet<String>) -> io::Result<()> {
        if labels.is_empty() {
            return Ok(());
        }
        let mut all = self.anew()?;
        all.extend(labels.iter().cloned());
        self.set_anew(&all)?;
        for (id, mut note) in self.read_notes()? {
            if note.answer.is_some() && labels.contains(&note.label) {
                note.answer = None;
                self.note_question(&id, &note)?;
            }
        }
        Ok(())
    }

    /// Marks a target as answered anew.
    pub fn answered_anew(&self, label: &str) -> io::Result<()> {
        let mut all = self.anew()?;
        if all.remove(label) { self.set_anew(&all) } else { Ok(()) }
    }

    fn set_anew(&self, labels: &BTreeSet<String>) -> io::Result<()> {
        self.write_note(ANEW, &(serde_json::to_string_pretty(labels)? + "\n"))
    }

    fn note_files(&self) -> io::Result<Vec<PathBuf>> {
        match self.existing_folder()? {
            None => Ok(Vec::new()),
            Some(folder) => Ok(std::fs::read_dir(folder)?.filter_map(|entry| Some(entry.ok()?.path())).collect()),
        }
    }

    fn note_text(&self, name: &str) -> io::Result<Option<String>> {
        let Some(folder) = self.existing_folder()? else { return Ok(None) };
        let path = folder.join(name);
        match std::fs::symlink_metadata(&path) {
            Ok(found) if found.is_file() && found.len() <= LARGEST => Ok(std::fs::read_to_string(path).ok()),
            _ => Ok(None),
        }
    }

    fn write_note(&self, name: &str, text: &str) -> io::Result<()> {
        let folder = match self.existing_folder()? {
            Some(folder) => folder,
            None => {
                std::fs::create_dir_all(self.root.join(".cortex/work"))?;
                self.root.join(".cortex/work")
            }
        };
        write_durably(&folder, name, text)
    }
}

/// Whether a text can be the id of a question; no other text becomes part of a path.
pub fn is_id(text: &str) -> bool {
    text.len() == ID_DIGITS && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}
