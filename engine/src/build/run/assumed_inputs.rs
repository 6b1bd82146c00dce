//! Assumed inputs: readers are asked about together with what they read.
//!
//! A paid job waits for outputs of other paid jobs, although most of these stay the same. Before a group of jobs starts, the nodes that wait for it
//! join it, if another input of theirs changed: their jobs get the last outputs of the inputs that are not settled. The result is stored under the
//! key of these inputs. If they stay the same, the node takes it; otherwise the node's job runs again, with the present ones, and builds on that result.

use super::decide::item_frame;
use super::demand::planned_edge;
use super::finish::micros;
use super::{NodeProgress, OutputOrigin, Run, RunError, Stage, Work};
use crate::build::job::{Done, Job, JobInput, JobMode, Load, Past, ReportedCost, Settled, Task};
use crate::build::job_groups::MOST_MEMBERS;
use crate::build::sharing::RemoteResult;
use crate::graph::{EdgeFrom, Edges, NodeId};
use crate::seams::paid::Notes;
use crate::seams::producer::{Failure, Grouping, Output, Pool};
use crate::store::records::{InputRecord, NewResult};
use crate::values::diagnostic::Diagnostic;
use crate::values::digest::{ActionKey, Digest};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;
use std::time::Duration;

/// Maximum number of jobs with assumed inputs that join a group.
const MOST_JOBS: usize = 64;

/// Priority of these jobs: after all others.
const LAST: f64 = -1.0;

/// Jobs with assumed inputs, and their results.
#[derive(Default)]
pub(super) struct AssumedInputs {
    /// Keys for which a job was started.
    tried: FxHashSet<ActionKey>,
    running: FxHashMap<NodeId, AssumedJob>,
    /// Results that no node has taken.
    results: FxHashMap<ActionKey, AssumedResult>,
    /// Key of the last result of each node.
    answers: FxHashMap<NodeId, ActionKey>,
    /// Unusable answers, which are paid for: a node with that key does not ask again in this build.
    rejected: FxHashMap<ActionKey, Failure>,
    /// Nodes whose last outputs are known to be those of the present definitions.
    of_present_definition: FxHashSet<NodeId>,
}

impl AssumedInputs {
    /// Takes the reason why the answer under a key is unusable.
    pub(super) fn take_rejected(&mut self, key: &ActionKey) -> Option<Failure> {
        self.rejected.remove(key)
    }

    /// Whether a job of a node is running. The node then decides again when it ends, because its own job builds on the result.
    pub(super) fn await_job(&mut self, id: NodeId) -> bool {
        let Some(job) = self.running.get_mut(&id) else {
            return false;
        };
        job.is_awaited = true;
        true
    }
}

struct AssumedJob {
    work: Work,
    provenance: Vec<InputRecord>,
    /// Whether the node, whose inputs became others, waits for its end.
    is_awaited: bool,
}

struct AssumedResult {
    output: Digest,
    notes: Notes,
    diagnostics: Vec<Diagnostic>,
    took: Duration,
}

