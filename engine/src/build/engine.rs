//! The engine: the parts of a workspace, and the refresh of its sources with which every command starts.
//!
//! [`Engine::read_sources`] refreshes the known sources. If nothing changed since a request was last current, the command answers without reading
//! manifest, graph or blobs.

use super::graph_memory::GraphMemory;
use super::sharing::Sharing;
use super::state::{CurrentRequest, STATE_KEY, Set, State};
use super::unfinished::Unfinished;
use super::watch_state::{WATCH_KEY, WatchRecord, WatchUpdate};
use crate::build::checkout_turn::CheckoutTurn;
use crate::manifest::model::{InputFrom, Manifest, SetSpec};
use crate::planning::expand::{glob_label, sources_label};
use crate::seams::annotate::Annotate;
use crate::seams::lineage::Lineage;
use crate::seams::priority::Priority;
use crate::seams::producer::Registry;
use crate::seams::world::{Refresh, SetDef, Sources, World, WorldError};
use crate::store::fetching::Fetching;
use crate::store::views::{VIEW_KEY, ViewRecord};
use crate::store::{Commit, Part, RowChange, Store, StoreError, ViewId, unconfirmed};
use crate::values::cbor::{decode, encode};
use crate::values::digest::Digest;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The parts of a workspace.
#[derive(Clone)]
pub struct Engine {
    /// Clock, sources, output folder.
    pub world: Arc<dyn World>,
    pub store: Arc<dyn Store>,
    pub registry: Arc<Registry>,
    pub view: ViewId,
    /// Completes output files that are laid out.
    pub finish: Arc<dyn super::finish::Finish>,
    /// Order of paid jobs.
    pub priority: Arc<dyn Priority>,
    /// Finds former names of items.
    pub lineage: Arc<dyn Lineage>,
    /// Provides annotations of builds.
    pub annotate: Arc<dyn Annotate>,
    /// The remote cache, if there is one.
    pub sharing: Option<Sharing>,
    /// The last graph that this process loaded, if it opens several sessions.
    pub graphs: Option<GraphMemory>,
    /// The right to the checkout, if other processes may request it.
    pub turn: Option<Arc<dyn CheckoutTurn>>,
}

/// A manifest with the digest of its texts.
#[derive(Clone)]
pub struct Definition {
    /// Digest of `cortex.toml` and the rulesets.
    pub digest: Digest,
    pub manifest: Arc<Manifest>,
    /// Rows that store the parsed manifest, for the next commit.
    pub rows: Vec<RowChange>,
}

/// Reason why a command cannot continue.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The workspace cannot be read.
    #[error(transparent)]
    World(#[from] WorldError),
}

impl From<super::run::RunError> for EngineError {
    fn from(error: super::run::RunError) -> Self {
        match error {
            super::run::RunError::Store(error) => Self::Store(error),
        }
    }
}

/// A view with refreshed sources.
pub struct RefreshedView {
    /// The stored state, to which the stored graph belongs.
    pub state: State,
    /// The refreshed sources; `None` if nothing changed since they were stored, so that they were not loaded.
    pub(super) sources: Option<Box<dyn Sources>>,
    pub refresh: Refresh,
    /// Whether manifest, producers and sources match the stored state.
    pub unchanged: bool,
    pub(super) watch_update: WatchUpdate,
}

impl RefreshedView {
    /// Returns the sources, loading them if necessary.
    pub(super) fn load(&mut self, engine: &Engine) -> Result<Box<dyn Sources>, EngineError> {
        if let Some(sources) = self.sources.take() {
            return Ok(sources);
        }
        let mut sources = engine.world.sources(engine.store.rows(engine.view, Part::Directories)?);
        if let Some(stored) = self.watch_update.stored.take() {
            // Reads no file, unless rows are damaged.
            self.refresh = sources.refresh_named(&self.state.set_defs(), &[], stored.directories)?;
            self.watch_update.add_facts(sources.tree_facts(), Some(&stored));
        }
        Ok(sources)
    }
}

