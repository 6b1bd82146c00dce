//! The profile of `build --profile FILE`: a Chrome trace (JSON object with `traceEvents`) for Perfetto and `chrome://tracing`.
//!
//! The profile has one process. Lane 1 shows the phases of the build, lane 2 the critical path; each worker has a lane with a slice for each job.
//! Slices of the critical path have the category `critical`, and arrows join them. Gaps between them are waits for a free worker, or the build's own
//! bookkeeping. A slice lasts as long as its job holds the worker, including waits for the store or for another process's paid answer. Times are
//! microseconds since the command began.

use super::critical_path::{NodeJob, Waits, critical};
use super::write_failure;
use crate::failed::Failed;
use engine::build::remote_costs::ProducerCost;
use engine::build::session::Session;
use engine::graph::NodeId;
use engine::values::event::{Event, FinishedJob, Observer, Phase};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Lane of the phases.
const PHASES: usize = 1;
/// Lane of the critical path.
const CRITICAL: usize = 2;

/// A profile while the build runs.
pub struct Trace {
    path: PathBuf,
    file: File,
    start: Instant,
    heard: Mutex<TraceEvents>,
}

#[derive(Default)]
struct TraceEvents {
    phases: Vec<Phase>,
    jobs: Vec<Job>,
}

/// A finished job. Times are microseconds since the start.
struct Job {
    label: String,
    task: &'static str,
    lane: (&'static str, usize),
    began: u64,
    ended: u64,
}

impl Job {
    fn trace_step(&self, node: NodeId) -> NodeJob<NodeId> {
        NodeJob {
            node,
            finds_inputs: self.task == "expand",
            began: self.began,
            took: self.ended - self.began,
        }
    }
}

impl Trace {
    /// Creates or truncates the file. Times count from `start`.
    pub fn create(path: &Path, start: Instant) -> Result<Self, Failed> {
        let file = File::create(path).map_err(|error| write_failure("profile", path, &error))?;
        Ok(Self {
            path: path.to_path_buf(),
            file,
            start,
            heard: Mutex::default(),
        })
    }

    /// Writes the profile. The session provides the inputs of each node; `costs` are those of producers beside a remote cache.
    pub fn write_trace(self, session: &Session, costs: &[ProducerCost]) -> Result<(), Failed> {
        let Self { path, file, start, heard } = self;
        let heard = heard.into_inner().unwrap_or_else(PoisonError::into_inner);
        let graph = &session.graph;
        // Nodes that the build removed at its end are on no path.
        let known: Vec<(usize, NodeId)> = heard
            .jobs
            .iter()
            .enumerate()
            .filter_map(|(at, job)| Some((at, graph.find(&job.label)?)))
            .collect();
        let steps: Vec<NodeJob<NodeId>> = known.iter().map(|&(at, node)| heard.jobs[at].trace_step(node)).collect();
        let waits = |node| Waits {
            deciders: graph
                .get(node)
                .and_then(|node| node.edges.as_ref())
                .map_or_else(Vec::new, |edges| edges.discovery.to_vec()),
            reads: graph.reads(node),
        };
        let marked: Vec<usize> = critical(&steps, &waits).into_iter().map(|at| known[at].0).collect();
        let phases = heard.phases.iter().map(|phase| {
            let began = micros(start, phase.began);
            (phase.name, began, micros(start, phase.began + phase.took))
        });
        let mut document = document(&phases.collect::<Vec<_>>(), &heard.jobs, &marked);
        if let Some(sharing) = &session.engine.sharing {
            let summary = sharing.cache.finish(Some(Duration::ZERO));
            document["otherData"] = json!({"remote": {
                "producers": costs,
                "round_trip_us": summary.round_trip_us,
                "bytes_per_second": summary.bytes_per_second,
                "volumes_fetched": summary.volumes,
                "volumes_made": summary.volumes_left,
            }});
        }
        let mut file = BufWriter::new(file);
        let written = serde_json::to_writer(&mut file, &document)
            .map_err(std::io::Error::from)
            .and_then(|()| file.flush());
        written.map_err(|error| write_failure("profile", &path, &error))
    }

