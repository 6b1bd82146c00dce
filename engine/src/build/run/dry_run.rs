//! Dry runs: states and inputs of nodes, as far as known without running a producer.

use super::demand::planned_edge;
use super::{NodeProgress, Run, RunError, Work, source_nodes};
use crate::build::requested_rows::RowRequester;
use crate::graph::{Edge, EdgeFrom, Edges, NodeId, PlanDigest};
use crate::planning::expand;
use crate::planning::key::{KeyField, action_key, fields};
use crate::seams::producer::{Params, Producer};
use crate::values::digest::{ActionKey, Digest};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Extent to which a node's inputs are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Certainty {
    /// These are its present inputs.
    Present,
    /// These were its inputs when it was last planned; nodes that decide them must be built first.
    Before,
    /// Only the nodes that decide its inputs are known.
    Partly,
}

/// A node's plan, for use outside the run.
pub struct Planned {
    pub edges: Arc<Edges>,
    /// Whether the edges are the present ones.
    pub known: Certainty,
    work: Work,
}

/// An input in its present state.
#[derive(Clone, Debug)]
pub struct InputNow {
    pub role: Arc<str>,
    /// Label of the node; for rows, of the table.
    pub label: Arc<str>,
    /// Its digest, if known without running anything.
    pub digest: Option<Digest>,
    /// Whether it is a missing source.
    pub missing: bool,
}

