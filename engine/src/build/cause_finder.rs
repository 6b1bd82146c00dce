//! The search for causes: the state before a dry run, and the dry run that compares it with the present.

use super::engine::EngineError;
use super::outlook::{ForecastGraph, marked_nodes};
use super::redefinition::{Redefinition, redefinitions};
use super::remarks::Remark;
use super::run::Run;
use super::session::Session;
use crate::graph::stale::{self, NodeSet};
use crate::graph::{Graph, NodeId};
use crate::manifest::compiled;
use crate::planning::rules::RuleIndex;
use crate::seams::producer::Registry;
use crate::store::{Part, Store, StoreError, ViewId};
use crate::values::digest::{ActionKey, Digest};
use crate::values::event::Reason;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use std::sync::Arc;

/// State of the session before the dry run.
pub(super) struct Before {
    /// The reason of each mark, by the node from which it spread.
    pub(super) reasons: FxHashMap<NodeId, Reason>,
    existing: NodeSet,
    /// The nodes that a dry run may change: the stale ones and their readers.
    maybe_stale: NodeSet,
    /// The action keys of the last outputs of `maybe_stale`.
    keys: FxHashMap<NodeId, ActionKey>,
    /// Marked nodes, without their readers.
    pub(super) marked: FxHashSet<NodeId>,
    /// Nodes not known to be current when the last build ended. All others had read the last version of each input.
    pub(super) unsettled: NodeSet,
    pub(super) redefined: bool,
    /// The rules of the stored graph, if they changed and are still stored.
    pub(super) rules: Option<RuleIndex>,
    /// The rules replaced by those of the last build, as far as stored.
    pub(super) replaced: Option<RuleIndex>,
}

impl Before {
    /// Reads the state of a session.
    pub(super) fn from_session(session: &Session) -> Result<Self, EngineError> {
        let origins = session.marked().into_iter().filter(|marked| marked.via.is_none());
        let rules = if session.is_redefined() { rules_before(session)? } else { None };
        let maybe_stale = stale::spread_stale_marks(&session.graph, &session.links);
        let mut existing = NodeSet::default();
        session.graph.ids().for_each(|id| _ = existing.set(id, true));
        Ok(Self {
            rules,
            reasons: origins.map(|marked| (marked.node, session.reason(&marked))).collect(),
            keys: maybe_stale
                .iter()
                .filter_map(|id| Some((id, session.graph.get(id)?.result?.key)))
                .collect(),
            maybe_stale,
            existing,
            marked: marked_nodes(&session.graph),
            unsettled: stale::spread(&NodeSet::from_bytes(&session.state.stale).unwrap_or_default(), &session.links),
            redefined: session.is_redefined(),
            replaced: session.replaced_rules()?,
        })
    }

    /// Returns the action key of a node's last output before the dry run. `graph`: the graph after the dry run.
    pub(super) fn key(&self, graph: &Graph, id: NodeId) -> Option<ActionKey> {
        match self.maybe_stale.contains(id) {
            true => self.keys.get(&id).copied(),
            false => graph
                .get(id)
                .filter(|_| self.existing.contains(id))?
                .result
                .map(|result| result.key),
        }
    }
}

/// Returns the rules of the stored graph. The manifest of the last build stays stored until the next build stores its own.
fn rules_before(session: &Session) -> Result<Option<RuleIndex>, EngineError> {
    Ok(session.manifest_before()?.and_then(|row| rules(&row)))
}

fn rules(row: &[u8]) -> Option<RuleIndex> {
    compiled::decode_manifest(row).map(|loaded| RuleIndex::new(Arc::new(loaded.manifest)))
}

impl Session {
    /// Returns the stored manifest of the stored state; `None` if it is gone.
    pub(super) fn manifest_before(&self) -> Result<Option<Vec<u8>>, StoreError> {
        let digest = |bytes: &[u8]| Some(Digest(bytes.try_into().ok()?));
        let (Some(manifest), Some(registry)) = (digest(&self.state.manifest), digest(&self.state.registry)) else {
            return Ok(None);
        };
        let key = compiled::key(&manifest, &registry);
        self.engine.store.row(self.engine.view, Part::Manifests, &key)
    }

    /// Returns the effects of the manifest's last change on a target that was built since.
    pub(super) fn last_redefined(&self, label: &str) -> Result<Vec<Redefinition>, StoreError> {
        let before = self.replaced_rules()?;
        Ok(before.map_or_else(Vec::new, |before| redefinitions(&before, &self.rules, label)))
    }

    /// Returns the rules before the last change of the manifest seen by a build.
    fn replaced_rules(&self) -> Result<Option<RuleIndex>, StoreError> {
        let row = self.engine.store.row(self.engine.view, Part::Manifests, compiled::BEFORE)?;
        Ok(row.and_then(|row| rules(&row)))
    }
}

/// Finds causes in a dry run.
pub(super) struct Finder<'a, 'r> {
    pub(super) run: &'a mut Run<'r>,
    pub(super) forecast_graph: &'a ForecastGraph,
    pub(super) store: &'a dyn Store,
    pub(super) view: ViewId,
    pub(super) before: &'a Before,
    pub(super) registry: &'a Registry,
    pub(super) remarks: &'a BTreeMap<String, Remark>,
}

impl Finder<'_, '_> {
    /// Returns the action key of a node's last output before the dry run.
    pub(super) fn key_before(&self, id: NodeId) -> Option<ActionKey> {
        self.before.key(self.run.graph(), id)
    }
}
