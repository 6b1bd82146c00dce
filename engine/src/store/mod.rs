//! The store: blobs by digest, results by action key, History, and the state of each view (checkout). See `store-layout.md`.
//!
//! The store may vanish at any time; it costs time, never truth. Every blob is hashed again on every read.

pub mod builds;
mod codec;
pub mod corrections;
pub mod diagnostics;
pub mod disk;
pub mod exchange;
pub mod fetching;
pub mod ledger;
pub mod memory;
pub mod overlay_store;
pub mod parcel;
pub mod pins;
pub mod records;
pub mod shared;
pub mod snapshot_store;
pub mod superseded;
pub mod unconfirmed;
pub mod views;
pub mod volumes;

#[cfg(test)]
mod conformance;

use crate::values::digest::{ActionKey, Digest};
use crate::values::pages::PageError;
use crate::values::pieces;
use records::{ActionRecord, HistoryRecord, NewResult};
use std::path::PathBuf;
use std::sync::Arc;
use views::ViewRecord;

/// One checkout (or, later, overlay) of a workspace within a store: the digest of its root's canonical path, cut to 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ViewId(pub u64);

/// The kinds of per-view records. Bodies are opaque to the store; the module named here encodes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Part {
    /// Pages of node records, by page number (`graph`).
    Nodes,
    /// What every build needs of them: which nodes there are and what reads what, by page number (`graph`).
    Links,
    /// Which rows of tables decided what nodes read, by page number (`graph`).
    Lookups,
    /// The set of stale nodes, the generation and counters (`graph`).
    State,
    /// Directory listings with file stamps and digests, by path (`files`).
    Directories,
    /// Files laid out under `.cortex/out/`, by page number (`files`).
    Exports,
    /// Requests that were current at a generation, by digest of the request (`build`).
    Requests,
    /// The compiled manifest, by digest of its texts (`manifest`).
    Manifests,
    /// Warnings that stand and why the last try failed, by label (`build`).
    Remarks,
    /// What was spent and saved, by time (`store::ledger`).
    Ledger,
    /// What people wrote in the place of outputs, by label (`store::corrections`). Of all views together.
    Corrections,
    /// Builds, by number (`store::builds`).
    Builds,
    /// Where the checkout is and when it was last used: one row, whose key is empty (`store::views`).
    View,
    /// Versions that are kept whatever comes, by label and version (`store::pins`).
    Pins,
    /// The moment up to which the known sources are true, when somebody watches: one row, whose key is empty (`build`).
    Watch,
    /// What a remote cache gave and took, by day (`store::exchange`).
    Exchange,
    /// Paid answers of which other machines may have others, by action key (`store::unconfirmed`).
    Unconfirmed,
    /// Volumes of a remote cache whose results were filed here, by digest (`store::volumes`).
    Volumes,
}

impl Part {
    /// Every part, in the order of their declaration.
    pub const ALL: [Self; 18] = [
        Self::Nodes,
        Self::Links,
        Self::Lookups,
        Self::State,
        Self::Directories,
        Self::Exports,
        Self::Requests,
        Self::Manifests,
        Self::Remarks,
        Self::Ledger,
        Self::Corrections,
        Self::Builds,
        Self::View,
        Self::Pins,
        Self::Watch,
        Self::Exchange,
        Self::Unconfirmed,
        Self::Volumes,
    ];

    /// Whose rows a view sees: its own, or those that all views share.
    #[must_use]
    pub fn owner(self, view: ViewId) -> ViewId {
        match self {
            Self::Corrections => ViewId(0),
            _ => view,
        }
    }
}

/// A row of a part of a view: key, body.
pub type Row = (Vec<u8>, Vec<u8>);

/// A write to a view: part, key, new body (`None` removes the row).
pub type RowChange = (Part, Vec<u8>, Option<Vec<u8>>);

