//! The order of jobs that run programs or ask models: these start once no step is due, so that all their readers are known.

use super::Run;
use crate::build::job::Job;
use crate::graph::{Edge, EdgeFrom, Edges, NodeId};
use crate::seams::lineage::Present;
use crate::seams::paid::FormerNames;
use crate::seams::producer::Pool;
use crate::values::digest::Digest;
use rustc_hash::FxHashMap;
use std::collections::HashMap;

/// Jobs that are ready, and what determines their order.
#[derive(Default)]
pub(super) struct JobOrder {
    ready: Vec<(Job, Pool)>,
    /// Distance of decided nodes from a leaf; leaves are not listed.
    depths: FxHashMap<NodeId, u32>,
    /// The output that contains the weights, and the weights.
    weights: (Option<Digest>, HashMap<String, f64>),
}

impl JobOrder {
    /// Adds a job that starts once no step is due.
    pub(super) fn add_ready(&mut self, job: Job, pool: Pool) {
        self.ready.push((job, pool));
    }

    /// Notes the shortest distance of a decided node to a leaf (seed 000 §7).
    pub(super) fn add_depth(&mut self, id: NodeId, edges: &Edges) {
        let depth = |edge: &Edge| match edge.from {
            EdgeFrom::Node(node) => Some(self.depth_of(node)),
            EdgeFrom::Rows(_) | EdgeFrom::RowsOf(..) => None,
        };
        let depth = edges.inputs.iter().filter_map(depth).min().map_or(0, |depth| depth + 1);
        self.depths.insert(id, depth);
    }

    fn depth_of(&self, id: NodeId) -> u32 {
        self.depths.get(&id).copied().unwrap_or_default()
    }
}

impl Run<'_> {
    /// Dispatches slow jobs once no step is due, when all their readers are known.
    pub(super) fn hand_over_slow(&mut self) {
        let mut ready = std::mem::take(&mut self.job_order.ready);
        if ready.iter().any(|(_, pool)| *pool != Pool::Slow) && !self.find_former_names() {
            let waits;
            (ready, waits) = ready.into_iter().partition(|(_, pool)| *pool == Pool::Slow);
            self.job_order.ready = waits;
        }
        // The steps may have decided them in any order; among equals, the first demanded goes first.
        ready.sort_by_key(|(job, _)| job.id);
        if ready.iter().any(|(_, pool)| *pool == Pool::Paid) {
            self.read_weights();
        }
        for (job, pool) in ready {
            let id = job.id;
            let weight = self.job_order.weights.1.get(&*job.label).copied();
            let waiting = self.nodes.waiter_count(id);
            let references = waiting.max(self.context.links.reader_count(id));
            let depth = self.job_order.depth_of(id);
            let priority = references as f64 / f64::from(1 + depth);
            match pool {
                Pool::Paid => self.pools.add_paid_job(job, weight.unwrap_or(priority)),
                Pool::Slow => self.pools.add_slow_job(job, priority),
                // Pricing a question costs nothing.
                Pool::Cpu => self.pools.add_cpu_job(job),
            }
        }
    }

    /// Reads the weights of targets, if the output that contains them is known and has changed.
    fn read_weights(&mut self) {
        let Some(id) = self.graph.find(self.context.priority.source()) else {
            return;
        };
        let output = self.graph.node(id).result.map(|result| result.output);
        if output == self.job_order.weights.0 {
            return;
        }
        // Without them, only the order differs.
        let blob = output.and_then(|digest| {
            let root = self.context.shared.blobs.get(&digest).ok()??;
            self.context.shared.blobs.readable(&root).ok()
        });
        self.job_order.weights = (output, blob.map(|blob| self.context.priority.weights(&blob)).unwrap_or_default());
    }

    /// Finds former names, once, as soon as everything free is built; returns whether they are known.
    fn find_former_names(&mut self) -> bool {
        if self.context.shared.former.get().is_some() {
            return true;
        }
        let source = self.context.lineage.source();
        let history = |label: &str| self.context.store.history(self.context.view, label);
        // Only a hint: other calls report an unreadable store.
        let has_past = !source.is_empty() && history(source).is_ok_and(|versions| !versions.is_empty());
        if has_past && self.pools.computes() {
            return false;
        }
        let former = match has_past {
            true => self.context.lineage.former(&Present {
                versions: &|label| {
                    let versions = history(label).unwrap_or_default();
                    versions.iter().map(|version| (version.at, version.output)).collect()
                },
                now: self.context.now,
                output: &|label| self.output(self.graph.find(label)?),
                bytes: &|digest| self.readable(digest).ok().flatten(),
            }),
            false => FormerNames::new(),
        };
        self.context.shared.former.get_or_init(|| former);
        true
    }
}
