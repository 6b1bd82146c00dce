//! The transcript of a conversation, stored below `.cortex/chat/` under the handle of its rounds: a question is on disk before the model is asked,
//! each lookup before the next, the answer before it is shown whole. So a conversation can continue after a crash.

use crate::checkout::{self, FolderLock};
use crate::context::stored_conversations::Conversations;
use engine::seams::paid::Spent;
use producers::converse::TurnData;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::Path;

/// Folder of the transcripts, below the workspace's root.
const FOLDER: &str = ".cortex/chat";
/// Limit of stored questions; the oldest is dropped first.
const MOST: usize = 100;
/// Limit of bytes of a transcript.
const MOST_BYTES: usize = 16 << 20;

/// A stored conversation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Transcript {
    /// Handle of the conversation.
    pub id: String,
    /// Types, members and files that every context shows, as a query names them.
    pub pins: Vec<String>,
    /// The edit session of a proposal that is neither accepted nor dropped.
    pub proposal: Option<String>,
    /// Edit sessions whose changes were accepted, oldest first: those that can be undone.
    pub accepted: Vec<String>,
    /// Cost of the answers.
    pub spent: Spent,
    /// Questions and answers, oldest first.
    pub exchanges: Vec<Exchange>,
}

/// A question and its answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Exchange {
    pub question: String,
    /// The context found for it; kept for the last question only.
    pub context: String,
    /// The reasons for the choice of the context; kept for the last question only.
    pub reasons: String,
    pub round: u64,
    /// Further lookups of the model; kept for the last question only.
    pub steps: Vec<LookupTurn>,
    /// The answer, as far as it was received.
    pub answer: String,
    pub state: ExchangeState,
}

/// A turn in which the model looked something up.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LookupTurn {
    pub said: String,
    pub found: Vec<TurnData>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExchangeState {
    /// No answer yet; after a crash there will be none.
    #[default]
    Open,
    /// The answer is whole.
    Answered,
    /// A person stopped the answer.
    Stopped,
    /// No answer could be produced.
    Failed,
}

impl Transcript {
    /// Reads the transcript of a conversation; empty if nothing is stored. Fails when the file is not a valid transcript.
    pub fn read_transcript(root: &Path, id: &str) -> io::Result<Self> {
        // Check the handle: it must not lead to another path.
        let is_handle = id
            .strip_prefix('c')
            .is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()));
        let bytes = match is_handle {
            true => checkout::read_file(root, &transcript_file(id), MOST_BYTES)?,
            false => None,
        };
        let mut transcript = match bytes {
            None => Self::default(),
            Some(bytes) => serde_json::from_slice(&bytes)
                .map_err(|error| io::Error::other(format!("{} cannot be read: {error}", transcript_file(id))))?,
        };
        id.clone_into(&mut transcript.id);
        Ok(transcript)
    }

    /// Locks a conversation against other processes for as long as the value lives; `None` when another process has locked it. Fails when
    /// the folder or the file of the lock cannot be used.
    pub fn lock_conversation(root: &Path, id: &str) -> io::Result<Option<FolderLock>> {
        drop(checkout::hold_private(root, FOLDER)?);
        checkout::try_lock_file(root, &lock_file_name(id))
    }

    /// Writes the transcript atomically. Fails when it cannot be written; then the file is unchanged.
    pub fn write_transcript(&self, root: &Path) -> io::Result<()> {
        let mut bytes = serde_json::to_vec(self)?;
        bytes.push(b'\n');
        // Only the owner may read a person's questions.
        drop(checkout::hold_private(root, FOLDER)?);
        checkout::write_file(root, &transcript_file(&self.id), &bytes)
    }

    /// Begins an exchange. Of earlier ones only question and answer stay.
    pub fn start_exchange(&mut self, exchange: Exchange) {
        for earlier in &mut self.exchanges {
            earlier.context.clear();
            earlier.reasons.clear();
            earlier.steps.clear();
        }
        self.exchanges.push(exchange);
        let forgotten = self.exchanges.len().saturating_sub(MOST);
        self.exchanges.drain(..forgotten);
    }

    pub fn last_mut(&mut self) -> Option<&mut Exchange> {
        self.exchanges.last_mut()
    }
}

