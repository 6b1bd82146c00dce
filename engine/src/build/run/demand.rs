//! Demand, planning and collection: from a label to settled inputs.

use super::membership::Member;
use super::source_nodes::{Leaf, Leaves, leaf};
use super::{NodeProgress, OutputOrigin, Run, RunError, Stage, Work};
use crate::build::blobs::PagedBlobs;
use crate::build::excluded_paths::Exclusion;
use crate::build::job::Task;
use crate::graph::lookups::{Lookup, LookupSet};
use crate::graph::{Edge, EdgeFrom, Edges, Graph, NodeId, NodeResult};
use crate::manifest::model::InputFrom;
use crate::planning::expand::{self, ExpandError, PlannedInput};
use crate::values::codes::ErrorCode;
use crate::values::diagnostic::Diagnostic;
use crate::values::digest::{ActionKey, Digest};
use std::collections::BTreeMap;
use std::sync::Arc;

impl Run<'_> {
    /// Idle → Settled (no change can reach it), Checking (a change may) or Discovering (it is stale or new).
    pub(super) fn demand(&mut self, id: NodeId) {
        if !self.nodes.is_idle(id) {
            return;
        }
        if self.is_fresh(id) || self.is_rebuilt(id) {
            return self.start_node(id, false);
        }
        if self.is_out_of_reach(id) && self.sets_are_quiet() {
            return self.mark_out_of_reach(id);
        }
        if !self.graph.has_result(id) || self.graph.is_stale(id) {
            return self.start_node(id, false);
        }
        let label = self.label_text(id);
        let kind = leaf(&label);
        // A set's paths are not stored: they are read from the tree on demand.
        if kind == Some(Leaf::Set) || kind.is_none() && !self.is_surely_member(&label) {
            self.start_node(id, false);
        } else if self.output_changes.may_reach(id) {
            self.begin_check(id);
        } else {
            let how = OutputOrigin::Current;
            self.nodes.end(id, NodeProgress::Settled { how });
        }
    }

    /// Returns a node's label, without decoding its record.
    fn label_text(&self, id: NodeId) -> String {
        let label = self.graph.with_label(id, str::to_owned);
        label.unwrap_or_else(|| self.graph.node(id).label.to_string())
    }

    /// Whether no change can reach a node's inputs. Leaves, which are not planned, are checked one by one: a set's paths are not stored.
    pub(super) fn is_out_of_reach(&self, id: NodeId) -> bool {
        self.graph.is_planned(id) && self.graph.has_result(id) && !self.graph.is_stale(id) && !self.output_changes.may_reach(id)
    }

    /// Idle → OutOfReach, for a node that certainly exists and that no change can reach. Its record is not even read.
    pub(super) fn mark_out_of_reach(&mut self, id: NodeId) {
        if self.nodes.is_idle(id) {
            self.nodes.end(id, NodeProgress::OutOfReach);
        }
    }

    /// Returns the node of a rule's set.
    pub(super) fn set_of(&mut self, rule: u32) -> Option<NodeId> {
        self.known_sets.node_of_rule(rule, self.context.rules, self.graph)
    }

    /// Whether a node that is not stale certainly still exists: its rule's set is unchanged. A changed set removes former members without changing
    /// their inputs.
    fn is_surely_member(&mut self, label: &str) -> bool {
        if self.sets_are_quiet() {
            return true;
        }
        let Some(found) = self.context.rules.find(label) else {
            return false;
        };
        let Some(set) = self.set_of(found.rule) else { return true };
        self.is_quiet(set) || self.is_marked_by_row(set)
    }

    /// Whether a set is as it was when the run started, and will stay so.
    pub(super) fn is_quiet(&self, set: NodeId) -> bool {
        match self.nodes.has_output(set) {
            true => !self.output_changes.has_output_changed(set),
            false => !self.output_changes.may_reach(set) && !self.graph.is_stale(set),
        }
    }

    pub(super) fn sets_are_quiet(&mut self) -> bool {
        let sets = self.known_sets.all_nodes(self.context.rules, self.graph);
        sets.iter().all(|&set| self.is_quiet(set) || self.is_marked_by_row(set))
    }

    /// Returns the nodes that decide a node's inputs: its discovery, and the sets in which its inputs must be, unless the node itself exists by the
    /// same item of the same set. Adds to `lookups` the table lookups besides the rows that gave the inputs.
    fn deciding_nodes(&mut self, work: &Work, inputs: &[Edge], lookups: &mut LookupSet) -> Box<[NodeId]> {
        let mut deciding = work.discovery.clone();
        let rules = self.context.rules;
        let vars = work.vars(rules);
        let outer = rules.rule(work.rule).each.as_ref().and_then(|(name, _)| vars.get(name));
        let own = self.set_of(work.rule).zip(outer);
        for edge in inputs {
            let (input, is_whole) = match edge.from {
                EdgeFrom::Node(input) => (input, true),
                EdgeFrom::RowsOf(table, _) => (table, false),
                EdgeFrom::Rows(_) => continue,
            };
            let label = self.graph.node(input).label.clone();
            let found = self.context.rules.find(&label);
            if is_whole && self.tables().is_table(&label, found.map(|found| found.rule)) {
                lookups.add(&label, Lookup::Whole);
            }
            let Some(found) = found else { continue };
            let Some(set) = self.set_of(found.rule) else { continue };
            let same_item = own
                .as_ref()
                .is_some_and(|(of, item)| *of == set && ***item == *crate::values::label::unescape(found.value));
            if same_item {
                continue;
            }
            if !deciding.contains(&set) {
                deciding.push(set);
            }
            let set = self.graph.node(set).label.clone();
            if self.tables().is_table(&set, None) {
                match self.exists_by_row(found.rule) {
                    _ if lookups.may_have(&set, Lookup::Keys) => {}
                    true => lookups.add(
                        &set,
                        Lookup::Key(&crate::values::label::unescape(self.row_of(found.rule, found.value))),
                    ),
                    false => lookups.add(&set, Lookup::Whole),
                }
            }
        }
        deciding.into()
    }

    fn begin_leaf(&mut self, id: NodeId, label: &str, kind: &Leaf) {
        let found = match kind {
            Leaf::File(path) => self.context.leaves.file(path),
            Leaf::Set => match self.graph.node(id).result {
                // A set that gained or lost files is marked; its paths are computed on demand.
                Some(result) if !self.context.redefined && !self.graph.is_stale(id) => Some(result.output),
                _ => self.context.leaves.set(label).map(|paths| Digest::of(&paths)),
            },
        };
        match found {
            Some(output) => {
                let result = NodeResult {
                    key: ActionKey(Digest([0; 32])),
                    output,
                };
                let before = self.graph.node(id).result;
                if before != Some(result) {
                    self.output_changes.add_changed_output(id);
                }
                self.graph.settle(id, result);
                let how = OutputOrigin::Current;
                self.nodes.change_state(id, NodeProgress::Settled { how });
                if before.is_none_or(|before| before.output != output) {
                    self.mark_affected_readers(id, before.map(|before| before.output), output);
                }
                self.nodes.wake_waiters(id);
            }
            None => self.fail(id, leaf_error(label, kind, self.context.leaves)),
        }
    }

    /// Starts a node that may be stale (or, with `force`, one whose blob is missing).
    pub(super) fn start_node(&mut self, id: NodeId, force: bool) {
        if !self.nodes.is_idle(id) {
            return;
        }
        let label = &*self.label_text(id);
        if let Some(kind) = leaf(label) {
            return self.begin_leaf(id, label, &kind);
        }
        let Some(found) = self.context.rules.find(label) else {
            self.fail(
                id,
                Diagnostic::error(ErrorCode::E_NO_RULE, "no rule declares this label")
                    .label(label)
                    .hint("`cortex ls` lists the kinds of targets"),
            );
            return;
        };
        // A dry run does not know whether a node over an unknown set exists.
        let has_one_set = self.context.rules.rule(found.rule).inner.is_none();
        if self.context.options.mode.is_dry()
            && has_one_set
            && let Some(set) = self.set_of(found.rule)
            && self.nodes.is_unknown(set)
        {
            return self.report_would_run(id, false);
        }
        let rule = self.context.rules.rule(found.rule);
        let vars = self.context.rules.vars(found.rule, found.value);
        let discovery = expand::discovery(rule, &vars);
        let own = self.context.rules.membership(found.rule, &vars);
        let member_of = own.and_then(|own| own.map(|(set, _)| expand::set_node(&set, &vars)).transpose());
        let (discovery, member_of) = match (discovery, member_of) {
            (Ok(discovery), Ok(member_of)) => (discovery, member_of.flatten()),
            (Err(error), _) | (_, Err(error)) => return self.fail_expansion(id, &error),
        };
        let discovery: Vec<NodeId> = discovery.iter().map(|label| self.graph.intern(label.as_str())).collect();
        let member_of = member_of.map(|label| self.graph.intern(label.as_str()));
        let work = Work {
            rule: found.rule,
            label: label.into(),
            first: discovery.len(),
            discovery,
            member_of,
            plan: Default::default(),
            edges: None,
            key: ActionKey(Digest([0; 32])),
            force,
        };
        // Check its existence first: do not request inputs of a node that may no longer exist.
        let first = match work.member_of {
            Some(set) => vec![set],
            None => work.discovery.clone(),
        };
        self.nodes.plan_after(id, Box::new(work), first.into_iter());
    }

    /// Discovering → Expanding or Collecting.
    pub(super) fn plan(&mut self, id: NodeId) -> Result<(), RunError> {
        let Some(mut work) = self.nodes.take_work(id, Stage::Discovering) else {
            return Ok(());
        };
        if work.member_of.is_some_and(|set| self.nodes.is_unknown(set)) {
            self.report_would_run(id, false);
            return Ok(());
        }
        let deciding = work.deciding_nodes();
        if deciding.iter().any(|&node| !self.nodes.has_ended(node)) {
            // So far only the set was awaited, or a blob of the discovery is being rebuilt.
            self.nodes.plan_again(id, work);
            return Ok(());
        }
        if let Some(&failed) = deciding.iter().find(|&&node| self.nodes.has_failed(node)) {
            self.skip(id, failed);
            return Ok(());
        }
        if work.discovery.iter().any(|&node| self.nodes.is_unknown(node)) {
            self.report_would_run(id, false);
            return Ok(());
        }
        if !self.is_still_member(id, &work) {
            match self.is_member(&work)? {
                Member::Yes => {}
                Member::No => {
                    self.fail(id, self.not_a_member(id));
                    return Ok(());
                }
                Member::Lost(node) => return self.restore_first(id, work, node),
                Member::Unreadable(diagnostic) => {
                    self.fail(id, *diagnostic);
                    return Ok(());
                }
            }
        }
        match self.tables_of(&work)? {
            Ok(tables) => {
                if work.add_tables(tables) {
                    // Request the named tables like the nodes that named them.
                    let tables = work.discovery[work.first..].to_vec();
                    self.nodes.plan_after(id, work, tables.into_iter());
                    return Ok(());
                }
            }
            Err(ExpandError::Lost { label }) => {
                let node = self.graph.intern(&label);
                return self.restore_first(id, work, node);
            }
            Err(error) => {
                self.fail_expansion(id, &error);
                return Ok(());
            }
        }
        self.expand_inputs(id, work);
        Ok(())
    }

    /// Rebuilds the lost output of `node` before the node that reads it; a dry run reports that node instead.
    fn restore_first(&mut self, id: NodeId, work: Box<Work>, node: NodeId) -> Result<(), RunError> {
        self.nodes.change_state(id, NodeProgress::Expanding { work });
        if self.context.options.mode.is_dry() {
            self.report_would_run(id, false);
            return Ok(());
        }
        self.restore(id, &[node])
    }

    /// Finds the inputs of a node whose discovery is settled: recorded edges if they are valid, otherwise by a job.
    fn expand_inputs(&mut self, id: NodeId, mut work: Box<Work>) {
        let rule = self.context.rules.rule(work.rule);
        work.plan = self.plan_digest(work.rule, &work.discovery);
        // Other rules may have changed which sets the inputs depend on.
        let known = self
            .graph
            .node(id)
            .edges
            .as_ref()
            .filter(|edges| edges.plan == work.plan && !self.context.redefined);
        if let Some(edges) = known {
            work.edges = Some(edges.clone());
            self.collect(id, work);
            return;
        }
        if work.discovery.is_empty() {
            let planned = expand::expand(rule, &work.vars(self.context.rules), &BTreeMap::new());
            self.nodes.change_state(id, NodeProgress::Expanding { work });
            self.finish_expansion(id, planned, LookupSet::default());
            return;
        }
        let asks = self.asking(work.rule);
        let job = self.job(id, &work, Task::Expand { asks });
        self.nodes.change_state(id, NodeProgress::Expanding { work });
        self.pools.add_cpu_job(job);
    }

    /// Returns the tables that a node reads rows of, as its settled discovery names them.
    pub(super) fn tables_of(&mut self, work: &Work) -> Result<Result<Vec<NodeId>, ExpandError>, RunError> {
        let rule = self.context.rules.rule(work.rule);
        if !rule.inputs.iter().any(|input| matches!(input.from, InputFrom::Rows { .. })) {
            return Ok(Ok(Vec::new()));
        }
        let vars = work.vars(self.context.rules);
        let mut roots: BTreeMap<String, Arc<[u8]>> = BTreeMap::new();
        for input in &rule.inputs {
            let InputFrom::Rows { each, .. } = &input.from else { continue };
            let Ok(Some(label)) = expand::set_node(each, &vars) else {
                continue;
            };
            let node = self.graph.intern(label.as_str());
            let label = label.to_string();
            let blob = match (self.context.leaves.set(&label), self.output(node)) {
                (Some(paths), _) => Some(paths),
                (None, Some(digest)) => self.context.shared.blobs.get(&digest)?,
                (None, None) => None,
            };
            match blob {
                Some(blob) => drop(roots.insert(label, blob)),
                None => return Ok(Err(ExpandError::Lost { label })),
            }
        }
        let paged = PagedBlobs::new(&self.context.shared.blobs, &roots);
        let tables = expand::tables(rule, &vars, &paged);
        if let Some(error) = paged.into_store_error() {
            return Err(error.into());
        }
        Ok(tables.map(|labels| labels.iter().map(|label| self.graph.intern(label.as_str())).collect()))
    }

    /// Expanding → Collecting.
    pub(super) fn finish_expansion(&mut self, id: NodeId, planned: Result<Vec<PlannedInput>, ExpandError>, mut lookups: LookupSet) {
        let Some(mut work) = self.nodes.take_work(id, Stage::Expanding) else {
            return;
        };
        let planned = match planned {
            Ok(planned) => planned,
            Err(error) => return self.fail_expansion(id, &error),
        };
        let inputs: Box<[Edge]> = planned.into_iter().map(|input| planned_edge(self.graph, input)).collect();
        let discovery = self.deciding_nodes(&work, &inputs, &mut lookups);
        self.graph.set_lookups(id, lookups);
        work.edges = Some(Arc::new(Edges {
            plan: work.plan,
            discovery,
            inputs,
        }));
        self.collect(id, work);
    }

    pub(super) fn collect(&mut self, id: NodeId, work: Box<Work>) {
        let edges = work.edges.clone().expect("invariant: collection follows expansion");
        self.nodes.decide_after(id, work, edges.input_nodes());
    }
}

fn leaf_error(label: &str, kind: &Leaf, leaves: &dyn Leaves) -> Diagnostic {
    match kind {
        Leaf::File(path) => {
            let Exclusion { why, hint } = leaves.explain_exclusion(path);
            Diagnostic::error(ErrorCode::E_NO_FILE, format!("the file {path} {why}"))
                .label(label)
                .hint(hint)
        }
        Leaf::Set => Diagnostic::error(ErrorCode::E_NO_SET, "the manifest declares no such source set").label(label),
    }
}

/// Returns the edge of a planned input; adds its node to the graph if it is new.
pub(super) fn planned_edge(graph: &mut Graph, input: PlannedInput) -> Edge {
    match input {
        PlannedInput::Node { spec, label, .. } => Edge {
            spec,
            from: EdgeFrom::Node(graph.intern(label.as_str())),
        },
        PlannedInput::Slice { spec, digest, of } => Edge {
            spec,
            from: match of {
                Some(table) => EdgeFrom::RowsOf(graph.intern(table.as_str()), digest),
                None => EdgeFrom::Rows(digest),
            },
        },
    }
}
