//! Circuit breaker: after some failures in a row, or one that was not answered in time, it blocks requests for a while; then one request tests
//! whether the server answers again.

use std::time::Duration;

/// Number of failures in a row that block requests.
const FAILURES: u32 = 3;
/// Duration of a block.
const PAUSE: Duration = Duration::from_secs(30);

/// State of a circuit breaker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Breaker {
    /// The server answers, or has had no request yet.
    #[default]
    Untried,
    /// The last requests failed, this many in a row.
    Failing(u32),
    /// Too many requests failed, the last one at this time.
    Open(Duration),
    /// The block is over, and one request tests the server since this time.
    HalfOpen(Duration),
}

impl Breaker {
    /// Returns whether to send a request now. After a block, only the first caller may.
    pub(crate) fn may_ask(&mut self, now: Duration) -> bool {
        match *self {
            Self::Untried | Self::Failing(_) => true,
            // A test request that never ends does not block the server for good.
            Self::Open(since) | Self::HalfOpen(since) if now.saturating_sub(since) >= PAUSE => {
                *self = Self::HalfOpen(now);
                true
            }
            Self::Open(_) | Self::HalfOpen(_) => false,
        }
    }

    /// Returns whether a request would be sent now. Changes nothing.
    pub(crate) fn is_closed(self, now: Duration) -> bool {
        let mut copy = self;
        copy.may_ask(now)
    }

    pub(crate) fn note_answer(&mut self) {
        *self = Self::Untried;
    }

    /// Notes that a request was not answered in time, or that the server cannot be reached: that blocks requests at once, because each would wait as
    /// long.
    pub(crate) fn count_silence(&mut self, now: Duration) {
        *self = Self::Open(now);
    }

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
        breaker.note_answer();
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
        breaker.note_answer();
        assert!(breaker.may_ask(at(32)) && breaker.may_ask(at(32)));
        let mut lost = Breaker::HalfOpen(at(0));
        assert!(lost.may_ask(at(30)));
    }
}