/// Everything one transaction writes.
#[derive(Debug, Default)]
pub struct Commit {
    /// Results: blob if absent, action record.
    pub results: Vec<NewResult>,
    /// Outputs of results that are filed already, by their digests.
    pub blobs: Vec<(Digest, Arc<[u8]>)>,
    /// Rows of the view.
    pub rows: Vec<RowChange>,
    /// Versions to push: label, record. Version numbers are given by the store; all but the newest [`KEEP_VERSIONS`] and those that are pinned are trimmed.
    pub history: Vec<(String, HistoryRecord)>,
    /// Results made earlier that were found again, and when (seconds since 1970): gc spares what was used lately.
    pub used: Vec<(ActionKey, u64)>,
}

/// How many versions of a node History keeps unless told otherwise.
pub const KEEP_VERSIONS: usize = 16;

/// What can go wrong with a store. Damage to single records is not here: a damaged record is reported and reads as absent.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// Another process holds the lock.
    #[error("the store is held by {holder}")]
    Busy {
        /// Who holds it, as it wrote itself down.
        holder: String,
    },
    /// Another process builds the same checkout.
    #[error("another build of this checkout is running, {holder}")]
    ViewBusy {
        /// Who, as it wrote itself down.
        holder: String,
    },
    /// Another process makes the same result.
    #[error("{} is making the same result, {holder}", maker(.holder))]
    ActionBusy {
        /// Who, as it wrote itself down.
        holder: String,
    },
    /// Another process collects.
    #[error("another collection of this store is running, {holder}")]
    Collecting {
        /// Who, as it wrote itself down.
        holder: String,
    },
    /// The disk is full; nothing was lost.
    #[error("no space left for the store at {path}")]
    NoSpace {
        /// The store's folder.
        path: PathBuf,
    },
    /// Reading or writing failed.
    #[error("the store at {path} cannot be {what}: {reason}")]
    Io {
        /// The store's folder.
        path: PathBuf,
        /// `opened`, `read`, `written`.
        what: &'static str,
        /// The system's words.
        reason: String,
    },
    /// Written by a newer cortex.
    #[error("the store at {path} was written by a newer version of cortex (format {found}, this one reads up to {known})")]
    TooNew {
        /// The store's folder.
        path: PathBuf,
        /// Its format.
        found: u32,
        /// The newest format known here.
        known: u32,
    },
    /// Damaged beyond single records. It is set aside and begun anew when it is next opened.
    #[error(
        "the store at {path} is damaged ({reason}); when it is next opened to be written, it is set aside, and what is sound of it taken over into a new one"
    )]
    Damaged {
        /// The store's folder.
        path: PathBuf,
        /// What was met.
        reason: String,
    },
    /// The folder belongs to someone else.
    #[error("the store at {path} belongs to another user")]
    Foreign {
        /// The store's folder.
        path: PathBuf,
    },
}

/// Who makes a result that somebody waits for: in a service that may be another request.
fn maker(holder: &str) -> &'static str {
    match holder.starts_with(&format!("pid {} ", std::process::id())) {
        true => "another request of this process",
        false => "another process",
    }
}

/// An action that this process alone asks for; see [`Store::flight`].
pub type Flight = Box<dyn std::any::Any + Send>;

/// Why an output in pieces cannot be read.
enum Unread {
    Piece,
    Store(StoreError),
}

impl From<PageError> for Unread {
    fn from(_: PageError) -> Self {
        Self::Piece
    }
}

/// What a store does. One conformance suite runs over every backend.
pub trait Store: Send + Sync {
    /// The blob of that digest, hashed again; damage is noted ([`Store::damage`]) and reads as absent.
    ///
    /// # Errors
    /// Only when the store as a whole cannot be read.
    fn blob(&self, digest: &Digest) -> Result<Option<Arc<[u8]>>, StoreError>;

