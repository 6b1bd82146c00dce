//! What was there before a result that costs money: the last result of the node, and what a person wrote in its place, wherever that was.
//!
//! Corrections are filed by label for all checkouts of a store ([`crate::store::corrections`]). Unrelated workspaces may share a store and
//! have types of one name, so words from another checkout count only where most of what the node is made of was the same.

use super::jobs::{JobInput, Shared};
use crate::seams::paid::{Correction, Previous, PreviousInput};
use crate::seams::producer::ProducerId;
use crate::store::corrections;
use crate::store::records::{ActionRecord, Class, InputRecord};
use crate::store::{StoreError, superseded};
use crate::values::digest::{ActionKey, Digest};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Where to look.
#[derive(Clone, Copy, Debug)]
pub struct Past {
    /// Key of the node's last result.
    pub previous: Option<ActionKey>,
}

impl Past {
    /// The last result, and a person's words. Where the last result cost nothing, or there is none, the corrected one is the last that counts.
    ///
    /// # Errors
    /// When the store as a whole cannot be read.
    pub(super) fn find(
        self,
        shared: &Shared,
        label: &str,
        inputs: &[JobInput],
    ) -> Result<(Option<Previous>, Option<Correction>), StoreError> {
        let store = shared.blobs.store();
        let last = self.previous.map(|key| store.action(&key)).transpose()?.flatten();
        let rows = corrections::of(store, label)?;
        if rows.is_empty() {
            return Ok((last.map(|last| before(shared, last)).transpose()?.flatten(), None));
        }
        let now: InputSet = inputs
            .iter()
            .map(|input| (input.role.clone(), input.label.clone(), input.digest))
            .collect();
        let (mut correction, mut corrected) = (Correction::default(), None);
        // What was written last has the last word.
        for row in rows {
            let record = superseded::record_of(store, &row.key, &row.output)?;
            if row.view == shared.view || record.as_ref().is_some_and(|record| alike(record, &now)) {
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
        Ok((last.map(|last| before(shared, last)).transpose()?.flatten(), Some(correction)))
    }
}

/// The newest result that this checkout had under one of these labels, which are no more.
///
/// # Errors
/// When the store as a whole cannot be read.
pub(super) fn formerly(shared: &Shared, labels: &[String]) -> Result<Option<Previous>, StoreError> {
    let store = shared.blobs.store();
    let mut newest = None;
    for label in labels {
        let last = store.history(shared.view, label)?.pop();
        newest = newest.max(last.map(|last| (last.at, last.key)));
    }
    let record = newest.map(|(_, key)| store.action(&key)).transpose()?.flatten();
    Ok(record.map(|record| before(shared, record)).transpose()?.flatten())
}

/// The newest answer that another machine filed under this key. What it was made of is not known here, but for its memo.
pub(super) fn elsewhere(shared: &Shared, latest: &ActionKey, producer: &ProducerId) -> Option<Previous> {
    let found = shared.sharing.as_ref()?.find(latest, producer.to_string())?;
    Some(Previous {
        output: found.blob,
        digest: found.record.output,
        notes: found.record.notes,
        inputs: Vec::new(),
        memo: found.record.memo,
    })
}

/// What something is made of: role, label and digest.
pub(super) type InputSet = BTreeSet<(Arc<str>, Arc<str>, Digest)>;

/// What a result was made of.
pub(super) fn made_of_record(record: &ActionRecord) -> InputSet {
    let inputs = record.inputs.iter();
    inputs
        .map(|input| (input.role.clone(), input.label.clone(), input.digest))
        .collect()
}

/// Whether more than half of what a result was made of is what a node is made of now.
pub(super) fn alike(then: &ActionRecord, now: &InputSet) -> bool {
    let then = made_of_record(then);
    then.intersection(now).count() * 2 > then.len().max(now.len())
}

/// A result with what it was made of, as far as the store still has it.
fn before(shared: &Shared, record: ActionRecord) -> Result<Option<Previous>, StoreError> {
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
