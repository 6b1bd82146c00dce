//! Pruning: which nodes no longer exist because their set lost them.

use super::blobs::{Blobs, Paged};
use super::run::{Leaves, file_path};
use super::session::SessionLeaves;
use super::state::State;
use crate::graph::{Graph, NodeId};
use crate::manifest::model::SetSpec;
use crate::manifest::template::{Template, Vars};
use crate::planning::expand::{self, ExpandError};
use crate::planning::rules::RuleIndex;
use crate::seams::world::{Refresh, Sources};
use crate::store::records::HistoryRecord;
use crate::values::label::{halves, unescape};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

/// The labels of sets that moved: source sets that gained or lost files, set nodes with a new version. `parted` tells whether the nodes of a
/// rule of two variables read what a label gives.
pub fn moved_sets(
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

/// Nodes that no rule, set or source gives any more.
#[derive(Debug, Default)]
pub struct Vanished {
    /// Those that no remaining node reads.
    pub gone: Vec<NodeId>,
    /// Those that a remaining node, not rebuilt yet, still reads.
    pub still_read: Vec<NodeId>,
    /// Those whose set was made and is none: whether they are in it nobody can say, so they are looked at again.
    pub unsure: Vec<NodeId>,
}

impl Vanished {
    /// Whether all nodes are there.
    pub fn is_empty(&self) -> bool {
        self.gone.is_empty() && self.still_read.is_empty() && self.unsure.is_empty()
    }
}

/// What a set holds.
enum Members {
    /// These.
    Known(FxHashSet<String>),
    /// It has to be built first.
    Later,
    /// What was built is no set.
    Wrong,
}

/// Finds what is no more. It reads labels alone while nothing is.
pub fn vanished(graph: &Graph, rules: &RuleIndex, sources: &dyn Sources, state: &State, blobs: &Blobs) -> Vanished {
    let leaves = SessionLeaves::new(sources, state, &[]);
    let mut members: FxHashMap<SetSpec, Members> = FxHashMap::default();
    let mut gone: FxHashSet<NodeId> = FxHashSet::default();
    let mut unsure = Vec::new();
    graph.each_label(|id, label| {
        let mut wrong = false;
        let exists = if let Some(path) = file_path(label) {
            sources.digest(&path).is_some()
        } else if label.ends_with(":files") && leaves.set(label).is_some() {
            true
        } else {
            match rules.find(label) {
                None => false,
                Some(found) => {
                    let rule = rules.rule(found.rule);
                    let mut holds = |set: &SetSpec, value: &str| {
                        let members = members.entry(set.clone()).or_insert_with(|| read(set, graph, &leaves, blobs));
                        wrong |= matches!(members, Members::Wrong);
                        !matches!(members, Members::Known(members) if !members.contains(value))
                    };
                    let (outer, inner) = match (&rule.inner, halves(found.value)) {
                        (Some(_), Some((outer, _))) => (outer, rules.own(found.rule, &rules.vars(found.rule, found.value)).ok().flatten()),
                        _ => (found.value, None),
                    };
                    rule.each.as_ref().is_none_or(|(_, set)| holds(set, &unescape(outer)))
                        && inner.is_none_or(|(set, value)| holds(&set, &value))
                }
            }
        };
        if !exists {
            gone.insert(id);
        } else if wrong {
            unsure.push(id);
        }
    });
    let all = gone.clone();
    while !gone.is_empty() {
        let mut read: FxHashSet<NodeId> = FxHashSet::default();
        for id in graph.ids().filter(|id| !gone.contains(id)) {
            graph.each_read(id, |id| read.extend(gone.get(&id)));
        }
        if read.is_empty() {
            break;
        }
        gone.retain(|id| !read.contains(id));
    }
    let sorted = |nodes: &mut dyn Iterator<Item = NodeId>| {
        let mut nodes: Vec<NodeId> = nodes.collect();
        nodes.sort_unstable();
        nodes
    };
    Vanished {
        still_read: sorted(&mut all.difference(&gone).copied()),
        gone: sorted(&mut gone.iter().copied()),
        unsure,
    }
}

/// The items of a set as last built.
fn read(set: &SetSpec, graph: &Graph, leaves: &SessionLeaves<'_>, blobs: &Blobs) -> Members {
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
    match expand::items(set, &nothing, &Paged::new(blobs, &deciding)) {
        Ok(items) => Members::Known(items.into_iter().collect()),
        Err(ExpandError::Lost { .. }) => Members::Later,
        Err(_) => Members::Wrong,
    }
}
