//! One run of the build loop: demand, discovery, collection, decision, settlement.
//!
//! The loop runs on one thread, which alone owns the graph and the states of its nodes; workers only do [jobs](super::jobs). It is iterative:
//! depth of the graph costs heap, never stack. [`NodeStates`] makes all transitions of a node.

mod assumed_inputs;
mod check;
mod checkout;
mod decide;
mod demand;
mod difference;
pub(in crate::build) mod dry_run;
mod durations;
mod failure;
mod findings;
mod finish;
mod fresh_results;
mod held_action_locks;
mod job_order;
mod known_sets;
mod leftover;
mod member_patterns;
mod membership;
mod money;
mod node_states;
mod options;
mod outbox;
mod output_changes;
mod outputs;
mod roots;
mod same_key;
mod source_nodes;
mod stop;
mod tables;
mod tally;

pub use finish::located;
pub use leftover::{Leftover, SetChanges};
pub use money::Priced;
pub use node_states::OutputOrigin;
pub use options::{BuildMode, Options, OvertakenBuild};
pub use roots::{Root, Roots, UNSET};
pub use source_nodes::{Leaves, file_label, file_path};
pub use tally::Tally;

use assumed_inputs::AssumedInputs;
use checkout::HeldCheckout;
use durations::Durations;
use findings::Findings;
use job_order::JobOrder;
use known_sets::KnownSets;
use money::Money;
use node_states::{NodeProgress, NodeStates, Stage, Step, Work};
use outbox::Outbox;
use output_changes::OutputChanges;
use same_key::SameKeys;
use stop::Stop;

use super::finished_job::Finished;
use super::job::{Job, JobContext, Settled};
use super::pools::Pools;
use super::writer::Writer;
use crate::build::checkout_turn::CheckoutTurn;
use crate::graph::stale::{self, NodeSet};
use crate::graph::walk::Links;
use crate::graph::{Graph, NodeId};
use crate::planning::rules::RuleIndex;
use crate::seams::lineage::Lineage;
use crate::seams::priority::Priority;
use crate::seams::producer::{ProducerId, Registry};
use crate::store::{Store, StoreError};
use crate::values::diagnostic::Diagnostic;
use crate::values::digest::{ActionKey, Digest};
use crate::values::event::{Event, Observer};
use crossbeam_channel::Receiver;
use rustc_hash::FxHashMap;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// What a run is given, and does not change.
pub(super) struct RunContext<'a> {
    pub(super) rules: &'a RuleIndex,
    /// Whether the rules changed since the graph was planned.
    redefined: bool,
    registry: &'a Registry,
    /// Names and versions of the producers, by their number in the manifest.
    ids: Vec<Option<ProducerId>>,
    priority: &'a dyn Priority,
    lineage: &'a dyn Lineage,
    /// The edges before the run.
    links: &'a Links,
    leaves: &'a dyn Leaves,
    predecessors: &'a Predecessors,
    store: Arc<dyn Store>,
    view: crate::store::ViewId,
    pub(super) shared: Arc<JobContext>,
    pub(super) observer: &'a dyn Observer,
    options: Options,
    /// Time of the build, in seconds since 1970.
    now: u64,
}

/// The loop, with the owners of its state.
pub struct Run<'a> {
    pub(super) context: RunContext<'a>,
    pub(super) graph: &'a mut Graph,
    nodes: NodeStates,
    // Planning.
    known_sets: KnownSets,
    output_changes: OutputChanges,
    // Deciding.
    same_keys: SameKeys,
    assumed: AssumedInputs,
    job_order: JobOrder,
    durations: Durations,
    // Settling.
    outbox: Outbox,
    money: Money,
    findings: Findings,
    pub(super) tally: Tally,
    // Working.
    pools: Pools,
    done: Receiver<Finished>,
    stop: Stop,
    checkout: HeldCheckout,
    /// Dry run: nodes settled now are needed only if unknown ones come out as before, so their failures are not reported.
    ignores_failures: bool,
}

/// Reason why a run ends without a report.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// By label of folds, the key of their output in a bundle. Updates read only the inputs changed since.
pub type Predecessors = FxHashMap<Box<str>, ActionKey>;

