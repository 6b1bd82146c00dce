//! Sharing: what a build has of a remote cache, and what it gives to it. Whatever comes is looked at here once more, and filed as a result
//! of another machine's.

use super::engine::Engine;
use crate::graph::{Graph, NodeId};
use crate::manifest::model::Manifest;
use crate::manifest::read::keyed;
use crate::planning::rules::RuleIndex;
use crate::seams::farm::Farm;
use crate::seams::producer::Pool;
use crate::seams::remote::{BlobRef, RemoteCache, SharedResult, Wanted, genuine};
use crate::seams::world::Refresh;
use crate::store::records::{ActionRecord, NewResult};
use crate::store::{Commit, Store, StoreError, ViewId, shared};
use crate::values::digest::{ActionKey, Digest};
use crate::values::pieces::{self, PieceError};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// Bytes of outputs that are fetched and filed together.
const TOGETHER: u64 = 32 << 20;
/// Results that are filed together.
const RESULTS: usize = 2_000;
/// What is made in less time is made sooner than others are bothered with it, however near the cache is.
const SOON: Duration = Duration::from_millis(5);
/// Of fewer files that moved, what is made of them is sooner made than asked for.
const MANY_FILES: usize = 10;

/// A remote cache, and a farm, as a build uses them.
#[derive(Clone)]
pub struct Sharing {
    /// The cache.
    pub cache: Arc<dyn RemoteCache>,
    /// The farm that computes for this machine, if there is one.
    pub farm: Option<Arc<dyn Farm>>,
}

/// A result with its blobs, as another machine made it.
#[derive(Clone, Debug)]
pub struct Found {
    /// How it came about.
    pub record: ActionRecord,
    /// The output.
    pub blob: Arc<[u8]>,
    /// Its parts, if it is a tree.
    pub parts: Vec<(Digest, Arc<[u8]>)>,
}

/// What a bundle brought.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Brought {
    /// Results that this store did not have.
    pub results: usize,
    /// Outputs that came with them.
    pub outputs: usize,
}

impl Sharing {
    /// Whether so much moved that everything made of the present sources is asked for at once.
    pub fn is_worth_a_bundle(refresh: &Refresh, graph: &Graph, redefined: bool) -> bool {
        redefined || graph.is_empty() || refresh.changes.len() >= MANY_FILES
    }

    /// Files what others made of the same sources by the same rules. Outputs come along where whoever builds all of it reads them.
    ///
    /// # Errors
    /// When the store breaks; the cache cannot.
    pub fn bring(&self, tree: &Digest, store: &dyn Store, view: ViewId) -> Result<Brought, StoreError> {
        let mut brought = Brought::default();
        if !self.cache.reads() {
            return Ok(brought);
        }
        let Some(found) = self.cache.find_bundle(tree) else {
            return Ok(brought);
        };
        let mut fresh: Vec<Fresh> = Vec::new();
        for result in &found {
            if let Some((record, wanted)) = shared::record(result)
                && store.action(&result.key)?.is_none()
            {
                let blobs = result.outputs.iter().map(|output| output.blob);
                let blobs = if wanted && !store.has_blob(&record.output)? {
                    blobs.collect()
                } else {
                    Vec::new()
                };
                fresh.push(Fresh {
                    key: result.key,
                    record,
                    blobs,
                });
            }
        }
        let mut rest = &fresh[..];
        while !rest.is_empty() {
            let mut bytes = 0;
            let fits = |fresh: &&Fresh| {
                bytes += fresh.blobs.iter().map(|blob| blob.len).sum::<u64>();
                bytes <= TOGETHER
            };
            let count = rest.iter().take(RESULTS).take_while(fits).count().max(1);
            let (now, later) = rest.split_at(count);
            rest = later;
            let wanted: BTreeSet<BlobRef> = now.iter().flat_map(|fresh| fresh.blobs.iter().copied()).collect();
            let wanted: Vec<BlobRef> = wanted.into_iter().collect();
            let came: FxHashMap<Digest, Arc<[u8]>> = wanted
                .iter()
                .zip(self.cache.fetch(&wanted))
                .filter_map(|(wanted, blob)| Some((wanted.digest, genuine(wanted, blob)?)))
                .collect();
            brought.outputs += came.len();
            brought.results += now.len();
            let results: Vec<NewResult> = now.iter().map(|fresh| fresh.with_blobs(&came)).collect();
            for (fresh, result) in now.iter().zip(&results) {
                // Some are filed without their blob, which is no fault of the cache's.
                if result.blob.is_none() && fresh.blobs.iter().any(|blob| self.cache.has_wrong(blob)) {
                    self.cache.refuse(&fresh.key);
                }
            }
            store.commit(
                view,
                Commit {
                    results,
                    ..Commit::default()
                },
            )?;
        }
        Ok(brought)
    }

