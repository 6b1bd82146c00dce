//! Earlier answers: the last result of a paid node, and a person's words in place of it, from any checkout.
//!
//! Corrections are stored by label for all checkouts of a store ([`crate::store::corrections`]). Unrelated workspaces may share a store and have
//! types of one name, so words from another checkout count only if most of the node's inputs were the same.

use super::job::{JobContext, JobInput, Past};
use crate::seams::paid::{Correction, Previous, PreviousInput};
use crate::seams::producer::{Inputs, Producer, ProducerId};
use crate::store::corrections;
use crate::store::records::{ActionRecord, Class, InputRecord};
use crate::store::{StoreError, superseded};
use crate::values::digest::{ActionKey, Digest};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

impl Past {
    /// Returns the last result and a person's words. If the last result was free or missing, the corrected one counts as the last.
    pub(super) fn find(
        self,
        shared: &JobContext,
        label: &str,
        inputs: &[JobInput],
    ) -> Result<(Option<Previous>, Option<Correction>), StoreError> {
        let store = shared.blobs.store();
        let last = self.previous.map(|key| store.action(&key)).transpose()?.flatten();
        let rows = corrections::list_corrections(store, label)?;
        if rows.is_empty() {
            return Ok((last.map(|last| load_previous(shared, last)).transpose()?.flatten(), None));
        }
        let now: InputSet = inputs
            .iter()
            .map(|input| (input.role.clone(), input.label.clone(), input.digest))
            .collect();
        let (mut correction, mut corrected) = (Correction::default(), None);
        // The latest words win.
        for row in rows {
            let record = superseded::record_of(store, &row.key, &row.output)?;
            if row.view == shared.view || record.as_ref().is_some_and(|record| shares_most_inputs(record, &now)) {
                correction.words.extend(row.words);
                corrected = record.or(corrected);
            } else {
                correction.elsewhere.extend(row.words.into_keys());
            }
        }
        let last = match last {
            Some(last) if last.class == Class::Paid => Some(last),
            other => corrected.or(other),
        };
        Ok((
            last.map(|last| load_previous(shared, last)).transpose()?.flatten(),
            Some(correction),
        ))
    }
}

/// Returns the previous answer for a job that builds on it: recorded under a former name, built on another machine or branch, or assembled.
pub(super) fn find_previous<'a>(
    shared: &'a JobContext,
    producer: &dyn Producer,
    inputs: &mut Inputs<'a>,
    latest: &ActionKey,
) -> Result<Option<Previous>, StoreError> {
    if let Some(former) = shared.former.get() {
        inputs.former = former;
    }
    let mut previous = inputs.previous.take();
    if previous.is_none() && !inputs.former.is_empty() {
        let labels = catch_unwind(AssertUnwindSafe(|| producer.former_labels(inputs)));
        previous = find_by_labels(shared, &labels.unwrap_or_default())?;
    }
    if previous.is_none() && !inputs.fresh && producer.builds_on_previous(inputs.params) {
        previous = find_remote_answer(shared, latest, &producer.id());
    }
    if previous.is_none() && !inputs.fresh && producer.builds_on_previous(inputs.params) {
        previous = assemble_previous(shared, producer, inputs)?;
    }
    Ok(previous)
}

/// Limit of versions of a target that are searched for a result that fits.
const MOST_VERSIONS: usize = 8;

/// Returns the previous answer that a producer puts together from earlier results of other targets.
fn assemble_previous(shared: &JobContext, producer: &dyn Producer, inputs: &Inputs<'_>) -> Result<Option<Previous>, StoreError> {
    let broken = RefCell::new(None);
    let newest = |label: &str, fits: &dyn Fn(&Previous) -> bool| match find_fitting(shared, label, fits) {
        Ok(found) => found,
        Err(error) => {
            *broken.borrow_mut() = Some(error);
            None
        }
    };
    let assembled = catch_unwind(AssertUnwindSafe(|| producer.assemble_previous(inputs, &newest)));
    broken.into_inner().map_or_else(|| Ok(assembled.unwrap_or_default()), Err)
}

/// Returns the newest result of this checkout under a label that fits.
fn find_fitting(shared: &JobContext, label: &str, fits: &dyn Fn(&Previous) -> bool) -> Result<Option<Previous>, StoreError> {
    let store = shared.blobs.store();
    for version in store.history(shared.view, label)?.iter().rev().take(MOST_VERSIONS) {
        let Some(record) = store.action(&version.key)? else { continue };
        let found = load_previous(shared, record)?.filter(fits);
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

/// Returns the newest result of this checkout under one of these former labels.
fn find_by_labels(shared: &JobContext, labels: &[String]) -> Result<Option<Previous>, StoreError> {
    let store = shared.blobs.store();
    let mut newest = None;
    for label in labels {
        let last = store.history(shared.view, label)?.pop();
        newest = newest.max(last.map(|last| (last.at, last.key)));
    }
    let record = newest.map(|(_, key)| store.action(&key)).transpose()?.flatten();
    Ok(record.map(|record| load_previous(shared, record)).transpose()?.flatten())
}

/// Returns the newest answer that another machine stored under this key. Its inputs are unknown here, except for its memo.
fn find_remote_answer(shared: &JobContext, latest: &ActionKey, producer: &ProducerId) -> Option<Previous> {
    let found = shared.sharing.as_ref()?.find(latest, producer.to_string())?;
    Some(Previous {
        output: found.blob,
        digest: found.record.output,
        notes: found.record.notes,
        inputs: Vec::new(),
        memo: found.record.memo,
    })
}

/// Inputs: role, label and digest.
pub(super) type InputSet = BTreeSet<(Arc<str>, Arc<str>, Digest)>;

pub(super) fn inputs_of(record: &ActionRecord) -> InputSet {
    let inputs = record.inputs.iter();
    inputs
        .map(|input| (input.role.clone(), input.label.clone(), input.digest))
        .collect()
}

/// Whether more than half of a result's inputs are inputs of the node now.
pub(super) fn shares_most_inputs(then: &ActionRecord, now: &InputSet) -> bool {
    let then = inputs_of(then);
    then.intersection(now).count() * 2 > then.len().max(now.len())
}

/// Returns a result with its inputs, as far as the store still has them.
fn load_previous(shared: &JobContext, record: ActionRecord) -> Result<Option<Previous>, StoreError> {
    let Some(output) = shared.blobs.get(&record.output)? else {
        return Ok(None);
    };
    let input = |input: InputRecord| {
        Ok(PreviousInput {
            bytes: shared.blobs.get(&input.digest)?,
            role: input.role,
            label: input.label,
            digest: input.digest,
        })
    };
    Ok(Some(Previous {
        output,
        digest: record.output,
        notes: record.notes,
        memo: record.memo,
        inputs: record.inputs.into_iter().map(input).collect::<Result<_, StoreError>>()?,
    }))
}
