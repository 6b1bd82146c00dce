//! The line to a server: how long an answer is waited for, when it is asked again, when it is asked no more.

use crate::account::Account;
use crate::breaker::Breaker;
use crate::moments::Moments;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tonic::{Code, Status};

/// How long is waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadlines {
    /// For a connection.
    pub connect: Duration,
    /// For the answer to a small question.
    pub lookup: Duration,
    /// For a batch of blobs, or a large one.
    pub batch: Duration,
    /// For a shard of work.
    pub work: Duration,
    /// Before a question is asked again for the first time.
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

/// How often a question is asked again.
const RETRIES: u32 = 3;

/// Why there is no answer.
#[derive(Debug)]
pub(crate) enum Unanswered {
    /// Nobody is there, or nobody was so often that nobody is asked.
    Down,
    /// The server said this.
    Said(Status),
}

/// What kind of question it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A small one, whose time is that of the way there.
    Lookup,
    /// One that moves blobs of so many bytes.
    Blobs(u64),
}

/// A slower way is given up.
const SLOWEST: u64 = 1 << 20;

/// Asks, and asks again.
pub(crate) struct Line {
    moments: Arc<dyn Moments>,
    deadlines: Deadlines,
    breaker: Mutex<Breaker>,
    account: Arc<Account>,
}

impl Line {
    pub(crate) fn new(moments: Arc<dyn Moments>, deadlines: Deadlines, account: Arc<Account>) -> Self {
        Self {
            moments,
            deadlines,
            breaker: Mutex::default(),
            account,
        }
    }

    fn breaker(&self) -> MutexGuard<'_, Breaker> {
        self.breaker.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether somebody who asks now is let through.
    pub(crate) fn is_up(&self) -> bool {
        self.breaker().is_closed(self.moments.now())
    }

    /// Any number.
    pub(crate) fn random(&self) -> u64 {
        self.moments.random()
    }

    /// The time for a question of this kind.
    pub(crate) fn deadline(&self, kind: Kind) -> Duration {
        match kind {
            Kind::Lookup => self.deadlines.lookup,
            Kind::Blobs(bytes) => self.deadlines.batch + Duration::from_secs(bytes / SLOWEST),
        }
    }

    /// Asks until somebody answers, whatever the answer is, or nobody is asked any more.
    pub(crate) async fn ask<T, F>(&self, what: &str, kind: Kind, mut attempt: impl FnMut() -> F) -> Result<T, Unanswered>
    where
        F: Future<Output = Result<T, Status>>,
    {
        for again in 0..=RETRIES {
            if !self.breaker().may_ask(self.moments.now()) {
                return Err(Unanswered::Down);
            }
            let began = self.moments.now();
            self.account.count(|summary| summary.requests += 1);
            let answer = match tokio::time::timeout(self.deadline(kind), attempt()).await {
                Ok(answer) => answer,
                Err(_) => Err(Status::deadline_exceeded("there was no answer in time")),
            };
            match answer {
                Ok(answer) => {
                    self.breaker().answered();
                    let took = self.moments.now().saturating_sub(began);
                    match kind {
                        Kind::Lookup => self.account.timed(took),
                        Kind::Blobs(bytes) => self.account.record_transfer(bytes, took),
                    }
                    return Ok(answer);
                }
                Err(status) if !is_passing(&status) => {
                    self.breaker().answered();
                    return Err(Unanswered::Said(status));
                }
                Err(status) => {
                    // One that has too much to do at once is there.
                    match status.code() {
                        Code::ResourceExhausted => self.breaker().answered(),
                        _ => self.breaker().count_failure(self.moments.now()),
                    }
                    self.account.trouble(|| format!("{what} failed: {}", sentence(&status)));
                    if again < RETRIES {
                        self.moments.sleep(self.pause(again)).await;
                    }
                }
            }
        }
        Err(Unanswered::Down)
    }

    /// Twice as long every time, and by chance up to half as long again, so that many who were turned away do not come back at once.
    fn pause(&self, again: u32) -> Duration {
        let base = self.deadlines.pause * 2_u32.pow(again);
        let chance = (self.moments.random() % 1_000) as u32;
        base + base * chance / 2_000
    }
}

