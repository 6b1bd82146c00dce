//! The remote cache that machines share: looks up results of other machines by action key, and offers results of this one.
//!
//! The engine knows no protocol. A remote cache may be slow, silent, unreachable or wrong; each counts as a miss: it costs time, never
//! correctness. The engine [checks](genuine) every received blob itself, too.

use crate::values::digest::{ActionKey, Digest};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// A blob by its digest and length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlobRef {
    /// Its BLAKE3 digest.
    pub digest: Digest,
    /// Its length in bytes.
    pub len: u64,
}

impl BlobRef {
    pub fn of(bytes: &[u8]) -> Self {
        Self {
            digest: Digest::of(bytes),
            len: bytes.len() as u64,
        }
    }
}

/// Handling of an output that is read and is only in the cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Prefer {
    /// Fetch it if that takes less time than building it and its neighbours.
    #[default]
    Auto,
    /// Fetch it.
    Fetch,
    /// Build it, unless that is expensive.
    Make,
}

/// A result to look up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    pub key: ActionKey,
    /// Producer and version, as displayed. The key implies both; servers show this to people.
    pub producer: String,
}

/// One output of a shared result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedOutput {
    /// The producer's name for it; `output` for a producer of one output.
    pub name: String,
    pub blob: BlobRef,
}

/// A result as machines share it. Its outputs are fetched separately, and only when a build reads them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedResult {
    pub key: ActionKey,
    /// Producer and version, as displayed.
    pub producer: String,
    /// Its outputs, sorted by name.
    pub outputs: Vec<SharedOutput>,
    /// Its provenance as the engine encodes it, opaque to the cache.
    pub provenance: Vec<u8>,
}

impl SharedResult {
    pub fn lookup(&self) -> Wanted {
        Wanted {
            key: self.key,
            producer: self.producer.clone(),
        }
    }
}

/// Outcome of an offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offered {
    /// It will be uploaded.
    Queued,
    /// Uploads are off in this run.
    Off,
    /// The upload queue is full; the offer is dropped.
    LeftOut,
}

/// A wrong answer of a remote cache. Each counts as a miss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WrongRemoteAnswer {
    /// The bytes do not have the requested digest.
    WrongBytes,
    /// A blob that a result names is missing.
    MissingBlob,
    /// A result lacks an output or its record.
    MissingOutput,
    /// The record belongs to another key or another producer.
    OtherKey,
    /// The record or an answer cannot be read.
    Undecodable,
    /// The result reports a failure of its producer.
    Failed,
    /// No signature by a key that this checkout trusts.
    Untrusted,
}

impl fmt::Display for WrongRemoteAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::WrongBytes => "wrong bytes",
            Self::MissingBlob => "missing blobs",
            Self::MissingOutput => "missing outputs",
            Self::OtherKey => "results of other keys",
            Self::Undecodable => "unreadable records",
            Self::Failed => "failed results",
            Self::Untrusted => "results without a trusted signature",
        })
    }
}

/// Counts of one run's traffic with a remote cache.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RemoteSummary {
    pub hits: u64,
    /// Results requested but not found, for any reason.
    pub misses: u64,
    pub blobs_down: u64,
    /// Their bytes as transferred.
    pub bytes_down: u64,
    /// Volumes whose outputs were fetched.
    pub volumes: u64,
    /// Volumes whose outputs were built here, because that takes less time than fetching.
    pub volumes_left: u64,
    /// Duration of an answered request, in microseconds, if measured.
    pub round_trip_us: Option<u64>,
    /// Download speed, if enough bytes were received to measure it.
    pub bytes_per_second: Option<u64>,
    /// Requests sent, repetitions included.
    pub requests: u64,
    /// Results that the cache accepted.
    pub stored: u64,
    pub blobs_up: u64,
    /// Their bytes as transferred.
    pub bytes_up: u64,
    /// Offers that the cache did not accept, or whose upload the run did not wait for.
    pub not_stored: u64,
    /// Outputs that are too large for a bundle.
    pub too_large: u64,
    /// Wrong answers, by kind; each blob and each result counts once.
    pub lies: BTreeMap<WrongRemoteAnswer, u64>,
    /// Blobs and results that were wrong and are right after another upload.
    pub healed: u64,
    /// Those that stay wrong although they were uploaded again, by the cache's names.
    pub broken: BTreeSet<String>,
    /// Why lookups stopped, one sentence.
    pub reads_off: Option<String>,
    /// Why offers stopped, one sentence.
    pub writes_off: Option<String>,
    /// The first failure of a call, one sentence.
    pub trouble: Option<String>,
    /// Shards of work sent to workers.
    pub shards: u64,
    /// Targets that workers built.
    pub executed: u64,
    /// Time that workers spent on them, in microseconds.
    pub executed_us: u64,
    /// Targets that workers were asked to build but did not.
    pub unmade: u64,
    /// Why sending to workers stopped, one sentence.
    pub execute_off: Option<String>,
    /// The first failure of a worker, one sentence.
    pub execute_trouble: Option<String>,
}

