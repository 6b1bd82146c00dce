//! The cache that machines share: results that others made, found under the same keys, and results offered to others.
//!
//! The engine knows no protocol. It asks and offers; whoever answers may be slow, silent, gone or lying, and then the answer is a miss: a
//! remote cache costs time, never truth. What comes is [checked](genuine) on this side, too.

use crate::values::digest::{ActionKey, Digest};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// A blob by its digest and length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlobRef {
    /// Its blake3 digest.
    pub digest: Digest,
    /// Its length in bytes.
    pub len: u64,
}

impl BlobRef {
    /// The reference to these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self {
            digest: Digest::of(bytes),
            len: bytes.len() as u64,
        }
    }
}

/// A result that is looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The key it is filed under.
    pub key: ActionKey,
    /// Producer and version, as displayed. The key says the same; servers show this to people.
    pub producer: String,
}

/// One output of a shared result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedOutput {
    /// What the producer calls it; a producer of one output calls it `output`.
    pub name: String,
    /// The blob.
    pub blob: BlobRef,
}

/// A result as machines share it. Its outputs are fetched by themselves, and only when somebody reads them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedResult {
    /// The key it is filed under.
    pub key: ActionKey,
    /// Producer and version, as displayed.
    pub producer: String,
    /// What was made, by rising name.
    pub outputs: Vec<SharedOutput>,
    /// How it came about: bytes of the engine's, opaque to the cache.
    pub provenance: Vec<u8>,
}

impl SharedResult {
    /// The question that it answers.
    pub fn lookup(&self) -> Wanted {
        Wanted {
            key: self.key,
            producer: self.producer.clone(),
        }
    }
}

/// What became of an offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offered {
    /// It will be uploaded.
    Queued,
    /// Nothing is written in this run.
    Off,
    /// Too much waits to be uploaded; it was left out.
    LeftOut,
}

/// A way in which a cache did not keep its word. Each makes a miss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Lie {
    /// Bytes without the digest that was asked for.
    WrongBytes,
    /// A blob that a result names is not there.
    MissingBlob,
    /// A result lacks an output or its record.
    MissingOutput,
    /// The record belongs to another key or another producer.
    OtherKey,
    /// The record or an answer cannot be read.
    Undecodable,
    /// The result says that its producer failed.
    Failed,
    /// Nobody whom this checkout trusts signed it.
    Untrusted,
}

impl fmt::Display for Lie {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::WrongBytes => "wrong bytes",
            Self::MissingBlob => "missing blobs",
            Self::MissingOutput => "missing outputs",
            Self::OtherKey => "results of other keys",
            Self::Undecodable => "unreadable records",
            Self::Failed => "failed results",
            Self::Untrusted => "results that nobody signed who is trusted",
        })
    }
}

/// What a run had of a remote cache.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RemoteSummary {
    /// Results that were found.
    pub hits: u64,
    /// Results that were asked for and not found, for whatever reason.
    pub misses: u64,
    /// Blobs that came.
    pub blobs_down: u64,
    /// Their bytes as they were sent.
    pub bytes_down: u64,
    /// Volumes whose outputs were fetched.
    pub volumes: u64,
    /// Volumes whose outputs were made where they were read, because that takes less time.
    pub volumes_left: u64,
    /// Questions that were sent, each time that they were.
    pub requests: u64,
    /// Results that the cache took.
    pub stored: u64,
    /// Blobs that were sent.
    pub blobs_up: u64,
    /// Their bytes as they were sent.
    pub bytes_up: u64,
    /// Offers that the cache did not take, or that nobody waited for.
    pub not_stored: u64,
    /// What was wrong with answers, by kind; each blob and each result once.
    pub lies: BTreeMap<Lie, u64>,
    /// Blobs and results that were wrong, were sent again, and are right now.
    pub healed: u64,
    /// Those that the cache keeps wrong although they were sent again, as it calls them.
    pub broken: BTreeSet<String>,
    /// Why nothing more was looked up, one sentence.
    pub reads_off: Option<String>,
    /// Why nothing more was offered, one sentence.
    pub writes_off: Option<String>,
    /// What went wrong with calls, one sentence; the first of them.
    pub trouble: Option<String>,
    /// Shards of work that were sent to workers.
    pub shards: u64,
    /// Targets that workers made.
    pub executed: u64,
    /// Targets that workers were to make and did not.
    pub unmade: u64,
    /// Why nothing more was sent to workers, one sentence.
    pub execute_off: Option<String>,
    /// What went wrong with workers, one sentence; the first of it.
    pub execute_trouble: Option<String>,
}

/// What a bundle consists of. Results are filed under their keys, so that a bundle serves any tree that has some of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bundle {
    /// Which of the names that were asked for led to it.
    pub at: usize,
    /// Its volumes.
    pub volumes: Vec<VolumeRef>,
}

/// A volume: some results whose records travel in one piece, and outputs that travel in another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumeRef {
    /// Digest of the piece that holds the records.
    pub id: Digest,
    /// Where both pieces are, in bytes of the cache's own.
    pub address: Vec<u8>,
    /// Whether its outputs are of those that a build reads before it knows its targets, or that are dear to make.
    pub is_eager: bool,
    /// Bytes that its outputs travel in.
    pub len: u64,
}

