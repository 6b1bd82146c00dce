//! Pending batches on disk, in `.cortex/batches`: for each a note on the sent questions (`ID.json`: no prompts, no keys) and, once fetched, its
//! answers (`ID.answers.jsonl`).
//!
//! A note is written before the batch is sent and answers are written before any is returned, both atomically. Answers are removed only when the run
//! that got them ends well, so that the next run finds them if this one is killed: they are paid for.

use super::reply::{Complaint, Reply, Usage};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Age in seconds at which a batch expires; providers keep answers for 29 days.
const OLDEST: u64 = 30 * 86_400;
/// Limit of bytes of a file here.
const LARGEST: u64 = 1 << 30;

/// The note on a sent batch.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Note {
    pub(super) api: String,
    pub(super) base_url: String,
    /// The provider's name of the batch; `None` while it is being sent.
    pub(super) remote: Option<String>,
    /// Time of sending, in seconds since 1970.
    pub(super) sent: u64,
    /// For each custom id the digest of its prompt.
    pub(super) items: BTreeMap<String, String>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct FetchedAnswer {
    pub(super) id: String,
    #[serde(default)]
    text: String,
    #[serde(default)]
    cut: bool,
    #[serde(default)]
    mended: bool,
    #[serde(default)]
    usage: Option<Usage>,
    /// The refusal, if there is no answer: status, kind, message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    refused: Option<(u16, String, String)>,
}

/// The stored data of one batch.
pub(super) struct Batch {
    pub(super) id: String,
    pub(super) note: Note,
    /// Fetched answers that are not used up.
    pub(super) answers: Option<Vec<FetchedAnswer>>,
}

pub(super) struct BatchFolder(PathBuf);

impl FetchedAnswer {
    pub(super) fn from_result(id: &str, result: Result<Reply, Complaint>) -> Self {
        let id = id.to_owned();
        match result {
            Ok(reply) => Self {
                id,
                text: reply.text,
                cut: reply.cut,
                mended: reply.mended,
                usage: reply.usage,
                refused: None,
            },
            Err(complaint) => Self {
                id,
                refused: Some((complaint.status, complaint.kind, complaint.message)),
                ..Self::default()
            },
        }
    }

    pub(super) fn result_within(&self, max_tokens: u64) -> Result<Reply, Complaint> {
        if let Some((status, kind, message)) = self.refused.clone() {
            return Err(Complaint {
                status,
                kind,
                message,
                numbers: None,
            });
        }
        let mut reply = Reply::new(max_tokens);
        reply.append_text(&self.text);
        reply.whole = true;
        reply.cut |= self.cut;
        reply.mended = self.mended;
        reply.usage = self.usage;
        Ok(reply)
    }
}

impl BatchFolder {
    pub(super) fn new(root: &Path) -> Self {
        Self(root.join(".cortex").join("batches"))
    }

    /// Reads all batches. Skips unreadable ones, and removes expired ones.
    pub(super) fn read_batches(&self, now: u64) -> io::Result<Vec<Batch>> {
        let entries = match std::fs::read_dir(&self.0) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut names: Vec<String> = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
        names.sort();
        let mut batches = Vec::new();
        for id in names.iter().filter_map(|name| name.strip_suffix(".json")) {
            let Some(note) = self
                .read_shelf_file(&format!("{id}.json"))
                .and_then(|text| serde_json::from_str::<Note>(&text).ok())
            else {
                continue;
            };
            if now.saturating_sub(note.sent) > OLDEST {
                self.remove_batch(id);
                continue;
            }
            let answers = self
                .read_shelf_file(&format!("{id}.answers.jsonl"))
                .map(|text| text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect());
            batches.push(Batch {
                id: id.to_owned(),
                note,
                answers,
            });
        }
        Ok(batches)
    }

    /// Returns an unused name for a batch.
    pub(super) fn free_name(&self, wanted: &str) -> String {
        let mut name = wanted.to_owned();
        for number in 2.. {
            if !self.0.join(format!("{name}.json")).exists() {
                break;
            }
            name = format!("{wanted}-{number}");
        }
        name
    }

    pub(super) fn write_note(&self, id: &str, note: &Note) -> io::Result<()> {
        self.write_file(&format!("{id}.json"), serde_json::to_string_pretty(note)? + "\n")
    }

    pub(super) fn write_answers(&self, id: &str, answers: &[FetchedAnswer]) -> io::Result<()> {
        let mut text = String::new();
        for answer in answers {
            text += &serde_json::to_string(answer)?;
            text.push('\n');
        }
        self.write_file(&format!("{id}.answers.jsonl"), text)
    }

    /// Removes a batch. If that fails, a later run removes it.
    pub(super) fn remove_batch(&self, id: &str) {
        // Remove the note last: without it no run would find the answers.
        let _ = std::fs::remove_file(self.0.join(format!("{id}.answers.jsonl")));
        let _ = std::fs::remove_file(self.0.join(format!("{id}.json")));
    }

    fn read_shelf_file(&self, name: &str) -> Option<String> {
        let path = self.0.join(name);
        let metadata = std::fs::metadata(&path).ok()?;
        (metadata.is_file() && metadata.len() <= LARGEST).then(|| std::fs::read_to_string(path).ok())?
    }

    fn write_file(&self, name: &str, text: String) -> io::Result<()> {
        std::fs::create_dir_all(&self.0)?;
        write_durably(&self.0, name, &text)
    }
}

/// Writes a file atomically and durably.
pub(super) fn write_durably(folder: &Path, name: &str, text: &str) -> io::Result<()> {
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(folder.join(name)).map_err(|error| error.error)?;
    std::fs::File::open(folder)?.sync_all()
}
