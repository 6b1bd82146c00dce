//! Nodes by the hash of their label.
//!
//! Every build that does anything creates the index of all stored nodes. It sorts them into buckets, which is faster than to insert each into a hash
//! table; only nodes added later are in one.

use hashbrown::HashTable;
use std::ops::Range;

/// Nodes by the hash of their label. It may also contain nodes that were removed: the caller checks whether a node has the label.
#[derive(Clone, Default)]
pub(super) struct LabelIndex {
    /// By the highest bits of the hash: start of a bucket in `stored`; at the end, the end of the last one.
    starts: Vec<u32>,
    /// The stored nodes, by bucket.
    stored: Vec<u32>,
    added: HashTable<u32>,
}

impl LabelIndex {
    /// Creates the index of `count` stored nodes: their numbers and hashes.
    pub(super) fn of_nodes(count: usize, nodes: impl Iterator<Item = (u32, u32)> + Clone) -> Self {
        let buckets = (count / 4).next_power_of_two();
        // Count one place further on, then sum up: a bucket's entry is then its start.
        let mut starts = vec![0_u32; buckets + 2];
        for (_, hash) in nodes.clone() {
            starts[bucket_of(hash, buckets) + 2] += 1;
        }
        for at in 2..starts.len() {
            starts[at] += starts[at - 1];
        }
        let mut stored = vec![0; count];
        for (id, hash) in nodes {
            // Position of the bucket's next node; finally the start of the next bucket.
            let next = &mut starts[bucket_of(hash, buckets) + 1];
            stored[*next as usize] = id;
            *next += 1;
        }
        starts.pop();
        Self {
            starts,
            stored,
            added: HashTable::new(),
        }
    }

    /// Returns a node for which `is` is true among those that may have this hash.
    pub(super) fn find(&self, hash: u32, is: impl Fn(u32) -> bool) -> Option<u32> {
        let stored = self.stored[self.bucket(hash)].iter().copied().find(|&id| is(id));
        stored.or_else(|| self.added.find(spread(hash), |&id| is(id)).copied())
    }

    fn bucket(&self, hash: u32) -> Range<usize> {
        match self.starts.len().checked_sub(1) {
            Some(buckets) => {
                let at = bucket_of(hash, buckets);
                self.starts[at] as usize..self.starts[at + 1] as usize
            }
            None => 0..0,
        }
    }

    /// Adds a node. `hash_of` returns the hash of any node that was added.
    pub(super) fn add(&mut self, id: u32, hash_of: impl Fn(u32) -> u32) {
        self.added.insert_unique(spread(hash_of(id)), id, |&id| spread(hash_of(id)));
    }

    /// Removes a node, if it was added. A stored one stays.
    pub(super) fn remove(&mut self, id: u32, hash: u32) {
        if let Ok(entry) = self.added.find_entry(spread(hash), |&known| known == id) {
            entry.remove();
        }
    }
}

/// Returns the bucket of a hash: its highest bits. The number of buckets is a power of two.
fn bucket_of(hash: u32, buckets: usize) -> usize {
    (u64::from(hash) * buckets as u64 >> u32::BITS) as usize
}

/// Spreads a label hash over the bits that the table uses.
fn spread(hash: u32) -> u64 {
    u64::from(hash).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn all_nodes_are_found(stored in proptest::collection::vec(any::<u32>(), 0..60), added in proptest::collection::vec(any::<u32>(), 0..10)) {
            let mut index = LabelIndex::of_nodes(stored.len(), (0..).zip(stored.iter().copied()));
            let hashes: Vec<u32> = stored.iter().chain(&added).copied().collect();
            let added = || (0u32..).zip(&hashes).skip(stored.len());
            for (id, _) in added() {
                index.add(id, |id| hashes[id as usize]);
            }
            for (id, &hash) in (0u32..).zip(&hashes) {
                prop_assert_eq!(index.find(hash, |found| found == id), Some(id));
            }
            for (id, &hash) in added() {
                index.remove(id, hash);
                prop_assert_eq!(index.find(hash, |found| found == id), None);
            }
        }
    }
}
