//! The environment of calls: clocks, waiting, randomness, variables. Tests have an environment of their own, in which waiting takes no time.

use engine::seams::producer::Cancel;
use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, Instant, SystemTime};

/// Interval at which a wait checks for cancellation.
pub(super) const LOOK_UP: Duration = Duration::from_millis(50);

pub(super) trait CallEnvironment: Send + Sync {
    /// Returns the time of a monotonic clock.
    fn now(&self) -> Instant;

    /// Returns the time of day, for dates in headers and ages of files.
    fn today(&self) -> SystemTime;

    /// Waits; returns `false` when cancelled.
    fn wait(&self, time: Duration, cancel: &Cancel) -> bool;

    /// Returns a random number between 0 and 1.
    fn chance(&self) -> f64;

    fn variable(&self, name: &str) -> Option<String>;
}

/// The real environment.
pub(super) struct Real;

impl CallEnvironment for Real {
    fn now(&self) -> Instant {
        Instant::now()
    }

    fn today(&self) -> SystemTime {
        SystemTime::now()
    }

    fn wait(&self, time: Duration, cancel: &Cancel) -> bool {
        let mut left = time;
        while !left.is_zero() {
            if cancel.is_cancelled() {
                return false;
            }
            let slice = left.min(LOOK_UP);
            std::thread::sleep(slice);
            left -= slice;
        }
        !cancel.is_cancelled()
    }

    fn chance(&self) -> f64 {
        // The keys of a new hasher are random; a float distinguishes 2⁵³ of its values.
        const PRECISION: u64 = 1 << 53;
        #[expect(clippy::cast_precision_loss, reason = "both are at most 2⁵³")]
        let chance = (RandomState::new().hash_one(0_u8) % PRECISION) as f64 / PRECISION as f64;
        chance
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "keys of services and proxies stand in the environment and are read when they are used, by no one else"
    )]
    fn variable(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }
}
