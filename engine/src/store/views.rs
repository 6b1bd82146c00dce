//! Checkouts that a store knows: where each is and when it was last used. One row of `Part::View` for each, under the empty key.
//!
//! For gc, which must not take what another checkout holds. The row is written only by a commit that happens anyway, so that a build in
//! which nothing moved writes nothing.

use super::{Part, RowChange};
use minicbor::{Decode, Encode};
use std::path::Path;

/// Key of the only row of `Part::View`.
pub const VIEW_KEY: &[u8] = b"";

/// The row is rewritten when it is older than this many seconds.
const EVERY: u64 = 3600;

/// A checkout.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct ViewRecord {
    /// The canonical path of its root.
    #[cbor(n(0), with = "minicbor::bytes")]
    pub root: Vec<u8>,
    /// Seconds since 1970 when it was last used, give or take an hour.
    #[n(1)]
    pub used: u64,
}

impl ViewRecord {
    /// The root as a path.
    pub fn root(&self) -> &Path {
        os::names::path(&self.root)
    }

    /// The record in a row; `None` when it cannot be decoded.
    pub fn from_row(body: &[u8]) -> Option<Self> {
        minicbor::decode(body).ok()
    }

    /// The row to write for a checkout at `root` that is used `now`, unless what is `known` of it says so well enough.
    pub fn renewed(known: Option<&[u8]>, root: &Path, now: u64) -> Option<RowChange> {
        let root = os::names::bytes(root);
        let fits = |record: &Self| record.root == root && record.used <= now && now - record.used < EVERY;
        if known.and_then(Self::from_row).is_some_and(|record| fits(&record)) {
            return None;
        }
        let record = Self {
            root: root.to_vec(),
            used: now,
        };
        let body = minicbor::to_vec(&record).expect("invariant: encoding into memory does not fail");
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
