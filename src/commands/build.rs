//! `cortex build`.

use super::replaceable::replaceable;
use super::{names, next, show};
use crate::cli::BuildArgs;
use crate::context::{Context, Failed, Outcome};
use crate::exit::{self, Code};
use crate::methods::query::unknown_set;
use crate::render::Style;
use crate::render::events::{Both, EventLog};
use crate::render::progress::Progress;
use crate::render::summary;
use crate::render::trace::Trace;
use crate::sharing::{self, Used};
use engine::build::request::{Report, Request};
use engine::build::session::Session;
use engine::build::state::CurrentRequest;
use engine::build::{Options, Root};
use engine::seams::producer::Cancel;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use engine::values::digest::Digest;
use engine::values::event::{Observer, Phase};
use engine::values::pattern::PatternSet;
use os::terminals::QuietControl;
use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};
use workbench::finish::States;
use workbench::generating::Generating;
use workbench::health::Health;
use workbench::suggestions;
use workbench::workspace::Workspace;

/// Returns whether the flags ask for nothing but the outcome.
fn wants_only_outcome(context: &Context, args: &BuildArgs) -> bool {
    !args.dry_run && !args.rebuild && !args.verbose && args.events.is_none() && args.profile.is_none() && !context.prints_json()
}

/// Runs `cortex build`.
pub fn run_build(context: &Context, args: &BuildArgs) -> Outcome {
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
        return Ok(Code::Ok);
    }
    let (looked, loading) = (Phase::ended_now("look", looking), Instant::now());
    let definition = workspace.manifest_definition()?;
    if is_default {
        request.patterns = patterns(&definition.manifest.default)?;
    }
    if args.dry_run && workbench::paid::any(&definition.manifest, &workspace.engine.registry) {
        // The prompts are known only after all their free inputs are built.
        (request.options.dry_run, request.options.price) = (false, true);
        request.list = true;
    }
    // The process ends with the command, so do not spend time on dropping a hundred thousand rules.
    std::mem::forget(definition.manifest.clone());
    let mut session = Session::open(workspace.sharing_engine()?, &definition, sources)?;
    context.say(workspace.warnings());
    let records = Records {
        verbose: args.verbose,
        events: args.events.as_deref().map(EventLog::create).transpose()?,
        trace: args.profile.as_deref().map(|path| Trace::create(path, start)).transpose()?,
    };
    if let Some(trace) = &records.trace {
        trace.phase(&looked);
        trace.phase(&Phase::ended_now("load", loading));
    }
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
    context.let_go();
    let patience = if report.cancelled { Duration::ZERO } else { sharing::PATIENCE };
    let used = sharing::finish_sharing(&workspace, Some(patience))?;
    context.say(&used.as_ref().map(Used::diagnostics).unwrap_or_default());
    let run = FinishedRun {
        request: &request,
        report: &report,
        used: used.as_ref(),
        is_first,
        is_dry: args.dry_run,
        start,
    };
    run.print(context, &mut session, currency.as_deref())?;
    let code = code(&report);
    Ok(used.map_or(code, |used| used.code(code)))
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
fn conclude_current(context: &Context, workspace: &Workspace, known: &CurrentRequest, start: Instant) {
    context.say(&damage(workspace));
    context.built();
    let report = Report {
        standing: known.warnings,
        ..Report::default()
    };
    conclude(context, &report, known.targets, false, start);
}

/// A finished run of `cortex build`.
struct FinishedRun<'a> {
    request: &'a Request,
    report: &'a Report,
    used: Option<&'a Used>,
    /// Whether it was the first build of the workspace.
    is_first: bool,
    is_dry: bool,
    start: Instant,
}

