//! `cortex build`.

use super::CommandAnswer;
use super::build_records::events::EventLog;
use super::build_records::trace::Trace;
use super::default_threads;
use super::first_screen;
use super::sharing::{self, Used};
use crate::catalog::guarded_pattern::unguard_label;
use crate::code::Code;
use crate::desk::build::{Both, build, build_observed, code, default_request, patterns, report_findings};
use crate::desk::damage::describe_damage;
use crate::desk::model_limits::AskingArgs;
use crate::desk::output_file::a_file;
use crate::desk::output_file::replaceable;
use crate::desk::request_context::RequestContext;
use crate::failed::Failed;
use crate::render::summary;
use clap::Args;
use engine::build::request::{Report, Request};
use engine::build::session::Session;
use engine::build::state::CurrentRequest;
use engine::build::{BuildMode, Options, Root};
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use engine::values::digest::Digest;
use engine::values::event::{Observer, Phase};
use serde_json::Value;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use workbench::exported_states::States;
use workbench::health::Health;
use workbench::workspace::Workspace;

/// Build targets: those of the patterns, or the default set of the workspace.
#[derive(Debug, Args)]
pub struct BuildArgs {
    /// Labels, patterns such as //types/...:outline, or names of types; a leading - excludes [default: `default` of `[workspace]`, otherwise
    /// outlines and the index].
    #[arg(value_name = "PATTERN", value_parser = unguard_label)]
    pub patterns: Vec<String>,
    /// Worker threads.
    #[arg(short, long, value_name = "N", default_value_t = default_threads(), value_parser = clap::value_parser!(u16).range(1..=512))]
    pub jobs: u16,
    /// List targets that would run, with questions to models and their cost. Asks no model, but builds free inputs of prompts.
    #[arg(long)]
    pub dry_run: bool,
    /// Add to `index.json` the time at which its contents were built (`generatedAt`), until a later build writes the file without it.
    #[arg(long)]
    pub with_times: bool,
    /// Limits of costs.
    #[command(flatten)]
    pub asking: AskingArgs,
    /// Continue with other targets after a failure (the default for patterns).
    #[arg(long, overrides_with = "fail_fast")]
    pub keep_going: bool,
    /// Stop at the first failure (the default for a single label).
    #[arg(long, overrides_with = "keep_going")]
    pub fail_fast: bool,
    /// Bring the targets up to date, rebuild them and compare: the exit code is 8 if an output differs. Stores no result of the rebuild, and
    /// asks no model.
    #[arg(long, conflicts_with = "dry_run")]
    pub rebuild: bool,
    /// List every node that ran, was cached or failed, with the reason.
    #[arg(short, long)]
    pub verbose: bool,
    /// Write events to FILE, one JSON object per line: {"event": "ran", "label": …, "output": …, "took": microseconds, …}.
    #[arg(long, value_name = "FILE", value_parser = a_file)]
    pub events: Option<PathBuf>,
    /// Write a profile to FILE: a Chrome trace for ui.perfetto.dev, with a lane per worker and the critical path.
    #[arg(long, value_name = "FILE", value_parser = a_file)]
    pub profile: Option<PathBuf>,
}

/// Returns whether the flags ask for nothing but the outcome.
fn wants_only_outcome(context: &RequestContext, args: &BuildArgs) -> bool {
    !args.dry_run && !args.rebuild && !args.verbose && args.events.is_none() && args.profile.is_none() && !context.prints_json()
}

