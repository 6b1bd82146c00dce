//! A session: a view's state, loaded and refreshed from the sources, ready for builds and queries.

use super::engine::{Definition, Engine, EngineError, RefreshedView};
use super::excluded_paths::{Exclusion, explain_exclusion};
use super::graph_memory;
use super::invalidated::{Marks, read_marks};
use super::remarks::EarlierRemarks;
use super::run::{Leaves, Predecessors, file_label};
use super::state::{Set, State};
use super::watch_state::WatchUpdate;
use crate::files::globs::Globs;
use crate::graph::stale::{self, Marked};
use crate::graph::walk::Links;
use crate::graph::{Graph, NodeId, Skeleton};
use crate::planning::rules::RuleIndex;
use crate::seams::world::{Change, Refresh, Sources};
use crate::store::builds::BuildRecord;
use crate::store::{Part, RowChange, StoreError};
use crate::values::digest::Digest;
use crate::values::event::Reason;
use crate::values::pages::Change as SetChange;
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A view, loaded and marked.
pub struct Session {
    /// The parts of the workspace.
    pub engine: Engine,
    pub rules: RuleIndex,
    /// The graph, with stale marks that match the sources.
    pub graph: Graph,
    /// The edges as loaded.
    pub links: Links,
    pub state: State,
    pub sources: Box<dyn Sources>,
    /// Result of refreshing the sources.
    pub refresh: Refresh,
    pub(super) watch_update: WatchUpdate,
    /// Rows that store the parsed manifest.
    pub(super) compiled: Vec<RowChange>,
    /// Nodes that this refresh found changed.
    pub origins: Vec<NodeId>,
    definition: Digest,
    pub(super) redefined: bool,
    /// Results of folds in a bundle.
    pub(super) predecessors: Predecessors,
    /// Labels of targets that a person invalidated.
    pub(super) invalidated: Marks,
    /// Whether a build of this session asked the remote cache for results of these sources.
    pub(super) has_asked_cache: bool,
    /// The last build of this session in the log: a later one that reads outputs for the same question is reported with it.
    pub(super) listed: Option<BuildRecord>,
    /// Whether the graph in memory has states that a stopped build settled and did not commit.
    pub(super) is_unsaved: bool,
    /// Remarks received before other processes built the checkout.
    pub(super) earlier_remarks: EarlierRemarks,
    /// Reason why the store refused this session's findings: nothing that depends on them is stored either.
    pub(super) write_error: Option<StoreError>,
}

impl Session {
    /// Loads the graph and spreads the changes found.
    pub fn open(engine: Engine, definition: &Definition, mut look: RefreshedView) -> Result<Self, EngineError> {
        let sources = look.load(&engine)?;
        // An unreadable graph is planned again: results are still found under their keys.
        let (graph, links) = match cached_graph_and_links(&engine, &mut look.state)? {
            Some(stored) => stored,
            None => {
                look.state.lost = last_build(&engine, &look.state)?;
                look.state.set_links_digest(Some(graph_memory::digest(&[])));
                let graph = empty_graph(&engine)?;
                let links = Links::from_graph(&graph);
                (graph, links)
            }
        };
        let redefined = !look.state.belongs_to(&definition.digest, &engine.registry.digest());
        let mut session = Self {
            rules: RuleIndex::new(definition.manifest.clone()),
            graph,
            links,
            state: look.state,
            sources,
            refresh: look.refresh,
            watch_update: look.watch_update,
            compiled: definition.rows.clone(),
            origins: Vec::new(),
            definition: definition.digest,
            redefined,
            predecessors: Predecessors::default(),
            invalidated: read_marks(&*engine.store, engine.view)?,
            has_asked_cache: false,
            listed: None,
            is_unsaved: false,
            earlier_remarks: EarlierRemarks::default(),
            write_error: None,
            engine,
        };
        session.mark();
        Ok(session)
    }

    /// Marks the nodes that the refresh found changed.
    pub(super) fn mark(&mut self) {
        let mut origins: Vec<NodeId> = Vec::new();
        for change in &self.refresh.changes {
            origins.extend(self.graph.find(&file_label(&change.path)));
        }
        for &set in &self.refresh.sets_changed {
            origins.extend(self.state.sets.get(set).and_then(|set| self.graph.find(&set.label)));
        }
        if self.redefined {
            origins.extend(self.graph.planned());
        }
        for &origin in &origins {
            self.graph.set_stale(origin, true);
        }
        self.origins = origins;
    }

    /// Starts an empty graph in place of one with damaged stored pages.
    pub(super) fn forget_graph(&mut self) -> Result<(), EngineError> {
        self.graph = empty_graph(&self.engine)?;
        self.links = Links::from_graph(&self.graph);
        self.origins.clear();
        self.state.set_links_digest(Some(graph_memory::digest(&[])));
        self.state.lost = last_build(&self.engine, &self.state)?;
        Ok(())
    }