impl FinishedRun<'_> {
    /// Prints the report.
    fn print(&self, context: &Context, session: &mut Session, currency: Option<&str>) -> Result<(), Failed> {
        let targets = self.report.targets as u64;
        if context.prints_json() {
            let mut document = summary::summary_json(self.report, targets, self.start.elapsed());
            if let Some(used) = self.used {
                document["remote"] = serde_json::json!(used.summary);
                document["brought"] = serde_json::json!(self.report.brought);
            }
            show::outcome_of_write(writeln!(context.stdout(), "{document}"))?;
        } else if self.report.refused.is_empty() {
            if let Some(line) = Health::read(session)?.line() {
                note_line!(
                    "{}",
                    context
                        .err
                        .yellow(&format!("{line}: answers across them may be incomplete; `cortex doctor` explains"))
                );
            }
            conclude(context, self.report, targets, self.is_dry, self.start);
            if self.is_first && !self.is_dry && !self.report.cancelled {
                next::after_first(context, session)?;
            }
            if let Some(line) = self.used.and_then(|used| used.format_transfers(self.report.brought, context.err)) {
                note_line!("{line}");
            }
            if self.request.options.price {
                let is_made = |root: &&Root| root.output.is_some() && workbench::paid::is_paid(session, &root.label);
                let standing = self.report.roots.iter().filter(is_made).count();
                note_line!("{}", summary::prices(&self.report.plans, standing, currency, context.err));
            }
        }
        Ok(())
    }
}

/// Follows renamed symbols: updates the aliases, and carries over words that people wrote.
pub(super) fn follow_names(context: &Context, workspace: &Workspace, session: &mut Session, request: &Request) -> Result<(), Failed> {
    // The build itself succeeded, even if this file cannot be written; the next build tries again.
    let mut is_done = true;
    if let Err(error) = workbench::aliases::update(&workspace.root, session) {
        is_done = false;
        context.say(&[Diagnostic::warning(
            ErrorCode::W_ALIASES,
            format!("aliases.json is not up to date: {error}"),
        )]);
    }
    let carried = workbench::carry::carry(&workspace.root, session)?;
    if !carried.is_empty() {
        context.say(&carried);
        // Lays out the files that show the words.
        build(context, &mut workspace.session()?, request)?;
    }
    if is_done {
        // An error only makes the next build repeat this.
        let _ = session.followed_names();
    }
    Ok(())
}

fn damage(workspace: &Workspace) -> Vec<Diagnostic> {
    damaged(workspace.engine.store.damage())
}

/// Reports the first damaged rows, and their number.
pub fn damaged(met: Vec<String>) -> Vec<Diagnostic> {
    let count = met.len();
    let mut diagnostics: Vec<Diagnostic> = met
        .into_iter()
        .take(MOST_DAMAGE)
        .map(|words| Diagnostic::warning(ErrorCode::W_STORE_DAMAGED, words))
        .collect();
    if count > MOST_DAMAGE {
        let more = format!("{} more rows of the store are damaged and read as absent", count - MOST_DAMAGE);
        let why = Diagnostic::warning(ErrorCode::W_STORE_DAMAGED, more);
        diagnostics.push(why.hint("`cortex store verify --repair` lists and drops them"));
    }
    diagnostics
}

/// Limit of damaged rows reported one by one.
const MOST_DAMAGE: usize = 5;

/// Builds the unpaid targets again to compare their outputs. Failed targets were reported and are not tried again.
fn rebuild(context: &Context, session: &mut Session, mut request: Request, built: Report) -> Result<Report, Failed> {
    let made = built.roots.iter().filter(|root| root.output.is_some());
    let labels: Vec<String> = made.map(|root| root.label.to_string()).collect();
    if labels.is_empty() {
        return Ok(built);
    }
    if !built.failures.is_empty() {
        request.patterns = self::patterns(&labels)?;
    }
    let mut again = rebuild_these(context, session, request, labels)?;
    again.targets = built.targets;
    again.tally.failed += built.tally.failed;
    again.failures.extend(built.failures);
    Ok(again)
}

