//! What was there before a result that costs money: the last result of the node, and what a person wrote in its place, wherever that was.
//!
//! Corrections are filed by label for all checkouts of a store ([`crate::store::corrections`]). Unrelated workspaces may share a store and
//! have types of one name, so words from another checkout count only where most of what the node is made of was the same.

use super::jobs::{JobInput, Shared};
use crate::seams::paid::{Correction, Previous, PreviousInput};
use crate::store::corrections::{self, CorrectionRecord};
use crate::store::records::{ActionRecord, Class, InputRecord};
use crate::store::{StoreError, superseded};
use crate::values::digest::{ActionKey, Digest};
use std::collections::BTreeSet;

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
        let Some(row) = corrections::find(store, label)? else {
            return Ok((last.map(|last| before(shared, last)).transpose()?.flatten(), None));
        };
        let corrected = superseded::record_of(store, &row.key, &row.output)?;
        let stands = row.view == shared.view || corrected.as_ref().is_some_and(|corrected| alike(&corrected.inputs, inputs));
        let last = match last {
            Some(last) if last.class == Class::Paid || !stands => Some(last),
            other => corrected.filter(|_| stands).or(other),
        };
        let CorrectionRecord { words, .. } = row;
        Ok((
            last.map(|last| before(shared, last)).transpose()?.flatten(),
            Some(Correction { words, stands }),
        ))
    }
}

/// Whether more than half of what a result was made of is what a node is made of now.
fn alike(then: &[InputRecord], now: &[JobInput]) -> bool {
    let place = |role: &str, label: &str, digest: Digest| (role.to_owned(), label.to_owned(), digest);
    let now: BTreeSet<_> = now.iter().map(|input| place(&input.role, &input.label, input.digest)).collect();
    let same = then
        .iter()
        .filter(|input| now.contains(&place(&input.role, &input.label, input.digest)))
        .count();
    same * 2 > then.len().max(now.len())
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
        inputs: record.inputs.into_iter().map(input).collect::<Result<_, StoreError>>()?,
    }))
}
