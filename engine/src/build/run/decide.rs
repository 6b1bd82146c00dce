//! Decision: the key decides whether a result is current, cached, or must be built.

use super::{NodeProgress, OutputOrigin, Run, RunError, Stage, Work};
use crate::build::job::{Job, JobInput, JobMode, Load, Past, Settled, Task};
use crate::build::remote_costs::LookUp;
use crate::build::sharing::is_single;
use crate::graph::{EdgeFrom, NodeId, NodeResult};
use crate::manifest::model::InputFrom;
use crate::manifest::template::Vars;
use crate::planning::expand::ItemFrame;
use crate::planning::key::{KeyDescription, KeyInput, action_key};
use crate::seams::paid::Spent;
use crate::seams::producer::{Params, Pool};
use crate::store::records::{Class, HistoryRecord};
use crate::values::diagnostic::Diagnostic;
use crate::values::digest::{ActionKey, Digest};
use crate::values::event::Event;
use std::sync::Arc;
use std::time::Duration;

impl Run<'_> {
    /// Collecting → Settled (the key did not change, or its result is cached), Running, or Failed.
    pub(super) fn decide(&mut self, id: NodeId) -> Result<(), RunError> {
        let Some(mut work) = self.nodes.take_work(id, Stage::Collecting) else {
            return Ok(());
        };
        let edges = work.edges.clone().expect("invariant: collection follows expansion");
        if edges
            .inputs
            .iter()
            .any(|edge| matches!(edge.from, EdgeFrom::Node(node) if !self.nodes.has_ended(node)))
        {
            // The blob of an input is being rebuilt since it was collected.
            self.collect(id, work);
            return Ok(());
        }
        if work.discovery.iter().any(|&node| !self.nodes.has_ended(node)) {
            self.nodes.plan_again(id, work);
            return Ok(());
        }
        let mut unknown = false;
        for edge in &edges.inputs {
            if let EdgeFrom::Node(node) = edge.from {
                match self.nodes.state_of(node) {
                    NodeProgress::Failed => {
                        self.skip(id, node);
                        return Ok(());
                    }
                    NodeProgress::Unknown { .. } => unknown = true,
                    _ => {}
                }
            }
        }
        if unknown && self.context.options.mode.prices() && self.is_paid(&work) {
            self.graph.rewire(id, (*edges).clone());
            self.start_pricing(id, work);
            return Ok(());
        }
        if unknown {
            // A dry run reports paths to this node along its present edges.
            self.graph.rewire(id, (*edges).clone());
            self.report_would_run(id, false);
            return Ok(());
        }
        let inputs = self.inputs(&work);
        let Some(key) = self.key(id, &work, &inputs) else { return Ok(()) };
        work.key = key;
        self.job_order.add_depth(id, &edges);
        if self.context.options.mode.settles() && self.is_unwanted(id, &key)? {
            // It was invalidated while the build waited.
            self.tally.limited += 1;
            self.leave_stale(id);
            return Ok(());
        }
        if self.find_result(id, &work)? {
            return Ok(());
        }
        self.start_or_postpone(id, work, inputs)
    }

    /// Runs the producer of a node without a result, unless the options of the build or an earlier attempt forbid it.
    fn start_or_postpone(&mut self, id: NodeId, work: Box<Work>, inputs: Vec<JobInput>) -> Result<(), RunError> {
        let key = work.key;
        let work = match self.pool(&work) {
            Pool::Cpu => work,
            Pool::Slow if self.context.options.mode.settles() => {
                self.tally.limited += 1;
                self.leave_stale(id);
                return Ok(());
            }
            Pool::Slow => work,
            Pool::Paid => match self.reserve(id, work)? {
                Some(work) => work,
                None => return Ok(()),
            },
        };
        if self.context.options.mode.is_dry() {
            // Of several nodes with one key, the first runs and the others take its result. A missing blob may be rebuilt by any node with the same
            // output.
            let first = self.same_keys.claim_key(key);
            let certain = first && !work.force;
            self.report_would_run(id, certain);
            return Ok(());
        }
        if self.same_keys.wait_for_key(&key, id) || self.assumed.await_job(id) {
            self.nodes.change_state(id, NodeProgress::Running { work });
            return Ok(());
        }
        self.same_keys.claim_key(key);
        // Dispatch the job at once, while all inputs are as they were when the key was computed.
        self.dispatch(id, work, inputs);
        Ok(())
    }

    /// Settles a node whose key did not change or whose result is cached. A node whose blob is being rebuilt takes only results whose blob is
    /// available, because another node with the same key or output rebuilt it.
    fn find_result(&mut self, id: NodeId, work: &Work) -> Result<bool, RunError> {
        if self.is_rebuilt(id) || self.is_unwanted(id, &work.key)? {
            return Ok(false);
        }
        let result = self.graph.node(id).result;
        if let Some(result) = result.filter(|result| result.key == work.key)
            && self.is_available(work, &result.output)?
        {
            self.tally.verified += 1;
            self.emit(&Event::Verified {
                label: &self.graph.node(id).label,
            });
            self.settle(id, work, result.output, OutputOrigin::Verified);
            return Ok(true);
        }
        if self.settle_assumed(id, work)? {
            return Ok(true);
        }
        if let Some(built) = self.same_keys.built_result(&work.key).cloned() {
            if self.is_available(work, &built.output)? {
                self.settle_cached(id, work, built.output, built.took_us, &built.diagnostics, built.spent.as_deref());
                return Ok(true);
            }
        } else if let Some(record) = self.context.store.action(&work.key)?
            && self.is_available(work, &record.output)?
        {
            self.outbox.add_use(work.key, self.context.now);
            if record.class == Class::Paid {
                self.record_unconfirmed(id, &work.key, record.made_at)?;
            }
            self.settle_cached(id, work, record.output, record.took_us, &record.diagnostics, record.spent.as_ref());
            return Ok(true);
        }
        Ok(false)
    }

    pub(super) fn is_available(&self, work: &Work, output: &Digest) -> Result<bool, RunError> {
        Ok(!work.force || self.context.shared.blobs.has_whole(output)?)
    }

    pub(super) fn settle_cached(
        &mut self,
        id: NodeId,
        work: &Work,
        output: Digest,
        took_us: u64,
        diagnostics: &[Diagnostic],
        spent: Option<&Spent>,
    ) {
        let label = self.graph.node(id).label.clone();
        self.tally.cached += 1;
        self.tally.saved_us += took_us;
        if let Some(spent) = spent {
            self.settle_saving(&label, spent, took_us);
        }
        self.emit(&Event::Hit {
            label: &label,
            output,
            saved: Duration::from_micros(took_us),
        });
        self.record_diagnostics(id, diagnostics);
        self.settle(id, work, output, OutputOrigin::Cached);
    }

    /// Returns the inputs of a node in the order of its key.
    pub(super) fn inputs(&self, work: &Work) -> Vec<JobInput> {
        self.inputs_with(work, |node| self.settled(node))
    }

    /// As [`Self::inputs`], with another way to find the nodes that have outputs.
    pub(super) fn inputs_with(&self, work: &Work, settled: impl Fn(NodeId) -> Option<Settled>) -> Vec<JobInput> {
        let rule = self.context.rules.rule(work.rule);
        let edges = work.edges.as_ref().expect("invariant: collection follows expansion");
        let mut frame: Option<(u16, Option<ItemFrame>)> = None;
        let mut inputs = Vec::with_capacity(edges.inputs.len());
        for edge in &edges.inputs {
            let spec = &rule.inputs[usize::from(edge.spec)];
            let (item, digest, label, load): (Arc<str>, _, Arc<str>, _) = match edge.from {
                EdgeFrom::Rows(digest) => ("".into(), digest, self.table_of(work, edge.spec), Load::Rows(edge.spec)),
                EdgeFrom::Node(node) | EdgeFrom::RowsOf(node, _) => {
                    let Some(settled) = settled(node) else { continue };
                    if frame.as_ref().is_none_or(|(of, _)| *of != edge.spec) {
                        frame = Some((edge.spec, item_frame(&spec.from, || work.vars(self.context.rules))));
                    }
                    let item = frame
                        .as_ref()
                        .and_then(|(_, frame)| frame.as_ref()?.item(&settled.label))
                        .unwrap_or_default();
                    let label = settled.label.clone();
                    let (digest, load) = match edge.from {
                        EdgeFrom::RowsOf(_, digest) => (digest, Load::Rows(edge.spec)),
                        _ if spec.digest_only => (settled.digest, Load::Nothing),
                        _ => (settled.digest, Load::Node(settled)),
                    };
                    (item.into(), digest, label, load)
                }
            };
            inputs.push(JobInput {
                role: spec.role.clone(),
                item,
                digest,
                label,
                load,
            });
        }
        inputs
    }

    pub(super) fn key(&self, id: NodeId, work: &Work, inputs: &[JobInput]) -> Option<ActionKey> {
        self.describe_key(id, work, inputs, action_key)
    }

    /// Passes the only description of a node's key to `write`, which hashes or explains it.
    pub(super) fn describe_key<T>(
        &self,
        id: NodeId,
        work: &Work,
        inputs: &[JobInput],
        write: impl FnOnce(&KeyDescription<'_>) -> T,
    ) -> Option<T> {
        let manifest = self.context.rules.manifest();
        let definition = &manifest.producers[self.context.rules.rule(work.rule).producer as usize];
        self.describe_key_with(&definition.params, id, work, inputs, write)
    }

    /// As [`Self::describe_key`], with other parameters of its producer.
    pub(super) fn describe_key_with<T>(
        &self,
        params: &Params,
        id: NodeId,
        work: &Work,
        inputs: &[JobInput],
        write: impl FnOnce(&KeyDescription<'_>) -> T,
    ) -> Option<T> {
        let manifest = self.context.rules.manifest();
        let definition = &manifest.producers[self.context.rules.rule(work.rule).producer as usize];
        let producer = self.context.registry.get(&definition.uses)?;
        let sees = producer.sees(params);
        let label = self.graph.node(id).label.clone();
        let vars = if sees.vars { work.vars(self.context.rules) } else { Vars::new() };
        let key_inputs: Vec<KeyInput<'_>> = inputs
            .iter()
            .map(|input| KeyInput {
                role: &input.role,
                item: &input.item,
                digest: input.digest,
            })
            .collect();
        Some(write(&KeyDescription {
            producer: self.context.ids[self.context.rules.rule(work.rule).producer as usize].as_ref()?,
            params,
            vars: &vars,
            label: sees.label.then_some(&*label),
            inputs: &key_inputs,
        }))
    }

    /// Collecting → Running: sends a node's job to its pool, with the inputs of its key.
    fn dispatch(&mut self, id: NodeId, work: Box<Work>, inputs: Vec<JobInput>) {
        let uses = &self.context.rules.manifest().producers[self.context.rules.rule(work.rule).producer as usize].uses;
        let Some(producer) = self.context.registry.get(uses).cloned() else {
            return;
        };
        let pool = self.pool(&work);
        // Only paid producers use a previous result, as a hint; for others, reading it would be wasted.
        let past = (pool == Pool::Paid).then(|| Past {
            previous: self.last_answer(id),
        });
        let how = JobMode::Output {
            fresh: self.is_fresh(id),
            paid: pool == Pool::Paid,
            reserved: pool != Pool::Cpu && !self.is_rebuilt(id),
            mark: self
                .invalidated(id)
                .filter(|_| !self.context.options.fresh.contains(&*self.graph.node(id).label)),
        };
        let key = work.key;
        let ask = !self.is_fresh(id) && !self.is_rebuilt(id) && self.is_shared(work.rule, pool);
        // A rebuild, for comparison or for a lost blob, reads all its inputs.
        let is_whole = self.is_fresh(id) || self.is_rebuilt(id) || work.force;
        let keep = self.context.rules.manifest().producers[self.context.rules.rule(work.rule).producer as usize].keep;
        let node = self.graph.node(id);
        let before = node
            .result
            .map(|result| result.key)
            .or_else(|| self.context.predecessors.get(&*node.label).copied());
        let before = before.filter(|_| keep && !is_whole);
        let task = Task::Produce {
            producer,
            inputs,
            key,
            how,
            past,
            before,
            ask,
        };
        let job = Job {
            duration_if_sent: self.duration_if_sent(id, &work, pool).filter(|_| !ask),
            ..self.job(id, &work, task)
        };
        // A question starts only when a thread takes it.
        if pool != Pool::Paid {
            self.emit(&Event::Started {
                label: &job.label,
                paid: false,
            });
        }
        match pool {
            Pool::Cpu => self.pools.add_cpu_job(job),
            Pool::Slow | Pool::Paid => self.job_order.add_ready(job, pool),
        }
        self.nodes.change_state(id, NodeProgress::Running { work });
    }

    /// Returns the expected duration of a node here, as far as known, if another machine may build it: it depends only on its key, and this build
    /// does not check whether the output is reproduced here.
    fn duration_if_sent(&self, id: NodeId, work: &Work, pool: Pool) -> Option<Duration> {
        let producer = self.context.rules.rule(work.rule).producer;
        let pure = pool == Pool::Cpu && self.context.rules.manifest().producers[producer as usize].settings.is_empty();
        (pure && !self.is_rebuilt(id)).then(|| self.durations.average_of(producer).unwrap_or_default())
    }

    /// Returns the pool of a node's producer.
    pub(super) fn pool(&self, work: &Work) -> Pool {
        let definition = &self.context.rules.manifest().producers[self.context.rules.rule(work.rule).producer as usize];
        let producer = self.context.registry.get(&definition.uses);
        producer.map_or(Pool::Cpu, |producer| producer.pool(&definition.params))
    }

    pub(super) fn is_paid(&self, work: &Work) -> bool {
        self.pool(work) == Pool::Paid
    }

    /// Whether asking the remote cache pays for results of a rule.
    pub(super) fn is_shared(&self, rule: u32, pool: Pool) -> bool {
        let took = self.durations.average_of(self.context.rules.rule(rule).producer);
        let single = is_single(self.context.rules, rule);
        self.context
            .shared
            .sharing
            .as_ref()
            .is_some_and(|sharing| sharing.look_up(pool, single, took) != LookUp::Bundled)
    }

    /// Records the node's output in the graph and the version that it replaces, and wakes its readers.
    pub(super) fn settle(&mut self, id: NodeId, work: &Work, output: Digest, how: OutputOrigin) {
        if let Some(edges) = &work.edges {
            self.graph.rewire(id, (**edges).clone());
        }
        let result = NodeResult { key: work.key, output };
        let before = self.graph.node(id).result;
        if before.is_none_or(|before| before.output != output) {
            self.output_changes.add_changed_output(id);
        }
        self.graph.settle(id, result);
        if before.is_none_or(|before| before.output != output) {
            self.mark_affected_readers(id, before.map(|before| before.output), output);
        }
        if before != Some(result) {
            let label = self.graph.node(id).label.to_string();
            let version = HistoryRecord {
                version: 0,
                key: work.key,
                output,
                at: self.context.now,
                build: None,
            };
            self.outbox.add_version(label, version);
        }
        self.nodes.end(id, NodeProgress::Settled { how });
    }
}

/// Returns the frame of the items of an input; `None` if it is no list.
pub(super) fn item_frame(from: &InputFrom, vars: impl FnOnce() -> Vars) -> Option<ItemFrame> {
    match from {
        InputFrom::Many { target, .. } | InputFrom::Rows { table: target, .. } => ItemFrame::from_template(target, &vars()),
        _ => None,
    }
}
