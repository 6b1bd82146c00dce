//! Graph pages: node records are stored 64 to a row of `Part::Nodes`. A small build reads and writes few, scattered records, so pages are small.
//!
//! A page is a sequence of records: slot (u8), flags (u8: 1 has edges, 2 has result), label; with edges: plan (16 bytes), discovery count and
//! ids, input count and per input spec, 0 and id, 1 and digest, or 2, id and digest; with result: key (32), output (32). Counts, ids and lengths are LEB128.
//! The row key is the page number, big-endian `u32`.
//!
//! A row of `Part::Links` contains for 256 records the data that every build needs: slot (u8), flags (u8), 32 bits of the label's digest
//! (little-endian), count and ids of the nodes read, deciding nodes first. It follows from the records and is written with them. The stale set is
//! in `Part::State`.

use super::lookups::{LookupTable, SharedLookups};
use super::numbers::{Cursor, write_number};
use super::state_changes::StateChanges;
use super::{Brief, Edge, EdgeFrom, Edges, Graph, Node, NodeId, NodeResult, Page, PageSource, PlanDigest, Skeleton, StoredReads};
use crate::values::digest::{ActionKey, Digest};
use std::ops::Range;
use std::sync::Arc;

/// Number of nodes per row of records.
pub const RECORDS: u32 = 64;

/// Number of nodes per row of links; every build that does anything reads all of these.
pub const LINKS: u32 = 256;

/// A row of the view: key and body, `None` to remove it.
pub type ViewRow = (Vec<u8>, Option<Vec<u8>>);

impl Graph {
    /// Builds a graph from its link rows and its stale set; records are read from `source`, lookups from `lookups`, on demand. `None` if a row is
    /// malformed; then everything must be planned again.
    pub fn from_rows(rows: &[(Vec<u8>, Vec<u8>)], stale: &[u8], source: PageSource, lookups: PageSource) -> Option<Self> {
        Self::from_skeleton(Skeleton::from_rows(rows)?, stale, source, lookups)
    }

    /// As [`Self::from_rows`], from decoded link rows. `None` if the stale set is malformed.
    pub fn from_skeleton(skeleton: Skeleton, stale: &[u8], source: PageSource, lookups: PageSource) -> Option<Self> {
        let mut graph = Self {
            stale: super::stale::NodeSet::from_bytes(stale)?,
            lookups: LookupTable::stored(lookups),
            briefs: skeleton.briefs,
            free: skeleton.free,
            by_label: skeleton.by_label,
            stored: skeleton.stored,
            source: Some(source),
            ..Self::default()
        };
        graph.state_changes.had_stale = !graph.stale.is_empty();
        graph
            .pages
            .resize_with(graph.briefs.len().div_ceil(RECORDS as usize), std::cell::OnceCell::new);
        Some(graph)
    }

    /// Uses the rows of lookups that graphs over the same stored rows read.
    pub fn with_shared_lookups(mut self, shared: Option<SharedLookups>) -> Self {
        if let Some(shared) = shared {
            self.lookups.share(shared);
        }
        self
    }

    /// Creates an empty graph in place of unreadable pages, and rewrites or removes all of them.
    pub fn replacing(
        records: impl IntoIterator<Item = u32>,
        links: impl IntoIterator<Item = u32>,
        lookups: impl IntoIterator<Item = u32>,
    ) -> Self {
        Self {
            dirty_pages: records.into_iter().collect(),
            dirty_links: links.into_iter().collect(),
            dirty_stale: true,
            state_changes: StateChanges {
                had_stale: true,
                ..StateChanges::default()
            },
            lookups: LookupTable::replacing(lookups),
            ..Self::default()
        }
    }

