//! The graph of nodes: their inputs, the action key of their last output, and their stale marks.
//!
//! [`Graph`] is the only place that adds nodes, replaces edges and changes stale marks. It knows no rule and no producer. petgraph stays in this
//! folder.

pub mod lookups;
mod numbers;
pub mod pages;
pub mod runs;
pub mod stale;
pub mod state_changes;
pub mod walk;

use crate::values::digest::{ActionKey, Digest};
use hashbrown::HashTable;
use std::cell::{Cell, OnceCell};
use std::sync::Arc;

/// Number of a node within its view. Freed numbers are reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub u32);

impl NodeId {
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A node's last known output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeResult {
    /// Its action key; zero for leaves, whose output is a fact of the tree.
    pub key: ActionKey,
    pub output: Digest,
}

/// Digest of how a node's inputs were found: equal plans mean equal inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct PlanDigest(pub [u8; 16]);

/// Edges to a node's inputs and the nodes that decided them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edges {
    /// The plan these edges came from.
    pub plan: PlanDigest,
    /// Nodes that decided the inputs.
    pub discovery: Box<[NodeId]>,
    /// Inputs: index of the rule's input, and the node or the digest of the chosen rows.
    pub inputs: Box<[Edge]>,
}

/// One input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Index into the rule's inputs.
    pub spec: u16,
    pub from: EdgeFrom,
}

/// Source of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EdgeFrom {
    /// The output of a node.
    Node(NodeId),
    /// Rows of a table among the discovery nodes: their digest.
    Rows(Digest),
    /// Rows of the table that is the output of a discovery node, one of several: the node and the digest of the rows.
    RowsOf(NodeId, Digest),
}

/// A node with its edges and last output.
#[derive(Clone, Debug)]
pub struct Node {
    pub label: Arc<str>,
    /// Its edges when last planned; `None` for leaves and nodes never planned.
    pub edges: Option<Arc<Edges>>,
    /// Its last output; kept until another one replaces it.
    pub result: Option<NodeResult>,
}

/// All nodes of a view. Labels' hashes and edges are in memory; records are read page by page on demand.
#[derive(Default)]
pub struct Graph {
    briefs: Vec<Brief>,
    stored: Arc<StoredReads>,
    source: Option<PageSource>,
    pages: Vec<OnceCell<Page>>,
    free: Vec<u32>,
    by_label: HashTable<u32>,
    stale: stale::NodeSet,
    dirty_pages: std::collections::BTreeSet<u32>,
    dirty_links: std::collections::BTreeSet<u32>,
    dirty_stale: bool,
    state_changes: state_changes::StateChanges,
    lookups: lookups::LookupTable,
    damaged: Cell<bool>,
}

#[derive(Default)]
struct Page {
    /// The stored bytes.
    body: Vec<u8>,
    records: Vec<NodeRecord>,
}

/// A record, decoded on demand: most of a page's are never used.
#[derive(Clone, Default)]
struct NodeRecord {
    /// Its range in the page's body; empty if it is not there.
    place: std::ops::Range<u32>,
    node: OnceCell<Box<Node>>,
}

/// Facts about a node without its record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Brief {
    exists: bool,
    has_edges: bool,
    has_result: bool,
    label: u32,
}

#[derive(Default)]
struct StoredReads {
    /// By node: end of its range in `reads`.
    ends: Vec<u32>,
    reads: Vec<NodeId>,
}

/// A graph's decoded link rows: nodes and edges. Several graphs can start from the same one.
#[derive(Clone, Default)]
pub struct Skeleton {
    briefs: Vec<Brief>,
    free: Vec<u32>,
    by_label: HashTable<u32>,
    stored: Arc<StoredReads>,
}

/// Reads the stored records of a page.
pub type PageSource = Box<dyn Fn(u32) -> Option<Vec<u8>> + Send>;

/// 32 bits of a label's digest: enough to find candidates, whose labels are then compared.
fn hash(label: &str) -> u32 {
    let [a, b, c, d, ..] = Digest::of(label.as_bytes()).0;
    u32::from_le_bytes([a, b, c, d])
}

/// Inserts a node into a table of labels.
fn insert_label(by_label: &mut HashTable<u32>, briefs: &[Brief], id: u32) {
    by_label.insert_unique(spread(briefs[id as usize].label), id, |&id| spread(briefs[id as usize].label));
}

