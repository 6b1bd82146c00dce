//! Checkouts recorded in a store: path and last use of each. One row of `Part::View` per checkout, with an empty key.
//!
//! For gc, which must not remove results of another checkout. Only a commit that happens anyway writes the row, so that a build without changes
//! writes nothing.

use super::{Part, RowChange};
use crate::values::cbor;
use minicbor::{Decode, Encode};
use std::path::Path;

/// Key of the only row of `Part::View`.
pub const VIEW_KEY: &[u8] = b"";

/// Minimum age in seconds of a row that a commit rewrites.
const EVERY: u64 = 3600;

/// A checkout.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct ViewRecord {
    /// The canonical path of its root.
    #[cbor(n(0), with = "minicbor::bytes")]
    pub root: Vec<u8>,
    /// Last use in seconds since 1970, accurate to an hour.
    #[n(1)]
    pub used: u64,
}

impl ViewRecord {
    pub fn root(&self) -> &Path {
        os::names::path_of_bytes(&self.root)
    }

    /// Decodes the record in a row; `None` if it is malformed.
    pub fn from_row(body: &[u8]) -> Option<Self> {
        minicbor::decode(body).ok()
    }

    /// Returns the row to write for a checkout at `root` used at `now`; `None` if the `known` row is accurate enough.
    pub fn renewed(known: Option<&[u8]>, root: &Path, now: u64) -> Option<RowChange> {
        let root = os::names::name_bytes(root);
        let fits = |record: &Self| record.root == root && record.used <= now && now - record.used < EVERY;
        if known.and_then(Self::from_row).is_some_and(|record| fits(&record)) {
            return None;
        }
        let record = Self {
            root: root.to_vec(),
            used: now,
        };
        let body = cbor::encode(&record);
        Some((Part::View, VIEW_KEY.to_vec(), Some(body)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_renewed_at_most_once_an_hour_and_when_the_clock_was_wrong() {
        let (root, now) = (Path::new("/a/b"), 1_700_000_000);
        let (part, key, body) = ViewRecord::renewed(None, root, now).unwrap();
        assert_eq!((part, key), (Part::View, VIEW_KEY.to_vec()));
        let body = body.unwrap();
        let record = ViewRecord::from_row(&body).unwrap();
        assert_eq!((record.root(), record.used), (root, now));
        for (root, now, renews) in [
            (root, now + 3599, false),
            (root, now + 3600, true),
            (root, now - 1, true),
            (Path::new("/a/c"), now, true),
        ] {
            assert_eq!(ViewRecord::renewed(Some(&body), root, now).is_some(), renews, "{root:?} {now}");
        }
        assert!(ViewRecord::renewed(Some(b"\xff"), root, now).is_some());
    }
}
