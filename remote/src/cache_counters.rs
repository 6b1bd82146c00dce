//! Counters of a cache's use, doubts about its contents, and the first errors, for the report at the end.

use crate::names::BlobName;
use engine::seams::remote::{RemoteSummary, WrongRemoteAnswer};
use engine::values::digest::{ActionKey, Digest};
use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Limit of damaged entries that are listed.
const TOLD: usize = 100;

/// Least number of bytes that a speed is measured from.
const TELLING: u64 = 64 << 10;

/// Something on the server that was found to be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ServerFault {
    Blob(BlobName),
    Result(ActionKey),
}

/// Counters that all requests share.
#[derive(Default)]
pub(crate) struct CacheCounters {
    state: Mutex<CounterState>,
}

#[derive(Default)]
struct CounterState {
    summary: RemoteSummary,
    round_trip: Option<Duration>,
    transfers: Transfers,
    doubted: HashSet<ServerFault>,
    /// Keys of the results that were counted as hits.
    found: HashSet<ActionKey>,
}

/// Transfers that the speed is measured from. Parallel transfers share the connection, so their time counts once.
#[derive(Default)]
struct Transfers {
    bytes: u64,
    /// Time during which at least one transfer ran.
    busy: Duration,
    running: usize,
    running_bytes: u64,
    /// Number of times that a transfer began while no other ran.
    periods: u32,
    /// Time at which `running` last rose from 0.
    since: Duration,
}

impl Transfers {
    fn begin_one(&mut self, bytes: u64, now: Duration) {
        if self.running == 0 {
            self.since = now;
            self.periods += 1;
        }
        self.running += 1;
        self.running_bytes += bytes;
    }

    fn end_one(&mut self, bytes: u64, now: Duration, is_complete: bool) {
        self.bytes += if is_complete { bytes } else { 0 };
        self.running = self.running.saturating_sub(1);
        self.running_bytes = self.running_bytes.saturating_sub(bytes);
        if self.running == 0 {
            self.busy += now.saturating_sub(self.since);
        }
    }
}

impl CounterState {
    fn speed(&self) -> Option<u64> {
        let Transfers { bytes, busy, periods, .. } = self.transfers;
        // Each time, the first bytes arrive a round trip after the request.
        let waited = self.round_trip.unwrap_or_default() * periods;
        let flowed = busy.saturating_sub(waited).max(busy / 10);
        let speed = u128::from(bytes) * 1_000_000 / flowed.as_micros().max(1);
        (bytes > 0 && !busy.is_zero()).then(|| u64::try_from(speed).unwrap_or(u64::MAX))
    }
}

impl CacheCounters {
    fn lock_counts(&self) -> MutexGuard<'_, CounterState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn update_summary(&self, change: impl FnOnce(&mut RemoteSummary)) {
        change(&mut self.lock_counts().summary);
    }

    pub(crate) fn count_wrong_answer(&self, wrong_answer: WrongRemoteAnswer) {
        *self.lock_counts().summary.lies.entry(wrong_answer).or_default() += 1;
    }

    /// Counts something wrong on the server, the first time.
    pub(crate) fn count_wrong_answer_about(&self, wrong_answer: WrongRemoteAnswer, what: ServerFault) {
        if self.lock_counts().doubted.insert(what) {
            self.count_wrong_answer(wrong_answer);
        }
    }

    /// Doubts something for a reason that is counted elsewhere.
    pub(crate) fn doubt(&self, what: ServerFault) {
        self.lock_counts().doubted.insert(what);
    }

    pub(crate) fn is_doubted(&self, what: &ServerFault) -> bool {
        self.lock_counts().doubted.contains(what)
    }

    /// Ends a doubt, because the right contents were read.
    pub(crate) fn end_doubt(&self, what: &ServerFault) {
        let mut state = self.lock_counts();
        if state.doubted.remove(what) {
            state.summary.healed += 1;
        }
    }

    /// Counts something that is still wrong after it was sent again.
    pub(crate) fn count_damaged(&self, what: &ServerFault) {
        let description = match what {
            ServerFault::Blob(name) => format!("{}/{}", Digest(name.hash), name.len),
            ServerFault::Result(key) => format!("result of {}", key.0),
        };
        let mut state = self.lock_counts();
        if state.summary.broken.len() < TOLD {
            state.summary.broken.insert(description);
        }
    }

    pub(crate) fn count_lookup(&self, key: &ActionKey, is_found: bool) {
        let mut state = self.lock_counts();
        match is_found {
            true => {
                state.summary.hits += 1;
                state.found.insert(*key);
            }
            false => state.summary.misses += 1,
        }
    }

    /// Counts a result that was found as a miss.
    pub(crate) fn count_left(&self, key: &ActionKey) {
        let mut state = self.lock_counts();
        if state.found.remove(key) {
            state.summary.hits -= 1;
            state.summary.misses += 1;
        }
    }

    /// Counts a hit as a miss, because the result is unusable.
    pub(crate) fn count_unusable(&self, key: &ActionKey) {
        self.count_left(key);
        let mut state = self.lock_counts();
        state.doubted.insert(ServerFault::Result(*key));
    }

    /// Keeps the first error, as a sentence.
    pub(crate) fn trouble(&self, sentence: impl FnOnce() -> String) {
        self.lock_counts().summary.trouble.get_or_insert_with(sentence);
    }

    /// Notes the duration of a small request. The fastest one is closest to the round trip.
    pub(crate) fn note_duration(&self, took: Duration) {
        let mut state = self.lock_counts();
        state.round_trip = Some(state.round_trip.map_or(took, |before| before.min(took)));
    }

    /// Notes that a transfer of `bytes` bytes begins at `now`.
    pub(crate) fn begin_transfer(&self, bytes: u64, now: Duration) {
        if bytes >= TELLING {
            self.lock_counts().transfers.begin_one(bytes, now);
        }
    }

    /// Notes that a transfer of `bytes` bytes ends at `now`, with or without success.
    pub(crate) fn end_transfer(&self, bytes: u64, now: Duration, is_complete: bool) {
        if bytes >= TELLING {
            self.lock_counts().transfers.end_one(bytes, now, is_complete);
        }
    }

    /// Returns the speed in bytes per second, if enough bytes were transferred.
    pub(crate) fn speed(&self) -> Option<u64> {
        self.lock_counts().speed()
    }

    /// Returns how long a transfer of `bytes` bytes takes while the running ones go on, by the measured speed; `None` before one is
    /// measured.
    pub(crate) fn expected_time(&self, bytes: u64) -> Option<Duration> {
        let state = self.lock_counts();
        let all = state.transfers.running_bytes.saturating_add(bytes).saturating_mul(1_000);
        state.speed().map(|speed| Duration::from_millis(all / speed.max(1)))
    }

    /// Returns the duration of a small request.
    pub(crate) fn round_trip(&self) -> Option<Duration> {
        self.lock_counts().round_trip
    }

    /// Returns the counters so far.
    pub(crate) fn summary(&self) -> RemoteSummary {
        let state = self.lock_counts();
        RemoteSummary {
            round_trip_us: state.round_trip.map(|way| u64::try_from(way.as_micros()).unwrap_or(u64::MAX)),
            bytes_per_second: state.speed(),
            ..state.summary.clone()
        }
    }
}
