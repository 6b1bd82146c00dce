//! A session's use of the remote cache: results of other machines for its sources, and the names of its own bundle.

use super::bundle_import::ImportCounts;
use super::engine::EngineError;
use super::overtaken::Checkout;
use super::request::Request;
use super::session::Session;
use super::shared_graph::KnownResults;
use super::sharing::Sharing;
use super::state::{CurrentRequest, STATE_KEY};
use crate::manifest::read::digest_of_keyed_parts;
use crate::seams::nearby::Nearby;
use crate::seams::producer::Cancel;
use crate::store::{Commit, Part, shared};
use crate::values::cbor::{decode, encode};
use crate::values::digest::Digest;

impl Session {
    /// Returns the remote cache for this build: one that builds nothing does not use it.
    pub(super) fn sharing(&self, request: &Request) -> Option<Sharing> {
        self.engine.sharing.clone().filter(|_| Self::produces_results(request))
    }

    pub(super) fn produces_results(request: &Request) -> bool {
        !request.options.mode.is_dry()
    }

    /// Stores results of other machines for the same or similar sources, if so much changed that a bundle pays, or if this checkout was built
    /// without the cache so far.
    pub(super) fn import_bundle(&mut self, request: &Request, cancel: &Cancel) -> Result<ImportCounts, EngineError> {
        let Some(sharing) = self.engine.sharing.clone().filter(|sharing| sharing.cache.reads()) else {
            return Ok(ImportCounts::default());
        };
        let is_first = self.state.bundle_asked.is_none();
        let is_large = Sharing::is_worth_a_bundle(&self.refresh, &self.graph, self.redefined);
        if !is_large && (!is_first || self.is_known_current(request)?) {
            return Ok(ImportCounts::default());
        }
        // The cache may be slow: release the checkout until it answers.
        let stored = self.engine.stored_state()?;
        self.engine.store.release_lock();
        self.engine.turn.iter().for_each(|turn| turn.release_checkout());
        let found = sharing.import_bundle(
            &self.tree(),
            || self.near(),
            &self.engine,
            (self.graph.is_empty(), |graph| self.can_continue_from(graph)),
        );
        self.engine.store.release_lock();
        let checkout = self.engine.reacquire_checkout(&stored, cancel)?;
        let found = found?;
        let brought = found.counts;
        self.predecessors = found.predecessors;
        match checkout {
            Checkout::AsLeft => {}
            Checkout::Changed => self.reload()?,
            Checkout::Lost(error) => return Err(error.into()),
        }
        if !found.rows.is_empty() {
            let rows = found.rows;
            self.engine.store.commit(self.engine.view, Commit { rows, ..Commit::default() })?;
        }
        self.continue_from(
            found.graph,
            &KnownResults {
                read: found.results,
                unread: found.unread,
            },
        )?;
        if !sharing.cache.reads() {
            // The connection failed at this request.
            return Ok(brought);
        }
        self.state.bundle_asked = Some(true);
        if is_first && !self.state.manifest.is_empty() {
            let mut commit = Commit::default();
            commit.rows.push((Part::State, STATE_KEY.to_vec(), Some(encode(&self.state))));
            self.engine.store.commit(self.engine.view, commit)?;
        }
        Ok(brought)
    }

    /// Whether an earlier build found the request current, and nothing changed since.
    fn is_known_current(&self, request: &Request) -> Result<bool, EngineError> {
        let row = self.engine.store.row(self.engine.view, Part::Requests, &request.digest.0)?;
        let known = row.and_then(|row| decode::<CurrentRequest>(&row));
        Ok(self.refresh.changes.is_empty() && known.is_some_and(|known| known.generation == self.state.generation))
    }

    /// Returns names under which bundles of similar trees may be stored, the nearest first.
    pub fn near(&self) -> Vec<Digest> {
        self.pointers(|nearby| nearby.near())
    }

    /// Returns the name of the bundle of the tree at which this branch left the main line, if known.
    pub fn merge_base(&self) -> Option<Digest> {
        self.pointers(|nearby| nearby.merge_base().into_iter().collect()).pop()
    }

    /// Returns the names of the present tree's bundle in addition to the tree's name.
    pub fn own_pointers(&self) -> Vec<Digest> {
        self.pointers(|nearby| nearby.bundle_names())
    }

    fn pointers(&self, of: impl FnOnce(&dyn Nearby) -> Vec<String>) -> Vec<Digest> {
        let nearby = self.engine.sharing.as_ref().and_then(|sharing| sharing.nearby.clone());
        let name = &self.rules.manifest().name;
        let texts = nearby.map(|nearby| of(&*nearby)).unwrap_or_default();
        texts.iter().map(|text| shared::pointer(name, text)).collect()
    }

    /// Returns the name of the present tree in a remote cache.
    pub fn tree(&self) -> Digest {
        let files = self.sources.files();
        let files = files.iter().map(|(path, digest)| (path.as_str(), *digest));
        shared::tree(&digest_of_keyed_parts(self.rules.manifest()), &self.engine.registry.digest(), files)
    }
}
