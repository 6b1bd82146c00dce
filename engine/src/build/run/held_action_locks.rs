//! Action locks that this process holds until their results are committed; other processes wait for them.

use crate::store::ActionLock;
use std::time::{Duration, Instant};

/// Maximum age: two processes may wait for each other's uncommitted results, but no longer than this.
const OLD: Duration = Duration::from_millis(200);

/// The locks of results that are built and not yet committed.
#[derive(Default)]
pub(super) struct HeldActionLocks {
    action_locks: Vec<ActionLock>,
    since: Option<Instant>,
}

impl HeldActionLocks {
    pub(super) fn extend(&mut self, action_lock: Option<ActionLock>) {
        if action_lock.is_some() {
            self.since.get_or_insert_with(Instant::now);
            self.action_locks.extend(action_lock);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.action_locks.is_empty()
    }

    pub(super) fn are_old(&self) -> bool {
        self.since.is_some_and(|since| since.elapsed() >= OLD)
    }

    /// Takes the locks out; drop them after the commit.
    pub(super) fn take(&mut self) -> Vec<ActionLock> {
        self.since = None;
        std::mem::take(&mut self.action_locks)
    }
}
