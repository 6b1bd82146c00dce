//! Watch state of a view: the moment up to which its known sources are current. One row of `Part::Watch`, with an empty key.
//!
//! Invariant: the moment precedes the refresh whose findings are in `Part::Directories`, and one commit writes both. So a later refresh of only the
//! changes since then finds as much as a full one.

use crate::seams::world::{SetDef, TreeFacts, Watched, World};
use crate::store::{Part, RowChange};
use crate::values::cbor;
use minicbor::{Decode, Encode};
use std::sync::Arc;

/// Key of the only row of `Part::Watch`.
pub(super) const WATCH_KEY: &[u8] = b"";

/// The known sources as of a moment.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub(super) struct WatchRecord {
    /// The watcher's token of the moment.
    #[cbor(n(0), with = "minicbor::bytes")]
    pub token: Vec<u8>,
    /// Number of rows in `Part::Directories`, to detect a damaged one.
    #[n(1)]
    pub directories: u64,
    /// Whether some directories must be checked every time.
    #[n(2)]
    pub odd: bool,
}

impl WatchRecord {
    /// Decodes the record in a row; `None` if malformed.
    pub(super) fn from_row(row: &[u8]) -> Option<Self> {
        minicbor::decode(row).ok()
    }
}

/// Watch state after a refresh.
#[derive(Clone, Debug, Default)]
pub struct WatchUpdate {
    /// The moment before the refresh, if a watcher runs.
    pub(super) token: Option<Vec<u8>>,
    /// The row to write with the findings; `None` if the stored one is still valid.
    pub(super) due: Option<WatchRecord>,
    /// The stored row, if it made a refresh unnecessary.
    pub(super) stored: Option<WatchRecord>,
}

impl WatchUpdate {
    /// Creates the state after a refresh of named paths, or of everything.
    pub(super) fn after_refresh(watched: Option<Watched>, facts: TreeFacts, stored: Option<&WatchRecord>) -> Self {
        let Some(watched) = watched else { return Self::default() };
        let changed = watched.changed.is_none_or(|changed| !changed.is_empty());
        let mut seen = Self {
            token: Some(watched.token),
            ..Self::default()
        };
        seen.add_facts(facts, stored.filter(|_| !changed));
        seen
    }

    /// Adds the facts found by a refresh. If they equal the stored ones, and nothing changed, the stored moment stays valid.
    pub(super) fn add_facts(&mut self, facts: TreeFacts, stored: Option<&WatchRecord>) {
        let same = |stored: &WatchRecord| (stored.directories, stored.odd) == (facts.directories, facts.odd);
        let token = self.token.clone().filter(|_| !stored.is_some_and(same));
        self.due = token.map(|token| WatchRecord {
            token,
            directories: facts.directories,
            odd: facts.odd,
        });
    }

    /// Returns the row for the commit that writes the findings.
    pub(super) fn row(&self) -> Option<RowChange> {
        let record = self.due.as_ref()?;
        let body = cbor::encode(record);
        Some((Part::Watch, WATCH_KEY.to_vec(), Some(body)))
    }
}

/// The moment of a refresh, to check later whether anything changed since.
#[derive(Clone)]
pub struct Moment {
    world: Arc<dyn World>,
    sets: Arc<[SetDef]>,
    token: Arc<[u8]>,
}

impl Moment {
    pub(super) fn new(world: Arc<dyn World>, sets: Arc<[SetDef]>, token: Arc<[u8]>) -> Self {
        Self { world, sets, token }
    }

    /// Whether nothing changed, neither a source nor the manifest. False if unknown.
    pub fn is_current(&self) -> bool {
        let watched = self.world.watched(&self.sets, Some(&self.token));
        watched.is_some_and(|watched| watched.changed.is_some_and(|changed| changed.is_empty()))
    }
}
