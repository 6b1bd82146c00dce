//! A build: patterns in; settled targets, files and a report out; one transaction that records it.

use super::blobs::Blobs;
use super::bringing::Brought;
use super::engine::EngineError;
use super::graph_memory::GraphMemory;
use super::jobs::Shared;
use super::layout::{KnownFiles, Laid};
use super::lazy_exports::LazyExports;
use super::listing::Listing;
use super::outlook::{Outlook, Prospect, marked};
use super::overtaken::Checkout;
use super::remote_costs::ProducerCost;
use super::run::{Leftover, Options, Priced, Root, Roots, Run, Setup, Tally, UNSET};
use super::session::{Session, SessionLeaves};
use super::state::{CurrentRequest, STATE_KEY, decode, encode};
use super::unfinished::Unfinished;
use crate::graph::NodeId;
use crate::manifest::compiled;
use crate::seams::producer::Cancel;
use crate::seams::world::Exports;
use crate::store::builds::BuildRecord;
use crate::store::records::HistoryRecord;
use crate::store::{Commit, Part, RowChange};
use crate::values::codes::ErrorCode;
use crate::values::diagnostic::Diagnostic;
use crate::values::digest::Digest;
use crate::values::event::{Event, Observer, Phase};
use crate::values::pattern::PatternSet;
use rustc_hash::FxHashSet;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

/// Request for a build.
#[derive(Clone, Debug)]
pub struct Request {
    /// The requested targets.
    pub patterns: PatternSet,
    /// Digest of the request, under which the store records whether it is current.
    pub digest: Digest,
    /// Options of the build.
    pub options: Options,
    /// Whether the report must list the targets.
    pub list: bool,
    /// Whether the report must contain the outputs.
    pub outputs: bool,
}

/// Result of a build.
#[derive(Debug, Default)]
pub struct Report {
    /// Number of requested targets.
    pub targets: usize,
    /// The requested targets, sorted, if the request asked for a list.
    pub roots: Vec<Root>,
    /// The outputs in the order of `roots`, if the request asked for them.
    pub outputs: Vec<Option<Arc<[u8]>>>,
    /// Counts of the build.
    pub tally: Tally,
    /// Failures, the first one first.
    pub failures: Vec<Diagnostic>,
    /// Errors of patterns that match nothing or too much; then nothing was built.
    pub refused: Vec<Diagnostic>,
    /// For a dry run: sets that must be built before their targets are known, and patterns that match nothing so far.
    pub unknown: Vec<Diagnostic>,
    /// Diagnostics of producers and of the refresh.
    pub diagnostics: Vec<Diagnostic>,
    /// Number of files written.
    pub written: usize,
    /// Number of files that could not be laid out; the reasons are among the failures.
    pub not_laid_out: usize,
    /// Number of warnings of outputs of earlier builds, which reported them.
    pub standing: u64,
    /// Whether the build was stopped.
    pub cancelled: bool,
    /// Number of targets not reached when it was stopped.
    pub left: usize,
    /// Whether the disk is full.
    pub no_space: bool,
    /// For a dry run: the producers that would run.
    pub outlook: Option<Outlook>,
    /// If only priced: questions of paid targets.
    pub plans: Vec<Priced>,
    /// Results of other machines for the same sources.
    pub brought: Brought,
    /// Average durations of producers, in a build with a remote cache.
    pub costs: Vec<ProducerCost>,
}

impl Report {
    /// Copies the reports of a run.
    fn take_over(&mut self, leftover: &Leftover) {
        self.tally = leftover.tally.clone();
        self.failures.extend(leftover.failures.iter().cloned());
        self.diagnostics.extend(leftover.diagnostics.iter().cloned());
        self.plans.clone_from(&leftover.plans);
        self.costs.clone_from(&leftover.costs);
    }
}

