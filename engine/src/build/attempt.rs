//! One attempt at a build: resolve the patterns, settle the targets, lay out their files, and hand the rest to the commit.

use super::blobs::Blobs;
use super::build_log::{ListedEvents, Listing};
use super::engine::{Engine, EngineError};
use super::graph_memory::GraphMemory;
use super::job::JobContext;
use super::layout::{KnownFiles, LayoutResult};
use super::lazy_exports::LazyExports;
use super::outlook::{ForecastGraph, RunForecast, marked_nodes};
use super::overtaken::Checkout;
use super::renew::FilesToRenew;
use super::request::{Report, Request};
use super::run::{Leftover, Options, Roots, Run, Setup, UNSET};
use super::session::{Session, SessionLeaves};
use super::state::{CurrentRequest, KnownSet, State};
use super::unfinished::Unfinished;
use crate::graph::NodeId;
use crate::seams::producer::Cancel;
use crate::seams::world::Exports;
use crate::store::Part;
use crate::values::cbor::decode;
use crate::values::codes::ErrorCode;
use crate::values::diagnostic::Diagnostic;
use crate::values::event::{Event, Observer, Phase};
use rustc_hash::FxHashSet;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

/// The targets of a request, resolved.
struct ResolvedTargets {
    nodes: Vec<NodeId>,
    /// The record of the request, if it was current before and its sets changed by few items.
    known: Option<CurrentRequest>,
    /// Nodes that are new since that record.
    added: FxHashSet<NodeId>,
    /// Errors of sets that have no output.
    unset: Vec<Diagnostic>,
    /// Whether the patterns caused warnings. Every build repeats them, so the record of a current request never answers such a request.
    has_warnings: bool,
}

/// A build whose run has ended, ready for its commit.
struct EndedRun {
    /// When the build started, by both clocks.
    began: (u64, Instant),
    targets: ResolvedTargets,
    /// The sets from which the targets come.
    sets: Vec<KnownSet>,
    laid: LayoutResult,
    exports: Option<LazyExports>,
    leftover: Leftover,
    events: ListedEvents,
    shared: Arc<JobContext>,
    /// Work that an earlier build left.
    unfinished: Unfinished,
}

