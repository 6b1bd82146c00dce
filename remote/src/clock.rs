//! Time and random numbers, behind a seam so that tests need not wait.

use std::future::Future;
use std::hash::{BuildHasher, RandomState};
use std::pin::Pin;
use std::time::{Duration, Instant};

/// Clock and source of random numbers.
pub trait Clock: Send + Sync {
    /// Returns the time since some moment in the past; never goes back.
    fn now(&self) -> Duration;

    /// Waits for `time`.
    fn sleep(&self, time: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>>;

    /// Returns a random number. It need not be secret.
    fn random(&self) -> u64;
}

/// Clock of the machine.
pub struct SystemClock(Instant);

impl Default for SystemClock {
    fn default() -> Self {
        Self(Instant::now())
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Duration {
        self.0.elapsed()
    }

    fn sleep(&self, time: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(tokio::time::sleep(time))
    }

    fn random(&self) -> u64 {
        RandomState::new().hash_one(self.0.elapsed())
    }
}
