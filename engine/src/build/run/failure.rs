//! Failures: nodes without output, nodes not tried, cycles, and the unknown nodes of a dry run.

use super::{NodeProgress, Run};
use crate::build::remarks::{FailedTry, Wait};
use crate::graph::{NodeId, walk};
use crate::planning::expand::ExpandError;
use crate::values::codes::ErrorCode;
use crate::values::diagnostic::Diagnostic;
use crate::values::digest::ActionKey;
use crate::values::event::Event;

impl Run<'_> {
    /// Fails a node for a reason that is known before its key. Its former output stays in the graph, marked stale.
    pub(super) fn fail(&mut self, id: NodeId, why: Diagnostic) {
        self.fail_under(id, None, why);
    }

    /// Fails a node whose production under `key` failed. `raw` is an unusable answer, if one was received.
    pub(super) fn fail_under(&mut self, id: NodeId, key: Option<ActionKey>, why: Diagnostic) {
        let failed = FailedTry::once(why);
        self.report_failure(id, FailedTry { key, ..failed });
    }

    /// Fails a node, and reports and remembers it.
    pub(super) fn report_failure(&mut self, id: NodeId, failed: FailedTry) {
        if self.ignores_failures {
            return self.postpone(id);
        }
        let label = self.graph.node(id).label.clone();
        let why = super::finish::located(failed.why, &label);
        self.tally.failed += 1;
        self.emit(&Event::Failed { label: &label, why: &why });
        let failed = FailedTry { why, ..failed };
        self.findings.add_failed_try(id, failed);
        if !self.context.options.keep_going {
            self.stop.stop_starting();
        }
        self.postpone(id);
    }

    /// Does not try a node, for a reason that others share. Reports the reason once per remedy, however its wording differs.
    pub(super) fn not_tried(&mut self, id: NodeId, why: &Diagnostic) {
        self.tally.limited += 1;
        self.findings.add_blocker(why);
        self.postpone_until(id, Wait::Blocked(why.message.clone()));
    }

    /// Leaves a node unbuilt in this run, because it waits.
    pub(super) fn postpone_until(&mut self, id: NodeId, wait: Wait) {
        self.findings.add_wait(id, wait);
        self.postpone(id);
    }

    /// Leaves a node unbuilt in this run, which is no failure.
    pub(super) fn postpone(&mut self, id: NodeId) {
        self.findings.add_waiting(id);
        self.leave_stale(id);
    }

    /// Leaves a node to the next build.
    pub(super) fn leave_stale(&mut self, id: NodeId) {
        self.graph.set_stale(id, true);
        self.nodes.change_state(id, NodeProgress::Failed);
        self.mark_direct_readers(id);
        self.nodes.wake_waiters(id);
    }

    /// Skips a node because `cause` has no output.
    pub(super) fn skip(&mut self, id: NodeId, cause: NodeId) {
        if self.ignores_failures {
            return self.postpone(id);
        }
        self.tally.skipped += 1;
        if self.context.options.mode.settles() && !self.findings.has_reason(cause) {
            return self.leave_stale(id);
        }
        let (label, because) = (self.graph.node(id).label.clone(), self.graph.node(cause).label.clone());
        self.emit(&Event::Skipped {
            label: &label,
            because: &because,
        });
        self.postpone_until(id, Wait::Target(because.to_string()));
    }

    /// In a dry run, records that the producer would run (or, if not certain, may run).
    pub(super) fn report_would_run(&mut self, id: NodeId, certain: bool) {
        self.nodes.change_state(id, NodeProgress::Unknown { certain });
        self.mark_direct_readers(id);
        self.nodes.wake_waiters(id);
    }

    pub(super) fn fail_expansion(&mut self, id: NodeId, error: &ExpandError) {
        let label = self.graph.node(id).label.clone();
        self.fail(
            id,
            Diagnostic::error(ErrorCode::E_INPUTS, error.to_string())
                .label(label)
                .hint("the rule's `each`, `row` and `field` must fit the output of that node"),
        );
    }

    /// Returns the error for a label whose rule exists but whose value is not in the rule's set.
    pub(super) fn not_a_member(&self, id: NodeId) -> Diagnostic {
        let label = &self.graph.node(id).label;
        Diagnostic::error(ErrorCode::E_NO_TARGET, "there is no such target")
            .label(label)
            .hint("it may have been renamed or removed; `cortex query` lists what there is")
    }

    /// Fails one node of each cycle when nothing runs and nothing is due, but nodes wait; returns whether there was a cycle.
    pub(super) fn break_cycle(&mut self) -> bool {
        let mut waiting = self.nodes.waiting_nodes();
        waiting.retain(|id| !self.waits_for(*id).is_empty());
        if waiting.is_empty() {
            return false;
        }
        let cycles = walk::cycles(&waiting, &|id| self.waits_for(id));
        if cycles.is_empty() {
            for id in waiting {
                self.fail(
                    id,
                    Diagnostic::error(ErrorCode::E_INTERNAL, "a node waits for a result that never arrives"),
                );
            }
        }
        for cycle in cycles {
            self.fail(
                cycle[0],
                cycle_error(&cycle.iter().map(|id| &*self.graph.node(*id).label).collect::<Vec<_>>()),
            );
        }
        true
    }

    fn waits_for(&self, id: NodeId) -> Vec<NodeId> {
        self.nodes.awaited_nodes(id, |id| self.graph.node(id).reads().collect())
    }
}

/// Longer cycles are shortened to their beginning and end.
const SHOWN: usize = 12;

fn cycle_error(labels: &[&str]) -> Diagnostic {
    let mut names = labels.to_vec();
    let more = format!("… {} more …", names.len().saturating_sub(SHOWN));
    if names.len() > SHOWN + 1 {
        names.splice(SHOWN / 2..names.len() - SHOWN / 2, [more.as_str()]);
    }
    names.push(labels[0]);
    Diagnostic::error(ErrorCode::E_CYCLE, "the target needs its own output")
        .found(names.join(" → "))
        .hint("remove one of these inputs from its rule, or read a node that does not depend on it")
}
