//! What is counted while a cache is used, what of it is doubted, and what is told of it at the end.

use crate::names::Name;
use engine::seams::remote::{Lie, RemoteSummary};
use engine::values::digest::{ActionKey, Digest};
use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Of what the cache keeps wrong, so much is told.
const TOLD: usize = 100;

/// Fewer bytes say nothing of how fast they come.
const TELLING: u64 = 64 << 10;

/// Something that the server has and that was found to be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Doubt {
    /// A blob.
    Blob(Name),
    /// What is filed under a key.
    Result(ActionKey),
}

/// Counts, shared by all who ask.
#[derive(Default)]
pub(crate) struct Account {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    summary: RemoteSummary,
    round_trip: Option<Duration>,
    /// Bytes that came or went in questions that tell of the speed, and how long these took.
    moved: (u64, Duration),
    doubted: HashSet<Doubt>,
    /// Keys of the results that were counted as found.
    found: HashSet<ActionKey>,
}

impl Account {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the counts.
    pub(crate) fn count(&self, change: impl FnOnce(&mut RemoteSummary)) {
        change(&mut self.state().summary);
    }

    /// Counts what was wrong with an answer.
    pub(crate) fn lied(&self, lie: Lie) {
        *self.state().summary.lies.entry(lie).or_default() += 1;
    }

    /// Counts what was wrong with something, the first time.
    pub(crate) fn lied_about(&self, lie: Lie, what: Doubt) {
        if self.state().doubted.insert(what) {
            self.lied(lie);
        }
    }

    /// Doubts something for a reason that is counted elsewhere.
    pub(crate) fn doubt(&self, what: Doubt) {
        self.state().doubted.insert(what);
    }

    /// Whether something was found to be wrong and was not mended since.
    pub(crate) fn is_doubted(&self, what: &Doubt) -> bool {
        self.state().doubted.contains(what)
    }

    /// What was doubted was read as it is to be.
    pub(crate) fn healed(&self, what: &Doubt) {
        let mut state = self.state();
        if state.doubted.remove(what) {
            state.summary.healed += 1;
        }
    }

    /// What was doubted was sent again, and is still wrong.
    pub(crate) fn count_damaged(&self, what: &Doubt) {
        let told = match what {
            Doubt::Blob(name) => format!("{}/{}", Digest(name.hash), name.len),
            Doubt::Result(key) => format!("result of {}", key.0),
        };
        let mut state = self.state();
        if state.summary.broken.len() < TOLD {
            state.summary.broken.insert(told);
        }
    }

    /// Counts a question for a result.
    pub(crate) fn count_lookup(&self, key: &ActionKey, is_found: bool) {
        let mut state = self.state();
        match is_found {
            true => {
                state.summary.hits += 1;
                state.found.insert(*key);
            }
            false => state.summary.misses += 1,
        }
    }

    /// What was found is of no use.
    pub(crate) fn count_unusable(&self, key: &ActionKey) {
        let mut state = self.state();
        if state.found.remove(key) {
            state.summary.hits -= 1;
            state.summary.misses += 1;
        }
        state.doubted.insert(Doubt::Result(*key));
    }

    /// Keeps the first sentence of what went wrong.
    pub(crate) fn trouble(&self, sentence: impl FnOnce() -> String) {
        self.state().summary.trouble.get_or_insert_with(sentence);
    }

    /// A small question was answered within this time. The fastest says most of the way there.
    pub(crate) fn timed(&self, took: Duration) {
        let mut state = self.state();
        state.round_trip = Some(state.round_trip.map_or(took, |before| before.min(took)));
    }

    /// A question that moved so many bytes was answered within this time.
    pub(crate) fn record_transfer(&self, bytes: u64, took: Duration) {
        if bytes >= TELLING {
            let moved = &mut self.state().moved;
            *moved = (moved.0 + bytes, moved.1 + took);
        }
    }

    /// Bytes a second, if enough came to tell.
    pub(crate) fn speed(&self) -> Option<u64> {
        let (bytes, took) = self.state().moved;
        let speed = u128::from(bytes) * 1_000_000 / took.as_micros().max(1);
        (bytes > 0).then(|| u64::try_from(speed).unwrap_or(u64::MAX))
    }

    /// How long a small question takes.
    pub(crate) fn round_trip(&self) -> Option<Duration> {
        self.state().round_trip
    }

    /// What was counted so far.
    pub(crate) fn summary(&self) -> RemoteSummary {
        self.state().summary.clone()
    }
}
