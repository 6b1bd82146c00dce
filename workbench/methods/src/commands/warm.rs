//! `cortex warm`: builds targets, and fills the remote cache with them and all their inputs.

use super::build::{BuildArgs, conclude_build, follow_names, rebuild_these, request};
use super::default_threads;
use super::sharing::{self, Used};
use super::{CommandAnswer, remote_stats};
use crate::catalog::guarded_pattern::unguard_label;
use crate::code::Code;
use crate::desk::build;
use crate::desk::model_limits::AskingArgs;
use crate::desk::request_context::RequestContext;
use crate::failed::{Failed, Outcome};
use crate::render::{format_count, plural, summary};
use clap::Args;
use engine::build::contention::PaidOffers;
use engine::build::request::{Report, Request};
use engine::build::session::Session;
use engine::build::sharing::{all_keys, collect_results, sample};
use engine::graph::NodeId;
use engine::manifest::remote::Write as Writers;
use engine::seams::remote::{BundleOffer, RemoteCache};
use engine::store::records::Class;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use engine::values::digest::Digest;
use std::sync::Arc;
use std::time::{Duration, Instant};
use workbench::workspace::Workspace;

/// Build targets and store them in the remote cache, for other machines.
///
/// It stores the targets with all their inputs, waits until they are sent, and does not send again what an earlier bundle contains. A fresh
/// checkout of the same files then builds them without running anything. A branch that edits some files runs only the affected targets. Exit codes:
/// as `build`; 7 the remote cache did not store everything; 8 a verified sample differed, and no bundle was stored.
#[derive(Debug, Args)]
pub struct WarmArgs {
    /// Targets: labels or patterns such as //types/...:outline; a leading - excludes.
    #[arg(required_unless_present = "paid", value_name = "PATTERN", value_parser = unguard_label)]
    pub patterns: Vec<String>,
    /// Offer all paid results of the store, from any tree; without a pattern, build nothing.
    #[arg(long)]
    pub paid: bool,
    /// Continue the bundle of the commit at which this branch left the main line, and no other: for jobs of pull requests.
    #[arg(long)]
    pub from_merge_base: bool,
    /// Worker threads.
    #[arg(short, long, value_name = "N", default_value_t = default_threads(), value_parser = clap::value_parser!(u16).range(1..=512))]
    pub jobs: u16,
    /// Before storing results, rebuild N % of them on this machine and compare, those of other machines first. Asks no model.
    #[arg(long, value_name = "N%", value_parser = percent)]
    pub verify_sample: Option<f64>,
    /// Limits of costs.
    #[command(flatten)]
    pub asking: AskingArgs,
}

/// Parses `5%` or `5`.
fn percent(text: &str) -> Result<f64, &'static str> {
    let number = text.strip_suffix('%').unwrap_or(text).trim().parse::<f64>().ok();
    let fits = number.filter(|number| (0.0..=100.0).contains(number));
    fits.ok_or("not a percentage from 0 to 100; write 5% or 0.5%")
}

/// Hint for a store whose results come unsigned from other machines.
const MAKE_HERE: &str = "warm with a fresh store (CORTEX_STORE) to build them here";

/// Runs `cortex warm`. Fails when the cache cannot be used or does not store everything.
pub fn run_warm(context: &RequestContext, args: &WarmArgs) -> Result<CommandAnswer, Failed> {
    let start = Instant::now();
    let request = Request {
        list: true,
        ..request(&as_build(args))?
    };
    let workspace = context.asking("warm", &args.asking)?;
    let cache = writable_cache(context, &workspace)?;
    // Connect before the build, to find a cache that stores nothing or an unreadable signing key early.
    let insists = cache.requires_signatures();
    if !cache.writes() {
        if let Some(used) = sharing::finish_sharing(context, &workspace, Some(Duration::ZERO))? {
            context.say(&used.diagnostics());
        }
        return Err(incomplete_upload("the bundle cannot be stored, so nothing was built"));
    }
    let mut session = workspace.session()?;
    context.say_of_manifest(&workspace);
    let near = match args.from_merge_base {
        true => vec![session.merge_base().ok_or_else(no_merge_base)?],
        false => session.near(),
    };
    let paid = match args.paid {
        true => Some(offer_paid(&workspace, &session)?),
        false => None,
    };
    if args.patterns.is_empty() {
        return only_paid(context, &workspace, paid.unwrap_or_default());
    }
    let report = build::build(context, &mut session, &request)?;
    if !report.cancelled {
        follow_names(context, &workspace, &mut session, &request)?;
    }
    let mut report = report;
    let mut looked_at = None;
    if let (Some(percent), Code::Ok) = (args.verify_sample, build::code(&report)) {
        let again = build_sample(context, &mut session, &request, &report, percent)?;
        looked_at = Some(again.tally.rebuilt);
        report.tally.rebuilt = again.tally.rebuilt;
        report.failures.extend(again.failures);
    }
    let mut bundle = Bundle::default();
    if build::code(&report) != Code::NotReproducible && report.refused.is_empty() && !report.cancelled {
        bundle = store_bundle(context, &mut session, &request, (&*cache, insists), &near, &mut report)?;
    }
    let Some(used) = sharing::finish_sharing(context, &workspace, report.cancelled.then_some(Duration::ZERO))? else {
        return Err(remote_stats::no_remote_cache());
    };
    context.say(&used.diagnostics());
    let outcome = outcome(build::code(&report), &bundle, used.summary.broken.len());
    Ok(report_upload(context, &report, &bundle, (paid, looked_at), &used, start).with_outcome(outcome))
}

