//! Table updates: changes the rows of a node's last table that depend on changed inputs.
//!
//! The result equals the producer's output for all inputs, page for page. When a blob that the update needs is missing, the producer runs.

use super::job::{Job, JobContext, Task};
use super::last_table::{LastTable, ONE_IN};
use crate::seams::fold::{Contribution, Fold, changed_rows};
use crate::seams::producer::{Input, Output};
use crate::seams::update::{ChangedInput, TableChanges, UpdatedRows};
use crate::values::digest::{ActionKey, Digest};
use crate::values::pages::PageError;
use crate::values::pages::edit::{Edited, edit};
use std::collections::BTreeMap;

impl Job {
    /// Computes the output from that of key `before` and the changes since; `None` if the producer must run.
    pub(super) fn update_table(&self, shared: &JobContext, before: &ActionKey) -> Option<Output> {
        let Task::Produce { producer, .. } = &self.task else {
            return None;
        };
        let (fold, update) = (producer.fold(), producer.update());
        if fold.is_none() && update.is_none() {
            return None;
        }
        let last = LastTable::from_store(shared, self, before)?;
        if fold.is_some_and(|fold| !last.is_made_of(fold.role())) {
            return None;
        }
        let (changed, all) = last.count_changed_inputs();
        if changed * ONE_IN > all {
            return None;
        }
        let UpdatedRows { rows, diagnostics, memo } = match (fold, update) {
            (Some(fold), _) => folded_rows(fold, &last)?,
            (None, update) => update?.update(&last)?,
        };
        if !last.is_table() {
            // Only a table can get other rows.
            return rows.is_empty().then(|| Output {
                diagnostics,
                memo,
                ..last.output()
            });
        }
        let page = |digest: &Digest| shared.blobs.get(digest).map_err(|_| PageError::Missing(*digest));
        let Edited { root, made, kept } = edit::<PageError>(last.root(), rows, page).ok()?;
        Some(Output {
            parts: made,
            kept: kept.into_iter().collect(),
            diagnostics,
            memo,
            ..Output::new(&*root)
        })
    }
}

/// Computes the changed rows of a fold.
fn folded_rows(fold: &dyn Fold, last: &LastTable<'_>) -> Option<UpdatedRows> {
    let rows_of = |item: &str, digest: &Option<Digest>| digest.map_or(Some(BTreeMap::new()), |digest| read_rows(last, fold, item, digest));
    let changed = last.changed_inputs(fold.role())?.iter();
    let changes = changed.map(|ChangedInput { item, before, now }| {
        Some(Contribution {
            item,
            before: rows_of(item, before)?,
            now: rows_of(item, now)?,
        })
    });
    let changes = changes.collect::<Option<Vec<_>>>()?;
    let rows = changed_rows(fold, &changes, &mut |key| Some(last.last().row(key)?.map(|row| row.to_vec())))?;
    Some(UpdatedRows {
        rows,
        ..UpdatedRows::default()
    })
}

/// Returns the rows that an earlier or present output contributes to a fold.
fn read_rows(last: &LastTable<'_>, fold: &dyn Fold, item: &str, digest: Digest) -> Option<BTreeMap<String, Vec<u8>>> {
    let input = Input {
        digest,
        ..Input::of(item, last.bytes(&digest)?)
    };
    fold.rows_of_input(&input).ok()
}
