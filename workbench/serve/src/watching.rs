//! `cortex watch`: reports changes, spares other commands the scan of the sources, and builds after each batch if requested.

use crate::build_ahead::{IDLE, build_ahead, no_paid_calls, request};
use crate::watch_lines as lines;
use clap::Args;
use engine::build::BuildMode;
use engine::build::session::Session;
use engine::seams::producer::Cancel;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use engine::values::digest::Digest;
use engine::values::event::Silent;
use engine::values::pattern::PatternSet;
use engine::watch::{Batch, Socket, Watch, WatchError, WatchProblem, Watcher};
use methods::catalog::guarded_pattern::unguard_label;
use methods::code::Code;
use methods::desk::automatic_gc;
use methods::desk::build::patterns;
use methods::desk::request_context::RequestContext;
use methods::failed::{Failed, Outcome, outcome_of_write};
use methods::render::summary;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;
use workbench::location::MANIFEST;
use workbench::watch::{ChangedFile, FileChangeKind, Members, ReportedChanges};
use workbench::workspace::Workspace;

/// Report changes of the sources as they happen, and build after each batch.
///
/// Asks no model. While it runs, other commands of this checkout get changes from it instead of checking every file. With --output json: JSON lines
/// {"event": "watching" | "moved" | "built" | "ahead", …}. Ctrl-C ends it.
#[derive(Debug, Args)]
pub struct WatchArgs {
    /// Targets to build at the beginning and after each batch.
    #[arg(value_name = "PATTERN", value_parser = unguard_label)]
    pub patterns: Vec<String>,
    /// While nothing changes, build recently requested targets and the outlines of the window's types, if they are free; yields to
    /// any other command that builds.
    #[arg(long)]
    pub ahead: bool,
}

/// Writes text to the reader of the watch.
pub type Print<'p> = &'p mut dyn FnMut(&str) -> std::io::Result<()>;

/// Cancellations of the current build.
#[derive(Default)]
struct Running {
    /// Building ahead, which another process need not wait for.
    ahead: Mutex<Cancel>,
    /// All other builds.
    all: Mutex<Cancel>,
    stopped: AtomicBool,
}

impl Running {
    fn start_build(&self, ahead: bool) -> Cancel {
        let cancel = Cancel::default();
        let place = if ahead { &self.ahead } else { &self.all };
        *place.lock().unwrap_or_else(PoisonError::into_inner) = cancel.clone();
        if self.stopped.load(Ordering::SeqCst) {
            cancel.cancel();
        }
        cancel
    }

    fn interrupt(&self) {
        self.ahead.lock().unwrap_or_else(PoisonError::into_inner).cancel();
    }

    fn stop_running(&self) {
        self.stopped.store(true, Ordering::SeqCst);
        self.interrupt();
        self.all.lock().unwrap_or_else(PoisonError::into_inner).cancel();
    }
}

/// A watch of one checkout.
struct Watching<'a> {
    context: &'a RequestContext,
    args: &'a WatchArgs,
    print: Print<'a>,
    patterns: Option<PatternSet>,
    reported: ReportedChanges,
    running: Arc<Running>,
    /// Problem of the watch, as last reported.
    problem: Option<WatchProblem>,
    /// Changes of the last batch that were built before they were reported, and may belong to a checkout.
    built_unreported: Vec<ChangedFile>,
    /// Digest of the manifest's text as last seen.
    manifest: Option<Digest>,
    /// Error of the last write; a watch whose output is not read ends.
    unread: Option<std::io::Error>,
}