/// Returns the cache, or why this machine cannot write to it.
fn writable_cache(context: &RequestContext, workspace: &Workspace) -> Result<Arc<dyn RemoteCache>, Failed> {
    match workspace.remote()?.filter(|cache| cache.writes()) {
        Some(cache) => Ok(cache),
        None if context.is_offline() => Err(remote_stats::offline()),
        None if workspace.remote_waits()? => Err(sharing::untrusted_cache()),
        None if workspace.manifest()?.remote.is_none() => Err(remote_stats::no_remote_cache()),
        None => Err(not_offered(workspace.manifest()?.remote.as_ref().map(|def| def.write))),
    }
}

/// The bundle of a run.
#[derive(Default)]
struct Bundle {
    /// Number of its results, and whether the cache stored all of them; `None` if the bundle was not offered.
    stored: Option<(usize, bool)>,
    /// Whether all results are unsigned and come from other machines.
    vouches_for_nothing: bool,
}

/// Stores the bundle of the built targets. Builds again if results of another machine's graph are lost.
fn store_bundle(
    context: &RequestContext,
    session: &mut Session,
    request: &Request,
    (cache, insists): (&dyn RemoteCache, bool),
    near: &[Digest],
    report: &mut Report,
) -> Result<Bundle, Failed> {
    let store = session.engine.store.clone();
    let roots_of = |report: &Report| report.roots.iter().map(|root| root.id).collect::<Vec<NodeId>>();
    let names: Vec<Digest> = std::iter::once(session.tree()).chain(session.own_pointers()).collect();
    let bundled = cache.kept_results(&names, near, &all_keys(&session.graph));
    let mut found = collect_results(&session.graph, &roots_of(report), &*store, &bundled, insists)?;
    if !found.lost.is_empty() {
        // The graph of another machine may refer to results that the cache no longer has. Build them, so that the bundle includes them.
        found.lost.iter().for_each(|id| session.graph.forget_result(*id));
        *report = build::build(context, session, request)?;
        found = collect_results(&session.graph, &roots_of(report), &*store, &bundled, insists)?;
    }
    if found.unsigned > 0 {
        context.say(&[unsigned_warning(found.unsigned)]);
    }
    let vouched = found.results.len() + found.kept;
    // Do not replace a bundle that others can use with an empty one.
    let vouches_for_nothing = vouched == 0 && found.unsigned > 0;
    if report.cancelled || vouches_for_nothing {
        return Ok(Bundle {
            stored: None,
            vouches_for_nothing,
        });
    }
    let is_whole = cache.offer_bundle(&BundleOffer {
        names: &names,
        near,
        results: &found.results,
        graph: &session.graph_to_share()?,
        load: &|digest| store.blob(digest).ok().flatten(),
    });
    Ok(Bundle {
        stored: Some((vouched, is_whole)),
        vouches_for_nothing,
    })
}

/// Reports what was built and stored to the person. Returns the answer for programs.
fn report_upload(
    context: &RequestContext,
    report: &Report,
    bundle: &Bundle,
    (paid, verified): (Option<PaidOffers>, Option<usize>),
    used: &Used,
    start: Instant,
) -> CommandAnswer {
    let answer = conclude_build(context, report, start);
    if context.prints_json() {
        let mut document = summary::summary_json(report, report.targets as u64, start.elapsed());
        document["remote"] = serde_json::json!(used.summary);
        document["bundle"] = serde_json::json!(
            bundle
                .stored
                .map(|(results, whole)| serde_json::json!({"results": results, "stored": whole}))
        );
        document["paid"] = serde_json::json!(paid);
        document["verified"] = serde_json::json!(verified);
        document["hit_rate"] = serde_json::json!(remote_stats::hit_rate(report.tally.cached as u64, report.tally.ran as u64));
        CommandAnswer::of_line("", &document)
    } else {
        paid.iter().for_each(|paid| tell_paid(context, paid));
        if let Some((results, true)) = bundle.stored {
            context.print_status(&format!(
                "  bundle   of {} results, stored in the cache",
                format_count(results as u64)
            ));
        }
        if let Some(line) = used.format_transfers(report.brought, context.style()) {
            context.print_text(&line);
        }
        answer
    }
}

