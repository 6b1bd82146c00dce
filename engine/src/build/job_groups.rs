//! Job groups: paid jobs that can be asked as one question are dispatched together, once no running computation could add more of them.
//!
//! One group runs at a time, each of its jobs in a thread of its own: a thread costs less than a question. The limit of the pool for paid jobs
//! bounds how many of them call a model at a time.

use super::answers;
use super::finished_job::{Finished, From, Waiting};
use super::job::{Job, JobContext, Task};
use crate::graph::NodeId;
use crate::seams::job_group::JobGroup;
use crate::seams::producer::Grouping;
use crate::seams::remote::Wanted;
use crate::store::records::Class;
use crossbeam_channel::Sender;
use std::collections::BinaryHeap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::Instant;

/// Maximum number of jobs in a group.
pub(super) const MOST_MEMBERS: usize = 256;

/// Jobs that wait for a group, and the group that is running.
pub(super) struct JobGroups {
    calls: usize,
    waiting: BinaryHeap<Waiting>,
    out: usize,
    /// Whether this build replaces paid results, so that grouping pays.
    has_edits: bool,
    threads: Vec<JoinHandle<()>>,
}

impl JobGroups {
    /// Creates an empty queue; at most `calls` jobs of a group call a model at a time.
    pub(super) fn new(calls: usize) -> Self {
        Self {
            calls,
            waiting: BinaryHeap::new(),
            out: 0,
            has_edits: false,
            threads: Vec::new(),
        }
    }

    pub(super) fn add_waiting(&mut self, waiting: Waiting) {
        self.waiting.push(waiting);
    }

    pub(super) fn waiting_nodes(&self) -> impl Iterator<Item = NodeId> {
        self.waiting.iter().map(|waiting| waiting.job.id)
    }

    /// Called when the build is going to replace a paid result.
    pub(super) fn expect_edits(&mut self) {
        self.has_edits = true;
    }

    /// Whether a remote cache has the result of a waiting job.
    pub(super) fn is_any_answered(&self, shared: &JobContext) -> bool {
        let Some(sharing) = shared.sharing.as_ref().filter(|sharing| sharing.cache.reads()) else {
            return false;
        };
        let result = |waiting: &Waiting| match &waiting.job.task {
            Task::Produce {
                producer, key, ask: true, ..
            } => Some(Wanted {
                key: *key,
                producer: producer.id().to_string(),
            }),
            _ => None,
        };
        let wanted: Vec<Wanted> = self.waiting.iter().filter_map(result).take(MOST_MEMBERS).collect();
        !wanted.is_empty() && sharing.cache.find_results_uncounted(&wanted).iter().any(Option::is_some)
    }

    /// Takes all waiting jobs away if grouping them does not pay: see [`Grouping::AfterEdits`].
    pub(super) fn take_ungrouped(&mut self, shared: &JobContext) -> BinaryHeap<Waiting> {
        let jobs = || self.waiting.iter().map(|waiting| &waiting.job);
        self.has_edits = self.has_edits || jobs().any(|job| replaces_paid_result(shared, job));
        let is_always = |job: &Job| grouping(shared, job) == Grouping::Always;
        match self.waiting.len() {
            2.. if self.has_edits || jobs().any(is_always) || others_answered(shared, jobs()) => BinaryHeap::new(),
            _ => std::mem::take(&mut self.waiting),
        }
    }

    pub(super) fn clear(&mut self) {
        self.waiting.clear();
    }

    /// Dispatches all waiting jobs, highest priority first, unless a group is running.
    pub(super) fn pump(
        &mut self,
        shared: &Arc<JobContext>,
        done: &Sender<Finished>,
        stopped: &Arc<AtomicBool>,
        mut begins: impl FnMut(NodeId),
    ) {
        if self.out > 0 || self.waiting.is_empty() {
            return;
        }
        self.stop();
        self.out = self.waiting.len().min(MOST_MEMBERS);
        let job_group = JobGroup::new(self.out, self.calls);
        for number in 0..self.out {
            let Some(Waiting { job, .. }) = self.waiting.pop() else { break };
            if !job.is_assumed {
                begins(job.id);
            }
            let (member, shared, done, stopped) = (job_group.member(number), shared.clone(), done.clone(), stopped.clone());
            self.threads.push(std::thread::spawn(move || {
                let began = Instant::now();
                let came_to = if stopped.load(Relaxed) {
                    job.cancelled()
                } else {
                    job.run_in(&shared, Some(&member))
                };
                drop(member);
                let finished = Finished {
                    id: job.id,
                    done: came_to,
                    from: From::JobGroup,
                    worker: number,
                    task: job.task.name(),
                    began,
                    took: began.elapsed(),
                };
                // A build that ended early has dropped the receiver.
                let _ = done.send(finished);
            }));
        }
    }

    pub(super) fn count_finished_job(&mut self) {
        self.out -= 1;
    }

    pub(super) fn is_between_groups(&self) -> bool {
        self.out == 0
    }

    pub(super) fn is_idle(&self) -> bool {
        self.out == 0 && self.waiting.is_empty()
    }

    /// Detaches the threads of running jobs.
    pub(super) fn abandon(&mut self) {
        self.threads.clear();
    }

    /// Waits for the threads to end.
    pub(super) fn stop(&mut self) {
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// Returns when a job can be asked together with others.
pub(super) fn grouping(shared: &JobContext, job: &Job) -> Grouping {
    let definition = &shared.manifest.producers[shared.manifest.rules[job.rule as usize].producer as usize];
    match &job.task {
        Task::Produce { producer, .. } => producer.grouping(&definition.params, &definition.settings),
        Task::Expand { .. } => Grouping::Never,
    }
}

/// Whether another machine stored an answer to an earlier question of one of these jobs.
fn others_answered<'j>(shared: &JobContext, jobs: impl Iterator<Item = &'j Job>) -> bool {
    let Some(sharing) = shared.sharing.as_ref().filter(|sharing| sharing.cache.reads()) else {
        return false;
    };
    let latest = |job: &Job| {
        let Task::Produce {
            producer,
            past: Some(past),
            ..
        } = &job.task
        else {
            return None;
        };
        let definition = &shared.manifest.producers[shared.manifest.rules[job.rule as usize].producer as usize];
        let looks = past.previous.is_none() && producer.builds_on_previous(&definition.params);
        looks.then(|| Wanted {
            key: answers::latest_key(&producer.id(), &definition.params, &job.label),
            producer: producer.id().to_string(),
        })
    };
    let wanted: Vec<Wanted> = jobs.filter_map(latest).take(MOST_MEMBERS).collect();
    !wanted.is_empty() && sharing.cache.find(&wanted).iter().any(Option::is_some)
}

/// Whether a job replaces a result that was paid for, under its present name or, in a build after renames, a former one.
fn replaces_paid_result(shared: &JobContext, job: &Job) -> bool {
    let Task::Produce { past: Some(past), .. } = &job.task else {
        return false;
    };
    let has_renames = shared.former.get().is_some_and(|former| !former.is_empty());
    if past.previous.is_none() && has_renames {
        return true;
    }
    let earlier = past.previous.and_then(|key| shared.blobs.action(&key).ok().flatten());
    earlier.is_some_and(|record| record.class == Class::Paid)
}
