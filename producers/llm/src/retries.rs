//! Retries: growing, partly random pauses, delays requested by servers, a breaker for servers that are down, a lock for models that refuse all.

use engine::values::diagnostic::Diagnostic;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// Failures in a row that open a breaker; refusals in a row after which a model is not asked again.
const MANY: u32 = 5;
/// Time for which a breaker stays open before one call may try.
const OPEN: Duration = Duration::from_secs(5);
/// Time after the first opening in which calls wait for a successful one; afterwards they fail at once.
const PATIENCE: Duration = Duration::from_secs(30);

/// Returns the pause after so many failed tries (from 1): doubled each time, at least half of it, the rest random, at least the requested delay.
pub(super) fn pause(failed: u32, chance: f64, floor: Option<Duration>) -> Duration {
    let doubled = FIRST_PAUSE.saturating_mul(1 << failed.saturating_sub(1).min(16)).min(LONGEST_PAUSE);
    doubled.mul_f64(0.5 + 0.5 * chance.clamp(0.0, 1.0)).max(floor.unwrap_or_default())
}

/// Parses `Retry-After`: seconds, or a date.
pub(super) fn retry_after(value: &str, now: SystemTime) -> Option<Duration> {
    let value = value.trim();
    // Some servers send fractions of seconds.
    if let Ok(seconds) = value.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let at = httpdate::parse_http_date(value).ok()?;
    Some(at.duration_since(now).unwrap_or_default())
}

/// One breaker for each address.
#[derive(Default)]
pub(super) struct Breakers(Mutex<BTreeMap<String, Breaker>>);

/// Closed until too many calls in a row fail; then open; then, after a while, one call tries for all.
#[derive(Default)]
struct Breaker {
    failures: u32,
    /// Time of the first and of the last opening.
    opened: Option<(Instant, Instant)>,
    trying: bool,
    cause: String,
}

/// The state of an open breaker.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Open {
    /// The failure of the last call.
    pub(super) cause: String,
    /// Time until a call may try; zero while another call tries.
    pub(super) left: Duration,
    /// Whether it has been open for so long that calls should not wait for it.
    pub(super) for_long: bool,
}

impl Breakers {
    /// Checks whether a call may be sent now.
    pub(super) fn admit(&self, address: &str, now: Instant) -> Result<(), Open> {
        self.with_breaker(address, |breaker| {
            let Some((first, last)) = breaker.opened else {
                return Ok(());
            };
            let left = OPEN.saturating_sub(now.saturating_duration_since(last));
            if left.is_zero() && !breaker.trying {
                breaker.trying = true;
                return Ok(());
            }
            Err(Open {
                cause: breaker.cause.clone(),
                left,
                for_long: now.saturating_duration_since(first) >= PATIENCE,
            })
        })
    }

    /// Records that the server answered.
    pub(super) fn record_success(&self, address: &str) {
        self.with_breaker(address, |breaker| *breaker = Breaker::default());
    }

    /// Records a failure. Returns whether that opened the closed breaker.
    pub(super) fn count_failure(&self, address: &str, cause: &str, now: Instant) -> bool {
        self.with_breaker(address, |breaker| {
            breaker.failures = breaker.failures.saturating_add(1);
            cause.clone_into(&mut breaker.cause);
            let before = breaker.opened;
            if breaker.failures >= MANY || breaker.trying {
                breaker.opened = Some((before.map_or(now, |(first, _)| first), now));
            }
            breaker.trying = false;
            before.is_none() && breaker.opened.is_some()
        })
    }

    /// Records a cancelled call, which says nothing about the server.
    pub(super) fn record_cancelled(&self, address: &str) {
        self.with_breaker(address, |breaker| breaker.trying = false);
    }

    fn with_breaker<T>(&self, address: &str, change: impl FnOnce(&mut Breaker) -> T) -> T {
        let mut breakers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        change(breakers.entry(address.to_owned()).or_default())
    }
}

/// Models that are not asked again in this run, each with the reason.
#[derive(Default)]
pub(super) struct Locks(Mutex<BTreeMap<String, Lock>>);

