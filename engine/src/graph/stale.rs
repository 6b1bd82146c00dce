//! Stale marks: a set of node numbers, and their spreading from changed nodes to all readers.

use super::walk::Links;
use super::{Graph, NodeId};

/// A set of node numbers, one bit each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeSet {
    words: Vec<u64>,
}

impl NodeSet {
    #[inline]
    pub fn contains(&self, id: NodeId) -> bool {
        self.words.get(id.index() / 64).is_some_and(|word| word >> (id.0 % 64) & 1 == 1)
    }

    /// Adds or removes `id`; returns whether that changed anything.
    #[inline]
    pub fn set(&mut self, id: NodeId, stale: bool) -> bool {
        if self.contains(id) == stale {
            return false;
        }
        let word = id.index() / 64;
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        self.words[word] ^= 1 << (id.0 % 64);
        true
    }

    /// Adds the members of the other set.
    pub fn unite(&mut self, other: &Self) {
        if other.words.len() > self.words.len() {
            self.words.resize(other.words.len(), 0);
        }
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word |= other;
        }
    }

    /// Removes the members of the other set.
    pub fn subtract(&mut self, other: &Self) {
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word &= !other;
        }
    }

    /// Keeps only the members of the other set.
    pub fn intersect(&mut self, other: &Self) {
        self.words.truncate(other.words.len());
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word &= other;
        }
    }

    /// Whether it has no member.
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|word| *word == 0)
    }

    /// Returns all members, sorted.
    pub fn iter(&self) -> impl Iterator<Item = NodeId> {
        (0u32..).zip(&self.words).flat_map(|(at, &word)| {
            let without_lowest_bit = |rest: &u64| Some(rest & (rest - 1)).filter(|&rest| rest != 0);
            std::iter::successors(Some(word).filter(|&word| word != 0), without_lowest_bit)
                .map(move |rest| NodeId(at * 64 + rest.trailing_zeros()))
        })
    }

    /// Encodes as little-endian words.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    /// Decodes [`NodeSet::to_bytes`]; `None` if the length does not fit.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (words, rest) = bytes.as_chunks::<8>();
        rest.is_empty().then(|| Self {
            words: words.iter().map(|word| u64::from_le_bytes(*word)).collect(),
        })
    }
}

impl FromIterator<NodeId> for NodeSet {
    fn from_iter<I: IntoIterator<Item = NodeId>>(nodes: I) -> Self {
        let mut set = Self::default();
        for id in nodes {
            set.set(id, true);
        }
        set
    }
}

/// Returns the stale nodes and their direct and indirect readers: all that may be stale.
pub fn spread_stale_marks(graph: &Graph, links: &Links) -> NodeSet {
    links.spread(&graph.stale)
}

/// As [`spread_stale_marks`], in a run in which some nodes have `ended` with an output. If that output changed, the run marked their readers, so no mark
/// spreads through these nodes from the stale ones that they read (or no longer read).
pub fn spread_stale_marks_except_past(graph: &Graph, links: &Links, ended: impl Fn(NodeId) -> bool) -> NodeSet {
    links.spread_past(&graph.stale, ended)
}

/// Returns the nodes of a set and their direct and indirect readers.
pub fn spread(from: &NodeSet, links: &Links) -> NodeSet {
    links.spread(from)
}

/// A node that may be stale, and the input through which: `None` at the origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marked {
    pub node: NodeId,
    /// The input (or deciding node) through which it was marked.
    pub via: Option<NodeId>,
}

/// As [`spread_stale_marks`], for `explain`: with the paths of the marks, breadth first, so that `via` leads back to the origin along a shortest path.
pub fn marks(graph: &Graph, links: &Links) -> Vec<Marked> {
    let mut marked: Vec<Marked> = graph.stale().map(|node| Marked { node, via: None }).collect();
    let mut seen = graph.stale.clone();
    let mut at = 0;
    while let Some(&Marked { node, .. }) = marked.get(at) {
        at += 1;
        let readers = links.readers(node).filter(|&reader| seen.set(reader, true));
        marked.extend(readers.map(|reader| Marked {
            node: reader,
            via: Some(node),
        }));
    }
    marked
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn a_stale_set_is_a_set(steps in proptest::collection::vec((0u32..300, any::<bool>()), 0..200)) {
            let (mut set, mut model) = (NodeSet::default(), BTreeSet::new());
            for (id, stale) in steps {
                let changed = if stale { model.insert(id) } else { model.remove(&id) };
                prop_assert_eq!(set.set(NodeId(id), stale), changed);
            }
            prop_assert_eq!(set.is_empty(), model.is_empty());
            prop_assert!(set.iter().map(|id| id.0).eq(model.iter().copied()));
            let stored = NodeSet::from_bytes(&set.to_bytes());
            prop_assert_eq!(stored, Some(set));
        }

        #[test]
        fn sets_are_combined(one: BTreeSet<u8>, other: BTreeSet<u8>) {
            let set = |members: &BTreeSet<u8>| members.iter().map(|id| NodeId((*id).into())).collect::<NodeSet>();
            let combined = |combine: fn(&mut NodeSet, &NodeSet)| {
                let mut combined = set(&one);
                combine(&mut combined, &set(&other));
                combined.iter().collect::<Vec<_>>()
            };
            let members = |members: BTreeSet<u8>| set(&members).iter().collect::<Vec<_>>();
            prop_assert_eq!(combined(NodeSet::unite), members(&one | &other));
            prop_assert_eq!(combined(NodeSet::subtract), members(&one - &other));
            prop_assert_eq!(combined(NodeSet::intersect), members(&one & &other));
        }
    }
}
