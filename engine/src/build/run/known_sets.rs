//! What a run has read about sets and tables: their nodes, items and rows.

use super::RunError;
use super::membership::RowPresence;
use super::tables::Tables;
use crate::build::blobs::{Blobs, Unavailable};
use crate::graph::{Graph, NodeId};
use crate::manifest::model::SetSpec;
use crate::manifest::template::Vars;
use crate::planning::expand;
use crate::planning::rules::RuleIndex;
use crate::values::digest::Digest;
use crate::values::pages::RowReader;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::collections::hash_map::Entry;
use std::sync::Arc;

/// The sets and tables of a run, as far as it has read them.
#[derive(Default)]
pub(super) struct KnownSets {
    /// By rule: the node of its set, once looked up.
    by_rule: FxHashMap<u32, Option<NodeId>>,
    /// All those nodes, once looked up.
    all: Option<Arc<[NodeId]>>,
    /// The sets from which the roots come.
    root_sets: BTreeSet<NodeId>,
    tables: Option<Arc<Tables>>,
    items: FxHashMap<(NodeId, SetSpec), Arc<Vec<String>>>,
    /// Reasons why the outputs of sets cannot be read as items.
    malformed: FxHashMap<SetSpec, String>,
    /// Tables in which membership was looked up.
    row_readers: FxHashMap<Digest, RowReader>,
}

impl KnownSets {
    /// Returns the node of a rule's set.
    pub(super) fn node_of_rule(&mut self, rule: u32, rules: &RuleIndex, graph: &mut Graph) -> Option<NodeId> {
        if let Some(known) = self.by_rule.get(&rule) {
            return *known;
        }
        let each = rules.rule(rule).each.as_ref();
        let label = each.and_then(|(_, set)| expand::set_node(set, &Vars::new()).ok()?);
        let node = label.map(|label| graph.intern(label.as_str()));
        self.by_rule.insert(rule, node);
        node
    }

    pub(super) fn all_nodes(&mut self, rules: &RuleIndex, graph: &mut Graph) -> Arc<[NodeId]> {
        if let Some(nodes) = &self.all {
            return nodes.clone();
        }
        let count = u32::try_from(rules.manifest().rules.len()).unwrap_or(u32::MAX);
        let mut nodes: Vec<NodeId> = (0..count).filter_map(|rule| self.node_of_rule(rule, rules, graph)).collect();
        nodes.sort_unstable();
        nodes.dedup();
        let nodes: Arc<[NodeId]> = nodes.into();
        self.all = Some(nodes.clone());
        nodes
    }

    pub(super) fn tables(&mut self, rules: &RuleIndex) -> Arc<Tables> {
        self.tables.get_or_insert_with(|| Arc::new(Tables::of_rules(rules))).clone()
    }

    /// Notes that roots come from a set.
    pub(super) fn add_root_set(&mut self, set: NodeId) {
        self.root_sets.insert(set);
    }

    /// Returns the sets from which the roots come, sorted.
    pub(super) fn root_sets(&self) -> impl Iterator<Item = NodeId> {
        self.root_sets.iter().copied()
    }

    /// Returns the items of a set whose node is settled, if this run has read them.
    pub(super) fn items_of(&self, of: &(NodeId, SetSpec)) -> Option<Arc<Vec<String>>> {
        self.items.get(of).cloned()
    }

    pub(super) fn add_items(&mut self, of: (NodeId, SetSpec), items: Arc<Vec<String>>) {
        self.items.insert(of, items);
    }

    /// Notes why the output of a set cannot be read as items.
    pub(super) fn add_malformed(&mut self, set: SetSpec, why: String) {
        self.malformed.insert(set, why);
    }

    /// Returns why the output of a set cannot be read as items.
    pub(super) fn why_malformed(&self, set: &SetSpec) -> Option<&str> {
        self.malformed.get(set).map(String::as_str)
    }

    pub(super) fn has_row(&mut self, table: Digest, key: &str, blobs: &Blobs) -> Result<RowPresence, RunError> {
        let reader = match self.row_readers.entry(table) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => match blobs.get(&table)?.map(RowReader::new) {
                Some(Ok(reader)) => place.insert(reader),
                Some(Err(_)) => return Ok(RowPresence::NoTable),
                None => return Ok(RowPresence::Lost),
            },
        };
        match reader.get(key, |page| blobs.get(page).map_err(Unavailable::Broken)) {
            Ok(Some(_)) => Ok(RowPresence::Present),
            Ok(None) => Ok(RowPresence::Absent),
            Err(Unavailable::Piece) => Ok(RowPresence::Lost),
            Err(Unavailable::Broken(error)) => Err(error.into()),
        }
    }
}