impl Run<'_> {
    /// Adds the jobs of nodes that wait for the next group to it, with assumed inputs.
    pub(super) fn complete_next_group(&mut self) -> Result<(), RunError> {
        let mut open = self.pools.nodes_of_next_group();
        if open.is_empty() {
            return Ok(());
        }
        // In a later group, their inputs may have changed already.
        let most = MOST_JOBS.min(MOST_MEMBERS.saturating_sub(open.len()));
        let mut seen: FxHashSet<NodeId> = open.iter().copied().collect();
        let mut waiting = Vec::new();
        while let Some(id) = open.pop() {
            for &reader in self.nodes.waiters_of(id) {
                if seen.insert(reader) {
                    waiting.push(reader);
                    open.push(reader);
                }
            }
        }
        waiting.retain(|&id| self.graph.has_result(id) && self.has_changed_input(id) && self.is_grouped(id));
        if waiting.is_empty() {
            return Ok(());
        }
        self.pools.expect_edits();
        // Another machine that has answered knows whether the awaited outputs changed, and may have answered about the readers, too.
        if !self.may_assume() || self.pools.is_next_group_answered() {
            return Ok(());
        }
        // They may have begun to wait in any order.
        waiting.sort_unstable();
        let mut added = 0;
        for id in waiting {
            if added < most
                && let Some(job) = self.assumed_job(id)?
            {
                self.pools.add_paid_job(job, LAST);
                added += 1;
            }
        }
        Ok(())
    }

    /// Whether a node waits for inputs although one of them is known to have changed.
    fn has_changed_input(&self, id: NodeId) -> bool {
        match self.nodes.state_of(id) {
            NodeProgress::Collecting { work, .. } => !work.force,
            NodeProgress::Checking { inputs: true, .. } => self.graph.is_stale(id),
            _ => false,
        }
    }

    /// Whether the jobs of a node join groups.
    fn is_grouped(&self, id: NodeId) -> bool {
        let Some(rule) = self.rule_of(id) else { return false };
        let definition = &self.context.rules.manifest().producers[self.context.rules.rule(rule).producer as usize];
        self.context.registry.get(&definition.uses).is_some_and(|producer| {
            let grouping = producer.grouping(&definition.params, &definition.settings);
            producer.pool(&definition.params) == Pool::Paid && grouping != Grouping::Never
        })
    }

    /// Whether this build assumes inputs: not if it only plans, or rebuilds requested results.
    fn may_assume(&mut self) -> bool {
        let options = &self.context.options;
        let asks_as_usual = !options.mode.is_dry() && !options.mode.prices() && !options.mode.settles();
        let is_requested = !options.fresh.is_empty() || !options.invalidated.is_empty() || !options.rebuilt.is_empty();
        asks_as_usual && !is_requested && !self.context.redefined && !self.stopping()
    }

    /// Returns the job of a waiting node, if it may assume all inputs that are not settled and has no result under the key.
    fn assumed_job(&mut self, id: NodeId) -> Result<Option<Job>, RunError> {
        let Some(mut work) = self.work_so_far(id)? else { return Ok(None) };
        let definition = &self.context.rules.manifest().producers[self.context.rules.rule(work.rule).producer as usize];
        let Some(producer) = self.context.registry.get(&definition.uses).cloned() else {
            return Ok(None);
        };
        let edges = work.edges.clone().expect("invariant: work with assumed inputs has edges");
        let mut assumed = 0;
        for edge in &edges.inputs {
            let (EdgeFrom::Node(node) | EdgeFrom::RowsOf(node, _)) = edge.from else {
                continue;
            };
            if self.output(node).is_some() || self.is_unchanged(node) {
                continue;
            }
            let role = &self.context.rules.rule(work.rule).inputs[usize::from(edge.spec)].role;
            let is_pending = !self.nodes.has_ended(node) && self.graph.has_result(node);
            if !is_pending || !producer.assumes(&definition.params, &definition.settings, role) || self.is_of_other_definition(node)? {
                return Ok(None);
            }
            assumed += 1;
        }
        let inputs = self.inputs_with(&work, |node| {
            let label = self.graph.node(node).label.clone();
            let fetch = self.context.leaves.fetch(&label);
            self.known_output(node).map(|digest| Settled {
                id: node,
                label,
                digest,
                fetch,
            })
        });
        let Some(key) = self.key(id, &work, &inputs).filter(|_| assumed > 0) else {
            return Ok(None);
        };
        let previous = self.last_answer(id);
        let is_known = previous == Some(key) || self.same_keys.is_known(&key) || self.context.store.action(&key)?.is_some();
        if is_known || self.exhausted_tries(id, &key)?.is_some() || !self.assumed.tried.insert(key) {
            return Ok(None);
        }
        work.key = key;
        self.same_keys.claim_key(key);
        let task = Task::Produce {
            producer,
            inputs,
            key,
            how: JobMode::Output {
                fresh: false,
                paid: true,
                reserved: true,
                mark: None,
            },
            past: Some(Past { previous }),
            before: None,
            ask: self.is_shared(work.rule, Pool::Paid),
        };
        let job = Job {
            is_assumed: true,
            ..self.job(id, &work, task)
        };
        let provenance = self.provenance(&work);
        let job_of_node = AssumedJob {
            work,
            provenance,
            is_awaited: false,
        };
        self.assumed.running.insert(id, job_of_node);
        Ok(Some(job))
    }

    /// Whether the last output of a node that an earlier build left may be that of another definition, such as another model: its own, or that of
    /// an input which was left, too.
    fn is_of_other_definition(&mut self, id: NodeId) -> Result<bool, RunError> {
        let (mut open, mut seen) = (vec![id], FxHashSet::default());
        while let Some(id) = open.pop() {
            let is_known = !self.output_changes.was_left_stale(id) || self.assumed.of_present_definition.contains(&id);
            if is_known || !seen.insert(id) {
                continue;
            }
            if !self.has_key_of_present_definition(id)? {
                return Ok(true);
            }
            let edges = self.graph.node(id).edges.clone();
            open.extend(edges.iter().flat_map(|edges| edges.input_nodes()));
        }
        self.assumed.of_present_definition.extend(seen);
        Ok(false)
    }

    /// Whether a node's present definition gives, with the inputs of its last output, the key of that output. A source has no definition.
    fn has_key_of_present_definition(&mut self, id: NodeId) -> Result<bool, RunError> {
        let Some(work) = self.work_by_rule(id) else { return Ok(true) };
        let Some(key) = self.graph.node(id).result.map(|result| result.key) else {
            return Ok(false);
        };
        let Some(record) = self.context.store.action(&key)? else {
            return Ok(false);
        };
        let rule = self.context.rules.rule(work.rule);
        let input = |input: InputRecord| {
            let spec = rule.inputs.iter().find(|spec| spec.role == input.role);
            let frame = spec.and_then(|spec| item_frame(&spec.from, || work.vars(self.context.rules)));
            JobInput {
                item: frame.and_then(|frame| frame.item(&input.label)).unwrap_or_default().into(),
                role: input.role,
                digest: input.digest,
                label: input.label,
                load: Load::Nothing,
            }
        };
        let inputs: Vec<JobInput> = record.inputs.into_iter().map(input).collect();
        Ok(self.key(id, &work, &inputs) == Some(key))
    }

    /// Returns the work of a waiting node, with its present edges.
    fn work_so_far(&mut self, id: NodeId) -> Result<Option<Work>, RunError> {
        let work = match self.nodes.state_of(id) {
            NodeProgress::Collecting { work, .. } => Work {
                rule: work.rule,
                label: work.label.clone(),
                discovery: work.discovery.clone(),
                first: work.first,
                member_of: work.member_of,
                plan: work.plan,
                edges: work.edges.clone(),
                key: work.key,
                force: false,
            },
            NodeProgress::Checking { .. } => match self.work_by_rule(id) {
                Some(work) => work,
                None => return Ok(None),
            },
            _ => return Ok(None),
        };
        match work.edges {
            Some(_) => Ok(Some(work)),
            None => self.with_edges(id, work),
        }
    }

    /// Adds the present edges to the work of a node whose deciding nodes are settled.
    fn with_edges(&mut self, id: NodeId, mut work: Work) -> Result<Option<Work>, RunError> {
        let are_settled = |run: &Self, work: &Work| work.discovery.iter().all(|&node| run.output(node).is_some());
        if !are_settled(self, &work) {
            return Ok(None);
        }
        let Ok(tables) = self.tables_of(&work)? else { return Ok(None) };
        work.add_tables(tables);
        if !are_settled(self, &work) {
            return Ok(None);
        }
        work.plan = self.plan_digest(work.rule, &work.discovery);
        let before = self.graph.node(id).edges.clone();
        if let Some(edges) = before.filter(|edges| edges.plan == work.plan) {
            work.edges = Some(edges);
            return Ok(Some(work));
        }
        if self.asking(work.rule).is_some() {
            return Ok(None);
        }
        let expanded = self.job(id, &work, Task::Expand { asks: None }).run(&self.context.shared);
        let Done::Expanded(Ok(planned), _) = expanded else {
            return Ok(None);
        };
        work.edges = Some(Arc::new(Edges {
            plan: work.plan,
            discovery: work.discovery.clone().into(),
            inputs: planned.into_iter().map(|input| planned_edge(self.graph, input)).collect(),
        }));
        Ok(Some(work))
    }

    /// Processes the outcome of a job with assumed inputs. Without a result, the nodes that wait for its key run their own jobs.
    pub(super) fn finish_assumed(&mut self, id: NodeId, done: Done) -> Result<(), RunError> {
        let Some(job) = self.assumed.running.remove(&id) else {
            return Ok(());
        };
        let is_awaited = job.is_awaited;
        self.settle_assumed_job(id, job, done)?;
        if is_awaited && let Some(work) = self.nodes.take_work(id, Stage::Running) {
            self.nodes.decide_after(id, work, std::iter::empty());
        }
        Ok(())
    }

    fn settle_assumed_job(&mut self, id: NodeId, job: AssumedJob, done: Done) -> Result<(), RunError> {
        let key = job.work.key;
        match done {
            Done::Produced {
                output,
                digest,
                took,
                cost,
                action_lock,
                is_adopted,
            } => {
                self.tally.adopted += usize::from(is_adopted);
                self.outbox.keep_lock(action_lock);
                return self.store_assumed(id, job, *output, digest, took, &cost);
            }
            Done::BuiltElsewhere(found) => return self.store_found_assumed(id, &job, *found),
            Done::Failed { failure, parts_cost, took } => {
                self.add_cost_of_parts(&parts_cost);
                if matches!(failure, Failure::Rejected(_)) {
                    self.reject_assumed(id, key, failure, took);
                }
            }
            Done::Broken(error) => {
                // Commit the results of other jobs in spite of this error.
                let _ = self.make_durable();
                return Err(error.into());
            }
            _ => {}
        }
        for node in self.same_keys.take_waiting(&key) {
            if let Some(work) = self.nodes.take_work(node, Stage::Running) {
                self.nodes.decide_after(node, work, std::iter::empty());
            }
        }
        Ok(())
    }

    /// Fails the nodes that wait for an unusable answer, or keeps the reason for a node that gets this key later.
    fn reject_assumed(&mut self, id: NodeId, key: ActionKey, failure: Failure, took: Duration) {
        if let Failure::Rejected(rejected) = &failure
            && let Some(spent) = &rejected.spent
        {
            self.settle_rejected(id, spent, micros(took));
        }
        let nodes = self.same_keys.take_waiting(&key);
        for &node in &nodes {
            self.give_back(node, &key, &failure, None);
        }
        if nodes.is_empty() {
            self.assumed.rejected.insert(key, failure);
        }
    }

    /// Stores the result under its key, and settles the nodes that wait for it.
    fn store_assumed(
        &mut self,
        id: NodeId,
        job: AssumedJob,
        output: Output,
        digest: Digest,
        took: Duration,
        cost: &ReportedCost,
    ) -> Result<(), RunError> {
        let AssumedJob { work, provenance, .. } = job;
        let mut stored = self.new_result(id, &work, output, digest, took, provenance);
        self.settle_cost(&stored.record, cost);
        self.cache_result(work.rule, false, &mut stored);
        self.record_unconfirmed(id, &work.key, self.context.now)?;
        self.durations.add_duration(self.context.rules.rule(work.rule).producer, took);
        let result = AssumedResult {
            output: digest,
            notes: stored.record.notes.clone(),
            diagnostics: stored.record.diagnostics.clone(),
            took,
        };
        let nodes = self.same_keys.take_waiting(&work.key);
        self.same_keys.set_built(work.key, &stored.record);
        self.assumed.results.insert(work.key, result);
        self.assumed.answers.insert(id, work.key);
        for node in nodes {
            if let Some(work) = self.nodes.take_work(node, Stage::Running)
                && !self.settle_assumed(node, &work)?
            {
                self.settle_cached_record(node, &work, &stored.record);
            }
        }
        self.outbox.add_result(stored);
        // Commit a paid result before anything else can fail.
        self.make_durable()
    }

    /// Stores a result of another machine under its key, and settles the nodes that wait for it.
    fn store_found_assumed(&mut self, id: NodeId, job: &AssumedJob, found: RemoteResult) -> Result<(), RunError> {
        let RemoteResult { record, blob, parts } = found;
        let key = job.work.key;
        let mut result = NewResult {
            key,
            record,
            blob: Some(blob),
            parts,
        };
        self.cache_result(job.work.rule, false, &mut result);
        self.record_unconfirmed(id, &key, result.record.made_at)?;
        let nodes = self.same_keys.take_waiting(&key);
        self.same_keys.set_built(key, &result.record);
        self.assumed.answers.insert(id, key);
        self.settle_nodes(nodes, &result.record);
        self.outbox.add_result(result);
        self.make_durable()
    }

    /// Returns the key of a node's last result, on which the next one builds: that with assumed inputs, if this build made one.
    pub(super) fn last_answer(&self, id: NodeId) -> Option<ActionKey> {
        let assumed = self.assumed.answers.get(&id).copied();
        assumed.or_else(|| self.graph.node(id).result.map(|result| result.key))
    }

    /// Settles a node whose inputs are as its job assumed; returns whether there is such a result.
    pub(super) fn settle_assumed(&mut self, id: NodeId, work: &Work) -> Result<bool, RunError> {
        let output = self.assumed.results.get(&work.key).map(|result| result.output);
        let Some(output) = output else { return Ok(false) };
        if !self.is_available(work, &output)? {
            return Ok(false);
        }
        let Some(result) = self.assumed.results.remove(&work.key) else {
            return Ok(false);
        };
        let before = self.graph.node(id).result.map(|result| result.output);
        self.report_ran(id, &result.notes, &result.diagnostics, result.took, (before, output));
        self.settle(id, work, output, OutputOrigin::Ran);
        Ok(true)
    }
}
