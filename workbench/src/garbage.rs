//! Garbage collection: marks the results that a store must keep for the checkouts that share it, and evicts the rest.
//!
//! Kept are the results of every checkout's graph and overlays, pinned versions, the last versions of each node, corrections by a person with the
//! paid results they are based on, and recently used results.

use crate::location::MANIFEST;
use crate::overlay;
use engine::graph::NodeResult;
use engine::graph::pages::each_result;
use engine::manifest::model::StoreLimits;
use engine::store::disk::DiskStore;
use engine::store::disk::sweep::{Marks, Plan, Policy, Tally};
use engine::store::pins::Pin;
use engine::store::views::{VIEW_KEY, ViewRecord};
use engine::store::{Inventory, Part, Store, StoreError, Usage, ViewId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Default age in seconds below which used results are kept: a week.
pub const OLDER_THAN: u64 = 7 * 86_400;

/// Default number of versions of each node that are kept.
pub const KEEP_VERSIONS: usize = 3;

/// Seconds after its last use for which a missing checkout's results are kept: its disk may be unmounted.
pub const VANISHED: u64 = 30 * 86_400;

/// Limit of rounds of collecting and compacting to reach a size.
const ROUNDS: usize = 8;

/// Options of a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GarbageOptions {
    /// Seconds since 1970.
    pub now: u64,
    /// Evict nothing, only report.
    pub dry_run: bool,
    /// Collect until the file is no longer than this many bytes; collect nothing if it is not longer.
    pub max_size: Option<u64>,
    /// Number of versions of each node that are kept.
    pub keep_versions: usize,
    /// Age in seconds below which used results are kept.
    pub older_than: u64,
    /// Evict also paid results.
    pub paid: bool,
    /// Forget checkouts whose folder is missing at once.
    pub forget_checkouts: bool,
}

impl GarbageOptions {
    pub fn default_options(now: u64) -> Self {
        Self {
            now,
            dry_run: false,
            max_size: None,
            keep_versions: KEEP_VERSIONS,
            older_than: OLDER_THAN,
            paid: false,
            forget_checkouts: false,
        }
    }
}

/// Seconds between checks of a size budget, at least.
const EVERY: u64 = 3_600;

impl GarbageOptions {
    /// Returns the options of a manifest's `[store]`; its size limit applies to automatic collections only.
    pub fn options_of_limits(limits: &StoreLimits, now: u64) -> Self {
        let usual = Self::default_options(now);
        Self {
            keep_versions: limits.keep_versions.map_or(usual.keep_versions, |versions| versions as usize),
            older_than: limits.older_than.unwrap_or(usual.older_than),
            ..usual
        }
    }
}

/// Returns the size to collect down to: the file is longer than the manifest allows, no collection runs and none ran within the hour.
pub fn is_due(disk: &DiskStore, limits: &StoreLimits, now: u64) -> Option<u64> {
    let max = limits.max_size.filter(|max| disk.file_bytes() > *max)?;
    // A clock that was set back must not delay a collection for years.
    let lately = |at: u64| at <= now && now - at < EVERY;
    (!disk.is_collecting() && !disk.collected_at().is_some_and(lately)).then_some(max)
}

/// Compacts a file that has grown much, and collects if [`is_due`]. Fails as [`collect_garbage`] does.
pub fn keep_within(disk: &DiskStore, limits: &StoreLimits, now: u64) -> Result<Option<(GarbageOptions, Report)>, GarbageError> {
    disk.compact_if_grown()?;
    let Some(max) = is_due(disk, limits, now) else {
        return Ok(None);
    };
    let options = GarbageOptions {
        max_size: Some(max),
        ..GarbageOptions::options_of_limits(limits, now)
    };
    match collect_garbage(disk, &options) {
        // Another collection has started since the check, and does the same.
        Err(GarbageError::Store(StoreError::Collecting { .. })) => Ok(None),
        done => Ok(Some((options, done?))),
    }
}

/// The reason why a collection failed.
#[derive(Debug, thiserror::Error)]
pub enum GarbageError {
    /// The store cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The set of results to keep cannot be determined.
    #[error("cannot determine what the store must keep: {0}")]
    Damaged(String),
}

