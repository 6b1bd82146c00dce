//! One run of the build loop: demand, discovery, collection, decision, settlement.
//!
//! The loop runs on one thread, which alone owns the graph and the slots; workers only do [jobs](super::jobs). It is iterative: depth of the
//! graph costs heap, never stack. Every node's state is its [`Slot`]; the functions of this folder make all transitions:
//! `demand` Idle → Settled/Checking/Discovering, `check` Checking → Settled/Discovering, `plan` Discovering → Expanding/Collecting, `decide` Collecting → Settled/Running,
//! `finish` Running → Settled/Failed.

mod check;
mod decide;
mod demand;
mod difference;
pub(in crate::build) mod dry_run;
mod failure;
mod finish;
mod leftover;
mod member_patterns;
pub(super) mod money;
mod options;
mod reservations;
mod roots;
mod source_nodes;
mod tables;
mod tally;

pub use finish::located;
pub use leftover::Leftover;
pub use money::{Priced, outcome};
pub use options::{Options, OvertakenBuild};
pub use roots::{Root, Roots, UNSET};
pub use source_nodes::{Leaves, file_label, file_path};
pub use tally::Tally;

use reservations::Reservations;

use super::bringing::Predecessors;
use super::jobs::{Job, Settled, Shared};
use super::pools::{Finished, Pools};
use super::remarks::RunRemarks;
use super::writer::Writer;
use crate::build::checkout_turn::CheckoutTurn;
use crate::graph::stale::{self, StaleSet};
use crate::graph::walk::Links;
use crate::graph::{Edges, Graph, NodeId, PlanDigest};
use crate::manifest::model::SetSpec;
use crate::manifest::template::Vars;
use crate::planning::rules::RuleIndex;
use crate::seams::lineage::Lineage;
use crate::seams::paid::Spent;
use crate::seams::priority::Priority;
use crate::seams::producer::{Pool, ProducerId, Registry};
use crate::store::ledger::LedgerEntry;
use crate::store::records::{HistoryRecord, NewResult};
use crate::store::{RowChange, Store, StoreError};
use crate::values::diagnostic::Diagnostic;
use crate::values::digest::{ActionKey, Digest};
use crate::values::event::{Event, Observer};
use crate::values::pages::{Change, RowReader};
use crossbeam_channel::Receiver;
use rustc_hash::FxHashMap;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A node's state in this run.
pub(super) enum Slot {
    /// Not looked at. What the graph says stands, unless the node is stale.
    Idle,
    /// Something that it reads, however far, may have moved: its recorded edges are being settled, deciding ones first.
    Checking { inputs: bool, missing: u32 },
    /// Nodes that decide its inputs (and whether it exists) are being settled.
    Discovering { work: Box<Work>, missing: u32 },
    /// A worker is finding its inputs.
    Expanding { work: Box<Work> },
    /// Its inputs are being settled.
    Collecting { work: Box<Work>, missing: u32 },
    /// Blobs of its inputs are being made again.
    Restoring { work: Box<Work>, missing: u32 },
    /// Its producer waits for a worker or runs.
    Running { work: Box<Work> },
    /// What the graph has filed for it stands. Its record is not even read.
    Stands,
    /// It has an output, which the graph has filed.
    Settled { how: How },
    /// It has none.
    Failed,
    /// Dry run: its output is not known. `certain` when its producer would run whatever its inputs come to: all of them are known.
    Unknown { certain: bool },
}

/// How a node came to its output in this run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// It was not stale.
    Current,
    /// Its key did not move.
    Verified,
    /// Found under its key.
    Cached,
    /// Its producer ran.
    Ran,
}

/// What is known of a node on its way to an output.
pub(super) struct Work {
    pub rule: u32,
    pub vars: Vars,
    pub discovery: Vec<NodeId>,
    /// How many of these the rule itself names; the others are tables that those name.
    pub first: usize,
    /// The node of the set that says whether this node exists.
    pub member_of: Option<NodeId>,
    pub plan: PlanDigest,
    pub edges: Option<Arc<Edges>>,
    pub key: ActionKey,
    /// Run the producer even if the key is known: the blob is nowhere.
    pub force: bool,
}

