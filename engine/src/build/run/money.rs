//! Paid nodes: their pool, their prices, and the ledger.

use super::{NodeProgress, Run, RunError, SameKey, Stage, Work};
use crate::build::earlier_answer::Past;
use crate::build::invalidated::InvalidatedResult;
use crate::build::jobs::{JobMode, Task};
use crate::build::remarks::{FailedTry, Remark};
use crate::graph::NodeId;
use crate::seams::lineage::Present;
use crate::seams::paid::{FormerNames, Plan, Spent};
use crate::seams::producer::{Failure, Pool};
use crate::store::ledger::{LedgerEntry, Outcome};
use crate::store::unconfirmed::{self, Unconfirmed};
use crate::store::{Part, StoreError};
use crate::values::digest::ActionKey;
use crate::values::event::Event;
use std::sync::Arc;

/// Maximum number of consecutive useless answers that are paid for under one key (seed 000 §5.3: at most three tries).
const TRIES: u32 = 3;

/// The question of one target, with its price.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Priced {
    /// The target.
    pub label: Arc<str>,
    /// Whether all its inputs are known; otherwise it may ask or not, depending on them.
    pub certain: bool,
    /// The question.
    pub plan: Plan,
}

impl Run<'_> {
    /// Returns the pool of a node's producer.
    pub(super) fn pool(&self, work: &Work) -> Pool {
        let definition = &self.rules.manifest().producers[self.rules.rule(work.rule).producer as usize];
        let producer = self.registry.get(&definition.uses);
        producer.map_or(Pool::Cpu, |producer| producer.pool(&definition.params))
    }

    pub(super) fn is_paid(&self, work: &Work) -> bool {
        self.pool(work) == Pool::Paid
    }

    /// Whether a person requested a new result although one is cached.
    pub(super) fn is_fresh(&self, id: NodeId) -> bool {
        let has_any = !self.options.fresh.is_empty() || !self.options.invalidated.is_empty();
        has_any && (self.options.fresh.contains(&*self.graph.node(id).label) || self.invalidated(id).is_some())
    }

    /// Marks the nodes for which a new answer is requested as stale, because it may change the outputs of their readers.
    pub(super) fn mark_requested(&mut self, wanted: &[NodeId]) {
        if self.options.fresh.is_empty() && self.options.invalidated.is_empty() {
            return;
        }
        for &id in wanted {
            if self.is_fresh(id) && self.nodes.is_idle(id) {
                self.graph.set_stale(id, true);
            }
        }
    }

    /// Returns the mark with which a person invalidated a node's result.
    pub(super) fn invalidated(&self, id: NodeId) -> Option<InvalidatedResult> {
        self.options.invalidated.get(&*self.graph.node(id).label).copied()
    }

    /// Whether the result stored under a key does not serve a node: a person requested another one, and no process has built it yet.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub(super) fn is_unwanted(&self, id: NodeId, key: &ActionKey) -> Result<bool, StoreError> {
        if !self.is_fresh(id) || self.options.fresh.contains(&*self.graph.node(id).label) {
            return Ok(self.is_fresh(id));
        }
        let result = self.store.action(key)?.map(|record| InvalidatedResult::from_result(key, &record));
        Ok(result.is_some() && result == self.invalidated(id))
    }

    /// Whether a node is rebuilt to compare the outputs.
    pub(super) fn is_rebuilt(&self, id: NodeId) -> bool {
        !self.options.rebuilt.is_empty() && self.options.rebuilt.contains(&*self.graph.node(id).label)
    }

    /// Returns the last try under this key, if so many answers were useless that no other is paid for until an input changes.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub(super) fn exhausted_tries(&self, id: NodeId, key: &ActionKey) -> Result<Option<FailedTry>, RunError> {
        if self.options.insist || self.is_unwanted(id, key)? {
            return Ok(None);
        }
        let label = self.graph.node(id).label.clone();
        let row = self.store.row(self.view, Part::Remarks, label.as_bytes())?;
        let failure = row.and_then(|row| Remark::from_row(&row)).and_then(|remark| remark.failure);
        Ok(failure.filter(|failure| failure.times >= TRIES && !failure.raw.is_empty() && failure.key == Some(*key)))
    }

    /// Collecting → Failed, for the reason of the last try; asks nothing.
    pub(super) fn fail_again(&mut self, id: NodeId, before: FailedTry) {
        let label = self.graph.node(id).label.clone();
        let hint = format!("it is not requested again until an input changes; `cortex regenerate '{label}'` asks once more");
        let why = before.why.hint(hint);
        self.report_failure(id, FailedTry { why, times: 0, ..before });
    }

    /// Collecting → Running: the producer plans its question from the known inputs.
    pub(super) fn start_pricing(&mut self, id: NodeId, work: Box<Work>) {
        let edges = work.edges.as_ref().expect("invariant: pricing follows collection");
        let unknown = edges.input_nodes().filter(|&node| self.nodes.is_unknown(node)).count();
        let inputs = self.inputs(&work);
        let ask = unknown == 0 && !self.is_fresh(id) && self.is_shared(work.rule, Pool::Paid);
        let uses = &self.rules.manifest().producers[self.rules.rule(work.rule).producer as usize].uses;
        let Some(producer) = self.registry.get(uses).cloned() else { return };
        let job = self.job(
            id,
            &work,
            Task::Produce {
                producer,
                inputs,
                key: work.key,
                how: JobMode::Plan {
                    fresh: self.is_fresh(id),
                    unknown,
                },
                past: Some(Past {
                    previous: self.graph.node(id).result.map(|result| result.key),
                }),
                before: None,
                ask,
            },
        );
        self.slow_ready.push((job, Pool::Cpu));
        self.nodes.change_state(id, NodeProgress::Running { work });
    }

    /// Finds former names, once, as soon as everything free is built; returns whether they are known.
    pub(super) fn find_former_names(&mut self) -> bool {
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

    /// Running → Unknown: reports the question.
    pub(super) fn finish_pricing(&mut self, id: NodeId, plan: Plan) {
        let Some(work) = self.nodes.take_work(id, Stage::Running) else {
            return;
        };
        let edges = work.edges.as_ref().expect("invariant: pricing follows collection");
        let certain = !edges.input_nodes().any(|node| self.nodes.is_unknown(node));
        let label = self.graph.node(id).label.clone();
        self.emit(&Event::WouldRun { label: &label, certain });
        let priced = Priced { label, certain, plan };
        self.plans.push(priced);
        self.graph.set_stale(id, true);
        self.report_would_run(id, certain);
    }

    /// Records the cost of a failed try.
    pub(super) fn record_failed_cost(&mut self, label: &str, outcome: Outcome, spent: &Spent, took_us: u64) {
        self.tally.spent.add(spent);
        self.record_expense(label, outcome, spent, took_us);
    }

    /// Records the original cost of a result found under its key.
    pub(super) fn record_saving(&mut self, label: &str, spent: &Spent, took_us: u64) {
        if self.options.settles.is_some() {
            return;
        }
        self.tally.saved.add(spent);
        self.record_expense(label, Outcome::Saved, spent, took_us);
    }

    /// Reverts a hit: the result found under its key lacks its bytes, so that it saves nothing.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub(super) fn uncount_hit(&mut self, id: NodeId) -> Result<(), RunError> {
        self.tally.cached -= 1;
        let node = self.graph.node(id);
        let (key, label) = (node.result.map(|result| result.key), node.label.clone());
        let (took_us, spent) = match key.and_then(|key| self.same_key.get(&key)) {
            Some(SameKey::Built { took_us, spent, .. }) => (*took_us, spent.clone()),
            _ => match key.map(|key| self.store.action(&key)).transpose()?.flatten() {
                Some(record) => (record.took_us, record.spent),
                None => return Ok(()),
            },
        };
        self.tally.saved_us = self.tally.saved_us.saturating_sub(took_us);
        if let Some(spent) = spent {
            self.tally.saved = self.tally.saved.less(&spent);
            self.ledger.retain(|line| line.outcome != Outcome::Saved || line.label != *label);
        }
        Ok(())
    }

    /// Adds an entry to the ledger, and counts it.
    pub(super) fn record_expense(&mut self, label: &str, outcome: Outcome, spent: &Spent, took_us: u64) {
        self.tally.answers.add(outcome);
        self.ledger.push(LedgerEntry {
            at: self.now,
            label: label.to_owned(),
            outcome,
            spent: spent.clone(),
            took_us,
        });
    }

    /// Records an answer received in this checkout: another machine may have asked at the same moment and stored another.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub(super) fn record_unconfirmed(&mut self, id: NodeId, key: &ActionKey, made_at: u64) -> Result<(), RunError> {
        let is_shared = self.shared.sharing.is_some() || self.rules.manifest().remote.is_some();
        let is_young = self.now < made_at.saturating_add(unconfirmed::OLD);
        if is_shared && is_young && self.store.row(self.view, Part::Unconfirmed, &key.0.0)?.is_none() {
            let row = Unconfirmed::new(&self.graph.node(id).label, self.now);
            self.unconfirmed.push(row.to_row(key));
        }
        Ok(())
    }

    /// Commits all pending results with their ledger entries.
    ///
    /// # Errors
    /// When an earlier batch could not be committed.
    pub(super) fn send_batch(&mut self) -> Result<(), RunError> {
        let results = self.outbox.result_count();
        if results > 0 {
            self.emit(&Event::Committed { results });
        }
        let rows = std::mem::take(&mut self.ledger).iter().map(LedgerEntry::to_row).collect();
        Ok(self.outbox.send_batch(rows)?)
    }

    /// Sends deferred questions. Called when nothing else can proceed; reports each failure once.
    ///
    /// # Errors
    /// When earlier results could not be committed.
    pub(in crate::build) fn flush_paid(&mut self) -> Result<(), RunError> {
        if self.tally.deferred == 0 {
            return Ok(());
        }
        // A provider may be slow.
        self.release_checkout()?;
        self.release_store()?;
        let before = self.failures.len();
        for producer in self.registry.iter() {
            match producer.flush() {
                Ok(()) | Err(Failure::Cancelled | Failure::Deferred | Failure::Awaited) => {}
                Err(Failure::Permanent(why) | Failure::Transient(why) | Failure::Limit(why)) => self.failures.push(*why),
                Err(Failure::Rejected(rejected)) => self.failures.push(rejected.why),
            }
        }
        // Do not announce an answer whose question may not have been sent.
        if self.failures.len() > before {
            self.tally.failed += std::mem::take(&mut self.tally.deferred);
        }
        Ok(())
    }
}

/// Returns the ledger's outcome for the mode that the producer noted.
pub fn outcome(mode: Option<&str>) -> Outcome {
    match mode {
        Some("patch") => Outcome::Patch,
        Some("unchanged" | "carried") => Outcome::Unchanged,
        _ => Outcome::Full,
    }
}
