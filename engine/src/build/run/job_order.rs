//! The order of jobs that run programs or ask models: these start once no step is due, so that all their readers are known.

use super::Run;
use crate::seams::lineage::Present;
use crate::seams::paid::FormerNames;
use crate::seams::producer::Pool;

impl Run<'_> {
    /// Dispatches slow jobs once no step is due, when all their readers are known.
    pub(super) fn hand_over_slow(&mut self) {
        let mut ready = std::mem::take(&mut self.slow_ready);
        if ready.iter().any(|(_, pool)| *pool != Pool::Slow) && !self.find_former_names() {
            let waits;
            (ready, waits) = ready.into_iter().partition(|(_, pool)| *pool == Pool::Slow);
            self.slow_ready = waits;
        }
        // The steps may have decided them in any order; among equals, the first demanded goes first.
        ready.sort_by_key(|(job, _)| job.id);
        if ready.iter().any(|(_, pool)| *pool == Pool::Paid) {
            self.read_weights();
        }
        for (job, pool) in ready {
            let id = job.id;
            let weight = self.weights.1.get(&*job.label).copied();
            let waiting = self.nodes.waiter_count(id);
            let references = waiting.max(self.links.reader_count(id));
            let depth = self.depths.get(&id).copied().unwrap_or_default();
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
        let Some(id) = self.graph.find(self.priority.source()) else {
            return;
        };
        let output = self.graph.node(id).result.map(|result| result.output);
        if output == self.weights.0 {
            return;
        }
        // Without them, only the order differs.
        let blob = output.and_then(|digest| {
            let root = self.shared.blobs.get(&digest).ok()??;
            self.shared.blobs.readable(&root).ok()
        });
        self.weights = (output, blob.map(|blob| self.priority.weights(&blob)).unwrap_or_default());
    }

    /// Finds former names, once, as soon as everything free is built; returns whether they are known.
    fn find_former_names(&mut self) -> bool {
        if self.shared.former.get().is_some() {
            return true;
        }
        let source = self.lineage.source();
        let history = |label: &str| self.store.history(self.view, label);
        // Only a hint: other calls report an unreadable store.
        let has_past = !source.is_empty() && history(source).is_ok_and(|versions| !versions.is_empty());
        if has_past && self.pools.computes() {
            return false;
        }
        let former = match has_past {
            true => self.lineage.former(&Present {
                versions: &|label| {
                    let versions = history(label).unwrap_or_default();
                    versions.iter().map(|version| (version.at, version.output)).collect()
                },
                now: self.now,
                output: &|label| self.output(self.graph.find(label)?),
                bytes: &|digest| self.readable(digest).ok().flatten(),
            }),
            false => FormerNames::new(),
        };
        self.shared.former.get_or_init(|| former);
        true
    }
}