/// Builds these targets again, except paid ones, to compare their outputs.
pub(super) fn rebuild_these(context: &Context, session: &mut Session, request: Request, labels: Vec<String>) -> Result<Report, Failed> {
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
fn conclude(context: &Context, report: &Report, targets: u64, dry_run: bool, start: Instant) {
    if let Some(line) = summary::standing(report, context.err) {
        note_line!("{line}");
    }
    let head = summary::format_summary(report, targets, dry_run, start.elapsed(), context.err);
    let outlook = report.outlook.as_ref().map(|outlook| summary::outlook(outlook, "-v", context.err));
    note_line!("{head}{}", outlook.unwrap_or_default());
}

pub(super) fn request(args: &BuildArgs) -> Result<Request, Failed> {
    let mut request = default_request(&args.patterns)?;
    let options = Options {
        jobs: usize::from(args.jobs),
        keep_going: !args.fail_fast && (args.keep_going || request.options.keep_going),
        dry_run: args.dry_run,
        paid_jobs: args.asking.jobs(),
        ..Options::default()
    };
    request.options = options;
    Ok(request)
}

/// Creates the request of patterns without flags. Keeps going after a failure unless the only pattern is a single label.
pub fn default_request(patterns: &[String]) -> Result<Request, Failed> {
    let digest = digest_of_patterns(patterns);
    let patterns = self::patterns(patterns)?;
    let single = patterns.patterns().len() == 1 && patterns.patterns()[0].literal().is_some();
    Ok(Request {
        digest,
        patterns,
        options: Options {
            jobs: default_jobs(),
            keep_going: !single,
            ..Options::default()
        },
        list: false,
        outputs: false,
    })
}

/// Prints the last lines of a command that built something and does not print its output.
pub fn print_last_lines(context: &Context, report: &Report, start: Instant) -> Result<(), Failed> {
    let targets = report.targets as u64;
    if context.prints_json() {
        show::outcome_of_write(writeln!(
            context.stdout(),
            "{}",
            summary::summary_json(report, targets, start.elapsed())
        ))?;
    } else if report.refused.is_empty() {
        conclude(context, report, targets, false, start);
    }
    Ok(())
}

/// Returns the default number of threads.
pub fn default_jobs() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Parses patterns, after expanding names to labels. Reports all wrong ones.
pub fn patterns(texts: &[String]) -> Result<PatternSet, Failed> {
    let texts: Vec<String> = texts.iter().map(|text| names::expanded(text).into_owned()).collect();
    PatternSet::parse(&texts).map_err(|errors| {
        let diagnostics = errors
            .into_iter()
            .map(|(index, error)| {
                let excerpt = engine::values::diagnostic::Excerpt {
                    text: texts[index].clone(),
                    start: chars_before(&texts[index], error.at),
                    len: 1,
                };
                let diagnostic = Diagnostic::error(ErrorCode::E_LABEL, error.message);
                let diagnostic = Diagnostic {
                    excerpt: Some(excerpt),
                    ..diagnostic
                };
                match error.hint {
                    Some(hint) => diagnostic.hint(hint),
                    None => diagnostic,
                }
            })
            .collect();
        Failed {
            code: Code::Usage,
            diagnostics,
        }
    })
}

fn chars_before(text: &str, at: usize) -> u32 {
    let at = text.floor_char_boundary(at.min(text.len()));
    u32::try_from(text[..at].chars().count()).unwrap_or(u32::MAX)
}

fn digest_of_patterns(patterns: &[String]) -> Digest {
    Digest::of(patterns.join("\0").as_bytes())
}

/// Builds with progress on a terminal; Ctrl-C and SIGTERM stop it cleanly. Prints failures and remarks of producers to standard error, also with
/// `--output json`: callers print an output, which has no room for them.
pub fn build(context: &Context, session: &mut Session, request: &Request) -> Result<Report, Failed> {
    let report = build_with(context, session, request, Records::default())?;
    if context.prints_json() && context.caller().is_none() {
        say(context, &report);
    }
    Ok(report)
}

fn say(context: &Context, report: &Report) {
    context.say(&report.diagnostics);
    context.say(&report.failures);
    context.say(&report.refused);
    context.say(&report.unknown.iter().map(unknown_set).collect::<Vec<_>>());
}

/// Builds all unpaid inputs of these targets. The report lists the model calls that would follow.
pub fn build_free(context: &Context, session: &mut Session, labels: &[String]) -> Result<Report, Failed> {
    let request = Request {
        patterns: patterns(labels)?,
        digest: Digest::of(format!("free\0{}", labels.join("\0")).as_bytes()),
        options: Options {
            jobs: default_jobs(),
            price: true,
            keep_going: true,
            own: true,
            ..Options::default()
        },
        list: true,
        outputs: false,
    };
    build(context, session, &request)
}

/// Returns the price of asking models for these targets, in sentences. Builds the unpaid inputs.
pub fn price(context: &Context, session: &mut Session, labels: &[String]) -> Result<String, Failed> {
    let report = build_free(context, session, labels)?;
    let currency = workbench::paid::currency(session);
    let text = summary::prices(&report.plans, 0, currency.as_deref(), Style::plain());
    Ok(summary::as_sentences(&text))
}

/// Logs of a build besides its results.
#[derive(Default)]
struct Records {
    verbose: bool,
    events: Option<EventLog>,
    trace: Option<Trace>,
}

fn build_with(context: &Context, session: &mut Session, request: &Request, records: Records) -> Result<Report, Failed> {
    // Other processes see in the checkout which targets wait for a model.
    let generating = context
        .root_around()
        .filter(|_| !context.leaves_checkout())
        .map(|root| Generating::new(&root));
    if let Some((cancel, observer)) = context.caller() {
        let noted = generating.as_ref().map(|noted| Both(noted, observer));
        let report = session.build(request, noted.as_ref().map_or(observer, |both| both), cancel);
        context.built();
        let mut report = report?;
        suggestions::order(session, &mut report.refused)?;
        delete_remains(context, session);
        say(context, &report);
        return Ok(report);
    }
    let Records { verbose, events, trace } = records;
    let cancel = Cancel::default();
    let bar = std::io::stderr().is_terminal() && !context.prints_json();
    let quiet = QuietControl::turn_echo_off(bar);
    let (stop, restore) = (cancel.clone(), quiet.clone());
    exit::on_signal(move || stop.cancel(), move || restore.restore());
    let progress = Progress::new(context.err, verbose && !context.prints_json(), bar);
    let (noted, logged, traced);
    let mut observer: &dyn Observer = &progress;
    if let Some(generating) = &generating {
        noted = Both(generating, observer);
        observer = &noted;
    }
    if let Some(log) = &events {
        logged = Both(log, observer);
        observer = &logged;
    }
    if let Some(trace) = &trace {
        traced = Both(trace, observer);
        observer = &traced;
    }
    let report = session.build(request, observer, &cancel);
    progress.remove_bar();
    quiet.restore();
    context.built();
    let mut report = report?;
    suggestions::order(session, &mut report.refused)?;
    if !report.cancelled {
        delete_remains(context, session);
    }
    events.map_or(Ok(()), EventLog::flush_rest)?;
    trace.map_or(Ok(()), |trace| trace.write_trace(session, &report.costs))?;
    if !context.prints_json() {
        say(context, &report);
    }
    Ok(report)
}

/// Once the checkout is up to date, deletes the remains of merged overlays and closed sessions.
fn delete_remains(context: &Context, session: &Session) {
    if let (false, Some(root)) = (context.leaves_checkout(), context.root_around()) {
        // On an error they stay longer, which is harmless.
        let _ = workbench::overlay::build::release_merged_results(&root, || session.marked().is_empty());
    }
}

/// Returns the exit code of a report.
pub fn code(report: &Report) -> Code {
    if report.cancelled {
        Code::stopped()
    } else if !report.refused.is_empty() {
        Code::Usage
    } else if report.no_space {
        Code::Io
    } else if report.failures.is_empty() {
        Code::Ok
    } else {
        exit_code_of(&report.failures)
    }
}

/// Returns the exit code of failures: the first code of this list that any failure has, else a general one.
fn exit_code_of(failures: &[Diagnostic]) -> Code {
    let own = [
        (ErrorCode::E_LIMIT, Code::Limit),
        (ErrorCode::E_NOT_REPRODUCIBLE, Code::NotReproducible),
        (ErrorCode::E_SANDBOX, Code::NoSandbox),
        (ErrorCode::E_TMPDIR, Code::Io),
    ];
    let found = own.into_iter().find(|(code, _)| failures.iter().any(|why| why.code == *code));
    match found {
        Some((_, code)) => code,
        // The mistake is in the manifest, or in the file of packs beside it.
        None if failures.iter().all(|why| why.code == ErrorCode::InvalidFilter) => Code::Usage,
        None => Code::TargetFailed,
    }
}
