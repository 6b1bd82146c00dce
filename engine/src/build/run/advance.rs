//! Advance: changes spread upwards by height, so that what no change reaches is never looked at (early cutoff).
//!
//! Stale nodes are settled lowest first. A node whose output moved makes its direct readers stale; one whose output is the same stops
//! there. When all stale nodes below a height are settled, every node up to that height that is not stale itself stands as filed.

use super::{Run, RunError, Slot, Step};
use crate::graph::NodeId;
use crate::graph::stale::StaleSet;
use crate::values::event::{Event, Reason};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// How far changes have spread in this run.
pub(super) struct Spread {
    /// Everything that could be reached by a change when the run began.
    tainted: StaleSet,
    /// What of it is asked for.
    needed: StaleSet,
    /// Stale nodes that are asked for, by height.
    due: BinaryHeap<Reverse<(u32, NodeId)>>,
    /// Up to this height everything needed that is not stale stands.
    horizon: Option<u32>,
}

impl Spread {
    pub(super) fn new(tainted: StaleSet) -> Self {
        Self { tainted, needed: StaleSet::default(), due: BinaryHeap::new(), horizon: None }
    }
}

impl Run<'_> {
    /// Whether a node's filed result stands without another look.
    pub(super) fn stands(&self, id: NodeId) -> bool {
        if self.graph.is_stale(id) {
            return false;
        }
        let spread = &self.spread;
        !spread.tainted.contains(id) || spread.needed.contains(id) && spread.horizon.is_some_and(|horizon| self.graph.node(id).height <= horizon)
    }

    /// Whether stale nodes that are asked for still wait for their turn.
    pub(super) fn is_due(&self) -> bool {
        !self.spread.due.is_empty()
    }

    /// Settles all stale nodes among `wanted` and what they read, lowest first.
    pub(super) fn advance(&mut self, wanted: &[NodeId]) -> Result<(), RunError> {
        self.need(wanted);
        while let Some(Reverse((height, _))) = self.spread.due.peek().copied() {
            self.spread.horizon = Some(height);
            while let Some(&Reverse((due, id))) = self.spread.due.peek()
                && due <= height
            {
                self.spread.due.pop();
                let now = self.graph.get(id).map_or(0, |node| node.height);
                if now > height {
                    self.spread.due.push(Reverse((now, id)));
                } else if self.graph.is_stale(id) && matches!(self.slot(id), Slot::Idle) {
                    self.steps.push(Step::Begin(id));
                }
            }
            self.work()?;
            if self.stopping() {
                return Ok(());
            }
        }
        self.spread.horizon = Some(u32::MAX);
        Ok(())
    }

    /// Adds `wanted` and the tainted nodes below it to what is asked for.
    fn need(&mut self, wanted: &[NodeId]) {
        let mut todo: Vec<NodeId> = wanted.to_vec();
        let mut new = false;
        while let Some(id) = todo.pop() {
            if !self.spread.tainted.contains(id) || !self.spread.needed.set(id, true) {
                continue;
            }
            new = true;
            let node = self.graph.node(id);
            if self.graph.is_stale(id) {
                self.spread.due.push(Reverse((node.height, id)));
            }
            todo.extend(node.reads());
        }
        if new {
            // What was just added has not been advanced through yet.
            self.spread.horizon = None;
        }
    }

    /// A node came to another output than it had (or to none): its direct readers are stale.
    pub(super) fn moved_on(&mut self, id: NodeId) {
        if id.index() >= self.links.bound() {
            return;
        }
        let readers: Vec<NodeId> = self.links.readers(id).collect();
        for reader in readers {
            if self.graph.get(reader).is_none() || self.graph.is_stale(reader) {
                continue;
            }
            self.graph.set_stale(reader, true);
            let reason = Reason::InputMoved { label: self.graph.node(id).label.to_string() };
            self.emit(&Event::Marked { label: &self.graph.node(reader).label, reason: &reason });
            if self.spread.needed.contains(reader) {
                if matches!(self.slot(reader), Slot::Settled { .. }) {
                    *self.slot(reader) = Slot::Idle;
                }
                let height = self.graph.node(reader).height;
                self.spread.due.push(Reverse((height, reader)));
            }
        }
    }

    /// Puts a node above everything it reads, and its readers above it.
    pub(super) fn lift(&mut self, id: NodeId) {
        let above = self.graph.node(id).reads().map(|read| self.graph.node(read).height + 1).max().unwrap_or(0);
        let mut todo = vec![(id, above)];
        // Edges of nodes that are yet to be planned again may lead in circles: no height is more than the number of nodes.
        let highest = u32::try_from(self.graph.bound()).unwrap_or(u32::MAX);
        while let Some((id, height)) = todo.pop() {
            if height > highest || self.graph.get(id).is_none() || !self.graph.raise(id, height) {
                continue;
            }
            if id.index() < self.links.bound() {
                todo.extend(self.links.readers(id).map(|reader| (reader, height + 1)));
            }
        }
    }
}
