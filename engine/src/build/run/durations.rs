//! Average durations of producers, which decide whether a lookup in the remote cache or another machine pays.

use rustc_hash::FxHashMap;
use std::time::Duration;

/// Average recent durations of producers, by their number in the manifest.
#[derive(Default)]
pub(super) struct Durations {
    averages: FxHashMap<u32, Duration>,
}

impl Durations {
    /// Returns the average duration of a producer that ran.
    pub(super) fn average_of(&self, producer: u32) -> Option<Duration> {
        self.averages.get(&producer).copied()
    }

    /// Updates the average duration of a producer.
    pub(super) fn add_duration(&mut self, producer: u32, took: Duration) {
        let average = self.averages.entry(producer).or_insert(took);
        *average = (*average * 7 + took) / 8;
    }
}