/// Runs `cortex build`. Reports to the person at the end; the answer has only a document, for programs. Fails when the workspace or the
/// store cannot be used, or a record cannot be written.
pub fn run_build(context: &RequestContext, args: &BuildArgs) -> Result<CommandAnswer, Failed> {
    let start = Instant::now();
    let is_default = args.patterns.is_empty();
    let mut request = Request {
        list: context.prints_json() || args.rebuild,
        ..request(args)?
    };
    check_record_files(args)?;
    // With models, a dry run builds what is free; the log shows which kind of run it was.
    let purpose = if args.dry_run { "build --dry-run" } else { "build" };
    let mut workspace = context.asking(purpose, &args.asking)?;
    if is_default {
        // The default patterns are in the manifest, which is not parsed if nothing changed; the workspace's digest covers it.
        request.digest = Digest::of(&[b"default\0", &workspace.digest.0[..]].concat());
    }
    if args.with_times {
        // With times, other files are laid out, so this counts as a different request.
        request.digest = Digest::of(&[b"with times\0", &request.digest.0[..]].concat());
        workspace.engine.finish = Arc::new(States { with_times: true });
    }
    let looking = Instant::now();
    let mut sources = workspace.engine.read_sources(&workspace.digest, || workspace.manifest())?;
    if wants_only_outcome(context, args)
        && let Some(known) = workspace.engine.find_current_request(&mut sources, &request.digest)?
    {
        context.say(&sources.refresh.diagnostics);
        conclude_current(context, &workspace, &known, start);
        return Ok(CommandAnswer::of_bytes(Vec::new()));
    }
    let (looked, loading) = (Phase::ended_now("look", looking), Instant::now());
    let definition = workspace.manifest_definition()?;
    if is_default {
        request.patterns = patterns(&definition.manifest.default)?;
    }
    if args.dry_run && workbench::paid::asks_any_model(&definition.manifest, &workspace.engine.registry) {
        // The prompts are known only after all their free inputs are built.
        request.options.mode = BuildMode::Price;
        request.list = true;
    }
    // The process ends with the command, so do not spend time on dropping a hundred thousand rules.
    std::mem::forget(definition.manifest.clone());
    let mut session = Session::open(workspace.sharing_engine()?, &definition, sources)?;
    context.say(workspace.warnings());
    let records = Records::from_flags(args, start, [looked, Phase::ended_now("load", loading)])?;
    let is_first = is_default && session.graph.is_empty();
    let mut report = build_with(context, &mut session, &request, records)?;
    // Failed targets do not hide the targets whose outputs differ.
    if args.rebuild && matches!(code(&report), Code::Ok | Code::TargetFailed) {
        report = rebuild(context, &mut session, request.clone(), report)?;
    }
    if !args.dry_run && !report.cancelled && context.overlay().is_none() {
        follow_names(context, &workspace, &mut session, &request)?;
    }
    context.say(&damage(&workspace));
    let currency = workbench::paid::currency(&session);
    context.release_locks();
    let patience = if report.cancelled { Duration::ZERO } else { sharing::PATIENCE };
    let used = sharing::finish_sharing(context, &workspace, Some(patience))?;
    context.say(&used.as_ref().map(Used::diagnostics).unwrap_or_default());
    let run = FinishedRun {
        request: &request,
        report: &report,
        used: used.as_ref(),
        is_first,
        is_dry: args.dry_run,
        start,
    };
    run.report(context, &mut session, currency.as_deref())?;
    let answer = answer_of_build(&build_document(&report, used.as_ref(), start));
    std::mem::take(&mut session.graph).leak();
    let code = code(&report);
    Ok(answer.with_outcome(Ok(used.map_or(code, |used| used.code(code)))))
}

/// Refuses paths of records that would overwrite another file.
fn check_record_files(args: &BuildArgs) -> Result<(), Failed> {
    if let Some(path) = &args.events {
        replaceable(path, |head| head.starts_with(b"{\"event\""))?;
    }
    if let Some(path) = &args.profile {
        replaceable(path, |head| head.starts_with(b"{\"displayTimeUnit\""))?;
    }
    Ok(())
}

/// Prints the report of a request that is current.
fn conclude_current(context: &RequestContext, workspace: &Workspace, known: &CurrentRequest, start: Instant) {
    context.say(&damage(workspace));
    context.built();
    let report = Report {
        earlier_warnings: known.warnings,
        ..Report::default()
    };
    conclude(context, &report, known.targets, false, start);
}

/// A finished run of `cortex build`.
struct FinishedRun<'a> {
    request: &'a Request,
    report: &'a Report,
    used: Option<&'a Used>,
    /// Whether the run was the first build of the workspace.
    is_first: bool,
    is_dry: bool,
    start: Instant,
}

impl FinishedRun<'_> {
    fn report(&self, context: &RequestContext, session: &mut Session, currency: Option<&str>) -> Result<(), Failed> {
        if context.prints_json() || !self.report.refused.is_empty() {
            return Ok(());
        }
        let style = context.style();
        if let Some(line) = Health::from_session(session)?.line() {
            let line = format!("{line}: answers across them may be incomplete; `cortex doctor` explains");
            context.print_text(&style.yellow(&line));
        }
        conclude(context, self.report, self.report.targets as u64, self.is_dry, self.start);
        if self.is_first && !self.is_dry && !self.report.cancelled {
            first_screen::after_first(context, session)?;
        }
        if let Some(line) = self.used.and_then(|used| used.format_transfers(self.report.brought, style)) {
            context.print_text(&line);
        }
        if self.request.options.mode.prices() {
            let is_made = |root: &&Root| root.output.is_some() && workbench::paid::is_paid(session, &root.label);
            let answered = self.report.roots.iter().filter(is_made).count();
            context.print_text(&summary::prices(&self.report.plans, answered, currency, style));
        }
        Ok(())
    }
}

/// Builds the document of a build for programs.
fn build_document(report: &Report, used: Option<&Used>, start: Instant) -> Value {
    let mut document = summary::summary_json(report, report.targets as u64, start.elapsed());
    if let Some(used) = used {
        document["remote"] = serde_json::json!(used.summary);
        document["brought"] = serde_json::json!(report.brought);
    }
    document
}

/// Creates the answer of a command that built something: a document in one line, no text.
fn answer_of_build(document: &Value) -> CommandAnswer {
    CommandAnswer {
        document: format!("{document}\n").into(),
        ..CommandAnswer::of_bytes(Vec::new())
    }
}

