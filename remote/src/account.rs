//! What is counted while a cache is used, and what is told of it at the end.

use engine::seams::remote::{Lie, RemoteSummary};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Counts, shared by all who ask.
#[derive(Default)]
pub(crate) struct Account {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    summary: RemoteSummary,
    round_trip: Option<Duration>,
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

    /// Keeps the first sentence of what went wrong.
    pub(crate) fn trouble(&self, sentence: impl FnOnce() -> String) {
        self.state().summary.trouble.get_or_insert_with(sentence);
    }

    /// A small question was answered within this time. The fastest says most of the way there.
    pub(crate) fn timed(&self, took: Duration) {
        let mut state = self.state();
        state.round_trip = Some(state.round_trip.map_or(took, |before| before.min(took)));
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