/// The report of a collection.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Report {
    /// The store before: `file_bytes`, `blobs`, `actions`, `history_versions`, and of damaged stores beside it `set_aside_files`, `set_aside_bytes`.
    #[schemars(with = "Value")]
    pub before: Usage,
    /// The store after; in a dry run the same.
    #[schemars(with = "Value")]
    pub after: Usage,
    /// Evicted results, or in a dry run those that would be: `actions`, `blobs`, `bytes`, `versions`, `paid`, `paid_micros`.
    #[serde(rename = "removed")]
    #[schemars(with = "Value")]
    pub taken: Tally,
    /// Garbage that is kept because it was paid for.
    #[serde(rename = "kept_paid")]
    #[schemars(with = "Value")]
    pub paid: Tally,
    /// Results that are kept only because they were used recently.
    #[serde(rename = "kept_young")]
    #[schemars(with = "Value")]
    pub young: Tally,
    /// Checkouts whose results are kept.
    #[serde(skip)]
    pub held: BTreeSet<ViewId>,
    /// Number of checkouts whose results are kept.
    pub checkouts: usize,
    /// Folders of missing checkouts whose results are kept for now.
    pub vanished: Vec<String>,
    /// Folders of checkouts that are forgotten, or would be.
    pub forgotten: Vec<String>,
    /// Whether the file was compacted by a copy.
    pub compacted: bool,
    /// Whether the requested size was reached; in a dry run, whether it would be, by estimate.
    pub reached: bool,
    /// Reason why the file could not be compacted; all other steps were done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_compacted: Option<String>,
}

/// Collects garbage. Fails when the store cannot be read or written, or its references are damaged. Evictions done before the error stay.
pub fn collect_garbage(disk: &DiskStore, options: &GarbageOptions) -> Result<Report, GarbageError> {
    let collecting = match options.dry_run {
        true => None,
        false => Some(disk.begin_collection()?),
    };
    disk.release();
    let mut report = Report {
        before: disk.usage()?,
        reached: true,
        ..Report::default()
    };
    report.after = report.before;
    if options.dry_run {
        let wanted = options.max_size.map(|max| estimate_surplus(disk, max)).transpose()?;
        report.taken = plan_eviction(disk, options, wanted, &mut report)?.to_remove;
        if let (Some(max), false) = (options.max_size, wanted == Some(0)) {
            let mut left = disk.fill()?;
            left.row_bytes = left.row_bytes.saturating_sub(report.taken.row_bytes());
            for view in disk.views_with_rows()? {
                if !report.held.contains(&view) {
                    left.row_bytes = left.row_bytes.saturating_sub(disk.bytes_of(view)?);
                }
            }
            report.reached = left.least_bytes() <= max;
        }
        return Ok(report);
    }
    for round in 0..ROUNDS {
        let surplus = options.max_size.map(|max| estimate_surplus(disk, max)).transpose()?;
        // A round whose estimate was too low asks for more in the next one.
        let wanted = surplus.map(|surplus| surplus.saturating_mul(1 + round as u64));
        // A file that is open for writing is longer than after it is closed.
        let is_short = || {
            disk.release();
            options.max_size.is_some_and(|max| disk.file_bytes() <= max)
        };
        if round > 0 && is_short() {
            break;
        }
        let plan = plan_eviction(disk, options, wanted, &mut report)?;
        report.taken.add_tally(&disk.sweep(&plan)?);
        let shorter = match options.max_size {
            Some(_) => !is_short(),
            None => disk.fill()?.is_wasteful(),
        };
        if shorter {
            compact(disk, &mut report);
        }
        if plan.is_empty() || options.max_size.is_none() || report.not_compacted.is_some() {
            break;
        }
    }
    for record in disk.views()?.into_iter().map(|(_, record)| record).filter(is_there) {
        engine::files::tidy(record.root(), options.now);
    }
    disk.release();
    report.after = disk.usage()?;
    report.reached = options.max_size.is_none_or(|max| report.after.file_bytes <= max);
    drop(collecting);
    Ok(report)
}

/// Plans the eviction of all results that nothing refers to.
fn plan_eviction(disk: &DiskStore, options: &GarbageOptions, free: Option<u64>, report: &mut Report) -> Result<Plan, GarbageError> {
    let marks = roots(disk, options, report)?;
    let policy = Policy {
        now: options.now,
        older_than: options.older_than,
        keep_versions: options.keep_versions,
        paid: options.paid,
        free,
    };
    let plan = disk.find_garbage(marks, &policy)?;
    (report.paid, report.young) = (plan.paid, plan.young);
    Ok(plan)
}