/// Spreads a label hash over the bits that the table uses.
fn spread(hash: u32) -> u64 {
    u64::from(hash).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

impl Graph {
    /// Returns the number of nodes.
    pub fn len(&self) -> usize {
        self.briefs.len() - self.free.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the highest number in use plus one.
    pub fn bound(&self) -> usize {
        self.briefs.len()
    }

    /// Whether a page of records could not be read. Then discard everything decided since and start again with [`Graph::replacing`].
    pub fn is_damaged(&self) -> bool {
        self.damaged.get()
    }

    /// Returns all nodes, sorted by number.
    pub fn ids(&self) -> impl Iterator<Item = NodeId> {
        (0u32..)
            .zip(&self.briefs)
            .filter(|(_, brief)| brief.exists)
            .map(|(id, _)| NodeId(id))
    }

    /// Returns all nodes, sorted by number. Reads all records.
    pub fn iter(&self) -> impl Iterator<Item = (NodeId, &Node)> {
        self.ids().filter_map(|id| self.get(id).map(|node| (id, node)))
    }

    /// Returns the nodes that have been planned, sorted by number.
    pub fn planned(&self) -> impl Iterator<Item = NodeId> {
        self.ids().filter(|id| self.briefs[id.index()].has_edges)
    }

    /// Whether the number is in use.
    pub fn exists(&self, id: NodeId) -> bool {
        self.briefs.get(id.index()).is_some_and(|brief| brief.exists)
    }

    /// Whether the node has been planned. Leaves never are.
    pub fn is_planned(&self, id: NodeId) -> bool {
        self.briefs.get(id.index()).is_some_and(|brief| brief.has_edges)
    }

    pub fn has_result(&self, id: NodeId) -> bool {
        self.briefs.get(id.index()).is_some_and(|brief| brief.has_result)
    }

    /// Returns the node of that number, if in use.
    pub fn get(&self, id: NodeId) -> Option<&Node> {
        if !self.exists(id) {
            return None;
        }
        let page = self.page(id.0 / pages::RECORDS);
        let record = &page.records[(id.0 % pages::RECORDS) as usize];
        Some(
            record
                .node
                .get_or_init(|| Box::new(self.read_record(id, &page.body, &record.place))),
        )
    }

    fn page(&self, number: u32) -> &Page {
        self.pages[number as usize].get_or_init(|| self.read_page(number))
    }

    /// Returns the node of that number.
    ///
    /// # Panics
    /// If the number is not in use.
    pub fn node(&self, id: NodeId) -> &Node {
        self.get(id).expect("invariant: node numbers come from this graph")
    }

    fn record_mut(&mut self, id: NodeId) -> &mut NodeRecord {
        let number = id.0 / pages::RECORDS;
        self.page(number);
        let page = self.pages[number as usize].get_mut().expect("invariant: the page was just read");
        &mut page.records[(id.0 % pages::RECORDS) as usize]
    }

    fn node_mut(&mut self, id: NodeId) -> &mut Node {
        self.node(id);
        let node = self.record_mut(id).node.get_mut();
        node.expect("invariant: the record was just taken apart")
    }

    /// Reads all unread pages: from here on other processes may change the stored ones.
    pub fn read_all(&mut self) {
        for number in 0..self.pages.len() {
            self.page(u32::try_from(number).expect("invariant: fewer than 2^32 nodes"));
        }
        self.lookups.read_all(self.briefs.len());
    }

    pub fn find(&self, label: &str) -> Option<NodeId> {
        let wanted = hash(label);
        let is = |&id: &u32| self.briefs[id as usize].label == wanted && self.with_label(NodeId(id), |known| known == label) == Some(true);
        self.by_label.find(spread(wanted), is).map(|&id| NodeId(id))
    }

    /// Returns the node of that label, adding it without result if new. New nodes are stale.
    pub fn intern(&mut self, label: &str) -> NodeId {
        if let Some(id) = self.find(label) {
            return id;
        }
        let id = self.free.pop().unwrap_or_else(|| {
            self.briefs.push(Brief::default());
            u32::try_from(self.briefs.len() - 1).expect("invariant: fewer than 2^32 nodes")
        });
        if self.pages.len() <= (id / pages::RECORDS) as usize {
            self.pages.push(OnceCell::from(Page::new(Vec::new())));
        }
        *self.record_mut(NodeId(id)) = NodeRecord::new(Node {
            label: label.into(),
            edges: None,
            result: None,
        });
        self.briefs[id as usize] = Brief {
            exists: true,
            label: hash(label),
            ..Brief::default()
        };
        self.index(id);
        self.dirty_links.insert(id / pages::LINKS);
        self.dirty_stale |= self.stale.set(NodeId(id), true);
        self.touch(NodeId(id));
        NodeId(id)
    }

    fn index(&mut self, id: u32) {
        insert_label(&mut self.by_label, &self.briefs, id);
    }

    /// Removes a node. Its readers must be stale or removed.
    pub fn remove(&mut self, id: NodeId) {
        if !self.exists(id) {
            return;
        }
        let label = self.briefs[id.index()].label;
        if let Ok(entry) = self.by_label.find_entry(spread(label), |&known| known == id.0) {
            entry.remove();
        }
        *self.record_mut(id) = NodeRecord::default();
        self.briefs[id.index()] = Brief::default();
        self.free.push(id.0);
        self.state_changes.has_removed = true;
        self.lookups.set_lookups(id, None);
        self.set_stale(id, false);
        self.touch(id);
        self.dirty_links.insert(id.0 / pages::LINKS);
    }

    /// Records a new result and clears the stale mark. Returns the replaced result, if it differs.
    pub fn settle(&mut self, id: NodeId, result: NodeResult) -> Option<NodeResult> {
        let node = self.node_mut(id);
        let previous = node.result.replace(result);
        if previous != Some(result) {
            self.touch(id);
            self.state_changes.results.insert(id);
        }
        if previous.is_none() {
            self.state_changes.appeared.insert(id);
            self.briefs[id.index()].has_result = true;
            self.dirty_links.insert(id.0 / pages::LINKS);
        }
        self.set_stale(id, false);
        previous.filter(|previous| *previous != result)
    }

    /// Forgets a node's result and marks the node as stale: it is looked up or built again.
    pub fn forget_result(&mut self, id: NodeId) {
        if self.has_result(id) {
            self.node_mut(id).result = None;
            self.state_changes.results.insert(id);
            self.state_changes.appeared.insert(id);
            self.briefs[id.index()].has_result = false;
            self.dirty_links.insert(id.0 / pages::LINKS);
            self.touch(id);
        }
        self.set_stale(id, true);
    }

    /// Replaces a node's edges.
    pub fn rewire(&mut self, id: NodeId, edges: Edges) {
        let node = self.node_mut(id);
        if node.edges.as_deref() == Some(&edges) {
            return;
        }
        let same_reads = node
            .edges
            .as_ref()
            .is_some_and(|known| known.discovery == edges.discovery && known.input_nodes().eq(edges.input_nodes()));
        node.edges = Some(Arc::new(edges));
        self.touch(id);
        if !same_reads {
            self.briefs[id.index()].has_edges = true;
            self.dirty_links.insert(id.0 / pages::LINKS);
        }
    }

    /// Records the lookups made when a node's inputs were found. If they differ from those of the recorded edges, these no longer count as those of
    /// their plan: unless the node settles with its new edges, the next build finds its inputs and lookups again.
    pub fn set_lookups(&mut self, id: NodeId, lookups: lookups::LookupSet) {
        let differ = self.lookups.set_lookups(id, Some(lookups.into_hashes()));
        if let Some(edges) = self.node_mut(id).edges.as_mut().filter(|_| differ) {
            Arc::make_mut(edges).plan = PlanDigest::default();
            self.touch(id);
        }
    }

    /// Returns the lookups made when a node's inputs were found, as [`lookups::hash`]es; `None` if unknown.
    pub fn lookups(&mut self, id: NodeId) -> Option<&[lookups::StoredHash]> {
        self.lookups.lookups_of_node(id)
    }

    /// Calls `each` with every node that `id` reads, repeats possible, without decoding its record.
    pub fn each_read(&self, id: NodeId, each: impl FnMut(NodeId)) {
        match self.known_record(id) {
            Some(node) => node.reads().for_each(each),
            // The loaded edges of a removed node are invalid.
            None if !self.exists(id) => {}
            None => self.stored.reads(id).iter().copied().for_each(each),
        }
    }

    /// Returns the nodes that `id` reads, repeats possible.
    pub fn reads(&self, id: NodeId) -> Vec<NodeId> {
        let mut reads = Vec::new();
        self.each_read(id, |read| reads.push(read));
        reads
    }

    /// Returns the record of a node if it was decoded or created since the graph was loaded.
    fn known_record(&self, id: NodeId) -> Option<&Node> {
        let page = self.pages.get((id.0 / pages::RECORDS) as usize)?.get()?;
        page.records[(id.0 % pages::RECORDS) as usize].node.get().map(|node| &**node)
    }

    /// Whether a direct input changed since the node's result was recorded (or it has none). Its direct and indirect readers may be stale, too: see
    /// [`stale::spread_stale_marks`].
    pub fn is_stale(&self, id: NodeId) -> bool {
        self.stale.contains(id)
    }

    /// Sets or clears a node's stale mark.
    pub fn set_stale(&mut self, id: NodeId, stale: bool) {
        self.dirty_stale |= self.stale.set(id, stale);
    }

    /// Returns the changes that may affect the states of nodes.
    pub fn state_changes(&self) -> &state_changes::StateChanges {
        &self.state_changes
    }

    /// Clears [`Self::state_changes`], because everything that shows states shows the present ones.
    pub fn forget_state_changes(&mut self) {
        self.state_changes = state_changes::StateChanges {
            had_stale: !self.stale.is_empty(),
            ..Default::default()
        };
    }

    pub fn stale_set(&self) -> &stale::NodeSet {
        &self.stale
    }

    /// Returns the stale nodes, sorted.
    pub fn stale(&self) -> impl Iterator<Item = NodeId> {
        self.stale.iter()
    }

    /// Leaks the records of the graph. A command calls it before its process ends: freeing millions of records takes time. The sources of
    /// rows, which keep the store open, are dropped.
    pub fn leak(self) {
        let Self {
            briefs, pages, by_label, ..
        } = self;
        std::mem::forget((briefs, pages, by_label));
    }

    fn touch(&mut self, id: NodeId) {
        self.dirty_pages.insert(id.0 / pages::RECORDS);
    }
}

impl Page {
    /// Creates a page with this body, without positions of records.
    fn new(body: Vec<u8>) -> Self {
        Self {
            body,
            records: vec![NodeRecord::default(); pages::RECORDS as usize],
        }
    }
}

impl NodeRecord {
    /// Creates a record that is not stored yet.
    fn new(node: Node) -> Self {
        Self {
            node: OnceCell::from(Box::new(node)),
            ..Self::default()
        }
    }
}

impl StoredReads {
    /// Returns the reads of a node; empty if it was not stored.
    fn reads(&self, id: NodeId) -> &[NodeId] {
        let Some(&end) = self.ends.get(id.index()) else { return &[] };
        let start = id.index().checked_sub(1).map_or(0, |before| self.ends[before] as usize);
        &self.reads[start..end as usize]
    }
}

impl Edges {
    /// The nodes among the inputs, in order, repeats possible.
    pub fn input_nodes(&self) -> impl DoubleEndedIterator<Item = NodeId> {
        self.inputs.iter().filter_map(|edge| match edge.from {
            EdgeFrom::Node(id) => Some(id),
            EdgeFrom::Rows(_) | EdgeFrom::RowsOf(..) => None,
        })
    }

    /// Returns the tables of lists of rows, repeats possible. They are in the discovery, named by other nodes of it.
    pub fn tables(&self) -> impl DoubleEndedIterator<Item = NodeId> {
        self.inputs.iter().filter_map(|edge| match edge.from {
            EdgeFrom::RowsOf(id, _) => Some(id),
            EdgeFrom::Node(_) | EdgeFrom::Rows(_) => None,
        })
    }
}

impl Node {
    /// Returns all nodes that it reads or was decided by, discovery first, repeats possible.
    pub fn reads(&self) -> impl Iterator<Item = NodeId> {
        self.edges
            .iter()
            .flat_map(|edges| edges.discovery.iter().copied().chain(edges.input_nodes()))
    }
}
