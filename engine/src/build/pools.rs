//! The pools: rayon for computing (and a farm, if there is one), threads of their own for programs, a few more for paid calls.
//!
//! Jobs wait here and are dispatched a few at a time: computing jobs newest first (so that new outputs are read while in memory), the others by
//! priority (references / (1 + depth), first come first served among equals: seed 000 §5.3).

use super::finished_job::{Finished, From, Waiting};
use super::job::{Job, JobContext};
use super::job_groups::{self, JobGroups};
use super::remote_queue::RemoteQueue;
use crate::graph::NodeId;
use crate::seams::producer::{Grouping, Pool};
use crossbeam_channel::Sender;
use std::collections::BinaryHeap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Dispatches jobs to workers and counts those in progress.
pub struct Pools {
    threads: usize,
    shared: Arc<JobContext>,
    done: Sender<Finished>,
    rayon: Option<rayon::ThreadPool>,
    cpu_waiting: Vec<Job>,
    cpu_out: usize,
    remote_queue: Option<RemoteQueue>,
    slow: Lane,
    paid: Lane,
    job_groups: JobGroups,
    /// Paid jobs that a thread has taken.
    begun: Vec<NodeId>,
    /// Set to prevent dispatched jobs of lanes from starting.
    stopped: Arc<AtomicBool>,
}

/// Threads that take jobs by priority.
struct Lane {
    from: From,
    threads: usize,
    /// Jobs dispatched beyond those that run.
    ahead: usize,
    workers: Option<Sender<Job>>,
    handles: Vec<std::thread::JoinHandle<()>>,
    waiting: BinaryHeap<Waiting>,
    out: usize,
    arrived: u64,
}

/// Maximum number of threads: more only take memory.
const MOST_THREADS: usize = 256;

/// Jobs dispatched to each computing thread beyond the one that it runs.
const AHEAD: usize = 24;

/// Time that a stopped build waits for computing jobs: a large file is parsed to its end.
const COMPUTING: Duration = Duration::from_millis(250);

/// Time that a stopped build waits for programs and calls, which are being ended.
const ENDING: Duration = Duration::from_millis(600);

impl Pools {
    /// Creates pools of `threads` workers each, and `paid` for paid calls; threads start with the first job.
    pub fn new(threads: usize, paid: usize, shared: Arc<JobContext>, done: Sender<Finished>) -> Self {
        let threads = threads.clamp(1, MOST_THREADS);
        Self {
            threads,
            remote_queue: RemoteQueue::for_farm(&shared, &done),
            shared,
            done,
            rayon: None,
            cpu_waiting: Vec::new(),
            cpu_out: 0,
            // Queue one extra job per thread: running programs may delay the loop that refills the queue.
            slow: Lane::new(Pool::Slow, threads, threads),
            // A call takes seconds: choose the next question when a thread is free.
            paid: Lane::new(Pool::Paid, paid.clamp(1, MOST_THREADS), 0),
            job_groups: JobGroups::new(paid.clamp(1, MOST_THREADS)),
            begun: Vec::new(),
            stopped: Arc::default(),
        }
    }

    pub fn add_cpu_job(&mut self, job: Job) {
        match &mut self.remote_queue {
            Some(remote_queue) if remote_queue.is_for(&job) => remote_queue.add_job(job),
            _ => self.cpu_waiting.push(job),
        }
        self.pump_cpu();
    }

    /// Adds a job that runs a program.
    pub fn add_slow_job(&mut self, job: Job, priority: f64) {
        self.slow.add_job(job, priority);
    }

    pub fn add_paid_job(&mut self, job: Job, priority: f64) {
        if job_groups::grouping(&self.shared, &job) != Grouping::Never {
            let waiting = self.paid.number_job(job, priority);
            self.job_groups.add_waiting(waiting);
        } else {
            self.paid.add_job(job, priority);
        }
    }

