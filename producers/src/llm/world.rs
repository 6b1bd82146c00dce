//! What calls need of their surroundings: clocks, waiting, chance, the environment. Tests have a world of their own, in which waiting
//! takes no time.

use engine::seams::producer::Cancel;
use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, Instant, SystemTime};

/// How long a wait lasts before it is seen whether to stop.
pub(super) const LOOK_UP: Duration = Duration::from_millis(50);

/// The surroundings.
pub(super) trait World: Send + Sync {
    /// A clock that never goes back.
    fn now(&self) -> Instant;

    /// The time of day, for dates in headers and ages of files.
    fn today(&self) -> SystemTime;

    /// Waits; `false` when told to stop.
    fn wait(&self, time: Duration, cancel: &Cancel) -> bool;

    /// Between 0 and 1, by chance.
    fn chance(&self) -> f64;

    /// A variable of the environment.
    fn variable(&self, name: &str) -> Option<String>;
}

/// The real one.
pub(super) struct Real;

impl World for Real {
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
        // The keys of a new hasher are random; 2⁵³ of its values are told apart by a float.
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
