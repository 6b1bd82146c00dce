//! `cortex gc`: evicts results that no checkout of a store needs.

use super::CommandAnswer;
use crate::code::Code;
use crate::desk::clock::current_seconds;
use crate::desk::damage::describe_damage;
use crate::desk::request_context::RequestContext;
use crate::failed::Failed;
use crate::render::store_maintenance;
use clap::Args;
use engine::manifest::model::StoreLimits;
use engine::store::disk::DiskStore;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::{Diagnostic, Severity};
use serde_json::Value;
use workbench::edit::disk::Disk;
use workbench::edit::editable_paths::Guard;
use workbench::edit::perform::recover;
use workbench::garbage::{self, GarbageOptions};

/// Evict results that no checkout of the store needs, and shorten its file.
///
/// Keeps results of all checkouts that share the store, pinned versions, the last versions of each target, corrections by hand and recently
/// used results. Evicts paid results only with --paid. Builds can run at the same time. Exit codes: 0 done, 1 the size
/// was not reached, 3 the store is damaged, 4 another collection runs, 5 I/O.
#[derive(Debug, Args)]
pub struct GcArgs {
    /// Only list results that would be evicted, and the cost of rebuilding paid ones.
    #[arg(long)]
    pub dry_run: bool,
    /// Evict only until the store's file is no longer than SIZE (500 MB, 2 GB), least recently used results first; if necessary also versions that
    /// cost nothing.
    #[arg(long, value_name = "SIZE", value_parser = engine::values::quantity::parse_bytes)]
    pub max_size: Option<u64>,
    /// Number of versions to keep of each target [default: 3].
    #[arg(long, value_name = "N")]
    pub keep_versions: Option<usize>,
    /// Keep results that were used within SPAN (12h, 7d, 4w; 0 for none) [default: 7d].
    #[arg(long, value_name = "SPAN", value_parser = engine::values::quantity::seconds)]
    pub older_than: Option<u64>,
    /// Also evict paid results.
    #[arg(long)]
    pub paid: bool,
    /// Forget all checkouts whose folder is missing, not only those last used 30 days ago.
    #[arg(long)]
    pub forget_checkouts: bool,
}

/// Runs `cortex gc`.
///
/// # Errors
/// When the store or the manifest cannot be used.
pub fn run_gc(context: &RequestContext, args: &GcArgs) -> Result<CommandAnswer, Failed> {
    if !args.dry_run {
        if let Some(folder) = context.disk_folder("gc")? {
            DiskStore::refuse_second_collection(&folder)?;
        }
        repair_edits(context);
    }
    let Some(disk) = context.disk("gc")? else {
        let text = "there is no store yet, so there is nothing to collect\n".to_owned();
        return Ok(CommandAnswer::new(text, &Value::Null));
    };
    let options = options(context, args)?;
    let report = garbage::collect_garbage(&disk, &options)?;
    warn(context, &disk);
    let text = store_maintenance::gc_text(&report, &options) + &store_maintenance::set_aside(&report.after, disk.folder());
    let mut answer = CommandAnswer::new(text, &store_maintenance::collected_json(&report, &options));
    if let Some(why) = &report.not_compacted {
        let why = format!("the store's file was not compacted: {why}");
        answer.remarks.push(Diagnostic::warning(ErrorCode::W_NOT_COMPACTED, why));
    }
    if report.reached {
        return Ok(answer);
    }
    let why = Diagnostic::error(ErrorCode::E_MAX_SIZE, store_maintenance::not_reached(&report, &options));
    Ok(answer.with_outcome(Err(Failed::new(
        Code::TargetFailed,
        why.hint(store_maintenance::list_ways_to_shrink(&report, &options)),
    ))))
}

/// Repairs what killed edits left in the workspace, if the command runs in one.
fn repair_edits(context: &RequestContext) {
    let Some(root) = context.root_around() else { return };
    let guard = Guard {
        store: context.store_folder(),
        manifest: false,
    };
    let diagnostics = match recover(&Disk::new(&root).with_guard(guard), current_seconds()) {
        Ok(done) => done
            .into_iter()
            .map(|done| Diagnostic::new(Severity::Note, ErrorCode::N_EDITS, done))
            .collect(),
        Err(error) => {
            let why = format!("edits that a kill interrupted cannot be repaired: {error}");
            vec![Diagnostic::warning(ErrorCode::W_EDITS, why).hint("the next `cortex edit` tries again")]
        }
    };
    context.say(&diagnostics);
}

/// Returns the options: flags, then the limits of the manifest, if the command runs in a workspace.
fn options(context: &RequestContext, args: &GcArgs) -> Result<GarbageOptions, Failed> {
    let limits = match context.root_around() {
        Some(root) => workbench::workspace::store_limits(&root)?,
        None => StoreLimits::default(),
    };
    let usual = GarbageOptions::options_of_limits(&limits, current_seconds());
    Ok(GarbageOptions {
        dry_run: args.dry_run,
        max_size: args.max_size,
        keep_versions: args.keep_versions.unwrap_or(usual.keep_versions),
        older_than: args.older_than.unwrap_or(usual.older_than),
        paid: args.paid,
        forget_checkouts: args.forget_checkouts,
        ..usual
    })
}

/// Reports the damage that the store found.
fn warn(context: &RequestContext, disk: &DiskStore) {
    use engine::store::Store;
    context.say(&describe_damage(disk.damage()));
}
