//! Remote queue: computing jobs that a farm can do while this machine does others.
//!
//! Jobs worth sending wait in a queue of their own. This machine takes the newest. While more jobs wait than it can soon run, it sends the oldest to
//! the farm, many in one shard. Jobs without a complete answer run here. The number of concurrent shards follows the farm's success; a farm that
//! did not answer in time gets no more shards.

use super::finished_job::{Finished, From};
use super::job::{Done, Job, JobContext};
use super::shard::{self, Shard, WorkerOutput};
use crate::graph::NodeId;
use crate::seams::farm::{Farm, SendThresholds, ShardOutcome};
use crate::seams::producer::Cancel;
use crate::store::shared::MADE;
use crate::values::digest::Digest;
use crossbeam_channel::Sender;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Initial maximum of concurrent shards.
const FIRST: usize = 2;
/// Upper limit of concurrent shards.
const MOST: usize = 32;

/// Jobs that wait for this machine or the farm, and the shards in progress.
pub struct RemoteQueue {
    farm: Arc<dyn Farm>,
    terms: SendThresholds,
    shared: Arc<JobContext>,
    done: Sender<Finished>,
    waiting: VecDeque<Job>,
    /// Expected duration here of the waiting jobs.
    backlog: Duration,
    shards: Vec<ShardHandle>,
    /// Maximum number of concurrent shards.
    slots: Arc<AtomicUsize>,
    sent: usize,
    idle_since: Option<Instant>,
    is_closed: bool,
}

struct ShardHandle {
    number: usize,
    jobs: usize,
    given_up: Cancel,
    thread: JoinHandle<()>,
}

impl RemoteQueue {
    /// Creates an empty queue; `None` without a farm.
    pub fn for_farm(shared: &Arc<JobContext>, done: &Sender<Finished>) -> Option<Self> {
        let farm = shared.sharing.as_ref()?.farm.clone()?;
        Some(Self {
            terms: farm.terms(),
            farm,
            shared: shared.clone(),
            done: done.clone(),
            waiting: VecDeque::new(),
            backlog: Duration::ZERO,
            shards: Vec::new(),
            slots: Arc::new(AtomicUsize::new(FIRST)),
            sent: 0,
            idle_since: None,
            is_closed: false,
        })
    }

    /// Whether a job belongs into this queue.
    pub fn is_for(&self, job: &Job) -> bool {
        !self.is_closed && job.duration_if_sent.is_some_and(|takes| takes >= self.terms.worth)
    }

    pub fn add_job(&mut self, job: Job) {
        self.backlog += job.duration_if_sent.unwrap_or_default();
        self.waiting.push_back(job);
    }

    /// Takes the newest job, to run here.
    pub fn take(&mut self) -> Option<Job> {
        let job = self.waiting.pop_back()?;
        self.reduce_backlog(&job);
        Some(job)
    }

    fn reduce_backlog(&mut self, job: &Job) {
        self.backlog = self.backlog.saturating_sub(job.duration_if_sent.unwrap_or_default());
    }

    /// Sends shards while enough jobs wait and the farm accepts more.
    pub fn send(&mut self) {
        while !self.is_closed
            && !self.waiting.is_empty()
            && self.backlog >= self.terms.backlog
            && self.shards.len() < self.slots.load(Ordering::Relaxed)
            && self.farm.is_open()
        {
            // Keep half of the jobs: otherwise this machine would be idle.
            let most = self.terms.shard.min(self.backlog / 2);
            let mut jobs = Vec::new();
            let mut takes = Duration::ZERO;
            while let Some(job) = self.waiting.pop_front() {
                self.reduce_backlog(&job);
                takes += job.duration_if_sent.unwrap_or_default();
                jobs.push(job);
                if takes >= most {
                    break;
                }
            }
            self.send_shard(jobs);
        }
    }

    fn send_shard(&mut self, jobs: Vec<Job>) {
        self.sent += 1;
        let task = ShardTask {
            number: self.sent,
            farm: self.farm.clone(),
            bytes: self.terms.bytes,
            shared: self.shared.clone(),
            done: self.done.clone(),
            slots: self.slots.clone(),
            given_up: Cancel::default(),
        };
        self.shards.push(ShardHandle {
            number: self.sent,
            jobs: jobs.len(),
            given_up: task.given_up.clone(),
            thread: std::thread::spawn(move || task.run(jobs)),
        });
    }