/// A transition that is due.
#[derive(Clone, Copy)]
pub(super) enum Step {
    Demand(NodeId),
    Check(NodeId),
    Plan(NodeId),
    Decide(NodeId),
}

/// What this run did under a key. A result is found here until the store has it, so that one key never runs twice.
pub(super) enum SameKey {
    /// A producer is at it; these nodes wait for it too.
    Running(Vec<NodeId>),
    /// It is made.
    Made {
        output: Digest,
        took_us: u64,
        diagnostics: Vec<Diagnostic>,
        spent: Option<Spent>,
    },
}

/// The loop and everything it owns.
pub struct Run<'a> {
    pub(super) rules: &'a RuleIndex,
    pub(super) registry: &'a Registry,
    pub(super) priority: &'a dyn Priority,
    lineage: &'a dyn Lineage,
    /// The output that the weights were read from, and these.
    pub(super) weights: (Option<Digest>, HashMap<String, f64>),
    pub(super) graph: &'a mut Graph,
    pub(super) links: &'a Links,
    pub(super) leaves: &'a dyn Leaves,
    pub(super) store: Arc<dyn Store>,
    pub(super) view: crate::store::ViewId,
    pub(super) shared: Arc<Shared>,
    pub(super) observer: &'a dyn Observer,
    pub(super) options: Options,
    pub(super) predecessors: &'a Predecessors,
    pub(super) tally: Tally,
    pub(super) failures: Vec<Diagnostic>,
    /// Code and hint of what stood in the way of nodes and was told.
    pub(super) in_the_way: std::collections::BTreeSet<(String, Option<String>)>,
    pub(super) diagnostics: Vec<Diagnostic>,
    pub(super) heard: RunRemarks,
    /// What paid producers would ask for, when they are only priced.
    pub(super) plans: Vec<Priced>,
    /// What was spent and saved, for the ledger.
    pub(super) ledger: Vec<LedgerEntry>,
    pub(super) history: Vec<(String, HistoryRecord)>,
    /// Keys of results that were found in the store and not yet noted there as used.
    pub(super) used: Vec<(ActionKey, u64)>,
    /// Answers that came, of which other machines may have others.
    pub(super) unconfirmed: Vec<RowChange>,
    pub(super) ids: Vec<Option<ProducerId>>,
    /// What some change may reach; worked out when nodes are first wanted.
    tainted: StaleSet,
    /// What was stale when the run began.
    left_stale: StaleSet,
    redefined: bool,
    /// By rule: the node of the set that says which nodes it makes, once looked up.
    sets: Vec<Option<Option<NodeId>>>,
    /// All those nodes, once looked up.
    all_sets: Option<Arc<[NodeId]>>,
    /// The sets that gave the roots.
    root_sets: std::collections::BTreeSet<NodeId>,
    /// Nodes whose output is not what it was when the run began.
    moved: StaleSet,
    /// Tables that moved, of which all readers that the change concerns are marked.
    moved_by_row: StaleSet,
    /// The rows that tables of the workspace and sets do not have in common with what they were.
    moved_rows: FxHashMap<NodeId, Vec<(String, Change)>>,
    tables_of_rules: Option<Arc<tables::Tables>>,
    slow_ready: Vec<(Job, Pool)>,
    slots: Vec<Slot>,
    /// How far decided nodes are from a leaf; leaves are not listed.
    depths: FxHashMap<NodeId, u32>,
    /// By node that has not come to its end: who waits for it.
    waiters: FxHashMap<NodeId, Vec<NodeId>>,
    same_key: FxHashMap<ActionKey, SameKey>,
    /// How long each producer takes, of late.
    costs: FxHashMap<u32, Duration>,
    items: FxHashMap<(NodeId, SetSpec), Arc<Vec<String>>>,
    /// Why sets whose nodes have an output have no items.
    malformed_sets: FxHashMap<SetSpec, String>,
    /// Tables that membership was looked up in.
    tables: FxHashMap<Digest, RowReader>,
    steps: Vec<Step>,
    pools: Pools,
    done: Receiver<Finished>,
    writer: Writer,
    batch: Vec<NewResult>,
    batch_bytes: usize,
    stopping: bool,
    /// When this run first saw that it was told to stop.
    stopped_at: Option<Instant>,
    /// Dry run: what is settled now is asked for only if what is unknown comes to what it was, so nobody hears what fails of it.
    guessing: bool,
    now: u64,
    reservations: Reservations,
    /// How long this run waited for models, programs and other machines while it computed nothing.
    waited: Duration,
    /// The right to the checkout, and whether it was given back.
    turn: Option<Arc<dyn CheckoutTurn>>,
    has_given_back: bool,
}