/// Follows renamed symbols: updates the aliases, and carries over words that people wrote.
pub(super) fn follow_names(
    context: &RequestContext,
    workspace: &Workspace,
    session: &mut Session,
    request: &Request,
) -> Result<(), Failed> {
    // The build itself succeeded, even if this file cannot be written; the next build tries again.
    let mut is_done = true;
    if let Err(error) = workbench::former_types::update(&workspace.root, session) {
        is_done = false;
        context.say(&[Diagnostic::warning(
            ErrorCode::W_ALIASES,
            format!("aliases.json is not up to date: {error}"),
        )]);
    }
    let carried = workbench::carried_corrections::carry(&workspace.root, session)?;
    if !carried.is_empty() {
        context.say(&carried);
        // Lays out the files that show the words.
        build(context, &mut workspace.session()?, request)?;
    }
    if is_done {
        // An error only makes the next build repeat this.
        let _ = session.finish_names();
    }
    Ok(())
}

fn damage(workspace: &Workspace) -> Vec<Diagnostic> {
    describe_damage(workspace.engine.store.damage())
}

/// Builds the unpaid targets again to compare their outputs. Failed targets were reported and are not tried again.
fn rebuild(context: &RequestContext, session: &mut Session, mut request: Request, built: Report) -> Result<Report, Failed> {
    let made = built.roots.iter().filter(|root| root.output.is_some());
    let labels: Vec<String> = made.map(|root| root.label.to_string()).collect();
    if labels.is_empty() {
        return Ok(built);
    }
    if !built.failures.is_empty() {
        request.patterns = patterns(&labels)?;
    }
    let mut again = rebuild_these(context, session, request, labels)?;
    again.targets = built.targets;
    again.tally.failed += built.tally.failed;
    again.failures.extend(built.failures);
    Ok(again)
}

/// Builds these targets again, except paid ones, to compare their outputs.
pub(super) fn rebuild_these(
    context: &RequestContext,
    session: &mut Session,
    request: Request,
    labels: Vec<String>,
) -> Result<Report, Failed> {
    let digest = Digest::of(&[&request.digest.0[..], b"rebuild", labels.join("\n").as_bytes()].concat());
    let rebuilt = labels
        .into_iter()
        .filter(|label| !workbench::paid::is_paid(session, label))
        .collect();
    let again = Request {
        options: Options {
            rebuilt,
            ..request.options
        },
        digest,
        ..request
    };
    build_with(context, session, &again, Records::default())
}

/// Prints the last lines of a build.
fn conclude(context: &RequestContext, report: &Report, targets: u64, dry_run: bool, start: Instant) {
    let style = context.style();
    if let Some(line) = summary::format_earlier_warnings(report, style) {
        context.print_text(&line);
    }
    let head = summary::format_summary(report, targets, dry_run, start.elapsed(), style);
    let outlook = report.outlook.as_ref().map(|outlook| summary::outlook(outlook, "-v", style));
    context.print_text(&format!("{head}{}", outlook.unwrap_or_default()));
}

pub(super) fn request(args: &BuildArgs) -> Result<Request, Failed> {
    let mut request = default_request(&args.patterns)?;
    let options = Options {
        jobs: usize::from(args.jobs),
        keep_going: !args.fail_fast && (args.keep_going || request.options.keep_going),
        mode: if args.dry_run { BuildMode::DryRun } else { BuildMode::Build },
        paid_jobs: args.asking.jobs(),
        ..Options::default()
    };
    request.options = options;
    Ok(request)
}

/// Reports to the person what a command built that does not print its output. Returns the answer for programs.
pub(super) fn conclude_build(context: &RequestContext, report: &Report, start: Instant) -> CommandAnswer {
    if !context.prints_json() && report.refused.is_empty() {
        conclude(context, report, report.targets as u64, false, start);
    }
    answer_of_build(&build_document(report, None, start))
}

/// Logs of a build besides its results.
#[derive(Default)]
struct Records {
    verbose: bool,
    events: Option<EventLog>,
    trace: Option<Trace>,
}

impl Records {
    /// Creates the files that the flags name. The profile begins with the phases before the build.
    fn from_flags(args: &BuildArgs, start: Instant, phases: [Phase; 2]) -> Result<Self, Failed> {
        let events = args.events.as_deref().map(EventLog::create).transpose()?;
        let trace = args.profile.as_deref().map(|path| Trace::create(path, start)).transpose()?;
        if let Some(trace) = &trace {
            phases.iter().for_each(|phase| trace.phase(phase));
        }
        Ok(Self {
            verbose: args.verbose,
            events,
            trace,
        })
    }
}

fn build_with(context: &RequestContext, session: &mut Session, request: &Request, records: Records) -> Result<Report, Failed> {
    let Records { verbose, events, trace } = records;
    let report = context.run_displayed(verbose, |shown, cancel| {
        let (logged, traced);
        let mut observer: &dyn Observer = shown;
        if let Some(log) = &events {
            logged = Both(log, observer);
            observer = &logged;
        }
        if let Some(trace) = &trace {
            traced = Both(trace, observer);
            observer = &traced;
        }
        build_observed(context, session, request, (observer, cancel))
    })?;
    events.map_or(Ok(()), EventLog::flush_rest)?;
    trace.map_or(Ok(()), |trace| trace.write_trace(session, &report.costs))?;
    if !context.prints_json() {
        report_findings(context, &report);
    }
    Ok(report)
}