    /// Reads a stored page. An unreadable or incomplete one marks the graph as damaged.
    pub(super) fn read_page(&self, number: u32) -> Page {
        let body = self.source.as_ref().and_then(|source| source(number)).unwrap_or_default();
        let mut page = Page::new(body);
        if place_records(&page.body, &mut page.records).is_none() {
            self.damaged.set(true);
        }
        let exists = |slot: u32| self.exists(NodeId(number * RECORDS + slot));
        if (0u32..)
            .zip(&page.records)
            .any(|(slot, record)| exists(slot) == record.place.is_empty())
        {
            self.damaged.set(true);
        }
        page
    }

    /// Decodes the record at a place in a page's body. One that is unreadable or contradicts the links becomes an empty node, and marks the graph
    /// as damaged.
    pub(super) fn read_record(&self, id: NodeId, body: &[u8], place: &Range<u32>) -> Node {
        let brief = self.briefs[id.index()];
        let mut cursor = Cursor(&body[place.start as usize..place.end as usize]);
        let node = cursor.byte().and_then(|_| read_node(&mut cursor)).filter(|node| {
            brief.label == super::hash(&node.label)
                && brief.has_result == node.result.is_some()
                && brief.has_edges == node.edges.is_some()
                && node.reads().eq(self.stored.reads(id).iter().copied())
        });
        node.unwrap_or_else(|| {
            self.damaged.set(true);
            Node {
                label: format!("//damaged/{}:node", id.0).into(),
                edges: None,
                result: None,
            }
        })
    }

    /// Calls `visit` with every node and its label, sorted by number. Decodes no record.
    pub fn each_label(&self, mut visit: impl FnMut(NodeId, &str)) {
        for id in self.ids() {
            self.with_label(id, |label| visit(id, label));
        }
    }

    /// Returns all nodes with 32 bits of the digests of their labels, sorted by number. Reads no page.
    pub fn label_hashes(&self) -> impl Iterator<Item = (NodeId, u32)> {
        self.ids().map(|id| (id, self.briefs[id.index()].label))
    }

    /// Calls `visit` with the label of an existing node, without decoding its record; `None` if the label is unreadable.
    pub fn with_label<T>(&self, id: NodeId, visit: impl FnOnce(&str) -> T) -> Option<T> {
        let page = self.page(id.0 / RECORDS);
        let record = &page.records[(id.0 % RECORDS) as usize];
        if let Some(node) = record.node.get() {
            return Some(visit(&node.label));
        }
        let label = label_of(&page.body[record.place.start as usize..record.place.end as usize]);
        if label.is_none() {
            self.damaged.set(true);
        }
        label.map(visit)
    }

    /// Whether nodes were added or removed, or read other nodes, since the graph was loaded.
    pub fn has_changed_links(&self) -> bool {
        !self.dirty_links.is_empty()
    }

    /// Estimates how many nodes changed since loading: all of the pages to write.
    pub fn dirty_nodes(&self) -> usize {
        self.dirty_pages.len() * RECORDS as usize
    }

    /// Takes the pages of records that changed since loading.
    pub fn take_dirty_pages(&mut self) -> Vec<ViewRow> {
        std::mem::take(&mut self.dirty_pages)
            .into_iter()
            .map(|page| self.page_row(page, RECORDS, Self::write_record))
            .collect()
    }

    /// Takes the link rows that changed since loading.
    pub fn take_dirty_links(&mut self) -> Vec<ViewRow> {
        std::mem::take(&mut self.dirty_links)
            .into_iter()
            .map(|page| self.page_row(page, LINKS, Self::write_links))
            .collect()
    }

    /// Takes the rows of lookups that changed since loading.
    pub fn take_changed_lookups(&mut self) -> Vec<ViewRow> {
        self.lookups.take_changed()
    }

    /// Takes the stale set, if it changed since loading.
    pub fn take_dirty_stale(&mut self) -> Option<Vec<u8>> {
        std::mem::take(&mut self.dirty_stale).then(|| self.stale.to_bytes())
    }

