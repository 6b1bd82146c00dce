//! Table updates: changes the rows of a node's last table that depend on changed inputs.
//!
//! The result equals what the producer makes of all inputs, page for page. When a blob that the update needs is missing, the producer runs.

use super::jobs::{Job, Shared, Task};
use super::last_table::LastTable;
use crate::seams::fold::Fold;
use crate::seams::producer::{Input, Output};
use crate::seams::update::{MovedInput, Moves, UpdatedRows};
use crate::values::digest::{ActionKey, Digest};
use crate::values::pages::PageError;
use crate::values::pages::edit::{Edited, edit};
use std::collections::BTreeMap;

/// An update pays if at most one in this many inputs, or rows of an input, changed.
pub(super) const ONE_IN: usize = 4;

impl Job {
    /// Computes the output from that of key `before` and the changes since; `None` if the producer must run.
    pub(super) fn update_table(&self, shared: &Shared, before: &ActionKey) -> Option<Output> {
        let Task::Produce { producer, .. } = &self.task else {
            return None;
        };
        let (fold, update) = (producer.fold(), producer.update());
        if fold.is_none() && update.is_none() {
            return None;
        }
        let last = LastTable::find(shared, self, before)?;
        if fold.is_some_and(|fold| !last.is_made_of(fold.role())) {
            return None;
        }
        let (moved, all) = last.share_moved();
        if moved * ONE_IN > all {
            return None;
        }
        let UpdatedRows { rows, diagnostics } = match (fold, update) {
            (Some(fold), _) => folded_rows(fold, &last)?,
            (None, update) => update?.update(&last)?,
        };
        let page = |digest: &Digest| shared.blobs.get(digest).map_err(|_| PageError::Missing(*digest));
        let Edited { root, made, kept } = edit::<PageError>(last.root(), rows, page).ok()?;
        Some(Output {
            parts: made,
            kept: kept.into_iter().collect(),
            diagnostics,
            ..Output::new(&*root)
        })
    }
}

/// Computes the changed rows of a fold.
fn folded_rows(fold: &dyn Fold, last: &LastTable<'_>) -> Option<UpdatedRows> {
    let mut rows: BTreeMap<String, Option<Vec<u8>>> = BTreeMap::new();
    for MovedInput { item, before, now } in last.changed_inputs(fold.role())? {
        let before = before.map_or(Some(BTreeMap::new()), |digest| read_rows(last, fold, item, digest))?;
        let now = now.map_or(Some(BTreeMap::new()), |digest| read_rows(last, fold, item, digest))?;
        for key in before.keys().chain(now.keys().filter(|key| !before.contains_key(*key))) {
            if before.get(key) == now.get(key) {
                continue;
            }
            let row = match rows.get(key) {
                Some(row) => row.clone(),
                None => last.last().row(key)?.map(|row| row.to_vec()),
            };
            let row = fold.replace_part(key, row.as_deref(), item, now.get(key).map(Vec::as_slice));
            rows.insert(key.clone(), row);
        }
    }
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
