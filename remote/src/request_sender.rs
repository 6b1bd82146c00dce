//! The connection to a server: time-outs, retries, and when to stop asking.

use crate::breaker::Breaker;
use crate::cache_counters::CacheCounters;
use crate::clock::Clock;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tonic::{Code, Status};

/// Time-outs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadlines {
    pub connect: Duration,
    /// For the answer to a small request.
    pub lookup: Duration,
    /// For a batch of blobs, or a large one.
    pub batch: Duration,
    /// For a shard of work.
    pub work: Duration,
    /// Pause before the first retry.
    pub pause: Duration,
}

impl Default for Deadlines {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(2),
            lookup: Duration::from_secs(5),
            batch: Duration::from_secs(30),
            work: Duration::from_secs(120),
            pause: Duration::from_millis(100),
        }
    }
}

/// Number of retries.
const RETRIES: u32 = 3;

/// Reason why there is no answer.
#[derive(Debug)]
pub(crate) enum Unanswered {
    /// The server does not answer, or failed so often that requests are blocked.
    Down,
    /// The server answered with this error.
    Said(Status),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestKind {
    /// The first request, which asks what the server can do.
    Greeting,
    /// A small request, whose duration is about the round trip.
    Lookup,
    /// The server sends blobs of this many bytes.
    Read(u64),
    /// The server receives blobs of this many bytes.
    Write(u64),
}

/// Slowest accepted speed, in bytes per second, beyond the time-out of a batch.
const SLOWEST: u64 = 1 << 20;
/// Slowest accepted speed before one is measured, beyond the time-out of a small request.
const SLOWEST_FIRST: u64 = 128 << 10;
/// Factor by which a transfer may exceed the time expected from the measured speed, beyond the time-out of a small request.
const PATIENCE: u32 = 8;

/// Sends requests, with retries.
pub(crate) struct RequestSender {
    clock: Arc<dyn Clock>,
    deadlines: Deadlines,
    breaker: Mutex<Breaker>,
    counters: Arc<CacheCounters>,
}

impl RequestSender {
    pub(crate) fn new(clock: Arc<dyn Clock>, deadlines: Deadlines, counters: Arc<CacheCounters>) -> Self {
        Self {
            clock,
            deadlines,
            breaker: Mutex::default(),
            counters,
        }
    }

    fn breaker(&self) -> MutexGuard<'_, Breaker> {
        self.breaker.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether a request would be sent now.
    pub(crate) fn is_up(&self) -> bool {
        self.breaker().is_closed(self.clock.now())
    }

    pub(crate) fn random(&self) -> u64 {
        self.clock.random()
    }

    /// Returns the time-out of a request of this kind.
    pub(crate) fn deadline(&self, kind: RequestKind) -> Duration {
        match kind {
            RequestKind::Greeting => self.deadlines.connect,
            RequestKind::Lookup => self.deadlines.lookup,
            RequestKind::Write(bytes) => self.batch_deadline(bytes),
            RequestKind::Read(bytes) => {
                let expected = match self.counters.expected_time(bytes) {
                    Some(expected) => expected * PATIENCE,
                    None => Duration::from_secs(bytes / SLOWEST_FIRST),
                };
                (self.deadlines.lookup + expected).min(self.batch_deadline(bytes))
            }
        }
    }

    fn batch_deadline(&self, bytes: u64) -> Duration {
        self.deadlines.batch + Duration::from_secs(bytes / SLOWEST)
    }