    fn page_row(&self, page: u32, size: u32, write: fn(&Self, &mut Vec<u8>, u8, NodeId)) -> ViewRow {
        let mut body = Vec::new();
        for (slot, id) in (0..=u8::MAX).zip(page * size..(page + 1) * size) {
            if self.exists(NodeId(id)) {
                write(self, &mut body, slot, NodeId(id));
            }
        }
        (page.to_be_bytes().to_vec(), (!body.is_empty()).then_some(body))
    }

    /// Writes a record, copying its stored bytes unless it was decoded.
    fn write_record(&self, body: &mut Vec<u8>, slot: u8, id: NodeId) {
        match self.known_record(id) {
            Some(node) => write_node(body, slot, flags(node.edges.is_some(), node.result.is_some()), node),
            None => {
                let page = self.page(id.0 / RECORDS);
                let place = &page.records[(id.0 % RECORDS) as usize].place;
                body.extend_from_slice(&page.body[place.start as usize..place.end as usize]);
            }
        }
    }

    fn write_links(&self, body: &mut Vec<u8>, slot: u8, id: NodeId) {
        let brief = self.briefs[id.index()];
        body.extend_from_slice(&[slot, flags(brief.has_edges, brief.has_result)]);
        body.extend_from_slice(&brief.label.to_le_bytes());
        let mut count = 0;
        self.each_read(id, |_| count += 1);
        write_number(body, count);
        self.each_read(id, |read| write_number(body, read.0));
    }
}

fn flags(has_edges: bool, has_result: bool) -> u8 {
    u8::from(has_edges) | u8::from(has_result) << 1
}

impl Skeleton {
    /// Decodes the link rows of a graph; `None` if one is malformed.
    pub fn from_rows(rows: &[(Vec<u8>, Vec<u8>)]) -> Option<Self> {
        let number = |key: &[u8]| Some(u32::from_be_bytes(key.try_into().ok()?));
        let pages = rows.last().map_or(Some(0), |(key, _)| number(key)?.checked_add(1))?;
        if pages > u32::MAX / LINKS {
            return None;
        }
        let bytes = rows.iter().map(|(_, body)| body.len()).sum();
        let nodes = pages as usize * LINKS as usize;
        // A read takes a byte or more. Memory that is reserved and not used costs nothing; growing costs a copy.
        let mut briefs = Vec::with_capacity(nodes);
        let mut stored = StoredReads {
            ends: Vec::with_capacity(nodes),
            reads: Vec::with_capacity(bytes),
        };
        let mut rows = rows.iter().peekable();
        for page in 0..pages {
            let row = rows.next_if(|(key, _)| number(key) == Some(page));
            read_links(&mut briefs, &mut stored, row.map_or(&[], |(_, body)| body))?;
        }
        if rows.next().is_some() {
            return None;
        }
        while briefs.last().is_some_and(|brief: &Brief| !brief.exists) {
            briefs.pop();
        }
        let bound = u32::try_from(briefs.len()).ok()?;
        let exists = |id: u32| briefs.get(id as usize).is_some_and(|brief| brief.exists);
        let mut by_label = hashbrown::HashTable::with_capacity(briefs.len());
        for id in (0..bound).filter(|&id| exists(id)) {
            super::insert_label(&mut by_label, &briefs, id);
        }
        let free = (0..bound).rev().filter(|&id| !exists(id)).collect();
        stored.reads.iter().all(|read| exists(read.0)).then(|| Self {
            free,
            by_label,
            stored: Arc::new(stored),
            briefs,
        })
    }
}

