//! Outputs that producers returned while they requested rows, in memory until they are due.

use crate::graph::NodeId;
use crate::seams::producer::Output;
use crate::values::digest::Digest;
use rustc_hash::FxHashMap;
use std::sync::{Mutex, PoisonError};

/// Outputs that producers returned along with their requests, before the keys were known: by node and digest of the rows.
#[derive(Default)]
pub struct EarlyOutputs(Mutex<FxHashMap<(NodeId, Digest), Output>>);

/// Maximum number of early outputs in memory.
const MOST_HELD: usize = 4_096;

impl EarlyOutputs {
    /// Stores the output of a node in memory.
    pub fn insert_output(&self, node: NodeId, rows: Digest, output: Output) {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if held.len() >= MOST_HELD {
            // Most of these belong to nodes whose results were cached; the others run their producers.
            held.clear();
        }
        held.insert((node, rows), output);
    }

    pub fn take(&self, node: NodeId, rows: Digest) -> Option<Output> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&(node, rows))
    }
}
