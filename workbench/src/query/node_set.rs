//! Sets of nodes, one bit each: a graph of 100,000 nodes takes 12 KB, and members are iterated in order.

use engine::graph::NodeId;

#[derive(Clone, Debug, Default)]
pub(super) struct NodeSet {
    words: Vec<u64>,
}

impl NodeSet {
    pub(super) fn contains(&self, id: NodeId) -> bool {
        self.words.get(id.index() / 64).is_some_and(|word| word >> (id.0 % 64) & 1 == 1)
    }

    /// Adds the node. Returns whether it was new.
    pub(super) fn insert(&mut self, id: NodeId) -> bool {
        let at = id.index() / 64;
        if at >= self.words.len() {
            self.words.resize(at + 1, 0);
        }
        let bit = 1 << (id.0 % 64);
        let new = self.words[at] & bit == 0;
        self.words[at] |= bit;
        new
    }

    /// Adds the members of the other set.
    pub(super) fn unite(&mut self, other: &Self) {
        if other.words.len() > self.words.len() {
            self.words.resize(other.words.len(), 0);
        }
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word |= other;
        }
    }

    /// Removes the members of the other set.
    pub(super) fn subtract(&mut self, other: &Self) {
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word &= !other;
        }
    }

    /// Keeps only the members of the other set.
    pub(super) fn intersect(&mut self, other: &Self) {
        self.words.truncate(other.words.len());
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word &= other;
        }
    }

    /// Returns all members in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = NodeId> {
        (0u32..).zip(&self.words).flat_map(|(at, &word)| {
            (0..64)
                .filter(move |bit| word >> bit & 1 == 1)
                .map(move |bit| NodeId(at * 64 + bit))
        })
    }
}

impl FromIterator<NodeId> for NodeSet {
    fn from_iter<I: IntoIterator<Item = NodeId>>(nodes: I) -> Self {
        let mut set = Self::default();
        for node in nodes {
            set.insert(node);
        }
        set
    }
}