/// Appends a page of briefs and reads.
fn read_links(briefs: &mut Vec<Brief>, stored: &mut StoredReads, body: &[u8]) -> Option<()> {
    let mut cursor = Cursor(body);
    let first = briefs.len();
    let end = |stored: &StoredReads| u32::try_from(stored.reads.len()).ok();
    while let Some(slot) = cursor.byte() {
        let at = first + usize::from(slot);
        while briefs.len() < at {
            briefs.push(Brief::default());
            stored.ends.push(end(stored)?);
        }
        if briefs.len() != at {
            return None;
        }
        let flags = cursor.byte()?;
        let label = u32::from_le_bytes(cursor.array()?);
        briefs.push(Brief {
            exists: true,
            has_edges: flags & 1 != 0,
            has_result: flags & 2 != 0,
            label,
        });
        for _ in 0..cursor.read_count()? {
            stored.reads.push(NodeId(cursor.read_number()?));
        }
        stored.ends.push(end(stored)?);
    }
    while briefs.len() < first + LINKS as usize {
        briefs.push(Brief::default());
        stored.ends.push(end(stored)?);
    }
    Some(())
}

fn write_node(body: &mut Vec<u8>, slot: u8, flags: u8, node: &Node) {
    body.extend_from_slice(&[slot, flags]);
    write_number(body, node.label.len() as u32);
    body.extend_from_slice(node.label.as_bytes());
    if let Some(edges) = &node.edges {
        body.extend_from_slice(&edges.plan.0);
        write_number(body, edges.discovery.len() as u32);
        edges.discovery.iter().for_each(|id| write_number(body, id.0));
        write_number(body, edges.inputs.len() as u32);
        for edge in &edges.inputs {
            write_number(body, u32::from(edge.spec));
            match edge.from {
                EdgeFrom::Node(id) => {
                    body.push(0);
                    write_number(body, id.0);
                }
                EdgeFrom::Rows(digest) => {
                    body.push(1);
                    body.extend_from_slice(&digest.0);
                }
                EdgeFrom::RowsOf(id, digest) => {
                    body.push(2);
                    write_number(body, id.0);
                    body.extend_from_slice(&digest.0);
                }
            }
        }
    }
    if let Some(result) = &node.result {
        body.extend_from_slice(&result.key.0.0);
        body.extend_from_slice(&result.output.0);
    }
}

/// A record of a page, without its edges.
pub struct StoredRecord<'a> {
    /// Its slot in the page.
    pub slot: u8,
    /// Whether it has edges; leaves have none.
    pub is_planned: bool,
    pub label: &'a str,
    /// Its last output.
    pub result: Option<NodeResult>,
}

