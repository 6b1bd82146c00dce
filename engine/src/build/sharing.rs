//! Sharing: a build's use of a remote cache. Everything received is checked here once more, and stored as a result of another machine.

use super::remote_costs::LookUp;
use crate::graph::{Graph, NodeId};
use crate::manifest::model::Manifest;
use crate::planning::rules::RuleIndex;
use crate::seams::farm::Farm;
use crate::seams::nearby::Nearby;
use crate::seams::producer::Pool;
use crate::seams::remote::{BlobRef, Bundled, PREFIX, Prefer, RemoteCache, SharedResult, VolumeKind, Wanted, genuine, prefix};
use crate::seams::world::Refresh;
use crate::store::records::{ActionRecord, Class};
use crate::store::{Store, StoreError, shared, volumes};
use crate::values::digest::{ActionKey, Digest};
use crate::values::pieces::{self, PieceError};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

/// Results that take longer are included in bundles with their outputs.
const DEAR: Duration = Duration::from_millis(250);
/// Work of the engine itself for each result that is built: planning, key and storing.
const OWN_WORK: Duration = Duration::from_micros(100);
/// Minimum number of parts of an output that counts as a table of the whole workspace.
const MANY_PARTS: usize = 16;
/// With fewer changed files, building is faster than a bundle.
const MANY_FILES: usize = 10;

/// A remote cache and a farm, as used by a build.
#[derive(Clone)]
pub struct Sharing {
    pub cache: Arc<dyn RemoteCache>,
    /// The farm that computes for this machine, if any.
    pub farm: Option<Arc<dyn Farm>>,
    /// Source of names of similar trees, if any.
    pub nearby: Option<Arc<dyn Nearby>>,
    /// Whether to fetch or build outputs that are read.
    pub prefer: Prefer,
}

/// A result of another machine, with its blobs.
#[derive(Clone, Debug)]
pub struct RemoteResult {
    pub record: ActionRecord,
    pub blob: Arc<[u8]>,
    /// Its parts, if it is a tree.
    pub parts: Vec<(Digest, Arc<[u8]>)>,
}

impl Sharing {
    /// Whether enough changed to request a whole bundle of the present sources.
    pub fn is_worth_a_bundle(refresh: &Refresh, graph: &Graph, redefined: bool) -> bool {
        redefined || graph.is_empty() || refresh.changes.len() >= MANY_FILES
    }

    /// Finds a result of another machine under a key, with its blobs.
    pub fn find(&self, key: &ActionKey, producer: String) -> Option<RemoteResult> {
        if !self.cache.reads() {
            return None;
        }
        let wanted = Wanted { key: *key, producer };
        let found = self.cache.find(std::slice::from_ref(&wanted)).pop()??;
        self.complete_result(&wanted, &found)
    }

    /// Fetches the blobs of a found result; `None` if it is wrong or incomplete, or if building it is faster.
    pub(super) fn complete_result(&self, wanted: &Wanted, found: &SharedResult) -> Option<RemoteResult> {
        if shared::record(found).is_some_and(|record| !self.is_worth_fetching(&record, found)) {
            self.cache.leave_result(&wanted.key);
            return None;
        }
        let whole = self.fetch_checked(wanted, found);
        if whole.is_none() {
            self.cache.refuse(&wanted.key);
        }
        whole
    }

    /// Whether a result that was found should be fetched: it is paid for, by preference, or because that is not slower than building it.
    fn is_worth_fetching(&self, record: &ActionRecord, found: &SharedResult) -> bool {
        let bytes = found.outputs.iter().fold(0, |sum: u64, output| sum.saturating_add(output.blob.len));
        let takes = volumes::estimate_fetch_us(bytes, self.cache.round_trip(), self.cache.speed());
        record.class == Class::Paid || self.prefer != Prefer::Auto || takes <= full_build_us(record)
    }

    fn fetch_checked(&self, wanted: &Wanted, found: &SharedResult) -> Option<RemoteResult> {
        let mut record = shared::record(found).filter(|_| found.key == wanted.key && found.producer == wanted.producer)?;
        if self.cache.requires_signatures() {
            shared::set_signed(&mut record);
        }
        let blobs: Vec<BlobRef> = found.outputs.iter().map(|output| output.blob).collect();
        let came = blobs.iter().zip(self.cache.fetch(&blobs));
        let mut came = came.map(|(blob, bytes)| Some((blob.digest, genuine(blob, bytes)?)));
        let (_, blob) = came.next()??;
        let parts: Vec<(Digest, Arc<[u8]>)> = came.collect::<Option<_>>()?;
        is_whole(&blob, &parts).then_some(RemoteResult { record, blob, parts })
    }

