//! The journal: changed paths with the moment of their last change. A token names a moment, so that clients can ask for changes since then.
//!
//! Knows no disk. Invariant: an answer names at least the changes noted after the token was issued, or states that everything may have changed.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};

/// Maximum number of paths remembered individually.
const MOST: usize = 100_000;

/// Length of a token in bytes: the watcher's instance and the moment.
const TOKEN_LEN: usize = 24;

/// The changes seen by one watcher instance.
#[derive(Debug)]
pub(crate) struct Journal {
    life: [u8; 16],
    now: u64,
    /// Changes before this moment are unknown.
    floor: u64,
    last: BTreeMap<String, u64>,
    outputs: u64,
}

impl Journal {
    /// Creates an empty journal with a unique name.
    pub(crate) fn new() -> Self {
        let mut life = [0; 16];
        for half in life.chunks_mut(8) {
            half.copy_from_slice(&RandomState::new().hash_one(std::process::id()).to_be_bytes());
        }
        Self {
            life,
            now: 1,
            floor: 1,
            last: BTreeMap::new(),
            outputs: 1,
        }
    }

    pub(crate) fn record_path(&mut self, path: &str) {
        self.now += 1;
        self.last.insert(path.to_owned(), self.now);
        if self.last.len() > MOST {
            self.record_unknown_changes();
        }
    }

    /// Records an event that changed no path.
    pub(crate) fn record_event(&mut self) {
        self.now += 1;
    }

    /// Records a change below the output folder.
    pub(crate) fn note_outputs(&mut self) {
        self.now += 1;
        self.outputs = self.now;
    }

    /// Records that anything may have changed.
    pub(crate) fn record_unknown_changes(&mut self) {
        self.now += 1;
        self.floor = self.now;
        self.outputs = self.now;
        self.last.clear();
    }

    /// Returns the number of this moment.
    pub(crate) fn now(&self) -> u64 {
        self.now
    }

    pub(crate) fn token(&self) -> Vec<u8> {
        [&self.life[..], &self.now.to_be_bytes()].concat()
    }

    fn moment(&self, token: &[u8]) -> Option<u64> {
        let (life, moment) = token.split_at_checked(16).filter(|_| token.len() == TOKEN_LEN)?;
        let moment = u64::from_be_bytes(moment.try_into().ok()?);
        (life == self.life && moment <= self.now).then_some(moment)
    }

    /// Returns the paths that changed after a token was issued, sorted; `None` if unknown.
    pub(crate) fn paths_since(&self, token: &[u8]) -> Option<Vec<String>> {
        let moment = self.moment(token).filter(|moment| *moment >= self.floor)?;
        let after = self.last.iter().filter(|(_, at)| **at > moment);
        Some(after.map(|(path, _)| path.clone()).collect())
    }

    /// Whether anything below the output folder may have changed since.
    pub(crate) fn outputs_since(&self, token: &[u8]) -> bool {
        self.moment(token).is_none_or(|moment| self.outputs > moment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn an_answer_names_all_later_changes(moves in prop::collection::vec((0u8..12, 0u8..6), 0..60)) {
            let mut journal = Journal::new();
            let mut past: Vec<(Vec<u8>, usize)> = vec![(journal.token(), 0)];
            let mut noted: Vec<Option<String>> = Vec::new();
            for (kind, path) in moves {
                if kind == 0 {
                    journal.record_unknown_changes();
                    noted.push(None);
                } else {
                    journal.record_path(&path.to_string());
                    noted.push(Some(path.to_string()));
                }
                past.push((journal.token(), noted.len()));
            }
            for (token, at) in past {
                let expected: Option<std::collections::BTreeSet<String>> = noted[at..].iter().cloned().collect();
                prop_assert_eq!(journal.paths_since(&token).map(|paths| paths.into_iter().collect()), expected);
            }
        }
    }

    #[test]
    fn foreign_and_future_tokens_are_unknown() {
        let mut journal = Journal::new();
        let other = Journal::new();
        journal.record_path("a");
        let mut future = journal.token();
        future[23] += 1;
        for token in [other.token(), future, vec![], vec![0; 23], vec![0; 25]] {
            assert_eq!(journal.paths_since(&token), None);
            assert!(journal.outputs_since(&token));
        }
        let now = journal.token();
        assert_eq!((journal.paths_since(&now), journal.outputs_since(&now)), (Some(vec![]), false));
        journal.note_outputs();
        assert_eq!((journal.paths_since(&now), journal.outputs_since(&now)), (Some(vec![]), true));
    }

    #[test]
    fn too_many_paths_are_all_paths() {
        let mut journal = Journal::new();
        let before = journal.token();
        (0..=MOST).for_each(|path| journal.record_path(&path.to_string()));
        assert_eq!(journal.paths_since(&before), None);
        assert_eq!(journal.paths_since(&journal.token()), Some(vec![]));
    }
}
