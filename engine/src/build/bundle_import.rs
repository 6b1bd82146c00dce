//! Bundle import: stores the results of a bundle of this tree or a similar one. Includes outputs that are expensive or that a build reads before it
//! knows its targets; others are [fetched](crate::store::fetching) when read.

use super::engine::Engine;
use super::run::Predecessors;
use super::shared_graph::KnownResult;
use super::sharing::Sharing;
use crate::seams::producer::Registry;
use crate::seams::remote::{Bundle, GraphRow, PREFIX, Prefer, Volume, VolumeKind, VolumeRef};
use crate::store::volumes::{self, KnownVolume, VolumeResults};
use crate::store::{Commit, DigestedBlob, Part, RowChange, Store, StoreError, ViewId};
use crate::values::digest::{ActionKey, Digest};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::Serialize;
use std::cell::Cell;

/// Number of volumes read and stored together.
const AT_ONCE: usize = 16;

/// Counts of the results from a bundle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ImportCounts {
    /// Results that this store lacked.
    pub results: usize,
    /// Results whose records are received when they are looked up.
    pub unread: usize,
    /// Outputs received with them.
    pub outputs: usize,
    /// Whether the bundle is of a similar tree, not of the present one.
    pub is_near: bool,
}

impl ImportCounts {
    /// Returns the number of results, received or not.
    pub fn count(&self) -> usize {
        self.results + self.unread
    }
}

/// Stores results of a bundle, step by step.
struct BundleImport<'a> {
    sharing: &'a Sharing,
    store: &'a dyn Store,
    view: ViewId,
    found: ImportedBundle,
    registry: &'a Registry,
    /// Seconds since 1970.
    now: u64,
    /// Whether the cache hands out only what a trusted key signed.
    is_signed: bool,
}

/// Findings that only the holder of the checkout may use.
#[derive(Default)]
pub struct ImportedBundle {
    pub counts: ImportCounts,
    pub predecessors: Predecessors,
    /// Rows about the volumes for the view.
    pub rows: Vec<RowChange>,
    /// The graph of the bundle's tree; empty without one.
    pub graph: Vec<GraphRow>,
    /// The results of the volumes that were read.
    pub results: FxHashMap<ActionKey, KnownResult>,
    /// Prefixes of the keys of the other volumes.
    pub unread: FxHashSet<[u8; PREFIX]>,
}

impl Sharing {
    /// Stores the results of other machines for this tree, named `tree`, or a similar one. Reads the graph of that tree, if it `fits`, for a
    /// checkout that has none. Fails when the store breaks; the cache cannot.
    pub fn import_bundle(
        &self,
        tree: &Digest,
        near: impl FnOnce() -> Vec<Digest>,
        engine: &Engine,
        (is_new, fits): (bool, impl Fn(&[GraphRow]) -> bool),
    ) -> Result<ImportedBundle, StoreError> {
        let mut import = BundleImport {
            sharing: self,
            store: &*engine.store,
            view: engine.view,
            found: ImportedBundle::default(),
            registry: &engine.registry,
            now: engine.world.now_secs(),
            is_signed: self.cache.requires_signatures(),
        };
        if !self.cache.reads() {
            return Ok(ImportedBundle::default());
        }
        let exact = self.cache.find_bundle(&[*tree]);
        import.found.counts.is_near = exact.is_none();
        let near = || {
            Some(near())
                .filter(|near| !near.is_empty())
                .and_then(|near| self.cache.find_bundle(&near))
        };
        let Some(bundle) = exact.or_else(near) else {
            return Ok(ImportedBundle::default());
        };
        if let (true, Some(graph)) = (is_new, &bundle.graph) {
            import.store.release_if_wanted();
            let (tree_us, is_left) = (volumes::estimate_tree_us(&bundle.volumes), Cell::new(false));
            let is_worth = |bytes: u64| {
                let takes = volumes::estimate_fetch_us(bytes, self.cache.round_trip(), self.cache.speed());
                is_left.set(self.prefer == Prefer::Auto && takes > tree_us);
                !is_left.get()
            };
            let graph = self.cache.read_graph(graph, &is_worth).filter(|graph| fits(graph));
            if is_left.get() {
                // The cache is so slow that building everything is faster.
                bundle.volumes.iter().for_each(|_| self.cache.leave_volume());
                return Ok(ImportedBundle::default());
            }
            import.found.graph = graph.unwrap_or_default();
        }
        import.bundle(&bundle)?;
        Ok(import.found)
    }
}

