//! The nodes of a graph by the rules that produce them, for answers that count all of them. The rule of a node follows from its label, which is read
//! from a page of records; a service caches the result, and after a build reads only the labels of new nodes.

use crate::graph::{Graph, NodeId};
use crate::planning::rules::RuleIndex;
use rustc_hash::FxHashMap;

/// The nodes that are targets of rules, sorted by number.
#[derive(Debug, Default)]
pub struct RuledNodes {
    pub ids: Vec<NodeId>,
    /// By node: the number of its rule.
    pub rules: Vec<u32>,
    /// By node: the value in its label of the first variable of its rule, as an index into `values`.
    pub value_of: Vec<u32>,
    /// All values of first variables, each once; also those of former nodes.
    pub values: Vec<Box<str>>,
    /// By number: 32 bits of the digest of each node's label, targets of rules or not.
    label_hashes: Vec<Option<u32>>,
}

impl RuledNodes {
    /// Finds the targets of rules. Takes those that `former` has under the same number and label hash; it must be of the same rules.
    pub fn from_graph(graph: &Graph, rules: &RuleIndex, former: Option<&Self>) -> Self {
        let mut found = Self {
            values: former.map(|former| former.values.clone()).unwrap_or_default(),
            label_hashes: Vec::with_capacity(graph.bound()),
            ..Self::default()
        };
        let mut places: FxHashMap<Box<str>, u32> = found.values.iter().cloned().zip(0..).collect();
        let mut before = former
            .into_iter()
            .flat_map(|former| former.ids.iter().zip(former.rules.iter().zip(&former.value_of)))
            .peekable();
        for (id, hash) in graph.label_hashes() {
            found.label_hashes.resize(id.index(), None);
            found.label_hashes.push(Some(hash));
            while before.next_if(|(known, _)| **known < id).is_some() {}
            let same = before.next_if(|(known, _)| **known == id);
            if former.is_some_and(|former| former.label_hashes.get(id.index()) == Some(&Some(hash))) {
                if let Some((_, (rule, value))) = same {
                    found.add_target(id, *rule, *value);
                }
                continue;
            }
            graph.with_label(id, |label| {
                let Some(of) = rules.find(label) else { return };
                let place = places.get(of.value).copied().unwrap_or_else(|| {
                    let next = u32::try_from(found.values.len()).expect("invariant: fewer than 2^32 nodes");
                    found.values.push(of.value.into());
                    places.insert(of.value.into(), next);
                    next
                });
                found.add_target(id, of.rule, place);
            });
        }
        found
    }

    fn add_target(&mut self, id: NodeId, rule: u32, value: u32) {
        self.ids.push(id);
        self.rules.push(rule);
        self.value_of.push(value);
    }
}
