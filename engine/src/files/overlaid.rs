//! A world with documents in place of files: unsaved texts, new files, or removed ones. Everything else is as in the world below. It lays
//! out nothing and saves no state, so the world below stays unchanged.
//!
//! A document acts as the file would: in the same sets, and as the target of every link that leads to it.

use crate::seams::world::{
    Change, ExportOutcome, Exports, Refresh, RowEdits, Rows, SetDef, Sources, TreeFacts, Watched, World, WorldError,
};
use crate::values::digest::Digest;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

/// Contents in place of files, by path below the workspace; `None`: the file does not exist.
pub type Documents = BTreeMap<String, Option<Arc<[u8]>>>;

/// A world with documents over it.
pub struct Overlaid {
    below: Arc<dyn World>,
    documents: Arc<Documents>,
    /// Links that lead to a document, as of the last refresh.
    links: Arc<RwLock<BTreeMap<String, String>>>,
}

impl Overlaid {
    /// Creates a world with documents over another one.
    pub fn new(below: Arc<dyn World>, documents: Documents) -> Self {
        Self {
            below,
            documents: Arc::new(documents),
            links: Arc::default(),
        }
    }
}

impl World for Overlaid {
    fn now_nanos(&self) -> i64 {
        self.below.now_nanos()
    }

    fn root(&self) -> Option<&Path> {
        self.below.root()
    }

    fn watched(&self, sets: &[SetDef], since: Option<&[u8]>) -> Option<Watched> {
        // A watcher of the files does not know the documents.
        self.documents.is_empty().then(|| self.below.watched(sets, since)).flatten()
    }

    fn sources(&self, rows: Rows) -> Box<dyn Sources> {
        Box::new(OverlaidSources {
            below: self.below.sources(rows),
            documents: self.documents.clone(),
            links: self.links.clone(),
            over: BTreeMap::new(),
            count: OnceLock::new(),
        })
    }

    fn exports(&self, _: Rows) -> Box<dyn Exports> {
        Box::new(NoExports)
    }

    fn read(&self, path: &str) -> Result<Vec<u8>, WorldError> {
        self.read_at_most(path, usize::MAX - 1)
    }

    fn read_at_most(&self, path: &str, most: usize) -> Result<Vec<u8>, WorldError> {
        let links = self.links.read().unwrap_or_else(PoisonError::into_inner);
        match self.documents.get(links.get(path).map_or(path, String::as_str)) {
            None => self.below.read_at_most(path, most),
            Some(Some(bytes)) => Ok(bytes[..bytes.len().min(most)].to_vec()),
            Some(None) => Err(WorldError::Removed { path: path.to_owned() }),
        }
    }
}

/// A document as a source, under its own path or that of a link: its sets as bits, and its digest, if it is in any.
struct DocumentSource {
    sets: u64,
    digest: Option<Digest>,
}

struct OverlaidSources {
    below: Box<dyn Sources>,
    documents: Arc<Documents>,
    links: Arc<RwLock<BTreeMap<String, String>>>,
    over: BTreeMap<String, DocumentSource>,
    /// Number of sources since the last refresh: every build asks for it.
    count: OnceLock<usize>,
}

impl OverlaidSources {
    /// Applies the documents to a refresh of the world below.
    fn cover(&mut self, sets: &[SetDef], mut refresh: Refresh) -> Result<Refresh, WorldError> {
        self.over = self.sources(sets)?;
        self.count = OnceLock::new();
        let mut changes: BTreeMap<String, Change> = refresh.changes.drain(..).map(|change| (change.path.clone(), change)).collect();
        let mut changed_sets = 0_u64;
        for (path, over) in &self.over {
            let below = (0..sets.len())
                .filter(|set| self.below.contains(*set, path))
                .fold(0, |bits, set| bits | 1 << set);
            changed_sets |= below ^ over.sets;
            let (path, to) = (path.clone(), over.digest);
            let from = changes.remove(&path).map_or_else(|| self.below.digest(&path), |change| change.from);
            if from != to {
                changes.insert(path.clone(), Change { path, from, to });
            }
        }
        refresh.changes = changes.into_values().collect();
        refresh
            .sets_changed
            .extend((0..sets.len()).filter(|set| changed_sets >> set & 1 == 1));
        refresh.sets_changed.sort_unstable();
        refresh.sets_changed.dedup();
        Ok(refresh)
    }

