//! Paid answers that may differ between machines: two machines may have asked at the same moment.
//!
//! A machine stores an answer in a remote cache only after seeing none, and gives up [`WINDOW`](crate::seams::remote::WINDOW) later. So no machine
//! writes a key [`SETTLED`] after its answer was first seen: an answer read then is final, and its row is removed.
//!
//! Encoded with minicbor in `Part::Unconfirmed`. Row key: the action key.

use super::{Part, RowChange, Store, StoreError, ViewId};
use crate::values::cbor;
use crate::values::digest::{ActionKey, Digest};
use minicbor::{Decode, Encode};

/// Seconds from the first sight of an answer in the cache until the windows of all other machines are closed, however slow their connections.
pub const SETTLED: u64 = 600;
/// Minimum age in seconds of an answer that is final when it is received: all machines that asked at the same time have stored theirs or given up.
pub const OLD: u64 = 24 * 60 * 60;
/// Seconds after which builds stop asking for an answer. If this machine may only read, perhaps no machine ever stores it.
pub const FORGOTTEN: u64 = 30 * 24 * 60 * 60;

/// One unconfirmed answer.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Unconfirmed {
    /// Label of the node that it was built for.
    #[n(0)]
    pub label: String,
    /// Time at which it arrived here, in seconds since 1970.
    #[n(1)]
    pub came: u64,
    /// When the cache was last asked for it.
    #[n(2)]
    pub requested: u64,
    /// When an answer under its key was first seen in the cache.
    #[n(3)]
    pub seen: Option<u64>,
}

impl Unconfirmed {
    /// Records an answer that has just arrived.
    pub fn new(label: &str, now: u64) -> Self {
        Self {
            label: label.to_owned(),
            came: now,
            requested: now,
            seen: None,
        }
    }

    /// Whether the next build asks: every build until it is confirmed; if the cache has none after [`SETTLED`], less and less often.
    pub fn is_due(&self, now: u64) -> bool {
        let waited = self.requested.saturating_sub(self.came);
        self.seen.is_some() || now < self.came.saturating_add(SETTLED) || now >= self.requested.saturating_add(waited / 2)
    }

    /// Returns the row after an answer was read at `now`; `None` if it is confirmed.
    #[must_use]
    pub fn read_at(self, now: u64) -> Option<Self> {
        let seen = self.seen.unwrap_or(now);
        (now < seen.saturating_add(SETTLED)).then_some(Self {
            requested: now,
            seen: Some(seen),
            ..self
        })
    }

    /// Returns the row after none was found at `now`; `None` if builds stop asking.
    #[must_use]
    pub fn missed_at(self, now: u64) -> Option<Self> {
        (now < self.came.saturating_add(FORGOTTEN)).then_some(Self {
            requested: now,
            seen: None,
            ..self
        })
    }

    pub fn to_row(&self, key: &ActionKey) -> RowChange {
        let body = cbor::encode(self);
        (Part::Unconfirmed, key.0.0.to_vec(), Some(body))
    }
}

/// Returns the change that removes the row.
pub fn confirmed(key: &ActionKey) -> RowChange {
    (Part::Unconfirmed, key.0.0.to_vec(), None)
}

/// Reads all unconfirmed answers of a checkout, by key.
pub fn list_unconfirmed(store: &dyn Store, view: ViewId) -> Result<Vec<(ActionKey, Unconfirmed)>, StoreError> {
    let rows = store.rows(view, Part::Unconfirmed)?;
    let read = |(key, body): (Vec<u8>, Vec<u8>)| Some((ActionKey(Digest(key.try_into().ok()?)), minicbor::decode(&body).ok()?));
    Ok(rows.into_iter().filter_map(read).collect())
}

/// Whether a build must ask the cache for any answer of a checkout.
pub fn any_due(store: &dyn Store, view: ViewId, now: u64) -> Result<bool, StoreError> {
    Ok(list_unconfirmed(store, view)?.iter().any(|(_, row)| row.is_due(now)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn builds_ask_until_confirmed_then_ever_less() {
        let row = Unconfirmed::new("//a:b", 1_000);
        assert!(row.is_due(1_000) && row.is_due(1_000 + SETTLED - 1));
        // It is confirmed by an answer read a whole window after the first sighting.
        let seen = row.clone().read_at(1_030).expect("not yet");
        assert_eq!(seen.seen, Some(1_030));
        let again = seen.clone().read_at(1_030 + SETTLED - 1).expect("not yet");
        assert_eq!(again.seen, Some(1_030), "first seen");
        assert!(again.is_due(1_030 + SETTLED - 1));
        assert_eq!(again.read_at(1_030 + SETTLED), None);
        // A missing answer is asked for less and less often, and finally never.
        let missed = row.clone().missed_at(11_000).expect("still asked about");
        assert!(!missed.is_due(15_999) && missed.is_due(16_000));
        assert_eq!(seen.missed_at(1_040).expect("still asked about").seen, None, "it is gone");
        assert_eq!(row.missed_at(1_000 + FORGOTTEN), None);
    }

    #[test]
    fn rows_round_trip() {
        let store = crate::store::memory::MemoryStore::default();
        let key = ActionKey(Digest::of(b"key"));
        let row = Unconfirmed {
            seen: Some(7),
            ..Unconfirmed::new("//a:b", 5)
        };
        let write = |rows| {
            let commit = crate::store::Commit {
                rows,
                ..crate::store::Commit::default()
            };
            store.commit(ViewId(1), commit).expect("written");
        };
        write(vec![row.to_row(&key), (Part::Unconfirmed, b"no key".to_vec(), Some(vec![0xff]))]);
        assert_eq!(list_unconfirmed(&store, ViewId(1)).expect("read"), [(key, row)]);
        assert!(any_due(&store, ViewId(1), 6).expect("read") && !any_due(&store, ViewId(2), 6).expect("read"));
        write(vec![confirmed(&key)]);
        assert_eq!(list_unconfirmed(&store, ViewId(1)).expect("read"), []);
    }
}