/// Watches until the person stops it, or the workspace is gone. `on_stop` gets what stops the watch. Fails when the workspace cannot be
/// watched, or its text cannot be written.
pub fn run_watch(context: &RequestContext, args: &WatchArgs, print: Print<'_>, on_stop: impl FnOnce(Box<dyn Fn() + Send>)) -> Outcome {
    let patterns = (!args.patterns.is_empty()).then(|| patterns(&args.patterns)).transpose()?;
    let workspace = context.workspace("watch")?;
    let sources = workspace.engine.read_sources(&workspace.digest, || workspace.manifest())?;
    let socket = workspace
        .store_folder
        .as_deref()
        .map(|store| workbench::location::watch_socket(store, workspace.engine.view));
    let socket = socket
        .map(|path| Socket::bind_exclusively(&path))
        .transpose()
        .map_err(WatchError::from)?;
    let watcher = Watcher::new(&workspace.root, &sources.state.set_defs()).map_err(WatchError::from)?;
    let directories = watcher.directories();
    let running = Arc::new(Running::default());
    let interrupt = running.clone();
    let watch = Watch::start(watcher, socket, Box::new(move || interrupt.interrupt())).map_err(|error| {
        let why = Diagnostic::error(ErrorCode::E_WATCH, format!("the watch cannot start: {error}"));
        Failed::new(Code::Io, why)
    })?;
    let (end, stop) = (watch.stopper(), running.clone());
    on_stop(Box::new(move || {
        stop.stop_running();
        end();
    }));
    let mut watching = Watching {
        context,
        args,
        print,
        patterns,
        reported: ReportedChanges::default(),
        running,
        problem: None,
        built_unreported: Vec::new(),
        manifest: Some(workspace.text_digest()),
        unread: None,
    };
    // Earlier changes count as reported; the first batch has only later ones.
    let session = Session::open(workspace.engine.clone(), &workspace.manifest_definition()?, sources)?;
    watching.reported.news(&session);
    drop((session, workspace));
    context.release_locks_to_reopen();
    watching.print(&lines::start_line(context, directories));
    if watching.patterns.is_some() {
        watching.batch(
            &watch,
            Batch {
                whole: true,
                ..Batch::default()
            },
        );
    }
    watching.wait_for_batch(&watch)
}

