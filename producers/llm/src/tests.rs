//! Tests of asking models, against a scripted server.

mod agents;
mod batches;
mod hearing;
mod keys;
mod limits;
mod providers;
mod recordings;
mod server;
mod vectors;
mod waiting;

use super::call_environment::CallEnvironment;
use engine::seams::producer::Cancel;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// A world in which waiting takes no time.
pub(crate) struct Stage {
    start: Instant,
    passed: Mutex<Duration>,
    variables: Mutex<BTreeMap<String, String>>,
}

impl Stage {
    pub(crate) fn new() -> Self {
        Self {
            start: Instant::now(),
            passed: Mutex::default(),
            variables: Mutex::default(),
        }
    }

    pub(crate) fn set(&self, name: &str, value: &str) {
        let mut variables = self.variables.lock().unwrap_or_else(PoisonError::into_inner);
        variables.insert(name.to_owned(), value.to_owned());
    }

    /// Returns the total of all waits.
    pub(crate) fn passed(&self) -> Duration {
        *self.passed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CallEnvironment for Stage {
    fn now(&self) -> Instant {
        self.start + self.passed()
    }

    fn today(&self) -> SystemTime {
        // Sat, 21 Nov 2026 21:40:00 GMT.
        SystemTime::UNIX_EPOCH + Duration::from_secs(1_795_297_200) + self.passed()
    }

    fn wait(&self, time: Duration, cancel: &Cancel) -> bool {
        *self.passed.lock().unwrap_or_else(PoisonError::into_inner) += time;
        !cancel.is_cancelled()
    }

    fn chance(&self) -> f64 {
        1.0
    }

    fn variable(&self, name: &str) -> Option<String> {
        let variables = self.variables.lock().unwrap_or_else(PoisonError::into_inner);
        variables.get(name).cloned()
    }
}