    /// A result under a key with its blobs, as another machine made it.
    pub fn find(&self, key: &ActionKey, producer: String) -> Option<Found> {
        if !self.cache.reads() {
            return None;
        }
        let wanted = Wanted { key: *key, producer };
        let found = self.cache.find(std::slice::from_ref(&wanted)).pop()??;
        self.whole(&wanted, &found)
    }

    /// A result that was found, with its blobs; `None` when it is not what was asked for, or not all of it comes.
    pub(super) fn whole(&self, wanted: &Wanted, found: &SharedResult) -> Option<Found> {
        let whole = self.sound(wanted, found);
        if whole.is_none() {
            self.cache.refuse(&wanted.key);
        }
        whole
    }

    fn sound(&self, wanted: &Wanted, found: &SharedResult) -> Option<Found> {
        let (record, _) = shared::record(found).filter(|_| found.key == wanted.key && found.producer == wanted.producer)?;
        let blobs: Vec<BlobRef> = found.outputs.iter().map(|output| output.blob).collect();
        let came = blobs.iter().zip(self.cache.fetch(&blobs));
        let mut came = came.map(|(blob, bytes)| Some((blob.digest, genuine(blob, bytes)?)));
        let (_, blob) = came.next()??;
        let parts: Vec<(Digest, Arc<[u8]>)> = came.collect::<Option<_>>()?;
        is_whole(&blob, &parts).then_some(Found { record, blob, parts })
    }

    /// Files an answer that was paid for unless another is there, and reads what is there then. Gives what another machine filed: the first
    /// answer stays, for all. `None` when it is this one, or nobody knows; that it is the last word is found out by a later build
    /// ([`unconfirmed`](crate::store::unconfirmed)).
    pub fn contend(&self, key: &ActionKey, record: &ActionRecord, blob: &Arc<[u8]>, parts: &[(Digest, Arc<[u8]>)]) -> Option<Found> {
        let wanted = Wanted {
            key: *key,
            producer: record.producer.clone(),
        };
        let reads = self.cache.reads();
        let theirs = |found: Option<SharedResult>| match found {
            None => Held::Nothing,
            Some(found) if is_same(record, &found) => Held::Ours,
            // Who may not look does not write over what is there, and does not take it.
            Some(_) if !reads => Held::Ours,
            Some(found) => self
                .whole(&wanted, &found)
                .map_or(Held::Nothing, |found| Held::Theirs(Box::new(found))),
        };
        let mut before = Held::Nothing;
        if self.cache.writes() && !shared::stays_here(record) {
            self.cache.file(shared_of(key, record, parts), blobs(blob, parts), &mut |found| {
                before = theirs(found);
                matches!(before, Held::Nothing)
            });
        }
        if reads && matches!(before, Held::Nothing) {
            before = theirs(self.cache.look(std::slice::from_ref(&wanted)).pop().flatten());
        }
        match before {
            Held::Theirs(found) => Some(*found),
            Held::Nothing | Held::Ours => None,
        }
    }

    /// Files an answer in the place of whatever is there.
    pub fn replace(&self, key: &ActionKey, record: &ActionRecord, blob: &Arc<[u8]>, parts: &[(Digest, Arc<[u8]>)]) {
        if self.cache.writes() && !shared::stays_here(record) {
            self.cache.file(shared_of(key, record, parts), blobs(blob, parts), &mut |_| true);
        }
    }

    /// Offers a result that was made here, with its output and the parts of that. Some [stay here](shared::stays_here).
    pub fn offer(&self, key: &ActionKey, record: &ActionRecord, blob: &Arc<[u8]>, parts: &[(Digest, Arc<[u8]>)]) {
        let made_here = !record.notes.contains_key(shared::FOUND) && !shared::stays_here(record);
        if made_here && self.cache.writes() {
            self.cache.offer(shared_of(key, record, parts), blobs(blob, parts));
        }
    }

    /// Whether a result is worth a question of its own: it costs money or a program, there is one of it in the workspace, or making it took
    /// longer than asking, and not only a moment.
    pub fn is_worth_asking(&self, pool: Pool, is_single: bool, took: Option<Duration>) -> bool {
        let slower = || {
            took.zip(self.cache.round_trip())
                .is_some_and(|(took, asking)| took > asking.max(SOON))
        };
        pool != Pool::Cpu || is_single || slower()
    }
}

/// What a cache holds under the key of an answer that was made here.
enum Held {
    /// Nothing that is of any use.
    Nothing,
    /// The same, or what is not ours to take.
    Ours,
    /// Another answer.
    Theirs(Box<Found>),
}

/// Whether a result that was found has the output of a record, so that nothing need be fetched.
pub(super) fn is_same(record: &ActionRecord, found: &SharedResult) -> bool {
    shared::record(found).is_some_and(|(theirs, _)| theirs.output == record.output)
}

/// A result as it is shared, with its output.
fn shared_of(key: &ActionKey, record: &ActionRecord, parts: &[(Digest, Arc<[u8]>)]) -> SharedResult {
    let refs: Vec<BlobRef> = parts.iter().map(|(_, part)| BlobRef::of(part)).collect();
    shared::of(key, record, &refs, true)
}

