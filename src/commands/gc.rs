//! `cortex gc`: evicts results that no checkout of a store needs.

use super::show;
use crate::cli::GcArgs;
use crate::command_context::CommandContext;
use engine::manifest::model::StoreLimits;
use engine::store::disk::DiskStore;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::{Diagnostic, Severity};
use methods::code::Code;
use methods::desk::clock::current_seconds;
use methods::desk::damage::describe_damage;
use methods::failed::{Failed, Outcome};
use methods::render::store_maintenance;
use std::io::Write;
use workbench::edit::disk::Disk;
use workbench::edit::editable_paths::Guard;
use workbench::edit::perform::recover;
use workbench::garbage::{self, GarbageOptions};

/// Runs `cortex gc`.
pub fn run_gc(context: &CommandContext, args: &GcArgs) -> Outcome {
    if !args.dry_run {
        if let Some(folder) = context.disk_folder("gc")? {
            DiskStore::refuse_second_collection(&folder)?;
        }
        repair_edits(context);
    }
    let Some(disk) = context.disk("gc")? else {
        let text = if context.prints_json() {
            "null\n"
        } else {
            "there is no store yet, so there is nothing to collect\n"
        };
        return show::outcome_of_write(write!(context.stdout(), "{text}"));
    };
    let options = options(context, args)?;
    let report = garbage::collect_garbage(&disk, &options)?;
    warn(context, &disk);
    let text = if context.prints_json() {
        format!("{:#}\n", store_maintenance::collected_json(&report, &options))
    } else {
        store_maintenance::gc_text(&report, &options) + &store_maintenance::set_aside(&report.after, disk.folder())
    };
    show::outcome_of_write(write!(context.stdout(), "{text}"))?;
    if let Some(why) = &report.not_compacted {
        context.say(&[Diagnostic::warning(
            ErrorCode::W_NOT_COMPACTED,
            format!("the store's file was not compacted: {why}"),
        )]);
    }
    if report.reached {
        return Ok(Code::Ok);
    }
    let why = Diagnostic::error(ErrorCode::E_MAX_SIZE, store_maintenance::not_reached(&report, &options));
    Err(Failed::new(
        Code::TargetFailed,
        why.hint(store_maintenance::list_ways_to_shrink(&report, &options)),
    ))
}

/// Repairs what killed edits left in the workspace, if the command runs in one.
fn repair_edits(context: &CommandContext) {
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
fn options(context: &CommandContext, args: &GcArgs) -> Result<GarbageOptions, Failed> {
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
fn warn(context: &CommandContext, disk: &DiskStore) {
    use engine::store::Store;
    context.say(&describe_damage(disk.damage()));
}
