//! What a view remembers of who watches it: the moment up to which its known sources are true. One row of `Part::Watch`, under the empty
//! key.
//!
//! Invariant: the moment lies before the look whose findings are in `Part::Directories`, and both are written in one commit. Whoever later
//! looks only at what moved since then knows as much as by looking at everything.

use super::session::Session;
use crate::seams::world::{SetDef, Standing, Watched, World};
use crate::store::{Part, RowChange};
use minicbor::{Decode, Encode};
use std::sync::Arc;

/// Key of the only row of `Part::Watch`.
pub(super) const WATCH_KEY: &[u8] = b"";

/// The known sources as of a moment.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub(super) struct WatchRecord {
    /// The watcher's name of the moment.
    #[cbor(n(0), with = "minicbor::bytes")]
    pub token: Vec<u8>,
    /// How many rows `Part::Directories` has: one that was damaged is missed.
    #[n(1)]
    pub directories: u64,
    /// Whether some directories are to be looked at every time.
    #[n(2)]
    pub odd: bool,
}

impl WatchRecord {
    /// The record in a row; one that cannot be decoded reads as absent.
    pub(super) fn from_row(row: &[u8]) -> Option<Self> {
        minicbor::decode(row).ok()
    }
}

/// What a look has learnt of the watch.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// The moment before the look, if somebody watches.
    pub(super) token: Option<Vec<u8>>,
    /// The row to write with what the look found; `None` when the one that is stored says as much.
    pub(super) due: Option<WatchRecord>,
    /// The row that is stored, when nothing was looked at because of it.
    pub(super) stored: Option<WatchRecord>,
}

impl Seen {
    /// Of a look at what was named, or at everything.
    pub(super) fn looked(watched: Option<Watched>, standing: Standing, stored: Option<&WatchRecord>) -> Self {
        let Some(watched) = watched else { return Self::default() };
        let moved = watched.moved.is_none_or(|moved| !moved.is_empty());
        let mut seen = Self {
            token: Some(watched.token),
            ..Self::default()
        };
        seen.learn(standing, stored.filter(|_| !moved));
        seen
    }

    /// A look found the sources to stand like that. When that is what is stored, and nothing moved, the stored moment serves as well.
    pub(super) fn learn(&mut self, standing: Standing, stored: Option<&WatchRecord>) {
        let same = |stored: &WatchRecord| (stored.directories, stored.odd) == (standing.directories, standing.odd);
        let token = self.token.clone().filter(|_| !stored.is_some_and(same));
        self.due = token.map(|token| WatchRecord {
            token,
            directories: standing.directories,
            odd: standing.odd,
        });
    }

    /// The row to write in the commit that writes what the look found.
    pub(super) fn row(&self) -> Option<RowChange> {
        let record = self.due.as_ref()?;
        let body = minicbor::to_vec(record).expect("invariant: encoding into memory does not fail");
        Some((Part::Watch, WATCH_KEY.to_vec(), Some(body)))
    }
}

/// The moment of a look, to ask later whether anything moved since then.
#[derive(Clone)]
pub struct Moment {
    world: Arc<dyn World>,
    sets: Arc<[SetDef]>,
    token: Arc<[u8]>,
}

impl Moment {
    /// Whether nothing moved: neither a source nor the manifest. Whoever cannot tell says that something did.
    pub fn stands(&self) -> bool {
        let watched = self.world.watched(&self.sets, Some(&self.token));
        watched.is_some_and(|watched| watched.moved.is_some_and(|moved| moved.is_empty()))
    }
}

impl Session {
    /// The moment of the look that this session began with; `None` when nobody watches, or not all of the sources.
    pub fn moment(&self) -> Option<Moment> {
        let token = self.seen.token.clone()?;
        (!self.sources.standing().odd).then(|| Moment {
            world: self.engine.world.clone(),
            sets: self.state.set_defs().into(),
            token: token.into(),
        })
    }
}
