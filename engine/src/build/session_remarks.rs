//! Reading and updating the remarks of a session's view.

use super::remarks::{Remark, Remarks, RunRemarks};
use super::session::Session;
use crate::graph::stale::spread_stale_marks;
use crate::store::{Part, RowChange, StoreError};
use crate::values::diagnostic::Diagnostic;
use std::collections::{BTreeMap, BTreeSet};

impl Session {
    /// Reads the remarks about nodes, by label.
    pub fn remarks(&self) -> Result<BTreeMap<String, Remark>, StoreError> {
        let rows = self.engine.store.rows(self.engine.view, Part::Remarks)?;
        Ok(Remarks::load(rows).by_label())
    }

    /// Updates the stored remarks after a run: returns the rows to write, the number of current warnings, and how many of them are not among
    /// `reported`.
    pub(super) fn update_remarks(&self, run: RunRemarks, reported: &[Diagnostic]) -> Result<(Vec<RowChange>, u64, u64), StoreError> {
        let mut remarks = Remarks::load(self.engine.store.rows(self.engine.view, Part::Remarks)?);
        remarks.update(run, &self.graph);
        if remarks.are_none() {
            return Ok((remarks.dirty_rows(), 0, 0));
        }
        let current = remarks.current_warnings(&self.graph, &spread_stale_marks(&self.graph, &self.links));
        let reported: BTreeSet<&Diagnostic> = reported.iter().collect();
        let unreported = current.difference(&reported).count() as u64;
        Ok((remarks.dirty_rows(), current.len() as u64, unreported))
    }
}