impl Session {
    /// Builds, lays out files and commits. A dry run changes nothing.
    ///
    /// # Errors
    /// When the store or the workspace breaks. Failures of targets are in the report.
    pub fn build(&mut self, request: &Request, observer: &dyn Observer, cancel: &Cancel) -> Result<Report, EngineError> {
        if std::mem::take(&mut self.is_unsaved) {
            // A stopped build of this session settled nodes without committing them.
            self.forget_graph()?;
        }
        if !request.outputs {
            self.listed = None;
        }
        self.report_sources(observer);
        // The sources do not change within a session: ask other machines only once for results of them.
        let (brought, adopted) = match Self::makes(request) && !std::mem::replace(&mut self.has_asked_others, true) {
            true => {
                let bringing = Instant::now();
                let brought = self.bring(request, cancel)?;
                if brought != Brought::default() {
                    observer.phase(&Phase::ended_now("bring", bringing));
                }
                (brought, self.confirm(self.engine.sharing.clone().as_ref())?)
            }
            false => (Brought::default(), 0),
        };
        let with = |mut report: Report| {
            report.tally.adopted += adopted;
            Report { brought, ..report }
        };
        if let Some(report) = self.attempt(request, observer, cancel)? {
            return Ok(with(report));
        }
        // A page of the graph is damaged. Discard everything derived from it; results are found under their keys again.
        self.forget_graph()?;
        let report = self.attempt(request, observer, cancel)?;
        Ok(with(report.expect("invariant: a graph that was not loaded has no damaged page")))
    }

