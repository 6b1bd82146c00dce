//! Time and chance, behind a seam so that tests wait for nothing.

use std::future::Future;
use std::hash::{BuildHasher, RandomState};
use std::pin::Pin;
use std::time::{Duration, Instant};

/// Tells the time, waits, and draws lots.
pub trait Moments: Send + Sync {
    /// Time since some moment in the past; never goes back.
    fn now(&self) -> Duration;

    /// Waits so long.
    fn sleep(&self, time: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>>;

    /// Any number. It need not be a secret.
    fn random(&self) -> u64;
}

/// The clock of the machine.
pub struct RealMoments(Instant);

impl Default for RealMoments {
    fn default() -> Self {
        Self(Instant::now())
    }
}

impl Moments for RealMoments {
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