    /// Sends a request until the server answers, with success or an error, or until the retries are used up or requests are blocked.
    pub(crate) async fn send_until_answered<T, F>(
        &self,
        what: &str,
        kind: RequestKind,
        mut attempt: impl FnMut() -> F,
    ) -> Result<T, Unanswered>
    where
        F: Future<Output = Result<T, Status>>,
    {
        for again in 0..=RETRIES {
            if !self.breaker().may_ask(self.clock.now()) {
                return Err(Unanswered::Down);
            }
            let began = self.clock.now();
            self.counters.update_summary(|summary| summary.requests += 1);
            let deadline = self.deadline(kind);
            if let RequestKind::Read(bytes) = kind {
                self.counters.begin_transfer(bytes, began);
            }
            let answer = match tokio::time::timeout(deadline, attempt()).await {
                Ok(answer) => answer,
                Err(_) => Err(Status::deadline_exceeded("the server did not answer in time")),
            };
            if let RequestKind::Read(bytes) = kind {
                self.counters.end_transfer(bytes, self.clock.now(), answer.is_ok());
            }
            match answer {
                Ok(answer) => {
                    self.breaker().note_answer();
                    if kind == RequestKind::Lookup {
                        self.counters.note_duration(self.clock.now().saturating_sub(began));
                    }
                    return Ok(answer);
                }
                Err(status) if !is_passing(&status) => {
                    self.breaker().note_answer();
                    return Err(Unanswered::Said(status));
                }
                Err(status) => {
                    // Do not retry a time-out, which would take as long again, nor a server that cannot be reached at first: it is not there.
                    let is_unreachable = kind == RequestKind::Greeting && std::error::Error::source(&status).is_some();
                    let is_final = is_unreachable || status.code() == Code::DeadlineExceeded;
                    // A server that is too busy still answers.
                    match status.code() {
                        Code::ResourceExhausted => self.breaker().note_answer(),
                        _ if is_final => self.breaker().count_silence(self.clock.now()),
                        _ => self.breaker().count_failure(self.clock.now()),
                    }
                    self.counters.trouble(|| format!("{what} failed: {}", sentence(&status)));
                    if is_final {
                        break;
                    }
                    if again < RETRIES {
                        self.clock.sleep(self.pause(again)).await;
                    }
                }
            }
        }
        Err(Unanswered::Down)
    }