    /// Tries to build; `None` if the stored graph turns out to be damaged, and then nothing was committed.
    pub(super) fn attempt(&mut self, request: &Request, observer: &dyn Observer, cancel: &Cancel) -> Result<Option<Report>, EngineError> {
        let began = (self.engine.world.now_secs(), Instant::now());
        let left = Unfinished::of(&*self.engine.store, self.engine.view)?;
        let sets = self.state.set_defs();
        let (world, is_watched) = (self.engine.world.clone(), self.seen.token.is_some());
        let stand = |known: &CurrentRequest| is_watched && known.outputs_stand(&*world, &sets);
        let listing = Listing::new(&self.rules, observer);
        let mut options = request.options.clone();
        options.invalidated = self.invalidated.clone();
        let shared = Arc::new(Shared {
            blobs: Blobs::new(self.engine.store.clone()).with_pages(self.engine.graphs.as_ref().map(GraphMemory::pages)),
            world: self.engine.world.clone(),
            manifest: self.rules.manifest().clone(),
            view: self.engine.view,
            cancel: cancel.clone(),
            early_outputs: Default::default(),
            sharing: self.sharing(request),
            former: OnceLock::new(),
        });
        let leaves = SessionLeaves::new(&*self.sources, &self.state, &self.refresh.changes);
        let setup = Setup {
            rules: &self.rules,
            registry: &self.engine.registry,
            priority: &*self.engine.priority,
            lineage: &*self.engine.lineage,
            graph: &mut self.graph,
            links: &self.links,
            leaves: &leaves,
            store: self.engine.store.clone(),
            shared: shared.clone(),
            redefined: self.redefined,
            observer: &listing,
            options,
            predecessors: &self.predecessors,
            turn: self.engine.turn.clone().filter(|_| !request.options.dry_run),
        };
        let marked = request.options.dry_run.then(|| marked(setup.graph));
        let now = request
            .options
            .settles
            .map_or_else(|| self.engine.world.now_secs(), |first| first.at);
        let mut run = Run::new(setup, self.engine.view, now);
        let mut report = Report {
            diagnostics: self.refresh.diagnostics.clone(),
            ..Report::default()
        };
        let generation = self.state.generation;
        let stored = self.engine.stored_state()?;
        let row = self.engine.store.row(self.engine.view, Part::Requests, &request.digest.0)?;
        let known = row
            .and_then(|row| decode::<CurrentRequest>(&row))
            .filter(|_| !self.redefined && !request.options.dry_run);
        let same = known
            .as_ref()
            .map(|known| run.known_roots(known, &request.patterns))
            .transpose()?
            .flatten();
        let known = known.filter(|_| same.is_some());
        let mut added = FxHashSet::default();
        let Roots {
            nodes: ids,
            errors: refused,
            open,
            warnings: odd,
        } = match same {
            Some(roots) => {
                added = roots.added;
                Roots {
                    nodes: roots.nodes,
                    ..Roots::default()
                }
            }
            None => run.roots(&request.patterns)?,
        };
        // A failed set is no error of the pattern, and targets that do not depend on it are still built. A dry run answers from what is known; the
        // items of a set that was never built are not.
        let (unset, mut refused): (Vec<_>, Vec<_>) = refused.into_iter().partition(|why| why.code == UNSET);
        if cancel.is_cancelled() {
            // The patterns were not fully resolved.
            refused.clear();
        }
        let (unknown, unset) = if request.options.dry_run {
            (unset, Vec::new())
        } else {
            (Vec::new(), unset)
        };
        report.unknown = unknown.into_iter().chain(open.into_iter().map(so_far)).collect();
        report.refused = refused;
        // Every build repeats these: a request with warnings is never answered from the record of a current request.
        let is_odd = !odd.is_empty();
        report.diagnostics.extend(odd);
        report.targets = ids.len();
        observer.phase(&Phase::ended_now("plan", began.1));
        let mut laid = Laid::default();
        if report.refused.is_empty() {
            let making = Instant::now();
            run.settle_tables(&request.patterns)?;
            run.settle_all(&ids)?;
            if !run.is_stopped() {
                run.flush_paid()?;
            }
            observer.phase(&Phase::ended_now("make", making));
            if request.outputs {
                report.outputs = ids
                    .iter()
                    .map(|&id| if run.is_stopped() { Ok(None) } else { run.blob(id) })
                    .collect::<Result<_, _>>()?;
            }
            if let Some(marked) = marked.filter(|_| !cancel.is_cancelled()) {
                let prospect = Prospect::of(&mut run, &marked)?;
                let outlook = prospect.outlook(run.graph(), &*self.engine.store, self.engine.view)?;
                let may_run = prospect.may_run(run.graph());
                let told = [(&outlook.will_run, true), (&may_run, false)];
                for (label, certain) in told
                    .into_iter()
                    .flat_map(|(labels, certain)| labels.iter().map(move |label| (label, certain)))
                {
                    observer.event(&Event::WouldRun { label, certain });
                }
                (run.tally.would_run, run.tally.may_run) = (outlook.will_run.len(), outlook.may_run);
                report.outlook = Some(outlook);
            }
            if request.list {
                report.roots = run.report(&ids);
            }
        }
        if run.has_given_back() {
            run.let_store_go()?;
            let checkout = self.engine.take_again(&stored, cancel)?;
            if !matches!(checkout, Checkout::AsLeft) {
                report.cancelled = run.is_stopped();
                if report.cancelled {
                    report.left = run.left(&ids);
                }
                let leftover = run.finish_run()?;
                report.take_over(&leftover);
                if !report.cancelled {
                    report.failures.extend(unset);
                }
                let listed = listing
                    .into_events()
                    .record(request, &report, began, &*self.engine.annotate, Vec::new());
                return self
                    .settle_overtaken((request, report, now), (leftover, listed), checkout, cancel)
                    .map(Some);
            }
        }
        // Files of removed targets are deleted even if the request itself is refused.
        let exports = match request.options.dry_run || request.options.price {
            true => None,
            false => Some(LazyExports::new(
                self.engine.world.clone(),
                self.engine.store.clone(),
                self.engine.view,
            )),
        };
        if let (Some(exports), true) = (&exports, report.refused.is_empty() && !run.graph.is_damaged()) {
            let laying_out = Instant::now();
            laid = run.lay_out(
                &ids,
                exports,
                &*self.engine.finish,
                known
                    .as_ref()
                    .filter(|known| known.generation == generation)
                    .map(|known| KnownFiles {
                        known,
                        are_watched: stand(known),
                        added: &added,
                    }),
            )?;
            observer.phase(&Phase::ended_now("lay out", laying_out));
        }
        let sets = run.known_sets();
        report.cancelled = run.is_stopped();
        let _keeping = report.cancelled.then(Cancel::announce_commit);
        if report.cancelled {
            report.left = run.left(&ids);
        }
        let mut leftover = run.finish_run()?;
        let heard = listing.into_events();
        if self.graph.is_damaged() {
            return Ok(None);
        }
        report.take_over(&leftover);
        if !report.cancelled {
            report.failures.extend(unset);
        }
        if !report.cancelled {
            report.failures.extend(laid.failures.iter().cloned());
        }
        report.written = laid.written;
        if !report.cancelled {
            report.not_laid_out = laid.refused;
        }
        report.no_space = laid.no_space;
        if request.options.dry_run {
            return Ok(Some(report));
        }
        if report.cancelled && self.is_much_to_settle(&leftover, request.options.settled_on_stop) {
            leftover.listed = heard.record(request, &report, began, &*self.engine.annotate, Vec::new());
            self.commit_results(leftover)?;
            return Ok(Some(report));
        }
        let put_off = request.options.price || report.tally.deferred + report.tally.awaited + report.tally.limited > 0;
        let whole = report.refused.is_empty() && report.failures.is_empty() && !report.cancelled && !put_off && !is_odd;
        let known = whole.then(|| CurrentRequest {
            generation: 0,
            targets: ids.len() as u64,
            exported: laid.nodes.clone(),
            roots: ids.iter().map(|id| id.0).collect(),
            sets,
            finished: laid.finished.clone(),
            warnings: 0,
            // Files laid out since then count as changed and are checked once more.
            watched: self.seen.token.clone().map(Into::into),
            patterns: match request.options.own {
                true => Vec::new(),
                false => request.patterns.patterns().iter().map(ToString::to_string).collect(),
            },
            at: self.engine.world.now_secs(),
        });
        let exports_read = exports.as_ref().map(|exports| exports as &dyn Exports);
        let gone = self.prune(exports_read, &shared.blobs, &leftover.history, &leftover.set_changes);
        // Removed targets were in use until now: their versions age from here on.
        let now = self.engine.world.now_secs();
        leftover.used.extend(gone.iter().flatten().map(|(_, key)| (*key, now)));
        if self.graph.is_damaged() {
            return Ok(None);
        }
        std::mem::take(&mut self.heard_before).add_to(&mut leftover.heard, &self.graph);
        let (remarks, warnings, standing) = self.hear(std::mem::take(&mut leftover.heard), &report.diagnostics)?;
        report.standing = standing;
        let known = known.map(|known| (request.digest, CurrentRequest { warnings, ..known }));
        let labels = gone.iter().flatten().map(|(label, _)| label.clone()).collect();
        if let Some(first) = request.options.settles {
            leftover.build = first.build;
        } else {
            leftover.listed = heard.record(request, &report, began, &*self.engine.annotate, labels);
        }
        let committing = Instant::now();
        let results = leftover.results.len();
        let before = self.state.generation;
        let made = results + report.tally.ran + report.tally.failed + leftover.ledger.len() > 0;
        let renews = (made || !laid.finished.is_empty()) && exports_read.is_some_and(|exports| self.renews(exports));
        leftover.left.files = renews;
        exports.as_ref().map_or(Ok(()), LazyExports::check)?;
        let keeping = Cancel::announce_commit();
        let committed = match self.commit(leftover, remarks, gone.is_some(), exports_read, known) {
            Err(EngineError::Store(error)) if !made => {
                report.diagnostics.push(super::unwritable_store::excused(error)?);
                return Ok(Some(report));
            }
            committed => committed?,
        };
        drop(keeping);
        observer.phase(&Phase::ended_now("commit", committing));
        if committed && results > 0 {
            observer.event(&Event::Committed { results });
        }
        let moved =
            self.state.generation != before || report.tally.ran + report.tally.failed > 0 || !laid.finished.is_empty() || left.files;
        if let (true, true, false, Some(exports)) = (committed, moved, report.cancelled, &exports) {
            let (written, failures) = self.renew(&request.digest, exports, &laid.placed, (observer, cancel))?;
            report.written += written;
            report.not_laid_out += failures.len();
            report.no_space |= failures.iter().any(|why| why.code == ErrorCode::E_NO_SPACE);
            report.failures.extend(failures);
        }
        Ok(committed.then_some(report))
    }