    fn sources(&self, sets: &[SetDef]) -> Result<BTreeMap<String, DocumentSource>, WorldError> {
        let paths: Vec<&str> = self.documents.keys().map(String::as_str).collect();
        let held = self.below.sets_of_paths(sets, &paths)?;
        let as_source = |document: &Option<Arc<[u8]>>, sets: u64| DocumentSource {
            sets: document.as_ref().map_or(0, |_| sets),
            digest: document.as_ref().filter(|_| sets != 0).map(|bytes| Digest::of(bytes)),
        };
        let own = self.documents.iter().zip(held);
        let mut over: BTreeMap<String, DocumentSource> = own
            .map(|((path, document), sets)| (path.clone(), as_source(document, sets)))
            .collect();
        let mut links = self.links.write().unwrap_or_else(PoisonError::into_inner);
        links.clear();
        for (path, sets, target) in self.below.links() {
            // A document in place of a link is no link.
            if let (Some(document), false) = (self.documents.get(&target), self.documents.contains_key(&path)) {
                over.insert(path.clone(), as_source(document, sets));
                links.insert(path, target);
            }
        }
        Ok(over)
    }
}

impl Sources for OverlaidSources {
    fn refresh(&mut self, sets: &[SetDef]) -> Result<Refresh, WorldError> {
        let refresh = self.below.refresh(sets)?;
        self.cover(sets, refresh)
    }

    fn refresh_named(&mut self, sets: &[SetDef], changed: &[String], directories: u64) -> Result<Refresh, WorldError> {
        let refresh = self.below.refresh_named(sets, changed, directories)?;
        self.cover(sets, refresh)
    }

    fn tree_facts(&self) -> TreeFacts {
        self.below.tree_facts()
    }

    fn set(&self, index: usize) -> Vec<String> {
        let mut paths = self.below.set(index);
        paths.retain(|path| !self.over.contains_key(path));
        paths.extend(
            self.over
                .iter()
                .filter(|(_, over)| over.sets >> index & 1 == 1)
                .map(|(path, _)| path.clone()),
        );
        paths.sort_unstable();
        paths
    }

    fn contains(&self, index: usize, path: &str) -> bool {
        self.over
            .get(path)
            .map_or_else(|| self.below.contains(index, path), |over| over.sets >> index & 1 == 1)
    }

    fn sets_of_paths(&self, sets: &[SetDef], paths: &[&str]) -> Result<Vec<u64>, WorldError> {
        self.below.sets_of_paths(sets, paths)
    }

    fn lies_at(&self, path: &str) -> bool {
        self.below.lies_at(path)
    }

    fn count(&self) -> usize {
        *self.count.get_or_init(|| self.files().len())
    }

    fn digest(&self, path: &str) -> Option<Digest> {
        self.over.get(path).map_or_else(|| self.below.digest(path), |over| over.digest)
    }

    fn files(&self) -> Vec<(String, Option<Digest>)> {
        let mut files: BTreeMap<String, Option<Digest>> = self.below.files().into_iter().collect();
        for (path, over) in &self.over {
            if over.sets == 0 {
                files.remove(path);
            } else {
                files.insert(path.clone(), over.digest);
            }
        }
        files.into_iter().collect()
    }

    fn take_dirty_rows(&mut self) -> RowEdits {
        RowEdits::new()
    }
}

/// Exports of a world that lays out nothing.
struct NoExports;

impl Exports for NoExports {
    fn verify(&self, _: &[u32]) -> Vec<u32> {
        Vec::new()
    }

    fn write(&self, _: u32, _: &str, _: Digest, _: &[u8]) -> Result<ExportOutcome, WorldError> {
        Ok(ExportOutcome::AlreadyPresent)
    }

    fn remove(&self, _: u32) -> Result<(), WorldError> {
        Ok(())
    }

    fn path(&self, _: u32) -> Option<String> {
        None
    }

    fn digest(&self, _: u32) -> Option<Digest> {
        None
    }

    fn take_dirty_rows(&self) -> RowEdits {
        RowEdits::new()
    }
}