/// Returns the exit code; `broken`: number of damaged entries of the cache.
fn outcome(code: Code, bundle: &Bundle, broken: usize) -> Outcome {
    let whole = matches!(bundle.stored, Some((_, true)));
    match code {
        Code::Ok if !whole && broken > 0 => Err(remote_stats::damaged_entries_error(broken)),
        Code::Ok if bundle.vouches_for_nothing => {
            let nothing = Diagnostic::error(
                ErrorCode::E_REMOTE,
                "no bundle was stored: no result here is from this machine or signed",
            );
            Err(Failed::new(Code::RemoteUnavailable, nothing.hint(MAKE_HERE)))
        }
        Code::Ok if !whole => Err(incomplete_upload(
            "the remote cache did not store everything that was offered, or cannot be read back",
        )),
        code => Ok(code),
    }
}

/// Returns the warning about results that this job does not vouch for.
fn unsigned_warning(count: usize) -> Diagnostic {
    let left_out = format!(
        "{} omitted from the bundle: they come from other machines, and no trusted key signed them",
        plural(count as u64, "result")
    );
    Diagnostic::warning(ErrorCode::W_REMOTE_LIES, left_out).hint(MAKE_HERE)
}

/// Builds the failure of a cache that did not store everything. Its own errors are already reported.
fn incomplete_upload(why: &str) -> Failed {
    let error = Diagnostic::error(ErrorCode::E_REMOTE, why);
    Failed::new(
        Code::RemoteUnavailable,
        error.hint("`cortex remote ping` tries it; then run this again"),
    )
}

/// Offers all paid results of the store to the cache, of any tree.
fn offer_paid(workspace: &Workspace, session: &Session) -> Result<PaidOffers, Failed> {
    let mut results = Vec::new();
    if let Some(disk) = &workspace.disk {
        disk.each_action(|key, record| {
            if record.class == Class::Paid {
                results.push((*key, record.clone()));
            }
        })?;
    }
    let sharing = session.engine.sharing.as_ref();
    let offers = sharing.map(|sharing| sharing.offer_paid(&results, &*workspace.engine.store));
    Ok(offers.transpose()?.unwrap_or_default())
}

/// Reports a run with only paid results, which builds nothing.
fn only_paid(context: &RequestContext, workspace: &Workspace, paid: PaidOffers) -> Result<CommandAnswer, Failed> {
    let Some(used) = sharing::finish_sharing(context, workspace, None)? else {
        return Err(remote_stats::no_remote_cache());
    };
    context.say(&used.diagnostics());
    tell_paid(context, &paid);
    let document = serde_json::json!({ "paid": paid, "remote": used.summary });
    let answer = CommandAnswer {
        document: format!("{document}\n").into(),
        ..CommandAnswer::of_bytes(Vec::new())
    };
    Ok(answer.with_outcome(
        match used.summary.not_stored == 0 && used.summary.trouble.is_none() && used.summary.writes_off.is_none() {
            true => Ok(Code::Ok),
            false => Err(incomplete_upload("the remote cache did not store everything that was offered")),
        },
    ))
}

fn tell_paid(context: &RequestContext, paid: &PaidOffers) {
    let left_out = match paid.left_out {
        0 => String::new(),
        left_out => format!(
            ", {} omitted (not in the store, or corrected by hand)",
            format_count(left_out as u64)
        ),
    };
    context.print_status(&format!(
        "  paid     {} offered, {} already there{left_out}",
        format_count(paid.offered as u64),
        format_count(paid.known as u64)
    ));
}

/// Builds a sample of the targets again, and compares their outputs.
fn build_sample(
    context: &RequestContext,
    session: &mut Session,
    request: &Request,
    report: &Report,
    percent: f64,
) -> Result<Report, Failed> {
    let roots: Vec<NodeId> = report.roots.iter().map(|root| root.id).collect();
    let labels = sample(&session.graph, &roots, &*session.engine.store, percent, &session.tree())?;
    if labels.is_empty() {
        return Ok(Report::default());
    }
    let again = Request {
        patterns: build::patterns(&labels)?,
        ..request.clone()
    };
    rebuild_these(context, session, again, labels)
}

fn no_merge_base() -> Failed {
    let why = Diagnostic::error(ErrorCode::E_PARAM, "git knows no commit at which this branch left the main line");
    Failed::new(
        Code::Usage,
        why.hint("fetch the main line and its history (`fetch-depth: 0`), or omit --from-merge-base"),
    )
}

fn not_offered(write: Option<Writers>) -> Failed {
    let reason = match write {
        Some(Writers::Ci) => "`write = \"ci\"` and CI is not set",
        _ => "`write = \"never\"`",
    };
    let why = Diagnostic::error(
        ErrorCode::E_REMOTE_WRITE,
        format!("this machine may not write to the cache: {reason}"),
    );
    Failed::new(
        Code::Usage,
        why.hint("`write` in [remote] permits it: \"ci\" if the variable CI is set, \"always\" on every machine"),
    )
}

fn as_build(args: &WarmArgs) -> BuildArgs {
    BuildArgs {
        rebuild: false,
        patterns: args.patterns.clone(),
        jobs: args.jobs,
        dry_run: false,
        with_times: false,
        asking: args.asking.clone(),
        keep_going: true,
        fail_fast: false,
        verbose: false,
        events: None,
        profile: None,
    }
}
