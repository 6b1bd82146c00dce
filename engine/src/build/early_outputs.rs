//! What workers found while they planned a node and need again when they produce its output, in memory until then.

use crate::graph::NodeId;
use crate::seams::producer::Output;
use crate::values::digest::Digest;
use rustc_hash::FxHashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Outputs that producers returned along with their requests, before the keys were known, and rows of tables that are inputs.
#[derive(Default)]
pub struct EarlyOutputs(Mutex<Early>);

#[derive(Default)]
struct Early {
    /// By node and digest of the requested rows.
    outputs: FxHashMap<(NodeId, Digest), Output>,
    rows: FxHashMap<NodeId, PlannedRows>,
    /// Bytes of `rows`.
    bytes: usize,
}

/// Rows of tables that are inputs of a node, by their digest.
pub type PlannedRows = Vec<(Digest, Arc<[u8]>)>;

/// Maximum number of early outputs in memory.
const MOST_HELD: usize = 4_096;

/// Maximum bytes of rows in memory.
const MOST_BYTES: usize = 16 << 20;

impl EarlyOutputs {
    fn lock(&self) -> MutexGuard<'_, Early> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stores the output of a node in memory.
    pub fn insert_output(&self, node: NodeId, rows: Digest, output: Output) {
        let held = &mut self.lock().outputs;
        if held.len() >= MOST_HELD {
            // Most of these belong to nodes whose results were cached; the others run their producers.
            held.clear();
        }
        held.insert((node, rows), output);
    }

    pub fn take(&self, node: NodeId, rows: Digest) -> Option<Output> {
        self.lock().outputs.remove(&(node, rows))
    }

    /// Stores the rows among the inputs of a node in memory.
    pub fn insert_rows(&self, node: NodeId, rows: PlannedRows) {
        let held = &mut *self.lock();
        let bytes = bytes_of(&rows);
        if held.bytes + bytes > MOST_BYTES {
            // Most of these belong to nodes whose results were cached; the others read the tables again.
            held.rows.clear();
            held.bytes = 0;
        }
        held.bytes += bytes;
        let former = held.rows.insert(node, rows);
        held.bytes -= former.map_or(0, |rows| bytes_of(&rows));
    }

    /// Takes the rows of a node.
    pub fn take_rows(&self, node: NodeId) -> PlannedRows {
        let held = &mut *self.lock();
        let rows = held.rows.remove(&node).unwrap_or_default();
        held.bytes -= bytes_of(&rows);
        rows
    }
}

fn bytes_of(rows: &[(Digest, Arc<[u8]>)]) -> usize {
    rows.iter().map(|(_, rows)| rows.len()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_held_until_taken_and_within_the_limit() {
        let held = EarlyOutputs::default();
        let rows = |length: usize| -> PlannedRows { vec![(Digest::of(b"rows"), Arc::from(vec![0; length]))] };
        held.insert_rows(NodeId(1), rows(3));
        held.insert_rows(NodeId(1), rows(5));
        assert_eq!(held.lock().bytes, 5);
        held.insert_rows(NodeId(2), rows(MOST_BYTES - 5));
        assert_eq!(held.take_rows(NodeId(1)), rows(5));
        assert!(held.take_rows(NodeId(1)).is_empty());
        held.insert_rows(NodeId(3), rows(6));
        assert!(held.take_rows(NodeId(2)).is_empty());
        assert_eq!(held.take_rows(NodeId(3)), rows(6));
        assert_eq!(held.lock().bytes, 0);
    }
}
