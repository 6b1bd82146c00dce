//! When a run starts nothing more: after a signal, or after the first failure of a build that does not keep going.

use crate::seams::producer::Cancel;
use std::time::{Duration, Instant};

/// Whether and since when a run is stopped.
pub(super) struct Stop {
    cancel: Cancel,
    /// Whether to start nothing more.
    is_set: bool,
    /// Time at which this run first noticed the signal.
    cancelled_at: Option<Instant>,
}

impl Stop {
    pub(super) fn new(cancel: Cancel) -> Self {
        Self {
            cancel,
            is_set: false,
            cancelled_at: None,
        }
    }

    /// Starts nothing more from now on.
    pub(super) fn stop_starting(&mut self) {
        self.is_set = true;
    }

    pub(super) fn starts_nothing(&mut self) -> bool {
        self.is_set |= self.is_cancelled();
        self.is_set
    }

    /// Whether the build was cancelled: then the run commits finished results and starts nothing more.
    pub(super) fn is_cancelled(&mut self) -> bool {
        if self.cancelled_at.is_none() && self.cancel.is_cancelled() {
            self.cancelled_at = Some(Instant::now());
        }
        self.cancelled_at.is_some()
    }

    /// Whether a producer may have ended early because of the stop.
    pub(super) fn may_end_producers(&self) -> bool {
        self.is_set || self.cancel.is_cancelled()
    }

    /// Whether running jobs have had their time to end since the signal.
    pub(super) fn is_overdue(&self, patience: Duration) -> bool {
        self.cancelled_at.is_some_and(|at| at.elapsed() >= patience)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_stops_new_work_but_cancels_nothing() {
        let cancel = Cancel::default();
        let mut stop = Stop::new(cancel.clone());
        assert!(!stop.starts_nothing() && !stop.may_end_producers());
        stop.stop_starting();
        assert!(stop.starts_nothing() && stop.may_end_producers() && !stop.is_cancelled());
        assert!(!stop.is_overdue(Duration::ZERO));
        cancel.cancel();
        assert!(stop.is_cancelled() && stop.is_overdue(Duration::ZERO));
    }
}