/// The sources if loaded, the refresh, and the watcher state to store.
type SourceScan = (Option<Box<dyn Sources>>, Refresh, WatchUpdate);

impl Engine {
    /// Returns the engine with a remote cache: it fetches outputs that its store lacks.
    pub fn with_sharing(&self, sharing: Sharing) -> Self {
        let store = Fetching::from_cache(self.store.clone(), sharing.cache.clone(), self.view, sharing.prefer);
        Self {
            store: Arc::new(store),
            sharing: Some(sharing),
            ..self.clone()
        }
    }

    /// Refreshes the sources. Calls `definition` only if the manifest does not match the stored state. Errors: the errors of `definition`,
    /// and an error if the store or the workspace cannot be read.
    pub fn read_sources<E: From<EngineError>>(
        &self,
        manifest: &Digest,
        definition: impl FnOnce() -> Result<Arc<Manifest>, E>,
    ) -> Result<RefreshedView, E> {
        let wrap = |error: EngineError| E::from(error);
        let row = self
            .store
            .row(self.view, Part::State, STATE_KEY)
            .map_err(|error| wrap(error.into()))?;
        let mut state: State = row.and_then(|row| decode(&row)).unwrap_or_default();
        let fits = state.belongs_to(manifest, &self.registry.digest());
        if state.manifest != manifest.0 {
            state.sets = sets(&*definition()?);
        }
        let (sources, refresh, watch_update) = self.scan_sources(&state.set_defs()).map_err(wrap)?;
        let unchanged = fits && refresh.changes.is_empty() && refresh.sets_changed.is_empty();
        Ok(RefreshedView {
            state,
            sources,
            refresh,
            unchanged,
            watch_update,
        })
    }

    fn scan_sources(&self, sets: &[SetDef]) -> Result<SourceScan, EngineError> {
        let stored = self.store.row(self.view, Part::Watch, WATCH_KEY)?;
        let stored = stored.and_then(|row| WatchRecord::from_row(&row));
        // Ask before the refresh: the next call then reports all changes from now on.
        let watched = self.world.watched(sets, stored.as_ref().map(|stored| &*stored.token));
        let changed = watched.as_ref().and_then(|watched| watched.changed.as_deref());
        if let (Some(stored), Some([]), Some(watched)) = (&stored, changed, &watched)
            && !stored.odd
        {
            let watch_update = WatchUpdate {
                token: Some(watched.token.clone()),
                due: None,
                stored: Some(stored.clone()),
            };
            return Ok((None, Refresh::default(), watch_update));
        }
        let mut sources = self.world.sources(self.store.rows(self.view, Part::Directories)?);
        // Hashing may take a while.
        self.store.release_if_wanted();
        let refresh = match (&stored, changed) {
            (Some(stored), Some(changed)) => sources.refresh_named(sets, changed, stored.directories)?,
            _ => sources.refresh(sets)?,
        };
        self.store.release_if_wanted();
        let watch_update = WatchUpdate::after_refresh(watched, sources.tree_facts(), stored.as_ref());
        Ok((Some(sources), refresh, watch_update))
    }

    /// Returns a remembered request, if it is current, its files are in place, and no unconfirmed answer is due.
    pub fn find_current_request(&self, look: &mut RefreshedView, request: &Digest) -> Result<Option<CurrentRequest>, EngineError> {
        if !look.unchanged
            || !Unfinished::from_store(&*self.store, self.view)?.is_none()
            || unconfirmed::any_due(&*self.store, self.view, self.world.now_secs())?
        {
            return Ok(None);
        }
        let row = self.store.row(self.view, Part::Requests, &request.0)?;
        let Some(mut known) = row
            .and_then(|row| decode::<CurrentRequest>(&row))
            .filter(|known| known.generation == look.state.generation)
        else {
            return Ok(None);
        };
        let mut rows: Vec<RowChange> = Vec::new();
        let named = |part: Part| move |(key, body)| (part, key, body);
        let are_watched = || look.watch_update.token.is_some() && known.outputs_are_unchanged(&*self.world, &look.state.set_defs());
        if !known.exported.is_empty() && !are_watched() {
            let exports = self.world.exports(self.store.rows(self.view, Part::Exports)?);
            if !exports.verify(&known.exported).is_empty() {
                return Ok(None);
            }
            rows.extend(exports.take_dirty_rows().into_iter().map(named(Part::Exports)));
            if look.watch_update.token.is_some() {
                known.watched = look.watch_update.token.clone().map(Into::into);
                rows.push((Part::Requests, request.0.to_vec(), Some(encode(&known))));
            }
        }
        if let Some(sources) = &mut look.sources {
            rows.extend(sources.take_dirty_rows().into_iter().map(named(Part::Directories)));
        }
        rows.extend(look.watch_update.row());
        if !rows.is_empty() {
            rows.extend(self.view_row()?);
            match self.store.commit(self.view, Commit { rows, ..Commit::default() }) {
                Ok(()) => look.watch_update.due = None,
                Err(error) => look.refresh.diagnostics.push(super::unwritable_store::note_read_only_store(error)?),
            }
        }
        Ok(Some(known))
    }