#[derive(Default)]
struct Lock {
    /// Refusals without an answer in between.
    refusals: u32,
    why: Option<Diagnostic>,
}

impl Locks {
    /// Returns why a model is not asked again, if so.
    pub(super) fn why(&self, model: &str) -> Option<Diagnostic> {
        self.with_lock(model, |lock| lock.why.clone())
    }

    pub(super) fn record_answer(&self, model: &str) {
        self.with_lock(model, |lock| lock.refusals = 0);
    }

    /// Records that a model refused one question. Many refusals in a row do not depend on the question.
    pub(super) fn count_refusal(&self, model: &str, why: &Diagnostic) {
        self.with_lock(model, |lock| {
            lock.refusals += 1;
            if lock.refusals >= MANY {
                lock.why.get_or_insert_with(|| why.clone());
            }
        });
    }

    /// Records that a model will refuse everything.
    pub(super) fn shut(&self, model: &str, why: &Diagnostic) {
        self.with_lock(model, |lock| {
            lock.why.get_or_insert_with(|| why.clone());
        });
    }

    fn with_lock<T>(&self, model: &str, change: impl FnOnce(&mut Lock) -> T) -> T {
        let mut locks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        change(locks.entry(model.to_owned()).or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_server_may_ask_for_time_in_seconds_or_by_date() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777 - 90);
        for (value, expected) in [
            ("120", Some(120.0)),
            (" 0.5 ", Some(0.5)),
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(90.0)),
            ("Sunday, 06-Nov-94 08:49:37 GMT", Some(90.0)),
            ("Sun Nov  6 08:49:37 1994", Some(90.0)),
            ("Tue, 06 Nov 1984 08:49:37 GMT", Some(0.0)),
            ("-3", None),
            ("NaN", None),
            ("soon", None),
            ("", None),
        ] {
            assert_eq!(retry_after(value, now).map(|time| time.as_secs_f64()), expected, "{value}");
        }
    }

    #[test]
    fn a_breaker_opens_tries_once_and_closes() {
        let (breakers, start) = (Breakers::default(), Instant::now());
        for _ in 0..4 {
            breakers.count_failure("a", "down", start);
        }
        assert_eq!(breakers.admit("a", start), Ok(()));
        assert!(breakers.count_failure("a", "still down", start));
        let open = breakers.admit("a", start + Duration::from_secs(2)).expect_err("open");
        assert_eq!((open.cause.as_str(), open.left), ("still down", Duration::from_secs(3)));
        assert_eq!(breakers.admit("b", start), Ok(()));

        let later = start + OPEN;
        assert_eq!(breakers.admit("a", later), Ok(()));
        assert!(breakers.admit("a", later).is_err(), "only one tries");
        assert!(!breakers.count_failure("a", "down again", later), "it was open before");
        let open = breakers.admit("a", later).expect_err("open");
        assert_eq!((open.left, open.for_long), (OPEN, false));

        assert_eq!(breakers.admit("a", later + OPEN), Ok(()));
        breakers.record_cancelled("a");
        assert_eq!(breakers.admit("a", later + OPEN), Ok(()));
        breakers.record_success("a");
        assert_eq!(breakers.admit("a", later + OPEN), Ok(()));
    }

    proptest! {
        #[test]
        fn pauses_grow_and_keep_their_floor(failed in 1_u32..100, chance in 0.0..=1.0, floor in prop::option::of(0_u64..10_000)) {
            let floor = floor.map(Duration::from_millis);
            let time = pause(failed, chance, floor);
            prop_assert!(time >= floor.unwrap_or_default());
            prop_assert!(time <= LONGEST_PAUSE.max(floor.unwrap_or_default()));
            prop_assert!(pause(failed + 1, chance, floor) >= time);
        }

        #[test]
        fn no_text_is_too_odd_for_a_date(text in "\\PC{0,40}") {
            retry_after(&text, SystemTime::UNIX_EPOCH);
        }
    }
}