/// A bundle found in a remote cache. Results are looked up by key, so a bundle serves any tree that has some of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bundle {
    /// Index of the requested name that led to it.
    pub at: usize,
    pub volumes: Vec<VolumeRef>,
    /// Address of the graph of its tree, in the cache's own encoding; `None` without one.
    pub graph: Option<Vec<u8>>,
}

/// A row of a graph as machines share it, opaque to the cache.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct GraphRow {
    pub table: u8,
    /// Key within the table.
    pub key: Vec<u8>,
    pub body: Vec<u8>,
}

/// Reference to a volume: some results, with their records in one piece and their outputs in another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumeRef {
    /// Digest of the piece with the records.
    pub id: Digest,
    /// Address of both pieces, in the cache's own encoding.
    pub address: Vec<u8>,
    /// When its contents are needed.
    pub kind: VolumeKind,
    /// Length in bytes of the piece with the outputs.
    pub len: u64,
    /// Duration of building the results that the outputs belong to, in microseconds.
    pub took_us: u64,
}

/// When the contents of a volume are needed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum VolumeKind {
    /// Always: its results are paid, or take long to build.
    Dear,
    /// When a build plans everything: it reads these outputs before it knows its targets.
    Deciding,
    /// When an output of it is read.
    #[default]
    Plain,
}

/// Number of bytes of keys and digests in an index; enough to tell the results of one workspace apart. A collision costs one more download.
pub const PREFIX: usize = 8;

/// Returns the prefix of a digest, as in an index.
pub fn prefix(digest: &Digest) -> [u8; PREFIX] {
    let mut prefix = [0; PREFIX];
    prefix.copy_from_slice(&digest.0[..PREFIX]);
    prefix
}

/// Contents of a volume, without its records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VolumeIndex {
    /// Prefixes of the keys of its results.
    pub keys: Vec<[u8; PREFIX]>,
    /// Prefixes of the digests of its outputs.
    pub outputs: Vec<[u8; PREFIX]>,
}

/// The contents of a volume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Volume {
    /// Its results, without the parts of their outputs.
    pub results: Vec<SharedResult>,
    /// The outputs and parts of outputs in it.
    pub outputs: Vec<Digest>,
}

/// A result to offer in a bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bundled {
    /// The result, without the parts of its output.
    pub result: SharedResult,
    /// The output and its parts.
    pub outputs: Vec<Digest>,
    pub kind: VolumeKind,
    /// Duration of building it, in microseconds.
    pub took_us: u64,
}

pub struct BundleOffer<'a> {
    /// The names to store it under: that of the tree, then names that later bundles take over.
    pub names: &'a [Digest],
    /// Names under which to look for an earlier bundle, the nearest first.
    pub near: &'a [Digest],
    /// The results, without the [kept ones](RemoteCache::kept_results); similar ones are adjacent.
    pub results: &'a [Bundled],
    /// The graph of the tree, sorted by table and key; none if empty.
    pub graph: &'a [GraphRow],
    /// Loads an output by its digest.
    pub load: &'a (dyn Fn(&Digest) -> Option<Arc<[u8]>> + Sync),
}

/// Time after its lookup within which a machine stores a paid answer or gives up.
pub const WINDOW: Duration = Duration::from_secs(60);

/// A remote cache. Every method blocks; none fails.
pub trait RemoteCache: Send + Sync {
    /// Whether lookups are on at this moment.
    fn reads(&self) -> bool;

    /// Whether offers are accepted.
    fn writes(&self) -> bool;

