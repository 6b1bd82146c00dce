//! Whose turn it is to build: one request at a time has the checkout.

use engine::seams::producer::Cancel;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How often one who waits looks whether he is still wanted.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The right to build, and who has it.
#[derive(Debug, Default)]
pub struct Turn {
    taken: Mutex<Option<&'static str>>,
    given_back: Condvar,
}

/// The right to build; given back with the value.
#[derive(Debug)]
pub struct Held<'a>(&'a Turn);

impl Turn {
    /// Waits for the right for as long as `patience`. `what` is told to those who wait.
    ///
    /// # Errors
    /// What has it, when the time is over or the wait was cancelled.
    pub fn take(&self, what: &'static str, patience: Duration, cancel: &Cancel) -> Result<Held<'_>, &'static str> {
        let until = Instant::now() + patience;
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(holder) = *taken {
            if cancel.is_cancelled() || Instant::now() >= until {
                return Err(holder);
            }
            taken = self
                .given_back
                .wait_timeout(taken, LOOK_EVERY)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
        *taken = Some(what);
        Ok(Held(self))
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        *self.0.taken.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.0.given_back.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_has_it_and_the_others_learn_who() {
        let turn = Turn::default();
        let held = turn.take("outline", Duration::ZERO, &Cancel::default()).expect("free");
        assert_eq!(
            turn.take("usages", Duration::ZERO, &Cancel::default()).expect_err("taken"),
            "outline"
        );
        let cancel = Cancel::default();
        cancel.cancel();
        assert_eq!(
            turn.take("usages", Duration::from_secs(600), &cancel).expect_err("cancelled"),
            "outline"
        );
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| turn.take("usages", Duration::from_secs(600), &Cancel::default()).is_ok());
            drop(held);
            assert!(waiting.join().expect("no panic"));
        });
    }
}