/// Whether the same question may be answered in a moment: the server is busy or gone, or the way to it broke.
fn is_passing(status: &Status) -> bool {
    match status.code() {
        Code::Unavailable | Code::ResourceExhausted | Code::Aborted | Code::DeadlineExceeded => true,
        // Said by the server these are answers; only what the transport says has a cause.
        Code::Unknown | Code::Internal | Code::Cancelled => std::error::Error::source(status).is_some(),
        _ => false,
    }
}

/// What a status says, on one line and cut to a sensible length.
pub(crate) fn sentence(status: &Status) -> String {
    let mut words: String = status.message().chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let mut cause = std::error::Error::source(status);
    while let Some(inner) = cause {
        if words.is_empty() || inner.source().is_none() {
            words = inner.to_string().chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        }
        cause = inner.source();
    }
    let words: String = words.trim().chars().take(200).collect();
    let code = format!("{:?}", status.code());
    if words.is_empty() { code } else { format!("{words} ({code})") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::Stopped;
    use std::sync::atomic::{AtomicU32, Ordering};

    fn line(moments: &Arc<Stopped>) -> Line {
        Line::new(moments.clone(), Deadlines::default(), Arc::default())
    }

    async fn call_with_retries(line: &Line, status: impl Fn(u32) -> Result<(), Status>) -> (Result<(), Unanswered>, u32) {
        let times = AtomicU32::new(0);
        let attempt = || std::future::ready(status(times.fetch_add(1, Ordering::Relaxed)));
        let answer = line.ask("asking", Kind::Lookup, attempt).await;
        (answer, times.into_inner())
    }

    #[tokio::test]
    async fn an_answer_is_taken_as_it_is() {
        let moments = Arc::new(Stopped::default());
        let line = line(&moments);
        for code in [Code::NotFound, Code::Internal, Code::Unauthenticated] {
            let (answer, times) = call_with_retries(&line, |_| Err(Status::new(code, ""))).await;
            assert!(matches!(answer, Err(Unanswered::Said(status)) if status.code() == code));
            assert_eq!(times, 1, "{code:?}");
        }
        assert!(moments.slept().is_empty());
    }

    #[tokio::test]
    async fn who_is_busy_is_asked_again_later_and_later() {
        let moments = Arc::new(Stopped::default());
        let line = line(&moments);
        let busy = |times| if times < 2 { Err(Status::unavailable("busy")) } else { Ok(()) };
        let (answer, times) = call_with_retries(&line, busy).await;
        assert!(answer.is_ok());
        assert_eq!(times, 3);
        let slept = moments.slept();
        assert_eq!(slept.len(), 2);
        for (slept, base) in slept.iter().zip([100, 200]) {
            let base = Duration::from_millis(base);
            assert!(*slept >= base && *slept < base * 3 / 2, "{slept:?}");
        }
    }

    #[tokio::test]
    async fn who_is_gone_is_asked_no_more_until_the_pause_is_over() {
        let moments = Arc::new(Stopped::default());
        let line = line(&moments);
        let (answer, times) = call_with_retries(&line, |_| Err(Status::unavailable("gone"))).await;
        assert!(matches!(answer, Err(Unanswered::Down)));
        assert_eq!(times, 3, "the breaker opens");
        let (answer, times) = call_with_retries(&line, |_| Ok(())).await;
        assert!(matches!(answer, Err(Unanswered::Down)));
        assert_eq!((times, line.is_up()), (0, false));
        moments.pass(Duration::from_secs(30));
        assert!(line.is_up());
        let (answer, times) = call_with_retries(&line, |_| Ok(())).await;
        assert!(answer.is_ok());
        assert_eq!(times, 1);
        assert_eq!(line.account.summary().trouble.as_deref(), Some("asking failed: gone (Unavailable)"));
    }

    #[tokio::test]
    async fn who_has_too_much_to_do_is_asked_again_and_not_left_alone() {
        let moments = Arc::new(Stopped::default());
        let line = line(&moments);
        let (answer, times) = call_with_retries(&line, |_| Err(Status::resource_exhausted("too much at once"))).await;
        assert!(matches!(answer, Err(Unanswered::Down)));
        assert_eq!((times, moments.slept().len()), (4, 3));
        assert!(line.is_up());
    }

    #[test]
    fn what_a_server_says_is_shown_on_one_line() {
        let status = Status::unavailable(format!("a\nb\u{1b}[31m{}", "x".repeat(400)));
        let told = sentence(&status);
        assert!(
            told.starts_with("a b [31mxxx") && told.len() < 230 && !told.contains(char::is_control),
            "{told}"
        );
    }
}
