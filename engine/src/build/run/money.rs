//! The money of a run. A paid node enters with `reserve`; then its answer is settled, or the question is given back.
//!
//! [`Run::reserve`] lets the node ask, or prices its question, or refuses. [`Run::settle_expense`] and [`Run::settle_answer`] record an answer, and
//! [`Run::settle_saving`] a result found under its key. [`Run::give_back`] leaves a question without a usable answer to a later build, and
//! [`Run::give_back_saving`] reverts a hit.

use super::leftover::Leftover;
use super::{NodeProgress, Run, RunError, Stage, Work};
use crate::build::job::{JobMode, Past, ReportedCost, Task};
use crate::build::remarks::{FailedTry, Remark, Wait};
use crate::graph::NodeId;
use crate::seams::paid::{Notes, Plan, Spent};
use crate::seams::producer::{Failure, Pool};
use crate::store::ledger::{LedgerEntry, Outcome};
use crate::store::unconfirmed::{self, Unconfirmed, confirmed};
use crate::store::{Part, RowChange, superseded};
use crate::values::codes::ErrorCode;
use crate::values::digest::{ActionKey, Digest};
use crate::values::event::Event;
use std::sync::Arc;

/// Maximum number of consecutive useless answers that are paid for under one key (seed 000 §5.3: at most three tries).
const TRIES: u32 = 3;

/// The question of one target, with its price.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Priced {
    pub label: Arc<str>,
    /// Whether all its inputs are known; otherwise it may ask or not, depending on them.
    pub certain: bool,
    pub plan: Plan,
}

/// Costs, savings and answers of a run, and the questions that it only prices.
#[derive(Default)]
pub(super) struct Money {
    /// Costs and savings that wait for their commit.
    ledger: Vec<LedgerEntry>,
    /// Received answers for which other machines may have different ones.
    unconfirmed: Vec<RowChange>,
    /// Questions of paid producers, if only priced.
    plans: Vec<Priced>,
}

impl Money {
    /// Whether costs or savings wait for their commit.
    pub(super) fn has_rows(&self) -> bool {
        !self.ledger.is_empty()
    }

    /// Takes the costs and savings, to be committed with the results.
    pub(super) fn take_rows(&mut self) -> Vec<RowChange> {
        std::mem::take(&mut self.ledger).iter().map(LedgerEntry::to_row).collect()
    }

    /// Leaves the rest to the session.
    pub(super) fn move_to(self, leftover: &mut Leftover) {
        leftover.ledger = self.ledger;
        leftover.unconfirmed = self.unconfirmed;
        leftover.plans = self.plans;
    }
}