impl Session {
    /// Tries to build; `None` if the stored graph turns out to be damaged, and then nothing was committed.
    pub(super) fn attempt(&mut self, request: &Request, observer: &dyn Observer, cancel: &Cancel) -> Result<Option<Report>, EngineError> {
        let began = (self.engine.world.now_secs(), Instant::now());
        let unfinished = Unfinished::from_store(&*self.engine.store, self.engine.view)?;
        let listing = Listing::new(&self.rules, observer, &self.refresh.changes, self.redefined);
        let shared = self.shared_state(request, cancel);
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
            options: Options {
                invalidated: self.invalidated.clone(),
                ..request.options.clone()
            },
            predecessors: &self.predecessors,
            turn: self.engine.turn.clone().filter(|_| !request.options.mode.is_dry()),
        };
        let marked = request.options.mode.is_dry().then(|| marked_nodes(setup.graph));
        let now = request.options.mode.overtaken_build().map_or(began.0, |first| first.at);
        let mut run = Run::new(setup, self.engine.view, now);
        let mut report = Report {
            diagnostics: self.refresh.diagnostics.clone(),
            ..Report::default()
        };
        let stored = self.engine.stored_state()?;
        let mut targets = resolve_targets(&mut run, request, (&self.engine, self.redefined), cancel, &mut report)?;
        observer.phase(&Phase::ended_now("plan", began.1));
        if report.refused.is_empty() {
            let marked = marked.filter(|_| !cancel.is_cancelled());
            settle_targets(&mut run, request, (&targets.nodes, marked), &self.engine, observer, &mut report)?;
        }
        let checkout = reacquire_if_released(&mut run, &self.engine, &stored, cancel)?;
        if !matches!(checkout, Checkout::AsLeft) {
            report.cancelled = run.is_stopped();
            let leftover = end_run(run, &mut targets, &mut report)?;
            let events = listing.into_events();
            let listed = events.record(request, &report, began, &*self.engine.annotate, Vec::new());
            let settled = self.settle_overtaken((request, report, now), (leftover, listed), checkout, cancel);
            return settled.map(Some);
        }
        // Files of removed targets are deleted even if the request itself is refused.
        let exports = (!request.options.mode.is_dry() && !request.options.mode.prices())
            .then(|| LazyExports::new(self.engine.world.clone(), self.engine.store.clone(), self.engine.view));
        let mut laid = LayoutResult::default();
        if let (Some(exports), true) = (&exports, report.refused.is_empty() && !run.graph.is_damaged()) {
            let state = (&self.state, self.watch_update.token.is_some());
            laid = lay_out_targets(&mut run, &targets, exports, &self.engine, state, observer)?;
        }
        let sets = run.known_sets();
        report.cancelled = run.is_stopped();
        let _keeping = report.cancelled.then(Cancel::announce_commit);
        let leftover = end_run(run, &mut targets, &mut report)?;
        if self.graph.is_damaged() {
            return Ok(None);
        }
        report.take_over_layout(&laid);
        if request.options.mode.is_dry() {
            return Ok(Some(report));
        }
        let ended = EndedRun {
            began,
            targets,
            sets,
            laid,
            exports,
            leftover,
            events: listing.into_events(),
            shared,
            unfinished,
        };
        self.complete_build(request, ended, report, (observer, cancel))
    }

    /// Returns the state that the jobs of a build share.
    fn shared_state(&self, request: &Request, cancel: &Cancel) -> Arc<JobContext> {
        Arc::new(JobContext {
            blobs: Blobs::new(self.engine.store.clone()).with_pages(self.engine.graphs.as_ref().map(GraphMemory::pages)),
            world: self.engine.world.clone(),
            manifest: self.rules.manifest().clone(),
            view: self.engine.view,
            cancel: cancel.clone(),
            early_outputs: Default::default(),
            sharing: self.sharing(request),
            former: OnceLock::new(),
        })
    }

    /// Commits a build and renews the files that show states; `None` if the stored graph turns out to be damaged.
    fn complete_build(
        &mut self,
        request: &Request,
        ended: EndedRun,
        mut report: Report,
        (observer, cancel): (&dyn Observer, &Cancel),
    ) -> Result<Option<Report>, EngineError> {
        let known = is_current(request, &ended, &report).then(|| self.current_request(request, &ended));
        let EndedRun {
            began,
            laid,
            exports,
            mut leftover,
            events,
            shared,
            unfinished,
            ..
        } = ended;
        if report.cancelled && self.is_much_to_settle(&leftover, request.options.settled_on_stop) {
            leftover.listed = events.record(request, &report, began, &*self.engine.annotate, Vec::new());
            self.commit_results(leftover)?;
            return Ok(Some(report));
        }
        let exports_read = exports.as_ref().map(|exports| exports as &dyn Exports);
        let gone = self.prune(exports_read, &shared.blobs, &leftover.history, &leftover.set_changes);
        // Removed targets were in use until now: their versions age from here on.
        let now = self.engine.world.now_secs();
        leftover.used.extend(gone.iter().flatten().map(|(_, key)| (*key, now)));
        if self.graph.is_damaged() {
            return Ok(None);
        }
        std::mem::take(&mut self.earlier_remarks).add_to(&mut leftover.remarks, &self.graph);
        let (remarks, warnings, earlier) = self.update_remarks(std::mem::take(&mut leftover.remarks), &report.diagnostics)?;
        report.earlier_warnings = earlier;
        let known = known.map(|known| (request.digest, CurrentRequest { warnings, ..known }));
        let labels = gone.iter().flatten().map(|(label, _)| label.clone()).collect();
        match request.options.mode.overtaken_build() {
            Some(first) => leftover.build = first.build,
            None => leftover.listed = events.record(request, &report, began, &*self.engine.annotate, labels),
        }
        let committing = Instant::now();
        let results = leftover.results.len();
        let has_run = report.tally.ran + report.tally.failed > 0;
        let has_made = has_run || results + leftover.ledger.len() > 0;
        let (generation, may_show_others) = (self.state.generation, self.may_show_other_states());
        let renews = (has_made && may_show_others || laid.has_outdated) && exports_read.is_some_and(|exports| self.renews(exports));
        leftover.left.files = renews;
        exports.as_ref().map_or(Ok(()), LazyExports::check)?;
        shared.blobs.make_room();
        let keeping = Cancel::announce_commit();
        let committed = match self.commit(leftover, remarks, gone.is_some(), exports_read, known) {
            Err(EngineError::Store(error)) if !has_made => {
                report.diagnostics.push(super::unwritable_store::note_read_only_store(error)?);
                return Ok(Some(report));
            }
            committed => committed?,
        };
        drop(keeping);
        observer.phase(&Phase::ended_now("commit", committing));
        if committed && results > 0 {
            observer.event(&Event::Committed { results });
        }
        let has_changed = self.state.generation != generation || has_run;
        let may_differ = has_changed && may_show_others || laid.has_outdated || unfinished.files;
        if let (true, true, false, Some(exports)) = (committed, may_differ, report.cancelled, &exports) {
            let files = FilesToRenew {
                exports,
                placed: &laid.placed,
                blobs: &shared.blobs,
                are_outdated: unfinished.files || !laid.follows_current,
            };
            let (written, failures) = self.renew(&request.digest, &files, (observer, cancel))?;
            report.written += written;
            report.not_laid_out += failures.len();
            report.no_space |= failures.iter().any(|why| why.code == ErrorCode::E_NO_SPACE);
            report.failures.extend(failures);
            self.graph.forget_state_changes();
        }
        Ok(committed.then_some(report))
    }

    /// Returns the record of a request that is current now.
    fn current_request(&self, request: &Request, ended: &EndedRun) -> CurrentRequest {
        CurrentRequest {
            generation: 0,
            targets: ended.targets.nodes.len() as u64,
            exported: ended.laid.nodes.clone(),
            roots: ended.targets.nodes.iter().map(|id| id.0).collect(),
            sets: ended.sets.clone(),
            finished: ended.laid.finished.clone(),
            warnings: 0,
            // Files laid out since then count as changed and are checked once more.
            watched: self.watch_update.token.clone().map(Into::into),
            patterns: match request.options.own {
                true => Vec::new(),
                false => request.patterns.patterns().iter().map(ToString::to_string).collect(),
            },
            at: self.engine.world.now_secs(),
        }
    }
}

