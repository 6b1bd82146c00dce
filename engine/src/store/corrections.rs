//! Corrections: a person's words in place of parts of an output, by the output's label and the checkout in which they were written. All checkouts
//! that share the store see them.
//!
//! A person corrects an output in one checkout, but the words must follow its code to other branches and checkouts, across results without them.
//! So they are also stored as text by label, which gc never removes. Only the producer knows what the parts are.

use super::{Part, RowChange, Store, StoreError, ViewId};
use crate::values::cbor;
use crate::values::digest::{ActionKey, Digest};
use minicbor::{Decode, Encode};
use std::collections::BTreeMap;

/// A person's words, by name of the part of the output that they replace.
pub type Words = BTreeMap<String, String>;

#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct CorrectionRecord {
    /// Time at which it was written, in seconds since 1970.
    #[n(0)]
    pub at: u64,
    /// The checkout in which it was written.
    #[n(1)]
    pub view: ViewId,
    /// The action key of the corrected output.
    #[n(2)]
    pub key: ActionKey,
    #[n(3)]
    pub output: Digest,
    #[n(4)]
    pub words: Words,
}

impl CorrectionRecord {
    /// Returns the row to write for a label.
    pub fn to_row(&self, label: &str) -> RowChange {
        let body = cbor::encode(self);
        (Part::Corrections, row_key(label, self.view), Some(body))
    }

    /// Decodes the correction in a row's body; `None` if it is malformed.
    pub fn from_body(body: &[u8]) -> Option<Self> {
        minicbor::decode(body).ok()
    }
}

/// Returns the change that removes the correction of a label in a checkout.
pub fn release(label: &str, view: ViewId) -> RowChange {
    (Part::Corrections, row_key(label, view), None)
}

/// Returns the label, a zero byte and the checkout.
fn row_key(label: &str, view: ViewId) -> Vec<u8> {
    [label.as_bytes(), &[0], &view.0.to_be_bytes()].concat()
}

/// Returns the label in a row's key.
pub fn label_of(key: &[u8]) -> Option<&str> {
    let (label, rest) = key.split_at_checked(key.len().checked_sub(9)?)?;
    std::str::from_utf8(label).ok().filter(|_| rest[0] == 0)
}

/// Reads the corrections of a label, sorted by time.
pub fn list_corrections(store: &dyn Store, label: &str) -> Result<Vec<CorrectionRecord>, StoreError> {
    let mut found: Vec<_> = all_corrections(store)?
        .into_iter()
        .filter(|(of, _)| of == label)
        .map(|(_, record)| record)
        .collect();
    found.sort_by_key(|record| record.at);
    Ok(found)
}

/// Reads all corrections with their labels. People write them, so there are few.
pub fn all_corrections(store: &dyn Store) -> Result<Vec<(String, CorrectionRecord)>, StoreError> {
    let rows = store.rows(ViewId(0), Part::Corrections)?;
    let read = |(key, body): (Vec<u8>, Vec<u8>)| Some((label_of(&key)?.to_owned(), CorrectionRecord::from_body(&body)?));
    Ok(rows.into_iter().filter_map(read).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Commit;
    use crate::store::memory::MemoryStore;

    #[test]
    fn every_checkout_finds_what_one_wrote() {
        let store = MemoryStore::new();
        let record = CorrectionRecord {
            at: 7,
            view: ViewId(3),
            key: ActionKey(Digest([1; 32])),
            output: Digest([2; 32]),
            words: Words::from([("ROLE".to_owned(), "Mine.".to_owned())]),
        };
        let rows = |rows| Commit { rows, ..Commit::default() };
        let later = CorrectionRecord {
            at: 9,
            view: ViewId(1),
            ..record.clone()
        };
        let written = vec![later.to_row("//a:b"), record.to_row("//a:b"), record.to_row("//a:c")];
        store.commit(ViewId(3), rows(written)).unwrap();
        assert_eq!(list_corrections(&store, "//a:b").unwrap(), [record.clone(), later.clone()]);
        assert_eq!(all_corrections(&store).unwrap().len(), 3);
        assert_eq!(store.rows(ViewId(4), Part::Corrections).unwrap().len(), 3);
        store.commit(ViewId(4), rows(vec![release("//a:b", ViewId(3))])).unwrap();
        assert_eq!(list_corrections(&store, "//a:b").unwrap(), [later]);
        assert_eq!(CorrectionRecord::from_body(b"no"), None);
        assert_eq!(label_of(b"short"), None);
    }
}
