//! Membership: whether a node is in the set of its rule, and the items of sets.

use super::source_nodes::{Leaf, leaf};
use super::{NodeProgress, Run, RunError, Work};
use crate::build::blobs::PagedBlobs;
use crate::graph::NodeId;
use crate::manifest::model::SetSpec;
use crate::manifest::template::Vars;
use crate::planning::expand;
use crate::values::codes::ErrorCode;
use crate::values::diagnostic::Diagnostic;
use crate::values::digest::Digest;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Whether a node is in the set of its rule.
pub(super) enum Member {
    Yes,
    No,
    /// The set's bytes are missing: this node must be rebuilt first.
    Lost(NodeId),
    Unreadable(Box<Diagnostic>),
}

/// Whether a table has a row.
pub(super) enum RowPresence {
    Present,
    Absent,
    /// The page that would decide it is missing.
    Lost,
    NoTable,
}

impl Run<'_> {
    /// Whether the node is in its rule's set, known without reading the set: it had a current output when the run started, and the settled set did
    /// not change since.
    pub(super) fn is_still_member(&self, id: NodeId, work: &Work) -> bool {
        self.graph.has_result(id) && !self.output_changes.was_left_stale(id) && work.member_of.is_some_and(|set| self.is_quiet(set))
    }

    /// Whether the node is in its rule's set, whose node is settled.
    pub(super) fn is_member(&mut self, work: &Work) -> Result<Member, RunError> {
        let rules = self.context.rules;
        let vars = work.vars(rules);
        let Ok(Some((set, value))) = rules.membership(work.rule, &vars) else {
            return Ok(Member::Yes);
        };
        let of = |is_item| if is_item { Member::Yes } else { Member::No };
        let Some(node) = work.member_of else {
            let items = expand::items(&set, &vars, &BTreeMap::new());
            return Ok(of(items.is_ok_and(|items| items.iter().any(|item| **item == *value))));
        };
        let label = self.graph.node(node).label.clone();
        if let Some(is_item) = self.context.leaves.contains_source(&label, &value) {
            return Ok(of(is_item));
        }
        if let SetSpec::Node {
            row: None, field: None, ..
        } = &*set
        {
            match self.has_row(node, &value)? {
                RowPresence::Present => return Ok(Member::Yes),
                RowPresence::Absent => return Ok(Member::No),
                RowPresence::Lost => return Ok(Member::Lost(node)),
                RowPresence::NoTable => {}
            }
        }
        Ok(match self.read_set(node, &set)? {
            Some(items) => of(items.binary_search_by(|item| item.as_str().cmp(&*value)).is_ok()),
            None if leaf(&label) != Some(Leaf::Set) && !self.is_output_available(node)? => Member::Lost(node),
            None => Member::Unreadable(Box::new(Diagnostic::error(
                ErrorCode::E_SET,
                format!("the set {label} cannot be read"),
            ))),
        })
    }

    /// Whether the whole output of a settled node is in memory or the store.
    pub(super) fn is_output_available(&self, node: NodeId) -> Result<bool, RunError> {
        match self.output(node) {
            Some(digest) => Ok(self.context.shared.blobs.has_whole(&digest)?),
            None => Ok(false),
        }
    }

    /// Returns an output as its readers see it; `None` if a blob of it is missing.
    pub(super) fn readable(&self, digest: &Digest) -> Result<Option<Arc<[u8]>>, RunError> {
        Ok(self.context.shared.blobs.readable_output(digest)?)
    }

    /// Whether the table of a settled node has a row of that key.
    pub(super) fn has_row(&mut self, node: NodeId, key: &str) -> Result<RowPresence, RunError> {
        let Some(digest) = self.output(node) else {
            return Ok(RowPresence::NoTable);
        };
        self.known_sets.has_row(digest, key, &self.context.shared.blobs)
    }

    /// Returns the sorted items of a set with a settled node (in a dry run: as last known); `None` if unreadable.
    pub(super) fn read_set(&mut self, node: NodeId, set: &SetSpec) -> Result<Option<Arc<Vec<String>>>, RunError> {
        let known = (node, set.clone());
        if let Some(items) = self.known_sets.items_of(&known) {
            return Ok(Some(items));
        }
        let digest = match self.nodes.state_of(node) {
            NodeProgress::Settled { .. } | NodeProgress::OutOfReach => self.output(node),
            NodeProgress::Unknown { .. } => self.graph.node(node).result.map(|result| result.output),
            _ => None,
        };
        let Some(digest) = digest else { return Ok(None) };
        let label = self.graph.node(node).label.to_string();
        let Some(blob) = self
            .context
            .leaves
            .set(&label)
            .map_or_else(|| self.context.shared.blobs.get(&digest), |paths| Ok(Some(paths)))?
        else {
            return Ok(None);
        };
        let roots = BTreeMap::from([(label, blob)]);
        let paged = PagedBlobs::new(&self.context.shared.blobs, &roots);
        let items = expand::items(set, &Vars::new(), &paged);
        if let Some(error) = paged.into_store_error() {
            return Err(error.into());
        }
        let items = match items {
            Ok(items) => items,
            Err(why) => {
                self.known_sets.add_malformed(set.clone(), why.to_string());
                return Ok(None);
            }
        };
        let items = Arc::new(items);
        self.known_sets.add_items(known, items.clone());
        Ok(Some(items))
    }
}