/// Returns the record of a request that was current before; `None` if this build must not rely on it.
fn recorded_request(engine: &Engine, request: &Request, is_redefined: bool) -> Result<Option<CurrentRequest>, EngineError> {
    let row = engine.store.row(engine.view, Part::Requests, &request.digest.0)?;
    Ok(row
        .and_then(|row| decode::<CurrentRequest>(&row))
        .filter(|_| !is_redefined && !request.options.mode.is_dry()))
}

/// Resolves the patterns of a request to nodes; adds what patterns do not match to the report.
fn resolve_targets(
    run: &mut Run<'_>,
    request: &Request,
    (engine, is_redefined): (&Engine, bool),
    cancel: &Cancel,
    report: &mut Report,
) -> Result<ResolvedTargets, EngineError> {
    let known = recorded_request(engine, request, is_redefined)?;
    let same = known
        .as_ref()
        .map(|known| run.known_roots(known, &request.patterns))
        .transpose()?
        .flatten();
    let known = known.filter(|_| same.is_some());
    let mut added = FxHashSet::default();
    let roots = match same {
        Some(same) => {
            added = same.added;
            Roots {
                nodes: same.nodes,
                ..Roots::default()
            }
        }
        None => run.roots(&request.patterns)?,
    };
    // A failed set is no error of the pattern, and targets that do not depend on it are still built. A dry run answers from what is known; the
    // items of a set that was never built are not.
    let (unset, mut refused): (Vec<_>, Vec<_>) = roots.errors.into_iter().partition(|why| why.code == UNSET);
    if cancel.is_cancelled() {
        // The patterns were not fully resolved.
        refused.clear();
    }
    let (unknown, unset) = if request.options.mode.is_dry() {
        (unset, Vec::new())
    } else {
        (Vec::new(), unset)
    };
    report.unknown = unknown
        .into_iter()
        .chain(roots.open.into_iter().map(qualify_before_build))
        .collect();
    report.refused = refused;
    let has_warnings = !roots.warnings.is_empty();
    report.diagnostics.extend(roots.warnings);
    report.targets = roots.nodes.len();
    Ok(ResolvedTargets {
        nodes: roots.nodes,
        known,
        added,
        unset,
        has_warnings,
    })
}