    /// Stores a paid answer unless another one exists, and returns that of another machine, if any: the first answer stays, for all. `None` if this
    /// one was stored, or the cache does not answer; a later build finds out whether it is final ([`unconfirmed`](crate::store::unconfirmed)).
    pub fn store_answer_if_absent(
        &self,
        key: &ActionKey,
        record: &ActionRecord,
        blob: &Arc<[u8]>,
        parts: &[(Digest, Arc<[u8]>)],
    ) -> Option<RemoteResult> {
        let wanted = Wanted {
            key: *key,
            producer: record.producer.clone(),
        };
        let reads = self.cache.reads();
        let theirs = |found: Option<SharedResult>| match found {
            None => Held::Nothing,
            Some(found) if is_same(record, &found) => Held::Ours,
            // If lookups are off, neither overwrite nor take an existing answer.
            Some(_) if !reads => Held::Ours,
            Some(found) => self
                .complete_result(&wanted, &found)
                .map_or(Held::Nothing, |found| Held::Theirs(Box::new(found))),
        };
        let mut before = Held::Nothing;
        if self.cache.writes() && !shared::is_local_only(record) {
            self.cache
                .store_result(shared_of(key, record, parts), blobs(blob, parts), &mut |found| {
                    before = theirs(found);
                    matches!(before, Held::Nothing)
                });
        }
        if reads && matches!(before, Held::Nothing) {
            before = theirs(self.cache.find_results_uncounted(std::slice::from_ref(&wanted)).pop().flatten());
        }
        match before {
            Held::Theirs(found) => Some(*found),
            Held::Nothing | Held::Ours => None,
        }
    }

    /// Stores an answer in place of any existing one.
    pub fn replace(&self, key: &ActionKey, record: &ActionRecord, blob: &Arc<[u8]>, parts: &[(Digest, Arc<[u8]>)]) {
        if self.cache.writes() && !shared::is_local_only(record) {
            self.cache
                .store_result(shared_of(key, record, parts), blobs(blob, parts), &mut |_| true);
        }
    }

    /// Offers a result built here, with its output and all parts. Some are [local only](shared::is_local_only); a table with some reused pages is offered
    /// only in bundles.
    pub fn offer(&self, key: &ActionKey, record: &ActionRecord, blob: &Arc<[u8]>, parts: &[(Digest, Arc<[u8]>)]) {
        let made_here = !record.notes.contains_key(shared::FOUND) && !shared::is_local_only(record);
        if made_here && parts.len() == record.parts.len() && self.cache.writes() {
            self.cache.offer(shared_of(key, record, parts), blobs(blob, parts));
        }
    }

    /// Returns why a result is worth a lookup of its own.
    pub fn look_up(&self, pool: Pool, is_single: bool, took: Option<Duration>) -> LookUp {
        LookUp::choose(pool, is_single, took, self.cache.round_trip(), self.cache.speed())
    }
}

/// A cache's answer under the key of a result built here.
enum Held {
    /// No usable answer.
    Nothing,
    /// The same answer, or one that must not be used.
    Ours,
    /// Another answer.
    Theirs(Box<RemoteResult>),
}

/// Whether a found result has the output of a record, so that nothing must be fetched.
pub(super) fn is_same(record: &ActionRecord, found: &SharedResult) -> bool {
    shared::record(found).is_some_and(|theirs| theirs.output == record.output)
}

/// Encodes a result to share, with its output.
fn shared_of(key: &ActionKey, record: &ActionRecord, parts: &[(Digest, Arc<[u8]>)]) -> SharedResult {
    let refs: Vec<BlobRef> = parts.iter().map(|(_, part)| BlobRef::of(part)).collect();
    shared::encode_result(key, record, &refs)
}

fn blobs(blob: &Arc<[u8]>, parts: &[(Digest, Arc<[u8]>)]) -> Vec<Arc<[u8]>> {
    std::iter::once(blob).chain(parts.iter().map(|(_, part)| part)).cloned().collect()
}

/// Whether a blob has no pieces, or exactly these.
fn is_whole(blob: &Arc<[u8]>, parts: &[(Digest, Arc<[u8]>)]) -> bool {
    let parts: FxHashMap<Digest, &Arc<[u8]>> = parts.iter().map(|(digest, part)| (*digest, part)).collect();
    let mut used = FxHashSet::default();
    let all = pieces::each_piece::<PieceError>(
        blob,
        |digest| Ok(parts.get(digest).map(|part| (*part).clone())),
        |digest| {
            used.insert(digest);
        },
    );
    all.is_ok() && used.len() == parts.len()
}

/// Returns the targets among `roots` and all their direct and indirect inputs.
fn targets_below(graph: &Graph, roots: &[NodeId]) -> Vec<NodeId> {
    let mut seen: FxHashSet<NodeId> = roots.iter().copied().collect();
    let mut todo: Vec<NodeId> = seen.iter().copied().collect();
    let mut nodes = Vec::new();
    while let Some(id) = todo.pop() {
        let node = graph.node(id);
        if node.edges.is_some() {
            nodes.push(id);
        }
        todo.extend(node.reads().filter(|read| seen.insert(*read)));
    }
    nodes
}