    /// Dispatches jobs to free workers; with `stop`, drops waiting ones.
    pub fn pump(&mut self, stop: bool) {
        if stop {
            self.stopped.store(true, Relaxed);
            self.cpu_waiting.clear();
            self.slow.waiting.clear();
            self.paid.waiting.clear();
            self.job_groups.clear();
            self.remote_queue.iter_mut().for_each(RemoteQueue::clear);
        }
        self.pump_cpu();
        self.slow.pump(&self.shared, &self.done, &self.stopped, |_| {});
        if !self.computes() && self.job_groups.is_between_groups() {
            self.paid.waiting.append(&mut self.job_groups.take_ungrouped(&self.shared));
        }
        let begun = &mut self.begun;
        self.paid.pump(&self.shared, &self.done, &self.stopped, |id| begun.push(id));
        // Computing jobs may add more of them.
        if !self.computes() {
            let begun = &mut self.begun;
            self.job_groups.pump(&self.shared, &self.done, &self.stopped, |id| begun.push(id));
        }
    }

    /// Returns the nodes whose jobs wait for a group that could start now.
    pub(super) fn nodes_of_next_group(&self) -> Vec<NodeId> {
        match self.computes() || !self.job_groups.is_between_groups() {
            true => Vec::new(),
            false => self.job_groups.waiting_nodes().collect(),
        }
    }

    /// Whether a remote cache has an answer that a job of the next group would ask for.
    pub(super) fn is_next_group_answered(&self) -> bool {
        self.job_groups.is_any_answered(&self.shared)
    }

    /// Called when the build is going to replace a paid result.
    pub(super) fn expect_edits(&mut self) {
        self.job_groups.expect_edits();
    }

    /// Returns the paid jobs that a thread has taken since the last call.
    pub fn take_begun(&mut self) -> Vec<NodeId> {
        std::mem::take(&mut self.begun)
    }

    fn pump_cpu(&mut self) {
        while self.cpu_out < self.threads * AHEAD {
            // Take jobs that a farm may run last, so that their number is known.
            let job = self.cpu_waiting.pop().or_else(|| self.remote_queue.as_mut()?.take());
            let Some(job) = job else { break };
            self.cpu_out += 1;
            let (shared, done) = (self.shared.clone(), self.done.clone());
            let run = move || {
                let began = Instant::now();
                let finished = Finished {
                    id: job.id,
                    done: job.run(&shared),
                    from: From::Here(Pool::Cpu),
                    worker: rayon::current_thread_index().unwrap_or_default(),
                    task: job.task.name(),
                    began,
                    took: began.elapsed(),
                };
                // The loop may have ended early and dropped the receiver.
                let _ = done.send(finished);
            };
            self.own_threads().spawn(run);
        }
        self.remote_queue.iter_mut().for_each(RemoteQueue::send);
    }

    /// Checks whether this process has waited long enough for a farm. Called regularly.
    pub fn give_up_overdue_shards(&mut self) {
        let idle = self.cpu_out == 0;
        self.remote_queue
            .iter_mut()
            .for_each(|remote_queue| remote_queue.give_up_if_overdue(idle));
    }

    /// Returns the computing threads. Only this build uses them: a job may wait for the store's lock, and in a pool that others share, it could block
    /// the work of the thread that holds the lock.
    fn own_threads(&mut self) -> &rayon::ThreadPool {
        let threads = self.threads;
        self.rayon.get_or_insert_with(|| {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .thread_name(|n| format!("cpu-{n}"))
                .build();
            pool.expect("invariant: the system lets a process have threads")
        })
    }

    pub fn count_finished_job(&mut self, finished: &Finished) {
        match finished.from {
            From::Here(Pool::Cpu) => self.cpu_out -= 1,
            From::Here(Pool::Slow) => self.slow.out -= 1,
            From::Here(Pool::Paid) => self.paid.out -= 1,
            From::JobGroup => self.job_groups.count_finished_job(),
            From::Farm => self
                .remote_queue
                .iter_mut()
                .for_each(|remote_queue| remote_queue.count_finished_job(finished.worker)),
        }
    }

