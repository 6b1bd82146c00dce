//! The store: blobs by digest, results by action key, History, and the state of each view (checkout). See `store-layout.md`.
//!
//! The store may be deleted at any time: that costs time, never correctness. Every read hashes the blob again.

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
use minicbor::{Decode, Encode};
use records::{ActionRecord, HistoryRecord, NewResult};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::Arc;
use views::ViewRecord;

/// Identifies one checkout of a workspace within a store: the digest of its root's canonical path, cut to 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Encode, Decode)]
#[cbor(transparent)]
pub struct ViewId(#[n(0)] pub u64);

/// The kinds of per-view records. Bodies are opaque to the store; the module named here encodes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Part {
    /// Pages of node records, by page number (`graph`).
    Nodes,
    /// The part of the nodes that every build needs: their labels and edges, by page number (`graph`).
    Links,
    /// Rows of tables that decided which inputs nodes have, by page number (`graph`).
    Lookups,
    /// The state that the stored graph belongs to: generation, stale nodes and counters (`build`).
    State,
    /// Directory listings with file stamps and digests, by path (`files`).
    Directories,
    /// Files laid out under `.cortex/out/`, by page number (`files`).
    Exports,
    /// Requests that were current at a generation, by digest of the request (`build`).
    Requests,
    /// The compiled manifest, by digest of its texts (`manifest`).
    Manifests,
    /// Warnings in force and the reason of the last failure, by label (`build`).
    Remarks,
    /// Amounts spent and saved, by time (`store::ledger`).
    Ledger,
    /// Corrections that people wrote in place of outputs, by label (`store::corrections`). Shared by all views.
    Corrections,
    /// Builds, by number (`store::builds`).
    Builds,
    /// Path and last use of the checkout: one row with an empty key (`store::views`).
    View,
    /// Versions that are never trimmed, by label and version (`store::pins`).
    Pins,
    /// The moment up to which the known sources are current, if a watcher runs: one row with an empty key (`build`).
    Watch,
    /// Traffic with a remote cache, by day (`store::exchange`).
    Exchange,
    /// Paid answers for which other machines may have stored different ones, by action key (`store::unconfirmed`).
    Unconfirmed,
    /// Volumes of a remote cache whose results are stored here, by digest (`store::volumes`).
    Volumes,
}

impl Part {
    /// Every part, in declaration order.
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

    /// Returns the view whose rows `view` reads: itself, or the one that all views share.
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
    /// Results; each writes its action record, and its blob if absent.
    pub results: Vec<NewResult>,
    /// Outputs of results whose records exist already, by digest.
    pub blobs: Vec<DigestedBlob>,
    pub rows: Vec<RowChange>,
    /// Versions to push: label, record. The store assigns version numbers and trims all but the newest [`KEEP_VERSIONS`] and the pinned ones.
    pub history: Vec<(String, HistoryRecord)>,
    /// Earlier results that were found again, and when (seconds since 1970): gc keeps recently used ones.
    pub used: Vec<(ActionKey, u64)>,
}

/// Default number of versions of a node that History keeps.
pub const KEEP_VERSIONS: usize = 16;

/// Errors of a store as a whole. Damage to single records is no error: a damaged record is reported and reads as absent.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// Another process holds the lock.
    #[error("the store is held by {holder}")]
    Busy {
        /// Description of the holder, from the lock file.
        holder: String,
    },
    /// Another process builds the same checkout.
    #[error("another build of this checkout is running, {holder}")]
    ViewBusy {
        /// Description of that process, from the lock file.
        holder: String,
    },
    /// Another process builds the same result.
    #[error("{} is making the same result, {holder}", describe_holder(.holder))]
    ActionBusy {
        /// Description of that process, from the lock file.
        holder: String,
    },
    /// Another process runs gc.
    #[error("another collection of this store is running, {holder}")]
    Collecting {
        /// Description of that process, from the lock file.
        holder: String,
    },
    /// The disk is full; no data is lost.
    #[error("no space left for the store at {path}")]
    NoSpace { path: PathBuf },
    /// Reading or writing failed.
    #[error("the store at {path} cannot be {what}: {reason}")]
    Io {
        path: PathBuf,
        /// `opened`, `read`, `written`.
        what: &'static str,
        /// The operating system's error message.
        reason: String,
    },
    /// A newer cortex wrote it.
    #[error("the store at {path} was written by a newer version of cortex (format {found}, this one reads up to {known})")]
    TooNew {
        path: PathBuf,
        found: u32,
        /// The newest format that this version reads.
        known: u32,
    },
    /// The damage goes beyond single records. The next process that opens the store for writing sets the file aside and starts a new one.
    #[error(
        "the store at {path} is damaged ({reason}); the next command that writes sets it aside and copies its sound contents into a new one"
    )]
    Damaged { path: PathBuf, reason: String },
    /// The folder belongs to another user.
    #[error("the store at {path} belongs to another user")]
    Foreign { path: PathBuf },
}

/// Describes the holder of an awaited result: in a service, it may be another request of this process.
fn describe_holder(holder: &str) -> &'static str {
    match holder.starts_with(&format!("pid {} ", std::process::id())) {
        true => "another request of this process",
        false => "another process",
    }
}