/// Draws labels of about `percent` percent of the nodes below `roots`, ordered by `lot`; results of other machines before own ones. Leaves out
/// results that cannot be reproduced, such as corrections.
pub fn sample(graph: &Graph, roots: &[NodeId], store: &dyn Store, percent: f64, lot: &Digest) -> Result<Vec<String>, StoreError> {
    let mut drawn: Vec<(bool, Digest, Arc<str>)> = Vec::new();
    for id in targets_below(graph, roots) {
        let node = graph.node(id);
        let Some(result) = node.result else { continue };
        if let Some(record) = store.action(&result.key)?.filter(|record| !shared::is_local_only(record)) {
            let by_others = record.notes.contains_key(shared::FOUND) || record.notes.contains_key(shared::MADE.0);
            drawn.push((!by_others, Digest::of(&[lot.0, result.key.0.0].concat()), node.label.clone()));
        }
    }
    drawn.sort_unstable();
    let count = (drawn.len() as f64 * percent / 100.0).ceil() as usize;
    Ok(drawn.into_iter().take(count).map(|(_, _, label)| label.to_string()).collect())
}

/// The contents of a bundle: everything that some targets depend on.
#[derive(Default)]
pub struct BundleContents {
    /// The results in the store except [local ones](shared::is_local_only) and those kept in the cache. Dear results come first, then those that
    /// decide; neighbours are of one producer.
    pub results: Vec<Bundled>,
    /// Number of results kept in the cache.
    pub kept: usize,
    /// Number of results left out because they came unsigned from a cache, and this machine signs.
    pub unsigned: usize,
    /// Nodes whose results are neither in the store nor, any more, in the cache.
    pub lost: Vec<NodeId>,
}

/// Returns the keys of all results of a graph.
pub fn all_keys(graph: &Graph) -> Vec<ActionKey> {
    let planned = graph.iter().filter(|(_, node)| node.edges.is_some());
    planned.filter_map(|(_, node)| node.result).map(|result| result.key).collect()
}

/// Collects everything that `roots` depend on, to store together. Skips results whose key has a prefix in `kept`, and, if this machine `insists` on
/// signatures, results that another machine built and did not sign.
pub fn collect_results(
    graph: &Graph,
    roots: &[NodeId],
    store: &dyn Store,
    kept: &HashSet<[u8; PREFIX]>,
    insists: bool,
) -> Result<BundleContents, StoreError> {
    let nodes = targets_below(graph, roots);
    let mut unsigned: FxHashSet<ActionKey> = FxHashSet::default();
    let mut kept_here: FxHashSet<ActionKey> = FxHashSet::default();
    let mut deciding: FxHashSet<NodeId> = FxHashSet::default();
    for id in &nodes {
        deciding.extend(graph.node(*id).edges.iter().flat_map(|edges| edges.discovery.iter().copied()));
    }
    let kind_of = |decides: bool| if decides { VolumeKind::Deciding } else { VolumeKind::Plain };
    let mut lost: Vec<NodeId> = Vec::new();
    let mut results: FxHashMap<ActionKey, (Arc<str>, Bundled)> = FxHashMap::default();
    for id in nodes {
        let Some(result) = graph.node(id).result else { continue };
        if kept.contains(&prefix(&result.key.0)) {
            kept_here.insert(result.key);
            continue;
        }
        let decides = deciding.contains(&id);
        if let Some((_, known)) = results.get_mut(&result.key) {
            known.kind = known.kind.min(kind_of(decides));
            continue;
        }
        let Some(record) = store.action(&result.key)? else {
            lost.push(id);
            continue;
        };
        if shared::is_local_only(&record) {
            continue;
        }
        if insists && shared::is_unsigned(&record) {
            unsigned.insert(result.key);
            continue;
        }
        let is_dear = record.class == Class::Paid || Duration::from_micros(record.took_us) >= DEAR;
        let bundled = Bundled {
            result: shared::encode_result(&result.key, &record, &[]),
            outputs: std::iter::once(record.output).chain(record.parts.iter().copied()).collect(),
            kind: if is_dear { VolumeKind::Dear } else { kind_of(decides) },
            took_us: full_build_us(&record),
        };
        results.insert(result.key, (graph.node(id).label.clone(), bundled));
    }
    let mut results: Vec<(Arc<str>, Bundled)> = results.into_values().collect();
    results.sort_by(|(a_label, a), (b_label, b)| {
        (a.kind, &a.result.producer, a_label, a.result.key).cmp(&(b.kind, &b.result.producer, b_label, b.result.key))
    });
    Ok(BundleContents {
        results: results.into_iter().map(|(_, bundled)| bundled).collect(),
        kept: kept_here.len(),
        unsigned: unsigned.len(),
        lost,
    })
}

/// Returns how long building a result takes without an earlier one, in microseconds. The record of a table may be of an update, which took less.
fn full_build_us(record: &ActionRecord) -> u64 {
    let at_least = if record.parts.len() < MANY_PARTS { Duration::ZERO } else { DEAR };
    let took = Duration::from_micros(record.took_us).max(at_least) + OWN_WORK;
    u64::try_from(took.as_micros()).unwrap_or(u64::MAX)
}

/// Whether a rule produces a single node.
pub fn is_single(rules: &RuleIndex, rule: u32) -> bool {
    let manifest: &Manifest = rules.manifest();
    manifest.rules.get(rule as usize).is_some_and(|rule| rule.each.is_none())
}