/// Why a run ends without a report.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The store broke.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Everything a run needs from its session.
pub struct Setup<'a> {
    /// The rules.
    pub rules: &'a RuleIndex,
    /// The producers.
    pub registry: &'a Registry,
    /// What comes first of what costs money.
    pub priority: &'a dyn Priority,
    /// What was called otherwise before.
    pub lineage: &'a dyn Lineage,
    /// The graph.
    pub graph: &'a mut Graph,
    /// Its edges before the run.
    pub links: &'a Links,
    /// The leaves.
    pub leaves: &'a dyn Leaves,
    /// The store.
    pub store: Arc<dyn Store>,
    /// What jobs share.
    pub shared: Arc<Shared>,
    /// Whether the rules are not those that the graph was planned by.
    pub redefined: bool,
    /// Who hears.
    pub observer: &'a dyn Observer,
    /// How.
    pub options: Options,
    /// By label of folds, what a bundle has of them for a tree near to this one.
    pub predecessors: &'a Predecessors,
    /// The right to the checkout, if it is given back while this process only waits.
    pub turn: Option<Arc<dyn CheckoutTurn>>,
}

/// Somebody who only reads waits about so long for a build that itself waits for its workers.
const AWAKE: Duration = Duration::from_millis(30);
const BATCH_RESULTS: usize = 1_000;
const BATCH_BYTES: usize = 24 << 20;

impl<'a> Run<'a> {
    /// A run that has not begun. `view` is where results are committed, `now` the time of this build in seconds since 1970.
    pub fn new(setup: Setup<'a>, view: crate::store::ViewId, now: u64) -> Self {
        let (sender, done) = crossbeam_channel::unbounded();
        let pools = Pools::new(setup.options.jobs, setup.options.paid_jobs, setup.shared.clone(), sender);
        let ids = setup
            .rules
            .manifest()
            .producers
            .iter()
            .map(|producer| setup.registry.get(&producer.uses).map(|implementation| implementation.id()))
            .collect();
        Self {
            tainted: StaleSet::default(),
            left_stale: setup.graph.stale_set().clone(),
            writer: Writer::new(setup.store.clone(), view, setup.shared.clone()),
            rules: setup.rules,
            registry: setup.registry,
            priority: setup.priority,
            lineage: setup.lineage,
            weights: Default::default(),
            graph: setup.graph,
            links: setup.links,
            leaves: setup.leaves,
            store: setup.store,
            view,
            shared: setup.shared,
            observer: setup.observer,
            options: setup.options,
            predecessors: setup.predecessors,
            tally: Tally::default(),
            failures: Vec::new(),
            in_the_way: std::collections::BTreeSet::new(),
            diagnostics: Vec::new(),
            heard: RunRemarks::default(),
            plans: Vec::new(),
            ledger: Vec::new(),
            history: Vec::new(),
            used: Vec::new(),
            unconfirmed: Vec::new(),
            ids,
            redefined: setup.redefined,
            sets: vec![None; setup.rules.manifest().rules.len()],
            all_sets: None,
            root_sets: std::collections::BTreeSet::new(),
            moved: StaleSet::default(),
            moved_by_row: StaleSet::default(),
            moved_rows: FxHashMap::default(),
            tables_of_rules: None,
            slow_ready: Vec::new(),
            slots: Vec::new(),
            depths: FxHashMap::default(),
            waiters: FxHashMap::default(),
            same_key: FxHashMap::default(),
            costs: FxHashMap::default(),
            items: FxHashMap::default(),
            malformed_sets: FxHashMap::default(),
            tables: FxHashMap::default(),
            steps: Vec::new(),
            pools,
            done,
            batch: Vec::new(),
            batch_bytes: 0,
            stopping: false,
            stopped_at: None,
            guessing: false,
            now,
            reservations: Reservations::default(),
            waited: Duration::ZERO,
            turn: setup.turn,
            has_given_back: false,
        }
    }

