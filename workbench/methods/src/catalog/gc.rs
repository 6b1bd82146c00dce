//! `gc`: evicts results that no checkout of a store needs.

use super::{Effect, Method};
use crate::code::Code;
use crate::desk::Desk;
use crate::desk::clock::current_seconds;
use crate::desk::damage::describe_damage;
use crate::desk::request_context::RequestContext;
use crate::failed::Failed;
use crate::render::store_maintenance::{gc_text, list_ways_to_shrink, not_reached, set_aside};
use engine::manifest::model::StoreLimits;
use engine::store::Store;
use engine::store::disk::DiskStore;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::{Diagnostic, Severity};
use engine::values::quantity::{parse_bytes, seconds};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use workbench::edit::disk::Disk;
use workbench::edit::perform::recover;
use workbench::editable_paths::Guard;
use workbench::garbage::{self, GarbageOptions, Report};

/// Evict results that no checkout of the store needs, and shorten its file.
///
/// Keeps results of all checkouts that share the store, pinned versions, the last versions of each target, corrections by hand and recently
/// used results. Evicts paid results only with --paid. Builds can run at the same time. Exit codes: 0 done, 1 the size
/// was not reached, 3 the store is damaged, 4 another collection runs, 5 I/O.
#[derive(Debug, Default, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Gc {
    /// Only list results that would be evicted, and the cost of rebuilding paid ones.
    #[arg(long)]
    dry_run: bool,
    /// Evict only until the store's file is no longer than SIZE (500 MB, 2 GB), least recently used results first; if necessary also versions that
    /// cost nothing.
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    max_size: Option<u64>,
    /// Number of versions to keep of each target [default: 3].
    #[arg(long, value_name = "N")]
    keep_versions: Option<usize>,
    /// Keep results that were used within SPAN (12h, 7d, 4w; 0 for none) [default: 7d].
    #[arg(long, value_name = "SPAN", value_parser = seconds)]
    older_than: Option<u64>,
    /// Also evict paid results.
    #[arg(long)]
    paid: bool,
    /// Forget all checkouts whose folder is missing, not only those last used 30 days ago.
    #[arg(long)]
    forget_checkouts: bool,
}

/// Result of a collection.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Collection {
    /// Folder of the store.
    folder: String,
    #[serde(flatten)]
    report: Report,
    #[serde(flatten)]
    options: GarbageOptions,
}

impl Method for Gc {
    const NAME: &'static str = "gc";
    const EFFECT: Effect = Effect::Acts;
    const SERVED: bool = false;
    /// None if there is no store.
    type Answer = Option<Collection>;

    fn answer(&self, desk: &mut Desk<'_>) -> Result<Option<Collection>, Failed> {
        let context = desk.context;
        if !self.dry_run {
            if let Some(folder) = context.disk_folder(Self::NAME)? {
                DiskStore::refuse_second_collection(&folder)?;
            }
            repair_edits(context);
        }
        let Some(disk) = context.disk(Self::NAME)? else {
            return Ok(None);
        };
        let options = self.options(context)?;
        let report = garbage::collect_garbage(&disk, &options)?;
        context.say(&describe_damage(disk.damage()));
        if let Some(why) = &report.not_compacted {
            let why = format!("the store's file was not compacted: {why}");
            desk.remark(Diagnostic::warning(ErrorCode::W_NOT_COMPACTED, why));
        }
        if !report.reached {
            let why = Diagnostic::error(ErrorCode::E_MAX_SIZE, not_reached(&report, &options));
            desk.conclude(Failed::new(Code::TargetFailed, why.hint(list_ways_to_shrink(&report, &options))));
        }
        Ok(Some(Collection {
            folder: disk.folder().display().to_string(),
            report,
            options,
        }))
    }

    fn text(answer: &Option<Collection>) -> String {
        match answer {
            Some(done) => gc_text(&done.report, &done.options) + &set_aside(&done.report.after, &done.folder),
            None => "there is no store yet, so there is nothing to collect\n".to_owned(),
        }
    }
}

impl Gc {
    /// Returns the options: flags, then the limits of the manifest, if the command runs in a workspace.
    fn options(&self, context: &RequestContext) -> Result<GarbageOptions, Failed> {
        let limits = match context.root_around() {
            Some(root) => workbench::workspace::store_limits(&root)?,
            None => StoreLimits::default(),
        };
        let usual = GarbageOptions::options_of_limits(&limits, current_seconds());
        Ok(GarbageOptions {
            dry_run: self.dry_run,
            max_size: self.max_size,
            keep_versions: self.keep_versions.unwrap_or(usual.keep_versions),
            older_than: self.older_than.unwrap_or(usual.older_than),
            paid: self.paid,
            forget_checkouts: self.forget_checkouts,
            ..usual
        })
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn a_collection_is_one_object_and_no_store_is_null() {
        let report = Report {
            checkouts: 2,
            reached: true,
            ..Report::default()
        };
        let answer = Some(Collection {
            folder: "/store".to_owned(),
            report,
            options: GarbageOptions::default_options(7),
        });
        let document = serde_json::to_value(answer).expect("JSON");
        assert_eq!((&document["checkouts"], &document["dry_run"]), (&json!(2), &json!(false)));
        assert_eq!(
            (&document["removed"]["paid_micros"], &document["folder"]),
            (&json!(0), &json!("/store"))
        );
        let text = |document: &Value| Gc::text(&Option::deserialize(document).expect("an answer"));
        assert!(text(&document).starts_with("The store held 0 results and 0 outputs in "));
        assert!(text(&Value::Null).starts_with("there is no store yet"));
    }
}
