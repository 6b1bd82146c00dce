//! Lookups: the rows of tables that decided a node's inputs. If few rows of a table changed, only nodes that looked up one of them may be stale;
//! the others keep their inputs.
//!
//! A lookup is stored as 24 bits of a hash over the table's label and the key; a collision only causes an unnecessary check of a node. A node's
//! lookups are written whenever its inputs are found, with its edges. A node without recorded lookups counts as having looked up everything.
//!
//! A row of `Part::Lookups` has 256 nodes, by page number (big-endian `u32`): slot (u8), count (LEB128) and that many hashes of three bytes
//! (little-endian), ascending. A change of a table compares the lookups of all its readers, so a build compares the stored bytes.

use super::numbers::{Cursor, write_number};
use super::pages::ViewRow;
use super::{NodeId, PageSource};
use rustc_hash::FxHashSet;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// Number of nodes per row.
const NODES: u32 = 256;

/// A hash of a lookup as stored: 24 bits, little-endian.
pub type StoredHash = [u8; 3];

fn stored_hash(hash: u32) -> StoredHash {
    let [a, b, c, _] = hash.to_le_bytes();
    [a, b, c]
}

/// Kind of a lookup in a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lookup<'a> {
    /// The value of the row with this key, or its absence.
    Row(&'a str),
    /// Whether a row with this key exists.
    Key(&'a str),
    Keys,
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
    pub fn add(&mut self, table: &str, lookup: Lookup<'_>) {
        self.0.push(hash(table, lookup));
    }

    /// Whether the set may contain a lookup.
    pub fn may_have(&self, table: &str, lookup: Lookup<'_>) -> bool {
        self.0.contains(&hash(table, lookup))
    }

    /// Returns the hashes as stored in [`LookupTable`].
    pub fn into_hashes(mut self) -> Box<[StoredHash]> {
        self.0.sort_unstable();
        self.0.dedup();
        self.0.into_iter().map(stored_hash).collect()
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
    pub fn matches_any(&self, hashes: &[StoredHash]) -> bool {
        let may = |low: u16| self.low[usize::from(low / 64)] >> (low % 64) & 1 == 1;
        let is_exact = |hash: StoredHash| self.exact.contains(&u32::from_le_bytes([hash[0], hash[1], hash[2], 0]));
        hashes
            .iter()
            .any(|&hash| may(u16::from_le_bytes([hash[0], hash[1]])) && is_exact(hash))
    }
}

/// The lookups of the nodes of a row.
#[derive(Clone)]
struct LookupPage {
    /// The stored row, followed by hashes that replace some of it.
    bytes: Vec<u8>,
    /// By slot: the range of its hashes in `bytes`; `None` if they are unknown.
    places: Vec<Option<Range<u32>>>,
}

impl Default for LookupPage {
    fn default() -> Self {
        Self {
            bytes: Vec::new(),
            places: vec![None; NODES as usize],
        }
    }
}

impl LookupPage {
    fn lookups(&self, slot: usize) -> Option<&[StoredHash]> {
        let place = self.places[slot].as_ref()?;
        Some(self.bytes[place.start as usize..place.end as usize].as_chunks().0)
    }

    fn replace(&mut self, slot: usize, lookups: Option<&[StoredHash]>) {
        let start = self.bytes.len() as u32;
        self.bytes.extend_from_slice(lookups.unwrap_or_default().as_flattened());
        self.places[slot] = lookups.map(|_| start..self.bytes.len() as u32);
    }

    /// Takes a row apart; `None` if it is malformed.
    fn from_row(body: Vec<u8>) -> Option<Self> {
        let mut page = Self::default();
        let mut cursor = Cursor(&body);
        let mut next = 0;
        while let Some(slot) = cursor.byte().map(usize::from) {
            let len = cursor.read_count()?.checked_mul(size_of::<StoredHash>())?;
            if slot < next {
                return None;
            }
            let start = body.len() - cursor.0.len();
            cursor.next_bytes(len)?;
            page.places[slot] = Some(start as u32..(start + len) as u32);
            next = slot + 1;
        }
        page.bytes = body;
        Some(page)
    }

    fn encode_page(&self) -> Vec<u8> {
        let mut body = Vec::new();
        for slot in 0..=u8::MAX {
            let Some(hashes) = self.lookups(usize::from(slot)) else { continue };
            body.push(slot);
            write_number(&mut body, hashes.len() as u32);
            body.extend_from_slice(hashes.as_flattened());
        }
        body
    }
}

/// Decoded rows that graphs over the same stored rows share, by number, as far as one of them read them.
#[derive(Clone, Default)]
pub struct SharedLookups(Arc<Mutex<Vec<Option<Arc<LookupPage>>>>>);

impl SharedLookups {
    fn find_page(&self, number: usize) -> Option<Arc<LookupPage>> {
        let pages = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        pages.get(number).cloned().flatten()
    }

    fn remember_page(&self, number: usize, page: &Arc<LookupPage>) {
        let mut pages = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if number >= pages.len() {
            pages.resize(number + 1, None);
        }
        pages[number] = Some(page.clone());
    }
}

/// The lookups of all nodes of a graph, read page by page on demand.
#[derive(Default)]
pub struct LookupTable {
    /// By number of the row, as far as read.
    pages: Vec<Option<Arc<LookupPage>>>,
    source: Option<PageSource>,
    /// Rows as stored, which other graphs may have read.
    shared: SharedLookups,
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

    /// Uses the rows that graphs over the same stored rows read.
    pub(super) fn share(&mut self, shared: SharedLookups) {
        self.shared = shared;
    }

    /// Creates an empty table that replaces these stored rows.
    pub(super) fn replacing(rows: impl IntoIterator<Item = u32>) -> Self {
        Self {
            changed: rows.into_iter().collect(),
            ..Self::default()
        }
    }

    /// Returns the lookups of a node; `None` if unknown.
    pub fn lookups_of_node(&mut self, id: NodeId) -> Option<&[StoredHash]> {
        self.lookup_page(id.0 / NODES).lookups((id.0 % NODES) as usize)
    }

    /// Replaces the lookups of a node; returns whether that changed anything.
    pub(super) fn set_lookups(&mut self, id: NodeId, hashes: Option<Box<[StoredHash]>>) -> bool {
        let (number, slot) = (id.0 / NODES, (id.0 % NODES) as usize);
        let page = self.lookup_page(number);
        let differ = page.lookups(slot) != hashes.as_deref();
        if differ {
            Arc::make_mut(page).replace(slot, hashes.as_deref());
            self.changed.insert(number);
        }
        differ
    }

    /// Reads all unread pages for this number of nodes.
    pub(super) fn read_all(&mut self, nodes: usize) {
        for number in 0..u32::try_from(nodes).unwrap_or(u32::MAX).div_ceil(NODES) {
            self.lookup_page(number);
        }
    }

    fn lookup_page(&mut self, number: u32) -> &mut Arc<LookupPage> {
        let at = number as usize;
        if at >= self.pages.len() {
            self.pages.resize(at + 1, None);
        }
        let (source, shared) = (self.source.as_ref(), &self.shared);
        self.pages[at].get_or_insert_with(|| {
            if let Some(page) = shared.find_page(at) {
                return page;
            }
            let Some(body) = source.and_then(|source| source(number)) else {
                return Arc::default();
            };
            // The lookups of an unreadable row are unknown.
            let page = Arc::new(LookupPage::from_row(body).unwrap_or_default());
            shared.remember_page(at, &page);
            page
        })
    }

    /// Takes the rows that changed since loading.
    pub(super) fn take_changed(&mut self) -> Vec<ViewRow> {
        let changed = std::mem::take(&mut self.changed);
        let row = |number: u32| {
            // Remove a stored row of unused numbers.
            let page = self.pages.get(number as usize).and_then(Option::as_ref);
            let body = page.map_or_else(Vec::new, |page| page.encode_page());
            (number.to_be_bytes().to_vec(), (!body.is_empty()).then_some(body))
        };
        changed.into_iter().map(row).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    #[test]
    fn lookup_hashes_are_pinned() {
        assert_eq!(hash("//index:types", Lookup::Row("A.B")), 9_956_461);
        assert_eq!(hash("//index:types", Lookup::Keys), 13_861_933);
    }

    #[test]
    fn graphs_share_rows_as_stored_and_keep_their_changes() {
        let mut table = LookupTable::default();
        table.set_lookups(NodeId(1), Some([stored_hash(5)].into()));
        let row = table.take_changed().pop().and_then(|(_, body)| body).expect("a row");
        let shared = SharedLookups::default();
        let mut first = LookupTable::stored(Box::new(move |_| Some(row.clone())));
        first.share(shared.clone());
        assert_eq!(first.lookups_of_node(NodeId(1)), Some(&[stored_hash(5)][..]));
        first.set_lookups(NodeId(1), Some([stored_hash(6)].into()));
        let mut second = LookupTable::stored(Box::new(|_| None));
        second.share(shared);
        assert_eq!(second.lookups_of_node(NodeId(1)), Some(&[stored_hash(5)][..]));
        assert_eq!(second.lookups_of_node(NodeId(256)), None);
        assert_eq!(first.lookups_of_node(NodeId(1)), Some(&[stored_hash(6)][..]));
    }

    proptest! {
        #[test]
        fn written_lookups_are_read_back(nodes in proptest::collection::btree_map(0u32..600, proptest::collection::btree_set(0u32..1 << 24, 0..5), 0..40)) {
            let mut table = LookupTable::default();
            for (&id, hashes) in &nodes {
                table.set_lookups(NodeId(id), Some(hashes.iter().copied().map(stored_hash).collect()));
            }
            let rows: BTreeMap<Vec<u8>, Option<Vec<u8>>> = table.take_changed().into_iter().collect();
            prop_assert!(table.take_changed().is_empty());
            let mut stored = LookupTable::stored(Box::new(move |page| rows.get(page.to_be_bytes().as_slice()).cloned().flatten()));
            for id in 0..600 {
                let known = nodes.get(&id).map(|hashes| hashes.iter().copied().map(stored_hash).collect::<Vec<_>>());
                prop_assert_eq!(stored.lookups_of_node(NodeId(id)).map(<[StoredHash]>::to_vec), known);
            }
            prop_assert!(stored.take_changed().is_empty());
        }

        #[test]
        fn replacing_lookups_keeps_those_of_other_nodes(steps in proptest::collection::vec((0u32..70, proptest::option::of(proptest::collection::btree_set(0u32..1 << 24, 0..5))), 0..60)) {
            let (mut table, mut model) = (LookupTable::default(), BTreeMap::new());
            for (id, hashes) in steps {
                let hashes = hashes.map(|hashes| hashes.into_iter().map(stored_hash).collect::<Vec<_>>());
                table.set_lookups(NodeId(id), hashes.clone().map(Into::into));
                model.insert(id, hashes);
                for id in 0..70 {
                    let known = model.get(&id).cloned().flatten();
                    prop_assert_eq!(table.lookups_of_node(NodeId(id)).map(<[StoredHash]>::to_vec), known);
                }
            }
        }

        #[test]
        fn a_filter_matches_its_lookups(keys in proptest::collection::vec("[a-z]{1,3}", 0..8), other in "[a-z]{1,3}") {
            let mut set = LookupSet::default();
            keys.iter().for_each(|key| set.add("//index:types", Lookup::Row(key)));
            let met = set.filter().matches_any(&[stored_hash(hash("//index:types", Lookup::Row(&other)))]);
            prop_assert_eq!(met, set.may_have("//index:types", Lookup::Row(&other)));
            prop_assert!(met || !keys.contains(&other));
        }

        #[test]
        fn malformed_rows_give_no_lookups(body in proptest::collection::vec(any::<u8>(), 0..40)) {
            let mut table = LookupTable::stored(Box::new(move |_| Some(body.clone())));
            table.lookups_of_node(NodeId(3));
        }
    }
}
