//! Storage of conversations: `.cortex/conversations.json`. They belong to a person or an agent, not to the store, so that deleting the store loses
//! none. The opener of a conversation gets a handle; it expires once [`MOST`] other conversations of the checkout were used after it, and not by
//! time.

use super::rounds::Conversation;
use crate::checkout;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::Path;

/// Path of the file, below the workspace's root.
const FILE: &str = ".cortex/conversations.json";
/// Number of conversations that are kept: those used last.
pub const MOST: usize = 32;
/// Limit of bytes of the file.
const MOST_BYTES: usize = 32 << 20;

/// The conversations of a checkout.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Conversations {
    /// Number of handles given so far.
    pub given: u64,
    /// Number of uses so far.
    pub used: u64,
    pub open: Vec<Conversation>,
}

/// The reason why a handle refers to no conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Absent {
    /// The handle was never given.
    Unknown,
    /// The handle was given, and the conversation has expired.
    Expired,
}

impl Conversations {
    /// Reads the conversations of a workspace; empty if nothing is stored.
    pub fn from_file(root: &Path) -> io::Result<Self> {
        parse(checkout::read_file(root, FILE, MOST_BYTES)?)
    }

    /// Changes the conversations of a workspace; concurrent changes run one after the other. Fails when they cannot be written; then they
    /// are unchanged.
    pub fn change<T>(root: &Path, change: impl FnOnce(&mut Self) -> T) -> io::Result<T> {
        let mut changed = None;
        checkout::change_private(root, FILE, MOST_BYTES, |bytes| {
            let mut conversations = parse(bytes)?;
            changed = Some(change(&mut conversations));
            let mut bytes = serde_json::to_vec(&conversations)?;
            bytes.push(b'\n');
            Ok::<_, io::Error>(Some(bytes))
        })?;
        Ok(changed.expect("invariant: what is changed without an error was given to the change"))
    }

    /// Returns the conversation of a handle. Errors: the reason why the handle refers to no conversation.
    pub fn find(&self, id: &str) -> Result<&Conversation, Absent> {
        self.open.iter().find(|one| one.id == id).ok_or_else(|| self.absent(id))
    }

    fn absent(&self, id: &str) -> Absent {
        let number: Option<u64> = id.strip_prefix('c').and_then(|number| number.parse().ok());
        let given = number.filter(|number| (1..=self.given).contains(number));
        // `c01` was never given, although its number was.
        match given.is_some_and(|number| handle(number) == id) {
            true => Absent::Expired,
            false => Absent::Unknown,
        }
    }

    /// Opens a conversation under a new handle.
    pub fn start_conversation(&mut self) -> &mut Conversation {
        self.given += 1;
        self.used += 1;
        let id = handle(self.given);
        self.open.push(Conversation {
            id,
            used: self.used,
            ..Conversation::default()
        });
        if self.open.len() > MOST {
            let oldest = self.open.iter().enumerate().min_by_key(|(_, one)| one.used).map(|(at, _)| at);
            oldest.map(|at| self.open.remove(at));
        }
        self.open.last_mut().expect("invariant: it was just opened")
    }

    /// Returns the conversation of a handle and counts it as used. Errors: the reason why the handle refers to no conversation.
    pub fn continue_conversation(&mut self, id: &str) -> Result<&mut Conversation, Absent> {
        let absent = self.absent(id);
        self.used += 1;
        let used = self.used;
        let found = self.open.iter_mut().find(|one| one.id == id).ok_or(absent)?;
        found.used = used;
        Ok(found)
    }
}

fn handle(number: u64) -> String {
    format!("c{number}")
}

fn parse(bytes: Option<Vec<u8>>) -> io::Result<Conversations> {
    let Some(bytes) = bytes else { return Ok(Conversations::default()) };
    serde_json::from_slice(&bytes).map_err(|error| io::Error::other(format!("{FILE} cannot be read: {error}")))
}

#[cfg(test)]
mod tests {
    use super::super::rounds::Round;
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_handle_lives_until_enough_others_were_used() {
        let mut conversations = Conversations::default();
        assert_eq!(conversations.start_conversation().id, "c1");
        for _ in 1..MOST {
            conversations.start_conversation();
        }
        conversations
            .continue_conversation("c1")
            .expect("it is there")
            .add_round(Round::default());
        conversations.start_conversation();
        assert_eq!(conversations.find("c1").map(|one| one.count), Ok(1), "it was used lately");
        assert_eq!(conversations.find("c2"), Err(Absent::Expired));
        assert_eq!(conversations.continue_conversation("c2").map(|one| one.count), Err(Absent::Expired));
        for id in ["c0", "c34", "c02", "c+2", "c 2", "x", "", "c99999999999999999999"] {
            assert_eq!(conversations.find(id), Err(Absent::Unknown), "{id}");
        }
    }

    #[test]
    fn rounds_of_several_at_once_are_all_kept() {
        let folder = tempfile::tempdir().expect("folder");
        let id = Conversations::change(folder.path(), |all| all.start_conversation().id.clone()).expect("written");
        std::thread::scope(|scope| {
            for _ in 0..8 {
                let (root, id) = (folder.path(), id.as_str());
                scope.spawn(move || {
                    let number =
                        Conversations::change(root, |all| all.continue_conversation(id).expect("open").add_round(Round::default()));
                    assert!((1..=8).contains(&number.expect("written")));
                });
            }
        });
        assert_eq!(
            Conversations::from_file(folder.path())
                .expect("readable")
                .find(&id)
                .expect("open")
                .rounds
                .len(),
            8
        );
        let mode = std::fs::metadata(folder.path().join(FILE)).expect("file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "questions are for nobody else to read");
        std::fs::write(folder.path().join(FILE), "{").expect("file");
        assert!(Conversations::from_file(folder.path()).is_err());
        assert!(Conversations::change(folder.path(), |all| all.start_conversation().id.clone()).is_err());
        assert_eq!(
            std::fs::read(folder.path().join(FILE)).expect("file"),
            b"{",
            "somebody's rounds may be in it"
        );
    }
}
