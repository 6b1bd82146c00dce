//! The breaker: after some failures in a row nobody is asked for a while, then one question finds out whether somebody answers again.

use std::time::Duration;

/// Failures in a row after which nobody is asked.
const FAILURES: u32 = 3;
/// How long nobody is asked.
const PAUSE: Duration = Duration::from_secs(30);

/// Whether a server is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Breaker {
    /// It answers, or failed this often since it did.
    #[default]
    Untried,
    /// It failed so often since it last answered.
    Failing(u32),
    /// It failed too often, last at this time.
    Open(Duration),
    /// The pause is over and one question is on its way, since this time.
    HalfOpen(Duration),
}

impl Breaker {
    /// Whether to ask now; of several who may, the first is told so alone once the pause is over.
    pub(crate) fn may_ask(&mut self, now: Duration) -> bool {
        match *self {
            Self::Untried | Self::Failing(_) => true,
            // One who asked and was never heard of again does not close the door for good.
            Self::Open(since) | Self::HalfOpen(since) if now.saturating_sub(since) >= PAUSE => {
                *self = Self::HalfOpen(now);
                true
            }
            Self::Open(_) | Self::HalfOpen(_) => false,
        }
    }

    /// Whether somebody who asked now would be let through. Changes nothing.
    pub(crate) fn is_closed(self, now: Duration) -> bool {
        let mut copy = self;
        copy.may_ask(now)
    }

    /// Somebody answered.
    pub(crate) fn answered(&mut self) {
        *self = Self::Untried;
    }

    /// Nobody did.
    pub(crate) fn count_failure(&mut self, now: Duration) {
        *self = match *self {
            Self::Untried => Self::Failing(1),
            Self::Failing(times) if times + 1 < FAILURES => Self::Failing(times + 1),
            _ => Self::Open(now),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn three_failures_in_a_row_open_it() {
        let mut breaker = Breaker::default();
        for _ in 0..2 {
            breaker.count_failure(at(1));
            assert!(breaker.may_ask(at(1)));
        }
        breaker.answered();
        for _ in 0..2 {
            breaker.count_failure(at(1));
        }
        assert!(breaker.may_ask(at(1)), "an answer in between starts the count anew");
        breaker.count_failure(at(2));
        assert!(!breaker.may_ask(at(31)));
    }

    #[test]
    fn after_a_pause_one_question_decides() {
        let mut breaker = Breaker::Open(at(0));
        assert!(breaker.is_closed(at(30)) && breaker == Breaker::Open(at(0)));
        assert!(breaker.may_ask(at(30)));
        assert!(!breaker.may_ask(at(31)), "only one");
        let mut again = breaker;
        again.count_failure(at(32));
        assert!(!again.may_ask(at(61)) && again.may_ask(at(62)));
        breaker.answered();
        assert!(breaker.may_ask(at(32)) && breaker.may_ask(at(32)));
        let mut lost = Breaker::HalfOpen(at(0));
        assert!(lost.may_ask(at(30)));
    }
}
