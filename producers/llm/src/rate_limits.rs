//! Rate limits: requests and tokens per minute for each model across all threads, and pauses that its server requested.
//!
//! In no span of 60 seconds are the limits exceeded, except that a single request larger than a minute's tokens is sent after an empty minute.

use super::call_environment::CallEnvironment;
use engine::seams::producer::Cancel;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

const MINUTE: Duration = Duration::from_secs(60);
/// Longest sleep before a wait checks again: a reservation may have been released.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// The limits of a model per minute.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rates {
    pub(super) requests: Option<u64>,
    pub(super) tokens: Option<u64>,
}

/// The rate windows of all models, by name.
#[derive(Default)]
pub(super) struct RateWindows(Mutex<BTreeMap<String, Arc<RateWindow>>>);

/// The last minute of one model.
#[derive(Default)]
pub(super) struct RateWindow(Mutex<Minute>);

#[derive(Default)]
struct Minute {
    /// Whether a request larger than a minute's tokens was reported.
    is_reported: bool,
    /// Number, time and tokens of each request, oldest first.
    sent: VecDeque<(u64, Instant, u64)>,
    next: u64,
    paused: Option<Instant>,
}

impl RateWindows {
    pub(super) fn rate_window(&self, name: &str) -> Arc<RateWindow> {
        let mut rate_windows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(rate_windows.entry(name.to_owned()).or_default())
    }
}

impl RateWindow {
    /// Waits until so many tokens may be sent and records them; returns the number for [`RateWindow::correct`], or `None` when cancelled.
    pub(super) fn wait_for_room(&self, rates: Rates, tokens: u64, world: &dyn CallEnvironment, cancel: &Cancel) -> Option<u64> {
        loop {
            let now = world.now();
            match self.lock_minute().admit(rates, tokens, now) {
                Ok(number) => return Some(number),
                Err(wait) => {
                    if !world.wait(wait.min(LOOK_AGAIN), cancel) {
                        return None;
                    }
                }
            }
        }
    }

    /// Returns the token limit that a single request exceeds, once per window.
    pub(super) fn too_narrow(&self, rates: Rates, tokens: u64) -> Option<u64> {
        let limit = rates.tokens.filter(|limit| *limit < tokens)?;
        (!std::mem::replace(&mut self.lock_minute().is_reported, true)).then_some(limit)
    }

    /// Corrects a request's tokens to the real number.
    pub(super) fn correct(&self, number: u64, tokens: u64) {
        let mut minute = self.lock_minute();
        if let Some(entry) = minute.sent.iter_mut().find(|entry| entry.0 == number) {
            entry.2 = tokens;
        }
    }

    /// Blocks the window for so long. Returns whether it was open before.
    pub(super) fn pause(&self, now: Instant, time: Duration) -> bool {
        let mut minute = self.lock_minute();
        let before = minute.paused.filter(|paused| *paused > now);
        minute.paused = Some(before.map_or(now + time, |paused| paused.max(now + time)));
        before.is_none()
    }

    fn lock_minute(&self) -> std::sync::MutexGuard<'_, Minute> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Minute {
    /// Returns the number of the request, or how long to wait.
    fn admit(&mut self, rates: Rates, tokens: u64, now: Instant) -> Result<u64, Duration> {
        if let Some(until) = self.paused {
            let left = until.saturating_duration_since(now);
            if !left.is_zero() {
                return Err(left);
            }
            self.paused = None;
        }
        while self
            .sent
            .front()
            .is_some_and(|(_, at, _)| now.saturating_duration_since(*at) >= MINUTE)
        {
            self.sent.pop_front();
        }
        let requests = self.sent.len() as u64;
        let sent = self.sent.iter().fold(0_u64, |sum, entry| sum.saturating_add(entry.2));
        let fits =
            rates.requests.is_none_or(|limit| requests < limit) && rates.tokens.is_none_or(|limit| sent.saturating_add(tokens) <= limit);
        match self.sent.front() {
            Some((_, oldest, _)) if !fits => Err(MINUTE.saturating_sub(now.saturating_duration_since(*oldest))),
            _ => {
                let number = self.next;
                self.next += 1;
                if rates.requests.is_some() || rates.tokens.is_some() {
                    self.sent.push_back((number, now, tokens));
                }
                Ok(number)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::Stage;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_minute_sees_more_than_the_limit(
            asked in prop::collection::vec((0_u64..20_000, 1_u64..150), 1..60),
            requests in prop::option::of(1_u64..6),
            tokens in prop::option::of(100_u64..300),
        ) {
            let (stage, window, cancel) = (Stage::new(), RateWindow::default(), Cancel::default());
            let mut sent: Vec<(Instant, u64)> = Vec::new();
            for (pause, size) in asked {
                stage.wait(Duration::from_millis(pause), &cancel);
                window.wait_for_room(Rates { requests, tokens }, size, &stage, &cancel).expect("not cancelled");
                sent.push((stage.now(), size));
            }
            for (at, (start, _)) in sent.iter().enumerate() {
                let span: Vec<u64> = sent[at..].iter().take_while(|(time, _)| *time - *start < MINUTE).map(|entry| entry.1).collect();
                prop_assert!(requests.is_none_or(|limit| span.len() as u64 <= limit));
                prop_assert!(tokens.is_none_or(|limit| span.iter().sum::<u64>() <= limit || span.len() == 1));
            }
        }
    }

    #[test]
    fn excess_reservations_are_released_and_pauses_apply_to_all_calls() {
        let (stage, window, cancel) = (Stage::new(), RateWindow::default(), Cancel::default());
        let rates = Rates {
            requests: None,
            tokens: Some(1_000),
        };
        let start = stage.now();
        let number = window.wait_for_room(rates, 900, &stage, &cancel).expect("first");
        window.correct(number, 100);
        window.wait_for_room(rates, 900, &stage, &cancel).expect("second");
        assert_eq!(stage.now(), start);
        assert!(window.pause(start, Duration::from_secs(7)));
        assert!(!window.pause(start, Duration::from_secs(1)), "it is held already");
        window.wait_for_room(Rates::default(), 1, &stage, &cancel).expect("third");
        assert_eq!(stage.now() - start, Duration::from_secs(7));
        cancel.cancel();
        window.pause(start, Duration::from_secs(70));
        assert_eq!(window.wait_for_room(Rates::default(), 1, &stage, &cancel), None);
    }
}
