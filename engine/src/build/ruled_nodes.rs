//! The nodes of a graph by the rules that produce them, for answers that count all of them. The rule of a node follows from its label, which is read
//! from a page of records; a service caches the result as long as the graph has the same nodes.

use crate::graph::NodeId;

/// The nodes that are targets of rules, sorted by number.
#[derive(Debug, Default)]
pub struct RuledNodes {
    pub ids: Vec<NodeId>,
    /// By node: the number of its rule.
    pub rules: Vec<u32>,
    /// By node: the value in its label of the first variable of its rule, as an index into `values`.
    pub value_of: Vec<u32>,
    /// All values of first variables, each once.
    pub values: Vec<Box<str>>,
}