/// Returns the file that a process locks while it uses the conversation. It begins with a dot: [`checkout::list_files`] skips it.
fn lock_file_name(id: &str) -> String {
    format!("{FOLDER}/.{id}.lock")
}

fn transcript_file(id: &str) -> String {
    format!("{FOLDER}/{id}.json")
}

/// Returns the last used conversation that has a transcript. Removes transcripts of forgotten conversations.
pub fn latest(root: &Path) -> io::Result<Option<String>> {
    let conversations = Conversations::from_file(root)?;
    let mut latest = None;
    for (name, _) in checkout::list_files(root, FOLDER)? {
        let Some(id) = name.strip_suffix(".json") else { continue };
        match conversations.find(id) {
            Ok(found) => latest = latest.max(Some((found.used, id.to_owned()))),
            // A file that cannot be removed is left behind.
            Err(_) => [transcript_file(id), lock_file_name(id)]
                .iter()
                .for_each(|name| drop(checkout::remove(root, name))),
        }
    }
    Ok(latest.map(|(_, id)| id))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::rounds::Round;

    fn exchange(question: &str, context: &str) -> Exchange {
        Exchange {
            question: question.to_owned(),
            context: context.to_owned(),
            ..Exchange::default()
        }
    }

    #[test]
    fn a_conversation_is_gone_on_with_in_one_place() {
        let folder = tempfile::tempdir().expect("folder");
        let hold = |id: &str| Transcript::lock_conversation(folder.path(), id).expect("a lock");
        let held = hold("c1");
        assert!(held.is_some() && hold("c2").is_some());
        // A second open file of the same process locks like one of another process.
        assert!(hold("c1").is_none());
        drop(held);
        assert!(hold("c1").is_some());
        assert!(checkout::list_files(folder.path(), FOLDER).expect("readable").is_empty());
    }

    #[test]
    fn a_transcript_is_found_again_as_it_was_when_the_program_ended() {
        let folder = tempfile::tempdir().expect("folder");
        let root = folder.path();
        assert_eq!(latest(root).expect("readable"), None);
        let begin = || Conversations::change(root, |all| all.start_conversation().id.clone()).expect("written");
        for id in [begin(), begin()] {
            let mut transcript = Transcript::read_transcript(root, &id).expect("empty");
            transcript.start_exchange(exchange("one?", "context one"));
            transcript.last_mut().expect("begun").answer = "one.".to_owned();
            transcript.start_exchange(exchange("two?", "context two"));
            transcript.write_transcript(root).expect("written");
        }
        assert_eq!(latest(root).expect("readable").as_deref(), Some("c2"));
        Conversations::change(root, |all| {
            all.continue_conversation("c1").expect("open").add_round(Round::default())
        })
        .expect("written");
        assert_eq!(latest(root).expect("readable").as_deref(), Some("c1"));
        let found = Transcript::read_transcript(root, "c1").expect("readable");
        let stands: Vec<(&str, &str, ExchangeState)> = found
            .exchanges
            .iter()
            .map(|one| (one.answer.as_str(), one.context.as_str(), one.state))
            .collect();
        assert_eq!(
            stands,
            [("one.", "", ExchangeState::Open), ("", "context two", ExchangeState::Open)]
        );
        std::fs::write(root.join(".cortex/chat/c7.json"), "{}").expect("file");
        assert_eq!(latest(root).expect("readable").as_deref(), Some("c1"));
        assert!(!root.join(".cortex/chat/c7.json").exists(), "it is of no conversation");
        std::fs::write(root.join("c9.json"), "{").expect("file");
        assert_eq!(Transcript::read_transcript(root, "../../c9").expect("no handle").exchanges, []);
        std::fs::write(root.join(".cortex/chat/c1.json"), "{").expect("file");
        assert!(Transcript::read_transcript(root, "c1").is_err());
    }

    #[test]
    fn a_long_conversation_forgets_its_beginning() {
        let mut transcript = Transcript::default();
        for at in 0..MOST + 5 {
            transcript.start_exchange(exchange(&at.to_string(), ""));
        }
        assert_eq!((transcript.exchanges.len(), transcript.exchanges[0].question.as_str()), (MOST, "5"));
    }
}
