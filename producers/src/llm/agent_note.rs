//! Notes on questions for agents, in `.cortex/work`: for each that was handed out or answered a file `ID.json`, written whole or not at all.
//! And `anew.json`: targets that a person wants answered anew.
//!
//! Whoever writes here has the checkout to himself (see the store's claim of it). An answer stays for a while after it was used, so that
//! a run that is killed before its result is filed finds it again.

use super::agent::ID_DIGITS;
use super::shelf::replace;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Notes that nobody wrote to for so long go.
const OLDEST: Duration = Duration::from_secs(30 * 86_400);
/// No file here is larger.
const LARGEST: u64 = 16 << 20;
/// Which targets are to be answered anew.
const ANEW: &str = "anew.json";

/// What is known of a question.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// The target.
    pub label: String,
    /// Whether only what changes was asked for.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub patch: bool,
    /// What was asked when it was handed out, so that what moved since can be told.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub asked: String,
    /// Who works at it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<Lease>,
    /// The answer, unless it was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Given>,
    /// The last answer that was of no use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<Refused>,
}

/// Who works at a question, and for how long nobody else does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// His name; empty for one who gave none.
    pub agent: String,
    /// Seconds since 1970.
    pub until: u64,
}

/// An answer as it was handed in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Given {
    /// Who gave it.
    pub agent: String,
    /// Seconds since 1970.
    pub at: u64,
    /// Its words.
    pub text: String,
}

/// An answer of no use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    /// How many there were, this one included.
    pub times: u32,
    /// What is wrong with it.
    pub why: Vec<String>,
    /// The answer.
    pub given: Given,
}

/// The folder.
pub struct Notes {
    root: PathBuf,
}

impl Notes {
    pub(super) fn new(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// The folder, if it is there. A checkout may hold anything in its place: no link is followed.
    fn folder(&self) -> io::Result<Option<PathBuf>> {
        let mut path = self.root.clone();
        for name in [".cortex", "work"] {
            path.push(name);
            match std::fs::symlink_metadata(&path) {
                Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
                Err(error) => return Err(error),
                Ok(found) if found.is_dir() => {}
                Ok(_) => return Err(io::Error::new(ErrorKind::NotADirectory, format!("{} is no folder", path.display()))),
            }
        }
        Ok(Some(path))
    }

    /// The note on a question; `None` when there is none, or none that can be read.
    ///
    /// # Errors
    /// When the folder cannot be used.
    pub fn read(&self, id: &str) -> io::Result<Option<Note>> {
        if !is_id(id) {
            return Ok(None);
        }
        let text = self.text(&format!("{id}.json"))?;
        Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
    }

    /// Writes the note on a question, durably.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&self, id: &str, note: &Note) -> io::Result<()> {
        self.write_note(&format!("{id}.json"), &(serde_json::to_string_pretty(note)? + "\n"))
    }

    /// All notes, by the names of their questions.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn all(&self) -> io::Result<Vec<(String, Note)>> {
        let mut notes = Vec::new();
        for path in self.files()? {
            let id = path.file_name().and_then(|name| name.to_str()?.strip_suffix(".json"));
            if let Some(id) = id
                && let Some(note) = self.read(id)?
            {
                notes.push((id.to_owned(), note));
            }
        }
        notes.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(notes)
    }

    /// Removes what nobody wrote to for long.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn prune(&self, now: SystemTime) -> io::Result<()> {
        for path in self.files()? {
            let written = std::fs::symlink_metadata(&path).and_then(|found| found.modified());
            let is_old = written.is_ok_and(|written| now.duration_since(written).is_ok_and(|age| age > OLDEST));
            if is_old && path.file_name().is_some_and(|name| name != ANEW) {
                // What cannot be removed is no harm.
                let _ = std::fs::remove_file(path);
            }
        }
        Ok(())
    }

    /// Targets that are to be answered anew.
    ///
    /// # Errors
    /// When the folder cannot be used.
    pub fn anew(&self) -> io::Result<BTreeSet<String>> {
        let text = self.text(ANEW)?;
        Ok(text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default())
    }

    /// Wants targets answered anew: what was answered about them before serves no more.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn want_anew(&self, labels: &BTreeSet<String>) -> io::Result<()> {
        if labels.is_empty() {
            return Ok(());
        }
        let mut all = self.anew()?;
        all.extend(labels.iter().cloned());
        self.set_anew(&all)?;
        for (id, mut note) in self.all()? {
            if note.answer.is_some() && labels.contains(&note.label) {
                note.answer = None;
                self.write(&id, &note)?;
            }
        }
        Ok(())
    }

    /// A target was answered anew.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn answered_anew(&self, label: &str) -> io::Result<()> {
        let mut all = self.anew()?;
        if all.remove(label) { self.set_anew(&all) } else { Ok(()) }
    }

    fn set_anew(&self, labels: &BTreeSet<String>) -> io::Result<()> {
        self.write_note(ANEW, &(serde_json::to_string_pretty(labels)? + "\n"))
    }

    fn files(&self) -> io::Result<Vec<PathBuf>> {
        match self.folder()? {
            None => Ok(Vec::new()),
            Some(folder) => Ok(std::fs::read_dir(folder)?.filter_map(|entry| Some(entry.ok()?.path())).collect()),
        }
    }

    fn text(&self, name: &str) -> io::Result<Option<String>> {
        let Some(folder) = self.folder()? else { return Ok(None) };
        let path = folder.join(name);
        match std::fs::symlink_metadata(&path) {
            Ok(found) if found.is_file() && found.len() <= LARGEST => Ok(std::fs::read_to_string(path).ok()),
            _ => Ok(None),
        }
    }

    fn write_note(&self, name: &str, text: &str) -> io::Result<()> {
        let folder = match self.folder()? {
            Some(folder) => folder,
            None => {
                std::fs::create_dir_all(self.root.join(".cortex/work"))?;
                self.root.join(".cortex/work")
            }
        };
        replace(&folder, name, text)
    }
}

/// Whether a text can be the name of a question; no other becomes part of a path.
pub fn is_id(text: &str) -> bool {
    text.len() == ID_DIGITS && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}