    /// Returns the row with this checkout's path and last use, if due. For commits that happen anyway.
    pub(super) fn view_row(&self) -> Result<Option<RowChange>, StoreError> {
        let Some(root) = self.world.root() else { return Ok(None) };
        let known = self.store.row(self.view, Part::View, VIEW_KEY)?;
        Ok(ViewRecord::renewed(known.as_deref(), root, self.world.now_secs()))
    }
}

/// Returns the source sets of a manifest, named ones and globs in rules, sorted by label.
pub fn sets(manifest: &Manifest) -> Vec<Set> {
    let mut sets: BTreeMap<String, Set> = BTreeMap::new();
    for (name, source) in &manifest.sources {
        let label = sources_label(name);
        let set = Set {
            label: label.clone(),
            include: source.include.clone(),
            exclude: source.exclude.clone(),
            gitignore: source.gitignore,
        };
        sets.insert(label, set);
    }
    let mut add = |spec: &SetSpec| {
        if let SetSpec::Glob(pattern) = spec {
            let label = glob_label(pattern);
            sets.entry(label.clone()).or_insert_with(|| Set {
                label,
                include: vec![pattern.clone()],
                exclude: Vec::new(),
                gitignore: true,
            });
        }
    };
    for rule in &manifest.rules {
        rule.each.iter().for_each(|(_, set)| add(set));
        rule.out.iter().flat_map(|out| &out.vars).for_each(|(_, set)| add(set));
        for input in &rule.inputs {
            match &input.from {
                InputFrom::One(_) => {}
                InputFrom::Many { each: set, .. } | InputFrom::Slice { keys: set, .. } => add(set),
                InputFrom::Rows { each, keys, .. } => {
                    add(each);
                    add(keys);
                }
            }
        }
    }
    if let Some(literals) = literals(manifest, &sets) {
        sets.insert(literals.label.clone(), literals);
    }
    sets.into_values().collect()
}

/// Returns a set of the files that rules name individually and that no set contains, so that they are watched like all other leaves.
fn literals(manifest: &Manifest, sets: &BTreeMap<String, Set>) -> Option<Set> {
    let named: Vec<String> = manifest
        .rules
        .iter()
        .flat_map(|rule| &rule.inputs)
        .filter_map(|input| match &input.from {
            InputFrom::One(template) => super::run::file_path(template.literal()?),
            _ => None,
        })
        .collect();
    if named.is_empty() {
        return None;
    }
    let mut globs = globset::GlobSetBuilder::new();
    for pattern in sets.values().flat_map(|set| &set.include) {
        globs.add(globset::GlobBuilder::new(pattern).literal_separator(true).build().ok()?);
    }
    let globs = globs.build().ok()?;
    let include: BTreeSet<String> = named
        .iter()
        .filter(|path| !globs.is_match(path))
        .map(|path| globset::escape(path))
        .collect();
    (!include.is_empty()).then(|| Set {
        label: sources_label("*"),
        include: include.into_iter().collect(),
        exclude: Vec::new(),
        gitignore: false,
    })
}