/// Marks the results that checkouts refer to. Forgets checkouts that are missing for too long: nothing of theirs is marked.
fn roots(disk: &DiskStore, options: &GarbageOptions, report: &mut Report) -> Result<Marks, GarbageError> {
    let mut marks = Marks::default();
    let known: BTreeMap<ViewId, ViewRecord> = disk.views()?.into_iter().collect();
    (report.held, report.vanished) = (BTreeSet::new(), Vec::new());
    for view in disk.views_with_rows()? {
        if let Some(record) = known.get(&view).filter(|record| !is_there(record)) {
            let root = record.root().display().to_string();
            if is_given_up(record, options) && forget_checkout(disk, view, options)? {
                report.forgotten.push(root);
                marks.unprotect_view(view);
                continue;
            }
            report.vanished.push(root);
        }
        report.held.insert(view);
        mark_view_results(disk, view, &mut marks)?;
        if let Some(record) = known.get(&view) {
            // If overlays cannot be read, their results may be evicted; they are then built again.
            let held = overlay::build::needed_results(record.root(), options.now).unwrap_or_default();
            held.iter().for_each(|key| marks.hold_result(key));
        }
    }
    report.checkouts = report.held.len();
    Ok(marks)
}

/// Whether a checkout is missing and its results are no longer kept.
fn is_given_up(record: &ViewRecord, options: &GarbageOptions) -> bool {
    let away = options.now.saturating_sub(record.used);
    !is_there(record) && (options.forget_checkouts || away >= VANISHED)
}

/// Forgets a given-up checkout, unless a process has locked it or it is back. Returns whether it is forgotten, or would be.
fn forget_checkout(disk: &DiskStore, view: ViewId, options: &GarbageOptions) -> Result<bool, StoreError> {
    if options.dry_run {
        return Ok(!disk.is_checkout_locked(view));
    }
    // A build of the checkout that begins now waits for the lock and then finds none of its rows, rather than some.
    let Some(_lock) = disk.try_lock_checkout(view, "cortex gc")? else {
        return Ok(false);
    };
    // The checkout may be back, and used, since the first check.
    let row = disk.row(view, Part::View, VIEW_KEY)?;
    if !row
        .and_then(|row| ViewRecord::from_row(&row))
        .is_some_and(|record| is_given_up(&record, options))
    {
        return Ok(false);
    }
    disk.forget_view(view)?;
    Ok(true)
}

/// Whether a checkout's folder still is a workspace. A folder that may not be read counts as there.
pub fn is_there(record: &ViewRecord) -> bool {
    record.root().join(MANIFEST).try_exists().unwrap_or(true)
}

fn mark_view_results(disk: &DiskStore, view: ViewId, marks: &mut Marks) -> Result<(), GarbageError> {
    disk.damage();
    for (_, page) in disk.rows(view, Part::Nodes)? {
        let mut note = |label: &str, filed: &NodeResult| {
            marks.mark_result(&filed.key, &filed.output);
            marks.record_node(view, label);
        };
        each_result(&page, &mut note).ok_or_else(|| GarbageError::Damaged("a row of a checkout's graph cannot be read".to_owned()))?;
    }
    for pin in disk.rows(view, Part::Pins)?.iter().filter_map(Pin::from_row) {
        marks.mark_result(&pin.key, &pin.output);
    }
    // Rows that cannot be read are skipped and reported as damage.
    match disk.damage().into_iter().next() {
        Some(sentence) => Err(GarbageError::Damaged(sentence)),
        None => Ok(()),
    }
}

/// Estimates the bytes of rows to evict so that a copy of the file has the wanted size.
fn estimate_surplus(disk: &DiskStore, max: u64) -> Result<u64, StoreError> {
    let fill = disk.fill()?;
    if fill.file_bytes <= max || fill.copied_bytes() <= max {
        return Ok(0);
    }
    let share = u128::from(fill.row_bytes) * u128::from(fill.copied_bytes() - max) / u128::from(fill.copied_bytes());
    Ok(u64::try_from(share).unwrap_or(u64::MAX).saturating_add(1))
}

/// Limit of tries to copy, as other processes may interrupt one.
const COPIES: usize = 5;

/// Compacts the file. A failed copy, because the disk is full or other processes use the store all the time, leaves the file as it is.
fn compact(disk: &DiskStore, report: &mut Report) {
    for _ in 0..COPIES {
        match disk.compact() {
            Ok(true) => return report.compacted = true,
            Ok(false) => disk.release_lock(),
            Err(error) => return report.not_compacted = Some(error.to_string()),
        }
    }
    report.not_compacted = Some("others use the store".to_owned());
}