impl BundleImport<'_> {
    /// Stores the part of a bundle that a build needs: the graph of its tree, and expensive results. The rest is fetched when it is read.
    fn bundle(&mut self, bundle: &Bundle) -> Result<(), StoreError> {
        let has_graph = !self.found.graph.is_empty();
        let known: FxHashMap<Digest, KnownVolume> = volumes::list_volumes(self.store, self.view)?.into_iter().collect();
        let named: FxHashSet<Digest> = bundle.volumes.iter().map(|volume| volume.id).collect();
        let outdated = known.keys().filter(|id| !named.contains(id));
        self.found.rows = outdated.map(|id| (Part::Volumes, id.0.to_vec(), None)).collect();
        let mut unknown: Vec<&VolumeRef> = Vec::new();
        for volume in &bundle.volumes {
            match known.get(&volume.id) {
                Some(known) if known.address == volume.address && known.is_stored(self.store)? => {}
                _ => unknown.push(volume),
            }
        }
        if has_graph {
            let plain: Vec<&VolumeRef> = unknown.extract_if(.., |volume| volume.kind != VolumeKind::Dear).collect();
            unknown.extend(self.indexes(&plain, volumes::estimate_tree_us(&bundle.volumes)));
        }
        let mut eager: Vec<&VolumeRef> = Vec::new();
        for volumes in unknown.chunks(AT_ONCE) {
            let addresses: Vec<&[u8]> = volumes.iter().map(|volume| &volume.address[..]).collect();
            let mut commit = Commit::default();
            self.store.release_if_wanted();
            for (at, volume) in volumes.iter().zip(self.sharing.cache.read_volumes(&addresses)) {
                let Some(volume) = volume else { continue };
                let row = self.results(at, &volume, &mut commit)?;
                self.found.rows.push(row);
                let is_eager = at.kind == VolumeKind::Dear || at.kind == VolumeKind::Deciding && !has_graph;
                eager.extend(Some(*at).filter(|_| is_eager));
            }
            self.found.counts.results += commit.results.len();
            self.store.commit(self.view, commit)?;
        }
        for volumes in eager.chunks(AT_ONCE) {
            self.outputs(volumes)?;
        }
        Ok(())
    }

    /// Adds the results of a volume to a commit; returns the row that records the volume.
    fn results(&mut self, at: &VolumeRef, volume: &Volume, commit: &mut Commit) -> Result<RowChange, StoreError> {
        let (registry, found, now) = (self.registry, &mut self.found, self.now);
        let results = VolumeResults::from_volume(volume, self.is_signed, self.store, |key, record| {
            found.results.insert(*key, KnownResult::from_record(record, now));
            if is_fold(registry, &record.producer) {
                found.predecessors.insert((&*record.label).into(), *key);
            }
        })?;
        commit.results.extend(results.new);
        Ok(KnownVolume::new(at, &results.keys, &volume.outputs, self.is_signed).to_row(&at.id))
    }

    /// Records volumes by their indexes. Returns those that have none.
    fn indexes<'v>(&mut self, volumes: &[&'v VolumeRef], tree_us: u64) -> Vec<&'v VolumeRef> {
        let addresses: Vec<&[u8]> = volumes.iter().map(|volume| &volume.address[..]).collect();
        self.store.release_if_wanted();
        let mut left = Vec::new();
        for (at, index) in volumes.iter().zip(self.sharing.cache.read_indexes(&addresses)) {
            match index {
                Some(index) => {
                    self.found.unread.extend(&index.keys);
                    self.found.counts.unread += index.keys.len();
                    self.found
                        .rows
                        .push(KnownVolume::unread(at, &index, tree_us, self.is_signed).to_row(&at.id));
                }
                None => left.push(*at),
            }
        }
        left
    }

    /// Stores the outputs of volumes that this store lacks.
    fn outputs(&mut self, volumes: &[&VolumeRef]) -> Result<(), StoreError> {
        let addresses: Vec<&[u8]> = volumes.iter().map(|volume| &volume.address[..]).collect();
        let mut blobs: Vec<DigestedBlob> = Vec::new();
        self.store.release_if_wanted();
        for (digest, blob) in self.sharing.cache.read_outputs(&addresses).into_iter().flatten() {
            if !self.store.has_blob(&digest)? {
                blobs.push((digest, blob));
            }
        }
        self.found.counts.outputs += blobs.len();
        self.store.commit(
            self.view,
            Commit {
                blobs,
                ..Commit::default()
            },
        )
    }
}

fn is_fold(registry: &Registry, producer: &str) -> bool {
    let name = producer.split_once('@').map_or(producer, |(name, _)| name);
    registry.get(name).is_some_and(|known| known.fold().is_some())
}