/// Calls `visit` with every record of a page; `None` if the body is malformed.
pub fn each_record(body: &[u8], mut visit: impl FnMut(&StoredRecord<'_>)) -> Option<()> {
    let mut cursor = Cursor(body);
    while let Some(slot) = cursor.byte() {
        let record = cursor.0;
        skip_node(&mut cursor)?;
        let mut cursor = Cursor(&record[..record.len() - cursor.0.len()]);
        let flags = cursor.byte()?;
        let len = cursor.read_count()?;
        let label = std::str::from_utf8(cursor.next_bytes(len)?).ok()?;
        let result = match flags & 2 {
            0 => None,
            _ => Some(result_at_the_end(cursor.0)?),
        };
        visit(&StoredRecord {
            slot,
            is_planned: flags & 1 != 0,
            label,
            result,
        });
    }
    Some(())
}

/// Reads the result in the last 64 bytes of a record.
fn result_at_the_end(record: &[u8]) -> Option<NodeResult> {
    let (rest, output) = record.split_last_chunk()?;
    let (_, key) = rest.split_last_chunk()?;
    Some(NodeResult {
        key: ActionKey(Digest(*key)),
        output: Digest(*output),
    })
}

/// Calls `visit` with the label and the last result of every node of a page that has one; `None` if the body is malformed.
pub fn each_result(body: &[u8], mut visit: impl FnMut(&str, &NodeResult)) -> Option<()> {
    each_record(body, |record| record.result.iter().for_each(|result| visit(record.label, result)))
}

/// Calls `visit` with the slot of every record in a row of links, and the [`short_hash`] of its label; `None` if the row is malformed.
pub fn each_link(body: &[u8], mut visit: impl FnMut(u8, u32)) -> Option<()> {
    let mut cursor = Cursor(body);
    while let Some(slot) = cursor.byte() {
        cursor.byte()?;
        visit(slot, u32::from_le_bytes(cursor.array()?));
        for _ in 0..cursor.read_count()? {
            cursor.read_number()?;
        }
    }
    Some(())
}

/// Returns the 32 bits of a label's digest used in rows of links.
pub fn short_hash(label: &str) -> u32 {
    super::hash(label)
}

fn label_of(record: &[u8]) -> Option<&str> {
    let mut cursor = Cursor(record);
    cursor.next_bytes(2)?;
    let len = cursor.read_count()?;
    std::str::from_utf8(cursor.next_bytes(len)?).ok()
}

/// Records the position of each record in a page's body; `None` if the body is malformed.
fn place_records(body: &[u8], records: &mut [super::NodeRecord]) -> Option<()> {
    let mut cursor = Cursor(body);
    loop {
        let start = body.len() - cursor.0.len();
        let Some(slot) = cursor.byte() else { return Some(()) };
        skip_node(&mut cursor)?;
        let end = body.len() - cursor.0.len();
        records.get_mut(usize::from(slot))?.place = u32::try_from(start).ok()?..u32::try_from(end).ok()?;
    }
}

/// Skips what [`read_node`] reads.
fn skip_node(cursor: &mut Cursor<'_>) -> Option<()> {
    let flags = cursor.byte()?;
    let len = cursor.read_count()?;
    cursor.next_bytes(len)?;
    if flags & 1 != 0 {
        cursor.next_bytes(16)?;
        for _ in 0..cursor.read_count()? {
            cursor.read_number()?;
        }
        for _ in 0..cursor.read_count()? {
            cursor.read_number()?;
            match cursor.byte()? {
                0 => drop(cursor.read_number()?),
                1 => drop(cursor.next_bytes(32)?),
                2 => {
                    cursor.read_number()?;
                    cursor.next_bytes(32)?;
                }
                _ => return None,
            }
        }
    }
    if flags & 2 != 0 {
        cursor.next_bytes(64)?;
    }
    Some(())
}

fn read_node(cursor: &mut Cursor<'_>) -> Option<Node> {
    let flags = cursor.byte()?;
    let len = cursor.read_count()?;
    let label: Arc<str> = std::str::from_utf8(cursor.next_bytes(len)?).ok()?.into();
    let edges = if flags & 1 == 0 {
        None
    } else {
        let plan = PlanDigest(cursor.array()?);
        let discovery = (0..cursor.read_count()?)
            .map(|_| cursor.read_number().map(NodeId))
            .collect::<Option<_>>()?;
        let inputs = (0..cursor.read_count()?).map(|_| read_edge(cursor)).collect::<Option<_>>()?;
        Some(Arc::new(Edges { plan, discovery, inputs }))
    };
    let result = if flags & 2 == 0 {
        None
    } else {
        Some(NodeResult {
            key: ActionKey(Digest(cursor.array()?)),
            output: Digest(cursor.array()?),
        })
    };
    Some(Node { label, edges, result })
}

fn read_edge(cursor: &mut Cursor<'_>) -> Option<Edge> {
    let spec = u16::try_from(cursor.read_number()?).ok()?;
    let from = match cursor.byte()? {
        0 => EdgeFrom::Node(NodeId(cursor.read_number()?)),
        1 => EdgeFrom::Rows(Digest(cursor.array()?)),
        2 => EdgeFrom::RowsOf(NodeId(cursor.read_number()?), Digest(cursor.array()?)),
        _ => return None,
    };
    Some(Edge { spec, from })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn same(a: &Graph, b: &Graph) -> bool {
        a.iter().count() == b.iter().count()
            && a.iter()
                .zip(b.iter())
                .all(|((ia, na), (ib, nb))| ia == ib && na.label == nb.label && na.edges == nb.edges && na.result == nb.result)
            && a.stale().eq(b.stale())
    }

    type Rows = std::collections::BTreeMap<Vec<u8>, Vec<u8>>;

    fn reload(records: &Rows, links: &Rows, stale: &[u8]) -> Option<Graph> {
        let links: Vec<_> = links.iter().map(|(key, body)| (key.clone(), body.clone())).collect();
        let records = records.clone();
        Graph::from_rows(
            &links,
            stale,
            Box::new(move |page| records.get(page.to_be_bytes().as_slice()).cloned()),
            Box::new(|_| None),
        )
    }

    fn apply_changes(rows: &mut Rows, changes: Vec<ViewRow>) {
        for (key, body) in changes {
            match body {
                Some(body) => rows.insert(key, body),
                None => rows.remove(&key),
            };
        }
    }

    proptest! {
        #[test]
        fn a_graph_survives_its_pages(steps in proptest::collection::vec((0u8..5, 0u32..600, 0u32..600), 1..400), flip: u16) {
            let mut graph = Graph::default();
            let (mut rows, mut links) = (Rows::new(), Rows::new());
            let mut stale = Vec::new();
            for (step, (kind, a, b)) in steps.iter().enumerate() {
                let id = graph.intern(&format!("//n/{a}:x"));
                let other = graph.intern(&format!("//n/{b}:x"));
                match kind {
                    0 => { graph.settle(id, NodeResult { key: ActionKey(Digest::of(&a.to_le_bytes())), output: Digest::of(&b.to_le_bytes()) }); }
                    1 => graph.rewire(id, Edges { plan: PlanDigest([*a as u8; 16]), discovery: [other].into(), inputs: [Edge { spec: 7, from: EdgeFrom::Node(other) }, Edge { spec: 300, from: EdgeFrom::Rows(Digest::of(b"r")) }, Edge { spec: 301, from: EdgeFrom::RowsOf(other, Digest::of(b"r")) }].into() }),
                    2 if !graph.iter().any(|(_, node)| node.reads().any(|read| read == id)) => graph.remove(id),
                    3 => graph.set_stale(id, false),
                    _ => {}
                }
                if step % 50 == 0 || step + 1 == steps.len() {
                    apply_changes(&mut rows, graph.take_dirty_pages());
                    apply_changes(&mut links, graph.take_dirty_links());
                    if let Some(bits) = graph.take_dirty_stale() { stale = bits; }
                    let loaded = reload(&rows, &links, &stale).expect("sound");
                    prop_assert!(same(&graph, &loaded));
                    prop_assert!(graph.iter().all(|(id, node)| loaded.find(&node.label) == Some(id)));
                    prop_assert!(!loaded.is_damaged());
                    prop_assert!(loaded.find("//n/none:x").is_none());
                }
            }
            // Records that were never used are written unchanged.
            let mut loaded = reload(&rows, &links, &stale).expect("sound");
            let Some(first) = loaded.ids().next() else { return Ok(()) };
            loaded.settle(first, NodeResult { key: ActionKey(Digest::of(b"k")), output: Digest::of(b"o") });
            loaded.intern("//n/new:x");
            apply_changes(&mut rows, loaded.take_dirty_pages());
            apply_changes(&mut links, loaded.take_dirty_links());
            let again = reload(&rows, &links, &loaded.stale.to_bytes()).expect("sound");
            prop_assert!(same(&loaded, &again) && !again.is_damaged());
            stale = loaded.stale.to_bytes();
            // Damage is refused, or detected when the record is read; never a panic.
            let sound = rows.clone();
            if let Some(body) = if flip % 2 == 0 { rows.values_mut().next() } else { links.values_mut().next() } {
                let at = usize::from(flip) % body.len();
                body[at] ^= 1 << (flip % 8);
            }
            if let Some(loaded) = reload(&rows, &links, &stale) {
                let known = reload(&sound, &links, &stale).is_some_and(|known| same(&known, &loaded));
                prop_assert!(loaded.iter().count() == loaded.len() && (known || loaded.is_damaged() || rows != sound));
            }
        }
    }
}