    /// Settles every node of `wanted` and whatever that needs.
    ///
    /// # Errors
    /// When the store breaks. Failures of targets are no errors.
    pub fn settle_all(&mut self, wanted: &[NodeId]) -> Result<(), RunError> {
        if self.is_stopped() {
            return Ok(());
        }
        // Much of what could have been reached when the run began no longer can be: sets were settled meanwhile and had not moved.
        self.tainted = stale::taint(self.graph, self.links);
        self.steps.extend(wanted.iter().rev().map(|&id| Step::Demand(id)));
        self.work()
    }

    /// Takes all steps that are due, and those that follow, until nothing is.
    fn work(&mut self) -> Result<(), RunError> {
        loop {
            while let Some(step) = self.steps.pop() {
                if self.stopping() {
                    self.steps.clear();
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
                self.give_way()?;
            }
            let stopping = self.stopping();
            self.hand_over_slow();
            self.pools.pump(stopping);
            for id in self.pools.take_begun() {
                let label = &self.graph.node(id).label;
                self.emit(&Event::Started { label, paid: true });
            }
            if self.pools.idle() {
                if stopping || !self.break_cycle() {
                    return Ok(());
                }
                continue;
            }
            if self.stopped_at.is_some_and(|at| at.elapsed() >= self.pools.patience()) {
                self.pools.abandon();
                return Ok(());
            }
            let only_waits = self.pools.only_waits();
            if only_waits && self.turn.as_ref().is_some_and(|turn| self.waited >= turn.patience()) {
                self.give_checkout_back()?;
            }
            let began = Instant::now();
            // Wakes up now and then to see whether it was told to stop, or whether another process waits for the store.
            let finished = self.done.recv_timeout(AWAKE);
            if only_waits {
                self.waited += began.elapsed();
            }
            match finished {
                Ok(finished) => self.finish(finished)?,
                Err(_) => {
                    self.pools.look_afield();
                    self.give_way()?;
                    if self.reservations.are_old() {
                        self.send_batch()?;
                    }
                }
            }
        }
    }

    /// Whether nothing more is begun: it was told to stop, or the first failure ends it.
    pub(super) fn stopping(&mut self) -> bool {
        self.stopping |= self.is_stopped();
        self.stopping
    }

    /// Whether this run was told to stop: then it commits what has finished and looks at nothing more.
    pub(in crate::build) fn is_stopped(&mut self) -> bool {
        if self.stopped_at.is_none() && self.shared.cancel.is_cancelled() {
            self.stopped_at = Some(Instant::now());
        }
        self.stopped_at.is_some()
    }

    /// Commits what is left, stops the workers and gives back what the session must write.
    ///
    /// # Errors
    /// When results could not be made durable.
    pub fn finish_run(mut self) -> Result<Leftover, RunError> {
        if self.is_stopped() {
            // Questions that were put off and not sent are put off again by the next build.
            self.tally.deferred = 0;
        } else {
            self.give_way()?;
        }
        self.pools.stop();
        self.writer.finish()?;
        let set_changes = self.set_changes();
        Ok(Leftover {
            set_changes,
            results: self.batch,
            history: self.history,
            used: self.used,
            flights: self.reservations.take(),
            unconfirmed: self.unconfirmed,
            tally: self.tally,
            failures: self.failures,
            diagnostics: self.diagnostics,
            heard: self.heard,
            ledger: self.ledger,
            plans: self.plans,
            listed: None,
            build: None,
            left: crate::build::unfinished::Unfinished::default(),
        })
    }

    /// The output of a node that has one in this run.
    pub fn settled_output(&self, id: NodeId) -> Option<Digest> {
        self.output(id)
    }

    /// Whether a node has the output that it had when the run began.
    pub(super) fn is_unmoved(&self, id: NodeId) -> bool {
        match self.slots.get(id.index()) {
            Some(Slot::Stands) => true,
            Some(Slot::Settled { .. }) => !self.moved.contains(id),
            Some(Slot::Idle) | None => !self.tainted.contains(id) && self.graph.has_result(id),
            _ => false,
        }
    }

    /// The output of a settled node as its readers see it; its producer runs again when a blob of it is nowhere.
    ///
    /// # Errors
    /// When the store breaks.
    pub fn blob(&mut self, id: NodeId) -> Result<Option<Arc<[u8]>>, RunError> {
        let Some(digest) = self.output(id) else { return Ok(None) };
        let label = self.graph.node(id).label.clone();
        if let Some(source_nodes::Leaf::File(path)) = source_nodes::leaf(&label) {
            return Ok(self
                .shared
                .world
                .read(&path)
                .ok()
                .filter(|bytes| Digest::of(bytes) == digest)
                .map(Into::into));
        }
        if let Some(blob) = self.readable(&digest)? {
            return Ok(Some(blob));
        }
        if source_nodes::leaf(&label).is_some() {
            return Ok(self.leaves.set(&label));
        }
        if self.options.dry_run || self.is_stopped() {
            return Ok(None);
        }
        self.begin_again(id)?;
        self.work()?;
        match self.output(id) {
            Some(digest) => self.readable(&digest),
            None => Ok(None),
        }
    }

    /// Whether a producer ran for a node in this run, or its result was found under its key.
    pub(in crate::build) fn was_made(&self, id: NodeId) -> bool {
        matches!(
            self.slots.get(id.index()),
            Some(Slot::Settled {
                how: How::Ran | How::Cached
            })
        )
    }

    /// What became of the nodes that were asked for.
    pub fn report(&self, ids: &[NodeId]) -> Vec<Root> {
        let root = |&id: &NodeId| {
            let how = match self.slots.get(id.index()) {
                Some(Slot::Settled { how }) => Some(*how),
                Some(Slot::Stands) => Some(How::Current),
                _ => None,
            };
            Root {
                id,
                label: self.graph.node(id).label.clone(),
                output: self.output(id),
                how,
            }
        };
        ids.iter().map(root).collect()
    }

    fn slot(&mut self, id: NodeId) -> &mut Slot {
        if id.index() >= self.slots.len() {
            let bound = self.graph.bound().max(id.index() + 1);
            self.slots.resize_with(bound, || Slot::Idle);
        }
        &mut self.slots[id.index()]
    }

    /// The output of a settled node.
    pub(in crate::build) fn output(&self, id: NodeId) -> Option<Digest> {
        match self.slots.get(id.index()) {
            Some(Slot::Settled { .. } | Slot::Stands) => self.graph.node(id).result.map(|filed| filed.output),
            _ => None,
        }
    }

    /// How many of the nodes that were asked for have neither an output nor a failure of their own, as those whose producer was stopped.
    pub fn left(&self, ids: &[NodeId]) -> usize {
        let failed: rustc_hash::FxHashSet<&str> = self.failures.iter().filter_map(|why| why.label.as_deref()).collect();
        let made = |id: NodeId| self.output(id).is_some() || failed.contains(&*self.graph.node(id).label);
        ids.iter().filter(|&&id| !made(id)).count()
    }

    /// Whether a node has come to its end in this run.
    fn has_ended(&self, id: NodeId) -> bool {
        matches!(
            self.slots.get(id.index()),
            Some(Slot::Settled { .. } | Slot::Stands | Slot::Failed | Slot::Unknown { .. })
        )
    }

    fn is_unknown(&self, id: NodeId) -> bool {
        matches!(self.slots.get(id.index()), Some(Slot::Unknown { .. }))
    }

    /// A settled node as jobs see it.
    fn settled(&self, id: NodeId) -> Option<Settled> {
        let label = self.graph.node(id).label.clone();
        let fetch = self.leaves.fetch(&label);
        self.output(id).map(|digest| Settled { id, label, digest, fetch })
    }

    fn job(&self, id: NodeId, work: &Work, task: super::jobs::Task) -> Job {
        Job {
            id,
            label: self.graph.node(id).label.clone(),
            rule: work.rule,
            vars: work.vars.clone(),
            discovery: work.discovery.iter().filter_map(|&node| self.settled(node)).collect(),
            task,
            travels: None,
        }
    }

    fn emit(&self, event: &Event<'_>) {
        self.observer.event(event);
    }
}
