//! Results that this process alone makes, until they are durable: others that want the same wait for them.

use crate::store::Flight;
use std::time::{Duration, Instant};

/// Two processes may wait for results of each other that neither has committed: for no longer than this.
const OLD: Duration = Duration::from_millis(200);

/// Reservations of results that are made and not yet committed.
#[derive(Default)]
pub(super) struct Reservations {
    flights: Vec<Flight>,
    since: Option<Instant>,
}

impl Reservations {
    pub(super) fn extend(&mut self, flight: Option<Flight>) {
        if flight.is_some() {
            self.since.get_or_insert_with(Instant::now);
            self.flights.extend(flight);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.flights.is_empty()
    }

    pub(super) fn are_old(&self) -> bool {
        self.since.is_some_and(|since| since.elapsed() >= OLD)
    }

    /// Takes them out, to be dropped after the commit.
    pub(super) fn take(&mut self) -> Vec<Flight> {
        self.since = None;
        std::mem::take(&mut self.flights)
    }
}