impl Watching<'_> {
    /// Prints a text, and notes an error.
    fn print(&mut self, text: &str) {
        if let Err(error) = (self.print)(text) {
            self.unread = Some(error);
        }
    }

    fn wait_for_batch(&mut self, watch: &Watch) -> Outcome {
        let mut idle = true;
        loop {
            if let Some(error) = self.unread.take() {
                return outcome_of_write(Err(error));
            }
            let batch = if self.args.ahead && idle {
                watch.batches().recv_timeout(IDLE).map_err(|error| error.is_timeout())
            } else {
                watch.batches().recv().map_err(|_| false)
            };
            match batch {
                Ok(batch) => {
                    idle = true;
                    let gone = batch.problem == Some(WatchProblem::Gone);
                    self.batch(watch, batch);
                    if gone {
                        let why = Diagnostic::error(ErrorCode::E_WATCH, "the workspace was moved or removed");
                        return Err(Failed::new(Code::Io, why.hint("watch it at its new place")));
                    }
                }
                Err(true) => {
                    idle = false;
                    self.run_and_report(Self::build_ahead);
                }
                Err(false) => return Ok(Code::Interrupted),
            }
        }
    }

    /// Runs `run` and reports its failure; the next batch may succeed. Then runs automatic gc and releases the locks.
    fn run_and_report<T>(&mut self, run: impl FnOnce(&mut Self) -> Result<T, Failed>) {
        if let Err(failed) = run(self) {
            self.context.say(&failed.diagnostics);
        }
        automatic_gc::keep_within(self.context, &self.context.acquired_locks());
        self.context.release_locks_to_reopen();
    }

    fn batch(&mut self, watch: &Watch, batch: Batch) {
        if batch.problem != self.problem {
            lines::trouble(self.context, batch.problem.as_ref());
            self.problem.clone_from(&batch.problem);
        }
        if batch.problem != Some(WatchProblem::Gone) {
            self.run_and_report(|watching| watching.report_batch(watch, &batch));
        }
    }

    fn report_batch(&mut self, watch: &Watch, batch: &Batch) -> Result<(), Failed> {
        let (workspace, builds) = self.context.watching("watch", &no_paid_calls())?;
        let sources = workspace.engine.read_sources(&workspace.digest, || workspace.manifest())?;
        watch.cover(sources.state.set_defs());
        let mut session = Session::open(workspace.engine.clone(), &workspace.manifest_definition()?, sources)?;
        let mut from_checkout = self.reported.sources_from_checkout(&session, &batch.paths);
        let before = std::mem::take(&mut self.built_unreported);
        if batch.head {
            from_checkout.extend(before);
        } else {
            // Git moves HEAD only after all files are in place, so the move may be in the next batch.
            self.built_unreported = std::mem::take(&mut from_checkout);
        }
        let mut news = self.reported.news(&session);
        // Compare the manifest's text: the effects of the change may have been built, and reported as another file's, in the previous batch.
        if self.manifest.replace(workspace.text_digest()) != Some(workspace.text_digest()) {
            news.push(ChangedFile {
                path: MANIFEST.to_owned(),
                change: FileChangeKind::Edited,
            });
        }
        let first = self.patterns.is_some() && batch.whole;
        if news.is_empty() && from_checkout.is_empty() && !first && !session.is_redefined() {
            return Ok(());
        }
        let stale = workbench::watch::stale_targets(&session);
        let edits = if builds {
            self.edits(&mut session, &news)?
        } else {
            lines::Edits::default()
        };
        news.extend(from_checkout);
        self.print(&lines::describe_batch(self.context, &news, &edits, stale, batch.head));
        if let Some(patterns) = self.patterns.clone() {
            if builds {
                self.build(&mut session, &workspace, patterns)?;
            } else {
                lines::busy(self.context);
            }
        }
        Ok(())
    }

    /// Returns the effects of edits. Builds only the unpaid targets of the types in these files, and of the summaries that they may reach.
    fn edits(&mut self, session: &mut Session, news: &[ChangedFile]) -> Result<lines::Edits, Failed> {
        let mut members = Members::from_session(session, news)?;
        while let Some(patterns) = members.patterns() {
            let cancel = self.running.start_build(false);
            let mut request = request(patterns);
            request.options.own = true;
            let report = session.build(&request, &Silent, &cancel)?;
            if !report.cancelled {
                self.reported.built(session);
            }
            // Removed types are known only after their targets were requested.
            if !members.drop_removed_types(&report.refused) {
                break;
            }
        }
        let (touched, types) = (members.touched(session)?, members.edited(session));
        let mut summaries = workbench::watch::reached(session)?;
        // A paid target is certainly stale or current only after its unpaid inputs are built.
        if summaries.maybe_stale > 0
            && let Some(patterns) = workbench::watch::settling_patterns(session)
        {
            let cancel = self.running.start_build(false);
            let mut request = request(patterns);
            (request.options.own, request.options.keep_going) = (true, true);
            request.options.mode = BuildMode::Price;
            if !session.build(&request, &Silent, &cancel)?.cancelled {
                self.reported.built(session);
            }
            summaries = workbench::watch::reached(session)?;
        }
        Ok(lines::Edits {
            members: touched,
            types,
            summaries,
        })
    }

    fn build(&mut self, session: &mut Session, workspace: &Workspace, patterns: PatternSet) -> Result<(), Failed> {
        let start = Instant::now();
        let cancel = self.running.start_build(false);
        let mut report = session.build(&request(patterns), &Silent, &cancel)?;
        if !report.cancelled {
            self.reported.built(session);
        }
        self.context.built();
        // Paid targets were not requested, so their absence is not a failure.
        report.failures.retain(|why| why.code != ErrorCode::E_LIMIT);
        if let Err(error) = workbench::former_types::update(&workspace.root, session) {
            let why = Diagnostic::warning(ErrorCode::W_ALIASES, format!("aliases.json is not up to date: {error}"));
            self.context.say(&[why]);
        }
        self.context.say(&report.diagnostics);
        self.context.say(&report.failures);
        self.context.say(&report.refused);
        let targets = report.targets as u64;
        let built = match self.context.prints_json() {
            true => lines::json_line(&summary::summary_json(&report, targets, start.elapsed()), "built"),
            false => summary::format_summary(&report, targets, false, start.elapsed(), self.context.answer_style()) + "\n",
        };
        self.print(&built);
        Ok(())
    }

    /// Builds ahead until another process wants the checkout.
    fn build_ahead(&mut self) -> Result<(), Failed> {
        // Register before the checkout is acquired, so that a later request of another process cancels this.
        let cancel = self.running.start_build(true);
        let reported = &mut self.reported;
        let ahead = build_ahead(self.context, &cancel, |session| reported.built(session))?;
        if let Some(ahead) = ahead.filter(|ahead| ahead.ran > 0) {
            self.print(&lines::ahead_line(self.context, &ahead));
        }
        Ok(())
    }
}
