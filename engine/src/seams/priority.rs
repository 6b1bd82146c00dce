//! Priority: the order of targets that wait for a model. It changes the order in which money is spent, never a key or an output.

use std::collections::HashMap;

/// Weighs targets.
pub trait Priority: Send + Sync {
    /// Returns the label of the node whose output contains the weights.
    fn source(&self) -> &str;

    /// Reads the weights of targets by label from that output; a target without one is ordered by its readers in the graph.
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