    /// Counts a finished job of a shard.
    pub fn count_finished_job(&mut self, number: usize) {
        if let Some(at) = self.shards.iter().position(|shard| shard.number == number) {
            self.shards[at].jobs -= 1;
            if self.shards[at].jobs == 0 {
                self.shards.swap_remove(at);
            }
        }
    }

    /// Whether no job waits and no shard is in progress.
    pub fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.shards.is_empty()
    }

    /// Whether no job waits for dispatch.
    pub fn only_waits(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Gives up the shards if this machine has been idle for long enough; `idle`: it has no other work.
    pub fn give_up_if_overdue(&mut self, idle: bool) {
        if !idle || self.shards.is_empty() {
            self.idle_since = None;
        } else if self.idle_since.get_or_insert_with(Instant::now).elapsed() >= self.terms.patience {
            self.give_up();
        }
    }

    /// Gives up all shards, and sends no more.
    pub fn give_up(&mut self) {
        self.is_closed = true;
        for shard in &self.shards {
            shard.given_up.cancel();
        }
    }

    /// Drops waiting jobs and gives up shards.
    pub fn clear(&mut self) {
        self.waiting.clear();
        self.backlog = Duration::ZERO;
        self.give_up();
    }

    /// Waits for the threads to end.
    pub fn stop(&mut self) {
        self.clear();
        for shard in self.shards.drain(..) {
            let _ = shard.thread.join();
        }
    }
}

/// A shard on its way to the farm and back.
struct ShardTask {
    number: usize,
    farm: Arc<dyn Farm>,
    /// Length of the inputs sent, in bytes.
    bytes: usize,
    shared: Arc<JobContext>,
    done: Sender<Finished>,
    slots: Arc<AtomicUsize>,
    given_up: Cancel,
}

impl ShardTask {
    fn run(&self, jobs: Vec<Job>) {
        let mut shard = Shard::default();
        let mut sent = Vec::new();
        for job in jobs {
            match shard.bytes() < self.bytes && job.add_to_shard(&self.shared, &mut shard) {
                true => sent.push(job),
                false => self.return_job(job, Instant::now()),
            }
        }
        if sent.is_empty() {
            return;
        }
        let began = Instant::now();
        let keys: Vec<_> = sent.iter().filter_map(Job::key).collect();
        let returned = self.farm.work(shard.encode(), &self.given_up);
        let read = returned.map(|bytes| shard::decode_answer(&bytes, &keys)).transpose();
        let (made, wrong): (Vec<Option<WorkerOutput>>, _) = match read {
            Ok(made) => (made.unwrap_or_default(), None),
            Err(wrong) => (Vec::new(), Some(wrong.to_owned())),
        };
        let count = made.iter().flatten().count();
        self.farm.note(&ShardOutcome {
            made: count as u64,
            unmade: (sent.len() - count) as u64,
            took: made.iter().flatten().map(|made| made.took).sum(),
            wrong,
        });
        let slots = self.slots.load(Ordering::Relaxed);
        let slots = if count > 0 { slots + 1 } else { slots / 2 };
        self.slots.store(slots.clamp(1, MOST), Ordering::Relaxed);
        // Give the jobs consecutive times, for a display of the build.
        let mut at = began;
        for (job, made) in sent.into_iter().zip(made.into_iter().chain(std::iter::repeat(None))) {
            match made {
                Some(made) => at = self.finish_job(&job, made, at),
                None => self.return_job(job, at),
            }
        }
    }

    fn finish_job(&self, job: &Job, made: WorkerOutput, began: Instant) -> Instant {
        let WorkerOutput { output, took } = made;
        let mut output = output.stored();
        output.notes.insert(MADE.0.to_owned(), MADE.1.to_owned());
        let digest = Digest::of(&output.bytes);
        let done = Done::Produced {
            output: Box::new(output),
            digest,
            took,
            action_lock: None,
            is_adopted: false,
            cost: Box::default(),
        };
        self.send((job.id, job.task.name()), done, (began, took));
        began + took
    }

    fn return_job(&self, job: Job, began: Instant) {
        let of = (job.id, job.task.name());
        self.send(of, Done::NotBuilt(Box::new(job)), (began, Duration::ZERO));
    }

    fn send(&self, (id, task): (NodeId, &'static str), done: Done, (began, took): (Instant, Duration)) {
        let finished = Finished {
            id,
            done,
            from: From::Farm,
            worker: self.number,
            task,
            began,
            took,
        };
        // The loop may have ended early and dropped the receiver.
        let _ = self.done.send(finished);
    }
}
