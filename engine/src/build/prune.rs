//! Pruning: finds nodes that no longer exist because their set lost them.

use super::blobs::{Blobs, PagedBlobs};
use super::run::{Leaves, SetChanges, file_label, file_path};
use super::session::{Session, SessionLeaves};
use super::state::State;
use crate::graph::stale::NodeSet;
use crate::graph::walk::Links;
use crate::graph::{Graph, NodeId};
use crate::manifest::model::{InputFrom, InputSpec, Rule, SetSpec};
use crate::manifest::template::{Template, Vars};
use crate::planning::expand::{self, ExpandError};
use crate::planning::rules::RuleIndex;
use crate::seams::world::{Exports, Refresh, Sources};
use crate::store::records::HistoryRecord;
use crate::values::digest::ActionKey;
use crate::values::label::{escape, halves, unescape};
use crate::values::pages::Change;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

/// Returns the labels of changed sets: source sets that gained or lost files, set nodes with a new version. `parted` returns whether nodes of a
/// rule with two variables read a label.
pub fn changed_sets(
    rules: &RuleIndex,
    history: &[(String, HistoryRecord)],
    refresh: &Refresh,
    state: &State,
    parted: &dyn Fn(&str) -> bool,
) -> Vec<String> {
    let sets: FxHashSet<String> = rules
        .manifest()
        .rules
        .iter()
        .filter_map(|rule| expand::set_node(&rule.each.as_ref()?.1, &Vars::new()).ok()?)
        .map(|label| label.to_string())
        .collect();
    let sources = refresh
        .sets_changed
        .iter()
        .filter_map(|&set| state.sets.get(set))
        .map(|set| set.label.clone());
    let inner: Vec<&Template> = rules
        .manifest()
        .rules
        .iter()
        .filter_map(|rule| match &rule.inner {
            Some((_, SetSpec::Node { label, .. })) => Some(label),
            _ => None,
        })
        .collect();
    let is_inner = |label: &str| inner.iter().any(|template| template.capture(label).is_some()) && parted(label);
    history
        .iter()
        .map(|(label, _)| label.clone())
        .filter(|label| sets.contains(label) || is_inner(label))
        .chain(sources)
        .collect()
}

/// Nodes that no rule, set or source defines any more.
#[derive(Debug, Default)]
pub struct Vanished {
    /// The nodes without a remaining reader.
    pub gone: Vec<NodeId>,
    /// The nodes with a remaining reader that is not rebuilt yet.
    pub still_read: Vec<NodeId>,
    /// The nodes whose set was built but is malformed: their membership is unknown, so they are checked again.
    pub unsure: Vec<NodeId>,
}

impl Vanished {
    /// Whether no node has vanished.
    pub fn is_empty(&self) -> bool {
        self.gone.is_empty() && self.still_read.is_empty() && self.unsure.is_empty()
    }
}

impl Session {
    /// Removes nodes that are no longer in their sets, with their files. Their History stays. Returns the labels and keys of those with an output;
    /// `None` if no node was removed.
    pub(super) fn prune(
        &mut self,
        exports: Option<&dyn Exports>,
        blobs: &Blobs,
        history: &[(String, HistoryRecord)],
        changes: &SetChanges,
    ) -> Option<Vec<(String, ActionKey)>> {
        let changed_sets = self.changed_sets(history);
        if changed_sets.is_empty() && !self.is_redefined() {
            return None;
        }
        let is_known = !self.is_redefined() && changed_sets.iter().all(|set| changes.contains_key(&**set));
        let known = is_known.then(|| find_lost(self, blobs, changes)).flatten();
        let all = || vanished(&self.graph, &self.rules, &*self.sources, &self.state, blobs);
        let is_by_difference = known.is_some();
        let vanished = known.unwrap_or_else(all);
        // Load all nodes that decide or report a removal before anything is removed.
        if is_by_difference {
            for &id in vanished.gone.iter().chain(&vanished.still_read) {
                self.graph.get(id);
            }
        } else if self.is_redefined() || !vanished.is_empty() {
            self.graph.iter().for_each(drop);
        }
        if self.graph.is_damaged() {
            return None;
        }
        if let (Some(exports), true) = (exports, self.is_redefined()) {
            for (id, node) in self.graph.iter() {
                let laid_out = self
                    .rules
                    .find(&node.label)
                    .is_some_and(|found| self.rules.rule(found.rule).out.is_some());
                if !laid_out && exports.path(id.0).is_some() {
                    // A file that cannot be removed stays known; see below.
                    let _ = exports.remove(id.0);
                }
            }
        }
        for &id in vanished.gone.iter().chain(&vanished.still_read) {
            if let Some(exports) = exports {
                // A file that cannot be removed stays known; removal is tried again when its number is reused.
                let _ = exports.remove(id.0);
            }
        }
        let mut gone = Vec::new();
        let relinks = !vanished.gone.is_empty();
        for id in vanished.gone {
            let node = self.graph.node(id);
            if let (Some(_), Some(result)) = (&node.edges, node.result) {
                gone.push((node.label.to_string(), result.key));
            }
            self.graph.remove(id);
        }
        for id in vanished.still_read.into_iter().chain(vanished.unsure) {
            self.graph.set_stale(id, true);
        }
        self.forget_gone_origins();
        if relinks {
            // The next request of this session must not find removed readers.
            self.links = Links::from_graph(&self.graph);
        }
        relinks.then_some(gone)
    }
}

