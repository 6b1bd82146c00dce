//! The costs of building, looking up and fetching a result, and the choices that a build derives from them.

use crate::seams::producer::Pool;
use crate::store::volumes::VolumeCost;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Minimum average duration of results that count as slow to build, however near the cache is.
const SOON: Duration = Duration::from_millis(5);

/// Speed of a cache, in bytes per second, below which computed results are not looked up by themselves: tables among them take seconds to receive.
const SLOWEST: u64 = 1 << 20;

/// Reason why a result is looked up in the remote cache by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LookUp {
    /// It is paid for, or a program produces it.
    Dear,
    /// It is the only one of its rule.
    Single,
    /// Building it takes longer than a question.
    Slow,
    /// It is not looked up by itself, but received with the bundle of a tree.
    Bundled,
}

impl LookUp {
    /// Chooses for a result whose producers take `took` on average, with a cache at this distance and this speed in bytes per second.
    pub fn choose(pool: Pool, is_single: bool, took: Option<Duration>, round_trip: Option<Duration>, speed: Option<u64>) -> Self {
        let is_slow = || took.zip(round_trip).is_some_and(|(took, asking)| took > asking.max(SOON));
        match pool {
            Pool::Slow | Pool::Paid => Self::Dear,
            Pool::Cpu if speed.is_some_and(|speed| speed < SLOWEST) => Self::Bundled,
            Pool::Cpu if is_single => Self::Single,
            Pool::Cpu if is_slow() => Self::Slow,
            Pool::Cpu => Self::Bundled,
        }
    }
}

/// Average duration of a producer in a build.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ProducerCost {
    /// Its name and version.
    pub producer: String,
    /// The average, in microseconds.
    pub took_us: u64,
    /// Whether its results were looked up by themselves.
    pub look_up: LookUp,
}

/// Use of the remote cache for one target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemoteChoice {
    /// Reason why its result is looked up by itself.
    pub look_up: LookUp,
    /// Duration of a question when the cache was last used, in microseconds.
    pub round_trip_us: Option<u64>,
    /// The volume that has its output, if this store lacks it.
    pub volume: Option<VolumeCost>,
    /// Whether the volume is fetched when the output is read; otherwise the output is built.
    pub is_fetched: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_dearer_than_a_lookup_are_looked_up() {
        let ms = |ms: u64| Some(Duration::from_millis(ms));
        let fast = Some(SLOWEST);
        for (pool, is_single, took, round_trip, speed, expected) in [
            (Pool::Paid, false, None, None, fast, LookUp::Dear),
            (Pool::Slow, false, ms(0), ms(1000), fast, LookUp::Dear),
            (Pool::Cpu, true, ms(0), ms(1000), fast, LookUp::Single),
            (Pool::Cpu, false, ms(30), ms(20), fast, LookUp::Slow),
            (Pool::Cpu, false, ms(10), ms(20), fast, LookUp::Bundled),
            // However near the cache is.
            (Pool::Cpu, false, ms(4), ms(0), fast, LookUp::Bundled),
            (Pool::Cpu, false, None, ms(0), fast, LookUp::Bundled),
            (Pool::Cpu, false, ms(30), None, fast, LookUp::Bundled),
            (Pool::Cpu, true, None, None, None, LookUp::Single),
            (Pool::Cpu, true, ms(30), ms(20), Some(SLOWEST - 1), LookUp::Bundled),
            (Pool::Slow, true, ms(0), ms(20), Some(1), LookUp::Dear),
        ] {
            assert_eq!(
                LookUp::choose(pool, is_single, took, round_trip, speed),
                expected,
                "{pool:?} {took:?} {round_trip:?}"
            );
        }
    }
}