/// What a volume holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Volume {
    /// Its results, without the parts of their outputs.
    pub results: Vec<SharedResult>,
    /// The outputs and parts of outputs in it.
    pub outputs: Vec<Digest>,
}

/// A result that is offered with others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bundled {
    /// The result, without the parts of its output.
    pub result: SharedResult,
    /// The output and its parts.
    pub outputs: Vec<Digest>,
    /// Whether its outputs belong into a volume [that is eager](VolumeRef::is_eager).
    pub is_eager: bool,
}

/// A bundle that is offered.
pub struct BundleOffer<'a> {
    /// What it is filed under: the name of the tree, then names that later bundles take over.
    pub names: &'a [Digest],
    /// Where an earlier bundle may be found, the nearest first.
    pub near: &'a [Digest],
    /// The results; neighbours are alike.
    pub results: &'a [Bundled],
    /// Gives an output by its digest.
    pub load: &'a (dyn Fn(&Digest) -> Option<Arc<[u8]>> + Sync),
}

/// So long after it looked, whoever files an answer that was paid for has filed it or given up.
pub const WINDOW: Duration = Duration::from_secs(60);

/// A cache that machines share. Every method blocks; none of them fails.
pub trait RemoteCache: Send + Sync {
    /// Whether anything may be found at this moment.
    fn reads(&self) -> bool;

    /// Whether offers are taken.
    fn writes(&self) -> bool;

    /// How long one question takes, of those that were answered; `None` before the first.
    fn round_trip(&self) -> Option<Duration>;

    /// How many bytes come in a second, where enough came to tell.
    fn speed(&self) -> Option<u64>;

    /// Looks up results, as many as are asked for, in their order; `None` is a miss. The outputs' blobs need not be there.
    fn find(&self, wanted: &[Wanted]) -> Vec<Option<SharedResult>>;

    /// The same, counted nowhere: for answers that were asked about before.
    fn find_results_uncounted(&self, wanted: &[Wanted]) -> Vec<Option<SharedResult>>;

    /// What was found under a key turned out to be of no use: it counts as a miss, and is [to be filed again](Self::is_spoiled).
    fn refuse(&self, key: &ActionKey);

    /// Whether what is filed under a key was found to be wrong in this run, so that whoever makes it files it again.
    fn is_spoiled(&self, key: &ActionKey) -> bool;

    /// The first of these names under which a bundle is filed that can be read.
    fn find_bundle(&self, names: &[Digest]) -> Option<Bundle>;

    /// What volumes hold, in their order; `None` for one that is not there or not as it is named.
    fn read_volumes(&self, addresses: &[&[u8]]) -> Vec<Option<Volume>>;

    /// The outputs that lie in volumes, in their order. Those that do not have the digest that they are listed under are left out.
    fn read_outputs(&self, addresses: &[&[u8]]) -> Vec<Vec<(Digest, Arc<[u8]>)>>;

    /// Fetches blobs of results that were found, as many as are asked for, in their order; `None` is a miss.
    fn fetch(&self, wanted: &[BlobRef]) -> Vec<Option<Arc<[u8]>>>;

    /// Offers a result with the blobs of its outputs, in their order, to be uploaded while the build goes on.
    fn offer(&self, result: SharedResult, blobs: Vec<Arc<[u8]>>) -> Offered;

    /// Files a result now. Its blobs are sent first; then it is looked up what is there under its key, `goes` is told, and only if it says so
    /// the result is filed, at most [`WINDOW`] later. Where nobody answers nothing is filed, and `goes` is not asked.
    fn file(&self, result: SharedResult, blobs: Vec<Arc<[u8]>>, goes: &mut dyn FnMut(Option<SharedResult>) -> bool);

    /// Counts a volume whose outputs are made, because that takes less time than fetching them.
    fn leave_volume(&self) {}

    /// Files a bundle under all of its names. Volumes of an earlier bundle that mostly hold what is offered are kept; the rest goes into new
    /// ones. Waits until all of it is there, and reads back what is new. Whether it is there, every byte.
    fn offer_bundle(&self, offer: &BundleOffer<'_>) -> bool;

    /// Waits for uploads, at most so long (`None`: to the end), gives up what is left, and says what happened so far.
    fn finish(&self, wait: Option<Duration>) -> RemoteSummary;
}

/// The blob, if it is the one that was asked for.
pub fn genuine(wanted: &BlobRef, blob: Option<Arc<[u8]>>) -> Option<Arc<[u8]>> {
    blob.filter(|blob| BlobRef::of(blob) == *wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_bytes_that_were_asked_for_are_genuine() {
        let wanted = BlobRef::of(b"abc");
        assert!(genuine(&wanted, Some(b"abc".as_slice().into())).is_some());
        assert!(genuine(&wanted, Some(b"abd".as_slice().into())).is_none());
        assert!(genuine(&BlobRef { len: 4, ..wanted }, Some(b"abc".as_slice().into())).is_none());
        assert!(genuine(&wanted, None).is_none());
    }
}