enum Members {
    Known(FxHashSet<String>),
    /// The set must be built first.
    Later,
    Wrong,
}

/// Existence of nodes by label. Each set is read when first needed.
struct Existence<'a> {
    graph: &'a Graph,
    rules: &'a RuleIndex,
    sources: &'a dyn Sources,
    leaves: SessionLeaves<'a>,
    blobs: &'a Blobs,
    members: FxHashMap<SetSpec, Members>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Presence {
    Exists,
    Gone,
    /// Its set was built but is malformed.
    Unsure,
}

impl<'a> Existence<'a> {
    fn new(graph: &'a Graph, rules: &'a RuleIndex, sources: &'a dyn Sources, state: &'a State, blobs: &'a Blobs) -> Self {
        Self {
            graph,
            rules,
            sources,
            leaves: SessionLeaves::new(sources, state, &[]),
            blobs,
            members: FxHashMap::default(),
        }
    }

    fn presence_of(&mut self, label: &str) -> Presence {
        let presence = |exists| if exists { Presence::Exists } else { Presence::Gone };
        if let Some(path) = file_path(label) {
            return presence(self.sources.digest(&path).is_some());
        }
        if label.ends_with(":files") && self.leaves.set(label).is_some() {
            return Presence::Exists;
        }
        let rules = self.rules;
        let Some(found) = rules.find(label) else { return Presence::Gone };
        let (outer, inner) = match (&rules.rule(found.rule).inner, halves(found.value)) {
            (Some(_), Some((outer, _))) => (
                outer,
                rules.membership(found.rule, &rules.vars(found.rule, found.value)).ok().flatten(),
            ),
            _ => (found.value, None),
        };
        let mut wrong = false;
        let mut contains = |set: &SetSpec, value: &str| {
            let read = || read_items(set, self.graph, &self.leaves, self.blobs);
            let members = self.members.entry(set.clone()).or_insert_with(read);
            wrong |= matches!(members, Members::Wrong);
            !matches!(members, Members::Known(members) if !members.contains(value))
        };
        let each = &rules.rule(found.rule).each;
        let exists =
            each.as_ref().is_none_or(|(_, set)| contains(set, &unescape(outer))) && inner.is_none_or(|(set, value)| contains(&set, &value));
        if exists && wrong { Presence::Unsure } else { presence(exists) }
    }
}

/// Finds vanished nodes. Reads only labels while none is found.
pub fn vanished(graph: &Graph, rules: &RuleIndex, sources: &dyn Sources, state: &State, blobs: &Blobs) -> Vanished {
    let mut existence = Existence::new(graph, rules, sources, state, blobs);
    let (mut gone, mut unsure) = (FxHashSet::default(), Vec::new());
    graph.each_label(|id, label| match existence.presence_of(label) {
        Presence::Exists => {}
        Presence::Gone => drop(gone.insert(id)),
        Presence::Unsure => unsure.push(id),
    });
    split_by_readers(graph, gone, unsure)
}