    fn report_sources(&self, observer: &dyn Observer) {
        let files = self.sources.count();
        observer.event(&Event::Scanned {
            files,
            hashed: self.refresh.hashed,
            stated: self.refresh.stated,
            changed: self.refresh.changes.len(),
        });
        if self.is_redefined() {
            return;
        }
        for &node in &self.origins {
            let reason = self.reason(&crate::graph::stale::Marked { node, via: None });
            observer.event(&Event::Marked {
                label: &self.graph.node(node).label,
                reason: &reason,
            });
        }
    }

    /// Commits in one transaction the remaining results, History, graph pages, known sources and files, and the request as current. Returns false,
    /// without a commit, if the graph turns out to be damaged.
    pub(super) fn commit(
        &mut self,
        mut leftover: Leftover,
        remarks: Vec<RowChange>,
        pruned: bool,
        exports: Option<&dyn Exports>,
        known: Option<(Digest, CurrentRequest)>,
    ) -> Result<bool, EngineError> {
        let (nodes, links) = (self.graph.take_dirty_pages(), self.graph.take_dirty_links());
        let lookups = self.graph.take_changed_lookups();
        if self.graph.is_damaged() {
            return Ok(false);
        }
        let listed = leftover.listed.take().map(|listed| self.numbered(listed)).transpose()?;
        for (_, version) in &mut leftover.history {
            version.build = listed.as_ref().map(|listed| listed.number).or(leftover.build);
        }
        if let Some(lost) = self.state.lost {
            let mut told = Vec::with_capacity(leftover.history.len());
            for (label, version) in leftover.history {
                let newest = self.engine.store.history(self.engine.view, &label)?.pop();
                let is_known = |newest: &HistoryRecord| {
                    newest.build.is_none_or(|build| build <= lost) && (newest.key, newest.output) == (version.key, version.output)
                };
                if !newest.as_ref().is_some_and(is_known) {
                    told.push((label, version));
                }
            }
            leftover.history = told;
        }
        let rows = |part: Part, rows: crate::seams::world::RowEdits| rows.into_iter().map(move |(key, body)| (part, key, body));
        let mut commit = Commit {
            results: leftover.results,
            history: leftover.history,
            used: leftover.used,
            ..Commit::default()
        };
        commit.rows.extend(rows(Part::Nodes, nodes));
        commit.rows.extend(rows(Part::Links, links));
        commit.rows.extend(rows(Part::Lookups, lookups));
        let stale = self.graph.take_dirty_stale();
        let moved = stale.is_some() || !commit.rows.is_empty() || !self.refresh.changes.is_empty() || !self.refresh.sets_changed.is_empty();
        commit.rows.extend(rows(Part::Directories, self.sources.take_dirty_rows()));
        commit.rows.extend(self.seen.row());
        if let Some(exports) = exports {
            commit.rows.extend(rows(Part::Exports, exports.take_dirty_rows()));
        }
        let mut kept = None;
        let changes = moved || self.is_redefined();
        if changes {
            self.state.generation += 1;
            if let Some(stale) = stale {
                self.state.stale = stale;
            }
            if self.is_redefined()
                && let Some(row) = self.manifest_before()?
                // Equivalent texts (a comment, another registry) replace nothing.
                && !self.compiled.iter().any(|(_, _, now)| now.as_ref() == Some(&row))
            {
                kept = Some((Part::Manifests, compiled::BEFORE.to_vec(), Some(row)));
            }
            self.state.manifest = self.definition().0.to_vec();
            self.state.registry = self.engine.registry.digest().0.to_vec();
            self.state.nodes = self.graph.len() as u64;
        }
        if let Some(listed) = &listed {
            self.state.builds = Some(listed.number);
            commit.rows.extend(listed.to_rows());
        }
        // A build that only adds to the log (its one producer failed again) keeps the generation.
        if changes || listed.is_some() && !self.state.manifest.is_empty() {
            commit.rows.push((Part::State, STATE_KEY.to_vec(), Some(encode(&self.state))));
        }
        // Node numbers in recorded requests stay valid until a node is removed.
        if pruned || self.is_redefined() {
            let outdated = self.engine.store.rows(self.engine.view, Part::Requests)?;
            commit.rows.extend(outdated.into_iter().map(|(key, _)| (Part::Requests, key, None)));
        }
        commit
            .rows
            .extend(leftover.ledger.iter().map(crate::store::ledger::LedgerEntry::to_row));
        let followed = self.engine.finish.followed();
        let before = Unfinished::of(&*self.engine.store, self.engine.view)?;
        let left = Unfinished {
            files: before.files || leftover.left.files || changes && exports.is_some_and(|exports| self.renews(exports)),
            names: before.names || commit.history.iter().any(|(label, _)| followed.contains(&&**label)),
        };
        if left != before {
            commit.rows.push(left.row());
        }
        commit.rows.extend(self.made_again());
        commit.rows.append(&mut self.compiled);
        commit.rows.extend(kept);
        commit.rows.extend(remarks);
        commit.rows.extend(leftover.unconfirmed);
        if let Some((digest, mut known)) = known {
            known.generation = self.state.generation;
            let stored = self.engine.store.row(self.engine.view, Part::Requests, &digest.0)?;
            let stored = stored.and_then(|row| decode::<CurrentRequest>(&row));
            if !stored.is_some_and(|stored| stored.says_the_same(&known)) {
                commit.rows.push((Part::Requests, digest.0.to_vec(), Some(encode(&known))));
            }
        }
        if !commit.rows.is_empty() || !commit.results.is_empty() || !commit.history.is_empty() {
            commit.rows.extend(self.engine.view_row()?);
            if let Some(error) = &self.write_error {
                return Err(error.clone().into());
            }
            self.engine
                .store
                .commit(self.engine.view, commit)
                .inspect_err(|error| self.write_error = Some(error.clone()))?;
            self.seen.due = None;
        }
        drop(leftover.flights);
        Ok(true)
    }

