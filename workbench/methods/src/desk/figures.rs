//! Figures that the service reports about itself (seed 000 §11), and alarms for figures above the thresholds of the seed.

use engine::values::diagnostic::Diagnostic;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use workbench::edit::edit_counts::EditCounts;
use workbench::status::Status;

/// Threshold for the 95th percentile of `resolve`, in milliseconds.
const SLOW_RESOLVE_MS: f64 = 100.0;
/// Threshold for the number of waiting summaries.
const LONG_QUEUE: usize = 50;
/// Threshold for memory, in MB.
const MUCH_MEMORY_MB: u64 = 2048;

/// Target that each project has once; below it, the end of a summary's label.
const PROJECT: &str = "evaluation";
const SUMMARY: &str = ":semantic";

/// The figures of one method.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Figures {
    /// Number of calls so far.
    pub calls: u64,
    /// Number of calls without an answer.
    pub failed: u64,
    /// Number of calls whose answer was cached.
    pub warm: u64,
    /// Median duration of the last 1,024 calls, in milliseconds.
    pub p50_ms: f64,
    /// 95th percentile of these durations, in milliseconds.
    pub p95_ms: f64,
    /// Total duration of all calls, in seconds.
    pub total_s: f64,
}

/// The service in numbers.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Service {
    /// Id of its process.
    pub pid: u32,
    /// Seconds since its start.
    pub uptime_sec: u64,
    /// Resident memory, in MB.
    pub memory_mb: u64,
    /// Number of requests that run or wait.
    pub requests: usize,
    /// Number of requested summaries that are missing.
    pub semantic_queue_length: usize,
    /// Number of projects of the workspace.
    pub projects: usize,
    /// Number of types of the workspace.
    pub types_indexed: usize,
    /// Number of summaries whose last attempt failed.
    pub recent_semantic_failures: usize,
    /// 95th percentile of the durations of `resolve`, in milliseconds.
    pub p95_resolve_ms: f64,
    /// Share of cached answers among all calls of methods that only look.
    pub hit_ratio: f64,
    /// Figures of each method.
    pub methods: BTreeMap<String, Figures>,
    /// Edits of the checkout so far, by all clients.
    #[serde(default)]
    pub edits: EditCounts,
    /// Figures above a threshold, one sentence each.
    pub alarms: Vec<String>,
}

impl Service {
    /// Adds the counts of the workspace and the queue of summaries, and the alarms that follow.
    #[must_use]
    pub fn with_status(mut self, found: &Status) -> Self {
        let semantic = &found.semantic;
        self.semantic_queue_length = semantic.pending + semantic.generating;
        self.types_indexed = found.types;
        self.edits = found.edits;
        self.projects = found.targets.get(PROJECT).map_or(0, |counts| {
            counts.current + counts.stale + counts.maybe_stale + counts.pending + counts.generating + counts.none
        });
        let is_summary = |failure: &&Diagnostic| failure.label.as_deref().is_some_and(|label| label.ends_with(SUMMARY));
        self.recent_semantic_failures = found.failures.iter().filter(is_summary).count();
        if self.p95_resolve_ms > SLOW_RESOLVE_MS {
            self.alarms
                .push(format!("P95 of resolve is {} ms, above {SLOW_RESOLVE_MS}", self.p95_resolve_ms));
        }
        if self.semantic_queue_length > LONG_QUEUE {
            self.alarms
                .push(format!("{} summaries wait, more than {LONG_QUEUE}", self.semantic_queue_length));
        }
        if self.memory_mb > MUCH_MEMORY_MB {
            self.alarms
                .push(format!("{} MB of memory are in use, more than {MUCH_MEMORY_MB}", self.memory_mb));
        }
        self
    }
}