    /// Whether no job waits or runs.
    pub fn is_idle(&self) -> bool {
        !self.computes() && self.lanes_are_idle()
    }

    fn lanes_are_idle(&self) -> bool {
        self.slow.is_idle() && self.paid.is_idle() && self.job_groups.is_idle()
    }

    /// Whether a computing job waits or runs.
    pub fn computes(&self) -> bool {
        self.cpu_out > 0 || !self.cpu_waiting.is_empty() || !self.remote_queue.as_ref().is_none_or(RemoteQueue::is_idle)
    }

    /// Whether this process computes nothing: it waits for models, programs and other machines.
    pub fn only_waits(&self) -> bool {
        self.cpu_out == 0 && self.cpu_waiting.is_empty() && self.remote_queue.as_ref().is_none_or(RemoteQueue::only_waits)
    }

    /// Returns how long a stopped build waits for running jobs.
    pub fn patience(&self) -> Duration {
        if self.lanes_are_idle() { COMPUTING } else { ENDING }
    }

    /// Detaches running jobs: their outcomes are dropped.
    pub fn abandon(&mut self) {
        self.slow.handles.clear();
        self.paid.handles.clear();
        self.job_groups.abandon();
    }

    /// Waits for the workers to end.
    pub fn stop(&mut self) {
        self.remote_queue.iter_mut().for_each(RemoteQueue::stop);
        self.slow.stop();
        self.paid.stop();
        self.job_groups.stop();
        self.rayon = None;
    }
}

impl Lane {
    fn new(from: Pool, threads: usize, ahead: usize) -> Self {
        Self {
            from: From::Here(from),
            threads,
            ahead,
            workers: None,
            handles: Vec::new(),
            waiting: BinaryHeap::new(),
            out: 0,
            arrived: 0,
        }
    }

    fn add_job(&mut self, job: Job, priority: f64) {
        let waiting = self.number_job(job, priority);
        self.waiting.push(waiting);
    }

    fn number_job(&mut self, job: Job, priority: f64) -> Waiting {
        self.arrived += 1;
        Waiting {
            priority,
            arrival: self.arrived,
            job,
        }
    }

    fn pump(&mut self, shared: &Arc<JobContext>, done: &Sender<Finished>, stopped: &Arc<AtomicBool>, mut begins: impl FnMut(NodeId)) {
        while self.out < self.threads + self.ahead {
            let Some(Waiting { job, .. }) = self.waiting.pop() else {
                break;
            };
            self.out += 1;
            if !job.is_assumed {
                begins(job.id);
            }
            self.workers(shared, done, stopped)
                .send(job)
                .expect("invariant: the workers of a lane live as long as its pool");
        }
    }

    fn workers(&mut self, shared: &Arc<JobContext>, done: &Sender<Finished>, stopped: &Arc<AtomicBool>) -> &Sender<Job> {
        let (count, from, handles) = (self.threads, self.from, &mut self.handles);
        self.workers.get_or_insert_with(|| {
            let (sender, jobs) = crossbeam_channel::unbounded::<Job>();
            for worker in 0..count {
                let (jobs, shared, done, stopped) = (jobs.clone(), shared.clone(), done.clone(), stopped.clone());
                handles.push(std::thread::spawn(move || {
                    for job in jobs {
                        let began = Instant::now();
                        let came_to = if stopped.load(Relaxed) { job.cancelled() } else { job.run(&shared) };
                        let finished = Finished {
                            id: job.id,
                            done: came_to,
                            from,
                            worker,
                            task: job.task.name(),
                            began,
                            took: began.elapsed(),
                        };
                        // The loop may have ended early and dropped the receiver.
                        let _ = done.send(finished);
                    }
                }));
            }
            sender
        })
    }

    fn is_idle(&self) -> bool {
        self.out == 0 && self.waiting.is_empty()
    }

    fn stop(&mut self) {
        self.workers = None;
        for thread in self.handles.drain(..) {
            let _ = thread.join();
        }
    }
}
