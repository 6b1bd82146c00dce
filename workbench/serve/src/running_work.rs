//! Running work of a service: each piece can be cancelled, and a service that ends waits for all of it.

use engine::seams::producer::Cancel;
use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Running pieces of work.
#[derive(Debug, Default)]
pub struct RunningWork {
    state: Mutex<WorkState>,
    ended: Condvar,
}

#[derive(Debug, Default)]
struct WorkState {
    /// Whether new work is cancelled at once.
    is_over: bool,
    last: u64,
    cancels: BTreeMap<u64, Cancel>,
}

/// Registration of a piece of work; dropping it marks the end.
#[derive(Debug)]
pub struct Registered<'r> {
    running: &'r RunningWork,
    number: u64,
}

impl RunningWork {
    /// Registers a piece of work with its cancellation.
    pub fn register(&self, cancel: &Cancel) -> Registered<'_> {
        let mut state = self.lock_running();
        if state.is_over {
            cancel.cancel();
        }
        state.last += 1;
        let number = state.last;
        state.cancels.insert(number, cancel.clone());
        Registered { running: self, number }
    }

    /// Returns the number of running pieces.
    pub fn count(&self) -> usize {
        self.lock_running().cancels.len()
    }

    pub fn cancel_all(&self) {
        self.lock_running().cancels.values().for_each(Cancel::cancel);
    }

    /// Cancels the running work, and all that is registered from now on. Waits at most `patience` for the running work to end.
    pub fn finish_within(&self, patience: Duration) {
        let until = Instant::now() + patience;
        let mut state = self.lock_running();
        state.is_over = true;
        state.cancels.values().for_each(Cancel::cancel);
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if state.cancels.is_empty() || left.is_zero() {
                return;
            }
            state = self.ended.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn lock_running(&self) -> MutexGuard<'_, WorkState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Registered<'_> {
    fn drop(&mut self) {
        self.running.lock_running().cancels.remove(&self.number);
        self.running.ended.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_that_ends_waits_for_running_work() {
        let (running, cancel, late) = (RunningWork::default(), Cancel::default(), Cancel::default());
        let first = running.register(&cancel);
        running.finish_within(Duration::ZERO);
        assert!(cancel.is_cancelled() && running.count() == 1);
        let second = running.register(&late);
        assert!(late.is_cancelled(), "nothing more is begun");
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| running.finish_within(Duration::from_secs(600)));
            drop((first, second));
            waits.join().expect("no panic");
        });
        assert_eq!(running.count(), 0);
    }
}