impl Run<'_> {
    /// Returns the plan of a node; `None` for leaves and for labels that no rule produces. Settles (dry) the nodes that decide it.
    pub(in crate::build) fn plan_of(&mut self, id: NodeId) -> Result<Option<Planned>, RunError> {
        let Some(mut work) = self.work_by_rule(id) else { return Ok(None) };
        let before = self.graph.node(id).edges.clone();
        let is_current = self.origin_of(id).is_some() || !self.graph.is_stale(id) && !self.output_changes.may_reach(id);
        if let Some(edges) = before.clone().filter(|_| is_current) {
            return Ok(Some(Planned {
                edges,
                known: Certainty::Present,
                work,
            }));
        }
        self.settle_new(&work.discovery)?;
        if work.discovery.iter().all(|&node| self.output(node).is_some())
            && let Ok(tables) = self.tables_of(&work)?
        {
            work.add_tables(tables);
            self.settle_new(&work.discovery)?;
        }
        if work.discovery.iter().all(|&node| self.output(node).is_some()) {
            work.plan = self.plan_digest(work.rule, &work.discovery);
            if let Some(edges) = before.clone().filter(|edges| edges.plan == work.plan) {
                return Ok(Some(Planned {
                    edges,
                    known: Certainty::Present,
                    work,
                }));
            }
            if let Some(edges) = self.expand_now(&work)? {
                return Ok(Some(Planned {
                    edges: Arc::new(edges),
                    known: Certainty::Present,
                    work,
                }));
            }
        }
        let (edges, known) = match before {
            Some(edges) => (edges, Certainty::Before),
            None => (
                Arc::new(Edges {
                    plan: work.plan,
                    discovery: work.discovery.clone().into(),
                    inputs: Box::default(),
                }),
                Certainty::Partly,
            ),
        };
        Ok(Some(Planned { edges, known, work }))
    }

    /// Settles nodes that have not ended yet. Each settling scans the whole graph: do not call it per node.
    pub(in crate::build) fn settle_new(&mut self, wanted: &[NodeId]) -> Result<(), RunError> {
        let wanted: Vec<NodeId> = wanted.iter().copied().filter(|&id| !self.nodes.has_ended(id)).collect();
        if wanted.is_empty() { Ok(()) } else { self.settle_all(&wanted) }
    }

    /// Computes the plan of a rule and its settled discovery.
    pub(super) fn plan_digest(&self, rule: u32, discovery: &[NodeId]) -> PlanDigest {
        let mut hasher = blake3::Hasher::new_derive_key("cortex 2026-11 plan 1");
        hasher.update(&self.context.rules.rule(rule).digest.0);
        // The producer's code decides which rows it requests.
        if let Some(producer) = self.asking(rule) {
            hasher.update(producer.id().to_string().as_bytes());
        }
        for &node in discovery {
            hasher.update(&self.output(node).unwrap_or(Digest([0; 32])).0);
        }
        let mut plan = PlanDigest::default();
        plan.0.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
        plan
    }

    /// Returns the producer of a rule, if it requests rows of a table.
    pub(super) fn asking(&self, rule: u32) -> Option<Arc<dyn Producer>> {
        let rule = Some(self.context.rules.rule(rule)).filter(|rule| rule.asks())?;
        let uses = &self.context.rules.manifest().producers[rule.producer as usize].uses;
        self.context.registry.get(uses).cloned()
    }

    /// Returns the work of a node as its rule states it, before its inputs are planned; `None` for a leaf, or without a rule.
    pub(super) fn work_by_rule(&mut self, id: NodeId) -> Option<Work> {
        let label = self.graph.node(id).label.clone();
        let rules = self.context.rules;
        let found = rules.find(&label).filter(|_| source_nodes::leaf(&label).is_none())?;
        let vars = rules.vars(found.rule, found.value);
        let deciding = expand::discovery(rules.rule(found.rule), &vars).ok()?;
        let discovery: Vec<NodeId> = deciding.iter().map(|label| self.graph.intern(label.as_str())).collect();
        Some(Work {
            rule: found.rule,
            label: label.clone(),
            first: discovery.len(),
            discovery,
            member_of: None,
            plan: Default::default(),
            edges: None,
            key: ActionKey(Digest([0; 32])),
            force: false,
        })
    }

    /// Expands the edges from the blobs of the deciding nodes; `None` if a blob is missing or does not fit the rule.
    fn expand_now(&mut self, work: &Work) -> Result<Option<Edges>, RunError> {
        let mut blobs: BTreeMap<String, Arc<[u8]>> = BTreeMap::new();
        for &node in &work.discovery {
            let Some(blob) = self.blob(node)? else { return Ok(None) };
            blobs.insert(self.graph.node(node).label.to_string(), blob);
        }
        let vars = work.vars(self.context.rules);
        let Ok(mut planned) = expand::expand(self.context.rules.rule(work.rule), &vars, &blobs) else {
            return Ok(None);
        };
        if let Some(producer) = self.asking(work.rule) {
            let asking = RowRequester {
                producer: &*producer,
                manifest: self.context.rules.manifest(),
                label: "",
                rule: work.rule,
                vars: &vars,
                rows: &[],
            };
            if asking.plan(&blobs, &mut planned).is_err() {
                return Ok(None);
            }
        }
        Ok(Some(Edges {
            plan: work.plan,
            discovery: work.discovery.clone().into(),
            inputs: planned.into_iter().map(|input| planned_edge(self.graph, input)).collect(),
        }))
    }

    /// Returns the inputs of a plan with their known digests, in the order of the key. Settles them (dry).
    pub(in crate::build) fn inputs_now(&mut self, planned: &Planned) -> Result<Vec<InputNow>, RunError> {
        let node = |edge: &Edge| match edge.from {
            EdgeFrom::Node(node) => Some(node),
            EdgeFrom::Rows(_) | EdgeFrom::RowsOf(..) => None,
        };
        let nodes: Vec<NodeId> = planned.edges.inputs.iter().filter_map(node).collect();
        self.settle_new(&nodes)?;
        let input = |edge: &Edge| {
            let role = self.context.rules.rule(planned.work.rule).inputs[usize::from(edge.spec)]
                .role
                .clone();
            match edge.from {
                EdgeFrom::Node(node) => InputNow {
                    role,
                    label: self.graph.node(node).label.clone(),
                    digest: self.output(node),
                    missing: self.output(node).is_none() && source_nodes::leaf(&self.graph.node(node).label).is_some(),
                },
                EdgeFrom::Rows(digest) | EdgeFrom::RowsOf(_, digest) => {
                    let digest = (planned.known == Certainty::Present).then_some(digest);
                    let label = match edge.from {
                        EdgeFrom::RowsOf(table, _) => self.graph.node(table).label.clone(),
                        _ => self.table_of(&planned.work, edge.spec),
                    };
                    InputNow {
                        role,
                        label,
                        digest,
                        missing: false,
                    }
                }
            }
        };
        Ok(planned.edges.inputs.iter().map(input).collect())
    }

    /// Returns the present key and its fields, if every input is known.
    pub(in crate::build) fn key_now(&mut self, id: NodeId, planned: &Planned) -> Option<(ActionKey, Vec<KeyField>)> {
        let rule = self.context.rules.rule(planned.work.rule);
        let params = &self.context.rules.manifest().producers[rule.producer as usize].params;
        self.key_with(params, id, planned)
    }

    /// As [`Self::key_now`], with other parameters of its producer.
    pub(in crate::build) fn key_with(&self, params: &Params, id: NodeId, planned: &Planned) -> Option<(ActionKey, Vec<KeyField>)> {
        let known = planned.known == Certainty::Present
            && planned.edges.inputs.iter().all(|edge| match edge.from {
                EdgeFrom::Node(node) => self.output(node).is_some(),
                EdgeFrom::Rows(_) | EdgeFrom::RowsOf(..) => true,
            });
        if !known {
            return None;
        }
        let work = Work {
            rule: planned.work.rule,
            label: planned.work.label.clone(),
            first: planned.work.first,
            discovery: planned.work.discovery.clone(),
            member_of: None,
            plan: planned.work.plan,
            edges: Some(planned.edges.clone()),
            key: planned.work.key,
            force: false,
        };
        let inputs = self.inputs(&work);
        self.describe_key_with(params, id, &work, &inputs, |description| {
            (action_key(description), fields(description))
        })
    }

    /// Replaces a node's edges in the graph in memory.
    pub(in crate::build) fn rewire(&mut self, id: NodeId, planned: &Planned) {
        self.graph.rewire(id, (*planned.edges).clone());
    }

    /// Returns how a settled node got its output; `None` if it has none that is known.
    pub(in crate::build) fn origin_of(&self, id: NodeId) -> Option<super::OutputOrigin> {
        self.nodes.origin_of(id)
    }

    /// Returns the nodes that a dry run could not settle, and whether each would certainly run.
    pub(in crate::build) fn unknown_nodes(&self) -> Vec<(NodeId, bool)> {
        self.nodes.unknown_nodes().collect()
    }

    /// Whether a node would run whatever its inputs become, or cannot be built.
    pub(in crate::build) fn is_certain(&self, id: NodeId) -> bool {
        matches!(
            self.nodes.state_of(id),
            NodeProgress::Unknown { certain: true } | NodeProgress::Failed
        )
    }

    /// Settles the recorded inputs of unknown nodes, until none is left: their present inputs are unknown. A build may never request these, so that
    /// one that cannot be built is no failure.
    pub(in crate::build) fn settle_unknown_inputs(&mut self) -> Result<(), RunError> {
        self.ignores_failures = true;
        let looked = self.settle_below();
        self.ignores_failures = false;
        looked
    }

    fn settle_below(&mut self) -> Result<(), RunError> {
        loop {
            let mut unseen: Vec<NodeId> = Vec::new();
            for (id, _) in self.nodes.unknown_nodes() {
                self.graph.each_read(id, |read| {
                    if !self.nodes.has_ended(read) {
                        unseen.push(read);
                    }
                });
            }
            unseen.sort_unstable();
            unseen.dedup();
            if unseen.is_empty() {
                return Ok(());
            }
            self.settle_all(&unseen)?;
            if unseen.iter().all(|&id| !self.nodes.has_ended(id)) {
                return Ok(());
            }
        }
    }

    /// Returns the number of the rule that produces a node; `None` for leaves.
    pub(in crate::build) fn rule_of(&self, id: NodeId) -> Option<u32> {
        let found = self
            .graph
            .with_label(id, |label| self.context.rules.find(label).map(|found| found.rule));
        found.flatten()
    }

    /// Returns the node of that label in the graph in memory.
    pub(in crate::build) fn intern(&mut self, label: &str) -> NodeId {
        self.graph.intern(label)
    }

    pub(in crate::build) fn graph(&self) -> &crate::graph::Graph {
        self.graph
    }
}