    /// Whether only results are found that a trusted key signed.
    fn requires_signatures(&self) -> bool {
        false
    }

    /// Returns the duration of one answered request; `None` before the first.
    fn round_trip(&self) -> Option<Duration>;

    /// Returns the download speed in bytes per second, once enough bytes were received to measure it.
    fn speed(&self) -> Option<u64>;

    /// Looks up results; answers in the order of `wanted`, `None` is a miss. The outputs' blobs need not exist.
    fn find(&self, wanted: &[Wanted]) -> Vec<Option<SharedResult>>;

    /// Like [`Self::find`], but not counted: for results that were looked up before.
    fn find_results_uncounted(&self, wanted: &[Wanted]) -> Vec<Option<SharedResult>>;

    /// Rejects the result found under a key as unusable: it counts as a miss and [must be stored again](Self::is_spoiled).
    fn refuse(&self, key: &ActionKey);

    /// Whether the result stored under a key proved wrong in this run. A build that produces it then stores it again.
    fn is_spoiled(&self, key: &ActionKey) -> bool;

    /// Returns the bundle of the first of these names that has a readable one.
    fn find_bundle(&self, names: &[Digest]) -> Option<Bundle>;

    /// Reads the contents of volumes, in the order of `addresses`; `None` for one that is missing or does not match its digest.
    fn read_volumes(&self, addresses: &[&[u8]]) -> Vec<Option<Volume>>;

    /// Reads the indexes of volumes, in the order of `addresses`; `None` for one that is missing or does not match its digest.
    fn read_indexes(&self, addresses: &[&[u8]]) -> Vec<Option<Arc<VolumeIndex>>>;

    /// Reads the outputs of volumes, in the order of `addresses`. Leaves out outputs that do not match their digest.
    fn read_outputs(&self, addresses: &[&[u8]]) -> Vec<Vec<(Digest, Arc<[u8]>)>>;

    /// Reads the graph of a bundle, sorted by table and key. Returns `None` if any part is missing or does not match its digest, or if
    /// `is_worth` rejects the number of bytes left to read. Calls `is_worth` before the first part, and again after some parts.
    fn read_graph(&self, address: &[u8], is_worth: &dyn Fn(u64) -> bool) -> Option<Vec<GraphRow>>;

    /// Fetches blobs of results that were found, in the order of `wanted`; `None` is a miss.
    fn fetch(&self, wanted: &[BlobRef]) -> Vec<Option<Arc<[u8]>>>;

    /// Offers a result with the blobs of its outputs, in their order, for upload in the background.
    fn offer(&self, result: SharedResult, blobs: Vec<Arc<[u8]>>) -> Offered;

    /// Stores a result now: sends its blobs, looks up the present result under its key and passes it to `may_store`. Only if `may_store`
    /// returns true, stores the result, at most [`WINDOW`] later. If the cache does not answer, stores nothing and does not call
    /// `may_store`.
    fn store_result(&self, result: SharedResult, blobs: Vec<Arc<[u8]>>, may_store: &mut dyn FnMut(Option<SharedResult>) -> bool);

    /// Counts a result that was found as a miss, because building it takes less time than fetching it.
    fn leave_result(&self, _key: &ActionKey) {}

    /// Counts a volume whose outputs are built here, because that takes less time than fetching them.
    fn leave_volume(&self) {}

    /// Returns the prefixes of those keys whose results a bundle under `names` need not record again. Volumes of an earlier bundle, found
    /// by `near`, have these results, and [`Self::offer_bundle`] reuses the volumes.
    fn kept_results(&self, _names: &[Digest], _near: &[Digest], _keys: &[ActionKey]) -> HashSet<[u8; PREFIX]> {
        HashSet::new()
    }

    /// Stores a bundle under all of its names. Reuses volumes of an earlier bundle that mostly consist of offered results; the rest forms
    /// new ones. Waits until everything is stored and reads back the new parts. Returns whether every byte is there.
    fn offer_bundle(&self, offer: &BundleOffer<'_>) -> bool;

    /// Waits for uploads, at most `wait` (`None`: until all are done), drops the rest, and returns the counts so far.
    fn finish(&self, wait: Option<Duration>) -> RemoteSummary;
}

/// Returns the blob, if it is the wanted one.
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