    /// Whether any laid-out file shows the states of nodes.
    fn renews(&self, exports: &dyn Exports) -> bool {
        let mut shown = self.engine.finish.labels().iter().filter_map(|label| self.graph.find(label));
        shown.any(|id| exports.path(id.0).is_some())
    }

    /// Numbers a build: one more than the last, or the number of the build that it continues.
    pub(super) fn numbered(&mut self, listed: BuildRecord) -> Result<BuildRecord, EngineError> {
        let listed = match self.listed.take() {
            Some(before) => super::listing::joined(before, listed),
            None => self.with_next_number(listed)?,
        };
        self.listed = Some(listed.clone());
        Ok(listed)
    }

    fn with_next_number(&self, listed: BuildRecord) -> Result<BuildRecord, EngineError> {
        let last = super::session::last_build(&self.engine, &self.state)?.unwrap_or(0);
        Ok(BuildRecord {
            number: last.saturating_add(1),
            ..listed
        })
    }

    /// Returns the changed sets on which nodes depend for their existence.
    pub(super) fn moved_sets(&self, history: &[(String, HistoryRecord)]) -> Vec<String> {
        let joined = |id: NodeId| {
            let found = self.rules.find(&self.graph.node(id).label);
            found.is_some_and(|found| self.rules.rule(found.rule).inner.is_some())
        };
        let parted = |label: &str| self.graph.find(label).is_some_and(|id| self.links.readers(id).any(joined));
        super::prune::moved_sets(&self.rules, history, &self.refresh, &self.state, &parted)
    }
}

/// Qualifies an error: the pattern may match once its sets are built.
fn so_far(why: Diagnostic) -> Diagnostic {
    Diagnostic {
        message: format!("{}, as far as is known before a build", why.message),
        ..why
    }
}
