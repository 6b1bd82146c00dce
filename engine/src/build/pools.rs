//! The pools: rayon for computing, threads of their own for programs and network calls.
//!
//! Jobs wait here, newest first for computing (so that what was just made is read while it is in memory) and by priority for slow
//! ones (references / (1 + depth), first come first served among equals: seed 000 §5.3), and are handed out a few at a time.

use super::jobs::{Done, Job, Shared};
use crate::graph::NodeId;
use crate::seams::producer::Failure;
use crossbeam_channel::Sender;
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Hands jobs to workers and counts those that are out.
pub struct Pools {
    threads: usize,
    shared: Arc<Shared>,
    done: Sender<Finished>,
    rayon: Option<rayon::ThreadPool>,
    slow_workers: Option<Sender<Job>>,
    slow_threads: Vec<std::thread::JoinHandle<()>>,
    cpu_waiting: Vec<Job>,
    slow_waiting: BinaryHeap<Waiting>,
    cpu_out: usize,
    slow_out: usize,
    arrived: u64,
    /// Slow jobs handed out but not begun are not to begin.
    stopped: Arc<AtomicBool>,
}

struct Waiting {
    priority: f64,
    arrival: u64,
    job: Job,
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

/// More threads than this only take memory.
const MOST_THREADS: usize = 256;

/// Jobs handed to each computing thread beyond the one it runs.
const AHEAD: usize = 24;

/// A job that came back.
pub struct Finished {
    /// The node.
    pub id: NodeId,
    /// What it came to.
    pub done: Done,
    /// Whether it was a slow one.
    slow: bool,
}

impl Pools {
    /// Pools of `threads` workers each; threads are started when the first job needs them.
    pub fn new(threads: usize, shared: Arc<Shared>, done: Sender<Finished>) -> Self {
        Self {
            threads: threads.clamp(1, MOST_THREADS),
            shared,
            done,
            rayon: None,
            slow_workers: None,
            slow_threads: Vec::new(),
            cpu_waiting: Vec::new(),
            slow_waiting: BinaryHeap::new(),
            cpu_out: 0,
            slow_out: 0,
            arrived: 0,
            stopped: Arc::default(),
        }
    }

    /// Takes a computing job.
    pub fn cpu(&mut self, job: Job) {
        self.cpu_waiting.push(job);
        self.pump_cpu();
    }

    /// Takes a slow job.
    pub fn slow(&mut self, job: Job, priority: f64) {
        self.arrived += 1;
        self.slow_waiting.push(Waiting {
            priority,
            arrival: self.arrived,
            job,
        });
    }

    /// Hands out what workers have room for; with `stop`, forgets what waits.
    pub fn pump(&mut self, stop: bool) {
        if stop {
            self.stopped.store(true, Relaxed);
            self.cpu_waiting.clear();
            self.slow_waiting.clear();
        }
        self.pump_cpu();
        // One more than runs for each thread: a thread that has to ask for its next job waits for a loop that programs keep off the cores.
        while self.slow_out < self.threads * 2 {
            let Some(Waiting { job, .. }) = self.slow_waiting.pop() else {
                break;
            };
            self.slow_out += 1;
            self.slow_workers()
                .send(job)
                .expect("invariant: slow workers live as long as their pool");
        }
    }

    fn pump_cpu(&mut self) {
        while self.cpu_out < self.threads * AHEAD {
            let Some(job) = self.cpu_waiting.pop() else { break };
            self.cpu_out += 1;
            let (shared, done) = (self.shared.clone(), self.done.clone());
            let run = move || {
                let finished = Finished {
                    id: job.id,
                    done: job.run(&shared),
                    slow: false,
                };
                // The loop may have ended early; then nobody wants the result.
                let _ = done.send(finished);
            };
            match self.own_threads() {
                Some(pool) => pool.spawn(run),
                None => rayon::spawn(run),
            }
        }
    }

    /// Threads of this pool's own; none if the process has as many as are wanted, started when it looked at the files.
    fn own_threads(&mut self) -> Option<&rayon::ThreadPool> {
        let threads = self.threads;
        let start = || {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .thread_name(|n| format!("cpu-{n}"))
                .build();
            pool.expect("invariant: the system lets a process have threads")
        };
        (threads != rayon::current_num_threads()).then(|| &*self.rayon.get_or_insert_with(start))
    }

    fn slow_workers(&mut self) -> &Sender<Job> {
        let (shared, done, threads) = (&self.shared, &self.done, &mut self.slow_threads);
        let (count, stopped) = (self.threads, &self.stopped);
        self.slow_workers.get_or_insert_with(|| {
            let (sender, jobs) = crossbeam_channel::unbounded::<Job>();
            for _ in 0..count {
                let (jobs, shared, done, stopped) = (jobs.clone(), shared.clone(), done.clone(), stopped.clone());
                threads.push(std::thread::spawn(move || {
                    for job in jobs {
                        let came_to = if stopped.load(Relaxed) {
                            Done::Failed(Failure::Cancelled)
                        } else {
                            job.run(&shared)
                        };
                        let finished = Finished {
                            id: job.id,
                            done: came_to,
                            slow: true,
                        };
                        let _ = done.send(finished);
                    }
                }));
            }
            sender
        })
    }

    /// A job came back.
    pub fn took_back(&mut self, finished: &Finished) {
        if finished.slow {
            self.slow_out -= 1;
        } else {
            self.cpu_out -= 1;
        }
    }

    /// Whether no job waits and none is out.
    pub fn idle(&self) -> bool {
        self.cpu_out + self.slow_out == 0 && self.cpu_waiting.is_empty() && self.slow_waiting.is_empty()
    }

    /// Waits for the workers to end.
    pub fn stop(&mut self) {
        self.slow_workers = None;
        for thread in self.slow_threads.drain(..) {
            let _ = thread.join();
        }
        self.rayon = None;
    }
}