    /// Returns all nodes that may be stale, and how the marks spread.
    pub fn marked(&self) -> Vec<Marked> {
        stale::marks(&self.graph, &self.links)
    }

    /// Whether manifest, rulesets or producers differ from those of the stored graph.
    pub fn is_redefined(&self) -> bool {
        self.redefined
    }

    /// Returns the digest of the manifest and ruleset texts.
    pub fn definition(&self) -> &Digest {
        &self.definition
    }

    /// Forgets nodes that a build removed: their change is reported once.
    pub(super) fn forget_gone_origins(&mut self) {
        let graph = &self.graph;
        self.origins.retain(|&id| graph.get(id).is_some());
    }

    /// Returns why a node is marked.
    pub fn reason(&self, marked: &Marked) -> Reason {
        if let Some(via) = marked.via {
            return Reason::InputMoved {
                label: self.graph.node(via).label.to_string(),
            };
        }
        let label = &*self.graph.node(marked.node).label;
        if let Some(set) = self.state.sets.iter().find(|set| set.label == label) {
            return self.set_changed(set);
        }
        match super::run::file_path(label) {
            Some(path) => match self
                .refresh
                .changes
                .iter()
                .find(|change| change.path == path)
                .map(|change| (change.from, change.to))
            {
                Some((Some(from), Some(to))) => Reason::FileChanged { path, from, to },
                Some((_, None)) => Reason::FileRemoved { path },
                Some((None, Some(_))) => Reason::FileAdded { path },
                None => Reason::LeftStale,
            },
            None if self.invalidated.contains_key(label) => Reason::Invalidated,
            None if self.graph.node(marked.node).result.is_none() => Reason::New,
            None if self.redefined => Reason::DefinitionChanged,
            None => Reason::LeftStale,
        }
    }

    /// Returns the reason with the files that a set gained and lost, as far as the refresh shows.
    fn set_changed(&self, set: &Set) -> Reason {
        let globs = Globs::new(&[set.def()]).ok();
        let belongs = |path: &str| globs.as_ref().is_some_and(|globs| globs.sets_of_path(path) != 0);
        let of_set = |is: fn(&Change) -> bool| {
            let changes = self.refresh.changes.iter().filter(|change| is(change) && belongs(&change.path));
            changes.map(|change| change.path.clone()).collect()
        };
        Reason::SetChanged {
            label: set.label.clone(),
            added: of_set(|change| change.from.is_none()),
            removed: of_set(|change| change.to.is_none()),
        }
    }
}

/// Reads the stored graph and its links, without the graph cached in this process; `None` if unreadable.
pub(super) fn stored_graph_and_links(engine: &Engine, state: &State) -> Result<Option<(Graph, Links)>, EngineError> {
    let rows = engine.store.rows(engine.view, Part::Links)?;
    let read = Skeleton::from_rows(&rows).and_then(|skeleton| {
        let links = Links::from_skeleton(&skeleton);
        Some((graph_over(engine, state, skeleton)?, links))
    });
    Ok(read)
}

/// Completes a graph whose links are known; `None` if it is not the one to which the state belongs.
fn graph_over(engine: &Engine, state: &State, skeleton: Skeleton) -> Option<Graph> {
    let (store, view) = (&engine.store, engine.view);
    let source = |part: Part| {
        let store = store.clone();
        Box::new(move |page: u32| store.row(view, part, &page.to_be_bytes()).ok().flatten())
    };
    let graph = Graph::from_skeleton(skeleton, &state.stale, source(Part::Nodes), source(Part::Lookups));
    graph.filter(|graph| graph.len() as u64 == state.nodes)
}

/// Returns the graph and its links as stored with `state`, which was just read; `None` if unreadable. Reads no link rows if this process caches
/// the graph. Adds the digest of the link rows to a state without one.
fn cached_graph_and_links(engine: &Engine, state: &mut State) -> Result<Option<(Graph, Links)>, EngineError> {
    let mut read = None;
    let digest = match state.links_digest() {
        Some(digest) => digest,
        None => {
            let rows = engine.store.rows(engine.view, Part::Links)?;
            let digest = graph_memory::digest(&rows);
            state.set_links_digest(Some(digest));
            read = Some(rows);
            digest
        }
    };
    let memory = engine.graphs.as_ref();
    let stored = graph_memory::stored_graph_digest(&*engine.store, engine.view, state);
    let lookups = memory.zip(stored).map(|(memory, stored)| memory.lookups(stored));
    if let Some((skeleton, links)) = memory.and_then(|memory| memory.find(&digest)) {
        let graph = graph_over(engine, state, skeleton).map(|graph| graph.with_shared_lookups(lookups));
        return Ok(graph.map(|graph| (graph, links)));
    }
    let rows = match read {
        Some(rows) => rows,
        None => engine.store.rows(engine.view, Part::Links)?,
    };
    let Some(skeleton) = Skeleton::from_rows(&rows) else {
        return Ok(None);
    };
    let links = Links::from_skeleton(&skeleton);
    let kept = memory.map(|memory| (memory, skeleton.clone()));
    let Some(graph) = graph_over(engine, state, skeleton) else {
        return Ok(None);
    };
    let graph = graph.with_shared_lookups(lookups);
    if let Some((memory, skeleton)) = kept {
        memory.remember(digest, skeleton, links.clone());
    }
    Ok(Some((graph, links)))
}

