//! What a run reports about nodes: failures, diagnostics, and the reasons why nodes wait.

use super::leftover::Leftover;
use crate::build::remarks::{FailedTry, RunRemarks, Wait};
use crate::graph::NodeId;
use crate::values::diagnostic::Diagnostic;
use std::collections::BTreeSet;

/// Failures, diagnostics and remarks of a run.
#[derive(Default)]
pub(super) struct Findings {
    failures: Vec<Diagnostic>,
    /// Code and hint of the reported reasons for which nodes were not tried.
    blockers: BTreeSet<(String, Option<String>)>,
    diagnostics: Vec<Diagnostic>,
    remarks: RunRemarks,
}

impl Findings {
    pub(super) fn failures(&self) -> &[Diagnostic] {
        &self.failures
    }

    /// Reports a failure that belongs to no try of a node.
    pub(super) fn add_failure(&mut self, why: Diagnostic) {
        self.failures.push(why);
    }

    /// Reports the failed try of a node, and remembers it for later builds.
    pub(super) fn add_failed_try(&mut self, id: NodeId, failed: FailedTry) {
        self.failures.push(failed.why.clone());
        self.remarks.failed.push((id, failed));
    }

    /// Reports a reason for which nodes are not tried, once per remedy, however its wording differs.
    pub(super) fn add_blocker(&mut self, why: &Diagnostic) {
        if self.blockers.insert((why.code.clone(), why.hint.clone())) {
            self.failures.push(why.clone());
        }
    }

    /// Notes that a node was requested and is not built.
    pub(super) fn add_waiting(&mut self, id: NodeId) {
        self.remarks.waits.set(id, true);
    }

    /// Notes why a node waits.
    pub(super) fn add_wait(&mut self, id: NodeId, wait: Wait) {
        self.remarks.waits_for.insert(id, wait);
    }

    /// Whether a node failed or waits, so that the reason is known.
    pub(super) fn has_reason(&self, id: NodeId) -> bool {
        self.remarks.waits.contains(id) || self.remarks.failed.iter().any(|(failed, _)| *failed == id)
    }

    /// Replaces what earlier builds noted about a node by the diagnostics of its producer.
    pub(super) fn set_diagnostics(&mut self, id: NodeId, diagnostics: Vec<Diagnostic>) {
        self.remarks.nodes.set(id, true);
        if !diagnostics.is_empty() {
            self.diagnostics.extend_from_slice(&diagnostics);
            self.remarks.diagnostics.push((id, diagnostics));
        }
    }

    /// Leaves everything to the session.
    pub(super) fn move_to(self, leftover: &mut Leftover) {
        leftover.failures = self.failures;
        leftover.diagnostics = self.diagnostics;
        leftover.remarks = self.remarks;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::codes::ErrorCode;

    #[test]
    fn a_blocker_is_reported_once_per_remedy() {
        let why = |message: &str, hint: &str| Diagnostic::error(ErrorCode::E_LIMIT, message).hint(hint);
        let mut findings = Findings::default();
        findings.add_blocker(&why("the day's limit would be exceeded by 1", "raise it"));
        findings.add_blocker(&why("the day's limit would be exceeded by 2", "raise it"));
        findings.add_blocker(&why("the model cannot be asked", "set its key"));
        assert_eq!(findings.failures().len(), 2);
    }

    #[test]
    fn a_node_that_failed_or_waits_has_a_reason() {
        let mut findings = Findings::default();
        findings.add_failed_try(NodeId(1), FailedTry::once(Diagnostic::error(ErrorCode::E_PRODUCER, "no")));
        findings.add_waiting(NodeId(2));
        let with_reason: Vec<u32> = (0..4).filter(|&id| findings.has_reason(NodeId(id))).collect();
        assert_eq!(with_reason, [1, 2]);
        assert_eq!(findings.failures().len(), 1);
    }
}
