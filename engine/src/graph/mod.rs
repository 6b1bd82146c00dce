//! The graph of nodes: what each is made of, under which key its last output is filed, and which may be stale.
//!
//! [`Graph`] is the only place that adds nodes, replaces edges and moves stale marks. It knows no rule and no producer. petgraph stays
//! in this folder.

pub mod pages;
pub mod stale;
pub mod walk;

use crate::values::digest::{ActionKey, Digest};
use hashbrown::HashTable;
use rustc_hash::FxHasher;
use std::hash::Hasher;
use std::sync::Arc;

/// Number of a node within its view. Freed numbers are used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub u32);

impl NodeId {
    /// As an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// What was last found to be a node's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Filed {
    /// The key it is filed under; zero for leaves, whose output is a fact of the tree.
    pub key: ActionKey,
    /// Its digest.
    pub output: Digest,
}

/// How a node's inputs were found: equal plans mean equal inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct PlanDigest(pub [u8; 16]);

/// An edge to a node that this one reads or was decided by.
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
    /// What it reads.
    pub from: EdgeFrom,
}

/// What an edge reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EdgeFrom {
    /// The output of a node.
    Node(NodeId),
    /// Rows of a table among the discovery nodes: their digest.
    Rows(Digest),
}

/// A node.
#[derive(Clone, Debug)]
pub struct Node {
    /// Its label.
    pub label: Arc<str>,
    /// What it was made of when last planned; `None` for leaves and nodes never planned.
    pub edges: Option<Arc<Edges>>,
    /// Its last output; kept until a better one replaces it.
    pub result: Option<Filed>,
}

/// All nodes of a view.
#[derive(Default)]
pub struct Graph {
    nodes: Vec<Option<Node>>,
    free: Vec<u32>,
    by_label: HashTable<u32>,
    stale: stale::StaleSet,
    dirty_pages: std::collections::BTreeSet<u32>,
    dirty_stale: bool,
}

fn hash(label: &str) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(label.as_bytes());
    hasher.finish()
}

impl Graph {
    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.nodes.len() - self.free.len()
    }

    /// Whether there is no node.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One more than the highest number in use.
    pub fn bound(&self) -> usize {
        self.nodes.len()
    }

    /// All nodes by number.
    pub fn iter(&self) -> impl Iterator<Item = (NodeId, &Node)> {
        (0u32..).zip(&self.nodes).filter_map(|(id, node)| node.as_ref().map(|node| (NodeId(id), node)))
    }

    /// The node of that number, if it is in use.
    pub fn get(&self, id: NodeId) -> Option<&Node> {
        self.nodes.get(id.index()).and_then(Option::as_ref)
    }

    /// The node of that number.
    ///
    /// # Panics
    /// If the number is not in use.
    pub fn node(&self, id: NodeId) -> &Node {
        self.get(id).expect("invariant: node numbers come from this graph")
    }

    /// The node of that label.
    pub fn find(&self, label: &str) -> Option<NodeId> {
        self.by_label.find(hash(label), |&id| self.label_at(id) == Some(label)).map(|&id| NodeId(id))
    }

    fn label_at(&self, id: u32) -> Option<&str> {
        self.nodes[id as usize].as_ref().map(|node| &*node.label)
    }

    /// The node of that label, added without result if it is new. New nodes are stale.
    pub fn intern(&mut self, label: &str) -> NodeId {
        if let Some(id) = self.find(label) {
            return id;
        }
        let node = Some(Node { label: label.into(), edges: None, result: None });
        let id = if let Some(id) = self.free.pop() {
            self.nodes[id as usize] = node;
            id
        } else {
            self.nodes.push(node);
            u32::try_from(self.nodes.len() - 1).expect("invariant: fewer than 2^32 nodes")
        };
        self.index(id);
        self.set_stale(NodeId(id), true);
        self.touch(NodeId(id));
        NodeId(id)
    }

    fn index(&mut self, id: u32) {
        let nodes = &self.nodes;
        let label = |id: u32| nodes[id as usize].as_ref().map_or("", |node| &*node.label);
        self.by_label.insert_unique(hash(label(id)), id, |&id| hash(label(id)));
    }

    /// Takes a node away. Its readers must be stale or gone.
    pub fn remove(&mut self, id: NodeId) {
        let Some(label) = self.get(id).map(|node| node.label.clone()) else { return };
        if let Ok(entry) = self.by_label.find_entry(hash(&label), |&known| known == id.0) {
            entry.remove();
        }
        self.nodes[id.index()] = None;
        self.free.push(id.0);
        self.set_stale(id, false);
        self.touch(id);
    }

    /// Files a new result; the node is no longer stale. Returns the result it replaces, if it differs.
    pub fn settle(&mut self, id: NodeId, result: Filed) -> Option<Filed> {
        let node = self.nodes[id.index()].as_mut().expect("invariant: node numbers come from this graph");
        let previous = node.result.replace(result);
        if previous != Some(result) {
            self.touch(id);
        }
        self.set_stale(id, false);
        previous.filter(|previous| *previous != result)
    }

    /// Replaces what a node is made of.
    pub fn rewire(&mut self, id: NodeId, edges: Edges) {
        let node = self.nodes[id.index()].as_mut().expect("invariant: node numbers come from this graph");
        if node.edges.as_deref() != Some(&edges) {
            node.edges = Some(Arc::new(edges));
            self.touch(id);
        }
    }

    /// Whether something that the node reads directly moved since its result was filed (or it has none). What stands above it in the graph
    /// may be out of date too: see [`stale::taint`].
    pub fn is_stale(&self, id: NodeId) -> bool {
        self.stale.contains(id)
    }

    /// Marks or clears a node.
    pub fn set_stale(&mut self, id: NodeId, stale: bool) {
        self.dirty_stale |= self.stale.set(id, stale);
    }

    /// Everything that is marked, in order.
    pub fn stale(&self) -> impl Iterator<Item = NodeId> {
        self.stale.iter()
    }

    fn touch(&mut self, id: NodeId) {
        self.dirty_pages.insert(id.0 / pages::PAGE);
    }
}

impl Edges {
    /// The nodes among the inputs, in order, repeats possible.
    pub fn input_nodes(&self) -> impl DoubleEndedIterator<Item = NodeId> {
        self.inputs.iter().filter_map(|edge| match edge.from {
            EdgeFrom::Node(id) => Some(id),
            EdgeFrom::Rows(_) => None,
        })
    }
}

impl Node {
    /// All nodes it reads or was decided by, discovery first, repeats possible.
    pub fn reads(&self) -> impl Iterator<Item = NodeId> {
        self.edges.iter().flat_map(|edges| edges.discovery.iter().copied().chain(edges.input_nodes()))
    }
}