/// Returns the number of the last build in the log.
pub(super) fn last_build(engine: &Engine, state: &State) -> Result<Option<u64>, EngineError> {
    if state.builds.is_some() {
        return Ok(state.builds);
    }
    // The state was lost.
    let rows = engine.store.rows(engine.view, Part::Builds)?;
    Ok(rows.iter().filter_map(BuildRecord::from_row).map(|build| build.number).max())
}

/// Creates an empty graph that replaces the stored one, damaged or not.
fn empty_graph(engine: &Engine) -> Result<Graph, EngineError> {
    let pages = |part: Part| -> Result<Vec<u32>, EngineError> {
        let rows = engine.store.rows(engine.view, part)?;
        let number = |key: &[u8]| Some(u32::from_be_bytes(key.try_into().ok()?));
        Ok(rows.iter().filter_map(|(key, _)| number(key)).collect())
    };
    Ok(Graph::replacing(pages(Part::Nodes)?, pages(Part::Links)?, pages(Part::Lookups)?))
}

/// Returns a set's paths as its readers see them: one per line.
pub(super) fn paths_as_lines(paths: &[String]) -> Vec<u8> {
    let mut text = paths.join("\n");
    text.push('\n');
    text.into_bytes()
}

pub struct SessionLeaves<'a> {
    pub sources: &'a dyn Sources,
    pub state: &'a State,
    /// Changes found by the last refresh.
    changes: &'a [Change],
    /// Paths of the sets requested so far, by index.
    pub paths: RefCell<FxHashMap<usize, Arc<[u8]>>>,
}

impl<'a> SessionLeaves<'a> {
    /// Creates the leaves of a session, whose last refresh found `changes`.
    pub fn new(sources: &'a dyn Sources, state: &'a State, changes: &'a [Change]) -> Self {
        Self {
            sources,
            state,
            changes,
            paths: RefCell::default(),
        }
    }

    fn index(&self, label: &str) -> Option<usize> {
        self.state.sets.iter().position(|set| set.label == label)
    }
}

impl Leaves for SessionLeaves<'_> {
    fn file(&self, path: &str) -> Option<Digest> {
        self.sources.digest(path)
    }

    fn explain_exclusion(&self, path: &str) -> Exclusion {
        explain_exclusion(self.sources, &self.state.set_defs(), path)
    }

    fn set(&self, label: &str) -> Option<Arc<[u8]>> {
        let index = self.index(label)?;
        let mut paths = self.paths.borrow_mut();
        let made = paths
            .entry(index)
            .or_insert_with(|| paths_as_lines(&self.sources.set(index)).into());
        Some(made.clone())
    }

    fn set_changes(&self, label: &str, before: &Digest) -> Option<Vec<(String, SetChange)>> {
        let index = self.index(label)?;
        let gone: Vec<&str> = self
            .changes
            .iter()
            .filter(|change| change.to.is_none())
            .map(|change| &*change.path)
            .collect();
        let held = self.sources.sets_of_paths(&self.state.set_defs(), &gone).ok()?;
        let was_held = |sets: u64| u32::try_from(index).is_ok_and(|index| sets.checked_shr(index).unwrap_or(0) & 1 == 1);
        let removed = gone.iter().zip(held).filter(|(_, sets)| was_held(*sets));
        let removed = removed.map(|(path, _)| ((*path).to_owned(), SetChange::Removed));
        let is_new = |change: &&Change| change.from.is_none() && self.sources.contains(index, &change.path);
        let added = self
            .changes
            .iter()
            .filter(is_new)
            .map(|change| (change.path.clone(), SetChange::Added));
        let changes: Vec<(String, SetChange)> = removed.chain(added).collect();
        // Earlier refreshes may have found more, and ignore rules may have changed: the changes are complete only if the former list fits.
        let mut paths: BTreeSet<String> = self.sources.set(index).into_iter().collect();
        for (path, change) in &changes {
            match change {
                SetChange::Removed => paths.insert(path.clone()),
                _ => paths.remove(path),
            };
        }
        let paths: Vec<String> = paths.into_iter().collect();
        (Digest::of(&paths_as_lines(&paths)) == *before).then_some(changes)
    }

    fn contains_source(&self, label: &str, path: &str) -> Option<bool> {
        self.index(label).map(|index| self.sources.contains(index, path))
    }
}
