//! Graph pages: how node records are stored, 256 to a row of `Part::Nodes`.
//!
//! A page is a sequence of records: slot (u8), flags (u8: 1 has edges, 2 has result), label; with edges: plan (16 bytes), discovery count and
//! ids, input count and per input spec, 0 and id or 1 and digest; with result: key (32), output (32). Counts, ids and lengths are LEB128.
//! The row key is the page number, big-endian `u32`. The stale set and the freed numbers follow from the rows of `Part::State`.

use super::{Edge, EdgeFrom, Edges, Graph, Node, NodeId, PlanDigest, Filed};
use crate::values::digest::{ActionKey, Digest};
use rayon::prelude::*;
use std::sync::Arc;

/// Nodes to a page.
pub const PAGE: u32 = 256;

/// A row of the view: key and body, `None` to remove it.
pub type Row = (Vec<u8>, Option<Vec<u8>>);

impl Graph {
    /// Rebuilds a graph from its pages and its stale set; `None` when a page is malformed, in which case everything is to be planned anew.
    pub fn load(rows: &[(Vec<u8>, Vec<u8>)], stale: &[u8]) -> Option<Self> {
        let pages: Option<Vec<(u32, Vec<(u8, Node)>)>> = rows
            .par_iter()
            .map(|(key, body)| Some((u32::from_be_bytes(key.as_slice().try_into().ok()?), read_page(body)?)))
            .collect();
        let pages = pages?;
        let count: usize = pages.iter().map(|(_, nodes)| nodes.len()).sum();
        let bound = pages.last().map_or(0, |(page, _)| (*page as usize + 1) * PAGE as usize);
        let mut graph = Self { stale: super::stale::StaleSet::from_bytes(stale)?, ..Self::default() };
        graph.nodes.resize_with(bound, || None);
        graph.by_label.reserve(count, |_| 0);
        for (page, nodes) in pages {
            for (slot, node) in nodes {
                let id = page * PAGE + u32::from(slot);
                graph.nodes[id as usize] = Some(node);
                graph.index(id);
            }
        }
        while graph.nodes.last().is_some_and(Option::is_none) {
            graph.nodes.pop();
        }
        graph.free = (0..graph.nodes.len() as u32).rev().filter(|&id| graph.nodes[id as usize].is_none()).collect();
        let bound = graph.bound();
        let sound = graph.iter().all(|(_, node)| node.reads().all(|read| read.index() < bound && graph.get(read).is_some()));
        sound.then_some(graph)
    }

    /// The pages that changed since loading, and afterwards none.
    pub fn take_dirty_pages(&mut self) -> Vec<Row> {
        std::mem::take(&mut self.dirty_pages).into_iter().map(|page| (page.to_be_bytes().to_vec(), self.write_page(page))).collect()
    }

    /// The stale set if it changed since loading.
    pub fn take_dirty_stale(&mut self) -> Option<Vec<u8>> {
        std::mem::take(&mut self.dirty_stale).then(|| self.stale.to_bytes())
    }

    fn write_page(&self, page: u32) -> Option<Vec<u8>> {
        let mut body = Vec::new();
        for slot in 0..PAGE {
            if let Some(node) = self.get(NodeId(page * PAGE + slot)) {
                write_node(&mut body, slot as u8, node);
            }
        }
        (!body.is_empty()).then_some(body)
    }
}

fn write_node(body: &mut Vec<u8>, slot: u8, node: &Node) {
    body.push(slot);
    body.push(u8::from(node.edges.is_some()) | u8::from(node.result.is_some()) << 1);
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
            }
        }
    }
    if let Some(result) = &node.result {
        body.extend_from_slice(&result.key.0.0);
        body.extend_from_slice(&result.output.0);
    }
}

fn write_number(body: &mut Vec<u8>, mut number: u32) {
    while number >= 0x80 {
        body.push(number as u8 | 0x80);
        number >>= 7;
    }
    body.push(number as u8);
}

struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn byte(&mut self) -> Option<u8> {
        let (&byte, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(byte)
    }

    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    fn number(&mut self) -> Option<u32> {
        let mut number = 0u32;
        for shift in (0..35).step_by(7) {
            let byte = self.byte()?;
            number |= u32::from(byte & 0x7f).checked_shl(shift)?;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    /// A count of things of at least one byte each, so that a damaged count cannot ask for more memory than the page has bytes.
    fn count(&mut self) -> Option<usize> {
        self.number().map(|count| count as usize).filter(|count| *count <= self.0.len())
    }
}

fn read_page(body: &[u8]) -> Option<Vec<(u8, Node)>> {
    let mut cursor = Cursor(body);
    let mut nodes = Vec::with_capacity(PAGE as usize);
    while let Some(slot) = cursor.byte() {
        nodes.push((slot, read_node(&mut cursor)?));
    }
    Some(nodes)
}

fn read_node(cursor: &mut Cursor<'_>) -> Option<Node> {
    let flags = cursor.byte()?;
    let len = cursor.count()?;
    let label: Arc<str> = std::str::from_utf8(cursor.take(len)?).ok()?.into();
    let edges = if flags & 1 == 0 {
        None
    } else {
        let plan = PlanDigest(cursor.array()?);
        let discovery = (0..cursor.count()?).map(|_| cursor.number().map(NodeId)).collect::<Option<_>>()?;
        let inputs = (0..cursor.count()?).map(|_| read_edge(cursor)).collect::<Option<_>>()?;
        Some(Arc::new(Edges { plan, discovery, inputs }))
    };
    let result = if flags & 2 == 0 {
        None
    } else {
        Some(Filed { key: ActionKey(Digest(cursor.array()?)), output: Digest(cursor.array()?) })
    };
    Some(Node { label, edges, result })
}

fn read_edge(cursor: &mut Cursor<'_>) -> Option<Edge> {
    let spec = u16::try_from(cursor.number()?).ok()?;
    let from = match cursor.byte()? {
        0 => EdgeFrom::Node(NodeId(cursor.number()?)),
        1 => EdgeFrom::Rows(Digest(cursor.array()?)),
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
            && a.iter().zip(b.iter()).all(|((ia, na), (ib, nb))| ia == ib && na.label == nb.label && na.edges == nb.edges && na.result == nb.result)
            && a.stale().eq(b.stale())
    }

    fn reload(rows: &std::collections::BTreeMap<Vec<u8>, Vec<u8>>, stale: &[u8]) -> Option<Graph> {
        let rows: Vec<_> = rows.iter().map(|(key, body)| (key.clone(), body.clone())).collect();
        Graph::load(&rows, stale)
    }

    proptest! {
        #[test]
        fn a_graph_survives_its_pages(steps in proptest::collection::vec((0u8..5, 0u32..600, 0u32..600), 1..400), flip: u16) {
            let mut graph = Graph::default();
            let mut rows = std::collections::BTreeMap::new();
            let mut stale = Vec::new();
            for (step, (kind, a, b)) in steps.iter().enumerate() {
                let id = graph.intern(&format!("//n/{a}:x"));
                let other = graph.intern(&format!("//n/{b}:x"));
                match kind {
                    0 => { graph.settle(id, Filed { key: ActionKey(Digest::of(&a.to_le_bytes())), output: Digest::of(&b.to_le_bytes()) }); }
                    1 => graph.rewire(id, Edges { plan: PlanDigest([*a as u8; 16]), discovery: [other].into(), inputs: [Edge { spec: 7, from: EdgeFrom::Node(other) }, Edge { spec: 300, from: EdgeFrom::Rows(Digest::of(b"r")) }].into() }),
                    2 if !graph.iter().any(|(_, node)| node.reads().any(|read| read == id)) => graph.remove(id),
                    3 => graph.set_stale(id, false),
                    _ => {}
                }
                if step % 50 == 0 || step + 1 == steps.len() {
                    for (key, body) in graph.take_dirty_pages() {
                        match body { Some(body) => rows.insert(key, body), None => rows.remove(&key) };
                    }
                    if let Some(bits) = graph.take_dirty_stale() { stale = bits; }
                    let loaded = reload(&rows, &stale).expect("sound");
                    prop_assert!(same(&graph, &loaded));
                    prop_assert!(graph.iter().all(|(id, node)| loaded.find(&node.label) == Some(id)));
                    prop_assert!(loaded.find("//n/none:x").is_none());
                }
            }
            // Damaged pages are refused or read, without a panic.
            if let Some(body) = rows.values_mut().next() {
                let at = usize::from(flip) % body.len();
                body[at] ^= 1 << (flip % 8);
            }
            let _ = reload(&rows, &stale);
        }
    }
}
