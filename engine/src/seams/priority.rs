//! Priority: which of the targets that wait for a model come first. It changes the order in which money is spent, never a key or an output.

use std::collections::HashMap;

/// Weighs targets.
pub trait Priority: Send + Sync {
    /// The label of the node whose output the weights are read from.
    fn source(&self) -> &str;

    /// The weights of targets by label, of that output; what has none goes by its readers in the graph.
    fn weights(&self, output: &[u8]) -> HashMap<String, f64>;
}

/// Weighs nothing.
pub struct Unweighted;

impl Priority for Unweighted {
    fn source(&self) -> &str {
        ""
    }

    fn weights(&self, _: &[u8]) -> HashMap<String, f64> {
        HashMap::new()
    }
}