    fn lock_events(&self) -> std::sync::MutexGuard<'_, TraceEvents> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn micros(start: Instant, at: Instant) -> u64 {
    u64::try_from(at.saturating_duration_since(start).as_micros()).unwrap_or(u64::MAX)
}

impl Observer for Trace {
    fn event(&self, _: &Event<'_>) {}

    fn job_finished(&self, job: &FinishedJob<'_>) {
        let job = Job {
            label: job.label.to_owned(),
            task: job.task,
            lane: (job.pool, job.worker),
            began: micros(self.start, job.began),
            ended: micros(self.start, job.began + job.took),
        };
        self.lock_events().jobs.push(job);
    }

    fn phase(&self, phase: &Phase) {
        self.lock_events().phases.push(*phase);
    }
}

/// Builds the trace as a JSON document.
fn document(phases: &[(&str, u64, u64)], jobs: &[Job], path: &[usize]) -> Value {
    let mut lanes: BTreeMap<(&str, usize), usize> = jobs.iter().map(|job| (job.lane, 0)).collect();
    for (number, lane) in (CRITICAL + 1..).zip(lanes.values_mut()) {
        *lane = number;
    }
    let mut events = vec![json!({"name": "process_name", "ph": "M", "pid": 1, "tid": 0, "args": {"name": "cortex build"}})];
    let workers = lanes.iter().map(|(&(pool, worker), &lane)| (lane, format!("{pool} {worker}")));
    let named = [(PHASES, "phases".to_owned()), (CRITICAL, "critical path".to_owned())];
    for (lane, name) in named.into_iter().chain(workers) {
        events.push(json!({"name": "thread_name", "ph": "M", "pid": 1, "tid": lane, "args": {"name": name}}));
        events.push(json!({"name": "thread_sort_index", "ph": "M", "pid": 1, "tid": lane, "args": {"sort_index": lane}}));
    }
    let slice = |name: &str, category: &str, lane: usize, began: u64, ended: u64| json!({"name": name, "cat": category, "ph": "X", "pid": 1, "tid": lane, "ts": began, "dur": ended - began});
    for &(name, began, ended) in phases {
        events.push(slice(name, "phase", PHASES, began, ended));
    }
    let marked: std::collections::HashSet<usize> = path.iter().copied().collect();
    for (at, job) in jobs.iter().enumerate() {
        let category = match marked.contains(&at) {
            true => format!("{},critical", job.task),
            false => job.task.to_owned(),
        };
        events.push(slice(&job.label, &category, lanes[&job.lane], job.began, job.ended));
    }
    for &at in path {
        let Job {
            label, task, began, ended, ..
        } = &jobs[at];
        events.push(slice(label, &format!("{task},critical"), CRITICAL, *began, *ended));
    }
    for (number, pair) in path.windows(2).enumerate() {
        let (from, to) = (&jobs[pair[0]], &jobs[pair[1]]);
        // An arrow starts in the slice that contains its time, so its time is before the slice's end.
        let leaves = from.ended.saturating_sub(1).max(from.began);
        let arrow = |ph: &str, lane: usize, ts: u64| json!({"name": "critical path", "cat": "critical", "ph": ph, "bp": "e", "id": number + 1, "pid": 1, "tid": lane, "ts": ts});
        events.push(arrow("s", lanes[&from.lane], leaves));
        events.push(arrow("f", lanes[&to.lane], to.began));
    }
    json!({"displayTimeUnit": "ms", "traceEvents": events})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(label: &str, task: &'static str, worker: usize, began: u64, ended: u64) -> Job {
        Job {
            label: label.to_owned(),
            task,
            lane: ("cpu", worker),
            began,
            ended,
        }
    }

    #[test]
    fn the_critical_path_is_marked() {
        let jobs = [
            job("//a:x", "expand", 0, 0, 2),
            job("//a:x", "produce", 0, 3, 10),
            job("//b:x", "produce", 1, 0, 5),
            job("//all:x", "produce", 1, 11, 20),
            job("//other:x", "produce", 0, 10, 19),
        ];
        let document = document(&[("make", 0, 20)], &jobs, &[0, 1, 3]);
        let events = document["traceEvents"].as_array().expect("a list");
        let marked = |event: &&Value| event["ph"] == "X" && event["cat"].as_str().is_some_and(|cat| cat.ends_with("critical"));
        assert_eq!(events.iter().filter(marked).count(), 6, "in the workers' lanes and in their own");
        assert_eq!(events.iter().filter(|event| event["ph"] == "s").count(), 2);
    }
}
