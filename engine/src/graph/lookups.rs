//! Lookups: the rows of tables that decided a node's inputs. If few rows of a table changed, only nodes that looked up one of them may be stale;
//! the others keep their inputs.
//!
//! A lookup is stored as 24 bits of a hash over the table's label and the key; a collision only makes a node be checked in vain. A node's lookups
//! are written whenever its inputs are found, with its edges. A node without recorded lookups counts as having looked up everything.
//!
//! A row of `Part::Lookups` has 64 nodes, by page number (big-endian `u32`): slot (u8), count (LEB128) and that many hashes, ascending, each as the
//! difference from the one before (LEB128).

use super::pages::{Cursor, Row, write_number};
use super::{NodeId, PageSource};
use rustc_hash::FxHashSet;
use std::collections::{BTreeMap, BTreeSet};

/// Number of nodes per row.
const NODES: u32 = 64;

/// Kind of a lookup in a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lookup<'a> {
    /// The value of the row with this key, or its absence.
    Row(&'a str),
    /// Whether a row with this key exists.
    Key(&'a str),
    /// The list of keys.
    Keys,
    /// The whole table.
    Whole,
}

/// Computes the hash of a lookup. Stored, so it never changes: 64-bit FNV-1a, folded.
pub fn hash(table: &str, lookup: Lookup<'_>) -> u32 {
    let (kind, key) = match lookup {
        Lookup::Row(key) => (1, key),
        Lookup::Key(key) => (2, key),
        Lookup::Keys => (3, ""),
        Lookup::Whole => (4, ""),
    };
    let bytes = table.bytes().chain([0, kind]).chain(key.bytes());
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    (hash ^ hash >> 24 ^ hash >> 48) as u32 & 0xff_ffff
}

/// A set of lookups: of one node, or affected by a change of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LookupSet(Vec<u32>);

impl LookupSet {
    /// Adds a lookup.
    pub fn add(&mut self, table: &str, lookup: Lookup<'_>) {
        self.0.push(hash(table, lookup));
    }

    /// Whether the set may contain a lookup.
    pub fn may_have(&self, table: &str, lookup: Lookup<'_>) -> bool {
        self.0.contains(&hash(table, lookup))
    }

    /// Returns the hashes as stored in [`LookupTable`].
    pub fn into_hashes(mut self) -> Box<[u32]> {
        self.0.sort_unstable();
        self.0.dedup();
        self.0.into()
    }

    /// Returns a filter for comparing with many nodes.
    pub fn filter(&self) -> Filter {
        let mut low = vec![0_u64; 1 << 10];
        for &hash in &self.0 {
            low[(hash as u16 / 64) as usize] |= 1 << (hash % 64);
        }
        Filter {
            low,
            exact: self.0.iter().copied().collect(),
        }
    }
}

/// Lookups affected by a change: a bitmap over the low half of their hashes, which excludes most others, and the hashes.
pub struct Filter {
    low: Vec<u64>,
    exact: FxHashSet<u32>,
}

impl Filter {
    /// Whether any of a node's lookups is among them.
    pub fn meets(&self, hashes: &[u32]) -> bool {
        let may = |hash: u32| self.low[(hash as u16 / 64) as usize] >> (hash % 64) & 1 == 1;
        hashes.iter().any(|&hash| may(hash) && self.exact.contains(&hash))
    }
}

type Page = Vec<Option<Box<[u32]>>>;

/// The lookups of all nodes of a graph, read page by page on demand.
#[derive(Default)]
pub struct LookupTable {
    pages: BTreeMap<u32, Page>,
    source: Option<PageSource>,
    changed: BTreeSet<u32>,
}

impl LookupTable {
    /// Creates a table whose rows are read from `source`.
    pub fn stored(source: PageSource) -> Self {
        Self {
            source: Some(source),
            ..Self::default()
        }
    }

    /// Creates an empty table that replaces these stored rows.
    pub(super) fn instead(rows: impl IntoIterator<Item = u32>) -> Self {
        Self {
            changed: rows.into_iter().collect(),
            ..Self::default()
        }
    }

    /// Returns the lookups of a node; `None` if unknown.
    pub fn lookups_of_node(&mut self, id: NodeId) -> Option<&[u32]> {
        self.page_to_change(id.0 / NODES)[(id.0 % NODES) as usize].as_deref()
    }

    /// Replaces the lookups of a node.
    pub(super) fn set_lookups(&mut self, id: NodeId, hashes: Option<Box<[u32]>>) {
        let number = id.0 / NODES;
        let known = &mut self.page_to_change(number)[(id.0 % NODES) as usize];
        if *known != hashes {
            *known = hashes;
            self.changed.insert(number);
        }
    }

    /// Reads all unread pages for this number of nodes.
    pub(super) fn read_all(&mut self, nodes: usize) {
        for number in 0..u32::try_from(nodes).unwrap_or(u32::MAX).div_ceil(NODES) {
            self.page_to_change(number);
        }
    }

    fn page_to_change(&mut self, number: u32) -> &mut Page {
        let source = self.source.as_ref();
        self.pages.entry(number).or_insert_with(|| {
            let body = source.and_then(|source| source(number)).unwrap_or_default();
            // The lookups of an unreadable row are unknown.
            read_page(&body).unwrap_or_else(|| vec![None; NODES as usize])
        })
    }

    /// Takes the rows that changed since loading.
    pub(super) fn take_changed(&mut self) -> Vec<Row> {
        let changed = std::mem::take(&mut self.changed);
        let row = |number: u32| {
            let mut body = Vec::new();
            for (slot, hashes) in (0u8..).zip(self.page_to_change(number)) {
                if let Some(hashes) = hashes {
                    body.push(slot);
                    write_number(&mut body, hashes.len() as u32);
                    let mut before = 0;
                    for &hash in hashes.iter() {
                        write_number(&mut body, hash - std::mem::replace(&mut before, hash));
                    }
                }
            }
            (number.to_be_bytes().to_vec(), (!body.is_empty()).then_some(body))
        };
        changed.into_iter().map(row).collect()
    }
}

fn read_page(body: &[u8]) -> Option<Page> {
    let mut page = vec![None; NODES as usize];
    let mut cursor = Cursor(body);
    while let Some(slot) = cursor.byte() {
        let count = cursor.read_count()?;
        let mut hashes = Vec::with_capacity(count);
        for _ in 0..count {
            let before = hashes.last().copied().unwrap_or_default();
            hashes.push(cursor.read_number()?.checked_add(before)?);
        }
        *page.get_mut(usize::from(slot))? = Some(hashes.into());
    }
    Some(page)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn hashes_are_what_they_were_when_they_were_stored() {
        assert_eq!(hash("//index:types", Lookup::Row("A.B")), 9_956_461);
        assert_eq!(hash("//index:types", Lookup::Keys), 13_861_933);
    }

    proptest! {
        #[test]
        fn what_was_written_is_read(nodes in proptest::collection::btree_map(0u32..300, proptest::collection::btree_set(0u32..1 << 24, 0..5), 0..40)) {
            let mut table = LookupTable::default();
            for (&id, hashes) in &nodes {
                table.set_lookups(NodeId(id), Some(hashes.iter().copied().collect()));
            }
            let rows: BTreeMap<Vec<u8>, Option<Vec<u8>>> = table.take_changed().into_iter().collect();
            prop_assert!(table.take_changed().is_empty());
            let mut stored = LookupTable::stored(Box::new(move |page| rows.get(page.to_be_bytes().as_slice()).cloned().flatten()));
            for id in 0..300 {
                let known = nodes.get(&id).map(|hashes| hashes.iter().copied().collect::<Vec<_>>());
                prop_assert_eq!(stored.lookups_of_node(NodeId(id)).map(<[u32]>::to_vec), known);
            }
            prop_assert!(stored.take_changed().is_empty());
        }

        #[test]
        fn a_set_meets_what_it_has(keys in proptest::collection::vec("[a-z]{1,3}", 0..8), other in "[a-z]{1,3}") {
            let mut set = LookupSet::default();
            keys.iter().for_each(|key| set.add("//index:types", Lookup::Row(key)));
            let met = set.filter().meets(&[hash("//index:types", Lookup::Row(&other))]);
            prop_assert_eq!(met, set.may_have("//index:types", Lookup::Row(&other)));
            prop_assert!(met || !keys.contains(&other));
        }

        #[test]
        fn rows_that_cannot_be_read_say_nothing(body in proptest::collection::vec(any::<u8>(), 0..40)) {
            let mut table = LookupTable::stored(Box::new(move |_| Some(body.clone())));
            table.lookups_of_node(NodeId(3));
        }
    }
}
