//! Records that were replaced under their key by one with another output: a new answer was asked for, or a person corrected it. They are
//! provenance of versions that History still shows, so they stay, under a key that follows from the old one and the output.

use super::records::{ActionRecord, NewResult};
use super::{Store, StoreError};
use crate::values::digest::{ActionKey, Digest};

/// Where the record of an output stays once another one was filed under its key.
#[must_use]
pub fn key_of(key: &ActionKey, output: &Digest) -> ActionKey {
    ActionKey(Digest::of(&[b"superseded", &key.0.0[..], &output.0[..]].concat()))
}

/// What is to be filed, beside a result with the output `by`, for the record that it replaces; nothing when it says the same.
#[must_use]
pub fn result_to_keep(key: &ActionKey, old: ActionRecord, by: &Digest) -> Option<NewResult> {
    (old.output != *by).then(|| NewResult {
        key: key_of(key, &old.output),
        record: old,
        blob: None,
        parts: Vec::new(),
    })
}

/// How an output that is or was filed under a key came about.
///
/// # Errors
/// When the store as a whole cannot be read.
pub fn record_of(store: &dyn Store, key: &ActionKey, output: &Digest) -> Result<Option<ActionRecord>, StoreError> {
    match store.action(key)?.filter(|record| record.output == *output) {
        Some(record) => Ok(Some(record)),
        None => Ok(store.action(&key_of(key, output))?.filter(|record| record.output == *output)),
    }
}
