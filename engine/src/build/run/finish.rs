//! Finishing: processes the outcomes of jobs, rebuilds missing blobs, and wakes waiting readers.

use super::{NodeProgress, OutputOrigin, Run, RunError, Stage, Work};
use crate::build::blobs::LARGEST;
use crate::build::finished_job::Finished;
use crate::build::job::{Done, Job, ReportedCost};
use crate::build::remote_costs::ProducerCost;
use crate::build::sharing::{RemoteResult, is_single};
use crate::graph::{EdgeFrom, NodeId};
use crate::seams::paid::Notes;
use crate::seams::producer::{Failure, Output};
use crate::store::records::{ActionRecord, Class, InputRecord, NewResult, Origin};
use crate::values::codes::ErrorCode;
use crate::values::diagnostic::{Diagnostic, SourceLocation};
use crate::values::digest::{ActionKey, Digest};
use crate::values::event::Event;
use std::sync::Arc;
use std::time::Duration;

impl Run<'_> {
    /// Processes the outcome of a worker's job.
    pub(super) fn finish(&mut self, finished: Finished) -> Result<(), RunError> {
        self.pools.count_finished_job(&finished);
        let id = finished.id;
        self.context.observer.job_finished(&finished.to_event(&self.graph.node(id).label));
        match finished.done {
            Done::Expanded(planned, lookups) => self.finish_expansion(id, planned, lookups),
            Done::Produced {
                output,
                digest,
                took,
                cost,
                action_lock,
                is_adopted,
            } => {
                self.tally.adopted += usize::from(is_adopted);
                // Release it with the batch: a process that waits for the same result then finds it.
                self.outbox.keep_lock(action_lock);
                self.store_output(id, *output, digest, took, &cost)?;
            }
            Done::Found(record) => self.settle_found(id, &record)?,
            Done::BuiltElsewhere(found) => self.settle_remote_result(id, *found)?,
            Done::Planned(plan) => self.finish_pricing(id, *plan),
            Done::Assumed(done) => self.finish_assumed(id, *done)?,
            Done::Failed { failure, parts_cost, took } => {
                self.add_cost_of_parts(&parts_cost);
                self.produce_failed(id, failure, took);
            }
            Done::Missing(nodes) => self.restore(id, &nodes)?,
            Done::NotBuilt(_) if self.stopping() => self.produce_failed(id, Failure::Cancelled, Duration::ZERO),
            Done::NotBuilt(job) => self.pools.add_cpu_job(Job {
                duration_if_sent: None,
                ..*job
            }),
            Done::Broken(error) => {
                // Commit the results of other jobs in spite of this error; a broken store refuses that, too.
                let _ = self.make_durable();
                return Err(error.into());
            }
        }
        Ok(())
    }

    /// Running → Settled: another machine built it. Stores it here as well.
    fn settle_remote_result(&mut self, id: NodeId, found: RemoteResult) -> Result<(), RunError> {
        let (key, rule, force) = match self.nodes.state_of(id) {
            NodeProgress::Running { work } => (work.key, work.rule, work.force),
            _ => return Ok(()),
        };
        let RemoteResult { record, blob, parts } = found;
        let mut result = NewResult {
            key,
            record,
            blob: Some(blob),
            parts,
        };
        let before = self.graph.node(id).result.map(|result| result.output);
        self.cache_result(rule, force, &mut result);
        if force && before.is_some_and(|before| before != result.record.output) {
            self.mark_readers(id);
        }
        self.settle_found(id, &result.record)?;
        self.same_keys.set_built(key, &result.record);
        self.outbox.add_result(result);
        self.send_full_batch()
    }

    /// Caches an output while it may be read. Removes its bytes from the result if the store does not keep them.
    pub(super) fn cache_result(&self, rule: u32, force: bool, result: &mut NewResult) {
        let blobs = &self.context.shared.blobs;
        let output = result.record.output;
        let producer = &self.context.rules.manifest().producers[self.context.rules.rule(rule).producer as usize];
        // Store an output too large for memory: it would be rebuilt for every reader. Store a tree together with its parts: readers of the tree
        // look for them.
        let keep = producer.keep || result.record.len > LARGEST as u64 || !result.parts.is_empty();
        if keep || force {
            for (digest, blob) in result.blobs() {
                blobs.pin(digest, blob.clone());
            }
        } else if let Some(blob) = &result.blob {
            blobs.remember(output, blob);
        }
        if !keep {
            result.blob = None;
        }
    }

    /// Running → Settled: another process requested the same and stored the answer.
    fn settle_found(&mut self, id: NodeId, record: &ActionRecord) -> Result<(), RunError> {
        let Some(work) = self.nodes.take_work(id, Stage::Running) else {
            return Ok(());
        };
        self.outbox.add_use(work.key, self.context.now);
        if record.class == Class::Paid {
            self.record_unconfirmed(id, &work.key, record.made_at)?;
        }
        let same_key = self.same_keys.take_waiting(&work.key);
        self.settle_cached_record(id, &work, record);
        self.settle_nodes(same_key, record);
        Ok(())
    }

    /// Running → Settled, for nodes that wait for a result that is here.
    pub(super) fn settle_nodes(&mut self, nodes: Vec<NodeId>, record: &ActionRecord) {
        for node in nodes {
            if let Some(work) = self.nodes.take_work(node, Stage::Running) {
                self.settle_cached_record(node, &work, record);
            }
        }
    }

    pub(super) fn settle_cached_record(&mut self, id: NodeId, work: &Work, record: &ActionRecord) {
        self.settle_cached(id, work, record.output, record.took_us, &record.diagnostics, record.spent.as_ref());
    }

    /// Running → Settled: stores the result under its key.
    fn store_output(&mut self, id: NodeId, output: Output, digest: Digest, took: Duration, cost: &ReportedCost) -> Result<(), RunError> {
        let Some(work) = self.nodes.take_work(id, Stage::Running) else {
            return Ok(());
        };
        let last = self.graph.node(id).result;
        if let Some(last) = last.filter(|last| self.is_rebuilt(id) && last.key == work.key) {
            // A reader of the lost bytes gets the new ones if they differ.
            if !work.force || last.output == digest {
                self.finish_comparison(id, &work, last.output, (digest, &output.bytes.into()));
                return Ok(());
            }
        }
        let before = last.map(|last| last.output);
        self.report_ran(id, &output.notes, &output.diagnostics, took, (before, digest));
        let paid = self.is_paid(&work);
        let mut result = self.new_result(id, &work, output, digest, took, self.provenance(&work));
        self.settle_cost(&result.record, cost);
        if paid {
            self.settle_answer(id, &work.key, &digest)?;
        }
        // A paid result was already offered, or withdrawn in favour of another machine's.
        if !paid {
            self.offer(&work, &result);
        }
        self.cache_result(work.rule, work.force, &mut result);
        if work.force && before.is_some_and(|before| before != digest) {
            self.mark_readers(id);
        }
        self.settle(id, &work, digest, OutputOrigin::Ran);
        self.settle_same_key(&work.key, &result.record);
        self.durations.add_duration(self.context.rules.rule(work.rule).producer, took);
        self.outbox.add_result(result);
        if paid {
            // Commit a paid result before anything else can fail.
            return self.make_durable();
        }
        self.send_full_batch()
    }

    /// Returns an output of a node's producer as a result to store.
    pub(super) fn new_result(
        &self,
        id: NodeId,
        work: &Work,
        output: Output,
        digest: Digest,
        took: Duration,
        inputs: Vec<InputRecord>,
    ) -> NewResult {
        let origin = Origin {
            label: self.graph.node(id).label.to_string(),
            producer: self.producer_name(work.rule),
            made_at: self.context.now,
            took_us: micros(took),
            inputs,
            class: Class::of_pool(self.pool(work)),
        };
        NewResult::from_output(work.key, output, digest, origin)
    }

    /// Enters the cost of a new result, if it has one.
    pub(super) fn settle_cost(&mut self, record: &ActionRecord, cost: &ReportedCost) {
        if let Some(spent) = &record.spent {
            self.settle_expense(&record.label, &record.notes, spent, cost, record.took_us);
        }
    }

    /// Counts and reports a node whose producer ran, with its output before and now.
    pub(super) fn report_ran(
        &mut self,
        id: NodeId,
        notes: &Notes,
        diagnostics: &[Diagnostic],
        took: Duration,
        (before, output): (Option<Digest>, Digest),
    ) {
        self.tally.ran += 1;
        if let Some(level) = notes.get("sandbox") {
            *self.tally.confined.entry(level.clone()).or_default() += 1;
        }
        self.emit(&Event::Ran {
            label: &self.graph.node(id).label,
            output,
            took,
            changed: before != Some(output),
        });
        self.record_diagnostics(id, diagnostics);
    }

    /// Settles the nodes that waited for this key, and notes the result for later ones.
    fn settle_same_key(&mut self, key: &ActionKey, record: &ActionRecord) {
        let nodes = self.same_keys.take_waiting(key);
        self.settle_nodes(nodes, record);
        self.same_keys.set_built(*key, record);
    }

    /// Returns the name and version of a rule's producer.
    pub(super) fn producer_name(&self, rule: u32) -> String {
        let id = &self.context.ids[self.context.rules.rule(rule).producer as usize];
        id.as_ref().map(ToString::to_string).unwrap_or_default()
    }

    /// Running → Settled with its former output: its producer ran again, with the same output or not. Stores nothing. Caches an output that is not
    /// stored, for its readers, which run again as well.
    fn finish_comparison(&mut self, id: NodeId, work: &Work, before: Digest, (digest, blob): (Digest, &Arc<[u8]>)) {
        let label = self.graph.node(id).label.clone();
        if work.force {
            self.context.shared.blobs.pin(digest, blob.clone());
        } else {
            self.tally.rebuilt += 1;
            self.context.shared.blobs.remember(digest, blob);
        }
        if digest != before {
            let why = Diagnostic::error(ErrorCode::E_NOT_REPRODUCIBLE, "rebuilt from the same inputs, its output differs");
            let why = why.label(&*label).found(format!("{before} before, {digest} now"));
            let hint = "its producer reads something undeclared: a clock, a random number, an order, a file";
            self.findings.add_failure(why.hint(hint));
        }
        let same_key = self.same_keys.take_waiting(&work.key);
        self.settle(id, work, before, OutputOrigin::Verified);
        for node in same_key {
            // It has inputs of its own.
            if let Some(work) = self.nodes.take_work(node, Stage::Running) {
                self.settle(node, &work, before, OutputOrigin::Verified);
            }
        }
    }

    /// Offers a result to other machines, if a lookup of it pays for them, or the result in the cache is wrong.
    fn offer(&self, work: &Work, result: &NewResult) {
        let pool = self.pool(work);
        if let (Some(sharing), Some(blob)) = (&self.context.shared.sharing, &result.blob)
            && (self.is_shared(work.rule, pool) || sharing.cache.is_spoiled(&work.key))
        {
            sharing.offer(&work.key, &result.record, blob, &result.parts);
        }
    }

    /// Returns the average durations of producers, and which of their results are looked up in the remote cache; nothing without one.
    pub(super) fn producer_costs(&self) -> Vec<ProducerCost> {
        let Some(sharing) = &self.context.shared.sharing else {
            return Vec::new();
        };
        let manifest = self.context.rules.manifest();
        let rules = (0_u32..).zip(&manifest.rules);
        let mut costs: Vec<ProducerCost> = rules
            .filter_map(|(number, rule)| {
                let took = self.durations.average_of(rule.producer)?;
                let definition = &manifest.producers[rule.producer as usize];
                let pool = self.context.registry.get(&definition.uses)?.pool(&definition.params);
                Some(ProducerCost {
                    producer: self.context.ids[rule.producer as usize].as_ref()?.to_string(),
                    took_us: u64::try_from(took.as_micros()).unwrap_or(u64::MAX),
                    look_up: sharing.look_up(pool, is_single(self.context.rules, number), Some(took)),
                })
            })
            .collect();
        costs.sort_by(|a, b| (b.took_us, &a.producer).cmp(&(a.took_us, &b.producer)));
        costs.dedup();
        costs
    }

    /// A rebuilt blob differs: marks the readers of the old one for the next build.
    fn mark_readers(&mut self, id: NodeId) {
        let readers: Vec<NodeId> = self
            .graph
            .iter()
            .filter(|(_, node)| node.reads().any(|read| read == id))
            .map(|(reader, _)| reader)
            .collect();
        for reader in readers {
            self.graph.set_stale(reader, true);
        }
    }

    pub(super) fn provenance(&self, work: &Work) -> Vec<InputRecord> {
        let rule = self.context.rules.rule(work.rule);
        let edges = work.edges.as_ref().expect("invariant: production follows expansion");
        let of = |edge: &crate::graph::Edge| {
            let role = rule.inputs[usize::from(edge.spec)].role.clone();
            match edge.from {
                EdgeFrom::Node(node) => InputRecord {
                    role,
                    label: self.graph.node(node).label.clone(),
                    digest: self.known_output(node)?,
                }
                .into(),
                EdgeFrom::Rows(digest) => Some(InputRecord {
                    role,
                    label: self.table_of(work, edge.spec),
                    digest,
                }),
                EdgeFrom::RowsOf(table, digest) => Some(InputRecord {
                    role,
                    label: self.graph.node(table).label.clone(),
                    digest,
                }),
            }
        };
        edges.inputs.iter().filter_map(of).collect()
    }

    /// Returns the output of an input, even while its blob is being rebuilt.
    pub(super) fn known_output(&self, id: NodeId) -> Option<Digest> {
        self.output(id).or_else(|| self.graph.node(id).result.map(|result| result.output))
    }

    pub(super) fn table_of(&self, work: &Work, spec: u16) -> Arc<str> {
        use crate::manifest::model::InputFrom;
        match &self.context.rules.rule(work.rule).inputs[usize::from(spec)].from {
            InputFrom::Slice { node, .. } => match node.literal() {
                Some(label) => label.into(),
                None => {
                    let vars = work.vars(self.context.rules);
                    let label = node.fill(|name| vars.get(name).map(|value| &**value));
                    label.unwrap_or_default().into()
                }
            },
            _ => "".into(),
        }
    }

    fn produce_failed(&mut self, id: NodeId, failure: Failure, took: Duration) {
        let Some((stage, work)) = self.nodes.take_work_of_job(id) else {
            return;
        };
        let ran = stage == Stage::Running;
        let same_key = self.same_keys.take_waiting(&work.key);
        for node in std::iter::once(id).chain(same_key) {
            match &failure {
                Failure::Permanent(why) | Failure::Transient(why) => {
                    self.fail_under(node, Some(work.key).filter(|_| ran), (**why).clone());
                }
                Failure::Rejected(_) | Failure::Limit(_) | Failure::Deferred | Failure::Awaited => {
                    let took_us = (node == id).then(|| micros(took));
                    self.give_back(node, &work.key, &failure, took_us);
                }
                Failure::Cancelled if self.stop.may_end_producers() => {
                    self.nodes.change_state(node, NodeProgress::Failed);
                }
                Failure::Cancelled => self.fail(
                    node,
                    Diagnostic::error(ErrorCode::E_PRODUCER, "the producer stopped although the build was not cancelled"),
                ),
            }
        }
    }

    /// Running or Expanding → Restoring: blobs that it needs are missing, so their producers run again first.
    pub(super) fn restore(&mut self, id: NodeId, nodes: &[NodeId]) -> Result<(), RunError> {
        let Some((_, work)) = self.nodes.take_work_of_job(id) else {
            return Ok(());
        };
        for node in self.same_keys.take_waiting(&work.key) {
            if let Some(work) = self.nodes.take_work(node, Stage::Running) {
                self.nodes.plan_again(node, work);
            }
        }
        // A node that ended without an output, when another reader missed its blob, wakes no more readers.
        let has_none = |node: NodeId| self.nodes.has_failed(node) || self.nodes.is_unknown(node);
        let awaited: Vec<NodeId> = nodes.iter().copied().filter(|&node| !has_none(node)).collect();
        // Wait before the others start: a leaf settles at once.
        self.nodes.restore_after(id, work, &awaited);
        for &node in &awaited {
            if self.nodes.has_output(node) {
                self.rebuild_lost_blob(node)?;
            }
        }
        if awaited.is_empty() {
            self.nodes.finish_restoring(id);
        }
        Ok(())
    }

    /// Settled → Idle and on: its blob is missing, so its producer runs again. Its former outcome is no longer counted.
    pub(super) fn rebuild_lost_blob(&mut self, id: NodeId) -> Result<(), RunError> {
        if let NodeProgress::Settled { how } = self.nodes.change_state(id, NodeProgress::Idle) {
            match how {
                OutputOrigin::Current => {}
                OutputOrigin::Verified => self.tally.verified -= 1,
                OutputOrigin::Ran => self.tally.ran -= 1,
                OutputOrigin::Cached => self.give_back_saving(id)?,
            }
        }
        self.start_node(id, true);
        Ok(())
    }

    /// Records a producer's diagnostics; adds the node's file where the producer could not know it.
    pub(super) fn record_diagnostics(&mut self, id: NodeId, diagnostics: &[Diagnostic]) {
        let label = self.graph.node(id).label.clone();
        let diagnostics = diagnostics.iter().map(|one| located(one.clone(), &label)).collect();
        self.findings.set_diagnostics(id, diagnostics);
    }
}

pub(super) fn micros(took: Duration) -> u64 {
    u64::try_from(took.as_micros()).unwrap_or(u64::MAX)
}

/// Adds its label to a diagnostic, and the file of `//files/PATH:…` if the producer left it open.
pub fn located(mut diagnostic: Diagnostic, label: &str) -> Diagnostic {
    let path = label
        .strip_prefix("//files/")
        .and_then(|rest| rest.rsplit_once(':'))
        .map(|(path, _)| crate::values::label::unescape(path));
    if let Some(path) = path {
        let place = diagnostic.place.get_or_insert_with(SourceLocation::default);
        if place.file.is_empty() {
            place.file = path;
        }
    }
    diagnostic.label.get_or_insert_with(|| label.to_owned());
    diagnostic
}