/// Finds nodes that vanished because these sets, with a node of all their rules for each item, lost some; and those, all stale, that an earlier
/// build could not remove yet. `None` if nodes of two variables cannot be found by their inputs.
pub fn find_lost(session: &Session, blobs: &Blobs, changes: &SetChanges) -> Option<Vanished> {
    let (graph, rules, sources) = (&session.graph, &session.rules, &*session.sources);
    let mut gone: FxHashSet<NodeId> = FxHashSet::default();
    for (number, rule) in (0u32..).zip(&rules.manifest().rules) {
        let Some((_, set)) = &rule.each else { continue };
        let Some(label) = expand::set_node(set, &Vars::new()).ok()? else {
            continue;
        };
        let Some(changes) = changes.get(label.as_str()) else { continue };
        let lost = changes.iter().filter(|(_, change)| *change == Change::Removed);
        for (item, _) in lost {
            if rule.inner.is_none() {
                let label = rules.label(number, item);
                let own = label.filter(|label| rules.find(label.as_str()).is_some_and(|found| found.rule == number));
                gone.extend(own.and_then(|label| graph.find(label.as_str())));
                continue;
            }
            let inner = own_table(rule)?;
            let vars = rules.vars(number, &format!("{}#_", escape(item)));
            let table = expand::fill_label(inner, &vars, None).ok()?;
            let Some(table) = graph.find(table.as_str()) else { continue };
            let is_of = |reader: &NodeId| {
                let label = graph.get(*reader).map(|node| node.label.clone());
                label.is_some_and(|label| rules.find(&label).is_some_and(|found| found.rule == number))
            };
            gone.extend(session.links.readers(table).filter(is_of));
        }
    }
    let removed = session
        .refresh
        .changes
        .iter()
        .filter(|change| sources.digest(&change.path).is_none());
    gone.extend(removed.filter_map(|change| graph.find(&file_label(&change.path))));
    let mut existence = Existence::new(graph, rules, sources, &session.state, blobs);
    let mut unsure = Vec::new();
    for id in graph.stale().filter(|id| graph.exists(*id)) {
        match existence.presence_of(&graph.node(id).label) {
            Presence::Exists => {}
            Presence::Gone => drop(gone.insert(id)),
            Presence::Unsure => unsure.push(id),
        }
    }
    Some(split_by_readers(graph, gone, unsure))
}

/// Returns the table of a rule's second variable, if all nodes of the rule read it.
fn own_table(rule: &Rule) -> Option<&Template> {
    let (_, SetSpec::Node { label, .. }) = rule.inner.as_ref()? else {
        return None;
    };
    let reads = |input: &InputSpec| matches!(&input.from, InputFrom::Slice { node, .. } if node == label);
    rule.inputs.iter().any(reads).then_some(label)
}

/// Separates nodes with a remaining reader from the others.
fn split_by_readers(graph: &Graph, all: FxHashSet<NodeId>, unsure: Vec<NodeId>) -> Vanished {
    let mut gone: NodeSet = all.iter().copied().collect();
    while !gone.is_empty() {
        let mut read: Vec<NodeId> = Vec::new();
        for id in graph.ids().filter(|&id| !gone.contains(id)) {
            graph.each_read(id, |id| {
                if gone.contains(id) {
                    read.push(id);
                }
            });
        }
        if read.is_empty() {
            break;
        }
        for id in read {
            gone.set(id, false);
        }
    }
    let mut still_read: Vec<NodeId> = all.into_iter().filter(|&id| !gone.contains(id)).collect();
    still_read.sort_unstable();
    Vanished {
        still_read,
        gone: gone.iter().collect(),
        unsure,
    }
}

/// Reads the items of a set as last built.
fn read_items(set: &SetSpec, graph: &Graph, leaves: &SessionLeaves<'_>, blobs: &Blobs) -> Members {
    let nothing = Vars::new();
    let mut deciding = BTreeMap::new();
    let Ok(node) = expand::set_node(set, &nothing) else {
        return Members::Later;
    };
    if let Some(label) = node {
        let made = || {
            let id = graph.find(label.as_str()).filter(|id| !graph.is_stale(*id))?;
            blobs.get(&graph.node(id).result?.output).ok()?
        };
        let Some(blob) = leaves.set(label.as_str()).or_else(made) else {
            return Members::Later;
        };
        deciding.insert(label.to_string(), blob);
    }
    match expand::items(set, &nothing, &PagedBlobs::new(blobs, &deciding)) {
        Ok(items) => Members::Known(items.into_iter().collect()),
        Err(ExpandError::Lost { .. }) => Members::Later,
        Err(_) => Members::Wrong,
    }
}