/// Settles the targets and, if requested, reads their outputs. `marked`: the stale nodes, in a dry run that was not stopped.
fn settle_targets(
    run: &mut Run<'_>,
    request: &Request,
    (targets, marked): (&[NodeId], Option<FxHashSet<NodeId>>),
    engine: &Engine,
    observer: &dyn Observer,
    report: &mut Report,
) -> Result<(), EngineError> {
    let making = Instant::now();
    run.settle_tables(&request.patterns)?;
    run.settle_all(targets)?;
    if !run.is_stopped() {
        run.flush_paid()?;
    }
    observer.phase(&Phase::ended_now("make", making));
    if request.outputs {
        report.outputs = run.blobs(targets)?;
    }
    if let Some(marked) = marked {
        report.outlook = Some(report_outlook(run, &marked, engine, observer)?);
    }
    if request.list {
        report.roots = run.report(targets);
    }
    Ok(())
}

/// Acquires the checkout again if the run released it; `stored` was its state before.
fn reacquire_if_released(run: &mut Run<'_>, engine: &Engine, stored: &Option<Vec<u8>>, cancel: &Cancel) -> Result<Checkout, EngineError> {
    if !run.has_released_checkout() {
        return Ok(Checkout::AsLeft);
    }
    run.release_store()?;
    engine.reacquire_checkout(stored, cancel)
}

/// Lays out the settled targets. `is_watched`: whether a watcher sees changes in the output folder.
fn lay_out_targets(
    run: &mut Run<'_>,
    targets: &ResolvedTargets,
    exports: &dyn Exports,
    engine: &Engine,
    (state, is_watched): (&State, bool),
    observer: &dyn Observer,
) -> Result<LayoutResult, EngineError> {
    let laying_out = Instant::now();
    let known = targets.known.as_ref().filter(|known| known.generation == state.generation);
    let files = known.map(|known| KnownFiles {
        known,
        are_watched: is_watched && known.outputs_are_unchanged(&*engine.world, &state.set_defs()),
        compares_finished: engine.finish.shows_times(),
        added: &targets.added,
    });
    let laid = run.lay_out(&targets.nodes, exports, &*engine.finish, files)?;
    observer.phase(&Phase::ended_now("lay out", laying_out));
    Ok(laid)
}

/// Reports which producers a build would run, and which ones it may run.
fn report_outlook(
    run: &mut Run<'_>,
    marked: &FxHashSet<NodeId>,
    engine: &Engine,
    observer: &dyn Observer,
) -> Result<RunForecast, EngineError> {
    let forecast_graph = ForecastGraph::from_run(run, marked)?;
    let outlook = forecast_graph.outlook(run.graph(), &*engine.store, engine.view)?;
    let may_run = forecast_graph.may_run(run.graph());
    for (labels, certain) in [(&outlook.will_run, true), (&may_run, false)] {
        for label in labels {
            observer.event(&Event::WouldRun { label, certain });
        }
    }
    (run.tally.would_run, run.tally.may_run) = (outlook.will_run.len(), outlook.may_run);
    Ok(outlook)
}

/// Ends a run and copies its counts and failures to the report.
fn end_run(run: Run<'_>, targets: &mut ResolvedTargets, report: &mut Report) -> Result<Leftover, EngineError> {
    if report.cancelled {
        report.left = run.count_unfinished(&targets.nodes);
    }
    let leftover = run.finish_run()?;
    report.take_over(&leftover);
    if !report.cancelled {
        report.failures.append(&mut targets.unset);
    }
    Ok(leftover)
}

/// Whether a request is current after its build: all of its targets are settled without failures.
fn is_current(request: &Request, ended: &EndedRun, report: &Report) -> bool {
    let is_postponed = request.options.mode.prices() || report.tally.deferred + report.tally.awaited + report.tally.limited > 0;
    report.refused.is_empty() && report.failures.is_empty() && !report.cancelled && !is_postponed && !ended.targets.has_warnings
}

/// Qualifies an error: the pattern may match once its sets are built.
fn qualify_before_build(why: Diagnostic) -> Diagnostic {
    Diagnostic {
        message: format!("{}, as far as is known before a build", why.message),
        ..why
    }
}