/// Everything that a run needs from its session.
pub struct Setup<'a> {
    pub rules: &'a RuleIndex,
    pub registry: &'a Registry,
    /// Order of paid jobs.
    pub priority: &'a dyn Priority,
    /// Finds former names of items.
    pub lineage: &'a dyn Lineage,
    pub graph: &'a mut Graph,
    /// Its edges before the run.
    pub links: &'a Links,
    pub leaves: &'a dyn Leaves,
    pub store: Arc<dyn Store>,
    pub shared: Arc<JobContext>,
    /// Whether the rules changed since the graph was planned.
    pub redefined: bool,
    /// Receives the events.
    pub observer: &'a dyn Observer,
    pub options: Options,
    /// By label of folds: their results in a bundle of a similar tree.
    pub predecessors: &'a Predecessors,
    /// The right to the checkout, if it is released while this process only waits.
    pub turn: Option<Arc<dyn CheckoutTurn>>,
}

/// Poll interval while idle; bounds how long a reader waits for the store lock.
const POLL_INTERVAL: Duration = Duration::from_millis(30);

impl<'a> Run<'a> {
    /// Creates a run. It commits results to `view`; `now` is the time of this build in seconds since 1970.
    pub fn new(setup: Setup<'a>, view: crate::store::ViewId, now: u64) -> Self {
        let (sender, done) = crossbeam_channel::unbounded();
        let pools = Pools::new(setup.options.jobs, setup.options.paid_jobs, setup.shared.clone(), sender);
        let producers = setup.rules.manifest().producers.iter();
        let id_of = |uses: &str| setup.registry.get(uses).map(|implementation| implementation.id());
        Self {
            nodes: NodeStates::default(),
            known_sets: KnownSets::default(),
            output_changes: OutputChanges::new(setup.graph.stale_set().clone()),
            same_keys: SameKeys::default(),
            assumed: AssumedInputs::default(),
            job_order: JobOrder::default(),
            durations: Durations::default(),
            outbox: Outbox::new(Writer::new(setup.store.clone(), view, setup.shared.clone())),
            money: Money::default(),
            findings: Findings::default(),
            tally: Tally::default(),
            pools,
            done,
            stop: Stop::new(setup.shared.cancel.clone()),
            checkout: HeldCheckout::new(setup.turn),
            ignores_failures: false,
            graph: setup.graph,
            context: RunContext {
                ids: producers.map(|producer| id_of(&producer.uses)).collect(),
                rules: setup.rules,
                redefined: setup.redefined,
                registry: setup.registry,
                priority: setup.priority,
                lineage: setup.lineage,
                links: setup.links,
                leaves: setup.leaves,
                predecessors: setup.predecessors,
                store: setup.store,
                view,
                shared: setup.shared,
                observer: setup.observer,
                options: setup.options,
                now,
            },
        }
    }

    /// Settles every node of `wanted` and everything that it needs. Fails when the store breaks. Failures of targets are no errors.
    pub fn settle_all(&mut self, wanted: &[NodeId]) -> Result<(), RunError> {
        if self.is_stopped() {
            return Ok(());
        }
        self.mark_requested(wanted);
        // Changes can no longer reach many of the nodes that they could reach at the start: sets were settled since then and had not
        // changed.
        self.output_changes.set_reach(self.spread_stale_marks());
        let are_quiet = self.sets_are_quiet();
        for &id in wanted.iter().rev() {
            // No change can reach most of them; these need no step each.
            if are_quiet && self.is_out_of_reach(id) && !self.is_rebuilt(id) {
                self.mark_out_of_reach(id);
            } else {
                self.nodes.add_step(Step::Demand(id));
            }
        }
        self.work()
    }

    /// Returns the nodes that may be stale, past those that have ended.
    fn spread_stale_marks(&self) -> NodeSet {
        match self.nodes.are_untouched() {
            true => stale::spread_stale_marks(self.graph, self.context.links),
            false => stale::spread_stale_marks_except_past(self.graph, self.context.links, |id| self.nodes.has_output(id)),
        }
    }

    /// Takes all due steps, and those that follow, until none is left.
    fn work(&mut self) -> Result<(), RunError> {
        loop {
            while let Some(step) = self.nodes.take_step() {
                if self.stopping() {
                    self.nodes.drop_steps();
                    break;
                }
                match step {
                    Step::Demand(id) => self.demand(id),
                    Step::Check(id) => self.check(id),
                    Step::Plan(id) => self.plan(id)?,
                    Step::Decide(id) => self.decide(id)?,
                }
                while let Ok(finished) = self.done.try_recv() {
                    self.finish(finished)?;
                }
                self.release_if_wanted()?;
            }
            let stopping = self.stopping();
            self.hand_over_slow();
            self.complete_next_group()?;
            self.pools.pump(stopping);
            for id in self.pools.take_begun() {
                let label = &self.graph.node(id).label;
                self.emit(&Event::Started { label, paid: true });
            }
            if self.pools.is_idle() {
                if stopping || !self.break_cycle() {
                    return Ok(());
                }
                continue;
            }
            if self.stop.is_overdue(self.pools.patience()) {
                self.pools.abandon();
                return Ok(());
            }
            let only_waits = self.pools.only_waits();
            if only_waits && self.checkout.has_waited_enough() {
                self.release_checkout()?;
            }
            let began = Instant::now();
            // Wake up regularly to check whether the build is stopped, or another process waits for the store.
            let finished = self.done.recv_timeout(POLL_INTERVAL);
            if only_waits {
                self.checkout.add_idle_time(began.elapsed());
            }
            match finished {
                Ok(finished) => self.finish(finished)?,
                Err(_) => {
                    self.pools.give_up_overdue_shards();
                    self.release_if_wanted()?;
                    if self.outbox.has_old_locks() {
                        self.send_batch()?;
                    }
                }
            }
        }
    }