impl Run<'_> {
    /// Returns the work of a paid node that may ask its question. Otherwise moves the node on: to a price, to the failure of its last tries, or to a
    /// later build.
    pub(super) fn reserve(&mut self, id: NodeId, work: Box<Work>) -> Result<Option<Box<Work>>, RunError> {
        if self.context.options.mode.settles() {
            self.tally.limited += 1;
            self.postpone(id);
            return Ok(None);
        }
        if let Some(before) = self.exhausted_tries(id, &work.key)? {
            self.fail_again(id, before);
            return Ok(None);
        }
        if let Some(failure) = self.assumed.take_rejected(&work.key) {
            self.give_back(id, &work.key, &failure, None);
            return Ok(None);
        }
        if self.context.options.mode.prices() {
            self.start_pricing(id, work);
            return Ok(None);
        }
        Ok(Some(work))
    }

    /// Returns the last try under this key, if so many answers were useless that no other is paid for until an input changes.
    pub(super) fn exhausted_tries(&self, id: NodeId, key: &ActionKey) -> Result<Option<FailedTry>, RunError> {
        if self.context.options.insist || self.is_unwanted(id, key)? {
            return Ok(None);
        }
        let label = self.graph.node(id).label.clone();
        let row = self.context.store.row(self.context.view, Part::Remarks, label.as_bytes())?;
        let failure = row.and_then(|row| Remark::from_row(&row)).and_then(|remark| remark.failure);
        Ok(failure.filter(|failure| failure.times >= TRIES && !failure.raw.is_empty() && failure.key == Some(*key)))
    }

    /// Collecting → Failed, for the reason of the last try; asks nothing.
    fn fail_again(&mut self, id: NodeId, before: FailedTry) {
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
        let uses = &self.context.rules.manifest().producers[self.context.rules.rule(work.rule).producer as usize].uses;
        let Some(producer) = self.context.registry.get(uses).cloned() else {
            return;
        };
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
        self.job_order.add_ready(job, Pool::Cpu);
        self.nodes.change_state(id, NodeProgress::Running { work });
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
        self.money.plans.push(priced);
        self.graph.set_stale(id, true);
        self.report_would_run(id, certain);
    }

    /// Records what an output cost, except for parts of the answer that are already in the ledger.
    pub(super) fn settle_expense(&mut self, label: &str, notes: &Notes, spent: &Spent, cost: &ReportedCost, took_us: u64) {
        let outcome = Outcome::from_mode(notes.get("mode").map(String::as_str));
        self.tally.spent.add(&spent.less(&cost.before));
        self.record_expense(label, outcome, &spent.less(&cost.before).less(&cost.now), took_us);
    }

    /// Records an answer that is about to be stored: keeps the record of the one that it replaces, and whether other machines may have another.
    pub(super) fn settle_answer(&mut self, id: NodeId, key: &ActionKey, output: &Digest) -> Result<(), RunError> {
        if let Some(old) = self.context.store.action(key)? {
            self.outbox.add_superseded(superseded::result_to_keep(key, old, output));
        }
        match self.is_fresh(id) {
            true => self.money.unconfirmed.push(confirmed(key)),
            false => self.record_unconfirmed(id, key, self.context.now)?,
        }
        Ok(())
    }

    /// Records what an unusable answer cost.
    pub(super) fn settle_rejected(&mut self, id: NodeId, spent: &Spent, took_us: u64) {
        let label = self.graph.node(id).label.clone();
        self.tally.spent.add(spent);
        self.record_expense(&label, Outcome::Rejected, spent, took_us);
    }

    /// Leaves a question without a usable answer to a later build. `took_us`: the duration of the try, for the node that asked.
    pub(super) fn give_back(&mut self, id: NodeId, key: &ActionKey, failure: &Failure, took_us: Option<u64>) {
        match failure {
            Failure::Rejected(rejected) => {
                if let Some((spent, took_us)) = rejected.spent.as_ref().zip(took_us) {
                    self.settle_rejected(id, spent, took_us);
                }
                // A limit or a signal between two answers says nothing about what the model is able to answer.
                let is_cut_off = rejected.why.code == ErrorCode::E_LIMIT || rejected.why.code == ErrorCode::E_CANCELLED;
                let failed = FailedTry {
                    key: Some(*key),
                    why: rejected.why.clone(),
                    times: u32::from(!is_cut_off),
                    raw: rejected.raw.clone(),
                };
                self.report_failure(id, failed);
            }
            Failure::Limit(why) => self.not_tried(id, why),
            Failure::Deferred => {
                self.tally.deferred += 1;
                self.postpone_until(id, Wait::Batch);
            }
            Failure::Awaited => {
                self.tally.awaited += 1;
                self.postpone_until(id, Wait::Agent);
            }
            Failure::Permanent(_) | Failure::Transient(_) | Failure::Cancelled => {}
        }
    }

    /// Counts what the parts of a failed question cost.
    pub(super) fn add_cost_of_parts(&mut self, spent: &Spent) {
        self.tally.spent.add(spent);
    }

    /// Records the original cost of a result found under its key.
    pub(super) fn settle_saving(&mut self, label: &str, spent: &Spent, took_us: u64) {
        if self.context.options.mode.settles() {
            return;
        }
        self.tally.saved.add(spent);
        self.record_expense(label, Outcome::Saved, spent, took_us);
    }

    /// Reverts a hit: the result found under its key lacks its bytes, so that it saves nothing.
    pub(super) fn give_back_saving(&mut self, id: NodeId) -> Result<(), RunError> {
        self.tally.cached -= 1;
        let node = self.graph.node(id);
        let (key, label) = (node.result.map(|result| result.key), node.label.clone());
        let (took_us, spent) = match key.and_then(|key| self.same_keys.built_result(&key)) {
            Some(built) => (built.took_us, built.spent.as_deref().cloned()),
            None => match key.map(|key| self.context.store.action(&key)).transpose()?.flatten() {
                Some(record) => (record.took_us, record.spent),
                None => return Ok(()),
            },
        };
        self.tally.saved_us = self.tally.saved_us.saturating_sub(took_us);
        if let Some(spent) = spent {
            self.tally.saved = self.tally.saved.less(&spent);
            self.money
                .ledger
                .retain(|line| line.outcome != Outcome::Saved || line.label != *label);
        }
        Ok(())
    }

    /// Adds an entry to the ledger, and counts it.
    fn record_expense(&mut self, label: &str, outcome: Outcome, spent: &Spent, took_us: u64) {
        self.tally.answers.add(outcome);
        self.money.ledger.push(LedgerEntry {
            at: self.context.now,
            label: label.to_owned(),
            outcome,
            spent: spent.clone(),
            took_us,
        });
    }

    /// Records an answer received in this checkout: another machine may have asked at the same moment and stored another.
    pub(super) fn record_unconfirmed(&mut self, id: NodeId, key: &ActionKey, made_at: u64) -> Result<(), RunError> {
        let is_shared = self.context.shared.sharing.is_some() || self.context.rules.manifest().remote.is_some();
        let is_young = self.context.now < made_at.saturating_add(unconfirmed::OLD);
        if is_shared && is_young && self.context.store.row(self.context.view, Part::Unconfirmed, &key.0.0)?.is_none() {
            let row = Unconfirmed::new(&self.graph.node(id).label, self.context.now);
            self.money.unconfirmed.push(row.to_row(key));
        }
        Ok(())
    }

    /// Sends deferred questions. Called when nothing else can proceed; reports each failure once.
    pub(in crate::build) fn flush_paid(&mut self) -> Result<(), RunError> {
        if self.tally.deferred == 0 {
            return Ok(());
        }
        // A provider may be slow.
        self.release_checkout()?;
        self.release_store()?;
        let before = self.findings.failures().len();
        for producer in self.context.registry.iter() {
            match producer.flush() {
                Ok(()) | Err(Failure::Cancelled | Failure::Deferred | Failure::Awaited) => {}
                Err(Failure::Permanent(why) | Failure::Transient(why) | Failure::Limit(why)) => self.findings.add_failure(*why),
                Err(Failure::Rejected(rejected)) => self.findings.add_failure(rejected.why),
            }
        }
        // Do not announce an answer whose question may not have been sent.
        if self.findings.failures().len() > before {
            self.tally.failed += std::mem::take(&mut self.tally.deferred);
        }
        Ok(())
    }
}