/// Exclusive right to request one action; see [`Store::lock_action`].
pub type ActionLock = Box<dyn std::any::Any + Send>;

/// Reason why an output in pieces cannot be read.
enum Unread {
    Piece,
    Store(StoreError),
}

impl From<PageError> for Unread {
    fn from(_: PageError) -> Self {
        Self::Piece
    }
}

pub type DigestedBlob = (Digest, Arc<[u8]>);

/// A store. One conformance suite runs over every backend.
pub trait Store: Send + Sync {
    /// Returns the blob of that digest, hashed again; damage is noted ([`Store::damage`]) and reads as absent.
    fn blob(&self, digest: &Digest) -> Result<Option<Arc<[u8]>>, StoreError>;

    /// Returns an output as its readers see it: a table in one page. `None` if any piece is missing.
    fn output(&self, digest: &Digest) -> Result<Option<Arc<[u8]>>, StoreError> {
        let Some(root) = self.blob(digest)? else { return Ok(None) };
        match pieces::readable(&root, |page| self.blob(page).map_err(Unread::Store)) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(Unread::Piece) => Ok(None),
            Err(Unread::Store(error)) => Err(error),
        }
    }

    /// Receives from a cache the outputs that this store lacks and that are about to be read; stores them, and returns those that it received.
    fn fetch_all(&self, _digests: &[Digest]) -> Result<Vec<DigestedBlob>, StoreError> {
        Ok(Vec::new())
    }

    /// Whether a blob of that digest is recorded (without reading its bytes).
    fn has_blob(&self, digest: &Digest) -> Result<bool, StoreError>;

    /// Returns the result stored under a key.
    fn action(&self, key: &ActionKey) -> Result<Option<ActionRecord>, StoreError>;

    fn row(&self, view: ViewId, part: Part, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError>;

    /// Returns all rows of a part of a view, in key order.
    fn rows(&self, view: ViewId, part: Part) -> Result<Vec<Row>, StoreError>;

    /// Returns the versions of a node, oldest first.
    fn history(&self, view: ViewId, label: &str) -> Result<Vec<HistoryRecord>, StoreError>;

    /// Returns the name of the store, which differs from that of all others unless it was copied; `None` for stores in memory.
    fn id(&self) -> Option<String> {
        None
    }

    /// Writes everything in one durable transaction, or nothing. Fails when the transaction cannot be made durable.
    fn commit(&self, view: ViewId, commit: Commit) -> Result<(), StoreError>;

    /// Returns and clears the damage found so far in this process: one sentence each, naming table and key.
    fn damage(&self) -> Vec<String>;

    /// Whether another process waits for the store and this one releases it to others. Cheap enough to call at every step.
    fn is_wanted(&self) -> bool {
        false
    }

    /// Releases the store lock until the next call. Until then gc may remove anything not committed.
    fn release_lock(&self) {}

    /// Waits until no other process requests the paid result of this key, and locks out others while the returned value lives. `None` if
    /// there cannot be another process, or when cancelled. Afterwards, look the key up again: the other process may have stored its result.
    /// Fails when another process requests the result until the time-out, or the lock cannot be tried.
    fn lock_action(&self, _key: &ActionKey, _is_cancelled: &dyn Fn() -> bool) -> Result<Option<ActionLock>, StoreError> {
        Ok(None)
    }

    /// Releases the store lock if another process waits for it, and returns whether it did. Call between two self-contained steps.
    fn release_if_wanted(&self) -> bool {
        let wanted = self.is_wanted();
        if wanted {
            self.release_lock();
        }
        wanted
    }
}

/// Counts and sizes of a store's contents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Space that the store's file takes on the disk, in bytes.
    pub file_bytes: u64,
    /// Number of blobs recorded.
    pub blobs: u64,
    /// Number of action records.
    pub actions: u64,
    /// Number of versions in History, of all views.
    pub history_versions: u64,
    /// Number of damaged store files that were set aside beside it.
    pub set_aside_files: u64,
    pub set_aside_bytes: u64,
}

/// Total length of a store's blobs. Damaged records are not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlobBytes {
    /// As readers get them.
    pub raw: u64,
    pub stored: u64,
}

/// Counts of a store's contents, for `status` and `gc`.
pub trait Inventory: Store {
    /// Counts the store's contents by the lengths of its tables: reads no record.
    fn usage(&self) -> Result<Usage, StoreError>;

    /// Sums up the lengths of all blobs: reads every record about one.
    fn blob_bytes(&self) -> Result<BlobBytes, StoreError>;

    /// Returns when an earlier result was last found again (seconds since 1970); `None` if never.
    fn last_use(&self, key: &ActionKey) -> Result<Option<u64>, StoreError>;

    /// Returns the checkouts recorded in the store, by number.
    fn views(&self) -> Result<Vec<(ViewId, ViewRecord)>, StoreError>;
}

/// Returns the message for an output that was handed in under a wrong digest and is not stored.
fn digest_mismatch(digest: &Digest, result: Option<&NewResult>) -> String {
    let of = result.map_or("a result", |result| &result.record.label);
    format!("the output handed in for {of} does not have the digest {digest}; it was not stored")
}