    /// Returns the pause before a retry: twice the last one, plus up to half at random, so that many clients do not retry at the same time.
    fn pause(&self, again: u32) -> Duration {
        let base = self.deadlines.pause * 2_u32.pow(again);
        let chance = (self.clock.random() % 1_000) as u32;
        base + base * chance / 2_000
    }
}

/// Returns whether a retry may succeed: the server is busy or unreachable, or the connection broke.
fn is_passing(status: &Status) -> bool {
    match status.code() {
        Code::Unavailable | Code::ResourceExhausted | Code::Aborted | Code::DeadlineExceeded => true,
        // From the server these are answers; from the transport they have a cause.
        Code::Unknown | Code::Internal | Code::Cancelled => std::error::Error::source(status).is_some(),
        _ => false,
    }
}

/// Formats a status on one line, cut to a sensible length.
pub(crate) fn sentence(status: &Status) -> String {
    let mut words: String = status.message().chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let mut cause = std::error::Error::source(status);
    while let Some(inner) = cause {
        if words.is_empty() || inner.source().is_none() {
            words = inner.to_string().chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        }
        cause = inner.source();
    }
    // Numbers of errors mean something to a system, not to people.
    let words = words.split(" (os error ").next().unwrap_or_default();
    let words: String = words.trim().chars().take(200).collect();
    let code = format!("{:?}", status.code());
    // An error of the transport or of a file system has no code of its own.
    let is_of_server = std::error::Error::source(status).is_none()
        && !matches!(
            status.code(),
            Code::Unavailable | Code::DeadlineExceeded | Code::FailedPrecondition | Code::DataLoss
        );
    match (words.is_empty(), is_of_server) {
        (true, _) => code,
        (false, true) => format!("{words} ({code})"),
        (false, false) => words,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::Stopped;
    use std::sync::atomic::{AtomicU32, Ordering};

    fn sender(clock: &Arc<Stopped>) -> RequestSender {
        RequestSender::new(clock.clone(), Deadlines::default(), Arc::default())
    }

    async fn call_with_retries(sender: &RequestSender, status: impl Fn(u32) -> Result<(), Status>) -> (Result<(), Unanswered>, u32) {
        let times = AtomicU32::new(0);
        let attempt = || std::future::ready(status(times.fetch_add(1, Ordering::Relaxed)));
        let answer = sender.send_until_answered("asking", RequestKind::Lookup, attempt).await;
        (answer, times.into_inner())
    }

    #[tokio::test]
    async fn an_answer_is_taken_as_it_is() {
        let clock = Arc::new(Stopped::default());
        let sender = sender(&clock);
        for code in [Code::NotFound, Code::Internal, Code::Unauthenticated] {
            let (answer, times) = call_with_retries(&sender, |_| Err(Status::new(code, ""))).await;
            assert!(matches!(answer, Err(Unanswered::Said(status)) if status.code() == code));
            assert_eq!(times, 1, "{code:?}");
        }
        assert!(clock.slept().is_empty());
    }

    #[tokio::test]
    async fn a_busy_server_is_retried_with_growing_pauses() {
        let clock = Arc::new(Stopped::default());
        let sender = sender(&clock);
        let busy = |times| if times < 2 { Err(Status::unavailable("busy")) } else { Ok(()) };
        let (answer, times) = call_with_retries(&sender, busy).await;
        assert!(answer.is_ok());
        assert_eq!(times, 3);
        let slept = clock.slept();
        assert_eq!(slept.len(), 2);
        for (slept, base) in slept.iter().zip([100, 200]) {
            let base = Duration::from_millis(base);
            assert!(*slept >= base && *slept < base * 3 / 2, "{slept:?}");
        }
    }

    #[tokio::test]
    async fn an_unreachable_server_is_not_asked_during_the_pause() {
        let clock = Arc::new(Stopped::default());
        let sender = sender(&clock);
        let (answer, times) = call_with_retries(&sender, |_| Err(Status::unavailable("gone"))).await;
        assert!(matches!(answer, Err(Unanswered::Down)));
        assert_eq!(times, 3, "the breaker opens");
        let (answer, times) = call_with_retries(&sender, |_| Ok(())).await;
        assert!(matches!(answer, Err(Unanswered::Down)));
        assert_eq!((times, sender.is_up()), (0, false));
        clock.pass(Duration::from_secs(30));
        assert!(sender.is_up());
        let (answer, times) = call_with_retries(&sender, |_| Ok(())).await;
        assert!(answer.is_ok());
        assert_eq!(times, 1);
        assert_eq!(sender.counters.summary().trouble.as_deref(), Some("asking failed: gone"));
    }

    #[tokio::test]
    async fn an_overloaded_server_is_retried_and_stays_up() {
        let clock = Arc::new(Stopped::default());
        let sender = sender(&clock);
        let (answer, times) = call_with_retries(&sender, |_| Err(Status::resource_exhausted("too much at once"))).await;
        assert!(matches!(answer, Err(Unanswered::Down)));
        assert_eq!((times, clock.slept().len()), (4, 3));
        assert!(sender.is_up());
    }

    #[test]
    fn a_transfer_may_take_eight_times_as_long_as_the_speed_says() {
        let sender = sender(&Arc::default());
        let (mib, second) = (1 << 20, Duration::from_secs(1));
        assert_eq!(
            sender.deadline(RequestKind::Read(mib)),
            13 * second,
            "an eighth of a MiB a second is the least"
        );
        assert_eq!(sender.deadline(RequestKind::Read(8 * mib)), 38 * second, "as for what is sent");
        sender.counters.begin_transfer(2 * mib, second);
        sender.counters.end_transfer(2 * mib, 2 * second, true);
        assert_eq!(sender.deadline(RequestKind::Read(mib)), 9 * second);
        sender.counters.begin_transfer(mib, 2 * second);
        assert_eq!(sender.deadline(RequestKind::Read(mib)), 13 * second, "beside another one");
        assert_eq!(sender.deadline(RequestKind::Read(100 * mib)), 130 * second);
    }

    #[tokio::test]
    async fn a_server_that_cannot_be_reached_at_first_is_asked_once() {
        let clock = Arc::new(Stopped::default());
        let sender = sender(&clock);
        let times = AtomicU32::new(0);
        let refused = || {
            times.fetch_add(1, Ordering::Relaxed);
            std::future::ready(Err::<(), _>(Status::from_error(Box::new(std::io::Error::from(
                std::io::ErrorKind::ConnectionRefused,
            )))))
        };
        let answer = sender.send_until_answered("connecting", RequestKind::Greeting, refused).await;
        assert!(matches!(answer, Err(Unanswered::Down)));
        assert_eq!((times.into_inner(), sender.is_up()), (1, false));
        assert!(clock.slept().is_empty());
    }

    #[test]
    fn the_message_of_a_server_is_shown_on_one_line() {
        let status = Status::unavailable(format!("a\nb\u{1b}[31m{}", "x".repeat(400)));
        let told = sentence(&status);
        assert!(
            told.starts_with("a b [31mxxx") && told.len() < 230 && !told.contains(char::is_control),
            "{told}"
        );
    }
}
