//! Superseded records: replaced under their key by a record with another output, because a new answer was requested or a person corrected it.
//! History still shows their versions, so they stay as provenance, under a key derived from the old key and the output.

use super::records::{ActionRecord, NewResult};
use super::{Store, StoreError};
use crate::values::digest::{ActionKey, Digest};

/// Returns the key of an output's record after another output was stored under its key.
#[must_use]
pub fn key_of(key: &ActionKey, output: &Digest) -> ActionKey {
    ActionKey(Digest::of(&[b"superseded", &key.0.0[..], &output.0[..]].concat()))
}

/// Returns the result that preserves the record replaced by one with the output `by`; `None` if the output is the same.
#[must_use]
pub fn result_to_keep(key: &ActionKey, old: ActionRecord, by: &Digest) -> Option<NewResult> {
    (old.output != *by).then(|| NewResult {
        key: key_of(key, &old.output),
        record: old,
        blob: None,
        parts: Vec::new(),
    })
}

/// Reads the record of an output that is or was stored under a key.
pub fn record_of(store: &dyn Store, key: &ActionKey, output: &Digest) -> Result<Option<ActionRecord>, StoreError> {
    match store.action(key)?.filter(|record| record.output == *output) {
        Some(record) => Ok(Some(record)),
        None => Ok(store.action(&key_of(key, output))?.filter(|record| record.output == *output)),
    }
}
