//! Recorded answers: a file of JSON lines, one per answer, for tests and CI without a network.
//!
//! A line has the `text` and identifies its question: by `digest` (over the turns) and `model` in a recording, or, in lines written by hand, by
//! `contains`: texts that must all be in the conversation. The last line with the digest wins, then the first whose texts are contained. A line that
//! is not JSON, because its writer was killed, is skipped. A line may have `cut` and `usage` (`input`, `cached`, `output`). Prompts are not recorded.

use super::reply::{Reply, Usage};
use super::settings::Model;
use super::{Question, Role, Turn};
use engine::seams::producer::Failure;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use engine::values::digest::Digest;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Limit of bytes of a recording.
const LARGEST: u64 = 256 << 20;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RecordedAnswer {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    digest: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    model: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    contains: Vec<String>,
    text: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    cut: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    usage: Option<Counted>,
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Counted {
    #[serde(default)]
    input: u64,
    #[serde(default)]
    cached: u64,
    #[serde(default)]
    output: u64,
}

/// A parsed recording.
struct Recording {
    /// The diagnostic about skipped lines, until it is reported.
    torn: Mutex<Option<Diagnostic>>,
    lines: Vec<RecordedAnswer>,
    by_digest: BTreeMap<String, Vec<usize>>,
}

/// All recordings of this process, each read once.
#[derive(Default)]
pub(super) struct Recordings {
    read: Mutex<BTreeMap<PathBuf, Arc<Recording>>>,
    writing: Mutex<()>,
}

/// Returns the digest of a conversation, however its turns are split into parts.
pub(super) fn digest_of_turns(turns: &[Turn]) -> Digest {
    let mut bytes = b"cortex-turns-1".to_vec();
    for turn in turns {
        let role = match turn.role {
            Role::System => b's',
            Role::User => b'u',
            Role::Assistant => b'a',
        };
        bytes.push(role);
        let len: usize = turn.parts.iter().map(|part| part.text.len()).sum();
        bytes.extend_from_slice(&(len as u64).to_le_bytes());
        turn.parts.iter().for_each(|part| bytes.extend_from_slice(part.text.as_bytes()));
    }
    Digest::of(&bytes)
}

impl Recordings {
    /// Returns the recorded answer to a question, and a diagnostic of the recording, if any.
    pub(super) fn recorded_answer(
        &self,
        root: &Path,
        recording: &str,
        model: &Model<'_>,
        question: &Question<'_>,
    ) -> Result<(Reply, Option<Diagnostic>), Failure> {
        let path = path_in_workspace(root, recording)?;
        let found = self.recording(&path, recording)?;
        let digest = digest_of_turns(question.turns).to_string();
        let is_model = |line: &&RecordedAnswer| model.name.is_empty() || line.model.is_empty() || line.model == model.name;
        let recorded = found
            .by_digest
            .get(&digest)
            .into_iter()
            .flatten()
            .rev()
            .map(|at| &found.lines[*at])
            .find(is_model);
        let is_said = |text: &String| {
            question
                .turns
                .iter()
                .any(|turn| turn.parts.iter().any(|part| part.text.contains(text)))
        };
        let by_hand = || {
            let mut lines = found.lines.iter().filter(|line| line.digest.is_empty()).filter(is_model);
            lines.find(|line| line.contains.iter().all(is_said))
        };
        let Some(line) = recorded.or_else(by_hand) else {
            let why = Diagnostic::error(ErrorCode::E_REPLAY, format!("{recording} has no answer to this question"))
                .found(digest)
                .hint(format!(
                    "record one: set record = \"{recording}\" on a real model and build with that once"
                ));
            return Err(Failure::Permanent(Box::new(why)));
        };
        let mut reply = Reply::to(question);
        reply.append_text(&line.text);
        reply.whole = true;
        reply.cut |= line.cut;
        reply.usage = line.usage.map(|usage| Usage {
            input: usage.input,
            cached: usage.cached,
            written: 0,
            output: usage.output,
        });
        let torn = found.torn.lock().unwrap_or_else(PoisonError::into_inner).take();
        Ok((reply, torn))
    }

    /// Appends an answer to a recording, or returns why that failed. Writes the line at once, so that no line of another process is inside it.
    pub(super) fn append_recording(
        &self,
        root: &Path,
        record: &str,
        model: &Model<'_>,
        question: &Question<'_>,
        reply: &Reply,
    ) -> Option<Diagnostic> {
        let line = RecordedAnswer {
            digest: digest_of_turns(question.turns).to_string(),
            model: model.name.to_owned(),
            contains: Vec::new(),
            text: reply.text.clone(),
            cut: reply.cut,
            usage: reply.usage.map(|usage| Counted {
                input: usage.input,
                cached: usage.cached,
                output: usage.output,
            }),
        };
        let _one_at_a_time = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let written = path_in_workspace(root, record)
            .map_err(|_| std::io::Error::from(std::io::ErrorKind::InvalidInput))
            .and_then(|path| {
                if let Some(folder) = path.parent() {
                    std::fs::create_dir_all(folder)?;
                }
                let mut text = serde_json::to_string(&line)?;
                text.push('\n');
                let mut file = std::fs::OpenOptions::new().append(true).read(true).create(true).open(path)?;
                if is_torn(&mut file)? {
                    text.insert(0, '\n');
                }
                file.write_all(text.as_bytes())
            });
        written.err().map(|error| {
            Diagnostic::warning(
                ErrorCode::W_RECORD,
                format!("the answer could not be recorded in {record}: {error}"),
            )
            .hint("check the folder's permissions and the disk; the answer itself is kept")
        })
    }

    fn recording(&self, path: &Path, shown: &str) -> Result<Arc<Recording>, Failure> {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = read.get(path) {
            return Ok(Arc::clone(known));
        }
        let recording = Arc::new(load_recording(path, shown)?);
        read.insert(path.to_owned(), Arc::clone(&recording));
        Ok(recording)
    }
}

fn load_recording(path: &Path, shown: &str) -> Result<Recording, Failure> {
    let wrong = |why: Diagnostic| Failure::Limit(Box::new(why));
    let unreadable = |why: String| {
        let why = Diagnostic::error(ErrorCode::E_REPLAY, format!("{shown} cannot be read: {why}"));
        wrong(why.hint("'recording' of a model is a file of JSON lines in the workspace"))
    };
    let size = std::fs::metadata(path).map_err(|error| unreadable(error.to_string()))?;
    if !size.is_file() || size.len() > LARGEST {
        return Err(unreadable(format!("it is not a file of at most {} MiB", LARGEST >> 20)));
    }
    let text = std::fs::read(path).map_err(|error| unreadable(error.to_string()))?;
    let text = String::from_utf8_lossy(&text);
    let mut recording = Recording {
        torn: Mutex::default(),
        lines: Vec::new(),
        by_digest: BTreeMap::new(),
    };
    let mut torn: Vec<u32> = Vec::new();
    for (number, line) in (1_u32..).zip(text.lines()) {
        if line.trim().is_empty() {
            continue;
        }
        let read: Result<RecordedAnswer, _> = serde_json::from_str(line);
        if matches!(&read, Err(error) if !error.is_data()) {
            torn.push(number);
            continue;
        }
        let line = read.map_err(|error| {
            let why = Diagnostic::error(ErrorCode::E_REPLAY, format!("this line is not a recorded answer: {error}")).at(shown, number, 0);
            wrong(why.hint("a line is {\"digest\": …, \"text\": …}, or {\"contains\": [\"…\"], \"text\": …} when written by hand"))
        })?;
        if !line.digest.is_empty() {
            recording
                .by_digest
                .entry(line.digest.clone())
                .or_default()
                .push(recording.lines.len());
        }
        recording.lines.push(line);
    }
    if let Some(&first) = torn.first() {
        let message = match torn.len() {
            1 => "this line is torn and was left out".to_owned(),
            number => format!("{number} lines are torn and were left out, this one first"),
        };
        let why = Diagnostic::warning(ErrorCode::W_REPLAY, message).at(shown, first, 0);
        let why = why.hint("delete it, and record its answer again if it is missed");
        recording.torn = Mutex::new(Some(why));
    }
    Ok(recording)
}

/// Whether the last line has no end: its writer was killed.
fn is_torn(file: &mut std::fs::File) -> std::io::Result<bool> {
    if file.metadata()?.len() == 0 {
        return Ok(false);
    }
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(last != *b"\n")
}

/// Returns the path of a file of the workspace.
fn path_in_workspace(root: &Path, path: &str) -> Result<PathBuf, Failure> {
    let relative = Path::new(path);
    if path.is_empty()
        || !relative
            .components()
            .all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
    {
        let why = Diagnostic::error(ErrorCode::E_REPLAY, "a recording is a file in the workspace").found(path);
        return Err(Failure::Permanent(Box::new(
            why.hint("write a path relative to the workspace, without '..'"),
        )));
    }
    Ok(root.join(relative))
}