    /// Whether to start nothing more: the build was stopped, or its first failure ends it.
    pub(super) fn stopping(&mut self) -> bool {
        self.stop.starts_nothing()
    }

    /// Whether this run was stopped: then it commits finished results and starts nothing more.
    pub(in crate::build) fn is_stopped(&mut self) -> bool {
        self.stop.is_cancelled()
    }

    /// Commits the rest, stops the workers and returns the rows that the session must write.
    pub fn finish_run(mut self) -> Result<Leftover, RunError> {
        if self.is_stopped() {
            // The next build defers the questions that were not sent again.
            self.tally.deferred = 0;
        } else {
            self.release_if_wanted()?;
        }
        self.pools.stop();
        self.outbox.finish_batches()?;
        let mut leftover = Leftover {
            set_changes: self.set_changes(),
            costs: self.producer_costs(),
            tally: self.tally,
            ..Leftover::default()
        };
        self.findings.move_to(&mut leftover);
        self.outbox.move_to(&mut leftover);
        self.money.move_to(&mut leftover);
        Ok(leftover)
    }

    /// Returns the failures reported so far.
    pub(in crate::build) fn reported_failures(&self) -> &[Diagnostic] {
        self.findings.failures()
    }

    /// Whether a node's output is unchanged since the run started.
    pub(super) fn is_unchanged(&self, id: NodeId) -> bool {
        match self.nodes.state_of(id) {
            NodeProgress::OutOfReach => true,
            NodeProgress::Settled { .. } => !self.output_changes.has_output_changed(id),
            NodeProgress::Idle => !self.output_changes.may_reach(id) && self.graph.has_result(id),
            _ => false,
        }
    }

    /// Whether a node's producer ran in this run, or its result was found under its key.
    pub(in crate::build) fn was_made(&self, id: NodeId) -> bool {
        matches!(self.origin_of(id), Some(OutputOrigin::Ran | OutputOrigin::Cached))
    }

    /// Returns the outcomes of the requested nodes.
    pub fn report(&self, ids: &[NodeId]) -> Vec<Root> {
        let root = |&id: &NodeId| Root {
            id,
            label: self.graph.node(id).label.clone(),
            output: self.output(id),
            how: self.nodes.origin_of(id),
        };
        ids.iter().map(root).collect()
    }

    /// Returns the output of a settled node.
    pub(in crate::build) fn output(&self, id: NodeId) -> Option<Digest> {
        match self.nodes.has_output(id) {
            true => self.graph.node(id).result.map(|result| result.output),
            false => None,
        }
    }

    /// Counts the requested nodes that have neither an output nor a failure of their own, such as those whose producer was stopped.
    pub fn count_unfinished(&self, ids: &[NodeId]) -> usize {
        let failed: rustc_hash::FxHashSet<&str> = self.reported_failures().iter().filter_map(|why| why.label.as_deref()).collect();
        let made = |id: NodeId| self.output(id).is_some() || failed.contains(&*self.graph.node(id).label);
        ids.iter().filter(|&&id| !made(id)).count()
    }

    /// Returns a settled node as jobs see it.
    fn settled(&self, id: NodeId) -> Option<Settled> {
        let label = self.graph.node(id).label.clone();
        let fetch = self.context.leaves.fetch(&label);
        self.output(id).map(|digest| Settled { id, label, digest, fetch })
    }

    fn job(&self, id: NodeId, work: &Work, task: super::job::Task) -> Job {
        Job {
            id,
            label: self.graph.node(id).label.clone(),
            rule: work.rule,
            vars: OnceLock::new(),
            discovery: work.discovery.iter().filter_map(|&node| self.settled(node)).collect(),
            task,
            duration_if_sent: None,
            is_assumed: false,
        }
    }

    fn emit(&self, event: &Event<'_>) {
        self.context.observer.event(event);
    }
}
