//! Jobs before and after their run: those that wait for a worker, and those that a worker finished.

use super::job::{Done, Job};
use crate::graph::NodeId;
use crate::seams::producer::Pool;
use crate::values::event::FinishedJob;
use std::cmp::Ordering;
use std::time::{Duration, Instant};

/// A job that waits for a thread.
pub(super) struct Waiting {
    pub(super) priority: f64,
    pub(super) arrival: u64,
    pub(super) job: Job,
}

impl PartialEq for Waiting {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Waiting {}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Waiting {
    fn cmp(&self, other: &Self) -> Ordering {
        self.priority.total_cmp(&other.priority).then(other.arrival.cmp(&self.arrival))
    }
}

/// Place where a job ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum From {
    /// In a pool of this machine.
    Here(Pool),
    /// In a group, outside of the pools.
    JobGroup,
    Farm,
}

/// A finished job.
pub struct Finished {
    pub id: NodeId,
    pub done: Done,
    pub(super) from: From,
    pub(super) worker: usize,
    pub(super) task: &'static str,
    pub(super) began: Instant,
    pub(super) took: Duration,
}

impl Finished {
    /// Returns where and when it ran, for the observer.
    pub fn to_event<'a>(&self, label: &'a str) -> FinishedJob<'a> {
        let pool = match self.from {
            From::Here(Pool::Cpu) => "cpu",
            From::Here(Pool::Slow) => "slow",
            From::Here(Pool::Paid) | From::JobGroup => "paid",
            From::Farm => "farm",
        };
        FinishedJob {
            label,
            task: self.task,
            pool,
            worker: self.worker,
            began: self.began,
            took: self.took,
        }
    }
}
