//! Keys that several nodes of a run share: one node's producer runs, and the others take its result.

use crate::graph::NodeId;
use crate::seams::paid::Spent;
use crate::store::records::ActionRecord;
use crate::values::diagnostic::Diagnostic;
use crate::values::digest::{ActionKey, Digest};
use rustc_hash::FxHashMap;

/// Outcome of a key in this run.
enum KeyOutcome {
    /// A producer runs; these nodes wait for it, too.
    Running(Vec<NodeId>),
    Built(BuiltResult),
}

/// A result that this run built.
#[derive(Clone)]
pub(super) struct BuiltResult {
    pub(super) output: Digest,
    pub(super) took_us: u64,
    pub(super) diagnostics: Vec<Diagnostic>,
    /// Few results cost anything, and all of a build's results are in memory.
    pub(super) spent: Option<Box<Spent>>,
}

/// Outcomes of keys. Results are found here until the store has them, so that one key never runs twice.
#[derive(Default)]
pub(super) struct SameKeys {
    outcomes: FxHashMap<ActionKey, KeyOutcome>,
}

impl SameKeys {
    /// Notes that a producer runs under a key; returns whether it is the first.
    pub(super) fn claim_key(&mut self, key: ActionKey) -> bool {
        self.outcomes.insert(key, KeyOutcome::Running(Vec::new())).is_none()
    }

    /// Lets a node wait for the producer that runs under its key; returns whether one runs.
    pub(super) fn wait_for_key(&mut self, key: &ActionKey, id: NodeId) -> bool {
        match self.outcomes.get_mut(key) {
            Some(KeyOutcome::Running(others)) => {
                others.push(id);
                true
            }
            _ => false,
        }
    }

    /// Returns the nodes that wait for a producer run with the same key, which has ended.
    pub(super) fn take_waiting(&mut self, key: &ActionKey) -> Vec<NodeId> {
        match self.outcomes.remove(key) {
            Some(KeyOutcome::Running(others)) => others,
            _ => Vec::new(),
        }
    }

    /// Notes the result of a key for later nodes.
    pub(super) fn set_built(&mut self, key: ActionKey, record: &ActionRecord) {
        let built = BuiltResult {
            output: record.output,
            took_us: record.took_us,
            diagnostics: record.diagnostics.clone(),
            spent: record.spent.clone().map(Box::new),
        };
        self.outcomes.insert(key, KeyOutcome::Built(built));
    }

    /// Whether a producer runs or ran under a key.
    pub(super) fn is_known(&self, key: &ActionKey) -> bool {
        self.outcomes.contains_key(key)
    }

    /// Returns the result that this run built under a key.
    pub(super) fn built_result(&self, key: &ActionKey) -> Option<&BuiltResult> {
        match self.outcomes.get(key)? {
            KeyOutcome::Built(built) => Some(built),
            KeyOutcome::Running(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::records::Class;

    #[test]
    fn one_producer_runs_under_a_key_and_the_others_take_its_result() {
        let key = ActionKey(Digest::of(b"key"));
        let mut keys = SameKeys::default();
        assert!(!keys.wait_for_key(&key, NodeId(1)));
        assert!(keys.claim_key(key));
        assert!(keys.wait_for_key(&key, NodeId(2)) && keys.wait_for_key(&key, NodeId(3)));
        assert!(keys.built_result(&key).is_none());
        assert_eq!(keys.take_waiting(&key), [NodeId(2), NodeId(3)]);
        assert!(keys.take_waiting(&key).is_empty());
        let record = ActionRecord {
            output: Digest::of(b"output"),
            len: 6,
            label: "//a:x".to_owned(),
            producer: "toy 1".to_owned(),
            made_at: 0,
            took_us: 5,
            inputs: Vec::new(),
            diagnostics: Vec::new(),
            class: Class::Cheap,
            spent: None,
            notes: Default::default(),
            parts: Vec::new(),
            memo: Default::default(),
        };
        keys.set_built(key, &record);
        assert_eq!(keys.built_result(&key).map(|built| built.took_us), Some(5));
        assert!(!keys.wait_for_key(&key, NodeId(4)));
    }
}
