//! Turns of requests: one request at a time has the checkout, and a few read at the same time.

use engine::seams::producer::Cancel;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Poll interval of a waiting request for its cancellation.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// A right that a limited number of requests may hold at once, with its holders and since when they hold it.
#[derive(Debug)]
pub struct Turn {
    places: usize,
    holders: Mutex<Vec<(Ticket, Instant)>>,
    given_back: Condvar,
}

/// Name of the holder, and when it first acquired the right. [`Turn`] keeps the last time, so that time after a release does not count.
pub type Ticket = (&'static str, Instant);

/// The acquired right; dropping it releases the right.
#[derive(Debug)]
pub struct AcquiredTurn<'a> {
    turn: &'a Turn,
    pub ticket: Ticket,
}

impl Turn {
    /// Creates a right for `places` holders at once.
    pub fn new(places: usize) -> Self {
        Self {
            places,
            holders: Mutex::default(),
            given_back: Condvar::new(),
        }
    }

    /// Waits for the right for at most `patience`, and fails early if the first holder has it longer than `long`. Other waiters report
    /// `what`. Errors: the name of the holder, when the time is over or the wait was cancelled.
    pub fn acquire_turn(
        &self,
        what: &'static str,
        patience: Duration,
        long: Duration,
        cancel: &Cancel,
    ) -> Result<AcquiredTurn<'_>, &'static str> {
        let until = Instant::now() + patience;
        let mut tickets = self.lock_holders();
        while tickets.len() >= self.places {
            let ((holder, _), since) = tickets[0];
            if cancel.is_cancelled() || Instant::now() >= until || since.elapsed() >= long {
                return Err(holder);
            }
            tickets = self
                .given_back
                .wait_timeout(tickets, LOOK_EVERY)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
        let ticket = (what, Instant::now());
        tickets.push((ticket, ticket.1));
        Ok(AcquiredTurn { turn: self, ticket })
    }

    /// Releases the right before [`AcquiredTurn`] is dropped.
    pub fn release_turn(&self, ticket: Ticket) {
        let mut tickets = self.lock_holders();
        if let Some(own) = tickets.iter().position(|(one, _)| *one == ticket) {
            tickets.remove(own);
        }
        drop(tickets);
        self.given_back.notify_one();
    }

    /// Waits to acquire the right again under its ticket. Returns false if `is_cancelled` first.
    pub fn enter_again(&self, ticket: Ticket, is_cancelled: &dyn Fn() -> bool) -> bool {
        let mut tickets = self.lock_holders();
        while tickets.len() >= self.places {
            if is_cancelled() {
                return false;
            }
            tickets = self
                .given_back
                .wait_timeout(tickets, LOOK_EVERY)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
        tickets.push((ticket, Instant::now()));
        true
    }

    /// Returns the holder that has the right for the longest, and for how long.
    pub fn holder(&self) -> Option<(&'static str, Duration)> {
        self.lock_holders().first().map(|((holder, _), since)| (*holder, since.elapsed()))
    }

    fn lock_holders(&self) -> MutexGuard<'_, Vec<(Ticket, Instant)>> {
        self.holders.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for AcquiredTurn<'_> {
    fn drop(&mut self) {
        self.turn.release_turn(self.ticket);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(600);

    #[test]
    fn as_many_have_it_as_there_are_places() {
        let turn = Turn::new(2);
        let take = || turn.acquire_turn("outline", Duration::ZERO, LONG, &Cancel::default());
        let (first, second) = (take().expect("free"), take().expect("free"));
        assert_eq!(take().expect_err("taken"), "outline");
        drop(first);
        let third = take().expect("free");
        assert!(take().is_err());
        drop((second, third));
        assert_eq!(turn.holder(), None);
    }

    #[test]
    fn a_request_that_takes_its_turn_again_has_it_since_then() {
        let turn = Turn::new(1);
        let held = turn
            .acquire_turn("node get", Duration::ZERO, LONG, &Cancel::default())
            .expect("free");
        turn.release_turn(held.ticket);
        assert_eq!(turn.holder(), None);
        let left = Instant::now();
        assert!(turn.enter_again(held.ticket, &|| false));
        assert!(turn.lock_holders()[0].1 >= left);
        drop(held);
        assert_eq!(turn.holder(), None);
    }

    #[test]
    fn one_has_it_and_the_others_learn_who() {
        let turn = Turn::new(1);
        let take = |what, patience, long, cancel: &Cancel| turn.acquire_turn(what, patience, long, cancel);
        let held = take("outline", Duration::ZERO, LONG, &Cancel::default()).expect("free");
        assert_eq!(turn.holder().map(|(holder, _)| holder), Some("outline"));
        let refused = take("usages", Duration::ZERO, LONG, &Cancel::default());
        assert_eq!(refused.expect_err("taken"), "outline");
        let refused = take("usages", LONG, Duration::ZERO, &Cancel::default());
        assert_eq!(refused.expect_err("taken for long"), "outline");
        let cancel = Cancel::default();
        cancel.cancel();
        assert_eq!(take("usages", LONG, LONG, &cancel).expect_err("cancelled"), "outline");
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| turn.acquire_turn("usages", LONG, LONG, &Cancel::default()).is_ok());
            drop(held);
            assert!(waiting.join().expect("no panic"));
        });
        assert_eq!(turn.holder(), None);
    }
}
