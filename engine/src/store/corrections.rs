//! Corrections: what a person wrote in the place of parts of an output, by its label, for every checkout that shares the store.
//!
//! An output is corrected where it was made; the words are to stay where its code goes: to another branch, another checkout, through results
//! that know nothing of them. So they are filed by label too, as text, which no gc takes. What the parts are is the producer's knowledge.

use super::{Part, RowChange, Store, StoreError, ViewId};
use crate::values::digest::{ActionKey, Digest};
use minicbor::{Decode, Encode};
use std::collections::BTreeMap;

/// A person's words by the name of the part of the output that they stand in.
pub type Words = BTreeMap<String, String>;

/// One row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CorrectionRecord {
    /// Seconds since 1970.
    pub at: u64,
    /// The checkout in which it was written.
    pub view: ViewId,
    /// The key that the corrected output was filed under.
    pub key: ActionKey,
    /// That output.
    pub output: Digest,
    /// The words.
    pub words: Words,
}

#[derive(Encode, Decode)]
#[cbor(map)]
struct Body {
    #[n(0)]
    at: u64,
    #[n(1)]
    view: u64,
    #[cbor(n(2), with = "minicbor::bytes")]
    key: [u8; 32],
    #[cbor(n(3), with = "minicbor::bytes")]
    output: [u8; 32],
    #[n(4)]
    words: Words,
}

impl CorrectionRecord {
    /// The row to write for a label.
    pub fn to_row(&self, label: &str) -> RowChange {
        let body = Body {
            at: self.at,
            view: self.view.0,
            key: self.key.0.0,
            output: self.output.0,
            words: self.words.clone(),
        };
        let body = minicbor::to_vec(body).expect("invariant: encoding into memory does not fail");
        (Part::Corrections, label.as_bytes().to_vec(), Some(body))
    }

    /// The correction in a body; `None` when it cannot be decoded.
    pub fn from_body(body: &[u8]) -> Option<Self> {
        let body: Body = minicbor::decode(body).ok()?;
        Some(Self {
            at: body.at,
            view: ViewId(body.view),
            key: ActionKey(Digest(body.key)),
            output: Digest(body.output),
            words: body.words,
        })
    }
}

/// The row that takes a label's correction away.
pub fn release(label: &str) -> RowChange {
    (Part::Corrections, label.as_bytes().to_vec(), None)
}

/// The correction of a label.
///
/// # Errors
/// When the store as a whole cannot be read.
pub fn find(store: &dyn Store, label: &str) -> Result<Option<CorrectionRecord>, StoreError> {
    let row = store.row(ViewId(0), Part::Corrections, label.as_bytes())?;
    Ok(row.and_then(|body| CorrectionRecord::from_body(&body)))
}

/// All corrections, by label.
///
/// # Errors
/// When the store as a whole cannot be read.
pub fn all(store: &dyn Store) -> Result<Vec<(String, CorrectionRecord)>, StoreError> {
    let rows = store.rows(ViewId(0), Part::Corrections)?;
    let read = |(label, body): (Vec<u8>, Vec<u8>)| Some((String::from_utf8(label).ok()?, CorrectionRecord::from_body(&body)?));
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
        store.commit(ViewId(3), rows(vec![record.to_row("//a:b")])).unwrap();
        assert_eq!(find(&store, "//a:b").unwrap(), Some(record.clone()));
        assert_eq!(all(&store).unwrap(), [("//a:b".to_owned(), record)]);
        assert_eq!(store.rows(ViewId(4), Part::Corrections).unwrap().len(), 1);
        store.commit(ViewId(4), rows(vec![release("//a:b")])).unwrap();
        assert_eq!(find(&store, "//a:b").unwrap(), None);
        assert_eq!(CorrectionRecord::from_body(b"no"), None);
    }
}