/// Its blobs in their order.
fn blobs(blob: &Arc<[u8]>, parts: &[(Digest, Arc<[u8]>)]) -> Vec<Arc<[u8]>> {
    std::iter::once(blob).chain(parts.iter().map(|(_, part)| part)).cloned().collect()
}

/// A result of a bundle that this store does not have.
struct Fresh {
    key: ActionKey,
    record: ActionRecord,
    /// Its blobs, the output first; none if nobody wants them.
    blobs: Vec<BlobRef>,
}

impl Fresh {
    /// To be filed with its blobs, if all of them came and are what they say.
    fn with_blobs(&self, came: &FxHashMap<Digest, Arc<[u8]>>) -> NewResult {
        let blob = |wanted: &BlobRef| Some((wanted.digest, came.get(&wanted.digest)?.clone()));
        let mut blobs = self
            .blobs
            .iter()
            .map(blob)
            .collect::<Option<Vec<_>>>()
            .unwrap_or_default()
            .into_iter();
        let output = blobs.next().map(|(_, blob)| blob);
        let parts: Vec<_> = blobs.collect();
        let is_whole = output.as_ref().is_some_and(|blob| is_whole(blob, &parts));
        NewResult {
            key: self.key,
            record: self.record.clone(),
            blob: output.filter(|_| is_whole),
            parts: if is_whole { parts } else { Vec::new() },
        }
    }
}

/// Whether a blob is in no pieces, or in these and no others.
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

/// The targets among `roots` and all they are made of.
fn made_of(graph: &Graph, roots: &[NodeId]) -> Vec<NodeId> {
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

/// Labels of about so many percent of what `roots` are made of, drawn by `lot`: what another machine made is drawn before what was made here.
/// What no one can make again, such as what people wrote, is left out.
///
/// # Errors
/// When the store cannot be read.
pub fn sample(graph: &Graph, roots: &[NodeId], store: &dyn Store, percent: f64, lot: &Digest) -> Result<Vec<String>, StoreError> {
    let mut drawn: Vec<(bool, Digest, Arc<str>)> = Vec::new();
    for id in made_of(graph, roots) {
        let node = graph.node(id);
        let Some(filed) = node.result else { continue };
        if let Some(record) = store.action(&filed.key)?.filter(|record| !shared::stays_here(record)) {
            let by_others = record.notes.contains_key(shared::FOUND) || record.notes.contains_key(shared::MADE.0);
            drawn.push((!by_others, Digest::of(&[lot.0, filed.key.0.0].concat()), node.label.clone()));
        }
    }
    drawn.sort_unstable();
    let count = (drawn.len() as f64 * percent / 100.0).ceil() as usize;
    Ok(drawn.into_iter().take(count).map(|(_, _, label)| label.to_string()).collect())
}

/// Everything that `roots` are made of, to be filed together: every result that the store has, but those that [stay
/// here](shared::stays_here). Outputs are wanted that decide what others are made of, and those of the roots themselves.
///
/// # Errors
/// When the store cannot be read.
pub fn everything(graph: &Graph, roots: &[NodeId], store: &dyn Store) -> Result<Vec<SharedResult>, StoreError> {
    let mut nodes = made_of(graph, roots);
    let mut wanted: FxHashSet<NodeId> = roots.iter().copied().collect();
    for id in &nodes {
        wanted.extend(graph.node(*id).edges.iter().flat_map(|edges| edges.discovery.iter().copied()));
    }
    let mut results = Vec::new();
    let mut keys: FxHashSet<ActionKey> = FxHashSet::default();
    // Of several nodes with one key it is enough that one is wanted.
    nodes.sort_unstable_by_key(|id| (!wanted.contains(id), *id));
    for id in nodes {
        let Some(filed) = graph.node(id).result.filter(|filed| keys.insert(filed.key)) else {
            continue;
        };
        let Some(record) = store.action(&filed.key)?.filter(|record| !shared::stays_here(record)) else {
            continue;
        };
        let mut parts = Vec::new();
        for digest in &record.parts {
            parts.extend(store.blob(digest)?.map(|part| BlobRef::of(&part)));
        }
        // A tree that lacks a part is made again when it is read; until then there is nothing to share.
        if parts.len() == record.parts.len() {
            results.push(shared::of(&filed.key, &record, &parts, wanted.contains(&id)));
        }
    }
    Ok(results)
}

/// What everything made of these sources by these rules is filed under.
pub fn tree_of(engine: &Engine, manifest: &Manifest, sources: &dyn crate::seams::world::Sources) -> Digest {
    let files = sources.files();
    let files = files.iter().map(|(path, digest)| (path.as_str(), *digest));
    shared::tree(&keyed(manifest), &engine.registry.digest(), files)
}

/// Whether a rule makes one node.
pub fn is_single(rules: &RuleIndex, rule: u32) -> bool {
    let manifest: &Manifest = rules.manifest();
    manifest.rules.get(rule as usize).is_some_and(|rule| rule.each.is_none())
}