    /// An output as its readers see it: a table in one page. `None` where a piece of it is nowhere.
    ///
    /// # Errors
    /// Only when the store as a whole cannot be read.
    fn output(&self, digest: &Digest) -> Result<Option<Arc<[u8]>>, StoreError> {
        let Some(root) = self.blob(digest)? else { return Ok(None) };
        match pieces::readable(&root, |page| self.blob(page).map_err(Unread::Store)) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(Unread::Piece) => Ok(None),
            Err(Unread::Store(error)) => Err(error),
        }
    }

    /// Whether a blob of that digest is recorded (its bytes are not looked at).
    ///
    /// # Errors
    /// Only when the store as a whole cannot be read.
    fn has_blob(&self, digest: &Digest) -> Result<bool, StoreError>;

    /// The result filed under a key.
    ///
    /// # Errors
    /// Only when the store as a whole cannot be read.
    fn action(&self, key: &ActionKey) -> Result<Option<ActionRecord>, StoreError>;

    /// One row of a view.
    ///
    /// # Errors
    /// Only when the store as a whole cannot be read.
    fn row(&self, view: ViewId, part: Part, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError>;

    /// All rows of a part of a view, in key order.
    ///
    /// # Errors
    /// Only when the store as a whole cannot be read.
    fn rows(&self, view: ViewId, part: Part) -> Result<Vec<Row>, StoreError>;

    /// The versions of a node, oldest first.
    ///
    /// # Errors
    /// Only when the store as a whole cannot be read.
    fn history(&self, view: ViewId, label: &str) -> Result<Vec<HistoryRecord>, StoreError>;

    /// Writes all of it in one durable transaction, or nothing.
    ///
    /// # Errors
    /// When the transaction could not be made durable.
    fn commit(&self, view: ViewId, commit: Commit) -> Result<(), StoreError>;

    /// Damage met so far in this process: one sentence each, naming table and key. Taking it empties the list.
    fn damage(&self) -> Vec<String>;

    /// Whether another process waits for the store and this one is of those that give way. Cheap enough to ask at every step.
    fn is_wanted(&self) -> bool {
        false
    }

    /// Lets others have the store until it is next called. What is not committed is not protected from gc meanwhile.
    fn let_go(&self) {}

    /// Waits until no other process asks for what this key costs, and keeps others from it while the value lives; `None` where nobody else
    /// can be, and when told to stop. What is filed under the key is to be looked up again afterwards.
    ///
    /// # Errors
    /// When it cannot be told whether somebody else asks.
    fn flight(&self, _key: &ActionKey, _is_cancelled: &dyn Fn() -> bool) -> Result<Option<Flight>, StoreError> {
        Ok(None)
    }

    /// Lets others have the store if one waits for it; whether it did. To be called between two steps of which each is whole.
    fn give_way(&self) -> bool {
        let wanted = self.is_wanted();
        if wanted {
            self.let_go();
        }
        wanted
    }
}

/// What a store holds, in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Length of the store's file.
    pub file_bytes: u64,
    /// Blobs recorded.
    pub blobs: u64,
    /// Their length.
    pub blob_raw_bytes: u64,
    /// Their length as stored.
    pub blob_stored_bytes: u64,
    /// Action records.
    pub actions: u64,
    /// Versions in History, of all views.
    pub history_versions: u64,
    /// Files of damaged stores that were set aside beside it.
    pub set_aside_files: u64,
    /// Their length.
    pub set_aside_bytes: u64,
}

/// Counting what is there, for `status` and `gc`. Damaged records are counted nowhere.
pub trait Inventory: Store {
    /// What the store holds.
    ///
    /// # Errors
    /// Only when the store as a whole cannot be read.
    fn usage(&self) -> Result<Usage, StoreError>;

    /// When a result made earlier was last found again (seconds since 1970); `None` if it never was.
    ///
    /// # Errors
    /// Only when the store as a whole cannot be read.
    fn last_use(&self, key: &ActionKey) -> Result<Option<u64>, StoreError>;

    /// The checkouts that the store knows, by number.
    ///
    /// # Errors
    /// Only when the store as a whole cannot be read.
    fn views(&self) -> Result<Vec<(ViewId, ViewRecord)>, StoreError>;
}

/// What is said of an output that was handed in under a digest that is not its own; it is not stored.
fn not_its_digest(digest: &Digest, result: Option<&NewResult>) -> String {
    let of = result.map_or("a result", |result| &result.record.label);
    format!("the output handed in for {of} does not have the digest {digest}; it was not stored")
}
